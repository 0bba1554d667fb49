/*
 * verdictruns — the answer for runs of a compiled model on the CPU (ONNX Runtime): how much
 * of them operators take at their usual pace, how much single calls stalled, and how much
 * passed while no operator ran.
 */
#include "answer/judge.h"
#include "answer/modelruns.h"
#include "base/sum.h"

#define KINDS_TOLD  3
#define NONE_SHARE  0.3 /* of the runs: worth a separate sentence */
#define MIN_BETWEEN 0.2 /* of the profile, between runs */

static int64_t usual_of(const struct nl_model_runs *it)
{
    return it->operator_ns - it->stall_ns;
}

static void put_runs(const struct nl_model_runs *it, struct nl_buf *out)
{
    nl_tell_number(out, "; ", (int64_t)it->runs, "run takes", "runs take");
    nl_tell_time(out, " ", it->run_ns);
    if (it->runs > 1) {
        nl_tell_time(out, " (median ", it->median_ns);
        nl_buf_char(out, ')');
    }
    if (it->bare_runs)
        nl_tell_number(out, ", besides ", (int64_t)it->bare_runs, "without recorded operators",
                       "without recorded operators");
}

static bool is_warm_up(const struct nl_model_runs *it)
{
    return it->stalled_runs == 1 && it->first_stalled;
}

/* Most of what slow calls take too long passes in runs that are slow as a whole. */
static bool whole_runs(const struct nl_model_runs *it)
{
    return !is_warm_up(it) && it->slow_ns > it->stall_ns / 2;
}

/* What the runs are made of; operators that run side by side are more than the time they take. */
static void put_parts(const struct nl_model_runs *it, struct nl_buf *out)
{
    bool beside = it->operator_ns > it->run_ns - it->none_ns;
    nl_tell_time(out, ": operators ", it->operator_ns);
    if (beside)
        nl_buf_text(out, " in all, partly at the same time");
    else
        nl_tell_ratio(out, " (", it->operator_ns, it->run_ns);
    if (it->stall_ns) {
        nl_tell_time(out, beside ? ", " : "; ", it->stall_ns);
        nl_buf_text(out, whole_runs(it) ? " of it above the operators' medians"
                                        : " of it stalls in single calls");
    }
    nl_buf_text(out, beside ? "" : ")");
    nl_tell_time(out, ", no operator ", it->none_ns);
    nl_tell_ratio(out, " (", it->none_ns, it->run_ns);
    nl_buf_char(out, ')');
}

/* "Conv 85 %, Gemm 9 %": with stalled calls at their median, which is what the operator costs. */
static void put_kinds(struct nl_judged *judged, const struct nl_model_runs *it, struct nl_buf *out)
{
    const struct nl_trace *trace = judged->trace;
    int64_t whole = usual_of(it);
    if (whole <= 0)
        return;
    for (size_t i = 0; i < it->type_count && i < KINDS_TOLD; i++) {
        nl_tell_name(out,
                     i ? ", " : "; by kind of operator: ", nl_trace_name(trace, it->types[i].name));
        nl_tell_ratio(out, " ", it->types[i].usual_ns, whole);
    }
    nl_tell_time(out, " of ", whole);
    if (it->stall_ns)
        nl_buf_text(out, whole_runs(it) ? " at the operators' medians" : " without the stalls");
    nl_tell_name(out, "; the longest operator is ", nl_trace_name(trace, it->names[0].name));
    nl_tell_ratio(out, " ", it->names[0].usual_ns, whole);
    nl_tell_number(out, " in ", (int64_t)it->names[0].calls, "call", "calls");
}

