/*
 * See chrome_stacks.h. Stacks are kept as they are named (an id, or the text of an array) and
 * become rows of the last unit when all of the file is known; equal ones are kept once.
 */
#include "ingest/chrome/chrome_stacks.h"
#include "ingest/chrome/chrome_v8.h"

#include <math.h>
#include <stdlib.h>

#include "ingest/chrome/chrome_rows.h"
#include "parse/jsonpull.h"
#include "base/sum.h"
#include "ingest/chrome/chrome_value.h"

struct chrome_frame {
    uint64_t parent; /* key of the calling frame */
    bool has_parent, staged, walked;
    uint32_t name, module, row;
};

struct chrome_sample {
    int64_t ts, weight, cpu, pid, tid; /* ts in ns */
    uint64_t order;
    uint32_t lane;        /* NL_NULL_ROW: of pid and tid */
    uint32_t event, leaf; /* name ids: what was sampled; the only frame, where `stack` is 0 */
    uint32_t stack;       /* reference */
    bool counted;         /* the weight counts samples */
};

void chrome_stacks_init(struct chrome_stacks *stacks)
{
    *stacks = (struct chrome_stacks){0};
    pthread_mutex_init(&stacks->lock, NULL);
    nl_arena_init(&stacks->texts);
}

void chrome_stacks_release(struct chrome_stacks *stacks)
{
    pthread_mutex_destroy(&stacks->lock);
    nl_arena_free(&stacks->texts);
    nl_free(stacks->stacks);
    nl_free(stacks->frames);
    nl_free(stacks->samples);
    nl_free(stacks->chunks);
    gpurows_map_release(&stacks->known);
    gpurows_map_release(&stacks->frame_keys);
    cpuprofile_release(&stacks->profile);
}

/* ---- While events are read. ---- */

/* Ids are numbers in some files and the same digits as text in others. */
static uint64_t frame_key(struct nl_str id)
{
    return nl_hash(id.ptr, id.len);
}

/* The reference of a stack: `value` is the id of its innermost frame, or
 * (`listed`) the array of all. */
static uint32_t reference_to(struct chrome_stacks *stacks, const struct chrome_value *value,
                             bool listed)
{
    struct chrome_stack stack = {0};
    uint64_t key = nl_hash(value->ptr, value->len) ^ (listed ? 1 : 0);
    bool made;
    pthread_mutex_lock(&stacks->lock);
    uint64_t reference = *gpurows_map_put(&stacks->known, key, stacks->stack_count + 1, &made);
    if (made) {
        stack.frame = frame_key(chrome_text(value));
        if (listed) {
            stack.text = nl_arena_text(&stacks->texts, value->ptr, value->len);
            stack.len = value->len;
        }
        nl_grow(&stacks->stacks, &stacks->stack_cap, stacks->stack_count + 1);
        stacks->stacks[stacks->stack_count++] = stack;
    }
    pthread_mutex_unlock(&stacks->lock);
    return (uint32_t)reference;
}

static bool is_id(const struct chrome_value *value)
{
    return value->len && (value->type == CHROME_INTEGER || value->type == CHROME_STRING);
}

uint32_t chrome_stack_of_event(struct chrome_worker *worker)
{
    const struct chrome_event *event = &worker->event;
    const struct chrome_value *id = &event->field[CHROME_F_SF];
    const struct chrome_value *list = &event->field[CHROME_F_STACK];
    if (chrome_has(event, CHROME_F_SF) && is_id(id))
        return reference_to(&worker->load->stacks, id, false);
    if (chrome_has(event, CHROME_F_STACK) && list->type == CHROME_ARRAY)
        return reference_to(&worker->load->stacks, list, true);
    return 0;
}

static void add_sample(struct chrome_stacks *stacks, const struct chrome_sample *sample)
{
    pthread_mutex_lock(&stacks->lock);
    nl_grow(&stacks->samples, &stacks->sample_cap, stacks->sample_count + 1);
    stacks->samples[stacks->sample_count++] = *sample;
    pthread_mutex_unlock(&stacks->lock);
}

