/*
 * The format row of rocpd databases, and what describes a run. Environments and commands, which the
 * table of processes holds too, are never read.
 */
#include "ingest/rocpd.h"

#include <stdio.h>

#include "ingest/rocagent.h"

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
        return (uint32_t)gpurows_copy_kind(text) << 8;
    if (nl_str_starts(text, "HIP_") || nl_str_starts(text, "HSA_"))
        return ROCPD_API;
    if (nl_str_starts(text, "MARKER"))
        return ROCPD_MARKER;
    return nl_str_starts(text, "RCCL") || nl_str_starts(text, "ROC") || nl_str_starts(text, "OMPT")
               ? ROCPD_LIBRARY
               : ROCPD_OTHER;
}

/* ---- Processes, threads, streams ---- */

int64_t rocpd_pid(const struct rocpd *load, nsys_cells id)
{
    const uint64_t *found = id->type == SQLITEPAGES_INTEGER
                                ? gpurows_map_find(&load->processes, (uint64_t)id->integer)
                                : NULL;
    return found ? (int64_t)*found : nsys_i64(id);
}

int64_t rocpd_tid(const struct rocpd *load, nsys_cells id)
{
    const uint64_t *found = id->type == SQLITEPAGES_INTEGER
                                ? gpurows_map_find(&load->threads, (uint64_t)id->integer)
                                : NULL;
    return found ? (int64_t)*found : nsys_i64(id);
}

static void process_row(void *context, nsys_cells cells)
{
    struct rocpd *load = context;
    if (cells[0].type == SQLITEPAGES_INTEGER && cells[1].type == SQLITEPAGES_INTEGER)
        (void)gpurows_map_put(&load->processes, (uint64_t)cells[0].integer,
                              (uint64_t)cells[1].integer, NULL);
}

static void thread_row(void *context, nsys_cells cells)
{
    struct rocpd *load = context;
    if (cells[0].type != SQLITEPAGES_INTEGER || cells[1].type != SQLITEPAGES_INTEGER)
        return;
    (void)gpurows_map_put(&load->threads, (uint64_t)cells[0].integer, (uint64_t)cells[1].integer,
                          NULL);
    struct nl_str name = dbrows_text(&cells[3]);
    struct gpurows *rows = &load->db.rows;
    if (name.len == 0)
        return;
    uint32_t process = nl_builder_process(rows->builder, rows->source, rocpd_pid(load, &cells[2]));
    nl_builder_thread_name(rows->builder,
                           nl_builder_thread(rows->builder, process, cells[1].integer), name);
}

static void track_row(void *context, nsys_cells cells)
{
    struct rocpd *load = context;
    if (cells[0].type != SQLITEPAGES_INTEGER)
        return;
    size_t at = load->tracks.count;
    nl_grow(&load->track, &load->track_cap, at + 1);
    bool made;
    (void)gpurows_map_put(&load->tracks, (uint64_t)cells[0].integer, at, &made);
    if (made)
        load->track[at] =
            (struct rocpd_track){rocpd_pid(load, &cells[1]), rocpd_tid(load, &cells[2])};
}

/* ---- Agents: columns for the names, JSON for the rest ---- */

enum { G_ID, G_TYPE, G_INDEX, G_NAME, G_PRODUCT, G_EXTRA };
static const char *const agent_columns[] = {
    "id", "type", "type_index", "name", "product_name|user_name", "extdata", NULL};

static void agent_row(void *context, nsys_cells cells)
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
    agent.gpu_number = nsys_i64(&cells[G_INDEX]);
    if (product.len == 0)
        product = dbrows_text(&cells[G_NAME]);
    if (product.len > 0)
        agent.product = nl_builder_name(rows->builder, product);
    rocagent_device(rows, nsys_i64(&cells[G_ID]), &agent);
}

/* ---- Symbols, counters, events ---- */

static void symbol_row(void *context, nsys_cells cells)
{
    struct rocpd *load = context;
    struct nl_str name = dbrows_text(&cells[1]);
    if (name.len == 0)
        name = dbrows_text(&cells[2]);
    if (cells[0].type != SQLITEPAGES_INTEGER)
        return;
    size_t at = load->symbols.count;
    bool made;
    (void)gpurows_map_put(&load->symbols, (uint64_t)cells[0].integer, at, &made);
    if (!made)
        return;
    nl_grow(&load->symbol, &load->symbol_cap, at + 1);
    load->symbol[at].name = nl_stage_name(load->db.rows.stage, gpurows_kernel_name(name));
    load->symbol[at].registers = nsys_u32(&cells[3]);
}

static void counter_row(void *context, nsys_cells cells)
{
    struct rocpd *load = context;
    struct nl_str unit = dbrows_text(&cells[2]);
    if (cells[0].type != SQLITEPAGES_INTEGER)
        return;
    size_t at = load->counters.count;
    bool made;
    (void)gpurows_map_put(&load->counters, (uint64_t)cells[0].integer, at, &made);
    if (!made)
        return;
    nl_grow(&load->counter, &load->counter_cap, at + 1);
    load->counter[at].name = nl_stage_name(load->db.rows.stage, dbrows_text(&cells[1]));
    load->counter[at].unit = unit.len ? nl_stage_name(load->db.rows.stage, unit) : NL_NO_NAME;
}

/* {"message": "text"} */
static uint32_t message_in(struct rocpd *load, struct nl_str json)
{
    uint32_t name = NL_NO_NAME;
    struct jsonpull *reader = nl_zalloc(sizeof *reader);
    jsonpull_memory(reader, json.ptr, json.len, 0);
    if (jsonpull_next(reader) == JSONPULL_OBJECT)
        while (jsonpull_member(reader)) {
            bool mine = nl_str_is(reader->text, "message");
            if (jsonpull_next(reader) == JSONPULL_STRING && mine)
                name = nl_stage_name(load->db.rows.stage, reader->text);
            jsonpull_skip(reader);
        }
    jsonpull_release(reader);
    nl_free(reader);
    return name;
}

