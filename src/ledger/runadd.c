/*
 * Adding: words are read by several workers and written one after the other in their order, so that
 * `@` and `@~1` do not depend on which was read faster.
 */
#define _GNU_SOURCE
#include "ledger/runadd.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/pool.h"
#include "ledger/ledgerdb.h"
#include "ledger/runkeep.h"
#include "ledger/runload.h"
#include "ledger/runrows.h"
#include "redact/redact.h"

#define MAX_WORKERS   16
#define SMALL_WORKERS 8
#define SMALL_BYTES   ((uint64_t)4 << 20)
#define ATTEMPTS      3 /* when others work on the same run at the same moment */

struct adding {
    const char *folder;
    const char *const *words;
    const struct nl_add_options *options;
    struct nl_add_result *results;
    struct nl_job *job;
    size_t count;
    unsigned workers;
    struct nl_ledger *ledgers[MAX_WORKERS]; /* one per worker, opened with its first word */
    size_t next;                            /* whose turn to write it is */
    pthread_mutex_t lock;
    pthread_cond_t turn;
};

static void wait_turn(struct adding *adding, size_t index)
{
    pthread_mutex_lock(&adding->lock);
    while (adding->next < index)
        pthread_cond_wait(&adding->turn, &adding->lock);
    pthread_mutex_unlock(&adding->lock);
}

static void pass_turn(struct adding *adding)
{
    pthread_mutex_lock(&adding->lock);
    adding->next++;
    pthread_cond_broadcast(&adding->turn);
    pthread_mutex_unlock(&adding->lock);
}

/* ---- what is there already ---- */

/* A run that holds this content, and what was said about it. */
struct there {
    int64_t run; /* 0 = none */
    bool in_trash;
    char id[NL_RUNDOC_ID];
    struct nl_rundoc_setting *settings;
    size_t count, cap;
    struct nl_arena arena;
};

static bool read_settings(struct nl_ledger *ledger, struct there *there, struct nl_err *err)
{
    bool ok = true;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err, "SELECT key, value FROM settings WHERE run = ?1 AND origin = '--set'", "i",
        there->run);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        nl_grow(&there->settings, &there->cap, there->count + 1);
        there->settings[there->count++] = (struct nl_rundoc_setting){
            nl_ledgerdb_text(&there->arena, rows, 0), nl_ledgerdb_text(&there->arena, rows, 1)};
    }
    return rows && ok;
}

/* By the digest of the input, or by the id when that is known. */
static bool find_run(struct nl_ledger *ledger, struct there *there, const char *input,
                     const char *id, struct nl_err *err)
{
    bool ok = true;
    sqlite3_stmt *rows =
        nl_ledgerdb_ask(ledger, err,
                        "SELECT run, id, removed_ns IS NOT NULL FROM runs "
                        "WHERE id = ?2 OR (?2 IS NULL AND input = ?1) ORDER BY run DESC",
                        "tt", input, id);
    if (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        there->run = sqlite3_column_int64(rows, 0);
        snprintf(there->id, sizeof there->id, "%s", (const char *)sqlite3_column_text(rows, 1));
        there->in_trash = sqlite3_column_int(rows, 2) != 0;
        sqlite3_reset(rows);
    }
    return rows && ok && (!there->run || read_settings(ledger, there, err));
}

static void there_release(struct there *there)
{
    nl_free(there->settings);
    nl_arena_free(&there->arena);
}

/* Does the run have this value, as a fact or as it was said? */
static bool has_value(struct nl_ledger *ledger, int64_t run, const struct nl_rundoc_setting *wanted,
                      bool *has, struct nl_err *err)
{
    struct nl_buf safe;
    int64_t count;
    nl_buf_init(&safe, (size_t)1 << 20);
    nl_redact_text(&safe, nl_str(wanted->value));
    bool done = nl_ledgerdb_number(
        ledger, &count, 0, err,
        "SELECT (SELECT count(*) FROM settings WHERE run = ?1 AND key = ?2 AND value = ?3) + "
        "(SELECT count(*) FROM facts JOIN keys USING (key) "
        " WHERE run = ?1 AND name = ?2 AND text = ?3)",
        "itt", run, wanted->key, safe.ptr ? safe.ptr : "");
    nl_buf_release(&safe);
    *has = count > 0;
    return done;
}

static bool has_fact(struct nl_ledger *ledger, int64_t run, const char *key, bool *has,
                     struct nl_err *err)
{
    int64_t count;
    bool done = nl_ledgerdb_number(
        ledger, &count, 0, err,
        "SELECT count(*) FROM facts JOIN keys USING (key) WHERE run = ?1 AND name = ?2", "it", run,
        key);
    *has = count > 0;
    return done;
}

/* How many values are reported now that the run does not have. */
static bool count_news(struct nl_ledger *ledger, int64_t run, const struct nl_runload *load,
                       const struct nl_add_options *options, size_t *news, struct nl_err *err)
{
    bool has;
    *news = 0;
    for (size_t i = 0; i < options->setting_count; i++) {
        if (!has_value(ledger, run, &options->settings[i], &has, err))
            return false;
        *news += !has;
    }
    for (size_t i = 0; i < load->yaml.count; i++) {
        if (!has_fact(ledger, run, load->yaml.items[i].key, &has, err))
            return false;
        *news += !has && strcmp(load->yaml.items[i].value, "null") != 0;
    }
    return true;
}

