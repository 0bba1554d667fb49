/*
 * NVTX_EVENTS holds ranges, marks and the names of domains, categories and threads in one table.
 * The names are gathered first: a pass over the event types alone finds the leaf pages that hold
 * any, and only those are read in full. Push/pop ranges nest per (thread, domain), so that every
 * such pair has a lane; start/end ranges overlap freely and get lanes of another kind.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/pool.h"
#include "derive/kernelclass.h"
#include "ingest/lib/torchrange.h"
#include "ingest/nsys/nsysrows.h"
#include "ingest/nsys/nsyspayload.h"
#include "ingest/nsys/nsysids.h"

enum {
    N_START,
    N_END,
    N_TYPE,
    N_CATEGORY,
    N_COLOR,
    N_TEXT,
    N_TEXT_ID,
    N_THREAD,
    N_END_THREAD,
    N_DOMAIN,
    N_U64,
    N_I64,
    N_F64,
    N_U32,
    N_I32,
    N_F32,
    N_JSON,
    N_JSON_ID,
    N_BINARY,
    N_CELLS
};
static const char *const nvtx_columns[N_CELLS + 1] = {
    [N_START] = "start",       [N_END] = "end",          [N_TYPE] = "eventType",
    [N_CATEGORY] = "category", [N_COLOR] = "color",      [N_TEXT] = "text",
    [N_TEXT_ID] = "textId",    [N_THREAD] = "globalTid", [N_END_THREAD] = "endGlobalTid",
    [N_DOMAIN] = "domainId",   [N_U64] = "uint64Value",  [N_I64] = "int64Value",
    [N_F64] = "doubleValue",   [N_U32] = "uint32Value",  [N_I32] = "int32Value",
    [N_F32] = "floatValue",    [N_JSON] = "jsonText",    [N_JSON_ID] = "jsonTextId",
    [N_BINARY] = "binaryData",
};

static enum nsys_nvtx type_of(const struct nsys_load *load, dbfile_cells cell)
{
    return (enum nsys_nvtx)load->enums[NSYS_EVENT_TYPE].value[nsys_enum_index(cell)];
}

static bool is_naming(enum nsys_nvtx type)
{
    return type == NSYS_NVTX_CATEGORY || type == NSYS_NVTX_DOMAIN || type == NSYS_NVTX_THREAD;
}

/* Number of a domain or category; "none" is recorded as NULL or 0. */
static int64_t domain_number(dbfile_cells cell)
{
    int64_t number = dbcell_i64(cell);
    return number == NL_NULL_I64 ? 0 : number;
}

/* ---- Names ---- */

static void keep_name(void *context, const struct sqlitepages_cell *cells)
{
    struct nsys_load *load = context;
    enum nsys_nvtx type = type_of(load, &cells[N_TYPE]);
    if (!is_naming(type))
        return;
    struct nl_str text = nsys_text(load, &cells[N_TEXT]);
    if (text.len == 0)
        text = nsys_text(load, &cells[N_TEXT_ID]);
    if (text.len == 0)
        return;
    uint64_t thread = nsys_global(&cells[N_THREAD]);
    struct nsys_named named = {.process = nsys_process_of(thread),
                               .a = domain_number(&cells[N_DOMAIN]),
                               .name = nl_builder_name(load->builder, text)};
    if (type == NSYS_NVTX_THREAD) {
        named.process = thread;
        named.a = 0;
        named.text = (struct nl_str){nl_arena_text(&load->db.arena, text.ptr, text.len), text.len};
        nsys_named_add(&load->nvtx_threads, named);
    } else if (type == NSYS_NVTX_DOMAIN) {
        nsys_named_add(&load->domains, named);
    } else {
        named.b = domain_number(&cells[N_CATEGORY]);
        nsys_named_add(&load->categories, named);
    }
}

/* Which leaves hold naming rows: one flag per leaf, written by whoever reads that leaf. */
struct looking {
    struct nsys_load *load;
    struct dbfile_reader reader;
    bool *naming;
};

struct look {
    const struct nsys_load *load;
    bool naming;
};

enum { LOOK_TYPE };
static const char *const look_columns[] = {[LOOK_TYPE] = "eventType"};

static void look_at(void *context, const struct sqlitepages_cell *cells)
{
    struct look *look = context;
    look->naming = look->naming || is_naming(type_of(look->load, &cells[LOOK_TYPE]));
}

#define LOOK_LEAVES 1024

