/* Tags, notes and the bin. */
#define _GNU_SOURCE
#include "ledger/runedit.h"

#include <ctype.h>
#include <string.h>

#include "ledger/ledgerdb.h"
#include "ledger/runkeep.h"
#include "store/redact.h"

#define TAG_MAX  64
#define NOTE_MAX ((size_t)64 << 10)

bool nl_ledger_tag_check(const char *tag, struct nl_err *err)
{
    size_t len = strlen(tag);
    bool fits = len >= 1 && len <= TAG_MAX && isalpha((unsigned char)tag[0]);
    for (size_t i = 0; fits && i < len; i++)
        fits = isalnum((unsigned char)tag[i]) || strchr("._+:-", tag[i]);
    if (!fits)
        return nl_fail(err, NL_USAGE,
                       "'%s' is no tag: 1 to 64 letters, digits and . _ + : - beginning with a "
                       "letter",
                       tag);
    if (len >= 6 && strspn(tag, "0123456789abcdefABCDEF") == len)
        return nl_fail(err, NL_USAGE, "'%s' could be an id; add a letter after f to it", tag);
    return true;
}

/* Since it was looked up, `gc` may have taken the run away, and another one may have got its number. To
 * be asked inside the transaction. */
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

bool nl_ledger_tag(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                   const char *const *tags, size_t count, bool remove, const char *command,
                   size_t *changed, struct nl_err *err)
{
    *changed = 0;
    for (size_t i = 0; i < count; i++)
        if (!nl_ledger_tag_check(tags[i], err))
            return false;
    if (!nl_ledgerdb_begin(ledger, err))
        return false;
    bool done = still_there(ledger, run, err);
    for (size_t i = 0; done && i < count; i++) {
        done = remove ? nl_ledgerdb_do(ledger, err, "DELETE FROM tags WHERE tag = ?1 AND run = ?2",
                                       "ti", tags[i], run->run)
                      : nl_ledgerdb_do(ledger, err, "INSERT OR IGNORE INTO tags VALUES(?1, ?2)",
                                       "ti", tags[i], run->run);
        *changed += done && sqlite3_changes(ledger->db) > 0;
    }
    done = done && (!*changed || nl_runkeep_event(ledger, run->run, command, err));
    return nl_ledgerdb_end(ledger, done, err);
}

bool nl_ledger_note(struct nl_ledger *ledger, const struct nl_ledger_run *run, const char *text,
                    int64_t start_ns, int64_t end_ns, const char *command, struct nl_err *err)
{
    struct nl_buf safe;
    nl_buf_init(&safe, NOTE_MAX);
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
                              "iiiit", run->run, nl_ledger_now_ns(), start_ns, end_ns, safe.ptr) &&
               nl_runkeep_event(ledger, run->run, command, err);
        done = nl_ledgerdb_end(ledger, done, err);
    }
    nl_buf_release(&safe);
    return done;
}

bool nl_ledger_bin(struct nl_ledger *ledger, const struct nl_ledger_run *runs, size_t count,
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
                              "ii", runs[i].run, restore ? INT64_MIN : nl_ledger_now_ns()) &&
               nl_runkeep_event(ledger, runs[i].run, command, err);
    return nl_ledgerdb_end(ledger, done, err);
}
