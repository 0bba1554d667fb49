/* ranking — see ranking.h. There are only some dozens of causes, so a linear search for the next
 * claim is fast enough. */
#include "findings/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"

#define OWN_SHARE      0.2 /* a finding that keeps less of its saving is explained by another */
#define MIN_TIED_SHARE 0.9
#define CRITICAL_SHARE 0.2 /* of the time: from here on a finding's own saving is critical */

static bool same_place(const struct nl_finding *a, const struct nl_finding *b)
{
    return a->rank == b->rank && a->device == b->device;
}

/* The finding that claims next: within the lowest level the one with the largest saving; if several
 * save nearly as much, the first in causes.def. */
static size_t next_claim(const struct nl_finding *items, size_t from, size_t count)
{
    unsigned level = items[from].level;
    int64_t most = INT64_MIN;
    size_t best = from;
    for (size_t i = from; i < count; i++)
        level = items[i].level < level ? items[i].level : level;
    for (size_t i = from; i < count; i++)
        if (items[i].level == level && items[i].saving_ns[1] > most)
            most = items[i].saving_ns[1];
    bool found = false;
    for (size_t i = from; i < count; i++) {
        if (items[i].level != level ||
            (double)items[i].saving_ns[1] < MIN_TIED_SHARE * (double)most)
            continue;
        if (!found || items[i].order < items[best].order)
            best = i;
        found = true;
    }
    return best;
}

static void put_in_claim_order(struct nl_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        size_t best = next_claim(findings->items, i, findings->count);
        struct nl_finding moved = findings->items[best];
        findings->items[best] = findings->items[i];
        findings->items[i] = moved;
    }
}

/* The saving of an earlier claim within the time that both share. */
static double won_in(const struct nl_finding *earlier, int64_t common)
{
    int64_t all = nl_intervals_length(&earlier->where);
    return all > 0 ? (double)earlier->saving_ns[1] * ((double)common / (double)all) : 0;
}

/* Sets the finding's cost and saving beyond earlier claims. If little is left, sets explained_by to
 * the claim that shares most of its time. */
static void claim_time(struct nl_finding *findings, size_t number)
{
    struct nl_finding *finding = &findings[number];
    struct nl_intervals rest, next;
    int64_t most = 0, all = nl_intervals_length(&finding->where);
    const char *owner = NULL;
    double won = 0, saving = (double)finding->saving_ns[1];
    finding->net_cost_ns = finding->cost_ns;
    finding->net_saving_ns = finding->saving_ns[1];
    if (!all)
        return;
    nl_intervals_init(&rest);
    nl_intervals_subtract(&finding->where, &(struct nl_intervals){0}, &rest);
    for (size_t i = 0; i < number; i++) {
        if (!same_place(&findings[i], finding))
            continue;
        int64_t common = nl_intervals_overlap(&findings[i].where, &finding->where);
        won += won_in(&findings[i], common);
        if (common > most) {
            most = common;
            owner = findings[i].id;
        }
        nl_intervals_init(&next);
        nl_intervals_subtract(&rest, &findings[i].where, &next);
        nl_intervals_release(&rest);
        rest = next;
    }
    double own = (double)nl_intervals_length(&rest) / (double)all;
    nl_intervals_release(&rest);
    double wins = saving - won > saving * own ? saving - won : saving * own;
    finding->net_cost_ns = nl_sum_near((double)finding->cost_ns * own);
    finding->net_saving_ns = nl_sum_near(wins);
    if (wins < OWN_SHARE * saving || (own < OWN_SHARE && saving <= 0))
        finding->explained_by = owner;
}

/* The time others wait for a late rank can be saved only once, by whichever finding: after that
 * another rank is the last. */
static void limit(struct nl_findings *findings)
{
    int64_t left = findings->late_ns;
    const struct nl_finding *owner = NULL;
    for (size_t i = 0; i < findings->count; i++) {
        struct nl_finding *finding = &findings->items[i];
        int64_t shared = finding->shared_ns, taken = shared < left ? shared : left;
        if (shared <= 0 || finding->net_saving_ns <= 0)
            continue;
        int64_t wins = finding->net_saving_ns - (shared - taken);
        finding->net_saving_ns = wins > 0 ? wins : 0;
        if ((double)finding->net_saving_ns < OWN_SHARE * (double)finding->saving_ns[1] && owner &&
            !finding->explained_by)
            finding->explained_by = owner->id;
        owner = owner ? owner : finding;
        left -= taken;
    }
}

/* Sets the severity. Remarks stay remarks; a modest finding is never critical. */
static void grade(struct nl_finding *finding)
{
    if (finding->severity == NL_SEVERITY_INFO || finding->validity || isnan(finding->cost_share) ||
        finding->cost_ns <= 0)
        return;
    double wall = (double)finding->cost_ns / finding->cost_share;
    bool critical = (double)finding->net_saving_ns >= CRITICAL_SHARE * wall;
    finding->severity = critical && !finding->modest ? NL_SEVERITY_CRITICAL : NL_SEVERITY_WARNING;
}

/* Findings of their own before explained ones, problems before remarks, then by the saving that
 * only they bring. */
static int by_weight(const void *left, const void *right)
{
    const struct nl_finding *a = left, *b = right;
    bool explained_a = a->explained_by != NULL, explained_b = b->explained_by != NULL;
    if (explained_a != explained_b)
        return explained_a ? 1 : -1;
    bool remark_a = a->severity == NL_SEVERITY_INFO, remark_b = b->severity == NL_SEVERITY_INFO;
    if (remark_a != remark_b)
        return remark_a ? 1 : -1;
    if (a->net_saving_ns != b->net_saving_ns)
        return a->net_saving_ns > b->net_saving_ns ? -1 : 1;
    if (a->cost_ns != b->cost_ns)
        return a->cost_ns > b->cost_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Lists in each owner the findings that explain the same time differently. */
static void tell_alternatives(struct nl_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const char *owner = findings->items[i].explained_by;
        for (size_t j = 0; owner && j < findings->count; j++) {
            size_t at = 0;
            const char **others = findings->items[j].alternatives;
            if (strcmp(findings->items[j].id, owner) != 0)
                continue;
            while (at < NL_FINDING_ALTERNATIVES && others[at])
                at++;
            if (at < NL_FINDING_ALTERNATIVES)
                others[at] = findings->items[i].cause;
        }
    }
}

void nl_findings_rank(struct nl_findings *findings)
{
    if (!findings->count)
        return;
    put_in_claim_order(findings);
    for (size_t i = 0; i < findings->count; i++)
        claim_time(findings->items, i);
    limit(findings);
    for (size_t i = 0; i < findings->count; i++)
        grade(&findings->items[i]);
    qsort(findings->items, findings->count, sizeof *findings->items, by_weight);
    tell_alternatives(findings);
}
