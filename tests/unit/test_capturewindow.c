/* Captures of one device that files hold one after the other, and which steps are whose. */
#include "timeline/capturewindow.h"

#include "base/mem.h"
#include "check.h"
#include "gputrace.h"

/* A file with a kernel of 100 us on its device number `ordinal`. */
static uint32_t add_file(struct gputrace *make, const char *file, int64_t rank, int64_t ordinal,
                         int64_t us)
{
    make->source = nl_builder_source(make->builder, file, "kineto");
    nl_builder_rank(make->builder, make->source, rank);
    nl_builder_clock(make->builder, make->source, "utc", 0);
    make->process = nl_builder_process(make->builder, make->source, 1);
    make->thread = nl_builder_thread(make->builder, make->process, 10);
    make->device = nl_builder_device(make->builder, make->source, ordinal, ordinal);
    make->calls = gputrace_lane(make, NL_LANE_THREAD, -1);
    nl_stage_begin(make->stage, make->source, 0);
    gputrace_kernel(make, 7, "gemm", us - 10, 2, us, 100);
    return make->device;
}

static void halves_the_time_between(void)
{
    struct gputrace make;
    gputrace_open(&make);
    nl_builder_clock(make.builder, make.source, "utc", 0);
    static const int64_t starts[] = {3000, 1000, 2000}; /* in whatever order they are given */
    static const char *const files[] = {"c.json", "a.json", "b.json"};
    uint32_t devices[3];
    for (size_t i = 0; i < 3; i++)
        devices[i] = add_file(&make, files[i], 0, 1, starts[i]);
    uint32_t alone = add_file(&make, "d.json", 0, 2, 1500);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_capture_window *windows = nl_capture_windows(trace);
    REQUIRE(windows);
    const struct nl_capture_window *last = NULL, *first = NULL, *between = NULL, *other = NULL;
    for (uint32_t i = 0; i < trace->device.rows; i++) {
        struct nl_capture_window *one = &windows[i];
        if (trace->device.ordinal[i] == 2)
            other = one;
        else if (one->start == INT64_MIN && one->end != INT64_MAX)
            first = one;
        else if (one->end == INT64_MAX && one->start != INT64_MIN)
            last = one;
        else if (trace->device.ordinal[i] == 1)
            between = one;
    }
    REQUIRE(first && last && between && other);
    CHECK_INT(first->end, between->start);
    CHECK_INT(between->end, last->start);
    CHECK_INT(between->end - between->start, 1000000);
    CHECK(other->start == INT64_MIN && other->end == INT64_MAX);
    struct nl_found_step step = {.start = between->start - 30, .end = between->start + 20};
    CHECK(nl_capture_holds(windows, (uint32_t)(first - windows), &step));
    CHECK(!nl_capture_holds(windows, (uint32_t)(between - windows), &step));
    step.end += 20;
    CHECK(!nl_capture_holds(windows, (uint32_t)(first - windows), &step));
    CHECK(nl_capture_holds(windows, (uint32_t)(between - windows), &step));
    CHECK(nl_capture_holds(windows, NL_NULL_ROW, &step));
    CHECK(nl_capture_holds(NULL, 0, &step));
    CHECK(devices[0] != alone);
    nl_free(windows);
    nl_trace_free(trace);
}

/* Other ranks, other devices, and files that overlap are no captures of one device. */
static void what_is_no_capture(void)
{
    static const struct {
        int64_t rank, ordinal, us;
        bool captures;
    } cases[] = {{0, 1, 2000, true}, {1, 1, 2000, false}, {0, 2, 2000, false}, {0, 1, 1050, false}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        gputrace_open(&make);
        nl_builder_clock(make.builder, make.source, "utc", 0);
        (void)add_file(&make, "a.json", 0, 1, 1000);
        (void)add_file(&make, "b.json", cases[i].rank, cases[i].ordinal, cases[i].us);
        struct nl_trace *trace = gputrace_close(&make);
        REQUIRE(trace);
        struct nl_capture_window *windows = nl_capture_windows(trace);
        CHECK_INT(windows != NULL, cases[i].captures);
        nl_free(windows);
        nl_trace_free(trace);
    }
}

CHECK_MAIN("capture window", {"halves the time between", halves_the_time_between},
           {"what is no capture", what_is_no_capture})
