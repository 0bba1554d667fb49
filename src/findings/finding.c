/*
 * finding — see finding.h. Every cause is asked about every device; then those that look at one
 * matter are joined, and all are put in the order of what they alone can win (ranking.h).
 */
#include "findings/finding.h"
#include "findings/surer.h"

#include <math.h>
#include <stdlib.h>

#include "base/pool.h"
#include "findings/causes.h"
#include "findings/recordadvice.h"
#include "findings/bound.h"
#include "findings/claims.h"
#include "findings/culprit.h"
#include "findings/lategain.h"
#include "tables/memo.h"
#include "findings/ranking.h"
#include "findings/joined.h"
#include "findings/remedy.h"
#include "findings/scene.h"
#include "findings/sureness.h"
#include "timeline/capturewindow.h"
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
    finding->place = nl_scene_name(scene);
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

/* What was said about one cause: of the devices it was found on, the one that loses most. */
struct judged {
    bool asked;
    struct nl_finding best;
    size_t found, worst;
    const char *reason; /* why it abstained, or NULL */
};

/* Causes are judged side by side; what each says is gathered in their order afterwards. */
struct court {
    struct nl_findings *findings;
    const struct nl_trace *trace;
    const struct nl_account *account;
    struct nl_job *job;
    struct nl_scenes devices, hosts;
    const char *blind; /* why gaps of this recording are no idle time; NULL where they are */
    struct judged judged[CAUSE_COUNT];
};

static const struct nl_scenes *asked_of(const struct court *court, const struct nl_cause *cause)
{
    bool cpu = cause->on == NL_ON_CPU || (cause->on == NL_ON_BOTH && !court->devices.count);
    return cpu ? &court->hosts : &court->devices;
}

#define AS_LARGE                                                                                   \
    0.75 /* of the cost where it is largest: findings of two places do not know what each other wins */

/* What was said of single devices while a cause is judged. */
struct heard {
    struct nl_finding told; /* of the device that the answer is about, where another loses more */
    bool has_told;
    int64_t *savings; /* per scene */
};

/* Keeps what is found on the scene where it is the largest, or where the answer is about it. */
static void keep_found(struct judged *judged, struct heard *heard, struct nl_finding *finding,
                       size_t scene, size_t told)
{
    struct nl_finding *best = &judged->best;
    if (!judged->found++ || finding->cost_ns > best->cost_ns) {
        heard->has_told |= judged->found > 1 && judged->worst == told;
        if (heard->has_told && judged->worst == told)
            heard->told = *best;
        else
            nl_intervals_release(&best->where);
        *best = *finding;
        judged->worst = scene;
    } else if (scene == told) {
        heard->told = *finding;
        heard->has_told = true;
    } else {
        nl_intervals_release(&finding->where);
    }
}

static void hear_scene(const struct court *court, const struct nl_cause *cause,
                       struct judged *judged, struct heard *heard, size_t at)
{
    const struct nl_scenes *scenes = asked_of(court, cause);
    struct nl_finding finding = {
        .cause = cause->id, .not_this_if = cause->not_this_if, .alone_ns = NL_NULL_I64};
    nl_intervals_init(&finding.where);
    enum nl_verdict verdict = ask(cause, &scenes->items[at], &finding);
    if (verdict == NL_CAUSE_ABSTAINED && !judged->reason)
        judged->reason = finding.reason;
    if (verdict != NL_CAUSE_FOUND) {
        nl_intervals_release(&finding.where);
        return;
    }
    if (scenes->late.others) {
        struct nl_finding bounded = finding;
        nl_bound_saving(&bounded, &scenes->items[at], court->account);
        heard->savings[at] = bounded.saving_ns[1] > 0 ? bounded.saving_ns[1] : 0;
    }
    keep_found(judged, heard, &finding, at, scenes->told);
}

/* The share of the largest cost from which on that finding is preferred: of captures of one device
 * always, since these are no alternatives. */
static double as_large(const struct judged *judged, const struct nl_scenes *scenes)
{
    const struct nl_scene *worst = &scenes->items[judged->worst],
                          *told = &scenes->items[scenes->told];
    bool captures = worst->device->device != NL_NULL_ROW && told->device->device != NL_NULL_ROW &&
                    worst->device->rank == told->device->rank &&
                    nl_is_same_device(told->trace, worst->device->device, told->device->device);
    return captures ? 0 : AS_LARGE;
}

/* Of findings that are as large on the device that the answer is about, that one's. */
static void prefer_told(struct judged *judged, struct heard *heard, const struct nl_scenes *scenes)
{
    size_t told = scenes->told;
    if (heard->has_told && judged->worst != told && heard->told.cost_ns > 0 &&
        (double)heard->told.cost_ns >= as_large(judged, scenes) * (double)judged->best.cost_ns) {
        struct nl_finding best = judged->best;
        judged->best = heard->told;
        heard->told = best;
        judged->worst = told;
    }
    if (heard->has_told)
        nl_intervals_release(&heard->told.where);
}

static void complete_finding(const struct court *court, const struct nl_cause *cause,
                             struct judged *judged, const struct nl_scenes *scenes,
                             const int64_t *savings)
{
    struct nl_scene *scene = &scenes->items[judged->worst];
    nl_bound_saving(&judged->best, scene, court->account);
    nl_culprit_name(&judged->best, scene, court->account);
    nl_late_cap(&judged->best, cause->saves, scenes, court->account, savings);
    nl_intervals_normalise(&judged->best.where);
}

