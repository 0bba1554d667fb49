/*
 * One pass over the work in order of start. Of every class at most DIFF_SHARERS pieces are
 * held that share; later ones wait in a queue and move up when one ends, so the cost is
 * bounded whatever overlaps.
 */
#include "base/utf8.h"
#include "compare/diffinner.h"
#include "compare/diffparts.h"
#include "compare/diffwork.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tables/gaptext.h"
#include "timeline/stepname.h"

#define LATE_TEXT 256
#define EDGE      "before the first or after the last GPU operation"

struct piece {
    int64_t start, end;
    uint32_t part, name;
};

struct class_state {
    struct piece now[DIFF_SHARERS]; /* in order of start */
    size_t count;
    struct piece *later; /* began while there was no room */
    size_t head, tail, cap;
};

struct sharing {
    struct diff_side *side;
    struct diff_device *device;
    const struct diff_sink *sink;
    struct class_state classes[NL_WORK_CLASSES];
    int64_t now;         /* earlier time is given out */
    size_t span;         /* the first that ends after now */
    int64_t first, last; /* of the device's work: outside, nothing waits for anything */
    const struct nl_idle_device *idle;
    size_t gap;                             /* the first that ends after now */
    uint32_t gap_parts[NL_IDLE_CLASSES];    /* part + 1 */
    struct nl_idmap late_parts;             /* by name */
    uint32_t other_late[NL_ACTIVITY_COUNT]; /* by activity without one */
    size_t told; /* the step whose order of work is kept; SIZE_MAX none */
    uint32_t edge_part;
};

static const enum diff_group group_of[NL_WORK_CLASSES] = {
    [NL_IS_COMPUTE] = DIFF_COMPUTE, [NL_IS_COMM] = DIFF_COMM, [NL_IS_COPY] = DIFF_COPY};

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add_group_time(struct diff_device *device, struct diff_part *part,
                           enum diff_group group, int64_t ns)
{
    part->sum = diff_sum(part->sum, ns);
    device->groups[group] = diff_sum(device->groups[group], ns);
    device->sum = diff_sum(device->sum, ns);
}

static void give(struct sharing *s, enum diff_group group, uint32_t part, int64_t ns)
{
    struct diff_part *to = &s->sink->parts->items[part];
    struct diff_span *span = &s->side->spans[s->device->first_span + s->span];
    to->blocks[span->block] = diff_sum(to->blocks[span->block], ns);
    span->groups[group] = diff_sum(span->groups[group], ns);
    add_group_time(s->device, to, group, ns);
}

static void give_class(struct sharing *s, enum nl_work_class class, int64_t ns)
{
    const struct class_state *state = &s->classes[class];
    int64_t each = ns / (int64_t)state->count, rest = ns % (int64_t)state->count;
    for (size_t i = 0; i < state->count; i++)
        give(s, group_of[class], state->now[i].part, each + ((int64_t)i < rest));
}

/* ---- idle ---- */

/* The part of this name, of another device or new. */
static uint32_t idle_part(struct sharing *s, const char *text)
{
    struct diff_parts *parts = s->sink->parts;
    size_t length = strlen(text);
    uint64_t hash = nl_hash_keyed(text, length);
    uint32_t part = NL_LOOKUP(&parts->idle, hash, i, nl_str_is(parts->items[i].name, text));
    if (part != NL_NO_ROW)
        return part;
    part = (uint32_t)parts->count;
    diff_part_add(parts, DIFF_IDLE, nl_str(nl_arena_text(&parts->arena, text, length)));
    nl_lookup_add(&parts->idle, hash, part);
    return part;
}

/* The same, looked up once a device. */
static uint32_t known_part(struct sharing *s, uint32_t *known, const char *text)
{
    if (!*known)
        *known = idle_part(s, text) + 1;
    return *known - 1;
}

/* A gap that the CPU made goes under what the CPU was in: the culprit has a name there. */
static uint32_t part_of_late(struct sharing *s, const struct nl_idle_gap *gap)
{
    const struct nl_trace *trace = s->side->trace;
    struct nl_str name = nl_gap_activity(trace, gap->activity, gap->name);
    uint32_t id = gap->name;
    int64_t number;
    bool plain = gap->activity == NL_ACTIVITY_NOTHING || gap->activity == NL_ACTIVITY_LAUNCH ||
                 nl_step_rule_of(nl_trace_name(trace, id), &number) >= 0;
    if (plain && gap->sync != NL_NULL_ROW) { /* the call that let the device run dry says more */
        id = trace->slice.name[gap->sync];
        name = nl_trace_name(trace, id);
    }
    uint32_t part = id ? nl_idmap_get(&s->late_parts, id) : NL_NO_ROW;
    if (part != NL_NO_ROW)
        return part;
    const char *did = gap->activity == NL_ACTIVITY_NOTHING ? "no CPU activity recorded"
                      : gap->activity == NL_ACTIVITY_QUEUED
                          ? "launched, not started yet"
                          : nl_activity_name((enum nl_activity)gap->activity);
    char text[LATE_TEXT];
    if (name.len)
        snprintf(text, sizeof text, "host-bound: %.*s", NL_UP_TO(LATE_TEXT - 32, name));
    else
        snprintf(text, sizeof text, "host-bound: %s", did);
    if (!id)
        return known_part(s, &s->other_late[gap->activity], text);
    part = idle_part(s, text);
    nl_idmap_put(&s->late_parts, id, part);
    return part;
}

