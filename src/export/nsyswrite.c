/*
 * The SQLite schema that `nsys export` writes, as far as a profile fills it, so that scripts made
 * for that run on any profile: tables and columns have its names, numbers of enumerations are its.
 * What CPU threads did besides API calls and NVTX ranges (operators, modules, Python calls, …)
 * becomes NVTX ranges of a domain called after the kind.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "export/nsyswho.h"
#include "export/nsyswords.h"

#define OWN_CORRELATION ((int64_t)1 << 40) /* and up: ids of launches that have none */
#define STOP_CHECKED    65536

struct writer {
    struct nl_export *export;
    const struct nl_trace *trace;
    struct nsys_db db;
    struct nsys_who who;
    bool stopped;
};

/* ---- what all rows have ---- */

static bool picks(struct writer *writer, uint32_t row, uint32_t slice)
{
    if (row % STOP_CHECKED == 0)
        writer->stopped = writer->stopped || nl_job_cancelled(writer->export->job);
    return !writer->stopped && slice != NL_NULL_ROW && nl_export_picks(writer->export, slice);
}

/* Times as the profile's own clock has them; the date of its 0 is the session's start. */
static void put_times(struct writer *writer, uint32_t slice)
{
    const struct nl_slice_table *table = &writer->trace->slice;
    int64_t start = table->ts[slice];
    nsysdb_number(&writer->db, start);
    nsysdb_known(&writer->db,
                 table->dur[slice] == NL_NULL_I64 ? NL_NULL_I64 : start + table->dur[slice]);
}

/* deviceId, contextId, greenContextId, streamId, correlationId, globalPid */
static void put_place(struct writer *writer, uint32_t slice, uint64_t correlation)
{
    const struct nl_trace *trace = writer->trace;
    uint32_t lane = trace->slice.lane[slice], link = trace->slice.link[slice];
    nsysdb_known(&writer->db, nsys_who_device(&writer->who, lane));
    nsysdb_known(&writer->db, trace->lane.context[lane]);
    nsysdb_none(&writer->db);
    nsysdb_known(&writer->db, trace->lane.stream[lane]);
    if (correlation == NL_NULL_U64 && link != NL_NULL_ROW)
        nsysdb_number(&writer->db, OWN_CORRELATION + link);
    else
        nsysdb_known_u64(&writer->db, correlation);
    int64_t process = nsys_who_process(&writer->who, lane);
    if (process == NL_NULL_I64 && link != NL_NULL_ROW) /* cut-down files: it is who launched it */
        process = nsys_who_process(&writer->who, trace->slice.lane[link]);
    nsysdb_known(&writer->db, process);
}

#define PLACE                                                                                      \
    "start INTEGER NOT NULL, end INTEGER, deviceId INTEGER, contextId INTEGER, "                   \
    "greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "

/* ---- device work ---- */

static void put_kernel(struct writer *writer, uint32_t row)
{
    const struct nl_kernel_table *table = &writer->trace->kernel;
    struct nsys_db *db = &writer->db;
    uint32_t slice = table->slice[row], name = writer->trace->slice.name[slice];
    put_times(writer, slice);
    put_place(writer, slice, table->correlation[row]);
    nsysdb_name_id(db, name);
    nsysdb_name_id(db, table->short_name[row] == NL_NO_NAME ? name : table->short_name[row]);
    nsysdb_none(db);
    nsysdb_known_u32(db, table->registers[row]);
    nsysdb_known_u32(db, table->grid_x[row]);
    nsysdb_known_u32(db, table->grid_y[row]);
    nsysdb_known_u32(db, table->grid_z[row]);
    nsysdb_known_u32(db, table->block_x[row]);
    nsysdb_known_u32(db, table->block_y[row]);
    nsysdb_known_u32(db, table->block_z[row]);
    nsysdb_known_u32(db, table->static_shared_bytes[row]);
    nsysdb_known_u32(db, table->dynamic_shared_bytes[row]);
    nsysdb_number(db, (int64_t)row + 1);
    nsysdb_known_u64(db, table->graph_node[row]);
    nsysdb_known_u64(db, table->graph[row]);
    nsysdb_row(db);
}

