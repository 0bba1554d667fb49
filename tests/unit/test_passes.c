/* Passes of training (tables/phases_llm.c): by the names of operators, and micro-batches between
 * steps of the optimizer. */
#include "check.h"
#include "gputrace.h"
#include "tables/analyze.h"
#include "tables/lookup.h"

#define ROUND 100 /* us from one operator to the next */

/* An operator that launches one kernel. */
static void add_operator(struct gputrace *make, int64_t at, const char *name, const char *kernel,
                         int64_t dur)
{
    gputrace_op(make, name, at, 20);
    gputrace_kernel(make, 7, kernel, at + 2, 3, at + 30, dur);
}

static struct nl_result *passes_of(struct gputrace *make, struct nl_trace **trace)
{
    const struct nl_analyze_options options = {0};
    struct nl_err err = {0};
    *trace = gputrace_close(make);
    return *trace ? nl_analysis_run(nl_analysis_find("phases_llm"), *trace, &options, NULL, &err)
                  : NULL;
}

/* Of a pass, NL_NULL_I64 where it has no row. */
static int64_t value_of(const struct nl_result *result, const char *pass, const char *column)
{
    for (size_t row = 0; row < result->rows; row++)
        if (nl_str_is(nl_lookup_text(result, row, "phase"), pass))
            return nl_lookup_i64(result, row, column);
    return NL_NULL_I64;
}

static void operators_by_name(void)
{
    static const struct {
        const char *name, *pass;
    } cases[] = {
        {"aten::mm", "forward"},
        {"MulBackward0", "backward"},
        {"AddmmBackward", "backward"},
        {"ABackward0", "backward"},
        {"ABackward12", "backward"},
        {"Backward0", "forward"},
        {"Backward", "forward"},
        {"ABackwards0", "forward"},
        {"ABackward0x", "forward"},
        {"my::ABackward0", "forward"},
        {"autograd::engine::evaluate_function: MmBackward0", "backward"},
        {"torch::autograd::AccumulateGrad", "backward"},
        {"my torch::autograd::AccumulateGrad", "forward"},
        {"Optimizer.step#Adam.step", "optimizer"},
        {"Optimizer.zero_grad#Adam.zero_grad", "optimizer"},
        {"Optimizer.load", "forward"},
        {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "data"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        struct nl_trace *trace;
        gputrace_open(&make);
        add_operator(&make, 0, "SubBackward0", "elementwise_kernel", 1); /* without it no table */
        add_operator(&make, ROUND, cases[i].name, "elementwise_kernel", 40);
        struct nl_result *result = passes_of(&make, &trace);
        REQUIRE(result);
        check_case(cases[i].name);
        bool backward = !strcmp(cases[i].pass, "backward");
        CHECK_INT(value_of(result, "backward", "kernel_ns"), backward ? 41000 : 1000);
        if (!backward)
            CHECK_INT(value_of(result, cases[i].pass, "kernel_ns"), 40000);
        CHECK_INT(result->rows, backward ? 1 : 2);
        nl_result_free(result);
        nl_trace_free(trace);
    }
}

/* Of a forward pass, a backward pass and the optimizer; small letters: without a matrix product. */
static const struct {
    char letter;
    const char *operator, * kernel;
} operators[] = {{'F', "aten::mm", "sgemm_128x64"},
                 {'B', "MmBackward0", "sgemm_128x64_nt"},
                 {'O', "Optimizer.step#SGD.step", "multi_tensor_apply_kernel"},
                 {'f', "aten::mul", "elementwise_kernel"},
                 {'b', "MulBackward0", "elementwise_kernel"}};

static void micro_batches(void)
{
    static const struct {
        const char *kernels;
        double micro;    /* per step of the optimizer; 0: not said */
        int64_t forward; /* ns of a micro-batch: 10 us a kernel */
    } cases[] = {
        {"FBFBO", 2, 10000},    {"FBFBFBO", 3, 10000},    {"FBO", 0, 0},
        {"FFFBBBO", 0, 0},      {"FBFBOFBFBO", 2, 10000}, {"FBOFBFBFBO", 2, 10000},
        {"FFBFFBO", 2, 20000},  {"FBfFBO", 2, 15000},     {"FbFBO", 0, 0},
        {"FfBbFbBO", 2, 15000}, {"BFBO", 0, 0},           {"FBFBOO", 2, 10000},
        {"FBFB", 0, 0},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        struct nl_trace *trace;
        int64_t at = 0;
        gputrace_open(&make);
        for (const char *c = cases[i].kernels; *c; c++, at += ROUND)
            for (size_t k = 0; k < CHECK_LENGTH(operators); k++)
                if (operators[k].letter == *c)
                    add_operator(&make, at, operators[k].operator, operators[k].kernel, 10);
        struct nl_result *result = passes_of(&make, &trace);
        REQUIRE(result);
        check_case(cases[i].kernels);
        size_t row = 0;
        while (row < result->rows && !nl_str_is(nl_lookup_text(result, row, "phase"), "forward"))
            row++;
        REQUIRE(row < result->rows);
        double micro = nl_lookup_f64(result, row, "micro_batches");
        CHECK(cases[i].micro > 0 ? micro == cases[i].micro : micro != micro);
        CHECK_INT(value_of(result, "forward", "micro_batch_ns"),
                  cases[i].micro > 0 ? cases[i].forward : NL_NULL_I64);
        CHECK_INT(value_of(result, "optimizer", "micro_batch_ns"), NL_NULL_I64);
        nl_result_free(result);
        nl_trace_free(trace);
    }
}

CHECK_MAIN("passes", {"operators by name", operators_by_name}, {"micro batches", micro_batches})
