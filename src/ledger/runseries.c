/* Columns one after another, each joined to the runs by walking both in the
 * order of run numbers. */
#include "ledger/runseries.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "ledger/ledgerdb.h"
#include "ledger/runfield.h"
#include "ledger/runlist.h"
#include "tables/lookup.h"

#define MAX_NAME 512

/* Words of rules for what the ledger has under another name; of runs without steps,
 * where `whole` is given, that. */
static const struct {
    const char *word, *fact, *whole;
} words[] = {
    {"step.mean", "metrics.mean_step_ns", NULL},
    {"latency.mean", "metrics.mean_step_ns", NULL},
    {"throughput", "metrics.steps_per_s", NULL},
    {"steps_per_s", "metrics.steps_per_s", NULL},
    {"run.duration", "timeline.duration_ns", NULL},
    {"kernels.count", "metrics.kernels_per_step", "metrics.kernel_count"},
    {"memory.peak", "metrics.peak_memory_bytes", NULL},
    {"compute.share", "metrics.step_compute_share", "metrics.compute_share"},
    {"exposed_comm.share", "metrics.step_exposed_comm_share", "metrics.exposed_comm_share"},
    {"exposed_copy.share", "metrics.step_exposed_copy_share", "metrics.exposed_copy_share"},
    {"idle.share", "metrics.step_idle_share", "metrics.idle_share"},
    {"gpu_busy.share", "metrics.gpu_busy_share", NULL},
    {"comm_overlap.share", "metrics.comm_overlap_share", NULL},
    {"mfu", "metrics.mfu", NULL}};

struct number {
    int64_t run;
    double value;
    int64_t rank; /* of a step; else 0 */
};

struct numbers {
    struct number *items;
    size_t count, cap;
};

static int by_run(const void *left, const void *right)
{
    int64_t a = ((const struct number *)left)->run, b = ((const struct number *)right)->run;
    return a < b ? -1 : a > b;
}

static bool read_series(struct numbers *numbers, struct nl_ledger *ledger, sqlite3_stmt *rows,
                        struct nl_err *err)
{
    bool ok = rows != NULL;
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        if (sqlite3_column_type(rows, 1) == SQLITE_NULL)
            continue;
        nl_grow(&numbers->items, &numbers->cap, numbers->count + 1);
        numbers->items[numbers->count++] =
            (struct number){sqlite3_column_int64(rows, 0), sqlite3_column_double(rows, 1),
                            sqlite3_column_int64(rows, 2)};
    }
    return ok;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* The steps of one run, rank after rank: a step of several ranks is the mean of their n-th steps,
 * as in rules of check (nl_step_lengths). Writes their lengths to `values`, which has room for all;
 * `ranks` is as long and zeroed. */
static size_t join_ranks(const struct number *steps, size_t count, double *values, uint32_t *ranks)
{
    size_t most = 0;
    for (size_t i = 0, n = 0; i < count; i++, n++) {
        if (i && steps[i].rank != steps[i - 1].rank)
            n = 0;
        values[n] = ranks[n] ? values[n] + steps[i].value : steps[i].value;
        ranks[n]++;
        most = n + 1 > most ? n + 1 : most;
    }
    for (size_t n = 0; n < most; n++) {
        values[n] /= ranks[n];
        ranks[n] = 0;
    }
    return most;
}

/* Rows of one run each, in order, become its quantile. */
static void to_quantiles(struct numbers *numbers, double share)
{
    double *values = nl_alloc((numbers->count + 1) * sizeof *values);
    uint32_t *ranks = nl_zalloc((numbers->count + 1) * sizeof *ranks);
    size_t kept = 0;
    for (size_t i = 0, next; i < numbers->count; i = next) {
        for (next = i; next < numbers->count && numbers->items[next].run == numbers->items[i].run;)
            next++;
        size_t n = join_ranks(numbers->items + i, next - i, values, ranks);
        qsort(values, n, sizeof *values, ascending);
        double rank = share * (double)(n - 1);
        size_t low = (size_t)rank;
        double value = low + 1 < n
                           ? values[low] + (rank - (double)low) * (values[low + 1] - values[low])
                           : values[low];
        numbers->items[kept++] = (struct number){numbers->items[i].run, value, 0};
    }
    numbers->count = kept;
    nl_free(ranks);
    nl_free(values);
}

/* step.p50 and its like; *known is false for another word. */
static bool step_values(struct nl_ledger *ledger, const char *metric, struct nl_series *series,
                        struct numbers *numbers, bool *known, struct nl_err *err)
{
    const char *quantile = strncmp(metric, "step.", 5) == 0      ? metric + 5
                           : strncmp(metric, "latency.", 8) == 0 ? metric + 8
                                                                 : "";
    double share = strcmp(quantile, "min") == 0 ? 0 : strcmp(quantile, "max") == 0 ? 1 : NAN;
    char *end;
    if (quantile[0] == 'p' && quantile[1])
        share = strtod(quantile + 1, &end) / 100;
    *known = share >= 0 && share <= 1 && (quantile[0] == 'm' || !*end);
    if (!*known)
        return true;
    series->meaning = NL_MEANS_NS;
    bool done = read_series(
        numbers, ledger,
        nl_ledgerdb_ask(ledger, err,
                        "SELECT run, dur_ns, rank FROM steps WHERE phase = 'steady' AND "
                        "dur_ns > 0 ORDER BY run, ordinal",
                        ""),
        err);
    if (done)
        to_quantiles(numbers, share);
    return done;
}

