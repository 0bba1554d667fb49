/*
 * What describes the recording, read before its events: when time 0 was, which program wrote the
 * file, which GPUs and metrics there are, which process is which rank.
 *
 * Privacy: the file holds the whole environment of the launched program, its output, host and user
 * names. Only the keys listed here become metadata (among them the host's name, which PyTorch's and
 * our own recordings also have); of the environment only a rank is looked at.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/utf8.h"
#include "ingest/nsys/nsys.h"
#include "ingest/nsys/nsysids.h"

bool nsys_each(struct nsys_load *load, const char *name, const char *const *columns,
               sqlitepages_row_fn *row, void *context)
{
    struct dbfile_table *table = dbfile_find(&load->db, name);
    if (!table)
        return false;
    struct dbfile_reader *reader = dbfile_reader_new(&load->db, table, columns);
    dbfile_reader_all(reader, &load->workers[0].scratch, row, context, &load->db.damage);
    nl_free(reader);
    return true;
}

/* A copy that outlives the row. */
static struct nl_str kept(struct nsys_load *load, struct nl_str text)
{
    return (struct nl_str){nl_arena_text(&load->db.arena, text.ptr, text.len), text.len};
}

/* ---- Metadata ---- */

/* Keys that may be shown: whole names, or beginnings that end in *. */
static const char *const shown_keys[] = {
    "EXPORT_PRODUCT_NAME",
    "EXPORT_PRODUCT_VERSION",
    "EXPORT_SCHEMA_VERSION",
    "EXPORT_PLATFORM",
    "EXPORT_ARCH",
    "EXPORT_TIME_UTC",
    "EXPORT_PARAM_LAZY",
    "EXPORT_PARAM_INCLUDE_*",
    "EXPORT_PARAM_TIME_*",
    "EXPORT_PARAM_TABLES_TO_EXPORT",
    "EXPORT_PARAM_TIMES_TO_EXPORT",
    "CAPTURE_EVENT_TYPE",
    "RATE_HZ",
    "START_TRIGGER",
    "STOP_TRIGGER",
    "START_DELAY_MS",
    "RUN_DURATION_MS",
    "CUDA_GRAPH_TRACE_OPTIONS:*",
    "CUDA_*",
    "COLLECT_*",
    "OS_RUNTIME_OPTIONS:*",
    "COMMAND",
    "OsDescription",
    "KernelVersion",
    "CpuDescription",
    "CpuCores",
    "CpuSpeedMhz",
    "CpuArchitecture",
    "NvDriverVersion",
    "CudaDriverVersion",
    "HardwarePlatform",
    "Hostname", /* measured roofs are kept by host */
};

/* Where the launched program's own rank stands, best first. */
static const char *const rank_variables[] = {
    "RANK",         "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
    "SLURM_PROCID", "LOCAL_RANK",
};
#define RANK_VARIABLES (sizeof rank_variables / sizeof rank_variables[0])

/* `NAME="VALUE"` */
static void look_at_variable(struct nsys_load *load, struct nl_str text)
{
    load->variables++;
    for (size_t i = 0; i < load->rank_variable; i++) {
        size_t len = strlen(rank_variables[i]);
        if (text.len <= len + 1 || memcmp(text.ptr, rank_variables[i], len) != 0 ||
            text.ptr[len] != '=')
            continue;
        struct nl_str value = {text.ptr + len + 1, text.len - len - 1};
        if (value.len >= 2 && value.ptr[0] == '"')
            value = (struct nl_str){value.ptr + 1, value.len - 2};
        int64_t rank;
        if (nl_parse_i64(value, &rank) && rank >= 0 && rank < INT32_MAX) {
            load->rank = rank;
            load->rank_variable = (unsigned)i;
        }
    }
}

static bool is_shown(struct nl_str key)
{
    for (size_t i = 0; i < sizeof shown_keys / sizeof shown_keys[0]; i++) {
        size_t len = strcspn(shown_keys[i], "*");
        if (shown_keys[i][len] ? key.len > len && memcmp(key.ptr, shown_keys[i], len) == 0
                               : nl_str_is(key, shown_keys[i]))
            return true;
    }
    return false;
}