bool chrome_take_profile(struct chrome_worker *worker)
{
    const struct chrome_event *event = &worker->event;
    const struct chrome_value *args = &event->field[CHROME_F_ARGS];
    struct chrome_stacks *stacks = &worker->load->stacks;
    struct nl_str name = chrome_field_text(event, CHROME_F_NAME);
    struct chrome_chunk chunk = {.start = nl_str_is(name, "Profile")};
    bool whole = nl_str_is(name, "CpuProfile");
    if (!chunk.start && !whole && !nl_str_is(name, "ProfileChunk"))
        return false;
    if (!chrome_has(event, CHROME_F_ARGS) || args->type != CHROME_OBJECT ||
        !chrome_event_time(worker, &chunk.ts))
        return false;
    chunk.order = chrome_event_order(worker);
    chunk.lane = chrome_thread_lane(worker, NL_LANE_THREAD, 0);
    uint64_t id[] = {0, (uint64_t)chrome_actor(event, CHROME_F_PID).number, 0};
    if (whole || !chrome_event_id(worker, &id[0]))
        id[2] = whole ? chunk.order : 0;
    chunk.profile = nl_hash(id, sizeof id);
    chunk.len = args->len;
    pthread_mutex_lock(&stacks->lock);
    chunk.text = nl_arena_text(&stacks->texts, args->ptr, args->len);
    nl_grow(&stacks->chunks, &stacks->chunk_cap, stacks->chunk_count + 1);
    stacks->chunks[stacks->chunk_count++] = chunk;
    pthread_mutex_unlock(&stacks->lock);
    return true;
}

void chrome_take_sample_event(struct chrome_worker *worker)
{
    const struct chrome_event *event = &worker->event;
    struct chrome_sample sample = {.weight = 1, .counted = true, .cpu = NL_NULL_I64};
    if (chrome_take_profile(worker) || !chrome_event_time(worker, &sample.ts))
        return;
    sample.order = chrome_event_order(worker);
    sample.lane = chrome_thread_lane(worker, NL_LANE_THREAD, 0);
    if (event->seen & CHROME_STACK_FIELDS)
        sample.stack = chrome_stack_of_event(worker);
    if (chrome_has(event, CHROME_F_NAME) && event->field[CHROME_F_NAME].type == CHROME_STRING)
        sample.leaf =
            chrome_names_id(&worker->shared, chrome_text(&event->field[CHROME_F_NAME]), true);
    if (sample.stack) { /* then the name says what was sampled, else it is the only frame */
        sample.event = sample.leaf;
        sample.leaf = NL_NO_NAME;
    }
    add_sample(&worker->load->stacks, &sample);
}

/* ---- Between lists of events. ---- */

static uint32_t text_id(struct chrome_worker *worker, const struct chrome_value *value)
{
    return value->type == CHROME_STRING ? chrome_names_id(&worker->shared, chrome_text(value), true)
                                        : NL_NO_NAME;
}

void chrome_take_frame(struct chrome_worker *worker, struct nl_str id,
                       const struct chrome_value *value)
{
    struct chrome_stacks *stacks = &worker->load->stacks;
    struct chrome_frame frame = {0};
    const char *p = value->ptr;
    struct nl_str key;
    struct chrome_value member;
    bool made;
    if (value->type != CHROME_OBJECT) {
        stacks->bad_frames++;
        return;
    }
    while (chrome_member(&p, value->ptr + value->len, &key, &member)) {
        if (nl_str_is(key, "name"))
            frame.name = text_id(worker, &member);
        else if (nl_str_is(key, "category"))
            frame.module = text_id(worker, &member);
        else if (nl_str_is(key, "parent") && is_id(&member)) {
            frame.parent = frame_key(chrome_text(&member));
            frame.has_parent = true;
        }
    }
    uint64_t number =
        *gpurows_map_put(&stacks->frame_keys, frame_key(id), stacks->frame_count, &made);
    if (made) {
        nl_grow(&stacks->frames, &stacks->frame_cap, stacks->frame_count + 1);
        stacks->frame_count++;
    }
    stacks->frames[number] = frame; /* of two with the same id the last counts */
}

/* A weight is any number; the column holds whole ones. */
static int64_t weight_of(const struct chrome_value *value)
{
    double number;
    if (!chrome_number(value, &number) || !(fabs(number) < 9e18))
        return NL_NULL_I64;
    return nl_whole_i64(number);
}

/* A whole number that is not negative, else NL_NULL_I64. */
static int64_t natural_number(const struct chrome_value *value)
{
    int64_t number;
    return chrome_integer(value, &number) && number >= 0 ? number : NL_NULL_I64;
}

