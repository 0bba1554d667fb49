/*
 * Tracks and what they stand for. A track is known by its uuid, which events may use
 * before it is described; tracks that the file only implies (threads of ftrace, GPU
 * queues) get a uuid from a hash.
 */
#include "base/chars.h"
#include "ingest/perfetto/perfettofields.h"
#include "ingest/perfetto/perfetto.h"

#include <stdio.h>

#define MAX_PARENTS 32

uint32_t perfetto_track_of(struct perfetto_load *load, uint64_t uuid)
{
    uint32_t row = nl_idmap_get(&load->track_index, uuid);
    if (row == NL_NO_ROW) {
        nl_grow(&load->tracks, &load->track_cap, load->track_count + 1);
        row = (uint32_t)load->track_count++;
        load->tracks[row] = (struct perfetto_track){.uuid = uuid,
                                                    .pid = NL_NULL_I64,
                                                    .tid = NL_NULL_I64,
                                                    .device = NL_NULL_I64,
                                                    .queue = NL_NULL_I64,
                                                    .text = {"", 0},
                                                    .process_name = {"", 0},
                                                    .thread_name = {"", 0},
                                                    .unit_text = {"", 0},
                                                    .lane = NL_NULL_ROW,
                                                    .series = NL_NULL_ROW};
        nl_idmap_put(&load->track_index, uuid, row);
    }
    return row;
}

uint32_t perfetto_thread_track(struct perfetto_load *load, int64_t pid, int64_t tid, bool sched)
{
    int64_t key[3] = {sched ? 0x7363686564 : 0x746872656164, sched ? 0 : pid, tid};
    uint32_t row = perfetto_track_of(load, nl_hash(key, sizeof key));
    struct perfetto_track *track = &load->tracks[row];
    track->tid = tid;
    if (pid != NL_NULL_I64)
        track->pid = pid;
    track->sched = sched;
    return row;
}

uint32_t perfetto_named_track(struct perfetto_load *load, const char *scope, uint64_t number,
                              struct nl_str name)
{
    uint64_t key[3] = {nl_hash(scope, strlen(scope)), number, nl_hash(name.ptr, name.len)};
    uint32_t row = perfetto_track_of(load, nl_hash(key, sizeof key));
    struct perfetto_track *track = &load->tracks[row];
    if (!track->text.len)
        track->text = perfetto_keep(load, name);
    return row;
}

/* ---- descriptors ---- */

static void read_process(struct perfetto_load *load, struct perfetto_track *track,
                         const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.number == PROCESS_PID)
            track->pid = wire_i64(&field);
        else if (field.number == PROCESS_NAME)
            track->process_name = perfetto_keep(load, wire_str(&field));
    }
}

static void read_thread(struct perfetto_load *load, struct perfetto_track *track,
                        const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.number == THREAD_PID)
            track->pid = wire_i64(&field);
        else if (field.number == THREAD_TID)
            track->tid = wire_i64(&field);
        else if (field.number == THREAD_NAME)
            track->thread_name = perfetto_keep(load, wire_str(&field));
    }
}

static void read_counter(struct perfetto_load *load, struct perfetto_track *track,
                         const struct wire_field *data)
{
    static const char *const units[] = {"", "ns", "count", "bytes"};
    struct wire wire = wire_inside(data);
    struct wire_field field;
    track->counter = true;
    track->multiplier = 1;
    while (wire_next(&wire, &field)) {
        if (field.number == COUNTER_TYPE && field.value == 1 && !track->unit_text.len)
            track->unit_text = nl_str("ns");
        else if (field.number == COUNTER_UNIT && field.value < 4)
            track->unit_text = nl_str(units[field.value]);
        else if (field.number == COUNTER_UNIT_NAME)
            track->unit_text = perfetto_keep(load, wire_str(&field));
        else if (field.number == COUNTER_UNIT_MULTIPLIER && wire_i64(&field))
            track->multiplier = wire_i64(&field);
        else if (field.number == COUNTER_IS_INCREMENTAL)
            track->incremental = field.value != 0;
    }
}

/* Numbers in brackets of a name such as "GPU [4] QUEUE [1]". */
static void find_queue(struct perfetto_track *track)
{
    int64_t numbers[2] = {NL_NULL_I64, NL_NULL_I64};
    unsigned found = 0;
    for (size_t i = 0; i + 1 < track->text.len && found < 2; i++) {
        char c = track->text.ptr[i + 1];
        if (track->text.ptr[i] != '[' || !nl_is_digit(c))
            continue;
        int64_t number = 0;
        for (size_t k = i + 1; k < track->text.len && k < i + 10; k++) {
            if (!nl_is_digit(track->text.ptr[k]))
                break;
            number = number * 10 + (track->text.ptr[k] - '0');
        }
        numbers[found++] = number;
    }
    track->device = numbers[0];
    track->queue = numbers[1];
}

