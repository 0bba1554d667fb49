/*
 * Cells to rows. Scopes nest per track: a thread, a class, and for NVTX a domain. An END names the
 * depth and the begin time of what it ends, so that a gap (dropped or overwritten events) loses the
 * scopes around it and never joins the wrong halves.
 */
#include <stdio.h>
#include <string.h>

#include "ingest/recording/recording.h"
#include "nlrec/recgpu.h"

#define MAX_NOTES   1000u /* a recorder writes some ten */
#define MAX_THREADS ((uint32_t)1 << 24)

struct rec_track {
    uint32_t lane, thread;
    uint8_t kind;
    uint32_t domain;
    struct rec_scope
        *open; /* outermost first; their depths rise, with gaps where begins are missing */
    size_t count, cap;
    struct rec_held *held; /* ended, not yet staged: see finish_scope */
    size_t held_count, held_cap;
};

struct rec_held {
    struct rec_scope scope;
    int64_t end;
    uint8_t flags;
};

struct rec_thread {
    int64_t last_ts;
    uint32_t row;  /* of the builder */
    uint32_t lane; /* of flows and counters */
    size_t half;   /* its latest half of a flow: number × 2 + 1 for arrivals, + 1; 0 = none */
};

struct rec_events {
    struct rec_load *load;
    uint32_t process, process_lane;
    struct nl_idmap threads, tracks, ranges, devices; /* devices: lanes by number */
    struct rec_thread *thread;
    struct rec_track *track;
    struct rec_scope *range;
    struct rec_half *outs, *ins;
    size_t thread_count, thread_cap, track_count, track_cap, range_count, range_cap;
    size_t out_count, out_cap, in_count, in_cap;
    struct rec_thread *now; /* whose events are being read */
    struct rec_thread recorder, driver;
    struct rec_gpu *gpu;         /* NULL: no cell of its kinds yet */
    struct rec_samples *samples; /* likewise */
    uint32_t now_row, subject_lane;
    int64_t last_ts;
    uint64_t events[NL_REC_CLASS_COUNT], counters, flows;
    uint64_t notes;
    uint64_t no_begin, no_end, no_time, unknown, cut, no_thread, no_flow;
};

/* A cell with what follows it, in host form. */
struct event {
    struct nl_rec_cell cell;
    struct nl_rec_more more[2];
    int64_t ts;
};

/* ---- threads and tracks ---- */

static struct nl_lane_key lane_key(const struct rec_events *e, enum nl_lanekind kind, uint32_t row)
{
    return (struct nl_lane_key){.kind = kind,
                                .process = e->process,
                                .thread = row,
                                .device = NL_NULL_ROW,
                                .context = NL_NULL_I64,
                                .stream = NL_NULL_I64};
}

static uint32_t thread_lane(const struct rec_events *e, uint32_t row)
{
    struct nl_lane_key key = lane_key(e, NL_LANE_ANNOTATION, row);
    return nl_builder_lane(e->load->builder, &key);
}

static void set_thread(struct rec_events *e, const struct event *event)
{
    uint32_t number = event->cell.id;
    e->subject_lane = NL_NULL_ROW;
    if (number >= NL_REC_DRIVER) {
        e->now = number == NL_REC_DRIVER ? &e->driver : &e->recorder;
        return;
    }
    uint32_t at = nl_idmap_get(&e->threads, number);
    if (at == NL_NO_ROW) {
        if (e->thread_count >= MAX_THREADS) {
            e->now = NULL;
            return;
        }
        at = (uint32_t)e->thread_count++;
        nl_grow(&e->thread, &e->thread_cap, e->thread_count);
        int64_t tid = (int64_t)(event->more[0].value & INT64_MAX);
        uint32_t row = nl_builder_thread(e->load->builder, e->process, tid);
        e->thread[at] =
            (struct rec_thread){.last_ts = NL_NULL_I64, .row = row, .lane = thread_lane(e, row)};
        nl_idmap_put(&e->threads, number, at);
    }
    e->now = &e->thread[at];
    e->now_row = at;
}

