/*
 * Candidates come from the index of the most selective fact, the newest first; what else must be
 * equal is looked up for each.
 */
#include "ledger/runhistory.h"

#include <string.h>

#include "base/chars.h"
#include "ledger/ledgerdb.h"

#define CANDIDATES "1000"

enum { NAME, COMMAND, MODEL, PHASE, PRECISION, BATCH, LENGTH, BACKEND, DEVICE, DEVICES, HOST };

/* In the order of who.facts; the first three say what the workload is. */
static const char *const names[NL_HISTORY_FACTS] = {[NAME] = "run.name",
                                                    [COMMAND] = "run.command",
                                                    [MODEL] = "workload.model",
                                                    [PHASE] = "workload.phase",
                                                    [PRECISION] = "workload.precision",
                                                    [BATCH] = "workload.batch_size",
                                                    [LENGTH] = "workload.sequence_length",
                                                    [BACKEND] = "software.backend",
                                                    [DEVICE] = "hardware.device_name",
                                                    [DEVICES] = "hardware.device_count",
                                                    [HOST] = "hardware.host_name"};

#define FACTS_SQL                                                                                  \
    "SELECT k.name, f.text FROM keys k JOIN facts f ON f.run = ?1 AND f.key = k.key WHERE k.name " \
    "IN ('run.name', 'run.command', 'workload.model', 'workload.phase', 'workload.precision', "    \
    "'workload.batch_size', 'workload.sequence_length', 'software.backend', "                      \
    "'hardware.device_name', 'hardware.device_count', 'hardware.host_name')"

static int fact_index(const char *name)
{
    for (int i = 0; i < NL_HISTORY_FACTS; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

void nl_runhistory_take(struct nl_history_who *who, const char *name, const char *value)
{
    int place = fact_index(name);
    if (place >= 0)
        who->facts[place] = value;
}

static bool is_told(const struct nl_history_who *who)
{
    return who->facts[NAME] || who->facts[COMMAND] || who->facts[MODEL];
}

/* "trace-12.json" and "trace-9.json" are one name. */
static bool same_file(const char *folded, const char *file)
{
    for (; *file; file++)
        if (!nl_is_digit(*file) && *folded++ != *file)
            return false;
    return !*folded;
}

void nl_runhistory_name(struct nl_history_who *who, const char *file, struct nl_arena *arena)
{
    who->file = NULL;
    if (is_told(who) || !file)
        return;
    char *folded = nl_arena_alloc(arena, strlen(file) + 1), *to = folded;
    for (const char *c = file; *c; c++)
        if (!nl_is_digit(*c))
            *to++ = *c;
    *to = '\0';
    who->file = folded;
}

bool nl_runhistory_of(struct nl_ledger *ledger, int64_t run, struct nl_history_who *who,
                      struct nl_arena *arena, struct nl_err *err)
{
    bool ok = true;
    *who = (struct nl_history_who){0};
    sqlite3_stmt *rows = nl_ledgerdb_ask(ledger, err, FACTS_SQL, "i", run);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok))
        nl_runhistory_take(who, (const char *)sqlite3_column_text(rows, 0),
                           nl_ledgerdb_text(arena, rows, 1));
    if (!rows || !ok)
        return false;
    rows = nl_ledgerdb_ask(ledger, err, "SELECT name FROM runs WHERE run = ?1", "i", run);
    if (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        nl_runhistory_name(who, nl_ledgerdb_text(arena, rows, 0), arena);
        sqlite3_reset(rows);
    }
    return rows && ok;
}

/* Is the run of the same workload on the same host? */
static bool compare_workload(struct nl_ledger *ledger, const struct nl_history_who *who,
                             int64_t run, bool *same, struct nl_err *err)
{
    bool ok = true;
    size_t equal = 0, known = 0;
    *same = true;
    for (size_t i = 0; i < NL_HISTORY_FACTS; i++)
        known += who->facts[i] != NULL;
    sqlite3_stmt *rows = nl_ledgerdb_ask(ledger, err, FACTS_SQL, "i", run);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        int place = fact_index((const char *)sqlite3_column_text(rows, 0));
        const char *mine = place >= 0 ? who->facts[place] : NULL;
        const char *text = (const char *)sqlite3_column_text(rows, 1);
        if (!mine || !text || strcmp(mine, text) != 0)
            *same = false;
        equal++;
    }
    *same = *same && equal == known;
    return rows && ok;
}

static sqlite3_stmt *candidates(struct nl_ledger *ledger, const struct nl_history_who *who,
                                int64_t before, struct nl_err *err)
{
    static const int telling[] = {NAME, COMMAND, MODEL, HOST};
    for (size_t i = 0; i < sizeof telling / sizeof telling[0]; i++)
        if (who->facts[telling[i]])
            return nl_ledgerdb_ask(
                ledger, err,
                "SELECT f.run, r.name FROM facts f JOIN runs r ON r.run = f.run WHERE f.key = "
                "(SELECT key FROM keys WHERE name = ?1) AND f.text = ?2 AND f.run < ?3 AND "
                "r.removed_ns IS NULL ORDER BY f.run DESC LIMIT " CANDIDATES,
                "tti", names[telling[i]], who->facts[telling[i]], before);
    return nl_ledgerdb_ask(ledger, err,
                           "SELECT run, name FROM runs WHERE run < ?1 AND removed_ns IS NULL "
                           "ORDER BY run DESC LIMIT " CANDIDATES,
                           "i", before);
}

bool nl_runhistory_find(struct nl_ledger *ledger, const struct nl_history_who *who, int64_t before,
                        size_t most, struct nl_history *history, struct nl_err *err)
{
    bool ok = true, done = true, same;
    history->count = 0;
    sqlite3_stmt *rows = candidates(ledger, who, before, err);
    while (rows && done && history->count < most && history->count < NL_HISTORY_WIDE &&
           nl_ledgerdb_next(err, ledger, rows, &ok)) {
        int64_t run = sqlite3_column_int64(rows, 0);
        if (who->file && !same_file(who->file, (const char *)sqlite3_column_text(rows, 1)))
            continue;
        done = compare_workload(ledger, who, run, &same, err);
        if (done && same)
            history->runs[history->count++] = run;
    }
    if (rows)
        sqlite3_reset(rows);
    return rows && ok && done;
}

const char *nl_runhistory_workload(const struct nl_history_who *who)
{
    return who->facts[NAME]      ? who->facts[NAME]
           : who->facts[MODEL]   ? who->facts[MODEL]
           : who->facts[COMMAND] ? who->facts[COMMAND]
                                 : NULL;
}

const char *nl_runhistory_host(const struct nl_history_who *who)
{
    return who->facts[HOST];
}
