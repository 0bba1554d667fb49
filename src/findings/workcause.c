/* workcause — see workcause.h. */
#include "findings/workcause.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/sum.h"
#include "tables/memo.h"

/* Every cause asks about the same rows: which are the device's, and how little time
 * each needs, is found once. */
struct nl_work_here {
    const struct nl_op_work **rows; /* as in the memo */
    struct nl_least_time *least;
    size_t count;
    const struct nl_op_work **in_time; /* NULL until asked for */
    bool bytes, roofs;                 /* whether any row has them */
};

static bool is_here(const struct nl_scene *scene, const struct nl_op_work *work)
{
    return work->kernel_ns != NL_NULL_I64 && work->slice != NL_NULL_ROW &&
           work->device == scene->device->device && work->rank == scene->device->rank;
}

static struct nl_work_here *make_here(const struct nl_scene *scene)
{
    const struct nl_op_works *works = nl_memo_works(scene->memo);
    const struct nl_device_peaks *peaks = nl_work_peaks(scene);
    struct nl_work_here *here = nl_zalloc(sizeof *here);
    size_t count;
    const uint32_t *order = nl_device_order_of(&works->order, scene->device->device, &count);
    here->rows = nl_alloc((count + 1) * sizeof *here->rows);
    here->least = nl_alloc((count + 1) * sizeof *here->least);
    for (size_t i = 0; i < count; i++) {
        const struct nl_op_work *work = &works->items[order[i]];
        if (!is_here(scene, work))
            continue;
        struct nl_least_time least = nl_least_time(work, peaks);
        here->rows[here->count] = work;
        here->least[here->count++] = least;
        here->bytes |= work->bytes == work->bytes;
        here->roofs |= least.both == least.both;
    }
    return here;
}

static struct nl_work_here *here_of(struct nl_scene *scene)
{
    pthread_mutex_lock(&scene->locks->kept);
    if (!scene->work)
        scene->work = make_here(scene);
    pthread_mutex_unlock(&scene->locks->kept);
    return scene->work;
}

void nl_work_here_free(struct nl_work_here *here)
{
    if (!here)
        return;
    nl_free(here->rows);
    nl_free(here->least);
    nl_free(here->in_time);
    nl_free(here);
}

const struct nl_device_peaks *nl_work_peaks(const struct nl_scene *scene)
{
    uint32_t device = scene->device->device;
    return device == NL_NULL_ROW ? NULL : &nl_memo_peaks(scene->memo)[device];
}

void nl_work_claim(const struct nl_op_work *work, struct nl_intervals *where)
{
    int64_t start = work->ts, end;
    if (!__builtin_add_overflow(start, work->kernel_ns, &end))
        nl_intervals_add(where, start, end);
}

static void add_op_work(struct nl_work_sum *sum, const struct nl_op_work *work,
                        struct nl_least_time least)
{
    sum->calls++;
    nl_sum_add(&sum->ns, work->kernel_ns);
    sum->bytes += work->bytes == work->bytes ? work->bytes : 0;
    if (least.both != least.both)
        return;
    nl_sum_add(&sum->judged_ns, work->kernel_ns);
    sum->compute_s += least.compute == least.compute ? least.compute : 0;
    sum->least_s += least.both;
    double spare = (double)work->kernel_ns - least.both / NL_ROOF_TARGET * 1e9;
    nl_sum_add(&sum->headroom_ns, spare > 0 ? nl_sum_near(spare) : 0);
}

struct nl_work_sum nl_work_add_up(struct nl_scene *scene, nl_work_test *wanted,
                                  struct nl_intervals *where, struct nl_evidence *longest)
{
    const struct nl_work_here *here = here_of(scene);
    struct nl_work_sum sum = {0};
    for (size_t i = 0; i < here->count; i++) {
        const struct nl_op_work *work = here->rows[i];
        if (!wanted(work, here->least[i]))
            continue;
        add_op_work(&sum, work, here->least[i]);
        if (where)
            nl_work_claim(work, where);
        if (longest)
            nl_example_slice(scene, longest, work->first);
    }
    return sum;
}

/* Rows of the memo are by slice, and the sort keeps that order where kernels start together. */
static const struct nl_op_work **order_in_time(const struct nl_work_here *here)
{
    struct nl_keyed *keys = nl_alloc((here->count + 1) * sizeof *keys);
    struct nl_keyed *scratch = nl_alloc((here->count + 1) * sizeof *scratch);
    for (size_t i = 0; i < here->count; i++)
        keys[i] = (struct nl_keyed){nl_sort_key(here->rows[i]->ts), (uint32_t)i};
    nl_sort_keyed(keys, scratch, here->count);
    nl_free(scratch);
    const struct nl_op_work **rows = nl_alloc((here->count + 1) * sizeof *rows);
    for (size_t i = 0; i < here->count; i++)
        rows[i] = here->rows[keys[i].row];
    nl_free(keys);
    return rows;
}

const struct nl_op_work *const *nl_work_rows(struct nl_scene *scene, size_t *count)
{
    struct nl_work_here *here = here_of(scene);
    *count = here->count;
    pthread_mutex_lock(&scene->locks->kept);
    if (!here->in_time)
        here->in_time = order_in_time(here);
    pthread_mutex_unlock(&scene->locks->kept);
    return here->in_time;
}

const char *nl_work_sql(const struct nl_scene *scene, const char *what, const char *condition)
{
    return nl_say(scene, "SELECT %s FROM op_work%s WHERE op IS NOT NULL AND %s AND %s", what,
                  nl_scene_args(scene), condition, nl_scene_place(scene, ""));
}

const char *nl_work_lacks(struct nl_scene *scene, bool roofs)
{
    const struct nl_work_here *here = here_of(scene);
    if (!here->bytes)
        return "sizes of operators were not recorded (shapes)";
    return roofs && !here->roofs ? "the peaks of the device are not known" : NULL;
}
