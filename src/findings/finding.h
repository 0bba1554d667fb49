/*
 * finding — what costs time and why: a cause from the book of root causes, with what it costs, how
 * sure we are, evidence that can be asked again in SQL, and what to do about it.
 *
 * A cause is one file (cause_NAME.c) and one row of causes.def. It is evaluated per device, or per
 * process where no device worked; the finding that is reported is that of the place that loses most
 * (or of the one that the answer is about, where that loses nearly as much), with the number of
 * places it holds on. Findings are ranked by what they can win that no earlier one wins
 * (ranking.h). Costs of several findings overlap and must not be added; net_saving_ns may be.
 *
 * Printed are findings with confidence of at least NL_FINDING_CONFIDENCE, two pieces of evidence,
 * and a cost of at least 0.5 % of the wall time and 50 µs. `all` lifts these rules. A check that
 * could not be made is an abstention with its reason; an unreported one would look like a pass.
 */
#ifndef NL_FINDING_H
#define NL_FINDING_H

#include "tables/analyze.h"

#define NL_FINDING_CONFIDENCE   0.8
#define NL_FINDING_MIN_NS       50000
#define NL_FINDING_MIN_SHARE    0.005
#define NL_FINDING_EVIDENCE     8
#define NL_FINDING_SUGGESTIONS  4
#define NL_FINDING_EXAMPLES     3
#define NL_FINDING_NEEDS        6
#define NL_FINDING_ALSO         2
#define NL_FINDING_ALTERNATIVES 6

enum nl_severity { NL_SEVERITY_INFO, NL_SEVERITY_WARNING, NL_SEVERITY_CRITICAL };

struct nl_example {
    const char *lane, *name;
    int64_t start_ns, dur_ns; /* from the trace's first event */
};

struct nl_evidence {
    const char *metric;    /* machine name with unit suffix: "exposed_htod_ns" */
    const char *says;      /* the same as a sentence */
    const char *threshold; /* "> 5 % of wall"; NULL when it has none */
    const char *query;     /* SQL that gives `value` on this profile */
    enum nl_meaning meaning;
    double value; /* whole when the meaning is one of whole numbers */
    struct nl_example examples[NL_FINDING_EXAMPLES];
    size_t example_count;
};

struct nl_suggestion {
    const char *action, *why, *verify; /* JSON: do, why, verify */
};

/* Data missing from the profile that would say more about a finding. */
struct nl_finding_need {
    const char *missing; /* table or table.column of SQL: "python", "ops.shapes" */
    const char *why;     /* what it would say */
    const char *record;  /* how it is recorded, by the tool that wrote the profile */
};

struct nl_finding {
    const char *id; /* cause and place: "sync_calls", unique within a report */
    const char *cause, *title;
    const char *culprit; /* name from the profile that stands in the title, or NULL */
    const char *work; /* kernels that it is about, where the cause does not say: "convolutions" */
    const char *also[NL_FINDING_ALSO]; /* causes that went into it (ranking.h); NULL none */
    const char *alternatives[NL_FINDING_ALTERNATIVES]; /* causes of findings that it explains */
    enum nl_severity severity;
    double confidence;            /* sureness.h */
    int64_t cost_ns, net_cost_ns; /* beyond: of cost, not accounted for by findings above */
    double cost_share;            /* of the device's wall time; NaN where that is not known */
    int64_t saving_ns[2];
    int64_t claims_ns;     /* of the account's rows that it claims (claims.h) */
    int64_t net_saving_ns; /* of saving_ns[1], not won by findings above */
    /* Where a rank is late: what its device saves, of which the program may gain
     * less (NL_NULL_I64), and how much of what it saves the others wait now,
     * which all findings win once. */
    int64_t alone_ns, shared_ns;
    /* The place that loses most, or nearly most where the answer is about
     * it; NL_NULL_I64 unknown. */
    int64_t rank, device;
    const char *place;          /* "rank 3 GPU 0", as it stands in titles */
    size_t devices, of_devices; /* holds on `devices` of `of_devices` */
    int64_t steps[2];           /* first and last step; NL_NULL_I64 without steps */
    struct nl_evidence evidence[NL_FINDING_EVIDENCE];
    size_t evidence_count;
    const char *not_this_if;
    const struct nl_suggestion *suggestions; /* ends with an action of NULL */
    const char *remedies; /* variant of its cause in remedies.def; NULL = the cause itself */
    struct nl_finding_need needs[NL_FINDING_NEEDS];
    size_t need_count;
    const char *explained_by; /* id of a finding above that has most of the same time, or NULL */
    const char *reason;       /* of an abstention */
    unsigned level, order;    /* of causes.def: 0 specific .. 2 general; row */
    bool validity;            /* about the measurement, not about the program */
    bool modest;              /* never critical */
    bool timeless;            /* about bytes: costs no time that could be stated, so cost_ns is 0 */
    struct nl_intervals where; /* what it claims; owned */
};

struct nl_abstention {
    const char *cause, *reason;
    const char *record; /* how what is missing is recorded; NULL when that is not known */
};

struct nl_findings {
    struct nl_finding *items; /* ranked */
    int64_t late_ns; /* gained at most where a late rank is as quick as the others; 0 none is */
    size_t count, cap, hidden; /* hidden: not printed because small, unsure or thinly founded */
    struct nl_abstention *abstained;
    size_t abstained_count, abstained_cap;
    const char *
        *claims; /* per row of the account: id of a finding or NULL; NULL once it was kept */
    size_t claim_count;
    size_t judged; /* causes that were looked at and found absent */
    struct nl_arena arena;
};

/* Judges every cause. NULL with err when cancelled. */
NL_MUST_CHECK struct nl_findings *nl_findings_new(const struct nl_trace *trace,
                                                  const struct nl_analyze_options *options,
                                                  struct nl_job *job, struct nl_err *err);
void nl_findings_free(struct nl_findings *findings);

/* Large enough and founded on enough to be printed, however sure it is. */
bool nl_finding_weighs(const struct nl_finding *finding);

const char *nl_severity_name(enum nl_severity severity);

#endif
