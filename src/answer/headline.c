/*
 * headline — see headline.h. Each sentence is a function that writes into a buffer and leaves it
 * empty when it has nothing to say; the first few that say something are kept.
 */
#include "answer/headline.h"

#include <stdio.h>

#include "answer/contents.h"
#include "answer/judge.h"
#include "base/chars.h"
#include "tables/resultcells.h"
#include "tables/lookup.h"
#include "tables/shortname.h"
#include "base/sum.h"
#include "base/units.h"

#define SENTENCE_BYTES 2000
#define NAME_BYTES     64
#define MIN_SHARE      0.0005 /* less would read 0.0 % */

struct story {
    const struct nl_report *report;
    const struct nl_trace *trace;
    struct nl_buf *out;
};

static void put_name(struct nl_buf *out, struct nl_str name)
{
    nl_elide_name(out, name.len ? name : nl_str("(unnamed)"), NAME_BYTES);
}

static void put_percent(struct nl_buf *out, const char *before, double share)
{
    char text[NL_UNIT_TEXT];
    nl_buf_format(out, "%s%s", before, nl_format_percent(text, share));
}

/* "Rank 3 GPU 0" for a row that has the columns rank and device. */
static void put_place(const struct story *story, const struct nl_result *result, size_t row)
{
    struct nl_buf *out = story->out;
    const struct nl_device_table *devices = &story->trace->device;
    uint32_t found = 0;
    int64_t rank = nl_lookup_i64(result, row, "rank");
    int64_t device = nl_lookup_i64(result, row, "device");
    while (found < devices->rows &&
           (devices->ordinal[found] != device || devices->rank[found] != rank))
        found++;
    if (rank != NL_NULL_I64)
        nl_buf_format(out, "rank %lld ", (long long)rank);
    if (device != NL_NULL_I64)
        nl_buf_format(out, "%s %lld", nl_device_word(story->trace, found), (long long)device);
    else
        nl_buf_text(out, "device");
}

static void capitalise(struct nl_buf *out)
{
    if (out->len && nl_is_lower(out->ptr[0]))
        out->ptr[0] = (char)(out->ptr[0] - 'a' + 'A');
}

static double share_of(const struct nl_result *breakdown, const char *column)
{
    int64_t wall = nl_lookup_sum(breakdown, "wall_ns");
    return wall > 0 ? (double)nl_lookup_sum(breakdown, column) / (double)wall : 0;
}

static void put_part(struct nl_buf *out, const struct nl_result *breakdown, const char *before,
                     const char *column)
{
    double share = share_of(breakdown, column);
    if (share >= MIN_SHARE)
        put_percent(out, before, share);
}

/* "; exposed communication 5.3 %; exposed copies 0.2 %; idle 77.2 %." */
static void put_rest(struct nl_buf *out, const struct nl_result *breakdown)
{
    put_part(out, breakdown, "; exposed communication ", "exposed_comm_ns");
    char copies[40];
    snprintf(copies, sizeof copies, "; %s ", nl_exposed_copy_word(breakdown));
    put_part(out, breakdown, copies, "exposed_copy_ns");
    put_percent(out, "; idle ", share_of(breakdown, "idle_ns"));
    nl_buf_char(out, '.');
}

/* Files with lengths of kernels alone. */
#define NOT_WHEN "; start times were not recorded."

static bool tells_when(const struct nl_result *breakdown)
{
    for (size_t row = 0; row < breakdown->rows; row++)
        if (nl_lookup_i64(breakdown, row, "wall_ns") == NL_NULL_I64)
            return false;
    return true;
}

