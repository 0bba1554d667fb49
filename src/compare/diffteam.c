/*
 * Sides of several captures: each is measured alone, then their parts are joined by name. A side of
 * one capture takes the same way without the joining.
 */
#include <stdlib.h>

#include "compare/diffteam.h"
#include "base/mem.h"
#include "base/search.h"
#include "compare/diffinner.h"
#include "compare/diffparts.h"

#define MAX_SUM (INT64_MAX / 2) /* so that differences of two sums are numbers, too */

/* ---- joining parts ---- */

struct entry {
    const struct diff_part *part;
    size_t capture;
};

static int by_name(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->part->group != b->part->group)
        return a->part->group < b->part->group ? -1 : 1;
    int order = nl_str_order(a->part->name, b->part->name);
    if (!order)
        order = a->part->nobody - b->part->nobody;
    return order ? order : a->capture < b->capture ? -1 : a->capture > b->capture;
}

static bool same_part(const struct diff_part *a, const struct diff_part *b)
{
    return a->group == b->group && a->nobody == b->nobody && nl_str_eq(a->name, b->name);
}

static struct nl_str kept(struct diff_parts *parts, struct nl_str text)
{
    return (struct nl_str){nl_arena_text(&parts->arena, text.len ? text.ptr : "", text.len),
                           text.len};
}

static void join_run(struct diff_parts *parts, const struct entry *run, size_t count)
{
    struct diff_part *part = diff_part_add(parts, run->part->group, kept(parts, run->part->name));
    part->folded = kept(parts, run->part->folded); /* of functions, that is not made of the name */
    part->owner = kept(parts, run->part->owner);
    part->category = run->part->category;
    part->nobody = run->part->nobody;
    for (size_t i = 0; i < count; i++) {
        const struct diff_part *one = run[i].part;
        size_t block = run[i].capture < DIFF_BLOCKS ? run[i].capture : DIFF_BLOCKS - 1;
        part->count = part->count == NL_NULL_U64 || one->count == NL_NULL_U64
                          ? NL_NULL_U64
                          : part->count + one->count;
        part->sum = diff_sum(part->sum, one->sum);
        part->gross = diff_sum(part->gross, one->gross);
        part->blocks[block] = diff_sum(part->blocks[block], one->sum);
    }
}

/* The joined part of a part; parts are sorted as the entries were. */
static uint32_t joined_part(const struct diff_parts *parts, const struct diff_part *part)
{
    const struct entry wanted = {part, 0};
    return (uint32_t)NL_FIRST(i, 0, parts->count,
                              by_name(&(struct entry){&parts->items[i], 0}, &wanted) >= 0);
}

/* The order in the first capture stands for all. */
static void keep_order(struct diff_parts *parts, const struct diff_parts *first)
{
    nl_grow(&parts->order, &parts->order_cap, first->order_count + 1);
    for (size_t i = 0; i < first->order_count; i++)
        parts->order[parts->order_count++] = joined_part(parts, &first->items[first->order[i]]);
}

static void join_parts(struct diff_parts *parts, const struct diff_parts *each, size_t captures)
{
    size_t count = 0, all = 0;
    for (size_t i = 0; i < captures; i++)
        all += each[i].count;
    struct entry *entries = nl_alloc((all + 1) * sizeof *entries);
    for (size_t i = 0; i < captures; i++)
        for (size_t k = 0; k < each[i].count; k++)
            entries[count++] = (struct entry){&each[i].items[k], i};
    if (count)
        qsort(entries, count, sizeof *entries, by_name);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && same_part(entries[next].part, entries[i].part);)
            next++;
        join_run(parts, entries + i, next - i);
    }
    nl_free(entries);
    keep_order(parts, &each[0]);
}

/* ---- joining sides ---- */

static struct diff_device *device_of(struct diff_side *side, const struct diff_device *like)
{
    struct diff_device *device = diff_device_at(side, like->rank, like->ordinal);
    if (device)
        return device;
    device = diff_device_keep(side, like);
    device->sum = 0;
    device->spans = 0;
    for (size_t group = 0; group < DIFF_GROUPS; group++)
        device->groups[group] = 0;
    return device;
}

static void add_devices(struct diff_side *side, const struct diff_side *capture)
{
    for (size_t i = 0; i < capture->device_count; i++) {
        const struct diff_device *one = &capture->devices[i];
        struct diff_device *device = device_of(side, one);
        device->spans += one->spans;
        device->sum = diff_sum(device->sum, one->sum);
        for (size_t group = 0; group < DIFF_GROUPS; group++)
            device->groups[group] = diff_sum(device->groups[group], one->groups[group]);
    }
}

