/* gaptext — see gaptext.h. */
#include "tables/gaptext.h"

#include "base/chars.h"
#include "tables/shortname.h"
#include "base/units.h"
#include "base/utf8.h"

#define NAME_BYTES 40

struct nl_str nl_gap_fold(struct nl_str name)
{
    static const char *const tails[] = {", op_id = ", ", seq = ", ", sizes = "};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        ptrdiff_t at = nl_str_find_nocase(name, tails[i]);
        if (at > 0)
            name.len = (size_t)at;
    }
    ptrdiff_t graph = nl_str_find_nocase(name, "CompiledFxGraph ");
    if (graph >= 0)
        name.len = (size_t)graph + strlen("CompiledFxGraph");
    size_t len = name.len;
    while (len && nl_is_digit(name.ptr[len - 1]))
        len--;
    if (len > 1 && len < name.len && strchr(" _#-:", name.ptr[len - 1]))
        name.len = len - 1;
    return name;
}

static void put_cut(struct nl_buf *out, struct nl_str name, size_t width)
{
    size_t len = nl_utf8_cut(name.ptr, name.len, width);
    nl_buf_add(out, name.ptr, len);
    if (len < name.len)
        nl_buf_text(out, "…");
}

void nl_gap_name(struct nl_buf *out, const struct nl_trace *trace, uint32_t slice, size_t width)
{
    struct nl_str name = nl_trace_name(trace, trace->slice.name[slice]);
    if (trace->slice.kind[slice] == NL_KIND_KERNEL)
        name = nl_short_kernel(name);
    if (!name.len)
        name = nl_str("(unnamed)");
    put_cut(out, name, width);
}

struct nl_str nl_gap_activity(const struct nl_trace *trace, unsigned activity, uint32_t name)
{
    struct nl_str text = nl_trace_name(trace, name);
    return activity == NL_ACTIVITY_RANGE ? nl_gap_fold(text) : text;
}

void nl_gap_tell(struct nl_buf *out, const struct nl_trace *trace, const struct nl_idle_gap *gap)
{
    char text[NL_UNIT_TEXT];
    nl_buf_text(out, nl_format_ns(text, gap->end - gap->start));
    nl_buf_format(out, " at %s, ", nl_format_ns(text, gap->start - trace->first_ts));
    nl_gap_name(out, trace, gap->before, NAME_BYTES);
    nl_buf_text(out, " → ");
    nl_gap_name(out, trace, gap->after, NAME_BYTES);
    if (gap->activity == NL_ACTIVITY_UNKNOWN)
        return;
    nl_buf_text(out, " (");
    if (gap->name != NL_NO_NAME)
        put_cut(out, nl_gap_activity(trace, gap->activity, gap->name), NAME_BYTES);
    else
        nl_buf_text(out, nl_activity_name((enum nl_activity)gap->activity));
    nl_buf_text(out, gap->elsewhere ? ", on the thread it waits for)" : ")");
}
