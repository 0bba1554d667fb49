/*
 * clocks_down — the device computes at a lower clock than it can, because of
 * heat, power or a setting.
 *
 * Signal: the driver's reasons (root causes power_cap, thermal_throttle, clock_not_boosted) while
 * the device computes, and readings of a clock below its highest. Cost: what work that follows the
 * clock loses by it, over 1 % of wall for heat, 3 % for power and settings. Power is the ceiling of
 * large products on many GPUs, so it is never critical.
 */
#include "findings/heldclock.h"
#include "base/sum.h"

static const struct {
    const char *remedies, *title, *says;
    double warn, critical;
} ways[NL_CLOCK_REASONS] = {
    [NL_CLOCK_HEAT] = {NULL, "lowers its clock because of heat", "a slowdown by heat", 0.01, 0.10},
    [NL_CLOCK_POWER] = {"clocks_down:power", "lowers its clock to stay within its power limit",
                        "the power limit", 0.03, 1},
    [NL_CLOCK_SETTING] = {"clocks_down:setting", "runs at a clock that was set below its highest",
                          "applications clocks", 0.03, 1},
};

static const char *during(const struct nl_scene *scene)
{
    if (!scene->window->has_time)
        return "";
    int64_t first = scene->trace->first_ts;
    return nl_say(scene, " AND ts >= %lld AND ts < %lld", (long long)(scene->window->start - first),
                  (long long)(scene->window->end - first));
}

static void say_readings(struct nl_scene *scene, struct nl_finding *finding,
                         const struct nl_held_clock *held, const struct nl_held_readings *seen,
                         enum nl_clock_reason reason)
{
    unsigned long long bits = nl_clock_reason_bits[reason];
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "readings_held_down",
                    .says = nl_say(scene, "%s of %s readings of the driver's reasons name %s",
                                   nl_say_count(scene, seen->with_bits),
                                   nl_say_count(scene, seen->reasons), ways[reason].says),
                    .query = nl_say(scene,
                                    "SELECT count(*) FROM counters WHERE series = %u AND "
                                    "CAST(value AS INTEGER) & %llu%s",
                                    held->reasons, bits, during(scene)),
                    .meaning = NL_MEANS_COUNT,
                    .value = (double)seen->with_bits});
    if (!seen->clocks)
        return;
    double mean = seen->sum_mhz / (double)seen->clocks;
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "clock_mhz",
            .says =
                nl_say(scene, "the clock reads %.0f MHz on average then; %.0f MHz is its highest",
                       mean, held->top_mhz),
            .threshold = "below the highest",
            .query = nl_say(
                scene,
                "SELECT avg(value) FROM (SELECT series, value, max(CASE WHEN series = %u THEN "
                "CAST(value AS INTEGER) & %llu END) OVER (PARTITION BY readings) AS under FROM "
                "(SELECT *, sum(series = %u) OVER (ORDER BY ts, series = %u) AS readings FROM "
                "counters WHERE "
                "series IN (%u, %u)%s)) WHERE series = %u AND under",
                held->reasons, bits, held->reasons, held->clock, held->reasons, held->clock,
                during(scene), held->clock),
            .meaning = NL_MEANS_NUMBER,
            .value = mean});
}

static enum nl_clock_reason worst_of(const struct nl_held_clock *held)
{
    enum nl_clock_reason worst = NL_CLOCK_HEAT;
    for (size_t i = 1; i < NL_CLOCK_REASONS; i++)
        if (held->by[i].lost_ns > held->by[worst].lost_ns)
            worst = (enum nl_clock_reason)i;
    return worst;
}

static enum nl_verdict clocks_down_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_held_clock held = nl_held_clock(scene, NL_CLOCK_REASONS, NULL);
    if (held.clock == NL_NULL_ROW || held.reasons == NL_NULL_ROW)
        return nl_abstain(finding, "the device's clock and the reasons for it were not recorded");
    if (!held.computing_ns)
        return nl_abstain(finding, "no clock reading was taken while the device computes");
    enum nl_clock_reason worst = worst_of(&held);
    int64_t lost = nl_sum_near(held.by[worst].lost_ns); /* less than computing_ns */
    if (lost <= 0 || nl_scene_share(scene, lost) < ways[worst].warn)
        return NL_CAUSE_ABSENT;
    (void)nl_held_clock(scene, worst, &finding->where);
    nl_find(scene, finding, lost, ways[worst].critical, 1);
    finding->saving_ns[0] = 0;
    finding->modest = worst != NL_CLOCK_HEAT;
    finding->remedies = ways[worst].remedies;
    nl_title(scene, finding, "%s %s: in %s of its computing", nl_scene_name(scene),
             ways[worst].title,
             nl_say_share(scene, (double)held.by[worst].held_ns / (double)held.computing_ns));
    struct nl_held_readings seen = nl_held_readings(scene, &held, nl_clock_reason_bits[worst]);
    say_readings(scene, finding, &held, &seen, worst);
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_clocks_down = {
    .id = "clocks_down",
    .doc = "While the device computes, its driver reports heat (hardware slowdown, thermal), power "
           "(power cap, power brake) or applications clocks as the reason for its clock, and the "
           "clock is below its maximum. Cost: time computing under that reason × (1 − clock / "
           "maximum clock), over 1 % of wall for heat, 3 % for power and settings; saving 0 to "
           "that. Needs telemetry (neurolens run).",
    .needs = {{NL_T_kernel, NULL}, {NL_T_counter, NULL}},
    .need_count = 2,
    .evaluate = clocks_down_evaluate,
    .not_this_if =
        "the kernels are memory-bound: their time does not follow the clock of the multiprocessors",
};