static void write_kernels(struct writer *writer)
{
    nsysdb_table(&writer->db, "CUPTI_ACTIVITY_KIND_KERNEL",
                 PLACE
                 "demangledName INTEGER, shortName INTEGER, mangledName INTEGER, "
                 "registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, "
                 "blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, "
                 "dynamicSharedMemory INTEGER, gridId INTEGER, graphNodeId INTEGER, "
                 "graphId INTEGER");
    for (uint32_t i = 0; i < writer->trace->kernel.rows; i++)
        if (picks(writer, i, writer->trace->kernel.slice[i]))
            put_kernel(writer, i);
}

static void write_copies(struct writer *writer)
{
    const struct nl_copy_table *table = &writer->trace->copy;
    struct nsys_db *db = &writer->db;
    nsysdb_table(db, "CUPTI_ACTIVITY_KIND_MEMCPY",
                 PLACE "bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, "
                       "srcDeviceId INTEGER, dstDeviceId INTEGER, graphNodeId INTEGER");
    for (uint32_t i = 0; i < table->rows; i++) {
        if (!picks(writer, i, table->slice[i]))
            continue;
        put_times(writer, table->slice[i]);
        put_place(writer, table->slice[i], table->correlation[i]);
        nsysdb_known_u64(db, table->bytes[i]);
        nsysdb_known(db, nsysdb_word_number(nsysdb_copy_kinds, table->kind[i]));
        nsysdb_known(db, nsysdb_word_number(nsysdb_memory_kinds, table->src_memory[i]));
        nsysdb_known(db, nsysdb_word_number(nsysdb_memory_kinds, table->dst_memory[i]));
        nsysdb_known(db, table->src_device[i]);
        nsysdb_known(db, table->dst_device[i]);
        nsysdb_known_u64(db, table->graph_node[i]);
        nsysdb_row(db);
    }
}

static void write_memsets(struct writer *writer)
{
    const struct nl_memset_table *table = &writer->trace->memset;
    struct nsys_db *db = &writer->db;
    nsysdb_table(db, "CUPTI_ACTIVITY_KIND_MEMSET",
                 PLACE "value INTEGER, bytes INTEGER, graphNodeId INTEGER, memKind INTEGER");
    for (uint32_t i = 0; i < table->rows; i++) {
        if (!picks(writer, i, table->slice[i]))
            continue;
        put_times(writer, table->slice[i]);
        put_place(writer, table->slice[i], table->correlation[i]);
        nsysdb_known(db, table->value[i]);
        nsysdb_known_u64(db, table->bytes[i]);
        nsysdb_known_u64(db, table->graph_node[i]);
        nsysdb_known(db, nsysdb_word_number(nsysdb_memory_kinds, table->memory[i]));
        nsysdb_row(db);
    }
}

static void write_syncs(struct writer *writer)
{
    const struct nl_sync_table *table = &writer->trace->sync;
    struct nsys_db *db = &writer->db;
    nsysdb_table(db, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                 PLACE "syncType INTEGER, eventId INTEGER");
    for (uint32_t i = 0; i < table->rows; i++) {
        if (!picks(writer, i, table->slice[i]))
            continue;
        put_times(writer, table->slice[i]);
        put_place(writer, table->slice[i], table->correlation[i]);
        nsysdb_known(db, nsysdb_word_number(nsysdb_sync_kinds, table->kind[i]));
        nsysdb_known(db, table->event_id[i]);
        nsysdb_row(db);
    }
}

