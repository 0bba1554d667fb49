/* See rank.h. */
#include "compare/rank.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"
#include "compare/diffinner.h"
#include "compare/diffunit.h"
#include "compare/rankinner.h"
#include "compare/diffplain.h"
#include "tables/resultcells.h"
#include "compare/diffparts.h"
#include "compare/diffteam.h"

const char *const nl_rank_sections[] = {
    "rank",   "cost",    "recommendation", "types",    "operators", "modules",
    "ranges", "kernels", "conditions",     "speedups", NULL};

/* ---- measuring ---- */

static bool all_allow(struct ranking *r, enum diff_unit unit)
{
    struct diff_side *sides[NL_MAX_RANK];
    for (size_t i = 0; i < r->count; i++)
        sides[i] = &r->items[i].side;
    return diff_all_allow(sides, r->count, unit);
}

/* Typical steps of the captures; without steps their times. */
static void take_values(struct rank_candidate *c)
{
    double sum = 0;
    c->values = nl_alloc((diff_capture_count(&c->side) + 1) * sizeof *c->values);
    for (size_t i = 0; i < diff_capture_count(&c->side); i++) {
        const struct diff_side *one = &diff_captures(&c->side)[i];
        struct nl_capture capture = diff_capture_of(one);
        if (!capture.steps || !(capture.median > 0))
            continue;
        /* the noise of captures, if known, covers an error that the steps do not give */
        double se = isnan(capture.median_se) && c->noise.sd > 0 ? 0 : capture.median_se;
        c->values[c->count++] = (struct nl_value){log(capture.median), se};
        sum += log(capture.median);
    }
    c->time = c->count ? exp(sum / (double)c->count) : NAN;
}

/* As in a diff: the largest, and none where what other programs took is left out. */
static void find_noise(struct ranking *r)
{
    struct nl_noise most = {0};
    bool kept = false;
    for (size_t i = 0; i < r->count; i++) {
        const struct nl_noise *noise = &r->items[i].input->noise;
        most = noise->sd > most.sd ? *noise : most;
        kept |= diff_knows_kept(&r->items[i].side);
    }
    for (size_t i = 0; i < r->count && !kept; i++)
        r->items[i].noise = most;
}

static bool measure_candidates(struct ranking *r)
{
    bool done = true;
    find_noise(r);
    for (size_t i = 0; i < r->count; i++) {
        struct rank_candidate *c = &r->items[i];
        done = diff_side_measure(&c->side, r->unit, &c->parts) && done;
        take_values(c);
        done = done && !isnan(c->time);
    }
    return done;
}

static int by_time(const void *left, const void *right)
{
    const struct rank_candidate *a = *(struct rank_candidate *const *)left,
                                *b = *(struct rank_candidate *const *)right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void order(struct ranking *r)
{
    for (size_t i = 0; i < r->count; i++)
        r->order[i] = &r->items[i];
    qsort(r->order, r->count, sizeof *r->order, by_time);
    for (size_t i = 0; i < r->count; i++)
        r->order[i]->place = i;
}

struct nl_apart rank_apart(const struct rank_candidate *from, const struct rank_candidate *to)
{
    return nl_apart_of(from->values, from->count, to->values, to->count, &from->noise);
}

bool rank_is_same(const struct ranking *r, const struct rank_candidate *c)
{
    const struct rank_candidate *best = r->order[0];
    return c != best && best->count == 1 && c->count == 1 && !(best->time < c->time) &&
           isnan(rank_apart(best, c).low);
}

bool rank_is_unsure(const struct ranking *r, const struct rank_candidate *c)
{
    return c != r->order[0] && isnan(rank_apart(r->order[0], c).low) && !rank_is_same(r, c);
}

bool rank_is_tie(const struct ranking *r, const struct rank_candidate *c)
{
    struct nl_apart apart = rank_apart(r->order[0], c);
    return c != r->order[0] && !(apart.low > 0);
}

/* ---- tables ---- */

#define RANK_LIST(C, P)                                                                            \
    C(P, place, NULL, INTEGER)                                                                     \
    C(P, candidate, NULL, TEXT)                                                                    \
    C(P, time_ns, "typical time", NS)                                                              \
    C(P, ratio, "of the fastest", NUMBER)                                                          \
    C(P, ratio_low, "at least", NUMBER)                                                            \
    C(P, ratio_high, "at most", NUMBER)                                                            \
    C(P, tie, "tie with it", TEXT)                                                                 \
    C(P, device, NULL, TEXT)                                                                       \
    C(P, captures, NULL, COUNT)                                                                    \
    C(P, steps, NULL, COUNT)
NL_TABLE_COLUMNS(rank_columns, RANK, RANK_LIST);

struct nl_str rank_device(const struct rank_candidate *c)
{
    const struct nl_trace *trace = diff_captures((struct diff_side *)&c->side)[0].trace;
    for (size_t i = 0; i < c->side.device_count; i++) {
        uint32_t row = c->side.devices[i].device;
        if (row != NL_NULL_ROW && row < trace->device.rows &&
            nl_trace_name(trace, trace->device.name[row]).len)
            return nl_trace_name(trace, trace->device.name[row]);
    }
    return (struct nl_str){NULL, 0};
}

size_t rank_device_count(const struct rank_candidate *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->side.device_count; i++)
        count += c->side.devices[i].device != NL_NULL_ROW;
    return count;
}

