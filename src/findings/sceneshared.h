/*
 * sceneshared — what all scenes of one answer have in common (cause.h). Part of struct
 * nl_scenes, which owns it.
 *
 * Causes are judged side by side, a cause by one thread, about one scene after the other: what
 * several causes make or ask for is made under a lock, what only one cause asks for needs none.
 */
#ifndef NL_SCENESHARED_H
#define NL_SCENESHARED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of slices that a cause looks for in every scene: found once for all of them. */
struct nl_slices_found {
    uint32_t *rows;
    size_t count, cap;
    bool made;
};

/* Kernel time of one scene by what it is for (cause_moe_imbalance.c). */
struct nl_expert_sums {
    int64_t moe_ns, dense_ns, comm_ns;
    uint64_t moe;
};

/* Of all scenes, made once: per scene, and the medians of those that run `of_moe` such
 * kernels or about as many. */
struct nl_experts_found {
    struct nl_expert_sums *sums; /* NULL until asked for */
    struct nl_expert_sums medians;
    double mean_moe_ns;
    uint64_t of_moe;
    size_t ranks;
};

/* Initialised with NL_SCENE_LOCKS, which need no release. */
struct nl_scene_locks {
    pthread_mutex_t texts; /* the arena */
    pthread_mutex_t kept;  /* what is worked out once per scene */
};

#define NL_SCENE_LOCKS                                                                             \
    (struct nl_scene_locks)                                                                        \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER                                       \
    }

#endif
