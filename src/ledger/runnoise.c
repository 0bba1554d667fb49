/* See runnoise.h. */
#include "ledger/runnoise.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/median.h"
#include "ledger/ledgerdb.h"

#define NORMAL_MAD     1.4826022185056018 /* deviation of a normal distribution / median distance */
#define MAX_DEVIATIONS 3.5                /* robust deviations */
#define MIN_SD         0.001              /* clocks and rounding are no better */
#define MIN_SPREAD     1e-9

struct nl_runnoise nl_runnoise_of(const double *logs, size_t count)
{
    struct nl_runnoise noise = {NAN, NAN, count};
    double squares = 0, n = (double)count;
    if (count < NL_MIN_RUNNOISE)
        return noise;
    double *apart = nl_alloc(count * sizeof *apart);
    for (size_t i = 0; i + 1 < count; i++)
        apart[i] = fabs(logs[i + 1] - logs[i]);
    double most = MAX_DEVIATIONS * NORMAL_MAD * nl_median_f64(apart, count - 1);
    for (size_t i = 0; i + 1 < count; i++) {
        double d = most > MIN_SPREAD && apart[i] > most ? most : apart[i];
        squares += d * d;
    }
    nl_free(apart);
    noise.sd = sqrt(squares / (2 * (n - 1)));
    noise.sd = noise.sd > MIN_SD ? noise.sd : MIN_SD;
    noise.df = 2 * (n - 1) * (n - 1) / (3 * n - 4);
    return noise;
}

/* The median of its steady steps; NaN without. */
static bool typical_step(struct nl_ledger *ledger, int64_t run, double *typical, struct nl_err *err)
{
    bool ok = true;
    double *lengths = NULL;
    size_t count = 0, cap = 0;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err, "SELECT dur_ns FROM steps WHERE run = ?1 AND phase = 'steady' AND dur_ns > 0",
        "i", run);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        nl_grow(&lengths, &cap, count + 1);
        lengths[count++] = sqlite3_column_double(rows, 0);
    }
    *typical = nl_median_f64(lengths, count);
    nl_free(lengths);
    return rows && ok;
}

static bool is_among(const int64_t *runs, size_t count, int64_t run)
{
    for (size_t i = 0; i < count; i++)
        if (runs[i] == run)
            return true;
    return false;
}

bool nl_runnoise_learn(struct nl_ledger *ledger, const struct nl_history_who *who,
                       const int64_t *except, size_t except_count, struct nl_runnoise *noise,
                       struct nl_err *err)
{
    struct nl_history history;
    double logs[NL_MAX_HISTORY], typical;
    size_t count = 0;
    *noise = (struct nl_runnoise){NAN, NAN, 0};
    if (!nl_runhistory_find(ledger, who, INT64_MAX, NL_MAX_HISTORY, &history, err))
        return false;
    for (size_t i = 0; i < history.count; i++) {
        if (is_among(except, except_count, history.runs[i]))
            continue;
        if (!typical_step(ledger, history.runs[i], &typical, err))
            return false;
        if (!isnan(typical))
            logs[count++] = log(typical);
    }
    *noise = nl_runnoise_of(logs, count);
    return true;
}
