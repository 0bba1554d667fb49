/*
 * edgescpu — made-up profiles of the CPU alone and of steps, with one number in them that a
 * threshold is about. For test_edges; times in microseconds. See edges.h.
 */
#ifndef EDGESCPU_H
#define EDGESCPU_H

#include "edgesgraphs.h"

/* `name` takes x of LONG µs, other functions the rest. */
static inline void edge_function(struct gputrace *make, int64_t x, const char *name)
{
    static const char *const others[] = {"forward", "backward", "update", "log", "count", "keep"};
    cpu_python(make, name, 0, x);
    for (int64_t i = 0; i < 12; i++)
        cpu_python(make, others[i % 6], x + edge_part(LONG - x, 12, 0) * i,
                   i < 11 ? edge_part(LONG - x, 12, 0)
                          : LONG - x - edge_part(LONG - x, 12, 0) * 11);
}
/* x slices in all, of which one takes most. */
static inline void edge_slices(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    cpu_python(make, "tokenize", 0, 9000);
    for (int64_t i = 0; i < x - 1; i++)
        cpu_python(make, i % 2 ? "forward" : "backward", 9000 + i * 100, 100);
}
static inline void edge_starved(struct gputrace *make, int64_t x, const char *arg)
{
    uint32_t lane = gputrace_lane(make, NL_LANE_SCHED, -1);
    (void)arg;
    for (int i = 0; i < 2; i++) { /* on the CPU, pushed off it for x, on it again */
        int64_t start = i ? 50000 + x : 0, end = i ? LONG : 50000;
        struct nl_slice_row row = nl_slice_row();
        row.kind = NL_KIND_SCHED;
        row.lane = lane;
        row.flags = 8;
        row.name = nl_stage_name(make->stage, nl_str("running"));
        row.ts = gputrace_ns(make, start);
        row.dur = gputrace_ns(make, end) - row.ts;
        nl_stage_slice(make->stage, &row);
    }
    cpu_python(make, "work", 0, LONG);
}

/* ---- Steps ---- */

/* `steps` of 1000 µs, the last `slow` of which take `length`; all from AT on. */
static inline void edge_slow_steps(struct gputrace *make, int64_t steps, int64_t slow,
                                   int64_t length)
{
    int64_t at = 0;
    for (int64_t i = 0; i < steps; i++) {
        bool late = i > 0 && slow > 0 && i % (steps / slow) == steps / slow - 1;
        int64_t dur = late ? length : 1000;
        gputrace_step(make, AT + at, dur);
        cpu_python(make, "forward", AT + at, 900);
        if (late)
            cpu_python(make, "torch.save", AT + at + 900, dur - 900);
        at += dur;
    }
}
/* Four of 40 steps take x. */
static inline void edge_step_length(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_slow_steps(make, 40, 4, x);
}
/* x steps, one of which takes four times as long. */
static inline void edge_step_count(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_slow_steps(make, x, 1, 4000);
}

/* `slow` of 80 steps of 1000 µs take three times as long, the last one `more` more. */
static inline void edge_outliers(struct gputrace *make, int64_t slow, int64_t more)
{
    int64_t at = 0;
    for (int64_t i = 0; i < 80; i++) {
        bool late = i % 3 == 2 && i / 3 < slow, last = late && i / 3 == slow - 1;
        int64_t dur = (late ? 3000 : 1000) + (last ? more : 0);
        gputrace_step(make, AT + at, dur);
        edge_late(make, "h16816gemm", at, dur);
        at += dur;
    }
}
static inline void edge_outlier_count(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_outliers(make, x, 0);
}
/* One step of 80 takes x more than the others: of 80 ms and x. */
static inline void edge_outlier_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_outliers(make, 1, x - 2000);
}

#endif
