/*
 * The CPU side that other tables do not have: when threads ran, and where they were when sampled.
 * Both need rows of the whole table together: the switch in and the switch out of a thread, the
 * frames of one stack. So each table is one unit.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/search.h"
#include "base/sort.h"
#include "ingest/nsys/nsysrows.h"
#include "ingest/nsys/nsysids.h"

#define COLUMNS 5

/* Rows of a whole table as fixed numbers. */
struct gathered {
    struct nsys_worker *worker;
    int64_t (*rows)[COLUMNS];
    size_t count, cap;
    unsigned columns;
};

/* Looks now and then whether the person who waits has had enough. */
static bool is_stopped(struct nsys_worker *worker, size_t count)
{
    if (count % 65536 == 0)
        worker->stop = nl_job_cancelled(worker->load->job);
    return worker->stop;
}

static void gather_row(void *context, const struct sqlitepages_cell *cells)
{
    struct gathered *gathered = context;
    if (gathered->count >= UINT32_MAX || is_stopped(gathered->worker, gathered->count))
        return;
    if (gathered->count == gathered->cap)
        nl_grow(&gathered->rows, &gathered->cap, gathered->count + 1);
    for (unsigned i = 0; i < gathered->columns; i++)
        gathered->rows[gathered->count][i] = dbcell_i64(&cells[i]);
    gathered->count++;
}

static void gather_all(struct gathered *gathered, struct dbfile_table *table,
                       const char *const *columns, sqlitepages_row_fn *row)
{
    struct nsys_worker *worker = gathered->worker;
    struct dbfile_reader *reader = dbfile_reader_new(&worker->load->db, table, columns);
    dbfile_reader_all(reader, &worker->scratch, row, gathered, &worker->damage);
    nl_free(reader);
}

/* ---- SCHED_EVENTS: a thread switched in, later out ---- */

enum { S_TIME, S_CPU, S_IN, S_THREAD, S_STATE, S_CELLS };
static const char *const sched_columns[S_CELLS + 1] = {[S_TIME] = "start",
                                                       [S_CPU] = "cpu",
                                                       [S_IN] = "isSchedIn",
                                                       [S_THREAD] = "globalTid",
                                                       [S_STATE] = "threadState"};

/* When a thread began to run. */
struct running {
    int64_t thread, since, cpu;
    bool runs;
};
struct run_table {
    struct running *items;
    size_t count, cap;
    struct nl_idmap by_thread;
};

static struct running *running_of(struct run_table *table, int64_t thread)
{
    uint32_t row = nl_idmap_get_or_put(&table->by_thread, (uint64_t)thread, (uint32_t)table->count);
    if (row == table->count) {
        nl_grow(&table->items, &table->cap, table->count + 1);
        table->items[table->count++] = (struct running){.thread = thread};
    }
    return &table->items[row];
}

static uint32_t cpu_name(struct nsys_worker *worker, int64_t cpu)
{
    char text[32] = "running";
    if (cpu != NL_NULL_I64)
        (void)snprintf(text, sizeof text, "CPU %" PRId64, cpu);
    return nl_stage_name(worker->stage, nl_str(text));
}

/* ENUM_SAMPLING_THREAD_STATE of a switch out: what it says about the time
 * until the next switch in. */
static uint8_t state_flag(int64_t state)
{
    enum { RUNNING = 1, INTERRUPTIBLE = 2, UNINTERRUPTIBLE = 3, WAITING = 7 };
    switch (state) {
    case RUNNING: return NL_SLICE_READY;
    case INTERRUPTIBLE:
    case UNINTERRUPTIBLE:
    case WAITING: return NL_SLICE_WAITS;
    default: return 0;
    }
}

/* Stages the time that `slot` ran; `end` NULL when its switch out was not recorded. */
static void stage_run(struct nsys_worker *worker, const struct running *slot, int64_t end,
                      int64_t state)
{
    struct sqlitepages_cell since = {.integer = slot->since, .type = SQLITEPAGES_INTEGER};
    struct sqlitepages_cell until = {.integer = end, .type = SQLITEPAGES_INTEGER};
    struct sqlitepages_cell thread = {.integer = slot->thread, .type = SQLITEPAGES_INTEGER};
    if (end == NL_NULL_I64)
        until.type = SQLITEPAGES_NULL;
    if (slot->thread == NL_NULL_I64)
        thread.type = SQLITEPAGES_NULL;
    struct nl_slice_row slice = nl_slice_row();
    if (!nsys_times(worker, &since, &until, &slice))
        return;
    slice.kind = NL_KIND_SCHED;
    slice.lane = nsys_thread_lane(worker, NL_LANE_SCHED, &thread, true, 0);
    slice.name = cpu_name(worker, slot->cpu);
    slice.flags = state_flag(state);
    nl_stage_slice(worker->stage, &slice);
}

