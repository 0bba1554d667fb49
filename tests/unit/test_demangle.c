/*
 * Names of functions as their source has them (base/demangle.c): each way to write one, by hand and
 * as c++filt has it, damaged ones, and some that would be longer than any memory. And that stacks
 * get them (derive/sourcenames.c).
 */
#include "check.h"

#include <stdlib.h>

#include "base/demangle.h"
#include "ingest/formats.h"
#include "loadtext.h"

static void names_as_the_source_has_them(void)
{
    static const struct {
        const char *symbol, *want; /* NULL: it is no such name */
    } cases[] = {
        {"_Z5alphav", "alpha()"},
        {"__Z5alphav", "alpha()"},
        {"_ZN4shop6BasketIiE3addEii", "shop::Basket<int>::add(int, int)"},
        {"_Z4sortIfEvPT_S1_", "void sort<float>(float*, float*)"},
        {"_ZN3fooC2Ev", "foo::foo()"},
        {"_Z4workv.constprop.0", "work() [clone .constprop.0]"},
        {"_ZTV4Base", "vtable for Base"},
        {"_ZN4core3ptr4read17h0123456789abcdefE", "core::ptr::read"},
        {"_ZN46_$LT$alloc..vec..Vec$u20$as$u20$core..Drop$GT$4drop17h0123456789abcdefE",
         "<alloc::vec::Vec as core::Drop>::drop"},
        {"_RNvCs1_5trace4main", "trace::main"},
        {"__RNvCs1_5trace4main", "trace::main"},
        {"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
        {"_RNCNvC1a4main0", "a::main::{closure#0}"},
        {"_RNvC1au8gdel_5qa", "a::gödel"},
        {"_RNvCs1_5trace4main.llvm.1234ABCD", "trace::main"},
        {"main", NULL},
        {"_", NULL},
        {"_Z", NULL},
        {"_R", NULL},
        {"__Z", NULL},
        {"___Z5alphav", NULL},
        {"_Z99alpha", NULL},
        {"_ZN", NULL},
        {"_Zalpha", NULL},
        {"_Release", NULL},
        {"_RNvCs1_5trace99main", NULL},
        {"_Q5alphav", NULL},
        {"", NULL},
    };
    struct nl_buf name;
    nl_buf_init(&name, NL_MAX_DEMANGLED);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].symbol);
        CHECK(nl_demangle(nl_str(cases[i].symbol), &name) == (cases[i].want != NULL));
        if (cases[i].want)
            CHECK_STR(((struct nl_str){name.ptr, name.len}), cases[i].want);
        CHECK(!cases[i].want || nl_is_mangled(nl_str(cases[i].symbol)));
    }
    nl_buf_release(&name);
}

/* A reference to what began `place` bytes behind "_R": a number of base 62, one less. */
static void put_reference(struct nl_buf *text, size_t place)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t number = place - 1;
    nl_buf_char(text, 'B');
    if (number >= 62)
        nl_buf_char(text, digits[number / 62]);
    nl_buf_char(text, digits[number % 62]);
    nl_buf_char(text, '_');
}

/* f of types of which each is a pair of the one before: the last has 2^pairs parts. */
static void put_pairs(struct nl_buf *text, bool rust, int pairs)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    nl_buf_clear(text);
    nl_buf_text(text, rust ? "_RINvC1a1fTuuE" : "_Z1f1AIiiE");
    size_t before = text->len - strlen("TuuE") - strlen("_R");
    for (int pair = 1; pair < pairs; pair++) {
        size_t place = text->len - strlen("_R");
        if (rust) {
            nl_buf_char(text, 'T');
            put_reference(text, before);
            put_reference(text, before);
            nl_buf_char(text, 'E');
        } else {
            nl_buf_format(text, "S_IS%c_S%c_E", digits[pair - 1], digits[pair - 1]);
        }
        before = place;
    }
    nl_buf_text(text, rust ? "E" : "");
}

static void ends_what_would_not_end(void)
{
    static const char *const pairs[] = {"f(A<int, int>, A<A<int, int>, A<int, int> >)",
                                        "a::f::<((), ()), (((), ()), ((), ()))>"};
    struct nl_buf symbol, name;
    nl_buf_init(&symbol, 4096);
    nl_buf_init(&name, NL_MAX_DEMANGLED);
    for (int rust = 0; rust < 2; rust++) {
        put_pairs(&symbol, rust, 2);
        CHECK(nl_demangle((struct nl_str){symbol.ptr, symbol.len}, &name));
        CHECK_STR(((struct nl_str){name.ptr, name.len}), pairs[rust]);
        put_pairs(&symbol, rust, 9);
        CHECK(nl_demangle((struct nl_str){symbol.ptr, symbol.len}, &name));
        CHECK(name.len > 1 << 10);
        put_pairs(&symbol, rust, 34);
        CHECK(!nl_demangle((struct nl_str){symbol.ptr, symbol.len}, &name));
    }
    nl_buf_release(&symbol);
    nl_buf_release(&name);
}

/* Only the limit of memory stops a name that says nothing but letters beyond ASCII. */
static void limits_letters_beyond_ascii(void)
{
    struct nl_buf symbol, name;
    nl_buf_init(&symbol, 4096);
    nl_buf_init(&name, 64);
    nl_buf_text(&symbol, "_RNv");
    for (int i = 0; i < 40; i++)
        nl_buf_text(&symbol, "Nv");
    nl_buf_text(&symbol, "C1a");
    for (int i = 0; i < 41; i++)
        nl_buf_text(&symbol, "u8gdel_5qa");
    CHECK(!nl_demangle((struct nl_str){symbol.ptr, symbol.len}, &name));
    nl_buf_release(&symbol);
    nl_buf_release(&name);
}

/* Copies of a mangled name and of a plain one, in stacks of two samples. */
static void names_frames_of_stacks(void)
{
    static const char text[] = "main;_ZN4shop3addEii;_RNvCs1_5trace4main 3\n"
                               "main;_ZN4shop3addEii;_Z99 2\nmain;_ZN4shop3addEii 1\n";
    static const char *const want[] = {"main", "shop::add(int, int)", "trace::main", "_Z99"};
    struct nl_err err;
    struct nl_trace *trace = loadtext(&nl_format_collapsed, text, strlen(text), 1, &err);
    REQUIRE(trace);
    CHECK_INT(trace->stack.rows, CHECK_LENGTH(want));
    for (uint32_t row = 0; row < trace->stack.rows && row < CHECK_LENGTH(want); row++)
        CHECK_STR(nl_trace_name(trace, trace->stack.name[row]), want[row]);
    nl_trace_free(trace);
}

CHECK_MAIN("demangle", {"names as the source has them", names_as_the_source_has_them},
           {"ends what would not end", ends_what_would_not_end},
           {"limits letters beyond ASCII", limits_letters_beyond_ascii},
           {"names frames of stacks", names_frames_of_stacks})
