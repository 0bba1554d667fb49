/* Open addressing by thread id. */
#include "capture/native/perfthreads.h"

#include <string.h>

#include "base/mem.h"

#define THREADS_MOST ((size_t)1 << 20)

struct running {
    int64_t thread; /* 0 = free */
    int64_t since;  /* 0 = has no processor, or it is not known */
};

struct perfthreads {
    struct running *slots;
    size_t count, room;
};

struct perfthreads *perfthreads_new(void)
{
    return nl_zalloc(sizeof(struct perfthreads));
}

void perfthreads_free(struct perfthreads *threads)
{
    if (!threads)
        return;
    nl_free(threads->slots);
    nl_free(threads);
}

static size_t home_of(const struct perfthreads *threads, int64_t thread)
{
    return ((uint64_t)thread * 0x9e3779b97f4a7c15u >> 32) & (threads->room - 1);
}

static struct running *slot_of(const struct perfthreads *threads, int64_t thread)
{
    size_t at = home_of(threads, thread);
    while (threads->slots[at].thread && threads->slots[at].thread != thread)
        at = (at + 1) & (threads->room - 1);
    return &threads->slots[at];
}

static void make_room(struct perfthreads *threads)
{
    struct perfthreads old = *threads;
    threads->room = old.room ? old.room * 2 : 256;
    threads->slots = nl_zalloc(threads->room * sizeof *threads->slots);
    for (size_t i = 0; i < old.room; i++)
        if (old.slots[i].thread)
            *slot_of(threads, old.slots[i].thread) = old.slots[i];
    nl_free(old.slots);
}

void perfthreads_in(struct perfthreads *threads, int64_t thread, int64_t ns)
{
    if (thread <= 0 || threads->count >= THREADS_MOST)
        return;
    if (threads->count * 2 >= threads->room)
        make_room(threads);
    struct running *slot = slot_of(threads, thread);
    threads->count += !slot->thread;
    *slot = (struct running){thread, ns};
}

bool perfthreads_out(struct perfthreads *threads, const struct perf_record *record, uint16_t how,
                     struct part_run *run)
{
    struct running *slot = threads->room && record->tid > 0 ? slot_of(threads, record->tid) : NULL;
    if (!slot || !slot->since || slot->since > (int64_t)record->time)
        return false;
    *run = (struct part_run){.begin = slot->since,
                             .end = (int64_t)record->time,
                             .thread = (uint32_t)record->tid,
                             .cpu = (uint32_t)record->cpu,
                             .how = how};
    slot->since = 0;
    return true;
}

void perfthreads_end(struct perfthreads *threads, int64_t thread)
{
    struct running *slot = threads->room && thread > 0 ? slot_of(threads, thread) : NULL;
    if (!slot || !slot->thread)
        return;
    size_t hole = (size_t)(slot - threads->slots);
    threads->count--;
    /* What was put behind it because it was there moves up. */
    for (size_t at = (hole + 1) & (threads->room - 1); threads->slots[at].thread;
         at = (at + 1) & (threads->room - 1)) {
        size_t home = home_of(threads, threads->slots[at].thread);
        if (((at - home) & (threads->room - 1)) < ((at - hole) & (threads->room - 1)))
            continue;
        threads->slots[hole] = threads->slots[at];
        hole = at;
    }
    threads->slots[hole] = (struct running){0};
}

void perfthreads_forget(struct perfthreads *threads)
{
    if (threads->room)
        memset(threads->slots, 0, threads->room * sizeof *threads->slots);
    threads->count = 0;
}
