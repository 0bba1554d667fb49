/* The verdict: see diffsure.h and replicate.h. */
#include <math.h>
#include <stdlib.h>

#include "tables/resultcells.h"
#include "base/mem.h"
#include "compare/diffjudge.h"
#include "base/median.h"
#include "compare/stattest.h"
#include "compare/diffplain.h"

#define LIST_BYTES ((size_t)1 << 12)

static const struct nl_result_column columns[DIFF_FACT_COLUMNS] = {
    [DIFF_FACT_NAME] = {"fact", NULL, NL_MEANS_TEXT},
    [DIFF_FACT_BASE] = {"base", "A", NL_MEANS_TEXT},
    [DIFF_FACT_NEW] = {"new", "B", NL_MEANS_TEXT},
    [DIFF_FACT_AGREES] = {"agrees", NULL, NL_MEANS_TEXT},
    [DIFF_FACT_DECIDES] = {"decides", NULL, NL_MEANS_TEXT},
};

struct nl_result *diff_facts_table(void)
{
    return NL_ANSWER_NEW("comparability", "Can they be compared?", columns);
}

const char *diff_verdict_text(enum diff_verdict verdict)
{
    static const char *const texts[DIFF_VERDICTS] = {
        [DIFF_SLOWER] = "slower",        [DIFF_FASTER] = "faster",
        [DIFF_NO_CHANGE] = "no change",  [DIFF_UNTOLD] = "inconclusive",
        [DIFF_UNKNOWN] = "inconclusive", [DIFF_INCOMPARABLE] = "cannot compare",
    };
    return texts[verdict];
}

/* ---- captures ---- */

/* The captures of a side in few numbers; without steps, its time alone. */
static struct nl_capture *captures_of(struct diff_side *side)
{
    size_t count = diff_capture_count(side);
    struct nl_capture *captures = nl_alloc((count + 1) * sizeof *captures);
    for (size_t i = 0; i < count; i++)
        captures[i] = diff_capture_of(&diff_captures(side)[i]);
    return captures;
}

enum what { TYPICAL, MEAN };

/* Values of the captures that have any. The noise of captures, if `known`, covers
 * an error that the steps do not give. */
static size_t values_of(struct nl_value *values, const struct nl_capture *captures, size_t count,
                        enum what what, bool known)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct nl_capture *c = &captures[i];
        double se = what == TYPICAL ? c->median_se : c->mean_se;
        if (c->steps)
            values[kept++] = (struct nl_value){log(what == TYPICAL ? c->median : c->mean),
                                               isnan(se) && known ? 0 : se};
    }
    return kept;
}

struct sides {
    struct nl_capture *captures[2];
    size_t counts[2];
    const struct nl_noise *noise;
};

static struct nl_apart apart_of(const struct sides *sides, enum what what)
{
    bool known = sides->noise->sd > 0;
    struct nl_value *a = nl_alloc((sides->counts[0] + 1) * sizeof *a);
    struct nl_value *b = nl_alloc((sides->counts[1] + 1) * sizeof *b);
    size_t n = values_of(a, sides->captures[0], sides->counts[0], what, known);
    size_t m = values_of(b, sides->captures[1], sides->counts[1], what, known);
    struct nl_apart apart = nl_apart_of(a, n, b, m, sides->noise);
    nl_free(a);
    nl_free(b);
    return apart;
}

/* "A2 (+31 %)": captures that are far from the others of their side. */
static void name_outlying(struct nl_buf *out, const struct sides *sides, int side)
{
    size_t count = sides->counts[side];
    double *logs = nl_alloc((count + 1) * 2 * sizeof *logs);
    bool *outlying = nl_alloc((count + 1) * sizeof *outlying);
    for (size_t i = 0; i < count; i++)
        if (!sides->captures[side][i].steps)
            count = 0;
    for (size_t i = 0; i < count; i++)
        logs[i] = logs[count + i] = log(sides->captures[side][i].median);
    if (count && nl_outlying(logs, count, outlying)) {
        double middle = nl_median_f64(logs + count, count);
        for (size_t i = 0; i < count; i++)
            if (outlying[i])
                nl_buf_format(out, "%s%c%zu (%+.0f %%)", out->len ? ", " : "", 'A' + side, i + 1,
                              100 * (exp(logs[i] - middle) - 1));
    }
    nl_free(logs);
    nl_free(outlying);
}

/* ---- verdicts ---- */

static enum diff_verdict verdict_of(double low, double high)
{
    return low > 1 ? DIFF_SLOWER : high < 1 ? DIFF_FASTER : DIFF_UNTOLD;
}

static void count_slow(struct diff_sureness *s, const struct sides *sides)
{
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < sides->counts[side]; i++) {
            s->slow[side] += sides->captures[side][i].slow;
            s->steps[side] += sides->captures[side][i].steps;
        }
}

/* Many more slow steps on one side. */
static enum diff_verdict verdict_of_tail(const struct diff_sureness *s)
{
    double apart = s->mean_ratio - 1;
    double more = nl_fisher_more(s->slow[0], s->steps[0], s->slow[1], s->steps[1]);
    double less = nl_fisher_more(s->slow[1], s->steps[1], s->slow[0], s->steps[0]);
    if (more < DIFF_TAIL_P && apart > DIFF_TAIL_MEAN)
        return DIFF_SLOWER;
    if (less < DIFF_TAIL_P && 1 / s->mean_ratio - 1 > DIFF_TAIL_MEAN)
        return DIFF_FASTER;
    return DIFF_UNTOLD;
}

