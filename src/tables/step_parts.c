/*
 * step_parts — the distribution of what steady steps are made of, per rank and device.
 */
#include <stdlib.h>

#include "tables/resultcells.h"
#include "tables/memo.h"
#include "tables/steptime.h"
#include "base/sort.h"
#include "base/sum.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(part, NULL, TEXT)                                                                            \
    C(count, "steps", COUNT)                                                                       \
    C(mean_ns, "mean", NS)                                                                         \
    C(share, NULL, SHARE)                                                                          \
    C(p50_ns, "p50", NS)                                                                           \
    C(p90_ns, "p90", NS)                                                                           \
    C(p95_ns, "p95", NS)                                                                           \
    C(p99_ns, "p99", NS)                                                                           \
    C(max_ns, "max", NS)
NL_COLUMNS(COLUMNS);

static const char *const part_names[NL_STEP_PARTS] = {
    [NL_PART_WALL] = "wall",
    [NL_PART_COMPUTE] = "compute",
    [NL_PART_COMM] = "exposed communication",
    [NL_PART_COPY] = "exposed copies",
    [NL_PART_IDLE] = "idle",
};

static int64_t sum(const int64_t *values, size_t count)
{
    int64_t total = 0;
    for (size_t i = 0; i < count; i++)
        nl_sum_add(&total, values[i]);
    return total;
}

/* The lengths of a part in the steady steps of `items`; how many there are. */
static size_t steady_values(const struct nl_step_time *items, size_t count, size_t part,
                            int64_t *values)
{
    size_t steady = 0;
    for (size_t i = 0; i < count; i++)
        if (items[i].step->phase == NL_STEP_STEADY)
            values[steady++] = items[i].parts[part];
    return steady;
}

/* One row per part, over the steady ones of `items`. */
static void step_parts_add_rows(struct nl_result *result, const struct nl_step_time *items,
                                size_t count)
{
    static const unsigned percents[] = {50, 90, 95, 99};
    int64_t *values = nl_alloc((count + 1) * sizeof *values);
    size_t steady = steady_values(items, count, NL_PART_WALL, values);
    int64_t whole = sum(values, steady);
    for (size_t part = 0; part < NL_STEP_PARTS && steady; part++) {
        (void)steady_values(items, count, part, values);
        int64_t total = sum(values, steady);
        nl_sort_i64(values, steady);
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_rank] = nl_cell_i64(items[0].rank);
        cells[AT_device] = nl_cell_i64(items[0].ordinal);
        cells[AT_part] = nl_cell_static(part_names[part]);
        cells[AT_count] = nl_cell_count(steady);
        cells[AT_mean_ns] = nl_cell_f64((double)total / (double)steady);
        cells[AT_share] = nl_cell_share(total, whole);
        for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++)
            cells[AT_p50_ns + i] = nl_cell_percentile(values, steady, percents[i]);
        cells[AT_max_ns] = nl_cell_i64(values[steady - 1]);
    }
    nl_free(values);
}

static struct nl_result *step_parts_run(const struct nl_trace *trace,
                                        const struct nl_analyze_options *options,
                                        struct nl_job *job, struct nl_err *err)
{
    (void)trace;
    (void)job;
    (void)err;
    const struct nl_step_times *times = nl_memo_step_times(options->memo);
    struct nl_result *result = NL_ANSWER_NEW("step_parts", NULL, columns);
    for (size_t first = 0, next; first < times->count; first = next) {
        const struct nl_step_time *a = &times->items[first];
        for (next = first + 1; next < times->count; next++)
            if (times->items[next].rank != a->rank || times->items[next].ordinal != a->ordinal)
                break;
        step_parts_add_rows(result, a, next - first);
    }
    nl_step_note(result, times->found);
    return result;
}

const struct nl_analysis nl_analysis_step_parts = {
    .name = "step_parts",
    .key = "step_parts",
    .title = "What steady steps are made of",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = step_parts_run,
    .doc = "Per rank, device and part of a step (wall, compute, exposed communication, exposed "
           "copies, idle): mean, share of all walls, and percentiles over the steady steps.",
};
