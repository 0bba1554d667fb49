/*
 * A name that is open is either level with the device or late. Level: for all work to come it does
 * not matter whether one asks how far the name or how far the device is covered, so that what the
 * name gains is what the device gains, and the difference of two sums is enough. Late: other work
 * still ran when the name was opened; it is counted one by one until that work has ended.
 */
#include "tables/nestedtime.h"

#include "base/mem.h"
#include "base/sum.h"

static void add_wide(int64_t *sum, nl_u128 more)
{
    nl_sum_add(sum, more < INT64_MAX ? (int64_t)more : INT64_MAX);
}

void nl_nestedtime_init(struct nl_nestedtime *nested, const struct nl_rangetree *tree,
                        const uint32_t *ids, size_t names)
{
    *nested = (struct nl_nestedtime){
        .tree = tree, .ids = ids, .range = NL_NULL_ROW, .device = NL_NULL_ROW, .reach = INT64_MIN};
    nested->names = nl_zalloc((names + 1) * sizeof *nested->names);
    nested->depths = nl_alloc(((size_t)tree->count + 1) * sizeof *nested->depths);
    for (uint32_t range = 0; range < tree->count; range++) {
        uint32_t parent = tree->parents[range];
        nested->depths[range] = parent == NL_NULL_ROW ? 1 : nested->depths[parent] + 1;
    }
}

static void open_range(struct nl_nestedtime *nested, uint32_t range)
{
    uint32_t id = nested->ids[range];
    struct nl_nestedtime_name *name = &nested->names[id];
    if (name->open++)
        return;
    if (!name->used || name->device != nested->device)
        name->reach = INT64_MIN;
    name->used = true;
    name->device = nested->device;
    name->total_before = nested->total;
    name->union_before = nested->covered;
    name->late = name->reach != nested->reach;
    if (name->late && !name->listed) {
        name->listed = true;
        nl_grow(&nested->late, &nested->late_cap, nested->late_count + 1);
        nested->late[nested->late_count++] = id;
    }
}

static void close_range(struct nl_nestedtime *nested, uint32_t range)
{
    struct nl_nestedtime_name *name = &nested->names[nested->ids[range]];
    if (--name->open)
        return;
    add_wide(&name->total_ns, nested->total - name->total_before);
    if (name->late)
        return;
    add_wide(&name->union_ns, nested->covered - name->union_before);
    name->reach = nested->reach;
}

/* Closes what is around the work before and not around this, opens what is around this alone. */
static void move_to(struct nl_nestedtime *nested, uint32_t range)
{
    const uint32_t *parents = nested->tree->parents;
    uint32_t from = nested->range, to = range;
    while (from != to) {
        uint32_t from_depth = from == NL_NULL_ROW ? 0 : nested->depths[from];
        uint32_t to_depth = to == NL_NULL_ROW ? 0 : nested->depths[to];
        if (to_depth >= from_depth) {
            open_range(nested, to);
            to = parents[to];
        }
        if (from_depth >= to_depth) {
            close_range(nested, from);
            from = parents[from];
        }
    }
    nested->range = range;
}

/* Work that begins after all else has ended makes every name level. */
static void catch_up(struct nl_nestedtime *nested)
{
    for (size_t i = 0; i < nested->late_count; i++) {
        struct nl_nestedtime_name *name = &nested->names[nested->late[i]];
        name->listed = false;
        if (name->open && name->late)
            name->union_before = nested->covered;
        name->late = name->late && !name->open;
    }
    nested->late_count = 0;
}

static void count_late(struct nl_nestedtime *nested, int64_t start, int64_t end)
{
    size_t kept = 0;
    for (size_t i = 0; i < nested->late_count; i++) {
        uint32_t id = nested->late[i];
        struct nl_nestedtime_name *name = &nested->names[id];
        if (name->open && name->late && end > name->reach) {
            nl_sum_add(&name->union_ns, end - (start > name->reach ? start : name->reach));
            name->reach = end;
        }
        if (name->open && name->late)
            nested->late[kept++] = id;
        else
            name->listed = false;
    }
    nested->late_count = kept;
}

/* Names that are covered as far as the device is are level from now on. */
static void level(struct nl_nestedtime *nested)
{
    size_t kept = 0;
    for (size_t i = 0; i < nested->late_count; i++) {
        uint32_t id = nested->late[i];
        struct nl_nestedtime_name *name = &nested->names[id];
        if (name->reach != nested->reach) {
            nested->late[kept++] = id;
            continue;
        }
        name->late = name->listed = false;
        name->union_before = nested->covered;
    }
    nested->late_count = kept;
}

void nl_nestedtime_add(struct nl_nestedtime *nested, uint32_t range, uint32_t device, int64_t start,
                       int64_t end)
{
    if (device != nested->device) {
        move_to(nested, NL_NULL_ROW);
        nested->device = device;
        nested->reach = INT64_MIN;
    }
    move_to(nested, range);
    if (nested->reach <= start)
        catch_up(nested);
    else
        count_late(nested, start, end);
    nested->total += (nl_u128)(end - start);
    if (end > nested->reach) {
        nested->covered += (nl_u128)(end - (start > nested->reach ? start : nested->reach));
        nested->reach = end;
    }
    level(nested);
}

void nl_nestedtime_finish(struct nl_nestedtime *nested)
{
    move_to(nested, NL_NULL_ROW);
}

void nl_nestedtime_release(struct nl_nestedtime *nested)
{
    nl_free(nested->names);
    nl_free(nested->depths);
    nl_free(nested->late);
    *nested = (struct nl_nestedtime){0};
}
