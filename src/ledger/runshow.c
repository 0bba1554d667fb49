/* show: a statement per table; the columns of the statement are those of the result. */
#define _GNU_SOURCE
#include "ledger/runshow.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sum.h"
#include "base/units.h"
#include "ledger/artefact.h"
#include "ledger/runanomaly.h"
#include "ledger/runfield.h"

#define MAX_COLUMNS 9

struct part {
    const char *name, *title;
    struct nl_result_column columns[MAX_COLUMNS]; /* ends with a NULL name */
    const char *sql;                              /* of run ?1 */
};

/* Dates are columns called *_at: the statement gives ns. */
static const struct part parts[] = {
    {"metadata",
     "Metadata",
     {{"key", "Key", NL_MEANS_TEXT},
      {"value", "Value", NL_MEANS_ANY},
      {"from", "From", NL_MEANS_TEXT}},
     "SELECT name, coalesce(number, text), coalesce(origin, 'file'), unit FROM facts "
     "JOIN keys USING (key) LEFT JOIN settings s ON s.run = facts.run AND s.key = name "
     "WHERE facts.run = ?1 AND name NOT LIKE 'metrics.%' ORDER BY name"},
    {"metrics",
     "Metrics",
     {{"name", "Metric", NL_MEANS_TEXT},
      {"value", "Value", NL_MEANS_ANY},
      {"unit", "Unit", NL_MEANS_TEXT}},
     "SELECT substr(name, 9), coalesce(number, text), unit, unit FROM facts JOIN keys USING (key) "
     "WHERE facts.run = ?1 AND name LIKE 'metrics.%' ORDER BY name"},
    {"steps",
     "Steps",
     {{"rank", "Rank", NL_MEANS_INTEGER},
      {"phase", "Phase", NL_MEANS_TEXT},
      {"count", "Steps", NL_MEANS_COUNT},
      {"total_ns", "Total", NL_MEANS_NS},
      {"min_ns", "Min", NL_MEANS_NS},
      {"max_ns", "Max", NL_MEANS_NS}},
     "SELECT rank, phase, count(*), sum(dur_ns), min(dur_ns), max(dur_ns) FROM steps "
     "WHERE run = ?1 GROUP BY rank, phase ORDER BY rank, min(ordinal)"},
    {"findings",
     "Findings",
     {{"cause", "Cause", NL_MEANS_TEXT},
      {"severity", "Severity", NL_MEANS_TEXT},
      {"title", "Title", NL_MEANS_TEXT},
      {"confidence", "Confidence", NL_MEANS_SHARE},
      {"cost_ns", "Cost", NL_MEANS_NS},
      {"cost_share", "Share", NL_MEANS_SHARE}},
     "SELECT cause, severity, title, confidence, cost_ns, cost_share FROM findings "
     "WHERE run = ?1 ORDER BY ordinal"},
    {"anomalies",
     "Unusual against its history",
     {{"metric", "Metric", NL_MEANS_TEXT},
      {"value", "Value", NL_MEANS_ANY},
      {"usual", "Usual", NL_MEANS_ANY},
      {"spread", "Spread", NL_MEANS_ANY},
      {"change_share", "Change", NL_MEANS_CHANGE_SHARE},
      {"z", "Robust z", NL_MEANS_NUMBER},
      {"history_count", "Earlier runs", NL_MEANS_COUNT},
      {"host", "Host", NL_MEANS_TEXT},
      {"season", "Season", NL_MEANS_TEXT}},
     "SELECT metric, value, usual, spread, change_share, z, runs, host, season, NULL FROM "
     "anomalies JOIN "
     "histories USING (run) WHERE run = ?1 ORDER BY ordinal"},
    {"notes",
     "Notes",
     {{"made_at", "Made", NL_MEANS_TEXT},
      {"start_ns", "From", NL_MEANS_NS},
      {"end_ns", "To", NL_MEANS_NS},
      {"text", "Note", NL_MEANS_TEXT}},
     "SELECT made_ns, start_ns, end_ns, text FROM notes WHERE run = ?1 ORDER BY note"},
    {"ops",
     "Operators and kernels",
     {{"kind", "Kind", NL_MEANS_TEXT},
      {"name", "Name", NL_MEANS_TEXT},
      {"count", "Count", NL_MEANS_COUNT},
      {"total_ns", "Total", NL_MEANS_NS},
      {"mean_ns", "Mean", NL_MEANS_NS},
      {"p50_ns", "Median", NL_MEANS_NS}},
     "SELECT kind, name, count, total_ns, mean_ns, p50_ns FROM ops WHERE run = ?1 "
     "ORDER BY total_ns IS NULL, total_ns DESC, ordinal"},
    {"sources",
     "Read from",
     {{"name", "File", NL_MEANS_TEXT},
      {"bytes", "Size", NL_MEANS_BYTES},
      {"sha256", "SHA-256", NL_MEANS_TEXT},
      {"path", "Lay at", NL_MEANS_TEXT}},
     "SELECT name, bytes, sha256, path FROM sources WHERE run = ?1 ORDER BY ordinal"},
    {"artefacts",
     "Kept",
     {{"role", "What", NL_MEANS_TEXT},
      {"bytes", "Size", NL_MEANS_BYTES},
      {"stored_bytes", "On disk", NL_MEANS_BYTES},
      {"sha256", "SHA-256", NL_MEANS_TEXT}},
     "SELECT role, bytes, sha256, sha256 FROM artefacts WHERE run = ?1 ORDER BY role, ordinal"},
    {"provenance",
     "What was done",
     {{"made_at", "When", NL_MEANS_TEXT},
      {"command", "Command", NL_MEANS_TEXT},
      {"version", "NeuroLens", NL_MEANS_TEXT}},
     "SELECT made_ns, command, version FROM provenance WHERE run = ?1 ORDER BY event"},
};
#define PARTS (sizeof parts / sizeof parts[0])