const char *rank_word(const struct rank_candidate *c)
{
    return c->input->all ? c->input->all : c->input->word;
}

static struct nl_result *rank_table(const struct ranking *r)
{
    struct nl_result *result = NL_ANSWER_NEW("rank", "Fastest first", rank_columns);
    for (size_t i = 0; i < r->count; i++) {
        const struct rank_candidate *c = r->order[i];
        struct nl_apart apart = rank_apart(r->order[0], c);
        struct nl_cell *cells = nl_result_row(result);
        cells[RANK_place] = nl_cell_i64((int64_t)i + 1);
        cells[RANK_candidate] = nl_cell_text(result, nl_str(rank_word(c)));
        cells[RANK_time_ns] = nl_cell_i64(nl_whole_i64(c->time));
        cells[RANK_ratio] = nl_cell_f64(i ? exp(apart.shift) : 1);
        cells[RANK_ratio_low] = nl_cell_f64(i ? exp(apart.low) : NAN);
        cells[RANK_ratio_high] = nl_cell_f64(i ? exp(apart.high) : NAN);
        cells[RANK_tie] = nl_cell_static(!i || rank_is_unsure(r, c) ? NULL
                                         : rank_is_tie(r, c)        ? "yes"
                                                                    : "no");
        cells[RANK_device] = nl_cell_text(result, rank_device(c));
        cells[RANK_captures] = nl_cell_count(diff_capture_count(&c->side));
        size_t steps;
        (void)diff_judged_lengths(&c->side, &steps);
        cells[RANK_steps] = c->side.by_step || steps ? nl_cell_count(steps) : (struct nl_cell){0};
    }
    return result;
}

#define CONDITION_LIST(C, P)                                                                       \
    C(P, fact, NULL, TEXT)                                                                         \
    C(P, fastest, NULL, TEXT)                                                                      \
    C(P, other, NULL, TEXT)                                                                        \
    C(P, candidate, "the other", TEXT)                                                             \
    C(P, agrees, NULL, TEXT)                                                                       \
    C(P, decides, NULL, TEXT)
NL_TABLE_COLUMNS(condition_columns, CONDITION, CONDITION_LIST);

/* What each was given to do, relative to the fastest; the fastest relative to the second. */
static void find_facts(struct ranking *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct rank_candidate *other = r->order[i ? i : 1];
        struct diff_workload *w = &r->order[i]->facts;
        diff_workload_find(w, &r->order[0]->side, r->order[0]->input, &other->side, other->input);
    }
}

/* How the steps were found, relative to the fastest. */
static void put_steps(struct ranking *r, struct nl_result *result, size_t place)
{
    const char *first = rank_steps_text(r, r->order[0]),
               *other = rank_steps_text(r, r->order[place]);
    if (!first || !other)
        return;
    struct nl_cell *cells = nl_result_row(result);
    cells[CONDITION_fact] = nl_cell_static("steps");
    cells[CONDITION_fastest] = nl_cell_text(result, nl_str(first));
    cells[CONDITION_other] = nl_cell_text(result, nl_str(other));
    cells[CONDITION_candidate] = nl_cell_text(result, nl_str(rank_word(r->order[place])));
    cells[CONDITION_agrees] = nl_cell_static(strcmp(first, other) == 0 ? "yes" : "no");
    cells[CONDITION_decides] = nl_cell_static("no");
}