static void look_unit(void *context, size_t index, unsigned number)
{
    struct looking *looking = context;
    struct nsys_worker *worker = &looking->load->workers[number];
    size_t count = looking->reader.table->leaves.count;
    size_t first = index * LOOK_LEAVES, end = first + LOOK_LEAVES;
    struct sqlitepages_damage ignored = {0}; /* met again when the rows are loaded */
    for (size_t i = first; i < end && i < count; i++) {
        struct look look = {.load = looking->load};
        dbfile_reader_leaves(&looking->reader, i, 1, &worker->scratch, look_at, &look, &ignored);
        looking->naming[i] = look.naming;
    }
    end = end < count ? end : count;
    sqlitepages_done(&looking->load->db.pages, looking->reader.table->leaves.page + first,
                     end - first);
}

void nsys_nvtx_prepare(struct nsys_load *load)
{
    struct dbfile_table *table = dbfile_find(&load->db, "NVTX_EVENTS");
    if (!table)
        return;
    struct sqlitepages_damage ignored = {0};
    struct sqlitepages_scratch *scratch = &load->workers[0].scratch;
    struct dbfile_reader reader;
    dbfile_reader_init(&reader, &load->db, table, nvtx_columns, N_CELLS);
    if (!table->fast) {
        dbfile_reader_all(&reader, scratch, keep_name, load, &ignored);
    } else if (table->leaves.count > 0) {
        struct looking looking = {.load = load, .naming = nl_zalloc(table->leaves.count)};
        dbfile_reader_init(&looking.reader, &load->db, table, look_columns, 1);
        size_t units = (table->leaves.count + LOOK_LEAVES - 1) / LOOK_LEAVES;
        nl_parallel(load->worker_count, units, look_unit, &looking);
        for (size_t i = 0; i < table->leaves.count; i++)
            if (looking.naming[i])
                dbfile_reader_leaves(&reader, i, 1, scratch, keep_name, load, &ignored);
        nl_free(looking.naming);
    }
    nsys_payload_load(load);
    nsys_named_sort(&load->domains);
    nsys_named_sort(&load->categories);
    nsys_named_sort(&load->nvtx_threads);
}

/* ---- Ranges ---- */

/* Builder's name of a domain, 0 for the default one. Files cut to a window lack the rows that name
 * domains: those are distinguished by number. */
static uint32_t domain_name(struct nsys_worker *worker, dbfile_cells cells)
{
    int64_t number = domain_number(&cells[N_DOMAIN]);
    if (number == 0)
        return 0;
    uint64_t process = nsys_process_of(nsys_global(&cells[N_THREAD]));
    if (worker->nvtx_domain && worker->nvtx_number == number && worker->nvtx_process == process)
        return worker->nvtx_domain;
    const struct nsys_named *named = nsys_named_find(&worker->load->domains, process, number, 0);
    char text[32];
    (void)snprintf(text, sizeof text, "domain %" PRId64, number);
    worker->nvtx_domain =
        named ? named->name : nl_builder_name(worker->load->builder, nl_str(text));
    worker->nvtx_number = number;
    worker->nvtx_process = process;
    return worker->nvtx_domain;
}

static uint32_t category_name(struct nsys_worker *worker, dbfile_cells cells)
{
    int64_t number = domain_number(&cells[N_CATEGORY]);
    if (number == 0)
        return 0;
    uint64_t process = nsys_process_of(nsys_global(&cells[N_THREAD]));
    const struct nsys_named *named = nsys_named_find(&worker->load->categories, process,
                                                     domain_number(&cells[N_DOMAIN]), number);
    if (named)
        return named->name;
    char text[32];
    (void)snprintf(text, sizeof text, "category %" PRId64, number);
    return nl_stage_name(worker->stage, nl_str(text));
}

/* The payload as text: the first scalar there is, or JSON. */
static uint32_t payload_name(struct nsys_worker *worker, dbfile_cells cells)
{
    for (int i = N_U64; i <= N_F32; i++) {
        char text[40];
        if (cells[i].type == SQLITEPAGES_INTEGER && i == N_U64)
            (void)snprintf(text, sizeof text, "%" PRIu64, (uint64_t)cells[i].integer);
        else if (cells[i].type == SQLITEPAGES_INTEGER)
            (void)snprintf(text, sizeof text, "%" PRId64, cells[i].integer);
        else if (cells[i].type == SQLITEPAGES_REAL)
            (void)snprintf(text, sizeof text, "%.17g", cells[i].real);
        else
            continue;
        return nl_stage_name(worker->stage, nl_str(text));
    }
    uint32_t json = nsys_name(worker, &cells[N_JSON]);
    return json ? json : nsys_name(worker, &cells[N_JSON_ID]);
}

