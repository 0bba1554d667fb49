/* Rows of table roofs; see roofkeep.h. */
#include "ledger/roofkeep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ledger/ledgerdb.h"

/* A key and its two figures: when, by what program's loops or library. */
#define KEEP                                                                                       \
    "INSERT INTO roofs(host, cpu, processors, device, type, threads, flops_per_s, bytes_per_s, "   \
    "made_with, measured_ns) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) "                     \
    "ON CONFLICT(host, cpu, processors, device, type, threads) DO UPDATE SET "                     \
    "measured_ns = CASE WHEN coalesce(excluded.flops_per_s, 0) > coalesce(flops_per_s, 0) OR "     \
    "coalesce(excluded.bytes_per_s, 0) > coalesce(bytes_per_s, 0) "                                \
    "THEN excluded.measured_ns ELSE measured_ns END, "                                             \
    "made_with = CASE WHEN coalesce(excluded.flops_per_s, 0) > coalesce(flops_per_s, 0) "          \
    "THEN excluded.made_with ELSE made_with END, "                                                 \
    "flops_per_s = nullif(max(coalesce(excluded.flops_per_s, 0), coalesce(flops_per_s, 0)), 0), "  \
    "bytes_per_s = nullif(max(coalesce(excluded.bytes_per_s, 0), coalesce(bytes_per_s, 0)), 0)"

static bool put_row(struct nl_ledger *ledger, const struct nl_host_roofs *roofs,
                    const struct nl_host_roof *roof, struct nl_err *err)
{
    return nl_ledgerdb_do(ledger, err, KEEP, "ttittiffti", roofs->host, roofs->cpu,
                          (int64_t)roofs->processors, roof->device, roof->type,
                          (int64_t)roof->threads, roof->flops_per_s, roof->bytes_per_s, roof->with,
                          roof->measured_ns);
}

bool nl_roofkeep_put(struct nl_ledger *ledger, const struct nl_host_roofs *roofs, bool replace,
                     struct nl_err *err)
{
    if (!nl_ledgerdb_begin(ledger, err))
        return false;
    bool done = !replace ||
                nl_ledgerdb_do(ledger, err,
                               "DELETE FROM roofs WHERE host = ?1 AND cpu = ?2 AND processors = ?3",
                               "tti", roofs->host, roofs->cpu, (int64_t)roofs->processors);
    for (size_t i = 0; done && i < roofs->count; i++)
        done = put_row(ledger, roofs, &roofs->items[i], err);
    return nl_ledgerdb_end(ledger, done, err);
}

/* Rows are input like any other: a text that does not fit is cut, a number
 * that is none is unknown. */
static void read_text(char *room, size_t size, sqlite3_stmt *rows, int column)
{
    const char *text = (const char *)sqlite3_column_text(rows, column);
    snprintf(room, size, "%s", text ? text : "");
}

static double take_rate(sqlite3_stmt *rows, int column)
{
    double value = sqlite3_column_double(rows, column);
    return value > 0 && value < 1e24 ? value : NL_NULL_F64;
}

static struct nl_host_roof take_row(sqlite3_stmt *rows, int column)
{
    struct nl_host_roof roof = {0};
    int64_t threads = sqlite3_column_int64(rows, column + 2);
    read_text(roof.device, sizeof roof.device, rows, column);
    read_text(roof.type, sizeof roof.type, rows, column + 1);
    roof.threads = threads > 0 && threads < 1000000 ? (uint32_t)threads : 0;
    roof.flops_per_s = take_rate(rows, column + 3);
    roof.bytes_per_s = take_rate(rows, column + 4);
    read_text(roof.with, sizeof roof.with, rows, column + 5);
    roof.measured_ns = sqlite3_column_int64(rows, column + 6);
    return roof;
}

#define OF_HOST  "host = ?1 AND (?2 = '' OR cpu = ?2) AND (?3 = 0 OR processors = ?3)"
#define FIGURES  "device, type, threads, flops_per_s, bytes_per_s, made_with, measured_ns"
#define MAX_ROWS 4096 /* rows of one host: a ledger with more was not written by this program */

