/* Units of Nsight Compute: every spelling of its pages, alone and per another, and what names of
 * metrics tell in reports. */
#include "check.h"
#include "ingest/ncu/ncu.h"

static void spelled_on_pages(void)
{
    static const struct {
        const char *spelled, *base;
        int exponent;
    } cases[] = {{"nsecond", "ns", 0},
                 {"usecond", "ns", 3},
                 {"msecond", "ns", 6},
                 {"second", "ns", 9},
                 {"ns", "ns", 0},
                 {"us", "ns", 3},
                 {"ms", "ns", 6},
                 {"s", "ns", 9},
                 {"hz", "Hz", 0},
                 {"Khz", "Hz", 3},
                 {"Mhz", "Hz", 6},
                 {"Ghz", "Hz", 9},
                 {"byte", "bytes", 0},
                 {"Kbyte", "bytes", 3},
                 {"Mbyte", "bytes", 6},
                 {"Gbyte", "bytes", 9},
                 {"Tbyte", "bytes", 12},
                 {"bytes", "bytes", 0},
                 {"sectors", "sector", 0},
                 {"inst", "inst", 0},
                 {"", "", 0},
                 {"byte/second", "bytes/s", 0},
                 {"Kbyte/second", "bytes/s", 3},
                 {"Gbyte/s", "bytes/s", 9},
                 {"byte/nsecond", "bytes/s", 9},
                 {"byte/us", "bytes/s", 6},
                 {"cycle/nsecond", "Hz", 9},
                 {"cycle/second", "Hz", 0},
                 {"cycle/usecond", "Hz", 6},
                 {"Kbyte/block", "bytes/block", 3},
                 {"inst/cycle", "inst/cycle", 0},
                 {"register/thread", "register/thread", 0},
                 {"/second", "1/s", 0},
                 {"%/Kbyte", "%/Kbyte", 0}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].spelled);
        struct ncu_unit unit = ncu_unit(nl_str(cases[i].spelled));
        CHECK_TEXT(unit.text, cases[i].base);
        CHECK_INT(unit.exponent, cases[i].exponent);
    }
}

static void told_by_names(void)
{
    static const struct {
        const char *metric, *unit;
    } cases[] = {{"gpu__time_duration.sum", "ns"},
                 {"gpu__time_duration.sum.per_second", ""},
                 {"dram__bytes.sum", "bytes"},
                 {"dram__bytes.sum.per_second", "bytes/s"},
                 {"dram__bytes.sum.per_cycle_elapsed", "bytes/cycle"},
                 {"dram__bytes.sum.peak_sustained", "bytes/cycle"},
                 {"lts__t_sectors.sum", "sector"},
                 {"lts__t_sectors.sum.per_second", "sector/s"},
                 {"lts__t_sectors.sum.per_cycle_active", "sector/cycle"},
                 {"l1tex__t_requests.sum", "request"},
                 {"l1tex__t_requests.sum.per_second", "request/s"},
                 {"l1tex__t_requests.sum.per_cycle_active", "request/cycle"},
                 {"sm__cycles_elapsed.max", "cycle"},
                 {"sm__cycles_elapsed.avg.per_second", "Hz"},
                 {"l1tex__data_writeback_active.sum", "cycle"},
                 {"smsp__inst_executed.sum", "inst"},
                 {"smsp__inst_executed.sum.per_second", "inst/s"},
                 {"smsp__inst_executed.avg.per_cycle_active", "inst/cycle"},
                 {"sm__maximum_warps_per_active_cycle", "warp"},
                 {"sm__warps_active.sum", "warp"},
                 {"sm__warps_active.sum.per_second", "warp/s"},
                 {"sm__warps_active.avg.per_cycle_active", "warp"},
                 {"profiler__replayer_passes", "pass"},
                 {"sm__warps_active.avg.pct_of_peak_sustained_active", "%"},
                 {"sm__maximum_warps_per_active_cycle_pct", "%"},
                 {"device__attribute_l2_cache_size_bytes", ""},
                 {"nvlink__bytes", ""},
                 {"numa__bytes", ""},
                 {"c2clink__bytes", ""},
                 {"pmsampling:dram__bytes.sum", ""},
                 {"breakdown:dram__bytes.sum", ""},
                 {"group:dram__bytes.sum", ""},
                 {"launch__shared_mem_config_size", "bytes"},
                 {"launch__thread_count", "thread"},
                 {"launch__sm_count", "SM"},
                 {"launch__block_dim_x", "block"},
                 {"launch__occupancy_limit_registers", "block"},
                 {"launch__registers_per_thread", "register/thread"},
                 {"launch__shared_mem_per_block_static", "bytes/block"},
                 {"launch__cycles", ""},
                 {"sass__inst_executed_per_opcode", ""},
                 {"smsp__pcsamp_buffer_size_bytes", "bytes"},
                 {"smsp__pcsamp_warps_issue_stalled_wait", ""},
                 {"derived__bytes", ""},
                 {"memory_l2_theoretical", "sector"},
                 {"smsp__average_warps_issue_stalled_wait_per_issue", "inst"},
                 {"smsp__average_warp_latency", "cycle"},
                 {"smsp__inst_executed.ratio", ""},
                 {"a_metric_that_tells_nothing", ""},
                 {"", ""}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].metric);
        CHECK_TEXT(ncu_unit_of(nl_str(cases[i].metric)), cases[i].unit);
    }
}

/* A page that gives a percentage a size as its unit means percent per that size. */
static void percent_of_sizes(void)
{
    CHECK(ncu_is_percent(nl_str("a.pct")) && ncu_is_percent(nl_str("a_pct_of")));
    CHECK(!ncu_is_percent(nl_str("apct")) && !ncu_is_percent(nl_str("a.sum")));
    struct ncu_unit unit = ncu_unit_in(nl_str("Kbyte"), true);
    CHECK_TEXT(unit.text, "%/Kbyte");
    CHECK_INT(unit.exponent, 0);
    unit = ncu_unit_in(nl_str("Kbyte"), false);
    CHECK_TEXT(unit.text, "bytes");
    CHECK_INT(unit.exponent, 3);
    unit = ncu_unit_in(nl_str("usecond"), true);
    CHECK_TEXT(unit.text, "ns");
    CHECK_INT(unit.exponent, 3);
}

CHECK_MAIN("ncu units", {"spelled on pages", spelled_on_pages}, {"told by names", told_by_names},
           {"percent of sizes", percent_of_sizes})
