/* A thread per call: those who work may be in SQLite or a decompressor,
 * which know nothing of jobs. */
#include "engine/callbudget.h"

#include <signal.h>
#include <time.h>

#include "base/mem.h"
#include "base/units.h"

/* More than a processor can fill: touching fresh memory costs it 0.3 s per GB at the least. */
#define FILL_BYTES_PER_MS ((uint64_t)4 << 20)
#define LONGEST_MS        200
#define MS_NS             ((int64_t)1000 * 1000)

/* Looks once; the time in ms until it must look again. */
static uint64_t check_memory(struct engine_budget *budget)
{
    uint64_t held = nl_memory_held(), most = budget->job->memory_bytes;
    uint64_t taken = held > budget->held_before ? held - budget->held_before : 0;
    if (taken > most) {
        atomic_store(&budget->job->out_of_memory, true);
        atomic_store(&budget->job->cancelled, true);
        return LONGEST_MS;
    }
    uint64_t ms = (most - taken) / FILL_BYTES_PER_MS;
    return ms < 1 ? 1 : ms < LONGEST_MS ? ms : LONGEST_MS;
}

static struct timespec in_ms(uint64_t ms)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    int64_t ns = time.tv_nsec + (int64_t)ms * MS_NS;
    return (struct timespec){time.tv_sec + ns / NL_SECOND_NS, ns % NL_SECOND_NS};
}

static void *watch(void *context)
{
    struct engine_budget *budget = context;
    pthread_mutex_lock(&budget->lock);
    while (!budget->over) {
        struct timespec until = in_ms(check_memory(budget));
        pthread_cond_timedwait(&budget->ended, &budget->lock, &until);
    }
    pthread_mutex_unlock(&budget->lock);
    return NULL;
}

/* Signals are for the threads of the program. */
static bool started(struct engine_budget *budget)
{
    sigset_t all, theirs;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &theirs);
    bool done = pthread_create(&budget->thread, NULL, watch, budget) == 0;
    pthread_sigmask(SIG_SETMASK, &theirs, NULL);
    return done;
}

void engine_budget_begin(struct engine_budget *budget, struct nl_job *job)
{
    pthread_condattr_t monotonic;
    *budget = (struct engine_budget){.job = job, .held_before = nl_memory_held()};
    if (!job->memory_bytes || !budget->held_before)
        return;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&budget->lock, NULL);
    pthread_cond_init(&budget->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    budget->watched = started(budget);
}

void engine_budget_end(struct engine_budget *budget, struct nl_err *err)
{
    char most[NL_UNIT_TEXT];
    if (budget->watched) {
        pthread_mutex_lock(&budget->lock);
        budget->over = true;
        pthread_cond_signal(&budget->ended);
        pthread_mutex_unlock(&budget->lock);
        pthread_join(budget->thread, NULL);
        pthread_mutex_destroy(&budget->lock);
        pthread_cond_destroy(&budget->ended);
    }
    if (err && atomic_load(&budget->job->out_of_memory))
        (void)nl_fail(
            err, NL_MEMORY,
            "this needs more than the memory limit of %s; raise memory_bytes of the options",
            nl_format_bytes(most, budget->job->memory_bytes));
}