static struct rec_track *track_of(struct rec_events *e, unsigned kind, uint32_t domain)
{
    uint64_t id = (uint64_t)e->now_row << 38 | (uint64_t)kind << 32 | domain;
    uint32_t at = nl_idmap_get(&e->tracks, id);
    if (at != NL_NO_ROW)
        return &e->track[at];
    at = (uint32_t)e->track_count++;
    nl_grow(&e->track, &e->track_cap, e->track_count);
    struct nl_lane_key key =
        lane_key(e, (enum nl_lanekind)rec_classes[kind].lane, e->thread[e->now_row].row);
    struct nl_str name = rec_name(e->load, domain);
    if (name.len)
        key.domain = nl_builder_name(e->load->builder, name);
    e->track[at] = (struct rec_track){.lane = nl_builder_lane(e->load->builder, &key),
                                      .thread = e->now_row,
                                      .kind = (uint8_t)kind,
                                      .domain = domain};
    nl_idmap_put(&e->tracks, id, at);
    return &e->track[at];
}

static uint32_t process_lane(struct rec_events *e)
{
    if (e->process_lane == NL_NULL_ROW) {
        struct nl_lane_key key = lane_key(e, NL_LANE_PROCESS, NL_NULL_ROW);
        e->process_lane = nl_builder_lane(e->load->builder, &key);
    }
    return e->process_lane;
}

/* ---- scopes ---- */

static struct rec_scope scope_of(const struct event *event)
{
    const struct nl_rec_more *more = event->more;
    return (struct rec_scope){.ts = event->ts,
                              .token = (uint32_t)event->cell.time,
                              .name = event->cell.id,
                              .value = more[0].value,
                              .colour = more[0].a,
                              .category = more[0].b,
                              .id = more[1].value,
                              .domain = more[1].a,
                              .flags = more[1].b,
                              .depth = event->cell.depth,
                              .live = true};
}

/* Ends the innermost scope. Rows that begin and end at the same time nest in the order in which
 * they are staged, and where the clock counts in steps an inner scope can look like the one around
 * it. So a scope that began together with its parent waits for it and is staged after it. */
static void finish_scope(struct rec_events *e, struct rec_track *track, int64_t end, uint8_t flags)
{
    struct rec_scope scope = track->open[--track->count];
    if (track->count && track->open[track->count - 1].ts == scope.ts) {
        nl_grow(&track->held, &track->held_cap, track->held_count + 1);
        track->held[track->held_count++] = (struct rec_held){scope, end, flags};
        return;
    }
    rec_stage_scope(e->load, track->kind, &scope, end, NL_RANGE_PUSH_POP, flags);
    while (track->held_count > scope.held_from) {
        const struct rec_held *held = &track->held[--track->held_count];
        rec_stage_scope(e->load, track->kind, &held->scope, held->end, NL_RANGE_PUSH_POP,
                        held->flags);
    }
}

/* Scopes at `depth` and deeper whose end is not in the file: they last as long as is known. */
static void close_from(struct rec_events *e, struct rec_track *track, unsigned depth, int64_t end)
{
    while (track->count && track->open[track->count - 1].depth >= depth) {
        e->no_end++;
        finish_scope(e, track, end, NL_SLICE_CLAMPED);
    }
}

static void begin_scope(struct rec_events *e, const struct event *event, unsigned kind)
{
    struct rec_scope scope = scope_of(event);
    if (scope.flags & NL_REC_IS_RANGE) {
        struct nl_lane_key key = lane_key(e, NL_LANE_ASYNC, NL_NULL_ROW);
        struct nl_str lane = rec_name(e->load, scope.domain);
        if (lane.len)
            key.domain = nl_builder_name(e->load->builder, lane);
        scope.lane = nl_builder_lane(e->load->builder, &key);
        if (lane.len)
            nl_builder_lane_name(e->load->builder, scope.lane, lane);
        scope.token = kind;
        nl_grow(&e->range, &e->range_cap, e->range_count + 1);
        nl_idmap_put(&e->ranges, scope.id, (uint32_t)e->range_count);
        e->range[e->range_count++] = scope;
        return;
    }
    struct rec_track *track = track_of(e, kind, scope.domain);
    scope.lane = track->lane;
    close_from(e, track, scope.depth, event->ts);
    scope.held_from = track->held_count;
    nl_grow(&track->open, &track->cap, track->count + 1);
    track->open[track->count++] = scope;
}

