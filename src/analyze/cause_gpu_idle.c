/*
 * gpu_idle — the device has nothing to do, and no more specific cause says why.
 *
 * Signal: idle / wall > 15 % (nsys-ai, TraceLens), critical > 30 % (proposal of root_causes.md, no
 * source). Wall is from the first to the last work, so the edges of the capture are not in it.
 */
#include "analyze/cause.h"

#define WARN_SHARE     0.15
#define CRITICAL_SHARE 0.30
#define ONE_GAP        0.8 /* one gap with more of all idle time than this is no pattern */

static bool every_gap(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    (void)scene;
    (void)gap;
    return true;
}

static enum nl_idle_class main_class(const struct nl_idle_device *device)
{
    enum nl_idle_class best = NL_IDLE_HOST_LATE;
    for (enum nl_idle_class class = 0; class < NL_IDLE_CLASSES; class ++)
        if (device->class_ns[class] > device->class_ns[best])
            best = class;
    return best;
}

static const char *meaning_of(enum nl_idle_class class)
{
    static const char *const texts[NL_IDLE_CLASSES] = {
        [NL_IDLE_HOST_LATE] = "the CPU launched the next work too late",
        [NL_IDLE_DEPENDENCY] = "the next work waited for an event of another stream",
        [NL_IDLE_LAUNCH_LATENCY] = "the next work was launched but had not started",
        [NL_IDLE_UNKNOWN] = "the launch of the next work was not recorded",
        [NL_IDLE_SHORT] = "in gaps under 1 us between back-to-back work",
    };
    return texts[class];
}

static void tell_class(struct nl_scene *scene, struct nl_finding *finding)
{
    enum nl_idle_class class = main_class(scene->device);
    int64_t ns = scene->device->class_ns[class];
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = nl_say(scene, "idle_%s_ns", nl_idle_class_name(class)),
            .says = nl_say(scene, "%s of it (%s): %s", nl_say_ns(scene, ns),
                           nl_say_share(scene, (double)ns / (double)scene->device->idle_ns),
                           meaning_of(class)),
            .query =
                nl_say(scene, "SELECT sum(total_ns) FROM idle_causes%s WHERE class = '%s' AND %s",
                       nl_scene_args(scene), nl_idle_class_name(class), nl_scene_place(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)ns});
    nl_scene_gap_examples(scene, every_gap, evidence);
}

/* The activity with most idle time under it. */
static void tell_activity(struct nl_scene *scene, struct nl_finding *finding)
{
    int64_t by_activity[NL_DID_COUNT] = {0};
    enum nl_idle_activity most = NL_DID_NOTHING;
    for (size_t i = 0; i < scene->device->sums; i++) {
        const struct nl_idle_sum *sum = &scene->idle->sums[scene->device->first_sum + i];
        by_activity[sum->activity] += sum->total_ns;
    }
    for (enum nl_idle_activity i = 0; i < NL_DID_UNKNOWN; i++)
        if (by_activity[i] > by_activity[most])
            most = i;
    if (!by_activity[most])
        return;
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "idle_main_activity_ns",
            .says = nl_say(scene, "the launching thread meanwhile, for %s: %s",
                           nl_say_ns(scene, by_activity[most]), nl_idle_activity_name(most)),
            .query = nl_say(
                scene, "SELECT sum(total_ns) FROM idle_causes%s WHERE activity = '%s' AND %s",
                nl_scene_args(scene), nl_idle_activity_name(most), nl_scene_place(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)by_activity[most]});
}

static enum nl_verdict evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    int64_t idle = scene->parts->idle_ns, longest = 0;
    double share = nl_scene_share(scene, idle);
    if (share <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    nl_scene_sum_gaps(scene, every_gap, NULL, &finding->where);
    for (size_t i = 0; i < finding->where.count; i++)
        if (finding->where.items[i].end - finding->where.items[i].start > longest)
            longest = finding->where.items[i].end - finding->where.items[i].start;
    nl_find(scene, finding, idle, WARN_SHARE, CRITICAL_SHARE,
            (double)longest > ONE_GAP * (double)idle ? 0.8 : 1);
    nl_title(scene, finding, "%s is idle %s of its time (%s of %s)", nl_scene_name(scene),
             nl_say_share(scene, share), nl_say_ns(scene, idle), nl_say_ns(scene, scene->wall_ns));
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "idle_ns",
                             .says = nl_say(scene,
                                            "%s without a kernel, copy or fill, between the first "
                                            "and the last work",
                                            nl_say_ns(scene, idle)),
                             .threshold = "> 15 % of wall",
                             .query = nl_say(scene, "SELECT idle_ns FROM time_breakdown%s WHERE %s",
                                             nl_scene_args(scene), nl_scene_place(scene, "")),
                             .meaning = NL_MEANS_NS,
                             .value = (double)idle});
    tell_class(scene, finding);
    tell_activity(scene, finding);
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_gpu_idle = {
    .id = "gpu_idle",
    .doc =
        "Time without any work on the device between its first and last work. Warning over 15 % "
        "of wall (nsys-ai, TraceLens), critical over 30 %. More specific causes claim their part "
        "of it first.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .evaluate = evaluate,
    .not_this_if = "the device copies (copies count as work), or one single gap is nearly all of "
                   "it (a phase, not a pattern: confidence is lowered)",
    .suggestions = {
        {"Look at what the CPU does in the longest gaps: the tables \"Why devices were idle\" and "
         "\"What the CPU did while devices were idle\" name it",
         "idle time is a symptom; its class and activity name the cause",
         "neurolens sql PROFILE \"SELECT activity, activity_name, sum(dur) FROM idle_gaps GROUP BY "
         "1, 2 ORDER BY 3 DESC LIMIT 10\""},
        {"If the gaps belong to start-up, evaluation or checkpoints, look at the steady part "
         "alone: "
         "PROFILE[step=10:20] or PROFILE[1.2s:1.5s]",
         "phases that are meant to be quiet hide the pattern of the loop",
         "neurolens analyze 'PROFILE[step=10:20]'"},
        {0}}};
