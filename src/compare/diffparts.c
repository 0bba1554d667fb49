/*
 * Parts of device work by name, operator, module or range; and the rounding
 * that makes means add up.
 */
#include <stdlib.h>
#include <string.h>

#include "compare/diffparts.h"
#include "tables/shortname.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sort.h"
#include "compare/diffinner.h"
#include "compare/diffwork.h"
#include "timeline/owner.h"

#define MAX_FOLDED ((size_t)1 << 20)

void diff_parts_release(struct diff_parts *parts)
{
    nl_free(parts->items);
    nl_free(parts->fold);
    nl_free(parts->order);
    nl_lookup_release(&parts->idle);
    nl_arena_free(&parts->arena);
}

struct diff_part *diff_part_add(struct diff_parts *parts, enum diff_group group, struct nl_str name)
{
    struct nl_buf folded;
    nl_buf_init(&folded, MAX_FOLDED);
    if (!parts->fold) {
        parts->fold = nl_alloc(sizeof *parts->fold);
        nl_fold_starts_init(parts->fold, NL_FOLD_EYES);
    }
    nl_fold_text(parts->fold, nl_short_kernel(name), &folded);
    nl_grow(&parts->items, &parts->cap, parts->count + 1);
    struct diff_part *part = &parts->items[parts->count++];
    *part = (struct diff_part){.group = group, .name = name};
    part->folded = (struct nl_str){
        nl_arena_text(&parts->arena, folded.len ? folded.ptr : "", folded.len), folded.len};
    nl_buf_release(&folded);
    return part;
}

/* ---- rounding ---- */

struct remainder {
    uint64_t rest;
    struct diff_part *part;
};

static int by_rest(const void *left, const void *right)
{
    const struct remainder *a = left, *b = right;
    if (a->rest != b->rest)
        return a->rest > b->rest ? -1 : 1;
    if (a->part->group != b->part->group)
        return a->part->group < b->part->group ? -1 : 1;
    return nl_str_order(a->part->name, b->part->name);
}

void diff_parts_round(struct diff_part *items, size_t count, uint64_t units, int64_t mean)
{
    struct remainder *order = nl_alloc((count + 1) * sizeof *order);
    int64_t left = mean;
    for (size_t i = 0; i < count; i++) {
        items[i].mean = units ? items[i].sum / (int64_t)units : 0;
        left -= items[i].mean;
        order[i] = (struct remainder){units ? (uint64_t)items[i].sum % units : 0, &items[i]};
    }
    qsort(order, count, sizeof *order, by_rest);
    for (size_t i = 0; i < count && left > 0; i++, left--)
        order[i].part->mean++;
    nl_free(order);
}

/* ---- lenses ---- */

/* Finds the part of an operation: by its group and the name it goes under. */
struct finder {
    struct diff_parts *parts;
    const struct nl_trace *trace;
    uint32_t *by_name[NL_WORK_CLASSES]; /* part + 1 */
    uint32_t by_copy[UINT8_MAX + 1], fills;
    const uint32_t *owner; /* per slice: dictionary id; NULL = lens name */
    struct nl_fold fold;   /* of ranges: an owner's name without instance numbers */
    bool folds;
    uint32_t unowned;
    bool inside;            /* lenses DIFF_IN_…: */
    const uint32_t *inner;  /* per slice: dictionary id of its operator; NULL = there are none */
    struct nl_idmap within; /* owner and what is inside it → part */
};

static uint32_t new_part(struct finder *finder, uint32_t *known, enum nl_work_class class,
                         struct nl_str name)
{
    static const enum diff_group groups[NL_WORK_CLASSES] = {
        [NL_IS_COMPUTE] = DIFF_COMPUTE, [NL_IS_COMM] = DIFF_COMM, [NL_IS_COPY] = DIFF_COPY};
    diff_part_add(finder->parts, groups[class], name);
    *known = (uint32_t)finder->parts->count;
    return *known - 1;
}

static uint32_t part_of_copy(struct finder *finder, uint32_t slice)
{
    const struct nl_trace *trace = finder->trace;
    uint32_t row = trace->slice.detail[slice];
    if (trace->slice.kind[slice] == NL_KIND_MEMSET)
        return finder->fills ? finder->fills - 1
                             : new_part(finder, &finder->fills, NL_IS_COPY, nl_str("fill"));
    uint8_t kind = row < trace->copy.rows ? trace->copy.kind[row] : 0;
    uint32_t *known = &finder->by_copy[kind];
    const char *text = nl_enum_text(NL_ENUM_copykind, kind);
    if (*known)
        return *known - 1;
    struct nl_arena *arena = &finder->parts->arena;
    return new_part(finder, known, NL_IS_COPY,
                    nl_str(nl_arena_format(arena, "copy %s", text ? text : "(kind not recorded)")));
}