/* Arrows find their scopes by time, and a scope does not contain its end. Where the clock did not
 * move between an arrow and the end of the scope around it (some count in steps of 10 ns), the
 * arrow is put 1 ns before. */
static void keep_inside(struct rec_events *e, const struct rec_scope *scope, int64_t end)
{
    size_t place = e->now->half;
    if (!place || scope->ts >= end)
        return;
    struct rec_half *half = (place - 1) & 1 ? &e->ins[(place - 1) / 2] : &e->outs[(place - 1) / 2];
    half->ts -= half->ts == end;
}

static void end_scope(struct rec_events *e, const struct event *event, unsigned kind)
{
    unsigned depth = event->cell.depth;
    struct rec_track *track = track_of(e, kind, event->more[0].a);
    close_from(e, track, depth + 1, event->ts);
    const struct rec_scope *scope = track->count ? &track->open[track->count - 1] : NULL;
    if (!scope || scope->depth != depth || scope->token != event->cell.id) {
        e->no_begin++;
        return;
    }
    keep_inside(e, scope, event->ts);
    finish_scope(e, track, event->ts, 0);
}

static void mark(struct rec_events *e, const struct event *event, unsigned kind)
{
    struct rec_scope scope = scope_of(event);
    if (kind == NL_REC_CLASS_LIBRARY && rec_is_problem(e->load, &scope)) {
        rec_take_problem(e->load, rec_name(e->load, scope.name));
        return;
    }
    scope.lane = track_of(e, kind, scope.domain)->lane;
    rec_stage_scope(e->load, kind, &scope, scope.ts, NL_RANGE_MARK, NL_SLICE_INSTANT);
}

/* Ranges end on any thread, so a start may be read after its end: ends wait. */
static void end_range(struct rec_events *e, const struct event *event)
{
    nl_grow(&e->ins, &e->in_cap, e->in_count + 1);
    e->ins[e->in_count++] =
        (struct rec_half){.id = event->more[0].value, .ts = event->ts, .lane = NL_NULL_ROW};
}

/* ---- the rest ---- */

static void flow_half(struct rec_events *e, const struct event *event, bool in)
{
    struct rec_half half = {event->more[0].value, event->ts, e->now->lane, event->cell.id, 0};
    e->flows++;
    e->now->half = (in ? e->in_count * 2 + 1 : e->out_count * 2) + 1;
    if (in) {
        nl_grow(&e->ins, &e->in_cap, e->in_count + 1);
        e->ins[e->in_count++] = half;
        return;
    }
    nl_grow(&e->outs, &e->out_cap, e->out_count + 1);
    e->outs[e->out_count++] = half;
}

static void counter(struct rec_events *e, const struct event *event)
{
    struct nl_counter_row row = nl_counter_row();
    struct nl_str name = rec_name(e->load, event->cell.id);
    memcpy(&row.value, &event->more[0].value, sizeof row.value);
    row.ts = event->ts;
    uint32_t lane = e->subject_lane == NL_NULL_ROW ? process_lane(e) : e->subject_lane;
    row.series =
        nl_builder_series(e->load->builder, lane, name, rec_name(e->load, event->more[0].a));
    nl_stage_counter(e->load->stage, &row);
}

static void subject(struct rec_events *e, const struct event *event)
{
    int64_t tid = (int64_t)(event->more[0].value & INT64_MAX);
    e->subject_lane =
        tid ? thread_lane(e, nl_builder_thread(e->load->builder, e->process, tid)) : NL_NULL_ROW;
}