/* The number after a word at the start of a text, or after the last such word; NL_NULL_I64 none. */
static int64_t number_after(struct nl_str text, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len < text.len; i++) {
        if (memcmp(text.ptr + i, word, len) != 0 || (i && text.ptr[i - 1] != ' '))
            continue;
        int64_t number = 0;
        size_t k = i + len;
        for (; k < text.len && k < i + len + 9 && nl_is_digit(text.ptr[k]); k++)
            number = number * 10 + (text.ptr[k] - '0');
        return k > i + len ? number : NL_NULL_I64;
    }
    return NL_NULL_I64;
}

/* "stream 7" below "GPU 0: NVIDIA H100": names that our own export gives. */
void perfetto_find_device(struct perfetto_load *load, struct perfetto_track *track)
{
    uint32_t row = track->parent ? nl_idmap_get(&load->track_index, track->parent) : NL_NO_ROW;
    if (track->device != NL_NULL_I64 || row == NL_NO_ROW ||
        memcmp(load->tracks[row].text.len > 4 ? load->tracks[row].text.ptr : "none", "GPU ", 4))
        return;
    track->device = number_after(load->tracks[row].text, "GPU ");
    track->queue = number_after(track->text, "stream ");
    if (track->device != NL_NULL_I64 && load->tracks[row].parent) /* below a process */
        nl_builder_correlation_per_process(load->builder, load->source);
}

/* "rank 3: python" gives the rank. */
static void name_process(struct perfetto_load *load, uint32_t process, struct nl_str name)
{
    int64_t rank = nl_str_starts(name, "rank ") ? number_after(name, "rank ") : NL_NULL_I64;
    const char *colon = rank == NL_NULL_I64 ? NULL : memchr(name.ptr, ':', name.len);
    if (colon && (size_t)(colon - name.ptr) + 2 < name.len && colon[1] == ' ') {
        nl_builder_process_rank(load->builder, process, rank);
        name = (struct nl_str){colon + 2, name.len - (size_t)(colon - name.ptr) - 2};
    }
    nl_builder_process_name(load->builder, process, name);
}

void perfetto_descriptor(struct perfetto_load *load, const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    uint64_t uuid = 0;
    while (wire_next(&wire, &field))
        if (field.number == TRACK_UUID)
            uuid = field.value;
    uint32_t row = perfetto_track_of(load, uuid);
    struct perfetto_track *track = &load->tracks[row];
    track->described = true;
    wire = wire_inside(data);
    while (wire_next(&wire, &field)) {
        switch (field.number) {
        case TRACK_PARENT_UUID: track->parent = field.value; break;
        case TRACK_NAME:
        case TRACK_STATIC_NAME:
        case TRACK_ATRACE_NAME: track->text = perfetto_keep(load, wire_str(&field)); break;
        case TRACK_PROCESS: read_process(load, track, &field); break;
        case TRACK_THREAD: read_thread(load, track, &field); break;
        case TRACK_COUNTER: read_counter(load, track, &field); break;
        default: break;
        }
    }
    find_queue(track);
}

void perfetto_thread_descriptor(struct perfetto_load *load, struct perfetto_sequence *sequence,
                                const struct wire_field *data)
{
    struct perfetto_track own = {.pid = NL_NULL_I64, .tid = NL_NULL_I64, .thread_name = {"", 0}};
    struct wire wire = wire_inside(data);
    struct wire_field field;
    read_thread(load, &own, data);
    while (wire_next(&wire, &field))
        if (field.number == THREAD_REFERENCE_TIMESTAMP_US)
            sequence->reference_us = wire_i64(&field);
    sequence->pid = own.pid;
    sequence->tid = own.tid;
    uint32_t row = perfetto_thread_track(load, own.pid, own.tid, false);
    if (own.thread_name.len)
        load->tracks[row].thread_name = own.thread_name;
}

/* ---- the process tree ---- */

static void tree_process(struct perfetto_load *load, const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    int64_t pid = NL_NULL_I64;
    struct nl_str name = {"", 0};
    while (wire_next(&wire, &field)) {
        if (field.number == TREE_PROCESS_PID)
            pid = wire_i64(&field);
        else if (field.number == TREE_PROCESS_CMDLINE &&
                 !name.len) /* arguments after the first may hold secrets */
            name = wire_str(&field);
    }
    if (pid == NL_NULL_I64)
        return;
    uint32_t process = nl_builder_process(load->builder, load->source, pid);
    if (name.len)
        nl_builder_process_name(load->builder, process, name);
}

