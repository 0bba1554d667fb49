/* Rebuilding: a usable database, cards, documents without cards, cards that are missing. */
#define _GNU_SOURCE
#include "ledger/ledgerrebuild.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ledger/ledgerdb.h"
#include "ledger/orphans.h"
#include "ledger/runanomaly.h"
#include "ledger/runcard.h"
#include "ledger/runload.h"
#include "ledger/runopen.h"
#include "ledger/runpatch.h"
#include "ledger/runrows.h"

struct rebuilding {
    const char *folder;
    struct nl_ledger *ledger;
    struct nl_ledger_rebuilt *rebuilt;
    struct nl_job *job;
};

/* ---- a database that can be used ---- */

/* ledger.db, its log and its shared memory get names that say what they are. */
static bool set_aside(struct rebuilding *rebuilding, struct nl_err *err)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    time_t now = time(NULL);
    struct tm parts;
    struct nl_arena arena;
    bool done = true;
    gmtime_r(&now, &parts);
    strftime(rebuilding->rebuilt->aside, sizeof rebuilding->rebuilt->aside,
             "ledger.db.damaged-%Y%m%dT%H%M%SZ", &parts);
    nl_arena_init(&arena);
    for (size_t i = 0; done && i < sizeof endings / sizeof endings[0]; i++) {
        char *from = nl_arena_format(&arena, "%s/ledger.db%s", rebuilding->folder, endings[i]);
        char *to = nl_arena_format(&arena, "%s/%s%s", rebuilding->folder,
                                   rebuilding->rebuilt->aside, endings[i]);
        if (access(from, F_OK) == 0 && rename(from, to) != 0)
            done = nl_fail(err, NL_WRITE, "the damaged ledger.db cannot be moved away");
    }
    nl_arena_free(&arena);
    return done;
}

static bool is_whole(struct nl_ledger *ledger)
{
    struct nl_err ignored;
    bool ok = true;
    nl_err_clear(&ignored);
    sqlite3_stmt *rows = nl_ledgerdb_ask(ledger, &ignored, "PRAGMA integrity_check(1)", "");
    bool whole = rows && nl_ledgerdb_next(&ignored, ledger, rows, &ok) &&
                 strcmp((const char *)sqlite3_column_text(rows, 0), "ok") == 0;
    if (rows)
        sqlite3_reset(rows);
    return whole;
}

static bool open_database(struct rebuilding *rebuilding, struct nl_err *err)
{
    struct nl_err why;
    nl_err_clear(&why);
    if (access(rebuilding->folder, F_OK) != 0) {
        nl_err_at(err, rebuilding->folder, -1);
        return nl_fail(err, NL_IO, "there is no ledger; `neurolens init` makes one");
    }
    rebuilding->ledger = nl_ledger_open(rebuilding->folder, NL_LEDGER_REBUILD, &why);
    if (!rebuilding->ledger && why.code != NL_FORMAT) {
        *err = why;
        return false;
    }
    if (rebuilding->ledger && is_whole(rebuilding->ledger))
        return nl_ledgerdb_number(rebuilding->ledger, (int64_t *)&rebuilding->rebuilt->before, 0,
                                  err, "SELECT count(*) FROM runs", "");
    nl_ledger_close(rebuilding->ledger);
    rebuilding->ledger = NULL;
    if (!set_aside(rebuilding, err))
        return false;
    rebuilding->ledger = nl_ledger_open(rebuilding->folder, NL_LEDGER_REBUILD, err);
    return rebuilding->ledger != NULL;
}

/* ---- one run ---- */

static void count_failure(struct rebuilding *rebuilding, const char *what, const struct nl_err *why)
{
    struct nl_ledger_rebuilt *rebuilt = rebuilding->rebuilt;
    if (!rebuilt->failed++)
        snprintf(rebuilt->failure, sizeof rebuilt->failure, "%.20s: %.150s", what, why->text);
}

static json_t *read_document(struct rebuilding *rebuilding, const char *sha256, size_t *bytes,
                             struct nl_err *err)
{
    struct nl_buf text;
    json_t *document = NULL;
    nl_buf_init(&text, NL_MAX_DOCUMENT);
    if (nl_artefact_read(rebuilding->folder, sha256, &text, err) && text.len &&
        nl_runpatch_check(text.ptr, text.len, err))
        document = nl_runrows_parse(text.ptr, text.len, err);
    *bytes = text.len;
    nl_buf_release(&text);
    return document;
}

static bool make_run(struct rebuilding *rebuilding, const json_t *card, const json_t *document,
                     int64_t *run, struct nl_err *err)
{
    struct nl_ledger *ledger = rebuilding->ledger;
    if (!nl_ledgerdb_begin(ledger, err))
        return false;
    bool done = nl_runcard_apply(ledger, card, run, err) &&
                nl_runrows_document(ledger, *run, document, err);
    if (done)
        nl_ledgerdb_touch(ledger, *run);
    return nl_ledgerdb_end(ledger, done, err);
}

