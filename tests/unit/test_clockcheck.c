/*
 * Causality between CPU and device: made-up profiles, numbers worked out by hand. Times in
 * microseconds; whole ones, so that 2 us of rounding are allowed for at ends.
 */
#include "check.h"
#include "gputrace.h"
#include "derive/clockcheck.h"

/* A wait for a stream (-1: the context), recorded with its call. */
static void wait_for(struct gputrace *make, int64_t stream, int64_t us, int64_t dur_us,
                     int64_t result)
{
    struct nl_api_row call = nl_api_row();
    struct nl_sync_row row = nl_sync_row();
    struct nl_lane_key key = {.kind = NL_LANE_SYNC,
                              .process = make->process,
                              .thread = NL_NULL_ROW,
                              .device = make->device,
                              .context = 1,
                              .stream = stream < 0 ? NL_NULL_I64 : stream};
    call.slice = gputrace_slice(make, NL_KIND_API, make->calls, "cudaSynchronize", us, dur_us);
    call.correlation = row.correlation = ++make->correlation;
    call.result = result;
    nl_stage_api(make->stage, &call);
    row.slice = gputrace_slice(make, NL_KIND_SYNC, nl_builder_lane(make->builder, &key), "Sync", us,
                               dur_us);
    row.kind = stream < 0 ? NL_SYNC_CONTEXT : NL_SYNC_STREAM;
    nl_stage_sync(make->stage, &row);
}

static int64_t covered(const struct nl_trace *trace, const char *item)
{
    for (uint32_t row = 0; row < trace->coverage.rows; row++)
        if (nl_str_is(nl_trace_name(trace, trace->coverage.item[row]), item))
            return trace->coverage.count[row];
    return 0;
}

struct expected {
    uint64_t launches, early, waits, late;
    int64_t worst_early, worst_late, least, most, shift;
};

static void expect(struct gputrace *make, struct expected want)
{
    struct nl_clock_checks checks;
    struct nl_trace *trace = gputrace_close(make);
    REQUIRE(trace);
    nl_clock_checks_init(&checks, trace);
    CHECK_INT(checks.count, 1);
    if (checks.count == 1) {
        const struct nl_clock_check *got = checks.items;
        CHECK_INT(got->launches, want.launches);
        CHECK_INT(got->early, want.early);
        CHECK_INT(got->waits, want.waits);
        CHECK_INT(got->late, want.late);
        CHECK_INT(got->worst_early, want.worst_early);
        CHECK_INT(got->worst_late, want.worst_late);
        CHECK_INT(got->least, want.least);
        CHECK_INT(got->most, want.most);
        CHECK_INT(got->shift, want.shift);
    }
    CHECK_INT(covered(trace, NL_CLOCK_EARLY), want.early);
    CHECK_INT(covered(trace, NL_CLOCK_LATE), want.late);
    nl_clock_checks_release(&checks);
    nl_trace_free(trace);
}

static void fits(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "a", 10, 5, 20, 100);   /* 10 us behind its launch */
    gputrace_kernel(&make, 7, "b", 20, 5, 120, 30);   /* ends at 150 */
    wait_for(&make, 7, 30, 130, 0);                   /* until 160: 10 us, and 2 of rounding */
    gputrace_kernel(&make, 7, "c", 140, 5, 200, 500); /* launched while it waited */
    expect(&make, (struct expected){.launches = 3, .waits = 1, .least = -10000, .most = 12000});
}

/* What starts with its launch and ends with its wait, but for the rounding, fits:
 * neither is early nor late. */
static void touches(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "a", 10, 5, 10, 140); /* ends at 150 */
    wait_for(&make, 7, 30, 118, 0);                 /* until 148, and 2 of rounding */
    expect(&make, (struct expected){.launches = 1, .waits = 1});
}

static void early(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "a", 100, 5, 93, 20); /* 7 us before its launch */
    gputrace_kernel(&make, 8, "b", 110, 5, 112, 30);
    gputrace_kernel(&make, 7, "c", 120, 5, 117, 10); /* 3 us */
    wait_for(&make, -1, 130, 40, 0); /* until 170; b ends at 142, c at 127: 28 and 2 */
    expect(&make, (struct expected){.launches = 3,
                                    .early = 2,
                                    .waits = 2,
                                    .worst_early = 7000,
                                    .least = 7000,
                                    .most = 30000,
                                    .shift = 7000});
}

static void late(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "a", 100, 5, 130, 50);
    gputrace_kernel(&make, 8, "b", 110, 5, 140, 90); /* another stream: until 230 */
    wait_for(&make, 7, 120, 50, 0);                  /* returns at 170, a ends at 180 */
    expect(&make, (struct expected){.launches = 2,
                                    .waits = 1,
                                    .late = 1,
                                    .worst_late = 8000,
                                    .least = -30000,
                                    .most = -8000,
                                    .shift = -8000});
}

