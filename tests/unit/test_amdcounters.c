/* What counters of AMD's profilers say of a kernel: every name, every formula, by hand. */
#include "answer/amdcounters.h"
#include "check.h"
#include "gputrace.h"

struct counter {
    const char *name;
    double value; /* of the kernel's one dispatch, or of its first of two */
    double second;
};

#define MAX_GIVEN 8

/* A kernel of two dispatches, 1 and 3 us long (only the first when `once`), and another kernel that
 * has other values of the same counters. */
static struct nl_trace *measured(const struct counter *counters, bool once)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int i = 0; i < 3; i++) {
        uint32_t slice = gputrace_kernel(&make, 7, i == 2 ? "other" : "it", 10 * i, 2, 10 * i + 3,
                                         i == 1 ? 3 : 1);
        for (size_t k = 0; k < MAX_GIVEN && counters[k].name && !(once && i == 1); k++) {
            struct nl_metric_row metric = nl_metric_row();
            metric.slice = slice;
            metric.name = nl_stage_name(make.stage, nl_str(counters[k].name));
            metric.value = i == 2 ? 77 : i ? counters[k].second : counters[k].value;
            nl_stage_metric(make.stage, &metric);
        }
    }
    return gputrace_close(&make);
}

static void check_said(const struct counter *counters, bool once, const char *words)
{
    struct nl_trace *trace = measured(counters, once);
    struct nl_buf out;
    REQUIRE(trace);
    nl_buf_init(&out, 1000);
    check_case(counters[0].name);
    bool said = nl_tell_amd_counters(&out, trace, nl_dict_find(&trace->names, nl_str("it")));
    CHECK(said == (*words != 0));
    CHECK_TEXT(out.len ? out.ptr : "", words);
    nl_buf_release(&out);
    nl_trace_free(trace);
}

/* Of one dispatch of 1 us. 1 byte per ns is 1 GB/s. */
static void says_each_counter(void)
{
    static const struct {
        struct counter counters[MAX_GIVEN];
        const char *words;
    } cases[] = {
        {{{"OccupancyPercent", 25, 0}}, ": occupancy 25 %"},
        {{{"MemUnitBusy", 62.5, 0}}, ": memory units busy 62 %"},
        {{{"MemUnitStalled", 4, 0}}, ": memory units stalled 4.0 %"},
        {{{"VALUBusy", 50, 0}}, ": vector units busy 50 %"},
        {{{"L2CacheHit", 75, 0}}, ": L2 hits 75 %"},
        {{{"FETCH_SIZE", 8, 0}}, ": 8.000 KiB read from memory (8.192 GB/s)"},
        {{{"FetchSize", 8, 0}}, ": 8.000 KiB read from memory (8.192 GB/s)"},
        {{{"WRITE_SIZE", 4, 0}}, ": 4.000 KiB written (4.096 GB/s)"},
        {{{"WriteSize", 4, 0}}, ": 4.000 KiB written (4.096 GB/s)"},
        {{{"TCC_HIT_sum", 30, 0}, {"TCC_MISS_sum", 10, 0}}, ": L2 hits 75 %"},
        {{{"TCC_HIT_sum", 30, 0}}, ""},
        {{{"TCC_MISS_sum", 30, 0}}, ""},
        /* 20 reads of 32 bytes, 80 of 64 */
        {{{"TCC_EA_RDREQ_sum", 100, 0}, {"TCC_EA_RDREQ_32B_sum", 20, 0}},
         ": 5.625 KiB read from memory (5.76 GB/s)"},
        {{{"TCC_EA_RDREQ_sum", 100, 0}}, ""},
        /* MI300: 10 of 128, 20 of 32, 70 of 64; without the count of the largest, unknown */
        {{{"TCC_EA0_RDREQ_sum", 100, 0},
          {"TCC_EA0_RDREQ_32B_sum", 20, 0},
          {"TCC_BUBBLE_sum", 10, 0}},
         ": 6.250 KiB read from memory (6.4 GB/s)"},
        {{{"TCC_EA0_RDREQ_sum", 100, 0}, {"TCC_EA0_RDREQ_32B_sum", 20, 0}}, ""},
        {{{"TCC_EA_WRREQ_sum", 50, 0}, {"TCC_EA_WRREQ_64B_sum", 40, 0}},
         ": 2.812 KiB written (2.88 GB/s)"},
        {{{"TCC_EA0_WRREQ_sum", 50, 0}, {"TCC_EA0_WRREQ_64B_sum", 40, 0}},
         ": 2.812 KiB written (2.88 GB/s)"},
        {{{"TCC_EA_WRREQ_sum", 50, 0}}, ""},
        {{{"SQ_WAIT_ANY", 30, 0}, {"SQ_WAVE_CYCLES", 120, 0}},
         ": its waves wait for data or barriers 25 %"},
        {{{"SQ_WAIT_INST_ANY", 60, 0}, {"SQ_WAVE_CYCLES", 120, 0}},
         ": its waves wait for issue 50 %"},
        {{{"SQ_WAIT_ANY", 30, 0}, {"SQ_WAIT_INST_ANY", 60, 0}, {"SQ_WAVE_CYCLES", 120, 0}},
         ": its waves wait for data or barriers 25 %, for issue 50 %"},
        {{{"SQ_WAIT_ANY", 130, 0}, {"SQ_WAIT_INST_ANY", 60, 0}, {"SQ_WAVE_CYCLES", 120, 0}},
         ": its waves wait for issue 50 %"},
        {{{"SQ_WAIT_ANY", 30, 0}, {"SQ_WAIT_INST_ANY", 130, 0}, {"SQ_WAVE_CYCLES", 120, 0}},
         ": its waves wait for data or barriers 25 %"},
        {{{"SQ_WAIT_ANY", 30, 0}}, ""},
        {{{"SQ_WAVES", 30, 0}}, ""},
        {{{"FETCH_SIZE", 0, 0}}, ""},
        /* four are said at most */
        {{{"OccupancyPercent", 25, 0},
          {"L2CacheHit", 75, 0},
          {"VALUBusy", 50, 0},
          {"MemUnitStalled", 4, 0},
          {"MemUnitBusy", 62.5, 0},
          {"FETCH_SIZE", 8, 0}},
         ": memory units busy 62 %, memory units stalled 4.0 %, vector units busy 50 %, "
         "L2 hits 75 %"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        check_said(cases[i].counters, true, cases[i].words);
}

/* Percents are weighted by the length of the dispatch, bytes are added up over 4 us. */
static void adds_dispatches_up(void)
{
    static const struct counter percent[MAX_GIVEN] = {{"VALUBusy", 20, 60}},
                                bytes[MAX_GIVEN] = {{"FETCH_SIZE", 8, 16}},
                                waits[MAX_GIVEN] = {{"SQ_WAIT_ANY", 10, 20},
                                                    {"SQ_WAVE_CYCLES", 50, 50}};
    check_said(percent, false, ": vector units busy 50 %");
    check_said(bytes, false, ": 24.00 KiB read from memory (6.144 GB/s)");
    check_said(waits, false, ": its waves wait for data or barriers 30 %");
}

CHECK_MAIN("amdcounters", {"says each counter", says_each_counter},
           {"adds dispatches up", adds_dispatches_up})
