/*
 * devicecopies — sentences about copies and about the capture of graphs: the direction, the kind of
 * memory and the range of the program that copies; how long a thread captures.
 */
#include <string.h>

#include "answer/devicecopies.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/sum.h"
#include "base/units.h"
#include "timeline/fold.h"
#include "tables/lookup.h"
#include "tables/memo.h"

#define MAX_DEPTH         64
#define MIN_KNOWN         0.3 /* of copying, with a known launch: then its ranges speak for all */
#define MIN_RANGE_SHARE   0.6 /* of all copying: then a range is the culprit */
#define MIN_CAPTURE_SHARE 0.5 /* of the time: then capturing is the answer */

/* Ranges that frameworks make for each of their operators say less than the program's own. */
static bool is_own(struct nl_str name)
{
    static const char *const made[] = {"aten::", "c10",          "autograd::", "cuda",
                                       "cu",     "ProfilerStep", "[pl]",       "torch::"};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        if (nl_str_starts(name, made[i]))
            return false;
    return true;
}

struct sums {
    struct nl_fold fold; /* ranges go under names without instance numbers */
    int64_t *ns;         /* per folded name: of copies inside ranges of it */
    uint32_t *depth;     /* deepest it was */
    size_t ns_cap, depth_cap;
};

static void make_room(struct sums *sums, uint32_t id)
{
    size_t had = sums->ns_cap < sums->depth_cap ? sums->ns_cap : sums->depth_cap;
    if (id < had)
        return;
    nl_grow(&sums->ns, &sums->ns_cap, (size_t)id + 1);
    nl_grow(&sums->depth, &sums->depth_cap, (size_t)id + 1);
    for (size_t i = had; i < sums->ns_cap; i++)
        sums->ns[i] = 0;
    for (size_t i = had; i < sums->depth_cap; i++)
        sums->depth[i] = 0;
}

static void add_ranges(struct sums *sums, const struct nl_trace *trace,
                       const struct nl_rangetree *tree, uint32_t range, int64_t ns)
{
    uint32_t last = UINT32_MAX;
    for (uint32_t deep = MAX_DEPTH; range != NL_NULL_ROW && deep;
         range = tree->parents[range], deep--) {
        uint32_t id = nl_fold_id(&sums->fold, trace->slice.name[tree->slices[range]]);
        make_room(sums, id);
        if (id == last)
            continue;
        nl_sum_add(&sums->ns[id], ns);
        sums->depth[id] = sums->depth[id] > deep ? sums->depth[id] : deep;
        last = id;
    }
}

static int64_t sum_ranges(struct nl_judged *judged, enum nl_kind kind, struct sums *sums)
{
    const struct nl_trace *trace = judged->trace;
    const struct nl_owners *owners = nl_memo_owners(judged->options->memo);
    const struct nl_memo_ranges *ranges = nl_memo_ranges(judged->options->memo, kind);
    int64_t whole = 0, all = 0;
    for (uint32_t i = 0; i < owners->count; i++) {
        uint32_t work = owners->work[i];
        if (trace->slice.kind[work] != NL_KIND_MEMCPY || trace->slice.dur[work] == NL_NULL_I64)
            continue;
        nl_sum_add(&all, trace->slice.dur[work]);
        if (owners->launch[i] == NL_NULL_ROW)
            continue;
        nl_sum_add(&whole, trace->slice.dur[work]);
        add_ranges(sums, trace, &ranges->tree, ranges->owner[i], trace->slice.dur[work]);
    }
    return (double)whole < MIN_KNOWN * (double)all ? INT64_MAX : whole;
}

/* The innermost range of the program's own that holds most copying, else of any; NULL none. */
static const char *copying_range(struct nl_judged *judged, enum nl_kind kind)
{
    const struct nl_trace *trace = judged->trace;
    const char *kept = NULL;
    struct sums sums = {.ns = NULL};
    if (!nl_rangetree_any(trace, kind))
        return NULL;
    nl_fold_init(&sums.fold, trace, NL_FOLD_INSTANCES);
    int64_t whole = sum_ranges(judged, kind, &sums);
    uint32_t best = 0;
    bool best_own = false;
    for (uint32_t id = 1; id < sums.fold.texts.count && id < sums.ns_cap; id++) {
        if ((double)sums.ns[id] < MIN_RANGE_SHARE * (double)whole || !sums.ns[id])
            continue;
        bool own = is_own(nl_dict_text(&sums.fold.texts, id));
        if (!best || (own && !best_own) || (own == best_own && sums.depth[id] > sums.depth[best])) {
            best = id;
            best_own = own;
        }
    }
    if (best)
        kept = nl_keep_name(judged, nl_dict_text(&sums.fold.texts, best));
    nl_free(sums.ns);
    nl_free(sums.depth);
    nl_fold_release(&sums.fold);
    return kept;
}

