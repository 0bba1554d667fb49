/* Parallel loops over an index range; threads live for one loop: loops are few and long,
 * and no state outlives them. */
#define _GNU_SOURCE
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/plainlocale.h"

#define MAX_PROCESSORS ((size_t)1 << 20)

struct loop {
    nl_run_fn *run;
    void *context;
    atomic_size_t next;
    size_t count;
};

struct worker {
    struct loop *loop;
    unsigned number;
    pthread_t thread;
    bool started;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct loop *loop = worker->loop;
    locale_t theirs = nl_locale_enter();
    for (;;) {
        size_t index = atomic_fetch_add(&loop->next, 1);
        if (index >= loop->count)
            break;
        loop->run(loop->context, index, worker->number);
    }
    nl_locale_leave(theirs);
    return NULL;
}

void nl_parallel(unsigned threads, size_t count, nl_run_fn *run, void *context)
{
    struct loop loop = {.run = run, .context = context, .count = count};
    if (threads > count)
        threads = (unsigned)count;
    if (threads < 1)
        threads = 1;
    struct worker *workers = nl_zalloc(threads * sizeof *workers);
    for (unsigned i = 0; i < threads; i++) {
        workers[i].loop = &loop;
        workers[i].number = i;
    }
    for (unsigned i = 1; i < threads; i++)
        workers[i].started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    work(&workers[0]);
    for (unsigned i = 1; i < threads; i++)
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
    nl_free(workers);
}

unsigned nl_processors(void)
{
    int count = 0;
    bool small = true; /* a kernel for more processors than the set has room for says EINVAL */
    for (size_t room = CPU_SETSIZE; small && room <= MAX_PROCESSORS; room *= 2) {
        cpu_set_t *set = CPU_ALLOC(room);
        size_t size = CPU_ALLOC_SIZE(room);
        bool done = set && sched_getaffinity(0, size, set) == 0;
        small = set && !done && errno == EINVAL;
        count = done ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
    }
    return count > 0 ? (unsigned)count : 1;
}
