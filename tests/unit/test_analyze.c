/*
 * Every analysis on one small hand-made profile whose answers can be worked out on paper, and on
 * profiles without device work, without anything, and shifted in time.
 *
 *   thread 10    aten::linear [0,90) with aten::mm [10,60); cudaLaunchKernel [100,110) and
 *                [120,130), cudaMemcpyAsync [140,160); range "train" [0,700)
 *   stream 7     gemm [200,300), HtoD copy [400,420), memset [420,430), gemm [500,550) unlaunched
 *   stream 20    all-reduce [250,350)
 *   steps        [0,300) [300,700)
 */
#include "derive/derive.h"
#include "tables/lookup.h"
#include "answer/profile.h"
#include "answer/report.h"
#include "check.h"
#include "store/builder.h"

struct site {
    struct nl_builder *builder;
    struct nl_stage *stage;
    uint32_t source, process, thread, device, calls, ranges, compute, comm;
    int64_t shift;
};

static uint32_t name_of(struct site *site, const char *text)
{
    return nl_stage_name(site->stage, nl_str(text));
}

static uint32_t add_slice(struct site *site, enum nl_kind kind, uint32_t lane, const char *name,
                          int64_t ts, int64_t dur)
{
    struct nl_slice_row row = nl_slice_row();
    row.kind = (uint8_t)kind;
    row.lane = lane;
    row.name = name_of(site, name);
    row.ts = ts + site->shift;
    row.dur = dur;
    return nl_stage_slice(site->stage, &row);
}

static void add_kernel(struct site *site, uint32_t lane, const char *name, int64_t ts, int64_t dur,
                       uint64_t correlation)
{
    struct nl_kernel_row row = nl_kernel_row();
    row.slice = add_slice(site, NL_KIND_KERNEL, lane, name, ts, dur);
    row.correlation = correlation;
    nl_stage_kernel(site->stage, &row);
}

static void add_call(struct site *site, const char *name, int64_t ts, int64_t dur,
                     uint64_t correlation)
{
    struct nl_api_row row = nl_api_row();
    row.slice = add_slice(site, NL_KIND_API, site->calls, name, ts, dur);
    row.correlation = correlation;
    nl_stage_api(site->stage, &row);
}

static void add_op(struct site *site, const char *name, int64_t ts, int64_t dur)
{
    struct nl_op_row row = nl_op_row();
    row.slice = add_slice(site, NL_KIND_OP, site->calls, name, ts, dur);
    nl_stage_op(site->stage, &row);
}

static void add_step(struct site *site, int64_t index, int64_t ts, int64_t dur)
{
    struct nl_step_row row = nl_step_row();
    row.index = index;
    row.ts = ts + site->shift;
    row.dur = dur;
    row.lane = site->calls;
    row.name = name_of(site, "step");
    nl_stage_step(site->stage, &row);
}

static void add_transfers(struct site *site)
{
    struct nl_copy_row copy = nl_copy_row();
    copy.slice =
        add_slice(site, NL_KIND_MEMCPY, site->compute, "Memcpy HtoD (Pageable -> Device)", 400, 20);
    copy.bytes = 1000;
    copy.kind = NL_COPY_HTOD;
    copy.src_memory = NL_MEMORY_PAGEABLE;
    copy.dst_memory = NL_MEMORY_DEVICE;
    copy.correlation = 3;
    nl_stage_copy(site->stage, &copy);
    struct nl_memset_row set = nl_memset_row();
    set.slice = add_slice(site, NL_KIND_MEMSET, site->compute, "Memset (Device)", 420, 10);
    set.bytes = 64;
    nl_stage_memset(site->stage, &set);
}

static void add_memory(struct site *site, int64_t ts, int64_t bytes, uint64_t total)
{
    struct nl_memory_row row = nl_memory_row();
    row.ts = ts + site->shift;
    row.lane = site->calls;
    row.bytes = bytes;
    row.device_type = 1;
    row.device = 0;
    row.total_allocated = total;
    nl_stage_memory(site->stage, &row);
}

