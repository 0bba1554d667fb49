/*
 * devicenotes — sentences after the first one about a device: what else takes its time, how its
 * steady steps look, what was not recorded or ended too early.
 */
#include "answer/devicenotes.h"
#include "answer/devicecopies.h"

#include "answer/lastrank.h"
#include "base/sum.h"
#include "timeline/profilercalls.h"

#define MAX_SHARE_DIFFERENCE 0.05 /* of the time */
#define MIN_PROFILER         0.1  /* of the recording */
#define WORTH_SAYING         0.02 /* of the time */

static void put_share_of(struct nl_buf *out, const char *word, int64_t ns, int64_t whole)
{
    if ((double)ns < WORTH_SAYING * (double)whole)
        return;
    nl_tell_ratio(out, out->len && out->ptr[out->len - 1] != ':' ? ", " : " ", ns, whole);
    nl_buf_format(out, " %s", word);
}

/* Whether steps look unlike the whole: else the bars say it. */
static bool differs(const struct nl_device_case *it)
{
    double steady = (double)it->steady[NL_PART_COMPUTE] / (double)it->steady[NL_PART_WALL];
    double whole = (double)it->row.compute_ns / (double)it->row.wall_ns;
    return steady - whole > MAX_SHARE_DIFFERENCE || whole - steady > MAX_SHARE_DIFFERENCE;
}

static void tell_steady(struct nl_device_case *it)
{
    int64_t whole = it->steady[NL_PART_WALL];
    if (it->steps < 3 || whole <= 0 || it->step_ns <= 0)
        return;
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_tell_number(out, "Steady: ", it->steps, "step", "steps");
    nl_tell_time(out, ", median ", it->step_ns);
    if (it->in_steps || !differs(it)) { /* bars are of these steps, or look like them */
        nl_buf_char(out, '.');
        nl_tell_note(it->judged);
        return;
    }
    nl_buf_char(out, ':');
    put_share_of(out, "computing", it->steady[NL_PART_COMPUTE], whole);
    put_share_of(out, "exposed communication", it->steady[NL_PART_COMM], whole);
    put_share_of(out, nl_device_copy_words(it)->name, it->steady[NL_PART_COPY], whole);
    put_share_of(out, "idle", it->steady[NL_PART_IDLE], whole);
    nl_buf_char(out, '.');
    nl_tell_note(it->judged);
}

/* "26 % waiting for input data (5.2 % before the first GPU work)": what comes before is
 * apart, as of other CPU work. */
static void put_input(struct nl_buf *out, const struct nl_time_parts *parts)
{
    int64_t ns = parts->parts[NL_TIME_INPUT].ns, early = parts->input_early;
    size_t before = out->len;
    put_share_of(out, "waiting for input data", ns, parts->total);
    if (out->len == before || (double)early < WORTH_SAYING * (double)parts->total)
        return;
    if (early == ns) {
        nl_buf_text(out, " before the first GPU work");
        return;
    }
    nl_tell_ratio(out, " (", early, parts->total);
    nl_buf_text(out, " before the first GPU work)");
}

/* What else takes time, besides the class and what bars show. */
static void tell_others(struct nl_device_case *it, enum nl_verdict_class class)
{
    const struct nl_time_part *parts = it->parts.parts;
    int64_t whole = it->parts.total, early = it->parts.work_before;
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_buf_text(out, "Also:");
    size_t before = out->len;
    if (class != NL_VERDICT_STARTUP && class != NL_VERDICT_HOST) {
        put_share_of(out, "first-time calls", parts[NL_TIME_FIRST].ns - early, whole);
        put_share_of(out, "CPU work before the first GPU work", early, whole);
    }
    if (class != NL_VERDICT_INPUT)
        put_input(out, &it->parts);
    if (class != NL_VERDICT_LAUNCH)
        put_share_of(out, "short waits for launches",
                     parts[NL_TIME_DISPATCH].ns + parts[NL_TIME_QUEUED].ns, whole);
    if (class != NL_VERDICT_HOST && class != NL_VERDICT_INPUT)
        put_share_of(out, "long CPU work", parts[NL_TIME_HOST].ns, whole);
    if (class != NL_VERDICT_SYNC && class != NL_VERDICT_IDLE)
        put_share_of(out, "launched work that does not begin", parts[NL_TIME_HELD].ns, whole);
    if (class != NL_VERDICT_STARTUP && class != NL_VERDICT_IDLE)
        put_share_of(out, "nothing recorded", parts[NL_TIME_NOTHING].ns, whole);
    if (out->len == before)
        return;
    nl_buf_char(out, '.');
    nl_tell_note(it->judged);
}