static void add_capture(struct diff_side *side, const struct diff_side *capture, size_t number)
{
    size_t block = number < DIFF_BLOCKS ? number : DIFF_BLOCKS - 1;
    side->by_step = capture->by_step;
    side->method = capture->method;
    side->host_kind = capture->host_kind;
    side->weight = capture->weight;
    side->event = capture->event;
    side->units += capture->units;
    side->sum = diff_sum(side->sum, capture->sum);
    side->warm_up += capture->warm_up;
    side->compile += capture->compile;
    side->stepless += capture->stepless;
    side->kept_ns = diff_sum(side->kept_ns, capture->kept_ns);
    side->blocks.units[block] += capture->units;
    side->blocks.count = block + 1;
    for (size_t i = 0; i < capture->length_count; i++)
        side->lengths[side->length_count++] = capture->lengths[i];
    add_devices(side, capture);
}

static void add_captures(struct diff_side *side)
{
    size_t devices = 0, lengths = 0;
    for (size_t i = 0; i < side->capture_count; i++) {
        devices += side->captures[i].device_count;
        lengths += side->captures[i].length_count;
    }
    side->devices = nl_zalloc((devices + 1) * sizeof *side->devices);
    side->lengths = nl_alloc((lengths + 1) * sizeof *side->lengths);
    side->units = 0;
    side->sum = 0;
    for (size_t i = 0; i < side->capture_count; i++)
        add_capture(side, &side->captures[i], i);
}

static void measure_captures(struct diff_side *side, enum diff_unit unit, struct diff_parts *parts)
{
    struct diff_parts *each = nl_zalloc((side->capture_count + 1) * sizeof *each);
    for (size_t i = 0; i < side->capture_count; i++) {
        side->captures[i].unit = unit;
        diff_capture_measure(&side->captures[i], &each[i]);
    }
    join_parts(parts, each, side->capture_count);
    add_captures(side);
    for (size_t i = 0; i < side->capture_count; i++)
        diff_parts_release(&each[i]);
    nl_free(each);
}

bool diff_side_measure(struct diff_side *side, enum diff_unit unit, struct diff_parts *parts)
{
    side->unit = unit;
    if (side->captures)
        measure_captures(side, unit, parts);
    else
        diff_capture_measure(side, parts);
    if (side->sum > MAX_SUM) {
        side->too_long = true;
        side->unit = DIFF_UNITS;
        side->sum = 0;
        parts->count = 0;
        return false;
    }
    side->mean = diff_mean(side->sum, side->units);
    diff_parts_round(parts->items, parts->count, side->units, side->mean);
    return true;
}

bool diff_parts_make(struct diff_parts *parts, struct diff_side *side, enum diff_lens lens)
{
    struct diff_side *captures = diff_captures(side);
    size_t count = diff_capture_count(side);
    struct diff_parts *each = nl_zalloc((count + 1) * sizeof *each);
    bool shows = true;
    for (size_t i = 0; i < count && shows; i++)
        shows = diff_capture_parts(&each[i], &captures[i], lens);
    if (shows && side->captures) {
        join_parts(parts, each, count);
    } else if (shows) {
        *parts = each[0];
        each[0] = (struct diff_parts){0};
    }
    for (size_t i = 0; i < count; i++)
        diff_parts_release(&each[i]);
    nl_free(each);
    if (shows)
        diff_parts_round(parts->items, parts->count, side->units, side->mean);
    return shows;
}

void diff_parts_own(struct diff_parts *parts, struct diff_side *side)
{
    struct diff_side *captures = diff_captures(side);
    for (size_t i = diff_capture_count(side); i-- > 0;) /* the first one's word is the last */
        diff_capture_own(parts, &captures[i]);
}

void diff_team_open(struct diff_side *side, const struct nl_diff_input *input)
{
    diff_side_open(side, input->trace, &input->window);
    if (!input->other_count)
        return;
    struct diff_side first = *side;
    side->capture_count = input->other_count + 1;
    side->captures = nl_zalloc(side->capture_count * sizeof *side->captures);
    side->captures[0] = first;
    side->lanes = NULL;
    side->lane_count = 0;
    for (size_t i = 1; i < side->capture_count; i++)
        diff_side_open(&side->captures[i], input->others[i - 1].trace,
                       &input->others[i - 1].window);
}
