/* One word per kind of slice. */
#include "export/kindwords.h"

static const char *const categories[NL_KIND_COUNT] = {
    [NL_KIND_KERNEL] = "kernel",
    [NL_KIND_MEMCPY] = "gpu_memcpy",
    [NL_KIND_MEMSET] = "gpu_memset",
    [NL_KIND_SYNC] = "cuda_sync",
    [NL_KIND_API] = "cuda_runtime",
    [NL_KIND_OP] = "cpu_op",
    [NL_KIND_LAYER] = "nn_module",
    [NL_KIND_PYTHON] = "python_function",
    [NL_KIND_NVTX] = "user_annotation",
    [NL_KIND_GPU_ANNOTATION] = "gpu_user_annotation",
    [NL_KIND_COLLECTIVE] = "collective_comm",
    [NL_KIND_GRAPH] = "graph_launch",
    [NL_KIND_OVERHEAD] = "overhead",
};

const char *nl_kind_category(unsigned kind)
{
    const char *word = kind < NL_KIND_COUNT ? categories[kind] : NULL;
    if (!word)
        word = nl_enum_text(NL_ENUM_kind, kind);
    return word ? word : "generic";
}