static void pair_switches(struct nsys_worker *worker, int64_t (*rows)[COLUMNS],
                          const struct nl_keyed *order, size_t count)
{
    struct run_table table = {0};
    for (size_t i = 0; i < count && !is_stopped(worker, i); i++) {
        const int64_t *row = rows[order[i].row];
        struct running *slot = running_of(&table, row[S_THREAD]);
        if (row[S_IN] == 1) {
            if (slot->runs) { /* its switch out was lost */
                worker->odd[NSYS_ODD_SCHED]++;
                stage_run(worker, slot, row[S_TIME], NL_NULL_I64);
            }
            slot->since = row[S_TIME];
            slot->cpu = row[S_CPU];
            slot->runs = true;
        } else if (slot->runs) {
            stage_run(worker, slot, row[S_TIME], row[S_STATE]);
            slot->runs = false;
        } else {
            worker->odd[NSYS_ODD_SCHED]++;
        }
    }
    for (size_t i = 0; i < table.count; i++)
        if (table.items[i].runs)
            stage_run(worker, &table.items[i], NL_NULL_I64, NL_NULL_I64);
    nl_free(table.items);
    nl_idmap_release(&table.by_thread);
}

static void sched_whole(struct nsys_worker *worker, struct dbfile_table *table)
{
    struct gathered gathered = {.worker = worker, .columns = S_CELLS};
    gather_all(&gathered, table, sched_columns, gather_row);
    struct nl_keyed *order = nl_alloc((gathered.count + 1) * sizeof *order);
    struct nl_keyed *scratch = nl_alloc((gathered.count + 1) * sizeof *scratch);
    for (size_t i = 0; i < gathered.count; i++)
        order[i] = (struct nl_keyed){nl_sort_key(gathered.rows[i][S_TIME]), (uint32_t)i};
    nl_sort_keyed(order, scratch, gathered.count);
    nl_free(scratch);
    pair_switches(worker, gathered.rows, order, gathered.count);
    worker->rows += gathered.count;
    nl_free(order);
    nl_free(gathered.rows);
}
const struct nsys_handler nsys_sched_events = {.columns = sched_columns, .whole = sched_whole};

/* ---- SAMPLING_CALLCHAINS: frames of a stack, 0 = innermost ---- */

enum { F_ID, F_DEPTH, F_SYMBOL, F_MODULE, F_CELLS };
static const char *const frame_columns[F_CELLS + 1] = {
    [F_ID] = "id", [F_DEPTH] = "stackDepth", [F_SYMBOL] = "symbol", [F_MODULE] = "module"};

static void gather_frame(void *context, const struct sqlitepages_cell *cells)
{
    struct gathered *gathered = context;
    size_t at = gathered->count;
    gather_row(gathered, cells);
    if (gathered->count == at)
        return;
    gathered->rows[at][F_SYMBOL] = nsys_name(gathered->worker, &cells[F_SYMBOL]);
    gathered->rows[at][F_MODULE] = nsys_name(gathered->worker, &cells[F_MODULE]);
}

/* Stack by stack, innermost frame first, as exports have them anyway. */
static int by_stack(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;
    if (a[F_ID] != b[F_ID])
        return a[F_ID] < b[F_ID] ? -1 : 1;
    return (a[F_DEPTH] > b[F_DEPTH]) - (a[F_DEPTH] < b[F_DEPTH]);
}

static void sort_frames(int64_t (*rows)[COLUMNS], size_t count)
{
    size_t i = 1;
    while (i < count && by_stack(rows[i - 1], rows[i]) <= 0)
        i++;
    if (i < count)
        qsort(rows, count, sizeof *rows, by_stack);
}

/* The prefix tree while it grows: its nodes by (parent, symbol, module). */
struct tree {
    struct nl_stack_row *nodes;
    size_t count, cap;
    struct nl_lookup children;
};

