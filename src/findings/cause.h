/*
 * cause — what the files cause_*.c are made of: the scene they look at (one device under one
 * window), and verbs to write down what they found. Private to the findings engine.
 *
 *     static enum nl_verdict evaluate(struct nl_scene *scene, struct nl_finding *finding)
 *     {
 *         int64_t cost = ...;
 *         if (nl_scene_share(scene, cost) < 0.05)
 *             return NL_CAUSE_ABSENT;
 *         nl_find(scene, finding, cost, 0.20, coverage);
 *         nl_title(scene, finding, "Title with %s", ...);
 *         nl_evidence(scene, finding, (struct nl_evidence){...});
 *         return NL_CAUSE_FOUND;
 *     }
 *
 * Texts made with nl_say live as long as the findings.
 */
#ifndef NL_CAUSE_H
#define NL_CAUSE_H

#include "account/accountlate.h"
#include "findings/finding.h"
#include "findings/sceneshared.h"
#include "timeline/apirole.h"
#include "timeline/idletime.h"
#include "timeline/stepfind.h"
#include "derive/clockcheck.h"

struct nl_work_here;
/* Of a process without device work (`cpu`): its main thread, or what was sampled of it. There are
 * no kernels, copies and gaps then, and wall_ns is the span of its account. */
struct nl_scene {
    const struct nl_trace *trace;
    const struct nl_window *window;
    const struct nl_idle *idle;
    const struct nl_idle_device *device;
    const struct nl_device_breakdown *parts;
    const struct nl_api_roles *roles;
    struct nl_memo *memo;               /* borrowed: work rows and roofs (workcause.h) */
    const struct nl_clock_check *clock; /* NULL: its times fit those of the CPU */
    struct nl_arena *arena;             /* nl_scene_alloc */
    struct nl_scene_locks *locks;
    const uint32_t *kernels, *copies; /* rows of work that starts in the window, length known */
    size_t kernel_count, copy_count;
    int64_t wall_ns;
    struct nl_intervals compute, hidden; /* compute; compute ∪ communication */
    const struct nl_found_step *found;   /* steps of its rank that start in the window */
    const struct nl_step_group *group;   /* how they are known; NULL without */
    size_t steps;
    int64_t first_step, last_step;
    double linked;                    /* share of work whose launch is known, 0..1 */
    struct nl_launch_facts *launches; /* kept by nl_launch_facts (launchcause.h), under a lock */
    struct nl_work_here *work;        /* kept by workcause.c, under a lock */
    struct nl_slices_found *compiled; /* all scenes' (cause_recompilation.c) */
    const struct nl_scene *peers;     /* all scenes */
    size_t peer_count;
    struct nl_experts_found *experts; /* all scenes' (cause_moe_imbalance.c) */
    const struct nl_account *account;
    const struct nl_account_late *late;     /* the rank that others wait for */
    const struct nl_account_device *booked; /* the account's part about it; NULL without one */
    int64_t cpu_busy; /* kept by bound.c, under a lock; NL_NULL_I64 until then */
    bool cpu;
    /* kernels of graphs that its process replays were not recorded: gaps may be theirs */
    bool blind;
};

enum nl_verdict { NL_CAUSE_ABSENT, NL_CAUSE_FOUND, NL_CAUSE_ABSTAINED };

/* What a cause is asked about: devices; processes without device work; both. */
enum nl_cause_on { NL_ON_DEVICE, NL_ON_CPU, NL_ON_BOTH };

/* Whose time a cause saves, where a rank is late (lategain.h). */
enum nl_cause_saves {
    NL_SAVES_DEVICE, /* the device's own */
    NL_SAVES_ALL,    /* that of all ranks: communication */
    NL_SAVES_WAITS   /* what ranks wait for the last one: it makes them even */
};

struct nl_cause {
    const char *id;
    enum nl_cause_on on;
    const char *doc; /* signal, thresholds, formula and source: docs/findings.md */
    struct nl_need needs[NL_MAX_NEEDS];
    unsigned need_count;
    bool of_gaps; /* judges times in which nothing was recorded: not where events were taken out */
    enum nl_cause_saves saves;
    enum nl_verdict (*evaluate)(struct nl_scene *scene, struct nl_finding *finding);
    const char *not_this_if; /* what to do about it: remedies.def */
};

/* ---- Looking ---- */

/* Whether counters were read of most kernels in this very run (not in a report that was joined). */
bool nl_scene_was_counted(const struct nl_scene *scene);

/* A recorder of ROCm that was asked for kernels alone: between them it says nothing,
 * neither of copies nor of calls. */
bool nl_scene_only_kernels(const struct nl_scene *scene);

double nl_scene_share(const struct nl_scene *scene, int64_t ns); /* of wall; 0 without */

/* Conditions for rows of this device that start in the window, with columns after `alias` ("k." or
 * ""): "k.device = 0 AND k.rank = 1". Never empty. */