static uint32_t part_of_work(void *context, const struct nl_work *work)
{
    struct finder *finder = context;
    const struct nl_trace *trace = finder->trace;
    uint8_t kind = trace->slice.kind[work->slice];
    if (kind == NL_KIND_MEMCPY || kind == NL_KIND_MEMSET)
        return part_of_copy(finder, work->slice);
    uint32_t name = trace->slice.name[work->slice];
    uint32_t *known = &finder->by_name[work->class][name];
    if (*known)
        return *known - 1;
    uint32_t part = new_part(finder, known, work->class, nl_trace_name(trace, name));
    uint32_t row = trace->slice.detail[work->slice];
    if (kind == NL_KIND_KERNEL && row < trace->kernel.rows)
        finder->parts->items[part].category = trace->kernel.category[row];
    return part;
}

static struct nl_str owner_text(struct finder *finder, uint32_t name, uint32_t id)
{
    if (!name)
        return nl_str("(launched outside of any)");
    if (!finder->folds)
        return nl_trace_name(finder->trace, name);
    struct nl_str text = nl_dict_text(&finder->fold.texts, id);
    return (struct nl_str){nl_arena_text(&finder->parts->arena, text.ptr, text.len), text.len};
}

static uint32_t part_inside(struct finder *finder, uint32_t name, uint32_t id,
                            const struct nl_work *work)
{
    const struct nl_trace *trace = finder->trace;
    uint32_t slice = work->slice, row = trace->slice.detail[slice];
    uint32_t inner =
        finder->inner && finder->inner[slice] ? finder->inner[slice] : trace->slice.name[slice];
    uint32_t part = nl_idmap_get_or_put(&finder->within, (uint64_t)id << 32 | inner,
                                        (uint32_t)finder->parts->count);
    if (part < finder->parts->count)
        return part;
    struct nl_str outer = owner_text(finder, name, id), text = nl_trace_name(trace, inner);
    const char *both = nl_arena_format(&finder->parts->arena, "%.*s%c%.*s", (int)outer.len,
                                       outer.ptr, DIFF_INSIDE, (int)text.len, text.ptr);
    part = new_part(finder, &(uint32_t){0}, work->class, nl_str(both));
    if (trace->slice.kind[slice] == NL_KIND_KERNEL && row < trace->kernel.rows)
        finder->parts->items[part].category = trace->kernel.category[row];
    return part;
}

static uint32_t part_of_owner(void *context, const struct nl_work *work)
{
    struct finder *finder = context;
    uint32_t name = finder->owner[work->slice];
    uint32_t id = name && finder->folds ? nl_fold_id(&finder->fold, name) : name;
    if (finder->inside)
        return part_inside(finder, name, id, work);
    uint32_t *known = name ? &finder->by_name[NL_IS_COMPUTE][id] : &finder->unowned;
    if (*known)
        return *known - 1;
    uint32_t part = new_part(finder, known, NL_IS_COMPUTE, owner_text(finder, name, id));
    finder->parts->items[part].nobody = !name;
    return part;
}

/* Per slice the name of the range of that kind that launched it, 0 none; NULL when there are no
 * such ranges, or none launched anything. */
static uint32_t *owner_names(struct diff_side *side, enum nl_kind kind)
{
    if (!nl_rangetree_any(side->trace, kind))
        return NULL;
    const struct nl_owners *owners = nl_memo_owners(side->memo);
    const struct nl_memo_ranges *ranges = nl_memo_ranges(side->memo, kind);
    uint32_t *names = nl_zalloc((side->trace->slice.rows + (size_t)1) * sizeof *names);
    bool any = false;
    for (uint32_t i = 0; i < owners->count; i++)
        if (ranges->owner[i] != NL_NULL_ROW) {
            names[owners->work[i]] = side->trace->slice.name[ranges->tree.slices[ranges->owner[i]]];
            any |= names[owners->work[i]] != 0;
        }
    if (any)
        return names;
    nl_free(names);
    return NULL;
}

static const enum nl_kind lens_kinds[DIFF_LENSES] = {
    [DIFF_BY_OPERATOR] = NL_KIND_OP,  [DIFF_BY_MODULE] = NL_KIND_LAYER,
    [DIFF_BY_RANGE] = NL_KIND_NVTX,   [DIFF_IN_OPERATOR] = NL_KIND_OP,
    [DIFF_IN_MODULE] = NL_KIND_LAYER, [DIFF_IN_RANGE] = NL_KIND_NVTX};

