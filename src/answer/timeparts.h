/*
 * timeparts — where the time of the device that says most went, in the words of an answer. It only
 * sorts the rows of the account (account/account.h) into the kinds below, over all phases or one;
 * so answer, tables, SQL and findings divide the time alike.
 *
 * Idle time that lasts 1 ms or more in one gap (long_ns of the account), and does not
 * come back in every step, is a first-time cost of start-up or a single pause; the many
 * short pieces are dispatch.
 */
#ifndef NL_TIMEPARTS_H
#define NL_TIMEPARTS_H

#include "account/account.h"
#include "answer/judge.h"

enum nl_time_what {
    NL_TIME_COMPUTE,
    NL_TIME_COMM,
    NL_TIME_COPY,
    NL_TIME_DISPATCH, /* many short gaps while operators, Python and launches run */
    /* calls that set things up: first launches, allocation, loading, compilation, capture */
    NL_TIME_FIRST,
    NL_TIME_INPUT,   /* fetching data */
    NL_TIME_SYNC,    /* the thread sits in a blocking call */
    NL_TIME_HOST,    /* long stretches inside one operator, range, function or system call */
    NL_TIME_NOTHING, /* long stretches in which nothing was recorded */
    NL_TIME_QUEUED,  /* launched, but not begun for a moment */
    NL_TIME_HELD, /* launched, but not begun for 1 ms or more: a launch does not take that long */
    NL_TIME_UNKNOWN, /* the launch is not in the file */
    NL_TIMES
};

#define NL_TIME_NAMES 3

struct nl_time_name {
    const char *name, *inside; /* of the call; operator or range around most of it, NULL none */
    int64_t ns, inside_ns;     /* inside_ns: of it, in that one */
    uint64_t count;
};

struct nl_time_part {
    int64_t ns;
    struct nl_time_name names[NL_TIME_NAMES]; /* longest first */
};

struct nl_time_parts {
    size_t device; /* row of the breakdown that it is about */
    const struct nl_account_device *account;
    /* Σ of the parts: without what follows the work when nothing was recorded then */
    int64_t total;
    int64_t before, after;      /* of it, outside the device's first and last work */
    int64_t idle, idle_copying; /* of it, between them; and of that inside calls that copy */
    /* of before: inside functions that fetch or prepare input, with all they call */
    int64_t input_before;
    int64_t input_early; /* of NL_TIME_INPUT: before the device's first work */
    /* of before: the program's own work, that of input included; no set-up, nothing unknown */
    int64_t before_own;
    /* of NL_TIME_FIRST: work of the program before the device's, which sets nothing up */
    int64_t work_before;
    int64_t ending; /* not of the total: freeing and unloading after the last work */
    const char *ending_in;
    /* of NL_TIME_HELD: the launching thread sits in blocking calls (its names) */
    int64_t held_blocked;
    int64_t longest_gap, longest_start; /* of the device; 0 none */
    const char *gap_before;             /* the work that ends it, readable */
    struct nl_time_part parts[NL_TIMES];
    /* of NL_TIME_NOTHING: before the device's first work, where there are no steps */
    int64_t nothing_before;
    int64_t nothing_long;         /* of gaps with 1 ms or more without a record, that */
    int64_t largest_nothing;      /* of one gap */
    bool early_nothing;           /* less than a tenth of the kernels began before it */
    const char *nothing_ended_by; /* operator or call that ended it */
};

/* `device`: row of the breakdown; NL_TIME_BUSIEST: the one that says most. False when it has no
 * timeline. Texts live in the report's arena. */
#define NL_TIME_BUSIEST SIZE_MAX
bool nl_time_parts(struct nl_judged *judged, size_t device, struct nl_time_parts *parts);

/* The same of any device that has a row in the breakdown, without names: sums alone. `phase`:
 * NL_PHASES = all. False when it has no account. */
bool nl_time_sums(struct nl_judged *judged, size_t device, enum nl_phase phase,
                  struct nl_time_parts *parts);

/* The parts and their sums of the same device in one phase alone. */
void nl_time_parts_within(struct nl_judged *judged, struct nl_time_parts *parts,
                          enum nl_phase phase);

/* What the CPU does under an id of the account (name, op, range, wait), as the parts name it. */
const char *nl_time_name(struct nl_judged *judged, uint32_t name);

#endif