const char *nl_scene_on(const struct nl_scene *scene, const char *alias);
/* " AND ts >= 10 AND ts < 20" with a window of time, else "". */
const char *nl_scene_during(const struct nl_scene *scene, const char *alias);
/* "(1000, 2000)" with a window of time, else "": arguments of time_breakdown, idle_gaps, …. */
const char *nl_scene_args(const struct nl_scene *scene);
/* Conditions on rank and device alone. */
const char *nl_scene_place(const struct nl_scene *scene, const char *alias);
/* "GPU 0", "rank 3 GPU 0"; "the CPU", "rank 3" of processes without device work. */
const char *nl_scene_name(const struct nl_scene *scene);

/* A set of copies minus what compute and communication hide: its intervals, and the SQL that gives
 * its length. `condition` is about columns of copies. `wanted` decides per row of the table. */
typedef bool nl_copy_test(const struct nl_trace *trace, uint32_t copy);
int64_t nl_scene_exposed(const struct nl_scene *scene, nl_copy_test *wanted,
                         struct nl_intervals *out);
const char *nl_scene_exposed_sql(const struct nl_scene *scene, const char *condition);

/* Gaps of the scene's device; NULL when there are none. */
static inline const struct nl_idle_gap *nl_scene_gaps(const struct nl_scene *scene, size_t *count)
{
    *count = scene->device->gaps;
    return *count ? scene->idle->gaps + scene->device->first_gap : NULL;
}

/* Sums the gaps that match `wanted`; their intervals go into `where` (may be NULL). */
typedef bool nl_gap_test(const struct nl_scene *scene, const struct nl_idle_gap *gap);
int64_t nl_scene_sum_gaps(const struct nl_scene *scene, nl_gap_test *wanted, size_t *count,
                          struct nl_intervals *where);

/* Time saved if the CPU did not wait there: it could run ahead by the duration of the blocking call
 * before the gap, at most by the whole gap; 0 for gaps without such a call. */
int64_t nl_scene_run_ahead(const struct nl_scene *scene, const struct nl_idle_gap *gap);
/* The same over all gaps that match `wanted`: the most that waits can be charged with; CPU work
 * beyond the wait is not theirs. Their intervals go into `where`. The statement computes the sum;
 * `more` are conditions (" AND …"). */
int64_t nl_scene_waits(const struct nl_scene *scene, nl_gap_test *wanted,
                       struct nl_intervals *where);
const char *nl_scene_waits_sql(const struct nl_scene *scene, const char *more);

/* Adds the longest gaps that match `wanted` as examples. */
void nl_scene_gap_examples(const struct nl_scene *scene, nl_gap_test *wanted,
                           struct nl_evidence *evidence);
/* A slice as an example; the longest three are kept, in order of length. */
void nl_example_slice(const struct nl_scene *scene, struct nl_evidence *evidence, uint32_t slice);

/* ---- Writing down ---- */

/* Zeroed; lives as long as the findings. */
void *nl_scene_alloc(const struct nl_scene *scene, size_t bytes);
const char *nl_scene_text(const struct nl_scene *scene, struct nl_str text);

const char *nl_say(const struct nl_scene *scene, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *nl_say_ns(const struct nl_scene *scene, int64_t ns);
const char *nl_say_share(const struct nl_scene *scene, double share);
const char *nl_say_bytes(const struct nl_scene *scene, uint64_t bytes); /* "23.73 GiB" */
/* A text of SQL: in quotes, those inside doubled. */
const char *nl_say_quoted(const struct nl_scene *scene, struct nl_str text);
/* A kernel's name as tables show it (tables/readname.h), cut to 64 columns. */
const char *nl_say_kernel(const struct nl_scene *scene, struct nl_str name);
const char *nl_say_count(const struct nl_scene *scene, uint64_t count);
const char *nl_say_rate(const struct nl_scene *scene, double bytes_per_s);

/* Doubt: what makes one finding of a cause less sure than others, where sureness.def does not
 * distinguish them. Times the coverage; not measured, but judgement. None hides a finding of a
 * cause that was always right (0.957 × 0.85 > 0.8). */
#define NL_DOUBT_CORES 0.85 /* tensor_core_unused: whether the GPU has them is not recorded */
#define NL_DOUBT_NEAR  0.9  /* tensor_core_unused: less than twice the threshold */
#define NL_DOUBT_ONE_RANK                                                                          \
    0.9 /* collective_skew: of one rank alone, arrivals of the others unknown */
#define NL_DOUBT_FEW_LAUNCHES 0.92 /* sync_calls: launches of at most half of the work */
#define NL_DOUBT_PHASE        0.85 /* gpu_idle: one gap is nearly all, a phase and no pattern */

/* Cost, its share, and severity: critical from `critical_share` of wall on. `coverage` is the part
 * of the data that the judgement rests on (0..1): confidence is that times the sureness of the
 * cause (sureness.h). saving is [cost/2, cost]. */
void nl_find(const struct nl_scene *scene, struct nl_finding *finding, int64_t cost_ns,
             double critical_share, double coverage);
void nl_title(const struct nl_scene *scene, struct nl_finding *finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A copy is added; the pointer is for examples. */
struct nl_evidence *nl_evidence(struct nl_finding *finding, struct nl_evidence evidence);
enum nl_verdict nl_abstain(struct nl_finding *finding, const char *reason);

#endif
