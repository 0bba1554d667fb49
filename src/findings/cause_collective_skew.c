/*
 * collective_skew — ranks or devices come late to their collectives, and the
 * others wait inside them.
 *
 * Signal: with several ranks, or devices that run the same, the account's exposed_comm_wait (from
 * the arrival of this one to the last one's); with one what collectives of one operation, size and
 * group (at least ten after the first, which connects the ranks) take beyond the shortest of them,
 * at most the exposed communication. Over 5 % of wall.
 */
#include "base/utf8.h"
#include "findings/bookcause.h"
#include "findings/collectivesizes.h"
#include "base/mem.h"
#include "base/sum.h"

#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.20
#define MIN_COUNT      10

static bool is_wait(const struct nl_scene *scene, const struct nl_account_row *row)
{
    (void)scene;
    return row->part == NL_BOOKED_COMM_WAIT && row->inside;
}

static bool is_comm(const struct nl_scene *scene, const struct nl_account_row *row)
{
    (void)scene;
    return row->inside && (row->part == NL_BOOKED_COMM_WAIT ||
                           row->part == NL_BOOKED_COMM_TRANSFER || row->part == NL_BOOKED_COMM);
}

/* The member that the others wait for longest; NL_NULL_ROW unknown. */
static uint32_t last_member(const struct nl_scene *scene, int64_t *ns)
{
    int64_t *sums = nl_zalloc((scene->account->member_count + 1) * sizeof *sums);
    uint32_t best = NL_NULL_ROW;
    *ns = 0;
    for (size_t i = 0; i < scene->booked->rows; i++) {
        const struct nl_account_row *row = &scene->account->rows[scene->booked->first_row + i];
        if (!is_wait(scene, row) || row->late == NL_NULL_ROW)
            continue;
        nl_sum_add(&sums[row->late], row->ns);
        if (sums[row->late] > *ns) {
            *ns = sums[row->late];
            best = row->late;
        }
    }
    nl_free(sums);
    return best;
}

static void claim_exposed(const struct nl_scene *scene, struct nl_intervals *out)
{
    nl_intervals_subtract(&scene->hidden, &scene->compute, out);
}

/* `stretches` of waiting: a single one is no pattern. */
static enum nl_verdict judge_ranks(struct nl_scene *scene, struct nl_finding *finding, int64_t wait,
                                   uint64_t stretches)
{
    struct nl_booked all = nl_booked_sum(scene, is_comm);
    int64_t most;
    uint32_t late = last_member(scene, &most);
    const char *others = scene->device->rank == NL_NULL_I64 ? "other devices" : "other ranks";
    const char *whom =
        late != NL_NULL_ROW && most >= wait / 2 ? nl_booked_member(scene, late) : others;
    claim_exposed(scene, &finding->where);
    nl_find(scene, finding, wait, CRITICAL_SHARE, 1);
    finding->remedies = "collective_skew:ranks";
    finding->modest = stretches == 1;
    if (scene->late->others &&
        scene->late->net_saving_ns < wait) { /* then another rank is the last */
        finding->saving_ns[1] = scene->late->net_saving_ns;
        finding->saving_ns[0] = scene->late->net_saving_ns / 2;
    }
    nl_title(scene, finding,
             "%s waits %s inside collectives for %s: %s of its exposed communication",
             nl_scene_name(scene), nl_say_ns(scene, wait), whom,
             nl_say_share(scene, (double)wait / (double)all.ns));
    nl_prove(
        scene, finding,
        (struct nl_evidence){
            .metric = "collective_wait_ns",
            .threshold = "> 5 % of wall",
            .query = nl_booked_sql(scene, "sum(ns)", "inside = 1 AND part = 'exposed_comm_wait'"),
            .meaning = NL_MEANS_NS,
            .value = (double)wait},
        "%s from its arrival to that of the last one", nl_say_ns(scene, wait));
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "exposed_comm_ns",
                                  .query = nl_booked_sql(
                                      scene, "sum(ns)", "inside = 1 AND part LIKE 'exposed_comm%'"),
                                  .meaning = NL_MEANS_NS,
                                  .value = (double)all.ns},
             "of %s exposed communication", nl_say_ns(scene, all.ns));
    return NL_CAUSE_FOUND;
}

struct beyond {
    int64_t ns;
    uint64_t count;
    struct nl_collective_size worst;
};

