/*
 * dataloader_stall — the device waits for input data.
 *
 * Signal: host-late gaps ∩ slices of fetching data (DataLoader … __next__, _next_data, data_load
 * and their like) on threads that launch. Warning over 5 % of wall (TensorBoard plugin), critical
 * over 20 % (XProf input-pipeline analyser: highly input bound).
 */
#include "findings/cause.h"
#include "base/sum.h"

#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.20

static const char *const marks[] = {"DataLoader", "dataloader", "data_load",   "data load",
                                    "_next_data", "next_batch", "fetch_batch", "get_batch"};
#define MARK_COUNT (sizeof marks / sizeof marks[0])

static bool is_fetch_name(struct nl_str name)
{
    for (size_t i = 0; i < MARK_COUNT; i++)
        if (nl_str_contains(name, marks[i]))
            return true;
    return false;
}

static bool is_host_range(unsigned kind)
{
    return kind == NL_KIND_OP || kind == NL_KIND_NVTX || kind == NL_KIND_PYTHON;
}

/* Fetching on threads that launch work of this device, between its first and its last work: workers
 * fetch in parallel. */
static size_t find_fetches(const struct nl_scene *scene, struct nl_intervals *out)
{
    const struct nl_trace *trace = scene->trace;
    uint8_t *names = nl_zalloc((size_t)trace->names.count + 1);
    uint8_t *threads = nl_zalloc((size_t)trace->thread.rows + 1);
    size_t gaps, count = 0;
    bool any = false;
    int64_t first = scene->parts->start_ns, last = nl_sum(first, scene->wall_ns);
    const struct nl_idle_gap *gap = nl_scene_gaps(scene, &gaps);
    for (uint32_t id = 0; id < trace->names.count; id++)
        any |= names[id] = is_fetch_name(nl_trace_name(trace, id));
    for (size_t i = 0; i < gaps; i++) {
        uint32_t launch = gap[i].launch;
        uint32_t thread =
            launch == NL_NULL_ROW ? NL_NULL_ROW : trace->lane.thread[trace->slice.lane[launch]];
        if (thread != NL_NULL_ROW)
            threads[thread] = 1;
    }
    for (uint32_t slice = 0; any && slice < trace->slice.rows; slice++) {
        uint32_t thread = trace->lane.thread[trace->slice.lane[slice]];
        if (!names[trace->slice.name[slice]] || !is_host_range(trace->slice.kind[slice]) ||
            thread == NL_NULL_ROW || !threads[thread])
            continue;
        int64_t start = trace->slice.ts[slice], end = nl_slice_end(trace, slice);
        start = start > first ? start : first;
        end = end < last ? end : last;
        if (start >= end)
            continue;
        nl_intervals_add(out, start, end);
        count++;
    }
    nl_free(names);
    nl_free(threads);
    nl_intervals_normalise(out);
    return count;
}

static bool is_host_late(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    (void)scene;
    return gap->class == NL_IDLE_HOST_LATE;
}

static const char *name_condition(const struct nl_scene *scene)
{
    const char *text = "kind IN ('op', 'nvtx', 'python') AND (";
    for (size_t i = 0; i < MARK_COUNT; i++)
        text = nl_say(scene, "%s%sname GLOB '*%s*'", text, i ? " OR " : "", marks[i]);
    return nl_say(scene,
                  "%s) AND lane IN (SELECT id FROM lanes WHERE thread IN (SELECT l.thread FROM "
                  "idle_gaps%s g JOIN slices s ON s.id = g.launch JOIN lanes l ON l.id = s.lane "
                  "WHERE %s))",
                  text, nl_scene_args(scene), nl_scene_place(scene, "g."));
}

static enum nl_verdict dataloader_stall_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_intervals late, fetches;
    nl_intervals_init(&late);
    nl_intervals_init(&fetches);
    nl_scene_sum_gaps(scene, is_host_late, NULL, &late);
    nl_intervals_normalise(&late);
    size_t count = late.count ? find_fetches(scene, &fetches) : 0;
    nl_intervals_intersect(&late, &fetches, &finding->where);
    int64_t cost = nl_intervals_length(&finding->where), fetching = nl_intervals_length(&fetches);
    nl_intervals_release(&late);
    nl_intervals_release(&fetches);
    if (nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    const char *set =
        nl_say(scene, "(SELECT intervals(ts, dur) FROM slices WHERE %s)", name_condition(scene));
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    nl_title(scene, finding, "%s waits for input data for %s of %s", nl_scene_name(scene),
             nl_say_ns(scene, cost), nl_say_ns(scene, scene->wall_ns));
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "dataloader_idle_ns",
            .says = nl_say(scene,
                           "%s (%s of the time) the device has nothing to do while the thread "
                           "that feeds it is fetching data",
                           nl_say_ns(scene, cost), nl_say_share(scene, finding->cost_share)),
            .threshold = "> 5 % of wall",
            .query = nl_say(scene,
                            "SELECT overlap_ns(%s, (SELECT intervals(ts, dur) FROM idle_gaps%s "
                            "WHERE class = 'host_late' AND %s))",
                            set, nl_scene_args(scene), nl_scene_place(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)cost});
    nl_scene_gap_examples(scene, is_host_late, evidence);
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "fetching_ns",
                             .says = nl_say(scene,
                                            "fetching takes %s in %s calls: %s of it is not "
                                            "hidden behind the device's work",
                                            nl_say_ns(scene, fetching), nl_say_count(scene, count),
                                            nl_say_share(scene, (double)cost / (double)fetching)),
                             .query = nl_say(
                                 scene,
                                 "SELECT overlap_ns(%s, (SELECT intervals(ts, dur) "
                                 "FROM (SELECT %lld AS ts, %lld AS dur)))",
                                 set, (long long)(scene->parts->start_ns - scene->trace->first_ts),
                                 (long long)scene->wall_ns),
                             .meaning = NL_MEANS_NS,
                             .value = (double)fetching});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_dataloader_stall = {
    .id = "dataloader_stall",
    .doc = "Host-bound gaps during which a thread that launches this device's work is inside "
           "DataLoader __next__ or another range that fetches data. Warning over 5 % of wall.",
    .needs = {{NL_T_api, NULL}, {NL_T_kernel, "correlation"}},
    .need_count = 2,
    .of_gaps = true,
    .evaluate = dataloader_stall_evaluate,
    .not_this_if = "the device works while data is fetched (only idle time counts), or the "
                   "fetching threads launch nothing",
};
