/*
 * Two clocks in one file (answer/clockgap.c): the stretch between two groups of lanes, in seconds,
 * from both sides of an hour and of a hundred times the rest.
 */
#include "check.h"
#include "gputrace.h"

#include "answer/clockgap.h"

static const struct {
    const char *what;
    struct {
        int64_t lane, start, length;
    } events[5];
    int64_t gap, span; /* 0: there are no two */
    uint64_t others;
} files[] = {
    {"an hour", {{7, 0, 5}, {7, 5, 5}, {8, 3610, 10}}, 3600, 10, 1},
    {"a second less", {{7, 0, 5}, {7, 5, 5}, {8, 3609, 10}}, 0, 0, 0},
    {"a hundred times the rest", {{7, 0, 18}, {7, 1, 1}, {8, 3618, 18}}, 3600, 18, 1},
    {"a second more of the rest", {{7, 0, 18}, {7, 1, 1}, {8, 3618, 19}}, 0, 0, 0},
    {"more events behind it", {{7, 0, 4}, {8, 4000, 2}, {8, 4003, 5}}, 3996, 8, 1},
    {"as many behind it", {{7, 0, 4}, {8, 4000, 6}}, 3996, 6, 1},
    {"two lanes before it", {{7, 0, 10}, {8, 5, 15}, {9, 4000, 10}}, 3980, 20, 1},
    {"one inside another", {{7, 0, 20}, {8, 5, 5}, {9, 4000, 10}}, 3980, 20, 1},
    {"two lanes behind it", {{7, 0, 10}, {8, 4000, 10}, {9, 4010, 5}}, 3990, 15, 1},
    {"in any order", {{9, 4000, 10}, {7, 0, 10}, {8, 5, 15}}, 3980, 20, 1},
    {"one lane on both sides", {{7, 0, 10}, {7, 4000, 10}, {8, 4000, 10}}, 0, 0, 0},
    {"the widest of two leaves too much", {{7, 0, 1}, {8, 3602, 1}, {9, 10000, 1}}, 0, 0, 0},
    {"one lane", {{7, 0, 10}, {7, 4000, 10}}, 0, 0, 0},
    {"no gap", {{7, 0, 4000}, {8, 4000, 10}}, 0, 0, 0},
};

static void gaps(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(files); i++) {
        struct gputrace make;
        gputrace_open(&make);
        for (size_t k = 0; k < 5 && files[i].events[k].length; k++)
            gputrace_kernel(&make, files[i].events[k].lane, "gemm", -1, 0,
                            files[i].events[k].start * 1000000,
                            files[i].events[k].length * 1000000);
        struct nl_trace *trace = gputrace_close(&make);
        check_case(files[i].what);
        REQUIRE(trace);
        struct nl_clock_gap gap = nl_clock_gap_of(trace);
        CHECK_INT(gap.gap_ns, files[i].gap * 1000000000);
        if (files[i].gap) {
            CHECK_INT(gap.span_ns, files[i].span * 1000000000);
            CHECK_INT(gap.others, files[i].others);
        }
        nl_trace_free(trace);
    }
}

CHECK_MAIN("clockgap", {"between two groups of lanes", gaps})
