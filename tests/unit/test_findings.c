/*
 * Every cause planted at least once, and at least twice something that only looks like it. On each
 * profile the evidence of every finding is asked again in SQL and must give the same number.
 *
 * A profile is a row: which cause, whether it is to be printed, and a function that builds it from
 * loops of kernels, copies and calls (gputrace.h; times in microseconds).
 */
#include "findings/cause.h"
#include "check.h"
#include "planted.h"
#include "plantedclocks.h"
#include "plantedwork.h"
#include "plantedrates.h"
#include "sql/db.h"

/* ---- Clocks ---- */

static void work_before_launch(struct gputrace *make)
{
    for (int64_t i = 0; i < 100; i++) /* every tenth 3 us too early */
        gputrace_kernel(make, 7, "gemm", i * 100, 4, i * 100 + (i % 10 ? 6 : -3), 60);
}

static void with_error(struct gputrace *make, const char *error)
{
    busy(make); /* kernels of 1 ms */
    nl_builder_meta(make->builder, make->source, "clock error (ns)", nl_str(error));
}

static void clock_error(struct gputrace *make)
{
    with_error(make, "20000");
}

static void small_clock_error(struct gputrace *make)
{
    with_error(make, "5000");
}

/* ---- Launching ---- */

static void small_kernels(struct gputrace *make, bool late)
{
    for (int64_t i = 0; i < 400; i++) {
        gputrace_op(make, "aten::add", i * 30, 28);
        gputrace_kernel(make, 7, "elementwise_kernel", i * 30 + 20, 4,
                        late ? i * 30 + 26 : 20000 + i * 30, late ? 4 : 29);
    }
}

static void tiny_and_late(struct gputrace *make)
{
    small_kernels(make, true);
}

static void tiny_and_queued(struct gputrace *make)
{
    for (int64_t i = 0; i < 400; i++)
        gputrace_kernel(make, 7, "elementwise_kernel", i * 3, 2, 5000 + i * 5, 5);
}

static void large_and_queued(struct gputrace *make)
{
    small_kernels(make, false);
}

/* Kernels of 20 µs, operators of 40: dispatch is the limit though kernels are not tiny. */
static void slow_operators(struct gputrace *make)
{
    for (int64_t i = 0; i < 400; i++) {
        gputrace_op(make, "aten::linear", i * 60, 58);
        gputrace_kernel(make, 7, "elementwise_kernel", i * 60 + 40, 4, i * 60 + 46, 20);
    }
}

static void slow_launches(struct gputrace *make)
{
    for (int64_t i = 0; i < 200; i++)
        gputrace_kernel(make, 7, "elementwise_kernel", i * 100, 60, i * 100 + 62, 38);
}

/* As long, but the queue is full and the device never idle. */
static void queue_full(struct gputrace *make)
{
    for (int64_t i = 0; i < 200; i++)
        gputrace_kernel(make, 7, "elementwise_kernel", i * 300, 290, 5000 + i * 300, 300);
}

static void one_slow_launch(struct gputrace *make)
{
    for (int64_t i = 0; i < 200; i++)
        gputrace_kernel(make, 7, "elementwise_kernel", i * 100 + (i > 5 ? 9000 : 0),
                        i == 5 ? 9000 : 5, i * 100 + (i > 4 ? 9010 : 10), 80);
}

static void pauses(struct gputrace *make)
{
    for (int64_t i = 0; i < 200; i++)
        gputrace_kernel(make, 7, "elementwise_kernel", i * 2, 1, 1000 + i * 50, 40);
}

static void long_pauses(struct gputrace *make)
{
    for (int64_t i = 0; i < 200; i++)
        gputrace_kernel(make, 7, "elementwise_kernel", i * 2, 1, 1000 + i * 150, 40);
}

