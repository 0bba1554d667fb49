/*
 * rankinner — what the files that make up a ranking use of each other; for no other room.
 *
 * rank.c measures and orders the candidates, ranklevel.c has who is fastest in which
 * operator, module or range, ranksame.c whether they did the same work, rankmarks.c what a
 * step of each is, rankwhy.c through what, rankcost.c what a step costs, rankwords.c the
 * sentences and the recommendation.
 */
#ifndef NL_COMPARE_RANKINNER_H
#define NL_COMPARE_RANKINNER_H

#include "compare/diffsure.h"
#include "compare/diffworkload.h"
#include "compare/rank.h"
#include "compare/stepenergy.h"

#define NL_RANK_NAME_WIDTH 50

struct rank_candidate {
    const struct nl_diff_input *input;
    struct diff_side side;
    struct diff_parts parts; /* by name */
    struct nl_value *values; /* of its captures */
    size_t count;
    struct nl_noise noise; /* of captures, by history: the same of all */
    double time;           /* typical, ns; NaN not known */
    size_t place;
    struct diff_workload facts; /* relative to the fastest's; of the fastest beside the second's */
    double batch;               /* NaN not known */
    struct diff_energy energy;
    double price;      /* USD an hour, of all its devices; NaN not given */
    double price_step; /* USD */
};

/* One operator, module, range or kernel in all candidates. */
struct rank_row {
    struct nl_str name;
    enum diff_group group;
    int64_t times[NL_MAX_RANK]; /* by candidate; NL_NULL_I64 = has none */
    int64_t blocks[NL_MAX_RANK][DIFF_BLOCKS];
    int64_t lead; /* slowest less fastest, of those that have it */
    bool alone;   /* one candidate has it */
    size_t fastest, slowest;
    bool tie;            /* another is as fast within its noise */
    const char *because; /* NULL = not known, or too little to look for */
    uint32_t id;
};

struct rank_level {
    const char *name;
    struct diff_parts parts[NL_MAX_RANK]; /* empty where not all have it */
    uint32_t *row_of[NL_MAX_RANK];        /* per part: id of its row */
    struct rank_row *rows;                /* largest lead first */
    size_t count;
};

enum { RANK_TYPES, RANK_OPERATORS, RANK_MODULES, RANK_RANGES, RANK_KERNELS, RANK_LEVELS };

struct ranking {
    struct rank_candidate items[NL_MAX_RANK];
    size_t count;
    struct rank_candidate *order[NL_MAX_RANK]; /* fastest first */
    enum diff_unit unit;
    bool comparable;
    bool unlike_steps;   /* steps of candidates were found in different ways */
    bool nothing_common; /* and no name is in two of them: steps of different work, perhaps */
    struct rank_level levels[RANK_LEVELS];
    struct nl_report *report;
};

/* Devices that it ran on; 0 = none was recorded. */
size_t rank_device_count(const struct rank_candidate *candidate);
/* What the user calls it; the name of its first device, empty when not known. */
const char *rank_word(const struct rank_candidate *candidate);
struct nl_str rank_device(const struct rank_candidate *candidate);
/* How many times as long the second takes. */
struct nl_apart rank_apart(const struct rank_candidate *from, const struct rank_candidate *to);
/* One measurement each, of the same time: a tie without an interval. */
bool rank_is_same(const struct ranking *ranking, const struct rank_candidate *candidate);
/* Each is one measurement of unknown noise: the order of the two is no finding. */
bool rank_is_unsure(const struct ranking *ranking, const struct rank_candidate *candidate);
bool rank_is_tie(const struct ranking *ranking, const struct rank_candidate *candidate);

/* Measured and ordered candidates. */
void rank_levels_find(struct ranking *ranking);
void rank_levels_release(struct ranking *ranking);
/* The level whose rows say most: types of nodes, else operators. */
const struct rank_level *rank_telling_level(const struct ranking *ranking);
/* How many times as long the second takes in that row, which both have. */
struct nl_apart rank_row_apart(const struct ranking *ranking, const struct rank_row *row,
                               size_t from, size_t to);
/* Fills `because` of its rows; `inner`: the lens of what is inside them, DIFF_LENSES none. */
void rank_level_explain(struct ranking *ranking, struct rank_level *level, enum diff_lens inner);
struct nl_result *rank_level_table(const struct ranking *ranking, size_t level);
struct nl_result *rank_speedups_table(const struct ranking *ranking);

/* Fails with NL_USAGE when a price is of no candidate. */
NL_MUST_CHECK bool rank_costs_find(struct ranking *ranking, const struct nl_rank_price *prices,
                                   size_t count, struct nl_err *err);
struct nl_result *rank_cost_table(const struct ranking *ranking);

/* Adds names and amount of the work to the facts of the candidates, and sets `comparable` by all of
 * these; the levels are known. */
void rank_work_compare(struct ranking *ranking);

/* Sets unlike_steps and nothing_common; the levels are known. */
void rank_steps_compare(struct ranking *ranking);
/* "marked", "periods of launches", …; NULL: not compared by steps. */
const char *rank_steps_text(const struct ranking *ranking, const struct rank_candidate *candidate);
/* "marked in a.json, periods of launches in b.json" */
void rank_say_steps(const struct ranking *ranking, struct nl_buf *text);

/* Sentences and the table of what to choose for what. */
void rank_sentences(struct ranking *ranking);
struct nl_result *rank_choice_table(const struct ranking *ranking);

#endif
