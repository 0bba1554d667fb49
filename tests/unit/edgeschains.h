/*
 * edgeschains — made-up profiles of operators that follow each other: attention in pieces,
 * elementwise chains, updates of the optimizer, with one number in them that a threshold is about.
 * For test_edges; times in microseconds. See edges.h.
 */
#ifndef EDGESCHAINS_H
#define EDGESCHAINS_H

#include "edgeswork.h"

/* ---- Attention in pieces ---- */

/* A product, `light` operators of 1 µs, softmax, a product; elsewhere another softmax. */
static inline void edge_attention(struct gputrace *make, int64_t light, int64_t dur, int64_t other)
{
    int64_t number = 0, at = 0;
    edge_a100(make);
    edge_work(make, bmm, number++, at, 100);
    at += 100;
    for (int64_t i = 0; i < light; i++)
        edge_work(make, add, number++, at++, 1);
    edge_work(make, softmax, number++, at, dur);
    at += dur;
    edge_work(make, bmm, number++, at, 100);
    at += 100;
    edge_work(make, tiny_product, number++, at, 100);
    at += 100;
    edge_work(make, softmax, number++, at, other);
    at += other;
    edge_work(make, tiny_product, number++, at, LONG - at);
}
static inline void edge_attention_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_attention(make, 0, x, 0);
}
static inline void edge_attention_far(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_attention(make, x, 5000, 0);
}
static inline void edge_attention_part(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_attention(make, 0, 5000, x);
}

/* ---- Elementwise operators ---- */

/* A chain of 30 ms and x: x is won. */
static inline void edge_chain(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_a100(make);
    edge_work(make, add, 0, 0, 30000);
    edge_work(make, add, 1, 30000, x);
    edge_work(make, tiny_product, 2, 30000 + x, LONG - 30000 - x);
}
/* By names alone: `count` kernels of `total`, of which `apart` have another one between. */
static inline void edge_elementwise(struct gputrace *make, int64_t count, int64_t total,
                                    int64_t apart)
{
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        edge_kernel(make, 7, "vectorized_elementwise_kernel", at, edge_part(total, count, i));
        at += edge_part(total, count, i);
        if (i < apart)
            edge_kernel(make, 7, "h16816gemm", at++, 1);
    }
    edge_kernel(make, 7, "h16816gemm", at, LONG - at);
}
static inline void edge_elementwise_count(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_elementwise(make, x, 30000, 0);
}
static inline void edge_elementwise_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_elementwise(make, 100, x, 0);
}
/* Of 300 kernels of 100 µs x stand behind another kernel: 299 - x follow their like directly. */
static inline void edge_elementwise_apart(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_elementwise(make, 300, 30000, x);
}
/* Of 100 kernels x have no launch: the operators, a chain, tell no longer. */
static inline void edge_elementwise_linked(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_a100(make);
    edge_work(make, add, 0, 0, 10000);
    edge_work(make, add, 1, 10000, 10000);
    for (int64_t i = 0; i < 98; i++)
        gputrace_kernel(make, 7, "h16816gemm", i < x ? -1 : 7, 1, AT + 20000 + i * 100, 100);
}

/* ---- Updates ---- */

/* Under Optimizer.step `kernels` of `total`, one tensor at a time, and `joined` of
 * operators that take many. */
static inline void edge_updates(struct gputrace *make, int64_t kernels, int64_t total,
                                int64_t joined)
{
    const struct edge_work foreach = {"aten::_foreach_add_", "[[8, 8], [8, 8]]", HALVES,
                                      "multi_tensor_apply_kernel"};
    int64_t at = 0;
    cpu_range(make, "Optimizer.step#SGD.step", 0, (kernels + joined) * 3);
    for (int64_t i = 0; i < kernels; i++) {
        edge_work(make, add, i, at, edge_part(total, kernels, i));
        at += edge_part(total, kernels, i);
    }
    for (int64_t i = 0; i < joined; i++)
        edge_work(make, foreach, kernels + i, at++, 1);
    gputrace_kernel(make, 7, "h16816gemm", (kernels + joined) * 3 + 1, 1, AT + at, LONG - at);
}
static inline void edge_update_count(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_updates(make, x, 10000, 0);
}
static inline void edge_update_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_updates(make, 100, x, 0);
}
static inline void edge_update_joined(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_updates(make, 100, 10000, x);
}

#endif