/* Devices of recordings are those of the machine, numbered as the driver does it. */
static uint32_t device_lane(struct rec_events *e, const struct event *event, int64_t ordinal)
{
    struct nl_builder *builder = e->load->builder;
    struct nl_lane_key key = lane_key(e, NL_LANE_DEVICE, NL_NULL_ROW);
    key.device = nl_builder_device(builder, e->load->source, ordinal, ordinal);
    struct nl_device_row *row = nl_builder_device_row(builder, key.device);
    row->name = nl_builder_name(builder, rec_name(e->load, event->cell.id));
    row->uuid = nl_builder_name(builder, rec_name(e->load, event->more[0].a));
    row->bus = nl_builder_name(builder, rec_name(e->load, event->more[0].b));
    row->vendor = nl_builder_name(builder, rec_name(e->load, event->more[1].a));
    return nl_builder_lane(builder, &key);
}

static void subject_device(struct rec_events *e, const struct event *event)
{
    uint64_t ordinal = event->more[0].value & INT64_MAX;
    e->subject_lane = nl_idmap_get(&e->devices, ordinal);
    if (e->subject_lane != NL_NO_ROW)
        return;
    e->subject_lane = device_lane(e, event, (int64_t)ordinal);
    nl_idmap_put(&e->devices, ordinal, e->subject_lane);
}

static void note(struct rec_events *e, const struct event *event)
{
    char item[NL_REC_MAX_NAME + 1], detail[NL_REC_MAX_NAME + 1];
    struct nl_str name = rec_name(e->load, event->cell.id);
    struct nl_str more = rec_name(e->load, event->more[0].a);
    if (e->notes++ >= MAX_NOTES) {
        e->unknown++;
        return;
    }
    (void)snprintf(item, sizeof item, "%.*s", (int)name.len, name.ptr);
    (void)snprintf(detail, sizeof detail, "%.*s", (int)more.len, more.ptr);
    rec_cover(e->load, item, event->more[0].value & INT64_MAX, more.len ? detail : NULL);
}

static void alert(struct rec_events *e, const struct event *event)
{
    struct rec_scope scope = scope_of(event);
    scope.lane = e->subject_lane == NL_NULL_ROW ? process_lane(e) : e->subject_lane;
    e->events[NL_REC_CLASS_ALERT]++;
    rec_stage_scope(e->load, NL_REC_CLASS_ALERT, &scope, scope.ts, NL_RANGE_MARK, NL_SLICE_INSTANT);
}

static void thread_name(struct rec_events *e, const struct event *event)
{
    struct nl_str name = rec_name(e->load, event->cell.id);
    if (name.len)
        nl_builder_thread_name(e->load->builder, e->now->row, name);
}

static void category(struct rec_events *e, const struct event *event)
{
    uint64_t key = (uint64_t)event->more[0].a << 32 | event->more[0].b;
    nl_idmap_put(&e->load->categories, key, event->cell.id);
}

/* The recorder's own: values of devices, of the process and its threads. */
static void take_value(struct rec_events *e, const struct event *event)
{
    switch (event->cell.kind) {
    case NL_REC_COUNTER: counter(e, event); break;
    case NL_REC_SUBJECT: subject(e, event); break;
    case NL_REC_DEVICE: subject_device(e, event); break;
    case NL_REC_NOTE: note(e, event); break;
    case NL_REC_MARK + NL_REC_CLASS_ALERT: alert(e, event); break;
    default: e->unknown++; break;
    }
}

static void take_other(struct rec_events *e, const struct event *event)
{
    switch (event->cell.kind) {
    case NL_REC_THREAD_NAME: thread_name(e, event); break;
    case NL_REC_COUNTER:
        e->counters++;
        counter(e, event);
        break;
    case NL_REC_FLOW_OUT: flow_half(e, event, false); break;
    case NL_REC_FLOW_IN: flow_half(e, event, true); break;
    case NL_REC_CATEGORY_NAME: category(e, event); break;
    case NL_REC_RANGE_END: end_range(e, event); break;
    case NL_REC_LOST: /* the head has the sum */
    case NL_REC_THREAD_END: break;
    default: e->unknown++; break;
    }
}

