/*
 * Pairing of halves after all blocks: B with E, async begins with ends, starts
 * of flows with their ends.
 *
 * Halves come from several workers, so they are put in order of (group, time, place in the file)
 * first. At equal times the place in the file decides, with two exceptions that real files need:
 * an end may belong to a begin further on at the same time (a slice of length zero), and an end
 * looks past begins of the same time to the slice it names.
 */
#include "base/sort.h"
#include "ingest/chrome/chrome_work.h"

struct pairing {
    struct chrome_load *load;
    struct chrome_worker *first; /* notes and its stage */
    struct chrome_half *halves;
    struct nl_keyed *keys; /* order: keys[i].row is the i-th half */
    size_t count;
    uint32_t *open; /* stack of halves */
    size_t open_count, open_cap;
    uint8_t *used; /* ends taken ahead of their turn */
    /* Asyncs: of each name the innermost open half (its place + 1 in `open`), and of each half the
     * one before it of the same name. */
    struct nl_idmap innermost;
    uint32_t *before;
    size_t before_cap;
};

#define CLOSED UINT32_MAX /* in `open` */

static void count_note(struct pairing *p, enum chrome_note what)
{
    p->first->notes[what]++;
}

static struct chrome_half *at(struct pairing *p, size_t i)
{
    return &p->halves[p->keys[i].row];
}

/* What a half is paired within: spans by lane, others by a hash of what identifies them. */
typedef uint64_t group_fn(const struct chrome_half *half);

static uint64_t group_span(const struct chrome_half *half)
{
    return half->lane;
}

static uint64_t group_async(const struct chrome_half *half)
{
    uint64_t parts[] = {half->cat, half->id};
    return nl_hash(parts, sizeof parts);
}

static uint64_t group_flow(const struct chrome_half *half)
{
    uint64_t parts[] = {half->cat, half->name, half->id};
    return nl_hash(parts, sizeof parts);
}

/* From the order of the file to the order of (group, time, place in the file), with the number of
 * the group as key. Groups are numbered by their first half in the file, since sorting them by lane
 * or name id would give another order each time: those are numbers that racing threads gave out. */
static void sort_groups(struct pairing *p, struct nl_keyed **scratch, group_fn *group)
{
    struct nl_keyed *sorted = *scratch;
    struct nl_idmap numbers = {0};
    uint32_t *of = nl_alloc(p->count * sizeof *of), *ends = NULL, groups = 0, from = 0;
    size_t cap = 0;
    for (size_t i = 0; i < p->count; i++) {
        of[i] = nl_idmap_get_or_put(&numbers, group(at(p, i)), groups);
        if (of[i] == groups) {
            nl_grow(&ends, &cap, (size_t)groups + 1);
            ends[groups++] = 0;
        }
        ends[of[i]]++;
    }
    for (uint32_t g = 0; g < groups; g++) { /* where it begins, first */
        uint32_t halves = ends[g];
        ends[g] = from;
        from += halves;
    }
    for (size_t i = 0; i < p->count; i++)
        sorted[ends[of[i]]++] = (struct nl_keyed){nl_sort_key(at(p, i)->ts), p->keys[i].row};
    *scratch = p->keys;
    p->keys = sorted;
    for (uint32_t g = 0, first = 0; g < groups; first = ends[g++]) {
        nl_sort_keyed(sorted + first, *scratch, ends[g] - first);
        for (uint32_t i = first; i < ends[g]; i++)
            sorted[i].key = g;
    }
    nl_idmap_release(&numbers);
    nl_free(of);
    nl_free(ends);
}

/* Moves one list of all workers (`list`: its offset in struct chrome_worker) into p->halves, the
 * first worker's array, which grows for the others'. */
static void take_halves(struct pairing *p, struct chrome_worker *workers, unsigned count,
                        size_t list)
{
    size_t total = 0, cap = 0;
    p->count = 0;
    for (unsigned w = 0; w < count; w++)
        total += ((struct chrome_halves *)(void *)((char *)&workers[w] + list))->count;
    for (unsigned w = 0; w < count; w++) {
        struct chrome_halves *from = (void *)((char *)&workers[w] + list);
        if (!p->halves) {
            p->halves = from->items;
            cap = from->cap;
            nl_grow(&p->halves, &cap, total);
        } else if (from->count) {
            memcpy(p->halves + p->count, from->items, from->count * sizeof *from->items);
            nl_free(from->items);
        }
        p->count += from->count;
        *from = (struct chrome_halves){0};
    }
}

