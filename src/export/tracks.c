/* The tree of tracks: ids that are unique, names that a reader of Nsight or Perfetto expects. */
#include "export/tracks.h"

#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "base/search.h"
#include "base/sort.h"

struct maker {
    struct nl_tracks *tracks;
    const struct nl_export *export;
    const struct nl_trace *trace;
    uint32_t *of_thread;
    struct group {
        uint32_t process, device, track;
    } * groups; /* GPUs of processes */
    size_t group_count, group_cap;
    struct nl_lookup by_gpu; /* of groups */
};

static uint32_t add_track(struct maker *maker, const struct nl_track *track)
{
    struct nl_tracks *tracks = maker->tracks;
    nl_grow(&tracks->items, &tracks->cap, (size_t)tracks->count + 1);
    tracks->items[tracks->count] = *track;
    return tracks->count++;
}

/* ---- processes ---- */

static bool among(const int64_t *sorted, size_t count, int64_t value, bool twice)
{
    size_t low = NL_FIRST(i, 0, count, sorted[i] >= value);
    if (low >= count || sorted[low] != value)
        return false;
    return !twice || (low + 1 < count && sorted[low + 1] == value);
}

/* A row's own id where it can be used and no other row has it; else the next one that is free. */
static void unique_ids(const int64_t *ids, size_t count, int64_t *unique)
{
    int64_t *sorted = nl_alloc((count + 1) * sizeof *sorted), next = 1;
    for (size_t i = 0; i < count; i++)
        sorted[i] = ids[i];
    nl_sort_i64(sorted, count);
    for (size_t i = 0; i < count; i++) {
        unique[i] = ids[i];
        if (ids[i] > 0 && ids[i] <= INT32_MAX && !among(sorted, count, ids[i], true))
            continue;
        while (among(sorted, count, next, false))
            next++;
        unique[i] = next++;
    }
    nl_free(sorted);
}

static struct nl_str process_name(struct maker *maker, uint32_t process, bool renamed)
{
    const struct nl_process_table *table = &maker->trace->process;
    struct nl_arena *arena = &maker->tracks->arena;
    struct nl_str name = nl_trace_name(maker->trace, table->name[process]);
    if (!name.len)
        name = nl_trace_name(maker->trace, table->label[process]);
    char rank[40] = "", pid[40] = "";
    if (table->rank[process] != NL_NULL_I64)
        snprintf(rank, sizeof rank, "rank %" PRId64 ": ", table->rank[process]);
    if (renamed && table->pid[process] != NL_NULL_I64)
        snprintf(pid, sizeof pid, " (pid %" PRId64 ")", table->pid[process]);
    if (!name.len)
        name = nl_str("process");
    return nl_str(nl_arena_format(arena, "%s%.*s%s", rank, (int)name.len, name.ptr, pid));
}

static void add_processes(struct maker *maker)
{
    const struct nl_process_table *table = &maker->trace->process;
    uint32_t *of_process = maker->tracks->of_process;
    int64_t *pids = nl_alloc((table->rows + 1) * sizeof *pids);
    uint8_t *used = nl_zalloc(table->rows + 1);
    unique_ids(table->pid, table->rows, pids);
    for (uint32_t lane = 0; lane < maker->trace->lane.rows; lane++)
        if (maker->trace->lane.process[lane] != NL_NULL_ROW &&
            nl_scope_lane(&maker->export->scope, lane))
            used[maker->trace->lane.process[lane]] = 1;
    for (uint32_t i = 0; i < table->rows; i++) {
        of_process[i] = NL_NO_TRACK;
        if (!used[i])
            continue;
        int64_t rank = table->rank[i];
        struct nl_track track = {.kind = NL_TRACK_PROCESS,
                                 .parent = NL_NO_TRACK,
                                 .pid = pids[i],
                                 .name = process_name(maker, i, pids[i] != table->pid[i]),
                                 .order = rank == NL_NULL_I64 ? i : rank,
                                 .row = i};
        of_process[i] = add_track(maker, &track);
    }
    nl_free(pids);
    nl_free(used);
}

/* ---- threads ---- */