static struct nl_result *conditions_table(struct ranking *r)
{
    struct nl_result *result =
        NL_ANSWER_NEW("conditions", "What they were run with", condition_columns);
    for (size_t i = 1; i < r->count; i++) {
        const struct diff_workload *w = &r->order[i]->facts;
        put_steps(r, result, i);
        for (size_t k = 0; k < w->count; k++) {
            const struct diff_workload_fact *fact = &w->items[k];
            bool known = fact->base && fact->changed;
            struct nl_cell *cells = nl_result_row(result);
            cells[CONDITION_fact] = nl_cell_text(result, nl_str(fact->name));
            cells[CONDITION_fastest] = nl_cell_text(result, nl_str(fact->base));
            cells[CONDITION_other] = nl_cell_text(result, nl_str(fact->changed));
            cells[CONDITION_candidate] = nl_cell_text(result, nl_str(rank_word(r->order[i])));
            cells[CONDITION_agrees] = nl_cell_static(!known         ? "unknown"
                                                     : fact->agrees ? "yes"
                                                                    : "no");
            cells[CONDITION_decides] =
                nl_cell_static(fact->decides == DIFF_DECIDES && known ? "yes" : "no");
        }
    }
    return result;
}

static void add_result(struct ranking *r, struct nl_result *result)
{
    r->report->results[r->report->result_count++] = result;
}

static void write_report(struct ranking *r)
{
    rank_sentences(r);
    add_result(r, rank_table(r));
    add_result(r, rank_cost_table(r));
    add_result(r, rank_choice_table(r));
    for (size_t level = 0; level < RANK_LEVELS; level++)
        add_result(r, rank_level_table(r, level));
    add_result(r, conditions_table(r));
    add_result(r, rank_speedups_table(r));
}

/* ---- in all ---- */

static void free_ranking(struct ranking *r)
{
    for (size_t i = 0; i < r->count; i++) {
        diff_parts_release(&r->items[i].parts);
        diff_workload_release(&r->items[i].facts);
        diff_side_release(&r->items[i].side);
        nl_free(r->items[i].values);
    }
    rank_levels_release(r);
    nl_free(r);
}

static bool run_ranking(struct ranking *r, const struct nl_rank_options *options,
                        struct nl_err *err)
{
    struct diff_side *sides[NL_MAX_RANK];
    for (size_t i = 0; i < r->count; i++)
        sides[i] = &r->items[i].side;
    diff_find_plain(sides, r->count);
    while (r->unit < DIFF_UNITS && !all_allow(r, r->unit))
        r->unit++;
    if (r->unit == DIFF_UNITS || !measure_candidates(r))
        return nl_fail(err, NL_USAGE,
                       "nothing was recorded in all of them that takes time; "
                       "`neurolens info` says what each holds");
    order(r);
    find_facts(r);
    if (!rank_costs_find(r, options->prices, options->price_count, err))
        return false;
    rank_levels_find(r);
    rank_work_compare(r);
    rank_steps_compare(r);
    write_report(r);
    return true;
}

struct nl_report *nl_rank_new(const struct nl_diff_input *inputs, size_t count,
                              const struct nl_rank_options *options, bool *comparable,
                              struct nl_job *job, struct nl_err *err)
{
    struct ranking *r = nl_zalloc(sizeof *r);
    struct nl_report *report = nl_zalloc(sizeof *report);
    r->report = report;
    r->comparable = true;
    report->name = "rank";
    report->title = "Ranking";
    nl_arena_init(&report->arena);
    report->results =
        nl_arena_alloc(&report->arena, sizeof nl_rank_sections / sizeof nl_rank_sections[0] *
                                           sizeof *report->results);
    for (size_t i = 0; i < count && i < NL_MAX_RANK; i++) {
        r->items[i].input = &inputs[i];
        diff_team_open(&r->items[r->count++].side, &inputs[i]);
    }
    bool done = run_ranking(r, options, err);
    *comparable = r->comparable;
    free_ranking(r);
    if (done && nl_job_cancelled(job))
        done = nl_fail(err, NL_INTERRUPTED, "interrupted");
    if (done && options->section)
        nl_report_keep(report, options->section);
    if (done)
        return report;
    nl_report_free(report);
    return NULL;
}
