/*
 * What judging the compute costs: work of operators, roofs, phases and the causes inside
 * kernels, beside the operators' device time by name, which needs the same operators and
 * launches. What the other parts of a report make anyway (operators, owners, idle time, the
 * account, steps) is made before.
 *
 *     build/bench/bench_work TRACE.nlt [TIMES]                         default 5
 *
 * Milliseconds of processor time on one thread, the least of TIMES; the last line has the sum and
 * its ratio to the yardstick.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "findings/cause.h"
#include "findings/scene.h"
#include "store/tracefile.h"
#include "tables/analyze.h"
#include "tables/memo.h"

/* Causes that look at work, launch geometry or clocks; docs/work.md describes them. */
#define CAUSES(C)                                                                                  \
    C(gemm_memory_bound)                                                                           \
    C(decode_weight_bound)                                                                         \
    C(padding_waste)                                                                               \
    C(moe_imbalance)                                                                               \
    C(small_products)                                                                              \
    C(gemm_misaligned)                                                                             \
    C(elementwise_not_fused)                                                                       \
    C(layout_copies)                                                                               \
    C(attention_not_fused)                                                                         \
    C(tf32_products)                                                                               \
    C(gather_bound)                                                                                \
    C(wave_quantisation)                                                                           \
    C(low_occupancy)                                                                               \
    C(optimizer_unfused)                                                                           \
    C(slow_instances)                                                                              \
    C(clocks_down)                                                                                 \
    C(fp8_unused)                                                                                  \
    C(roof_headroom)
#define DECLARE(name) extern const struct nl_cause nl_cause_##name;
CAUSES(DECLARE)

#define ROW(name) {#name, &nl_cause_##name},
static const struct {
    const char *name;
    const struct nl_cause *cause;
} causes[] = {CAUSES(ROW)};

enum {
    WORKS,
    PEAKS,
    PLACES,
    ROOFS,
    PHASES,
    COMPUTE,
    PARTS,
    CAUSE_COUNT = sizeof causes / sizeof causes[0]
};

static const char *const parts[PARTS] = {
    "work of operators", "peaks", "modules and steps of work", "roofs", "phases",
    "section compute"};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static void make_shared(struct nl_memo *memo)
{
    (void)nl_memo_account(memo);
    (void)nl_memo_idle(memo);
    (void)nl_memo_ranges(memo, NL_KIND_OP);
    (void)nl_memo_ranges(memo, NL_KIND_LAYER);
    (void)nl_memo_ranges(memo, NL_KIND_NVTX);
    (void)nl_memo_step_times(memo);
    (void)nl_memo_self_times(memo);
}

static void run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                const char *name)
{
    struct nl_err err = {0};
    nl_result_free(nl_analysis_run(nl_analysis_find(name), trace, options, NULL, &err));
}

static void keep_least(double *least, double *start)
{
    double end = now(), took = end - *start;
    *least = *least == 0 || took < *least ? took : *least;
    *start = end;
}

static void time_causes(const struct nl_trace *trace, const struct nl_analyze_options *options,
                        double *least)
{
    struct nl_arena arena;
    struct nl_scenes scenes;
    nl_arena_init(&arena);
    nl_scenes_init(&scenes, trace, options, &arena, 1);
    double start = now();
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        for (size_t s = 0; s < scenes.count; s++) {
            struct nl_finding finding = {.cause = causes[i].cause->id};
            nl_intervals_init(&finding.where);
            (void)causes[i].cause->evaluate(&scenes.items[s], &finding);
            nl_intervals_release(&finding.where);
        }
        keep_least(&least[i], &start);
    }
    nl_scenes_release(&scenes);
    nl_arena_free(&arena);
}

static void time_all(const struct nl_trace *trace, double *yardstick, double *part, double *cause)
{
    struct nl_analyze_options options = {.fold = true};
    options.memo = nl_memo_new(trace, &options.window);
    make_shared(options.memo);
    run(trace, &options, "op_gpu");
    double start = now();
    run(trace, &options, "op_gpu");
    keep_least(yardstick, &start);
    (void)nl_memo_works(options.memo);
    keep_least(&part[WORKS], &start);
    (void)nl_memo_peaks(options.memo);
    keep_least(&part[PEAKS], &start);
    (void)nl_memo_places(options.memo);
    keep_least(&part[PLACES], &start);
    (void)nl_memo_roofs(options.memo);
    keep_least(&part[ROOFS], &start);
    (void)nl_memo_llm_steps(options.memo);
    keep_least(&part[PHASES], &start);
    run(trace, &options, "compute");
    keep_least(&part[COMPUTE], &start);
    time_causes(trace, &options, cause);
    nl_memo_free(options.memo);
}

int main(int argc, char **argv)
{
    unsigned times = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 5;
    double yardstick = 0, part[PARTS] = {0}, cause[CAUSE_COUNT] = {0}, sum = 0;
    struct nl_err err = {0};
    struct nl_trace *trace = argc > 1 ? nl_trace_open(argv[1], false, 1, &err) : NULL;
    if (!trace)
        return 1;
    for (unsigned i = 0; i < times; i++)
        time_all(trace, &yardstick, part, cause);
    for (size_t i = 0; i < PARTS; i++) {
        printf("%9.3f %s\n", part[i], parts[i]);
        sum += part[i];
    }
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        printf("%9.3f %s\n", cause[i], causes[i].name);
        sum += cause[i];
    }
    printf("%9.3f device time of operators, the yardstick\n", yardstick);
    printf("%9.3f compute, %u slices, %.1f ns per slice; ratio %.2f\n", sum, trace->slice.rows,
           sum * 1e6 / trace->slice.rows, sum / yardstick);
    nl_trace_free(trace);
    return 0;
}
