/* copycause — see copycause.h. */
#include "findings/copycause.h"
#include "base/sum.h"
#include "tables/scope.h"

#define WARN_SHARE     0.05 /* TraceLens, nsys-ai: exposed copies over 5 % */
#define CRITICAL_SHARE 0.20 /* XProf: infeed over 20 % */

struct nl_copy_sums nl_copy_sum(const struct nl_scene *scene, nl_copy_test *wanted)
{
    const struct nl_trace *trace = scene->trace;
    struct nl_copy_sums sums = {0};
    for (size_t i = 0; i < scene->copy_count; i++) {
        uint32_t row = scene->copies[i];
        if (!wanted(trace, row))
            continue;
        int64_t dur = trace->slice.dur[trace->copy.slice[row]];
        uint64_t bytes = trace->copy.bytes[row];
        sums.count++;
        nl_sum_add(&sums.total_ns, dur);
        if (bytes == NL_NULL_U64)
            continue;
        uint8_t from = trace->copy.src_memory[row], to = trace->copy.dst_memory[row];
        sums.sized++;
        sums.bytes += bytes;
        nl_sum_add(&sums.timed_ns, dur);
        if (from == NL_MEMORY_PAGEABLE || to == NL_MEMORY_PAGEABLE)
            sums.pageable_bytes += bytes;
        else if (from == NL_MEMORY_PINNED || to == NL_MEMORY_PINNED)
            sums.pinned_bytes += bytes;
    }
    return sums;
}

bool nl_copy_is_htod(const struct nl_trace *trace, uint32_t copy)
{
    return trace->copy.kind[copy] == NL_COPY_HTOD;
}

bool nl_copy_is_dtoh(const struct nl_trace *trace, uint32_t copy)
{
    return trace->copy.kind[copy] == NL_COPY_DTOH;
}

bool nl_copy_is_pageable(const struct nl_trace *trace, uint32_t copy)
{
    return (trace->copy.src_memory[copy] == NL_MEMORY_PAGEABLE ||
            trace->copy.dst_memory[copy] == NL_MEMORY_PAGEABLE) &&
           (nl_copy_is_htod(trace, copy) || nl_copy_is_dtoh(trace, copy));
}

/* "pinned", "pageable" or "host" memory, whichever most bytes come from. */
static const char *memory_of(const struct nl_copy_sums *sums)
{
    if (2 * sums->pinned_bytes > sums->bytes)
        return "pinned";
    return 2 * sums->pageable_bytes > sums->bytes ? "pageable" : "host";
}

static void tell_exposed(struct nl_scene *scene, struct nl_finding *finding, const char *kind,
                         nl_copy_test *wanted)
{
    const char *sql = nl_scene_exposed_sql(scene, nl_say(scene, "kind = '%s'", kind));
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = nl_say(scene, "exposed_%s_ns", kind[0] == 'H' ? "htod" : "dtoh"),
            .says = nl_say(scene,
                           "%s of %s (%s) pass with such copies and neither computation nor "
                           "communication on %s",
                           nl_say_ns(scene, finding->cost_ns), nl_say_ns(scene, scene->wall_ns),
                           nl_say_share(scene, finding->cost_share), nl_scene_name(scene)),
            .threshold = "> 5 % of wall",
            .query = sql,
            .meaning = NL_MEANS_NS,
            .value = (double)finding->cost_ns});
    for (size_t i = 0; i < scene->copy_count; i++)
        if (wanted(scene->trace, scene->copies[i]))
            nl_example_slice(scene, evidence, scene->trace->copy.slice[scene->copies[i]]);
}

/* Copies of both engines, or of several streams, may run at once. */
static const char *tell_link(struct nl_scene *scene, int64_t ns)
{
    double share = nl_scene_share(scene, ns);
    if (share <= 1)
        return nl_say(scene, "the link is busy with them for %s of the time",
                      nl_say_share(scene, share));
    return nl_say(scene, "their durations add up to %s in %s: %.2f of them run at a time",
                  nl_say_ns(scene, ns), nl_say_ns(scene, scene->wall_ns), share);
}

/* Number of copies without a recorded size. */
static const char *unsized(struct nl_scene *scene, const struct nl_copy_sums *sums)
{
    uint64_t count = sums->count - sums->sized;
    return count
               ? nl_say(scene, "; the size of %s more was not recorded", nl_say_count(scene, count))
               : "";
}

static void tell_bytes(struct nl_scene *scene, struct nl_finding *finding, const char *kind,
                       const struct nl_copy_sums *sums)
{
    const char *from =
        nl_say(scene, "FROM copies WHERE kind = '%s' AND %s", kind, nl_scene_on(scene, ""));
    double rate = sums->timed_ns ? (double)sums->bytes * 1e9 / (double)sums->timed_ns : 0;
    if (!sums->timed_ns)
        nl_evidence(finding, (struct nl_evidence){
                                 .metric = "copies",
                                 .says = nl_say(scene, "%s %s, whose sizes were not recorded",
                                                nl_say_count(scene, sums->count),
                                                sums->count == 1 ? "copy" : "copies"),
                                 .query = nl_say(scene, "SELECT count(*) %s", from),
                                 .meaning = NL_MEANS_COUNT,
                                 .value = (double)sums->count});
    else
        nl_evidence(
            finding,
            (struct nl_evidence){
                .metric = "copied_bytes",
                .says = nl_say(scene, "%s in %s %s, %s memory, %s while copying%s",
                               nl_say_bytes(scene, sums->bytes), nl_say_count(scene, sums->sized),
                               sums->sized == 1 ? "copy" : "copies", memory_of(sums),
                               nl_say_rate(scene, rate), unsized(scene, sums)),
                .query = nl_say(scene, "SELECT sum(bytes) %s", from),
                .meaning = NL_MEANS_BYTES,
                .value = (double)sums->bytes});
    nl_evidence(finding, (struct nl_evidence){.metric = "copy_engine_busy_ns",
                                              .says = tell_link(scene, sums->total_ns),
                                              .query = nl_say(scene, "SELECT sum(dur) %s", from),
                                              .meaning = NL_MEANS_NS,
                                              .value = (double)sums->total_ns});
}