static void open_site(struct site *site, int64_t rank, int64_t shift)
{
    *site = (struct site){.builder = nl_builder_new(NULL), .shift = shift};
    site->source = nl_builder_source(site->builder, "trace.json", "kineto");
    nl_builder_rank(site->builder, site->source, rank);
    site->process = nl_builder_process(site->builder, site->source, 1);
    site->thread = nl_builder_thread(site->builder, site->process, 10);
    site->device = nl_builder_device(site->builder, site->source, 0, 0);
    struct nl_lane_key key = {.kind = NL_LANE_THREAD,
                              .process = site->process,
                              .thread = site->thread,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    site->calls = nl_builder_lane(site->builder, &key);
    key.kind = NL_LANE_NVTX;
    site->ranges = nl_builder_lane(site->builder, &key);
    key.kind = NL_LANE_STREAM;
    key.thread = NL_NULL_ROW;
    key.device = site->device;
    key.context = 1;
    key.stream = 7;
    site->compute = nl_builder_lane(site->builder, &key);
    key.stream = 20;
    site->comm = nl_builder_lane(site->builder, &key);
    site->stage = nl_stage_new(site->builder);
    nl_stage_begin(site->stage, site->source, 0);
}

static void add_cpu_side(struct site *site)
{
    add_op(site, "aten::linear", 0, 90);
    add_op(site, "aten::mm", 10, 50);
    struct nl_nvtx_row range = nl_nvtx_row();
    range.slice = add_slice(site, NL_KIND_NVTX, site->ranges, "train", 0, 700);
    range.style = NL_RANGE_PUSH_POP;
    nl_stage_nvtx(site->stage, &range);
    add_step(site, 1, 0, 300);
    add_step(site, 2, 300, 400);
}

static void add_device_side(struct site *site)
{
    add_call(site, "cudaLaunchKernel", 100, 10, 1);
    add_call(site, "cudaLaunchKernel", 120, 10, 2);
    add_call(site, "cudaMemcpyAsync", 140, 20, 3);
    add_kernel(site, site->compute, "gemm", 200, 100, 1);
    add_kernel(site, site->comm, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", 250, 100,
               2);
    add_transfers(site);
    add_kernel(site, site->compute, "gemm", 500, 50, 99);
    add_memory(site, 20, 4096, 5000);
    add_memory(site, 30, 1024, 6024);
    add_memory(site, 40, -4096, 1928);
}

static struct nl_trace *close_site(struct site *site)
{
    struct nl_err err = {0};
    struct nl_trace *trace = nl_builder_finish(site->builder, &err);
    CHECK_TEXT(err.text, "");
    return trace;
}

static struct nl_trace *whole_profile(int64_t shift)
{
    struct site site;
    open_site(&site, 3, shift);
    add_cpu_side(&site);
    add_device_side(&site);
    return close_site(&site);
}

static struct nl_result *ask_in(const struct nl_trace *trace, const char *name,
                                const struct nl_analyze_options *options)
{
    struct nl_err err = {0};
    const struct nl_analysis *analysis = nl_analysis_find(name);
    CHECK(analysis != NULL);
    struct nl_result *result = nl_analysis_run(analysis, trace, options, NULL, &err);
    CHECK(result != NULL);
    return result;
}

static struct nl_result *ask(const struct nl_trace *trace, const char *name)
{
    const struct nl_analyze_options options = {0};
    return ask_in(trace, name, &options);
}

#define WANT_INT(result, row, column, want)  CHECK_INT(nl_lookup_i64(result, row, column), want)
#define WANT_TEXT(result, row, column, want) CHECK_STR(nl_lookup_text(result, row, column), want)
#define WANT_REAL(result, row, column, want)                                                       \
    CHECK_NEAR(nl_lookup_f64(result, row, column), want, 1e-9)

static void breaks_time_down(void)
{
    struct nl_trace *trace = whole_profile(0);
    struct nl_result *result = ask(trace, "time_breakdown");
    REQUIRE(result->rows == 1);
    WANT_INT(result, 0, "rank", 3);
    WANT_INT(result, 0, "device", 0);
    WANT_INT(result, 0, "start_ns", 200);
    WANT_INT(result, 0, "wall_ns", 350);
    WANT_INT(result, 0, "compute_ns", 150);
    WANT_INT(result, 0, "exposed_comm_ns", 50);
    WANT_INT(result, 0, "exposed_copy_ns", 30);
    WANT_INT(result, 0, "idle_ns", 120);
    WANT_REAL(result, 0, "idle_share", 120.0 / 350.0);
    nl_result_free(result);
    result = ask(trace, "overlap");
    WANT_INT(result, 0, "comm_ns", 100);
    WANT_INT(result, 0, "overlap_ns", 50);
    WANT_REAL(result, 0, "overlap_share", 0.5);
    nl_result_free(result);
    nl_trace_free(trace);
}

static void summarises_kernels(void)
{
    struct nl_trace *trace = whole_profile(0);
    struct nl_result *result = ask(trace, "kernels");
    REQUIRE(result->rows == 2);
    WANT_TEXT(result, 0, "name", "gemm");
    WANT_TEXT(result, 0, "class", "compute");
    WANT_INT(result, 0, "count", 2);
    WANT_INT(result, 0, "total_ns", 150);
    WANT_REAL(result, 0, "share", 0.6);
    WANT_REAL(result, 0, "median_ns", 75);
    WANT_REAL(result, 0, "p95_ns", 97.5);
    WANT_REAL(result, 0, "stddev_ns", sqrt(1250));
    WANT_TEXT(result, 1, "class", "communication");
    WANT_TEXT(result, 0, "category", "gemm");
    WANT_REAL(result, 1, "stddev_ns", NAN);
    nl_result_free(result);
    result = ask(trace, "kernel_classes");
    REQUIRE(result->rows == 2);
    WANT_TEXT(result, 0, "class", "compute");
    WANT_INT(result, 0, "union_ns", 150);
    WANT_INT(result, 1, "sum_ns", 100);
    nl_result_free(result);
    nl_trace_free(trace);
}

static void describes_transfers(void)
{
    struct nl_trace *trace = whole_profile(0);
    struct nl_result *result = ask(trace, "copies");
    REQUIRE(result->rows == 1);
    WANT_TEXT(result, 0, "kind", "HtoD");
    WANT_TEXT(result, 0, "src_memory", "pageable");
    WANT_INT(result, 0, "bytes", 1000);
    WANT_REAL(result, 0, "bandwidth_bytes_per_s", 5e10);
    WANT_INT(result, 0, "pageable", 1);
    nl_result_free(result);
    result = ask(trace, "memsets");
    WANT_INT(result, 0, "bytes", 64);
    WANT_INT(result, 0, "total_ns", 10);
    nl_result_free(result);
    nl_trace_free(trace);
}

static void follows_launches(void)
{
    struct nl_trace *trace = whole_profile(0);
    struct nl_result *result = ask(trace, "launches");
    REQUIRE(result->rows == 2);
    WANT_INT(result, 0, "stream", 7);
    WANT_INT(result, 0, "events", 4);
    WANT_INT(result, 0, "launches", 2);
    WANT_INT(result, 0, "unlinked", 2);
    WANT_INT(result, 0, "cpu_ns", 30);
    WANT_INT(result, 0, "gpu_ns", 180);
    WANT_REAL(result, 0, "delay_p50_ns", (90 + 240) / 2.0);
    WANT_REAL(result, 0, "delay_mean_ns", 165);
    WANT_INT(result, 0, "short", 0);
    WANT_INT(result, 0, "queue_max", 2);
    /* one waits 100..140, two 140..200, one 200..400: 40 + 120 + 200 over 300 ns */
    WANT_REAL(result, 0, "queue_mean", 360.0 / 300.0);
    nl_result_free(result);
    result = ask(trace, "api");
    REQUIRE(result->rows == 2);
    for (size_t row = 0; row < 2; row++) {
        bool kernels = nl_str_is(nl_lookup_text(result, row, "name"), "cudaLaunchKernel");
        WANT_INT(result, row, "count", kernels ? 2 : 1);
        WANT_INT(result, row, "total_ns", 20);
        WANT_INT(result, row, "launched", kernels ? 2 : 1);
        WANT_INT(result, row, "launched_ns", kernels ? 200 : 20);
    }
    nl_result_free(result);
    nl_trace_free(trace);
}

static void takes_children_out(void)
{
    struct nl_trace *trace = whole_profile(0);
    struct nl_result *result = ask(trace, "ops");
    REQUIRE(result->rows == 2);
    WANT_TEXT(result, 0, "name", "aten::mm");
    WANT_INT(result, 0, "self_ns", 50);
    WANT_INT(result, 1, "self_ns", 40);
    WANT_INT(result, 1, "total_ns", 90);
    WANT_REAL(result, 1, "share", 40.0 / 90.0);
    nl_result_free(result);
    result = ask(trace, "nvtx");
    REQUIRE(result->rows == 1);
    WANT_TEXT(result, 0, "style", "push_pop");
    WANT_INT(result, 0, "self_ns", 700);
    nl_result_free(result);
    nl_trace_free(trace);
}

static void lists_steps_and_streams(void)
{
    struct nl_trace *trace = whole_profile(0);
    struct nl_result *result = ask(trace, "steps");
    REQUIRE(result->rows == 2);
    WANT_INT(result, 1, "index", 2);
    /* marked at 300, while copies that step 1 launched run until 420 */
    WANT_INT(result, 1, "start_ns", 420);
    WANT_INT(result, 1, "dur_ns", 280);
    WANT_INT(result, 1, "marked_start_ns", 300);
    WANT_INT(result, 1, "marked_dur_ns", 400);
    nl_result_free(result);
    result = ask(trace, "step_summary");
    REQUIRE(result->rows == 1);
    WANT_REAL(result, 0, "p50_ns", 350);
    WANT_REAL(result, 0, "p90_ns", 406);
    WANT_INT(result, 0, "rank", 3);
    nl_result_free(result);
    result = ask(trace, "streams");
    REQUIRE(result->rows == 2);
    WANT_INT(result, 0, "busy_ns", 180);
    WANT_INT(result, 0, "kernels", 2);
    WANT_INT(result, 1, "busy_ns", 100);
    WANT_REAL(result, 1, "share", 100.0 / 350.0);
    nl_result_free(result);
    nl_trace_free(trace);
}

static void finds_memory_peaks(void)
{
    struct nl_trace *trace = whole_profile(0);
    struct nl_result *result = ask(trace, "memory");
    REQUIRE(result->rows == 1);
    WANT_INT(result, 0, "allocations", 2);
    WANT_INT(result, 0, "frees", 1);
    WANT_INT(result, 0, "peak_net_bytes", 5120);
    WANT_INT(result, 0, "peak_allocated_bytes", 6024);
    WANT_INT(result, 0, "peak_reserved_bytes", NL_NULL_I64);
    nl_result_free(result);
    nl_trace_free(trace);
}

static void heeds_the_window(void)
{
    struct nl_trace *trace = whole_profile(1000);
    struct nl_analyze_options options = {.window = {.has_time = true, .start = 1250, .end = 1410}};
    struct nl_result *result = ask_in(trace, "kernels", &options);
    REQUIRE(result->rows == 1); /* only the all-reduce starts inside */
    WANT_TEXT(result, 0, "class", "communication");
    nl_result_free(result);
    result = ask_in(trace, "time_breakdown", &options);
    WANT_INT(result, 0, "wall_ns", 160);
    WANT_INT(result, 0, "compute_ns", 50);
    WANT_INT(result, 0, "exposed_copy_ns", 10);
    nl_result_free(result);
    options = (struct nl_analyze_options){.window = {.has_rank = true, .rank = 4}};
    result = ask_in(trace, "api", &options);
    CHECK_INT(result->rows, 0);
    nl_result_free(result);
    options = (struct nl_analyze_options){.window = {.has_device = true, .device = 0}};
    result = ask_in(trace, "ops", &options);
    CHECK_INT(result->rows, 2);
    nl_result_free(result);
    nl_trace_free(trace);
}

static void cuts_at_the_limit(void)
{
    struct nl_trace *trace = whole_profile(0);
    struct nl_analyze_options options = {.limit = 1};
    struct nl_result *result = ask_in(trace, "kernels", &options);
    CHECK_INT(result->rows, 1);
    CHECK(result->truncated);
    CHECK_TEXT(result->note, "the first 1 of 2 rows");
    nl_result_free(result);
    nl_trace_free(trace);
}

static bool same_cell(const struct nl_cell *a, const struct nl_cell *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case NL_CELL_NULL: return true;
    case NL_CELL_I64: return a->i64 == b->i64;
    case NL_CELL_F64: return a->f64 == b->f64;
    case NL_CELL_TEXT: return nl_str_eq(a->text, b->text);
    }
    return false;
}

