/*
 * Values over time: GPU metrics, metrics of network cards, and the memory that the CUDA allocator
 * gave out. Separate tables, read before (nsysinfo.c), say which metric is which.
 */
#include <inttypes.h>
#include <stdio.h>

#include "ingest/nsys/nsysrows.h"
#include "ingest/nsys/nsysids.h"

static double f64(dbfile_cells cell)
{
    if (cell->type == SQLITEPAGES_REAL)
        return cell->real;
    return cell->type == SQLITEPAGES_INTEGER ? (double)cell->integer : NL_NULL_F64;
}

static void stage_value(struct nsys_worker *worker, dbfile_cells time, dbfile_cells value,
                        uint32_t series)
{
    struct nl_slice_row when = nl_slice_row();
    if (!nsys_times(worker, time, time, &when))
        return;
    struct nl_counter_row row = {.ts = when.ts, .value = f64(value), .series = series};
    nl_stage_counter(worker->stage, &row);
}

/* GPU_METRICS: a metric is known by type (one per GPU) and number together. */
enum { G_TIME, G_TYPE, G_METRIC, G_VALUE, G_CELLS };
static const char *const metric_columns[G_CELLS + 1] = {
    [G_TIME] = "timestamp|start",
    [G_TYPE] = "typeId",
    [G_METRIC] = "metricId",
    [G_VALUE] = "value",
};

static void metric_row(struct nsys_worker *worker, dbfile_cells cells)
{
    struct nsys_load *load = worker->load;
    int64_t type = dbcell_i64(&cells[G_TYPE]), metric = dbcell_i64(&cells[G_METRIC]);
    const struct nsys_named *named = nsys_named_find(&load->metrics, NSYS_NOBODY, type, metric);
    uint32_t series;
    if (named) {
        series = named->name;
    } else {
        char text[64];
        (void)snprintf(text, sizeof text, "metric %" PRId64, metric);
        series = nl_builder_series(load->builder, nsys_metric_lane(load, type, worker->domain),
                                   nl_str(text), nl_str(""));
    }
    stage_value(worker, &cells[G_TIME], &cells[G_VALUE], series);
}
const struct nsys_handler nsys_gpu_metrics = {.columns = metric_columns, .row = metric_row};

/* NET_NIC_METRIC: lanes are network cards. */
enum { I_TIME, I_CARD, I_LIST, I_METRIC, I_VALUE, I_CELLS };
static const char *const nic_columns[I_CELLS + 1] = {
    [I_TIME] = "start|timestamp", [I_CARD] = "globalId", [I_LIST] = "metricsListId",
    [I_METRIC] = "metricsIdx",    [I_VALUE] = "value",
};

static void nic_row(struct nsys_worker *worker, dbfile_cells cells)
{
    struct nsys_load *load = worker->load;
    int64_t card = dbcell_i64(&cells[I_CARD]), metric = dbcell_i64(&cells[I_METRIC]);
    const struct nsys_named *named =
        nsys_named_find(&load->nic_metrics, NSYS_NOBODY, dbcell_i64(&cells[I_LIST]), metric);
    char text[64];
    (void)snprintf(text, sizeof text, "metric %" PRId64, metric);
    struct nl_lane_key lane = {.kind = NL_LANE_GENERIC,
                               .process = NL_NULL_ROW,
                               .thread = NL_NULL_ROW,
                               .device = NL_NULL_ROW,
                               .context = NL_NULL_I64,
                               .stream = card,
                               .domain = worker->domain};
    uint32_t series =
        nl_builder_series(load->builder, nl_builder_lane(load->builder, &lane),
                          named ? named->text : nl_str(text), named ? named->unit : nl_str(""));
    stage_value(worker, &cells[I_TIME], &cells[I_VALUE], series);
}
const struct nsys_handler nsys_nic_metrics = {.columns = nic_columns, .row = nic_row};

/* CUDA_GPU_MEMORY_USAGE_EVENTS */
enum {
    M_TIME,
    M_PROCESS,
    M_DEVICE,
    M_ADDRESS,
    M_BYTES,
    M_KIND,
    M_OPERATION,
    M_RESERVED,
    M_USED,
    M_CELLS
};
static const char *const memory_columns[M_CELLS + 1] = {
    [M_TIME] = "start|timestamp",
    [M_PROCESS] = "globalPid",
    [M_DEVICE] = "deviceId",
    [M_ADDRESS] = "address",
    [M_BYTES] = "bytes",
    [M_KIND] = "memKind",
    [M_OPERATION] = "memoryOperationType",
    [M_RESERVED] = "localMemoryPoolSize",
    [M_USED] = "localMemoryPoolUtilizedSize",
};

static void memory_row(struct nsys_worker *worker, dbfile_cells cells)
{
    const struct nsys_enum_map *operations = &worker->load->enums[NSYS_MEMORY_OPERATION];
    struct nl_slice_row when = nl_slice_row();
    if (!nsys_times(worker, &cells[M_TIME], &cells[M_TIME], &when))
        return;
    struct nl_memory_row row = nl_memory_row();
    row.ts = when.ts;
    row.lane = nsys_thread_lane(worker, NL_LANE_PROCESS, &cells[M_PROCESS], false, worker->domain);
    row.address = dbcell_u64(&cells[M_ADDRESS]);
    row.bytes = dbcell_i64(&cells[M_BYTES]);
    bool is_free = operations->value[nsys_enum_index(&cells[M_OPERATION])] == NSYS_MEMORY_FREE;
    if (is_free && row.bytes > 0)
        row.bytes = -row.bytes;
    row.device_type = 1; /* CUDA, as PyTorch numbers kinds of devices */
    row.device = dbcell_i64(&cells[M_DEVICE]);
    row.total_allocated = dbcell_u64(&cells[M_USED]);
    row.total_reserved = dbcell_u64(&cells[M_RESERVED]);
    row.kind = worker->load->enums[NSYS_MEMORY_KIND].label[nsys_enum_index(&cells[M_KIND])];
    nl_stage_memory(worker->stage, &row);
}
const struct nsys_handler nsys_memory_events = {.columns = memory_columns, .row = memory_row};
