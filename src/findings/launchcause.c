/* launchcause — see launchcause.h. */
#include "findings/launchcause.h"
#include "base/sum.h"
#include "timeline/quantile.h"

struct samples {
    int64_t *kernels, *calls;
    size_t call_count;
};

static void add_call(const struct nl_trace *trace, uint32_t slice, struct samples *samples,
                     struct nl_launch_facts *facts)
{
    uint32_t launch = trace->slice.link[slice];
    if (launch == NL_NULL_ROW || trace->slice.link[launch] != slice ||
        trace->slice.dur[launch] == NL_NULL_I64)
        return;
    int64_t dur = trace->slice.dur[launch];
    int64_t delay = trace->slice.ts[slice] - trace->slice.ts[launch] - dur;
    samples->calls[samples->call_count] = dur;
    samples->call_count++;
    facts->prompt += delay < NL_PROMPT_NS;
    facts->slow_calls += dur > NL_SLOW_LAUNCH_NS;
}

static struct nl_launch_facts count_facts(const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    struct nl_launch_facts facts = {.kernels = scene->kernel_count};
    size_t room = (scene->kernel_count + 1) * sizeof(int64_t);
    struct samples samples = {nl_alloc(room), nl_alloc(room), 0};
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t slice = trace->kernel.slice[scene->kernels[i]];
        int64_t dur = trace->slice.dur[slice];
        samples.kernels[i] = dur;
        nl_sum_add(&facts.kernel_ns, dur);
        if (dur < NL_SMALL_KERNEL_NS) {
            facts.small++;
            nl_sum_add(&facts.small_ns, dur);
        }
        add_call(trace, slice, &samples, &facts);
    }
    facts.calls = samples.call_count;
    facts.kernel_median_ns = nl_quantile_median(samples.kernels, scene->kernel_count);
    facts.call_median_ns = nl_quantile_median(samples.calls, samples.call_count);
    nl_free(samples.kernels);
    nl_free(samples.calls);
    return facts;
}

struct nl_launch_facts nl_launch_facts(struct nl_scene *scene)
{
    pthread_mutex_lock(&scene->locks->kept);
    if (!scene->launches) {
        scene->launches = nl_scene_alloc(scene, sizeof *scene->launches);
        *scene->launches = count_facts(scene);
    }
    pthread_mutex_unlock(&scene->locks->kept);
    return *scene->launches;
}

bool nl_launch_is_dispatch_gap(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    static const bool dispatches[NL_ACTIVITY_COUNT] = {
        [NL_ACTIVITY_NOTHING] = true, [NL_ACTIVITY_OP] = true,     [NL_ACTIVITY_PYTHON] = true,
        [NL_ACTIVITY_LAYER] = true,   [NL_ACTIVITY_RANGE] = true,  [NL_ACTIVITY_LAUNCH] = true,
        [NL_ACTIVITY_API] = true,     [NL_ACTIVITY_QUEUED] = true, [NL_ACTIVITY_COPY] = true,
    };
    (void)scene;
    return gap->class == NL_IDLE_HOST_LATE && gap->sync == NL_NULL_ROW &&
           dispatches[gap->activity] && gap->end - gap->start <= NL_DISPATCH_GAP_NS;
}

const char *nl_launch_dispatch_sql(const struct nl_scene *scene)
{
    return nl_say(
        scene,
        "FROM idle_gaps%s WHERE class = 'host_late' AND sync IS NULL AND dur <= 1000000 AND "
        "activity IN ('nothing recorded', 'operator', 'python', 'layer', 'range', 'launch "
        "call', 'other call', 'queued', 'copy call') AND %s",
        nl_scene_args(scene), nl_scene_place(scene, ""));
}

void nl_launch_tell_delay(struct nl_scene *scene, struct nl_finding *finding,
                          const struct nl_launch_facts *facts)
{
    double share = facts->calls ? (double)facts->prompt / (double)facts->calls : 0;
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "prompt_start_share",
                    .says = nl_say(scene,
                                   "%s of launches start on the device within 20 µs of the call's "
                                   "return: its queue is empty then",
                                   nl_say_share(scene, share)),
                    .threshold = ">= 20 % of launches",
                    .query = nl_say(scene,
                                    "SELECT avg(k.ts - a.ts - a.dur < 20000) FROM kernels k JOIN "
                                    "slices a ON a.id = k.launch WHERE a.link = k.slice AND %s",
                                    nl_scene_on(scene, "k.")),
                    .meaning = NL_MEANS_SHARE,
                    .value = share});
}

bool nl_launch_is_ahead(const struct nl_launch_facts *facts)
{
    return (double)facts->prompt < 0.2 * (double)facts->calls;
}

void nl_launch_tell_small(struct nl_scene *scene, struct nl_finding *finding,
                          const struct nl_launch_facts *facts)
{
    double share = facts->kernels ? (double)facts->small / (double)facts->kernels : 0;
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "small_kernel_share",
                    .says = nl_say(scene,
                                   "%s of %s kernels take less than 10 µs (median %s); a launch "
                                   "call takes %s",
                                   nl_say_share(scene, share), nl_say_count(scene, facts->kernels),
                                   nl_say_ns(scene, nl_sum_near(facts->kernel_median_ns)),
                                   nl_say_ns(scene, nl_sum_near(facts->call_median_ns))),
                    .query = nl_say(scene, "SELECT avg(dur < 10000) FROM kernels WHERE %s",
                                    nl_scene_on(scene, "")),
                    .meaning = NL_MEANS_SHARE,
                    .value = share});
}

void nl_launch_tell_median(struct nl_scene *scene, struct nl_finding *finding,
                           const struct nl_launch_facts *facts)
{
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "kernel_median_ns",
                             .says = nl_say(scene, "the median kernel takes %s",
                                            nl_say_ns(scene, nl_sum_near(facts->kernel_median_ns))),
                             .threshold = "< 15 µs",
                             .query = nl_say(scene, "SELECT median(dur) FROM kernels WHERE %s",
                                             nl_scene_on(scene, "")),
                             .meaning = NL_MEANS_NUMBER,
                             .value = facts->kernel_median_ns});
}

void nl_launch_tell_gaps(struct nl_scene *scene, struct nl_finding *finding, int64_t cost,
                         size_t gaps)
{
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "dispatch_idle_ns",
            .says = nl_say(scene,
                           "%s idle (%s of the time) in %s gaps of at most 1 ms in which the "
                           "CPU was still preparing the next launch",
                           nl_say_ns(scene, cost), nl_say_share(scene, nl_scene_share(scene, cost)),
                           nl_say_count(scene, gaps)),
            .threshold = "> 10 % of wall",
            .query = nl_say(scene, "SELECT sum(dur) %s", nl_launch_dispatch_sql(scene)),
            .meaning = NL_MEANS_NS,
            .value = (double)cost});
    nl_scene_gap_examples(scene, nl_launch_is_dispatch_gap, evidence);
}

bool nl_launch_is_served(const struct nl_scene *scene)
{
    static const char *const begins[] = {
        "vllm::", "sglang::", "sgl_kernel::", "step[DECODE", "step[EXTEND", "step[MIXED"};
    const struct nl_trace *trace = scene->trace;
    for (uint32_t name = 1; name < trace->names.count; name++) {
        struct nl_str text = nl_trace_name(trace, name);
        if (nl_str_starts(text, "execute_") && nl_str_contains(text, "generation_"))
            return true;
        for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
            if (nl_str_starts(text, begins[i]))
                return true;
    }
    return false;
}
