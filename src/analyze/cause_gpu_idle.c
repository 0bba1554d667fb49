/*
 * gpu_idle — the device has nothing to do, and no more specific cause says why.
 *
 * Signal: idle / wall > 15 % (nsys-ai, TraceLens), critical > 30 % (proposal of root_causes.md, no
 * source). Wall is from the first to the last work, so the edges of the capture are not in it.
 */
#include "analyze/cause.h"
#include "analyze/gaptext.h"
#include "analyze/groups.h"

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

struct activity {
    enum nl_idle_activity activity;
    struct nl_str name; /* folded */
    int64_t ns;
};

/* Idle time under ranges whose names begin so. */
static int64_t sum_prefix(const struct nl_scene *scene, struct nl_str prefix)
{
    int64_t ns = 0;
    for (size_t i = 0; i < scene->device->sums; i++) {
        const struct nl_idle_sum *sum = &scene->idle->sums[scene->device->first_sum + i];
        struct nl_str name = nl_trace_name(scene->trace, sum->name);
        if (sum->activity == NL_DID_RANGE && name.len >= prefix.len &&
            memcmp(name.ptr, prefix.ptr, prefix.len) == 0)
            ns += sum->total_ns;
    }
    return ns;
}

/* What the CPU did for the largest part of the idle time, by activity and folded name. */
static struct activity main_activity(const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    struct activity best = {NL_DID_UNKNOWN, {"", 0}, 0};
    struct nl_groups groups;
    struct nl_dict names;
    nl_groups_init(&groups);
    nl_dict_init(&names);
    for (size_t i = 0; i < scene->device->sums; i++) {
        const struct nl_idle_sum *sum = &scene->idle->sums[scene->device->first_sum + i];
        if (sum->activity != NL_DID_UNKNOWN)
            nl_groups_add(&groups, sum->activity,
                          nl_dict_add(&names, nl_gap_activity(trace, sum->activity, sum->name)),
                          sum->total_ns);
    }
    nl_groups_finish(&groups);
    if (groups.count) {
        struct nl_str name = nl_dict_text(&names, (uint32_t)groups.items[0].b);
        best.activity = (enum nl_idle_activity)groups.items[0].a;
        best.name = (struct nl_str){nl_arena_text(scene->arena, name.ptr, name.len), name.len};
        best.ns = groups.items[0].stats.total_ns;
        if (best.activity == NL_DID_RANGE && best.name.len)
            best.ns = sum_prefix(scene, best.name);
    }
    nl_dict_release(&names);
    nl_groups_release(&groups);
    return best;
}

/* "aten::copy_ (operator)". */
static const char *activity_text(const struct nl_scene *scene, const struct activity *activity)
{
    const char *what = nl_idle_activity_name(activity->activity);
    if (!activity->name.len)
        return what;
    int shown = activity->name.len > 60 ? 60 : (int)activity->name.len;
    return nl_say(scene, "%.*s (%s)", shown, activity->name.ptr, what);
}

/* ", most of it while the CPU is in aten::copy_ (operator)" when one activity has over half. */
static const char *main_place(const struct nl_scene *scene)
{
    struct activity main = main_activity(scene);
    if (2 * main.ns <= scene->parts->idle_ns || main.activity == NL_DID_QUEUED)
        return "";
    if (main.activity == NL_DID_NOTHING)
        return ", mostly while nothing is recorded on the thread that launches";
    if (main.activity == NL_DID_OFF || main.activity == NL_DID_WAITING ||
        main.activity == NL_DID_READY)
        return nl_say(scene, ", mostly while the thread that launches is %s",
                      nl_idle_activity_name(main.activity));
    return nl_say(scene, ", mostly while the CPU is in %s", activity_text(scene, &main));
}

/* Ranges are folded: all that begin so. */
static const char *name_condition(const struct nl_scene *scene, const struct activity *activity)
{
    const char *quoted = nl_say_quoted(scene, activity->name);
    if (!activity->name.len)
        return " AND name IS NULL";
    if (activity->activity != NL_DID_RANGE)
        return nl_say(scene, " AND name = %s", quoted);
    return nl_say(scene, " AND substr(name, 1, length(%s)) = %s", quoted, quoted);
}

static void tell_activity(struct nl_scene *scene, struct nl_finding *finding)
{
    struct activity main = main_activity(scene);
    if (main.ns <= 0)
        return;
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "idle_main_activity_ns",
            .says = nl_say(scene, "what the CPU does most meanwhile, for %s: %s%s",
                           nl_say_ns(scene, main.ns), activity_text(scene, &main),
                           main.activity == NL_DID_LAUNCH
                               ? "; launch calls that take milliseconds load code or set up a "
                                 "library, once"
                               : ""),
            .query = nl_say(
                scene, "SELECT sum(total_ns) FROM idle_causes%s WHERE activity = '%s' AND %s%s",
                nl_scene_args(scene), nl_idle_activity_name(main.activity),
                nl_scene_place(scene, ""), name_condition(scene, &main)),
            .meaning = NL_MEANS_NS,
            .value = (double)main.ns});
}

/* One gap that is nearly everything is said, and lowers the confidence. */
static void tell_one_gap(struct nl_scene *scene, struct nl_finding *finding, int64_t longest)
{
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "longest_gap_ns",
            .says = nl_say(scene,
                           "one single gap is %s of it (%s): that looks like a phase "
                           "(start-up, capture, evaluation), not like the loop",
                           nl_say_share(scene, (double)longest / (double)scene->parts->idle_ns),
                           nl_say_ns(scene, longest)),
            .query = nl_say(scene, "SELECT max(dur) FROM idle_gaps%s WHERE %s",
                            nl_scene_args(scene), nl_scene_place(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)longest});
}

static enum nl_verdict evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    int64_t idle = scene->parts->idle_ns, longest = 0;
    double share = nl_scene_share(scene, idle);
    if (share <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    if (!scene->parts->compute_ns)
        return nl_abstain(finding, "no computation was recorded on the device");
    nl_scene_sum_gaps(scene, every_gap, NULL, &finding->where);
    for (size_t i = 0; i < finding->where.count; i++)
        if (finding->where.items[i].end - finding->where.items[i].start > longest)
            longest = finding->where.items[i].end - finding->where.items[i].start;
    bool phase = (double)longest > ONE_GAP * (double)idle;
    nl_find(scene, finding, idle, WARN_SHARE, CRITICAL_SHARE, phase ? 0.85 : 1);
    nl_title(scene, finding, "%s is idle %s of its time (%s of %s)%s", nl_scene_name(scene),
             nl_say_share(scene, share), nl_say_ns(scene, idle), nl_say_ns(scene, scene->wall_ns),
             main_place(scene));
    tell_class(scene, finding);
    tell_activity(scene, finding);
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
    if (phase)
        tell_one_gap(scene, finding, longest);
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
        {"Warm up before recording: run some steps first, so that code is loaded, compiled and "
         "autotuned",
         "the first call of a kernel or library takes milliseconds and never comes back",
         "the longest gaps are no longer single launch or allocator calls"},
        {0}}};