static void event_row(void *context, nsys_cells cells)
{
    struct rocpd *load = context;
    struct nl_str extra = dbrows_text(&cells[3]);
    if (cells[0].type != SQLITEPAGES_INTEGER)
        return;
    size_t at = load->event_count;
    bool made;
    (void)gpurows_map_put(&load->events, (uint64_t)cells[0].integer, at, &made);
    if (!made)
        return;
    nl_grow(&load->event, &load->event_cap, at + 1);
    struct rocpd_event *event = &load->event[load->event_count++];
    event->stack = nsys_id(&cells[1]);
    event->category = dbrows_tag(&load->strings, &cells[2]);
    event->message = NL_NO_NAME;
    if ((event->category & 0xff) == ROCPD_MARKER && extra.len > 2)
        event->message = message_in(load, extra);
}

struct rocpd_event rocpd_event(const struct rocpd *load, nsys_cells id)
{
    const uint64_t *place = id->type == SQLITEPAGES_INTEGER
                                ? gpurows_map_find(&load->events, (uint64_t)id->integer)
                                : NULL;
    return place ? load->event[*place] : (struct rocpd_event){.stack = NL_NULL_U64};
}

static void metadata_row(void *context, nsys_cells cells)
{
    struct rocpd *load = context;
    if (nl_str_is(dbrows_text(&cells[0]), "schema_version"))
        nl_builder_meta(load->db.rows.builder, load->db.rows.source, "schema_version",
                        dbrows_text(&cells[1]));
}

/* ---- The load ---- */

static void load_descriptions(struct rocpd *load)
{
    char table[256];
    (void)snprintf(table, sizeof table, "rocpd_string%s", load->suffix);
    load->strings.tag = tag_of;
    dbrows_strings_load(&load->db, &load->strings, table, "id", "string");
    static const struct {
        const char *table;
        const char *columns[5];
        sqlitepages_row_fn *row;
    } tables[] = {
        {"rocpd_metadata", {"tag", "value", NULL}, metadata_row},
        {"rocpd_info_process", {"id", "pid", NULL}, process_row},
        {"rocpd_info_thread", {"id", "tid", "pid", "name", NULL}, thread_row},
        {"rocpd_track", {"id", "pid", "tid", NULL}, track_row},
        {"rocpd_info_kernel_symbol",
         {"id", "display_name", "kernel_name", "arch_vgpr_count", NULL},
         symbol_row},
        {"rocpd_info_pmc", {"id", "name|symbol", "units", NULL}, counter_row},
        {"rocpd_event", {"id", "stack_id", "category_id", "extdata", NULL}, event_row},
    };
    (void)rocpd_each(load, "rocpd_info_agent", agent_columns, agent_row);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        (void)rocpd_each(load, tables[i].table, tables[i].columns, tables[i].row);
}

static void forget_set(struct rocpd *load)
{
    struct gpurows_map *maps[] = {&load->strings.map, &load->events,    &load->symbols,
                                  &load->counters,    &load->tracks,    &load->threads,
                                  &load->processes,   &load->dispatches};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
        gpurows_map_release(maps[i]);
    load->event_count = 0;
}

static void load_sets(struct rocpd *load)
{
    static const char first[] = "rocpd_string";
    for (size_t t = 0; t < load->db.db.count && !gpurows_stop(&load->db.rows); t++) {
        const char *name = load->db.db.tables[t].name;
        if (strncmp(name, first, sizeof first - 1) != 0)
            continue;
        load->suffix = name + sizeof first - 1;
        load_descriptions(load);
        rocpd_rows_load(load);
        forget_set(load);
    }
}

static void report(struct rocpd *load)
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
                                        "rocpd_track",
                                        "rocpd_event",
                                        "rocpd_region",
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
        {"not loaded: rocpd_sample", load->other_samples, "samples that are no marks"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (notes[i].count > 0)
            nl_builder_coverage(rows->builder, rows->source, notes[i].item, (int64_t)notes[i].count,
                                notes[i].detail);
}

static bool load(struct nl_builder *builder, uint32_t source, const struct nl_input *input,
                 struct nl_job *job, struct nl_err *err)
{
    struct rocpd *load = nl_zalloc(sizeof *load);
    bool done = dbrows_open(&load->db, builder, source, input, job, err);
    if (done) {
        nl_builder_clock(builder, source, "boot", NL_NULL_I64);
        nl_builder_tool(builder, source, nl_str("rocprofv3"));
        nl_builder_correlation_per_process(builder, source);
        load_sets(load);
        report(load);
        done = dbrows_close(&load->db, err);
    }
    nl_free(load->event);
    nl_free(load->symbol);
    nl_free(load->counter);
    nl_free(load->track);
    nl_free(load);
    return done;
}

static int sniff(const struct nl_input *input, const char **why)
{
    static const char *const marks[] = {"rocpd_string", "rocpd_kernel_dispatch", "rocpd_region"};
    unsigned found = dbrows_marks(input, marks, 3);
    if (found > 0 && found < 3)
        *why = "a database of ROCm without tables of dispatches and regions";
    return found == 3 ? 92 : 0;
}

const struct nl_format nl_format_rocpd = {.name = "rocpd",
                                          .title = "rocprofv3 database (rocpd)",
                                          .sniff = sniff,
                                          .load = load,
                                          .doc = "formats/rocpd.md"};
