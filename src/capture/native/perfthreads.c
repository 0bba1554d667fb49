/* When threads got their processor, by thread id. */
#include "capture/native/perfthreads.h"

#include "base/map.h"
#include "base/mem.h"
#include "capture/recorder/partvalues.h"

#define MAX_THREADS ((size_t)1 << 20)

struct running {
    int64_t thread;
    int64_t since; /* 0 = has no processor, or it is not known */
};

struct perfthreads {
    struct running *items;
    size_t count, cap;
    struct nl_idmap by_thread;
};

struct perfthreads *perfthreads_new(void)
{
    return nl_zalloc(sizeof(struct perfthreads));
}

void perfthreads_free(struct perfthreads *threads)
{
    if (!threads)
        return;
    nl_free(threads->items);
    nl_idmap_release(&threads->by_thread);
    nl_free(threads);
}

void perfthreads_in(struct perfthreads *threads, int64_t thread, int64_t ns)
{
    if (thread <= 0 || threads->count >= MAX_THREADS)
        return;
    uint32_t next = (uint32_t)threads->count;
    uint32_t row = nl_idmap_get_or_put(&threads->by_thread, (uint64_t)thread, next);
    threads->count += row == next;
    nl_grow(&threads->items, &threads->cap, threads->count);
    threads->items[row] = (struct running){thread, ns};
}

bool perfthreads_out(struct perfthreads *threads, const struct perf_record *record, uint16_t how,
                     struct part_run *run)
{
    uint32_t row =
        record->tid > 0 ? nl_idmap_get(&threads->by_thread, (uint64_t)record->tid) : NL_NO_ROW;
    struct running *found = row == NL_NO_ROW ? NULL : &threads->items[row];
    if (!found || !found->since || found->since > (int64_t)record->time)
        return false;
    *run = (struct part_run){.begin = found->since,
                             .end = (int64_t)record->time,
                             .thread = (uint32_t)record->tid,
                             .cpu = (uint32_t)record->cpu,
                             .how = how};
    found->since = 0;
    return true;
}

/* The last one takes its place. */
void perfthreads_end(struct perfthreads *threads, int64_t thread)
{
    uint32_t row = thread > 0 ? nl_idmap_get(&threads->by_thread, (uint64_t)thread) : NL_NO_ROW;
    if (row == NL_NO_ROW)
        return;
    struct running last = threads->items[--threads->count];
    threads->items[row] = last;
    nl_idmap_put(&threads->by_thread, (uint64_t)last.thread, row);
    nl_idmap_remove(&threads->by_thread, (uint64_t)thread);
}

void perfthreads_forget(struct perfthreads *threads)
{
    nl_idmap_clear(&threads->by_thread);
    threads->count = 0;
}
