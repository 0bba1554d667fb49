/* The report of a run as JSON. */
#include "cli/record/recordjson.h"

#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/json.h"
#include "base/sum.h"
#include "capture/recorder/alerts.h"
#include "cli/record/runreport.h"
#include "derive/reccost.h"
#include "nlrec/recgpu.h"
#include "view/view.h"
#include "view/jsonview.h"

static void put_file(struct nl_json *json, const char *path, const char *why)
{
    struct stat info = {0};
    bool there = path && stat(path, &info) == 0;
    nl_json_put_text(json, "recording", path);
    nl_json_put_u64(json, "recording_bytes", (uint64_t)info.st_size, there);
    nl_json_put_text(json, "nothing_recorded", why);
}

static void put_end(struct nl_json *json, int status)
{
    nl_json_put_u64(json, "exit_status", (uint64_t)WEXITSTATUS(status), WIFEXITED(status));
    nl_json_put_u64(json, "exit_signal", (uint64_t)WTERMSIG(status), WIFSIGNALED(status));
}

static void put_events(struct nl_json *json, const struct nl_trace *trace)
{
    size_t prefix = strlen(NL_RUN_EVENTS_KEY);
    nl_json_key(json, "events");
    nl_json_open(json, '[');
    for (uint32_t i = 0; trace && i < trace->meta.rows; i++) {
        struct nl_str key = nl_trace_name(trace, trace->meta.key[i]);
        if (!nl_str_starts(key, NL_RUN_EVENTS_KEY) || !nl_run_is_first_key(trace, i))
            continue;
        nl_json_open(json, '{');
        nl_json_key(json, "source");
        nl_json_str(json, (struct nl_str){key.ptr + prefix, key.len - prefix});
        nl_json_put_u64(json, "count", nl_run_sum_of(trace, key), true);
        nl_json_close(json, '}');
    }
    nl_json_close(json, ']');
    nl_json_put_u64(json, "values", trace ? trace->counter.rows : 0, true);
}

/* What the recorder saw from outside the program. */
static void put_sampled(struct nl_json *json, const struct nl_trace *trace)
{
    nl_json_put_u64(json, "samples", trace ? trace->sample.rows : 0, trace);
    nl_json_put_u64(json, "processor_times", trace ? nl_run_processor_times(trace) : 0, trace);
}

static void put_drops(struct nl_json *json, const struct nl_recorder_report *report)
{
    static const char *const words[NL_REC_DROPS] = {[NL_REC_DROP_ROOM] = "room",
                                                    [NL_REC_DROP_SIGNAL] = "signal",
                                                    [NL_REC_DROP_DEEP] = "deep",
                                                    [NL_REC_DROP_NAME] = "name",
                                                    [NL_REC_DROP_WRAP] = "wrap"};
    nl_json_key(json, "dropped");
    nl_json_open(json, '{');
    for (unsigned i = 0; i < NL_REC_DROPS; i++)
        nl_json_put_u64(json, words[i], report->sums.drops[i], true);
    nl_json_close(json, '}');
    nl_json_put_u64(json, "processes_without_file", report->refused, true);
    nl_json_put_u64(json, "blocks_disk_full", report->sums.spill_errors, true);
}

/* Beside their events; null where it was not measured. */
static void put_hooks(struct nl_json *json, const struct nl_reccost *cost, bool known)
{
    nl_json_key(json, "hooks");
    nl_json_open(json, '[');
    for (size_t i = 0; known && i < NL_REC_HOOK_COUNT; i++) {
        const struct nl_reccost_hook *hook = &cost->hooks[i];
        if (!(hook->count > 0))
            continue;
        nl_json_open(json, '{');
        nl_json_put_text(json, "hook", hook->word);
        nl_json_put_f64(json, "count", hook->count, true);
        nl_json_put_f64(json, "hook_ns", hook->each_ns, !isnan(hook->each_ns));
        nl_json_close(json, '}');
    }
    nl_json_close(json, ']');
}

static void put_ns(struct nl_json *json, const char *key, double ns, bool known)
{
    bool fits = known && ns >= 0 && ns < 9e18;
    nl_json_put_u64(json, key, fits ? nl_whole_u64(ns) : 0, fits);
}

/* What recording cost the program besides writing events, and the total. */
static void put_more_cost(struct nl_json *json, const struct nl_trace *trace)
{
    struct nl_reccost cost = {0};
    bool known = trace && nl_reccost(trace, &cost), starts = known && !isnan(cost.start_ns);
    put_hooks(json, &cost, known);
    put_ns(json, "hooks_ns", cost.hooks_ns, known);
    put_ns(json, "python_hooks_start_ns", cost.python_ns, known);
    nl_json_put_f64(json, "process_starts", cost.starts, starts);
    put_ns(json, "process_start_ns", cost.start_ns, starts);
    put_ns(json, "recording_ns", cost.total_ns, known);
    nl_json_put_f64(json, "recording_share", cost.share, known && !isnan(cost.share));
}

