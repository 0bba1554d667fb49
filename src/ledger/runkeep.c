/* Artefacts first, rows after them in one transaction: a run that is listed is whole. */
#define _GNU_SOURCE
#include "ledger/runkeep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "ledger/ledgerdb.h"
#include "ledger/runanomaly.h"
#include "ledger/runrows.h"
#include "ledger/runsaid.h"
#include "redact/redact.h"
#include "store/tracefile.h"

#define MAX_COMMAND ((size_t)64 << 10)

/* ---- artefacts ---- */

/* The trace as a file, from which the artefact is made. The cache's file would do as well, but it
 * may not exist. */
static bool keep_trace(struct nl_artefact *artefact, const char *folder,
                       const struct nl_trace *trace, struct nl_job *job, struct nl_err *err)
{
    FILE *file = nl_artefact_scratch(folder, err);
    bool written = file && nl_trace_write(trace, file);
    if (file && !written)
        (void)nl_fail(err, NL_WRITE, "cannot write: the disk is full or failed");
    bool done = written && nl_artefact_keep_stream(artefact, folder, file, job, err);
    if (file)
        fclose(file);
    return done;
}

static bool keep_sources(struct nl_runkept *kept, const char *folder, const struct nl_runload *load,
                         struct nl_job *job, struct nl_err *err)
{
    kept->sources = nl_zalloc((load->used_count + 1) * sizeof *kept->sources);
    for (size_t i = 0; i < load->used_count; i++) {
        const char *path = load->inputs.items[load->used[i]].path;
        if (!nl_artefact_keep_file(&kept->sources[i], folder, path, job, err))
            return false;
        /* Its digest was taken before it was read; what is kept must be the same. */
        if (strcmp(kept->sources[i].sha256, load->sources[load->used[i]].sha256) != 0) {
            nl_err_at(err, path, -1);
            return nl_fail(err, NL_IO, "changed while it was read; add it again when it is done");
        }
        kept->source_count++;
    }
    return true;
}

static bool any_stored(const struct nl_runkept *kept)
{
    bool stored = kept->document.stored || kept->trace.stored;
    for (size_t i = 0; i < kept->source_count; i++)
        stored = stored || kept->sources[i].stored;
    return stored;
}

bool nl_runkeep_artefacts(struct nl_runkept *kept, const char *folder,
                          const struct nl_runload *load, const struct nl_add_options *options,
                          struct nl_job *job, struct nl_err *err)
{
    *kept = (struct nl_runkept){0};
    kept->has_trace = load->trace && !options->no_trace;
    return nl_artefact_keep_bytes(&kept->document, folder, load->text.ptr, load->text.len, job,
                                  err) &&
           (!kept->has_trace || keep_trace(&kept->trace, folder, load->trace, job, err)) &&
           (!options->keep_source || keep_sources(kept, folder, load, job, err)) &&
           (!any_stored(kept) || nl_artefact_last(folder, err));
}

void nl_runkept_release(struct nl_runkept *kept)
{
    nl_free(kept->sources);
}

/* ---- rows ---- */

static bool put_artefact(struct nl_ledger *ledger, int64_t run, const char *role, int64_t ordinal,
                         const struct nl_artefact *artefact, struct nl_err *err)
{
    /* What it replaces is let go of. */
    return nl_ledgerdb_do(ledger, err,
                          "INSERT OR IGNORE INTO released SELECT sha256 FROM artefacts "
                          "WHERE run = ?1 AND role = ?2 AND ordinal = ?3 AND sha256 <> ?4",
                          "itit", run, role, ordinal, artefact->sha256) &&
           nl_ledgerdb_do(ledger, err,
                          "INSERT OR REPLACE INTO artefacts VALUES(?1, ?2, ?3, ?4, ?5)", "ititi",
                          run, role, ordinal, artefact->sha256, (int64_t)artefact->bytes);
}

static bool put_artefacts(struct nl_ledger *ledger, int64_t run, const struct nl_runkept *kept,
                          struct nl_err *err)
{
    bool done = put_artefact(ledger, run, "document", 0, &kept->document, err) &&
                (!kept->has_trace || put_artefact(ledger, run, "trace", 0, &kept->trace, err));
    for (size_t i = 0; done && i < kept->source_count; i++)
        done = put_artefact(ledger, run, "source", (int64_t)i, &kept->sources[i], err);
    return done;
}

/* gc removes artefacts in a separate transaction, so what is there now stays. */
static bool all_there(const char *folder, const struct nl_runkept *kept)
{
    bool there = nl_artefact_touch(folder, kept->document.sha256) &&
                 (!kept->has_trace || nl_artefact_touch(folder, kept->trace.sha256));
    for (size_t i = 0; there && i < kept->source_count; i++)
        there = nl_artefact_touch(folder, kept->sources[i].sha256);
    return there;
}

