/*
 * Thresholds from both sides. Each row of edges*.def is a made-up profile with one number in it:
 * with the one a cause is silent, with the next it speaks; and where it becomes critical. The
 * numbers are worked out by hand from docs/findings.md.
 */
#include "check.h"
#include "edgesall.h"
#include "findings/causes.h"
#include "findings/scene.h"
#include "tables/memo.h"

static const struct nl_cause *cause_of(const char *id)
{
    static const struct nl_cause *const causes[] = {
#define NL_CAUSE(name, level, title) &nl_cause_##name,
#include "findings/causes.def"
    };
    for (size_t i = 0; i < CHECK_LENGTH(causes); i++)
        if (!strcmp(causes[i]->id, id))
            return causes[i];
    return NULL;
}

/* Whether a finding says so, in its title or in what proves it. */
static bool says(const struct nl_finding *finding, const char *words)
{
    bool found = finding->title && strstr(finding->title, words);
    for (size_t i = 0; i < finding->evidence_count; i++)
        found |= finding->evidence[i].says && strstr(finding->evidence[i].says, words);
    return found;
}

struct question {
    const char *id, *words;
    bool said; /* the words */
};

/* The finding of the scene that loses most; false without one. Its texts are gone. */
static bool ask_scenes(const struct nl_cause *cause, const struct nl_scenes *scenes,
                       struct question *question, struct nl_finding *worst)
{
    bool found = false;
    for (size_t i = 0; i < scenes->count; i++) {
        struct nl_finding finding = {.cause = cause->id};
        nl_intervals_init(&finding.where);
        if (cause->evaluate(&scenes->items[i], &finding) == NL_CAUSE_FOUND &&
            (!found || finding.cost_ns > worst->cost_ns)) {
            *worst = finding;
            found = true;
            question->said = question->words && says(&finding, question->words);
        }
        nl_intervals_release(&finding.where);
    }
    return found;
}

/* What a cause says of a profile, which is given up. */
static bool ask_trace(struct question *question, struct nl_trace *trace, struct nl_finding *finding)
{
    struct nl_arena arena;
    struct nl_scenes devices, hosts = {0};
    const struct nl_cause *cause = cause_of(question->id);
    if (!check_true(trace && cause, "trace && cause", __FILE__, __LINE__))
        return false;
    struct nl_analyze_options options = {0};
    options.memo = nl_memo_new(trace, &options.window);
    nl_arena_init(&arena);
    nl_scenes_init(&devices, trace, &options, &arena, 1);
    if (!devices.count)
        nl_scenes_init_cpu(&hosts, trace, &options, &arena);
    bool found = ask_scenes(cause, devices.count ? &devices : &hosts, question, finding);
    nl_scenes_release(&devices);
    nl_scenes_release(&hosts);
    nl_memo_free(options.memo);
    nl_arena_free(&arena);
    nl_trace_free(trace);
    return found;
}

enum said { SILENT, SAID, CRITICAL };

/* What the row's cause says of its profile with that x. */
static enum said ask(size_t row, int64_t x)
{
    struct nl_finding finding;
    struct question question = {edges[row].cause, NULL, false};
    if (!ask_trace(&question, edge_build(row, x), &finding))
        return SILENT;
    return finding.severity == NL_SEVERITY_CRITICAL ? CRITICAL : SAID;
}

static void begins_where_it_says(void)
{
    for (size_t i = 0; i < EDGES; i++) {
        char label[200];
        snprintf(label, sizeof label, "%s: %s, %s", edges[i].cause, edges[i].what, edges[i].arg);
        check_case(label);
        CHECK_INT(ask(i, edges[i].silent), SILENT);
        enum said said = ask(i, edges[i].said);
        CHECK(said == SAID || said == CRITICAL);
        if (!edges[i].critical)
            continue;
        enum said warning = ask(i, edges[i].warning);
        CHECK(warning == SAID || (warning == SILENT && edges[i].warning == edges[i].silent));
        CHECK_INT(ask(i, edges[i].critical), CRITICAL);
    }
}

/* ---- What it costs, and what is promised ---- */

/* Kernels without tensor cores take x of a device that has them. */
static void without_cores(struct gputrace *make, int64_t x, const char *arg)
{
    dev_named(make, "NVIDIA GPU", 84, 7, 0);
    edge_named(make, x, arg);
}

/* One gap of x µs, and twenty of 20 ms in all less that. */
static void one_long_gap(struct gputrace *make, int64_t x, const char *arg)
{
    int64_t at = 1000 + x;
    (void)arg;
    edge_late(make, "h16816gemm", 0, 1000);
    for (int64_t i = 0; i < 20; i++) {
        edge_late(make, "h16816gemm", at, 1000);
        at += 1000 + edge_part(20000 - x, 20, i);
    }
    edge_late(make, "h16816gemm", at, 1000);
}

