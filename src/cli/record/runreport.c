/* The report of a run, from the recorder's sums and from what the joined recording says. */
#define _GNU_SOURCE
#include "cli/record/runreport.h"

#include "cli/record/runoptions.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/signalname.h"
#include "base/sum.h"
#include "base/sum.h"
#include "base/units.h"
#include "capture/recorder/alerts.h"
#include "cli/message.h"
#include "derive/reccost.h"
#include "nlrec/recgpu.h"

#define ERROR_KEY "clock error (ns)"
#define MISSING   "not recorded: "

#define MISSED_TOLD 0.1 /* tolerated share of missed samples before we warn */
#define MIN_MISSED  20  /* and their number: a short run says nothing */

static uint64_t positive_number(struct nl_str text)
{
    int64_t value;
    return nl_parse_i64(text, &value) && value > 0 ? (uint64_t)value : 0;
}

uint64_t nl_run_sum_of(const struct nl_trace *trace, struct nl_str key)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < trace->meta.rows; i++)
        if (nl_str_eq(nl_trace_name(trace, trace->meta.key[i]), key))
            sum += positive_number(nl_trace_name(trace, trace->meta.value[i]));
    return sum;
}

uint64_t nl_run_clock_error_ns(const struct nl_trace *trace)
{
    struct nl_str key = nl_str(ERROR_KEY);
    uint64_t most = 0;
    for (uint32_t i = 0; i < trace->meta.rows; i++) {
        uint64_t value = positive_number(nl_trace_name(trace, trace->meta.value[i]));
        if (nl_str_eq(nl_trace_name(trace, trace->meta.key[i]), key) && value > most)
            most = value;
    }
    return most + 1;
}

bool nl_run_is_first_key(const struct nl_trace *trace, uint32_t row)
{
    for (uint32_t i = 0; i < row; i++)
        if (trace->meta.key[i] == trace->meta.key[row])
            return false;
    return true;
}

static void tell_events(const struct nl_call *call, const struct nl_trace *trace)
{
    char text[400] = "", count[NL_UNIT_TEXT];
    size_t at = 0;
    for (uint32_t i = 0; i < trace->meta.rows; i++) {
        struct nl_str key = nl_trace_name(trace, trace->meta.key[i]);
        if (!nl_str_starts(key, NL_RUN_EVENTS_KEY) || !nl_run_is_first_key(trace, i) ||
            at >= sizeof text - 80)
            continue;
        struct nl_str name = {key.ptr + strlen(NL_RUN_EVENTS_KEY),
                              key.len - strlen(NL_RUN_EVENTS_KEY)};
        int put =
            snprintf(text + at, sizeof text - at, "%s%s %.*s", at ? ", " : "",
                     nl_format_count(count, nl_run_sum_of(trace, key)), (int)name.len, name.ptr);
        at += put > 0 ? (size_t)put : 0;
    }
    nl_message_note(call, "  events (begin and end count separately): %s%s%s values", text,
                    at ? ", " : "", nl_format_count(count, trace->counter.rows));
}

uint64_t nl_run_processor_times(const struct nl_trace *trace)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < trace->slice.rows; i++)
        count += trace->slice.kind[i] == NL_KIND_SCHED;
    return count;
}

/* What the recorder saw from outside the program. */
static void tell_sampled(const struct nl_call *call, const struct nl_trace *trace)
{
    char samples[NL_UNIT_TEXT], runs[NL_UNIT_TEXT];
    uint64_t count = nl_run_processor_times(trace);
    if (trace->sample.rows || count)
        nl_message_note(call, "  samples: %s; times on a processor: %s",
                        nl_format_count(samples, trace->sample.rows), nl_format_count(runs, count));
}

static void tell_drops(const struct nl_call *call, const struct nl_recorder_report *report)
{
    static const struct {
        const char *why, *advice;
    } drops[NL_REC_DROPS] = {
        [NL_REC_DROP_ROOM] = {"events: no room in memory or on the disk",
                              "; raise --buffer or choose --policy wrap"},
        [NL_REC_DROP_SIGNAL] = {"events in signal handlers that interrupted another", ""},
        [NL_REC_DROP_DEEP] = {"scopes nested too deep", ""},
        [NL_REC_DROP_NAME] = {"names (their events are kept)", ""},
        [NL_REC_DROP_WRAP] = {"events overwritten by newer ones, as --policy wrap says", ""},
    };
    bool none = true;
    char count[NL_UNIT_TEXT];
    for (unsigned i = 0; i < NL_REC_DROPS; i++) {
        if (!report->sums.drops[i])
            continue;
        none = false;
        fprintf(stderr, "neurolens:   dropped: %s %s%s\n",
                nl_format_count(count, report->sums.drops[i]), drops[i].why, drops[i].advice);
    }
    if (none)
        nl_message_note(call, "  dropped: none");
    if (report->refused)
        fprintf(stderr, "neurolens:   %" PRIu32 " process%s could not make a file to record to\n",
                report->refused, report->refused == 1 ? "" : "es");
    if (report->sums.spill_errors)
        fprintf(stderr, "neurolens:   the disk was full: %s blocks stayed in memory\n",
                nl_format_count(count, report->sums.spill_errors));
}