static uint32_t part_of_gap(struct sharing *s, enum nl_idle_class class)
{
    static const char *const texts[NL_IDLE_CLASSES] = {
        [NL_IDLE_DEPENDENCY] = "waits for another stream",
        [NL_IDLE_LAUNCH_LATENCY] = "launch latency",
        [NL_IDLE_QUEUED] = "launched but not started",
        [NL_IDLE_UNKNOWN] = "cause not recorded",
        [NL_IDLE_SHORT] = "gaps under 1 µs",
    };
    return known_part(s, &s->gap_parts[class], texts[class]);
}

/* Idle time inside a span: to the gaps that contain it. */
static void give_idle(struct sharing *s, int64_t from, int64_t to)
{
    int64_t edge = later(from, earlier(to, s->first));
    if (edge > from) {
        give(s, DIFF_IDLE, known_part(s, &s->edge_part, EDGE), edge - from);
        from = edge;
    }
    if (to > s->last && to > from) {
        int64_t begin = later(from, s->last);
        give(s, DIFF_IDLE, known_part(s, &s->edge_part, EDGE), to - begin);
        to = begin;
    }
    const struct nl_idle_gap *gaps = s->idle ? s->side->idle->gaps + s->idle->first_gap : NULL;
    size_t count = s->idle ? s->idle->gaps : 0;
    while (from < to) {
        while (s->gap < count && gaps[s->gap].end <= from)
            s->gap++;
        bool listed = s->gap < count && gaps[s->gap].start < to;
        int64_t begin = listed ? later(gaps[s->gap].start, from) : to;
        if (begin > from)
            give(s, DIFF_IDLE, part_of_gap(s, NL_IDLE_SHORT), begin - from);
        if (!listed)
            return;
        int64_t end = earlier(gaps[s->gap].end, to);
        const struct nl_idle_gap *gap = &gaps[s->gap];
        uint32_t part = gap->class == NL_IDLE_HOST_LATE
                            ? part_of_late(s, gap)
                            : part_of_gap(s, (enum nl_idle_class)gap->class);
        give(s, DIFF_IDLE, part, end - begin);
        s->sink->parts->items[part].count += begin == gap->start;
        from = end;
    }
}

/* ---- stretches ---- */

/* Gives out [from, to), in which no work begins or ends. */
static void give_stretch(struct sharing *s, int64_t from, int64_t to)
{
    const struct diff_span *spans = s->side->spans + s->device->first_span;
    enum nl_work_class class = NL_IS_COMPUTE;
    while (class < NL_WORK_CLASSES && !s->classes[class].count)
        class ++;
    for (; s->span < s->device->spans && spans[s->span].start < to; s->span++) {
        int64_t begin = later(spans[s->span].start, from), end = earlier(spans[s->span].end, to);
        if (end > begin && class < NL_WORK_CLASSES)
            give_class(s, class, end - begin);
        else if (end > begin)
            give_idle(s, begin, end);
        if (spans[s->span].end > to)
            return;
    }
}

/* Takes out what has ended by now and lets later ones move up. */
static void drop_ended(struct class_state *state, int64_t now)
{
    size_t kept = 0;
    for (size_t i = 0; i < state->count; i++)
        if (state->now[i].end > now)
            state->now[kept++] = state->now[i];
    state->count = kept;
    while (state->count < DIFF_SHARERS && state->head < state->tail) {
        const struct piece *next = &state->later[state->head++];
        if (next->end > now)
            state->now[state->count++] = *next;
    }
    if (state->head == state->tail)
        state->head = state->tail = 0;
}

/* The end of the stretch that begins now: when the uppermost class that runs changes, or a class
 * above it could. Work below it does not matter until then. */
static int64_t stretch_end(const struct sharing *s, int64_t until)
{
    for (size_t class = NL_IS_COMPUTE; class < NL_WORK_CLASSES; class ++) {
        const struct class_state *state = &s->classes[class];
        for (size_t i = 0; i < state->count; i++)
            until = earlier(until, state->now[i].end);
        if (state->count)
            break;
    }
    return until;
}

static void advance(struct sharing *s, int64_t until)
{
    while (s->now < until) {
        int64_t end = stretch_end(s, until);
        give_stretch(s, s->now, end);
        s->now = end;
        for (size_t class = NL_IS_COMPUTE; class < NL_WORK_CLASSES; class ++)
            if (s->classes[class].count)
                drop_ended(&s->classes[class], end);
    }
}

