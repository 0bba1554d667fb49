/* See runanomaly.h. */
#include "ledger/runanomaly.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sum.h"
#include "base/units.h"
#include "base/median.h"
#include "ledger/ledgerdb.h"
#include "ledger/runfield.h"
#include "ledger/runhistory.h"
#include "ledger/runseason.h"

#define NORMAL_MAD  1.4826022185056018 /* deviation of a normal distribution / its MAD */
#define ROBUST_Z    3.5
#define MIN_CHANGE  0.05
#define MIN_SHARE   0.01 /* of metrics that are shares themselves */
#define MIN_SPREAD  0.01 /* of the median */
#define MAX_METRICS 64
#define MAX_TOLD    3 /* in the sentence */
#define BATCH       500

/* ---- one metric ---- */

struct nl_anomaly nl_anomaly_of(double value, double *history, size_t count, bool is_share)
{
    struct nl_anomaly a = {NAN, NAN, NAN, NAN, false};
    if (count < NL_MIN_HISTORY)
        return a;
    a.usual = nl_median_f64(history, count);
    double *apart = nl_alloc(count * sizeof *apart);
    for (size_t i = 0; i < count; i++)
        apart[i] = fabs(history[i] - a.usual);
    double by_history = NORMAL_MAD * nl_median_f64(apart, count);
    nl_free(apart);
    double least = MIN_SPREAD * fabs(a.usual), differs = value - a.usual;
    a.spread = by_history > least ? by_history : least;
    if (a.spread > 0)
        a.z = differs / a.spread;
    if (a.usual != 0)
        a.change = differs / fabs(a.usual);
    bool far = isnan(a.z) ? differs != 0 : fabs(a.z) > ROBUST_Z;
    bool much = isnan(a.change) || fabs(a.change) > MIN_CHANGE;
    a.unusual = far && much && (!is_share || fabs(differs) > MIN_SHARE);
    return a;
}

/* ---- one run ---- */

struct metric {
    int64_t key;
    const char *name; /* without "metrics." or "timeline." */
    bool is_share, follows;
    double value;
    struct nl_anomaly found;
};

/* Metrics that say what another says, too: reported after it. */
static bool follows(const char *name)
{
    static const char *const names[] = {"steps_per_s",    "samples_per_s",     "tokens_per_s",
                                        "gpu_busy_share", "model_flops_per_s", "wall_ns"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool read_metrics(struct nl_ledger *ledger, int64_t run, struct metric *metrics,
                         size_t *count, struct nl_arena *arena, struct nl_err *err)
{
    bool ok = true;
    *count = 0;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err,
        "SELECT f.key, k.name, k.unit, f.number FROM facts f JOIN keys k ON k.key = f.key WHERE "
        "f.run = ?1 AND f.number NOTNULL AND (k.name GLOB 'metrics.*' OR k.name = "
        "'timeline.duration_ns') ORDER BY f.key",
        "i", run);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        if (*count == MAX_METRICS) {
            sqlite3_reset(rows);
            break;
        }
        const char *name = nl_ledgerdb_text(arena, rows, 1);
        const char *unit = (const char *)sqlite3_column_text(rows, 2);
        name = strchr(name, '.') + 1; /* metrics.NAME, timeline.duration_ns */
        metrics[(*count)++] =
            (struct metric){.key = sqlite3_column_int64(rows, 0),
                            .name = name,
                            .is_share = nl_runfield_meaning(name, unit) == NL_MEANS_SHARE,
                            .follows = follows(name),
                            .value = sqlite3_column_double(rows, 3)};
    }
    return rows && ok;
}

static bool hold_against(struct nl_ledger *ledger, const struct nl_history *history,
                         struct metric *metric, struct nl_err *err)
{
    double values[NL_MAX_HISTORY];
    size_t count = 0;
    for (size_t i = 0; i < history->count; i++) {
        bool ok = true;
        sqlite3_stmt *rows =
            nl_ledgerdb_ask(ledger, err, "SELECT number FROM facts WHERE run = ?1 AND key = ?2",
                            "ii", history->runs[i], metric->key);
        if (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
            if (sqlite3_column_type(rows, 0) != SQLITE_NULL)
                values[count++] = sqlite3_column_double(rows, 0);
            sqlite3_reset(rows);
        }
        if (!rows || !ok)
            return false;
    }
    metric->found = nl_anomaly_of(metric->value, values, count, metric->is_share);
    return true;
}