static void add_steps(struct gputrace *make, bool alike, bool graphs)
{
    static const char *const names[] = {"elementwise_kernel", "reduce_kernel", "softmax",
                                        "layer_norm"};
    for (int64_t step = 0; step < 4; step++) {
        gputrace_step(make, step * 12100, 12050);
        for (int64_t i = 0; i < 300; i++) {
            int64_t at = step * 12100 + i * 40;
            gputrace_op(make, "aten::add", at, 38);
            gputrace_kernel(make, 7, names[(i + (alike ? 0 : step * i)) % 4], at + 20, 4, at + 26,
                            12);
        }
    }
    if (graphs)
        gputrace_call(make, "cudaGraphLaunch", 4 * 12100 + 10, 5);
}

static void same_steps(struct gputrace *make)
{
    add_steps(make, true, false);
}

static void other_steps(struct gputrace *make)
{
    add_steps(make, false, false);
}

static void graph_steps(struct gputrace *make)
{
    add_steps(make, true, true);
}

/* ---- Communication ---- */

static void add_comm(struct gputrace *make, int64_t stream, int64_t start, int64_t dur)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        gputrace_kernel(make, 7, "h16816gemm", i * 5, 4, 100 + i * 1500, 1000);
        gputrace_kernel(make, stream, "ncclDevKernel_AllReduce_Sum", i * 5 + 2, 1,
                        100 + i * 1500 + start, dur);
    }
}

static void comm_exposed(struct gputrace *make)
{
    add_comm(make, 20, 1000, 500);
}

static void comm_hidden(struct gputrace *make)
{
    add_comm(make, 20, 100, 500);
}

static void comm_only(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 20, "ncclDevKernel_AllReduce_Sum", i * 5, 1, i * 1500 + 10, 500);
}

static void comm_same_stream(struct gputrace *make)
{
    add_comm(make, 7, 1000, 500);
}

/* ---- The host ---- */

static void add_fetch(struct gputrace *make, const char *name, int64_t fetch, int64_t pause)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        int64_t at = i * (1000 + pause);
        gputrace_kernel(make, 7, "h16816gemm", at, 4, at + 10, 1000);
        gputrace_op(make, name, at + 20, fetch);
    }
}

static void fetch_late(struct gputrace *make)
{
    add_fetch(make, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1400, 500);
}

static void fetch_hidden(struct gputrace *make)
{
    add_fetch(make, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 900, 50);
}

static void something_late(struct gputrace *make)
{
    add_fetch(make, "evaluate", 1400, 500);
}

static void add_calls(struct gputrace *make, const char *name, int64_t first, int64_t count)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        int64_t at = i * 1500;
        gputrace_kernel(make, 7, "h16816gemm", at, 4, at + 10, 1000);
        if (i >= first && i < first + count)
            gputrace_call(make, name, at + 1020, 470);
    }
}

static void allocates(struct gputrace *make)
{
    add_calls(make, "cudaMalloc", 0, ROUNDS);
}

static void allocates_first(struct gputrace *make)
{
    add_calls(make, "cudaMalloc", 0, ROUNDS / 6);
}

static void allocates_async(struct gputrace *make)
{
    add_calls(make, "cudaMallocAsync", 0, ROUNDS);
}

static void loads_code(struct gputrace *make)
{
    add_calls(make, "cuModuleLoadDataEx", 20, 30);
}

static void loads_first(struct gputrace *make)
{
    add_calls(make, "cuModuleLoadDataEx", 0, ROUNDS / 6);
}

static void unlinked(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, "h16816gemm", i < 20 ? -1 : i * 5, 4, 100 + i * 1000, 1000);
}

static void no_calls(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, "h16816gemm", -1, 0, 100 + i * 1000, 1000);
}