static void put_cost(struct nl_json *json, const struct nl_recorder_report *report,
                     const struct nl_trace *trace)
{
    bool known = report->event_ps && trace;
    nl_json_key(json, "event_ns");
    if (report->event_ps)
        nl_json_f64(json, (double)report->event_ps / 1000);
    else
        nl_json_null(json);
    nl_json_put_u64(json, "overhead_ns", known ? (uint64_t)nl_run_cost_ns(report, trace) : 0,
                    known);
    uint64_t samples_ns = nl_run_samples_ns(report);
    nl_json_put_u64(json, "samples_ns", samples_ns, samples_ns > 0);
    put_more_cost(json, trace);
    uint64_t gpu_ns = trace ? nl_run_sum_of(trace, nl_str(NL_REC_GPU_COST)) : 0;
    nl_json_put_u64(json, "gpu_records", trace ? nl_run_gpu_records(trace) : 0, true);
    nl_json_put_u64(json, "gpu_records_ns", gpu_ns, gpu_ns > 0);
    nl_json_put_u64(json, "program_cpu_ns", (uint64_t)report->program_cpu_ns,
                    report->program_cpu_ns >= 0);
    nl_json_put_u64(json, "recorder_cpu_ns", (uint64_t)report->recorder_cpu_ns, true);
    nl_json_put_u64(json, "peak_bytes", report->peak_bytes, true);
    nl_json_put_text(json, "clock", report->clock == NL_REC_CLOCK_TSC ? "tsc" : "monotonic");
    nl_json_put_u64(json, "clock_error_ns", trace ? nl_run_clock_error_ns(trace) : 0, trace);
}

static void put_coverage(struct nl_json *json, const struct nl_trace *trace)
{
    nl_json_key(json, "coverage");
    nl_json_open(json, '[');
    for (uint32_t i = 0; trace && i < trace->coverage.rows; i++) {
        struct nl_str detail = nl_trace_name(trace, trace->coverage.detail[i]);
        nl_json_open(json, '{');
        nl_json_key(json, "item");
        nl_json_str(json, nl_trace_name(trace, trace->coverage.item[i]));
        nl_json_put_u64(json, "count", (uint64_t)trace->coverage.count[i],
                        trace->coverage.count[i] != NL_NULL_I64);
        nl_json_key(json, "detail");
        if (detail.len)
            nl_json_str(json, detail);
        else
            nl_json_null(json);
        nl_json_close(json, '}');
    }
    nl_json_close(json, ']');
}

static void put_alerts(struct nl_json *json, const struct nl_trace *trace)
{
    nl_json_key(json, "alerts");
    nl_json_open(json, '[');
    for (unsigned i = 0; trace && i < ALERT_ROWS; i++) {
        uint64_t marks = nl_run_alert_marks(trace, alert_rows[i].text);
        if (!marks)
            continue;
        nl_json_open(json, '{');
        nl_json_put_text(json, "alert", alert_rows[i].word);
        nl_json_put_u64(json, "count", marks, true);
        nl_json_close(json, '}');
    }
    nl_json_close(json, ']');
}

/* Null where it does not sample. Moments are those at which Python's
 * sampler looked at all threads. */
static void put_sampling(struct nl_json *json, const struct nl_recorder_source *source)
{
    nl_json_key(json, "sampling");
    if (!source->sample_ns) {
        nl_json_null(json);
        return;
    }
    nl_json_open(json, '{');
    nl_json_put_u64(json, "samples", source->samples, true);
    nl_json_put_f64(json, "sample_cost_ns", (double)source->sample_ps / 1000,
                    source->sample_ps > 0);
    nl_json_put_u64(json, "recorder_ns", (uint64_t)source->spent_ns, true);
    nl_json_put_u64(json, "period_ns", (uint64_t)source->sample_ns, true);
    nl_json_put_u64(json, "longest_period_ns", (uint64_t)source->slowest_ns,
                    source->slowest_ns > 0);
    nl_json_put_u64(json, "moments", source->rounds, source->rounds > 0);
    nl_json_put_u64(json, "moments_missed", source->missed, source->rounds > 0);
    nl_json_close(json, '}');
}

static void put_sources(struct nl_json *json, const struct nl_recorder_report *report)
{
    nl_json_key(json, "sources");
    nl_json_open(json, '[');
    for (size_t i = 0; i < report->source_count; i++) {
        const struct nl_recorder_source *source = &report->sources[i];
        nl_json_open(json, '{');
        nl_json_put_text(json, "source", source->name);
        nl_json_key(json, "available");
        nl_json_bool(json, source->available);
        nl_json_put_text(json, "why", source->available || !source->why[0] ? NULL : source->why);
        nl_json_put_u64(json, "missing_readings", source->lost, true);
        put_sampling(json, source);
        nl_json_close(json, '}');
    }
    nl_json_close(json, ']');
}

void nl_record_json(FILE *stream, const struct nl_recorder_report *report,
                    const struct nl_trace *trace, const char *path, const char *why)
{
    struct nl_json json;
    nl_view_json_begin(&json, stream, "neurolens.recording/1");
    nl_json_open(&json, '{');
    put_file(&json, path, why);
    put_end(&json, report->wait_status);
    nl_json_put_u64(&json, "wall_ns", (uint64_t)report->wall_ns, true);
    nl_json_put_u64(&json, "processes", report->sums.processes, true);
    nl_json_put_u64(&json, "threads", trace ? nl_run_threads(report, trace) : report->sums.threads,
                    true);
    put_events(&json, trace);
    put_sampled(&json, trace);
    put_drops(&json, report);
    put_cost(&json, report, trace);
    put_coverage(&json, trace);
    put_alerts(&json, trace);
    put_sources(&json, report);
    nl_json_put_u64(&json, "window_changes", report->gate_changes, true);
    nl_json_key(&json, "others_alive");
    nl_json_bool(&json, report->others_alive);
    nl_json_close(&json, '}');
    nl_json_close(&json, '}');
    (void)fputc('\n', stream);
}
