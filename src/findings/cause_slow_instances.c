/*
 * slow_instances — some calls of one kernel take many times as long as their siblings.
 *
 * Signal: kernels of one name, grid and block, at least 20 of them, nine of ten of which take at most twice the
 * median, and some more than five times (nsys-ai: max over mean above 5 at n of 20). Together these take over
 * 5 % of wall more than the median would. Slow calls that come in more than half of the steps belong to the
 * program (other sizes at the same grid) and do not count; without four steps that is not known. Cost: what
 * slow calls take beyond the median.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/sort.h"
#include "base/sum.h"
#include "findings/cause.h"
#include "tables/shortname.h"

#define LEAST_SHARE          0.05
#define CRITICAL_SHARE       0.20
#define LEAST_COUNT          20
#define LEAST_STEPS          4
#define MEDIANS_LEAST        5 /* times the median */
#define SIBLING_MEDIANS_MOST 2
#define NAME_BYTES           64

struct slow {
    int64_t excess, worst_excess, median; /* of all groups; of the worst, and its median */
    uint64_t slow, count;                 /* of the worst */
    uint32_t kernel;                      /* a row of the worst */
};

static uint64_t key_of(const struct nl_trace *trace, uint32_t kernel)
{
    const struct nl_kernel_table *table = &trace->kernel;
    const uint32_t parts[] = {table->grid_x[kernel],  table->grid_y[kernel],
                              table->grid_z[kernel],  table->block_x[kernel],
                              table->block_y[kernel], table->block_z[kernel]};
    uint64_t hash = trace->slice.name[table->slice[kernel]];
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        hash = (hash ^ parts[i]) * 0x9E3779B97F4A7C15u + (hash >> 29);
    return hash;
}

static int64_t length(const struct nl_trace *trace, uint32_t kernel)
{
    return trace->slice.dur[trace->kernel.slice[kernel]];
}

/* Whether the mean lets anything be five times the median: saves sorting the rest. */
static bool may_be(const struct nl_trace *trace, const struct nl_keyed *rows, size_t count)
{
    int64_t sum = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t ns = length(trace, rows[i].row);
        nl_sum_add(&sum, ns);
        most = ns > most ? ns : most;
    }
    return most / SIBLING_MEDIANS_MOST > sum / (int64_t)count;
}

/* Whether slow calls come in more than half of the steps. */
static bool is_usual(const struct nl_scene *scene, const int64_t *starts, size_t count)
{
    size_t step = 0, with = 0, last = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        while (step < scene->steps && scene->found[step].end <= starts[i])
            step++;
        if (step == scene->steps)
            break;
        if (starts[i] >= scene->found[step].start && step != last) {
            last = step;
            with++;
        }
    }
    return with * 2 > scene->steps;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void judge_group(struct nl_scene *scene, const struct nl_keyed *rows, size_t count,
                        struct slow *slow, struct nl_finding *finding, struct nl_evidence *longest)
{
    const struct nl_trace *trace = scene->trace;
    if (count < LEAST_COUNT || !may_be(trace, rows, count))
        return;
    int64_t *values = nl_alloc(count * sizeof *values), excess = 0;
    size_t far = 0;
    for (size_t i = 0; i < count; i++)
        values[i] = length(trace, rows[i].row);
    qsort(values, count, sizeof *values, by_value);
    int64_t median = values[(count - 1) / 2];
    bool tight = median > 0 && values[(count - 1) * 9 / 10] / SIBLING_MEDIANS_MOST <= median;
    for (size_t i = 0; i < count && tight; i++)
        if (length(trace, rows[i].row) / MEDIANS_LEAST > median) {
            nl_sum_add(&excess, length(trace, rows[i].row) - median);
            values[far++] = trace->slice.ts[trace->kernel.slice[rows[i].row]];
        }
    if (far)
        qsort(values, far, sizeof *values, by_value);
    bool counts = far && !is_usual(scene, values, far);
    nl_free(values);
    if (!counts)
        return;
    nl_sum_add(&slow->excess, excess);
    for (size_t i = 0; i < count; i++)
        if (length(trace, rows[i].row) / MEDIANS_LEAST > median) {
            uint32_t slice = trace->kernel.slice[rows[i].row];
            nl_intervals_add(&finding->where, trace->slice.ts[slice], nl_slice_end(trace, slice));
            nl_example_slice(scene, longest, slice);
        }
    if (excess > slow->worst_excess) {
        slow->worst_excess = excess;
        slow->median = median;
        slow->slow = far;
        slow->count = count;
        slow->kernel = rows[0].row;
    }
}

