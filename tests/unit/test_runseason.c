/*
 * Seasons of runs: by simulation, that none is found where there is none, that one which is there
 * is found, and what that does to the judgement of a run.
 */
#include <math.h>

#include "base/mem.h"
#include "check.h"
#include "ledger/runanomaly.h"
#include "ledger/runseason.h"

#define RUNS   60
#define TRIALS 1000
#define HOUR   INT64_C(3600000000000)
#define START  (INT64_C(19998) * 24 * HOUR) /* a Wednesday */

static uint64_t state = 88172645463325252u;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* A run every 5 hours and some minutes; two branches in turn, in an order of chance. */
static void plan(struct nl_season_run *runs)
{
    for (size_t i = 0; i < RUNS; i++)
        runs[i] = (struct nl_season_run){.value = 100 * exp(0.01 * normal()),
                                         .branch = uniform() < 0.5 ? "main" : "next",
                                         .added_ns = START + (int64_t)i * 5 * HOUR +
                                                     (int64_t)(uniform() * 1e12)};
}

static bool by_day(const struct nl_season_run *run)
{
    int64_t hour = run->added_ns / HOUR % 24;
    return hour >= 8 && hour < 20;
}

/* Is it unusual against those that are alike? */
static bool unusual(const struct nl_season_run *run, const struct nl_season_run *runs,
                    const bool *alike)
{
    double values[RUNS];
    size_t count = 0;
    for (size_t i = 0; i < RUNS; i++)
        if (!alike || alike[i])
            values[count++] = runs[i].value;
    return nl_anomaly_of(run->value, values, count, false).unusual;
}

static void none(void)
{
    struct nl_season_run runs[RUNS], last[RUNS];
    bool alike[RUNS];
    size_t found = 0, alarms = 0;
    for (size_t trial = 0; trial < TRIALS; trial++) {
        plan(runs);
        plan(last);
        found += nl_season_find(&last[0], runs, RUNS, alike) != NL_SEASON_NONE;
        alarms += unusual(&last[0], runs, alike);
    }
    CHECK_INT((int64_t)found, 0); /* chance moves no median by 5 % at noise of 1 % */
    CHECK(alarms <= TRIALS / 100);
}

/* A level that changed once is no season, though the newest runs were all at night. */
static void change_is_no_season(void)
{
    struct nl_season_run runs[RUNS];
    bool alike[RUNS];
    plan(runs);
    for (size_t i = 0; i < RUNS; i++) {
        bool late = i >= 40;
        runs[i].branch = "main";
        runs[i].added_ns = START + (int64_t)i * 24 * HOUR + (late ? 22 : 10) * HOUR;
        runs[i].value *= late ? 1.2 : 1;
    }
    struct nl_season_run run = runs[RUNS - 1];
    CHECK_INT(nl_season_find(&run, runs, RUNS, alike), NL_SEASON_NONE);
    CHECK(alike[0] && alike[RUNS - 1]);
}

/* Runs by day take 20 % longer: of a night's run that is unusual, of a day's it is not. */
static void hours(void)
{
    struct nl_season_run runs[RUNS];
    bool alike[RUNS];
    char text[NL_SEASON_TEXT];
    size_t found = 0, alarms = 0, missed = 0;
    for (size_t trial = 0; trial < TRIALS; trial++) {
        plan(runs);
        for (size_t i = 0; i < RUNS; i++)
            runs[i].value *= by_day(&runs[i]) ? 1.2 : 1;
        struct nl_season_run day = {100 * 1.2 * exp(0.01 * normal()), "main",
                                    START + 2000 * HOUR + 6 * HOUR};
        struct nl_season_run night = {100 * 1.2 * exp(0.01 * normal()), "main",
                                      START + 2000 * HOUR - 6 * HOUR};
        found += nl_season_find(&day, runs, RUNS, alike) == NL_SEASON_HOUR;
        alarms += unusual(&day, runs, alike);
        (void)nl_season_find(&night, runs, RUNS, alike);
        missed += !unusual(&night, runs, alike);
    }
    CHECK(found >= TRIALS * 99 / 100);
    CHECK(alarms <= TRIALS / 100);
    CHECK(missed <= TRIALS / 100);
    struct nl_season_run run = {100, "main", START + 14 * HOUR};
    CHECK_TEXT(nl_season_text(NL_SEASON_HOUR, &run, text), "within 3 h of 14:00 UTC");
}

