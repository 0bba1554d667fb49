/* Progress: fifty looks a second at the job, ten of them drawn. */
#define _GNU_SOURCE
#include "cli/progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/sum.h"
#include "base/units.h"
#include "cli/busguard.h"
#include "cli/memguard.h"
#include "cli/message.h"

#define TICK_NS   ((int64_t)20 * 1000 * 1000)
#define END_NS    ((int64_t)10 * 1000 * 1000) /* between looks at work that was cancelled */
#define DRAW_NS   ((int64_t)100 * 1000 * 1000)
#define FIRST_NS  ((int64_t)500 * 1000 * 1000)
#define GRACE_NS  ((int64_t)120 * 1000 * 1000)
#define LATE_NS   ((int64_t)400 * 1000 * 1000) /* for a statement that was interrupted */
#define BAR_CELLS 24

struct nl_progress {
    struct nl_job *job;
    enum nl_progress_mode mode;
    bool draws; /* under the lock, like all below */
    bool drawn; /* there is something on the line */
    bool guards, stop;
    char profile[512];
    int64_t started, cancelled, last_draw;
    int64_t limit_ns;  /* of a statement */
    const char *phase; /* as of the last look, with when it began */
    int64_t phase_started;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static void clear_line(struct nl_progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}

/* "reading  [#####.....]  45.0 %  1.20 GB/s  0:03 left" */
static void draw_bar(struct nl_progress *progress, uint64_t done, uint64_t total, int64_t elapsed)
{
    char bar[BAR_CELLS + 1], rate[NL_UNIT_TEXT], percent[NL_UNIT_TEXT];
    double seconds = (double)elapsed / 1e9;
    double speed = seconds > 0 ? (double)done / seconds : 0;
    double share = total ? (double)done / (double)total : 0;
    share = share > 1 ? 1 : share;
    if (!total) {
        fprintf(stderr, "\r\033[K%s  %s", progress->phase,
                done ? nl_format_count(rate, done) : "...");
        return;
    }
    size_t full = (size_t)(share * BAR_CELLS);
    memset(bar, '#', full);
    memset(bar + full, '.', BAR_CELLS - full);
    bar[BAR_CELLS] = '\0';
    fprintf(stderr, "\r\033[K%s  [%s] %s", progress->phase, bar, nl_format_percent(percent, share));
    if (strcmp(progress->phase, "reading") == 0)
        fprintf(stderr, "  %s", nl_format_rate(rate, speed));
    if (speed > 0 && share > 0.02) {
        int64_t left = nl_sum_near((double)(total - (done < total ? done : total)) / speed);
        fprintf(stderr, "  %" PRId64 ":%02d left", left / 60, (int)(left % 60));
    }
}

static void draw_json(struct nl_progress *progress, uint64_t done, uint64_t total, int64_t elapsed)
{
    fprintf(stderr, "{\"progress\": {\"phase\": \"%s\", \"done\": %" PRIu64 ", \"total\": ",
            progress->phase, done);
    if (total)
        fprintf(stderr, "%" PRIu64, total);
    else
        fputs("null", stderr);
    fprintf(stderr, ", \"elapsed_ns\": %" PRId64 "}}\n", elapsed);
}

static void draw(struct nl_progress *progress, int64_t now)
{
    const char *phase = atomic_load(&progress->job->phase);
    if (!phase)
        return;
    if (phase != progress->phase) {
        progress->phase = phase;
        progress->phase_started = now;
    }
    bool json = progress->mode == NL_PROGRESS_JSON;
    if (!progress->draws || (!json && now - progress->started < FIRST_NS) ||
        now - progress->last_draw < DRAW_NS)
        return;
    progress->last_draw = now;
    uint64_t done = atomic_load(&progress->job->done);
    uint64_t total = atomic_load(&progress->job->total);
    if (json) {
        draw_json(progress, done, total, now - progress->started);
        return;
    }
    draw_bar(progress, done, total, now - progress->phase_started);
    fflush(stderr);
    progress->drawn = true;
}

/* Leaves without the worker, and without traces. */
static _Noreturn void leave(struct nl_progress *progress, bool late)
{
    struct nl_err err;
    nl_err_clear(&err);
    nl_busguard_remove();
    clear_line(progress);
    err.code = NL_INTERRUPTED;
    if (late)
        (void)nl_fail(&err, NL_TIMEOUT,
                      "the query took longer than its limit of %" PRId64
                      " ms inside one function; give it shorter texts, or raise the limit",
                      progress->limit_ns / 1000000);
    nl_memguard_explain(progress->job, progress->profile, &err);
    nl_message_error(&err, 0);
    fflush(stderr);
    _exit(nl_err_exit_status(err.code));
}

/* The worker has some time to stop. */
static void guard(struct nl_progress *progress, int64_t now)
{
    int64_t deadline = atomic_load(&progress->job->deadline_ns);
    if (progress->guards && deadline && now - deadline > LATE_NS)
        leave(progress, true);
    if (!nl_job_cancelled(progress->job)) {
        progress->cancelled = 0;
        return;
    }
    if (!progress->cancelled)
        progress->cancelled = now;
    if (!progress->guards || now - progress->cancelled < GRACE_NS)
        return;
    leave(progress, false);
}

static void *watch(void *context)
{
    struct nl_progress *progress = context;
    pthread_mutex_lock(&progress->lock);
    while (!progress->stop) {
        struct timespec until;
        int64_t wait = nl_job_cancelled(progress->job) ? END_NS : TICK_NS;
        if (nl_memguard_look(progress->job, &wait) == NL_MEMGUARD_LEAVE)
            leave(progress, false);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += wait;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&progress->changed, &progress->lock, &until);
        int64_t now = nl_monotonic_ns();
        draw(progress, now);
        guard(progress, now);
    }
    pthread_mutex_unlock(&progress->lock);
    return NULL;
}

