/*
 * The table of tables, and the loop that runs it. Every table is cut into units of leaf pages,
 * numbered in the order of the table of tables and then of the pages; threads take units in that
 * order. A table that only SQLite can read, or whose rows belong together, is one unit; those come
 * first so that the others fill the time.
 */
#include <string.h>
#include <strings.h>

#include "base/pool.h"
#include "ingest/nsys/nsysrows.h"

#define UNIT_LEAVES  256
#define STOP_CHECKED 65536 /* rows */

static const struct nsys_table_def defs[] = {
    {"COMPOSITE_EVENTS", &nsys_samples, .domain = NULL},
    {"SCHED_EVENTS", &nsys_sched_events, .domain = NULL},
    {"GPU_CONTEXT_SWITCH_EVENTS", &nsys_context_switches, .domain = "GPU contexts"},
    {"CUPTI_ACTIVITY_KIND_KERNEL", &nsys_kernels, .domain = NULL},
    {"CUPTI_ACTIVITY_KIND_MEMCPY|CUPTI_ACTIVITY_KIND_MEMCPY2", &nsys_memcpys, .domain = NULL},
    {"CUPTI_ACTIVITY_KIND_MEMSET", &nsys_memsets, .domain = "[CUDA memset]"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", &nsys_syncs, .domain = NULL},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", &nsys_cuda_events, .domain = "CUDA event"},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", &nsys_graph_traces, .domain = NULL},
    {"CUPTI_ACTIVITY_KIND_RUNTIME|CUPTI_ACTIVITY_KIND_DRIVER", &nsys_api_calls, .domain = NULL},
    {"NVTX_EVENTS", &nsys_nvtx_ranges, .domain = NULL},
    {"OSRT_API", &nsys_host_calls, NL_KIND_OSRT, NL_LANE_OSRT, NULL},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", &nsys_overheads, .domain = "CUDA"},
    {"PROFILER_OVERHEAD", &nsys_overheads, .domain = "profiler"},
    {"CUDNN_EVENTS", &nsys_host_calls, NL_KIND_LIBRARY, NL_LANE_GENERIC, "cuDNN"},
    {"CUBLAS_EVENTS", &nsys_host_calls, NL_KIND_LIBRARY, NL_LANE_GENERIC, "cuBLAS"},
    {"CUDA_GRAPH_EVENTS", &nsys_graph_events, .domain = "CUDA graphs"},
    {"CUDA_GRAPH_NODE_EVENTS", &nsys_graph_events, .domain = "CUDA graph nodes"},
    {"MPI_COLLECTIVES_EVENTS|MPI_P2P_EVENTS", &nsys_mpi_calls, .domain = "MPI"},
    {"MPI_OTHER_EVENTS|MPI_START_WAIT_EVENTS", &nsys_host_calls, NL_KIND_LIBRARY, NL_LANE_GENERIC,
     "MPI"},
    {"UCP_EVENTS|UCP_PROGRESS_EVENTS|UCP_SUBMIT_EVENTS", &nsys_host_calls, NL_KIND_LIBRARY,
     NL_LANE_GENERIC, "UCX"},
    {"CUDA_UM_CPU_PAGE_FAULT_EVENTS", &nsys_marks, NL_KIND_MARK, NL_LANE_PROCESS, "CPU page fault"},
    {"CUDA_UM_GPU_PAGE_FAULT_EVENTS", &nsys_gpu_faults, .domain = "GPU page faults"},
    {"GENERIC_EVENTS", &nsys_marks, NL_KIND_MARK, NL_LANE_GENERIC, "generic event"},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS", &nsys_memory_events, .domain = "CUDA memory"},
    {"GPU_METRICS", &nsys_gpu_metrics, .domain = "GPU metrics"},
    {"NET_NIC_METRIC", &nsys_nic_metrics, .domain = "network card"},
};
#define DEFS (sizeof defs / sizeof defs[0])

/* Tables that no row above names but that have times, threads and names are loaded all the same
 * (OpenMP, OpenACC, OpenGL, Vulkan, NVVIDEO, …), on lanes called after the table. */
static const struct nsys_table_def other_def = {"", &nsys_host_calls, NL_KIND_GENERIC,
                                                NL_LANE_GENERIC, NULL};

/* Tables that describe others; a trailing * stands for anything. */
static const char *const describing[] = {
    "StringIds",
    "ENUM_*",
    "META_DATA_*",
    "EXPORT_META_DATA",
    "TARGET_INFO_*",
    "ANALYSIS_*",
    "ProcessStreams",
    "PROCESSES",
    "ThreadNames",
    "NVTX_PAYLOAD_*",
    "MPI_RANKS",
    "MPI_COMMUNICATORS",
    "NIC_ID_MAP",
    "DIAGNOSTIC_EVENT",
    "SAMPLING_CALLCHAINS",
    "CUDA_CALLCHAINS",
    "OSRT_CALLCHAINS",
    "SystemInfo",
    "UnwindMethodType",
    "GENERIC_EVENT_SOURCES",
    "GENERIC_EVENT_TYPES",
    "UCP_WORKERS",
    "OSRT_FILE_ACCESS_DESCRIPTORS",
    "PMU_EVENT_REQUESTS",
    "PMU_EVENT_COUNTERS",
    "ETW_PROVIDERS",
    "ETW_TASKS",
};

static bool in_list(const char *names, const char *name)
{
    size_t len = strlen(name);
    while (*names) {
        size_t part = strcspn(names, "|");
        if (part == len && strncasecmp(names, name, len) == 0)
            return true;
        names += part;
        names += *names == '|';
    }
    return false;
}

