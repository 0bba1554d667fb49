/* What the steps of each candidate are: a step marked by one program need not
 * be the work of another's. */
#include "compare/diffinner.h"
#include "compare/rankinner.h"

const char *rank_steps_text(const struct ranking *r, const struct rank_candidate *c)
{
    const struct diff_side *side = &diff_captures((struct diff_side *)&c->side)[0];
    const struct nl_found_steps *found = diff_steps(side);
    if (side->plain_count)
        return "runs without the profiler";
    if (!side->by_step || !found->group_count)
        return NULL;
    const struct nl_step_group *group = &found->groups[0];
    if (group->method == NL_STEPS_MARKED)
        return "marked";
    if (group->method == NL_STEPS_LAUNCHES)
        return "periods of launches";
    if (!group->pattern)
        return "ranges that come round in turn";
    return nl_arena_format(&r->report->arena, "ranges \"%s\"", group->pattern);
}

/* Whether any name is in the time compared of two candidates. */
static bool any_in_common(const struct ranking *r)
{
    const struct rank_level *level = rank_telling_level(r);
    for (size_t i = 0; i < level->count; i++)
        if (!level->rows[i].alone && level->rows[i].group != DIFF_IDLE)
            return true;
    return false;
}

void rank_steps_compare(struct ranking *r)
{
    const char *first = rank_steps_text(r, r->order[0]);
    for (size_t i = 1; i < r->count; i++) {
        const char *text = rank_steps_text(r, r->order[i]);
        r->unlike_steps |= !first || !text ? first != text : strcmp(first, text) != 0;
    }
    r->nothing_common = r->unlike_steps && !any_in_common(r);
    if (r->nothing_common)
        r->comparable = false;
}

void rank_say_steps(const struct ranking *r, struct nl_buf *text)
{
    for (size_t i = 0; i < r->count; i++) {
        const char *steps = rank_steps_text(r, r->order[i]);
        nl_buf_format(text, "%s%s in %s", i ? ", " : "", steps ? steps : "not known",
                      rank_word(r->order[i]));
    }
}
