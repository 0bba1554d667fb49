/* Rows against artefacts, artefacts against rows, cards against both. */
#define _GNU_SOURCE
#include "ledger/ledgercheck.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/units.h"
#include "ledger/artefactwalk.h"
#include "ledger/ledgerdb.h"
#include "ledger/ledgergc.h"
#include "ledger/runcard.h"

#define MAX_FAULTS 1000

struct checking {
    struct nl_ledger *ledger;
    const struct nl_ledger_check_options *options;
    struct nl_job *job;
    struct nl_result *result;
    uint64_t runs, artefacts, artefact_bytes, orphans[NL_ARTEFACT_SOURCE + 1];
    int64_t now_s;
};

static void fault(struct checking *checking, const char *what, const char *run, const char *next,
                  const char *detail)
{
    if (checking->result->rows == MAX_FAULTS) {
        checking->result->truncated = true;
        return;
    }
    struct nl_cell *cell = nl_result_row(checking->result);
    cell[0] = nl_cell_text(checking->result, nl_str(what));
    if (run)
        cell[1] = nl_cell_text(checking->result, nl_str(run));
    cell[2] = nl_cell_text(checking->result, nl_str(detail));
    cell[3] = nl_cell_text(checking->result, nl_str(next));
}

static bool stopped(const struct checking *checking, struct nl_err *err)
{
    return nl_job_cancelled(checking->job) && !nl_fail(err, NL_INTERRUPTED, "stopped on request");
}

/* ---- the database ---- */

static bool check_pages(struct checking *checking, struct nl_err *err)
{
    bool ok = true;
    sqlite3_stmt *rows = nl_ledgerdb_ask(checking->ledger, err, "PRAGMA integrity_check(20)", "");
    while (rows && nl_ledgerdb_next(err, checking->ledger, rows, &ok)) {
        const char *says = (const char *)sqlite3_column_text(rows, 0);
        if (says && strcmp(says, "ok") != 0)
            fault(checking, "database", NULL, "neurolens ledger rebuild", says);
    }
    if (!rows || !ok)
        return false;
    rows =
        nl_ledgerdb_ask(checking->ledger, err,
                        "SELECT \"table\", count(*) FROM pragma_foreign_key_check GROUP BY 1", "");
    while (rows && nl_ledgerdb_next(err, checking->ledger, rows, &ok)) {
        char text[160];
        snprintf(text, sizeof text, "%lld rows of table %.60s belong to no run",
                 (long long)sqlite3_column_int64(rows, 1), sqlite3_column_text(rows, 0));
        fault(checking, "database", NULL, "neurolens ledger rebuild", text);
    }
    return rows && ok;
}

/* ---- artefacts of runs ---- */

/* NULL, or what is wrong with it. */
static const char *artefact_fault(struct checking *checking, const char *sha256, char text[200])
{
    struct stat info;
    struct nl_err why;
    if (!nl_digest_is_text(sha256))
        return "the row names no artefact";
    char *path = nl_artefact_path(checking->ledger->folder, sha256);
    bool there = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    nl_free(path);
    if (!there) {
        snprintf(text, 200, "artefact %.12s is missing", sha256);
        return text;
    }
    checking->artefacts++;
    checking->artefact_bytes += (uint64_t)info.st_size;
    nl_err_clear(&why);
    if (checking->options->quick
            ? info.st_size > 0
            : nl_artefact_verify(checking->ledger->folder, sha256, checking->job, &why))
        return NULL;
    snprintf(text, 200, "artefact %.12s is damaged", sha256);
    return text;
}

static bool check_needed(struct checking *checking, struct nl_err *err)
{
    bool ok = true;
    char text[200], detail[300];
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        checking->ledger, err,
        "SELECT sha256, min(id), min(role), count(*) FROM artefacts JOIN runs USING (run) "
        "GROUP BY sha256 ORDER BY min(run)",
        "");
    while (rows && nl_ledgerdb_next(err, checking->ledger, rows, &ok)) {
        const char *wrong =
            artefact_fault(checking, (const char *)sqlite3_column_text(rows, 0), text);
        if (stopped(checking, err))
            return false;
        if (!wrong)
            continue;
        const char *role = (const char *)sqlite3_column_text(rows, 2);
        snprintf(detail, sizeof detail, "%s (%s)", wrong, role);
        fault(checking, "artefact", (const char *)sqlite3_column_text(rows, 1),
              strcmp(role, "source") == 0
                  ? "restore the file from a backup; the run opens from its trace"
                  : "add the profile again, or rm the run and gc",
              detail);
    }
    if (!rows || !ok)
        return false;
    rows = nl_ledgerdb_ask(checking->ledger, err,
                           "SELECT id FROM runs r WHERE NOT EXISTS (SELECT 1 FROM artefacts a "
                           "WHERE a.run = r.run AND role = 'document')",
                           "");
    while (rows && nl_ledgerdb_next(err, checking->ledger, rows, &ok))
        fault(checking, "artefact", (const char *)sqlite3_column_text(rows, 0),
              "add the profile again", "the run has no document");
    return rows && ok;
}

/* ---- artefacts of none ---- */

