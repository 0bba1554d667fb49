/*
 * low_copy_bandwidth — large copies far below what the link can do.
 *
 * Signal: host-device copies of at least 4 MB at less than 50 % of the link's practical rate
 * (PCIe 3 about 12, PCIe 4 about 25, PCIe 5 about 50 GB/s). The link follows from the
 * device's name (hostlinks.def); when that is not known, PCIe 3 is assumed, so that only what
 * is slow on any link is named.
 */
#include "findings/copycause.h"
#include "base/sum.h"

#define LARGE_BYTES    4000000
#define MIN_RATE_SHARE 0.5
#define WARN_SHARE     0.02
#define CRITICAL_SHARE 0.20

static bool is_large(const struct nl_trace *trace, uint32_t copy)
{
    return (nl_copy_is_htod(trace, copy) || nl_copy_is_dtoh(trace, copy)) &&
           trace->copy.bytes[copy] != NL_NULL_U64 && trace->copy.bytes[copy] >= LARGE_BYTES;
}

static const struct {
    const char *in_name;
    unsigned generation;
} links[] = {
#define NL_HOST_LINK(in_name, generation) {in_name, generation},
#include "findings/hostlinks.def"
};
#define LINKS (sizeof links / sizeof links[0])

/* What 16 lanes of PCIe give in practice, and what they are called; by generation. */
static const struct {
    const char *what;
    double rate;
} pcie[] = {[0] = {"PCIe 3 (the GPU's link is not known)", 12e9},
            [4] = {"PCIe 4", 25e9},
            [5] = {"PCIe 5", 50e9}};

/* Practical bytes per second of the host link. */
static double link_rate(const struct nl_scene *scene, const char **what)
{
    uint32_t device = scene->device->device;
    struct nl_str name = {"", 0};
    size_t row = 0;
    if (device != NL_NULL_ROW)
        name = nl_trace_name(scene->trace, scene->trace->device.name[device]);
    while (row < LINKS && !nl_str_contains(name, links[row].in_name))
        row++;
    unsigned generation = row < LINKS ? links[row].generation : 0;
    *what = pcie[generation].what;
    return pcie[generation].rate;
}

static enum nl_verdict low_copy_bandwidth_evaluate(struct nl_scene *scene,
                                                   struct nl_finding *finding)
{
    const char *link;
    struct nl_copy_sums sums = nl_copy_sum(scene, is_large);
    double rate = sums.timed_ns ? (double)sums.bytes * 1e9 / (double)sums.timed_ns : 0;
    double practical = link_rate(scene, &link);
    if (!sums.count || rate >= MIN_RATE_SHARE * practical)
        return NL_CAUSE_ABSENT;
    int64_t exposed = nl_scene_exposed(scene, is_large, &finding->where);
    double lost = 1 - rate / practical;
    int64_t cost = nl_sum_near((double)exposed * lost);
    if (nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    int64_t once = nl_copy_once(scene, is_large);
    nl_title(scene, finding, "Large copies run at %s, half or less of what %s can do%s",
             nl_say_rate(scene, rate), link,
             nl_copy_promise(scene, finding, nl_sum_near((double)once * lost)));
    const char *large = "kind IN ('HtoD', 'DtoH') AND bytes >= 4000000";
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "large_copy_bytes_per_s",
            .says =
                nl_say(scene, "%s %s of at least 4 MB %s %s at %s; %s reaches about %s in practice",
                       nl_say_count(scene, sums.count), sums.count == 1 ? "copy" : "copies",
                       sums.count == 1 ? "moves" : "move", nl_say_bytes(scene, sums.bytes),
                       nl_say_rate(scene, rate), link, nl_say_rate(scene, practical)),
            .threshold = "< 50 % of the link",
            .query = nl_say(scene, "SELECT sum(bytes) * 1e9 / sum(dur) FROM copies WHERE %s AND %s",
                            large, nl_scene_on(scene, "")),
            .meaning = NL_MEANS_RATE,
            .value = rate});
    for (size_t i = 0; i < scene->copy_count; i++)
        if (is_large(scene->trace, scene->copies[i]))
            nl_example_slice(scene, evidence, scene->trace->copy.slice[scene->copies[i]]);
    nl_evidence(finding, (struct nl_evidence){.metric = "exposed_large_copy_ns",
                                              .says = nl_say(scene, "nothing hides %s of them",
                                                             nl_say_ns(scene, exposed)),
                                              .query = nl_scene_exposed_sql(scene, large),
                                              .meaning = NL_MEANS_NS,
                                              .value = (double)exposed});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_low_copy_bandwidth = {
    .id = "low_copy_bandwidth",
    .doc = "Host-device copies of at least 4 MB at less than 50 % of the link's practical rate "
           "(PCIe 3: 12, PCIe 4: 25, PCIe 5: 50 GB/s; by the device's name, PCIe 3 if unknown). "
           "Cost: exposed time × (1 − rate / practical rate). Warning over 2 % of wall. If most of "
           "it is in start-up, that part is paid once and not counted as a saving.",
    .needs = {{NL_T_copy, "bytes"}},
    .need_count = 1,
    .evaluate = low_copy_bandwidth_evaluate,
    .not_this_if = "the copies are small (then latency, not bandwidth, limits them) or overlapped",
};