/* Waits, and beside 100 kernels with a launch x without one. */
static void waits_and_unlinked(struct gputrace *make, int64_t x, const char *arg)
{
    edge_waits(make, 10000, arg);
    for (int64_t i = 0; i < x; i++)
        gputrace_kernel(make, 8, "softmax", -1, 0, AT + 99000 + i, 1);
}

/* x µs of gaps in calls that copy; and, beside a kernel, a copy that was recorded. */
static void gaps_in_copies(struct gputrace *make, int64_t x, const char *recorded)
{
    struct gputrace_copy copy = {NL_COPY_HTOD, NL_MEMORY_PINNED, 4096, NULL};
    edge_called(make, x, "cudaMemcpy");
    if (*recorded)
        gputrace_copy(make, 8, copy, AT + 90, 1, AT + 100, 10);
}

/* x µs in a function, with the call that waits in it but for its first and last one. */
static void waits_inside(struct gputrace *make, int64_t x, const char *arg)
{
    edge_function(make, x, arg);
    cpu_python(make, "_thread.lock.acquire", 1, x - 2);
}

/* One kernel on doubles, in which the unit for FP64 is busy for x and the one for
 * integers for half of the time. */
static void measured_doubles(struct gputrace *make, int64_t x, const char *arg)
{
    static const char *const names[] = {
        "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed"};
    struct nl_kernel_row kernel = nl_kernel_row();
    struct nl_measurement_row measured = nl_measurement_row();
    dev_named(make, "NVIDIA GeForce RTX 2080 Ti", 68, 7, 5);
    kernel.slice =
        gputrace_slice(make, NL_KIND_KERNEL, gputrace_lane(make, NL_LANE_STREAM, 7), arg, AT, LONG);
    measured.slice = kernel.slice;
    kernel.measurement = nl_stage_measurement(make->stage, &measured);
    nl_stage_kernel(make->stage, &kernel);
    for (int i = 0; i < 2; i++) {
        struct nl_metric_row metric = nl_metric_row();
        metric.slice = kernel.slice;
        metric.measurement = kernel.measurement;
        metric.name = nl_stage_name(make->stage, nl_str(names[i]));
        metric.value = i ? 50 : (double)x;
        nl_stage_metric(make->stage, &metric);
    }
}

