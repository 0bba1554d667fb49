/*
 * joined — several views of one matter become one finding. Exposed copies are looked at by
 * direction and by the kind of memory: whoever reads about them wants one line with both. The
 * larger direction keeps its id; the other's evidence, advice and time go into it.
 */
#include <string.h>

#include "base/sum.h"
#include "base/units.h"
#include "findings/joined.h"
#include "findings/ranking.h"

#define MIN_COMMON_SHARE 0.5

static struct nl_finding *find_finding(struct nl_findings *findings, const char *cause)
{
    for (size_t i = 0; i < findings->count; i++)
        if (!strcmp(findings->items[i].cause, cause))
            return &findings->items[i];
    return NULL;
}

/* Remembers what went into it. */
static void add_also(struct nl_finding *into, const char *cause)
{
    size_t at = 0;
    while (at < NL_FINDING_ALSO && into->also[at])
        at++;
    if (at < NL_FINDING_ALSO)
        into->also[at] = cause;
}

static void drop(struct nl_findings *findings, struct nl_finding *finding)
{
    size_t index = (size_t)(finding - findings->items);
    nl_intervals_release(&finding->where);
    memmove(finding, finding + 1, (findings->count - index - 1) * sizeof *finding);
    findings->count--;
}

static void add_evidence(struct nl_finding *to, const struct nl_finding *from, size_t most)
{
    for (size_t i = 0; i < from->evidence_count && i < most; i++)
        if (to->evidence_count < NL_FINDING_EVIDENCE)
            to->evidence[to->evidence_count++] = from->evidence[i];
}

/* `first` of `from` before those of `to`, each action once. */
static void add_advice(struct nl_findings *findings, struct nl_finding *to,
                       const struct nl_finding *from, size_t first)
{
    struct nl_suggestion *all =
        nl_arena_alloc(&findings->arena, (NL_FINDING_SUGGESTIONS + 1) * sizeof *all);
    size_t count = 0;
    for (size_t i = 0; from->suggestions && i < first && from->suggestions[i].action; i++)
        all[count++] = from->suggestions[i];
    for (const struct nl_suggestion *it = to->suggestions;
         it && it->action && count < NL_FINDING_SUGGESTIONS; it++) {
        bool twice = false;
        for (size_t i = 0; i < count; i++)
            twice = twice || !strcmp(all[i].action, it->action);
        if (!twice)
            all[count++] = *it;
    }
    all[count] = (struct nl_suggestion){NULL, NULL, NULL};
    to->suggestions = all;
}

/* Adds the time of `from` to `to`. */
static void add_time(struct nl_finding *to, const struct nl_finding *from)
{
    struct nl_intervals both;
    nl_intervals_init(&both);
    nl_intervals_union(&to->where, &from->where, &both);
    nl_intervals_release(&to->where);
    to->where = both;
    double wall = to->cost_share > 0 ? (double)to->cost_ns / to->cost_share : 0;
    to->cost_ns = nl_intervals_length(&both);
    to->cost_share = wall > 0 ? (double)to->cost_ns / wall : to->cost_share;
    for (size_t end = 0; end < 2; end++) {
        nl_sum_add(&to->saving_ns[end], from->saving_ns[end]);
        if (to->saving_ns[end] > to->cost_ns)
            to->saving_ns[end] = to->cost_ns;
    }
}

/* Both directions: one title with both times. */
static void join_directions(struct nl_findings *findings, struct nl_finding *to,
                            const struct nl_finding *from)
{
    char all[NL_UNIT_TEXT], down[NL_UNIT_TEXT], up[NL_UNIT_TEXT], share[NL_UNIT_TEXT];
    bool to_device = !strcmp(to->cause, "h2d_in_critical_path");
    nl_format_ns(down, to_device ? to->cost_ns : from->cost_ns);
    nl_format_ns(up, to_device ? from->cost_ns : to->cost_ns);
    add_time(to, from);
    nl_format_ns(all, to->cost_ns);
    nl_format_percent(share, to->cost_share);
    to->title = nl_arena_format(
        &findings->arena,
        "Copies between host and device are exposed (not overlapped with "
        "compute)%s%s: %s, %s of the time; %s to the device, %s to the host%s%s",
        to->of_devices > 1 ? " on " : "", to->of_devices > 1 ? to->place : "", all, share, down, up,
        to->culprit ? ", copied by " : "", to->culprit ? to->culprit : "");
    add_evidence(to, from, 2);
    add_also(to, from->cause);
}

static bool is_mostly(const struct nl_finding *part, const struct nl_finding *whole)
{
    int64_t common = nl_intervals_overlap(&part->where, &whole->where);
    return (double)common >= MIN_COMMON_SHARE * (double)nl_intervals_length(&part->where) &&
           part->rank == whole->rank && part->device == whole->device;
}

void nl_findings_join(struct nl_findings *findings)
{
    struct nl_finding *htod = find_finding(findings, "h2d_in_critical_path");
    struct nl_finding *dtoh = find_finding(findings, "d2h_in_critical_path");
    if (htod && dtoh && htod->rank == dtoh->rank && htod->device == dtoh->device) {
        struct nl_finding *less = htod->cost_ns < dtoh->cost_ns ? htod : dtoh;
        join_directions(findings, less == htod ? dtoh : htod, less);
        drop(findings, less);
    }
    struct nl_finding *products = find_finding(findings, "gemm_memory_bound");
    struct nl_finding *decode = find_finding(findings, "decode_weight_bound");
    if (products && decode && is_mostly(products, decode)) {
        add_evidence(decode, products, 2);
        add_also(decode, products->cause);
        drop(findings, products);
    }
    for (size_t i = 0; i < 2; i++) {
        struct nl_finding *pageable = find_finding(findings, "pageable_memcpy");
        struct nl_finding *copies =
            find_finding(findings, i ? "d2h_in_critical_path" : "h2d_in_critical_path");
        if (!pageable || !copies || !is_mostly(pageable, copies))
            continue;
        add_evidence(copies, pageable, 1);
        add_also(copies, pageable->cause);
        add_advice(findings, copies, pageable, 1);
        drop(findings, pageable);
    }
}