static void write_graphs(struct writer *writer)
{
    const struct nl_graph_table *table = &writer->trace->graph;
    struct nsys_db *db = &writer->db;
    nsysdb_table(db, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                 PLACE "graphId INTEGER, graphExecId INTEGER");
    for (uint32_t i = 0; i < table->rows; i++) {
        if (!picks(writer, i, table->slice[i]))
            continue;
        put_times(writer, table->slice[i]);
        put_place(writer, table->slice[i], table->correlation[i]);
        nsysdb_known_u64(db, table->graph[i]);
        nsysdb_known_u64(db, table->exec[i]);
        nsysdb_row(db);
    }
}

/* ---- threads ---- */

static void write_calls(struct writer *writer)
{
    const struct nl_api_table *table = &writer->trace->api;
    const struct nl_slice_table *slices = &writer->trace->slice;
    struct nsys_db *db = &writer->db;
    nsysdb_table(db, "CUPTI_ACTIVITY_KIND_RUNTIME",
                 "start INTEGER NOT NULL, end INTEGER, eventClass INTEGER, globalTid INTEGER, "
                 "correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER");
    for (uint32_t i = 0; i < table->rows; i++) {
        uint32_t slice = table->slice[i];
        if (!picks(writer, i, slice))
            continue;
        put_times(writer, slice);
        nsysdb_number(db, 0);
        nsysdb_number(db, nsys_who_thread(&writer->who, slices->lane[slice]));
        if (table->correlation[i] == NL_NULL_U64 && slices->link[slice] != NL_NULL_ROW)
            nsysdb_number(db, OWN_CORRELATION + slice);
        else
            nsysdb_known_u64(db, table->correlation[i]);
        nsysdb_call_id(db, slices->name[slice]);
        nsysdb_known(db, table->result[i]);
        nsysdb_none(db);
        nsysdb_row(db);
    }
}

/* Slices of one kind on threads: start, end, thread, name. */
static void write_kind(struct writer *writer, const char *name, enum nl_kind kind)
{
    const struct nl_slice_table *table = &writer->trace->slice;
    struct nsys_db *db = &writer->db;
    bool there = false;
    for (uint32_t i = 0; i < table->rows; i++) {
        if (table->kind[i] != kind || !picks(writer, i, i))
            continue;
        if (!there)
            nsysdb_table(db, name,
                         "start INTEGER NOT NULL, end INTEGER, eventClass INTEGER, "
                         "globalTid INTEGER, nameId INTEGER, returnValue INTEGER");
        there = true;
        put_times(writer, i);
        nsysdb_number(db, 0);
        nsysdb_number(db, nsys_who_thread(&writer->who, table->lane[i]));
        nsysdb_name_id(db, table->name[i]);
        nsysdb_none(db);
        nsysdb_row(db);
    }
}

/* ---- NVTX ---- */

/* Numbers of domains: a name's is its id in the dictionary; kinds come after those. */
static int64_t domain_of(const struct writer *writer, uint32_t slice)
{
    const struct nl_trace *trace = writer->trace;
    unsigned kind = trace->slice.kind[slice];
    if (kind != NL_KIND_NVTX)
        return (int64_t)trace->names.count + kind;
    uint32_t domain = trace->nvtx.domain[trace->slice.detail[slice]];
    return domain == NL_NO_NAME ? NL_NULL_I64 : (int64_t)domain;
}

static bool is_range(const struct writer *writer, uint32_t slice)
{
    const struct nl_trace *trace = writer->trace;
    uint32_t lane = trace->slice.lane[slice];
    switch ((enum nl_kind)trace->slice.kind[slice]) {
    case NL_KIND_NVTX: return trace->slice.detail[slice] < trace->nvtx.rows;
    case NL_KIND_OP:
    case NL_KIND_LAYER:
    case NL_KIND_PYTHON:
    case NL_KIND_COLLECTIVE:
    case NL_KIND_LIBRARY:
    case NL_KIND_GC:
    case NL_KIND_COMPILE:
    case NL_KIND_ALLOC:
    case NL_KIND_GENERIC: return trace->lane.device[lane] == NL_NULL_ROW;
    default: return false;
    }
}

