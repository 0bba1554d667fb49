/*
 * offnames — see offnames.h. Per thread the time off the processors is summed up once from switch
 * to switch, so that of any slice it is a difference of two sums; of it, and of its length, what
 * slices inside have is theirs.
 */
#include "timeline/offnames.h"

#include "base/mem.h"
#include "base/search.h"
#include "base/sum.h"
#include "timeline/offcpu.h"
#include "timeline/waitname.h"

#define MIN_OFF_SHARE 0.9 /* of the self time of a name */

struct off_sums {
    const struct nl_trace *trace;
    struct nl_offcpu off;
    size_t *first;   /* per thread: of its sums */
    int64_t *before; /* per run on a processor: time off them since the thread's first run */
};

/* Nothing is known after the last run. */
static int64_t gap_after(const struct off_sums *sums, const struct nl_offcpu_run *runs,
                         uint32_t run, int64_t until)
{
    const struct nl_trace *trace = sums->trace;
    if (run + 1 >= runs->last || trace->slice.flags[run] & NL_SLICE_READY)
        return 0;
    int64_t gap = until - nl_slice_end(trace, run);
    return gap > 0 ? gap : 0;
}

static size_t count_runs(const struct off_sums *sums)
{
    size_t count = 0;
    for (uint32_t i = 0; i < sums->trace->thread.rows; i++) {
        sums->first[i] = count;
        count += sums->off.runs[i].last - sums->off.runs[i].first;
    }
    return count;
}

static void sum_runs(struct off_sums *sums)
{
    for (uint32_t i = 0; i < sums->trace->thread.rows; i++) {
        const struct nl_offcpu_run *runs = &sums->off.runs[i];
        int64_t *before = sums->before + sums->first[i], off = 0;
        for (uint32_t run = runs->first; run < runs->last; run++) {
            before[run - runs->first] = off;
            if (run + 1 < runs->last)
                nl_sum_add(&off, gap_after(sums, runs, run, sums->trace->slice.ts[run + 1]));
        }
    }
}

static int64_t off_until(const struct off_sums *sums, uint32_t thread, int64_t ts)
{
    const struct nl_offcpu_run *runs = &sums->off.runs[thread];
    uint32_t next = NL_FIRST(i, runs->first, runs->last, sums->trace->slice.ts[i] > ts);
    if (next == runs->first)
        return 0;
    int64_t off = sums->before[sums->first[thread] + (next - 1 - runs->first)];
    nl_sum_add(&off, gap_after(sums, runs, next - 1, ts));
    return off;
}

struct name_time {
    int64_t self, off;
    bool other; /* also the name of slices of other kinds */
};

static void add_slice(const struct off_sums *sums, uint32_t thread, uint32_t row,
                      struct name_time *names)
{
    const struct nl_trace *trace = sums->trace;
    struct name_time *own = &names[trace->slice.name[row]];
    uint32_t parent = trace->slice.parent[row];
    int64_t end = nl_slice_end(trace, row), length = end - trace->slice.ts[row];
    int64_t off = off_until(sums, thread, end) - off_until(sums, thread, trace->slice.ts[row]);
    if (trace->slice.kind[row] == NL_KIND_GENERIC) {
        nl_sum_add(&own->self, length);
        nl_sum_add(&own->off, off);
    } else {
        own->other = true;
    }
    if (parent != NL_NULL_ROW && trace->slice.kind[parent] == NL_KIND_GENERIC) {
        nl_sum_add(&names[trace->slice.name[parent]].self, -length);
        nl_sum_add(&names[trace->slice.name[parent]].off, -off);
    }
}

static void add_lanes(const struct off_sums *sums, struct name_time *names)
{
    const struct nl_trace *trace = sums->trace;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        uint32_t end = trace->lane.first[lane] + trace->lane.count[lane];
        if (trace->lane.kind[lane] != NL_LANE_THREAD || trace->lane.thread[lane] == NL_NULL_ROW)
            continue;
        for (uint32_t row = trace->lane.first[lane]; row < end; row++)
            add_slice(sums, trace->lane.thread[lane], row, names);
    }
}

static void mark_names(const struct nl_trace *trace, const struct name_time *names, uint8_t *marks,
                       uint8_t mark)
{
    bool left = false;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 1; i < trace->names.count; i++) {
            const struct name_time *name = &names[i];
            bool off = name->self > 0 && !name->other && !marks[i] &&
                       (double)name->off >= MIN_OFF_SHARE * (double)name->self &&
                       !nl_is_wait_name(nl_trace_name(trace, i));
            left |= name->self > 0 && !marks[i] && !off;
            if (pass && left && off)
                marks[i] = mark;
        }
}

void nl_mark_off_names(const struct nl_trace *trace, uint8_t *marks, uint8_t mark)
{
    struct off_sums sums = {.trace = trace};
    nl_offcpu_init(&sums.off, trace);
    sums.first = nl_zalloc(((size_t)trace->thread.rows + 1) * sizeof *sums.first);
    size_t runs = count_runs(&sums);
    if (runs) {
        struct name_time *names = nl_zalloc((size_t)trace->names.count * sizeof *names);
        sums.before = nl_zalloc(runs * sizeof *sums.before);
        sum_runs(&sums);
        add_lanes(&sums, names);
        mark_names(trace, names, marks, mark);
        nl_free(names);
    }
    nl_free(sums.before);
    nl_free(sums.first);
    nl_offcpu_release(&sums.off);
}