/* What says it first before what follows; the farthest first; equals as the document has them. */
static int worst_first(const void *left, const void *right)
{
    const struct metric *a = left, *b = right;
    double x = isnan(a->found.z) ? INFINITY : fabs(a->found.z);
    double y = isnan(b->found.z) ? INFINITY : fabs(b->found.z);
    if (a->follows != b->follows)
        return a->follows ? 1 : -1;
    if (x != y)
        return x > y ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

static bool put_anomalies(struct nl_ledger *ledger, int64_t run, struct metric *metrics,
                          size_t count, struct nl_err *err)
{
    int64_t ordinal = 0;
    bool done = true;
    if (count)
        qsort(metrics, count, sizeof *metrics, worst_first);
    for (size_t i = 0; i < count && done; i++) {
        const struct nl_anomaly *a = &metrics[i].found;
        if (a->unusual)
            done = nl_ledgerdb_do(ledger, err,
                                  "INSERT INTO anomalies VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                                  "iitfffff", run, ordinal++, metrics[i].name, metrics[i].value,
                                  a->usual, a->spread, a->change, a->z);
    }
    return done;
}

/* What seasons are looked for in: the mean step, else the length of the recording. */
static bool read_season(struct nl_ledger *ledger, int64_t run, struct nl_season_run *season,
                        bool *stepped, struct nl_arena *arena, struct nl_err *err)
{
    bool ok = true;
    *stepped = false;
    *season = (struct nl_season_run){.value = NAN};
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err,
        "SELECT r.added_ns, k.name, f.number, f.text FROM runs r LEFT JOIN keys k ON k.name IN "
        "('metrics.mean_step_ns', 'timeline.duration_ns', 'run.git_branch') LEFT JOIN facts f ON "
        "f.run = r.run AND f.key = k.key WHERE r.run = ?1 ORDER BY k.name DESC",
        "i", run);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        const char *name = (const char *)sqlite3_column_text(rows, 1);
        season->added_ns = sqlite3_column_int64(rows, 0);
        if (name && !strcmp(name, "run.git_branch"))
            season->branch = nl_ledgerdb_text(arena, rows, 3);
        else if (sqlite3_column_type(rows, 2) !=
                 SQLITE_NULL) { /* the step comes after the length */
            season->value = sqlite3_column_double(rows, 2);
            *stepped = name && *name == 'm';
        }
    }
    return rows && ok;
}

/* Leaves the newest of the run's own season. */
static bool keep_season(struct nl_ledger *ledger, int64_t run, struct nl_history *history,
                        const char **text, struct nl_arena *arena, struct nl_err *err)
{
    struct nl_season_run mine, earlier[NL_HISTORY_WIDE];
    bool alike[NL_HISTORY_WIDE];
    char out[NL_SEASON_TEXT];
    size_t kept = 0;
    *text = NULL;
    bool stepped, other;
    if (!read_season(ledger, run, &mine, &stepped, arena, err))
        return false;
    for (size_t i = 0; i < history->count; i++) {
        if (!read_season(ledger, history->runs[i], &earlier[i], &other, arena, err))
            return false;
        if (other != stepped) /* steps and whole recordings are not the same */
            earlier[i].value = NAN;
    }
    enum nl_season season = nl_season_find(&mine, earlier, history->count, alike);
    for (size_t i = 0; i < history->count && kept < NL_MAX_HISTORY; i++)
        if (alike[i])
            history->runs[kept++] = history->runs[i];
    history->count = kept;
    const char *told = nl_season_text(season, &mine, out);
    if (told)
        *text = nl_arena_text(arena, told, strlen(told));
    return true;
}

static bool judge_run(struct nl_ledger *ledger, int64_t run, struct nl_arena *arena,
                      struct nl_err *err)
{
    struct nl_history_who who;
    struct nl_history history;
    struct metric metrics[MAX_METRICS];
    size_t count = 0;
    const char *season = NULL;
    bool done =
        nl_ledgerdb_do(ledger, err, "DELETE FROM anomalies WHERE run = ?1", "i", run) &&
        nl_runhistory_of(ledger, run, &who, arena, err) &&
        nl_runhistory_find(ledger, &who, run, NL_HISTORY_WIDE, &history, err) &&
        keep_season(ledger, run, &history, &season, arena, err) &&
        nl_ledgerdb_do(ledger, err, "INSERT OR REPLACE INTO histories VALUES(?1, ?2, ?3, ?4, ?5)",
                       "iittt", run, (int64_t)history.count, nl_runhistory_workload(&who),
                       nl_runhistory_host(&who), season);
    if (!done || history.count < NL_MIN_HISTORY)
        return done;
    done = read_metrics(ledger, run, metrics, &count, arena, err);
    for (size_t i = 0; i < count && done; i++)
        done = hold_against(ledger, &history, &metrics[i], err);
    return done && put_anomalies(ledger, run, metrics, count, err);
}

bool nl_runanomaly_judge(struct nl_ledger *ledger, int64_t run, struct nl_err *err)
{
    struct nl_arena arena;
    nl_arena_init(&arena);
    bool done = judge_run(ledger, run, &arena, err);
    nl_arena_free(&arena);
    return done;
}

/* ---- those of older versions ---- */