/* The same, in order. After it keys[i].key is the group. */
static void gather_halves(struct pairing *p, struct chrome_worker *workers, unsigned count,
                          size_t list, group_fn *group)
{
    take_halves(p, workers, count, list);
    p->keys = nl_alloc(p->count * sizeof *p->keys);
    p->used = nl_zalloc(p->count);
    p->open_count = 0;
    for (size_t i = 0; i < p->count; i++)
        p->keys[i] = (struct nl_keyed){p->halves[i].order, (uint32_t)i};
    struct nl_keyed *scratch = nl_alloc(p->count * sizeof *scratch);
    nl_sort_keyed(p->keys, scratch, p->count);
    sort_groups(p, &scratch, group);
    nl_free(scratch);
}

static void release_pairing(struct pairing *p)
{
    nl_free(p->halves);
    p->halves = NULL;
    nl_free(p->keys);
    nl_free(p->used);
    nl_free(p->before);
    nl_idmap_release(&p->innermost);
    p->before = NULL;
    p->before_cap = 0;
}

static void push(struct pairing *p, uint32_t half)
{
    nl_grow(&p->open, &p->open_cap, p->open_count + 1);
    p->open[p->open_count++] = half;
}

static void stage_stack(struct pairing *p, uint32_t stack, uint32_t slice)
{
    struct nl_slicestack_row row = nl_slicestack_row();
    row.slice = slice;
    row.stack = chrome_stack_row(&p->load->stacks, stack);
    if (row.stack != NL_NULL_ROW)
        nl_stage_slicestack(p->first->stage, &row);
}

/* A slice from a begin and, where known, an end. */
static void stage_slice(struct pairing *p, const struct chrome_half *begin,
                        const struct chrome_half *end, enum nl_kind kind, uint8_t flags)
{
    struct nl_stage *stage = p->first->stage;
    struct nl_slice_row row = nl_slice_row();
    row.ts = begin->ts;
    if (!end || __builtin_sub_overflow(end->ts, begin->ts, &row.dur))
        row.dur = NL_NULL_I64;
    row.lane = begin->lane;
    row.kind = (uint8_t)kind;
    row.flags = flags;
    row.name = begin->name ? begin->name : end ? end->name : 0;
    struct nl_arg_row arg = nl_arg_row();
    arg.slice = nl_stage_slice(stage, &row);
    arg.text = begin->args ? begin->args : end ? end->args : 0;
    if (arg.text)
        nl_stage_arg(stage, &arg);
    if (begin->stack)
        stage_stack(p, begin->stack, arg.slice);
    if (end && end != begin && end->stack)
        count_note(p, CHROME_NOTE_END_STACK);
}

/* A slice that only waited for its call stack. */
static void stage_whole(struct pairing *p, const struct chrome_half *half)
{
    struct chrome_half end = *half;
    enum nl_kind kind = (enum nl_kind)half->kind;
    bool known = half->dur != NL_NULL_I64;
    end.ts = half->ts + (known ? half->dur : 0);
    end.stack = 0;
    stage_slice(p, half, &end, kind,
                !known                 ? NL_SLICE_CLAMPED
                : kind == NL_KIND_MARK ? NL_SLICE_INSTANT
                                       : 0);
}

#define MAX_LOOK 256 /* halves looked at around an end */

/* Position in the stack of the slice that an end closes: the innermost, unless only a begin of the
 * same time is above the one it names. -1 = none. */
static ptrdiff_t find_open(struct pairing *p, const struct chrome_half *end)
{
    ptrdiff_t top = (ptrdiff_t)p->open_count - 1;
    for (ptrdiff_t i = top; i >= 0 && i > top - MAX_LOOK && end->name; i--) {
        const struct chrome_half *begin = &p->halves[p->open[i]];
        if (begin->name == end->name)
            return i;
        if (begin->ts != end->ts)
            break;
    }
    return top;
}

