/*
 * scene — making the scenes that causes look at: one per device with work in the window.
 */
#ifndef NL_SCENE_H
#define NL_SCENE_H

#include "findings/cause.h"

struct nl_scenes {
    struct nl_scene *items;
    size_t count;
    uint32_t *rows; /* kernels and copies of all scenes */
};

/* Texts are made in `arena`. */
void nl_scenes_init(struct nl_scenes *scenes, const struct nl_trace *trace,
                    const struct nl_analyze_options *options, struct nl_arena *arena);
void nl_scenes_release(struct nl_scenes *scenes);

#endif