static bool see_orphan(void *context, const struct nl_artefact_file *file, struct nl_err *err)
{
    struct checking *checking = context;
    int64_t known;
    if (stopped(checking, err) ||
        !nl_ledgerdb_number(checking->ledger, &known, 0, err,
                            "SELECT EXISTS (SELECT 1 FROM artefacts WHERE sha256 = ?1) OR "
                            "EXISTS (SELECT 1 FROM released WHERE sha256 = ?1)",
                            "t", file->sha256))
        return false;
    /* A young one may belong to a run that is being added. */
    if (!known && checking->now_s - (int64_t)file->info.st_mtim.tv_sec >= NL_LEDGER_YOUNG_S)
        checking->orphans[nl_artefact_kind_of(checking->ledger->folder, file->sha256)]++;
    return true;
}

static bool check_orphans(struct checking *checking, struct nl_err *err)
{
    static const struct {
        enum nl_artefact_kind kind;
        const char *text, *next;
    } kinds[] = {
        {NL_ARTEFACT_DOCUMENT, "run documents belong to no run of the database",
         "neurolens ledger rebuild makes runs of them; gc --orphans removes them"},
        {NL_ARTEFACT_TRACE, "traces belong to no run of the database",
         "neurolens ledger rebuild; gc --orphans removes them"},
        {NL_ARTEFACT_SOURCE, "kept files belong to no run of the database",
         "neurolens ledger rebuild; gc --orphans removes them"},
        {NL_ARTEFACT_DAMAGED, "artefacts that no run needs cannot be read",
         "neurolens gc --orphans removes them"},
    };
    char text[160], count[NL_UNIT_TEXT];
    if (!nl_artefact_walk(checking->ledger->folder, see_orphan, checking, err))
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint64_t orphans = checking->orphans[kinds[i].kind];
        snprintf(text, sizeof text, "%s %s", nl_format_count(count, orphans), kinds[i].text);
        if (orphans)
            fault(checking, "orphan", NULL, kinds[i].next, text);
    }
    return true;
}

/* ---- cards ---- */

static bool see_card(void *context, const char *id, struct nl_err *err)
{
    struct checking *checking = context;
    int64_t known;
    if (!nl_ledgerdb_number(checking->ledger, &known, 0, err,
                            "SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?1)", "t", id))
        return false;
    if (!known)
        fault(checking, "card", id, "neurolens ledger rebuild brings the run back",
              "the card's run is not in the database");
    return true;
}

static bool check_cards(struct checking *checking, struct nl_err *err)
{
    bool ok = true;
    uint64_t missing = 0, stale = 0;
    char text[160];
    sqlite3_stmt *rows =
        nl_ledgerdb_ask(checking->ledger, err, "SELECT run, id FROM runs ORDER BY run", "");
    while (rows && nl_ledgerdb_next(err, checking->ledger, rows, &ok)) {
        struct nl_err ignored;
        nl_err_clear(&ignored);
        json_t *kept = nl_runcard_read(checking->ledger->folder,
                                       (const char *)sqlite3_column_text(rows, 1), &ignored);
        json_t *wanted =
            kept ? nl_runcard_make(checking->ledger, sqlite3_column_int64(rows, 0), &ignored)
                 : NULL;
        checking->runs++;
        missing += !kept;
        stale += wanted && !json_equal(kept, wanted);
        json_decref(kept);
        json_decref(wanted);
        if (stopped(checking, err))
            return false;
    }
    snprintf(text, sizeof text,
             "%llu runs have no card (tags and notes would be lost with ledger.db)",
             (unsigned long long)missing);
    if (missing)
        fault(checking, "card", NULL, "neurolens ledger rebuild writes them", text);
    snprintf(text, sizeof text, "%llu cards are older than their runs", (unsigned long long)stale);
    if (stale)
        fault(checking, "card", NULL, "neurolens ledger rebuild writes them", text);
    return rows && ok && nl_runcard_walk(checking->ledger->folder, see_card, checking, err);
}

struct nl_result *nl_ledger_check(struct nl_ledger *ledger,
                                  const struct nl_ledger_check_options *options, struct nl_job *job,
                                  struct nl_err *err)
{
    static const struct nl_result_column columns[] = {{"what", "What", NL_MEANS_TEXT},
                                                      {"run", "Run", NL_MEANS_TEXT},
                                                      {"detail", "Detail", NL_MEANS_TEXT},
                                                      {"next", "What to do", NL_MEANS_TEXT}};
    char runs[NL_UNIT_TEXT], artefacts[NL_UNIT_TEXT], bytes[NL_UNIT_TEXT];
    struct checking checking = {.ledger = ledger,
                                .options = options,
                                .job = job,
                                .now_s = nl_calendar_ns() / 1000000000,
                                .result = nl_result_new("ledger_check", "", columns, 4)};
    nl_job_phase(job, "checking", 0);
    bool done = (options->quick || check_pages(&checking, err)) && check_needed(&checking, err) &&
                check_cards(&checking, err) && check_orphans(&checking, err);
    if (!done) {
        nl_result_free(checking.result);
        return NULL;
    }
    checking.result->note = nl_arena_format(
        &checking.result->arena, "%s runs, %s artefacts (%s): %s%s",
        nl_format_count(runs, checking.runs), nl_format_count(artefacts, checking.artefacts),
        nl_format_bytes(bytes, checking.artefact_bytes),
        checking.result->rows ? "not all is well" : "all is well",
        options->quick ? "; contents were not read" : "");
    return checking.result;
}
