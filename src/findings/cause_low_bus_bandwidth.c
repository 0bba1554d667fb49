/*
 * low_bus_bandwidth — large collectives are slow for their size.
 *
 * Signal: of collectives of one operation, size (16 MiB at least) and group, three or more after
 * the first, the shortest reaches less than half of the link's rate (bus bandwidth of nccl-tests;
 * about 80 % can be reached: stas00, ml-engineering). The shortest waits least for other ranks, so
 * waiting is not taken for a slow link. Cost: their time × (1 − rate / 80 % of the link), at most
 * the exposed communication; over 5 % of wall.
 */
#include <math.h>

#include "base/utf8.h"
#include "findings/collectivesizes.h"
#include "base/mem.h"
#include "base/sum.h"
#include "tables/bus_bandwidth.h"
#include "tables/memo.h"

#define WARN_SHARE      0.05
#define CRITICAL_SHARE  0.20
#define MIN_BYTES       ((uint64_t)16 << 20)
#define MIN_COUNT       3
#define MAX_SLOW_SHARE  0.5
#define REACHABLE_SHARE 0.8

struct slow {
    double lost_ns;
    struct nl_collective_size worst;
    double worst_ns, rate, share;
};

static void add_size(const struct nl_scene *scene, const struct nl_collective_size *size,
                     double link, struct slow *slow)
{
    const struct nl_collective_table *table = &scene->trace->collective;
    double rate = (double)table->bytes[size->row] * 1e9 / (double)size->shortest_ns;
    double bus = rate * nl_bus_factor(nl_trace_name(scene->trace, table->operation[size->row]),
                                      table->ranks[size->row]);
    double share = bus / link;
    if (table->bytes[size->row] < MIN_BYTES || size->count < MIN_COUNT || !(share < MAX_SLOW_SHARE))
        return;
    double lost = (double)size->total_ns * (1 - share / REACHABLE_SHARE);
    slow->lost_ns += lost;
    if (lost > slow->worst_ns) {
        slow->worst_ns = lost;
        slow->worst = *size;
        slow->rate = rate;
        slow->share = share;
    }
}

static enum nl_verdict low_bus_bandwidth_evaluate(struct nl_scene *scene,
                                                  struct nl_finding *finding)
{
    uint32_t device = scene->device->device;
    const struct nl_device_peaks *peaks = nl_memo_peaks(scene->memo);
    double link = device == NL_NULL_ROW ? NAN : peaks[device].figures[GPU_LINK];
    struct slow slow = {0};
    size_t count;
    if (!(link > 0))
        return nl_abstain(finding, "the rate of the link between devices is not known");
    struct nl_collective_size *sizes = nl_collective_sizes(scene, &count);
    for (size_t i = 0; i < count; i++)
        add_size(scene, &sizes[i], link, &slow);
    nl_free(sizes);
    int64_t exposed = scene->parts->exposed_comm_ns, lost = nl_sum_near(slow.lost_ns);
    int64_t cost = lost < exposed ? lost : exposed;
    if (nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    const struct nl_collective_table *table = &scene->trace->collective;
    struct nl_str operation = nl_trace_name(scene->trace, table->operation[slow.worst.row]);
    nl_intervals_subtract(&scene->hidden, &scene->compute, &finding->where);
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    nl_title(scene, finding, "%.*s of %s reaches %s of the link on %s: %s lost",
             NL_UP_TO(60, operation), nl_say_bytes(scene, table->bytes[slow.worst.row]),
             nl_say_share(scene, slow.share), nl_scene_name(scene), nl_say_ns(scene, cost));
    const char *where = nl_collective_size_sql(scene, slow.worst.row);
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "algorithm_bytes_per_s",
            .says = nl_say(scene, "%s for the shortest of %s, the bus carries %s of the link's %s",
                           nl_say_rate(scene, slow.rate), nl_say_count(scene, slow.worst.count),
                           nl_say_share(scene, slow.share), nl_say_rate(scene, link)),
            .threshold = "< 50 % of the link",
            .query = nl_say(scene, "SELECT max(bytes) * 1e9 / min(dur) FROM collectives WHERE %s",
                            where),
            .meaning = NL_MEANS_RATE,
            .value = slow.rate});
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "collective_ns",
                    .says = nl_say(scene, "%s in all but the first, which connects the ranks",
                                   nl_say_ns(scene, slow.worst.total_ns)),
                    .query = nl_say(scene, "%s SELECT sum(dur) FROM calls",
                                    nl_collective_calls_sql(scene, where)),
                    .meaning = NL_MEANS_NS,
                    .value = (double)slow.worst.total_ns});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_low_bus_bandwidth = {
    .id = "low_bus_bandwidth",
    .doc = "The shortest of three or more collectives of one operation, group and size (at least "
           "16 MiB) reaches less than 50 % of the link between devices (bus bandwidth as in "
           "nccl-tests). The first collective, which connects the ranks, and groups of one rank do "
           "not count. Cost: their time × (1 − rate / 80 % of the link), at most the exposed "
           "communication; over 5 % of wall. Needs the link's rate (gpus.yaml).",
    .needs = {{NL_T_collective, "bytes"}},
    .need_count = 1,
    .saves = NL_SAVES_ALL,
    .evaluate = low_bus_bandwidth_evaluate,
    .not_this_if = "messages are small (latency limits them), the ranks are on several nodes (the "
                   "network is the limit), or only some collectives are slow (collective_skew)",
};