static const struct {
    const char *cause;
    bool printed;
    const char *label;
    void (*build)(struct gputrace *make);
} cases[] = {
    {"h2d_in_critical_path", true, "copies in front of kernels", copies_exposed},
    {"h2d_in_critical_path", false, "copies beside kernels", copies_hidden},
    {"h2d_in_critical_path", false, "one tiny copy", copies_tiny},
    {"d2h_in_critical_path", true, "results in front of kernels", fetches_exposed},
    {"d2h_in_critical_path", false, "copies the other way", copies_exposed},
    {"d2h_in_critical_path", false, "scalars", waits_for_scalar},
    {"pageable_memcpy", true, "pageable copies in front of kernels", pageable_exposed},
    {"pageable_memcpy", false, "pinned copies", copies_exposed},
    {"pageable_memcpy", false, "one tiny pageable copy", copies_tiny},
    {"low_copy_bandwidth", true, "5 MB in 2 ms", copies_slow},
    {"low_copy_bandwidth", false, "30 GB/s", copies_exposed},
    {"low_copy_bandwidth", false, "small copies", copies_small},
    {"many_small_copies", true, "700 of 4 kB", copies_small},
    {"many_small_copies", false, "hidden", copies_small_hidden},
    {"many_small_copies", false, "few", pageable_exposed},
    {"sync_memcpy", true, "cudaMemcpy", copy_synchronous},
    {"sync_memcpy", false, "cudaMemcpyAsync", copy_asynchronous},
    {"sync_memcpy", false, "waits by other calls", waits},
    {"sync_calls", true, "waits, then launches", waits},
    {"sync_calls", false, "waits for a busy device", waits_while_busy},
    {"sync_calls", false, "waits for nothing", waits_for_nothing},
    {"item_scalar_readback", true, "4 bytes back", waits_for_scalar},
    {"item_scalar_readback", false, "40 kB back", waits_for_much},
    {"item_scalar_readback", false, "waits without a copy", waits},
    {"launch_bound_small_kernels", true, "4 us kernels every 30 us", tiny_and_late},
    {"launch_bound_small_kernels", false, "tiny but queued", tiny_and_queued},
    {"launch_bound_small_kernels", false, "not tiny", slow_operators},
    {"cpu_dispatch_overhead", true, "operators longer than kernels", slow_operators},
    {"cpu_dispatch_overhead", false, "queued", large_and_queued},
    {"cpu_dispatch_overhead", false, "waits", waits},
    {"launch_api_slow", true, "60 us per launch", slow_launches},
    {"launch_api_slow", false, "full queue", queue_full},
    {"launch_api_slow", false, "one slow launch", one_slow_launch},
    {"launch_queue_full", true, "full queue", queue_full},
    {"launch_queue_full", false, "slow launches, idle device", slow_launches},
    {"launch_queue_full", false, "short launches", busy},
    {"launch_latency_gap", true, "10 us between queued kernels", pauses},
    {"launch_latency_gap", false, "110 us between them", long_pauses},
    {"launch_latency_gap", false, "late launches", tiny_and_late},
    {"cuda_graph_absent", true, "equal steps", same_steps},
    {"cuda_graph_absent", false, "different steps", other_steps},
    {"cuda_graph_absent", false, "graphs are used", graph_steps},
    {"gpu_idle", true, "4 of 7 ms idle", idle_for_long},
    {"gpu_idle", false, "100 us of 3.1 ms idle", idle_short},
    {"gpu_idle", false, "busy with copies", copies_exposed},
    {"gpu_idle", false, "a fifth of a millisecond", idle_in_little},
    {"gpu_idle", true, "one phase", idle_once},
    {"gpu_idle", true, "launched, but not begun", idle_though_launched},
    {"gpu_idle", false, "every kernel was counted", idle_while_counted},
    {"gpu_idle", true, "a third of the kernels was counted", idle_and_some_counted},
    {"tensor_core_unused", true, "sgemm", sgemm},
    {"tensor_core_unused", false, "xmma with tensor cores", xmma},
    {"tensor_core_unused", false, "a GPU that has none", sgemm_without},
    {"tensor_core_unused", false, "gemv in double", dgemv},
    {"tensor_core_unused", false, "a quantised matrix times a vector", quantised_vectors},
    {"kernel_hotspot", true, "80 % in one", hotspot},
    {"kernel_hotspot", false, "half and half", busy},
    {"kernel_hotspot", false, "half of busy is copies", copies_exposed},
    {"exposed_communication", true, "after the kernels", comm_exposed},
    {"exposed_communication", false, "beside the kernels", comm_hidden},
    {"exposed_communication", false, "nothing else recorded", comm_only},
    {"comm_on_compute_stream", true, "one stream", comm_same_stream},
    {"comm_on_compute_stream", false, "own stream, exposed", comm_exposed},
    {"comm_on_compute_stream", false, "own stream, hidden", comm_hidden},
    {"dataloader_stall", true, "__next__ while idle", fetch_late},
    {"dataloader_stall", false, "__next__ while busy", fetch_hidden},
    {"dataloader_stall", false, "something else while idle", something_late},
    {"allocator_churn", true, "cudaMalloc all along", allocates},
    {"allocator_churn", false, "cudaMalloc at the start", allocates_first},
    {"allocator_churn", false, "stream-ordered", allocates_async},
    {"jit_compile_in_loop", true, "modules loaded later", loads_code},
    {"jit_compile_in_loop", false, "modules loaded at the start", loads_first},
    {"jit_compile_in_loop", false, "allocations", allocates},
    {"truncated_or_dropped", true, "a third without launch", unlinked},
    {"truncated_or_dropped", false, "all linked", busy},
    {"truncated_or_dropped", false, "no calls recorded", no_calls},
    {"clocks_down", true, "heat", clocks_hot},
    {"clocks_down", true, "power", clocks_at_power_limit},
    {"clocks_down", true, "clocks that were set", clocks_set},
    {"clocks_down", false, "1 % of the clock", clocks_hardly_down},
    {"clocks_down", false, "down while nothing runs", clocks_down_at_rest},
    {"clocks_down", false, "no reason named", clocks_vary},
    {"clocks_down", false, "readings end before the work", clocks_read_before},
    {"clocks_down", false, "not recorded", busy},
    {"clock_mismatch", true, "work before its launch", work_before_launch},
    {"clock_mismatch", true, "a clock error of 2 % of the median kernel", clock_error},
    {"clock_mismatch", false, "a clock error of 0.5 %", small_clock_error},
    {"clock_mismatch", false, "all behind their launch", busy},
    {"clock_mismatch", false, "no calls recorded", no_calls},
#include "plantedcauses.def"
};

