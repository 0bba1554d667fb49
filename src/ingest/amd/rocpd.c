/*
 * The format row of rocpd databases, and what describes a run. Environments and commands, which the
 * table of processes holds too, are never read.
 */
#include "ingest/amd/rocpd.h"

#include <stdio.h>

#include "base/chars.h"
#include "base/search.h"
#include "base/sort.h"
#include "ingest/amd/rocagent.h"
#include "store/copykind.h"

bool rocpd_each(struct rocpd *load, const char *table, const char *const *columns,
                sqlitepages_row_fn *row)
{
    char name[256];
    (void)snprintf(name, sizeof name, "%s%s", table, load->suffix);
    return dbrows_each(&load->db, name, columns, row, load);
}

/* Category in the low byte, kind of copy above it. */
static uint32_t tag_of(struct nl_str text)
{
    if (nl_str_starts(text, "MEMORY_COPY_"))
        return (uint32_t)nl_copykind_of_text(text) << 8;
    if (nl_str_starts(text, "HIP_") || nl_str_starts(text, "HSA_"))
        return ROCPD_API;
    if (nl_str_starts(text, "MARKER"))
        return ROCPD_MARKER;
    return nl_str_starts(text, "RCCL") || nl_str_starts(text, "ROC") || nl_str_starts(text, "OMPT")
               ? ROCPD_LIBRARY
               : ROCPD_OTHER;
}

/* ---- Processes, threads, streams ---- */

static const uint64_t *find_in_map(const struct gpurows_map *map, dbfile_cells id)
{
    return id->type == SQLITEPAGES_INTEGER ? gpurows_map_find(map, (uint64_t)id->integer) : NULL;
}

/* Process and thread as the operating system numbers them. */
static int64_t system_id(const struct gpurows_map *map, dbfile_cells id)
{
    const uint64_t *found = find_in_map(map, id);
    return found ? (int64_t)*found : dbcell_i64(id);
}

enum { P_ID, P_PID };
static const char *const process_columns[] = {[P_ID] = "id", [P_PID] = "pid", NULL};

static void process_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    if (cells[P_ID].type == SQLITEPAGES_INTEGER && cells[P_PID].type == SQLITEPAGES_INTEGER)
        (void)gpurows_map_put(&load->processes, (uint64_t)cells[P_ID].integer,
                              (uint64_t)cells[P_PID].integer, NULL);
}

enum { T_ID, T_TID, T_PID, T_NAME };
static const char *const thread_columns[] = {
    [T_ID] = "id", [T_TID] = "tid", [T_PID] = "pid", [T_NAME] = "name", NULL};

static void thread_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    if (cells[T_ID].type != SQLITEPAGES_INTEGER || cells[T_TID].type != SQLITEPAGES_INTEGER)
        return;
    (void)gpurows_map_put(&load->threads, (uint64_t)cells[T_ID].integer,
                          (uint64_t)cells[T_TID].integer, NULL);
    struct nl_str name = dbrows_text(&cells[T_NAME]);
    struct gpurows *rows = &load->db.rows;
    if (name.len == 0)
        return;
    uint32_t process =
        nl_builder_process(rows->builder, rows->source, system_id(&load->processes, &cells[T_PID]));
    nl_builder_thread_name(rows->builder,
                           nl_builder_thread(rows->builder, process, cells[T_TID].integer), name);
}

enum { L_ID, L_PID, L_TID, L_AGENT, L_QUEUE, L_STREAM };
static const char *const track_columns[] = {[L_ID] = "id",
                                            [L_PID] = "pid",
                                            [L_TID] = "tid",
                                            [L_AGENT] = "agent_id",
                                            [L_QUEUE] = "queue_id",
                                            [L_STREAM] = "stream_id",
                                            NULL};

