/*
 * benchrun — the processes of `bench`: checkouts of commits and what builds them, and one
 * capture after the other.
 *
 *     nl_bench_prepare(bench, call, err);                     checkouts, built
 *     nl_bench_capture(bench, side, number, call, err);       A1.nlt, B1.nlt, … in bench->folder
 *     nl_bench_clear(bench);                                  the checkouts go, the captures stay
 *
 * What the programs print goes to A.log and B.log in the folder.
 */
#ifndef NL_BENCHRUN_H
#define NL_BENCHRUN_H

#include "base/mem.h"
#include "cli/command.h"

/* The options of bench. */
struct nl_bench_options {
    int64_t least, most;
    const char *within, *build;
    int64_t max_time_ns;
    struct nl_texts commits;
};

static inline const struct nl_bench_options *nl_bench_own(const struct nl_call *call)
{
    return call->own;
}

struct nl_bench_side {
    char **words; /* of the command; borrowed */
    int count;
    const char *commit; /* or NULL: here */
    char *place;        /* of the checkout; NULL = none was made */
    char *all;          /* the captures so far, joined with commas */
};

struct nl_bench {
    struct nl_bench_side side[2];
    size_t sides;
    size_t least, most; /* captures a side */
    double within;      /* a ratio: 0.01 */
    const char *folder;
    struct nl_arena arena;
};

NL_MUST_CHECK bool nl_bench_prepare(struct nl_bench *bench, const struct nl_call *call,
                                    struct nl_err *err);
NL_MUST_CHECK bool nl_bench_capture(struct nl_bench *bench, size_t side, size_t number,
                                    const struct nl_call *call, struct nl_err *err);
void nl_bench_clear(struct nl_bench *bench);

#endif