/* ---- one word ---- */

struct one {
    struct adding *adding;
    size_t index;
    struct nl_ledger *ledger;
    struct nl_job *job;
    struct nl_runload load;
    struct there there;
    size_t news; /* values that the run does not have yet */
    struct nl_add_result *result;
};

/* Back from the trash, if it is still there: *again when gc was faster. */
static bool take_from_trash(struct one *one, bool *again, struct nl_err *err)
{
    struct nl_ledger *ledger = one->ledger;
    if (!nl_ledgerdb_begin(ledger, err))
        return false;
    bool done = nl_ledgerdb_do(ledger, err, "UPDATE runs SET removed_ns = NULL WHERE run = ?1", "i",
                               one->there.run);
    *again = done && sqlite3_changes(ledger->db) == 0;
    if (done && !*again)
        done = nl_runkeep_event(ledger, one->there.run, one->adding->options->command, err);
    one->result->restored = done && !*again;
    return nl_ledgerdb_end(ledger, done, err);
}

static bool nothing_new(struct one *one, bool *again, struct nl_err *err)
{
    int64_t count;
    one->result->outcome = NL_ADD_THERE;
    snprintf(one->result->id, sizeof one->result->id, "%s", one->there.id);
    wait_turn(one->adding, one->index);
    if (one->there.in_trash)
        return take_from_trash(one, again, err);
    /* Others may have removed it since we looked. */
    bool done = nl_ledgerdb_number(one->ledger, &count, 0, err,
                                   "SELECT count(*) FROM runs WHERE run = ?1", "i", one->there.run);
    *again = done && count == 0;
    return done;
}

static uint64_t kept_bytes(const struct nl_runkept *kept)
{
    uint64_t bytes = kept->document.bytes + (kept->has_trace ? kept->trace.bytes : 0);
    for (size_t i = 0; i < kept->source_count; i++)
        bytes += kept->sources[i].bytes;
    return bytes;
}

/* Artefacts and rows of what was read. *again: the run appeared meanwhile. */
static bool store_run(struct one *one, bool *again, struct nl_err *err)
{
    const struct nl_add_options *options = one->adding->options;
    struct nl_runkept kept;
    bool gone = true, done = true;
    *again = false;
    for (int i = 0; i < ATTEMPTS && done && gone; i++) {
        done = nl_runkeep_artefacts(&kept, one->adding->folder, &one->load, options, one->job, err);
        wait_turn(one->adding, one->index);
        done = done && nl_runkeep_rows(one->ledger, one->there.run, &one->load, &kept,
                                       options->command, again, &gone, err);
        one->result->artefact_bytes = kept_bytes(&kept);
        one->result->trace = kept.has_trace;
        nl_runkept_release(&kept);
    }
    if (done && gone)
        done = nl_fail(err, NL_ENVIRONMENT, "another process keeps removing artefacts; try again");
    snprintf(one->result->id, sizeof one->result->id, "%s", one->load.id);
    one->result->outcome = one->there.run ? NL_ADD_UPDATED : NL_ADD_ADDED;
    one->result->restored = one->there.in_trash;
    one->result->settings = one->there.run ? one->news : one->load.setting_count;
    one->result->findings = one->load.findings != NULL;
    return done;
}

/* Looks for the run by input or id; *known: it is there and nothing new is known of it. */
static bool find_there(struct one *one, const char *input, const char *id, bool *known,
                       struct nl_err *err)
{
    const struct nl_add_options *options = one->adding->options;
    *known = false;
    if (!find_run(one->ledger, &one->there, input, id, err))
        return false;
    if (!one->there.run)
        return true;
    if (!count_news(one->ledger, one->there.run, &one->load, options, &one->news, err))
        return false;
    *known = one->news == 0;
    return true;
}

static bool read_word(struct one *one, struct nl_err *err)
{
    return nl_runload_read(&one->load, one->adding->options, one->there.settings, one->there.count,
                           one->job, err);
}

/* Reads what has to be read and writes what is new. *again: start over, for the ledger changed. */
static bool add_once(struct one *one, bool *again, struct nl_err *err)
{
    const char *word = one->adding->words[one->index];
    const struct nl_add_options *options = one->adding->options;
    bool known;
    *again = false;
    if (!nl_runload_identify(&one->load, word, options, one->job, err) ||
        !find_there(one, one->load.input, NULL, &known, err))
        return false;
    if (known)
        return nothing_new(one, again, err);
    if (!read_word(one, err))
        return false;
    if (one->there.run)
        return store_run(one, again, err);
    /* Other files next to the same profile, or the profile's own document. */
    if (!find_there(one, NULL, one->load.id, &known, err))
        return false;
    if (known)
        return nothing_new(one, again, err);
    if (one->there.run) {
        /* What was said before belongs to the document, too. */
        nl_runload_release(&one->load);
        if (!nl_runload_identify(&one->load, word, options, one->job, err) || !read_word(one, err))
            return false;
    }
    return store_run(one, again, err);
}