static void tell_one_device(const struct story *story, const struct nl_result *breakdown)
{
    struct nl_buf *out = story->out;
    struct nl_str name = nl_lookup_text(breakdown, 0, "device_name");
    put_place(story, breakdown, 0);
    capitalise(out);
    if (name.len) {
        nl_buf_text(out, " (");
        put_name(out, name);
        nl_buf_char(out, ')');
    }
    if (!tells_when(breakdown)) {
        nl_tell_time(out, " computes for ", nl_lookup_i64(breakdown, 0, "compute_ns"));
        nl_buf_text(out, NOT_WHEN);
        return;
    }
    put_percent(out, " computes ", share_of(breakdown, "compute_ns"));
    nl_tell_time(out, " of ", nl_lookup_i64(breakdown, 0, "wall_ns"));
    put_rest(out, breakdown);
}

static void tell_devices(const struct story *story)
{
    const struct nl_result *breakdown = nl_report_part(story->report, "breakdown");
    if (!breakdown)
        return;
    if (breakdown->rows == 1) {
        tell_one_device(story, breakdown);
        return;
    }
    size_t least = 0, most = 0;
    for (size_t row = 1; row < breakdown->rows; row++) {
        double share = nl_lookup_f64(breakdown, row, "compute_share");
        if (share < nl_lookup_f64(breakdown, least, "compute_share"))
            least = row;
        if (share > nl_lookup_f64(breakdown, most, "compute_share"))
            most = row;
    }
    nl_tell_number(story->out, "", (int64_t)breakdown->rows, "device", "devices");
    if (!tells_when(breakdown)) {
        nl_tell_time(story->out, " compute for ", nl_lookup_sum(breakdown, "compute_ns"));
        nl_buf_text(story->out, " in all" NOT_WHEN);
        return;
    }
    put_percent(story->out, " compute ", share_of(breakdown, "compute_ns"));
    nl_tell_time(story->out, " of their time (", nl_lookup_sum(breakdown, "wall_ns"));
    nl_buf_text(story->out, " in all");
    if (nl_lookup_f64(breakdown, most, "compute_share") -
            nl_lookup_f64(breakdown, least, "compute_share") >=
        0.005) {
        put_percent(story->out, "; from ", nl_lookup_f64(breakdown, least, "compute_share"));
        nl_buf_text(story->out, " on ");
        put_place(story, breakdown, least);
        put_percent(story->out, " to ", nl_lookup_f64(breakdown, most, "compute_share"));
        nl_buf_text(story->out, " on ");
        put_place(story, breakdown, most);
    }
    nl_buf_char(story->out, ')');
    put_rest(story->out, breakdown);
}

/* "… (from the launches that repeat, confidence 0.72; 2 more excluded)." */
static void tell_how_steps_are_known(const struct story *story, const struct nl_result *steps,
                                     size_t row)
{
    int64_t excluded = nl_lookup_i64(steps, row, "excluded_steps");
    bool marked = nl_str_is(nl_lookup_text(steps, row, "method"), "marked");
    bool launches = nl_str_is(nl_lookup_text(steps, row, "method"), "launches");
    if (!marked)
        nl_buf_format(story->out, " (from %s, confidence %.2f",
                      launches ? "launches that repeat" : "the text of ranges",
                      nl_lookup_f64(steps, row, "confidence"));
    if (excluded > 0)
        nl_buf_format(story->out, "%s%lld more excluded as warm-up or compile",
                      marked ? " (" : "; ", (long long)excluded);
    nl_buf_text(story->out, marked && excluded <= 0 ? "." : ").");
}

static void tell_steps(const struct story *story)
{
    const struct nl_result *steps = nl_report_part(story->report, "step_summary");
    if (!steps)
        return;
    size_t slowest = 0;
    for (size_t row = 1; row < steps->rows; row++)
        if (nl_lookup_f64(steps, row, "p50_ns") > nl_lookup_f64(steps, slowest, "p50_ns"))
            slowest = row;
    int64_t count = nl_lookup_i64(steps, slowest, "count");
    if (count <= 0)
        return;
    if (steps->rows > 1)
        nl_buf_format(story->out, "Rank %lld has the longest steps of %zu ranks: ",
                      (long long)nl_lookup_i64(steps, slowest, "rank"), steps->rows);
    nl_tell_number(story->out, "", count, "step", "steps");
    if (count == 1) {
        nl_tell_time(story->out, " of ", nl_lookup_i64(steps, slowest, "total_ns"));
    } else {
        nl_tell_time(story->out, ", median ", nl_lookup_i64(steps, slowest, "p50_ns"));
        nl_tell_time(story->out, ", p95 ", nl_lookup_i64(steps, slowest, "p95_ns"));
    }
    tell_how_steps_are_known(story, steps, slowest);
}