/* Every analysis answers the same on both; frees them. */
static void want_equal_answers(struct nl_trace *here, struct nl_trace *there)
{
    for (size_t i = 0; nl_analyses[i]; i++) {
        check_case(nl_analyses[i]->name);
        struct nl_result *a = ask(here, nl_analyses[i]->name);
        struct nl_result *b = ask(there, nl_analyses[i]->name);
        CHECK_INT(b->rows, a->rows);
        for (size_t cell = 0; a->rows == b->rows && cell < a->rows * a->column_count; cell++)
            CHECK(same_cell(&a->cells[cell], &b->cells[cell]));
        nl_result_free(a);
        nl_result_free(b);
    }
    nl_trace_free(here);
    nl_trace_free(there);
}

static void ignores_a_shift(void)
{
    want_equal_answers(whole_profile(0), whole_profile(INT64_C(1700000000000000000)));
}

static void ignores_the_order_of_events(void)
{
    static const char *const names[] = {"tie_a", "tie_b"};
    struct nl_trace *traces[2];
    for (size_t turn = 0; turn < 2; turn++) {
        struct site site;
        open_site(&site, 3, 0);
        for (size_t half = 0; half < 2; half++) {
            size_t which = half ^ turn;
            (which ? add_cpu_side : add_device_side)(&site);
            add_kernel(&site, site.comm, names[which], 600 + 10 * (int64_t)which, 5, 50 + which);
        }
        traces[turn] = close_site(&site);
    }
    want_equal_answers(traces[0], traces[1]);
}