static void branches(void)
{
    struct nl_season_run runs[RUNS];
    bool alike[RUNS];
    char text[NL_SEASON_TEXT];
    size_t found = 0, alarms = 0, missed = 0;
    for (size_t trial = 0; trial < TRIALS; trial++) {
        plan(runs);
        for (size_t i = 0; i < RUNS; i++)
            runs[i].value *= strcmp(runs[i].branch, "next") ? 1 : 1.3;
        struct nl_season_run next = {100 * 1.3 * exp(0.01 * normal()), "next", START};
        struct nl_season_run main = {100 * 1.3 * exp(0.01 * normal()), "main", START};
        found += nl_season_find(&next, runs, RUNS, alike) == NL_SEASON_BRANCH;
        alarms += unusual(&next, runs, alike);
        (void)nl_season_find(&main, runs, RUNS, alike);
        missed += !unusual(&main, runs, alike);
    }
    CHECK(found >= TRIALS * 99 / 100);
    CHECK(alarms <= TRIALS / 100);
    CHECK(missed <= TRIALS / 100);
    struct nl_season_run run = {100, "main", START};
    CHECK_TEXT(nl_season_text(NL_SEASON_BRANCH, &run, text), "of branch main");
    CHECK(!nl_season_text(NL_SEASON_NONE, &run, text));
}

static void weekends(void)
{
    struct nl_season_run runs[RUNS];
    bool alike[RUNS];
    char text[NL_SEASON_TEXT];
    plan(runs);
    size_t in = 0;
    for (size_t i = 0; i < RUNS; i++) {
        int64_t day = (int64_t)i;
        runs[i].branch = NULL;
        runs[i].added_ns = START + day * 24 * HOUR + 9 * HOUR;
        bool weekend = day % 7 == 3 || day % 7 == 4; /* START is a Wednesday */
        runs[i].value *= weekend ? 0.7 : 1;
        in += weekend;
    }
    struct nl_season_run saturday = {70, NULL, START + 63 * 24 * HOUR + 3 * 24 * HOUR};
    CHECK_INT(nl_season_find(&saturday, runs, RUNS, alike), NL_SEASON_WEEKEND);
    for (size_t i = 0; i < RUNS; i++)
        in -= alike[i];
    CHECK_INT((int64_t)in, 0);
    CHECK(!unusual(&saturday, runs, alike));
    CHECK_TEXT(nl_season_text(NL_SEASON_WEEKEND, &saturday, text), "at weekends");
}

/* What nobody knows does not count; times before 1970 and at the ends do no harm. */
static void edges(void)
{
    struct nl_season_run runs[RUNS];
    bool alike[RUNS];
    for (size_t i = 0; i < RUNS; i++)
        runs[i] = (struct nl_season_run){i % 2 ? NAN : 1, NULL, i % 3 ? INT64_MIN : INT64_MAX};
    CHECK_INT(nl_season_find(&runs[1], runs, RUNS, alike), NL_SEASON_NONE);
    CHECK_INT(nl_season_find(&runs[1], runs, 0, alike), NL_SEASON_NONE);
    runs[0].added_ns = -HOUR;
    char text[NL_SEASON_TEXT];
    CHECK_TEXT(nl_season_text(NL_SEASON_HOUR, &runs[0], text), "within 3 h of 23:00 UTC");
    CHECK_TEXT(nl_season_text(NL_SEASON_WEEKEND, &runs[0], text), "on weekdays");
    char branch[128] = "x"; /* then two bytes a character: the 100th byte would cut the 50th */
    for (size_t i = 1; i + 2 < sizeof branch; i += 2)
        memcpy(branch + i, "\xc3\xa9", 3);
    runs[0].branch = branch;
    nl_season_text(NL_SEASON_BRANCH, &runs[0], text);
    CHECK_INT((int64_t)strlen(text), (int64_t)strlen("of branch ") + 99);
    CHECK(!memcmp(text + strlen(text) - 2, "\xc3\xa9", 2));
}

CHECK_MAIN("runseason", {"none", none}, {"a change is no season", change_is_no_season},
           {"hours", hours}, {"branches", branches}, {"weekends", weekends}, {"edges", edges})