/* op["NAME"].COLUMN, also kernel[…] and layer[…]. */
static bool row_values(struct nl_ledger *ledger, const char *metric, struct nl_series *series,
                       struct numbers *numbers, bool *known, struct nl_err *err)
{
    static const struct {
        const char *column, *sql;
        enum nl_meaning meaning;
    } columns[] = {
        {"p50", "SELECT run, avg(p50_ns) FROM ops WHERE name = ?1 AND kind = ?2 GROUP BY run",
         NL_MEANS_NS},
        {"mean", "SELECT run, avg(mean_ns) FROM ops WHERE name = ?1 AND kind = ?2 GROUP BY run",
         NL_MEANS_NS},
        {"total", "SELECT run, sum(total_ns) FROM ops WHERE name = ?1 AND kind = ?2 GROUP BY run",
         NL_MEANS_NS},
        {"count", "SELECT run, sum(count) FROM ops WHERE name = ?1 AND kind = ?2 GROUP BY run",
         NL_MEANS_NUMBER}};
    char kind[16], name[MAX_NAME], column[16];
    *known = sscanf(metric, "%15[a-z][\"%511[^\"]\"].%15[a-z0-9_]", kind, name, column) == 3;
    if (!*known)
        return true;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(column, columns[i].column) == 0) {
            series->meaning = columns[i].meaning;
            return read_series(numbers, ledger,
                               nl_ledgerdb_ask(ledger, err, columns[i].sql, "tt", name, kind), err);
        }
    return nl_fail(err, NL_USAGE, "%s: expected .p50, .mean, .total or .count after the row",
                   metric);
}

/* Finds a fact of numbers by its name; *known is false where no run has it.
 * `asked` is what was typed. */
static bool find_fact(struct nl_ledger *ledger, const char *name, const char *asked,
                      struct nl_field *field, bool *known, struct nl_arena *arena,
                      struct nl_err *err)
{
    if (!nl_runfield_find(ledger, name, field, known, arena, err)) {
        if (name == asked || err->code != NL_USAGE)
            return false;
        nl_err_clear(err); /* it names what the user did not type */
        return nl_fail(err, NL_USAGE,
                       "'%s' is nothing that a run has; `neurolens show @` lists the names", asked);
    }
    if (*known && field->kind != NL_FIELD_FACT)
        return nl_fail(err, NL_USAGE, "%s is no number; name a metric such as mean_step_ns", name);
    return true;
}

#define OF_ONE "SELECT run, number FROM facts WHERE key = ?1 AND number NOTNULL"

/* Adds those of runs that have none yet; leaves them in the order of runs. */
static void fill_up(struct numbers *numbers, struct numbers *whole)
{
    size_t had = numbers->count, at = 0;
    if (had)
        qsort(numbers->items, had, sizeof *numbers->items, by_run);
    if (whole->count)
        qsort(whole->items, whole->count, sizeof *whole->items, by_run);
    for (size_t i = 0; i < whole->count; i++) {
        while (at < had && numbers->items[at].run < whole->items[i].run)
            at++;
        if (at < had && numbers->items[at].run == whole->items[i].run)
            continue;
        nl_grow(&numbers->items, &numbers->cap, numbers->count + 1);
        numbers->items[numbers->count++] = whole->items[i];
    }
}

/* One of its steps, and where that is not known one of the whole run, as rules of check have it. */
static bool two_facts(struct nl_ledger *ledger, const char *steps, const char *whole,
                      const char *asked, struct nl_series *series, struct numbers *numbers,
                      struct nl_err *err)
{
    struct nl_field field = {0}, second = {0};
    bool known, also;
    bool first = find_fact(ledger, steps, asked, &field, &known, &series->arena, err);
    if (!first && err->code != NL_USAGE)
        return false;
    nl_err_clear(err);
    known = first && known;
    if (!find_fact(ledger, whole, asked, &second, &also, &series->arena, err)) {
        if (!known || err->code != NL_USAGE)
            return false;
        nl_err_clear(err);
        also = false;
    }
    if (known || also)
        series->meaning = known ? field.meaning : second.meaning;
    struct numbers more = {0};
    bool done =
        (!known ||
         read_series(numbers, ledger, nl_ledgerdb_ask(ledger, err, OF_ONE, "i", field.key), err)) &&
        (!also ||
         read_series(&more, ledger, nl_ledgerdb_ask(ledger, err, OF_ONE, "i", second.key), err));
    if (done)
        fill_up(numbers, &more);
    nl_free(more.items);
    return done;
}