static void take_sample_member(struct chrome_worker *worker, struct chrome_sample *sample,
                               struct nl_str key, const struct chrome_value *value)
{
    if (nl_str_is(key, "ts") && !chrome_time(value, &sample->ts))
        sample->ts = NL_NULL_I64;
    else if (nl_str_is(key, "weight"))
        sample->weight = weight_of(value);
    else if (nl_str_is(key, "name"))
        sample->event = text_id(worker, value);
    else if (nl_str_is(key, "sf") && is_id(value))
        sample->stack = reference_to(&worker->load->stacks, value, false);
    else if (nl_str_is(key, "cpu"))
        sample->cpu = natural_number(value);
    else if (nl_str_is(key, "pid"))
        sample->pid = natural_number(value);
    else if (nl_str_is(key, "tid"))
        sample->tid = natural_number(value);
}

void chrome_take_sample(struct chrome_worker *worker, const struct chrome_value *value)
{
    struct chrome_stacks *stacks = &worker->load->stacks;
    struct chrome_sample sample = {.ts = NL_NULL_I64,
                                   .weight = NL_NULL_I64,
                                   .cpu = NL_NULL_I64,
                                   .pid = NL_NULL_I64,
                                   .tid = NL_NULL_I64,
                                   .lane = NL_NULL_ROW,
                                   .order = (uint64_t)1 << 63 | stacks->sample_count};
    const char *p = value->ptr;
    struct nl_str key;
    struct chrome_value member;
    while (value->type == CHROME_OBJECT &&
           chrome_member(&p, value->ptr + value->len, &key, &member))
        take_sample_member(worker, &sample, key, &member);
    if (sample.ts == NL_NULL_I64) {
        stacks->bad_samples++;
        return;
    }
    if (sample.ts < worker->first_ts)
        worker->first_ts = sample.ts;
    add_sample(stacks, &sample);
}

/* ---- After all events: stacks. ---- */

void chrome_stacks_open(struct chrome_stacks *stacks, struct chrome_worker *first)
{
    cpuprofile_share(&stacks->profile, first->load->builder, first->load->source, first->load->job,
                     first->stage);
}

/* Row of the dictionary's frame with this key. */
static uint32_t frame_row(struct chrome_stacks *stacks, uint64_t key)
{
    uint64_t path[CHROME_MAX_FRAMES];
    size_t depth = 0;
    uint32_t row = NL_NULL_ROW;
    for (bool more = true; more;) {
        const uint64_t *number = gpurows_map_find(&stacks->frame_keys, key);
        if (!number) {
            stacks->unresolved++;
            break;
        }
        struct chrome_frame *frame = &stacks->frames[*number];
        if (frame->staged) {
            row = frame->row;
            break;
        }
        if (depth == CHROME_MAX_FRAMES || frame->walked) { /* too deep, or a circle */
            stacks->deep++;
            break;
        }
        frame->walked = true;
        path[depth++] = *number;
        key = frame->parent;
        more = frame->has_parent;
    }
    while (depth-- > 0) {
        struct chrome_frame *frame = &stacks->frames[path[depth]];
        struct nl_stack_row node = nl_stack_row();
        node.name = frame->name;
        node.module = frame->module;
        row = cpuprofile_frame(&stacks->profile, row, &node);
        frame->row = row;
        frame->staged = true;
    }
    return row;
}

/* Rows of a stack that is written out, outermost first. */
static uint32_t list_row(struct chrome_stacks *stacks, const struct chrome_stack *stack)
{
    struct jsonpull list;
    uint32_t row = NL_NULL_ROW, depth = 0;
    jsonpull_memory(&list, stack->text, stack->len, 0);
    if (jsonpull_next(&list) == JSONPULL_ARRAY)
        while (jsonpull_item(&list)) {
            struct nl_stack_row node = nl_stack_row();
            if (list.type != JSONPULL_STRING && list.type != JSONPULL_NUMBER) {
                jsonpull_skip(&list);
                continue;
            }
            if (depth++ == CHROME_MAX_FRAMES) {
                stacks->deep++;
                break;
            }
            node.name = cpuprofile_name(&stacks->profile, list.text);
            row = cpuprofile_frame(&stacks->profile, row, &node);
        }
    jsonpull_release(&list);
    return row;
}

