/*
 * gpu_idle — the device has nothing to do, and no more specific cause says why.
 *
 * Signal: idle / wall > 15 % (nsys-ai, TraceLens), critical > 30 % (a proposal of ours, no
 * source). Wall is from the first to the last work, so the edges of the capture are not in it.
 */
#include "base/utf8.h"
#include "findings/bookcause.h"
#include "tables/gaptext.h"
#include "tables/groups.h"
#include "base/sort.h"
#include "base/sum.h"
#include "timeline/nametest.h"

#define WARN_SHARE     0.15
#define CRITICAL_SHARE 0.30
#define ONE_GAP        0.8 /* one gap with more of all idle time than this is no pattern */
#define MIN_WALL_NS    1000000
#define SLOW_LAUNCH_NS 1000000

static bool every_gap(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    (void)scene;
    (void)gap;
    return true;
}

/* Idle time per class. In a host-late gap only the time before the launch is charged to the CPU:
 * after it, the work was launched and had not started. */
static void class_times(const struct nl_scene *scene, int64_t ns[NL_IDLE_CLASSES])
{
    memcpy(ns, scene->device->class_ns, NL_IDLE_CLASSES * sizeof *ns);
    for (size_t i = 0; i < scene->device->sums; i++) {
        const struct nl_idle_sum *sum = &scene->idle->sums[scene->device->first_sum + i];
        if (sum->class != NL_IDLE_HOST_LATE || sum->activity != NL_ACTIVITY_QUEUED)
            continue;
        ns[NL_IDLE_HOST_LATE] -= sum->total_ns;
        nl_sum_add(&ns[NL_IDLE_QUEUED], sum->total_ns);
    }
}

static enum nl_idle_class main_class(const int64_t ns[NL_IDLE_CLASSES])
{
    enum nl_idle_class best = NL_IDLE_HOST_LATE;
    for (enum nl_idle_class class = 0; class < NL_IDLE_CLASSES; class ++)
        if (ns[class] > ns[best])
            best = class;
    return best;
}

/* The condition on idle_causes that gives the same again. */
static const char *class_sql(const struct nl_scene *scene, enum nl_idle_class class)
{
    if (class == NL_IDLE_HOST_LATE)
        return "class = 'host_late' AND activity <> 'queued'";
    if (class == NL_IDLE_QUEUED)
        return "(class = 'queued' OR (class = 'host_late' AND activity = 'queued'))";
    return nl_say(scene, "class = '%s'", nl_idle_class_name(class));
}

static const char *meaning_of(enum nl_idle_class class)
{
    static const char *const texts[NL_IDLE_CLASSES] = {
        [NL_IDLE_HOST_LATE] = "the CPU launched the next work too late",
        [NL_IDLE_DEPENDENCY] = "the next work waited for an event of another stream",
        [NL_IDLE_LAUNCH_LATENCY] = "launch latency, up to 30 µs a gap",
        [NL_IDLE_QUEUED] =
            "the next work was launched but had not started (after a late launch, too)",
        [NL_IDLE_UNKNOWN] = "the launch of the next work was not recorded",
        [NL_IDLE_SHORT] = "in gaps under 1 µs between back-to-back work",
    };
    return texts[class];
}

static void tell_class(struct nl_scene *scene, struct nl_finding *finding)
{
    int64_t times[NL_IDLE_CLASSES];
    class_times(scene, times);
    enum nl_idle_class class = main_class(times);
    int64_t ns = times[class];
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = nl_say(scene, "idle_%s_ns", nl_idle_class_name(class)),
            .says = nl_say(scene, "%s of it (%s): %s", nl_say_ns(scene, ns),
                           nl_say_share(scene, (double)ns / (double)scene->device->idle_ns),
                           meaning_of(class)),
            .query =
                nl_say(scene, "SELECT sum(total_ns) FROM idle_causes%s WHERE %s AND %s",
                       nl_scene_args(scene), class_sql(scene, class), nl_scene_place(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)ns});
    nl_scene_gap_examples(scene, every_gap, evidence);
}

/* What the CPU does for the largest part of the idle time, and of it the name with most. */
struct activity {
    enum nl_activity activity;
    int64_t ns, longest_ns; /* longest_ns: of one gap */
    struct nl_str name;     /* folded; empty when it has none */
    int64_t name_ns;
};