static void tree_thread(struct perfetto_load *load, const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    int64_t tid = 0, pid = NL_NULL_I64;
    struct nl_str name = {"", 0};
    while (wire_next(&wire, &field)) {
        if (field.number == TREE_THREAD_TID)
            tid = wire_i64(&field);
        else if (field.number == TREE_THREAD_TGID)
            pid = wire_i64(&field);
        else if (field.number == TREE_THREAD_NAME)
            name = wire_str(&field);
    }
    if (pid == NL_NULL_I64)
        return;
    nl_grow(&load->thread_pids, &load->thread_cap, load->thread_count + 1);
    nl_idmap_put(&load->thread_index, (uint64_t)tid, (uint32_t)load->thread_count);
    load->thread_pids[load->thread_count++] = pid;
    uint32_t process = nl_builder_process(load->builder, load->source, pid);
    uint32_t thread = nl_builder_thread(load->builder, process, tid);
    if (name.len)
        nl_builder_thread_name(load->builder, thread, name);
}

void perfetto_process_tree(struct perfetto_load *load, const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.number == TREE_PROCESSES && wire_is_text(&field))
            tree_process(load, &field);
        else if (field.number == TREE_THREADS && wire_is_text(&field))
            tree_thread(load, &field);
    }
}

/* ---- lanes ---- */

/* Process and thread of a track: its own, or of the nearest track above that has them. */
static void owner_of(const struct perfetto_load *load, const struct perfetto_track *track,
                     const struct perfetto_track **process, const struct perfetto_track **thread)
{
    *process = *thread = NULL;
    for (unsigned i = 0; i < MAX_PARENTS; i++) {
        if (!*thread && track->tid != NL_NULL_I64)
            *thread = track;
        if (!*process && track->pid != NL_NULL_I64)
            *process = track;
        uint32_t row = track->parent ? nl_idmap_get(&load->track_index, track->parent) : NL_NO_ROW;
        if (row == NL_NO_ROW)
            return;
        track = &load->tracks[row];
    }
}

static void find_place(struct perfetto_load *load, struct perfetto_track *track,
                       struct nl_lane_key *key)
{
    const struct perfetto_track *process, *thread;
    owner_of(load, track, &process, &thread);
    int64_t pid = process ? process->pid : NL_NULL_I64;
    if (pid == NL_NULL_I64 && thread) {
        uint32_t row = nl_idmap_get(&load->thread_index, (uint64_t)thread->tid);
        pid = row == NL_NO_ROW ? NL_NULL_I64 : load->thread_pids[row];
    }
    key->process = nl_builder_process(load->builder, load->source, pid);
    if (process && process->process_name.len)
        name_process(load, key->process, process->process_name);
    if (!thread)
        return;
    key->thread = nl_builder_thread(load->builder, key->process, thread->tid);
    if (thread->thread_name.len)
        nl_builder_thread_name(load->builder, key->thread, thread->thread_name);
}

/* What kind of lane a track is: by its events, else by what it belongs to. */
static enum nl_lanekind kind_of_lane(const struct perfetto_track *track)
{
    bool own_thread = track->tid != NL_NULL_I64, own_process = track->pid != NL_NULL_I64;
    if (track->on_device && !track->lane_kind)
        return track->queue == NL_NULL_I64 ? NL_LANE_DEVICE : NL_LANE_STREAM;
    if (track->sched && !track->on_device)
        return NL_LANE_SCHED;
    if (track->lane_kind && (track->on_device || (!own_thread && !own_process)))
        return (enum nl_lanekind)track->lane_kind;
    return own_thread ? NL_LANE_THREAD : own_process ? NL_LANE_PROCESS : NL_LANE_ASYNC;
}

uint32_t perfetto_lane(struct perfetto_load *load, uint32_t row)
{
    struct perfetto_track *track = &load->tracks[row];
    if (track->lane != NL_NULL_ROW)
        return track->lane;
    struct nl_lane_key key = {.process = NL_NULL_ROW,
                              .thread = NL_NULL_ROW,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    find_place(load, track, &key);
    bool own_thread = track->tid != NL_NULL_I64, own_process = track->pid != NL_NULL_I64;
    char text[40];
    struct nl_str name = track->text;
    if (!name.len && !own_thread && !own_process) {
        (void)snprintf(text, sizeof text, "track %llu", (unsigned long long)track->uuid);
        name = nl_str(text);
    }
    key.kind = kind_of_lane(track);
    if (track->on_device) {
        key.device = nl_builder_device(load->builder, load->source, track->device, track->device);
        key.stream = track->queue;
    }
    if (name.len && !own_thread)
        key.domain = nl_builder_name(load->builder, name);
    track->lane = nl_builder_lane(load->builder, &key);
    if (name.len)
        nl_builder_lane_name(load->builder, track->lane, name);
    return track->lane;
}