uint32_t chrome_stack_row(struct chrome_stacks *stacks, uint32_t reference)
{
    if (!reference)
        return NL_NULL_ROW;
    struct chrome_stack *stack = &stacks->stacks[reference - 1];
    if (!stack->staged) {
        stack->row = stack->text ? list_row(stacks, stack) : frame_row(stacks, stack->frame);
        stack->staged = true;
    }
    return stack->row;
}

/* ---- After all events: samples. ---- */

static int samples_by_order(const void *x, const void *y)
{
    const struct chrome_sample *a = x, *b = y;
    return (a->order > b->order) - (a->order < b->order);
}

#define SEVERAL_PROCESSES ((uint64_t)1 << 63) /* no process has this id */

/* Thread → the process that has it, from the names of threads;
 * SEVERAL_PROCESSES when not only one has. */
static void learn_threads(struct gpurows_map *owners, const struct chrome_worker *workers,
                          unsigned count)
{
    for (unsigned w = 0; w < count; w++)
        for (size_t i = 0; i < workers[w].label_count; i++) {
            const struct chrome_label *label = &workers[w].labels[i];
            if (label->kind != CHROME_THREAD_NAME || label->tid == NL_NULL_I64)
                continue;
            uint64_t *owner =
                gpurows_map_put(owners, (uint64_t)label->tid, (uint64_t)label->pid, NULL);
            if (*owner != (uint64_t)label->pid)
                *owner = SEVERAL_PROCESSES;
        }
}

/* A sample without a process is of the one that has a thread of that id. */
static uint32_t sample_lane(struct chrome_stacks *stacks, const struct gpurows_map *owners,
                            const struct chrome_sample *sample)
{
    int64_t pid = sample->pid;
    const uint64_t *owner = NULL;
    if (sample->lane != NL_NULL_ROW)
        return sample->lane;
    if (pid == NL_NULL_I64 && sample->tid != NL_NULL_I64)
        owner = gpurows_map_find(owners, (uint64_t)sample->tid);
    if (owner && *owner != SEVERAL_PROCESSES)
        pid = (int64_t)*owner;
    return cpuprofile_lane(&stacks->profile, pid, sample->tid, nl_str(""));
}

static void stage_sample(struct chrome_stacks *stacks, const struct gpurows_map *owners,
                         const struct chrome_sample *sample)
{
    struct nl_sample_row row = nl_sample_row();
    row.ts = sample->ts;
    row.lane = sample_lane(stacks, owners, sample);
    row.cpu = sample->cpu;
    row.weight = sample->weight;
    row.event = sample->event;
    if (sample->counted)
        row.unit = cpuprofile_name(&stacks->profile, nl_str("samples"));
    row.stack = chrome_stack_row(stacks, sample->stack);
    if (row.stack == NL_NULL_ROW && sample->leaf) {
        struct nl_stack_row node = nl_stack_row();
        node.name = sample->leaf;
        row.stack = cpuprofile_frame(&stacks->profile, NL_NULL_ROW, &node);
    }
    cpuprofile_sample(&stacks->profile, &row);
}

void chrome_stacks_finish(struct chrome_stacks *stacks, struct chrome_worker *workers,
                          unsigned count)
{
    struct cpuprofile *profile = &stacks->profile;
    struct gpurows_map owners = {0};
    learn_threads(&owners, workers, count);
    if (stacks->sample_count)
        qsort(stacks->samples, stacks->sample_count, sizeof *stacks->samples, samples_by_order);
    for (size_t i = 0; i < stacks->sample_count && !cpuprofile_stopped(profile); i++)
        stage_sample(stacks, &owners, &stacks->samples[i]);
    gpurows_map_release(&owners);
    chrome_v8_finish(stacks);
    cpuprofile_cover(profile, "skipped: sample without a time", stacks->bad_samples, "");
    cpuprofile_cover(profile, "skipped: stack frame that is not an object", stacks->bad_frames, "");
    cpuprofile_cover(profile, "unknown: frame of a stack", stacks->unresolved,
                     "stackFrames has no frame of that id; what it called is kept");
    cpuprofile_cover(profile, "cut: call stack over 1024 frames, or in a circle", stacks->deep,
                     "the innermost are kept");
}
