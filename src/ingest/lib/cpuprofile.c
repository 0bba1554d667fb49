/* See cpuprofile.h. Frames and nodes are found in stacktree's tables. */
#include "ingest/lib/cpuprofile.h"

#include "base/chars.h"
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
    stack_tree_release(&profile->tree);
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

void cpuprofile_expect(const struct cpuprofile *profile, const struct nl_stack_row *frame)
{
    stack_tree_expect(&profile->tree, frame->name, frame->module, frame->file, frame->line);
}

uint32_t cpuprofile_intern(struct cpuprofile *profile, const struct nl_stack_row *frame)
{
    return stack_tree_frame(&profile->tree, frame->name, frame->module, frame->file, frame->line);
}

uint32_t cpuprofile_frame(struct cpuprofile *profile, uint32_t parent,
                          const struct nl_stack_row *frame)
{
    uint32_t nodes = profile->tree.nodes;
    uint32_t node = stack_tree_add(&profile->tree, parent, frame->name, frame->module, frame->file,
                                   frame->line);
    if (node == nodes) {
        struct nl_stack_row row = *frame;
        row.parent = parent;
        nl_stage_stack(profile->stage, &row);
    }
    return node;
}

static void stage_node(struct cpuprofile *profile, uint32_t parent, uint32_t frame)
{
    const struct stack_frame *own = &profile->tree.frames[frame];
    struct nl_stack_row row = {.parent = parent,
                               .name = own->name,
                               .module = own->module,
                               .file = own->file,
                               .line = own->line};
    nl_stage_stack(profile->stage, &row);
}

uint32_t cpuprofile_child(struct cpuprofile *profile, uint32_t parent, uint32_t frame)
{
    uint32_t nodes = profile->tree.nodes;
    uint32_t node = stack_tree_child(&profile->tree, parent, frame);
    if (node == nodes)
        stage_node(profile, parent, frame);
    return node;
}

uint32_t cpuprofile_stack(struct cpuprofile *profile, const uint32_t *frames, size_t count)
{
    struct stack_at at;
    for (size_t i = stack_tree_find(&profile->tree, frames, count, &at); i < count; i++) {
        uint32_t parent = at.node, nodes = profile->tree.nodes;
        stack_tree_step(&profile->tree, &at, frames[i]);
        if (at.node == nodes)
            stage_node(profile, parent, frames[i]);
    }
    return at.node;
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
                     "the file has sums per call stack or function, but no times: order and "
                     "overlap are unknown");
}

static bool is_number(struct nl_str text, int64_t *value)
{
    return text.len && nl_is_digit(text.ptr[0]) && nl_parse_i64(text, value) &&
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
