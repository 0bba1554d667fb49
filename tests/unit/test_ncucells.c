/* Values of Nsight Compute's raw page, as they are spelled: a number × the
 * power of its unit, or a text. */
#include "check.h"

#include <math.h>
#include <stdio.h>

#include "ingest/ncu/ncu.h"
#include "loadtext.h"
#include "store/trace.h"
#include "ingest/formats.h"

#define TEXT NAN

/* `unit`: "" or usecond, thousands of ns. */
static const struct {
    const char *cell, *unit;
    double value; /* TEXT: kept as it is */
} cases[] = {
    {"12", "", 12},
    {"012", "", 12},
    {"0.125", "", 0.125},
    {"0.5e-3", "", 0.5e-3},
    {"5e-3", "", 5e-3},
    {"1.25e+06", "", 1.25e6},
    {"1E3", "", 1e3},
    {"1,234.5", "", 1234.5},
    {"-7", "", -7},
    {"12", "usecond", 12e3},
    {"0.125", "usecond", 125},
    {"0.5e-3", "usecond", 0.5},
    {"1.25e+06", "usecond", 1.25e9},
    {"1E3", "usecond", 1e6},
    {"1,234.5", "usecond", 1234500},
    {"0.1", "usecond", 100},
    {"0.000000000000000000000000000000000000000000000000001", "", 1e-51},
    {"0x1f", "", TEXT},
    {"0X1f", "usecond", TEXT},
    {"0x", "", TEXT},
    {"x", "", TEXT},
    {"1e", "usecond", TEXT},
    {"1e2e3", "usecond", TEXT},
    {"1e999", "usecond", TEXT},
    {"1e-999", "usecond", TEXT},
    {"0.000000000000000000000000000000000000000000000000001", "usecond", TEXT},
    {"1,23.5", "", TEXT},
    {"twelve", "usecond", TEXT},
};

static void spelled(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char text[512];
        int len = snprintf(text, sizeof text,
                           "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel "
                           "Name\",\"Context\",\"Stream\","
                           "\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"made__up.sum\"\n"
                           "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"%s\"\n"
                           "\"0\",\"77\",\"a\",\"h\",\"k()\",\"1\",\"7\",\"(128, 1, 1)\",\"(4, 2, "
                           "1)\",\"0\",\"8.0\","
                           "\"%s\"\n",
                           cases[i].unit, cases[i].cell);
        struct nl_err err;
        struct nl_trace *trace = loadtext(&nl_format_ncucsv, text, (size_t)len, 1, &err);
        check_case(cases[i].cell);
        REQUIRE(trace);
        CHECK_INT(trace->metric.rows, 1);
        if (trace->metric.rows == 1) {
            bool is_text = isnan(cases[i].value);
            CHECK_INT(isnan(trace->metric.value[0]), is_text);
            if (!is_text)
                CHECK_NEAR(trace->metric.value[0], cases[i].value, 0);
            CHECK_STR(nl_trace_name(trace, trace->metric.text[0]), is_text ? cases[i].cell : "");
            CHECK_STR(nl_trace_name(trace, trace->metric.unit[0]), cases[i].unit[0] ? "ns" : "");
        }
        nl_trace_free(trace);
    }
}

CHECK_MAIN("ncucells", {"as they are spelled", spelled})
