/*
 * GPU_CONTEXT_SWITCH_EVENTS: which context had a GPU, and so which process, also of programs that
 * were not recorded otherwise. A context has the GPU from the start of its restore to the end of
 * its save; both are separate rows, so that the table is one unit. The context numbers are the
 * driver's, not CUDA's; processes are those of the host, also for programs in containers.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/sort.h"
#include "ingest/nsys/nsysrows.h"
#include "ingest/nsys/nsysids.h"

enum { W_TIME, W_ORDER, W_TAG, W_GPU, W_CONTEXT, W_PROCESS, W_CELLS };
static const char *const columns[W_CELLS + 1] = {
    [W_TIME] = "timestamp", [W_ORDER] = "seqNo",       [W_TAG] = "tag",
    [W_GPU] = "gpuId",      [W_CONTEXT] = "contextId", [W_PROCESS] = "globalPid",
};

struct event {
    int64_t time, order;
    uint64_t process;
    uint32_t gpu, context; /* NL_NULL_U32: not given */
    uint8_t tag;           /* enum nsys_context_tag */
};

/* A context of a GPU, and since when it has it. */
struct holder {
    struct event since;
    bool holds;
};

struct switches {
    struct nsys_worker *worker;
    struct event *events;
    size_t count, cap;
    struct holder *holders;
    size_t holder_count, holder_cap;
    struct gpurows_map index; /* GPU and context → holder */
};

static bool is_stopped(const struct switches *switches, size_t count)
{
    struct nsys_worker *worker = switches->worker;
    if (count % 65536 == 0)
        worker->stop = nl_job_cancelled(worker->load->job);
    return worker->stop;
}

static void gather_switch(void *context, dbfile_cells cells)
{
    struct switches *switches = context;
    struct nsys_worker *worker = switches->worker;
    struct nl_slice_row when = nl_slice_row();
    const struct nsys_enum_map *tags = &worker->load->enums[NSYS_CONTEXT_TAG];
    struct event event = {.order = dbcell_i64(&cells[W_ORDER]),
                          .process = nsys_process_of(nsys_global(&cells[W_PROCESS])),
                          .gpu = dbcell_u32(&cells[W_GPU]),
                          .context = dbcell_u32(&cells[W_CONTEXT]),
                          .tag = tags->value[nsys_enum_index(&cells[W_TAG])]};
    if (switches->count >= UINT32_MAX || is_stopped(switches, worker->rows++))
        return;
    if (event.tag == NSYS_CONTEXT_NO_TIME) {
        worker->odd[NSYS_ODD_TIME_RANGE]++;
        return;
    }
    if (!nsys_times(worker, &cells[W_TIME], &cells[W_TIME], &when))
        return;
    event.time = when.ts;
    nl_grow(&switches->events, &switches->cap, switches->count + 1);
    switches->events[switches->count++] = event;
}

/* Row numbers by time, at equal times as the recorder numbered them. */
static struct nl_keyed *sorted(const struct switches *switches)
{
    size_t count = switches->count;
    struct nl_keyed *order = nl_alloc((2 * count + 1) * sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = (struct nl_keyed){nl_sort_key(switches->events[i].order), (uint32_t)i};
    nl_sort_keyed(order, order + count, count);
    for (size_t i = 0; i < count; i++)
        order[i].key = nl_sort_key(switches->events[order[i].row].time);
    nl_sort_keyed(order, order + count, count);
    return order;
}

static struct holder *holder_of(struct switches *switches, const struct event *event)
{
    bool made;
    uint64_t key = (uint64_t)event->gpu << 32 | event->context;
    uint64_t place = *gpurows_map_put(&switches->index, key, switches->holder_count, &made);
    if (made) {
        nl_grow(&switches->holders, &switches->holder_cap, switches->holder_count + 1);
        switches->holders[switches->holder_count++] = (struct holder){.holds = false};
    }
    return &switches->holders[place];
}

/* `end` NL_NULL_I64: it still had the GPU when the recording ended. */
static void stage_hold(struct nsys_worker *worker, struct holder *holder, int64_t end)
{
    const struct event *since = &holder->since;
    char text[48] = "GPU context";
    if (since->context != NL_NULL_U32)
        (void)snprintf(text, sizeof text, "GPU context %" PRIu32, since->context);
    struct nl_slice_row slice = nl_slice_row();
    slice.ts = since->time;
    slice.dur = end == NL_NULL_I64 ? NL_NULL_I64 : end - since->time;
    slice.kind = NL_KIND_DEVICE_OTHER;
    slice.name = nl_stage_name(worker->stage, nl_str(text));
    slice.lane = nsys_gpu_lane(worker, since->process, since->gpu, since->context);
    nl_stage_slice(worker->stage, &slice);
    holder->holds = false;
}

static void stage_reset(struct nsys_worker *worker, const struct event *event)
{
    struct nl_slice_row slice = nl_slice_row();
    slice.ts = event->time;
    slice.dur = 0;
    slice.kind = NL_KIND_MARK;
    slice.flags = NL_SLICE_INSTANT;
    slice.name = nl_stage_name(worker->stage, nl_str("GPU engine reset"));
    slice.lane = nsys_gpu_lane(worker, event->process, event->gpu, event->context);
    nl_stage_slice(worker->stage, &slice);
}

static void take_switch(struct switches *switches, const struct event *event)
{
    struct nsys_worker *worker = switches->worker;
    struct holder *holder = holder_of(switches, event);
    bool begins = event->tag == NSYS_CONTEXT_BEGINS, ends = event->tag == NSYS_CONTEXT_ENDS;
    if (event->tag == NSYS_CONTEXT_RESET)
        stage_reset(worker, event);
    else if (event->tag == NSYS_CONTEXT_OTHER)
        worker->odd[NSYS_ODD_CONTEXT_STAGE]++;
    worker->odd[NSYS_ODD_CONTEXT] += holder->holds ? begins : ends;
    if (holder->holds && (begins || ends || event->tag == NSYS_CONTEXT_RESET))
        stage_hold(worker, holder, event->time);
    /* A context that runs was restored before, even when that was not recorded. */
    if (!holder->holds && (begins || event->tag == NSYS_CONTEXT_RUNS))
        *holder = (struct holder){*event, true};
}

static void switches_whole(struct nsys_worker *worker, struct dbfile_table *table)
{
    struct switches switches = {.worker = worker};
    struct dbfile_reader *reader = dbfile_reader_new(&worker->load->db, table, columns);
    dbfile_reader_all(reader, &worker->scratch, gather_switch, &switches, &worker->damage);
    nl_free(reader);
    struct nl_keyed *order = sorted(&switches);
    for (size_t i = 0; i < switches.count && !is_stopped(&switches, i); i++)
        take_switch(&switches, &switches.events[order[i].row]);
    for (size_t i = 0; i < switches.holder_count; i++)
        if (switches.holders[i].holds)
            stage_hold(worker, &switches.holders[i], NL_NULL_I64);
    gpurows_map_release(&switches.index);
    nl_free(switches.holders);
    nl_free(switches.events);
    nl_free(order);
}
const struct nsys_handler nsys_context_switches = {.columns = columns, .whole = switches_whole};
