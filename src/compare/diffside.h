/*
 * diffside — one of the two profiles of a diff: what is compared of it, and the parts that this is
 * made of. Everything here looks at one side alone, so that diff(A, B) is -diff(B, A) part by part.
 *
 * What is compared is called the time. By unit:
 *
 *   step      mean length of the steady steps, over all (device, step): a step is cut into what its
 *             device did, so compute + exposed communication + exposed copies + idle = time, exactly
 *   wall      the same of the one stretch from a device's first to its last work, over all devices
 *   work      lengths of device work added up, over all devices (times of day were not recorded)
 *   host      self times of one kind of ranges on threads, of steady steps when there are any
 *             Where all captures recorded context switches, what other programs kept the
 *             threads from running (timeline/preempt.h) is no part of it: `kept_ns`
 *   layers    sums per layer of a compiled model
 *   functions self time or weight of functions
 *
 * A side may be several captures of one program: then each is measured alone, and the side is their
 * sum: its steps are all steps, a part's time is the sum over captures.
 *
 * Sums of ns over all steps (`sum`) are exact. Means per step (`mean`) are whole ns: the time is
 * rounded half up, every part down, and what is left over goes, 1 ns each, to the parts with the
 * largest remainders, so that the parts of a side add up to its time.
 */
#ifndef NL_COMPARE_DIFFSIDE_H
#define NL_COMPARE_DIFFSIDE_H

#include "base/map.h"
#include "compare/diff.h"
#include "timeline/fold.h"
#include "timeline/preempt.h"
#include "tables/memo.h"
#include "timeline/worksweep.h"

enum diff_unit {
    DIFF_BY_STEP,
    DIFF_BY_WALL,
    DIFF_BY_WORK,
    DIFF_BY_HOST,
    DIFF_BY_LAYER,
    DIFF_BY_FUNCTION,
    DIFF_UNITS
};

enum diff_group {
    DIFF_COMPUTE,
    DIFF_COMM,
    DIFF_COPY,
    DIFF_IDLE,
    DIFF_HOST, /* self time on threads, layers, functions */
    DIFF_GROUPS
};

#define DIFF_MAX_ORDER 200000 /* of one step */
#define DIFF_BLOCKS    10     /* of more captures, those beyond share the last */

/* What parts are named after: the work itself, or what launched it (the innermost of its kind). Of
 * the last three a part is one operator (without operators: one kernel) inside one operator, module
 * or range: the names of both with DIFF_INSIDE between them; of an operator it is the kernel. */
enum diff_lens {
    DIFF_BY_NAME,
    DIFF_BY_OPERATOR,
    DIFF_BY_MODULE,
    DIFF_BY_RANGE,
    DIFF_IN_OPERATOR,
    DIFF_IN_MODULE,
    DIFF_IN_RANGE,
    DIFF_LENSES
};
#define DIFF_INSIDE '\x1f'

struct diff_part {
    enum diff_group group;
    struct nl_str name;   /* as recorded, or in the parts' arena */
    struct nl_str folded; /* without signature and instance numbers */
    struct nl_str owner;  /* operator that most of it was launched from; empty = not known */
    uint64_t place;       /* between which paired parts it stands; 0 = not known (diffpair.c) */
    uint32_t row;         /* number of the row that it was last paired into, from 1 (diffpair.c) */
    uint8_t category;     /* enum nl_category of a kernel */
    bool nobody;          /* of another lens than name: work that nothing launched */
    uint64_t count;       /* pieces that began in the time compared; NL_NULL_U64 unknown */
    int64_t gross; /* their whole durations, whatever runs meanwhile; 0 where there are none */
    int64_t sum, mean;
    int64_t blocks[DIFF_BLOCKS]; /* the sum, by tenths of one capture's steps, or by captures */
};

/* Where the times of one part vary: stretches of the steps of one capture, or several captures. */
struct diff_blocks {
    size_t count;
    uint64_t units[DIFF_BLOCKS]; /* what each block's sums are divided by */
};