static void tells_what_is_missing(void)
{
    struct nl_trace *trace = whole_profile(0);
    CHECK(nl_analysis_lacks(nl_analysis_find("kernels"), trace) == NULL);
    CHECK(nl_analysis_lacks(nl_analysis_find("launches"), trace) == NULL);
    const struct nl_need *need = nl_analysis_lacks(nl_analysis_find("python"), trace);
    REQUIRE(need != NULL);
    CHECK_INT(need->table, NL_T_python);
    struct nl_result *result = ask(trace, "missing");
    bool found = false;
    for (size_t row = 0; row < result->rows; row++) {
        CHECK(nl_lookup_text(result, row, "record").len > 0);
        if (nl_str_is(nl_lookup_text(result, row, "missing"), "python"))
            found = nl_str_contains(nl_lookup_text(result, row, "record"), "with_stack=True");
    }
    CHECK(found);
    nl_result_free(result);
    nl_trace_free(trace);
}

static struct nl_report *report_of(const struct nl_trace *trace, const char *name)
{
    const struct nl_analyze_options options = {0};
    struct nl_err err = {0};
    struct nl_report *report = nl_report_new(trace, name, &options, NULL, &err);
    CHECK(report != NULL);
    return report;
}

static void reports_the_answer_first(void)
{
    struct nl_trace *trace = whole_profile(0);
    struct nl_report *report = report_of(trace, "analyze");
    REQUIRE(report->headline_count >= 2);
    const char *last = report->headlines[report->headline_count - 1];
    CHECK_INT(report->verdict->class, NL_VERDICT_NONE);
    CHECK(strstr(report->headlines[0], "Too few events") != NULL);
    CHECK_TEXT(report->headlines[0], report->verdict->sentence);
    CHECK(strstr(last, "computes 42.9 % of 350 ns") != NULL);
    CHECK(strstr(last, "exposed communication 14.3 %") != NULL);
    CHECK(strstr(last, "idle 34.3 %") != NULL);
    CHECK(nl_report_result(report, "time_breakdown") == nl_report_result(report, "breakdown"));
    const struct nl_analyze_options options = {.limit = 1};
    struct nl_err err = {0};
    struct nl_report *cut = nl_report_new(trace, "analyze", &options, NULL, &err);
    REQUIRE(cut != NULL);
    CHECK_TEXT(cut->headlines[1], report->headlines[1]); /* about all rows nevertheless */
    CHECK_INT(nl_report_result(cut, "kernels")->rows, 1);
    nl_report_free(cut);
    nl_report_free(report);
    nl_trace_free(trace);
}