uint64_t nl_run_alert_marks(const struct nl_trace *trace, const char *text)
{
    uint64_t marks = 0;
    for (uint32_t row = 0; row < trace->slice.rows; row++)
        marks += trace->slice.flags[row] & NL_SLICE_INSTANT &&
                 nl_str_is(nl_trace_name(trace, trace->slice.name[row]), text);
    return marks;
}

/* How often each threshold was crossed; the marks in the recording say when. */
static void tell_alerts(const struct nl_call *call, const struct nl_trace *trace)
{
    char count[NL_UNIT_TEXT];
    for (unsigned i = 0; i < ALERT_ROWS; i++) {
        uint64_t marks = nl_run_alert_marks(trace, alert_rows[i].text);
        if (marks)
            nl_message_note(call, "  %s: %s time%s", alert_rows[i].text,
                            nl_format_count(count, marks), marks == 1 ? "" : "s");
    }
}

static void tell_sources(const struct nl_call *call, const struct nl_recorder_report *report)
{
    char count[NL_UNIT_TEXT];
    for (size_t i = 0; i < report->source_count; i++) {
        const struct nl_recorder_source *source = &report->sources[i];
        if (!source->available && source->why[0])
            nl_message_note(call, "  not recorded: %s: %s", source->name, source->why);
        if (source->lost)
            fprintf(stderr,
                    "neurolens:   %s: %s readings are missing; the recording's coverage "
                    "says why\n",
                    source->name, nl_format_count(count, source->lost));
    }
}

/* "not recorded: SOURCE": tell_sources says it. */
static bool is_source(const struct nl_recorder_report *report, struct nl_str item)
{
    struct nl_str name = {item.ptr + strlen(MISSING), item.len - strlen(MISSING)};
    for (size_t i = 0; i < report->source_count; i++)
        if (!report->sources[i].available && nl_str_is(name, report->sources[i].name))
            return true;
    return false;
}

/* What the hooks in the program could not record. That they were switched off is no fault: with -q
 * nothing is reported of it here. */
static void tell_problems(const struct nl_call *call, const struct nl_recorder_report *report,
                          const struct nl_trace *trace)
{
    for (uint32_t i = 0; i < trace->coverage.rows; i++) {
        struct nl_str item = nl_trace_name(trace, trace->coverage.item[i]);
        struct nl_str detail = nl_trace_name(trace, trace->coverage.detail[i]);
        if (!nl_str_starts(item, MISSING) || is_source(report, item))
            continue;
        if (nl_str_starts(item, MISSING "Python layers"))
            nl_message_note(call, "  %.*s: %.*s", (int)item.len, item.ptr, (int)detail.len,
                            detail.ptr);
        else
            fprintf(stderr, "neurolens:   %.*s: %.*s\n", (int)item.len, item.ptr, (int)detail.len,
                    detail.ptr);
    }
}

uint64_t nl_run_threads(const struct nl_recorder_report *report, const struct nl_trace *trace)
{
    return report->sums.threads > trace->thread.rows ? report->sums.threads : trace->thread.rows;
}

int64_t nl_run_cost_ns(const struct nl_recorder_report *report, const struct nl_trace *trace)
{
    double events = (double)nl_run_sum_of(trace, nl_str("recorded events"));
    return nl_sum_near(events * (double)report->event_ps / 1000);
}

uint64_t nl_run_samples_ns(const struct nl_recorder_report *report)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < report->source_count; i++)
        ns += nl_whole_u64((double)report->sources[i].samples *
                           (double)report->sources[i].sample_ps / 1000);
    return ns;
}

/* Of the kernel's samples, which interrupt the program; the recorder takes those of Python from
 * outside it. */
static void tell_sample_cost(const struct nl_call *call, const struct nl_recorder_report *report)
{
    char spent[NL_UNIT_TEXT], count[NL_UNIT_TEXT];
    for (size_t i = 0; i < report->source_count; i++) {
        const struct nl_recorder_source *source = &report->sources[i];
        double ns = (double)source->sample_ps / 1000;
        if (source->samples && source->sample_ps)
            nl_message_note(call,
                            "  overhead of samples: at least %s in the program: %s of %.1f us",
                            nl_format_ns(spent, nl_sum_near((double)source->samples * ns)),
                            nl_format_count(count, source->samples), ns / 1000);
    }
}

