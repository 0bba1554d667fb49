/* One thread, one deadline. The lock is held while the connection is interrupted, so that it cannot
 * be another statement, or none, by then. */
#include "sql/stopwatch.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

struct nl_stopwatch {
    sqlite3 *sqlite;
    struct nl_job *job;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool runs, stop;     /* under the lock, like the deadline */
    int64_t deadline_ns; /* 0 = none */
};

static bool is_past(int64_t deadline_ns)
{
    return nl_monotonic_ns() > deadline_ns;
}

static void *wait_for_deadlines(void *context)
{
    struct nl_stopwatch *watch = context;
    pthread_mutex_lock(&watch->lock);
    while (!watch->stop) {
        if (!watch->deadline_ns) {
            pthread_cond_wait(&watch->changed, &watch->lock);
            continue;
        }
        if (is_past(watch->deadline_ns)) {
            watch->deadline_ns = 0;
            sqlite3_interrupt(watch->sqlite);
            continue;
        }
        /* one past it, so that the handler of guard.c agrees that the statement is late */
        struct timespec until = {.tv_sec = (watch->deadline_ns + 1000000) / 1000000000,
                                 .tv_nsec = (watch->deadline_ns + 1000000) % 1000000000};
        pthread_cond_timedwait(&watch->changed, &watch->lock, &until);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

struct nl_stopwatch *nl_stopwatch_new(sqlite3 *sqlite, struct nl_job *job)
{
    pthread_condattr_t attributes;
    struct nl_stopwatch *watch = nl_zalloc(sizeof *watch);
    watch->sqlite = sqlite;
    watch->job = job;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return watch;
}

void nl_stopwatch_free(struct nl_stopwatch *watch)
{
    if (!watch)
        return;
    nl_stopwatch_set(watch, 0);
    if (watch->runs) {
        pthread_mutex_lock(&watch->lock);
        watch->stop = true;
        pthread_cond_signal(&watch->changed);
        pthread_mutex_unlock(&watch->lock);
        pthread_join(watch->thread, NULL);
    }
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->lock);
    nl_free(watch);
}

void nl_stopwatch_set(struct nl_stopwatch *watch, int64_t deadline_ns)
{
    if (watch->job)
        atomic_store(&watch->job->deadline_ns, deadline_ns);
    pthread_mutex_lock(&watch->lock);
    watch->deadline_ns = deadline_ns;
    if (watch->runs)
        pthread_cond_signal(&watch->changed);
    else if (deadline_ns)
        watch->runs = pthread_create(&watch->thread, NULL, wait_for_deadlines, watch) == 0;
    pthread_mutex_unlock(&watch->lock);
}