/* A begin of the same time and name further on: then the end belongs to it. */
static bool begin_follows(struct pairing *p, size_t i, size_t group_end)
{
    const struct chrome_half *end = at(p, i);
    for (size_t k = i + 1; k < group_end && k < i + MAX_LOOK && at(p, k)->ts == end->ts; k++) {
        struct chrome_half *begin = at(p, k);
        if (begin->phase != 'B' || p->used[p->keys[k].row] || begin->name != end->name)
            continue;
        p->used[p->keys[k].row] = 1;
        stage_slice(p, begin, end, NL_KIND_GENERIC, 0);
        return true;
    }
    return false;
}

static void close_span(struct pairing *p, size_t i, size_t group_end)
{
    const struct chrome_half *end = at(p, i);
    ptrdiff_t open = find_open(p, end);
    bool named = open >= 0 && end->name && p->halves[p->open[open]].name == end->name;
    if (!named && end->name && begin_follows(p, i, group_end))
        return;
    if (open < 0) {
        count_note(p, CHROME_NOTE_LONE_END);
        return;
    }
    const struct chrome_half *begin = &p->halves[p->open[open]];
    if (!named && end->name)
        count_note(p, CHROME_NOTE_END_NAME);
    stage_slice(p, begin, end, NL_KIND_GENERIC, 0);
    p->open_count--;
    for (size_t k = (size_t)open; k < p->open_count; k++)
        p->open[k] = p->open[k + 1];
}

/* What is still open at the end of a group was never ended. */
static void close_rest(struct pairing *p, enum chrome_note what)
{
    for (size_t i = 0; i < p->open_count; i++) {
        if (p->open[i] == CLOSED)
            continue;
        const struct chrome_half *begin = &p->halves[p->open[i]];
        stage_slice(p, begin, NULL, NL_KIND_GENERIC, NL_SLICE_CLAMPED);
        count_note(p, begin->phase == 'N' ? CHROME_NOTE_OPEN_OBJECT : what);
    }
    p->open_count = 0;
}

static void pair_spans(struct pairing *p)
{
    for (size_t i = 0, group_end = 0; i < p->count; i++) {
        if (i == group_end) {
            close_rest(p, CHROME_NOTE_OPEN_BEGIN);
            while (group_end < p->count && p->keys[group_end].key == p->keys[i].key)
                group_end++;
        }
        if (at(p, i)->phase == 'E')
            close_span(p, i, group_end);
        else if (at(p, i)->phase == 'X')
            stage_whole(p, at(p, i));
        else if (!p->used[p->keys[i].row])
            push(p, p->keys[i].row);
    }
    close_rest(p, CHROME_NOTE_OPEN_BEGIN);
}

static void open_async(struct pairing *p, uint32_t half)
{
    uint32_t name = p->halves[half].name;
    uint32_t before = nl_idmap_get(&p->innermost, name);
    push(p, half);
    nl_grow(&p->before, &p->before_cap, p->open_count);
    p->before[p->open_count - 1] = before == NL_NO_ROW ? 0 : before;
    nl_idmap_put(&p->innermost, name, (uint32_t)p->open_count);
}

/* The end of the innermost half of its name. Closed halves keep their places until all are. */
static void close_async(struct pairing *p, const struct chrome_half *end)
{
    uint32_t open = nl_idmap_get(&p->innermost, end->name);
    if (open == NL_NO_ROW || !open) {
        count_note(p, end->phase == 'D' ? CHROME_NOTE_LONE_OBJECT : CHROME_NOTE_LONE_ASYNC);
        return;
    }
    stage_slice(p, &p->halves[p->open[open - 1]], end, NL_KIND_GENERIC, 0);
    nl_idmap_put(&p->innermost, end->name, p->before[open - 1]);
    p->open[open - 1] = CLOSED;
    while (p->open_count && p->open[p->open_count - 1] == CLOSED)
        p->open_count--;
}

static void end_group(struct pairing *p)
{
    close_rest(p, CHROME_NOTE_OPEN_ASYNC);
    nl_idmap_clear(&p->innermost);
}

