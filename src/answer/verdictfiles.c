/*
 * verdictfiles — what an expert says about the files: of a recording that it was costly; of several
 * that one is there twice, that they are captures of one device one after the other, or that they
 * are hardly of one run. Numbers over all of them mislead then.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/judge.h"
#include "answer/unseenwork.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/units.h"
#include "derive/reccost.h"
#include "tables/scope.h"
#include "timeline/capturewindow.h"

#define HOUR_NS         (3600 * NL_SECOND_NS)
#define RECORDING_SHARE 0.05 /* of the program's processor time */

static int64_t coverage_of(const struct nl_trace *trace, const char *item)
{
    for (uint32_t row = 0; row < trace->coverage.rows; row++)
        if (nl_str_is(nl_trace_name(trace, trace->coverage.item[row]), item))
            return trace->coverage.count[row];
    return 0;
}

struct captures {
    uint32_t device; /* one of them */
    uint64_t count;
    struct nl_device_span all;
};

static int by_start(const void *left, const void *right)
{
    const struct nl_device_span *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->device < b->device ? -1 : a->device > b->device;
}

/* The device that most files hold, one after the other, in whatever order they are given; count 0
 * or 1: there is none. Sorts the spans by their start: devices without work come last. */
static struct captures find_captures(const struct nl_trace *trace, struct nl_device_span *spans)
{
    uint32_t count = trace->device.rows < UINT16_MAX ? trace->device.rows : UINT16_MAX;
    struct captures best = {0};
    qsort(spans, trace->device.rows, sizeof *spans, by_start);
    for (uint32_t a = 0; a < count && spans[a].start <= spans[a].end; a++) {
        struct captures these = {spans[a].device, 1, spans[a]};
        for (uint32_t b = a + 1; b < count && spans[b].start <= spans[b].end; b++) {
            if (!nl_is_same_device(trace, spans[a].device, spans[b].device) ||
                spans[a].rank != spans[b].rank || spans[b].start < these.all.end)
                continue;
            these.count++;
            these.all.end = spans[b].end;
        }
        if (these.count > best.count)
            best = these;
    }
    return best;
}

static void tell_copies(struct nl_judged *judged, int64_t copies)
{
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "The same file is there more than once (", copies, "copy", "copies");
    nl_buf_text(out,
                " by format, size and first moment): all that is in it counts as often; give each "
                "file once.");
    nl_tell_note(judged);
}

static void tell_captures(struct nl_judged *judged, const struct captures *these)
{
    struct nl_buf *out = nl_tell_begin(judged);
    int64_t rank = these->all.rank, ordinal = judged->trace->device.ordinal[these->device];
    nl_tell_number(out, "", (int64_t)these->count, "capture", "captures");
    nl_buf_text(out, " of one device");
    if (rank != NL_NULL_I64)
        nl_buf_format(out, ", rank %lld", (long long)rank);
    if (ordinal != NL_NULL_I64)
        nl_buf_format(out, ", GPU %lld", (long long)ordinal);
    nl_tell_time(out, ", one after the other over ",
                 nl_sum_near((double)these->all.end - (double)these->all.start));
    nl_buf_text(
        out,
        ": repetitions, not devices. The verdict and the findings are about one of them, findings "
        "that do not hold there about another: compare them with diff, or look at one file.");
    nl_tell_note(judged);
}

static void tell_apart(struct nl_judged *judged, int64_t apart)
{
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_time(out, "The files begin up to ", apart);
    nl_buf_text(out, " apart: they are probably not from the same run, and the time between them "
                     "counts as idle.");
    nl_tell_note(judged);
}

/* First moments of the sources that hold threads or devices with slices. */
static int64_t first_moments_apart(const struct nl_trace *trace)
{
    int64_t *starts = nl_alloc(((size_t)trace->source.rows + 1) * sizeof *starts);
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint32_t i = 0; i <= trace->source.rows; i++)
        starts[i] = INT64_MAX;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        uint32_t process = trace->lane.process[lane];
        uint32_t source = process == NL_NULL_ROW ? NL_NULL_ROW : trace->process.source[process];
        int64_t start =
            trace->lane.count[lane] ? trace->slice.ts[trace->lane.first[lane]] : INT64_MAX;
        if (source != NL_NULL_ROW && start < starts[source])
            starts[source] = start;
    }
    for (uint32_t i = 0; i < trace->source.rows; i++) {
        if (starts[i] == INT64_MAX)
            continue;
        least = starts[i] < least ? starts[i] : least;
        most = starts[i] > most ? starts[i] : most;
    }
    nl_free(starts);
    return least > most ? 0 : nl_sum_near((double)most - (double)least);
}

/* The note that was added last goes to the front. */
static void lead(struct nl_verdict_words *verdict, size_t before)
{
    if (verdict->note_count == before)
        return;
    const char *note = verdict->notes[verdict->note_count - 1];
    memmove(verdict->notes + 1, verdict->notes, (verdict->note_count - 1) * sizeof note);
    verdict->notes[0] = note;
}

void nl_judge_files(struct nl_judged *judged)
{
    struct nl_verdict_words *verdict = judged->verdict;
    const struct nl_trace *trace = judged->trace;
    if (trace->source.rows < 2)
        return;
    int64_t copies = coverage_of(trace, "files that look like copies of another");
    struct nl_device_span *spans = nl_device_spans(trace);
    struct captures these = find_captures(trace, spans);
    int64_t apart = first_moments_apart(trace);
    nl_free(spans);
    if (copies <= 0 && these.count <= 1 && apart <= HOUR_NS)
        return;
    if (verdict->note_count == NL_VERDICT_NOTES)
        verdict->note_count--;
    size_t before = verdict->note_count;
    if (copies > 0)
        tell_copies(judged, copies);
    else if (these.count > 1)
        tell_captures(judged, &these);
    else
        tell_apart(judged, apart);
    lead(verdict, before);
}

void nl_judge_cut(struct nl_judged *judged)
{
    struct nl_verdict_words *verdict = judged->verdict;
    if (!nl_trace_is_cut(judged->trace) || verdict->says_cut)
        return;
    if (verdict->note_count == NL_VERDICT_NOTES)
        verdict->note_count--;
    nl_buf_text(nl_tell_begin(judged),
                "Cut: the end of the recording is missing, see `neurolens info`.");
    nl_tell_note(judged);
}

void nl_judge_recording(struct nl_judged *judged)
{
    struct nl_reccost cost;
    if (!nl_reccost(judged->trace, &cost) || !(cost.share >= RECORDING_SHARE && cost.share <= 1))
        return;
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_share(out, "Recording took at least ", cost.share);
    nl_buf_text(out, " of the program's processor time (--section recording_cost).");
    nl_tell_note(judged);
}