static void take_event(struct rec_events *e, const struct event *event)
{
    unsigned kind = event->cell.kind;
    if (event->ts == NL_NULL_I64) {
        e->no_time++;
        return;
    }
    if (e->now->last_ts == NL_NULL_I64 || e->now->last_ts < event->ts)
        e->now->last_ts = event->ts;
    if (e->last_ts == NL_NULL_I64 || e->last_ts < event->ts)
        e->last_ts = event->ts;
    if (e->now == &e->recorder) {
        take_value(e, event);
        return;
    }
    if (e->now == &e->driver) { /* it has no scopes: ends and losses of a thread of ours */
        e->unknown += kind != NL_REC_THREAD_END && kind != NL_REC_LOST;
        return;
    }
    if (kind < NL_REC_BEGIN) {
        take_other(e, event);
        return;
    }
    unsigned kinds = kind & (NL_REC_MAX_CLASSES - 1);
    if (kinds >= NL_REC_CLASS_COUNT) {
        e->unknown++;
        return;
    }
    e->events[kinds]++;
    if (kind < NL_REC_END)
        begin_scope(e, event, kinds);
    else if (kind < NL_REC_MARK)
        end_scope(e, event, kinds);
    else
        mark(e, event, kinds);
}

/* Their times are no ticks. What could not be recorded is reported from the
 * program's own threads. */
static void take_gpu(struct rec_events *e, const struct nl_rec_cell *cell,
                     const unsigned char *more, size_t bytes)
{
    bool told_anywhere = cell->kind == NL_REC_GPU_NOTE || cell->kind == NL_REC_GPU_FACT;
    if (!e->now || (e->now != &e->driver && !told_anywhere)) {
        e->no_thread++;
        return;
    }
    if (!e->gpu)
        e->gpu = rec_gpu_new(e->load);
    e->cut += !rec_gpu_take(e->gpu, cell, more, bytes);
}

static void take_sample(struct rec_events *e, const struct nl_rec_cell *cell,
                        const unsigned char *more, size_t bytes)
{
    if (e->now != &e->recorder) {
        e->no_thread++;
        return;
    }
    if (!e->samples)
        e->samples = rec_samples_new(e->load);
    e->cut += !rec_samples_take(e->samples, cell, more, bytes);
}

static void read_block(struct rec_events *e, const unsigned char *bytes, uint32_t used)
{
    struct event event;
    e->now = NULL;
    for (uint32_t at = 0; used - at >= NL_REC_CELL;) {
        memset(&event, 0, sizeof event);
        memcpy(&event.cell, bytes + at, sizeof event.cell);
        uint32_t cells = event.cell.cells;
        if (!cells || cells > (used - at) / NL_REC_CELL) {
            e->cut++;
            return;
        }
        uint32_t more = cells - 1 < 2 ? cells - 1 : 2;
        memcpy(event.more, bytes + at + NL_REC_CELL, more * sizeof event.more[0]);
        const unsigned char *behind = bytes + at + NL_REC_CELL;
        at += cells * NL_REC_CELL;
        if (event.cell.kind >= NL_REC_GPU_KERNEL && event.cell.kind < NL_REC_GPU_BEHIND) {
            take_gpu(e, &event.cell, behind, (cells - 1) * NL_REC_CELL);
            continue;
        }
        if (event.cell.kind == NL_REC_SAMPLE) {
            take_sample(e, &event.cell, behind, (cells - 1) * NL_REC_CELL);
            continue;
        }
        if (event.cell.kind == NL_REC_RAN && e->now == &e->recorder) {
            e->cut += !rec_run_take(e->load, &event.cell, &event.more[0]);
            continue;
        }
        event.ts = rec_clock_ns(&e->load->clock, event.cell.time);
        if (event.cell.kind == NL_REC_THREAD)
            set_thread(e, &event);
        else if (e->now)
            take_event(e, &event);
        else
            e->no_thread++;
    }
}

/* ---- at the end ---- */

static void join_range(struct rec_events *e, const struct rec_half *end)
{
    uint32_t at = nl_idmap_get(&e->ranges, end->id);
    if (at == NL_NO_ROW || !e->range[at].live) {
        e->no_begin++;
        return;
    }
    e->range[at].live = false;
    rec_stage_scope(e->load, e->range[at].token, &e->range[at], end->ts, NL_RANGE_START_END, 0);
}