enum { M_NAME, M_VALUE };
static const char *const meta_columns[] = {[M_NAME] = "name", [M_VALUE] = "value", NULL};

static void meta_row(void *context, const struct sqlitepages_cell *cells)
{
    struct nsys_load *load = context;
    struct nl_str key = nsys_text(load, &cells[M_NAME]), value = nsys_text(load, &cells[M_VALUE]);
    struct nl_str last = key; /* the part after PROCESS_0: */
    if (nl_str_starts(key, "PROCESS_")) {
        const char *colon = memchr(key.ptr, ':', key.len);
        if (colon)
            last = (struct nl_str){colon + 1, key.len - (size_t)(colon + 1 - key.ptr)};
    }
    if (nl_str_is(last, "ENVIRONMENT_VARIABLE")) {
        look_at_variable(load, value);
        return;
    }
    if (nl_str_is(key, "EXPORT_PRODUCT_VERSION"))
        load->version = kept(load, value);
    if (nl_str_is(key, "EXPORT_PARAM_TIME_NORMALIZE"))
        load->times_normalized = nl_str_is(value, "true");
    if (nl_str_is(key, "EXPORT_PARAM_TIME_SHIFT"))
        (void)nl_parse_i64(value, &load->time_shift);
    if (!is_shown(last) || value.len == 0 || nl_str_is(value, "false"))
        return;
    if (nl_str_is(value, "unknown") &&
        (nl_str_is(key, "CpuDescription") || nl_str_is(key, "Hostname")))
        return;
    char name[96];
    (void)snprintf(name, sizeof name, "%.*s", NL_UP_TO(95, key));
    nl_builder_meta(load->builder, load->source, name, value);
}

enum { UTC_EPOCH_NS };
static const char *const start_columns[] = {[UTC_EPOCH_NS] = "utcEpochNs", NULL};

static void start_row(void *context, const struct sqlitepages_cell *cells)
{
    *(int64_t *)context = dbcell_i64(&cells[UTC_EPOCH_NS]);
}

static void load_session(struct nsys_load *load)
{
    load->rank = NL_NULL_I64;
    load->rank_variable = RANK_VARIABLES;
    if (!nsys_each(load, "META_DATA_EXPORT", meta_columns, meta_row, load))
        nsys_each(load, "EXPORT_META_DATA", meta_columns, meta_row, load);
    char tool[96] = "Nsight Systems";
    if (load->version.len > 0)
        (void)snprintf(tool, sizeof tool, "Nsight Systems %.*s", NL_UP_TO(64, load->version));
    nl_builder_tool(load->builder, load->source, nl_str(tool));
    nsys_each(load, "META_DATA_CAPTURE", meta_columns, meta_row, load);
    nsys_each(load, "TARGET_INFO_SYSTEM_ENV", meta_columns, meta_row, load);
    if (load->variables > 0)
        nl_builder_coverage(load->builder, load->source, "environment variables left out",
                            (int64_t)load->variables,
                            "the environment of the program may hold secrets");
    int64_t epoch = NL_NULL_I64;
    nsys_each(load, "TARGET_INFO_SESSION_START_TIME", start_columns, start_row, &epoch);
    if (load->times_normalized)
        epoch = 0;
    if (epoch != NL_NULL_I64 && __builtin_sub_overflow(epoch, load->time_shift, &epoch))
        epoch = NL_NULL_I64;
    nl_builder_clock(load->builder, load->source, "nsys session", epoch);
}

/* ---- GPUs ---- */

enum {
    U_ID,
    U_CUDA,
    U_NAME,
    U_BUS,
    U_UUID,
    U_MEMORY,
    U_BANDWIDTH,
    U_CLOCK,
    U_SMS,
    U_MAJOR,
    U_MINOR,
    U_WARPS,
    U_WARP_SIZE,
    U_PID,
    U_CELLS
};
static const char *const gpu_columns[U_CELLS + 1] = {
    [U_ID] = "id|deviceId",
    [U_CUDA] = "cuDevice",
    [U_NAME] = "name",
    [U_BUS] = "busLocation|pciBusId",
    [U_UUID] = "uuid",
    [U_MEMORY] = "totalMemory|globalMemorySize",
    [U_BANDWIDTH] = "memoryBandwidth|globalMemoryBandwidth",
    [U_CLOCK] = "clockRate|coreClockRate",
    [U_SMS] = "smCount|numMultiprocessors",
    [U_MAJOR] = "computeMajor|computeCapabilityMajor",
    [U_MINOR] = "computeMinor|computeCapabilityMinor",
    [U_WARPS] = "maxWarpsPerSm|maxWarpsPerMultiprocessor",
    [U_WARP_SIZE] = "threadsPerWarp|numThreadsPerWarp",
    [U_PID] = "pid",
};

