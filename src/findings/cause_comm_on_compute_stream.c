/*
 * comm_on_compute_stream — communication queued after computation on the same stream.
 *
 * Signal: over 50 % of communication time is on streams that also run compute kernels (at least as
 * many ns of them), and it is over 5 % of such a stream's work (nsys-ai: same stream 5 %). Cost:
 * exposed time of that communication.
 */
#include "findings/cause.h"
#include "tables/groups.h"
#include "base/sum.h"

#define SAME_SHARE     0.5
#define MIN_SHARE      0.05
#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.20

struct stream_time {
    int64_t comm, compute;
};

/* Lanes of the scene's kernels are in [first, last]; false when it has no communication. */
static bool find_lanes(const struct nl_scene *scene, uint32_t *first, uint32_t *last)
{
    const struct nl_trace *trace = scene->trace;
    bool any = false;
    *first = UINT32_MAX;
    *last = 0;
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t lane = trace->slice.lane[trace->kernel.slice[scene->kernels[i]]];
        *first = lane < *first ? lane : *first;
        *last = lane > *last ? lane : *last;
        any |= trace->kernel.class[scene->kernels[i]] == NL_CLASS_COMMUNICATION;
    }
    return any;
}

static void sum_lane_times(const struct nl_scene *scene, struct stream_time *lanes, uint32_t first)
{
    const struct nl_trace *trace = scene->trace;
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t row = scene->kernels[i], slice = trace->kernel.slice[row];
        struct stream_time *lane = &lanes[trace->slice.lane[slice] - first];
        if (trace->kernel.class[row] == NL_CLASS_COMMUNICATION)
            nl_sum_add(&lane->comm, trace->slice.dur[slice]);
        else
            nl_sum_add(&lane->compute, trace->slice.dur[slice]);
    }
}

static bool is_shared(const struct stream_time *lane)
{
    return lane->comm && (double)lane->comm >= MIN_SHARE * (double)(lane->comm + lane->compute) &&
           lane->compute >= lane->comm;
}

/* Communication of all lanes, and of those shared with compute, of which one stream is named. */
struct sums {
    int64_t same, all, stream;
};

static void sum_shared(const struct nl_trace *trace, const struct stream_time *lanes,
                       uint32_t first, uint32_t last, struct sums *sums)
{
    for (uint32_t lane = first; lane <= last; lane++) {
        nl_sum_add(&sums->all, lanes[lane - first].comm);
        if (!is_shared(&lanes[lane - first]))
            continue;
        nl_sum_add(&sums->same, lanes[lane - first].comm);
        sums->stream = trace->lane.stream[lane];
    }
}

static enum nl_verdict comm_on_compute_stream_evaluate(struct nl_scene *scene,
                                                       struct nl_finding *finding)
{
    const struct nl_trace *trace = scene->trace;
    uint32_t first, last;
    if (!find_lanes(scene, &first, &last))
        return NL_CAUSE_ABSENT;
    struct stream_time *lanes = nl_zalloc(((size_t)last - first + 1) * sizeof *lanes);
    struct sums sums = {.stream = NL_NULL_I64};
    sum_lane_times(scene, lanes, first);
    sum_shared(trace, lanes, first, last, &sums);
    struct nl_intervals mixed;
    nl_intervals_init(&mixed);
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t slice = trace->kernel.slice[scene->kernels[i]];
        if (trace->kernel.class[scene->kernels[i]] == NL_CLASS_COMMUNICATION &&
            is_shared(&lanes[trace->slice.lane[slice] - first]))
            nl_intervals_add(&mixed, trace->slice.ts[slice], nl_slice_end(trace, slice));
    }
    nl_free(lanes);
    nl_intervals_normalise(&mixed);
    nl_intervals_subtract(&mixed, &scene->compute, &finding->where);
    nl_intervals_release(&mixed);
    int64_t cost = nl_intervals_length(&finding->where);
    double share = sums.all ? (double)sums.same / (double)sums.all : 0;
    if (share <= SAME_SHARE || nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    nl_title(scene, finding, "Communication on the compute stream of %s cannot overlap: %s exposed",
             nl_scene_name(scene), nl_say_ns(scene, cost));
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "comm_on_compute_stream_ns",
            .says = nl_say(scene,
                           "%s of communication (%s of all) runs on streams that also "
                           "compute, such as stream %lld",
                           nl_say_ns(scene, sums.same), nl_say_share(scene, share),
                           (long long)sums.stream),
            .threshold = "> 50 % of communication",
            .query = nl_say(scene,
                            "SELECT sum(comm) FROM (SELECT sum(iif(class = 'communication', "
                            "dur, 0)) AS comm, sum(dur) AS work FROM kernels WHERE %s GROUP BY "
                            "stream, context) WHERE comm >= 0.05 * work AND work >= 2 * comm",
                            nl_scene_on(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)sums.same});
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "exposed_comm_ns",
                    .says = nl_say(scene, "exposed communication in all: %s",
                                   nl_say_ns(scene, scene->parts->exposed_comm_ns)),
                    .threshold = "> 5 % of wall",
                    .query = nl_say(scene, "SELECT exposed_comm_ns FROM time_breakdown%s WHERE %s",
                                    nl_scene_args(scene), nl_scene_place(scene, "")),
                    .meaning = NL_MEANS_NS,
                    .value = (double)scene->parts->exposed_comm_ns});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_comm_on_compute_stream = {
    .id = "comm_on_compute_stream",
    .doc = "More than half of all communication time is on streams with at least as much "
           "computation, and makes up at least 5 % of the stream's work. Cost: its exposed part. "
           "Warning over 5 % of wall.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .saves = NL_SAVES_ALL,
    .evaluate = comm_on_compute_stream_evaluate,
    .not_this_if = "communication has streams of its own, or depends on everything that ran before "
                   "it (then a separate stream does not help)",
};