/* Size on the disk, NULL when it is missing. */
static struct nl_cell stored_cell(struct nl_ledger *ledger, const char *sha256)
{
    uint64_t bytes;
    bool there = nl_artefact_stored(ledger->folder, sha256, &bytes);
    return nl_cell_i64(there ? (int64_t)bytes : INT64_MIN);
}

/* A value of columns (key, value, …, unit) as people write it, with its unit. */
/* A point in time, not how long something took. */
static bool is_time(const char *name)
{
    static const char ending[] = "_epoch_ns";
    size_t len = name ? strlen(name) : 0;
    return len >= sizeof ending - 1 && strcmp(name + len - (sizeof ending - 1), ending) == 0;
}

static struct nl_cell eyes_cell(struct nl_result *result, sqlite3_stmt *rows, int i)
{
    char text[NL_UNIT_TEXT], date[NL_DATE_TEXT];
    const char *plain = (const char *)sqlite3_column_text(rows, i);
    const char *unit = (const char *)sqlite3_column_text(rows, sqlite3_column_count(rows) - 1);
    double number = sqlite3_column_double(rows, i);
    int type = sqlite3_column_type(rows, i);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return nl_cell_text(result, nl_str(plain));
    if (is_time((const char *)sqlite3_column_text(rows, 0)))
        return nl_cell_text(result, nl_str(nl_runfield_date(date, nl_sum_near(number))));
    switch (number < 0 ? NL_MEANS_ANY
                       : nl_runfield_meaning((const char *)sqlite3_column_text(rows, 0), unit)) {
    case NL_MEANS_NS: nl_format_ns(text, nl_whole_i64(number)); break;
    case NL_MEANS_BYTES: nl_format_bytes(text, nl_whole_u64(number)); break;
    case NL_MEANS_SHARE: nl_format_percent(text, number); break;
    case NL_MEANS_RATE: nl_format_rate(text, number); break;
    default:
        if (unit && strncmp(unit, "1/", 2) == 0)
            unit++; /* 40178.6 /s */
        if (type == SQLITE_FLOAT)
            snprintf(text, sizeof text, "%.6g", number);
        return nl_cell_text(result, nl_str(nl_arena_format(&result->arena, "%s%s%s",
                                                           type == SQLITE_FLOAT ? text : plain,
                                                           unit ? " " : "", unit ? unit : "")));
    }
    return nl_cell_text(result, nl_str(text));
}

static struct nl_cell read_cell(struct nl_ledger *ledger, struct nl_result *result,
                                sqlite3_stmt *rows, int i)
{
    char date[NL_DATE_TEXT];
    const char *name = result->columns[i].name;
    size_t len = strlen(name);
    if (len > 3 && strcmp(name + len - 3, "_at") == 0)
        return nl_cell_text(result, nl_str(nl_runfield_date(date, sqlite3_column_int64(rows, i))));
    if (strcmp(name, "stored_bytes") == 0)
        return stored_cell(ledger, (const char *)sqlite3_column_text(rows, i));
    switch (sqlite3_column_type(rows, i)) {
    case SQLITE_INTEGER: return nl_cell_i64(sqlite3_column_int64(rows, i));
    case SQLITE_FLOAT: return nl_cell_f64(sqlite3_column_double(rows, i));
    default: return nl_cell_text(result, nl_str((const char *)sqlite3_column_text(rows, i)));
    }
}

