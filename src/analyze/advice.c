/* advice — see advice.h. */
#include "analyze/advice.h"

#define TORCH_CUDA                                                                                 \
    "torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"
#define TORCH_STACK "torch.profiler.profile(with_stack=True)"

const struct nl_advice nl_advices[] = {
    {{NL_T_kernel, NULL}, "nsys profile --trace=cuda", TORCH_CUDA, "kernels of the device"},
    {{NL_T_kernel, "correlation"},
     "nsys profile --trace=cuda",
     NULL,
     "which call launched a kernel"},
    {{NL_T_api, NULL}, "nsys profile --trace=cuda", TORCH_CUDA, "calls of the device's runtime"},
    {{NL_T_nvtx, NULL},
     "nsys profile --trace=cuda,nvtx, and ranges in the program: torch.cuda.nvtx.range(\"...\") or "
     "torch.autograd.profiler.emit_nvtx()",
     "ranges in the program: torch.profiler.record_function(\"...\")",
     "user ranges around the parts of the program"},
    {{NL_T_op, NULL},
     NULL, /* nsys records operators as ranges */
     "torch.profiler.profile(activities=[ProfilerActivity.CPU, ...])",
     "operators of the framework"},
    {{NL_T_op, "shapes"},
     NULL,
     "torch.profiler.profile(record_shapes=True)",
     "shapes of the operators' inputs"},
    {{NL_T_step, NULL},
     "an NVTX range around each iteration: torch.cuda.nvtx.range(\"step\")",
     "torch.profiler.profile(schedule=...) and prof.step() after each iteration",
     "marks of the iterations"},
    {{NL_T_layer, NULL}, NULL, TORCH_STACK, "modules of the model"},
    {{NL_T_python, NULL},
     "nsys profile --python-sampling=true (samples, not calls)",
     TORCH_STACK,
     "Python functions"},
    {{NL_T_sample, NULL}, "nsys profile --sample=process-tree", NULL, "samples of the CPU"},
    {{NL_T_sync, NULL},
     NULL,
     "torch.profiler.profile(experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)"
     ")",
     "waits of streams for events"},
    {{NL_T_memory, NULL},
     "nsys profile --cuda-memory-usage=true",
     "torch.profiler.profile(profile_memory=True)",
     "allocations of memory"},
    {{NL_T_counter, NULL},
     "nsys profile --gpu-metrics-devices=all (older: --gpu-metrics-device=all)",
     NULL,
     "metrics of the device over time"},
    {{NL_T_kernel, NULL}, NULL, NULL, NULL},
};

const char *nl_advice_tool(const struct nl_advice *advice, struct nl_str format)
{
    if (nl_str_is(format, "nsys"))
        return advice->nsys;
    return nl_str_is(format, "kineto") ? advice->torch : NULL;
}

static bool same_need(const struct nl_need *a, const struct nl_need *b)
{
    if (a->table != b->table || !a->column != !b->column)
        return false;
    return !a->column || !strcmp(a->column, b->column);
}

static bool is_known_tool(struct nl_str format)
{
    return nl_str_is(format, "nsys") || nl_str_is(format, "kineto");
}

const char *nl_advice_record(const struct nl_trace *trace, const struct nl_need *need)
{
    const struct nl_advice *advice = nl_advices;
    bool known = false;
    while (advice->general && !same_need(&advice->need, need))
        advice++;
    if (!advice->general)
        return NULL;
    for (uint32_t source = 0; source < trace->source.rows; source++) {
        struct nl_str format = nl_trace_name(trace, trace->source.format[source]);
        const char *record = nl_advice_tool(advice, format);
        known |= is_known_tool(format);
        if (record)
            return record;
    }
    return known ? NULL : advice->general;
}

const char *nl_advice_lack(const struct nl_trace *trace, const struct nl_need *need,
                           struct nl_arena *arena)
{
    const char *table = nl_tables[need->table].sql;
    if (!nl_trace_rows(trace, need->table))
        return nl_arena_format(arena, "no %s in this profile", table);
    return nl_arena_format(arena, "%s.%s not recorded", table, need->column);
}
