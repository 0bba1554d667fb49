/*
 * edgessampled — made-up profiles of samples and of sums per function, which lie nowhere in
 * time, with one number in them that a threshold is about. For test_edges; times in
 * microseconds. See edges.h.
 */
#ifndef EDGESSAMPLED_H
#define EDGESSAMPLED_H

#include "edgeslinks.h"

static inline uint32_t edge_frame_of(struct gputrace *make, const char *name, uint32_t parent)
{
    struct nl_stack_row row = nl_stack_row();
    row.name = nl_stage_name(make->stage, nl_str(name));
    row.parent = parent;
    return nl_stage_stack(make->stage, &row);
}

static inline void edge_sample(struct gputrace *make, uint32_t stack, int64_t us)
{
    struct nl_sample_row row = nl_sample_row();
    row.stack = stack;
    row.weight = us * 1000;
    row.unit = nl_stage_name(make->stage, nl_str("ns"));
    row.event = nl_stage_name(make->stage, nl_str("cpu"));
    nl_stage_sample(make->stage, &row);
}

/* Of LONG µs x are sampled in a function that one of that name calls, the rest in twelve others. */
static inline void edge_sampled(struct gputrace *make, int64_t x, const char *name)
{
    static const char *const others[] = {"forward", "backward", "update", "log", "count", "keep"};
    uint32_t main = edge_frame_of(make, "main", NL_NULL_ROW);
    uint32_t named = edge_frame_of(make, name, main);
    edge_sample(make, edge_frame_of(make, "inner", named), x / 2);
    edge_sample(make, named, x - x / 2);
    for (int64_t i = 0; i < 12; i++)
        edge_sample(make, edge_frame_of(make, others[i % 6], main), edge_part(LONG - x, 12, i));
}

static inline void edge_sum(struct gputrace *make, uint32_t stack, int64_t own, int64_t total)
{
    struct nl_call_row row = nl_call_row();
    row.stack = stack;
    row.count = 3;
    row.self_ns = own * 1000;
    row.total_ns = total * 1000;
    nl_stage_call(make->stage, &row);
}

/* The same in sums per function, as cProfile has them. */
static inline void edge_summed(struct gputrace *make, int64_t x, const char *name)
{
    static const char *const others[] = {"forward", "backward", "update", "log", "count", "keep",
                                         "parse",   "shuffle",  "stack",  "pad", "cut",   "clip"};
    edge_sum(make, edge_frame_of(make, "main", NL_NULL_ROW), 0, LONG);
    edge_sum(make, edge_frame_of(make, name, NL_NULL_ROW), x, x);
    for (int64_t i = 0; i < 12; i++)
        edge_sum(make, edge_frame_of(make, others[i], NL_NULL_ROW), edge_part(LONG - x, 12, i),
                 edge_part(LONG - x, 12, i));
}

#endif