uint64_t nl_run_gpu_records(const struct nl_trace *trace)
{
    return nl_run_sum_of(trace, nl_str(NL_RUN_EVENTS_KEY "GPU work")) +
           nl_run_sum_of(trace, nl_str(NL_RUN_EVENTS_KEY "GPU API calls"));
}

/* The part of it that our thread in the program takes; the driver's own is
 * in the program's calls. */
static void tell_gpu_cost(const struct nl_call *call, const struct nl_recorder_report *report,
                          const struct nl_trace *trace)
{
    char spent[NL_UNIT_TEXT], share[NL_UNIT_TEXT];
    uint64_t ns = nl_run_sum_of(trace, nl_str(NL_REC_GPU_COST));
    uint64_t records = nl_run_gpu_records(trace);
    double part = report->wall_ns > 0 ? (double)ns / (double)report->wall_ns : 0;
    if (ns && records)
        nl_message_note(call,
                        "  overhead of GPU records: %s on a thread of its own (%s of its time): "
                        "%.0f ns a record, beside what the driver takes",
                        nl_format_ns(spent, (int64_t)ns), nl_format_percent(share, part),
                        (double)ns / (double)records);
}

static void tell_each(const struct nl_call *call, const char *what, double total, double count,
                      const char *of, double each_ns)
{
    char spent[NL_UNIT_TEXT], number[NL_UNIT_TEXT], each[NL_UNIT_TEXT];
    nl_message_note(call, "  overhead of %s: at least %s in the program: %s %s of %s", what,
                    nl_format_ns(spent, nl_whole_i64(total)),
                    nl_format_count(number, nl_whole_u64(count)), of,
                    nl_format_ns(each, nl_whole_i64(each_ns)));
}

/* Costs of hooks besides their events, and of starts. */
static void tell_hooks(const struct nl_call *call, const struct nl_reccost *cost)
{
    char spent[NL_UNIT_TEXT], count[NL_UNIT_TEXT];
    for (size_t i = 0; i < NL_REC_HOOK_COUNT; i++) {
        const struct nl_reccost_hook *hook = &cost->hooks[i];
        if (hook->count > 0 && !isnan(hook->each_ns))
            tell_each(call, "hooks", hook->count * hook->each_ns, hook->count, hook->what,
                      hook->each_ns);
        else if (hook->count > 0)
            nl_message_note(call, "  overhead of hooks: not known for %s %s",
                            nl_format_count(count, nl_whole_u64(hook->count)), hook->what);
    }
    if (cost->python_ns > 0)
        nl_message_note(call, "  overhead of installing Python's hooks: %s in the program",
                        nl_format_ns(spent, nl_whole_i64(cost->python_ns)));
    if (cost->starts > 0 && !isnan(cost->start_ns))
        tell_each(call, "starting processes", cost->starts * cost->start_ns, cost->starts,
                  cost->starts == 1 ? "start" : "starts", cost->start_ns);
}

/* What can be counted; the rest is only known from two runs. */
static void tell_program_cost(const struct nl_call *call, const struct nl_recorder_report *report,
                              const struct nl_trace *trace)
{
    char all[NL_UNIT_TEXT], share[NL_UNIT_TEXT];
    struct nl_reccost cost;
    if (report->program_cpu_ns <= 0 || !nl_reccost(trace, &cost))
        return;
    tell_hooks(call, &cost);
    nl_message_note(call, "  of the program's %s of processor time recording took at least %s",
                    nl_format_ns(all, report->program_cpu_ns),
                    nl_format_percent(share, cost.total_ns / (double)report->program_cpu_ns));
}

static void tell_cost(const struct nl_call *call, const struct nl_recorder_report *report,
                      const struct nl_trace *trace)
{
    char spent[NL_UNIT_TEXT], own[NL_UNIT_TEXT], memory[NL_UNIT_TEXT];
    if (report->event_ps)
        nl_message_note(call, "  overhead: at least %s in the program: %s events of %.1f ns",
                        nl_format_ns(spent, nl_run_cost_ns(report, trace)),
                        nl_format_count(own, nl_run_sum_of(trace, nl_str("recorded events"))),
                        (double)report->event_ps / 1000);
    tell_sample_cost(call, report);
    tell_program_cost(call, report, trace);
    tell_gpu_cost(call, report, trace);
    nl_message_note(call, "  recorder: %s of CPU time, %s of memory at most",
                    nl_format_ns(own, report->recorder_cpu_ns),
                    nl_format_bytes(memory, report->peak_bytes));
}