/* Ranges that cross others on their lane, or have a lane for that, are no push/pop ranges. */
static int64_t type_of(const struct writer *writer, uint32_t slice)
{
    const struct nl_trace *trace = writer->trace;
    uint32_t lane = trace->slice.lane[slice], row = trace->slice.detail[slice];
    bool nvtx = trace->slice.kind[slice] == NL_KIND_NVTX;
    if (trace->slice.flags[slice] & NL_SLICE_INSTANT)
        return NSYSDB_MARK;
    if (nvtx && trace->nvtx.style[row] == NL_RANGE_PUSH_POP)
        return NSYSDB_PUSH_POP;
    bool crosses = trace->lane.kind[lane] == NL_LANE_ASYNC || trace->lane.sub[lane] > 0 ||
                   trace->slice.flags[slice] & NL_SLICE_OVERFLOW ||
                   trace->slice.dur[slice] == NL_NULL_I64;
    return crosses || (nvtx && trace->nvtx.style[row] == NL_RANGE_START_END) ? NSYSDB_START_END
                                                                             : NSYSDB_PUSH_POP;
}

static void put_naming(struct writer *writer, int64_t type, int64_t category, struct nl_str text,
                       int64_t thread, int64_t domain)
{
    struct nsys_db *db = &writer->db;
    nsysdb_number(db, 0);
    nsysdb_none(db);
    nsysdb_number(db, type);
    nsysdb_none(db);
    nsysdb_known(db, category);
    nsysdb_none(db);
    nsysdb_text(db, text);
    nsysdb_number(db, thread);
    for (unsigned i = 0; i < 2; i++)
        nsysdb_none(db);
    nsysdb_known(db, domain);
    nsysdb_none(db);
    nsysdb_row(db);
}

static void put_range(struct writer *writer, uint32_t slice)
{
    const struct nl_trace *trace = writer->trace;
    struct nsys_db *db = &writer->db;
    bool nvtx = trace->slice.kind[slice] == NL_KIND_NVTX;
    uint32_t row = trace->slice.detail[slice], category = nvtx ? trace->nvtx.category[row] : 0;
    int64_t thread = nsys_who_thread(&writer->who, trace->slice.lane[slice]);
    int64_t end = nvtx ? trace->nvtx.end_thread[row] : NL_NULL_I64;
    int64_t type = type_of(writer, slice);
    put_times(writer, slice);
    nsysdb_number(db, type);
    nsysdb_known(db, type == NSYSDB_START_END ? (int64_t)slice : NL_NULL_I64);
    nsysdb_known(db, category == NL_NO_NAME ? NL_NULL_I64 : (int64_t)category);
    nsysdb_known_u32(db, nvtx ? trace->nvtx.color[row] : NL_NULL_U32);
    nsysdb_name_text(db, trace->slice.name[slice]);
    nsysdb_number(db, thread);
    nsysdb_known(db, end >= 0 && end < 1 << 24 ? (thread & ~(int64_t)0xffffff) | end : NL_NULL_I64);
    nsysdb_name_id(db, trace->slice.name[slice]);
    nsysdb_known(db, domain_of(writer, slice));
    nsysdb_name_text(db, nvtx ? trace->nvtx.payload[row] : NL_NO_NAME);
    nsysdb_row(db);
}

struct named {
    uint64_t process, domain, category; /* category NL_NO_NAME: the domain itself */
};