static struct slow find(struct nl_scene *scene, struct nl_finding *finding,
                        struct nl_evidence *longest)
{
    const struct nl_trace *trace = scene->trace;
    struct nl_keyed *rows = nl_alloc((scene->kernel_count + 1) * sizeof *rows);
    struct slow slow = {0};
    size_t count = 0;
    for (size_t i = 0; i < scene->kernel_count; i++)
        if (trace->kernel.class[scene->kernels[i]] == NL_CLASS_COMPUTE)
            rows[count++] = (struct nl_keyed){key_of(trace, scene->kernels[i]), scene->kernels[i]};
    struct nl_keyed *scratch = nl_alloc((count + 1) * sizeof *scratch);
    nl_sort_keyed(rows, scratch, count);
    nl_free(scratch);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && rows[next].key == rows[first].key;)
            next++;
        judge_group(scene, rows + first, next - first, &slow, finding, longest);
    }
    nl_free(rows);
    return slow;
}

static const char *same_kernel(const struct nl_scene *scene, uint32_t kernel)
{
    const struct nl_kernel_table *table = &scene->trace->kernel;
    return nl_say(
        scene,
        "FROM kernels k, kernels one WHERE one.slice = %u AND k.name = one.name AND k.grid_x IS "
        "one.grid_x AND k.grid_y IS one.grid_y AND k.grid_z IS one.grid_z AND k.block_x IS "
        "one.block_x AND k.block_y IS one.block_y AND k.block_z IS one.block_z AND %s",
        table->slice[kernel], nl_scene_on(scene, "k."));
}

static enum nl_verdict evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_evidence longest = {0};
    if (scene->steps < LEAST_STEPS)
        return nl_abstain(finding, "four steps at least tell whether slow calls are rare");
    struct slow slow = find(scene, finding, &longest);
    if (!slow.slow || nl_scene_share(scene, slow.excess) < LEAST_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, slow.excess, CRITICAL_SHARE, 1);
    uint32_t slice = scene->trace->kernel.slice[slow.kernel];
    struct nl_str brief =
        nl_short_kernel(nl_trace_name(scene->trace, scene->trace->slice.name[slice]));
    struct nl_buf shown;
    nl_buf_init(&shown, NAME_BYTES * 2);
    nl_elide_name(&shown, brief, NAME_BYTES);
    nl_title(scene, finding, "Some calls of %.*s on %s take over %d times as long as the others",
             (int)shown.len, shown.ptr ? shown.ptr : "", nl_scene_name(scene), MEDIANS_LEAST);
    nl_buf_release(&shown);
    const char *from = same_kernel(scene, slow.kernel);
    longest.metric = "slow_calls_excess_ns";
    longest.says =
        nl_say(scene, "%s calls take %s more than the median of %s", nl_say_count(scene, slow.slow),
               nl_say_ns(scene, slow.worst_excess), nl_say_ns(scene, slow.median));
    longest.threshold = "all such calls > 5 % of wall";
    longest.query = nl_say(scene, "SELECT sum(k.dur - %lld) %s AND k.dur / %d > %lld",
                           (long long)slow.median, from, MEDIANS_LEAST, (long long)slow.median);
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)slow.worst_excess;
    nl_evidence(finding, longest);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "calls_of_kernel",
                    .says = nl_say(scene,
                                   "of %s calls with the same grid and block, in steps that "
                                   "mostly have none that is slow",
                                   nl_say_count(scene, slow.count)),
                    .threshold = "nine of ten within twice the median",
                    .query = nl_say(scene, "SELECT count(*) %s", from),
                    .meaning = NL_MEANS_COUNT,
                    .value = (double)slow.count});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_slow_instances = {
    .id = "slow_instances",
    .doc = "Of kernels of one name, grid and block (20 at least, nine of ten within twice the "
           "median) some take more than five times the median, in half of the steps at most; "
           "together over 5 % of wall more than the median would. Cost: that. Needs four steps.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .evaluate = evaluate,
    .not_this_if = "the slow calls get other sizes or data (sparse, variable length), or do the "
                   "first work after a pause",
};