static void join_halves(struct rec_events *e)
{
    rec_flows_sort(e->outs, e->out_count);
    for (size_t i = 0; i < e->in_count; i++) {
        if (e->ins[i].lane == NL_NULL_ROW)
            join_range(e, &e->ins[i]);
        else
            e->no_flow += !rec_flow_join(e->load, e->outs, e->out_count, &e->ins[i]);
    }
    for (size_t i = 0; i < e->range_count; i++) {
        if (!e->range[i].live)
            continue;
        e->no_end++;
        rec_stage_scope(e->load, e->range[i].token, &e->range[i], e->last_ts, NL_RANGE_START_END,
                        NL_SLICE_CLAMPED);
    }
    for (size_t i = 0; i < e->track_count; i++)
        close_from(e, &e->track[i], 0, e->thread[e->track[i].thread].last_ts);
}

static void report_events(struct rec_events *e)
{
    struct rec_load *load = e->load;
    char text[32], key[64];
    uint64_t total = e->counters + e->flows;
    if (e->gpu)
        rec_gpu_finish(e->gpu);
    if (e->samples)
        rec_samples_finish(e->samples);
    for (unsigned i = 0; i < NL_REC_CLASS_COUNT; i++) {
        total += i == NL_REC_CLASS_ALERT ? 0 : e->events[i]; /* made by the recorder */
        (void)snprintf(key, sizeof key, "recorded events: %s", rec_classes[i].name);
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)e->events[i]);
        if (e->events[i])
            nl_builder_meta(load->builder, load->source, key, nl_str(text));
    }
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)total);
    nl_builder_meta(load->builder, load->source, "recorded events", nl_str(text));
    rec_tell_hooks(load, e->events);
    rec_cover(load, "scopes whose begin was not recorded", e->no_begin,
              "begun before the window or before a fork, or lost; they are left out");
    rec_cover(load, "scopes that never ended", e->no_end, "cut at the last event of their thread");
    rec_cover(load, "skipped: events without a time", e->no_time, NULL);
    rec_cover(load, "skipped: events of an unknown kind", e->unknown, "written by a newer version");
    rec_cover(load, "skipped: blocks damaged from some event on", e->cut, NULL);
    rec_cover(load, "skipped: events of no thread", e->no_thread, NULL);
    rec_cover(load, "flows that arrive without having left", e->no_flow, NULL);
}

static void release_events(struct rec_events *e)
{
    for (size_t i = 0; i < e->track_count; i++) {
        nl_free(e->track[i].open);
        nl_free(e->track[i].held);
    }
    nl_free(e->track);
    nl_free(e->thread);
    nl_free(e->range);
    nl_free(e->outs);
    nl_free(e->ins);
    rec_gpu_free(e->gpu);
    rec_samples_free(e->samples);
    nl_idmap_release(&e->threads);
    nl_idmap_release(&e->tracks);
    nl_idmap_release(&e->ranges);
    nl_idmap_release(&e->devices);
}

bool rec_events_read(struct rec_load *load, struct nl_err *err)
{
    struct rec_events e = {.load = load,
                           .process_lane = NL_NULL_ROW,
                           .last_ts = NL_NULL_I64,
                           .recorder = {.last_ts = NL_NULL_I64},
                           .driver = {.last_ts = NL_NULL_I64}};
    bool done = true;
    e.process = nl_builder_process(load->builder, load->source, load->head.pid);
    for (size_t i = 0; i < load->place_count && done; i++) {
        const struct rec_place *place = &load->places[load->order[i].row];
        const unsigned char *bytes = rec_block_bytes(load, place);
        if (bytes)
            read_block(&e, bytes, place->used);
        if (nl_job_cancelled(load->job))
            done = nl_fail(err, NL_INTERRUPTED, "interrupted");
        if (nl_builder_over_budget(load->builder))
            break;
    }
    if (done) {
        join_halves(&e);
        report_events(&e);
    }
    release_events(&e);
    return done;
}