/* Keeps a value that an earlier table gave. 0 is how unknown properties are recorded. */
static void fill_u32(uint32_t *value, dbfile_cells cell)
{
    if (*value == NL_NULL_U32 && dbcell_u32(cell) != 0)
        *value = dbcell_u32(cell);
}

static void fill_u64(uint64_t *value, dbfile_cells cell)
{
    if (*value == NL_NULL_U64)
        *value = dbcell_id(cell);
}

/* Old releases count in thousands (kHz, kB/s): no GPU is as slow as `least`. */
static void fill_rate(uint64_t *value, dbfile_cells cell, uint64_t least)
{
    uint64_t rate = dbcell_id(cell);
    if (*value == NL_NULL_U64)
        *value = rate < least ? rate * 1000 : rate;
}

static void fill_name(struct nsys_load *load, uint32_t *value, dbfile_cells cell)
{
    struct nl_str text = nsys_text(load, cell);
    if (*value == NL_NO_NAME && text.len > 0)
        *value = nl_builder_name(load->builder, text);
}

/* The number that processes use for a GPU: the one recorded for the first of them. */
static int64_t ordinal_of(const struct nsys_load *load, int64_t gpu, int64_t fallback)
{
    for (size_t i = 0; i < load->gpu_count; i++)
        if (load->gpus[i].gpu == gpu)
            return load->gpus[i].cuda;
    return fallback;
}

static void gpu_row(void *context, const struct sqlitepages_cell *cells)
{
    struct nsys_load *load = context;
    int64_t id = dbcell_i64(&cells[U_ID]), cuda = dbcell_i64(&cells[U_CUDA]);
    if (id == NL_NULL_I64)
        return;
    if (cuda >= 0) {
        nl_grow(&load->gpus, &load->gpu_cap, load->gpu_count + 1);
        load->gpus[load->gpu_count++] = (struct nsys_gpu){.pid = -1, .cuda = cuda, .gpu = id};
    }
    uint32_t device = nl_builder_device(load->builder, load->source, id,
                                        ordinal_of(load, id, cuda < 0 ? id : cuda));
    struct nl_device_row *row = nl_builder_device_row(load->builder, device);
    fill_name(load, &row->name, &cells[U_NAME]);
    fill_name(load, &row->bus, &cells[U_BUS]);
    fill_name(load, &row->uuid, &cells[U_UUID]);
    fill_u64(&row->memory_bytes, &cells[U_MEMORY]);
    fill_rate(&row->bandwidth_bytes_per_s, &cells[U_BANDWIDTH], 5000000000);
    fill_rate(&row->clock_hz, &cells[U_CLOCK], 50000000);
    fill_u32(&row->sm_count, &cells[U_SMS]);
    if (row->compute_major == NL_NULL_U32 && dbcell_i64(&cells[U_MAJOR]) > 0) {
        row->compute_major = dbcell_u32(&cells[U_MAJOR]);
        row->compute_minor = dbcell_u32(&cells[U_MINOR]);
    }
    fill_u32(&row->max_warps_per_sm, &cells[U_WARPS]);
    fill_u32(&row->warp_size, &cells[U_WARP_SIZE]);
    row->vendor = nl_builder_name(load->builder, nl_str("nvidia"));
}

enum { D_GPU, D_CUDA, D_PID };
static const char *const cuda_device_columns[] = {
    [D_GPU] = "gpuId", [D_CUDA] = "cudaId", [D_PID] = "pid", NULL};

