/*
 * After the events: names for the processes, threads and streams that turned up in them (the file
 * lists every process of the machine), ranks, and coverage: what is not in the file and how to
 * record it, what is in it and was not loaded, what the recording program itself complained of.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/nsys/nsys.h"
#include "ingest/nsys/nsysids.h"

/* ---- Who turned up ---- */

struct seen {
    uint64_t *list; /* threads and processes, ascending, each once */
    size_t count, cap;
};

static void see(struct seen *seen, uint64_t global)
{
    nl_grow(&seen->list, &seen->cap, seen->count + 1);
    seen->list[seen->count++] = global;
}

static int by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

static void see_lanes(struct seen *seen, const struct nsys_worker *worker)
{
    for (uint32_t i = 0; i < worker->lane_count; i++) {
        const struct nsys_known_lane *known = &worker->lanes[i];
        if (known->who == NSYS_NOBODY)
            continue;
        see(seen, nsys_process_of(known->who));
        if (known->thread)
            see(seen, known->who);
    }
}

static void see_all(struct seen *seen, const struct nsys_load *load)
{
    for (unsigned i = 0; i < load->worker_count; i++)
        see_lanes(seen, &load->workers[i]);
    if (seen->count == 0)
        return;
    qsort(seen->list, seen->count, sizeof *seen->list, by_value);
    size_t kept = 1;
    for (size_t i = 1; i < seen->count; i++)
        if (seen->list[i] != seen->list[kept - 1])
            seen->list[kept++] = seen->list[i];
    seen->count = kept;
}

static bool was_seen(const struct seen *seen, uint64_t global)
{
    return seen->count > 0 &&
           bsearch(&global, seen->list, seen->count, sizeof *seen->list, by_value) != NULL;
}

/* ---- Names ---- */

struct naming {
    struct nsys_load *load;
    struct seen seen;
    struct nsys_named_list threads; /* a: priority, b: order; the greatest wins */
};

enum { P_GLOBAL, P_NAME };
static const char *const process_columns[] = {[P_GLOBAL] = "globalPid", [P_NAME] = "name", NULL};

static void process_row(void *context, const struct sqlitepages_cell *cells)
{
    struct naming *naming = context;
    struct nsys_load *load = naming->load;
    uint64_t global = nsys_global(&cells[P_GLOBAL]);
    struct nl_str name = nsys_text(load, &cells[P_NAME]);
    if (name.len == 0 || !was_seen(&naming->seen, global))
        return;
    uint32_t process = nl_builder_process(load->builder, load->source, nsys_pid(global));
    nl_builder_process_name(load->builder, process, name);
}

enum { T_GLOBAL, T_NAME, T_PRIORITY };
static const char *const thread_columns[] = {
    [T_GLOBAL] = "globalTid", [T_NAME] = "nameId", [T_PRIORITY] = "priority", NULL};

static void thread_row(void *context, const struct sqlitepages_cell *cells)
{
    struct naming *naming = context;
    uint64_t global = nsys_global(&cells[T_GLOBAL]);
    struct nl_str name = nsys_text(naming->load, &cells[T_NAME]);
    if (name.len == 0 || !was_seen(&naming->seen, global))
        return;
    int64_t priority = dbcell_i64(&cells[T_PRIORITY]);
    struct nl_str copy = {nl_arena_text(&naming->load->db.arena, name.ptr, name.len), name.len};
    nsys_named_add(&naming->threads,
                   (struct nsys_named){.process = global,
                                       .a = priority == NL_NULL_I64 ? 0 : priority,
                                       .b = (int64_t)naming->threads.count,
                                       .text = copy});
}

static void name_thread(struct nsys_load *load, uint64_t global, struct nl_str name)
{
    uint32_t process = nl_builder_process(load->builder, load->source, nsys_pid(global));
    uint32_t thread = nl_builder_thread(load->builder, process, nsys_tid(global));
    nl_builder_thread_name(load->builder, thread, name);
}

/* Names that the program gave by NVTX, then those of the system where it gave none. */
static void name_threads(struct naming *naming)
{
    struct nsys_load *load = naming->load;
    nsys_each(load, "ThreadNames", thread_columns, thread_row, naming);
    nsys_named_sort(&naming->threads);
    const struct nsys_named_list *lists[] = {&load->nvtx_threads, &naming->threads};
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++)
        for (size_t i = 0; i < lists[k]->count; i++) {
            const struct nsys_named *named = &lists[k]->list[i];
            bool last = i + 1 == lists[k]->count || named[1].process != named->process;
            if (last && was_seen(&naming->seen, named->process))
                name_thread(load, named->process, named->text);
        }
}

/* ---- Streams ---- */

enum { S_PID, S_CONTEXT, S_STREAM, S_NAME, S_CELLS };
static const char *const stream_columns[S_CELLS + 1] = {[S_PID] = "processId",
                                                        [S_CONTEXT] = "contextId",
                                                        [S_STREAM] = "nullStreamId|streamId",
                                                        [S_NAME] = "name"};

static void stream_row(void *context, const struct sqlitepages_cell *cells)
{
    struct nsys_load *load = ((struct naming *)context)->load;
    int64_t pid = dbcell_i64(&cells[S_PID]), stream = dbcell_i64(&cells[S_STREAM]);
    int64_t within = dbcell_i64(&cells[S_CONTEXT]);
    struct nl_str name = nsys_text(load, &cells[S_NAME]);
    char text[48];
    (void)snprintf(text, sizeof text, "default stream %" PRId64, stream);
    for (unsigned w = 0; w < load->worker_count; w++)
        for (uint32_t i = 0; i < load->workers[w].lane_count; i++) {
            const struct nsys_known_lane *known = &load->workers[w].lanes[i];
            if (known->kind == NL_LANE_STREAM && nsys_pid(known->who) == pid &&
                known->context == within && known->stream == stream)
                nl_builder_lane_name(load->builder, known->lane, name.len ? name : nl_str(text));
        }
}

/* ---- Ranks ---- */

/* A rank in the launched program's environment is right when one process alone used a device: a
 * launcher that starts several hides theirs. */
static void settle_rank(struct nsys_load *load)
{
    uint64_t process = NSYS_NOBODY;
    if (load->rank == NL_NULL_I64 || load->mpi_ranks > 0 || load->input->rank != NL_NULL_I64)
        return;
    for (unsigned w = 0; w < load->worker_count; w++)
        for (uint32_t i = 0; i < load->workers[w].lane_count; i++) {
            const struct nsys_known_lane *known = &load->workers[w].lanes[i];
            if (known->kind != NL_LANE_STREAM || known->who == NSYS_NOBODY)
                continue;
            if (process != NSYS_NOBODY && process != known->who)
                return;
            process = known->who;
        }
    if (process != NSYS_NOBODY)
        nl_builder_rank(load->builder, load->source, load->rank);
}

void nsys_names_load(struct nsys_load *load)
{
    struct naming naming = {.load = load};
    see_all(&naming.seen, load);
    nsys_each(load, "PROCESSES", process_columns, process_row, &naming);
    name_threads(&naming);
    nsys_each(load, "TARGET_INFO_CUDA_NULL_STREAM", stream_columns, stream_row, &naming);
    nsys_each(load, "TARGET_INFO_CUDA_CONTEXT_INFO", stream_columns, stream_row, &naming);
    nsys_each(load, "TARGET_INFO_NVTX_CUDA_STREAM", stream_columns, stream_row, &naming);
    settle_rank(load);
    nl_free(naming.seen.list);
    nl_free(naming.threads.list);
}