static const struct nsys_table_def *def_of(const char *table)
{
    for (size_t i = 0; i < DEFS; i++)
        if (in_list(defs[i].tables, table))
            return &defs[i];
    return NULL;
}

static bool is_describing(const char *name)
{
    for (size_t i = 0; i < sizeof describing / sizeof describing[0]; i++) {
        size_t len = strcspn(describing[i], "*");
        if (strncasecmp(name, describing[i], len) == 0 && (describing[i][len] || !name[len]))
            return true;
    }
    return false;
}

static bool is_other(const struct dbfile_table *table)
{
    return dbfile_table_column(table, "start") && dbfile_table_column(table, "end") &&
           dbfile_table_column(table, "globalTid") &&
           dbfile_table_column(table, nsys_host_calls.columns[3]);
}

bool nsys_table_is_known(const struct dbfile_table *table)
{
    return def_of(table->name) || is_describing(table->name) || is_other(table);
}

/* ---- Units ---- */

/* One table being loaded. */
struct job {
    const struct nsys_table_def *def;
    struct dbfile_table *table;
    struct dbfile_reader *reader; /* NULL: given to the handler as a whole */
    uint32_t domain;
};

struct unit {
    uint32_t job;
    size_t first, count; /* leaves; count 0: the whole table */
};

struct run {
    struct nsys_load *load;
    struct job *jobs;
    size_t job_count, job_cap;
    struct unit *units;
    size_t unit_count, unit_cap;
};

static void add_unit(struct run *run, size_t first, size_t count)
{
    nl_grow(&run->units, &run->unit_cap, run->unit_count + 1);
    run->units[run->unit_count++] = (struct unit){(uint32_t)(run->job_count - 1), first, count};
}

static void add_table(struct run *run, const struct nsys_table_def *def, struct dbfile_table *table)
{
    const struct nsys_handler *handler = def->handler;
    const char *domain = def == &other_def ? table->name : def->domain;
    struct job job = {.def = def, .table = table};
    job.domain = domain ? nl_builder_name(run->load->builder, nl_str(domain)) : 0;
    if (!handler->whole)
        job.reader = dbfile_reader_new(&run->load->db, table, handler->columns);
    nl_grow(&run->jobs, &run->job_cap, run->job_count + 1);
    run->jobs[run->job_count++] = job;
    if (handler->whole || !table->fast) {
        add_unit(run, 0, 0);
        return;
    }
    size_t leaves = table->leaves.count;
    for (size_t first = 0; first < leaves; first += UNIT_LEAVES)
        add_unit(run, first, leaves - first < UNIT_LEAVES ? leaves - first : UNIT_LEAVES);
}

static void add_tables(struct run *run)
{
    struct dbfile *db = &run->load->db;
    for (size_t d = 0; d < DEFS; d++)
        for (size_t t = 0; t < db->count; t++)
            if (in_list(defs[d].tables, db->tables[t].name)) {
                struct dbfile_table *table = dbfile_find(db, db->tables[t].name);
                if (table)
                    add_table(run, &defs[d], table);
            }
    for (size_t t = 0; t < db->count; t++) {
        if (def_of(db->tables[t].name) || is_describing(db->tables[t].name))
            continue;
        struct dbfile_table *table = dbfile_find(db, db->tables[t].name);
        if (table && is_other(table))
            add_table(run, &other_def, table);
    }
}

static void on_row(void *context, const struct sqlitepages_cell *cells)
{
    struct nsys_worker *worker = context;
    if (worker->rows++ % STOP_CHECKED == 0)
        worker->stop = nl_job_cancelled(worker->load->job);
    if (!worker->stop)
        worker->def->handler->row(worker, cells);
}

static uint64_t unit_bytes(const struct run *run, const struct unit *unit)
{
    const struct dbfile_table *table = run->jobs[unit->job].table;
    size_t leaves = unit->count ? unit->count : table->leaves.count;
    return (uint64_t)leaves * run->load->db.pages.page_size;
}

static void run_unit(void *context, size_t index, unsigned number)
{
    struct run *run = context;
    struct nsys_load *load = run->load;
    if (nl_job_cancelled(load->job))
        return;
    const struct unit *unit = &run->units[index];
    const struct job *job = &run->jobs[unit->job];
    struct nsys_worker *worker = &load->workers[number];
    worker->def = job->def;
    worker->domain = job->domain;
    worker->unit = index + 1;
    nl_stage_begin(worker->stage, load->source, index);
    if (job->def->handler->whole)
        job->def->handler->whole(worker, job->table);
    else if (unit->count)
        dbfile_reader_leaves(job->reader, unit->first, unit->count, &worker->scratch, on_row,
                             worker, &worker->damage);
    else
        dbfile_reader_all(job->reader, &worker->scratch, on_row, worker, &worker->damage);
    if (unit->count)
        sqlitepages_done(&load->db.pages, job->table->leaves.page + unit->first, unit->count);
    nl_job_add(load->job, unit_bytes(run, unit));
}

bool nsys_tables_load(struct nsys_load *load)
{
    struct run run = {.load = load};
    add_tables(&run);
    uint64_t total = 0;
    for (size_t i = 0; i < run.unit_count; i++)
        total += unit_bytes(&run, &run.units[i]);
    nl_job_phase(load->job, "reading", total);
    nl_parallel(load->worker_count, run.unit_count, run_unit, &run);
    for (size_t i = 0; i < run.job_count; i++)
        nl_free(run.jobs[i].reader);
    nl_free(run.jobs);
    nl_free(run.units);
    return !nl_job_cancelled(load->job);
}
