/*
 * Gaps of a device: which there are, why, and what the CPU did; on a profile that can be worked out
 * on paper and on random ones, where all of it must add up to the time breakdown.
 */
#include "tables/lookup.h"
#include "tables/memo.h"
#include "check.h"
#include "devicetrace.h"
#include "gputrace.h"
#include "timeline/apirole.h"
#include "timeline/hosttime.h"
#include "tables/analyses.h"

/*
 * us:  kernel a [10,20)  launched [0,5)
 *      gap [20,50): operator [22,40) (with [25,30) inside), launch of b [40,45): host late
 *      kernel b [50,60)
 *      gap [60,64): c launched [46,48) before it, no wait: launch latency
 *      kernel c [64,70)
 *      gap [70,80): d on stream 20 launched [52,54), stream 20 told to wait at 51: dependency
 *      kernel d [80,90)
 *      gap [90,100): e without a launch
 *      kernel e [100,110)
 *      gap [110,140): cudaStreamSynchronize [95,115), f launched [130,135): host late after a sync
 *      kernel f [140,150)
 */
static struct nl_trace *on_paper(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "a", 0, 5, 10, 10);
    gputrace_op(&make, "outer", 22, 18);
    gputrace_op(&make, "inner", 25, 5);
    gputrace_kernel(&make, 7, "b", 40, 5, 50, 10);
    gputrace_kernel(&make, 7, "c", 46, 2, 64, 6);
    gputrace_wait(&make, 20, 51, 1);
    gputrace_kernel(&make, 20, "d", 52, 2, 80, 10);
    gputrace_kernel(&make, 7, "e", -1, 0, 100, 10);
    gputrace_call(&make, "cudaStreamSynchronize", 95, 20);
    gputrace_kernel(&make, 7, "f", 130, 5, 140, 10);
    return gputrace_close(&make);
}

static const struct nl_idle_sum *sum_of(const struct nl_idle *idle, enum nl_idle_class class,
                                        enum nl_activity activity)
{
    static const struct nl_idle_sum none;
    for (size_t i = 0; i < idle->sum_count; i++)
        if (idle->sums[i].class == class && idle->sums[i].activity == activity)
            return &idle->sums[i];
    return &none;
}

static void explains_gaps(void)
{
    struct nl_trace *trace = on_paper();
    REQUIRE(trace);
    struct nl_idle *idle = nl_idle_new(trace, &(struct nl_window){0});
    REQUIRE(idle->device_count == 1 && idle->gap_count == 5);
    const struct nl_idle_device *device = &idle->devices[0];
    CHECK_INT(device->wall_ns, 140000);
    CHECK_INT(device->idle_ns, 84000);
    CHECK_INT(device->class_ns[NL_IDLE_HOST_LATE], 60000);
    CHECK_INT(device->class_ns[NL_IDLE_LAUNCH_LATENCY], 4000);
    CHECK_INT(device->class_ns[NL_IDLE_DEPENDENCY], 10000);
    CHECK_INT(device->class_ns[NL_IDLE_UNKNOWN], 10000);
    CHECK_INT(device->class_ns[NL_IDLE_SHORT], 0);
    CHECK_INT(device->sync_ns, 25000); /* from 115, the return, to 140 */
    CHECK_INT(idle->gaps[0].class, NL_IDLE_HOST_LATE);
    CHECK_INT(idle->gaps[0].activity, NL_ACTIVITY_OP);
    CHECK_STR(nl_trace_name(trace, idle->gaps[0].name), "outer");
    CHECK_INT(idle->gaps[0].activity_ns, 13000);
    CHECK(idle->gaps[0].sync == NL_NULL_ROW);
    CHECK(idle->gaps[4].sync != NL_NULL_ROW);
    CHECK_INT(sum_of(idle, NL_IDLE_HOST_LATE, NL_ACTIVITY_OP)->total_ns, 13000);
    CHECK_INT(sum_of(idle, NL_IDLE_HOST_LATE, NL_ACTIVITY_LAUNCH)->total_ns, 10000);
    CHECK_INT(sum_of(idle, NL_IDLE_HOST_LATE, NL_ACTIVITY_QUEUED)->total_ns, 10000);
    CHECK_INT(sum_of(idle, NL_IDLE_HOST_LATE, NL_ACTIVITY_SYNC)->total_ns, 5000);
    CHECK_INT(sum_of(idle, NL_IDLE_HOST_LATE, NL_ACTIVITY_NOTHING)->total_ns, 17000);
    CHECK_INT(sum_of(idle, NL_IDLE_DEPENDENCY, NL_ACTIVITY_QUEUED)->total_ns, 10000);
    nl_idle_free(idle);
    nl_trace_free(trace);
}

static void shows_tables(void)
{
    struct nl_trace *trace = on_paper();
    struct nl_err err = {0};
    REQUIRE(trace);
    struct nl_analyze_options options = {0};
    struct nl_result *result = nl_analysis_run(&nl_analysis_idle, trace, &options, NULL, &err);
    REQUIRE(result);
    CHECK_INT(result->rows, 4);
    CHECK_STR(nl_lookup_text(result, 0, "class"), "host_late");
    CHECK_INT(nl_lookup_i64(result, 0, "total_ns"), 60000);
    CHECK_INT(nl_lookup_sum(result, "total_ns"), 84000);
    nl_result_free(result);
    result = nl_analysis_run(&nl_analysis_idle_causes, trace, &options, NULL, &err);
    REQUIRE(result);
    CHECK_INT(nl_lookup_sum(result, "total_ns"), 84000);
    nl_result_free(result);
    result = nl_analysis_run(&nl_analysis_idle_gaps, trace, &options, NULL, &err);
    REQUIRE(result);
    CHECK_INT(result->rows, 5);
    CHECK_INT(nl_lookup_i64(result, 0, "dur_ns"), 30000);
    CHECK_INT(nl_lookup_i64(result, 1, "dur_ns"), 30000);
    CHECK_INT(nl_lookup_i64(result, 0, "start_ns"), 20000);
    nl_result_free(result);
    nl_trace_free(trace);
}

