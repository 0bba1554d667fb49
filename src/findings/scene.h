/*
 * scene — making the scenes that causes look at: one per device with work in the window; or, where
 * no device worked, one per process with an account of its CPU (cpuscene.c).
 */
#ifndef NL_SCENE_H
#define NL_SCENE_H

#include "findings/cause.h"

struct nl_scenes {
    struct nl_scene *items;
    size_t count;
    uint32_t *rows;                   /* kernels and copies of all scenes */
    struct nl_idle_device *stand_ins; /* of processes: what stands where a device would */
    struct nl_device_breakdown *no_parts;
    struct nl_slices_found compiled;
    struct nl_experts_found experts;
    struct nl_scene_locks locks;
    struct nl_account_late late;
    /* Scene that the answer is about: what is as large there is reported of it; or SIZE_MAX. */
    size_t told;
};

/* Texts are made in `arena`. */
void nl_scenes_init(struct nl_scenes *scenes, const struct nl_trace *trace,
                    const struct nl_analyze_options *options, struct nl_arena *arena,
                    unsigned threads);
/* Of processes; fills a zeroed struct that has no scenes of devices. */
void nl_scenes_init_cpu(struct nl_scenes *scenes, const struct nl_trace *trace,
                        const struct nl_analyze_options *options, struct nl_arena *arena);
/* Steps of the scene's rank that start in its window. */
void nl_scene_find_steps(struct nl_scene *scene, const struct nl_found_steps *found);
void nl_scenes_release(struct nl_scenes *scenes);

#endif