static void track_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    if (cells[L_ID].type != SQLITEPAGES_INTEGER)
        return;
    size_t at = load->tracks.count;
    nl_grow(&load->track, &load->track_cap, at + 1);
    bool made;
    (void)gpurows_map_put(&load->tracks, (uint64_t)cells[L_ID].integer, at, &made);
    if (made)
        load->track[at] = (struct rocpd_track){
            system_id(&load->processes, &cells[L_PID]), system_id(&load->threads, &cells[L_TID]),
            dbcell_i64(&cells[L_AGENT]), dbcell_i64(&cells[L_QUEUE]), dbcell_i64(&cells[L_STREAM])};
}

enum { W_ID, W_VALUE };
static const char *const time_columns[] = {[W_ID] = "id", [W_VALUE] = "value", NULL};

static void time_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    if (cells[W_ID].type == SQLITEPAGES_INTEGER && cells[W_VALUE].type == SQLITEPAGES_INTEGER)
        (void)gpurows_map_put(&load->times, (uint64_t)cells[W_ID].integer,
                              (uint64_t)cells[W_VALUE].integer, NULL);
}

/* ---- Agents: columns for the names, JSON for the rest ---- */

enum { G_ID, G_TYPE, G_INDEX, G_NAME, G_PRODUCT, G_EXTRA };
static const char *const agent_columns[] = {[G_ID] = "id",
                                            [G_TYPE] = "type",
                                            [G_INDEX] = "type_index",
                                            [G_NAME] = "name",
                                            [G_PRODUCT] = "product_name|user_name",
                                            [G_EXTRA] = "extdata",
                                            NULL};

static void agent_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    struct gpurows *rows = &load->db.rows;
    struct rocagent agent = {.type = 0};
    struct nl_str extra = dbrows_text(&cells[G_EXTRA]), product = dbrows_text(&cells[G_PRODUCT]);
    struct jsonpull *reader = nl_zalloc(sizeof *reader);
    jsonpull_memory(reader, extra.ptr, extra.len, 0);
    if (extra.len > 0 && jsonpull_next(reader) == JSONPULL_OBJECT)
        rocagent_read(reader, rows->builder, &agent);
    jsonpull_release(reader);
    nl_free(reader);
    agent.type = nl_str_is(dbrows_text(&cells[G_TYPE]), "GPU") ? 2 : 1;
    agent.gpu_number = dbcell_i64(&cells[G_INDEX]);
    if (product.len == 0)
        product = dbrows_text(&cells[G_NAME]);
    if (product.len > 0)
        agent.product = nl_builder_name(rows->builder, product);
    rocagent_device(rows, dbcell_i64(&cells[G_ID]), &agent);
}

/* ---- Symbols, counters, events ---- */

enum { K_ID, K_SHOWN, K_NAME, K_REGISTERS };
static const char *const symbol_columns[] = {[K_ID] = "id",
                                             [K_SHOWN] = "display_name",
                                             [K_NAME] = "kernel_name",
                                             [K_REGISTERS] = "arch_vgpr_count",
                                             NULL};

static void symbol_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    struct nl_str name = dbrows_text(&cells[K_SHOWN]);
    if (name.len == 0)
        name = dbrows_text(&cells[K_NAME]);
    if (cells[K_ID].type != SQLITEPAGES_INTEGER)
        return;
    size_t at = load->symbols.count;
    bool made;
    (void)gpurows_map_put(&load->symbols, (uint64_t)cells[K_ID].integer, at, &made);
    if (!made)
        return;
    nl_grow(&load->symbol, &load->symbol_cap, at + 1);
    load->symbol[at].name = nl_stage_name(load->db.rows.stage, gpurows_kernel_name(name));
    load->symbol[at].registers = dbcell_u32(&cells[K_REGISTERS]);
}

enum { C_ID, C_NAME, C_UNIT };
static const char *const counter_columns[] = {
    [C_ID] = "id", [C_NAME] = "name|symbol", [C_UNIT] = "units", NULL};

