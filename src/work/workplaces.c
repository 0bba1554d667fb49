/* workplaces — see workplaces.h. */
#include "work/workplaces.h"

#include "base/mem.h"
#include "base/search.h"

static const struct nl_step_group *group_of(const struct nl_found_steps *steps, int64_t rank)
{
    for (size_t g = 0; g < steps->group_count; g++)
        if (steps->groups[g].rank == rank || steps->group_count == 1)
            return &steps->groups[g];
    return NULL;
}

/* The step of the group that holds the moment: steps are in order of time and do not overlap. */
static uint32_t step_in(const struct nl_found_steps *steps, const struct nl_step_group *group,
                        int64_t ts)
{
    size_t low = NL_FIRST(i, group->first, group->first + group->count, steps->items[i].start > ts);
    return low > group->first && ts < steps->items[low - 1].end ? (uint32_t)(low - 1) : NL_NULL_ROW;
}

void nl_work_places_init(struct nl_work_places *places, const struct nl_op_works *works,
                         const struct nl_rangetree *layers, const uint32_t *owner,
                         const struct nl_found_steps *steps)
{
    const struct nl_trace *trace = works->trace;
    const struct nl_step_group *group = NULL;
    int64_t rank = NL_NULL_I64;
    *places = (struct nl_work_places){.found = steps};
    places->layers = nl_zalloc((works->count + 1) * sizeof *places->layers);
    places->steps = nl_zalloc((works->count + 1) * sizeof *places->steps);
    for (size_t i = 0; i < works->count; i++) {
        const struct nl_op_work *work = &works->items[i];
        if (work->slice == NL_NULL_ROW || work->place == NL_NULL_ROW)
            continue;
        if (owner[work->place] != NL_NULL_ROW)
            places->layers[i] = trace->slice.name[layers->slices[owner[work->place]]];
        int64_t own = work->rank;
        if (!group || own != rank) {
            rank = own;
            group = group_of(steps, rank);
        }
        uint32_t step = group ? step_in(steps, group, work->ts) : NL_NULL_ROW;
        places->steps[i] = step == NL_NULL_ROW ? 0 : step + 1;
    }
}

void nl_work_places_release(struct nl_work_places *places)
{
    nl_free(places->layers);
    nl_free(places->steps);
    *places = (struct nl_work_places){0};
}