static void serves_profiles_without_a_device(void)
{
    struct site site;
    open_site(&site, NL_NULL_I64, 0);
    add_cpu_side(&site);
    struct nl_trace *trace = close_site(&site);
    struct nl_report *report = report_of(trace, "analyze");
    REQUIRE(report->headline_count >= 2);
    CHECK(strstr(report->headlines[0], "Too few events") != NULL);
    CHECK(strstr(report->headlines[1], "Most time: ") != NULL);
    CHECK_INT(nl_report_result(report, "breakdown")->rows, 0);
    CHECK_INT(nl_report_result(report, "threads")->rows, 1);
    nl_report_free(report);
    nl_trace_free(trace);
}

static void bears_an_empty_profile(void)
{
    struct nl_err err = {0};
    struct nl_trace *trace = nl_builder_finish(nl_builder_new(NULL), &err);
    REQUIRE(trace != NULL);
    for (size_t i = 0; nl_report_plans[i].name; i++) {
        struct nl_report *report = report_of(trace, nl_report_plans[i].name);
        CHECK(report->headline_count > 0);
        nl_report_free(report);
    }
    for (size_t i = 0; nl_analyses[i]; i++)
        nl_result_free(ask(trace, nl_analyses[i]->name));
    struct nl_profile *profile = nl_profile_new(trace, NULL);
    CHECK_INT(profile->duration_ns, 0);
    nl_profile_free(profile);
    nl_trace_free(trace);
}

