/* Warm-up, then blocks of runs in turns until the median is known well enough. */
#define _GNU_SOURCE
#include "backend/ortrun.h"

#include <stdio.h>
#include <string.h>

#include "backend/ortsession.h"
#include "base/clock.h"

#define MS              ((int64_t)1000000)
#define SETTLE_BELOW    (50 * MS) /* shorter runs feel what ran before them */
#define PLAIN_BLOCK     (50 * MS)
#define PROFILED_BLOCK  (25 * MS)
#define MAX_PLAIN       1000 /* runs of a block */
#define PROFILED_BATCH  10
#define JUDGED_FROM     20 /* runs before an interval is believed */
#define PROFILED_WARMUP 3

struct measuring {
    const struct ort_plan *plan;
    struct ort_outcome *outcome;
    struct ort_model model;
    struct ort_session *plain, *profiled;
    int64_t typical; /* length of a run */
    int64_t end_ns;  /* monotonic */
    size_t judge_at; /* runs at which the interval is looked at again */
    bool tight;
    int64_t *scratch;
};

static bool run_one(struct measuring *measuring, bool profiled, struct ort_run *run,
                    struct nl_err *err)
{
    struct ort_session *session = profiled ? measuring->profiled : measuring->plain;
    measuring->outcome->session_runs += profiled;
    measuring->outcome->runs++;
    return ort_session_run(&measuring->model, session, run, err);
}

/* At least one run, and no more than a fifth of the time for all. */
static bool warm_up(struct measuring *measuring, bool profiled, size_t runs, struct nl_err *err)
{
    struct ort_run run;
    int64_t end = nl_monotonic_ns() + measuring->plan->max_ns / 5;
    snprintf(measuring->outcome->stage, sizeof measuring->outcome->stage, "warming up");
    for (size_t i = 0; i < runs || !i; i++) {
        if (!run_one(measuring, profiled, &run, err))
            return false;
        if (!profiled)
            measuring->typical = run.dur_ns > 0 ? run.dur_ns : 1;
        if (nl_monotonic_ns() >= end)
            return true;
    }
    return true;
}

/* How many runs fill `ns`, 1..most. */
static size_t fit(const struct measuring *measuring, int64_t ns, size_t most)
{
    size_t count = (size_t)(ns / measuring->typical);
    return count < 1 ? 1 : count > most ? most : count;
}

static bool out_of_time(const struct measuring *measuring)
{
    return nl_monotonic_ns() >= measuring->end_ns;
}

/* The first run of a block may not count; the first that counts is always made. */
static bool make_uncounted_run(struct measuring *measuring, bool profiled, struct nl_err *err)
{
    struct ort_run run;
    return measuring->typical >= SETTLE_BELOW || run_one(measuring, profiled, &run, err);
}

static bool plain_block(struct measuring *measuring, struct nl_err *err)
{
    struct ort_outcome *outcome = measuring->outcome;
    size_t most = fit(measuring, PLAIN_BLOCK, MAX_PLAIN);
    if (outcome->plain_count >= measuring->plan->max_runs)
        return true;
    if (!make_uncounted_run(measuring, false, err))
        return false;
    for (size_t i = 0; i < most && outcome->plain_count < measuring->plan->max_runs; i++) {
        if (outcome->plain_count && out_of_time(measuring))
            return true;
        if (!run_one(measuring, false, &outcome->plain[outcome->plain_count], err))
            return false;
        outcome->plain_count++;
    }
    return true;
}

static bool profiled_block(struct measuring *measuring, struct nl_err *err)
{
    struct ort_outcome *outcome = measuring->outcome;
    size_t most = fit(measuring, PROFILED_BLOCK, PROFILED_BATCH);
    if (outcome->profiled_count >= measuring->plan->profiled_runs)
        return true;
    if (!make_uncounted_run(measuring, true, err))
        return false;
    for (size_t i = 0; i < most && outcome->profiled_count < measuring->plan->profiled_runs; i++) {
        uint32_t at = outcome->profiled_count;
        if (at && out_of_time(measuring))
            return true;
        outcome->profiled_at[at] = outcome->session_runs;
        if (!run_one(measuring, true, &outcome->profiled[at], err))
            return false;
        outcome->profiled_count++;
    }
    return true;
}