static double p95_of(const struct nl_capture *captures, size_t count)
{
    double sum = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (captures[i].steps) {
            sum += log(captures[i].p95);
            kept++;
        }
    return kept ? sum / (double)kept : NAN;
}

static void decide(struct diff_sureness *s)
{
    s->verdict = verdict_of(s->low, s->high);
    s->basis = DIFF_BY_TYPICAL;
    if (s->verdict != DIFF_UNTOLD)
        return;
    s->verdict = verdict_of(s->mean_low, s->mean_high);
    s->basis = DIFF_BY_MEAN;
    if (s->verdict != DIFF_UNTOLD)
        return;
    s->verdict = verdict_of_tail(s);
    s->basis = DIFF_BY_TAIL;
    if (s->verdict != DIFF_UNTOLD)
        return;
    s->basis = DIFF_BY_TYPICAL;
    if (s->low > 1 / (1 + DIFF_RESOLVED) && s->high < 1 + DIFF_RESOLVED)
        s->verdict = DIFF_NO_CHANGE;
}

static void judge_change(struct diff_sureness *s, const struct sides *sides)
{
    struct nl_apart mean = apart_of(sides, MEAN);
    s->apart = apart_of(sides, TYPICAL);
    if (isnan(s->apart.shift))
        return;
    s->ratio = exp(s->apart.shift);
    s->low = exp(s->apart.low); /* NaN when the error is not known */
    s->high = exp(s->apart.high);
    s->mean_ratio = exp(mean.shift);
    s->mean_low = exp(mean.low);
    s->mean_high = exp(mean.high);
    s->p95_ratio = exp(p95_of(sides->captures[1], sides->counts[1]) -
                       p95_of(sides->captures[0], sides->counts[0]));
    count_slow(s, sides);
    if (isnan(s->low))
        return;
    decide(s);
    double change =
        fabs(s->apart.shift) > log1p(DIFF_TAIL_MEAN) ? fabs(s->apart.shift) : log1p(DIFF_TAIL_MEAN);
    s->more = nl_captures_needed(&s->apart, sides->counts[0], sides->counts[1], change, 0.025);
}

/* Why there is no verdict. */
static const char *reason_of(const struct diff_sureness *s, const struct diff_side *a,
                             const struct diff_side *b)
{
    struct nl_arena *arena = &s->facts->arena;
    size_t n, m;
    (void)diff_judged_lengths(a, &n);
    (void)diff_judged_lengths(b, &m);
    if (s->verdict == DIFF_UNKNOWN && !(n && m))
        return "one measurement per side: its noise is unknown";
    if (s->verdict == DIFF_UNKNOWN)
        return nl_arena_format(arena,
                               "%zu and %zu %s are too few for an interval; 4 per side are enough",
                               n, m, a->plain_count ? "runs without the profiler" : "steady steps");
    if (s->verdict == DIFF_UNTOLD)
        return "the interval holds 1: both may take the same time";
    return NULL;
}

static double median_of(const struct diff_side *side)
{
    size_t count;
    const double *lengths = diff_judged_lengths(side, &count);
    double *copy = nl_alloc((count + 1) * sizeof *copy);
    if (count)
        memcpy(copy, lengths, count * sizeof *copy);
    double median = nl_median_f64(copy, count);
    nl_free(copy);
    return median;
}

static void judge_captures(struct diff_sureness *s, const struct diff_judged *a,
                           const struct diff_judged *b, const struct nl_noise *noise)
{
    struct nl_buf list;
    struct sides sides = {{captures_of(a->side), captures_of(b->side)},
                          {diff_capture_count(a->side), diff_capture_count(b->side)},
                          noise};
    judge_change(s, &sides);
    if (a->side->by_step || a->side->plain_count)
        s->median_ratio = median_of(b->side) / median_of(a->side);
    nl_buf_init(&list, LIST_BYTES);
    name_outlying(&list, &sides, 0);
    name_outlying(&list, &sides, 1);
    if (list.len)
        s->outlying = nl_arena_text(&s->facts->arena, list.ptr, list.len);
    nl_buf_release(&list);
    nl_free(sides.captures[0]);
    nl_free(sides.captures[1]);
}

void diff_judge(struct diff_sureness *s, const struct diff_judged *a, const struct diff_judged *b,
                const struct nl_noise *noise)
{
    struct nl_buf against;
    *s = (struct diff_sureness){.verdict = DIFF_UNKNOWN,
                                .ratio = NAN,
                                .low = NAN,
                                .high = NAN,
                                .median_ratio = NAN,
                                .mean_ratio = NAN,
                                .mean_low = NAN,
                                .mean_high = NAN,
                                .p95_ratio = NAN,
                                .more = SIZE_MAX};
    s->facts = diff_facts_table();
    nl_buf_init(&against, LIST_BYTES);
    diff_find_facts(s, a, b, &against);
    if (a->side->sum > 0)
        s->ratio = (double)diff_judged_time(b->side) / (double)diff_judged_time(a->side);
    bool steps = (a->side->by_step && b->side->by_step) || a->side->plain_count;
    if (a->side->unit < DIFF_UNITS &&
        (steps || noise->sd > 0 || (a->side->captures && b->side->captures)))
        judge_captures(s, a, b, noise);
    s->reason = reason_of(s, a->side, b->side);
    if (against.len) {
        s->verdict = DIFF_INCOMPARABLE;
        s->reason = nl_arena_text(&s->facts->arena, against.ptr, against.len);
    }
    nl_buf_release(&against);
}
