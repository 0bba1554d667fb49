/* Run by run, the oldest first: its card, its artefacts, then its rows in one transaction. */
#define _GNU_SOURCE
#include "ledger/ledgermerge.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "ledger/artefactwalk.h"
#include "ledger/ledgerdb.h"
#include "ledger/roofkeep.h"
#include "ledger/runanomaly.h"
#include "ledger/runcard.h"
#include "ledger/runkeep.h"
#include "ledger/runopen.h"
#include "ledger/runrows.h"

struct merging {
    struct nl_ledger *from, *into;
    struct nl_ledger_merged *merged;
    struct nl_job *job;
    const char *command;
    int64_t given; /* added to the order of FROM's tags, so that they come last */
};

/* Unpacked, checked and packed again: a damaged artefact does not get into the other ledger. */
static bool copy_artefact(struct merging *merging, const char *sha256, struct nl_err *err)
{
    struct nl_artefact kept;
    struct nl_arena arena;
    if (!nl_digest_is_text(sha256))
        return nl_fail(err, NL_FORMAT, "the row names no artefact");
    if (nl_artefact_touch(merging->into->folder, sha256))
        return true;
    nl_arena_init(&arena);
    char *path = nl_arena_format(&arena, "%s/artefacts", merging->into->folder);
    bool done = nl_make_folders(path, err);
    path = nl_arena_format(&arena, "%s/new.merge-%.16s", path, sha256);
    done = done && nl_artefact_unpack(merging->from->folder, sha256, path, merging->job, err) &&
           nl_artefact_keep_file(&kept, merging->into->folder, path, merging->job, err) &&
           (!kept.stored || nl_artefact_last(merging->into->folder, err));
    unlink(path);
    nl_arena_free(&arena);
    if (done)
        merging->merged->artefact_bytes += kept.bytes;
    return done;
}

static bool copy_artefacts(struct merging *merging, const json_t *card, struct nl_err *err)
{
    const json_t *artefacts = json_object_get(card, "artefacts");
    for (size_t i = 0; i < json_array_size(artefacts); i++)
        if (!copy_artefact(
                merging, json_string_value(json_object_get(json_array_get(artefacts, i), "sha256")),
                err))
            return false;
    return true;
}

static void move_tags_behind(const struct merging *merging, const json_t *card)
{
    const json_t *tags = json_object_get(card, "tags");
    for (size_t i = 0; i < json_array_size(tags); i++) {
        json_t *tag = json_array_get(tags, i);
        json_int_t given = json_integer_value(json_object_get(tag, "given"));
        json_object_set_new(tag, "given", json_integer(given + (json_int_t)merging->given));
    }
}

static bool copy_print(struct merging *merging, int64_t from, int64_t into, struct nl_err *err)
{
    struct nl_ledger_fingerprint print;
    nl_ledger_fingerprint_init(&print, 0);
    bool done = nl_ledgerdb_number(merging->from, &print.form, 0, err,
                                   "SELECT form FROM fingerprints WHERE run = ?1", "i", from) &&
                nl_ledger_fingerprint_get(merging->from, from, print.form, &print.items,
                                          &print.names, err) &&
                (!print.items.len || nl_ledger_fingerprint_put(merging->into, into, &print, err));
    nl_ledger_fingerprint_release(&print);
    return done;
}

static json_t *read_document(struct merging *merging, const struct nl_ledger_run *run,
                             struct nl_err *err)
{
    struct nl_buf text;
    nl_buf_init(&text, NL_MAX_DOCUMENT);
    json_t *document = nl_ledger_document(merging->from, run, &text, err) && text.len
                           ? nl_runrows_parse(text.ptr, text.len, err)
                           : NULL;
    nl_buf_release(&text);
    return document;
}

static bool copy_run(struct merging *merging, const struct nl_ledger_run *run, const json_t *card,
                     struct nl_err *err)
{
    int64_t made = 0;
    json_t *document = read_document(merging, run, err);
    bool done =
        document && copy_artefacts(merging, card, err) && nl_ledgerdb_begin(merging->into, err);
    if (done) {
        done = nl_runcard_apply(merging->into, card, &made, err) &&
               nl_runrows_document(merging->into, made, document, err) &&
               nl_runanomaly_judge(merging->into, made, err) &&
               copy_print(merging, run->run, made, err) &&
               nl_runkeep_event(merging->into, made, merging->command, err);
        done = nl_ledgerdb_end(merging->into, done, err);
    }
    json_decref(document);
    merging->merged->runs += done;
    return done;
}

/* Tags, notes and provenance that the run does not have yet. */
static bool join_run(struct merging *merging, int64_t run, const json_t *card, struct nl_err *err)
{
    struct nl_ledger *into = merging->into;
    if (!nl_ledgerdb_begin(into, err))
        return false;
    int before = sqlite3_total_changes(into->db);
    bool done = nl_runcard_join(into, card, run, err);
    bool changed = sqlite3_total_changes(into->db) > before;
    done = done && (!changed || nl_runkeep_event(into, run, merging->command, err));
    merging->merged->joined += done && changed;
    merging->merged->same += done && !changed;
    return nl_ledgerdb_end(into, done, err);
}

static bool merge_run(struct merging *merging, const struct nl_ledger_run *run, struct nl_err *err)
{
    int64_t there;
    json_t *card = nl_runcard_make(merging->from, run->run, err);
    bool done = card && nl_runcard_check(card, err) &&
                nl_ledgerdb_number(merging->into, &there, 0, err,
                                   "SELECT run FROM runs WHERE id = ?1", "t", run->id);
    if (done)
        move_tags_behind(merging, card);
    done =
        done && (there ? join_run(merging, there, card, err) : copy_run(merging, run, card, err));
    json_decref(card);
    return done;
}

bool nl_ledger_merge(struct nl_ledger *from, struct nl_ledger *into, const char *command,
                     struct nl_ledger_merged *merged, struct nl_job *job, struct nl_err *err)
{
    struct merging merging = {from, into, merged, job, command, 0};
    int64_t count;
    bool ok = true, done = true;
    *merged = (struct nl_ledger_merged){0};
    if (!nl_ledgerdb_number(into, &merging.given, 0, err, "SELECT max(given) + 1 FROM tags", "") ||
        !nl_ledgerdb_number(from, &count, 0, err,
                            "SELECT count(*) FROM runs WHERE removed_ns IS NULL", ""))
        return false;
    nl_job_phase(job, "merging", (uint64_t)count);
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        from, err, "SELECT run, id FROM runs WHERE removed_ns IS NULL ORDER BY run", "");
    while (rows && done && nl_ledgerdb_next(err, from, rows, &ok)) {
        struct nl_ledger_run run = {.run = sqlite3_column_int64(rows, 0)};
        snprintf(run.id, sizeof run.id, "%s", (const char *)sqlite3_column_text(rows, 1));
        done = !nl_job_cancelled(job) || nl_fail(err, NL_INTERRUPTED, "stopped on request");
        done = done && merge_run(&merging, &run, err);
        nl_job_add(job, 1);
    }
    if (rows && !done)
        sqlite3_reset(rows);
    return rows && ok && done && nl_roofkeep_merge(from, into, err);
}
