/*
 * threads — what the CPU threads did, for profiles with and without a device.
 */
#include "tables/resultcells.h"
#include "tables/scope.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(process, NULL, INTEGER)                                                                      \
    C(thread, NULL, INTEGER)                                                                       \
    C(name, NULL, TEXT)                                                                            \
    C(events, NULL, COUNT)                                                                         \
    C(ops, NULL, COUNT)                                                                            \
    C(calls, NULL, COUNT)                                                                          \
    C(start_ns, "first", NS)                                                                       \
    C(busy_ns, "busy", NS)                                                                         \
    C(share, NULL, SHARE)                                                                          \
    C(on_cpu_ns, "on CPU", NS)                                                                     \
    C(samples, NULL, COUNT)
NL_COLUMNS(COLUMNS);

struct tally {
    uint64_t events, ops, calls, samples;
    struct nl_intervals busy, on_cpu;
    bool watched; /* its switches onto processors were recorded */
};

static bool is_work(const struct nl_trace *trace, uint32_t lane)
{
    unsigned kind = trace->lane.kind[lane];
    return trace->lane.thread[lane] != NL_NULL_ROW &&
           (kind == NL_LANE_THREAD || kind == NL_LANE_PYTHON);
}

/* Outermost slices are enough for the union; all are counted. */
static void collect_lane(struct tally *tally, const struct nl_scope *scope, uint32_t lane)
{
    const struct nl_trace *trace = scope->trace;
    uint32_t first = trace->lane.first[lane];
    for (uint32_t slice = first; slice < first + trace->lane.count[lane]; slice++) {
        int64_t start, end;
        if (nl_scope_length(scope, slice) >= 0) {
            tally->events++;
            tally->ops += trace->slice.kind[slice] == NL_KIND_OP;
            tally->calls += trace->slice.kind[slice] == NL_KIND_API;
        }
        if (trace->slice.depth[slice] == 0 && nl_scope_slice(scope, slice, &start, &end))
            nl_intervals_add(&tally->busy, start, end);
    }
}

/* Intervals in which the thread ran on a processor. */
static void collect_runs(struct tally *tally, const struct nl_scope *scope, uint32_t lane)
{
    const struct nl_trace *trace = scope->trace;
    uint32_t first = trace->lane.first[lane];
    tally->watched = true;
    for (uint32_t slice = first; slice < first + trace->lane.count[lane]; slice++) {
        int64_t start, end;
        if (trace->slice.kind[slice] == NL_KIND_SCHED && nl_scope_slice(scope, slice, &start, &end))
            nl_intervals_add(&tally->on_cpu, start, end);
    }
}

static void collect_samples(struct tally *tallies, const struct nl_scope *scope)
{
    const struct nl_trace *trace = scope->trace;
    const struct nl_sample_table *sample = &trace->sample;
    for (uint32_t row = 0; row < sample->rows; row++) {
        uint32_t lane = sample->lane[row];
        if (lane == NL_NULL_ROW || trace->lane.thread[lane] == NL_NULL_ROW ||
            sample->ts[row] == NL_NULL_I64 || !nl_scope_moment(scope, lane, sample->ts[row]))
            continue;
        tallies[trace->lane.thread[lane]].samples++;
    }
}

static void tally_threads(struct tally *tallies, const struct nl_scope *scope)
{
    const struct nl_trace *trace = scope->trace;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        uint32_t thread = trace->lane.thread[lane];
        if (thread == NL_NULL_ROW || !nl_scope_lane(scope, lane))
            continue;
        if (is_work(trace, lane))
            collect_lane(&tallies[thread], scope, lane);
        else if (trace->lane.kind[lane] == NL_LANE_SCHED)
            collect_runs(&tallies[thread], scope, lane);
    }
    collect_samples(tallies, scope);
}

/* A thread is listed when anything of it was recorded: one that only computes has no events. */
static bool was_seen(const struct tally *tally)
{
    return tally->events || tally->busy.count || tally->samples || tally->on_cpu.count;
}

static void threads_add_row(struct nl_result *result, const struct nl_scope *scope, uint32_t thread,
                            struct tally *tally)
{
    const struct nl_trace *trace = scope->trace;
    uint32_t process = trace->thread.process[thread];
    int64_t from = scope->start > trace->first_ts ? scope->start : trace->first_ts;
    int64_t to = scope->end < trace->last_ts ? scope->end : trace->last_ts;
    nl_intervals_normalise(&tally->busy);
    int64_t busy = nl_intervals_length(&tally->busy);
    struct nl_cell *cells = nl_result_row(result);
    if (process != NL_NULL_ROW) {
        cells[AT_rank] = nl_cell_i64(trace->process.rank[process]);
        cells[AT_process] = nl_cell_i64(trace->process.pid[process]);
    }
    cells[AT_thread] = nl_cell_i64(trace->thread.tid[thread]);
    cells[AT_name] = nl_cell_name(result, trace, trace->thread.name[thread]);
    cells[AT_events] = nl_cell_count(tally->events);
    cells[AT_ops] = nl_cell_count(tally->ops);
    cells[AT_calls] = nl_cell_count(tally->calls);
    if (tally->watched) {
        nl_intervals_normalise(&tally->on_cpu);
        cells[AT_on_cpu_ns] = nl_cell_i64(nl_intervals_length(&tally->on_cpu));
    }
    cells[AT_samples] = nl_cell_count(tally->samples);
    if (tally->busy.count)
        cells[AT_start_ns] = nl_cell_i64(tally->busy.items[0].start - trace->first_ts);
    cells[AT_busy_ns] = nl_cell_i64(busy);
    cells[AT_share] = nl_cell_share(busy, to > from ? to - from : 0);
}

static struct nl_result *threads_run(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, struct nl_job *job,
                                     struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    nl_scope_init(&scope, trace, &options->window);
    struct tally *tallies = nl_zalloc((trace->thread.rows + (size_t)1) * sizeof *tallies);
    tally_threads(tallies, &scope);
    struct nl_result *result = NL_ANSWER_NEW("threads", NULL, columns);
    for (uint32_t thread = 0; thread < trace->thread.rows; thread++) {
        if (was_seen(&tallies[thread]))
            threads_add_row(result, &scope, thread, &tallies[thread]);
        nl_intervals_release(&tallies[thread].busy);
        nl_intervals_release(&tallies[thread].on_cpu);
    }
    nl_free(tallies);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_threads = {
    .name = "threads",
    .key = "threads",
    .title = "CPU threads",
    .needs = {{NL_T_thread, NULL}},
    .need_count = 1,
    .run = threads_run,
    .doc = "Per thread: recorded slices, operators and API calls among them, and busy = time with "
           "at least one open; share = busy / duration of the profile. Time without a slice is not "
           "necessarily idle: on_cpu_ns is the on-CPU time, if thread switches were recorded, and "
           "samples counts its CPU samples. A thread with any of these is listed.",
};
