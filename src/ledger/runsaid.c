/* Rows ↔ the members run.tags and run.notes of a document. */
#include "ledger/runsaid.h"

#include "base/clock.h"
#include "ledger/ledgerdb.h"
#include "ledger/runedit.h"
#include "ledger/runload.h"
#include "ledger/runopen.h"
#include "ledger/runpatch.h"
#include "ledger/runrows.h"
#include "redact/redact.h"

/* ---- out ---- */

static bool put_tags(struct nl_ledger *ledger, int64_t run, json_t *tags, struct nl_err *err)
{
    bool ok = true;
    sqlite3_stmt *rows =
        nl_ledgerdb_ask(ledger, err, "SELECT tag FROM tags WHERE run = ?1 ORDER BY tag", "i", run);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok))
        json_array_append_new(tags, json_string((const char *)sqlite3_column_text(rows, 0)));
    return rows && ok;
}

static json_t *time_or_null(sqlite3_stmt *rows, int column)
{
    return sqlite3_column_type(rows, column) == SQLITE_INTEGER
               ? json_integer(sqlite3_column_int64(rows, column))
               : json_null();
}

static bool put_notes(struct nl_ledger *ledger, int64_t run, json_t *notes, struct nl_err *err)
{
    bool ok = true;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err,
        "SELECT made_ns, start_ns, end_ns, text FROM notes WHERE run = ?1 ORDER BY made_ns, note",
        "i", run);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        json_t *note = json_object();
        json_object_set_new(note, "made_epoch_ns", time_or_null(rows, 0));
        json_object_set_new(note, "start_ns", time_or_null(rows, 1));
        json_object_set_new(note, "end_ns", time_or_null(rows, 2));
        json_object_set_new(note, "text", json_string((const char *)sqlite3_column_text(rows, 3)));
        json_array_append_new(notes, note);
    }
    return rows && ok;
}

static bool said(struct nl_ledger *ledger, int64_t run, bool *any, struct nl_err *err)
{
    int64_t count;
    bool done = nl_ledgerdb_number(ledger, &count, 0, err,
                                   "SELECT (SELECT count(*) FROM tags WHERE run = ?1) + "
                                   "(SELECT count(*) FROM notes WHERE run = ?1)",
                                   "i", run);
    *any = count > 0;
    return done;
}

/* Its own tags and notes are not the ledger's: they came with the file, and may have been removed
 * since. Without any on either side the text stays as it was kept. */
static bool patch(struct nl_ledger *ledger, int64_t run, bool any, struct nl_buf *text,
                  struct nl_err *err)
{
    json_t *document = nl_runrows_parse(text->ptr, text->len, err);
    json_t *object = json_object_get(document, "run");
    json_t *tags = json_object_get(object, "tags"), *notes = json_object_get(object, "notes");
    bool done = document != NULL, differ = any || json_array_size(tags) || json_array_size(notes);
    if (done && differ && json_is_array(tags) && json_is_array(notes)) {
        json_array_clear(tags);
        json_array_clear(notes);
        done = put_tags(ledger, run, tags, err) && put_notes(ledger, run, notes, err) &&
               nl_runpatch(document, NULL, 0, text, err);
    }
    json_decref(document);
    return done;
}

bool nl_ledger_document_said(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                             struct nl_buf *out, struct nl_err *err)
{
    struct nl_buf text;
    bool any;
    nl_buf_init(&text, NL_MAX_DOCUMENT);
    bool done = nl_ledger_document(ledger, run, &text, err) && said(ledger, run->run, &any, err) &&
                patch(ledger, run->run, any, &text, err);
    if (done)
        nl_buf_add(out, text.ptr, text.len);
    nl_buf_release(&text);
    return done;
}

/* ---- in ---- */

static int64_t time_of(const json_t *note, const char *member)
{
    const json_t *value = json_object_get(note, member);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : INT64_MIN;
}

static bool take_note(struct nl_ledger *ledger, int64_t run, const json_t *note, struct nl_err *err)
{
    struct nl_buf safe;
    const char *text = json_string_value(json_object_get(note, "text"));
    int64_t made = time_of(note, "made_epoch_ns");
    if (!text || !*text)
        return true;
    nl_buf_init(&safe, NL_MAX_DOCUMENT);
    nl_redact_text(&safe, nl_str(text));
    bool done = nl_ledgerdb_do(ledger, err,
                               "INSERT INTO notes(run, made_ns, start_ns, end_ns, text) "
                               "VALUES(?1, ?2, ?3, ?4, ?5)",
                               "iiiit", run, made == INT64_MIN ? nl_calendar_ns() : made,
                               time_of(note, "start_ns"), time_of(note, "end_ns"), safe.ptr);
    nl_buf_release(&safe);
    return done;
}

bool nl_runsaid_take(struct nl_ledger *ledger, int64_t run, const json_t *document,
                     struct nl_err *err)
{
    const json_t *tags = nl_runrows_value(document, "run.tags");
    const json_t *notes = nl_runrows_value(document, "run.notes");
    bool done = true;
    for (size_t i = 0; done && i < json_array_size(tags); i++) {
        const char *tag = json_string_value(json_array_get(tags, i));
        struct nl_err ignored;
        nl_err_clear(&ignored);
        if (tag && nl_ledger_tag_check(tag, &ignored))
            done = nl_ledgerdb_do(ledger, err,
                                  "INSERT OR IGNORE INTO tags(tag, run, given) SELECT ?1, ?2, "
                                  "(SELECT coalesce(min(given), 1) - 1 FROM tags WHERE tag = ?1)",
                                  "ti", tag, run);
    }
    for (size_t i = 0; done && i < json_array_size(notes); i++)
        done = take_note(ledger, run, json_array_get(notes, i), err);
    return done;
}
