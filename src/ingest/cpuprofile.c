/* See cpuprofile.h. Frames are found by (parent, name, module, file, line) in one hash table. */
#include "ingest/cpuprofile.h"

#include "base/mem.h"
#include "base/units.h"

#define LOOK_EVERY 4096 /* ticks between looks at the clock of the person who waits */

void cpuprofile_begin(struct cpuprofile *profile, struct nl_builder *builder, uint32_t source,
                      struct nl_job *job)
{
    struct nl_stage *stage = nl_stage_new(builder);
    nl_stage_begin(stage, source, 0);
    cpuprofile_share(profile, builder, source, job, stage);
}

void cpuprofile_share(struct cpuprofile *profile, struct nl_builder *builder, uint32_t source,
                      struct nl_job *job, struct nl_stage *stage)
{
    *profile =
        (struct cpuprofile){.builder = builder, .source = source, .job = job, .stage = stage};
}

void cpuprofile_release(struct cpuprofile *profile)
{
    nl_free(profile->nodes);
    nl_free(profile->slots);
    profile->nodes = NULL;
    profile->slots = NULL;
}

bool cpuprofile_end(struct cpuprofile *profile, struct nl_err *err)
{
    cpuprofile_release(profile);
    if (nl_job_cancelled(profile->job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    return true;
}

bool cpuprofile_stopped(struct cpuprofile *profile)
{
    if (profile->ticks++ % LOOK_EVERY == 0)
        profile->stopped =
            nl_job_cancelled(profile->job) || nl_builder_over_budget(profile->builder);
    return profile->stopped;
}

uint32_t cpuprofile_name(struct cpuprofile *profile, struct nl_str text)
{
    return text.len ? nl_stage_name(profile->stage, text) : NL_NO_NAME;
}

static bool same_frame(const struct nl_stack_row *a, const struct nl_stack_row *b)
{
    return a->parent == b->parent && a->name == b->name && a->module == b->module &&
           a->file == b->file && a->line == b->line;
}

static size_t hash_of(const struct nl_stack_row *node)
{
    uint64_t hash = ((uint64_t)node->parent << 32 | node->name) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 29 ^ ((uint64_t)node->file << 32 | node->line)) * 0xD6E8FEB86659FD93u;
    hash = (hash ^ hash >> 31 ^ node->module) * 0x9E3779B97F4A7C15u;
    return hash >> 24;
}

static size_t slot_of(const struct cpuprofile *profile, const struct nl_stack_row *node)
{
    size_t at = hash_of(node) & (profile->room - 1);
    while (profile->slots[at] && !same_frame(&profile->nodes[profile->slots[at] - 1], node))
        at = (at + 1) & (profile->room - 1);
    return at;
}

static void make_room(struct cpuprofile *profile)
{
    nl_free(profile->slots);
    profile->room = profile->room ? profile->room * 2 : 1024;
    profile->slots = nl_zalloc(profile->room * sizeof *profile->slots);
    for (size_t i = 0; i < profile->count;
         i++) { /* all differ: those in the way are not looked at */
        size_t at = hash_of(&profile->nodes[i]) & (profile->room - 1);
        while (profile->slots[at])
            at = (at + 1) & (profile->room - 1);
        profile->slots[at] = (uint32_t)i + 1;
    }
}

uint32_t cpuprofile_frame(struct cpuprofile *profile, uint32_t parent,
                          const struct nl_stack_row *frame)
{
    struct nl_stack_row node = *frame;
    node.parent = parent;
    if (profile->count * 2 >= profile->room)
        make_room(profile);
    size_t at = slot_of(profile, &node);
    if (!profile->slots[at]) {
        nl_grow(&profile->nodes, &profile->cap, profile->count + 1);
        profile->nodes[profile->count++] = node;
        profile->slots[at] = (uint32_t)profile->count;
        nl_stage_stack(profile->stage, &node);
    }
    return profile->slots[at] - 1;
}

void cpuprofile_sample(struct cpuprofile *profile, const struct nl_sample_row *sample)
{
    profile->samples++;
    nl_stage_sample(profile->stage, sample);
}

uint32_t cpuprofile_lane(struct cpuprofile *profile, int64_t pid, int64_t tid, struct nl_str name)
{
    uint32_t process = nl_builder_process(profile->builder, profile->source, pid);
    uint32_t thread = nl_builder_thread(profile->builder, process, tid);
    struct nl_lane_key key = {.kind = NL_LANE_THREAD,
                              .process = process,
                              .thread = thread,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    if (name.len)
        nl_builder_thread_name(profile->builder, thread, name);
    return nl_builder_lane(profile->builder, &key);
}

void cpuprofile_cover(struct cpuprofile *profile, const char *item, uint64_t count,
                      const char *detail)
{
    if (count)
        nl_builder_coverage(profile->builder, profile->source, item, (int64_t)count, detail);
}

void cpuprofile_no_timeline(struct cpuprofile *profile)
{
    cpuprofile_cover(profile, "no timeline", 1,
                     "the file has sums per call stack or function, but no times: what ran when, "
                     "and beside what, cannot be told");
}

static bool is_number(struct nl_str text, int64_t *value)
{
    return text.len && text.ptr[0] >= '0' && text.ptr[0] <= '9' && nl_parse_i64(text, value) &&
           *value < (int64_t)NL_NULL_U32;
}

void cpuprofile_frame_text(struct cpuprofile *profile, struct nl_stack_row *frame,
                           struct nl_str text)
{
    int64_t line;
    size_t open = text.len, colon = 0;
    *frame = nl_stack_row();
    if (text.len > 4 && text.ptr[text.len - 1] == ')')
        while (open > 1 && !(text.ptr[open - 1] == ' ' && text.ptr[open] == '(')) {
            open--;
            if (!colon && text.ptr[open] == ':')
                colon = open;
        }
    else
        open = 0;
    struct nl_str digits = {text.ptr + colon + 1, text.len - colon - 2};
    if (open > 1 && colon > open + 1 && is_number(digits, &line)) {
        frame->file =
            cpuprofile_name(profile, (struct nl_str){text.ptr + open + 1, colon - open - 1});
        frame->line = (uint32_t)line;
        text.len = open - 1;
    }
    frame->name = cpuprofile_name(profile, text);
}
