/*
 * small_grid — kernels that give work to a few of the multiprocessors only.
 *
 * Signal: compute kernels of over 20 µs with fewer blocks than the device has multiprocessors
 * (TensorBoard's SM efficiency), by the time in which no other kernel runs: over 5 % of wall. Cost:
 * that time × the part of the device that has no block; nothing says that the work can be cut so
 * finely, so a quarter of it is the lower end.
 */
#include "findings/cause.h"
#include "base/sum.h"

#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.30
#define MIN_NS         20000

struct few {
    int64_t ns;
    uint64_t kernels;
    double filled; /* Σ ns × blocks / multiprocessors */
    uint32_t worst;
    int64_t worst_ns;
};

static uint64_t blocks_of(const struct nl_trace *trace, uint32_t kernel)
{
    const struct nl_kernel_table *table = &trace->kernel;
    if (table->grid_x[kernel] == NL_NULL_U32 || table->grid_y[kernel] == NL_NULL_U32 ||
        table->grid_z[kernel] == NL_NULL_U32)
        return 0;
    double blocks = (double)table->grid_x[kernel] * (double)table->grid_y[kernel] *
                    (double)table->grid_z[kernel];
    return blocks < 1e18 ? (uint64_t)blocks : UINT64_MAX;
}

static bool is_few(const struct nl_trace *trace, uint32_t kernel, uint32_t sms)
{
    uint64_t blocks = blocks_of(trace, kernel);
    return trace->kernel.class[kernel] == NL_CLASS_COMPUTE && blocks && blocks < sms &&
           trace->slice.dur[trace->kernel.slice[kernel]] > MIN_NS;
}

/* What few-block kernels have for themselves goes into the finding's time. */
static struct few find_few(const struct nl_scene *scene, uint32_t sms, struct nl_finding *finding,
                           struct nl_evidence *longest)
{
    const struct nl_trace *trace = scene->trace;
    struct nl_intervals small, others;
    struct few few = {0};
    nl_intervals_init(&small);
    nl_intervals_init(&others);
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t kernel = scene->kernels[i], slice = trace->kernel.slice[kernel];
        int64_t ns = trace->slice.dur[slice];
        bool counts = is_few(trace, kernel, sms);
        nl_intervals_add(counts ? &small : &others, trace->slice.ts[slice],
                         nl_slice_end(trace, slice));
        if (!counts)
            continue;
        few.kernels++;
        nl_sum_add(&few.ns, ns);
        few.filled += (double)ns * (double)blocks_of(trace, kernel) / sms;
        nl_example_slice(scene, longest, slice);
        if (ns > few.worst_ns) {
            few.worst_ns = ns;
            few.worst = kernel;
        }
    }
    nl_intervals_normalise(&small);
    nl_intervals_normalise(&others);
    nl_intervals_subtract(&small, &others, &finding->where);
    nl_intervals_release(&small);
    nl_intervals_release(&others);
    return few;
}

static const char *short_name(const struct nl_scene *scene, uint32_t kernel)
{
    const struct nl_trace *trace = scene->trace;
    return nl_say_kernel(scene,
                         nl_trace_name(trace, trace->slice.name[trace->kernel.slice[kernel]]));
}

static enum nl_verdict small_grid_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    const struct nl_trace *trace = scene->trace;
    uint32_t device = scene->device->device;
    uint32_t sms = device == NL_NULL_ROW ? NL_NULL_U32 : trace->device.sm_count[device];
    struct nl_evidence longest = {0};
    if (sms == NL_NULL_U32 || !sms)
        return nl_abstain(finding, "the number of multiprocessors was not recorded");
    struct few few = find_few(scene, sms, finding, &longest);
    double empty = few.ns > 0 ? 1 - few.filled / (double)few.ns : 0;
    int64_t alone = nl_intervals_length(&finding->where);
    int64_t cost = nl_sum_near((double)alone * empty);
    if (nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    finding->saving_ns[0] = cost / 4;
    finding->culprit = short_name(scene, few.worst);
    uint64_t worst = blocks_of(trace, few.worst);
    const char *blocks = worst == 1 ? "one" : nl_say_count(scene, worst);
    nl_title(scene, finding,
             "Kernels with fewer blocks than the %u multiprocessors of %s take %s: %s has %s", sms,
             nl_scene_name(scene), nl_say_ns(scene, alone), finding->culprit, blocks);
    const char *from = nl_say(
        scene,
        "FROM kernels WHERE class = 'compute' AND dur > %d AND grid_x * grid_y * grid_z > 0 AND "
        "grid_x * grid_y * grid_z < %u AND %s",
        MIN_NS, sms, nl_scene_on(scene, ""));
    longest.metric = "small_grid_kernel_ns";
    longest.says =
        nl_say(scene, "%s in %s such kernels of over 20 µs, %s of it with no other kernel beside",
               nl_say_ns(scene, few.ns), nl_say_count(scene, few.kernels), nl_say_ns(scene, alone));
    longest.threshold = "> 5 % of wall lost";
    longest.query = nl_say(scene, "SELECT sum(dur) %s", from);
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)few.ns;
    nl_evidence(finding, longest);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "empty_share",
                    .says = nl_say(scene, "on average %s of the multiprocessors have no block",
                                   nl_say_share(scene, empty)),
                    .query = nl_say(scene,
                                    "SELECT 1 - sum(1.0 * dur * grid_x * grid_y * grid_z) / "
                                    "sum(dur) / %u %s",
                                    sms, from),
                    .meaning = NL_MEANS_SHARE,
                    .value = empty});
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "longest_kernel_blocks",
            .says =
                nl_say(scene, "%s, which takes longest, has %s of them", finding->culprit, blocks),
            .query = nl_say(scene, "SELECT grid_x * grid_y * grid_z FROM kernels WHERE slice = %u",
                            trace->kernel.slice[few.worst]),
            .meaning = NL_MEANS_COUNT,
            .value = (double)worst});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_small_grid = {
    .id = "small_grid",
    .doc = "Compute kernels of over 20 µs with fewer blocks than the device has multiprocessors. "
           "Cost: the time without another kernel beside them × the share of multiprocessors "
           "without a block, over 5 % of wall; saving a quarter to all of it.",
    .needs = {{NL_T_kernel, "grid_x"}},
    .need_count = 1,
    .evaluate = small_grid_evaluate,
    .not_this_if = "other kernels run beside them (only time alone counts), or the work is a chain "
                   "that cannot be split",
};