static int compare_named(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    for (unsigned i = 0; i < 3; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

struct names {
    struct named *items, last;
    size_t count, cap;
};

static void add_named(struct names *names, struct named named)
{
    if (names->count && memcmp(&names->last, &named, sizeof named) == 0)
        return;
    nl_grow(&names->items, &names->cap, names->count + 1);
    names->items[names->count++] = names->last = named;
}

/* Rows that name the domains and categories that the ranges of each process use. */
static void write_range_names(struct writer *writer, struct names *names)
{
    const struct nl_trace *trace = writer->trace;
    if (names->count)
        qsort(names->items, names->count, sizeof *names->items, compare_named);
    for (size_t i = 0; i < names->count; i++) {
        const struct named *named = &names->items[i];
        if (i && compare_named(named, named - 1) == 0)
            continue;
        int64_t domain = (int64_t)named->domain;
        bool is_kind = named->domain >= trace->names.count;
        const char *word =
            is_kind ? nl_enum_text(NL_ENUM_kind, (unsigned)(named->domain - trace->names.count))
                    : "";
        if (named->category != NL_NO_NAME)
            put_naming(writer, NSYSDB_CATEGORY, (int64_t)named->category,
                       nl_trace_name(trace, (uint32_t)named->category), (int64_t)named->process,
                       domain ? domain : NL_NULL_I64);
        else if (domain)
            put_naming(writer, NSYSDB_DOMAIN, NL_NULL_I64,
                       is_kind ? nl_str(word ? word : "generic")
                               : nl_trace_name(trace, (uint32_t)named->domain),
                       (int64_t)named->process, domain);
    }
}

static void write_ranges(struct writer *writer)
{
    const struct nl_trace *trace = writer->trace;
    struct names names = {0};
    nsysdb_table(
        &writer->db, "NVTX_EVENTS",
        "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, "
        "category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, "
        "endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, jsonText TEXT");
    for (uint32_t i = 0; i < trace->slice.rows; i++) {
        if (!is_range(writer, i) || !picks(writer, i, i))
            continue;
        put_range(writer, i);
        bool nvtx = trace->slice.kind[i] == NL_KIND_NVTX;
        int64_t domain = domain_of(writer, i);
        struct named named = {
            (uint64_t)(nsys_who_thread(&writer->who, trace->slice.lane[i]) & ~(int64_t)0xffffff),
            domain == NL_NULL_I64 ? 0 : (uint64_t)domain, NL_NO_NAME};
        add_named(&names, named);
        named.category = nvtx ? trace->nvtx.category[trace->slice.detail[i]] : NL_NO_NAME;
        if (named.category != NL_NO_NAME)
            add_named(&names, named);
    }
    write_range_names(writer, &names);
    nl_free(names.items);
}

/* ---- the recording ---- */

static void put_pair(struct nsys_db *db, const char *name, const char *value)
{
    nsysdb_text(db, nl_str(name));
    nsysdb_text(db, nl_str(value));
    nsysdb_row(db);
}

/* The rank that all processes have, as the variable that readers look for; NL_NULL_I64
 * when there is no such one. */
static int64_t only_rank(const struct nl_trace *trace)
{
    int64_t rank = trace->process.rows ? trace->process.rank[0] : NL_NULL_I64;
    for (uint32_t i = 1; i < trace->process.rows; i++)
        rank = trace->process.rank[i] == rank ? rank : NL_NULL_I64;
    return rank;
}

static void write_rank(struct writer *writer)
{
    const struct nl_trace *trace = writer->trace;
    int64_t rank = only_rank(trace);
    uint64_t ranks = 0;
    char text[40];
    nsysdb_table(&writer->db, "META_DATA_CAPTURE", "name TEXT NOT NULL, value TEXT");
    for (uint32_t i = 0; i < trace->process.rows; i++)
        ranks += trace->process.rank[i] != NL_NULL_I64;
    if (rank == NL_NULL_I64) {
        nl_export_lost(writer->export, ranks, "ranks of processes");
        return;
    }
    snprintf(text, sizeof text, "RANK=\"%" PRId64 "\"", rank);
    put_pair(&writer->db, "PROCESS_0:ENVIRONMENT_VARIABLE", text);
}

static void write_session(struct writer *writer)
{
    const struct nl_trace *trace = writer->trace;
    struct nsys_db *db = &writer->db;
    int64_t epoch = nl_export_epoch(trace);
    nsysdb_table(db, "META_DATA_EXPORT", "name TEXT NOT NULL, value TEXT");
    put_pair(db, "EXPORT_PRODUCT_NAME", "NeuroLens");
    put_pair(db, "EXPORT_SCHEMA_VERSION", "3.25.0");
    put_pair(db, "EXPORT_SCHEMA_VERSION_MAJOR", "3");
    put_pair(db, "EXPORT_SCHEMA_VERSION_MINOR", "25");
    put_pair(db, "EXPORT_SCHEMA_VERSION_MICRO", "0");
    write_rank(writer);
    nsysdb_table(db, "TARGET_INFO_SESSION_START_TIME",
                 "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT");
    if (epoch != NL_NULL_I64 && !__builtin_sub_overflow(epoch, trace->first_ts, &epoch)) {
        nsysdb_number(db, epoch);
        nsysdb_none(db);
        nsysdb_none(db);
        nsysdb_row(db);
    }
    nsysdb_table(
        db, "ANALYSIS_DETAILS",
        "globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL, "
        "stopTime INTEGER NOT NULL");
    nsysdb_number(db, (int64_t)1 << 48);
    nsysdb_number(db, trace->last_ts - trace->first_ts);
    nsysdb_number(db, trace->first_ts);
    nsysdb_number(db, trace->last_ts);
    nsysdb_row(db);
    nsysdb_words(db, "ENUM_CUDA_MEMCPY_OPER", nsysdb_copy_kinds);
    nsysdb_words(db, "ENUM_CUDA_MEM_KIND", nsysdb_memory_kinds);
    nsysdb_words(db, "ENUM_CUPTI_SYNC_TYPE", nsysdb_sync_kinds);
    nsysdb_words(db, "ENUM_NSYS_EVENT_TYPE", nsysdb_event_types);
}

static void tell_lost(struct writer *writer)
{
    const struct nl_trace *trace = writer->trace;
    struct nl_export *export = writer->export;
    uint64_t kinds[NL_KIND_COUNT] = {0};
    for (uint32_t i = 0; i < trace->slice.rows; i++)
        kinds[trace->slice.kind[i]] += !is_range(writer, i) && nl_export_picks(export, i);
    static const uint8_t held[] = {NL_KIND_KERNEL, NL_KIND_MEMCPY,  NL_KIND_MEMSET,
                                   NL_KIND_SYNC,   NL_KIND_API,     NL_KIND_GRAPH,
                                   NL_KIND_OSRT,   NL_KIND_OVERHEAD};
    for (size_t i = 0; i < sizeof held; i++)
        kinds[held[i]] = 0;
    for (unsigned i = 0; i < NL_KIND_COUNT; i++) {
        const char *word = nl_enum_text(NL_ENUM_kind, i);
        if (kinds[i])
            nl_export_lost(
                export, kinds[i],
                nl_arena_format(&export->arena, "slices of kind %s", word ? word : "unknown"));
    }
    nl_export_lost(export, writer->who.renumbered,
                   "numbers of processes and threads (used twice, or above 24 bits)");
}

static void write_all(struct writer *writer)
{
    write_session(writer);
    nsys_who_write(&writer->who, &writer->db);
    write_kernels(writer);
    write_copies(writer);
    write_memsets(writer);
    write_syncs(writer);
    if (writer->trace->graph.rows)
        write_graphs(writer);
    write_calls(writer);
    write_kind(writer, "OSRT_API", NL_KIND_OSRT);
    write_kind(writer, "CUPTI_ACTIVITY_KIND_OVERHEAD", NL_KIND_OVERHEAD);
    write_ranges(writer);
}

bool nl_export_nsys(struct nl_export *export, struct nl_err *err)
{
    struct writer writer = {.export = export, .trace = export->trace};
    if (!nsysdb_open(&writer.db, export->trace, err))
        return false;
    nl_job_phase(export->job, "writing", 0);
    nsys_who_make(&writer.who, export->trace);
    write_all(&writer);
    tell_lost(&writer);
    nsys_who_release(&writer.who);
    bool going = nl_export_goes_on(export, err);
    return nsysdb_close(&writer.db, going, export->out, err) && going;
}