/* A ledger whose commits do not wait for the disk: nothing is reported before all of
 * them were synced at the end. */
static struct nl_ledger *open_unsynced(const char *folder, struct nl_err *err)
{
    struct nl_ledger *ledger = nl_ledger_open(folder, NL_LEDGER_WRITE, err);
    if (ledger && !nl_ledgerdb_script(ledger, "PRAGMA synchronous = NORMAL", err)) {
        nl_ledger_close(ledger);
        ledger = NULL;
    }
    return ledger;
}

static struct nl_ledger *ledger_of(struct adding *adding, unsigned worker, struct nl_err *err)
{
    if (!adding->ledgers[worker])
        adding->ledgers[worker] = open_unsynced(adding->folder, err);
    return adding->ledgers[worker];
}

static bool add_one(struct one *one, unsigned worker, struct nl_err *err)
{
    bool done = false, again = true;
    if (nl_job_cancelled(one->job))
        return nl_fail(err, NL_INTERRUPTED, "stopped on request");
    one->ledger = ledger_of(one->adding, worker, err);
    for (int i = 0; one->ledger && i < ATTEMPTS && again; i++) {
        one->there = (struct there){0};
        nl_arena_init(&one->there.arena);
        done = add_once(one, &again, err);
        again = again && done;
        nl_runload_release(&one->load);
        there_release(&one->there);
    }
    if (done && again)
        done = nl_fail(err, NL_ENVIRONMENT, "another process is adding the same run; try again");
    return done && nl_ledger_short_id(one->ledger, one->result->id, one->result->short_id, err);
}

static void run_one(void *context, size_t index, unsigned worker)
{
    struct adding *adding = context;
    struct nl_add_result *result = &adding->results[index];
    struct nl_job part = {.threads = nl_job_threads(adding->job) / adding->workers,
                          .memory_bytes =
                              adding->job ? adding->job->memory_bytes / adding->workers : 0,
                          .parent = adding->job};
    part.threads += part.threads == 0;
    struct one one = {.adding = adding,
                      .index = index,
                      .job = adding->workers > 1 ? &part : adding->job,
                      .result = result};
    nl_err_clear(&result->err);
    if (!add_one(&one, worker, &result->err))
        result->outcome = NL_ADD_FAILED;
    if (adding->workers > 1)
        nl_job_add(adding->job, 1);
    wait_turn(adding, index);
    pass_turn(adding);
}

/* What failed for want of its share of the memory may have all of it now. */
static void repeat_alone(struct adding *adding)
{
    adding->workers = 1;
    for (size_t i = 0; i < adding->count; i++)
        if (adding->results[i].outcome == NL_ADD_FAILED && adding->results[i].err.code == NL_MEMORY)
            run_one(adding, i, 0);
}

/* As many as there are threads. Small files wait for the disk longer than they are worked on: more
 * of them at the same time wait together. */
static unsigned choose_workers(const struct adding *adding)
{
    bool small = true;
    unsigned workers = nl_job_threads(adding->job);
    for (size_t i = 0; small && i < adding->count; i++) {
        uint64_t bytes = nl_file_bytes(adding->words[i]); /* 0: several files, or none */
        small = bytes > 0 && bytes <= SMALL_BYTES;
    }
    if (small && workers > 1 && workers < SMALL_WORKERS)
        workers = SMALL_WORKERS;
    if (workers > MAX_WORKERS)
        workers = MAX_WORKERS;
    return workers < adding->count ? workers : (unsigned)adding->count;
}

bool nl_ledger_add(const char *folder, const char *const *words, size_t count,
                   const struct nl_add_options *options, struct nl_add_result *results,
                   struct nl_job *job, struct nl_err *err)
{
    memset(results, 0, count * sizeof *results);
    struct nl_ledger *ledger = open_unsynced(folder, err);
    if (!ledger)
        return false;
    struct adding adding = {.folder = folder,
                            .words = words,
                            .options = options,
                            .results = results,
                            .job = job,
                            .count = count,
                            .ledgers = {ledger}};
    adding.workers = choose_workers(&adding);
    pthread_mutex_init(&adding.lock, NULL);
    pthread_cond_init(&adding.turn, NULL);
    if (adding.workers > 1)
        nl_job_phase(job, "adding", count);
    bool shared = adding.workers > 1;
    nl_parallel(adding.workers, count, run_one, &adding);
    if (shared)
        repeat_alone(&adding);
    /* The last one to close a ledger puts its log into the database, which
     * syncs both: once, at the end. */
    for (unsigned i = MAX_WORKERS; i-- > 0;)
        nl_ledger_close(adding.ledgers[i]);
    bool done = nl_ledger_sync(folder, err);
    pthread_cond_destroy(&adding.turn);
    pthread_mutex_destroy(&adding.lock);
    return done && (!nl_job_cancelled(job) || nl_fail(err, NL_INTERRUPTED, "stopped on request"));
}
