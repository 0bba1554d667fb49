/*
 * optimizer_unfused — the optimizer updates one tensor at a time.
 *
 * Signal: under ranges Optimizer.step (PyTorch), kernels of operators that are neither foreach nor
 * fused are at least 100 per call and at least four of five of its kernels, and take over 3 % of
 * wall (foreach joins tensors, fused does it in one kernel per chunk of them). Cost: half of their
 * time; the causes about launching report the idle time around them.
 */
#include "base/sum.h"
#include "findings/cause.h"
#include "tables/memo.h"

#define MIN_SHARE      0.03
#define CRITICAL_SHARE 0.15
#define MIN_KERNELS    100 /* per call */
#define MAX_OTHERS     0.2

struct updates {
    uint64_t kernels, joined; /* one tensor at a time; foreach or fused */
    int64_t ns;
    uint64_t calls;
};

static bool is_step(struct nl_str name)
{
    return nl_str_starts(name, "Optimizer.step");
}

static bool is_joined(struct nl_str name)
{
    return nl_str_find_nocase(name, "foreach") >= 0 || nl_str_find_nocase(name, "fused") >= 0;
}

static bool is_here(const struct nl_scene *scene, uint32_t slice)
{
    const struct nl_trace *trace = scene->trace;
    const struct nl_window *window = scene->window;
    int64_t ts = trace->slice.ts[slice];
    return trace->slice.kind[slice] == NL_KIND_KERNEL && trace->slice.dur[slice] != NL_NULL_I64 &&
           nl_slice_device(trace, slice) == scene->device->device &&
           nl_slice_rank(trace, slice) == scene->device->rank &&
           (!window->has_time || (ts >= window->start && ts < window->end));
}

/* Outermost operator around one. */
static uint32_t outermost(const struct nl_rangetree *ops, uint32_t op)
{
    while (ops->parents[op] != NL_NULL_ROW)
        op = ops->parents[op];
    return op;
}

static struct updates sum_updates(struct nl_scene *scene, struct nl_finding *finding,
                                  struct nl_evidence *longest)
{
    const struct nl_trace *trace = scene->trace;
    const struct nl_owners *owners = nl_memo_owners(scene->memo);
    const struct nl_memo_ranges *ranges = nl_memo_ranges(scene->memo, NL_KIND_NVTX);
    const struct nl_memo_ranges *ops = nl_memo_ranges(scene->memo, NL_KIND_OP);
    uint8_t *steps = nl_zalloc(trace->names.count + (size_t)1); /* per name: 1 no, 2 yes */
    uint32_t last = NL_NULL_ROW;
    struct updates sum = {0};
    for (uint32_t i = 0; i < owners->count; i++) {
        uint32_t range = ranges->owner[i], op = ops->owner[i], slice = owners->work[i];
        if (range == NL_NULL_ROW || op == NL_NULL_ROW)
            continue;
        uint32_t name = trace->slice.name[ranges->tree.slices[range]];
        if (!steps[name])
            steps[name] = is_step(nl_trace_name(trace, name)) ? 2 : 1;
        if (steps[name] != 2 || !is_here(scene, slice))
            continue;
        uint32_t outer = trace->slice.name[ops->tree.slices[outermost(&ops->tree, op)]];
        if (is_joined(nl_trace_name(trace, outer))) {
            sum.joined++;
            continue;
        }
        sum.calls += range != last;
        last = range;
        sum.kernels++;
        nl_sum_add(&sum.ns, trace->slice.dur[slice]);
        nl_intervals_add(&finding->where, trace->slice.ts[slice], nl_slice_end(trace, slice));
        nl_example_slice(scene, longest, slice);
    }
    nl_free(steps);
    return sum;
}

static enum nl_verdict optimizer_unfused_evaluate(struct nl_scene *scene,
                                                  struct nl_finding *finding)
{
    static const char from[] =
        "FROM kernel_owner o JOIN kernels k ON k.slice = o.slice WHERE o.nvtx_name LIKE "
        "'Optimizer.step%' AND o.op IS NOT NULL AND o.outer_op_name NOT LIKE '%foreach%' AND "
        "o.outer_op_name NOT LIKE '%fused%' AND";
    struct nl_evidence longest = {0};
    struct updates sum = sum_updates(scene, finding, &longest);
    if (!sum.calls || sum.kernels / sum.calls < MIN_KERNELS ||
        (double)sum.joined > MAX_OTHERS * (double)sum.kernels ||
        nl_scene_share(scene, sum.ns) < MIN_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, sum.ns / 2, CRITICAL_SHARE, 1);
    nl_title(scene, finding, "The optimizer on %s updates one tensor at a time: %s kernels a step",
             nl_scene_name(scene), nl_say_count(scene, sum.kernels / sum.calls));
    longest.metric = "unfused_optimizer_ns";
    longest.says =
        nl_say(scene, "%s in kernels under Optimizer.step that are neither foreach nor fused",
               nl_say_ns(scene, sum.ns));
    longest.threshold = "> 3 % of wall";
    longest.query = nl_say(scene, "SELECT sum(k.dur) %s %s", from, nl_scene_on(scene, "k."));
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)sum.ns;
    nl_evidence(finding, longest);
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "unfused_optimizer_kernels",
            .says = nl_say(scene, "%s of them in %s calls of Optimizer.step",
                           nl_say_count(scene, sum.kernels), nl_say_count(scene, sum.calls)),
            .threshold = ">= 100 per call",
            .query = nl_say(scene, "SELECT count(*) %s %s", from, nl_scene_on(scene, "k.")),
            .meaning = NL_MEANS_COUNT,
            .value = (double)sum.kernels});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_optimizer_unfused = {
    .id = "optimizer_unfused",
    .doc = "Kernels under PyTorch's Optimizer.step that belong to neither foreach nor fused "
           "operators: at least 100 per call, at least four of five of its kernels, and more than "
           "3 % of wall. Cost: half of their time.",
    .needs = {{NL_T_op, NULL}, {NL_T_nvtx, NULL}},
    .need_count = 2,
    .evaluate = optimizer_unfused_evaluate,
    .not_this_if = "the optimizer has no foreach or fused form (then compile it), or its tensors "
                   "are so large that joining them saves nothing",
};