/* Node of a frame below its caller, made and staged when it is new. */
static uint32_t node_of(struct nsys_worker *worker, struct tree *tree,
                        const struct nl_stack_row *node)
{
    uint64_t hash = nl_hash_pair((uint64_t)node->parent << 32 | node->name, node->module);
    uint32_t row =
        NL_LOOKUP(&tree->children, hash, i,
                  tree->nodes[i].parent == node->parent && tree->nodes[i].name == node->name &&
                      tree->nodes[i].module == node->module);
    if (row != NL_NO_ROW)
        return row;
    nl_grow(&tree->nodes, &tree->cap, tree->count + 1);
    tree->nodes[tree->count] = *node;
    nl_lookup_add(&tree->children, hash, (uint32_t)tree->count);
    nl_stage_stack(worker->stage, node);
    return (uint32_t)tree->count++;
}

/* Turns sorted frames into the tree; afterwards rows[i] = {stack id, innermost node}. */
static size_t grow_tree(struct nsys_worker *worker, int64_t (*rows)[COLUMNS], size_t count)
{
    struct tree tree = {0};
    size_t stacks = 0;
    for (size_t first = 0, end; first < count && !is_stopped(worker, stacks); first = end) {
        int64_t id = rows[first][F_ID];
        uint32_t node = NL_NULL_ROW;
        for (end = first; end < count && rows[end][F_ID] == id; end++)
            ;
        for (size_t i = end; i-- > first;) { /* callers before what they call */
            struct nl_stack_row frame = nl_stack_row();
            frame.parent = node;
            frame.name = (uint32_t)rows[i][F_SYMBOL];
            frame.module = (uint32_t)rows[i][F_MODULE];
            node = node_of(worker, &tree, &frame);
        }
        rows[stacks][0] = id;
        rows[stacks++][1] = node;
    }
    nl_free(tree.nodes);
    nl_lookup_release(&tree.children);
    return stacks;
}

/* ---- COMPOSITE_EVENTS: one row per sample ---- */

enum { C_ID, C_TIME, C_THREAD, C_CPU, C_CYCLES, C_CELLS };
static const char *const sample_columns[C_CELLS + 1] = {[C_ID] = "id",
                                                        [C_TIME] = "start",
                                                        [C_THREAD] = "globalTid",
                                                        [C_CPU] = "cpu",
                                                        [C_CYCLES] = "cpuCycles"};

static uint32_t stack_of(const struct gathered *stacks, int64_t id)
{
    size_t low = NL_FIRST(i, 0, stacks->count, stacks->rows[i][0] >= id);
    bool found = low < stacks->count && stacks->rows[low][0] == id;
    return found ? (uint32_t)stacks->rows[low][1] : NL_NULL_ROW;
}

static void sample_row(void *context, const struct sqlitepages_cell *cells)
{
    struct gathered *stacks = context;
    struct nsys_worker *worker = stacks->worker;
    struct nl_slice_row when = nl_slice_row();
    worker->rows++;
    if (!nsys_times(worker, &cells[C_TIME], &cells[C_TIME], &when))
        return;
    struct nl_sample_row row = nl_sample_row();
    row.ts = when.ts;
    row.lane = nsys_thread_lane(worker, NL_LANE_THREAD, &cells[C_THREAD], true, 0);
    row.cpu = dbcell_i64(&cells[C_CPU]);
    row.weight = dbcell_i64(&cells[C_CYCLES]);
    row.stack = stack_of(stacks, dbcell_i64(&cells[C_ID]));
    if (row.stack == NL_NULL_ROW)
        worker->odd[NSYS_ODD_NO_STACK]++;
    nl_stage_sample(worker->stage, &row);
}

static void samples_whole(struct nsys_worker *worker, struct dbfile_table *table)
{
    struct gathered stacks = {.worker = worker, .columns = F_CELLS};
    struct dbfile_table *frames = worker->load->frames;
    if (frames)
        gather_all(&stacks, frames, frame_columns, gather_frame);
    sort_frames(stacks.rows, stacks.count);
    stacks.count = grow_tree(worker, stacks.rows, stacks.count);
    stacks.columns = C_CELLS;
    gather_all(&stacks, table, sample_columns, sample_row);
    nl_free(stacks.rows);
}
const struct nsys_handler nsys_samples = {.columns = sample_columns, .whole = samples_whole};