/* What made whole runs slower is not recorded. */
static void tell_slow_runs(struct nl_judged *judged, const struct nl_model_runs *it)
{
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "Slower runs: in ", (int64_t)it->slow_runs, "of", "of");
    nl_tell_number(out, " ", (int64_t)it->runs, "run", "runs");
    nl_buf_text(out, " more than a tenth of the calls took over 3 times the operator's median, "
                     "together ");
    nl_tell_time(out, "", it->slow_ns);
    nl_buf_text(out, it->same_shapes
                         ? " more, with the same shapes: whole runs are slower (other values of "
                           "inputs, warm-up or a busy machine), not single calls."
                         : " more: whole runs are slower (larger inputs, warm-up or a busy "
                           "machine), not single calls.");
    nl_tell_note(judged);
}

static void tell_stalls(struct nl_judged *judged, const struct nl_model_runs *it)
{
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "Stalls: ", (int64_t)it->stalls, "call", "calls");
    nl_tell_number(out, " of ", (int64_t)it->stalled_names, "operator", "operators");
    nl_tell_number(out, " in ", (int64_t)it->stalled_runs, "run", "runs");
    nl_buf_text(out, " took over 3 times the operator's median, together ");
    nl_tell_time(out, "", it->stall_ns);
    nl_buf_text(out, " more; the longest ");
    nl_tell_time(out, "", it->worst_ns);
    nl_tell_name(out, " in ", nl_trace_name(judged->trace, it->worst));
    nl_tell_time(out, " (median ", it->worst_median_ns);
    nl_buf_text(out, is_warm_up(it) ? "), all in the first run: warm-up."
                     : it->changing && !it->slow_runs
                         ? "). They hit changing operators: the thread was held up, the operators "
                           "are not slow; totals per operator hold the stalls."
                         : "): first calls, other input, or the thread was held up.");
    nl_tell_note(judged);
}

static void tell_none(struct nl_judged *judged, const struct nl_model_runs *it)
{
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_time(out, "No operator ran for ", it->none_ns);
    nl_tell_time(out, " of the runs: ", it->lead_ns);
    nl_tell_time(out, " before the first operator of a run, ", it->inner_ns);
    nl_tell_time(out, " between operators, ", it->end_ns);
    nl_buf_text(
        out, " after the last. That time is spent in the executor and its thread pool, outside any "
             "operator; what they did was not recorded.");
    nl_tell_note(judged);
}

static void tell_between(struct nl_judged *judged, const struct nl_model_runs *it, int64_t span)
{
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_time(out, "Between the runs pass ", it->between_ns);
    nl_tell_ratio(out, " (", it->between_ns, span);
    nl_buf_text(out, " of the profile): the program's own code, which this profile does not hold.");
    nl_tell_note(judged);
}

bool nl_judge_runs(struct nl_judged *judged, struct nl_buf *out, int64_t span)
{
    struct nl_model_runs it;
    if (nl_judged_in_window(judged) || !nl_model_runs_init(&it, judged->trace))
        return false;
    struct nl_verdict_words *verdict = judged->verdict;
    double runs = (double)it.run_ns;
    int64_t usual = whole_runs(&it) ? it.operator_ns : usual_of(&it);
    put_runs(&it, out);
    put_parts(&it, out);
    put_kinds(judged, &it, out);
    nl_buf_char(out, '.');
    verdict->culprit = it.none_ns > usual && it.none_ns > it.stall_ns ? "time without an operator"
                       : it.stall_ns > usual
                           ? "stalls in single calls"
                           : nl_keep_name(judged, nl_trace_name(judged->trace, it.types[0].name));
    verdict->class = NL_VERDICT_CPU_ONLY;
    nl_tell_end(judged, &verdict->sentence);
    if (it.stalls && whole_runs(&it))
        tell_slow_runs(judged, &it);
    else if (it.stalls)
        tell_stalls(judged, &it);
    if ((double)it.none_ns > NONE_SHARE * runs)
        tell_none(judged, &it);
    if ((double)it.between_ns > MIN_BETWEEN * (double)span)
        tell_between(judged, &it, span);
    nl_model_runs_release(&it);
    return true;
}
