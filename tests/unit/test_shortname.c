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

static void plain_names_of_functions(void)
{
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"_Z5alphav", "alpha"},
        {"_ZN3foo3barEi", "foo::bar"},
        {"_ZN4core3ptr4read17h0123456789abcdefE", "core::ptr::read"},
        {"_ZN7ck_tile6kentryILi2EEEvv", "ck_tile::kentry<2>"},
        {"_Z6reduceIfEvT_", "reduce<float>"},
        {"_Z99alpha", "_Z99alpha"},
        {"_Z0v", "_Z0v"},
        {"_ZN", "_ZN"},
        {"_Z", "_Z"},
        {"_RNvCs1_5trace", "_RNvCs1_5trace"},
        {"_RNvCs1_5trace4main", "trace::main"},
        {"<built-in method astype of numpy.ndarray object at 0x7cbf780f01b0>",
         "<built-in method astype of numpy.ndarray object>"},
        {"look at 0x", "look"},
        {"at 0x7f", "at 0x7f"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf out;
        nl_buf_init(&out, 256);
        nl_plain_name(&out, nl_str(cases[i].name));
        CHECK_STR(((struct nl_str){out.ptr, out.len}), cases[i].want);
        nl_buf_release(&out);
    }
}

/* With sanitizers: a text that is nowhere is as good as an empty one. */
static void elides_names(void)
{
    static const struct {
        struct nl_str name;
        size_t width;
        const char *want;
    } cases[] = {
        {{NULL, 0}, 9, ""},
        {{"", 0}, 0, ""},
        {{"kernel", 6}, 6, "kernel"},
        {{"elementwise_kernel", 18}, 9, "elemen…nel"},
        {{"\xC3\xA4\xC3\xA4\xC3\xA4", 6}, 3, "\xC3\xA4…"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf out;
        nl_buf_init(&out, 256);
        nl_elide_name(&out, cases[i].name, cases[i].width);
        CHECK_STR(((struct nl_str){out.ptr, out.len}), cases[i].want);
        nl_buf_release(&out);
    }
}

CHECK_MAIN("shortname", {"elides names", elides_names},
           {"shortens kernel names", shortens_kernel_names},
           {"plain names of functions", plain_names_of_functions})