static void adds_up(void)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct nl_err err = {0};
        struct nl_trace *trace = devicetrace(seed, 200, seed % 3 ? 3000000 : 40000, &err);
        REQUIRE(trace);
        struct nl_window window = {.has_time = seed % 2 == 0,
                                   .start = trace->first_ts + 5000,
                                   .end = trace->last_ts - 7000};
        size_t count;
        struct nl_device_breakdown *parts = nl_time_breakdown(trace, &window, &count);
        struct nl_idle *idle = nl_idle_new(trace, &window);
        REQUIRE(idle->device_count == count);
        for (size_t i = 0; i < count; i++) {
            const struct nl_idle_device *device = &idle->devices[i];
            int64_t by_class = 0, by_sum = 0, by_gap = device->class_ns[NL_IDLE_SHORT];
            for (unsigned class = 0; class < NL_IDLE_CLASSES; class ++)
                by_class += device->class_ns[class];
            for (size_t j = 0; j < device->sums; j++)
                by_sum += idle->sums[device->first_sum + j].total_ns;
            for (size_t j = 0; j < device->gaps; j++)
                by_gap +=
                    idle->gaps[device->first_gap + j].end - idle->gaps[device->first_gap + j].start;
            CHECK_INT(device->idle_ns, parts[i].idle_ns);
            CHECK_INT(device->wall_ns, parts[i].wall_ns);
            CHECK_INT(by_class, parts[i].idle_ns);
            CHECK_INT(by_sum, parts[i].idle_ns);
            CHECK_INT(by_gap, parts[i].idle_ns);
        }
        nl_idle_free(idle);
        nl_free(parts);
        nl_trace_free(trace);
    }
}

/* The cursors against a search over all slices, asked in order and at random. */
static void knows_what_threads_do(void)
{
    struct nl_trace *trace = on_paper();
    REQUIRE(trace);
    struct nl_host host;
    nl_host_init(&host, trace);
    uint64_t state = 99;
    for (int i = 0; i < 500; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int64_t ts = i < 200 ? i * 1000 : (int64_t)(state >> 33) % 200000, until;
        uint32_t best = NL_NULL_ROW, got = nl_host_at(&host, 0, ts, &until);
        for (uint32_t row = 0; row < trace->slice.rows; row++) {
            if (trace->lane.thread[trace->slice.lane[row]] != 0 || trace->slice.ts[row] > ts ||
                nl_slice_end(trace, row) <= ts)
                continue;
            if (best == NL_NULL_ROW || trace->slice.ts[row] >= trace->slice.ts[best])
                best = row;
        }
        CHECK_INT(got, best);
        CHECK(until > ts);
    }
    nl_host_release(&host);
    nl_trace_free(trace);
}

static void knows_calls(void)
{
    static const struct {
        const char *name;
        enum nl_api_role role;
        bool blocks;
    } cases[] = {
        {"cudaLaunchKernel", NL_API_LAUNCH, false},
        {"cudaLaunchKernelExC", NL_API_LAUNCH, false},
        {"cuLaunchKernelEx", NL_API_LAUNCH, false},
        {"hipExtModuleLaunchKernel", NL_API_LAUNCH, false},
        {"cudaGraphLaunch", NL_API_GRAPH_LAUNCH, false},
        {"hipGraphInstantiate", NL_API_GRAPH_BUILD, false},
        {"cudaLaunchHostFunc", NL_API_OTHER, false},
        {"cudaMemcpyAsync", NL_API_COPY, false},
        {"cudaMemcpy", NL_API_COPY, true},
        {"cuMemcpyHtoDAsync_v2", NL_API_COPY, false},
        {"cuMemcpyHtoD_v2", NL_API_COPY, true},
        {"hipMemcpyWithStream", NL_API_COPY, true},
        {"MemcpyD2H", NL_API_COPY, false}, /* XPlane: of either sort */
        {"cudaMemset", NL_API_FILL, false},
        {"cudaDeviceSynchronize", NL_API_SYNC, true},
        {"hipEventSynchronize", NL_API_SYNC, true},
        {"cudaStreamWaitEvent", NL_API_STREAM_WAIT, false},
        {"cudaMalloc", NL_API_ALLOCATE, false},
        {"cudaMallocAsync", NL_API_OTHER, false},
        {"cudaFree", NL_API_ALLOCATE, true},
        {"cudaFreeHost", NL_API_HOST_ALLOCATE, false},
        {"cudaHostAlloc", NL_API_HOST_ALLOCATE, false},
        {"cuModuleLoadData", NL_API_MODULE, false},
        {"cuLibraryLoadData", NL_API_MODULE, false},
        {"cudaGetDevice", NL_API_OTHER, false},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        bool blocks;
        check_case(cases[i].name);
        CHECK_INT(nl_api_role_of(nl_str(cases[i].name), &blocks), cases[i].role);
        CHECK_INT(blocks, cases[i].blocks);
    }
}

CHECK_MAIN("idle", {"explains gaps", explains_gaps}, {"shows tables", shows_tables},
           {"adds up to the time breakdown", adds_up},
           {"knows what threads do", knows_what_threads_do}, {"knows calls", knows_calls})
