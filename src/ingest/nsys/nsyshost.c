/*
 * What threads did: CUDA API calls, which nest on the thread's own lane; and calls into libraries,
 * the operating system, MPI, and the profiler's overhead, each on separate lanes, because in real
 * files their times cross those of the API calls.
 */
#include <inttypes.h>
#include <stdio.h>

#include "ingest/nsys/nsysrows.h"
#include "ingest/nsys/nsysids.h"

/* CUPTI_ACTIVITY_KIND_RUNTIME: runtime and driver API. */
enum { A_START, A_END, A_THREAD, A_CORRELATION, A_NAME, A_RESULT, A_CHAIN, A_CELLS };
static const char *const api_columns[A_CELLS + 1] = {
    [A_START] = "start",       [A_END] = "end",
    [A_THREAD] = "globalTid",  [A_CORRELATION] = "correlationId",
    [A_NAME] = "nameId|name",  [A_RESULT] = "returnValue",
    [A_CHAIN] = "callchainId",
};

static void api_row(struct nsys_worker *worker, dbfile_cells cells)
{
    struct nl_slice_row slice = nl_slice_row();
    if (!nsys_times(worker, &cells[A_START], &cells[A_END], &slice))
        return;
    slice.kind = NL_KIND_API;
    slice.lane = nsys_thread_lane(worker, NL_LANE_THREAD, &cells[A_THREAD], true, 0);
    slice.name = nsys_api_name(worker, &cells[A_NAME]);
    struct nl_api_row api = nl_api_row();
    api.slice = nl_stage_slice(worker->stage, &slice);
    api.correlation = dbcell_id(&cells[A_CORRELATION]);
    api.result = dbcell_i64(&cells[A_RESULT]);
    nl_stage_api(worker->stage, &api);
    nsys_chain(worker, &worker->load->cuda_chains, &cells[A_CHAIN], api.slice);
}
const struct nsys_handler nsys_api_calls = {.columns = api_columns, .row = api_row};

/* Any table of named intervals on threads; the table of tables says kind, lane and domain. */
enum { H_START, H_END, H_THREAD, H_NAME, H_CHAIN, H_CELLS };
static const char *const host_columns[H_CELLS + 1] = {
    [H_START] = "start",       [H_END] = "end",
    [H_THREAD] = "globalTid",  [H_NAME] = "nameId|textId|name|text",
    [H_CHAIN] = "callchainId",
};

static void host_row(struct nsys_worker *worker, dbfile_cells cells)
{
    struct nl_slice_row slice = nl_slice_row();
    if (!nsys_times(worker, &cells[H_START], &cells[H_END], &slice))
        return;
    slice.kind = (uint8_t)worker->def->kind;
    slice.lane =
        nsys_thread_lane(worker, worker->def->lane, &cells[H_THREAD], true, worker->domain);
    slice.name = nsys_name(worker, &cells[H_NAME]);
    if (slice.name == NL_NO_NAME)
        slice.name = worker->domain;
    uint32_t row = nl_stage_slice(worker->stage, &slice);
    if (slice.kind == NL_KIND_OSRT)
        nsys_chain(worker, &worker->load->osrt_chains, &cells[H_CHAIN], row);
}
const struct nsys_handler nsys_host_calls = {.columns = host_columns, .row = host_row};

/* CUPTI_ACTIVITY_KIND_OVERHEAD, PROFILER_OVERHEAD */
enum { O_START, O_END, O_THREAD, O_NAME, O_TYPE, O_CELLS };
static const char *const overhead_columns[O_CELLS + 1] = {
    [O_START] = "start",      [O_END] = "end",           [O_THREAD] = "globalTid",
    [O_NAME] = "nameId|name", [O_TYPE] = "overheadType",
};

static void overhead_row(struct nsys_worker *worker, dbfile_cells cells)
{
    struct nl_slice_row slice = nl_slice_row();
    if (!nsys_times(worker, &cells[O_START], &cells[O_END], &slice))
        return;
    slice.kind = NL_KIND_OVERHEAD;
    slice.lane = nsys_thread_lane(worker, NL_LANE_OVERHEAD, &cells[O_THREAD], true, worker->domain);
    slice.name = nsys_name(worker, &cells[O_NAME]);
    if (slice.name == NL_NO_NAME)
        slice.name = worker->load->enums[NSYS_OVERHEAD_TYPE].name[nsys_enum_index(&cells[O_TYPE])];
    nl_stage_slice(worker->stage, &slice);
}
const struct nsys_handler nsys_overheads = {.columns = overhead_columns, .row = overhead_row};

/* CUDA_GRAPH_EVENTS, CUDA_GRAPH_NODE_EVENTS: graphs and nodes being made. Their ids, which no
 * other column holds, are kept as arguments. */
