/* edgesgraphs — made-up profiles of replayed graphs, of steps alike and of recordings that lack
 * something, with one number in them that a threshold is about. For test_edges; times in
 * microseconds. See edges.h. */
#ifndef EDGESGRAPHS_H
#define EDGESGRAPHS_H

#include "edgeslaunch.h"

/* ---- Graphs ---- */

/* `count` replays of four kernels, each launched late; the others early. */
static inline void edge_replays(struct gputrace *make, int64_t count, int64_t total)
{
    for (int64_t i = 0; i < 50; i++) {
        int64_t gap = edge_part(total, count, i), at = i * 2000;
        replay(make, AT + at, AT + at, 0);
        edge_late(make, "h16816gemm", at + 400, 1600 - gap);
    }
}
static inline void edge_replay_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_replays(make, 30, x);
}
static inline void edge_replay_gaps(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_replays(make, x, 10000);
}
/* Steps of `kernels` every 20 µs with a gap behind each, the first of all `more` longer; `odd`
 * steps have another kernel. */
static inline void edge_steps(struct gputrace *make, int64_t steps, int64_t odd, int64_t kernels,
                              int64_t gap, int64_t more)
{
    for (int64_t step = 0; step < steps; step++) {
        int64_t begin = step * kernels * 20;
        gputrace_step(make, AT + begin, kernels * 20);
        for (int64_t i = 0; i < kernels; i++) {
            int64_t at = begin + i * 20, idle = gap + (at ? 0 : more);
            edge_late(make, step < odd && i == step + 1 ? "softmax" : "elementwise_kernel", at,
                      20 - idle);
            gputrace_op(make, "aten::add", AT + at + 20 - idle, idle);
        }
    }
}
static inline void edge_graph_kernels(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_steps(make, 10, 0, x, 8, 0);
}
static inline void edge_graph_odd(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_steps(make, 20, x, 201, 8, 0);
}

static inline void edge_graph_steps(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_steps(make, x, 0, 201, 8, 0);
}
/* Gaps of 2 of 20 µs (of 6), but none behind the last kernel: 10 % (30 %) are
 * exceeded with 1.8 (4.2) more. */
static inline void edge_graph_warn(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_steps(make, 4, 0, 250, 2, x);
}
static inline void edge_graph_critical(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_steps(make, 4, 0, 250, x ? 6 : 0, x);
}

/* ---- What is missing ---- */

static inline void edge_unlinked(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    for (int64_t i = 0; i < 100; i++)
        gputrace_kernel(make, 7, "softmax", i < x ? -1 : 1, 1, AT + i * 1000, 1000);
}
static inline void edge_frames(struct gputrace *make, int64_t frames, int64_t ops, int64_t late)
{
    edge_gaps(make, (struct edge_frame){0}, 50, late);
    for (int64_t i = 0; i < frames; i++)
        cpu_python(make, "forward", AT + i * 100, 50);
    for (int64_t i = 0; i < ops; i++)
        gputrace_op(make, "aten::add", AT + i * 100 + 60, 20);
}
static inline void edge_frame_count(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_frames(make, x, 50, 20000);
}
static inline void edge_frame_ops(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_frames(make, 201, x, 20000);
}
static inline void edge_frame_late(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_frames(make, 300, 50, x);
}

#endif