static enum nl_activity largest(const struct nl_scene *scene, int64_t *most)
{
    int64_t ns[NL_ACTIVITY_COUNT] = {0};
    enum nl_activity best = NL_ACTIVITY_UNKNOWN;
    for (size_t i = 0; i < scene->device->sums; i++) {
        const struct nl_idle_sum *sum = &scene->idle->sums[scene->device->first_sum + i];
        nl_sum_add(&ns[sum->activity], sum->total_ns);
    }
    ns[NL_ACTIVITY_UNKNOWN] = 0;
    for (enum nl_activity activity = 0; activity < NL_ACTIVITY_COUNT; activity++)
        if (ns[activity] > ns[best])
            best = activity;
    *most = ns[best];
    return best;
}

static struct activity main_activity(const struct nl_scene *scene)
{
    struct activity main = {.name = {"", 0}};
    struct nl_groups groups;
    struct nl_dict names;
    main.activity = largest(scene, &main.ns);
    nl_groups_init(&groups);
    nl_dict_init(&names);
    for (size_t i = 0; i < scene->device->sums; i++) {
        const struct nl_idle_sum *sum = &scene->idle->sums[scene->device->first_sum + i];
        if (sum->activity != main.activity)
            continue;
        struct nl_str name = nl_gap_activity(scene->trace, sum->activity, sum->name);
        nl_groups_add(&groups, nl_dict_add(&names, name), 0, sum->total_ns);
        if (sum->longest[0] != SIZE_MAX && sum->longest_ns[0] > main.longest_ns)
            main.longest_ns = sum->longest_ns[0];
    }
    nl_groups_finish(&groups);
    if (groups.count) {
        struct nl_str name = nl_dict_text(&names, (uint32_t)groups.items[0].a);
        main.name = (struct nl_str){nl_scene_text(scene, name), name.len};
        main.name_ns = groups.items[0].stats.total_ns;
    }
    nl_dict_release(&names);
    nl_groups_release(&groups);
    return main;
}

static const char *const clauses[NL_ACTIVITY_COUNT] = {
    [NL_ACTIVITY_NOTHING] = "nothing is recorded on the thread that launches",
    [NL_ACTIVITY_OP] = "the CPU is in operators",
    [NL_ACTIVITY_PYTHON] = "the CPU is in Python functions",
    [NL_ACTIVITY_LAYER] = "the CPU is in modules",
    [NL_ACTIVITY_RANGE] = "the CPU is in ranges in which nothing else is recorded",
    [NL_ACTIVITY_LAUNCH] = "the CPU is in launch calls",
    [NL_ACTIVITY_SYNC] = "the CPU is in calls that wait for the device",
    [NL_ACTIVITY_COPY] = "the CPU is in copy calls",
    [NL_ACTIVITY_ALLOCATE] = "the CPU is in allocator calls",
    [NL_ACTIVITY_MODULE] = "the CPU loads code",
    [NL_ACTIVITY_GRAPH_BUILD] = "the CPU captures or builds graphs",
    [NL_ACTIVITY_API] = "the CPU is in other calls of the device's API",
    [NL_ACTIVITY_SYSTEM] = "the CPU is in system calls",
    [NL_ACTIVITY_GC] = "the CPU collects garbage",
    [NL_ACTIVITY_COMPILE] = "the CPU compiles",
    [NL_ACTIVITY_OVERHEAD] = "the CPU is in the profiler's own overhead",
    [NL_ACTIVITY_OTHER] = "the CPU is in other functions",
    [NL_ACTIVITY_OFF] = "the thread that launches is off the processors",
    [NL_ACTIVITY_WAITING] = "the thread that launches waits",
    [NL_ACTIVITY_READY] = "the thread that launches lacks a processor",
    [NL_ACTIVITY_QUEUED] = "the next work is launched and has not started",
    [NL_ACTIVITY_UNKNOWN] = "the launching thread is not known",
};

static bool is_mostly(const struct nl_scene *scene, int64_t ns)
{
    return 2 * ns > scene->parts->idle_ns;
}

/* In long gaps, launched and not begun: what the work waits for is not in the file. Rows of
 * start-up count only when asked for. */