static struct beyond find_beyond(const struct nl_scene *scene)
{
    size_t count;
    struct beyond beyond = {0};
    int64_t most = 0;
    struct nl_collective_size *sizes = nl_collective_sizes(scene, &count);
    for (size_t i = 0; i < count; i++) {
        int64_t excess = nl_sum_near((double)sizes[i].total_ns -
                                     (double)sizes[i].shortest_ns * (double)sizes[i].count);
        if (sizes[i].count < MIN_COUNT)
            continue;
        nl_sum_add(&beyond.ns, excess);
        beyond.count += sizes[i].count;
        if (excess > most) {
            most = excess;
            beyond.worst = sizes[i];
        }
    }
    nl_free(sizes);
    return beyond;
}

static enum nl_verdict judge_alone(struct nl_scene *scene, struct nl_finding *finding)
{
    struct beyond beyond = find_beyond(scene);
    int64_t exposed = scene->parts->exposed_comm_ns,
            cost = beyond.ns < exposed ? beyond.ns : exposed;
    if (nl_scene_share(scene, cost) <= WARN_SHARE || beyond.ns / 2 < beyond.worst.shortest_ns)
        return NL_CAUSE_ABSENT;
    claim_exposed(scene, &finding->where);
    nl_find(scene, finding, cost, CRITICAL_SHARE, NL_DOUBT_ONE_RANK);
    finding->saving_ns[0] = 0;
    struct nl_str operation =
        nl_trace_name(scene->trace, scene->trace->collective.operation[beyond.worst.row]);
    nl_title(scene, finding,
             "%s probably waits for other ranks for %s of its exposed communication, most in %.*s: "
             "the shortest of the same size take far less",
             nl_scene_name(scene), nl_say_ns(scene, cost), NL_UP_TO(60, operation));
    nl_prove(
        scene, finding,
        (struct nl_evidence){
            .metric = "beyond_shortest_ns",
            .threshold = "> 5 % of wall",
            .query = nl_say(scene,
                            "%s SELECT sum(t) FROM (SELECT sum(dur - shortest) AS t FROM calls "
                            "GROUP BY operation, bytes, group_name HAVING count(*) >= %d)",
                            nl_collective_calls_sql(scene, nl_collectives_sql(scene)), MIN_COUNT),
            .meaning = NL_MEANS_NS,
            .value = (double)beyond.ns},
        "%s beyond the shortest collective of the same operation, size and group",
        nl_say_ns(scene, beyond.ns));
    nl_prove(
        scene, finding,
        (struct nl_evidence){.metric = "shortest_ns",
                             .query = nl_say(scene, "SELECT min(dur) FROM collectives WHERE %s",
                                             nl_collective_size_sql(scene, beyond.worst.row)),
                             .meaning = NL_MEANS_NS,
                             .value = (double)beyond.worst.shortest_ns},
        "%s of %s take %s on average, the shortest %s", nl_say_count(scene, beyond.worst.count),
        nl_say_bytes(scene, scene->trace->collective.bytes[beyond.worst.row]),
        nl_say_ns(scene, beyond.worst.total_ns / (int64_t)beyond.worst.count),
        nl_say_ns(scene, beyond.worst.shortest_ns));
    return NL_CAUSE_FOUND;
}

static enum nl_verdict collective_skew_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_booked wait = nl_booked_sum(scene, is_wait), all = nl_booked_sum(scene, is_comm);
    if (wait.ns > 0)
        return nl_scene_share(scene, wait.ns) > WARN_SHARE
                   ? judge_ranks(scene, finding, wait.ns, wait.count)
                   : NL_CAUSE_ABSENT;
    if (!all.ns || scene->trace->collective.rows == 0)
        return NL_CAUSE_ABSENT;
    return judge_alone(scene, finding);
}

const struct nl_cause nl_cause_collective_skew = {
    .id = "collective_skew",
    .doc = "Waiting inside collectives for ranks that arrive later. With several ranks, or devices "
           "that run the same work: the account's exposed_comm_wait. With one rank: in ten or more "
           "collectives of one operation, size and group, the time beyond the shortest, at most "
           "the exposed communication (without the first, which connects the ranks, and without "
           "groups of one rank). Over 5 % of wall.",
    .needs = {{NL_T_collective, NULL}},
    .need_count = 1,
    .saves = NL_SAVES_WAITS,
    .evaluate = collective_skew_evaluate,
    .not_this_if = "all collectives of a size take equally long (then the link is the limit: "
                   "low_bus_bandwidth), or computation overlaps with them",
};