static struct nl_result *make_part(struct nl_ledger *ledger, const struct part *part, int64_t run,
                                   bool eyes, struct nl_err *err)
{
    size_t count = 0;
    bool ok = true;
    while (count < MAX_COLUMNS && part->columns[count].name &&
           !(eyes && strcmp(part->columns[count].name, "unit") == 0))
        count++;
    sqlite3_stmt *rows = nl_ledgerdb_ask(ledger, err, part->sql, "i", run);
    if (!rows)
        return NULL;
    struct nl_result *result = nl_result_new(part->name, part->title, part->columns, count);
    while (nl_ledgerdb_next(err, ledger, rows, &ok)) {
        struct nl_cell *cells = nl_result_row(result);
        for (size_t i = 0; i < count; i++)
            cells[i] = eyes && part->columns[i].meaning == NL_MEANS_ANY
                           ? eyes_cell(result, rows, (int)i)
                           : read_cell(ledger, result, rows, (int)i);
    }
    if (ok)
        return result;
    nl_result_free(result);
    return NULL;
}

/* "1a2b3c4d  trace.json  added 2026-11-20T09:05:07Z  baseline, h100" */
static bool headline(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                     struct nl_report *report, struct nl_err *err)
{
    char id[NL_RUNDOC_ID], date[NL_DATE_TEXT];
    bool ok = true;
    if (!nl_ledger_short_id(ledger, run->id, id, err))
        return false;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err,
        "SELECT name, added_ns, (SELECT group_concat(tag, ', ') FROM "
        "(SELECT tag FROM tags WHERE run = ?1 ORDER BY tag)) FROM runs WHERE run = ?1",
        "i", run->run);
    if (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        const char *tags = (const char *)sqlite3_column_text(rows, 2);
        report->headlines[report->headline_count++] = nl_arena_format(
            &report->arena, "%s  %s  added %s%s%s%s", id,
            (const char *)sqlite3_column_text(rows, 0),
            nl_runfield_date(date, sqlite3_column_int64(rows, 1)), tags ? "  tagged " : "",
            tags ? tags : "", run->in_trash ? "  in the trash" : "");
        report->headlines[report->headline_count++] =
            nl_arena_format(&report->arena, "id %s", run->id);
        sqlite3_reset(rows);
    }
    if (!rows || !ok)
        return false;
    const char *unusual = nl_runanomaly_sentence(ledger, run->run, &report->arena, err);
    if (unusual)
        report->headlines[report->headline_count++] = unusual;
    return unusual != NULL;
}

static bool check_section(const char *section, struct nl_err *err)
{
    struct nl_buf list;
    nl_buf_init(&list, 400);
    bool known = !section;
    for (size_t i = 0; i < PARTS && !known; i++) {
        known = strcmp(section, parts[i].name) == 0;
        nl_buf_format(&list, "%s%s", i ? ", " : "", parts[i].name);
    }
    if (!known)
        (void)nl_fail(err, NL_USAGE, "--section: a run has no '%s'; there are %s", section,
                      list.ptr);
    nl_buf_release(&list);
    return known;
}

struct nl_report *nl_ledger_show(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                                 const char *section, bool eyes, struct nl_err *err)
{
    if (!check_section(section, err))
        return NULL;
    struct nl_report *report = nl_zalloc(sizeof *report);
    nl_arena_init(&report->arena);
    report->name = "show";
    report->title = "Run";
    report->results = nl_arena_alloc(&report->arena, PARTS * sizeof(struct nl_result *));
    bool done = headline(ledger, run, report, err);
    for (size_t i = 0; done && i < PARTS; i++) {
        if (section && strcmp(section, parts[i].name) != 0)
            continue;
        struct nl_result *part = make_part(ledger, &parts[i], run->run, eyes, err);
        done = part != NULL;
        if (part)
            report->results[report->result_count++] = part;
    }
    if (done)
        return report;
    nl_report_free(report);
    return NULL;
}