/* How many machines these facts fit. */
static bool count_machines(struct nl_ledger *ledger, const struct nl_host_roofs *facts,
                           int64_t *machines, struct nl_err *err)
{
    return nl_ledgerdb_number(
        ledger, machines, 0, err,
        "SELECT count(*) FROM (SELECT DISTINCT cpu, processors FROM roofs WHERE " OF_HOST ")",
        "tti", facts->host, facts->cpu, (int64_t)facts->processors);
}

bool nl_roofkeep_get(struct nl_ledger *ledger, const struct nl_host_roofs *facts,
                     struct nl_host_roofs **roofs, struct nl_err *err)
{
    int64_t machines = 0, count = 0;
    bool ok = true;
    *roofs = nl_zalloc(sizeof **roofs);
    **roofs = *facts;
    (*roofs)->count = 0;
    if (!facts->host[0] || (!facts->cpu[0] && !facts->named))
        return true;
    if (!count_machines(ledger, facts, &machines, err) ||
        !nl_ledgerdb_number(ledger, &count, 0, err, "SELECT count(*) FROM roofs WHERE " OF_HOST,
                            "tti", facts->host, facts->cpu, (int64_t)facts->processors))
        return false;
    if (machines != 1 || count > MAX_ROWS)
        return true;
    nl_free(*roofs);
    *roofs = nl_zalloc(sizeof **roofs + (size_t)count * sizeof *(*roofs)->items);
    **roofs = *facts;
    (*roofs)->count = 0;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err, "SELECT cpu, " FIGURES " FROM roofs WHERE " OF_HOST " ORDER BY 2, 3, 4", "tti",
        facts->host, facts->cpu, (int64_t)facts->processors);
    while (rows && (*roofs)->count < (size_t)count && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        read_text((*roofs)->cpu, sizeof(*roofs)->cpu, rows, 0);
        (*roofs)->items[(*roofs)->count++] = take_row(rows, 1);
    }
    if (rows)
        sqlite3_reset(rows);
    return rows && ok;
}

bool nl_roofkeep_host(struct nl_ledger *ledger, int64_t run, struct nl_host_roofs *facts,
                      struct nl_err *err)
{
    bool ok = true;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err,
        "SELECT k.name, f.text FROM facts f JOIN keys k USING (key) WHERE f.run = ?1 AND k.name IN "
        "('hardware.host_name', 'hardware.cpu_model', 'hardware.cpu_count')",
        "i", run);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        const char *key = (const char *)sqlite3_column_text(rows, 0);
        if (key && strcmp(key, "hardware.host_name") == 0)
            read_text(facts->host, sizeof facts->host, rows, 1);
        else if (key && strcmp(key, "hardware.cpu_model") == 0)
            read_text(facts->cpu, sizeof facts->cpu, rows, 1);
        else
            facts->processors = (uint32_t)sqlite3_column_int(rows, 1);
    }
    return rows && ok;
}

bool nl_roofkeep_merge(struct nl_ledger *from, struct nl_ledger *into, struct nl_err *err)
{
    bool ok = true, done = true;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        from, err, "SELECT host, cpu, processors, " FIGURES " FROM roofs ORDER BY host", "");
    if (!rows || !nl_ledgerdb_begin(into, err))
        return false;
    while (done && nl_ledgerdb_next(err, from, rows, &ok)) {
        struct nl_host_roofs host = {.processors = (uint32_t)sqlite3_column_int(rows, 2)};
        read_text(host.host, sizeof host.host, rows, 0);
        read_text(host.cpu, sizeof host.cpu, rows, 1);
        struct nl_host_roof roof = take_row(rows, 3);
        done = put_row(into, &host, &roof, err);
    }
    sqlite3_reset(rows);
    return nl_ledgerdb_end(into, done && ok, err);
}