enum { R_START, R_END, R_THREAD, R_NAME, R_FIRST_ID, R_CELLS = R_FIRST_ID + 5 };
static const char *const graph_event_columns[R_CELLS + 1] = {
    [R_START] = "start",
    [R_END] = "end",
    [R_THREAD] = "globalTid",
    [R_NAME] = "nameId|name",
    [R_FIRST_ID] = "graphId",
    [R_FIRST_ID + 1] = "originalGraphId",
    [R_FIRST_ID + 2] = "graphExecId",
    [R_FIRST_ID + 3] = "graphNodeId",
    [R_FIRST_ID + 4] = "originalGraphNodeId",
};

static void graph_event_row(struct nsys_worker *worker, dbfile_cells cells)
{
    struct nl_slice_row slice = nl_slice_row();
    if (!nsys_times(worker, &cells[R_START], &cells[R_END], &slice))
        return;
    slice.kind = NL_KIND_GENERIC;
    slice.lane = nsys_thread_lane(worker, NL_LANE_GENERIC, &cells[R_THREAD], true, worker->domain);
    slice.name = nsys_api_name(worker, &cells[R_NAME]);
    struct nl_arg_row arg = nl_arg_row();
    arg.slice = nl_stage_slice(worker->stage, &slice);
    char text[256] = "{";
    size_t len = 1;
    for (int i = R_FIRST_ID; i < R_CELLS; i++)
        if (cells[i].type == SQLITEPAGES_INTEGER)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s\"%s\":%" PRIu64,
                                    len > 1 ? "," : "", graph_event_columns[i],
                                    (uint64_t)cells[i].integer);
    if (len == 1)
        return;
    text[len++] = '}';
    arg.text = nl_stage_name(worker->stage, (struct nl_str){text, len});
    nl_stage_arg(worker->stage, &arg);
}
const struct nsys_handler nsys_graph_events = {.columns = graph_event_columns,
                                               .row = graph_event_row};

/* MPI_COLLECTIVES_EVENTS, MPI_P2P_EVENTS: communication as the CPU sees it. */
enum { P_START, P_END, P_THREAD, P_NAME, P_SIZE, P_RECEIVED, P_PEER, P_CELLS };
static const char *const mpi_columns[P_CELLS + 1] = {
    [P_START] = "start",
    [P_END] = "end",
    [P_THREAD] = "globalTid",
    [P_NAME] = "textId|nameId|text|name",
    [P_SIZE] = "size",
    [P_RECEIVED] = "recvSize",
    [P_PEER] = "remoteRank|rootRank",
};

static void mpi_row(struct nsys_worker *worker, dbfile_cells cells)
{
    struct nl_slice_row slice = nl_slice_row();
    if (!nsys_times(worker, &cells[P_START], &cells[P_END], &slice))
        return;
    slice.kind = NL_KIND_COLLECTIVE;
    slice.lane = nsys_thread_lane(worker, NL_LANE_GENERIC, &cells[P_THREAD], true, worker->domain);
    slice.name = nsys_name(worker, &cells[P_NAME]);
    struct nl_collective_row row = nl_collective_row();
    row.slice = nl_stage_slice(worker->stage, &slice);
    row.operation = slice.name;
    uint64_t sent = dbcell_u64(&cells[P_SIZE]), received = dbcell_u64(&cells[P_RECEIVED]);
    row.bytes = sent;
    if (received != NL_NULL_U64 && (sent == NL_NULL_U64 || received > sent))
        row.bytes = received;
    row.peer = dbcell_i64(&cells[P_PEER]);
    nl_stage_collective(worker->stage, &row);
}
const struct nsys_handler nsys_mpi_calls = {.columns = mpi_columns, .row = mpi_row};

/* Tables of moments: CUDA_UM_CPU_PAGE_FAULT_EVENTS and events of outside sources. */
enum { T_TIME, T_THREAD, T_DATA, T_CELLS };
static const char *const mark_columns[T_CELLS + 1] = {
    [T_TIME] = "timestamp|start", [T_THREAD] = "globalTid|globalPid", [T_DATA] = "data"};

static void mark_row(struct nsys_worker *worker, dbfile_cells cells)
{
    struct nl_slice_row slice = nl_slice_row();
    if (!nsys_times(worker, &cells[T_TIME], &cells[T_TIME], &slice))
        return;
    slice.kind = (uint8_t)worker->def->kind;
    slice.flags = NL_SLICE_INSTANT;
    slice.lane =
        nsys_thread_lane(worker, worker->def->lane, &cells[T_THREAD], false, worker->domain);
    slice.name = worker->domain;
    uint32_t staged = nl_stage_slice(worker->stage, &slice);
    if (cells[T_DATA].type != SQLITEPAGES_TEXT)
        return;
    struct nl_arg_row arg = {.slice = staged, .text = nsys_name(worker, &cells[T_DATA])};
    nl_stage_arg(worker->stage, &arg);
}
const struct nsys_handler nsys_marks = {.columns = mark_columns, .row = mark_row};
