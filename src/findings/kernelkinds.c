/* kernelkinds — see kernelkinds.h. */
#include "findings/kernelkinds.h"
#include "base/sum.h"
#include "timeline/quantile.h"

/* Kernels are in the order of their lanes, and of time within one. */
static bool follows(const struct nl_trace *trace, uint32_t before, uint32_t kernel)
{
    return trace->kernel.category[before] == trace->kernel.category[kernel] &&
           trace->slice.lane[trace->kernel.slice[before]] ==
               trace->slice.lane[trace->kernel.slice[kernel]];
}

/* XLA's copy-start and copy-done begin a copy and wait for it: no copying of theirs. */
static bool is_of_kind(const struct nl_trace *trace, uint32_t kernel, unsigned category)
{
    struct nl_str name = nl_trace_name(trace, trace->slice.name[trace->kernel.slice[kernel]]);
    return trace->kernel.category[kernel] == category && !nl_str_starts(name, "copy-start") &&
           !nl_str_starts(name, "copy-done");
}

struct nl_kind_facts nl_kind_facts(struct nl_scene *scene, unsigned category)
{
    const struct nl_trace *trace = scene->trace;
    struct nl_kind_facts facts = {0};
    int64_t *lengths = nl_alloc((scene->kernel_count + 1) * sizeof *lengths);
    int64_t longest = 0; /* of the run at hand */
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t kernel = scene->kernels[i];
        if (!is_of_kind(trace, kernel, category))
            continue;
        int64_t dur = trace->slice.dur[trace->kernel.slice[kernel]];
        lengths[facts.count++] = dur;
        nl_sum_add(&facts.total_ns, dur);
        bool again = i && follows(trace, scene->kernels[i - 1], kernel);
        if (again) {
            nl_sum_add(&facts.chained_ns, dur);
            nl_sum_add(&facts.spare_ns, dur < longest ? dur : longest);
        }
        longest = again && longest > dur ? longest : dur;
    }
    facts.median_ns = nl_quantile_median(lengths, facts.count);
    nl_free(lengths);
    return facts;
}

void nl_kind_claim(const struct nl_scene *scene, unsigned category, struct nl_intervals *where)
{
    const struct nl_trace *trace = scene->trace;
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t slice = trace->kernel.slice[scene->kernels[i]];
        if (is_of_kind(trace, scene->kernels[i], category))
            nl_intervals_add(where, trace->slice.ts[slice], nl_slice_end(trace, slice));
    }
}

int64_t nl_kind_busy(const struct nl_scene *scene)
{
    return scene->wall_ns - scene->parts->idle_ns;
}

void nl_kind_tell(struct nl_scene *scene, struct nl_finding *finding,
                  const struct nl_kind_facts *facts, const char *category, const char *threshold)
{
    const char *from = nl_say(scene,
                              "FROM kernels WHERE category = '%s' AND name NOT GLOB 'copy-start*' "
                              "AND name NOT GLOB 'copy-done*' AND %s",
                              category, nl_scene_on(scene, ""));
    double share = (double)facts->total_ns / (double)nl_kind_busy(scene);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = nl_say(scene, "%s_kernel_ns", category),
                    .says = nl_say(scene, "%s in such kernels: %s of the busy time",
                                   nl_say_ns(scene, facts->total_ns), nl_say_share(scene, share)),
                    .threshold = threshold,
                    .query = nl_say(scene, "SELECT sum(dur) %s", from),
                    .meaning = NL_MEANS_NS,
                    .value = (double)facts->total_ns});
    nl_evidence(finding, (struct nl_evidence){
                             .metric = nl_say(scene, "%s_kernels", category),
                             .says = nl_say(scene, "%s kernels, median %s",
                                            nl_say_count(scene, facts->count),
                                            nl_say_ns(scene, nl_sum_near(facts->median_ns))),
                             .query = nl_say(scene, "SELECT count(*) %s", from),
                             .meaning = NL_MEANS_COUNT,
                             .value = (double)facts->count});
}
