/*
 * finding — see finding.h. Every cause is asked about every device; then those that look at one
 * matter are joined, and all are put in the order of what they alone can win (ranking.h).
 */
#include "findings/finding.h"

#include <math.h>
#include <stdlib.h>

#include "findings/recordadvice.h"
#include "findings/bound.h"
#include "findings/claims.h"
#include "findings/culprit.h"
#include "tables/memo.h"
#include "findings/ranking.h"
#include "findings/remedy.h"
#include "findings/scene.h"
#include "findings/sureness.h"
#include "timeline/replays.h"

static const struct {
    const struct nl_cause *cause;
    unsigned level;
} causes[] = {
#define NL_CAUSE(name, level, title) {&nl_cause_##name, level},
#include "findings/causes.def"
};
#define CAUSE_COUNT (sizeof causes / sizeof causes[0])

const char *nl_severity_name(enum nl_severity severity)
{
    static const char *const names[] = {"info", "warning", "critical"};
    return names[severity];
}

static void abstain(struct nl_findings *findings, const char *cause, const char *reason,
                    const char *record)
{
    nl_grow(&findings->abstained, &findings->abstained_cap, findings->abstained_count + 1);
    findings->abstained[findings->abstained_count++] =
        (struct nl_abstention){cause, reason, record};
}

/* Operators in which kernels of graph replays were captured do for those of the host. */
static bool is_captured(const struct nl_need *need, const struct nl_trace *trace)
{
    const struct nl_need captured = {NL_T_captured, need->column};
    return need->table == NL_T_op && trace->captured.rows &&
           (!need->column || nl_table_column(NL_T_captured, need->column)) &&
           nl_need_is_met(&captured, trace);
}

/* The first need of a cause that the trace does not meet, or NULL. */
static const struct nl_need *lacks(const struct nl_cause *cause, const struct nl_trace *trace)
{
    for (unsigned i = 0; i < cause->need_count; i++)
        if (!nl_need_is_met(&cause->needs[i], trace) && !is_captured(&cause->needs[i], trace))
            return &cause->needs[i];
    return NULL;
}

static void place_finding(const struct nl_scene *scene, struct nl_finding *finding)
{
    finding->rank = scene->device->rank;
    finding->device = scene->device->ordinal;
    finding->steps[0] = scene->first_step;
    finding->steps[1] = scene->last_step;
}

static enum nl_verdict ask(const struct nl_cause *cause, struct nl_scene *scene,
                           struct nl_finding *finding)
{
    if (scene->blind && cause->of_gaps)
        return nl_abstain(finding, "kernels of replayed graphs were not recorded: what looks idle "
                                   "may be theirs");
    return cause->evaluate(scene, finding);
}

/* Asks one cause about every device and keeps the device that loses most. */
static void judge(struct nl_findings *findings, const struct nl_scenes *scenes,
                  const struct nl_account *account, size_t number)
{
    const struct nl_cause *cause = causes[number].cause;
    struct nl_finding best = {0};
    const char *reason = NULL;
    size_t found = 0, worst = 0;
    nl_intervals_init(&best.where);
    for (size_t i = 0; i < scenes->count; i++) {
        struct nl_finding finding = {.cause = cause->id, .not_this_if = cause->not_this_if};
        nl_intervals_init(&finding.where);
        enum nl_verdict verdict = ask(cause, &scenes->items[i], &finding);
        if (verdict == NL_CAUSE_ABSTAINED && !reason)
            reason = finding.reason;
        if (verdict == NL_CAUSE_FOUND && (!found++ || finding.cost_ns > best.cost_ns)) {
            nl_intervals_release(&best.where);
            best = finding;
            worst = i;
            place_finding(&scenes->items[i], &best);
            continue;
        }
        nl_intervals_release(&finding.where);
    }
    if (!found) {
        nl_intervals_release(&best.where);
        if (reason)
            abstain(findings, cause->id, reason, NULL);
        else
            findings->judged++;
        return;
    }
    best.id = cause->id;
    best.level = causes[number].level;
    best.order = (unsigned)number;
    best.suggestions =
        nl_remedies(best.remedies ? best.remedies : cause->id,
                    nl_setting_of(scenes->items[worst].trace, scenes->items[worst].device->device),
                    &findings->arena);
    nl_bound_saving(&best, &scenes->items[worst], account);
    nl_culprit_name(&best, &scenes->items[worst], account);
    best.confidence *= nl_sureness(cause->id, nl_sure_of(&scenes->items[worst]));
    best.devices = found;
    best.of_devices = scenes->count;
    nl_intervals_normalise(&best.where);
    nl_grow(&findings->items, &findings->cap, findings->count + 1);
    findings->items[findings->count++] = best;
}