static bool has_run(struct nl_ledger *ledger, const char *id, bool *has, struct nl_err *err)
{
    int64_t count;
    bool done = nl_ledgerdb_number(ledger, &count, 0, err,
                                   "SELECT count(*) FROM runs WHERE id = ?1", "t", id);
    *has = count > 0;
    return done;
}

/* Fingerprint and, for a run without a card, findings, from its trace. What cannot be made can be
 * made later: `similar --update`, `analyze`. */
static void complete(struct rebuilding *rebuilding, int64_t run, const char *id, bool judge)
{
    struct nl_ledger_run named = {.run = run};
    struct nl_open_options options = {0};
    struct nl_analyze_options whole = {0};
    struct nl_ledger_fingerprint print;
    struct nl_err ignored;
    nl_err_clear(&ignored);
    snprintf(named.id, sizeof named.id, "%s", id);
    struct nl_trace *trace =
        nl_ledger_trace(rebuilding->ledger, &named, &options, rebuilding->job, &ignored);
    if (!trace)
        return;
    nl_ledger_fingerprint_init(&print, 0);
    bool done = nl_ledger_fingerprint_make(&print, trace, rebuilding->job, &ignored) &&
                nl_ledger_fingerprint_keep(rebuilding->ledger, run, &print, &ignored);
    struct nl_findings *findings =
        done && judge ? nl_findings_new(trace, &whole, rebuilding->job, &ignored) : NULL;
    if (findings && nl_ledgerdb_begin(rebuilding->ledger, &ignored)) {
        nl_ledgerdb_touch(rebuilding->ledger, run);
        done = nl_ledgerdb_end(rebuilding->ledger,
                               nl_runrows_findings(rebuilding->ledger, run, findings, &ignored),
                               &ignored);
    }
    nl_findings_free(findings);
    nl_ledger_fingerprint_release(&print);
    nl_trace_free(trace);
}

/* ---- cards ---- */

struct waiting_card {
    json_t *card;
    int64_t added_ns;
};

struct cards {
    struct rebuilding *rebuilding;
    struct waiting_card *items;
    size_t count, cap;
};

static bool see_card(void *context, const char *id, struct nl_err *err)
{
    struct cards *cards = context;
    struct nl_err why;
    bool has;
    nl_err_clear(&why);
    if (!has_run(cards->rebuilding->ledger, id, &has, err))
        return false;
    json_t *card = has ? NULL : nl_runcard_read(cards->rebuilding->folder, id, &why);
    if (!has && !card)
        count_failure(cards->rebuilding, id, &why);
    if (!card)
        return true;
    nl_grow(&cards->items, &cards->cap, cards->count + 1);
    cards->items[cards->count++] =
        (struct waiting_card){card, (int64_t)json_integer_value(json_object_get(card, "added_ns"))};
    return true;
}

static int oldest_first(const void *left, const void *right)
{
    const struct waiting_card *a = left, *b = right;
    return a->added_ns < b->added_ns ? -1 : a->added_ns > b->added_ns;
}

static const char *document_of(const json_t *card)
{
    const json_t *artefacts = json_object_get(card, "artefacts");
    for (size_t i = 0; i < json_array_size(artefacts); i++) {
        const json_t *artefact = json_array_get(artefacts, i);
        const char *role = json_string_value(json_object_get(artefact, "role"));
        if (role && strcmp(role, "document") == 0)
            return json_string_value(json_object_get(artefact, "sha256"));
    }
    return "";
}

/* One run that cannot be taken back is no reason to lose the others. */
static bool take_card(struct rebuilding *rebuilding, const json_t *card, struct nl_err *err)
{
    struct nl_err why;
    size_t bytes;
    int64_t run = 0;
    const char *id = json_string_value(json_object_get(card, "id"));
    nl_err_clear(&why);
    json_t *document = read_document(rebuilding, document_of(card), &bytes, &why);
    bool done = document && make_run(rebuilding, card, document, &run, &why);
    json_decref(document);
    rebuilding->rebuilt->from_cards += done;
    if (done)
        complete(rebuilding, run, id, false);
    else if (why.code == NL_WRITE || why.code == NL_ENVIRONMENT || why.code == NL_INTERRUPTED)
        *err = why;
    else
        count_failure(rebuilding, id, &why);
    return done || !err->code;
}

static bool take_cards(struct rebuilding *rebuilding, struct nl_err *err)
{
    struct cards cards = {.rebuilding = rebuilding};
    bool done = nl_runcard_walk(rebuilding->folder, see_card, &cards, err);
    if (cards.count)
        qsort(cards.items, cards.count, sizeof *cards.items, oldest_first);
    nl_job_phase(rebuilding->job, "rebuilding", cards.count);
    for (size_t i = 0; i < cards.count; i++) {
        if (done && nl_job_cancelled(rebuilding->job))
            done = nl_fail(err, NL_INTERRUPTED, "stopped on request");
        done = done && take_card(rebuilding, cards.items[i].card, err);
        json_decref(cards.items[i].card);
        nl_job_add(rebuilding->job, 1);
    }
    nl_free(cards.items);
    return done;
}

