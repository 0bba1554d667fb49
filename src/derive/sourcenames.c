/* See sourcenames.h. Each name is taken apart once, however many rows have it. */
#include "derive/sourcenames.h"

#include "base/demangle.h"
#include "base/mem.h"

struct names {
    struct nl_trace *trace;
    uint32_t count;  /* before any was added */
    uint32_t *plain; /* by mangled name: its name in the source; NL_NULL_ROW: not known yet */
    struct nl_buf text;
};

static uint32_t by_source(struct names *names, uint32_t name)
{
    struct nl_str mangled = nl_trace_name(names->trace, name);
    if (name >= names->count || !nl_is_mangled(mangled))
        return name;
    if (!names->plain) {
        names->plain = nl_alloc(names->count * sizeof *names->plain);
        memset(names->plain, 0xff, names->count * sizeof *names->plain);
    }
    if (names->plain[name] == NL_NULL_ROW)
        names->plain[name] = nl_demangle(mangled, &names->text)
                                 ? nl_dict_add(&names->trace->names,
                                               (struct nl_str){names->text.ptr, names->text.len})
                                 : name;
    return names->plain[name];
}

void nl_name_by_source(struct nl_trace *trace)
{
    struct names names = {.trace = trace, .count = trace->names.count};
    nl_buf_init(&names.text, NL_MAX_DEMANGLED);
    for (uint32_t row = 0; row < trace->stack.rows; row++)
        trace->stack.name[row] = by_source(&names, trace->stack.name[row]);
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t slice = trace->kernel.slice[row];
        if (slice != NL_NULL_ROW)
            trace->slice.name[slice] = by_source(&names, trace->slice.name[slice]);
    }
    for (uint32_t row = 0; row < trace->api.rows; row++) /* or a launch would not find its kernel */
        trace->api.kernel[row] = by_source(&names, trace->api.kernel[row]);
    nl_free(names.plain);
    nl_buf_release(&names.text);
}