struct nl_progress *nl_progress_start(const struct nl_call *call)
{
    struct nl_progress *progress = nl_zalloc(sizeof *progress);
    progress->job = call->job;
    progress->mode = (enum nl_progress_mode)call->settings.progress;
    progress->draws =
        progress->mode == NL_PROGRESS_JSON ||
        (progress->mode == NL_PROGRESS_AUTO && !call->settings.quiet && isatty(STDERR_FILENO));
    progress->guards = true;
    progress->limit_ns = call->settings.timeout_ns;
    progress->started = nl_monotonic_ns();
    int64_t wait = TICK_NS;
    (void)nl_memguard_look(progress->job, &wait); /* before the work begins, not in parallel */
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&progress->lock, NULL);
    pthread_cond_init(&progress->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&progress->thread, NULL, watch, progress) != 0) {
        nl_free(progress); /* work goes on unwatched */
        return NULL;
    }
    return progress;
}

void nl_progress_quiet(struct nl_progress *progress)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->draws = false;
    clear_line(progress);
    pthread_mutex_unlock(&progress->lock);
}

void nl_progress_clear(struct nl_progress *progress)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->lock);
    clear_line(progress);
    pthread_mutex_unlock(&progress->lock);
}

void nl_progress_temporary(struct nl_progress *progress, const char *path)
{
    if (progress)
        pthread_mutex_lock(&progress->lock); /* whoever leaves has it, and reads the old path */
    nl_busguard_temporary(path);
    if (progress)
        pthread_mutex_unlock(&progress->lock);
}

void nl_progress_profile(struct nl_progress *progress, const char *name)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->lock);
    snprintf(progress->profile, sizeof progress->profile, "%s", name);
    pthread_mutex_unlock(&progress->lock);
}

void nl_progress_explain(const struct nl_progress *progress, struct nl_err *err)
{
    if (!progress)
        return;
    nl_memguard_explain(progress->job, progress->profile, err);
    if (err->code == NL_MEMORY && !err->file[0])
        nl_err_at(err, progress->profile, err->offset);
}

void nl_progress_guard(struct nl_progress *progress, bool on)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->guards = on;
    pthread_mutex_unlock(&progress->lock);
}

void nl_progress_stop(struct nl_progress *progress)
{
    if (!progress)
        return;
    nl_progress_quiet(progress);
    pthread_mutex_lock(&progress->lock);
    progress->stop = true;
    pthread_cond_signal(&progress->changed);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    pthread_mutex_destroy(&progress->lock);
    pthread_cond_destroy(&progress->changed);
    nl_free(progress);
}
