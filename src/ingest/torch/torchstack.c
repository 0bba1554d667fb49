/*
 * Frames and stacks get numbers by content, wherever in the pickle they are.
 */
#include "ingest/torch/torchstack.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* The number of a key, in the order in which keys came; *fresh when it is a new one. */
static uint32_t key_number(struct torchstack_numbers *numbers, uint64_t key, bool *fresh)
{
    uint32_t number = nl_idmap_get(&numbers->index, key);
    *fresh = number == NL_NO_ROW;
    if (*fresh) {
        number = numbers->count++;
        nl_idmap_put(&numbers->index, key, number);
    }
    return number;
}

static struct nl_str member_text(const struct torchstack *s, struct pickle_value dict,
                                 const char *key)
{
    return pickle_text(s->pickle, pickle_get(s->pickle, dict, key));
}

static uint32_t read_frame(struct torchstack *s, struct pickle_value value)
{
    char place[512];
    struct torchstack_frame frame = {.module = NL_NO_NAME};
    struct nl_str file = member_text(s, value, "filename");
    int64_t line = pickle_i64(s->pickle, pickle_get(s->pickle, value, "line"));
    bool fresh;
    frame.name = nl_stage_name(s->stage, member_text(s, value, "name"));
    if (file.len && !nl_str_is(file, "??"))
        frame.module = nl_stage_name(
            s->stage, (struct nl_str){place, (size_t)snprintf(place, sizeof place, "%.*s:%lld",
                                                              NL_UP_TO(480, file),
                                                              (long long)(line > 0 ? line : 0))});
    uint64_t key = (uint64_t)frame.name << 32 | frame.module;
    uint32_t number = key_number(&s->frame_numbers, key, &fresh);
    nl_grow(&s->frames, &s->frame_cap, (size_t)number + 1);
    s->frames[number] = frame;
    return number;
}

/* What is known of a list or dictionary of the pickle; new ones are all 0. */
static struct torchstack_known *known_of(struct torchstack *s, struct pickle_value value)
{
    size_t at = value.bits >> 4, before = s->known_cap;
    nl_grow(&s->known, &s->known_cap, at + 1);
    if (s->known_cap > before)
        memset(s->known + before, 0, (s->known_cap - before) * sizeof *s->known);
    return s->known + at;
}

static uint32_t add_stack(struct torchstack *s, uint32_t parent, uint32_t frame)
{
    bool fresh;
    uint64_t key = (uint64_t)frame << 32 | (parent + 1u);
    uint32_t number = key_number(&s->stack_numbers, key, &fresh);
    if (fresh) {
        struct nl_stack_row row = nl_stack_row();
        row.parent = parent;
        row.name = s->frames[frame].name;
        row.module = s->frames[frame].module;
        nl_stage_stack(s->stage, &row);
    }
    return number;
}

/* The stack that `value` makes with the one that calls it. */
static uint32_t child(struct torchstack *s, uint32_t parent, struct pickle_value value)
{
    struct torchstack_known *known = known_of(s, value);
    if (known->frame && known->parent == parent)
        return known->row;
    if (!known->frame)
        known->frame = read_frame(s, value) + 1;
    known->parent = parent;
    known->row = add_stack(s, parent, known->frame - 1);
    return known->row;
}

/* Frames are listed innermost first. */
static uint32_t look_up_stack(struct torchstack *s, const struct pickle_value *innermost,
                              uint32_t count)
{
    uint32_t row = NL_NULL_ROW, same = 0;
    while (same < count && same < s->path_len &&
           s->path[same].frame == innermost[count - 1 - same].bits)
        row = s->path[same++].row;
    for (uint32_t i = same; i < count; i++) {
        struct pickle_value frame = innermost[count - 1 - i];
        if (pickle_type(frame) != PICKLE_DICT || frame.bits >> 4 & PICKLE_PASSING)
            break;
        row = child(s, row, frame);
        s->path[i].frame = frame.bits;
        s->path[i].row = row;
        same = i + 1;
    }
    s->path_len = same;
    return row;
}

uint32_t torchstack_row(struct torchstack *s, struct pickle_value frames, bool *stop)
{
    const struct pickle_value *innermost = pickle_items(s->pickle, frames);
    if (!innermost || frames.bits >> 4 & PICKLE_PASSING)
        return NL_NULL_ROW;
    struct torchstack_known *known = known_of(s, frames);
    uint32_t count = pickle_count(s->pickle, frames);
    if (known->frame)
        return known->row;
    if (!pickle_spend(s->pickle, count < TORCHSTACK_FRAMES ? count : TORCHSTACK_FRAMES)) {
        *stop = true;
        return NL_NULL_ROW;
    }
    if (count > TORCHSTACK_FRAMES) { /* counted each time */
        s->cut++;
        return look_up_stack(s, innermost, TORCHSTACK_FRAMES);
    }
    uint32_t row = look_up_stack(s, innermost, count);
    known = known_of(s, frames); /* it may have moved */
    known->frame = 1;
    known->row = row;
    return row;
}

void torchstack_forget(struct torchstack *s)
{
    if (s->known_cap)
        memset(s->known, 0, s->known_cap * sizeof *s->known);
    s->path_len = 0;
}

void torchstack_release(struct torchstack *s)
{
    nl_idmap_release(&s->frame_numbers.index);
    nl_idmap_release(&s->stack_numbers.index);
    nl_free(s->frames);
    nl_free(s->known);
}
