/* See runseason.h. */
#include "ledger/runseason.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "base/median.h"

#define NS_PER_HOUR  INT64_C(3600000000000)
#define HOURS_APART  3
#define SURE_Z       3.29 /* of no season: 1 in 1000 */
#define MIN_CHANGE   0.05
#define STRETCHES    3
#define BRANCH_BYTES 100

/* ---- who is in it ---- */

static int64_t hour_of(int64_t ns)
{
    int64_t hours = ns / NS_PER_HOUR - (ns % NS_PER_HOUR < 0);
    return ((hours % 24) + 24) % 24;
}

/* 1970-01-01 was a Thursday. */
static bool is_weekend(int64_t ns)
{
    int64_t hours = ns / NS_PER_HOUR - (ns % NS_PER_HOUR < 0);
    int64_t days = hours / 24 - (hours % 24 < 0);
    int64_t day = (((days + 4) % 7) + 7) % 7; /* Sunday = 0 */
    return day == 0 || day == 6;
}

static bool is_alike(enum nl_season season, const struct nl_season_run *a,
                     const struct nl_season_run *b)
{
    int64_t apart = llabs(hour_of(a->added_ns) - hour_of(b->added_ns));
    switch (season) {
    case NL_SEASON_BRANCH: return a->branch && b->branch && !strcmp(a->branch, b->branch);
    case NL_SEASON_HOUR: return (apart > 12 ? 24 - apart : apart) <= HOURS_APART;
    case NL_SEASON_WEEKEND: return is_weekend(a->added_ns) == is_weekend(b->added_ns);
    default: return true;
    }
}

/* ---- whether it shows ---- */

struct ranked {
    double value;
    bool alike;
};

static int by_value(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return (int)a->alike - (int)b->alike;
}

static double median_of(const struct ranked *sorted, size_t count, bool alike)
{
    size_t all = 0, at = 0;
    double low = NAN, high = NAN;
    for (size_t i = 0; i < count; i++)
        all += sorted[i].alike == alike;
    for (size_t i = 0; i < count; i++) {
        if (sorted[i].alike != alike)
            continue;
        low = at == nl_median_lower_at(all) ? sorted[i].value : low;
        high = at == nl_median_upper_at(all) ? sorted[i].value : high;
        at++;
    }
    return low / 2 + high / 2;
}

/* |z| of Mann and Whitney's test of sorted values; 0 where all are equal. */
static double mann_whitney(const struct ranked *sorted, size_t count)
{
    double n = 0, ranks = 0, ties = 0, all = (double)count;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && sorted[next].value == sorted[i].value; next++)
            n += sorted[next].alike;
        double rank = ((double)i + 1 + (double)next) / 2, same = (double)(next - i);
        for (size_t k = i; k < next; k++)
            ranks += sorted[k].alike ? rank : 0;
        ties += same * same * same - same;
    }
    double m = all - n;
    double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
    double differs = fabs(ranks - n * (all + 1) / 2);
    return variance > 0 ? differs / sqrt(variance) : 0;
}

static size_t stretches_of(const struct nl_season_run *runs, size_t count, const bool *alike)
{
    size_t stretches = 0;
    bool before = false;
    for (size_t i = 0; i < count; i++) {
        if (isnan(runs[i].value))
            continue;
        stretches += alike[i] && !before;
        before = alike[i];
    }
    return stretches;
}

/* How surely the season shows: |z|, 0 where it does not. */
static double shows(enum nl_season season, const struct nl_season_run *runs, size_t count,
                    const bool *alike)
{
    struct ranked *sorted = nl_alloc((count + 1) * sizeof *sorted);
    size_t kept = 0, in = 0;
    double z = 0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(runs[i].value))
            continue;
        sorted[kept++] = (struct ranked){runs[i].value, alike[i]};
        in += alike[i];
    }
    bool enough = in >= NL_MIN_SEASON && kept - in >= NL_MIN_SEASON;
    bool returns = season == NL_SEASON_BRANCH || stretches_of(runs, count, alike) >= STRETCHES;
    if (enough && returns) {
        qsort(sorted, kept, sizeof *sorted, by_value);
        double mine = median_of(sorted, kept, true), others = median_of(sorted, kept, false);
        z = fabs(mine - others) > MIN_CHANGE * fabs(others) ? mann_whitney(sorted, kept) : 0;
    }
    nl_free(sorted);
    return z > SURE_Z ? z : 0;
}

enum nl_season nl_season_find(const struct nl_season_run *run, const struct nl_season_run *earlier,
                              size_t count, bool *alike)
{
    enum nl_season best = NL_SEASON_NONE;
    double most = 0;
    for (enum nl_season season = NL_SEASON_BRANCH; season < NL_SEASONS; season++) {
        for (size_t i = 0; i < count; i++)
            alike[i] = is_alike(season, run, &earlier[i]);
        double z = shows(season, earlier, count, alike);
        if (z > most) {
            most = z;
            best = season;
        }
    }
    for (size_t i = 0; i < count; i++)
        alike[i] = is_alike(best, run, &earlier[i]);
    return best;
}

/* As many bytes of a text as are whole characters and no more than `most`. */
static int whole_characters(const char *text, size_t most)
{
    size_t len = strlen(text), at = 0;
    if (len <= most)
        return (int)len;
    while (at < most) {
        size_t step = nl_utf8_length((const unsigned char *)text + at, len - at);
        step = step ? step : 1;
        if (at + step > most)
            break;
        at += step;
    }
    return (int)at;
}

const char *nl_season_text(enum nl_season season, const struct nl_season_run *run,
                           char out[NL_SEASON_TEXT])
{
    switch (season) {
    case NL_SEASON_BRANCH:
        snprintf(out, NL_SEASON_TEXT, "of branch %.*s", whole_characters(run->branch, BRANCH_BYTES),
                 run->branch);
        return out;
    case NL_SEASON_HOUR:
        snprintf(out, NL_SEASON_TEXT, "within %d h of %02d:00 UTC", HOURS_APART,
                 (int)hour_of(run->added_ns));
        return out;
    case NL_SEASON_WEEKEND: return is_weekend(run->added_ns) ? "at weekends" : "on weekdays";
    default: return NULL;
    }
}