static void add_threads(struct maker *maker)
{
    const struct nl_thread_table *table = &maker->trace->thread;
    int64_t *tids = nl_alloc((table->rows + 1) * sizeof *tids), surrogate = INT32_MAX;
    uint8_t *used = nl_zalloc(table->rows + 1);
    for (uint32_t lane = 0; lane < maker->trace->lane.rows; lane++)
        if (maker->trace->lane.thread[lane] != NL_NULL_ROW &&
            nl_scope_lane(&maker->export->scope, lane))
            used[maker->trace->lane.thread[lane]] = 1;
    for (uint32_t i = 0; i < table->rows; i++) {
        int64_t tid = table->tid[i];
        uint32_t process = table->process[i];
        tids[i] = tid > 0 && tid <= INT32_MAX / 2 ? tid : surrogate--;
        maker->of_thread[i] = NL_NO_TRACK;
        uint32_t parent = process == NL_NULL_ROW ? NL_NO_TRACK : maker->tracks->of_process[process];
        if (!used[i] || parent == NL_NO_TRACK)
            continue;
        struct nl_str name = nl_trace_name(maker->trace, table->name[i]);
        if (!name.len && tids[i] != tid)
            name = nl_str(nl_arena_format(&maker->tracks->arena, "thread %" PRId64, tid));
        struct nl_track track = {.kind = NL_TRACK_THREAD,
                                 .parent = parent,
                                 .pid = maker->tracks->items[parent].pid,
                                 .tid = tids[i],
                                 .name = name,
                                 .order = i,
                                 .row = i};
        maker->of_thread[i] = add_track(maker, &track);
    }
    nl_free(tids);
    nl_free(used);
}

/* ---- lanes ---- */

/* The group of a GPU in a process; made when it is first asked for. */
static uint32_t gpu_group(struct maker *maker, uint32_t process, uint32_t device)
{
    uint64_t hash = nl_hash_pair(process, device);
    uint32_t known =
        NL_LOOKUP(&maker->by_gpu, hash, i,
                  maker->groups[i].process == process && maker->groups[i].device == device);
    if (known != NL_NO_ROW)
        return maker->groups[known].track;
    const struct nl_trace *trace = maker->trace;
    uint32_t parent = process == NL_NULL_ROW ? NL_NO_TRACK : maker->tracks->of_process[process];
    int64_t ordinal = trace->device.ordinal[device];
    struct nl_str name = nl_trace_name(trace, trace->device.name[device]);
    char number[32] = "";
    if (ordinal != NL_NULL_I64)
        snprintf(number, sizeof number, " %" PRId64, ordinal);
    char *text = nl_arena_format(&maker->tracks->arena, "GPU%s%s%.*s", number, name.len ? ": " : "",
                                 (int)name.len, name.ptr);
    struct nl_track track = {.kind = NL_TRACK_GROUP,
                             .parent = parent,
                             .pid = parent == NL_NO_TRACK ? 0 : maker->tracks->items[parent].pid,
                             .name = nl_str(text),
                             .order = ordinal == NL_NULL_I64 ? device : ordinal,
                             .row = device};
    uint32_t added = add_track(maker, &track);
    nl_grow(&maker->groups, &maker->group_cap, maker->group_count + 1);
    nl_lookup_add(&maker->by_gpu, hash, (uint32_t)maker->group_count);
    maker->groups[maker->group_count++] = (struct group){process, device, added};
    return added;
}

/* What a lane is called if it has no name, or one that says less. */
static const char *lane_word(enum nl_lanekind kind)
{
    switch (kind) {
    case NL_LANE_STREAM: return "stream";
    case NL_LANE_SYNC: return "waits";
    case NL_LANE_GPU_ANNOTATION: return "GPU annotations";
    case NL_LANE_ANNOTATION: return "annotations";
    case NL_LANE_NVTX: return "NVTX";
    case NL_LANE_PYTHON: return "Python";
    case NL_LANE_OSRT: return "OS runtime";
    case NL_LANE_SCHED: return "scheduling";
    case NL_LANE_OVERHEAD: return "profiler overhead";
    default: return NULL;
    }
}

/* Is there another context on the lane's device that has a stream of this number? */
static bool same_stream_elsewhere(const struct nl_trace *trace, uint32_t lane)
{
    const struct nl_lane_table *table = &trace->lane;
    for (uint32_t i = 0; i < table->rows && i < 4096; i++)
        if (table->kind[i] == table->kind[lane] && table->device[i] == table->device[lane] &&
            table->process[i] == table->process[lane] && table->stream[i] == table->stream[lane] &&
            table->context[i] != table->context[lane])
            return true;
    return false;
}

/* " 7", or " of stream 7 (context 2)", for lanes of a device. */
static void stream_words(const struct nl_trace *trace, uint32_t lane, char *words, size_t room)
{
    const struct nl_lane_table *table = &trace->lane;
    words[0] = '\0';
    if (table->stream[lane] == NL_NULL_I64 || table->device[lane] == NL_NULL_ROW)
        return;
    const char *of = table->kind[lane] == NL_LANE_STREAM ? " " : " of stream ";
    snprintf(words, room, "%s%" PRId64, of, table->stream[lane]);
    size_t len = strlen(words);
    if (table->context[lane] != NL_NULL_I64 && same_stream_elsewhere(trace, lane))
        snprintf(words + len, room - len, " (context %" PRId64 ")", table->context[lane]);
}

