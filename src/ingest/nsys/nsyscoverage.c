/* What the file does not hold, what of it was not loaded, and what was odd in it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "ingest/nsys/nsys.h"
#include "ingest/nsys/nsysids.h"

/* Tables that people look for, and what records them. */
static const struct {
    const char *tables, *advice;
} wanted[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL|CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
     "no GPU kernels: record with nsys profile --trace=cuda, on a machine with a GPU"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "no CUDA API calls: nsys profile --trace=cuda"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "no memory copies: nsys profile --trace=cuda"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "no waits for the GPU: nsys profile --trace=cuda"},
    {"NVTX_EVENTS", "no NVTX ranges: nsys profile --trace=cuda,nvtx, and ranges in the program "
                    "(torch.cuda.nvtx.range, torch.autograd.profiler.emit_nvtx)"},
    {"OSRT_API", "no operating system calls: nsys profile --trace=cuda,nvtx,osrt"},
    {"SCHED_EVENTS", "no thread scheduling: nsys profile --cpuctxsw=process-tree"},
    {"COMPOSITE_EVENTS", "no CPU samples: nsys profile --sample=process-tree"},
    {"GPU_METRICS", "no GPU metrics: nsys profile --gpu-metrics-devices=all"},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS", "no GPU memory use: nsys profile --cuda-memory-usage=true"},
    {"TARGET_INFO_GPU|TARGET_INFO_CUDA_GPU", "the GPU's name and limits are not known"},
};

static const struct {
    const char *item, *detail;
} oddities[NSYS_ODDITIES] = {
    [NSYS_ODD_NO_START] = {"events without a start time", "left out"},
    [NSYS_ODD_TIME_RANGE] = {"events with impossible times", "left out"},
    [NSYS_ODD_NEGATIVE] = {"events that end before they start", "length set to 0"},
    [NSYS_ODD_NO_STRING] = {"names missing in StringIds", "shown without a name"},
    [NSYS_ODD_EVENT_NO_TIME] = {"CUDA events without a time",
                                "left out; nsys profile --cuda-event-trace=true records times"},
    [NSYS_ODD_NVTX_TYPE] = {"NVTX rows of an unknown type", "left out"},
    [NSYS_ODD_SCHED] = {"thread switches without their counterpart",
                        "a switch in was closed at the next one, a switch out left out"},
    [NSYS_ODD_NO_STACK] = {"CPU samples without a stack", "kept"},
    [NSYS_ODD_CONTEXT] = {"GPU context switches without their counterpart",
                          "a restore was closed at the next one, a save left out"},
    [NSYS_ODD_CONTEXT_STAGE] = {"stages of GPU context switches",
                                "requests and acknowledgements: only from restore to save is kept"},
};

static void report_count(struct nsys_load *load, const char *item, uint64_t count,
                         const char *detail)
{
    nl_builder_coverage(load->builder, load->source, item, (int64_t)count, detail);
}

/* Rows of the tables named "A|B" in all; *any: the file has one of them. */
static uint64_t rows_of(struct nsys_load *load, const char *names, bool *any)
{
    uint64_t rows = 0;
    *any = false;
    while (*names) {
        size_t len = strcspn(names, "|");
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)len, names);
        const struct dbfile_table *table = dbfile_find(&load->db, name);
        rows += table ? table->rows : 0;
        *any = *any || table;
        names += len;
        names += *names == '|';
    }
    return rows;
}

static void cover_missing(struct nsys_load *load)
{
    bool there;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (rows_of(load, wanted[i].tables, &there) > 0)
            continue;
        char item[96];
        bool lost = load->db.damage.what && there;
        (void)snprintf(item, sizeof item, "%s: %.*s", lost ? "lost by damage" : "not recorded",
                       (int)strcspn(wanted[i].tables, "|"), wanted[i].tables);
        report_count(load, item, 0, lost ? "its pages cannot be read" : wanted[i].advice);
    }
    uint64_t graphs = rows_of(load, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", &there);
    if (graphs > 0)
        report_count(load, "CUDA graphs recorded as a whole", graphs,
                     "their kernels are not in the file: nsys profile --cuda-graph-trace=node");
}

static void cover_unloaded(struct nsys_load *load)
{
    for (size_t i = 0; i < load->db.count; i++) {
        const char *name = load->db.tables[i].name;
        struct dbfile_table *table = dbfile_find(&load->db, name);
        char item[160];
        (void)snprintf(item, sizeof item, "not loaded: %.128s", name);
        if (!table)
            report_count(load, item, 0, "its schema cannot be understood");
        else if (table->rows > 0 && !nsys_table_is_known(table))
            report_count(load, item, table->rows,
                         "rows of a table that this version does not read");
    }
}

/* ---- DIAGNOSTIC_EVENT: what the recording program says of itself ---- */

enum { D_SEVERITY, D_TEXT };
static const char *const diagnostic_columns[] = {
    [D_SEVERITY] = "severity", [D_TEXT] = "text", NULL};

#define MAX_DIAGNOSTICS 100

struct diagnostics {
    struct nsys_load *load;
    unsigned told;
};

static void diagnostic_row(void *context, const struct sqlitepages_cell *cells)
{
    struct diagnostics *diagnostics = context;
    struct nsys_load *load = diagnostics->load;
    int64_t severity = dbcell_i64(&cells[D_SEVERITY]);
    struct nl_str text = nsys_text(load, &cells[D_TEXT]);
    if (text.len == 0 || (severity != 2 && severity != 3))
        return;
    if (diagnostics->told++ >= MAX_DIAGNOSTICS) {
        report_count(load, "more warnings of nsys", 1, "only the first are listed");
        return;
    }
    char item[320];
    (void)snprintf(item, sizeof item, "%s: %.*s", severity == 3 ? "nsys error" : "nsys warning",
                   NL_UP_TO(280, text));
    report_count(load, item, 1, "reported by the recording program");
}

/* ---- Damage ---- */

static void cover_damage(struct nsys_load *load)
{
    const struct sqlitepages_damage *damage = &load->db.damage;
    const struct sqlitepages *pages = &load->db.pages;
    char detail[256];
    if (pages->promised > pages->count) {
        (void)snprintf(detail, sizeof detail,
                       "the header promises %" PRIu32 " pages of %" PRIu32 " bytes, %" PRIu32
                       " are there: copy or export the file again",
                       pages->promised, pages->page_size, pages->count);
        report_count(load, "file is cut short", pages->promised - pages->count, detail);
    }
    if (!damage->what)
        return;
    (void)snprintf(detail, sizeof detail, "first at byte %" PRIu64 ": %s", damage->offset,
                   damage->what);
    if (damage->pages > 0)
        report_count(load, "damaged pages", damage->pages, detail);
    if (damage->rows > 0)
        report_count(load, "damaged rows", damage->rows, detail);
}

void nsys_coverage_load(struct nsys_load *load)
{
    struct diagnostics diagnostics = {.load = load};
    for (unsigned w = 0; w < load->worker_count; w++)
        sqlitepages_damage_merge(&load->db.damage, &load->workers[w].damage);
    cover_missing(load);
    cover_unloaded(load);
    nsys_each(load, "DIAGNOSTIC_EVENT", diagnostic_columns, diagnostic_row, &diagnostics);
    for (unsigned kind = 0; kind < NSYS_ODDITIES; kind++) {
        uint64_t count = 0;
        for (unsigned w = 0; w < load->worker_count; w++)
            count += load->workers[w].odd[kind];
        if (count > 0)
            report_count(load, oddities[kind].item, count, oddities[kind].detail);
    }
    cover_damage(load);
}
