/* Tables over hand-made GPU profiles whose numbers were worked out by hand; test_analyze.c has the whole
 * list over one profile. */
#include "check.h"
#include "gputrace.h"

#include "tables/analyze.h"
#include "tables/lookup.h"

static struct nl_result *ask(const struct nl_trace *trace, const char *name)
{
    const struct nl_analyze_options options = {0};
    struct nl_err err = {0};
    struct nl_result *result = nl_analysis_run(nl_analysis_find(name), trace, &options, NULL, &err);
    CHECK(result != NULL);
    return result;
}

/* The stream that is listed second begins first and ends last, with two busy times. */
static void streams(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "gemm", 100, 5, 200, 100);
    gputrace_kernel(&make, 20, "gemm", 90, 5, 100, 50);
    gputrace_kernel(&make, 20, "gemm", 110, 5, 400, 70);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_result *result = ask(trace, "streams");
    REQUIRE(result->rows == 2);
    for (uint32_t row = 0; row < 2; row++) {
        bool one = nl_lookup_i64(result, row, "stream") == 7;
        CHECK_INT(nl_lookup_i64(result, row, "kernels"), one ? 1 : 2);
        CHECK_INT(nl_lookup_i64(result, row, "busy_ns"), one ? 100000 : 120000);
        CHECK_NEAR(nl_lookup_f64(result, row, "share"), (one ? 100.0 : 120.0) / 370.0, 1e-12);
    }
    nl_result_free(result);
    nl_trace_free(trace);
}

CHECK_MAIN("tables", {"streams", streams})