static void cuda_device_row(void *context, const struct sqlitepages_cell *cells)
{
    struct nsys_load *load = context;
    struct nsys_gpu gpu = {.gpu = dbcell_i64(&cells[D_GPU]),
                           .cuda = dbcell_i64(&cells[D_CUDA]),
                           .pid = dbcell_i64(&cells[D_PID])};
    if (gpu.gpu == NL_NULL_I64 || gpu.cuda == NL_NULL_I64 || gpu.pid == NL_NULL_I64)
        return;
    nl_grow(&load->gpus, &load->gpu_cap, load->gpu_count + 1);
    load->gpus[load->gpu_count++] = gpu;
}

/* What each process calls a GPU comes first, so that it wins over the machine's own numbers. */
static void load_gpus(struct nsys_load *load)
{
    nsys_each(load, "TARGET_INFO_CUDA_DEVICE", cuda_device_columns, cuda_device_row, load);
    nsys_each(load, "TARGET_INFO_GPU", gpu_columns, gpu_row, load);
    nsys_each(load, "TARGET_INFO_CUDA_GPU", gpu_columns, gpu_row, load);
}

/* ---- Contexts ---- */

#define MAX_CONTEXTS   4096
#define CONTEXT_LEAVES 512 /* looked at per table: contexts live long */

enum { X_PROCESS, X_CONTEXT, X_DEVICE, X_CELLS };
static const char *const context_columns[X_CELLS] = {
    [X_PROCESS] = "globalPid", [X_CONTEXT] = "contextId", [X_DEVICE] = "deviceId"};

static void context_row(void *to, const struct sqlitepages_cell *cells)
{
    struct nsys_load *load = to;
    struct nsys_named context = {.process = nsys_process_of(nsys_global(&cells[X_PROCESS])),
                                 .a = dbcell_i64(&cells[X_CONTEXT]),
                                 .device = dbcell_i64(&cells[X_DEVICE])};
    if (context.a == NL_NULL_I64 || context.device == NL_NULL_I64)
        return;
    for (size_t i = load->contexts.count; i-- > 0;)
        if (load->contexts.list[i].a == context.a &&
            load->contexts.list[i].process == context.process)
            return;
    if (load->contexts.count < MAX_CONTEXTS)
        nsys_named_add(&load->contexts, context);
}

/* Which device a context belongs to, from the work done in it. */
static void load_contexts(struct nsys_load *load)
{
    static const char *const work[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                       "CUPTI_ACTIVITY_KIND_MEMSET"};
    struct dbfile_reader *reader = nl_zalloc(sizeof *reader);
    struct sqlitepages_damage ignored = {0}; /* met again when the rows are loaded */
    for (size_t i = 0; i < sizeof work / sizeof work[0]; i++) {
        struct dbfile_table *table = dbfile_find(&load->db, work[i]);
        if (!table)
            continue;
        struct sqlitepages_scratch *scratch = &load->workers[0].scratch;
        dbfile_reader_init(reader, &load->db, table, context_columns, X_CELLS);
        size_t leaves = table->leaves.count, stride = leaves / CONTEXT_LEAVES + 1;
        for (size_t leaf = 0; table->fast && leaf < leaves; leaf += stride)
            dbfile_reader_leaves(reader, leaf, 1, scratch, context_row, load, &ignored);
        if (!table->fast)
            dbfile_reader_all(reader, scratch, context_row, load, &ignored);
    }
    nl_free(reader);
    nsys_named_sort(&load->contexts);
}

/* ---- Metrics ---- */

uint32_t nsys_gpu(struct nsys_load *load, int64_t gpu)
{
    return nl_builder_device(load->builder, load->source, gpu, ordinal_of(load, gpu, gpu));
}

uint32_t nsys_metric_lane(struct nsys_load *load, int64_t type, uint32_t domain)
{
    int64_t gpu = type & 0xff; /* the type's low byte numbers the GPU */
    struct nl_lane_key lane = {.kind = NL_LANE_DEVICE,
                               .process = NL_NULL_ROW,
                               .thread = NL_NULL_ROW,
                               .context = NL_NULL_I64,
                               .stream = NL_NULL_I64,
                               .domain = domain};
    lane.device = nsys_gpu(load, gpu);
    return nl_builder_lane(load->builder, &lane);
}

/* "SM Active [Throughput %]" → "Throughput %" */
static struct nl_str unit_in(struct nl_str name)
{
    struct nl_str unit = {"", 0};
    if (name.len > 2 && name.ptr[name.len - 1] == ']')
        for (size_t i = name.len - 1; i-- > 0;)
            if (name.ptr[i] == '[')
                return (struct nl_str){name.ptr + i + 1, name.len - i - 2};
    return unit;
}