static int64_t held_ns(const struct nl_scene *scene, bool startup)
{
    int64_t ns = 0;
    for (size_t i = 0; scene->booked && i < scene->booked->rows; i++) {
        const struct nl_account_row *row = &scene->account->rows[scene->booked->first_row + i];
        if (row->part == NL_BOOKED_IDLE && row->inside && row->activity == NL_ACTIVITY_QUEUED &&
            (startup || row->phase != NL_STARTUP))
            nl_sum_add(&ns, row->long_ns);
    }
    return ns;
}

static bool is_held(const struct nl_scene *scene)
{
    return is_mostly(scene, held_ns(scene, true));
}

/* ", mostly while the CPU is in aten::copy_ (operator)" when one activity has over half. */
static const char *main_place(const struct nl_scene *scene, const struct activity *main)
{
    if (is_held(scene))
        return ", mostly with work that is launched and does not start";
    if (!is_mostly(scene, main->ns) || main->activity == NL_ACTIVITY_QUEUED)
        return "";
    if (!main->name.len || !is_mostly(scene, main->name_ns))
        return nl_say(scene, ", mostly while %s", clauses[main->activity]);
    return nl_say(scene, ", mostly while the CPU is in %.*s (%s)", NL_UP_TO(60, main->name),
                  nl_activity_name(main->activity));
}

/* ", above all aten::copy_ (1.2 ms)". */
static const char *main_name(const struct nl_scene *scene, const struct activity *main)
{
    if (!main->name.len)
        return "";
    return nl_say(scene, ", above all %.*s (%s)", NL_UP_TO(60, main->name),
                  nl_say_ns(scene, main->name_ns));
}

static void tell_activity(struct nl_scene *scene, struct nl_finding *finding,
                          const struct activity *main)
{
    bool slow = main->activity == NL_ACTIVITY_LAUNCH && main->longest_ns >= SLOW_LAUNCH_NS;
    if (main->ns <= 0 || main->activity == NL_ACTIVITY_QUEUED) /* the class says as much */
        return;
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "idle_main_activity_ns",
            .says = nl_say(
                scene, "meanwhile %s, for %s (%s)%s%s", clauses[main->activity],
                nl_say_ns(scene, main->ns),
                nl_say_share(scene, (double)main->ns / (double)scene->parts->idle_ns),
                main_name(scene, main),
                slow ? "; launch calls that take milliseconds load code or set up a library, once"
                     : ""),
            .query = nl_say(
                scene, "SELECT sum(total_ns) FROM idle_causes%s WHERE activity = '%s' AND %s",
                nl_scene_args(scene), nl_activity_name(main->activity), nl_scene_place(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)main->ns});
}

/* Captures of graphs that end in a stretch of time. */
static size_t captures_in(const struct nl_scene *scene, struct nl_interval where)
{
    const struct nl_trace *trace = scene->trace;
    struct nl_name_test ends;
    size_t count = 0;
    nl_name_test_init(&ends, trace, "EndCapture");
    for (uint32_t row = 0; row < trace->api.rows; row++) {
        uint32_t slice = trace->api.slice[row];
        if (slice != NL_NULL_ROW && trace->slice.ts[slice] >= where.start &&
            trace->slice.ts[slice] < where.end && nl_name_has(&ends, trace->slice.name[slice]))
            count++;
    }
    nl_name_test_release(&ends);
    return count;
}

/* The calls that begin and end captures, in order of time; nl_free them. */
static struct nl_keyed *capture_calls(const struct nl_trace *trace, size_t *count)
{
    struct nl_keyed *calls = NULL;
    struct nl_name_test captures;
    size_t cap = 0;
    *count = 0;
    nl_name_test_init(&captures, trace, "Capture");
    for (uint32_t row = 0; row < trace->api.rows; row++) {
        uint32_t slice = trace->api.slice[row];
        if (slice == NL_NULL_ROW || !nl_name_has(&captures, trace->slice.name[slice]))
            continue;
        nl_grow(&calls, &cap, 2 * (*count + 1)); /* half is for sorting */
        calls[(*count)++] = (struct nl_keyed){nl_sort_key(trace->slice.ts[slice]), slice};
    }
    nl_name_test_release(&captures);
    if (*count)
        nl_sort_keyed(calls, calls + *count, *count);
    return calls;
}