static bool put_sources(struct nl_ledger *ledger, int64_t run, const struct nl_runload *load,
                        struct nl_err *err)
{
    for (size_t i = 0; i < load->used_count; i++) {
        const struct nl_rundoc_source *source = &load->sources[load->used[i]];
        char *path = load->inputs.spool_count > 0
                         ? NULL
                         : realpath(load->inputs.items[load->used[i]].path, NULL);
        bool done = nl_ledgerdb_do(
            ledger, err, "INSERT OR REPLACE INTO sources VALUES(?1, ?2, ?3, ?4, ?5, ?6)", "iittit",
            run, (int64_t)i, source->name, source->sha256, (int64_t)source->bytes, path);
        nl_free(path); /* realpath's memory is malloc's, as ours */
        if (!done)
            return false;
    }
    return true;
}

static bool put_settings(struct nl_ledger *ledger, int64_t run, const struct nl_runload *load,
                         struct nl_err *err)
{
    for (size_t i = 0; i < load->setting_count; i++)
        if (!nl_ledgerdb_do(ledger, err, "INSERT OR REPLACE INTO settings VALUES(?1, ?2, ?3, ?4)",
                            "ittt", run, load->settings[i].key, load->settings[i].value,
                            load->origins[i]))
            return false;
    return true;
}

bool nl_runkeep_event(struct nl_ledger *ledger, int64_t run, const char *command,
                      struct nl_err *err)
{
    struct nl_buf safe;
    nl_buf_init(&safe, MAX_COMMAND);
    nl_redact_text(&safe, nl_str(command));
    nl_ledgerdb_touch(ledger, run);
    bool done = nl_ledgerdb_do(ledger, err,
                               "INSERT INTO provenance(run, made_ns, command, version) "
                               "VALUES(?1, ?2, ?3, ?4)",
                               "iitt", run, nl_calendar_ns(), safe.ptr ? safe.ptr : "", NL_VERSION);
    nl_buf_release(&safe);
    return done;
}

/* "trace.json", or "ranks (8 files)". */
static const char *input_name(const struct nl_runload *load, struct nl_buf *name)
{
    struct nl_str word = nl_str(load->word);
    if (load->inputs.count == 1)
        return load->inputs.items[0].name;
    while (word.len > 1 && word.ptr[word.len - 1] == '/')
        word.len--;
    size_t start = word.len;
    while (start > 0 && word.ptr[start - 1] != '/')
        start--;
    nl_buf_format(name, "%.*s (%zu files)", (int)(word.len - start), word.ptr + start,
                  load->inputs.count);
    return name->ptr;
}

static bool make_run(struct nl_ledger *ledger, int64_t *run, const struct nl_runload *load,
                     struct nl_err *err)
{
    struct nl_buf name;
    nl_buf_init(&name, 4096);
    bool done =
        nl_ledgerdb_do(ledger, err,
                       "INSERT INTO runs(id, name, form, input, added_ns) "
                       "VALUES(?1, ?2, ?3, ?4, ?5)",
                       "tttti", load->id, input_name(load, &name),
                       load->is_document ? "document" : "profile", load->input, nl_calendar_ns());
    *run = sqlite3_last_insert_rowid(ledger->db);
    nl_buf_release(&name);
    return done;
}

static bool write_rows(struct nl_ledger *ledger, int64_t run, const struct nl_runload *load,
                       const struct nl_runkept *kept, const char *command, struct nl_err *err)
{
    bool fresh = run == 0;
    return (!fresh || make_run(ledger, &run, load, err)) && put_settings(ledger, run, load, err) &&
           nl_runrows_document(ledger, run, load->document, err) &&
           nl_runanomaly_judge(ledger, run, err) &&
           (!load->findings || nl_runrows_findings(ledger, run, load->findings, err)) &&
           (!load->print.items.len || nl_ledger_fingerprint_put(ledger, run, &load->print, err)) &&
           put_artefacts(ledger, run, kept, err) &&
           (!fresh || (put_sources(ledger, run, load, err) &&
                       nl_runsaid_take(ledger, run, load->document, err))) &&
           nl_ledgerdb_do(ledger, err, "UPDATE runs SET removed_ns = NULL WHERE run = ?1", "i",
                          run) &&
           nl_runkeep_event(ledger, run, command, err);
}

bool nl_runkeep_rows(struct nl_ledger *ledger, int64_t run, const struct nl_runload *load,
                     const struct nl_runkept *kept, const char *command, bool *other, bool *gone,
                     struct nl_err *err)
{
    int64_t there;
    *other = *gone = false;
    if (!nl_ledgerdb_begin(ledger, err))
        return false;
    bool done = nl_ledgerdb_number(ledger, &there, 0, err, "SELECT run FROM runs WHERE id = ?1",
                                   "t", load->id);
    *other = done && there != run;
    *gone = done && !*other && !all_there(ledger->folder, kept);
    if (*other || *gone)
        return nl_ledgerdb_end(ledger, true, err);
    done = done && write_rows(ledger, run, load, kept, command, err);
    return nl_ledgerdb_end(ledger, done, err);
}
