/* Tags, notes and the trash. */
#define _GNU_SOURCE
#include "ledger/runedit.h"

#include <stdio.h>
#include <string.h>

#include "base/chars.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "ledger/ledgerdb.h"
#include "ledger/runkeep.h"
#include "redact/redact.h"

#define MAX_TAG  100 /* bytes */
#define MAX_NOTE ((size_t)64 << 10)

static bool is_utf8(const char *text)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);
    while (at < end) {
        size_t step = *at < 0x80 ? 1 : nl_utf8_length(at, (size_t)(end - at));
        if (!step)
            return false;
        at += step;
    }
    return true;
}

/* Letters of any script, so that what names a branch can name a run. */
static bool fits_tag(const char *tag)
{
    size_t len = strlen(tag);
    bool fits = len >= 1 && len <= MAX_TAG &&
                (nl_is_alnum(tag[0]) || (unsigned char)tag[0] >= 0x80) && is_utf8(tag) &&
                tag[len - 1] != '/' && !strstr(tag, "..") && !strstr(tag, "//");
    for (size_t i = 0; fits && i < len; i++)
        fits = nl_is_alnum(tag[i]) || (unsigned char)tag[i] >= 0x80 || strchr("._+:/#-", tag[i]);
    return fits;
}

bool nl_ledger_tag_check(const char *tag, struct nl_err *err)
{
    size_t len = strlen(tag);
    if (!fits_tag(tag))
        return nl_fail(
            err, NL_USAGE,
            "'%s' is not a tag: 1 to %d letters, digits and . _ + : / # - beginning with a "
            "letter or digit",
            tag, MAX_TAG);
    if (len >= 6 && strspn(tag, "0123456789abcdefABCDEF") == len)
        return nl_fail(err, NL_USAGE, "'%s' could be an id; add a letter after f to it", tag);
    return true;
}

/* Since it was looked up, `gc` may have taken the run away, and another one may have got its
 * number. To be asked inside the transaction. */
static bool still_there(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                        struct nl_err *err)
{
    int64_t count;
    if (!nl_ledgerdb_number(ledger, &count, 0, err,
                            "SELECT count(*) FROM runs WHERE run = ?1 AND id = ?2", "it", run->run,
                            run->id))
        return false;
    nl_err_at(err, count ? "" : ledger->folder, -1);
    return count || nl_fail(err, NL_IO,
                            "run %.8s was removed by another command meanwhile; `neurolens ls` "
                            "lists the runs",
                            run->id);
}

/* Which run the tag means, or none. */
static bool meaning(struct nl_ledger *ledger, const char *tag, struct nl_ledger_run *run,
                    struct nl_err *err)
{
    bool ok = true;
    *run = (struct nl_ledger_run){0};
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err,
        "SELECT run, id FROM runs JOIN tags USING (run) WHERE tag = ?1 AND removed_ns IS NULL "
        "ORDER BY given DESC, run DESC LIMIT 1",
        "t", tag);
    if (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        run->run = sqlite3_column_int64(rows, 0);
        snprintf(run->id, sizeof run->id, "%s", (const char *)sqlite3_column_text(rows, 1));
        sqlite3_reset(rows);
    }
    return rows && ok;
}

/* The runs that lose a tag have that in their provenance and cards, too. */
static bool take_from_others(struct nl_ledger *ledger, int64_t run, const char *tag,
                             const char *command, bool *any, struct nl_err *err)
{
    bool ok = true, done = true;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err, "SELECT run FROM tags WHERE tag = ?1 AND run <> ?2", "ti", tag, run);
    while (rows && done && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        done = nl_runkeep_event(ledger, sqlite3_column_int64(rows, 0), command, err);
        *any = true;
    }
    if (rows)
        sqlite3_reset(rows);
    return rows && ok && done &&
           nl_ledgerdb_do(ledger, err, "DELETE FROM tags WHERE tag = ?1 AND run <> ?2", "ti", tag,
                          run);
}

