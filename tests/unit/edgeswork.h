/*
 * edgeswork — made-up profiles of operators with sizes on an A100 (312 TFLOP/s of FP16, 2039
 * GB/s), with one number in them that a threshold is about. For test_edges; times in
 * microseconds. See edges.h.
 */
#ifndef EDGESWORK_H
#define EDGESWORK_H

#include "edgesrates.h"

struct edge_work {
    const char *name, *shapes, *types, *kernel;
};

#define HALVES "[\"c10::Half\", \"c10::Half\", \"c10::Half\"]"
#define FLOATS "[\"float\", \"float\", \"float\"]"

static const struct edge_work tiny_product = {"aten::mm", "[[8, 8], [8, 8]]", HALVES, "h16816gemm"};
static const struct edge_work tiny_gather = {"aten::embedding", "[[10, 4], [2]]",
                                             "[\"float\", \"long int\"]", "indexSelectSmallIndex"};
static const struct edge_work tiny_copy = {"aten::copy_", "[[8, 8], [8, 8]]", HALVES,
                                           "direct_copy_kernel"};
static const struct edge_work add = {"aten::add", "[[8, 8], [8, 8]]", HALVES, "elementwise_kernel"};
static const struct edge_work bmm = {"aten::bmm", "[[2, 8, 8], [2, 8, 8]]", HALVES, "h16816gemm"};
static const struct edge_work softmax = {"aten::_softmax", "[[2, 8, 8]]", "[\"c10::Half\"]",
                                         "softmax_warp_forward"};

static inline void edge_a100(struct gputrace *make)
{
    dev_named(make, "NVIDIA A100-SXM4-80GB", 108, 8, 0);
}

/* The number-th operator, whose kernel runs from `at` on for `dur`. */
static inline void edge_work(struct gputrace *make, struct edge_work work, int64_t number,
                             int64_t at, int64_t dur)
{
    struct nl_op_row row = nl_op_row();
    if (dur <= 0)
        return;
    row.slice = gputrace_slice(make, NL_KIND_OP, make->calls, work.name, number * 3, 3);
    row.shapes = nl_stage_name(make->stage, nl_str(work.shapes));
    row.dtypes = nl_stage_name(make->stage, nl_str(work.types));
    nl_stage_op(make->stage, &row);
    gputrace_kernel(make, 7, work.kernel, number * 3 + 1, 1, AT + at, dur);
}

/* One of `dur` in `span`, then a kernel of no operator. */
static inline void edge_work_once(struct gputrace *make, struct edge_work work, int64_t dur,
                                  int64_t span)
{
    edge_a100(make);
    edge_work(make, work, 0, 0, dur);
    if (span > dur)
        gputrace_kernel(make, 7, "other_kernel", 5, 1, AT + dur, span - dur);
}

/* ---- Gathers and copies ---- */

static inline void edge_gather(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_work_once(make, tiny_gather, x, LONG);
}
/* A million rows of 1 KiB are read and written, and their 8 MB of indices read:
 * 2056 MB, 1008 µs at least. */
static inline void edge_gather_roof(struct gputrace *make, int64_t x, const char *arg)
{
    const struct edge_work large = {"aten::embedding", "[[1000000, 256], [1000000]]",
                                    "[\"float\", \"long int\"]", "indexSelectLargeIndex"};
    (void)arg;
    edge_work_once(make, large, x, 10000);
}
static inline void edge_layout(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_work_once(make, tiny_copy, x, LONG);
}
static inline void edge_headroom(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_work_once(make, tiny_product, x, LONG);
}

/* ---- Products ---- */

/* Of a vector with 8192 × 8192: 134.25 MB, 65.84 µs at least; arithmetic 0.43 µs. */
static const struct edge_work vector_product = {"aten::mm", "[[1, 8192], [8192, 8192]]", HALVES,
                                                "h16816gemm"};
static inline void edge_vector(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_work_once(make, vector_product, x, 1000);
}
static inline void edge_vector_broken(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_work_once(make, vector_product, x, 500);
}
static inline void edge_vector_span(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_work_once(make, vector_product, 100, x);
}
/* K is odd; 2.1 GFLOP, 6.73 µs at least. */
static const struct edge_work odd_product = {"aten::mm", "[[1024, 1001], [1001, 1024]]", HALVES,
                                             "h16816gemm"};
static inline void edge_odd(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_work_once(make, odd_product, x, LONG);
}
static inline void edge_odd_roof(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_work_once(make, odd_product, x, 100);
}

static inline void edge_small_work(struct gputrace *make, struct edge_work work, int64_t count,
                                   int64_t dur, int64_t span)
{
    edge_a100(make);
    for (int64_t i = 0; i < count; i++)
        edge_work(make, work, i, i * dur, dur);
    if (span > count * dur)
        gputrace_kernel(make, 7, "other_kernel", 3 * count, 1, AT + count * dur,
                        span - count * dur);
}
static inline void edge_small_count(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_small_work(make, tiny_product, x, 20, 1000);
}
static inline void edge_small_length(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_small_work(make, tiny_product, 20, x, 1000);
}
static inline void edge_small_shortest(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_small_work(make, tiny_product, 20, x, 100);
}
static inline void edge_small_span(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_small_work(make, tiny_product, 20, 5, x);
}
/* A vector of 1024 with 1024 × x: (1024 + 1025 x) · 2 bytes take 5 µs from 4973 on. */
static inline void edge_small_roof(struct gputrace *make, int64_t x, const char *arg)
{
    char shapes[80];
    (void)arg;
    snprintf(shapes, sizeof shapes, "[[1, 1024], [1024, %lld]]", (long long)x);
    edge_small_work(make, (struct edge_work){"aten::mm", shapes, HALVES, "h16816gemm"}, 20, 20,
                    1000);
}
/* The same with 512: of 20 calls of 10 µs half the roof is reached from x on. */
static inline void edge_small_reached(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_small_work(
        make, (struct edge_work){"aten::mm", "[[1, 1024], [1024, 4096]]", HALVES, "h16816gemm"}, 20,
        x, 1000);
}

static inline void edge_tf32(struct gputrace *make, int64_t x, const char *arg)
{
    const struct edge_work work = {"aten::mm", "[[4096, 4096], [4096, 4096]]", FLOATS,
                                   "cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4"};
    (void)arg;
    edge_work_once(make, work, x, LONG);
}
static inline void edge_wide(struct gputrace *make, int64_t wide, int64_t narrow)
{
    const struct edge_work half = {"aten::mm", "[[4096, 4096], [4096, 4096]]", HALVES,
                                   "h16816gemm"};
    const struct edge_work eight = {"aten::_scaled_mm", "[[512, 512], [512, 512], [], []]",
                                    "[\"c10::Float8_e4m3fn\", \"c10::Float8_e4m3fn\", \"float\", "
                                    "\"float\"]",
                                    "h16816gemm"};
    dev_named(make, "NVIDIA H100 80GB HBM3", 132, 9, 0);
    edge_work(make, half, 0, 0, wide);
    edge_work(make, eight, 1, wide, narrow);
    gputrace_kernel(make, 7, "other_kernel", 7, 1, AT + wide + narrow, LONG - wide - narrow);
}
static inline void edge_wide_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_wide(make, x, 0);
}
static inline void edge_narrow_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_wide(make, 50000, x);
}

#endif