/* Idle time between the calls that begin and end captures: what is launched there does not run. */
static int64_t idle_in_captures(const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    struct nl_intervals captures, idle;
    uint32_t open = NL_NULL_ROW;
    size_t count;
    struct nl_keyed *calls = capture_calls(trace, &count);
    nl_intervals_init(&captures);
    nl_intervals_init(&idle);
    for (size_t i = 0; i < count; i++) {
        struct nl_str name = nl_trace_name(trace, trace->slice.name[calls[i].row]);
        if (nl_str_contains(name, "BeginCapture"))
            open = calls[i].row;
        if (!nl_str_contains(name, "EndCapture") || open == NL_NULL_ROW)
            continue;
        nl_intervals_add(&captures, trace->slice.ts[open], nl_slice_end(trace, calls[i].row));
        open = NL_NULL_ROW;
    }
    nl_intervals_normalise(&captures);
    nl_scene_keep_idle(scene, &captures, &idle);
    nl_intervals_normalise(&idle);
    int64_t ns = nl_intervals_length(&idle);
    nl_intervals_release(&captures);
    nl_intervals_release(&idle);
    nl_free(calls);
    return ns;
}

/* A remark. */
static void promise_nothing(struct nl_finding *finding, const char *remedies)
{
    finding->remedies = remedies;
    finding->severity = NL_SEVERITY_INFO;
    finding->saving_ns[0] = finding->saving_ns[1] = 0;
}

/* The CPU is not late: nothing is to run. */
static void blame_capture(struct nl_scene *scene, struct nl_finding *finding, int64_t ns)
{
    promise_nothing(finding, "gpu_idle:capture");
    nl_title(scene, finding, "Nothing runs on %s during the capture of graphs, %s of its idle %s",
             nl_scene_name(scene), nl_say_ns(scene, ns), nl_say_ns(scene, scene->parts->idle_ns));
}

/* If one gap dominates, reports it and lowers the confidence. */
static void tell_one_gap(struct nl_scene *scene, struct nl_finding *finding, struct nl_interval gap)
{
    int64_t longest = gap.end - gap.start;
    size_t captures = captures_in(scene, gap);
    const char *captured =
        captures ? nl_say(scene, "; %s graph%s captured in it, which runs nothing",
                          nl_say_count(scene, captures), captures == 1 ? " is" : "s are")
                 : "";
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "longest_gap_ns",
            .says = nl_say(scene,
                           "one single gap is %s of it (%s): that looks like a phase "
                           "(start-up, capture, evaluation), not like the loop%s",
                           nl_say_share(scene, (double)longest / (double)scene->parts->idle_ns),
                           nl_say_ns(scene, longest), captured),
            .query = nl_say(scene, "SELECT max(dur) FROM idle_gaps%s WHERE %s",
                            nl_scene_args(scene), nl_scene_place(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)longest});
}

static bool in_copy_calls(const struct nl_scene *scene, const struct nl_account_row *row)
{
    (void)scene;
    return row->part == NL_BOOKED_IDLE && row->inside && row->activity == NL_ACTIVITY_COPY &&
           row->class != NL_IDLE_UNKNOWN;
}

/* Idle time of which the recording does not say why, or whether: gaps before work whose launch is
 * not known, and where no copy was recorded also gaps inside calls that copy. */
static int64_t unexplained(const struct nl_scene *scene)
{
    int64_t ns = scene->device->class_ns[NL_IDLE_UNKNOWN];
    if (!scene->trace->copy.rows && !scene->trace->graph.rows)
        nl_sum_add(&ns, nl_booked_sum(scene, in_copy_calls).ns);
    return ns;
}

static bool in_startup(const struct nl_scene *scene, const struct nl_account_row *row)
{
    (void)scene;
    return row->part == NL_BOOKED_IDLE && row->inside && row->phase == NL_STARTUP;
}

/* A device whose first kernel is in no step: the steps are those of another device, and it starts
 * with that kernel. */
static bool has_own_start(const struct nl_scene *scene)
{
    if (!scene->hidden.count || !scene->steps)
        return false;
    int64_t first = scene->hidden.items[0].start;
    for (size_t i = 0; i < scene->steps; i++)
        if (scene->found[i].start <= first && first < scene->found[i].end)
            return false;
    return true;
}

static bool before_first(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    return gap->end <= scene->hidden.items[0].start;
}

/* Start-up is paid once and mostly needed, and a CPU that launches earlier frees no work that waits
 * for something else: neither is a saving. */