static bool fact_values(struct nl_ledger *ledger, const char *metric, struct nl_series *series,
                        struct numbers *numbers, struct nl_err *err)
{
    struct nl_field field = {0};
    const char *asked = metric;
    bool known;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(asked, words[i].word) != 0)
            continue;
        if (words[i].whole)
            return two_facts(ledger, words[i].fact, words[i].whole, asked, series, numbers, err);
        metric = words[i].fact;
    }
    if (!find_fact(ledger, metric, asked, &field, &known, &series->arena, err))
        return false;
    if (!known)
        return true;
    series->name = field.name;
    series->meaning = field.meaning;
    return read_series(numbers, ledger, nl_ledgerdb_ask(ledger, err, OF_ONE, "i", field.key), err);
}

/* ---- runs ---- */

static bool take_runs(struct nl_ledger *ledger, struct nl_series *series,
                      const struct numbers *numbers, struct nl_err *err)
{
    bool ok = true;
    size_t at = 0;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err, "SELECT run, added_ns, id FROM runs WHERE removed_ns IS NULL ORDER BY run",
        "");
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        int64_t run = sqlite3_column_int64(rows, 0);
        while (at < numbers->count && numbers->items[at].run < run)
            at++;
        bool has = at < numbers->count && numbers->items[at].run == run;
        series->without += !has;
        if (!has || !isfinite(numbers->items[at].value))
            continue;
        nl_grow(&series->items, &series->cap, series->count + 1);
        series->items[series->count++] =
            (struct nl_series_run){.run = run,
                                   .added_ns = sqlite3_column_int64(rows, 1),
                                   .value = numbers->items[at].value,
                                   .id = nl_ledgerdb_text(&series->arena, rows, 2)};
    }
    return rows && ok;
}

static struct nl_series_run *run_at(struct nl_series *series, int64_t run)
{
    size_t low = NL_FIRST(i, 0, series->count, series->items[i].run >= run);
    return low < series->count && series->items[low].run == run ? &series->items[low] : NULL;
}

/* A fact of texts goes to a member of the runs. Equal texts that follow
 * each other are kept once. */
static bool take_texts(struct nl_ledger *ledger, struct nl_series *series, const char *fact,
                       size_t member, struct nl_err *err)
{
    bool ok = true;
    const char *before = NULL;
    sqlite3_stmt *rows = nl_ledgerdb_ask(ledger, err,
                                         "SELECT run, text FROM facts WHERE key = "
                                         "(SELECT key FROM keys WHERE name = ?1)",
                                         "t", fact);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        struct nl_series_run *run = run_at(series, sqlite3_column_int64(rows, 0));
        const char *text = (const char *)sqlite3_column_text(rows, 1);
        if (!run || !text)
            continue;
        if (!before || strcmp(before, text) != 0)
            before = nl_arena_text(&series->arena, text, strlen(text));
        *(const char **)((char *)run + member) = before;
    }
    return rows && ok;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Leaves the runs that the filters match. */
static bool filter(struct nl_ledger *ledger, struct nl_series *series, const char *const *filters,
                   size_t count, struct nl_err *err)
{
    struct nl_list_options options = {.filters = filters, .filter_count = count, .columns = "id"};
    struct nl_result *runs = nl_ledger_list(ledger, &options, err);
    size_t kept = 0;
    if (!runs)
        return false;
    const char **ids = nl_alloc((runs->rows + 1) * sizeof *ids);
    for (size_t i = 0; i < runs->rows; i++) {
        struct nl_str id = nl_lookup_text(runs, i, "id");
        ids[i] = nl_arena_text(&series->arena, id.ptr, id.len);
    }
    qsort(ids, runs->rows, sizeof *ids, by_text);
    for (size_t i = 0; i < series->count; i++)
        if (bsearch(&series->items[i].id, ids, runs->rows, sizeof *ids, by_text))
            series->items[kept++] = series->items[i];
    series->count = kept;
    nl_free(ids);
    nl_result_free(runs);
    return true;
}

bool nl_ledger_series(struct nl_ledger *ledger, const char *metric, const char *const *filters,
                      size_t filter_count, struct nl_series *series, struct nl_err *err)
{
    struct numbers numbers = {0};
    bool known;
    *series = (struct nl_series){.name = metric};
    nl_arena_init(&series->arena);
    bool done = step_values(ledger, metric, series, &numbers, &known, err);
    if (done && !known)
        done = row_values(ledger, metric, series, &numbers, &known, err);
    if (done && !known)
        done = fact_values(ledger, metric, series, &numbers, err);
    if (done && numbers.count)
        qsort(numbers.items, numbers.count, sizeof *numbers.items, by_run);
    done =
        done && take_runs(ledger, series, &numbers, err) &&
        (!filter_count || filter(ledger, series, filters, filter_count, err)) &&
        take_texts(ledger, series, "run.git_commit", offsetof(struct nl_series_run, commit), err) &&
        take_texts(ledger, series, "run.git_branch", offsetof(struct nl_series_run, branch), err) &&
        take_texts(ledger, series, "hardware.host_name", offsetof(struct nl_series_run, host), err);
    nl_free(numbers.items);
    return done;
}

void nl_series_release(struct nl_series *series)
{
    nl_free(series->items);
    nl_arena_free(&series->arena);
}