static void counter_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    struct nl_str unit = dbrows_text(&cells[C_UNIT]);
    if (cells[C_ID].type != SQLITEPAGES_INTEGER)
        return;
    size_t at = load->counters.count;
    bool made;
    (void)gpurows_map_put(&load->counters, (uint64_t)cells[C_ID].integer, at, &made);
    if (!made)
        return;
    nl_grow(&load->counter, &load->counter_cap, at + 1);
    load->counter[at].name = nl_stage_name(load->db.rows.stage, dbrows_text(&cells[C_NAME]));
    load->counter[at].unit = unit.len ? nl_stage_name(load->db.rows.stage, unit) : NL_NO_NAME;
}

/* {"message": "text"} */
static uint32_t message_in(struct rocpd *load, struct nl_str json)
{
    uint32_t name = NL_NO_NAME;
    struct jsonpull *reader = load->message;
    jsonpull_memory(reader, json.ptr, json.len, 0);
    if (jsonpull_next(reader) == JSONPULL_OBJECT)
        while (jsonpull_member(reader)) {
            bool mine = nl_str_is(reader->text, "message");
            if (jsonpull_next(reader) == JSONPULL_STRING && mine)
                name = nl_stage_name(load->db.rows.stage, reader->text);
            jsonpull_skip(reader);
        }
    jsonpull_release(reader);
    return name;
}

enum { E_ID, E_STACK, E_CATEGORY, E_EXTRA };
static const char *const event_columns[] = {[E_ID] = "id",
                                            [E_STACK] = "stack_id",
                                            [E_CATEGORY] = "category_id",
                                            [E_EXTRA] = "extdata",
                                            NULL};

static void event_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    struct nl_str extra = dbrows_text(&cells[E_EXTRA]);
    if (cells[E_ID].type != SQLITEPAGES_INTEGER)
        return;
    nl_grow(&load->event, &load->event_cap, load->event_count + 1);
    struct rocpd_event *event = &load->event[load->event_count];
    *event = (struct rocpd_event){.id = cells[E_ID].integer,
                                  .stack = dbcell_id(&cells[E_STACK]),
                                  .message = NL_NO_NAME,
                                  .slice = NL_NULL_ROW};
    load->events_unsorted |= load->event_count > 0 && event->id <= event[-1].id;
    load->event_count++;
    event->category =
        dbrows_tag(load->own_categories ? &load->categories : &load->strings, &cells[E_CATEGORY]);
    load->packed += cells[E_EXTRA].type == SQLITEPAGES_BLOB && cells[E_EXTRA].len > 0;
    if ((event->category & 0xff) == ROCPD_MARKER && extra.len > 2)
        event->message = message_in(load, extra);
}

/* Room for all events at once: the array is too large to be copied as it grows. What a damaged file
 * says of its rows is not believed beyond what fits in it. */
#define MIN_EVENT 8 /* bytes of an event's row */

static void reserve_events(struct rocpd *load)
{
    char name[256];
    (void)snprintf(name, sizeof name, "rocpd_event%s", load->suffix);
    uint64_t rows = dbrows_count(&load->db, name), most = load->db.db.map.size / MIN_EVENT;
    nl_reserve(&load->event, &load->event_cap, (size_t)(rows < most ? rows : most));
}

/* Ids are the keys of the table and so ascend, unless somebody made another table of it. Of equal
 * ones the first stays. */
static void sort_events(struct rocpd *load)
{
    size_t count = load->event_count, kept = 0;
    if (!load->events_unsorted || count > UINT32_MAX)
        return;
    struct rocpd_event *sorted = nl_alloc(count * sizeof *sorted);
    struct nl_keyed *order = nl_alloc(2 * count * sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = (struct nl_keyed){nl_sort_key(load->event[i].id), (uint32_t)i};
    nl_sort_keyed(order, order + count, count);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || order[i].key != order[i - 1].key)
            sorted[kept++] = load->event[order[i].row];
    memcpy(load->event, sorted, kept * sizeof *sorted);
    load->event_count = kept;
    nl_free(order);
    nl_free(sorted);
}

/* Events that are passed on the way to the next one before it is searched for. */
#define SEARCH_WINDOW 16