/* ---- documents without cards ---- */

/* `run` is the number that the run shall have. */
static bool take_document(struct rebuilding *rebuilding, struct nl_orphans *orphans, size_t i,
                          int64_t run, struct nl_err *err)
{
    struct nl_err why;
    size_t bytes;
    bool has = false;
    const char *sha256 = orphans->documents.items[i].sha256;
    nl_err_clear(&why);
    json_t *document = read_document(rebuilding, sha256, &bytes, &why), *card = NULL;
    const char *id = document ? json_string_value(nl_runrows_value(document, "run.id")) : NULL;
    bool good = id && has_run(rebuilding->ledger, id, &has, &why);
    if (good && !has)
        card = nl_orphans_card(orphans, i, document, bytes, &why);
    if (card && make_run(rebuilding, card, document, &run, &why)) {
        bool profile = strcmp(json_string_value(json_object_get(card, "form")), "profile") == 0;
        rebuilding->rebuilt->from_documents++;
        rebuilding->rebuilt->without_trace += !profile;
        complete(rebuilding, run, id, true);
    } else if (has) {
        rebuilding->rebuilt->spare_documents++;
    } else if (why.code == NL_WRITE || why.code == NL_ENVIRONMENT || why.code == NL_INTERRUPTED) {
        *err = why;
    } else {
        count_failure(rebuilding, sha256, &why);
    }
    json_decref(card);
    json_decref(document);
    return !err->code;
}

/* The newest come first, so that of several documents of one run it is the newest that is taken;
 * yet they get the highest numbers, as if they had been added in their order. */
static bool take_documents(struct rebuilding *rebuilding, struct nl_err *err)
{
    struct nl_orphans orphans;
    bool done = nl_orphans_find(&orphans, rebuilding->ledger, rebuilding->job, err);
    int64_t highest = 0;
    done = done && nl_ledgerdb_number(rebuilding->ledger, &highest, 0, err,
                                      "SELECT max(run) FROM runs", "");
    nl_job_phase(rebuilding->job, "rebuilding", orphans.documents.count);
    for (size_t i = 0; done && i < orphans.documents.count; i++) {
        if (nl_job_cancelled(rebuilding->job))
            done = nl_fail(err, NL_INTERRUPTED, "stopped on request");
        int64_t run = highest + (int64_t)(orphans.documents.count - i);
        done = done && take_document(rebuilding, &orphans, i, run, err);
        nl_job_add(rebuilding->job, 1);
    }
    nl_orphans_release(&orphans);
    return done;
}

/* ---- cards that are missing or old ---- */

static bool write_card(struct rebuilding *rebuilding, int64_t run, const char *id,
                       struct nl_err *err)
{
    struct nl_err ignored;
    nl_err_clear(&ignored);
    json_t *kept = nl_runcard_read(rebuilding->folder, id, &ignored);
    json_t *wanted = nl_runcard_make(rebuilding->ledger, run, err);
    bool done = wanted != NULL;
    if (wanted && !(kept && json_equal(kept, wanted))) {
        done = nl_runcard_save(rebuilding->ledger, run, err);
        rebuilding->rebuilt->cards += done;
    }
    json_decref(kept);
    json_decref(wanted);
    return done;
}

static bool write_cards(struct rebuilding *rebuilding, struct nl_err *err)
{
    bool ok = true, done = true;
    char id[NL_RUNDOC_ID];
    sqlite3_stmt *rows =
        nl_ledgerdb_ask(rebuilding->ledger, err, "SELECT run, id FROM runs ORDER BY run", "");
    while (rows && done && nl_ledgerdb_next(err, rebuilding->ledger, rows, &ok)) {
        snprintf(id, sizeof id, "%s", (const char *)sqlite3_column_text(rows, 1));
        done = write_card(rebuilding, sqlite3_column_int64(rows, 0), id, err);
    }
    if (rows && !done)
        sqlite3_reset(rows);
    return rows && ok && done;
}

bool nl_ledger_rebuild(const char *folder, struct nl_ledger_rebuilt *rebuilt, struct nl_job *job,
                       struct nl_err *err)
{
    struct rebuilding rebuilding = {.folder = folder, .rebuilt = rebuilt, .job = job};
    *rebuilt = (struct nl_ledger_rebuilt){0};
    bool done = open_database(&rebuilding, err) && take_cards(&rebuilding, err) &&
                take_documents(&rebuilding, err) &&
                nl_runanomaly_judge_rest(rebuilding.ledger, job, err) &&
                write_cards(&rebuilding, err);
    nl_ledger_close(rebuilding.ledger);
    return done;
}
