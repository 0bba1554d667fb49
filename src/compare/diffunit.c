/* By what two sides can be compared: every capture of both must have it. */
#include "compare/diffunit.h"
#include "compare/diffinner.h"
#include "compare/diffsums.h"

bool diff_has_steady_steps(const struct diff_side *side)
{
    const struct nl_found_steps *found = diff_steps(side);
    for (size_t g = 0; g < found->group_count; g++)
        if (diff_has_steady(side, &found->groups[g]))
            return true;
    return false;
}

/* ---- units ---- */

static bool has_device_work(struct diff_side *side, enum diff_unit unit)
{
    size_t count;
    const struct nl_device_breakdown *rows = nl_memo_breakdown(side->memo, &count);
    for (size_t i = 0; i < count; i++) {
        if (unit == DIFF_BY_WORK && rows[i].kernels + rows[i].copies + rows[i].memsets)
            return true;
        if (unit != DIFF_BY_WORK && !rows[i].starts_unknown && rows[i].wall_ns > 0)
            return true;
    }
    return false;
}

/* Steady steps on a rank that has a device with times. */
static bool has_device_steps(struct diff_side *side)
{
    size_t count;
    const struct nl_device_breakdown *rows = nl_memo_breakdown(side->memo, &count);
    const struct nl_found_steps *found = diff_steps(side);
    for (size_t i = 0; i < count; i++)
        for (size_t g = 0; g < found->group_count && !rows[i].starts_unknown; g++)
            if (found->groups[g].rank == rows[i].rank && diff_has_steady(side, &found->groups[g]))
                return true;
    return false;
}

static bool by_launches(const struct diff_side *side)
{
    const struct nl_found_steps *found = diff_steps(side);
    return found->group_count && found->groups[0].method == NL_STEPS_LAUNCHES;
}

static void find_by_launches(struct diff_side *side)
{
    if (by_launches(side))
        return;
    nl_steps_find_by(side->trace, 1u << NL_STEPS_LAUNCHES, &side->own);
    side->has_own = true;
}

/* All captures of all sides, in one list. */
struct all {
    struct diff_side *const *sides;
    size_t count; /* of the captures */
};

static struct all all_of(struct diff_side *const *sides, size_t side_count)
{
    struct all all = {sides, 0};
    for (size_t i = 0; i < side_count; i++)
        all.count += diff_capture_count(sides[i]);
    return all;
}

static struct diff_side *capture_at(const struct all *all, size_t i)
{
    struct diff_side *const *side = all->sides;
    for (; i >= diff_capture_count(*side); side++)
        i -= diff_capture_count(*side);
    return &diff_captures(*side)[i];
}

/* How many of them know their steps by launches. */
static size_t count_by_launches(const struct all *all)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        count += by_launches(capture_at(all, i));
    return count;
}

static bool all_have_device_steps(const struct all *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (!has_device_steps(capture_at(all, i)))
            return false;
    return true;
}

/* A step that a program marks and the period of its launches are not the same time: where one
 * capture has no marks, launches are looked at in all. */
static bool all_have_steps(const struct all *all)
{
    if (!all_have_device_steps(all))
        return false;
    size_t launches = count_by_launches(all);
    if (!launches || launches == all->count)
        return true;
    for (size_t i = 0; i < all->count; i++)
        find_by_launches(capture_at(all, i));
    if (all_have_device_steps(all))
        return true;
    for (size_t i = 0; i < all->count; i++)
        diff_drop_own_steps(capture_at(all, i));
    return false;
}

/* Whether steps mean the same everywhere: a mean step and a whole run are not. */
static bool alike_steps(const struct all *all)
{
    size_t launches = count_by_launches(all);
    if (launches && launches < all->count)
        return false;
    for (size_t i = 0; i < all->count; i++)
        if (!diff_has_steady_steps(capture_at(all, i)))
            return false;
    return true;
}

/* Whether threads spend time in slices of that kind: marks, and events on no thread, cannot be
 * compared by it. But communication has no thread: of tests and of the library's own records the
 * operations are. */
static bool takes_time(const struct nl_trace *trace, enum nl_kind kind)
{
    const struct nl_slice_table *slice = &trace->slice;
    for (uint32_t row = 0; row < slice->rows; row++)
        if (slice->kind[row] == kind && slice->dur[row] > 0 &&
            (trace->lane.thread[slice->lane[row]] != NL_NULL_ROW ||
             (kind == NL_KIND_COLLECTIVE && !(slice->flags[row] & NL_SLICE_CLAMPED))))
            return true;
    return false;
}

static bool all_have_kind(const struct all *all, enum nl_kind kind)
{
    bool any = false;
    for (size_t i = 0; i < all->count; i++)
        if (!nl_rangetree_any(capture_at(all, i)->trace, kind))
            return false;
    for (size_t i = 0; i < all->count && !any; i++)
        any = takes_time(capture_at(all, i)->trace, kind);
    return any;
}

/* What other programs took is left out on both sides, or on neither. */
static void find_preempted(const struct all *all)
{
    bool known = true;
    for (size_t i = 0; i < all->count && known; i++) {
        struct diff_side *capture = capture_at(all, i);
        if (!capture->preempt)
            capture->preempt = nl_preempt_new(capture->trace);
        known = capture->preempt != NULL;
    }
    for (size_t i = 0; i < all->count && !known; i++) {
        nl_preempt_free(capture_at(all, i)->preempt);
        capture_at(all, i)->preempt = NULL;
    }
}

/* The most specific kind of ranges that all have on threads. */
static bool find_host_kind(const struct all *all)
{
    static const enum nl_kind kinds[] = {NL_KIND_OP,         NL_KIND_LAYER,   NL_KIND_PYTHON,
                                         NL_KIND_COLLECTIVE, NL_KIND_NVTX,    NL_KIND_API,
                                         NL_KIND_LIBRARY,    NL_KIND_GENERIC, NL_KIND_OSRT};
    bool none = !alike_steps(all);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!all_have_kind(all, kinds[i]))
            continue;
        for (size_t k = 0; k < all->count; k++) {
            capture_at(all, k)->host_kind = kinds[i];
            capture_at(all, k)->no_steps = none;
        }
        find_preempted(all);
        return true;
    }
    return false;
}

static bool all_have_functions(const struct all *all)
{
    struct diff_side **captures = nl_alloc(all->count * sizeof *captures);
    for (size_t i = 0; i < all->count; i++)
        captures[i] = capture_at(all, i);
    bool allow = diff_functions_allow(captures, all->count);
    nl_free(captures);
    return allow;
}

static bool each_has(const struct all *all, enum diff_unit unit)
{
    for (size_t i = 0; i < all->count; i++)
        if (unit == DIFF_BY_LAYER ? !diff_layers_allow(capture_at(all, i))
                                  : !has_device_work(capture_at(all, i), unit))
            return false;
    return true;
}

bool diff_all_allow(struct diff_side *const *sides, size_t count, enum diff_unit unit)
{
    struct all all = all_of(sides, count);
    switch (unit) {
    case DIFF_BY_STEP: return all_have_steps(&all);
    case DIFF_BY_WALL:
    case DIFF_BY_WORK:
    case DIFF_BY_LAYER: return each_has(&all, unit);
    case DIFF_BY_HOST: return find_host_kind(&all);
    case DIFF_BY_FUNCTION: return all_have_functions(&all);
    default: return false;
    }
}

bool diff_sides_allow(struct diff_side *base, struct diff_side *changed, enum diff_unit unit)
{
    return diff_all_allow((struct diff_side *const[]){base, changed}, 2, unit);
}