static void promise(const struct nl_scene *scene, struct nl_finding *finding,
                    const struct activity *main)
{
    int64_t startup = nl_booked_sum(scene, in_startup).ns;
    int64_t first = has_own_start(scene) ? nl_scene_sum_gaps(scene, before_first, NULL, NULL) : 0;
    startup = startup > first ? startup : first;
    int64_t most = finding->cost_ns - startup - held_ns(scene, false);
    finding->saving_ns[1] = most > 0 ? most : 0;
    finding->saving_ns[0] = finding->saving_ns[1] / 2;
    bool slow = main->activity == NL_ACTIVITY_LAUNCH && main->longest_ns >= SLOW_LAUNCH_NS;
    if (slow || is_mostly(scene, startup))
        finding->remedies = "gpu_idle:warm_up";
    if (is_held(scene))
        finding->remedies = "gpu_idle:held";
}

static enum nl_verdict gpu_idle_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    int64_t idle = scene->parts->idle_ns;
    struct nl_interval longest = {0, 0};
    double share = nl_scene_share(scene, idle);
    if (share <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    if (!scene->parts->compute_ns)
        return nl_abstain(finding, "no computation was recorded on the device");
    if (nl_scene_was_counted(scene))
        return nl_abstain(finding,
                          "counters were read of its kernels: profilers run kernels one by "
                          "one for that, so the gaps may be theirs; record without counters");
    if (nl_scene_only_kernels(scene))
        return nl_abstain(finding, "only kernels were recorded: whether the device copies or idles "
                                   "between them is not known");
    if (scene->wall_ns < MIN_WALL_NS)
        return nl_abstain(finding, "under 1 ms from the first work to the last: no pattern shows");
    nl_scene_sum_gaps(scene, every_gap, NULL, &finding->where);
    for (size_t i = 0; i < finding->where.count; i++)
        if (finding->where.items[i].end - finding->where.items[i].start >
            longest.end - longest.start)
            longest = finding->where.items[i];
    bool phase = (double)(longest.end - longest.start) > ONE_GAP * (double)idle;
    struct activity main = main_activity(scene);
    nl_find(scene, finding, idle, CRITICAL_SHARE, phase ? NL_DOUBT_PHASE : 1);
    nl_title(scene, finding, "%s is idle %s of the %s from its first to its last work (%s)%s",
             nl_scene_name(scene), nl_say_ns(scene, idle), nl_say_ns(scene, scene->wall_ns),
             nl_say_share(scene, share), main_place(scene, &main));
    promise(scene, finding, &main);
    int64_t captured = idle_in_captures(scene);
    bool captures = captured > idle / 2;
    if (!captures)
        tell_class(scene, finding);
    tell_activity(scene, finding, &main);
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "idle_ns",
            .says = nl_say(
                scene,
                "%s without a kernel, copy or memset, between the first and the last operation",
                nl_say_ns(scene, idle)),
            .threshold = "> 15 % of wall",
            .query = nl_say(scene, "SELECT idle_ns FROM time_breakdown%s WHERE %s",
                            nl_scene_args(scene), nl_scene_place(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)idle});
    if (phase) {
        tell_one_gap(scene, finding, longest);
        finding->modest = true;
    }
    if (2 * unexplained(scene) > idle)
        promise_nothing(finding, "gpu_idle:unknown");
    if (captures)
        blame_capture(scene, finding, captured);
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_gpu_idle = {
    .id = "gpu_idle",
    .doc = "Time without any work on the device between its first and last operation. Warning over "
           "15 % of wall (nsys-ai, TraceLens). More specific causes claim their part of it first. "
           "It is informational, without a saving, if the recording does not say why the device "
           "was idle for over half of that time: the next operation's launch is unknown, or calls "
           "copy but no copy was recorded, or graphs are being captured. Saving: the idle time "
           "outside start-up, without gaps of 1 ms or more in which launched work did not start. "
           "Not judged where a ROCm tool recorded kernels only, nor where counters were read for "
           "over half of the kernels, which serialises them.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .of_gaps = true,
    .evaluate = gpu_idle_evaluate,
    .not_this_if = "the device copies (copies count as work), or a single gap is nearly all of it "
                   "(a phase, not a pattern: confidence is lowered)",
};