/* Worked out by hand, in ns. */
static const struct {
    const char *cause, *names; /* of the constants that it is about */
    void (*fill)(struct gputrace *make, int64_t x, const char *arg);
    const char *arg;
    int64_t x;
    double cost, least, most, confidence, within;
} promises[] = {
    {"h2d_in_critical_path", "", edge_h2d, "", 10000, 10e6, 5e6, 10e6, 1, 0},
    /* what is uploaded before anything runs is paid once */
    {"h2d_in_critical_path", "", edge_h2d, "once", 10000, 10e6, 0, 0, 1, 0},
    /* as long as that is most of it */
    {"h2d_in_critical_path", "", edge_h2d, "partly", 5000, 10e6, 5e6, 10e6, 1, 0},
    {"h2d_in_critical_path", "", edge_h2d, "partly", 5001, 10e6, 2499500, 4999e3, 1, 0},
    {"pageable_memcpy", "", edge_pageable, "", 10000, 10e6, 5e6, 10e6, 1, 0},
    {"pageable_memcpy", "", edge_pageable, "once", 10000, 10e6, 0, 0, 1, 0},
    {"pageable_memcpy", "", edge_pageable, "partly", 5000, 10e6, 5e6, 10e6, 1, 0},
    {"pageable_memcpy", "", edge_pageable, "partly", 5001, 10e6, 2499500, 4999e3, 1, 0},
    /* 5 of 12 GB/s */
    {"low_copy_bandwidth", "", edge_slow_copy, "", 12000, 7e6, 3.5e6, 7e6, 1, 1},
    {"low_copy_bandwidth", "", edge_slow_copy, "once", 12000, 7e6, 0, 0, 1, 1},
    {"low_copy_bandwidth", "", edge_slow_copy, "partly", 4999, 5833333, 2916667, 5833333, 1, 1},
    {"low_copy_bandwidth", "", edge_slow_copy, "partly", 5001, 5833333, 1458042, 2916083, 1, 1},
    {"many_small_copies", "", edge_copy_count, "", 600, 6e6, 3e6, 6e6, 1, 0},
    {"many_small_copies", "", edge_copy_count, "once", 600, 6e6, 0, 0, 1, 0},
    {"many_small_copies", "", edge_copy_count, "partly", 300, 6e6, 3e6, 6e6, 1, 0},
    {"many_small_copies", "", edge_copy_count, "partly", 301, 6e6, 1495e3, 2990e3, 1, 0},
    /* and where steps have few of them */
    {"many_small_copies", "", edge_copies_before, "", 600, 6e6, 0, 0, 1, 0},
    /* a launch takes 1 µs to reach the device at best */
    {"launch_latency_gap", "LEFT_NS", edge_latency, "", 30, 30000, 14500, 29000, 1, 0},
    /* kernels of 12 µs: 2 of the 5 µs from sure to 0.8 */
    {"launch_bound_small_kernels", "LEFT_OF_SURE NL_SMALL_KERNEL_NS", edge_kernel_length,
     "aten::add", 12, 20e6, 10e6, 20e6, 0.92, 0},
    {"launch_bound_small_kernels", "LEFT_OF_SURE NL_SMALL_KERNEL_NS", edge_kernel_length,
     "aten::add", 10, 20e6, 10e6, 20e6, 1, 0},
    /* three quarters; a quarter at least; nine tenths sure up to twice the threshold */
    {"tensor_core_unused", "", without_cores, "volta_sgemm_128x64_nn", 20000, 15e6, 5e6, 15e6, 0.9,
     0},
    {"tensor_core_unused", "", without_cores, "volta_sgemm_128x64_nn", 20004, 15.003e6, 5.001e6,
     15.003e6, 1, 0},
    /* one gap with over four fifths of the idle time is a phase */
    {"gpu_idle", "ONE_GAP", one_long_gap, "", 16000, 20e6, 10e6, 20e6, 1, 0},
    {"gpu_idle", "ONE_GAP", one_long_gap, "", 16001, 20e6, 10e6, 20e6, 0.85, 0},
    /* gaps in calls that copy may be copies where none was recorded */
    {"gpu_idle", "", gaps_in_copies, "", 20000, 20e6, 0, 0, 1, 0},
    {"gpu_idle", "", gaps_in_copies, "a copy", 20000, 20e6, 10e6, 20e6, 1, 0},
    {"sync_calls", "", waits_and_unlinked, "cudaStreamSynchronize", 99, 10e6, 5e6, 10e6, 1, 0},
    {"sync_calls", "", waits_and_unlinked, "cudaStreamSynchronize", 100, 10e6, 5e6, 10e6, 0.92, 0},
    /* with 50 copies of 10 µs and their calls of 1 µs */
    {"item_scalar_readback", "", edge_scalars, "", 10000, 10e6, 5e6, 10.55e6, 1, 0},
    {"d2d_copy_or_cast_excess", "", edge_twenty_named, "CatArrayBatchedCopy", 30000, 30e6, 10e6,
     30e6, 1, 0},
    {"fp64_slow", "", edge_double, "cutlass_80_simt_dgemm_128x64_nn", 32000, 32e6, 16e6, 31e6, 1,
     1},
    /* the unit for FP64 is busy 30 %; 80 %, and another one half of the time */
    {"fp64_slow", "", measured_doubles, "kernel_A(double *, int)", 30, 100e6, 30e6, 30e6, 1, 1},
    {"fp64_slow", "", measured_doubles, "kernel_A(double *, int)", 80, 100e6, 50e6, 50e6, 1, 1},
    {"small_grid", "", edge_grid_time, "", 20000, 10e6, 2.5e6, 10e6, 1, 0},
    {"layout_copies", "", edge_layout, "", 20000, 20e6, 5e6, 20e6, 1, 0},
    {"gather_bound", "", edge_gather, "", 20000, 20e6, 0, 20e6, 1, 2},
    {"tf32_products", "", edge_tf32, "", 20000, 10e6, 0, 10e6, 1, 0},
    {"cpu_hotspot", "", edge_function, "tokenize", 50000, 50e6, 12.5e6, 37.5e6, 1, 0},
    {"lock_waits", "", edge_function, "acquire", 50000, 50e6, 25e6, 50e6, 1, 0},
    {"lock_waits", "", waits_inside, "wait (threading.py:589)", 50002, 50e6, 25e6, 50e6, 1, 0},
    /* a join waits for work, which nobody else can shorten */
    {"lock_waits", "", waits_inside, "join (threading.py:1024)", 50000, 50e6, 0, 0, 1, 0},
    {"optimizer_unfused", "", edge_update_time, "", 10000, 5e6, 2.5e6, 5e6, 1, 0},
    /* 10 ms over the median, 6.67 over the mean */
    {"moe_imbalance", "", edge_experts_times, "", 40000, 10e6, 0, 20e6 / 3, 1, 1},
    /* arithmetic 0.204 µs; 4-bit weights leave out three quarters of 25 µs, at 0.8 of the roof */
    {"decode_weight_bound", "MAX_SMALLER", edge_decode_length, "", 50, 49796, 0, 37500, 1, 1},
    {"padding_waste", "", edge_padding_time, "", 20000, 8e6, 0, 8e6, 1, 1},
    /* 5.87 of 300 GB/s; 0.8 of that can be reached */
    {"low_bus_bandwidth", "REACHABLE_SHARE", edge_link_count, "", 10, 48776639, 24388319, 48776639,
     1, 100},
    {"collective_skew", "", edge_skew_time, "", 10000, 10e6, 0, 10e6, 0.9, 0},
    {"clocks_down", "", edge_clocked_products, "heat", 20000, 10e6, 0, 10e6, 1, 1},
    {"wave_quantisation", "", edge_waves_time, "", 40000, 10e6, 0, 10e6, 1, 1},
    /* of 40 % of the time the kernels' registers are known */
    {"low_occupancy", "", edge_warps_time, "", 40000, 20e6, 0, 20e6, 0.4, 0},
    {"small_products", "", edge_small_shortest, "", 5, 60000, 0, 60000, 1, 0},
    {"gemm_memory_bound", "", edge_vector, "", 100, 99462, 0, 99462, 1, 1},
};

