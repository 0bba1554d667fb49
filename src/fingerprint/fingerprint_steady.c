/* The steps that fingerprints leave out (warm-up, compilation), per rank, as sorted spans. */
#include "fingerprint/fingerprint_steady.h"

#include "base/mem.h"
#include "base/search.h"

static bool has_steady(const struct nl_found_step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (steps[i].phase == NL_STEP_STEADY)
            return true;
    return false;
}

/* Steps that were found by launches: the last one ends with its last kernel, so that its length is
 * not comparable, but all of its work is there. */
static bool is_counted(enum nl_step_phase phase)
{
    return phase == NL_STEP_STEADY || phase == NL_STEP_LAST;
}

void fingerprint_excluded_init(struct fingerprint_excluded *excluded,
                               const struct nl_found_steps *steps)
{
    *excluded = (struct fingerprint_excluded){.one_rank = steps->group_count == 1};
    for (size_t g = 0; g < steps->group_count; g++) {
        const struct nl_step_group *group = &steps->groups[g];
        const struct nl_found_step *step = steps->items + group->first;
        if (!has_steady(step, group->count))
            continue;
        size_t before = excluded->count;
        for (size_t i = 0; i < group->count; i++) {
            if (is_counted(step[i].phase))
                continue;
            nl_grow(&excluded->spans, &excluded->cap, excluded->count + 1);
            excluded->spans[excluded->count++] =
                (struct fingerprint_span){group->rank, step[i].marked_start, step[i].marked_end};
        }
        if (excluded->count - before > excluded->steps)
            excluded->steps = excluded->count - before;
    }
}

void fingerprint_excluded_release(struct fingerprint_excluded *excluded)
{
    nl_free(excluded->spans);
    *excluded = (struct fingerprint_excluded){0};
}

bool fingerprint_is_excluded(const struct fingerprint_excluded *excluded,
                             const struct nl_trace *trace, uint32_t slice, bool on_device)
{
    const struct fingerprint_span *spans = excluded->spans;
    if (!excluded->count)
        return false;
    if (on_device && trace->slice.link[slice] != NL_NULL_ROW)
        slice = trace->slice.link[slice];
    int64_t rank = excluded->one_rank ? spans[0].rank : nl_slice_rank(trace, slice);
    int64_t ts = trace->slice.ts[slice];
    size_t after = NL_FIRST(i, (size_t)0, excluded->count,
                            spans[i].rank > rank || (spans[i].rank == rank && spans[i].start > ts));
    return after && spans[after - 1].rank == rank && ts < spans[after - 1].end;
}
