/* Ways back to a profile, the nearest first. */
#define _GNU_SOURCE
#include "ledger/runopen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "ingest/ingest.h"
#include "ledger/artefact.h"
#include "ledger/ledgerdb.h"
#include "store/tracefile.h"

struct opening {
    struct nl_ledger *ledger;
    const struct nl_ledger_run *run;
    const struct nl_open_options *options;
    struct nl_job *job;
    struct nl_arena arena;
};

/* What stands in a database may be anything, and becomes a path only when
 * it cannot lead elsewhere. */
static bool damaged(struct opening *opening, const char *how, struct nl_err *err)
{
    nl_err_at(err, opening->ledger->folder, -1);
    return nl_fail(err, NL_FORMAT,
                   "this ledger is damaged (%s); remove run %.8s with rm and gc, and add its "
                   "profile again",
                   how, opening->run->id);
}

/* Digests of the run's artefacts of a role, in order. */
static bool artefacts_of(struct opening *opening, const char *role, const char ***digests,
                         size_t *count, struct nl_err *err)
{
    size_t cap = 0;
    bool ok = true;
    *digests = NULL;
    *count = 0;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        opening->ledger, err,
        "SELECT sha256 FROM artefacts WHERE run = ?1 AND role = ?2 ORDER BY ordinal", "it",
        opening->run->run, role);
    while (rows && nl_ledgerdb_next(err, opening->ledger, rows, &ok)) {
        nl_grow(digests, &cap, *count + 1);
        const char *digest = nl_ledgerdb_text(&opening->arena, rows, 0);
        if (!nl_digest_is_text(digest)) {
            sqlite3_reset(rows);
            return damaged(opening, "the name of an artefact is not a SHA-256", err);
        }
        (*digests)[(*count)++] = digest;
    }
    return rows && ok;
}

