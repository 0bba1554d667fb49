/*
 * idle_causes — what the launching threads did while devices had nothing to do. Every gap is
 * divided by the innermost slice over time, so the rows of a device add up to its idle time. Ranges
 * whose names differ only in a number at the end, or in what emit_nvtx appends, are one row.
 */
#include "tables/resultcells.h"
#include "tables/gaptext.h"
#include "tables/memo.h"
#include "base/sum.h"

#include <stdlib.h>

#define TEXT_BYTES 4096

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(class, NULL, TEXT)                                                                           \
    C(activity, "CPU activity", TEXT)                                                              \
    C(name, NULL, TEXT)                                                                            \
    C(gaps, NULL, COUNT)                                                                           \
    C(total_ns, "total", NS)                                                                       \
    C(wall_share, "of wall", SHARE)                                                                \
    C(idle_share, "of idle", SHARE)                                                                \
    C(longest_ns, "longest", NS)                                                                   \
    C(longest, "longest gap", TEXT)                                                                \
    C(thread, NULL, TEXT)
NL_COLUMNS(COLUMNS);

/* One row to be: sums whose folded name, class, activity and side agree. */
struct cause {
    struct nl_str name;
    uint8_t class, activity;
    bool elsewhere;
    uint64_t gaps;
    int64_t total_ns, longest_ns;
    size_t longest;
};

static int compare_key(const struct cause *a, const struct cause *b)
{
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    if (a->activity != b->activity)
        return a->activity < b->activity ? -1 : 1;
    if (a->elsewhere != b->elsewhere)
        return a->elsewhere ? 1 : -1;
    return nl_str_order(a->name, b->name);
}

static int by_key(const void *left, const void *right)
{
    return compare_key(left, right);
}

static int by_total(const void *left, const void *right)
{
    const struct cause *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return compare_key(a, b);
}

/* Joins equal neighbours; returns how many are left. */
static size_t join_equal_causes(struct cause *causes, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!kept || compare_key(&causes[kept - 1], &causes[i]) != 0) {
            causes[kept++] = causes[i];
            continue;
        }
        struct cause *into = &causes[kept - 1];
        into->gaps += causes[i].gaps;
        nl_sum_add(&into->total_ns, causes[i].total_ns);
        if (causes[i].longest_ns > into->longest_ns) {
            into->longest_ns = causes[i].longest_ns;
            into->longest = causes[i].longest;
        }
    }
    return kept;
}

/* In text, the thread is appended and has no column. */
static struct nl_cell activity_cell(struct nl_result *result, const struct cause *cause, bool eyes)
{
    const char *name = nl_activity_name((enum nl_activity)cause->activity);
    if (!eyes || !cause->elsewhere)
        return nl_cell_static(name);
    return nl_cell_static(nl_arena_format(&result->arena, "%s, other thread", name));
}

static void idle_causes_add_row(struct nl_result *result, const struct nl_trace *trace,
                                const struct nl_idle *idle, const struct nl_idle_device *device,
                                const struct cause *cause, bool eyes)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(device->rank);
    cells[AT_device] = nl_cell_i64(device->ordinal);
    cells[AT_class] = nl_cell_static(nl_idle_class_name((enum nl_idle_class)cause->class));
    cells[AT_activity] = activity_cell(result, cause, eyes);
    if (cause->name.len)
        cells[AT_name] = nl_cell_text(result, cause->name);
    cells[AT_gaps] = nl_cell_count(cause->gaps);
    cells[AT_total_ns] = nl_cell_i64(cause->total_ns);
    cells[AT_wall_share] = nl_cell_share(cause->total_ns, device->wall_ns);
    cells[AT_idle_share] = nl_cell_share(cause->total_ns, device->idle_ns);
    if (!eyes)
        cells[AT_thread] = nl_cell_static(nl_idle_thread_name(cause->activity, cause->elsewhere));
    if (cause->longest == SIZE_MAX)
        return;
    struct nl_buf text;
    nl_buf_init(&text, TEXT_BYTES);
    nl_gap_tell(&text, trace, &idle->gaps[cause->longest]);
    cells[AT_longest_ns] = nl_cell_i64(cause->longest_ns);
    cells[AT_longest] = nl_cell_text(result, (struct nl_str){text.ptr, text.len});
    nl_buf_release(&text);
}

static void add_device(struct nl_result *result, const struct nl_trace *trace,
                       const struct nl_idle *idle, const struct nl_idle_device *device, bool eyes)
{
    struct cause *causes = nl_alloc((device->sums + 1) * sizeof *causes);
    size_t count = device->sums;
    for (size_t i = 0; i < count; i++) {
        const struct nl_idle_sum *sum = &idle->sums[device->first_sum + i];
        causes[i] = (struct cause){.name = nl_gap_activity(trace, sum->activity, sum->name),
                                   .class = sum->class,
                                   .activity = sum->activity,
                                   .elsewhere = sum->elsewhere,
                                   .gaps = sum->gaps,
                                   .total_ns = sum->total_ns,
                                   .longest_ns = sum->longest_ns[0],
                                   .longest = sum->longest[0]};
    }
    qsort(causes, count, sizeof *causes, by_key);
    count = join_equal_causes(causes, count);
    qsort(causes, count, sizeof *causes, by_total);
    for (size_t i = 0; i < count; i++)
        idle_causes_add_row(result, trace, idle, device, &causes[i], eyes);
    nl_free(causes);
}

static struct nl_result *idle_causes_run(const struct nl_trace *trace,
                                         const struct nl_analyze_options *options,
                                         struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_idle *idle = nl_memo_idle(options->memo);
    struct nl_result *result = NL_ANSWER_NEW("idle_causes", NULL, columns);
    for (size_t i = 0; i < idle->device_count; i++)
        add_device(result, trace, idle, &idle->devices[i], options->fold);
    return result;
}

const struct nl_analysis nl_analysis_idle_causes = {
    .name = "idle_causes",
    .key = "idle_causes",
    .title = "What the CPU did while devices were idle",
    .needs = {{NL_T_kernel, NULL}, {NL_T_api, NULL}},
    .need_count = 2,
    .run = idle_causes_run,
    .doc = "Per rank, device, class of gap and activity: idle time by what was innermost on the "
           "thread that launched the operation which ends the gap (an API call, else an operator, "
           "Python function or the like, else a system call, else a range). off-CPU: the thread "
           "did not run, or was in a system call that only waits. If that thread is known to have "
           "waited for another one (thread: other), it is that one's activity. queued is the time "
           "after the launch had returned. gaps counts the gaps in which the activity occurs, "
           "longest_ns is its longest time in one gap. The rows of a device add up to its idle_ns.",
};