/* The usual suspect, where it is innocent. */
static void tell_pageable(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_copy_sums sums = nl_copy_sum(scene, nl_copy_is_pageable);
    if (!sums.count || nl_scene_share(scene, sums.total_ns) >= 0.01)
        return;
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "pageable_bytes",
                             .says = nl_say(scene,
                                            "copies with pageable memory are not the cause: %s of "
                                            "them, %s",
                                            nl_say_count(scene, sums.count),
                                            nl_say_bytes(scene, sums.bytes)),
                             .query = nl_say(scene,
                                             "SELECT sum(bytes) FROM copies WHERE kind IN ('HtoD', "
                                             "'DtoH') AND (src_memory = 'pageable' OR dst_memory = "
                                             "'pageable') AND %s",
                                             nl_scene_on(scene, "")),
                             .meaning = NL_MEANS_BYTES,
                             .value = (double)sums.bytes});
}

/* Time that the device idles, for contrast: a device that copies is not idle. */
static void tell_idle(struct nl_scene *scene, struct nl_finding *finding)
{
    double share = nl_scene_share(scene, scene->parts->idle_ns);
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "idle_share",
                             .says = nl_say(scene, "the device is idle %s of the time: it %s",
                                            nl_say_share(scene, share),
                                            share < WARN_SHARE ? "waits for data, not for the CPU"
                                                               : "also waits for other things"),
                             .query = nl_say(scene,
                                             "SELECT idle_ns * 1.0 / wall_ns FROM time_breakdown%s "
                                             "WHERE %s",
                                             nl_scene_args(scene), nl_scene_place(scene, "")),
                             .meaning = NL_MEANS_SHARE,
                             .value = share});
}

bool nl_copy_is_once(const struct nl_scene *scene, uint32_t copy)
{
    const struct nl_trace *trace = scene->trace;
    bool fetched = scene->steps && nl_copy_is_dtoh(trace, copy);
    return scene->booked && (fetched || nl_copy_is_htod(trace, copy)) &&
           trace->slice.ts[trace->copy.slice[copy]] < scene->booked->startup_end;
}

int64_t nl_copy_once(const struct nl_scene *scene, nl_copy_test *wanted)
{
    const struct nl_trace *trace = scene->trace;
    struct nl_intervals all, exposed;
    struct nl_scope scope;
    nl_intervals_init(&all);
    nl_intervals_init(&exposed);
    nl_scope_init(&scope, trace, scene->window);
    for (size_t i = 0; i < scene->copy_count; i++) {
        uint32_t copy = scene->copies[i];
        int64_t start, end;
        if (wanted(trace, copy) && nl_copy_is_once(scene, copy) &&
            nl_scope_slice(&scope, trace->copy.slice[copy], &start, &end))
            nl_intervals_add(&all, start,
                             end < scene->booked->startup_end ? end : scene->booked->startup_end);
    }
    nl_scope_release(&scope);
    nl_intervals_normalise(&all);
    nl_intervals_subtract(&all, &scene->hidden, &exposed);
    int64_t ns = nl_intervals_length(&exposed);
    nl_intervals_release(&all);
    nl_intervals_release(&exposed);
    return ns;
}

const char *nl_copy_promise(struct nl_scene *scene, struct nl_finding *finding, int64_t once)
{
    once = once < finding->cost_ns ? once : finding->cost_ns;
    if (2 * once <= finding->cost_ns)
        return "";
    finding->saving_ns[1] = finding->cost_ns - once;
    finding->saving_ns[0] = finding->saving_ns[1] / 2;
    if (!finding->saving_ns[1])
        finding->severity = NL_SEVERITY_INFO;
    return once < finding->cost_ns
               ? nl_say(scene, " (%s of it once, in start-up)", nl_say_ns(scene, once))
               : " (once, in start-up)";
}

enum nl_verdict nl_copy_in_critical_path(struct nl_scene *scene, struct nl_finding *finding,
                                         const char *kind, nl_copy_test *wanted)
{
    int64_t exposed = nl_scene_exposed(scene, wanted, &finding->where);
    if (nl_scene_share(scene, exposed) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    struct nl_copy_sums sums = nl_copy_sum(scene, wanted);
    nl_find(scene, finding, exposed, CRITICAL_SHARE, 1);
    const char *data =
        nl_say(scene, sums.sized < sums.count ? ", more than %s of %s data" : ", %s of %s data",
               nl_say_bytes(scene, sums.bytes), memory_of(&sums));
    const char *once = nl_copy_promise(scene, finding, nl_copy_once(scene, wanted));
    if (*once)
        finding->remedies =
            kind[0] == 'H' ? "h2d_in_critical_path:once" : "d2h_in_critical_path:once";
    nl_title(
        scene, finding, "%s copies are exposed (not overlapped with compute): %s of %s on %s%s%s",
        kind[0] == 'H' ? "Host-to-device" : "Device-to-host", nl_say_ns(scene, exposed),
        nl_say_ns(scene, scene->wall_ns), nl_scene_name(scene), once, sums.timed_ns ? data : "");
    tell_exposed(scene, finding, kind, wanted);
    tell_bytes(scene, finding, kind, &sums);
    tell_idle(scene, finding);
    tell_pageable(scene, finding);
    return NL_CAUSE_FOUND;
}
