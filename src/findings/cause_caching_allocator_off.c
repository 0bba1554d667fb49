/*
 * caching_allocator_off — PyTorch asks the driver for every tensor.
 *
 * Signal: after the first fifth of the time, one call of cudaMalloc (hipMalloc) or its like for
 * five kernels or fewer, half as many frees, 100 at least, in a profile with PyTorch's operators;
 * the gaps mostly spent in them, or begun in a free that waits, over 1 % of wall.
 * PYTORCH_NO_CUDA_MEMORY_CACHING=1 does that, and a pluggable allocator may.
 */
#include "findings/cause.h"
#include "base/sum.h"
#include "timeline/nametest.h"

#define WARN_SHARE     0.01
#define CRITICAL_SHARE 0.10
#define WARM_UP        5
#define MIN_CALLS      100
#define KERNELS        5

static int64_t since(const struct nl_scene *scene)
{
    return scene->device->start_ns + scene->wall_ns / WARM_UP;
}

static bool is_allocation(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    bool freed = gap->sync != NL_NULL_ROW &&
                 nl_api_slice_role(scene->roles, scene->trace, gap->sync) == NL_API_ALLOCATE;
    return gap->class == NL_IDLE_HOST_LATE && (gap->activity == NL_ACTIVITY_ALLOCATE || freed) &&
           gap->start >= since(scene);
}

static bool is_torch(const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->op.rows && row < 4096; row++)
        if (nl_str_starts(nl_trace_name(trace, trace->slice.name[trace->op.slice[row]]), "aten::"))
            return true;
    return false;
}

static bool is_in_time(const struct nl_scene *scene, uint32_t slice)
{
    int64_t ts = scene->trace->slice.ts[slice];
    return ts >= since(scene) && ts < scene->device->start_ns + scene->wall_ns;
}

static void count_calls(const struct nl_scene *scene, uint64_t *mallocs, uint64_t *frees)
{
    const struct nl_trace *trace = scene->trace;
    struct nl_name_test allocates, gives_back;
    *mallocs = *frees = 0;
    nl_name_test_init(&allocates, trace, "Malloc");
    nl_name_test_init(&gives_back, trace, "Free");
    for (uint32_t row = 0; row < trace->api.rows; row++) {
        uint32_t slice = trace->api.slice[row];
        if (nl_api_slice_role(scene->roles, trace, slice) != NL_API_ALLOCATE ||
            !is_in_time(scene, slice) ||
            (scene->device->rank != NL_NULL_I64 &&
             nl_slice_rank(trace, slice) != scene->device->rank))
            continue;
        *mallocs += nl_name_has(&allocates, trace->slice.name[slice]);
        *frees += nl_name_has(&gives_back, trace->slice.name[slice]);
    }
    nl_name_test_release(&allocates);
    nl_name_test_release(&gives_back);
}

static uint64_t count_kernels(const struct nl_scene *scene)
{
    uint64_t count = 0;
    for (size_t i = 0; i < scene->kernel_count; i++)
        count += is_in_time(scene, scene->trace->kernel.slice[scene->kernels[i]]);
    return count;
}

static enum nl_verdict caching_allocator_off_evaluate(struct nl_scene *scene,
                                                      struct nl_finding *finding)
{
    uint64_t mallocs, frees, kernels = count_kernels(scene);
    if (!is_torch(scene->trace))
        return NL_CAUSE_ABSENT;
    count_calls(scene, &mallocs, &frees);
    int64_t cost = nl_scene_sum_gaps(scene, is_allocation, NULL, &finding->where);
    if (mallocs < MIN_CALLS || frees < mallocs / 2 || mallocs * KERNELS < kernels ||
        nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    int64_t first = scene->trace->first_ts, from = since(scene) - first,
            to = scene->device->start_ns + scene->wall_ns - first;
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    nl_title(scene, finding,
             "PyTorch's caching allocator seems to be off: %s allocations for %s kernels leave %s "
             "idle for %s",
             nl_say_count(scene, mallocs), nl_say_count(scene, kernels), nl_scene_name(scene),
             nl_say_ns(scene, cost));
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "allocator_idle_ns",
            .says = nl_say(scene, "%s idle in calls that allocate or free", nl_say_ns(scene, cost)),
            .threshold = "> 1 % of wall",
            .query = nl_say(scene,
                            "SELECT sum(dur) FROM idle_gaps%s WHERE class = 'host_late' AND ts >= "
                            "%lld AND %s AND "
                            "(activity = 'allocator call' OR sync IN (SELECT slice FROM api WHERE "
                            "api_role(name) = "
                            "'allocate'))",
                            nl_scene_args(scene), (long long)from, nl_scene_place(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)cost});
    nl_scene_gap_examples(scene, is_allocation, evidence);
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "allocations",
            .says = nl_say(scene, "%s allocations and %s frees after the first fifth of the time",
                           nl_say_count(scene, mallocs), nl_say_count(scene, frees)),
            .threshold = "one for five kernels",
            .query =
                nl_say(scene,
                       "SELECT count(*) FROM api WHERE api_role(name) = 'allocate' AND name GLOB "
                       "'*Malloc*' AND ts >= %lld AND ts < %lld%s",
                       (long long)from, (long long)to,
                       scene->device->rank == NL_NULL_I64
                           ? ""
                           : nl_say(scene, " AND rank = %lld", (long long)scene->device->rank)),
            .meaning = NL_MEANS_COUNT,
            .value = (double)mallocs});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_caching_allocator_off = {
    .id = "caching_allocator_off",
    .doc = "In a profile with PyTorch operators, after the first fifth of the time: at least 100 "
           "driver allocations, at least one per five kernels, with at least half as many frees. "
           "Gaps spent in them take more than 1 % of wall.",
    .needs = {{NL_T_api, NULL}, {NL_T_op, NULL}},
    .need_count = 2,
    .evaluate = caching_allocator_off_evaluate,
    .not_this_if = "allocations are rare compared with kernels (allocator_churn: memory is short "
                   "or shapes change), or stream-ordered",
};