static struct nl_trace *build(void (*fill)(struct gputrace *make))
{
    struct gputrace make;
    gputrace_open(&make);
    fill(&make);
    return gputrace_close(&make);
}

/* Told under its own name, or as a part of another. */
static const struct nl_finding *find(const struct nl_findings *findings, const char *cause)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct nl_finding *finding = &findings->items[i];
        if (!strcmp(finding->cause, cause))
            return finding;
        for (size_t part = 0; part < NL_FINDING_ALSO && finding->also[part]; part++)
            if (!strcmp(finding->also[part], cause))
                return finding;
    }
    return NULL;
}

static void judges(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char label[200];
        struct nl_err err = {0};
        struct nl_analyze_options options = {0};
        snprintf(label, sizeof label, "%s: %s", cases[i].cause, cases[i].label);
        check_case(label);
        struct nl_trace *trace = build(cases[i].build);
        REQUIRE(trace);
        struct nl_findings *findings = nl_findings_new(trace, &options, NULL, &err);
        REQUIRE(findings);
        CHECK_INT(find(findings, cases[i].cause) != NULL, cases[i].printed);
        nl_findings_free(findings);
        nl_trace_free(trace);
    }
}

/* One gap that is nearly everything is a warning at most, and what was captured in it is said. */
static void knows_phases(void)
{
    struct nl_err err = {0};
    struct nl_trace *trace = build(idle_once);
    REQUIRE(trace);
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){0}, NULL, &err);
    const struct nl_finding *finding = find(findings, "gpu_idle");
    REQUIRE(finding);
    CHECK_INT(finding->severity, NL_SEVERITY_WARNING);
    const char *last = finding->evidence[finding->evidence_count - 1].says;
    CHECK(strstr(last, "one single gap") && strstr(last, "1 graph is captured"));
    nl_findings_free(findings);
    nl_trace_free(trace);
}