static struct nl_str lane_name(struct maker *maker, uint32_t lane)
{
    const struct nl_trace *trace = maker->trace;
    const struct nl_lane_table *table = &trace->lane;
    const char *word = lane_word((enum nl_lanekind)table->kind[lane]);
    struct nl_str own = nl_trace_name(trace, table->name[lane]);
    struct nl_str domain = nl_trace_name(trace, table->domain[lane]);
    char stream[80];
    stream_words(trace, lane, stream, sizeof stream);
    if (table->kind[lane] == NL_LANE_THREAD && table->thread[lane] != NL_NULL_ROW)
        word = "overlapping";
    if (!word && (own.len || domain.len))
        return own.len ? own : domain;
    if (!word)
        word = nl_enum_text(NL_ENUM_lanekind, table->kind[lane]);
    bool shown = domain.len && !stream[0];
    return nl_str(nl_arena_format(&maker->tracks->arena, "%s%s%s%.*s", word ? word : "events",
                                  stream, shown ? ": " : "", (int)(shown ? domain.len : 0),
                                  domain.ptr));
}

static void add_lane(struct maker *maker, uint32_t lane)
{
    const struct nl_lane_table *table = &maker->trace->lane;
    uint32_t process = table->process[lane], thread = table->thread[lane];
    uint32_t parent = process == NL_NULL_ROW ? NL_NO_TRACK : maker->tracks->of_process[process];
    uint32_t own = thread == NL_NULL_ROW ? NL_NO_TRACK : maker->of_thread[thread];
    if (own != NL_NO_TRACK && table->kind[lane] == NL_LANE_THREAD && !table->sub[lane]) {
        maker->tracks->of_lane[lane] = own;
        return;
    }
    if (own != NL_NO_TRACK)
        parent = own;
    else if (table->device[lane] != NL_NULL_ROW)
        parent = gpu_group(maker, process, table->device[lane]);
    int64_t stream = table->stream[lane] == NL_NULL_I64 ? lane : table->stream[lane];
    struct nl_track track = {.kind = NL_TRACK_ROW,
                             .parent = parent,
                             .pid = parent == NL_NO_TRACK ? 0 : maker->tracks->items[parent].pid,
                             .name = lane_name(maker, lane),
                             .order = stream,
                             .row = lane};
    maker->tracks->of_lane[lane] = add_track(maker, &track);
}

void nl_tracks_make(struct nl_tracks *tracks, const struct nl_export *export)
{
    const struct nl_trace *trace = export->trace;
    *tracks = (struct nl_tracks){0};
    nl_arena_init(&tracks->arena);
    tracks->of_lane = nl_alloc((trace->lane.rows + 1) * sizeof *tracks->of_lane);
    tracks->of_process = nl_alloc((trace->process.rows + 1) * sizeof *tracks->of_process);
    struct maker maker = {.tracks = tracks,
                          .export = export,
                          .trace = trace,
                          .of_thread =
                              nl_alloc((trace->thread.rows + 1) * sizeof *maker.of_thread)};
    add_processes(&maker);
    add_threads(&maker);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        tracks->of_lane[lane] = NL_NO_TRACK;
        if (nl_scope_lane(&export->scope, lane))
            add_lane(&maker, lane);
    }
    nl_free(maker.of_thread);
    nl_free(maker.groups);
    nl_lookup_release(&maker.by_gpu);
}

uint32_t nl_tracks_add_row(struct nl_tracks *tracks, uint32_t lane)
{
    struct nl_track track = tracks->items[tracks->of_lane[lane]];
    if (track.kind == NL_TRACK_THREAD) {
        track.parent = tracks->of_lane[lane];
        track.name = nl_str("overlapping");
        track.kind = NL_TRACK_ROW;
        track.tid = 0;
    }
    nl_grow(&tracks->items, &tracks->cap, (size_t)tracks->count + 1);
    tracks->items[tracks->count] = track;
    return tracks->count++;
}

void nl_tracks_release(struct nl_tracks *tracks)
{
    nl_free(tracks->items);
    nl_free(tracks->of_lane);
    nl_free(tracks->of_process);
    nl_arena_free(&tracks->arena);
    *tracks = (struct nl_tracks){0};
}