/* The first event from place `from` on whose id is not below `id`, looking at some only. */
static size_t near(const struct rocpd *load, size_t from, int64_t id)
{
    size_t at = from, most = load->event_count - from < SEARCH_WINDOW ? load->event_count
                                                                      : from + SEARCH_WINDOW;
    while (at < most && load->event[at].id < id)
        at++;
    return at;
}

static size_t search(const struct rocpd *load, int64_t id)
{
    return NL_FIRST(i, 0, load->event_count, load->event[i].id >= id);
}

struct rocpd_event *rocpd_event(struct rocpd *load, dbfile_cells cell)
{
    if (cell->type != SQLITEPAGES_INTEGER)
        return NULL;
    int64_t id = cell->integer;
    size_t last = load->event_last, at = near(load, last, id);
    bool passed = at > last && at < load->event_count && load->event[at].id > id; /* it is none */
    if (!passed && (at == load->event_count || load->event[at].id != id))
        at = search(load, id);
    if (at == load->event_count || load->event[at].id != id)
        return NULL;
    load->event_last = at;
    return &load->event[at];
}

/* ---- Where and when ---- */

static int64_t time_of(const struct rocpd *load, dbfile_cells own, dbfile_cells id)
{
    const uint64_t *time = own->type == SQLITEPAGES_INTEGER ? NULL : find_in_map(&load->times, id);
    return time ? (int64_t)*time : dbcell_i64(own);
}

static void prefer(int64_t *known, int64_t own)
{
    if (own != NL_NULL_I64)
        *known = own;
}

struct rocpd_place rocpd_place(struct rocpd *load, dbfile_cells cells)
{
    const struct rocpd_event *event = rocpd_event(load, &cells[ROCPD_EVENT]);
    struct rocpd_place place = {
        .on = {NL_NULL_I64, NL_NULL_I64, NL_NULL_I64, NL_NULL_I64, NL_NULL_I64},
        .start = time_of(load, &cells[ROCPD_START], &cells[ROCPD_START_ID]),
        .end = time_of(load, &cells[ROCPD_END], &cells[ROCPD_END_ID]),
        .event = event ? *event : (struct rocpd_event){.stack = NL_NULL_U64}};
    const uint64_t *track = find_in_map(&load->tracks, &cells[ROCPD_TRACK]);
    if (track)
        place.on = load->track[*track];
    prefer(&place.on.pid, system_id(&load->processes, &cells[ROCPD_PID]));
    prefer(&place.on.tid, system_id(&load->threads, &cells[ROCPD_TID]));
    prefer(&place.on.agent, dbcell_i64(&cells[ROCPD_AGENT]));
    prefer(&place.on.queue, dbcell_i64(&cells[ROCPD_QUEUE]));
    prefer(&place.on.stream, dbcell_i64(&cells[ROCPD_STREAM]));
    return place;
}

/* ---- The run ---- */

#define NEWEST_SCHEMA 4

/* "3", "3.0.4", "4.1.0" */
static void tell_schema(struct gpurows *rows, struct nl_str version)
{
    unsigned major = 0;
    for (size_t i = 0; i < version.len && nl_is_digit(version.ptr[i]); i++)
        major = major < 100000 ? major * 10 + (unsigned)(version.ptr[i] - '0') : major;
    nl_builder_meta(rows->builder, rows->source, "schema_version", version);
    if (major > NEWEST_SCHEMA)
        nl_builder_coverage(rows->builder, rows->source, "schema newer than this reader knows", 1,
                            "read by the columns it knows; others are not looked at");
}

enum { M_TAG, M_VALUE };
static const char *const metadata_columns[] = {[M_TAG] = "tag", [M_VALUE] = "value", NULL};

static void metadata_row(void *context, dbfile_cells cells)
{
    struct rocpd *load = context;
    if (nl_str_is(dbrows_text(&cells[M_TAG]), "schema_version"))
        tell_schema(&load->db.rows, dbrows_text(&cells[M_VALUE]));
}

/* ---- The load ---- */