/* Waits that failed, that began while the launch was still running, and for nodes of graphs. */
static void not_compared(void)
{
    struct gputrace make;
    struct nl_kernel_row row = nl_kernel_row();
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "a", 100, 5, 130, 500);
    wait_for(&make, 7, 106, 10, 700);
    wait_for(&make, 7, 103, 10, 0);
    gputrace_call_as(&make, "cudaGraphLaunch", 300, 5, row.correlation = ++make.correlation);
    row.slice = gputrace_slice(&make, NL_KIND_KERNEL, gputrace_lane(&make, NL_LANE_STREAM, 9),
                               "node", 700, 50);
    row.graph_node = 4;
    nl_stage_kernel(make.stage, &row);
    wait_for(&make, 9, 310, 20, 0);
    expect(&make, (struct expected){.launches = 2, .least = -30000, .most = INT64_MAX});
}

static void copies(void)
{
    struct gputrace make;
    struct gputrace_copy sync = {NL_COPY_DTOH, NL_MEMORY_PAGEABLE, 80, "cudaMemcpy"};
    struct gputrace_copy async = {NL_COPY_DTOH, NL_MEMORY_PINNED, 80, "cudaMemcpyAsync"};
    struct gputrace_copy unsaid = {NL_COPY_DTOH, NL_MEMORY_PINNED, 80, "MemcpyD2H"};
    struct gputrace_copy in = {NL_COPY_HTOD, NL_MEMORY_PAGEABLE, 80, "cudaMemcpy"};
    gputrace_open(&make);
    gputrace_copy(&make, 7, sync, 100, 50, 110, 45); /* ends 5 us behind its call */
    gputrace_copy(&make, 7, async, 200, 5, 210, 45);
    gputrace_copy(&make, 7, in, 300, 5, 310, 45);     /* may return before the device has them */
    gputrace_copy(&make, 7, unsaid, 400, 5, 410, 45); /* XPlane: by either sort of call */
    expect(&make, (struct expected){.launches = 4,
                                    .waits = 1,
                                    .late = 1,
                                    .worst_late = 3000,
                                    .least = -10000,
                                    .most = -3000,
                                    .shift = -3000});
}

/* A device clock that gains 50 ppm: at first it is behind, in the end ahead. */
static void drift(void)
{
    struct nl_clock_checks checks;
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i <= 100; i++) {
        int64_t t = i * 100000, off = (t - 5000000) / 20000; /* -250 to 250 us */
        gputrace_kernel(&make, 7, "k", t, 5, t + 10 + off, 60);
        wait_for(&make, 7, t + 6, 70, 0); /* until 76, the kernel's end is 70 + off */
    }
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    nl_clock_checks_init(&checks, trace);
    REQUIRE(checks.count == 1);
    CHECK_INT(checks.items->worst_early, 240000);
    CHECK_INT(checks.items->worst_late, 242000);
    CHECK_INT(checks.items->least, 240000);
    CHECK_INT(checks.items->most, -242000);
    CHECK_INT(checks.items->shift, NL_NULL_I64);
    CHECK_NEAR(checks.items->drift, -50e-6, 4e-6);
    nl_clock_checks_release(&checks);
    nl_trace_free(trace);
}

/* A row for each device, and the last for work whose device the file does not say. */
static void each_device(void)
{
    struct gputrace make;
    struct nl_clock_checks checks;
    gputrace_open(&make);
    uint32_t second = nl_builder_device(make.builder, make.source, 1, 1);
    gputrace_kernel(&make, 7, "a", 100, 5, 93, 20); /* 7 us before its launch */
    make.device = NL_NULL_ROW;
    gputrace_kernel(&make, 7, "b", 200, 5, 198, 20); /* 2 us */
    make.device = second;
    gputrace_kernel(&make, 7, "c", 300, 5, 299, 20); /* 1 us */
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    nl_clock_checks_init(&checks, trace);
    REQUIRE(checks.count == 3);
    CHECK_INT(checks.items[0].device, 0);
    CHECK_INT(checks.items[0].worst_early, 7000);
    CHECK_INT(checks.items[1].device, second);
    CHECK_INT(checks.items[1].worst_early, 1000);
    CHECK_INT(checks.items[2].device, NL_NULL_ROW);
    CHECK_INT(checks.items[2].worst_early, 2000);
    nl_clock_checks_release(&checks);
    nl_trace_free(trace);
}

CHECK_MAIN("clockcheck", {"fits", fits}, {"touches", touches}, {"before its launch", early},
           {"behind a wait", late}, {"what is not compared", not_compared}, {"copies", copies},
           {"drift", drift}, {"each device", each_device})