static void share_all(struct diff_side *side, const struct diff_sink *sink)
{
    for (size_t i = 0; i < side->device_count; i++) {
        struct diff_device *device = &side->devices[i];
        device->sum = 0;
        for (size_t group = 0; group < DIFF_GROUPS; group++)
            device->groups[group] = 0;
        for (size_t k = 0; k < device->spans; k++)
            memset(side->spans[device->first_span + k].groups, 0, sizeof side->spans->groups);
        if (side->unit == DIFF_BY_WORK)
            diff_work_add(side, device, sink);
        else
            diff_work_share(side, device, sink);
    }
}

bool diff_capture_parts(struct diff_parts *parts, struct diff_side *side, enum diff_lens lens)
{
    struct finder *finder = nl_zalloc(sizeof *finder);
    uint32_t *owner = lens == DIFF_BY_NAME ? NULL : owner_names(side, lens_kinds[lens]);
    uint32_t *inner = owner && lens > DIFF_IN_OPERATOR ? owner_names(side, NL_KIND_OP) : NULL;
    bool shows = lens == DIFF_BY_NAME || owner;
    finder->parts = parts;
    finder->trace = side->trace;
    finder->owner = owner;
    finder->inner = inner;
    finder->inside = lens >= DIFF_IN_OPERATOR;
    for (size_t class = NL_IS_COMPUTE; shows && class < NL_WORK_CLASSES; class ++)
        finder->by_name[class] =
            nl_zalloc((side->trace->names.count + (size_t)1) * sizeof(uint32_t));
    finder->folds = (lens == DIFF_BY_RANGE || lens == DIFF_IN_RANGE) && shows;
    if (finder->folds)
        nl_fold_init(&finder->fold, side->trace, NL_FOLD_INSTANCES);
    if (shows) {
        struct diff_sink sink = {parts, owner ? part_of_owner : part_of_work, finder};
        share_all(side, &sink);
    }
    for (size_t class = 0; class < NL_WORK_CLASSES; class ++)
        nl_free(finder->by_name[class]);
    if (finder->folds)
        nl_fold_release(&finder->fold);
    nl_idmap_release(&finder->within);
    nl_free(inner);
    nl_free(owner);
    nl_free(finder);
    return shows;
}

/* ---- operators of kernels ---- */

/* Pairs of kernel and operator, sorted: the most frequent operator of each kernel. */
static void take_owners(struct diff_parts *parts, const struct nl_trace *trace,
                        const struct nl_keyed *pairs, size_t count, const uint32_t *part_of)
{
    uint32_t kernel = 0;
    size_t most = 0;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && pairs[next].key == pairs[i].key; next++) {
        }
        uint32_t name = (uint32_t)(pairs[i].key >> 32);
        if (name != kernel)
            most = 0;
        kernel = name;
        struct nl_str op = nl_trace_name(trace, (uint32_t)pairs[i].key);
        if (!part_of[name] || next - i < most)
            continue;
        struct nl_str *owner = &parts->items[part_of[name] - 1].owner;
        if (next - i > most || nl_str_order(op, *owner) < 0) /* not by ids, which follow events */
            *owner = op;
        most = next - i;
    }
}

void diff_capture_own(struct diff_parts *parts, struct diff_side *side)
{
    const struct nl_trace *trace = side->trace;
    uint32_t *owner = owner_names(side, NL_KIND_OP);
    if (!owner)
        return;
    uint32_t *part_of = nl_zalloc((trace->names.count + (size_t)1) * sizeof *part_of);
    struct nl_keyed *pairs = nl_alloc((trace->kernel.rows + (size_t)1) * 2 * sizeof *pairs);
    size_t count = 0;
    for (size_t i = 0; i < parts->count; i++) {
        uint32_t name = parts->items[i].group == DIFF_IDLE || parts->items[i].group == DIFF_COPY
                            ? UINT32_MAX
                            : nl_dict_find(&trace->names, parts->items[i].name);
        if (name != UINT32_MAX)
            part_of[name] = (uint32_t)i + 1;
    }
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t slice = trace->kernel.slice[row];
        if (owner[slice])
            pairs[count++].key = (uint64_t)trace->slice.name[slice] << 32 | owner[slice];
    }
    nl_sort_keyed(pairs, pairs + trace->kernel.rows + 1, count);
    take_owners(parts, trace, pairs, count, part_of);
    nl_free(pairs);
    nl_free(part_of);
    nl_free(owner);
}