bool nl_finding_weighs(const struct nl_finding *finding)
{
    if (finding->validity || finding->timeless)
        return finding->evidence_count;
    return finding->evidence_count >= 2 && finding->cost_ns >= NL_FINDING_LEAST_NS &&
           !(finding->cost_share < NL_FINDING_LEAST_SHARE); /* NaN: not known */
}

/* Drops what is not to be printed. */
static void select_printed(struct nl_findings *findings)
{
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->items[i].confidence >= NL_FINDING_CONFIDENCE &&
            nl_finding_weighs(&findings->items[i])) {
            findings->items[kept++] = findings->items[i];
            continue;
        }
        nl_intervals_release(&findings->items[i].where);
        findings->hidden++;
    }
    findings->count = kept;
}

static bool is_about_cpu(const struct nl_cause *cause, const struct nl_scenes *devices)
{
    return cause->on == NL_ON_CPU || (cause->on == NL_ON_BOTH && !devices->count);
}

/* Why gaps of this recording are no idle time; NULL where they are. */
static const char *says_nothing_in_gaps(struct nl_memo *memo)
{
    return isnan(nl_memo_thinned(memo)) ? NULL
                                        : "most events are missing: it was filtered or sampled";
}

/* Of several processes one may replay graphs unrecorded, and the gaps of the others' devices are what they seem. */
static void find_blind(struct nl_scenes *scenes, const struct nl_trace *trace)
{
    uint64_t *counts = nl_replays_by_process(trace);
    for (size_t i = 0; counts && i < scenes->count; i++) {
        const struct nl_account_device *booked = scenes->items[i].booked;
        uint32_t feeder = booked ? booked->feeder : NL_NULL_ROW;
        uint32_t process = feeder == NL_NULL_ROW ? NL_NULL_ROW : trace->thread.process[feeder];
        scenes->items[i].blind = process == NL_NULL_ROW || counts[process];
    }
    nl_free(counts);
}

static struct nl_findings *find(const struct nl_trace *trace,
                                const struct nl_analyze_options *options, struct nl_job *job,
                                struct nl_err *err)
{
    struct nl_findings *findings = nl_zalloc(sizeof *findings);
    struct nl_scenes scenes, hosts = {0};
    nl_arena_init(&findings->arena);
    nl_scenes_init(&scenes, trace, options, &findings->arena);
    if (!scenes.count)
        nl_scenes_init_cpu(&hosts, trace, options, &findings->arena);
    const struct nl_account *account = nl_memo_account(options->memo);
    const char *blind = says_nothing_in_gaps(options->memo);
    find_blind(&scenes, trace);
    bool cancelled = false;
    for (size_t i = 0; i < CAUSE_COUNT && !cancelled; i++) {
        const struct nl_cause *cause = causes[i].cause;
        const struct nl_scenes *asked = is_about_cpu(cause, &scenes) ? &hosts : &scenes;
        const struct nl_need *need = asked->count ? lacks(cause, trace) : NULL;
        cancelled = nl_job_cancelled(job);
        if (!asked->count && cause->on != NL_ON_DEVICE)
            continue; /* its question does not arise */
        if (!asked->count)
            abstain(findings, cause->id, "no work of a device was recorded",
                    nl_advice_record(trace, &(struct nl_need){NL_T_kernel, NULL}));
        else if (need)
            abstain(findings, cause->id, nl_advice_lack(trace, need, &findings->arena),
                    nl_advice_record(trace, need));
        else if (blind && cause->of_gaps)
            abstain(findings, cause->id, blind, NULL);
        else
            judge(findings, asked, account, i);
    }
    if (cancelled) {
        nl_scenes_release(&scenes);
        nl_scenes_release(&hosts);
        nl_findings_free(findings);
        nl_fail(err, NL_INTERRUPTED, "stopped while looking for causes");
        return NULL;
    }
    nl_findings_join(findings);
    if (!options->all)
        select_printed(findings);
    nl_findings_rank(findings);
    nl_findings_claim(findings, &scenes, account);
    nl_scenes_release(&scenes);
    nl_scenes_release(&hosts);
    for (size_t i = 0; i < findings->count; i++)
        nl_finding_surer(&findings->items[i], trace, &findings->arena);
    return findings;
}

struct nl_findings *nl_findings_new(const struct nl_trace *trace,
                                    const struct nl_analyze_options *options, struct nl_job *job,
                                    struct nl_err *err)
{
    struct nl_analyze_options with_memo = *options;
    struct nl_memo *own = options->memo ? NULL : nl_memo_new(trace, &options->window);
    if (own)
        with_memo.memo = own;
    struct nl_findings *findings = find(trace, &with_memo, job, err);
    nl_memo_free(own);
    return findings;
}

void nl_findings_free(struct nl_findings *findings)
{
    if (!findings)
        return;
    for (size_t i = 0; i < findings->count; i++)
        nl_intervals_release(&findings->items[i].where);
    nl_free(findings->items);
    nl_free(findings->abstained);
    nl_arena_free(&findings->arena);
    nl_free(findings);
}
