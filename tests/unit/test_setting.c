/*
 * Whose device and which framework a profile is of (nl_setting_of), where neither the device nor
 * the tool says it: by the first names of calls, kernels, operators and ranges, no others.
 */
#include "check.h"
#include "gputrace.h"

#include "findings/remedy.h"

#define LOOKED_AT 4096 /* rows of each table */

enum table { CALLS, KERNELS, OPERATORS, RANGES };

static void put(struct gputrace *make, enum table table, const char *name, int64_t us)
{
    struct nl_kernel_row kernel = nl_kernel_row();
    struct nl_nvtx_row range = nl_nvtx_row();
    switch (table) {
    case CALLS: gputrace_call(make, name, us, 1); break;
    case KERNELS:
        kernel.slice = gputrace_slice(make, NL_KIND_KERNEL, gputrace_lane(make, NL_LANE_STREAM, 7),
                                      name, us, 1);
        nl_stage_kernel(make->stage, &kernel);
        break;
    case OPERATORS: gputrace_op(make, name, us, 1); break;
    case RANGES:
        range.slice = gputrace_slice(make, NL_KIND_NVTX, make->calls, name, us, 1);
        nl_stage_nvtx(make->stage, &range);
        break;
    }
}

/* `before` rows whose names say nothing, then one that does. */
static struct nl_setting setting_of(enum table table, const char *name, int64_t before)
{
    struct gputrace make = {.builder = nl_builder_new(NULL)};
    make.source = nl_builder_source(make.builder, "made-up.json", "made-up");
    make.process = nl_builder_process(make.builder, make.source, 1);
    make.thread = nl_builder_thread(make.builder, make.process, 10);
    make.device = nl_builder_device(make.builder, make.source, 0, 0);
    make.stage = nl_stage_new(make.builder);
    nl_stage_begin(make.stage, make.source, 0);
    make.calls = gputrace_lane(&make, NL_LANE_THREAD, -1);
    for (int64_t i = 0; i < before; i++)
        put(&make, table, "work", 2 * i);
    put(&make, table, name, 2 * before);
    struct nl_trace *trace = gputrace_close(&make);
    struct nl_setting setting = nl_setting_of(trace, NL_NULL_ROW);
    nl_trace_free(trace);
    return setting;
}

static void looks_at_the_first_names(void)
{
    static const struct {
        enum table table;
        const char *name;
        struct nl_setting want;
    } cases[] = {
        {CALLS, "hipLaunchKernel", {NL_MAKER_AMD, NL_FRAMEWORK_NONE}},
        {CALLS, "cuLaunchKernel", {NL_MAKER_NVIDIA, NL_FRAMEWORK_NONE}},
        {KERNELS, "Cijk_Ailk_Bljk", {NL_MAKER_AMD, NL_FRAMEWORK_NONE}},
        {KERNELS, "triton_poi_fused_add", {NL_MAKER_OTHER, NL_FRAMEWORK_TORCH}},
        {OPERATORS, "aten::mm", {NL_MAKER_OTHER, NL_FRAMEWORK_TORCH}},
        {RANGES, "XlaModule:#hlo_module=jit_f#", {NL_MAKER_OTHER, NL_FRAMEWORK_XLA}},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].name);
        struct nl_setting last = setting_of(cases[i].table, cases[i].name, LOOKED_AT - 1),
                          past = setting_of(cases[i].table, cases[i].name, LOOKED_AT);
        CHECK_INT(last.maker, cases[i].want.maker);
        CHECK_INT(last.framework, cases[i].want.framework);
        CHECK_INT(past.maker, NL_MAKER_OTHER);
        CHECK_INT(past.framework, NL_FRAMEWORK_NONE);
    }
}

CHECK_MAIN("setting", {"looks at the first names", looks_at_the_first_names})