static void load_descriptions(struct rocpd *load)
{
    char table[256];
    (void)snprintf(table, sizeof table, "rocpd_string%s", load->suffix);
    load->strings.tag = load->categories.tag = tag_of;
    dbrows_strings_load(&load->db, &load->strings, table, "id", "string");
    (void)snprintf(table, sizeof table, "rocpd_info_category%s", load->suffix);
    load->own_categories = dbrows_count(&load->db, table) > 0;
    dbrows_strings_load(&load->db, &load->categories, table, "id", "name");
    static const struct {
        const char *table;
        const char *const *columns;
        sqlitepages_row_fn *row;
    } tables[] = {
        {"rocpd_metadata", metadata_columns, metadata_row},
        {"rocpd_info_process", process_columns, process_row},
        {"rocpd_info_thread", thread_columns, thread_row},
        {"rocpd_track", track_columns, track_row},
        {"rocpd_timestamp", time_columns, time_row},
        {"rocpd_info_kernel_symbol", symbol_columns, symbol_row},
        {"rocpd_info_pmc", counter_columns, counter_row},
        {"rocpd_event", event_columns, event_row},
    };
    reserve_events(load);
    (void)rocpd_each(load, "rocpd_info_agent", agent_columns, agent_row);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        (void)rocpd_each(load, tables[i].table, tables[i].columns, tables[i].row);
    sort_events(load);
}

static void forget_set(struct rocpd *load)
{
    struct gpurows_map *maps[] = {
        &load->strings.map, &load->categories.map, &load->symbols, &load->counters,   &load->tracks,
        &load->threads,     &load->processes,      &load->times,   &load->dispatches, &load->calls};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
        gpurows_map_release(maps[i]);
    load->event_count = load->event_last = 0;
    load->events_unsorted = false;
}

/* ---- Which sets share devices and processes ---- */

enum { MACHINE };
static const char *const machine_columns[] = {[MACHINE] = "hash", NULL};

static void machine_row(void *context, dbfile_cells cells)
{
    struct rocpd_set *set = context;
    set->machine = dbcell_i64(&cells[MACHINE]);
}

enum { PID };
static const char *const pid_columns[] = {[PID] = "pid", NULL};

static void pid_row(void *context, dbfile_cells cells)
{
    struct rocpd_set *set = context;
    set->pid = dbcell_i64(&cells[PID]);
}

static void describe_source(struct rocpd *load, uint32_t source)
{
    struct nl_builder *builder = load->db.rows.builder;
    nl_builder_clock(builder, source, "boot", NL_NULL_I64);
    nl_builder_tool(builder, source, nl_str("rocprofv3"));
    nl_builder_correlation_per_process(builder, source);
}

/* Sets of one machine share its GPUs, so they are of one source; the same pid twice is another
 * container or another time, and another machine has other GPUs and another clock. */
static uint32_t source_of_set(struct rocpd *load, const struct rocpd_set *set)
{
    uint32_t source = NL_NULL_ROW;
    bool met = false;
    for (size_t i = 0; i < load->set_count; i++)
        if (load->sets[i].machine == set->machine) {
            source = source == NL_NULL_ROW ? load->sets[i].source : source;
            met |= load->sets[i].pid == set->pid;
        }
    if (load->set_count == 0)
        return load->db.rows.source;
    if (source == NL_NULL_ROW || met) {
        source = nl_builder_source(load->db.rows.builder, load->db.input->name, "rocpd");
        describe_source(load, source);
    }
    return source;
}

static void begin_set(struct rocpd *load)
{
    struct rocpd_set set = {.machine = NL_NULL_I64, .pid = NL_NULL_I64};
    char table[256];
    (void)snprintf(table, sizeof table, "rocpd_info_node%s", load->suffix);
    (void)dbrows_each(&load->db, table, machine_columns, machine_row, &set);
    (void)snprintf(table, sizeof table, "rocpd_info_process%s", load->suffix);
    (void)dbrows_each(&load->db, table, pid_columns, pid_row, &set);
    set.source = source_of_set(load, &set);
    if (set.source != load->db.rows.source)
        gpurows_source(&load->db.rows, set.source);
    nl_grow(&load->sets, &load->set_cap, load->set_count + 1);
    load->sets[load->set_count++] = set;
}