static bool judge_some(struct nl_ledger *ledger, size_t *judged, struct nl_err *err)
{
    int64_t runs[BATCH];
    bool ok = true;
    *judged = 0;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err,
        "SELECT run FROM runs WHERE run NOT IN (SELECT run FROM histories) ORDER BY run LIMIT ?1",
        "i", (int64_t)BATCH);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok))
        runs[(*judged)++] = sqlite3_column_int64(rows, 0);
    if (!rows || !ok)
        return false;
    if (!*judged)
        return true;
    if (!nl_ledgerdb_begin(ledger, err))
        return false;
    bool done = true;
    for (size_t i = 0; i < *judged && done; i++)
        done = nl_runanomaly_judge(ledger, runs[i], err);
    return nl_ledgerdb_end(ledger, done, err);
}

bool nl_runanomaly_judge_rest(struct nl_ledger *ledger, struct nl_job *job, struct nl_err *err)
{
    size_t judged = 1;
    while (judged) {
        if (nl_job_cancelled(job))
            return nl_fail(err, NL_INTERRUPTED, "stopped on request");
        if (!judge_some(ledger, &judged, err))
            return false;
    }
    return true;
}

/* ---- in words ---- */

static void put_metric_value(struct nl_buf *out, const char *name, double value)
{
    char text[NL_UNIT_TEXT];
    switch (value < 0 ? NL_MEANS_ANY : nl_runfield_meaning(name, NULL)) {
    case NL_MEANS_NS: nl_buf_text(out, nl_format_ns(text, nl_whole_i64(value))); break;
    case NL_MEANS_BYTES: nl_buf_text(out, nl_format_bytes(text, nl_whole_u64(round(value)))); break;
    case NL_MEANS_SHARE: nl_buf_text(out, nl_format_percent(text, value)); break;
    default: nl_buf_format(out, "%.5g", value);
    }
}

/* "mean_step_ns 12.10 ms, usually 10.00 ms (+21 %); …" */
static bool put_unusual(struct nl_ledger *ledger, int64_t run, struct nl_buf *out,
                        struct nl_err *err)
{
    bool ok = true;
    size_t count = 0;
    sqlite3_stmt *rows = nl_ledgerdb_ask(ledger, err,
                                         "SELECT metric, value, usual, change_share FROM anomalies "
                                         "WHERE run = ?1 ORDER BY ordinal",
                                         "i", run);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        const char *name = (const char *)sqlite3_column_text(rows, 0);
        if (count++ >= MAX_TOLD)
            continue;
        nl_buf_format(out, "%s%s ", count > 1 ? "; " : "Unusual: ", name);
        put_metric_value(out, name, sqlite3_column_double(rows, 1));
        nl_buf_text(out, ", usually ");
        put_metric_value(out, name, sqlite3_column_double(rows, 2));
        if (sqlite3_column_type(rows, 3) != SQLITE_NULL)
            nl_buf_format(out, " (%+.1f %%)", 100 * sqlite3_column_double(rows, 3));
    }
    if (count > MAX_TOLD)
        nl_buf_format(out, "; %zu more", count - MAX_TOLD);
    if (count)
        nl_buf_char(out, '.');
    return rows && ok;
}

/* " on HOST, of branch main"; both NULL not known. */
static void put_where(struct nl_buf *out, const char *host, const char *season)
{
    nl_buf_format(out, "%s%s", host ? " on " : "", host ? host : "");
    nl_buf_format(out, "%s%s", season ? ", " : "", season ? season : "");
}

static bool put_sentence(struct nl_ledger *ledger, int64_t run, struct nl_buf *out,
                         struct nl_err *err)
{
    bool ok = true, known = false;
    int64_t count = 0;
    if (!put_unusual(ledger, run, out, err))
        return false;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err, "SELECT runs, host, season FROM histories WHERE run = ?1", "i", run);
    if (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        const char *host = (const char *)sqlite3_column_text(rows, 1);
        const char *season = (const char *)sqlite3_column_text(rows, 2);
        count = sqlite3_column_int64(rows, 0);
        known = true;
        if (out->len)
            nl_buf_format(out, " Against the newest %lld runs of this workload before it",
                          (long long)count);
        else if (count >= NL_MIN_HISTORY)
            nl_buf_format(out, "Nothing unusual against %lld earlier runs of this workload",
                          (long long)count);
        else
            nl_buf_format(out, "History: %lld earlier run%s of this workload", (long long)count,
                          count == 1 ? "" : "s");
        put_where(out, host, season);
        if (count < NL_MIN_HISTORY)
            nl_buf_format(out, "; %d are needed to say what is unusual", NL_MIN_HISTORY);
        nl_buf_char(out, '.');
        sqlite3_reset(rows);
    }
    if (rows && ok && !known)
        nl_buf_text(out, "History: an older version added this run; `neurolens ledger rebuild` "
                         "finds out what is unusual of it.");
    return rows && ok;
}

const char *nl_runanomaly_sentence(struct nl_ledger *ledger, int64_t run, struct nl_arena *arena,
                                   struct nl_err *err)
{
    struct nl_buf out;
    nl_buf_init(&out, 8192);
    const char *text = put_sentence(ledger, run, &out, err)
                           ? nl_arena_text(arena, out.ptr ? out.ptr : "", out.len)
                           : NULL;
    nl_buf_release(&out);
    return text;
}
