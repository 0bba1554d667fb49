/* pagepair — what a page of a comparison shows in addition to its tables: the steps of both sides,
 * and their stacks against each other. */
#include "base/mem.h"
#include "pages/flame.h"
#include "pages/pagepart.h"
#include "tables/steptime.h"

#define MAX_STEPS 2000 /* of a side; of more, the longest of every few */

static const struct nl_step_group *first_with_steady(const struct nl_found_steps *found,
                                                     const struct nl_page_source *side)
{
    for (size_t g = 0; g < found->group_count; g++) {
        const struct nl_step_group *group = &found->groups[g];
        for (size_t i = 0; i < group->count; i++) {
            const struct nl_found_step *step = &found->items[group->first + i];
            if (step->phase == NL_STEP_STEADY && nl_step_in_window(group, step, side->window))
                return group;
        }
    }
    return NULL;
}

/* The steady steps of the first rank that has any, in the order in which they ran. */
static void put_side(struct nl_json *json, const char *key, const struct nl_page_source *side)
{
    const struct nl_found_steps *found = nl_memo_steps(side->memo);
    const struct nl_step_group *group = first_with_steady(found, side);
    size_t count = group ? group->count : 0, join = (count + MAX_STEPS - 1) / MAX_STEPS;
    int64_t longest = -1;
    nl_json_key(json, key);
    nl_json_open(json, '{');
    nl_json_key(json, "dur");
    nl_json_open(json, '[');
    for (size_t i = 0; i < count; i++) {
        const struct nl_found_step *step = &found->items[group->first + i];
        if (step->phase == NL_STEP_STEADY && nl_step_in_window(group, step, side->window) &&
            step->end - step->start > longest)
            longest = step->end - step->start;
        if (join < 2 || (i + 1) % join == 0 || i + 1 == count) {
            if (longest >= 0)
                nl_json_i64(json, longest);
            longest = -1;
        }
    }
    nl_json_close(json, ']');
    nl_json_close(json, '}');
}

void nl_page_pair(struct nl_json *json, const struct nl_page_source sides[2])
{
    nl_json_key(json, "pair");
    nl_json_open(json, '{');
    put_side(json, "a", &sides[0]);
    put_side(json, "b", &sides[1]);
    nl_json_close(json, '}');
    nl_json_key(json, "flames");
    nl_json_open(json, '[');
    for (const struct nl_flame_source *each = nl_flame_sources; each->name; each++) {
        struct nl_flame flame;
        if (!each->has(sides[0].trace) || !each->has(sides[1].trace))
            continue;
        nl_flame_init(&flame, each);
        nl_flame_add(&flame, sides[0].trace, sides[0].window, true);
        nl_flame_add(&flame, sides[1].trace, sides[1].window, false);
        nl_flame_finish(&flame);
        bool drawn = flame.nodes[0].total > 0 && flame.nodes[0].base_total > 0;
        if (drawn)
            nl_flame_json(json, &flame);
        nl_flame_release(&flame);
        if (drawn)
            break; /* the first says most */
    }
    nl_json_close(json, ']');
}