static void promises_what_can_be_won(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(promises); i++) {
        struct gputrace make;
        struct nl_finding finding;
        char label[200];
        snprintf(label, sizeof label, "%s at %lld", promises[i].cause, (long long)promises[i].x);
        check_case(label);
        gputrace_open(&make);
        promises[i].fill(&make, promises[i].x, promises[i].arg);
        struct question question = {promises[i].cause, NULL, false};
        bool found = ask_trace(&question, gputrace_close(&make), &finding);
        CHECK(found);
        if (!found)
            continue;
        CHECK_NEAR((double)finding.cost_ns, promises[i].cost, promises[i].within);
        CHECK_NEAR((double)finding.saving_ns[0], promises[i].least, promises[i].within);
        CHECK_NEAR((double)finding.saving_ns[1], promises[i].most, promises[i].within);
        CHECK_NEAR(finding.confidence, promises[i].confidence, 1e-9);
    }
}

/* ---- What is said ---- */

/* Twenty gaps of x, each in a call that launches what ends it. */
static void launches_of(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    for (int64_t i = 0; i < 20; i++)
        gputrace_kernel(make, 7, "h16816gemm", AT + i * 5000 - (i ? x : 0), i ? x : 1,
                        AT + i * 5000, 5000 - x);
}
/* x of 20 gaps of 1 ms are in one operator, the rest in another. */
static void operators_of(struct gputrace *make, int64_t x, const char *arg)
{
    for (int64_t i = 0; i < 20; i++) {
        edge_late(make, "h16816gemm", i * 5000, 4000);
        gputrace_op(make, i < x ? arg : "aten::add", AT + i * 5000 + 4000, 1000);
    }
    edge_late(make, "h16816gemm", 100000, 1000);
}

static const struct {
    const char *cause, *names; /* of the constants that it is about */
    void (*fill)(struct gputrace *make, int64_t x, const char *arg);
    const char *arg;
    int64_t x;
    const char *words;
    bool said;
} sayings[] = {
    {"gpu_idle", "SLOW_LAUNCH_NS", launches_of, "", 1000, "launch calls that take milliseconds",
     true},
    {"gpu_idle", "SLOW_LAUNCH_NS", launches_of, "", 999, "launch calls that take milliseconds",
     false},
    {"gpu_idle", "ONE_GAP", one_long_gap, "", 16001, "one single gap is", true},
    {"gpu_idle", "ONE_GAP", one_long_gap, "", 16000, "one single gap", false},
    {"gpu_idle", "", operators_of, "aten::mul", 11,
     "mostly while the CPU is in aten::mul (operator)", true},
    {"gpu_idle", "", operators_of, "aten::mul", 10, "mostly while the CPU is in operators", true},
    {"gpu_idle", "", operators_of, "aten::mul", 9,
     "mostly while the CPU is in aten::add (operator)", true},
};

static void says_what_is_so(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(sayings); i++) {
        struct gputrace make;
        struct nl_finding finding;
        struct question question = {sayings[i].cause, sayings[i].words, false};
        gputrace_open(&make);
        sayings[i].fill(&make, sayings[i].x, sayings[i].arg);
        check_case(sayings[i].words);
        CHECK(ask_trace(&question, gputrace_close(&make), &finding));
        CHECK_INT(question.said, sayings[i].said);
    }
}

CHECK_MAIN("edges", {"causes begin where their thresholds are", begins_where_it_says},
           {"costs and savings are those worked out by hand", promises_what_can_be_won},
           {"what is said", says_what_is_so})