static void pair_asyncs(struct pairing *p)
{
    for (size_t i = 0; i < p->count; i++) {
        if (i && p->keys[i].key != p->keys[i - 1].key)
            end_group(p);
        const struct chrome_half *half = at(p, i);
        switch (half->phase) {
        case 'b':
        case 'N':
        case 'S': open_async(p, p->keys[i].row); break;
        case 'e':
        case 'D':
        case 'F': close_async(p, half); break;
        default: stage_slice(p, half, half, NL_KIND_MARK, NL_SLICE_INSTANT); break;
        }
    }
    end_group(p);
}

static void stage_flow(struct pairing *p, const struct chrome_half *from,
                       const struct chrome_half *to)
{
    struct nl_flow_row row = nl_flow_row();
    row.kind = from->kind;
    row.id = from->id;
    row.src_lane = from->lane;
    row.dst_lane = to->lane;
    row.src_ts = from->ts;
    row.dst_ts = to->ts;
    row.name = from->name ? from->name : to->name;
    nl_stage_flow(p->first->stage, &row);
}

/* The flows of one group, in time order: a start (s), then steps (t) and ends (f). Two clocks may
 * put an end before its start, so two halves alone in their group are a pair in either order. */
static void pair_group(struct pairing *p, size_t from, size_t to)
{
    const struct chrome_half *start = NULL;
    bool ended = true;
    if (to - from == 2 && at(p, from)->phase == 'f' && at(p, from + 1)->phase == 's') {
        stage_flow(p, at(p, from + 1), at(p, from));
        return;
    }
    for (size_t i = from; i < to; i++) {
        const struct chrome_half *half = at(p, i);
        if (half->phase == 's') {
            if (!ended)
                count_note(p, CHROME_NOTE_LONE_FLOW);
            start = half;
            ended = false;
        } else if (!start) {
            count_note(p, CHROME_NOTE_LONE_FLOW);
        } else {
            stage_flow(p, start, half);
            ended = true;
            if (half->phase == 't')
                start = half;
        }
    }
    if (!ended)
        count_note(p, CHROME_NOTE_LONE_FLOW);
}

static void pair_flows(struct pairing *p)
{
    for (size_t i = 0, to; i < p->count; i = to) {
        for (to = i + 1; to < p->count && p->keys[to].key == p->keys[i].key;)
            to++;
        pair_group(p, i, to);
    }
}

#define LANES_KNOWN 64

/* Lanes of the halves of flows: a stream where pid and tid name one, else a thread. The last few
 * are remembered, since the same ones keep coming. */
static void flow_lanes(struct chrome_load *load, struct chrome_worker *workers, unsigned count)
{
    struct known {
        struct chrome_flow_end end;
        uint32_t lane;
    } known[LANES_KNOWN];
    for (unsigned k = 0; k < LANES_KNOWN; k++)
        known[k].lane = NL_NULL_ROW;
    for (unsigned w = 0; w < count; w++) {
        struct chrome_halves *flows = &workers[w].flows;
        for (size_t i = 0; i < flows->count; i++) {
            struct chrome_flow_end end = workers[w].flow_ends[i];
            struct known *slot = &known[((uint64_t)end.pid + (uint64_t)end.tid) % LANES_KNOWN];
            if (slot->lane == NL_NULL_ROW || slot->end.pid != end.pid || slot->end.tid != end.tid)
                *slot = (struct known){end, chrome_find_lane(load, workers, count, end)};
            flows->items[i].lane = slot->lane;
        }
        nl_free(workers[w].flow_ends);
        workers[w].flow_ends = NULL;
    }
}

void chrome_pair(struct chrome_load *load, struct chrome_worker *workers, unsigned count,
                 uint64_t unit)
{
    struct pairing p = {.load = load, .first = &workers[0]};
    flow_lanes(load, workers, count);
    nl_stage_begin(workers[0].stage, load->source, unit);
    chrome_stacks_open(&load->stacks, &workers[0]);
    gather_halves(&p, workers, count, offsetof(struct chrome_worker, spans), group_span);
    pair_spans(&p);
    release_pairing(&p);
    gather_halves(&p, workers, count, offsetof(struct chrome_worker, asyncs), group_async);
    pair_asyncs(&p);
    release_pairing(&p);
    gather_halves(&p, workers, count, offsetof(struct chrome_worker, flows), group_flow);
    pair_flows(&p);
    release_pairing(&p);
    nl_free(p.open);
    chrome_stacks_finish(&load->stacks, workers, count);
}
