/*
 * The format row of nvprof's SQLite exports (.nvprof, .nvvp). Their tables resemble those of Nsight
 * Systems; StringTable instead of StringIds distinguishes them.
 */
#include "ingest/nvprof/nvprof.h"

#include <stdio.h>

enum {
    D_ID,
    D_NAME,
    D_UNITS,
    D_MEMORY,
    D_BANDWIDTH,
    D_CLOCK,
    D_MAJOR,
    D_MINOR,
    D_WARP,
    D_WARPS,
    D_UUID
};
static const char *const device_columns[] = {[D_ID] = "id",
                                             [D_NAME] = "name",
                                             [D_UNITS] = "numMultiprocessors",
                                             [D_MEMORY] = "globalMemorySize",
                                             [D_BANDWIDTH] = "globalMemoryBandwidth",
                                             [D_CLOCK] = "coreClockRate",
                                             [D_MAJOR] = "computeCapabilityMajor",
                                             [D_MINOR] = "computeCapabilityMinor",
                                             [D_WARP] = "numThreadsPerWarp",
                                             [D_WARPS] = "maxWarpsPerMultiprocessor",
                                             [D_UUID] = "uuid",
                                             NULL};

static uint64_t thousands(dbfile_cells cell)
{
    int64_t value = dbcell_i64(cell);
    return value > 0 && value < INT64_MAX / 1000 ? (uint64_t)value * 1000 : NL_NULL_U64;
}

static uint32_t uuid_text(struct nl_builder *builder, dbfile_cells cell)
{
    if (cell->type != SQLITEPAGES_BLOB || cell->len != 16)
        return NL_NO_NAME;
    struct nl_buf text;
    nl_buf_init(&text, 64);
    nl_buf_text(&text, "GPU");
    for (uint32_t i = 0; i < 16; i++)
        nl_buf_format(&text, "%s%02x", i == 0 || (i >= 4 && i <= 10 && i % 2 == 0) ? "-" : "",
                      cell->bytes[i]);
    uint32_t name = nl_builder_name(builder, (struct nl_str){text.ptr, text.len});
    nl_buf_release(&text);
    return name;
}

static void device_row(void *context, dbfile_cells cells)
{
    struct nvprof *load = context;
    struct gpurows *rows = &load->db.rows;
    int64_t id = dbcell_i64(&cells[D_ID]);
    if (id == NL_NULL_I64)
        return;
    struct nl_device_row *row = nl_builder_device_row(
        rows->builder, nl_builder_device(rows->builder, rows->source, id, id));
    row->vendor = nl_builder_name(rows->builder, nl_str("nvidia"));
    row->sm_count = dbcell_u32(&cells[D_UNITS]);
    row->memory_bytes = dbcell_u64(&cells[D_MEMORY]);
    row->bandwidth_bytes_per_s = thousands(&cells[D_BANDWIDTH]);
    row->clock_hz = thousands(&cells[D_CLOCK]);
    row->compute_major = dbcell_u32(&cells[D_MAJOR]);
    row->compute_minor = dbcell_u32(&cells[D_MINOR]);
    row->warp_size = dbcell_u32(&cells[D_WARP]);
    row->max_warps_per_sm = dbcell_u32(&cells[D_WARPS]);
    row->uuid = uuid_text(rows->builder, &cells[D_UUID]);
}

/* Names of devices are strings by id; names of the stage cannot be used for devices. */
struct device_name {
    struct nvprof *load;
    int64_t device, string;
};

enum { S_ID, S_VALUE };
static const char *const string_columns[] = {[S_ID] = "_id_", [S_VALUE] = "value", NULL};

static void device_name_row(void *context, dbfile_cells cells)
{
    const struct device_name *want = context;
    struct gpurows *rows = &want->load->db.rows;
    if (dbcell_i64(&cells[S_ID]) != want->string)
        return;
    uint32_t device = nl_builder_device(rows->builder, rows->source, want->device, want->device);
    nl_builder_device_row(rows->builder, device)->name =
        nl_builder_name(rows->builder, dbrows_text(&cells[S_VALUE]));
}

enum { DEVICE_ID, DEVICE_NAME };
static const char *const device_name_columns[] = {[DEVICE_ID] = "id", [DEVICE_NAME] = "name", NULL};

static void name_device(void *context, dbfile_cells cells)
{
    struct nl_buf *list = context;
    nl_buf_format(list, "%lld %lld ", (long long)dbcell_i64(&cells[DEVICE_ID]),
                  (long long)dbcell_i64(&cells[DEVICE_NAME]));
}