static void load_sets(struct rocpd *load)
{
    static const char first[] = "rocpd_string";
    for (size_t t = 0; t < load->db.db.count && !gpurows_stop(&load->db.rows); t++) {
        const char *name = load->db.db.tables[t].name;
        if (strncmp(name, first, sizeof first - 1) != 0)
            continue;
        load->suffix = name + sizeof first - 1;
        begin_set(load);
        load_descriptions(load);
        rocpd_rows_load(load);
        forget_set(load);
    }
}

static void report_coverage(struct rocpd *load)
{
    static const char *const known[] = {"rocpd_string",
                                        "rocpd_metadata",
                                        "rocpd_info_node",
                                        "rocpd_info_process",
                                        "rocpd_info_thread",
                                        "rocpd_info_agent",
                                        "rocpd_info_queue",
                                        "rocpd_info_stream",
                                        "rocpd_info_pmc",
                                        "rocpd_info_code_object",
                                        "rocpd_info_kernel_symbol",
                                        "rocpd_info_category",
                                        "rocpd_track",
                                        "rocpd_timestamp",
                                        "rocpd_event",
                                        "rocpd_region",
                                        "rocpd_graph_launch",
                                        "rocpd_sample",
                                        "rocpd_kernel_dispatch",
                                        "rocpd_memory_copy",
                                        "rocpd_memory_allocate",
                                        "rocpd_pmc_event",
                                        NULL};
    struct gpurows *rows = &load->db.rows;
    dbrows_tell_others(&load->db, "rocpd_", known);
    const struct {
        const char *item;
        uint64_t count;
        const char *detail;
    } notes[] = {
        {"names not in the table of symbols", load->unknown_kernels, "kernels without a name"},
        {"counters of no known dispatch", load->lost_counters,
         "counters were recorded without a kernel trace"},
        {"not loaded: values of streamed counters", load->streamed,
         "counters sampled over time (SPM), not per dispatch"},
        {"not loaded: compressed texts of events", load->packed,
         "marks are named by their calls instead of their messages"},
        {"not loaded: rocpd_sample", load->other_samples, "samples that are not markers"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (notes[i].count > 0)
            nl_builder_coverage(rows->builder, rows->source, notes[i].item, (int64_t)notes[i].count,
                                notes[i].detail);
}

static bool rocpd_load(struct nl_reading *reading, struct nl_err *err)
{
    struct rocpd *load = nl_zalloc(sizeof *load);
    load->message = nl_zalloc(sizeof *load->message);
    bool done = dbrows_open(&load->db, reading, err);
    if (done) {
        describe_source(load, reading->source);
        load_sets(load);
        load->db.rows.source = reading->source; /* remarks are about the file, not its last set */
        report_coverage(load);
        done = dbrows_close(&load->db, err);
    }
    nl_free(load->message);
    nl_free(load->event);
    nl_free(load->symbol);
    nl_free(load->counter);
    nl_free(load->track);
    nl_free(load->sets);
    nl_free(load);
    return done;
}

static int rocpd_sniff(const struct nl_input *input, const char **why)
{
    static const char *const marks[] = {"rocpd_string", "rocpd_kernel_dispatch", "rocpd_region"};
    unsigned found = dbrows_marks(input, marks, 3);
    if (found > 0 && found < 3)
        *why = "a database of ROCm without tables of dispatches and regions";
    return found == 3 ? 92 : found > 0 ? NL_NEAR_MISS : 0;
}

const struct nl_format nl_format_rocpd = {.name = "rocpd",
                                          .title = "rocprofv3 database (rocpd)",
                                          .sniff = rocpd_sniff,
                                          .load = rocpd_load,
                                          .reach = NL_REACH_COPIES,
                                          .doc = "formats/rocpd.md"};
