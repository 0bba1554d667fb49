/* advice — see recordadvice.h. */
#include "findings/recordadvice.h"

#include <string.h>

#define TORCH_GPU "torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"
#define ROCPROFV3 "rocprof rocpd rocprofv3"
#define NSYS_RANGES                                                                                \
    "nsys profile --trace=cuda,nvtx, and ranges in the program: "                                  \
    "torch.cuda.nvtx.range(\"...\") or torch.autograd.profiler.emit_nvtx()"
#define TORCH_SYNCS                                                                                \
    "torch.profiler.profile("                                                                      \
    "experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True))"

const struct nl_advice nl_advices[] = {
    {{NL_T_kernel, NULL}, "nsys", "nsys profile --trace=cuda"},
    {{NL_T_kernel, NULL}, "kineto", TORCH_GPU},
    {{NL_T_kernel, NULL}, ROCPROFV3, "rocprofv3 --kernel-trace"},
    {{NL_T_kernel, "correlation"}, "nsys", "nsys profile --trace=cuda"},
    {{NL_T_copy, NULL}, ROCPROFV3, "rocprofv3 --memory-copy-trace"},
    {{NL_T_api, NULL}, "nsys", "nsys profile --trace=cuda"},
    {{NL_T_api, NULL}, "kineto", TORCH_GPU},
    {{NL_T_api, NULL}, ROCPROFV3, "rocprofv3 --hip-trace"},
    {{NL_T_api, NULL}, "nvprof-csv", "nvprof --print-api-trace"},
    {{NL_T_nvtx, NULL}, "nsys", NSYS_RANGES},
    {{NL_T_nvtx, NULL}, "kineto", "ranges in the program: torch.profiler.record_function(\"...\")"},
    {{NL_T_nvtx, NULL},
     ROCPROFV3,
     "rocprofv3 --marker-trace, and ranges in the program: roctxRangePush(\"...\")"},
    {{NL_T_nvtx, NULL}, "nvprof", "ranges in the program: nvtxRangePushA(\"...\")"},
    {{NL_T_nvtx, NULL},
     "nvprof-csv",
     "nvprof --export-profile FILE (logs have none), and ranges in the program: "
     "nvtxRangePushA(\"...\")"},
    {{NL_T_nvtx, NULL}, "rpd", "ranges in the program: roctxRangePush(\"...\")"},
    {{NL_T_op, NULL}, "kineto", "torch.profiler.profile(activities=[ProfilerActivity.CPU, ...])"},
    {{NL_T_op, "shapes"}, "kineto", "torch.profiler.profile(record_shapes=True)"},
    {{NL_T_step, NULL},
     "nsys",
     "an NVTX range around each iteration: torch.cuda.nvtx.range(\"step\")"},
    {{NL_T_step, NULL},
     "kineto",
     "torch.profiler.profile(schedule=...) and prof.step() after each iteration"},
    {{NL_T_step, NULL},
     "xplane",
     "jax.profiler.StepTraceAnnotation(\"step\", step_num=i) around each iteration"},
    {{NL_T_layer, NULL}, "kineto", "torch.profiler.profile(with_stack=True)"},
    {{NL_T_python, NULL}, "nsys", "nsys profile --python-sampling=true (samples, not calls)"},
    {{NL_T_python, NULL}, "kineto", "torch.profiler.profile(with_stack=True)"},
    {{NL_T_python, NULL},
     "xplane",
     "jax.profiler.ProfileOptions().python_tracer_level = 1, given to jax.profiler.trace"},
    {{NL_T_sample, NULL}, "nsys", "nsys profile --sample=process-tree"},
    {{NL_T_sync, NULL}, "kineto", TORCH_SYNCS},
    {{NL_T_sync, NULL}, "nvprof-csv", "nvprof --export-profile FILE (logs have none)"},
    {{NL_T_memory, NULL}, "nsys", "nsys profile --cuda-memory-usage=true"},
    {{NL_T_memory, NULL}, "kineto", "torch.profiler.profile(profile_memory=True)"},
    {{NL_T_memory, NULL}, ROCPROFV3, "rocprofv3 --memory-allocation-trace"},
    {{NL_T_counter, NULL},
     "nsys",
     "nsys profile --gpu-metrics-devices=all (older: --gpu-metrics-device=all)"},
    {{NL_T_kernel, NULL}, NULL, NULL},
};

/* What it is, where no tool is known. */
static const struct {
    struct nl_need need;
    const char *text;
} words[] = {
    {{NL_T_kernel, NULL}, "kernels of the device"},
    {{NL_T_kernel, "correlation"}, "which call launched a kernel"},
    {{NL_T_api, NULL}, "calls of the device's runtime"},
    {{NL_T_nvtx, NULL}, "user ranges around the parts of the program"},
    {{NL_T_op, NULL}, "operators of the framework"},
    {{NL_T_op, "shapes"}, "shapes of the operators' inputs"},
    {{NL_T_step, NULL}, "marks of the iterations"},
    {{NL_T_layer, NULL}, "modules of the model"},
    {{NL_T_python, NULL}, "Python functions"},
    {{NL_T_sample, NULL}, "samples of the CPU"},
    {{NL_T_sync, NULL}, "waits of streams for events"},
    {{NL_T_memory, NULL}, "allocations of memory"},
    {{NL_T_counter, NULL}, "metrics of the device over time"},
};

bool nl_advice_is_for(const struct nl_advice *advice, struct nl_str format)
{
    for (const char *at = advice->formats; *at; at += *at == ' ') {
        size_t len = strcspn(at, " ");
        if (nl_str_eq(format, (struct nl_str){at, len}))
            return true;
        at += len;
    }
    return false;
}

static bool same_need(const struct nl_need *a, const struct nl_need *b)
{
    if (a->table != b->table || !a->column != !b->column)
        return false;
    return !a->column || !strcmp(a->column, b->column);
}

const char *nl_advice_record(const struct nl_trace *trace, const struct nl_need *need)
{
    bool known = false;
    for (uint32_t source = 0; source < trace->source.rows; source++) {
        struct nl_str format = nl_trace_name(trace, trace->source.format[source]);
        for (const struct nl_advice *advice = nl_advices; advice->formats; advice++) {
            bool applies = nl_advice_is_for(advice, format);
            if (applies && same_need(&advice->need, need))
                return advice->record;
            known |= applies;
        }
    }
    for (size_t i = 0; !known && i < sizeof words / sizeof words[0]; i++)
        if (same_need(&words[i].need, need))
            return words[i].text;
    return NULL;
}

const char *nl_advice_lack(const struct nl_trace *trace, const struct nl_need *need,
                           struct nl_arena *arena)
{
    const char *table = nl_tables[need->table].sql;
    if (!nl_trace_rows(trace, need->table))
        return nl_arena_format(arena, "no %s in this profile", table);
    return nl_arena_format(arena, "%s.%s not recorded", table, need->column);
}