static void name_devices(struct nvprof *load)
{
    struct nl_buf list;
    nl_buf_init(&list, 4096);
    (void)dbrows_each(&load->db, "CUPTI_ACTIVITY_KIND_DEVICE", device_name_columns, name_device,
                      &list);
    long long device, string;
    int used;
    for (const char *at = list.ptr ? list.ptr : "";
         sscanf(at, "%lld %lld %n", &device, &string, &used) == 2; at += used) {
        struct device_name want = {load, device, string};
        (void)dbrows_each(&load->db, "StringTable", string_columns, device_name_row, &want);
    }
    nl_buf_release(&list);
}

enum { CONTEXT_ID, CONTEXT_DEVICE };
static const char *const context_columns[] = {
    [CONTEXT_ID] = "contextId", [CONTEXT_DEVICE] = "deviceId", NULL};

static void context_row(void *context, dbfile_cells cells)
{
    struct nvprof *load = context;
    if (cells[CONTEXT_ID].type == SQLITEPAGES_INTEGER &&
        cells[CONTEXT_DEVICE].type == SQLITEPAGES_INTEGER)
        (void)gpurows_map_put(&load->contexts, (uint64_t)cells[CONTEXT_ID].integer,
                              (uint64_t)cells[CONTEXT_DEVICE].integer, NULL);
}

enum { VERSION };
static const char *const version_columns[] = {[VERSION] = "version", NULL};

static void version_row(void *context, dbfile_cells cells)
{
    struct nvprof *load = context;
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)dbcell_i64(&cells[VERSION]));
    if (cells[VERSION].type == SQLITEPAGES_INTEGER)
        nl_builder_meta(load->db.rows.builder, load->db.rows.source, "nvprof schema version",
                        nl_str(text));
}

static const char *const known[] = {
    "CUPTI_ACTIVITY_KIND_DEVICE",  "CUPTI_ACTIVITY_KIND_CONTEXT",
    "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER",
    "CUPTI_ACTIVITY_KIND_KERNEL",  "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",  "CUPTI_ACTIVITY_KIND_CDP_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY2", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "CUPTI_ACTIVITY_KIND_MEMSET",  "CUPTI_ACTIVITY_KIND_OVERHEAD",
    "CUPTI_ACTIVITY_KIND_MARKER",  "CUPTI_ACTIVITY_KIND_STREAM",
    "CUPTI_ACTIVITY_KIND_NAME",    "CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE",
    "CUPTI_ACTIVITY_KIND_PCIE",    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_ACTIVITY_KIND_NVLINK",  NULL};

static void load_tables(struct nvprof *load)
{
    struct dbrows *db = &load->db;
    dbrows_strings_load(db, &load->strings, "StringTable", "_id_", "value");
    (void)dbrows_each(db, "Version", version_columns, version_row, load);
    (void)dbrows_each(db, "CUPTI_ACTIVITY_KIND_DEVICE", device_columns, device_row, load);
    name_devices(load);
    (void)dbrows_each(db, "CUPTI_ACTIVITY_KIND_CONTEXT", context_columns, context_row, load);
    nvprof_rows_load(load);
    dbrows_tell_others(db, "CUPTI_ACTIVITY_KIND_", known);
    const struct {
        const char *item;
        uint64_t count;
        const char *detail;
    } notes[] = {
        {"ranges that end without a start", load->lost_ends, "begun before the recording"},
        {"calls with an unknown number", load->unknown_calls, "of a newer CUDA"},
        {"no events in the file", db->rows.rows == 0, "the program was killed, or used no GPU"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (notes[i].count > 0)
            nl_builder_coverage(db->rows.builder, db->rows.source, notes[i].item,
                                (int64_t)notes[i].count, notes[i].detail);
}

static bool nvprof_load(struct nl_reading *reading, struct nl_err *err)
{
    struct nvprof *load = nl_zalloc(sizeof *load);
    bool done = dbrows_open(&load->db, reading, err);
    if (done) {
        nl_builder_clock(reading->builder, reading->source, "utc", 0);
        nl_builder_tool(reading->builder, reading->source, nl_str("nvprof"));
        load->pid = NL_NULL_I64;
        load_tables(load);
        done = dbrows_close(&load->db, err);
    }
    gpurows_map_release(&load->strings.map);
    gpurows_map_release(&load->contexts);
    gpurows_map_release(&load->marks);
    nl_free(load->range);
    nl_free(load);
    return done;
}

static int nvprof_sniff(const struct nl_input *input, const char **why)
{
    static const char *const marks[] = {"StringTable", "CUPTI_ACTIVITY_KIND_RUNTIME"};
    unsigned found = dbrows_marks(input, marks, 2);
    if (found == 1 && dbrows_marks(input, marks, 1) == 1)
        *why = "a SQLite file without nvprof's tables of activities";
    return found == 2 ? 92 : 0;
}

const struct nl_format nl_format_nvprof = {.name = "nvprof",
                                           .title = "nvprof SQLite export",
                                           .sniff = nvprof_sniff,
                                           .load = nvprof_load,
                                           .reach = NL_REACH_COPIES,
                                           .doc = "formats/nvprof.md"};
