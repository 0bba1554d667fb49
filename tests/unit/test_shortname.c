/* Kernel names for eyes: what is left out, and what is left alone. */
#include "tables/shortname.h"
#include "check.h"

static void shortens_kernel_names(void)
{
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"gemm", "gemm"},
        {"void cub::Reduce<float>(float*, int)", "cub::Reduce<float>"},
        {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long)",
         "ncclKernel_AllReduce_RING_LL_Sum_float"},
        {"void f<g(int)>(h<(k)2>)", "f<g(int)>"},
        {"void at::(anonymous namespace)", "at::(anonymous namespace)"},
        {"Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"},
        {"odd)", "odd)"},
        {"(x)", "(x)"},
        {"void ", ""},
        {"", ""},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        CHECK_STR(nl_short_kernel(nl_str(cases[i].name)), cases[i].want);
}

CHECK_MAIN("shortname", {"shortens kernel names", shortens_kernel_names})