/* Asks one cause about every device and keeps the device that loses most. */
static void judge_cause(void *context, size_t number, unsigned worker)
{
    struct court *court = context;
    const struct nl_cause *cause = causes[number].cause;
    const struct nl_scenes *scenes = asked_of(court, cause);
    struct judged *judged = &court->judged[number];
    (void)worker;
    nl_intervals_init(&judged->best.where);
    if (nl_job_cancelled(court->job) || !scenes->count || lacks(cause, court->trace) ||
        (court->blind && cause->of_gaps))
        return;
    judged->asked = true;
    struct heard heard = {.savings = nl_zalloc(scenes->count * sizeof *heard.savings)};
    for (size_t i = 0; i < scenes->count; i++)
        hear_scene(court, cause, judged, &heard, i);
    if (judged->found) {
        prefer_told(judged, &heard, scenes);
        complete_finding(court, cause, judged, scenes, heard.savings);
    }
    nl_free(heard.savings);
}

static void add_finding(struct court *court, size_t number)
{
    struct nl_findings *findings = court->findings;
    const struct judged *judged = &court->judged[number];
    const struct nl_scenes *scenes = asked_of(court, causes[number].cause);
    const struct nl_scene *scene = &scenes->items[judged->worst];
    const char *id = causes[number].cause->id;
    struct nl_finding best = judged->best;
    place_finding(scene, &best);
    best.id = id;
    best.level = causes[number].level;
    best.order = (unsigned)number;
    best.suggestions =
        nl_remedies(best.remedies ? best.remedies : id,
                    nl_setting_of(scene->trace, scene->device->device), &findings->arena);
    best.confidence *= nl_sureness(id, nl_sure_of(scene));
    best.devices = judged->found;
    best.of_devices = scenes->count;
    nl_grow(&findings->items, &findings->cap, findings->count + 1);
    findings->items[findings->count++] = best;
}

static void record_outcome(struct court *court, size_t number)
{
    struct nl_findings *findings = court->findings;
    const struct nl_cause *cause = causes[number].cause;
    const struct judged *judged = &court->judged[number];
    const struct nl_trace *trace = court->trace;
    bool scenes = asked_of(court, cause)->count;
    const struct nl_need *need = scenes ? lacks(cause, trace) : NULL;
    if (judged->found)
        add_finding(court, number);
    else if (judged->asked && judged->reason)
        abstain(findings, cause->id, judged->reason, NULL);
    else if (judged->asked)
        findings->judged++;
    else if (need)
        abstain(findings, cause->id, nl_advice_lack(trace, need, &findings->arena),
                nl_advice_record(trace, need));
    else if (scenes)
        abstain(findings, cause->id, court->blind, NULL);
    else if (cause->on == NL_ON_DEVICE) /* else its question does not arise */
        abstain(findings, cause->id, "no work of a device was recorded",
                nl_advice_record(trace, &(struct nl_need){NL_T_kernel, NULL}));
}

bool nl_finding_weighs(const struct nl_finding *finding)
{
    if (finding->validity || finding->timeless)
        return finding->evidence_count;
    return finding->evidence_count >= 2 && finding->cost_ns >= NL_FINDING_MIN_NS &&
           !(finding->cost_share < NL_FINDING_MIN_SHARE); /* NaN: not known */
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

/* Why gaps of this recording are no idle time; NULL where they are. */
static const char *says_nothing_in_gaps(struct nl_memo *memo)
{
    return isnan(nl_memo_thinned(memo)) ? NULL
                                        : "most events are missing: it was filtered or sampled";
}

/* Of several processes one may replay graphs unrecorded, and the gaps of the others'
 * devices are what they seem. */
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

static void release_court(struct court *court)
{
    nl_scenes_release(&court->devices);
    nl_scenes_release(&court->hosts);
}

/* False when it was stopped. */
static bool hear(struct court *court)
{
    nl_parallel(nl_job_threads(court->job), CAUSE_COUNT, judge_cause, court);
    bool stopped = nl_job_cancelled(court->job);
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        if (stopped)
            nl_intervals_release(&court->judged[i].best.where);
        else
            record_outcome(court, i);
    }
    return !stopped;
}

static struct nl_findings *judge_all(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, struct nl_job *job,
                                     struct nl_err *err)
{
    struct nl_findings *findings = nl_zalloc(sizeof *findings);
    struct court court = {.findings = findings, .trace = trace, .job = job};
    nl_arena_init(&findings->arena);
    nl_scenes_init(&court.devices, trace, options, &findings->arena, nl_job_threads(job));
    if (!court.devices.count)
        nl_scenes_init_cpu(&court.hosts, trace, options, &findings->arena);
    court.account = nl_memo_account(options->memo);
    court.blind = says_nothing_in_gaps(options->memo);
    find_blind(&court.devices, trace);
    if (!hear(&court)) {
        release_court(&court);
        nl_findings_free(findings);
        nl_fail(err, NL_INTERRUPTED, "stopped while looking for causes");
        return NULL;
    }
    findings->late_ns = court.devices.late.net_saving_ns;
    nl_findings_join(findings);
    if (!options->all)
        select_printed(findings);
    nl_findings_rank(findings);
    nl_findings_claim(findings, &court.devices, court.account);
    release_court(&court);
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
    struct nl_findings *findings = judge_all(trace, &with_memo, job, err);
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