static void lists_generic_slices(void)
{
    struct site site;
    open_site(&site, NL_NULL_I64, 0);
    add_slice(&site, NL_KIND_GENERIC, site.calls, "outer", 0, 100);
    add_slice(&site, NL_KIND_GENERIC, site.calls, "inner", 10, 70);
    struct nl_trace *trace = close_site(&site);
    struct nl_result *result = ask(trace, "others");
    REQUIRE(result->rows == 2);
    WANT_TEXT(result, 0, "name", "inner");
    WANT_INT(result, 1, "self_ns", 30);
    WANT_TEXT(result, 1, "kind", "generic");
    nl_result_free(result);
    nl_trace_free(trace);
}

static void refuses_unknown_reports(void)
{
    const struct nl_analyze_options options = {0};
    struct nl_err err = {0};
    struct nl_trace *trace = whole_profile(0);
    CHECK(nl_report_new(trace, "nonsense", &options, NULL, &err) == NULL);
    CHECK_INT(err.code, NL_USAGE);
    struct nl_job job = {.threads = 1};
    atomic_store(&job.cancelled, true);
    CHECK(nl_report_new(trace, "analyze", &options, &job, &err) == NULL);
    CHECK_INT(err.code, NL_INTERRUPTED);
    nl_trace_free(trace);
}

CHECK_MAIN("analyze", {"breaks time down", breaks_time_down},
           {"summarises kernels", summarises_kernels}, {"describes transfers", describes_transfers},
           {"follows launches", follows_launches}, {"takes children out", takes_children_out},
           {"lists steps and streams", lists_steps_and_streams},
           {"finds memory peaks", finds_memory_peaks}, {"heeds the window", heeds_the_window},
           {"cuts at the limit", cuts_at_the_limit}, {"ignores a shift in time", ignores_a_shift},
           {"ignores the order of events", ignores_the_order_of_events},
           {"tells what is missing", tells_what_is_missing},
           {"reports the answer first", reports_the_answer_first},
           {"serves profiles without a device", serves_profiles_without_a_device},
           {"bears an empty profile", bears_an_empty_profile},
           {"refuses unknown reports", refuses_unknown_reports},
           {"lists generic slices", lists_generic_slices})