/* Freeing and unloading at the end, where it is much. */
static void tell_ending(struct nl_device_case *it)
{
    if (it->parts.ending < it->parts.total / 5)
        return;
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_tell_time(out, "Ending: after the last work of the device, ", it->parts.ending);
    nl_buf_text(out, " go to freeing and unloading");
    if (it->parts.ending_in)
        nl_tell_name(out, ", most in ", nl_str(it->parts.ending_in));
    nl_buf_char(out, '.');
    nl_tell_note(it->judged);
}

/* Where calls copy and no copy was recorded, idle time of the device and
 * phase at hand may be copying. */
static void tell_unrecorded(struct nl_device_case *it)
{
    const struct nl_findings *findings = it->judged->report->findings;
    for (size_t i = 0; findings && i < findings->count; i++) {
        const struct nl_finding *finding = &findings->items[i];
        if (strcmp(finding->cause, "copies_not_recorded") != 0 || !finding->evidence_count)
            continue;
        bool calls = !strcmp(finding->evidence[0].metric, "copy_calls_idle_ns");
        int64_t ns = calls ? it->parts.idle_copying : it->parts.idle;
        if ((double)ns < WORTH_SAYING * (double)it->parts.total)
            continue;
        struct nl_buf *out = nl_tell_begin(it->judged);
        nl_tell_time(out, "Copies were not recorded: of what is called idle here, ", ns);
        nl_buf_text(out, " may be copying.");
        nl_tell_note(it->judged);
    }
}

/* What the profiler itself took, where it is much of the recording. */
static void tell_profiler(struct nl_device_case *it)
{
    const struct nl_trace *trace = it->judged->trace;
    struct nl_profiler_calls calls = nl_profiler_calls(trace);
    int64_t ns = nl_sum(calls.start_ns, calls.stop_ns), span = trace->last_ts - trace->first_ts;
    if (nl_judged_in_window(it->judged) || (double)ns < MIN_PROFILER * (double)span)
        return;
    bool start = calls.start_ns >= calls.stop_ns;
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_tell_of(out, "Profiler: ", ns, span);
    nl_tell_name(out, " of the recording are its own cost, most in ",
                 nl_trace_name(trace, start ? calls.start_name : calls.stop_name));
    nl_buf_text(out, ": no time of the program.");
    nl_tell_note(it->judged);
}

/* Graphs without their kernels: how much of the idle time is theirs is unknown. */
static void tell_replays(struct nl_device_case *it)
{
    if (!it->replays)
        return;
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_tell_number(out, "Kernels of replayed graphs were not recorded (", (int64_t)it->replays,
                   "launch of a graph", "launches of graphs");
    nl_tell_time(out, "): of the ", it->parts.idle);
    nl_buf_text(out, " that look idle, most may be theirs.");
    nl_tell_note(it->judged);
}

void nl_device_tell_rest(struct nl_device_case *it, enum nl_verdict_class class)
{
    tell_replays(it);
    tell_unrecorded(it);
    tell_profiler(it);
    if (!it->replays)
        tell_steady(it);
    tell_ending(it);
    if (it->thinned != it->thinned && !it->replays)
        tell_others(it, class);
    if (class == NL_VERDICT_COMMUNICATION || it->devices < 2 || it->late.others)
        return;
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_lastrank_put(it->judged, out, "In collectives ");
    if (out->len)
        nl_buf_char(out, '.');
    nl_tell_note(it->judged);
}
