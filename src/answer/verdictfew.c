/* verdictfew — the answer about timelines with too few events for one: what there is,
 * and which names take most. */
#include "answer/judge.h"
#include "tables/lookup.h"
#include "tables/memo.h"

#define FEW_SLICES 50
#define TEST_NS    1000 /* whole profiles shorter than that are made up */

static uint64_t device_rows(const struct nl_trace *trace)
{
    return (uint64_t)trace->kernel.rows + trace->copy.rows + trace->memset.rows + trace->graph.rows;
}

/* Work that names its launch, of all. */
static double linked(const struct nl_judged *judged)
{
    const struct nl_owners *owners = nl_memo_owners(judged->options->memo);
    uint32_t known = 0;
    for (uint32_t i = 0; i < owners->count; i++)
        known += owners->launch[i] != NL_NULL_ROW;
    return owners->count ? (double)known / owners->count : 0;
}

static bool is_piece(const struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    int64_t span = trace->last_ts - trace->first_ts;
    if (judged->options->window.has_time || trace->slice.rows >= FEW_SLICES)
        return false;
    return span < TEST_NS || (device_rows(trace) && device_rows(trace) <= 2) ||
           trace->slice.rows < (device_rows(trace) ? 20 : 30) ||
           (trace->api.rows && linked(judged) < 0.5);
}

#define MAX_NAMES 5 /* to be named */

struct name_time {
    struct nl_str name;
    int64_t ns, count;
    bool kernel;
};

/* Keeps the names that take most, the longest first; of equal ones the first. */
static void keep_longest(struct name_time *best, size_t *kept, struct name_time name)
{
    size_t at = *kept < MAX_NAMES ? (*kept)++ : MAX_NAMES;
    for (; at && best[at - 1].ns < name.ns; at--)
        if (at < MAX_NAMES)
            best[at] = best[at - 1];
    if (at < MAX_NAMES)
        best[at] = name;
}

/* The profiler's own work is not the program's. */
static bool has_time(const struct nl_result *rows, size_t row)
{
    return nl_lookup_i64(rows, row, "total_ns") > 0 &&
           !nl_str_is(nl_lookup_text(rows, row, "kind"), "overhead");
}

void nl_tell_longest(struct nl_judged *judged, struct nl_buf *out)
{
    static const char *const tables[] = {"nvtx", "ops", "python", "others", "api", "kernels"};
    struct name_time best[MAX_NAMES];
    size_t kept = 0;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        const struct nl_result *rows = nl_judged_part(judged, tables[i]);
        for (size_t row = 0; rows && row < rows->rows; row++)
            if (has_time(rows, row))
                keep_longest(best, &kept,
                             (struct name_time){nl_lookup_text(rows, row, "name"),
                                                nl_lookup_i64(rows, row, "total_ns"),
                                                nl_lookup_i64(rows, row, "count"),
                                                strcmp(tables[i], "kernels") == 0});
    }
    for (size_t i = 0; i < kept; i++) {
        (best[i].kernel ? nl_tell_kernel : nl_tell_name)(out,
                                                         i ? ", " : "Most time: ", best[i].name);
        nl_tell_time(out, " ", best[i].ns);
        if (best[i].count > 1)
            nl_tell_number(out, " in ", best[i].count, "call", "calls");
    }
    if (kept)
        nl_buf_char(out, '.');
}

bool nl_judge_few(struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    if (!is_piece(judged))
        return false;
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "Too few events for a verdict: ", trace->slice.rows, "event", "events");
    nl_tell_time(out, " over ", trace->last_ts - trace->first_ts);
    if (trace->kernel.rows)
        nl_tell_number(out, ", ", trace->kernel.rows, "kernel", "kernels");
    if (trace->copy.rows)
        nl_tell_number(out, ", ", trace->copy.rows, "copy", "copies");
    nl_buf_text(out, trace->last_ts - trace->first_ts < TEST_NS
                         ? ". Durations this short are test data."
                         : ". The file is cut, filtered, or a small example.");
    nl_tell_end(judged, &judged->verdict->sentence);
    judged->verdict->class = NL_VERDICT_NONE;
    out = nl_tell_begin(judged);
    nl_tell_longest(judged, out);
    nl_tell_note(judged);
    return true;
}