/* Of a gap in which the CPU launched only the part before the launch is the CPU's fault. */
static void parts_gaps(void)
{
    struct nl_err err = {0};
    struct nl_trace *trace = build(idle_though_launched);
    REQUIRE(trace);
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){0}, NULL, &err);
    const struct nl_finding *finding = find(findings, "gpu_idle");
    REQUIRE(finding && finding->evidence_count == 2);
    CHECK(strstr(finding->evidence[0].says, "was launched but had not started"));
    CHECK(finding->evidence[0].value > (ROUNDS - 1) * 3.98e6);
    nl_findings_free(findings);
    nl_trace_free(trace);
}

static void ask_again(struct nl_db *db, const struct nl_finding *finding)
{
    for (size_t i = 0; i < finding->evidence_count; i++) {
        const struct nl_evidence *evidence = &finding->evidence[i];
        struct nl_err err = {0};
        REQUIRE(evidence->query && evidence->says && evidence->metric);
        struct nl_result *result = nl_db_query(db, evidence->query, &err);
        if (!result) {
            CHECK_TEXT(err.text, "");
            printf("    %s\n", evidence->query);
            continue;
        }
        REQUIRE(result->rows == 1);
        struct nl_cell cell = *nl_result_cell(result, 0, 0);
        double value = cell.type == NL_CELL_I64 ? (double)cell.i64 : cell.f64;
        if (fabs(value - evidence->value) > 1e-9 * fabs(value))
            printf("    %s %s: %s\n", finding->cause, evidence->metric, evidence->query);
        CHECK_NEAR(value, evidence->value, 1e-9 * fabs(value));
        nl_result_free(result);
    }
}

static void keeps_the_contract(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_err err = {0};
        struct nl_analyze_options options = {.all = true};
        check_case(cases[i].label);
        struct nl_trace *trace = build(cases[i].build);
        REQUIRE(trace);
        struct nl_db *db = nl_db_open(trace, &(struct nl_db_options){0}, NULL, &err);
        struct nl_findings *findings = nl_findings_new(trace, &options, NULL, &err);
        REQUIRE(db && findings);
        for (size_t j = 0; j < findings->count; j++) {
            const struct nl_finding *finding = &findings->items[j];
            size_t advice = 0;
            while (finding->suggestions[advice].action)
                advice++;
            CHECK(advice >= 2);
            CHECK(finding->evidence_count >= 2);
            CHECK(finding->confidence >= 0 && finding->confidence <= 1);
            CHECK(finding->saving_ns[0] <= finding->saving_ns[1]);
            CHECK(finding->beyond_ns <= finding->cost_ns);
            CHECK(finding->title && finding->not_this_if);
            ask_again(db, finding);
        }
        nl_findings_free(findings);
        nl_db_close(db);
        nl_trace_free(trace);
    }
}

/* The specific cause comes first, the general one is explained by it. */
static void ranks(void)
{
    struct nl_err err = {0};
    struct nl_trace *trace = build(waits_for_scalar);
    REQUIRE(trace);
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){0}, NULL, &err);
    REQUIRE(findings && findings->count >= 2);
    CHECK_TEXT(findings->items[0].cause, "item_scalar_readback");
    const struct nl_finding *general = find(findings, "sync_calls");
    REQUIRE(general);
    CHECK_TEXT(general->explained_by, "item_scalar_readback");
    nl_findings_free(findings);
    nl_trace_free(trace);
}

/* 30 of 60 ms at 1095 of 1980 MHz; power, named beside heat, is not the reason. */
static void weighs_clocks(void)
{
    struct nl_err err = {0};
    struct nl_trace *trace = build(clocks_hot);
    REQUIRE(trace);
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){0}, NULL, &err);
    const struct nl_finding *finding = find(findings, "clocks_down");
    REQUIRE(finding);
    CHECK_NEAR((double)finding->cost_ns, (30e6 - 1000) * (1 - 1095.0 / 1980), 1);
    CHECK(strstr(finding->title, "because of heat"));
    CHECK_INT(finding->severity, NL_SEVERITY_CRITICAL);
    nl_findings_free(findings);
    nl_trace_free(trace);
}