/* A folder for temporary files, emptied and removed by remove_folder. */
static char *temporary_folder(struct opening *opening)
{
    const char *tmp = getenv("TMPDIR");
    char *path =
        nl_arena_format(&opening->arena, "%s/neurolens-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    return mkdtemp(path);
}

/* ---- the trace ---- */

/* The cache's sweep knows files of 16 hex digits and ".nlt". */
static struct nl_trace *open_cached(struct opening *opening, const char *sha256, struct nl_err *err)
{
    const char *folder = opening->options->cache_folder;
    char *path = nl_arena_format(&opening->arena, "%s/%.16s.nlt", folder, sha256);
    unsigned threads = nl_job_threads(opening->job);
    if (access(path, R_OK) == 0) {
        struct nl_trace *trace = nl_trace_open(path, false, threads, NULL);
        if (trace)
            return trace;
        unlink(path);
    }
    if (!nl_make_folders(folder, err) ||
        !nl_artefact_unpack(opening->ledger->folder, sha256, path, opening->job, err))
        return NULL;
    return nl_trace_open(path, false, threads, err);
}

/* Mapped files may be unlinked at once. */
static struct nl_trace *open_temporary(struct opening *opening, const char *sha256,
                                       struct nl_err *err)
{
    struct nl_trace *trace = NULL;
    const char *tmp = getenv("TMPDIR");
    /* Memory may end: none is asked for between the folder and what removes it. */
    char *path = nl_arena_format(&opening->arena, "%s/neurolens-XXXXXX/trace.nlt",
                                 tmp && *tmp ? tmp : "/tmp");
    char *slash = strrchr(path, '/');
    *slash = '\0';
    if (!mkdtemp(path)) {
        (void)nl_fail(err, NL_WRITE, "cannot make a temporary folder; set TMPDIR");
        return NULL;
    }
    *slash = '/';
    if (nl_artefact_unpack(opening->ledger->folder, sha256, path, opening->job, err))
        trace = nl_trace_open(path, false, nl_job_threads(opening->job), err);
    unlink(path);
    *slash = '\0';
    rmdir(path);
    return trace;
}

static struct nl_trace *from_trace(struct opening *opening, const char *sha256, struct nl_err *err)
{
    struct nl_trace *trace = NULL;
    if (opening->options->cache_folder)
        trace = open_cached(opening, sha256, err);
    if (!trace && (!opening->options->cache_folder || err->code == NL_WRITE)) {
        nl_err_clear(err);
        trace = open_temporary(opening, sha256, err);
    }
    return trace;
}

/* ---- files ---- */

static struct nl_trace *ingest(struct opening *opening, const char *const *paths, size_t count,
                               struct nl_err *err)
{
    struct nl_ingest_options options = {.cache_folder = opening->options->cache_folder,
                                        .cache_bytes = opening->options->cache_bytes,
                                        .rank = NL_NULL_I64,
                                        .verify = true};
    return nl_ingest(paths, count, &options, opening->job, err);
}

/* Artefacts under the names that the files had, which may give ranks. */
static struct nl_trace *from_files(struct opening *opening, const char *const *digests,
                                   const char *const *names, size_t count, struct nl_err *err)
{
    struct nl_trace *trace = NULL;
    char *folder = temporary_folder(opening);
    if (!folder) {
        (void)nl_fail(err, NL_WRITE, "cannot make a temporary folder; set TMPDIR");
        return NULL;
    }
    const char **paths = nl_zalloc((count + 1) * sizeof *paths);
    bool done = true;
    for (size_t i = 0; done && i < count; i++) {
        /* A folder each: files of several ranks may be called the same. */
        char *place = nl_arena_format(&opening->arena, "%s/%zu", folder, i);
        paths[i] = nl_arena_format(&opening->arena, "%s/%s", place, names[i]);
        done = nl_make_folders(place, err) &&
               nl_artefact_unpack(opening->ledger->folder, digests[i], paths[i], opening->job, err);
    }
    if (done)
        trace = ingest(opening, paths, count, err);
    for (size_t i = 0; i < count && paths[i]; i++) {
        unlink(paths[i]);
        rmdir(nl_arena_format(&opening->arena, "%s/%zu", folder, i));
    }
    rmdir(folder);
    nl_free(paths);
    return trace;
}

struct sources {
    const char **names, **paths, **digests;
    size_t count, name_cap, path_cap, digest_cap;
};

static bool read_sources(struct opening *opening, struct sources *sources, struct nl_err *err)
{
    bool ok = true;
    sqlite3_stmt *rows =
        nl_ledgerdb_ask(opening->ledger, err,
                        "SELECT name, path, sha256 FROM sources WHERE run = ?1 ORDER BY ordinal",
                        "i", opening->run->run);
    while (rows && nl_ledgerdb_next(err, opening->ledger, rows, &ok)) {
        size_t i = sources->count++;
        nl_grow(&sources->names, &sources->name_cap, i + 1);
        nl_grow(&sources->paths, &sources->path_cap, i + 1);
        nl_grow(&sources->digests, &sources->digest_cap, i + 1);
        sources->names[i] = nl_ledgerdb_text(&opening->arena, rows, 0);
        sources->paths[i] = nl_ledgerdb_text(&opening->arena, rows, 1);
        sources->digests[i] = nl_ledgerdb_text(&opening->arena, rows, 2);
        if (!nl_file_is_name(sources->names[i])) {
            sqlite3_reset(rows);
            return damaged(opening, "the name of a file leads elsewhere", err);
        }
    }
    return rows && ok;
}

/* From their original places, if every one is unchanged. */
static struct nl_trace *from_originals(struct opening *opening, const struct sources *sources,
                                       struct nl_err *err)
{
    for (size_t i = 0; i < sources->count; i++) {
        char digest[NL_DIGEST_TEXT];
        const char *path = sources->paths[i];
        if (!path || access(path, R_OK) != 0) {
            (void)nl_fail(err, NL_IO, "%s is no longer where it was added from", sources->names[i]);
            return NULL;
        }
        if (!nl_digest_file(digest, NULL, path, opening->job, err))
            return NULL;
        if (!sources->digests[i] || strcmp(digest, sources->digests[i]) != 0) {
            (void)nl_fail(err, NL_IO, "%s is another file now", path);
            return NULL;
        }
    }
    return ingest(opening, sources->paths, sources->count, err);
}

static bool came_as_document(struct opening *opening, bool *document, struct nl_err *err)
{
    int64_t count;
    bool done = nl_ledgerdb_number(opening->ledger, &count, 0, err,
                                   "SELECT count(*) FROM runs WHERE run = ?1 AND form = 'document'",
                                   "i", opening->run->run);
    *document = count > 0;
    return done;
}

/* The trace cannot be used: what else is there? `why` is the trace's error. */
static struct nl_trace *from_elsewhere(struct opening *opening, const struct nl_err *why,
                                       struct nl_err *err)
{
    static const char *const document_name[] = {"run.json"};
    struct sources sources = {0};
    const char **kept = NULL, **documents = NULL;
    size_t kept_count = 0, document_count = 0;
    struct nl_trace *trace = NULL;
    struct nl_err last;
    bool document = false;
    nl_err_clear(&last);
    if (read_sources(opening, &sources, &last) && came_as_document(opening, &document, &last) &&
        artefacts_of(opening, "source", &kept, &kept_count, &last) &&
        artefacts_of(opening, "document", &documents, &document_count, &last)) {
        if (document && document_count)
            trace = from_files(opening, documents, document_name, 1, &last);
        else if (kept_count && kept_count == sources.count)
            trace = from_files(opening, kept, sources.names, kept_count, &last);
        else
            trace = from_originals(opening, &sources, &last);
    }
    if (!trace) {
        *err = last;
        nl_err_at(err, opening->ledger->folder, -1);
        (void)nl_fail(err, NL_IO,
                      "run %.8s cannot be opened: %.200s, and %.200s; add its profile "
                      "again",
                      opening->run->id, why->text, last.text);
    }
    nl_free(sources.names);
    nl_free(sources.paths);
    nl_free(sources.digests);
    nl_free(kept);
    nl_free(documents);
    return trace;
}

struct nl_trace *nl_ledger_trace(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                                 const struct nl_open_options *options, struct nl_job *job,
                                 struct nl_err *err)
{
    struct opening opening = {.ledger = ledger, .run = run, .options = options, .job = job};
    const char **traces;
    size_t count;
    struct nl_trace *trace = NULL;
    struct nl_err why;
    nl_err_clear(&why);
    nl_arena_init(&opening.arena);
    if (artefacts_of(&opening, "trace", &traces, &count, err)) {
        if (count)
            trace = from_trace(&opening, traces[0], &why);
        else
            (void)nl_fail(&why, NL_IO, "it was added without its trace");
        if (!trace && nl_job_cancelled(job))
            *err = why;
        else if (!trace)
            trace = from_elsewhere(&opening, &why, err);
    }
    nl_free(traces);
    nl_arena_free(&opening.arena);
    return trace;
}

bool nl_ledger_document(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                        struct nl_buf *out, struct nl_err *err)
{
    struct opening opening = {.ledger = ledger, .run = run};
    const char **documents;
    size_t count;
    nl_arena_init(&opening.arena);
    bool done = artefacts_of(&opening, "document", &documents, &count, err);
    if (done && count != 1)
        done = nl_fail(err, NL_FORMAT, "the ledger has no document of run %.8s", run->id);
    done = done && nl_artefact_read(ledger->folder, documents[0], out, err);
    nl_free(documents);
    nl_arena_free(&opening.arena);
    return done;
}
