/* A range that both sides could be cut at, for windows of the same work.
 *
 * `[nvtx=NAME]` is the time from the first range of that name to the last. It holds the same work
 * on both sides only where both have as many of them, and it speaks of the program only where they
 * cover most of what is compared. */
#include <string.h>

#include "base/mem.h"
#include "compare/diffdoc.h"
#include "timeline/interval.h"

#define MAX_RANGE_NAME 60
#define RANGE_COVERS   0.5 /* more than this share of the compared time of either side */

/* The ranges of one capture by name: those of name n are rows[first[n]] …
 * rows[first[n + 1] - 1]. */
struct named {
    const struct nl_trace *trace;
    uint32_t *first, *rows;
    struct nl_intervals compared;
};

/* What is compared: the spans of its devices, else all there is. */
static void find_compared(struct nl_intervals *set, const struct diff_side *side)
{
    nl_intervals_init(set);
    for (size_t i = 0; i < side->span_count; i++)
        nl_intervals_add(set, side->spans[i].start, side->spans[i].end);
    if (!side->span_count)
        nl_intervals_add(set, side->trace->first_ts, side->trace->last_ts);
    nl_intervals_normalise(set);
}

static struct named named_new(const struct diff_side *side)
{
    const struct nl_trace *trace = side->trace;
    struct named named = {.trace = trace};
    named.first = nl_zalloc((trace->names.count + (size_t)2) * sizeof *named.first);
    named.rows = nl_alloc((trace->nvtx.rows + (size_t)1) * sizeof *named.rows);
    for (uint32_t i = 0; i < trace->nvtx.rows; i++)
        if (trace->nvtx.slice[i] != NL_NULL_ROW)
            named.first[trace->slice.name[trace->nvtx.slice[i]] + 1]++;
    for (uint32_t id = 0; id < trace->names.count; id++)
        named.first[id + 1] += named.first[id];
    for (uint32_t i = 0; i < trace->nvtx.rows; i++)
        if (trace->nvtx.slice[i] != NL_NULL_ROW)
            named.rows[named.first[trace->slice.name[trace->nvtx.slice[i]]]++] =
                trace->nvtx.slice[i];
    for (uint32_t id = trace->names.count; id > 0; id--)
        named.first[id] = named.first[id - 1];
    named.first[0] = 0;
    find_compared(&named.compared, side);
    return named;
}

static void named_release(struct named *named)
{
    nl_free(named->first);
    nl_free(named->rows);
    nl_intervals_release(&named->compared);
}

static uint32_t count_of(const struct named *named, uint32_t id)
{
    return named->first[id + 1] - named->first[id];
}

/* Share of the compared time that ranges of a name cover, 0 … 1; nested ones count once. */
static double covered(const struct named *named, uint32_t id)
{
    struct nl_intervals set;
    int64_t of = nl_intervals_length(&named->compared);
    nl_intervals_init(&set);
    for (uint32_t i = named->first[id]; i < named->first[id + 1]; i++)
        nl_intervals_add(&set, named->trace->slice.ts[named->rows[i]],
                         nl_slice_end(named->trace, named->rows[i]));
    nl_intervals_normalise(&set);
    int64_t part = nl_intervals_overlap(&set, &named->compared);
    nl_intervals_release(&set);
    return of > 0 ? (double)part / (double)of : 0;
}

/* Whether a range's name can stand in a window as it is. */
static bool is_plain_range(struct nl_str name)
{
    bool plain = name.len && name.len <= MAX_RANGE_NAME;
    for (size_t i = 0; i < name.len && plain; i++)
        plain = name.ptr[i] >= ' ' && name.ptr[i] != 127 && !strchr("\"\\*?[],", name.ptr[i]);
    return plain;
}

static bool has_window(const struct nl_window *window, const char *word)
{
    size_t len = strlen(word);
    return window->has_time || window->has_rank || window->has_device ||
           (len && word[len - 1] == ']');
}

struct nl_str diff_common_range(const struct diff_doc *doc)
{
    const struct diff_side *base = diff_captures((struct diff_side *)&doc->base),
                           *changed = diff_captures((struct diff_side *)&doc->changed);
    struct nl_str found = {NULL, 0};
    double most = RANGE_COVERS;
    if (has_window(&base->window, doc->base_word) ||
        has_window(&changed->window, doc->changed_word))
        return found;
    struct named a = named_new(base), b = named_new(changed);
    for (uint32_t id = 0; id < a.trace->names.count; id++) {
        struct nl_str name = nl_trace_name(a.trace, id);
        uint32_t other = count_of(&a, id) ? nl_dict_find(&b.trace->names, name) : UINT32_MAX;
        if (other == UINT32_MAX || count_of(&b, other) != count_of(&a, id) || !is_plain_range(name))
            continue;
        double in_a = covered(&a, id), in_b = covered(&b, other);
        double least = in_a < in_b ? in_a : in_b;
        if (least > most) {
            most = least;
            found = name;
        }
    }
    named_release(&a);
    named_release(&b);
    return found;
}