/* What sampling took of the recorder's time; threads that sleep or run no
 * Python are looked at, too. */
static void tell_samples(const struct nl_call *call, const struct nl_recorder_report *report)
{
    char count[NL_UNIT_TEXT], spent[NL_UNIT_TEXT], share[NL_UNIT_TEXT];
    for (size_t i = 0; i < report->source_count; i++) {
        const struct nl_recorder_source *source = &report->sources[i];
        if (!source->samples)
            continue;
        double part = report->wall_ns > 0 ? (double)source->spent_ns / (double)report->wall_ns : 0;
        nl_message_note(call, "  %s: %s; %s of the recorder (%s of a processor)", source->name,
                        nl_format_count(count, source->samples),
                        nl_format_ns(spent, source->spent_ns), nl_format_percent(share, part));
        double missed =
            source->rounds ? (double)source->missed / (double)(source->missed + source->rounds) : 0;
        if (missed > MISSED_TOLD && source->missed >= MIN_MISSED)
            nl_message_note(
                call,
                "  %s: %s of the moments passed while the machine was busy; the samples "
                "weigh as much more",
                source->name, nl_format_percent(share, missed));
        if (source->slowest_ns > source->sample_ns)
            nl_message_note(call,
                            "  %s: taken less often, at the least %.1f times a second, since a "
                            "round took over a tenth of its time",
                            source->name, 1e9 / (double)source->slowest_ns);
    }
}

static void tell_clock(const struct nl_call *call, const struct nl_recorder_report *report,
                       const struct nl_trace *trace)
{
    nl_message_note(call, "  clock: %s, error below %" PRIu64 " ns",
                    report->clock == NL_REC_CLOCK_TSC ? "time stamp counter" : "CLOCK_MONOTONIC",
                    nl_run_clock_error_ns(trace));
}

/* What processes said of their GPU work: not recorded, recorded in part, cut short. */
static void tell_gpu(const struct nl_call *call, const struct nl_trace *trace)
{
    for (uint32_t i = 0; i < trace->coverage.rows; i++) {
        struct nl_str item = nl_trace_name(trace, trace->coverage.item[i]);
        struct nl_str detail = nl_trace_name(trace, trace->coverage.detail[i]);
        if (nl_str_starts(item, "GPU "))
            nl_message_note(call, "  %.*s: %.*s", (int)item.len, item.ptr, (int)detail.len,
                            detail.ptr);
    }
}

void nl_run_report(const struct nl_call *call, const struct nl_recorder_report *report,
                   const struct nl_trace *trace, const char *path)
{
    char wall[NL_UNIT_TEXT], bytes[NL_UNIT_TEXT];
    struct stat info = {0};
    (void)stat(path, &info);
    uint64_t processes = report->sums.processes, threads = nl_run_threads(report, trace);
    nl_message_note(call, "%s: %s, %" PRIu64 " process%s, %" PRIu64 " thread%s, %s", path,
                    nl_format_ns(wall, report->wall_ns), processes, processes == 1 ? "" : "es",
                    threads, threads == 1 ? "" : "s",
                    nl_format_bytes(bytes, (uint64_t)info.st_size));
    tell_events(call, trace);
    tell_sampled(call, trace);
    tell_drops(call, report);
    tell_problems(call, report, trace);
    tell_cost(call, report, trace);
    tell_samples(call, report);
    tell_clock(call, report, trace);
    tell_gpu(call, trace);
    tell_alerts(call, trace);
    tell_sources(call, report);
    if (report->gate_changes)
        nl_message_note(call, "  window: recording was switched on or off %" PRIu32 " times",
                        report->gate_changes);
    if (report->others_alive)
        nl_message_note(call, "  other processes still ran when the program ended; they are "
                              "recorded up to there");
}

void nl_run_end(const struct nl_call *call, const struct nl_recorder_report *report,
                const char *path)
{
    struct stat info;
    bool json = call->settings.format == NL_FORMAT_JSON;
    if (json || (!report->attached && stat(path, &info) != 0))
        return;
    if (!nl_run_own(call)->pid && WIFSIGNALED(report->wait_status)) {
        const char *name = nl_signal_name(WTERMSIG(report->wait_status));
        nl_message_note(call, "the program was ended by SIG%s (%s)", name ? name : "?",
                        strsignal(WTERMSIG(report->wait_status)));
    } else if (!nl_run_own(call)->pid && WEXITSTATUS(report->wait_status)) {
        nl_message_note(call, "the program exited with status %d",
                        WEXITSTATUS(report->wait_status));
    }
    nl_message_note(call, "next: neurolens analyze %s", path);
}