static const char *direction(struct nl_str kind)
{
    static const struct {
        const char *kind, *words;
    } names[] = {{"HtoD", "host-to-device copies"},
                 {"DtoH", "device-to-host copies"},
                 {"DtoD", "copies within the device"},
                 {"PtoP", "copies between devices"},
                 {"UVM HtoD", "unified-memory migrations to the device"},
                 {"UVM DtoH", "unified-memory migrations to the host"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (nl_str_is(kind, names[i].kind))
            return names[i].words;
    return "copies";
}

static bool is_of(const struct nl_device_case *it, const struct nl_result *copies, size_t row)
{
    return nl_lookup_i64(copies, row, "rank") == it->row.rank &&
           nl_lookup_i64(copies, row, "device") == it->row.ordinal;
}

/* Copies that stand under another device than the one that waits for them:
 * their directions alone. */
static void put_others(const struct nl_device_case *it, struct nl_buf *out,
                       const struct nl_result *copies)
{
    const char *first = NULL;
    for (size_t row = 0; row < copies->rows; row++)
        if (is_of(it, copies, row))
            return;
    for (size_t row = 0; row < copies->rows; row++) {
        const char *words = direction(nl_lookup_text(copies, row, "kind"));
        if (first && strcmp(first, words) != 0) {
            nl_buf_format(out, " and %s", words);
            return;
        }
        if (!first)
            nl_buf_format(out, ": %s", words);
        first = words;
    }
}

/* "23.7 GiB of host-to-device copies from pinned memory at 27.7 GB/s", both
 * directions when they matter. */
static void put_directions(struct nl_device_case *it, struct nl_buf *out,
                           const struct nl_result *copies)
{
    int64_t whole = 0;
    for (size_t row = 0; row < copies->rows; row++)
        if (is_of(it, copies, row))
            nl_sum_add(&whole, nl_lookup_i64(copies, row, "total_ns"));
    for (size_t row = 0, said = 0; row < copies->rows && said < 2; row++) {
        if (!is_of(it, copies, row))
            continue;
        int64_t ns = nl_lookup_i64(copies, row, "total_ns");
        int64_t bytes = nl_lookup_i64(copies, row, "bytes");
        struct nl_str from = nl_lookup_text(copies, row, "src_memory");
        struct nl_str to = nl_lookup_text(copies, row, "dst_memory");
        if (ns < whole / 5)
            break;
        nl_buf_format(out, said++ ? ", %s" : ": %s",
                      direction(nl_lookup_text(copies, row, "kind")));
        if (nl_str_is(from, "pageable") || nl_str_is(from, "pinned"))
            nl_buf_format(out, " from %.*s memory", (int)from.len, from.ptr);
        else if (nl_str_is(to, "pageable") || nl_str_is(to, "pinned"))
            nl_buf_format(out, " to %.*s memory", (int)to.len, to.ptr);
        nl_tell_time(out, " ", ns);
        if (bytes <= 0 || ns <= 0)
            continue;
        char rate[NL_UNIT_TEXT];
        nl_tell_size(out, ", ", (uint64_t)bytes);
        nl_buf_format(out, " at %s", nl_format_rate(rate, (double)bytes * 1e9 / (double)ns));
    }
}

const struct nl_copy_words *nl_device_copy_words(const struct nl_device_case *it)
{
    static const struct nl_copy_words words[] = {
        {"exposed copies", "Copy-bound: exposed copies take "},
        {"exposed memsets", "Memsets take "},
        {"exposed copies and memsets", "Copy-bound: exposed copies and memsets take "},
    };
    const struct nl_result *rows = nl_judged_part(it->judged, "breakdown");
    bool fills = nl_lookup_sum(rows, "memsets") > 0, copies = nl_lookup_sum(rows, "copies") > 0;
    return &words[fills ? 1 + copies : 0];
}

void nl_device_tell_copy(struct nl_device_case *it, int64_t ns)
{
    struct nl_judged *judged = it->judged;
    const struct nl_result *copies = nl_judged_part(judged, "copies");
    const char *range = copying_range(judged, NL_KIND_NVTX);
    range = range ? range : copying_range(judged, NL_KIND_OP);
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_time(out, nl_device_copy_words(it)->takes, ns);
    nl_tell_time(out, " of ", it->parts.total);
    nl_tell_ratio(out, " (", ns, it->parts.total);
    nl_buf_text(out, ")");
    if (it->devices > 1)
        nl_device_put_place(it, out, " on ");
    if (copies) {
        put_directions(it, out, copies);
        put_others(it, out, copies);
    }
    if (range)
        nl_tell_name(out, "; copied by ", nl_str(range));
    nl_buf_char(out, '.');
    nl_tell_end(judged, &judged->verdict->sentence);
    judged->verdict->culprit = range    ? range
                               : copies ? direction(nl_lookup_text(copies, 0, "kind"))
                                        : NULL;
}

/* ---- capture ---- */

/* The calls that begin and end captures, in order of time; nl_free them. */
static struct nl_keyed *capture_calls(const struct nl_trace *trace, size_t *count)
{
    struct nl_keyed *calls = nl_alloc((2 * (size_t)trace->api.rows + 1) * sizeof *calls);
    *count = 0;
    for (uint32_t i = 0; i < trace->api.rows; i++) {
        uint32_t slice = trace->api.slice[i];
        if (slice != NL_NULL_ROW &&
            nl_str_contains(nl_trace_name(trace, trace->slice.name[slice]), "Capture"))
            calls[(*count)++] = (struct nl_keyed){nl_sort_key(trace->slice.ts[slice]), slice};
    }
    nl_sort_keyed(calls, calls + *count, *count);
    return calls;
}

/* Total of the stretches between calls that begin and end a capture, within a time; *begin is the
 * call of the longest. */
static int64_t captured(const struct nl_trace *trace, int64_t from, int64_t to, uint32_t *begin,
                        uint64_t *graphs)
{
    *graphs = 0;
    int64_t longest = 0, sum = 0;
    uint32_t open = NL_NULL_ROW;
    size_t count;
    struct nl_keyed *calls = capture_calls(trace, &count);
    for (size_t i = 0; i < count; i++) {
        uint32_t slice = calls[i].row;
        struct nl_str name = nl_trace_name(trace, trace->slice.name[slice]);
        if (nl_str_contains(name, "BeginCapture"))
            open = slice;
        else if (nl_str_contains(name, "EndCapture") && open != NL_NULL_ROW) {
            int64_t start = trace->slice.ts[open], end = nl_slice_end(trace, slice);
            int64_t ns = (end < to ? end : to) - (start > from ? start : from);
            nl_sum_add(&sum, ns > 0 ? ns : 0);
            *graphs += 1;
            if (ns > longest) {
                longest = ns;
                *begin = open;
            }
            open = NL_NULL_ROW;
        }
    }
    nl_free(calls);
    return longest ? sum : 0;
}

/* The annotation around a moment, the innermost of the program's own; 0 none. */
static uint32_t range_at(const struct nl_trace *trace, int64_t ts)
{
    uint32_t best = 0;
    int64_t length = INT64_MAX;
    for (uint32_t i = 0; i < trace->nvtx.rows; i++) {
        uint32_t slice = trace->nvtx.slice[i];
        if (slice == NL_NULL_ROW || trace->slice.ts[slice] > ts ||
            nl_slice_end(trace, slice) <= ts || trace->slice.dur[slice] >= length)
            continue;
        best = trace->slice.name[slice];
        length = trace->slice.dur[slice];
    }
    return best;
}

bool nl_device_tell_capture(struct nl_device_case *it)
{
    struct nl_judged *judged = it->judged;
    uint32_t begin = NL_NULL_ROW;
    uint64_t graphs = 0;
    const struct nl_account_device *device = it->parts.account;
    int64_t ns = captured(judged->trace, device->start, device->end, &begin, &graphs);
    int64_t whole = it->in_steps ? device->end - device->start : it->parts.total;
    if (it->in_steps && (double)ns < MIN_CAPTURE_SHARE * (double)whole) {
        ns = captured(judged->trace, it->first, it->last, &begin, &graphs);
        whole = it->parts.total;
    }
    if (judged->options->window.has_time || (double)ns < MIN_CAPTURE_SHARE * (double)whole ||
        ns > whole)
        return false;
    uint32_t range = range_at(judged->trace, judged->trace->slice.ts[begin]);
    struct nl_buf *out = nl_tell_begin(judged);
    if (graphs == 1)
        nl_tell_time(out, "Start-up: a graph is being captured for ", ns);
    else {
        nl_tell_number(out, "Start-up: ", (int64_t)graphs, "graph is", "graphs are");
        nl_tell_time(out, " being captured for ", ns);
    }
    nl_tell_time(out, " of ", whole);
    nl_tell_ratio(out, " (", ns, whole);
    nl_buf_text(out, ")");
    if (range)
        nl_tell_name(out, ", in ", nl_trace_name(judged->trace, range));
    nl_buf_text(out, "; kernels are recorded into the graph and do not run yet, so the device has "
                     "nothing to do.");
    nl_tell_end(judged, &judged->verdict->sentence);
    judged->verdict->class = NL_VERDICT_STARTUP;
    judged->verdict->phase = "startup";
    judged->verdict->culprit =
        range ? nl_keep_name(judged, nl_trace_name(judged->trace, range)) : "graph capture";
    return true;
}