struct diff_parts {
    struct diff_part *items;
    size_t count, cap;
    uint32_t *order; /* parts as they begin in one step, of one capture: the neighbours of each */
    size_t order_count, order_cap;
    struct nl_lookup idle; /* the idle ones by name, while they are found */
    struct nl_arena arena;
    struct nl_fold_starts *fold; /* made with the first part */
};

/* A device of one rank; for units without devices there is one, of neither. */
struct diff_device {
    int64_t rank, ordinal;            /* NL_NULL_I64 unknown */
    uint32_t device, process;         /* rows */
    size_t first_lane, lanes;         /* in diff_side.lanes */
    size_t first_span, spans;         /* in diff_side.spans */
    int64_t sum, groups[DIFF_GROUPS]; /* ns over its spans */
};

/* A steady step, or all there is. */
struct diff_span {
    int64_t start, end;        /* store time */
    int64_t index;             /* of the step */
    uint32_t again;            /* earlier spans of its device with the same index */
    uint32_t device;           /* in diff_side.devices */
    uint8_t block;             /* of its device's steps */
    int64_t sum;               /* what of it is compared */
    int64_t groups[DIFF_HOST]; /* units step and wall: what the device did, by diff_group */
};

struct diff_side {
    const struct nl_trace *trace; /* borrowed */
    struct nl_window window;
    struct nl_memo *memo; /* of that window */
    enum diff_unit unit;
    bool by_step;  /* spans are steps */
    bool no_steps; /* of unit host: the other side has none like these, so all there is */
    bool too_long; /* its total overflows */
    struct nl_work_lane *lanes;
    size_t lane_count;
    struct diff_device *devices;
    size_t device_count;
    struct nl_idmap by_rank;     /* the first device of each */
    struct nl_lookup by_ordinal; /* the first of each rank and ordinal */
    struct diff_span *spans;
    size_t span_count, span_cap;
    uint64_t units; /* what `sum` is divided by: spans, else devices, else 1 */
    int64_t sum, mean;
    double *lengths; /* of the steps, ns: a step of several ranks is one, their mean */
    double *part_lengths[DIFF_HOST]; /* the same of their parts, by diff_group; unit step */
    double *plain;                   /* see diffplain.h; else NULL */
    size_t length_count, plain_count;
    size_t warm_up, compile;    /* excluded steps */
    size_t stepless;            /* devices without steps, which are left out */
    enum nl_step_method method; /* how the steps were found */
    struct nl_found_steps own;  /* instead of the marked ones: see diff_steps */
    bool has_own;
    enum nl_kind host_kind;      /* of unit host */
    struct nl_str weight, event; /* of unit functions: unit of its numbers, and what was sampled */
    struct nl_result *functions; /* of units layers and functions: the analysis they come from */
    struct nl_idle *idle;        /* of units step and wall */
    size_t idle_at;              /* where its last device was found */
    struct nl_preempt *preempt;  /* of unit host, where all captures know it; else NULL */
    int64_t kept_ns;             /* that other programs took; it is no part of `sum` */
    struct nl_analyze_options options;
    struct diff_blocks blocks;
    struct diff_side *captures; /* of several: a side each, which this one adds up; else NULL */
    size_t capture_count;
};

/* Opens one capture without a unit. */
void diff_side_open(struct diff_side *side, const struct nl_trace *trace,
                    const struct nl_window *window);
void diff_side_release(struct diff_side *side);
struct diff_side *diff_captures(struct diff_side *side);
static inline size_t diff_capture_count(const struct diff_side *side)
{
    return side->captures ? side->capture_count : 1;
}

/* Whether what other programs took is known of all captures, and so left out. */
bool diff_knows_kept(const struct diff_side *side);
/* What other programs took, as a share of the time with it; NaN not known. */
double diff_kept_share(const struct diff_side *side);

/* The steps that are looked at: the memo's, or by launches though marked, where
 * another side has no marks. */
const struct nl_found_steps *diff_steps(const struct diff_side *side);

#endif
