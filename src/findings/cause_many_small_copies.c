/*
 * many_small_copies — many tiny copies between host and device.
 *
 * Signal: copies between host and device under 64 KiB, more than 50 per step (proposal of
 * TraceLens: more than 10 per direction), and count × 10 µs over 2 % of wall, where 10 µs is the
 * launch and latency of one copy. The cost is limited to the time that could be saved: exposed time
 * of those copies and idle time. Uploads in start-up belong to no step.
 */
#include "findings/copycause.h"
#include "base/sum.h"

#define SMALL_BYTES    65536
#define COST_EACH_NS   10000
#define PER_STEP       50
#define WITHOUT_STEPS  500
#define WARN_SHARE     0.02
#define CRITICAL_SHARE 0.10

static bool is_small(const struct nl_trace *trace, uint32_t copy)
{
    return (nl_copy_is_htod(trace, copy) || nl_copy_is_dtoh(trace, copy)) &&
           trace->copy.bytes[copy] < SMALL_BYTES;
}

struct small {
    struct nl_copy_sums sums;
    uint64_t once;   /* of them, in start-up */
    double per_step; /* of the others; 0 without steps */
};

static struct small find_small(const struct nl_scene *scene)
{
    struct small small = {.sums = nl_copy_sum(scene, is_small)};
    for (size_t i = 0; i < scene->copy_count; i++)
        small.once +=
            is_small(scene->trace, scene->copies[i]) && nl_copy_is_once(scene, scene->copies[i]);
    if (scene->steps > 1)
        small.per_step = (double)(small.sums.count - small.once) / (double)scene->steps;
    return small;
}

static const char *tell_count(struct nl_scene *scene, const struct small *small)
{
    const char *says =
        nl_say(scene, "%s host-device copies under 64 KiB", nl_say_count(scene, small->sums.count));
    if (scene->steps > 1 && small->once)
        return nl_say(scene, "%s, %s of them in start-up, %.0f per step", says,
                      nl_say_count(scene, small->once), small->per_step);
    return scene->steps > 1 ? nl_say(scene, "%s, %.0f per step", says, small->per_step) : says;
}

static enum nl_verdict many_small_copies_evaluate(struct nl_scene *scene,
                                                  struct nl_finding *finding)
{
    struct small small = find_small(scene);
    struct nl_copy_sums sums = small.sums;
    bool in_steps = small.per_step > PER_STEP;
    if (!in_steps && (scene->steps > 1 ? small.once : sums.count) <= WITHOUT_STEPS)
        return NL_CAUSE_ABSENT;
    struct nl_intervals exposed;
    nl_intervals_init(&exposed);
    int64_t most = nl_scene_exposed(scene, is_small, &exposed) + scene->parts->idle_ns;
    int64_t cost = (int64_t)sums.count * COST_EACH_NS;
    nl_intervals_release(&exposed);
    cost = cost < most ? cost : most;
    if (nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    int64_t once = nl_sum_near((double)cost * (double)small.once / (double)sums.count);
    const char *when = nl_copy_promise(scene, finding, once);
    nl_title(scene, finding, "%s small copies cost %s about %s%s", nl_say_count(scene, sums.count),
             nl_scene_name(scene), nl_say_ns(scene, cost), when);
    const char *from = nl_say(scene,
                              "FROM copies WHERE kind IN ('HtoD', 'DtoH') AND bytes < %d "
                              "AND %s",
                              SMALL_BYTES, nl_scene_on(scene, ""));
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "small_copies",
                             .says = tell_count(scene, &small),
                             .threshold = in_steps ? nl_say(scene, "> %d per step", PER_STEP)
                                                   : nl_say(scene, "> %d", WITHOUT_STEPS),
                             .query = nl_say(scene, "SELECT count(*) %s", from),
                             .meaning = NL_MEANS_COUNT,
                             .value = (double)sums.count});
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "small_copy_bytes_each",
                             .says = nl_say(
                                 scene, "they move %s each on average; the copying itself takes %s",
                                 nl_say_bytes(scene, sums.bytes / (sums.count ? sums.count : 1)),
                                 nl_say_ns(scene, sums.total_ns)),
                             .query = nl_say(scene, "SELECT avg(bytes) %s", from),
                             .meaning = NL_MEANS_NUMBER,
                             .value = sums.count ? (double)sums.bytes / (double)sums.count : 0});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_many_small_copies = {
    .id = "many_small_copies",
    .doc = "More than 50 host-device copies under 64 KiB per step (without steps, and for uploads "
           "in start-up: more than 500), counted as 10 µs each, at most their exposed time plus "
           "idle time. Warning over 2 % of wall. If most of it is in start-up, that part is paid "
           "once and not counted as a saving.",
    .needs = {{NL_T_copy, "bytes"}},
    .need_count = 1,
    .evaluate = many_small_copies_evaluate,
    .not_this_if = "other work overlaps with them: the cost is limited to idle and exposed time",
};