static int64_t most_of_doubles(void (*fill)(struct gputrace *make), int64_t *cost)
{
    struct nl_err err = {0};
    struct nl_trace *trace = build(fill);
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){.all = true}, NULL, &err);
    const struct nl_finding *finding = find(findings, "fp64_slow");
    int64_t saving = finding ? finding->saving_ns[1] : -1;
    *cost = finding ? finding->cost_ns : 0;
    nl_findings_free(findings);
    nl_trace_free(trace);
    return saving;
}

/* Kernels of libraries show what a GPU has where nothing names it; TF32 is for Ampere and later. */
static void knows_tensor_cores(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(shown); i++) {
        struct nl_err err = {0};
        struct nl_trace *trace = build(shown[i].fill);
        struct nl_findings *findings =
            nl_findings_new(trace, &(struct nl_analyze_options){.all = true}, NULL, &err);
        const struct nl_finding *finding = find(findings, "tensor_core_unused");
        check_case(shown[i].remedies);
        REQUIRE(finding);
        CHECK_INT(strstr(finding->title, "not recorded") == NULL, shown[i].known);
        CHECK_INT(finding->saving_ns[1] > 0, shown[i].known);
        CHECK_TEXT(finding->remedies ? finding->remedies : "", shown[i].remedies);
        nl_findings_free(findings);
        nl_trace_free(trace);
    }
}

/* Arithmetic gets 32 times as fast in 32 bits, kernels that wait for memory twice. */
static void promises_by_bytes(void)
{
    int64_t cost = 0, saving = most_of_doubles(doubles_slow, &cost);
    CHECK_INT(saving, cost * 31 / 32);
    saving = most_of_doubles(doubles_by_bytes, &cost);
    CHECK_INT(saving, cost / 2);
    CHECK(cost > 0);
}

/* Half of the profile: the numbers and their queries are of that half. */
static void keeps_to_windows(void)
{
    struct nl_err err = {0};
    struct nl_trace *trace = build(copies_exposed);
    REQUIRE(trace);
    struct nl_analyze_options options = {
        .window = {.has_time = true, .start = trace->first_ts, .end = trace->first_ts + 60500000}};
    struct nl_db *db = nl_db_open(trace, &(struct nl_db_options){0}, NULL, &err);
    struct nl_findings *findings = nl_findings_new(trace, &options, NULL, &err);
    REQUIRE(db && findings && findings->count);
    CHECK_TEXT(findings->items[0].cause, "h2d_in_critical_path");
    CHECK_INT(findings->items[0].cost_ns, 30000000);
    for (size_t i = 0; i < findings->count; i++)
        ask_again(db, &findings->items[i]);
    nl_findings_free(findings);
    nl_db_close(db);
    nl_trace_free(trace);
}

static void is_documented(void)
{
    static const struct nl_cause *const causes[] = {
#define NL_CAUSE(name, level) &nl_cause_##name,
#include "findings/causes.def"
    };
    struct nl_buf have;
    nl_buf_init(&have, 1 << 20);
    FILE *file = fopen(CHECK_FOLDER "/../docs/findings.md", "r");
    if (!file) {
        check_skip("no docs/findings.md");
        return;
    }
    char line[4096];
    while (fgets(line, sizeof line, file))
        nl_buf_text(&have, line);
    fclose(file);
    for (size_t i = 0; i < CHECK_LENGTH(causes); i++) {
        struct nl_str text = {have.ptr, have.len};
        check_case(causes[i]->id);
        CHECK(nl_str_contains(text, causes[i]->id));
        CHECK(nl_str_contains(text, causes[i]->doc));
        CHECK(nl_str_contains(text, causes[i]->not_this_if));
    }
    nl_buf_release(&have);
}

CHECK_MAIN("findings", {"judges what was planted", judges}, {"knows phases", knows_phases},
           {"weighs clocks", weighs_clocks}, {"promises by bytes", promises_by_bytes},
           {"knows tensor cores", knows_tensor_cores}, {"parts gaps", parts_gaps},
           {"keeps the contract, evidence is SQL", keeps_the_contract}, {"ranks", ranks},
           {"keeps to windows", keeps_to_windows}, {"is documented", is_documented})
