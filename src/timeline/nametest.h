/*
 * nametest — whether names have a text in them, asked for many slices: each name is looked at once.
 *
 *     struct nl_name_test captures;
 *     nl_name_test_init(&captures, trace, "Capture");
 *     … nl_name_has(&captures, trace->slice.name[slice]) …
 *     nl_name_test_release(&captures);
 */
#ifndef NL_NAMETEST_H
#define NL_NAMETEST_H

#include "base/mem.h"
#include "store/trace.h"

struct nl_name_test {
    const struct nl_trace *trace;
    const char *part;
    uint8_t *known; /* per id: 0 not looked at, 1 no, 2 yes */
};

/* `part` is borrowed. */
static inline void nl_name_test_init(struct nl_name_test *test, const struct nl_trace *trace,
                                     const char *part)
{
    *test = (struct nl_name_test){trace, part, nl_zalloc((size_t)trace->names.count + 1)};
}

static inline void nl_name_test_release(struct nl_name_test *test)
{
    nl_free(test->known);
}

static inline bool nl_name_has(struct nl_name_test *test, uint32_t name)
{
    if (name >= test->trace->names.count)
        return false;
    if (!test->known[name])
        test->known[name] = nl_str_contains(nl_trace_name(test->trace, name), test->part) ? 2 : 1;
    return test->known[name] == 2;
}

#endif