/* Sorting all times after every block would be quadratic, so it waits for a tenth more of them. */
static void judge_tightness(struct measuring *measuring)
{
    const struct ort_outcome *outcome = measuring->outcome;
    if (outcome->plain_count < measuring->judge_at)
        return;
    for (uint32_t i = 0; i < outcome->plain_count; i++)
        measuring->scratch[i] = outcome->plain[i].dur_ns;
    struct nl_median_range range = nl_median_range_of(measuring->scratch, outcome->plain_count);
    measuring->tight = nl_median_range_width(&range) <= ORT_TIGHT;
    measuring->judge_at = outcome->plain_count + outcome->plain_count / 10 + 1;
}

static bool finished(struct measuring *measuring)
{
    const struct ort_plan *plan = measuring->plan;
    struct ort_outcome *outcome = measuring->outcome;
    bool all_profiled = outcome->profiled_count >= plan->profiled_runs;
    judge_tightness(measuring);
    outcome->stop = measuring->tight                         ? ORT_STOP_TIGHT
                    : outcome->plain_count >= plan->max_runs ? ORT_STOP_RUNS
                                                             : ORT_STOP_TIME;
    return out_of_time(measuring) || (all_profiled && outcome->stop != ORT_STOP_TIME);
}

static bool measure_runs(struct measuring *measuring, struct nl_err *err)
{
    measuring->end_ns = nl_monotonic_ns() + measuring->plan->max_ns;
    measuring->judge_at = JUDGED_FROM;
    measuring->scratch = nl_alloc(measuring->plan->max_runs * sizeof *measuring->scratch);
    bool good = true;
    do {
        snprintf(measuring->outcome->stage, sizeof measuring->outcome->stage,
                 "running without its profiler");
        good = plain_block(measuring, err);
        snprintf(measuring->outcome->stage, sizeof measuring->outcome->stage,
                 "running with its profiler");
        good = good && profiled_block(measuring, err);
    } while (good && !finished(measuring));
    nl_free(measuring->scratch);
    return good;
}

static bool open_plain(struct measuring *measuring, struct nl_err *err)
{
    struct ort_outcome *outcome = measuring->outcome;
    snprintf(outcome->stage, sizeof outcome->stage, "loading the model");
    int64_t before = nl_monotonic_ns();
    measuring->plain = ort_session_new(&measuring->model, measuring->plan, NULL, err);
    outcome->load_ns = nl_monotonic_ns() - before;
    return measuring->plain &&
           ort_model_prepare(&measuring->model, measuring->plain, measuring->plan, outcome, err);
}

static bool open_profiled(struct measuring *measuring, struct nl_err *err)
{
    snprintf(measuring->outcome->stage, sizeof measuring->outcome->stage,
             "loading the model with its profiler on");
    measuring->profiled =
        ort_session_new(&measuring->model, measuring->plan, measuring->plan->profile_prefix, err);
    return measuring->profiled != NULL;
}

bool ort_measure(const struct ort_plan *plan, struct ort_outcome *outcome, struct nl_err *err)
{
    struct measuring measuring = {.plan = plan, .outcome = outcome};
    size_t profiled = plan->warm_up < PROFILED_WARMUP ? plan->warm_up : PROFILED_WARMUP;
    bool done = ort_model_open(&measuring.model, plan, outcome, err) &&
                open_plain(&measuring, err) && warm_up(&measuring, false, plan->warm_up, err) &&
                open_profiled(&measuring, err) && warm_up(&measuring, true, profiled, err) &&
                measure_runs(&measuring, err) &&
                ort_session_finish(&measuring.model, measuring.profiled, outcome, err);
    if (measuring.profiled)
        measuring.model.api.ReleaseSession(measuring.profiled);
    if (measuring.plain)
        measuring.model.api.ReleaseSession(measuring.plain);
    ort_model_close(&measuring.model);
    return done;
}
