/*
 * idle_gaps — the longest gaps one by one. A heap keeps the longest, so that millions of gaps cost
 * a comparison each.
 */
#include "tables/resultcells.h"
#include "base/heap.h"
#include "tables/gaptext.h"
#include "tables/memo.h"

#include <stdlib.h>

#define MAX_ROWS   1000
#define NAME_BYTES 200

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(start_ns, "start", NS)                                                                       \
    C(dur_ns, "duration", NS)                                                                      \
    C(class, NULL, TEXT)                                                                           \
    C(activity, "CPU activity", TEXT)                                                              \
    C(name, NULL, TEXT)                                                                            \
    C(activity_ns, "activity time", NS)                                                            \
    C(before, "work before", TEXT)                                                                 \
    C(after, "work after", TEXT)                                                                   \
    C(sync_ns, "after sync", NS)                                                                   \
    C(thread, NULL, TEXT)
NL_COLUMNS(COLUMNS);

struct entry {
    int64_t dur;
    const struct nl_idle_gap *gap;
    const struct nl_idle_device *device;
};

/* Whether `a` comes after `b` in the answer: shorter, or as long and later. */
static bool is_less(const struct entry *a, const struct entry *b)
{
    if (a->dur != b->dur)
        return a->dur < b->dur;
    if (a->gap->start != b->gap->start)
        return a->gap->start > b->gap->start;
    return a->device > b->device;
}

static int longest_first(const void *left, const void *right)
{
    return is_less(left, right) ? 1 : is_less(right, left) ? -1 : 0;
}

static size_t find_longest(const struct nl_idle *idle, struct entry *heap)
{
    size_t count = 0;
    for (size_t i = 0; i < idle->device_count; i++) {
        const struct nl_idle_device *device = &idle->devices[i];
        for (size_t j = 0; j < device->gaps; j++) {
            const struct nl_idle_gap *gap = &idle->gaps[device->first_gap + j];
            struct entry entry = {gap->end - gap->start, gap, device};
            if (count < MAX_ROWS) {
                NL_HEAP_ADD(heap, count, entry, a, b, is_less(a, b));
            } else if (is_less(&heap[0], &entry)) {
                heap[0] = entry;
                NL_HEAP_SINK(heap, count, a, b, is_less(a, b));
            }
        }
    }
    qsort(heap, count, sizeof *heap, longest_first);
    return count;
}

static struct nl_cell name_cell(struct nl_result *result, const struct nl_trace *trace,
                                uint32_t slice)
{
    struct nl_buf text;
    nl_buf_init(&text, 2 * NAME_BYTES);
    nl_gap_name(&text, trace, slice, NAME_BYTES);
    struct nl_cell cell = nl_cell_text(result, (struct nl_str){text.ptr, text.len});
    nl_buf_release(&text);
    return cell;
}

static void idle_gaps_add_row(struct nl_result *result, const struct nl_trace *trace,
                              const struct entry *entry, bool eyes)
{
    const struct nl_idle_gap *gap = entry->gap;
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(entry->device->rank);
    cells[AT_device] = nl_cell_i64(entry->device->ordinal);
    cells[AT_start_ns] = nl_cell_i64(gap->start - trace->first_ts);
    cells[AT_dur_ns] = nl_cell_i64(entry->dur);
    cells[AT_class] = nl_cell_static(nl_idle_class_name((enum nl_idle_class)gap->class));
    cells[AT_activity] = nl_cell_static(nl_activity_name((enum nl_activity)gap->activity));
    cells[AT_name] = nl_cell_name(result, trace, gap->name);
    cells[AT_activity_ns] = nl_cell_i64(gap->activity_ns);
    cells[AT_before] = name_cell(result, trace, gap->before);
    cells[AT_after] = name_cell(result, trace, gap->after);
    if (gap->sync != NL_NULL_ROW)
        cells[AT_sync_ns] = nl_cell_i64(nl_idle_sync_cost(trace, gap));
    if (!eyes)
        cells[AT_thread] = nl_cell_static(nl_idle_thread_name(gap->activity, gap->elsewhere));
    else if (gap->elsewhere)
        cells[AT_activity] = nl_cell_static(nl_arena_format(
            &result->arena, "%s, other thread", nl_activity_name((enum nl_activity)gap->activity)));
}

static struct nl_result *idle_gaps_run(const struct nl_trace *trace,
                                       const struct nl_analyze_options *options, struct nl_job *job,
                                       struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_idle *idle = nl_memo_idle(options->memo);
    struct entry *heap = nl_alloc(MAX_ROWS * sizeof *heap);
    size_t count = find_longest(idle, heap);
    struct nl_result *result = NL_ANSWER_NEW("idle_gaps", NULL, columns);
    for (size_t i = 0; i < count; i++)
        idle_gaps_add_row(result, trace, &heap[i], options->fold);
    if (count < idle->gap_count)
        result->note =
            nl_arena_format(&result->arena, "the %zu longest of %zu gaps", count, idle->gap_count);
    nl_free(heap);
    return result;
}

const struct nl_analysis nl_analysis_idle_gaps = {
    .name = "idle_gaps",
    .key = "idle_gaps",
    .title = "Longest gaps",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = idle_gaps_run,
    .doc = "The longest gaps of all devices (at most 1,000): class, the operations before and "
           "after, what the launching thread (thread: other: one that it waited for) did for most "
           "of the gap, and the idle time since the return of a blocking call that had waited "
           "until the device ran out of work. The SQL table idle_gaps has all gaps.",
};
