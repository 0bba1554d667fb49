/* workcause — see workcause.h. */
#include "findings/workcause.h"

#include <stdlib.h>

#include "base/sum.h"
#include "tables/memo.h"

static bool is_here(const struct nl_scene *scene, const struct nl_op_work *work)
{
    return work->kernel_ns != NL_NULL_I64 &&
           nl_slice_device(scene->trace, work->first) == scene->device->device &&
           nl_slice_rank(scene->trace, work->first) == scene->device->rank;
}

const struct nl_device_peaks *nl_work_peaks(const struct nl_scene *scene)
{
    uint32_t device = scene->device->device;
    return device == NL_NULL_ROW ? NULL : &nl_memo_peaks(scene->memo)[device];
}

void nl_work_claim(const struct nl_scene *scene, const struct nl_op_work *work,
                   struct nl_intervals *where)
{
    int64_t start = scene->trace->slice.ts[work->first], end;
    if (!__builtin_add_overflow(start, work->kernel_ns, &end))
        nl_intervals_add(where, start, end);
}

struct nl_work_sum nl_work_add_up(struct nl_scene *scene, nl_work_test *wanted,
                                  struct nl_intervals *where, struct nl_evidence *longest)
{
    const struct nl_op_works *works = nl_memo_works(scene->memo);
    const struct nl_device_peaks *peaks = nl_work_peaks(scene);
    struct nl_work_sum sum = {0};
    for (size_t i = 0; i < works->count; i++) {
        const struct nl_op_work *work = &works->items[i];
        if (work->slice == NL_NULL_ROW || !is_here(scene, work))
            continue;
        struct nl_least_time least = nl_least_time(work, peaks);
        if (!wanted(work, least))
            continue;
        sum.calls++;
        nl_sum_add(&sum.ns, work->kernel_ns);
        sum.bytes += work->bytes == work->bytes ? work->bytes : 0;
        if (where)
            nl_work_claim(scene, work, where);
        if (longest)
            nl_example_slice(scene, longest, work->first);
        if (least.both != least.both)
            continue;
        nl_sum_add(&sum.judged_ns, work->kernel_ns);
        sum.compute_s += least.compute == least.compute ? least.compute : 0;
        sum.least_s += least.both;
        double spare = (double)work->kernel_ns - least.both / NL_ROOF_TARGET * 1e9;
        nl_sum_add(&sum.headroom_ns, spare > 0 ? nl_sum_near(spare) : 0);
    }
    return sum;
}

struct placed {
    const struct nl_op_work *work;
    int64_t ts;
};

static int by_start(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->work->slice < y->work->slice ? -1 : x->work->slice > y->work->slice;
}

const struct nl_op_work **nl_work_rows(const struct nl_scene *scene, size_t *count)
{
    const struct nl_op_works *works = nl_memo_works(scene->memo);
    struct placed *placed = nl_alloc((works->count + 1) * sizeof *placed);
    const struct nl_op_work **rows = nl_alloc((works->count + 1) * sizeof *rows);
    *count = 0;
    for (size_t i = 0; i < works->count; i++)
        if (works->items[i].slice != NL_NULL_ROW && is_here(scene, &works->items[i]))
            placed[(*count)++] =
                (struct placed){&works->items[i], scene->trace->slice.ts[works->items[i].first]};
    if (*count)
        qsort(placed, *count, sizeof *placed, by_start);
    for (size_t i = 0; i < *count; i++)
        rows[i] = placed[i].work;
    nl_free(placed);
    return rows;
}

const char *nl_work_sql(const struct nl_scene *scene, const char *what, const char *condition)
{
    return nl_say(scene, "SELECT %s FROM op_work%s WHERE op IS NOT NULL AND %s AND %s", what,
                  nl_scene_args(scene), condition, nl_scene_place(scene, ""));
}

static bool has_bytes(const struct nl_op_work *work, struct nl_least_time least)
{
    (void)least;
    return work->bytes == work->bytes;
}

static bool has_roof(const struct nl_op_work *work, struct nl_least_time least)
{
    (void)work;
    return least.both == least.both;
}

const char *nl_work_lacks(const struct nl_scene *scene, bool roofs)
{
    struct nl_scene *same = (struct nl_scene *)scene;
    if (!nl_work_add_up(same, has_bytes, NULL, NULL).calls)
        return "sizes of operators were not recorded (shapes)";
    if (roofs && !nl_work_add_up(same, has_roof, NULL, NULL).calls)
        return "the peaks of the device are not known";
    return NULL;
}