static void fill_range(struct nsys_worker *worker, dbfile_cells cells, struct nl_nvtx_row *row)
{
    row->domain = domain_name(worker, cells);
    row->category = category_name(worker, cells);
    row->payload = payload_name(worker, cells);
    int64_t color = dbcell_i64(&cells[N_COLOR]);
    if (color != NL_NULL_I64)
        row->color = (uint32_t)color; /* recorded signed or unsigned */
    uint64_t end_thread = nsys_global(&cells[N_END_THREAD]);
    if (end_thread != NSYS_NOBODY && end_thread != nsys_global(&cells[N_THREAD]))
        row->end_thread = nsys_tid(end_thread);
}

/* A range that says how long a message is (NCCL's calls do): the CPU's side of a collective. */
static void stage_collective(struct nsys_worker *worker, const struct nl_nvtx_row *range,
                             const struct nsys_payload *payload, dbfile_cells cells)
{
    struct nl_str name = nsys_text(worker->load, &cells[N_TEXT]);
    if (name.len == 0)
        name = nsys_text(worker->load, &cells[N_TEXT_ID]);
    const char *operation = nl_collective_operation(name);
    struct nl_collective_row row = nl_collective_row();
    row.slice = range->slice;
    row.operation = nl_stage_name(worker->stage, operation ? nl_str(operation) : name);
    row.bytes = payload->bytes;
    row.peer = payload->peer;
    nl_stage_collective(worker->stage, &row);
}

/* An operator of PyTorch with its shapes (torchrange.h) is an operator here,
 * too; all else is a range. */
static bool stage_operator(struct nsys_worker *worker, dbfile_cells cells,
                           const struct nl_slice_row *range)
{
    struct torch_range told;
    struct nl_str text = nsys_text(worker->load, &cells[N_TEXT]);
    if (text.len == 0)
        text = nsys_text(worker->load, &cells[N_TEXT_ID]);
    if (!torch_range_read(text, &told))
        return false;
    struct nl_slice_row slice = *range;
    struct nl_op_row row = nl_op_row();
    slice.kind = NL_KIND_OP;
    slice.name = nl_stage_name(worker->stage, told.name);
    row.slice = nl_stage_slice(worker->stage, &slice);
    row.shapes = nl_stage_name(worker->stage, told.sizes);
    row.sequence = told.sequence;
    row.external_id = told.op_id;
    nl_stage_op(worker->stage, &row);
    return true;
}

static void nvtx_row(struct nsys_worker *worker, dbfile_cells cells)
{
    static const struct {
        enum nl_rangestyle style;
        enum nl_lanekind lane;
    } styles[] = {[NSYS_NVTX_PUSH_POP] = {NL_RANGE_PUSH_POP, NL_LANE_NVTX},
                  [NSYS_NVTX_START_END] = {NL_RANGE_START_END, NL_LANE_ASYNC},
                  [NSYS_NVTX_MARK] = {NL_RANGE_MARK, NL_LANE_NVTX}};
    enum nsys_nvtx type = type_of(worker->load, &cells[N_TYPE]);
    if (type == NSYS_NVTX_IGNORED || is_naming(type))
        return;
    if (type == NSYS_NVTX_OTHER) {
        worker->odd[NSYS_ODD_NVTX_TYPE]++;
        return;
    }
    struct nl_slice_row slice = nl_slice_row();
    dbfile_cells end = &cells[type == NSYS_NVTX_MARK ? N_START : N_END];
    if (!nsys_times(worker, &cells[N_START], end, &slice))
        return;
    struct nl_nvtx_row row = nl_nvtx_row();
    fill_range(worker, cells, &row);
    row.style = (uint8_t)styles[type].style;
    slice.kind = NL_KIND_NVTX;
    slice.flags = type == NSYS_NVTX_MARK ? NL_SLICE_INSTANT : 0;
    slice.lane = nsys_thread_lane(worker, styles[type].lane, &cells[N_THREAD], true, row.domain);
    if (type == NSYS_NVTX_PUSH_POP && !row.domain && stage_operator(worker, cells, &slice))
        return;
    slice.name = nsys_name(worker, &cells[N_TEXT]);
    if (slice.name == NL_NO_NAME)
        slice.name = nsys_name(worker, &cells[N_TEXT_ID]);
    row.slice = nl_stage_slice(worker->stage, &slice);
    struct nsys_payload payload;
    if (nsys_payload_decode(worker, &cells[N_BINARY], &payload)) {
        row.payload = payload.text;
        if (payload.bytes != NL_NULL_U64)
            stage_collective(worker, &row, &payload, cells);
    }
    nl_stage_nvtx(worker->stage, &row);
}
const struct nsys_handler nsys_nvtx_ranges = {.columns = nvtx_columns, .row = nvtx_row};