/* Pieces of one start stand in the order of their names. */
static void sort_in(struct sharing *s, struct class_state *state, const struct piece *piece)
{
    const struct nl_trace *trace = s->side->trace;
    struct nl_str name = nl_trace_name(trace, piece->name);
    size_t at = state->count++;
    for (; at && state->now[at - 1].start == piece->start; at--) {
        if (nl_str_order(nl_trace_name(trace, state->now[at - 1].name), name) <= 0)
            break;
        state->now[at] = state->now[at - 1];
    }
    state->now[at] = *piece;
}

static void begin_work(struct sharing *s, const struct nl_work *work)
{
    uint32_t part = s->sink->part_of(s->sink->context, work);
    struct class_state *state = &s->classes[work->class];
    size_t at = diff_span_at(s->side, s->device, s->side->trace->slice.ts[work->slice]);
    if (at != SIZE_MAX) {
        struct diff_part *of = &s->sink->parts->items[part];
        of->count++;
        of->gross = diff_sum(of->gross, work->end - work->start);
        if (at == s->told && s->sink->parts->order_count < DIFF_MAX_ORDER) {
            struct diff_parts *parts = s->sink->parts;
            nl_grow(&parts->order, &parts->order_cap, parts->order_count + 1);
            parts->order[parts->order_count++] = part;
        }
    }
    if (work->end <= work->start || work->end <= s->now) /* nothing of it, or before all spans */
        return;
    struct piece piece = {work->start, work->end, part, s->side->trace->slice.name[work->slice]};
    if (state->count < DIFF_SHARERS) {
        sort_in(s, state, &piece);
    } else {
        nl_grow(&state->later, &state->cap, state->tail + 1);
        state->later[state->tail++] = piece;
    }
}

/* As breakdown_of() in diffside.c: on from the last that was found. */
static const struct nl_idle_device *idle_of(struct diff_side *side,
                                            const struct diff_device *device)
{
    size_t count = side->idle ? side->idle->device_count : 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = (side->idle_at + i) % count;
        const struct nl_idle_device *idle = &side->idle->devices[at];
        if (idle->device != device->device ||
            (device->device == NL_NULL_ROW && idle->process != device->process))
            continue;
        side->idle_at = at + 1;
        return idle;
    }
    return NULL;
}

/* The window of a side's work: steps count at their whole length. */
static struct nl_window work_window(const struct diff_side *side)
{
    struct nl_window window = side->window;
    if (side->by_step)
        window.has_time = false;
    return window;
}

void diff_work_share(struct diff_side *side, struct diff_device *device,
                     const struct diff_sink *sink)
{
    if (!device->spans)
        return;
    struct nl_window window = work_window(side);
    struct sharing *s = nl_zalloc(sizeof *s);
    struct nl_sweep sweep;
    struct nl_work batch[NL_SWEEP_BATCH];
    const struct diff_span *spans = side->spans + device->first_span;
    s->side = side;
    s->device = device;
    s->sink = sink;
    s->now = spans[0].start;
    /* The order of one step in the middle, of the first device, stands for all. */
    s->told = device == side->devices ? device->first_span + device->spans / 2 : SIZE_MAX;
    s->idle = idle_of(side, device);
    s->first = s->idle ? s->idle->start_ns : INT64_MAX;
    s->last = s->idle ? s->idle->start_ns + s->idle->wall_ns : INT64_MAX;
    nl_sweep_open(&sweep, side->trace, &window, side->lanes + device->first_lane, device->lanes);
    for (size_t got; (got = nl_sweep_next(&sweep, batch, NL_SWEEP_BATCH)) > 0;)
        for (size_t i = 0; i < got; i++) {
            advance(s, batch[i].start);
            begin_work(s, &batch[i]);
        }
    advance(s, spans[device->spans - 1].end);
    nl_sweep_close(&sweep);
    for (size_t class = 0; class < NL_WORK_CLASSES; class ++)
        nl_free(s->classes[class].later);
    nl_idmap_release(&s->late_parts);
    nl_free(s);
}

void diff_work_add(struct diff_side *side, struct diff_device *device, const struct diff_sink *sink)
{
    struct nl_sweep sweep;
    struct nl_work batch[NL_SWEEP_BATCH];
    nl_sweep_open(&sweep, side->trace, &side->window, side->lanes + device->first_lane,
                  device->lanes);
    for (size_t got; (got = nl_sweep_next(&sweep, batch, NL_SWEEP_BATCH)) > 0;)
        for (size_t i = 0; i < got; i++) {
            uint32_t part = sink->part_of(sink->context, &batch[i]);
            sink->parts->items[part].count++;
            sink->parts->items[part].gross =
                diff_sum(sink->parts->items[part].gross, batch[i].end - batch[i].start);
            add_group_time(device, &sink->parts->items[part], group_of[batch[i].class],
                           batch[i].end - batch[i].start);
        }
    nl_sweep_close(&sweep);
}
