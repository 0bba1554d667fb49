/*
 * jit_compile_in_loop — code is compiled or loaded while the program should be running it.
 *
 * Signal: idle time under calls that load or compile modules, compilation events, or ranges of
 * TorchInductor, Triton and Dynamo that compile, after the first fifth of the device's time
 * (steady state). Warning over 1 ms and 0.5 % of wall (nsys-ai module_loading).
 */
#include "findings/cause.h"

#define WARN_SHARE     0.005
#define CRITICAL_SHARE 0.10
#define WARM_UP        5
#define MIN_NS         1000000

static bool is_compile_name(struct nl_str name)
{
    static const char *const marks[] = {
        "Lazy Function Loading",  "CompilePTX",      "compile_fx",       "triton.compile",
        "_compile.compile_inner", "backend_compile", "inductor_compile", "nvrtcCompile",
        "cuModuleLoad",           "cuLibraryLoad",   "hipModuleLoad",    "cudaLibraryLoad",
        "cuLinkComplete"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (nl_str_contains(name, marks[i]))
            return true;
    return false;
}

static bool is_compile(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    return gap->class == NL_IDLE_HOST_LATE &&
           gap->start >= scene->device->start_ns + scene->wall_ns / WARM_UP &&
           (gap->activity == NL_ACTIVITY_MODULE || gap->activity == NL_ACTIVITY_COMPILE ||
            is_compile_name(nl_trace_name(scene->trace, gap->name)));
}

/* Looks at the few sums instead of the many gaps. */
static bool has_compiling(const struct nl_scene *scene)
{
    for (size_t i = 0; i < scene->device->sums; i++) {
        const struct nl_idle_sum *sum = &scene->idle->sums[scene->device->first_sum + i];
        if (sum->activity == NL_ACTIVITY_MODULE || sum->activity == NL_ACTIVITY_COMPILE ||
            is_compile_name(nl_trace_name(scene->trace, sum->name)))
            return true;
    }
    return false;
}

static enum nl_verdict jit_compile_in_loop_evaluate(struct nl_scene *scene,
                                                    struct nl_finding *finding)
{
    size_t count;
    if (!has_compiling(scene))
        return NL_CAUSE_ABSENT;
    int64_t cost = nl_scene_sum_gaps(scene, is_compile, &count, &finding->where), most = 0;
    if (nl_scene_share(scene, cost) <= WARN_SHARE || cost < MIN_NS)
        return NL_CAUSE_ABSENT;
    for (size_t i = 0; i < finding->where.count; i++) {
        int64_t length = finding->where.items[i].end - finding->where.items[i].start;
        most = length > most ? length : most;
    }
    int64_t since = scene->device->start_ns + scene->wall_ns / WARM_UP - scene->trace->first_ts;
    const char *where = nl_say(
        scene,
        "FROM idle_gaps%s WHERE class = 'host_late' AND ts >= %lld AND %s AND (activity IN "
        "('module "
        "loading', 'compilation') OR activity_name GLOB '*Lazy Function Loading*' OR activity_name "
        "GLOB '*CompilePTX*' OR activity_name GLOB '*compile_fx*' OR activity_name GLOB "
        "'*triton.compile*' OR activity_name GLOB '*_compile.compile_inner*' OR activity_name GLOB "
        "'*backend_compile*' OR activity_name GLOB '*inductor_compile*')",
        nl_scene_args(scene), (long long)since, nl_scene_place(scene, ""));
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    nl_title(scene, finding, "Compiling or loading code leaves %s idle for %s",
             nl_scene_name(scene), nl_say_ns(scene, cost));
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "compile_idle_ns",
            .says = nl_say(scene,
                           "%s idle (%s of the time) in %s gaps that the launching thread "
                           "spends compiling or loading code",
                           nl_say_ns(scene, cost), nl_say_share(scene, finding->cost_share),
                           nl_say_count(scene, count)),
            .threshold = "> 1 ms after the first fifth of the time",
            .query = nl_say(scene, "SELECT sum(dur) %s", where),
            .meaning = NL_MEANS_NS,
            .value = (double)cost});
    nl_scene_gap_examples(scene, is_compile, evidence);
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "longest_compile_gap_ns",
                             .says = nl_say(scene, "the longest lasts %s", nl_say_ns(scene, most)),
                             .query = nl_say(scene, "SELECT max(dur) %s", where),
                             .meaning = NL_MEANS_NS,
                             .value = (double)most});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_jit_compile_in_loop = {
    .id = "jit_compile_in_loop",
    .doc = "Host-bound gaps mostly spent loading or compiling device code (cuModuleLoad…, nvrtc, "
           "lazy function loading, TorchInductor, Triton), after the first fifth of the device's "
           "time. Over 1 ms and 0.5 % of wall.",
    .needs = {{NL_T_api, NULL}},
    .need_count = 1,
    .evaluate = jit_compile_in_loop_evaluate,
    .not_this_if =
        "it happens at the start (the first fifth of the time is left out), or the device "
        "works meanwhile",
};
