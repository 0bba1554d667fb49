/*
 * planted — made-up profiles with one thing wrong with their copies or waits, or with something
 * that only looks like it. For test_findings; times in microseconds.
 */
#ifndef PLANTED_H
#define PLANTED_H

#include "gputrace.h"

#define ROUNDS 60

static const struct gputrace_copy pinned_in = {NL_COPY_HTOD, NL_MEMORY_PINNED, 30000000, NULL};
static const struct gputrace_copy pageable_in = {NL_COPY_HTOD, NL_MEMORY_PAGEABLE, 3000000, NULL};

/* Per round: launch at the round's start, `late` µs after the kernel before has ended. */
static inline void add_busy(struct gputrace *make, const char *name, int64_t dur, int64_t pause)
{
    int64_t period = dur + pause;
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, name, i * period, 4, i * period + 10, dur);
}

static inline void busy(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++) /* launched far ahead, back to back */
        gputrace_kernel(make, 7, i % 2 ? "h16816gemm" : "softmax", i * 5, 4, 100 + i * 1000, 1000);
}

static inline void three_alike(struct gputrace *make)
{
    static const char *const names[] = {"h16816gemm", "softmax", "layer_norm"};
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, names[i % 3], i * 5, 4, 100 + i * 1000, 1000);
}

/* ---- Copies ---- */

static inline void copies_exposed(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        gputrace_copy(make, 7, pinned_in, i * 10, 4, 1000 + i * 2000, 1000);
        gputrace_kernel(make, 7, "h16816gemm", i * 10 + 5, 4, 2000 + i * 2000, 1000);
    }
}

static inline void copies_hidden(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        gputrace_copy(make, 8, pinned_in, i * 10, 4, 1000 + i * 1000, 900);
        gputrace_kernel(make, 7, "h16816gemm", i * 10 + 5, 4, 1000 + i * 1000, 1000);
    }
}

static inline void copies_tiny(struct gputrace *make)
{
    busy(make);
    gputrace_copy(make, 8, (struct gputrace_copy){NL_COPY_HTOD, NL_MEMORY_PAGEABLE, 800, NULL}, 90,
                  4, ROUNDS * 1000 + 100, 10);
    gputrace_kernel(make, 7, "h16816gemm", 95, 4, ROUNDS * 1000 + 110, 1000);
}

static inline void fetches_exposed(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        gputrace_copy(make, 7,
                      (struct gputrace_copy){NL_COPY_DTOH, NL_MEMORY_PINNED, 9000000, NULL}, i * 10,
                      4, 1000 + i * 2000, 1000);
        gputrace_kernel(make, 7, "h16816gemm", i * 10 + 5, 4, 2000 + i * 2000, 1000);
    }
}

static inline void pageable_exposed(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        gputrace_copy(make, 7, pageable_in, i * 10, 4, 1000 + i * 1100, 100);
        gputrace_kernel(make, 7, "h16816gemm", i * 10 + 5, 4, 1100 + i * 1100, 1000);
    }
}

static inline void copies_slow(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        gputrace_copy(make, 7,
                      (struct gputrace_copy){NL_COPY_HTOD, NL_MEMORY_PINNED, 5000000, NULL}, i * 10,
                      4, 1000 + i * 4000, 2000);
        gputrace_kernel(make, 7, "h16816gemm", i * 10 + 5, 4, 3000 + i * 4000, 2000);
    }
}

static inline void copies_small(struct gputrace *make)
{
    static const struct gputrace_copy small = {NL_COPY_HTOD, NL_MEMORY_PINNED, 4000, NULL};
    for (int64_t i = 0; i < 700; i++) {
        gputrace_copy(make, 7, small, i * 40, 4, i * 40 + 12, 2);
        gputrace_kernel(make, 7, "h16816gemm", i * 40 + 5, 4, i * 40 + 16, 20);
    }
}

static inline void copies_small_hidden(struct gputrace *make)
{
    static const struct gputrace_copy small = {NL_COPY_HTOD, NL_MEMORY_PINNED, 4000, NULL};
    for (int64_t i = 0; i < 700; i++) {
        gputrace_copy(make, 8, small, i * 4, 1, 5000 + i * 40, 2);
        gputrace_kernel(make, 7, "h16816gemm", i * 4 + 1, 1, 5000 + i * 40, 40);
    }
}

static inline void copy_blocks(struct gputrace *make, const char *call, uint64_t bytes,
                               int64_t pause)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        int64_t at = i * (1100 + pause);
        gputrace_kernel(make, 7, "h16816gemm", at, 4, at + 10, 1000);
        gputrace_copy(make, 7, (struct gputrace_copy){NL_COPY_DTOH, NL_MEMORY_PINNED, bytes, call},
                      at + 6, 1020, at + 1011, 5);
    }
}

static inline void copy_synchronous(struct gputrace *make)
{
    copy_blocks(make, "cudaMemcpy", 4096, 200);
}

static inline void copy_asynchronous(struct gputrace *make)
{
    copy_blocks(make, "cudaMemcpyAsync", 4096, 200);
}

/* ---- Waits ---- */

/* A wait that ends when the device does; the next launch comes `pause` later. */
static inline void add_waits(struct gputrace *make, uint64_t bytes, int64_t pause)
{
    struct gputrace_copy back = {NL_COPY_DTOH, NL_MEMORY_PINNED, bytes, NULL};
    for (int64_t i = 0; i < ROUNDS; i++) {
        int64_t at = i * (1100 + pause);
        gputrace_kernel(make, 7, "h16816gemm", at, 4, at + 10, 1000);
        if (bytes)
            gputrace_copy(make, 7, back, at + 5, 4, at + 1011, 2);
        gputrace_call(make, "cudaStreamSynchronize", at + 15, 1005);
    }
}

static inline void waits(struct gputrace *make)
{
    add_waits(make, 0, 200);
}

static inline void waits_for_scalar(struct gputrace *make)
{
    add_waits(make, 4, 200);
}

static inline void waits_for_much(struct gputrace *make)
{
    add_waits(make, 40000, 200);
}

/* The wait is as long, but other work is queued behind what it waits for. */
static inline void waits_while_busy(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        gputrace_kernel(make, 7, "h16816gemm", i * 1000, 4, 3000 + i * 1000, 1000);
        gputrace_call(make, "cudaStreamSynchronize", i * 1000 + 5, 990);
    }
}

/* The device was idle before the call: it does not wait. */
static inline void waits_for_nothing(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        gputrace_kernel(make, 7, "h16816gemm", i * 1500, 4, i * 1500 + 10, 1000);
        gputrace_call(make, "cudaStreamSynchronize", i * 1500 + 1100, 3);
    }
}

#endif