/* What there is most: slices, or what a profile without a timeline has. */
static void tell_contents(const struct story *story)
{
    const struct nl_trace *trace = story->trace;
    struct nl_contents most = nl_contents_of(trace);
    if (most.count)
        nl_tell_number(story->out, "", (int64_t)most.count, most.one, most.many);
    else
        nl_buf_text(story->out, "No events");
    if (most.span_ns)
        nl_tell_time(story->out, " over ", most.span_ns);
    else if (most.count)
        nl_buf_text(story->out, " without a timeline");
    const struct {
        uint32_t rows;
        const char *one, *many;
    } others[] = {{trace->source.rows, "file", "files"},
                  {trace->process.rows, "process", "processes"},
                  {trace->thread.rows, "thread", "threads"},
                  {trace->device.rows, "device", "devices"},
                  {trace->kernel.rows, "kernel", "kernels"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].rows || most.slices) /* that a timeline has no kernels is worth a word */
            nl_tell_number(story->out, ", ", others[i].rows, others[i].one, others[i].many);
    nl_buf_char(story->out, '.');
}

static void tell_coverage(const struct story *story)
{
    const struct nl_trace *trace = story->trace;
    if (trace->coverage.rows == 0)
        nl_buf_text(story->out, "Everything in the input was read as it is.");
    else
        nl_tell_number(story->out, "Coverage has ", trace->coverage.rows, "remark, listed below.",
                       "remarks, listed below.");
}

/* The first that is about the program, not about the recording. */
static const struct nl_finding *top_finding(const struct story *story)
{
    const struct nl_findings *findings = story->report->findings;
    for (size_t i = 0; findings && i < findings->count; i++)
        if (!findings->items[i].validity)
            return &findings->items[i];
    return NULL;
}

/* "Host-to-device copies are not hidden: … (critical, confidence 0.97)." */
static void tell_finding(const struct story *story)
{
    const struct nl_finding *top = top_finding(story);
    if (!top)
        return;
    nl_buf_text(story->out, top->title);
    nl_buf_format(story->out, " (%s", nl_severity_name(top->severity));
    if (top->devices > 1)
        nl_buf_format(story->out, ", on %zu of %zu devices", top->devices, top->of_devices);
    nl_buf_format(story->out, ", confidence %.2f).", top->confidence);
}

typedef void tell_fn(const struct story *story);

static tell_fn *const analyze_story[] = {tell_finding, tell_steps, tell_devices, NULL};
static tell_fn *const info_story[] = {tell_contents, tell_coverage, NULL};

/* The verdict and its notes come first. */
static void add_verdict(struct nl_report *report)
{
    const struct nl_verdict_words *verdict = report->verdict;
    if (!verdict)
        return;
    report->headlines[report->headline_count++] = verdict->sentence;
    for (size_t i = 0; i < verdict->note_count; i++)
        report->headlines[report->headline_count++] = verdict->notes[i];
}

void nl_headlines(struct nl_report *report, const struct nl_trace *trace)
{
    add_verdict(report);
    tell_fn *const *story = report->findings ? analyze_story : info_story;
    for (size_t i = 0; story[i] && report->headline_count < NL_MAX_HEADLINES; i++) {
        struct nl_buf out;
        nl_buf_init(&out, SENTENCE_BYTES);
        story[i](&(struct story){.report = report, .trace = trace, .out = &out});
        if (out.len)
            report->headlines[report->headline_count++] =
                nl_arena_text(&report->arena, out.ptr, out.len);
        nl_buf_release(&out);
    }
}
