/* Forms of kernel names: what tools write of one kernel must become equal, of two kernels not. */
#include "check.h"
#include "derive/kernelname.h"

static bool same(const char *a, const char *b, enum nl_name_level level)
{
    struct nl_buf x, y;
    nl_buf_init(&x, 4096);
    nl_buf_init(&y, 4096);
    nl_kernel_name_form(&x, nl_str(a), level);
    nl_kernel_name_form(&y, nl_str(b), level);
    bool equal = x.len == y.len && memcmp(x.ptr, y.ptr, x.len) == 0;
    nl_buf_release(&x);
    nl_buf_release(&y);
    return equal;
}

static void makes_spellings_equal(void)
{
    static const struct {
        const char *one, *other;
        enum nl_name_level level; /* the first at which they are equal */
    } rows[] = {
        {"scale(float*, int)", "scale(float *, int)", NL_NAME_WHOLE},
        {"void f<true, 4ul>(int)", "void f<(bool)1, (unsigned long)4>(int)", NL_NAME_WHOLE},
        {"void a::(anonymous namespace)::f<b::C>(int)", "void <unnamed>::f<C>(int)", NL_NAME_WHOLE},
        {"void a::f<4, a::G<float>, a::A<char*, 1> >(int, a::G<float>)",
         "void f<(int)4, G<float>, A<char *, (int)1>>(int, T2)", NL_NAME_ARGUMENTS},
        {"void f<4>(int)", "f<4>", NL_NAME_ARGUMENTS},
        {"void a::f<4, float>(float*)", "f", NL_NAME_BASE},
        {"void A<int>::f(float*)", "f", NL_NAME_BASE},
        {"scale(float*, int)", "_Z5scalePfi", NL_NAME_BASE},
        {"void at::native::fill<4, float>(float*)", "_ZN2at6native4fillILi4EfEEvPT0_",
         NL_NAME_BASE},
        {"f(int)", "_ZL1fi", NL_NAME_BASE},
        {"unsigned int f<unsigned int>()", "unsigned int f<unsigned  int>()", NL_NAME_WHOLE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (enum nl_name_level level = 0; level < NL_NAME_LEVELS; level++)
            CHECK_INT(same(rows[i].one, rows[i].other, level), level >= rows[i].level);
}

static void keeps_kernels_apart(void)
{
    static const char *const rows[][2] = {
        {"void f<4, float>(int)", "void f<8, float>(int)"},
        {"void f<float>(int)", "void f<half>(int)"},
        {"void f<unsigned int>()", "void f<int>()"},
        {"void f<A<1>, 2>()", "void f<A<1, 2> >()"},
        {"void f<4u>()", "void f<4>(int)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CHECK(!same(rows[i][0], rows[i][1], NL_NAME_WHOLE));
    for (size_t i = 0; i + 1 < sizeof rows / sizeof rows[0]; i++)
        CHECK(!same(rows[i][0], rows[i][1], NL_NAME_ARGUMENTS));
    CHECK(!same("f(int)", "g(int)", NL_NAME_BASE));
}

static void knows_bases(void)
{
    CHECK(nl_kernel_name_is_base(nl_str("ampere_sgemm_128x64_nn")));
    CHECK(nl_kernel_name_is_base(nl_str("_Z5scalePfi")));
    CHECK(!nl_kernel_name_is_base(nl_str("scale(float*)")));
    CHECK(!nl_kernel_name_is_base(nl_str("fill<4>")));
}

/* Anything may stand in a file. */
static void bears_any_bytes(void)
{
    static const char *const rows[] = {"",     "_Z",    "_ZN",  "_ZN9", "_Z99999999999999999999f",
                                       "(",    ")",     "()",   "<",    ">::",
                                       "f(((", "f)))",  "<>()", "::",   " ",
                                       "(int", "f<(1)", "f<,(", "\xff", "void "};
    struct nl_buf out;
    nl_buf_init(&out, 4096);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (enum nl_name_level level = 0; level < NL_NAME_LEVELS; level++) {
            nl_kernel_name_form(&out, nl_str(rows[i]), level);
            CHECK(out.len <= strlen(rows[i]) + 8);
        }
        (void)nl_kernel_name_is_base(nl_str(rows[i]));
    }
    nl_buf_release(&out);
}

CHECK_MAIN("kernelname", {"makes spellings equal", makes_spellings_equal},
           {"keeps kernels apart", keeps_kernels_apart}, {"knows bases", knows_bases},
           {"bears any bytes", bears_any_bytes})