enum { METRIC_TYPE, METRIC_ID, METRIC_NAME };
static const char *const metric_columns[] = {
    [METRIC_TYPE] = "typeId", [METRIC_ID] = "metricId", [METRIC_NAME] = "metricName", NULL};

static void metric_row(void *context, const struct sqlitepages_cell *cells)
{
    struct nsys_load *load = context;
    struct nl_str name = nsys_text(load, &cells[METRIC_NAME]);
    int64_t type = dbcell_i64(&cells[METRIC_TYPE]);
    uint32_t domain = nl_builder_name(load->builder, nl_str("GPU metrics"));
    struct nsys_named named = {
        .process = NSYS_NOBODY, .a = type, .b = dbcell_i64(&cells[METRIC_ID])};
    named.name =
        nl_builder_series(load->builder, nsys_metric_lane(load, type, domain), name, unit_in(name));
    nsys_named_add(&load->metrics, named);
}

enum { NIC_LIST, NIC_INDEX, NIC_NAME, NIC_UNIT };
static const char *const nic_columns[] = {[NIC_LIST] = "metricsListId",
                                          [NIC_INDEX] = "metricsIdx",
                                          [NIC_NAME] = "name",
                                          [NIC_UNIT] = "unit",
                                          NULL};

static void nic_metric_row(void *context, const struct sqlitepages_cell *cells)
{
    struct nsys_load *load = context;
    struct nsys_named named = {.process = NSYS_NOBODY,
                               .a = dbcell_i64(&cells[NIC_LIST]),
                               .b = dbcell_i64(&cells[NIC_INDEX]),
                               .text = kept(load, nsys_text(load, &cells[NIC_NAME])),
                               .unit = kept(load, nsys_text(load, &cells[NIC_UNIT]))};
    nsys_named_add(&load->nic_metrics, named);
}

/* ---- Ranks ---- */

enum { RANK_THREAD, RANK_NUMBER };
static const char *const rank_columns[] = {
    [RANK_THREAD] = "globalTid", [RANK_NUMBER] = "rank", NULL};

static void rank_row(void *context, const struct sqlitepages_cell *cells)
{
    struct nsys_load *load = context;
    uint64_t thread = nsys_global(&cells[RANK_THREAD]);
    int64_t rank = dbcell_i64(&cells[RANK_NUMBER]);
    if (thread == NSYS_NOBODY || rank < 0)
        return;
    uint32_t process = nl_builder_process(load->builder, load->source, nsys_pid(thread));
    nl_builder_process_rank(load->builder, process, rank);
    load->mpi_ranks++;
}

/* Correlation ids repeat between processes, unless the file does not know processes at all. */
static bool correlates_per_process(struct nsys_load *load)
{
    static const char *const work[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"};
    for (size_t i = 0; i < sizeof work / sizeof work[0]; i++) {
        const struct dbfile_table *table = dbfile_find(&load->db, work[i]);
        if (table && !dbfile_table_column(table, "globalPid"))
            return false;
    }
    return true;
}

void nsys_info_load(struct nsys_load *load)
{
    nsys_strings_load(load);
    nsys_enums_load(load);
    load_session(load);
    load_gpus(load);
    load_contexts(load);
    nsys_each(load, "TARGET_INFO_GPU_METRICS", metric_columns, metric_row, load);
    nsys_each(load, "TARGET_INFO_NETWORK_METRICS", nic_columns, nic_metric_row, load);
    nsys_named_sort(&load->metrics);
    nsys_named_sort(&load->nic_metrics);
    nsys_each(load, "MPI_RANKS", rank_columns, rank_row, load);
    load->frames = dbfile_find(&load->db, "SAMPLING_CALLCHAINS");
    nsys_chains_load(load, &load->cuda_chains, "CUDA_CALLCHAINS");
    nsys_chains_load(load, &load->osrt_chains, "OSRT_CALLCHAINS");
    nsys_nvtx_prepare(load);
    if (correlates_per_process(load))
        nl_builder_correlation_per_process(load->builder, load->source);
}
