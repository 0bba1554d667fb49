/*
 * preempt — see preempt.h. Per thread the gaps it was ready in, with the sum of those before; per
 * processor the stretches in which it ran what was recorded, with the sum of those before. So any
 * stretch of time is answered by two searches and the two gaps at its edges.
 */
#include "timeline/preempt.h"

#include "base/mem.h"
#include "base/search.h"
#include "timeline/interval.h"
#include "timeline/offcpu.h"

#define LOST_RECORDS "lost: records of samples and switches"

struct gap {
    int64_t start, end;
    int64_t before; /* kept from running in the thread's earlier gaps, ns */
    uint32_t cpu;   /* that the thread had left */
};

struct gaps {
    struct gap *items;
    size_t count, cap;
};

/* When a processor ran what was recorded; `before` as above, one per stretch. */
struct runs {
    struct nl_intervals set;
    int64_t *before;
};

struct nl_preempt {
    const struct nl_trace *trace;
    struct gaps *threads; /* per thread */
    struct runs *cpus;    /* by name, as far as names are processors' */
    uint32_t *cpu_of;     /* per name: index in cpus + 1; 0 none */
    size_t cpu_count, cpu_cap;
};

static bool lost_some(const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->coverage.rows; row++)
        if (nl_str_is(nl_trace_name(trace, trace->coverage.item[row]), LOST_RECORDS))
            return true;
    return false;
}

/* ---- processors ---- */

static uint32_t cpu_of(struct nl_preempt *preempt, uint32_t name)
{
    if (!preempt->cpu_of[name]) {
        nl_grow(&preempt->cpus, &preempt->cpu_cap, preempt->cpu_count + 1);
        preempt->cpus[preempt->cpu_count] = (struct runs){.before = NULL};
        nl_intervals_init(&preempt->cpus[preempt->cpu_count].set);
        preempt->cpu_of[name] = (uint32_t)++preempt->cpu_count;
    }
    return preempt->cpu_of[name] - 1;
}

static void sum_runs(struct runs *runs)
{
    int64_t sum = 0;
    nl_intervals_normalise(&runs->set);
    runs->before = nl_alloc((runs->set.count + 1) * sizeof *runs->before);
    for (size_t i = 0; i < runs->set.count; i++) {
        runs->before[i] = sum;
        sum += runs->set.items[i].end - runs->set.items[i].start;
    }
}

/* How long the processor ran what was recorded before a moment. */
static int64_t run_before(const struct runs *runs, int64_t ts)
{
    size_t low = NL_FIRST(i, 0, runs->set.count, runs->set.items[i].start >= ts);
    if (!low)
        return 0;
    const struct nl_interval *last = &runs->set.items[low - 1];
    return runs->before[low - 1] + ((ts < last->end ? ts : last->end) - last->start);
}

static int64_t kept(const struct nl_preempt *preempt, uint32_t cpu, int64_t start, int64_t end)
{
    const struct runs *runs = &preempt->cpus[cpu];
    if (end <= start)
        return 0;
    return end - start - (run_before(runs, end) - run_before(runs, start));
}

/* ---- threads ---- */

static void take_gaps(struct nl_preempt *preempt, uint32_t thread, struct nl_offcpu_run run)
{
    const struct nl_slice_table *slice = &preempt->trace->slice;
    struct gaps *gaps = &preempt->threads[thread];
    int64_t sum = 0;
    for (uint32_t i = run.first; i + 1 < run.last; i++) {
        struct gap gap = {nl_slice_end(preempt->trace, i), slice->ts[i + 1], sum,
                          preempt->cpu_of[slice->name[i]] - 1};
        if (!(slice->flags[i] & NL_SLICE_READY) || gap.end <= gap.start)
            continue;
        nl_grow(&gaps->items, &gaps->cap, gaps->count + 1);
        gaps->items[gaps->count++] = gap;
        sum += kept(preempt, gap.cpu, gap.start, gap.end);
    }
}

struct nl_preempt *nl_preempt_new(const struct nl_trace *trace)
{
    struct nl_offcpu off;
    bool any = false;
    nl_offcpu_init(&off, trace);
    struct nl_preempt *preempt = nl_zalloc(sizeof *preempt);
    preempt->trace = trace;
    preempt->threads = nl_zalloc(((size_t)trace->thread.rows + 1) * sizeof *preempt->threads);
    preempt->cpu_of = nl_zalloc(((size_t)trace->names.count + 1) * sizeof *preempt->cpu_of);
    for (uint32_t thread = 0; thread < trace->thread.rows; thread++)
        for (uint32_t i = off.runs[thread].first; i < off.runs[thread].last; i++) {
            uint32_t cpu = cpu_of(preempt, trace->slice.name[i]);
            nl_intervals_add(&preempt->cpus[cpu].set, trace->slice.ts[i], nl_slice_end(trace, i));
            any = true;
        }
    for (size_t cpu = 0; cpu < preempt->cpu_count; cpu++)
        sum_runs(&preempt->cpus[cpu]);
    for (uint32_t thread = 0; thread < trace->thread.rows; thread++)
        take_gaps(preempt, thread, off.runs[thread]);
    nl_offcpu_release(&off);
    if (any && !lost_some(trace))
        return preempt;
    nl_preempt_free(preempt);
    return NULL;
}

void nl_preempt_free(struct nl_preempt *preempt)
{
    if (!preempt)
        return;
    for (uint32_t thread = 0; thread < preempt->trace->thread.rows; thread++)
        nl_free(preempt->threads[thread].items);
    for (size_t cpu = 0; cpu < preempt->cpu_count; cpu++) {
        nl_intervals_release(&preempt->cpus[cpu].set);
        nl_free(preempt->cpus[cpu].before);
    }
    nl_free(preempt->threads);
    nl_free(preempt->cpus);
    nl_free(preempt->cpu_of);
    nl_free(preempt);
}

/* What a thread was kept from running before a moment. */
static int64_t kept_before(const struct nl_preempt *preempt, const struct gaps *gaps, int64_t ts)
{
    size_t low = NL_FIRST(i, 0, gaps->count, gaps->items[i].start >= ts);
    if (!low)
        return 0;
    const struct gap *last = &gaps->items[low - 1];
    return last->before + kept(preempt, last->cpu, last->start, ts < last->end ? ts : last->end);
}

int64_t nl_preempt_in(const struct nl_preempt *preempt, uint32_t thread, int64_t start, int64_t end)
{
    if (thread >= preempt->trace->thread.rows || end <= start)
        return 0;
    const struct gaps *gaps = &preempt->threads[thread];
    return kept_before(preempt, gaps, end) - kept_before(preempt, gaps, start);
}
