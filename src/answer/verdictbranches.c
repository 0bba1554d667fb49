/*
 * verdictbranches — the answer for traces of branches (Intel PT): a line per call and return. They
 * count how often, and no time: functions that return most often are named, none is blamed.
 */
#include "answer/judge.h"
#include "base/sum.h"
#include "tables/lookup.h"

#define TOLD 3

static bool is_of(const struct nl_result *rows, size_t row, struct nl_str event)
{
    return nl_str_is(nl_lookup_text(rows, row, "unit"), "branches") &&
           (!event.len || nl_str_eq(nl_lookup_text(rows, row, "event"), event));
}

/* Branches of a kind; without one (empty) of all. */
static int64_t count_of(const struct nl_result *rows, struct nl_str event)
{
    int64_t sum = 0;
    for (size_t row = 0; row < rows->rows; row++)
        if (is_of(rows, row, event))
            nl_sum_add(&sum, nl_lookup_i64(rows, row, "samples"));
    return sum;
}

/* "; of 8,065 returns most are from f in a.so 26 %, …": a return is a call that was recorded whole,
 * and where it came from is what was called. */
static void put_returns(struct nl_buf *out, const struct nl_result *rows)
{
    struct nl_str returns = nl_str("return");
    int64_t whole = count_of(rows, returns);
    for (size_t row = 0, said = 0; row < rows->rows && said < TOLD; row++) {
        struct nl_str name = nl_lookup_text(rows, row, "function");
        int64_t count = nl_lookup_i64(rows, row, "samples");
        if (!is_of(rows, row, returns) || count <= 0 || !name.len ||
            nl_str_starts(name, "[unknown]"))
            continue;
        if (!said)
            nl_tell_number(out, "; of ", whole, "return", "returns");
        nl_tell_name(out, said++ ? ", " : " most are from ", name);
        nl_tell_ratio(out, " ", count, whole);
    }
}

bool nl_judge_branches(struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    const struct nl_result *rows = nl_judged_part(judged, "cpu_samples");
    int64_t whole = rows ? count_of(rows, nl_str("")) : 0;
    if (whole <= 0 || !is_of(rows, 0, nl_str("")))
        return false;
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "Branch trace, no samples of time: ", whole, "branch", "branches");
    if (trace->source.rows == 1 && trace->last_ts > trace->first_ts && !nl_judged_in_window(judged))
        nl_tell_time(out, " in ", trace->last_ts - trace->first_ts);
    put_returns(out, rows);
    nl_buf_char(out, '.');
    nl_tell_end(judged, &judged->verdict->sentence);
    judged->verdict->class = NL_VERDICT_NONE;
    out = nl_tell_begin(judged);
    nl_buf_text(out,
                "How often a function returns says nothing of how long it takes; for times let "
                "the decoder make samples: perf script --itrace=i10us.");
    nl_tell_note(judged);
    return true;
}