static bool edit_tag(struct nl_ledger *ledger, int64_t run, const char *tag, enum nl_tag_how how,
                     const char *command, struct nl_tag_change *change, struct nl_err *err)
{
    struct nl_ledger_run before, after;
    int64_t had;
    if (!meaning(ledger, tag, &before, err) ||
        !nl_ledgerdb_number(ledger, &had, 0, err,
                            "SELECT count(*) FROM tags WHERE tag = ?1 AND run = ?2", "ti", tag,
                            run))
        return false;
    bool done = true, taken = false;
    if (how == NL_TAG_REMOVE)
        done = nl_ledgerdb_do(ledger, err, "DELETE FROM tags WHERE tag = ?1 AND run = ?2", "ti",
                              tag, run);
    else if (before.run != run)
        done = nl_ledgerdb_do(ledger, err,
                              "INSERT OR REPLACE INTO tags(tag, run, given) VALUES(?1, ?2, "
                              "(SELECT coalesce(max(given), 0) + 1 FROM tags))",
                              "ti", tag, run);
    if (done && how == NL_TAG_MOVE)
        done = take_from_others(ledger, run, tag, command, &taken, err);
    if (!done || !meaning(ledger, tag, &after, err))
        return false;
    change->changed = how == NL_TAG_REMOVE ? had > 0 : before.run != run || taken;
    change->means_other = before.run && before.run != after.run;
    snprintf(change->before, sizeof change->before, "%s", before.id);
    snprintf(change->now, sizeof change->now, "%s", after.id);
    return true;
}

bool nl_ledger_tag(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                   const char *const *tags, size_t count, enum nl_tag_how how, const char *command,
                   struct nl_tag_change *changes, struct nl_err *err)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        if (!nl_ledger_tag_check(tags[i], err))
            return false;
    if (!nl_ledgerdb_begin(ledger, err))
        return false;
    bool done = still_there(ledger, run, err);
    for (size_t i = 0; done && i < count; i++) {
        changes[i] = (struct nl_tag_change){0};
        done = edit_tag(ledger, run->run, tags[i], how, command, &changes[i], err);
        any = any || changes[i].changed;
    }
    done = done && (!any || nl_runkeep_event(ledger, run->run, command, err));
    return nl_ledgerdb_end(ledger, done, err);
}

bool nl_ledger_note(struct nl_ledger *ledger, const struct nl_ledger_run *run, const char *text,
                    int64_t start_ns, int64_t end_ns, const char *command, struct nl_err *err)
{
    struct nl_buf safe;
    nl_buf_init(&safe, MAX_NOTE);
    nl_redact_text(&safe, nl_str(text));
    bool done = safe.len && !safe.overflow;
    if (!done)
        (void)nl_fail(err, NL_USAGE, safe.overflow ? "a note is at most 64 KiB" : "an empty note");
    done = done && nl_ledgerdb_begin(ledger, err);
    if (done) {
        done = still_there(ledger, run, err) &&
               nl_ledgerdb_do(ledger, err,
                              "INSERT INTO notes(run, made_ns, start_ns, end_ns, text) "
                              "VALUES(?1, ?2, ?3, ?4, ?5)",
                              "iiiit", run->run, nl_calendar_ns(), start_ns, end_ns, safe.ptr) &&
               nl_runkeep_event(ledger, run->run, command, err);
        done = nl_ledgerdb_end(ledger, done, err);
    }
    nl_buf_release(&safe);
    return done;
}

bool nl_ledger_trash(struct nl_ledger *ledger, const struct nl_ledger_run *runs, size_t count,
                     bool restore, const char *command, struct nl_err *err)
{
    if (!nl_ledgerdb_begin(ledger, err))
        return false;
    bool done = true;
    for (size_t i = 0; done && i < count; i++)
        done = still_there(ledger, &runs[i], err) &&
               nl_ledgerdb_do(ledger, err,
                              "UPDATE runs SET removed_ns = ?2 "
                              "WHERE run = ?1 AND (removed_ns IS NULL) <> (?2 IS NULL)",
                              "ii", runs[i].run, restore ? INT64_MIN : nl_calendar_ns()) &&
               nl_runkeep_event(ledger, runs[i].run, command, err);
    return nl_ledgerdb_end(ledger, done, err);
}
