/* The sentences of a ranking, and what to choose under which conditions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/sum.h"
#include "base/units.h"
#include "compare/rankinner.h"
#include "tables/resultcells.h"
#include "tables/shortname.h"

#define SENTENCE    ((size_t)1 << 12)
#define CLOSE_RATIO 0.1   /* more than the fastest: hardly another with more captures */
#define REASON      200   /* bytes of a row's reason in a sentence */
#define AS_MUCH     1.005 /* times: less is 1 in three digits */

static void add_headline(struct ranking *r, struct nl_buf *text)
{
    struct nl_report *report = r->report;
    if (text->len && report->headline_count < NL_MAX_HEADLINES)
        report->headlines[report->headline_count++] =
            nl_arena_text(&report->arena, text->ptr, text->len);
    nl_buf_clear(text);
}

/* ---- who and where ---- */

/* Of what is compared: it is the time a step takes only where devices ran steps. */
static const char *verb(const struct ranking *r)
{
    return r->items[0].side.plain_count                         ? "takes"
           : r->unit == DIFF_BY_HOST || r->unit > DIFF_BY_LAYER ? "has"
                                                                : "takes";
}

static const char *as_much(const struct ranking *r)
{
    bool amount = r->unit == DIFF_BY_HOST || r->unit > DIFF_BY_LAYER;
    return amount && !r->items[0].side.plain_count ? "as much" : "as long";
}

static void say_other(const struct ranking *r, struct nl_buf *text, const struct rank_candidate *c)
{
    struct nl_apart apart = rank_apart(r->order[0], c);
    int digits = exp(apart.shift) < AS_MUCH ? 4 : 3;
    if (rank_is_same(r, c))
        nl_buf_format(text, "; %s takes the same time", rank_word(c));
    else if (rank_is_unsure(r, c) && exp(apart.shift) < AS_MUCH)
        nl_buf_format(text, "; %s %s about %s, by one measurement each", rank_word(c), verb(r),
                      as_much(r));
    else if (rank_is_unsure(r, c))
        nl_buf_format(text, "; %s %s %.3g times %s, by one measurement each", rank_word(c), verb(r),
                      exp(apart.shift), as_much(r));
    else if (rank_is_tie(r, c))
        nl_buf_format(text, "; %s is within its noise (%.3g times, 95 %%: %.3g to %.3g)",
                      rank_word(c), exp(apart.shift), exp(apart.low), exp(apart.high));
    else
        nl_buf_format(text, "; %s %s %.*g times %s (95 %%: %.*g to %.*g)", rank_word(c), verb(r),
                      digits, exp(apart.shift), as_much(r), digits, exp(apart.low), digits,
                      exp(apart.high));
}

static void say_fastest(struct ranking *r, struct nl_buf *text)
{
    char time[NL_UNIT_TEXT];
    const struct rank_candidate *best = r->order[0];
    struct nl_str device = rank_device(best);
    if (r->nothing_common)
        nl_buf_text(text,
                    "Not known to be the same work: no name is in two of them, and steps are ");
    else if (r->unlike_steps)
        nl_buf_text(text, "Steps were found in different ways (");
    if (r->unlike_steps)
        rank_say_steps(r, text);
    if (r->unlike_steps)
        nl_buf_text(text, r->nothing_common ? ". " : "). ");
    nl_buf_format(text, "%s: %s",
                  r->comparable       ? "Fastest"
                  : r->nothing_common ? "By time alone"
                                      : "Not the same workload; by time alone",
                  rank_word(best));
    if (device.len)
        nl_buf_format(text, " (%.*s)", (int)device.len, device.ptr);
    nl_buf_format(text, ", %s %s",
                  best->side.plain_count    ? "a run without the profiler takes"
                  : r->unit == DIFF_BY_STEP ? "a step takes"
                                            : diff_unit_words(&best->side),
                  nl_format_ns(time, nl_whole_i64(best->time)));
    for (size_t i = 1; i < r->count && i < 4; i++)
        say_other(r, text, r->order[i]);
    nl_buf_char(text, '.');
    add_headline(r, text);
}

/* The one rank of the candidate's first capture; NL_NULL_I64: not known, or several. */
static int64_t only_rank(const struct rank_candidate *c)
{
    const struct nl_trace *trace = diff_captures((struct diff_side *)&c->side)[0].trace;
    int64_t rank = NL_NULL_I64;
    for (uint32_t row = 0; row < trace->process.rows; row++) {
        int64_t one = trace->process.rank[row];
        if (one != NL_NULL_I64 && rank != NL_NULL_I64 && one != rank)
            return NL_NULL_I64;
        rank = one != NL_NULL_I64 ? one : rank;
    }
    return rank;
}

/* Ranks of one run wait for each other and are no alternatives. */
static void say_ranks(struct ranking *r, struct nl_buf *text)
{
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k <= i; k++) {
            int64_t rank = only_rank(&r->items[i]);
            if (rank == NL_NULL_I64 || (k < i && rank == only_rank(&r->items[k])))
                return;
        }
    nl_buf_text(text, "Each is another rank:");
    for (size_t i = 0; i < r->count && i < 4; i++)
        nl_buf_format(text, "%s %s is rank %lld", i ? "," : "", rank_word(&r->items[i]),
                      (long long)only_rank(&r->items[i]));
    nl_buf_text(text, ". If they are of one run, they are no alternatives to choose from: "
                      "`neurolens analyze` of all the files finds the rank that others wait for.");
    add_headline(r, text);
}

static void say_row(struct ranking *r, struct nl_buf *text, const struct rank_row *row)
{
    char time[NL_UNIT_TEXT];
    bool idle = row->group == DIFF_IDLE;
    if (row->alone)
        nl_buf_format(text, "only %s has ", rank_word(&r->items[row->fastest]));
    nl_buf_text(text, idle ? "idle, " : "");
    if (row->name.len)
        nl_elide_name(text, nl_short_kernel(row->name), NL_RANK_NAME_WIDTH);
    else
        nl_buf_text(text, "(no name)");
    if (row->alone) {
        nl_buf_format(text, " (%s)", nl_format_ns(time, row->times[row->fastest]));
        return;
    }
    nl_buf_format(text, " is %s in %s, by %s", idle ? "least" : "fastest",
                  rank_word(&r->items[row->fastest]), nl_format_ns(time, row->lead));
    if (row->because && strlen(row->because) < REASON)
        nl_buf_format(text, " (%s)", row->because);
}

static void say_where(struct ranking *r, struct nl_buf *text)
{
    const struct rank_level *level = rank_telling_level(r);
    for (size_t i = 0;
         i < level->count && i < 3 && (level->rows[i].lead > 0 || level->rows[i].alone); i++) {
        nl_buf_text(text, i                              ? "; "
                          : r->items[0].side.plain_count ? "Where, under the profiler: "
                                                         : "Where: ");
        say_row(r, text, &level->rows[i]);
    }
    if (text->len)
        nl_buf_char(text, '.');
    add_headline(r, text);
}

/* What the winner is beaten in: the largest row where another is surely faster. */
static void say_beaten(struct ranking *r, struct nl_buf *text)
{
    size_t best = (size_t)(r->order[0] - r->items);
    const struct rank_level *level = rank_telling_level(r);
    int64_t most = 0;
    const struct rank_row *found = NULL;
    for (size_t i = 0; i < level->count; i++) {
        const struct rank_row *row = &level->rows[i];
        if (row->fastest == best || row->times[best] == NL_NULL_I64 ||
            !(rank_row_apart(r, row, row->fastest, best).low > 0))
            continue;
        int64_t behind = row->times[best] - row->times[row->fastest];
        if (behind > most) {
            most = behind;
            found = row;
        }
    }
    if (!found || (double)most < 0.01 * r->order[0]->time)
        return;
    char time[NL_UNIT_TEXT];
    nl_buf_format(text, "Not everywhere: %s is behind in ", rank_word(r->order[0]));
    nl_elide_name(text, nl_short_kernel(found->name), NL_RANK_NAME_WIDTH);
    nl_buf_format(text, ", where %s is faster by %s.", rank_word(&r->items[found->fastest]),
                  nl_format_ns(time, most));
    add_headline(r, text);
}

/* ---- what to choose ---- */

struct choice {
    const char *aim, *unit;
    double values[NL_MAX_RANK]; /* by candidate; NaN not known */
    size_t best, next;          /* next: the one after it; count = there is none */
    size_t unknown;             /* candidates */
    bool tie;
};

static void find_best(const struct ranking *r, struct choice *choice)
{
    choice->best = choice->next = r->count;
    choice->unknown = 0;
    for (size_t place = 0; place < r->count; place++) {
        size_t i = (size_t)(r->order[place] - r->items);
        double value = choice->values[i];
        if (isnan(value)) {
            choice->unknown++;
        } else if (choice->best == r->count || value < choice->values[choice->best]) {
            choice->next = choice->best;
            choice->best = i;
        } else if (choice->next == r->count || value < choice->values[choice->next]) {
            choice->next = i;
        }
    }
}

enum { BY_TIME, BY_ENERGY, BY_PRICE, CHOICES };

static struct choice choice_of(const struct ranking *r, int which)
{
    static const char *const aims[CHOICES] = {"time", "energy", "price"};
    static const char *const units[CHOICES] = {"ns", "J", "USD"};
    struct choice choice = {.aim = aims[which], .unit = units[which]};
    for (size_t i = 0; i < r->count; i++) {
        const struct rank_candidate *c = &r->items[i];
        choice.values[i] = which == BY_TIME     ? c->time
                           : which == BY_ENERGY ? c->energy.joules
                                                : c->price_step;
    }
    find_best(r, &choice);
    choice.tie = which == BY_TIME && rank_is_tie(r, r->order[1]);
    return choice;
}

/* The facts that a ranking stands on: what all have in common, and what not all give. */
static void gather_facts(const struct ranking *r, struct nl_buf *same, struct nl_buf *unknown)
{
    static const char *const wanted[] = {"batch size", "sequence length", "phase", "precision",
                                         "model"};
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        const char *value = NULL;
        bool known = true, differs = false;
        for (size_t i = 1; i < r->count && known; i++) {
            const struct diff_workload *w = &r->order[i]->facts;
            bool here = false;
            for (size_t n = 0; n < w->count; n++)
                if (!strcmp(w->items[n].name, wanted[k]) && w->items[n].agrees) {
                    value = w->items[n].base;
                    here = true;
                } else if (!strcmp(w->items[n].name, wanted[k]) && w->items[n].base &&
                           w->items[n].changed) {
                    here = differs = true; /* given by all, though not the same */
                }
            known = here;
        }
        if (!known)
            nl_buf_format(unknown, "%s%s", unknown->len ? ", " : "", wanted[k]);
        else if (value && !differs)
            nl_buf_format(same, "%s%s %s", same->len ? ", " : "", wanted[k], value);
    }
}

#define CHOICE_COLUMNS(C)                                                                          \
    C(aim, NULL, TEXT)                                                                             \
    C(choose, NULL, TEXT)                                                                          \
    C(value, "a step", WEIGHT)                                                                     \
    C(unit, NULL, UNIT)                                                                            \
    C(next, NULL, TEXT)                                                                            \
    C(ratio, "of the next", NUMBER)                                                                \
    C(tie, NULL, TEXT)                                                                             \
    C(holds_for, "holds for", TEXT)                                                                \
    C(not_known, "not known", TEXT)
NL_COLUMNS(CHOICE_COLUMNS);

struct nl_result *rank_choice_table(const struct ranking *r)
{
    struct nl_result *result = NL_ANSWER_NEW("recommendation", "What to choose", columns);
    struct nl_buf same, unknown;
    nl_buf_init(&same, SENTENCE);
    nl_buf_init(&unknown, SENTENCE);
    gather_facts(r, &same, &unknown);
    for (int which = 0; which < CHOICES; which++) {
        struct choice choice = choice_of(r, which);
        struct nl_cell *cells = nl_result_row(result);
        bool known = !choice.unknown && r->comparable;
        cells[AT_aim] = nl_cell_static(choice.aim);
        cells[AT_unit] = nl_cell_static(choice.unit);
        cells[AT_not_known] = unknown.len
                                  ? nl_cell_text(result, (struct nl_str){unknown.ptr, unknown.len})
                                  : (struct nl_cell){0};
        cells[AT_holds_for] = same.len ? nl_cell_text(result, (struct nl_str){same.ptr, same.len})
                                       : (struct nl_cell){0};
        if (!known)
            continue;
        bool unsure = which == BY_TIME && rank_is_unsure(r, r->order[1]);
        if (!unsure)
            cells[AT_choose] = nl_cell_text(result, nl_str(rank_word(&r->items[choice.best])));
        cells[AT_value] = nl_cell_f64(choice.values[choice.best]);
        cells[AT_next] = nl_cell_text(result, nl_str(rank_word(&r->items[choice.next])));
        cells[AT_ratio] = nl_cell_f64(choice.values[choice.best] / choice.values[choice.next]);
        if (which == BY_TIME && !unsure)
            cells[AT_tie] = nl_cell_static(choice.tie ? "yes" : "no");
    }
    nl_buf_release(&same);
    nl_buf_release(&unknown);
    return result;
}

/* Another than the fastest is better by energy or price; or that is not known. */
static void say_other_aims(struct ranking *r, struct nl_buf *text)
{
    static const char *const words[CHOICES] = {NULL, "takes the least energy", "costs the least"};
    bool steps = true;
    for (size_t i = 0; i < r->count; i++)
        steps &= r->items[i].side.by_step;
    for (int which = BY_ENERGY; which < CHOICES; which++) {
        struct choice choice = choice_of(r, which);
        if (choice.unknown)
            continue;
        const struct rank_candidate *best = &r->items[choice.best];
        double of_fastest = choice.values[choice.best] / choice.values[r->order[0] - r->items];
        bool price = which == BY_PRICE;
        nl_buf_format(text, " %s %s: %.3g %s", rank_word(best), words[which],
                      choice.values[choice.best] * (price ? 1e6 : 1),
                      price   ? steps ? "USD per million steps" : "USD per million runs"
                      : steps ? "J a step"
                              : "J in all");
        if (best != r->order[0])
            nl_buf_format(text, ", %.3g of the fastest's", of_fastest);
        nl_buf_char(text, '.');
    }
}

static void say_unknown(struct ranking *r, struct nl_buf *text, const struct nl_buf *facts)
{
    bool energy = choice_of(r, BY_ENERGY).unknown, price = choice_of(r, BY_PRICE).unknown;
    if (!facts->len && !energy && !price)
        return;
    nl_buf_format(text, "Not known: %.*s%s%s%s%s.", (int)facts->len, facts->len ? facts->ptr : "",
                  facts->len && (energy || price) ? ", " : "",
                  energy ? "energy (record power with `neurolens run`)" : "",
                  energy && price ? ", " : "",
                  price ? "price (give --price NAME=USD an hour)" : "");
    add_headline(r, text);
}

/* A tie that more captures would hardly undo. */
static bool is_close(const struct ranking *r)
{
    return rank_is_same(r, r->order[1]) ||
           rank_apart(r->order[0], r->order[1]).high < log(1 + CLOSE_RATIO);
}

static void say_advice(struct ranking *r, struct nl_buf *text)
{
    struct nl_buf same, unknown;
    size_t few = 0;
    for (size_t i = 0; i < r->count; i++)
        few += r->items[i].side.unit < DIFF_UNITS && r->items[i].count < 3;
    nl_buf_init(&same, SENTENCE);
    nl_buf_init(&unknown, SENTENCE);
    gather_facts(r, &same, &unknown);
    if (r->nothing_common)
        nl_buf_text(text, "Recommendation: none; mark the same iteration in all of them, such as "
                          "a range named \"step 1\".");
    else if (!r->comparable)
        nl_buf_text(text, "Recommendation: none; give all of them the same work first "
                          "(table conditions says what differs).");
    else if (rank_is_unsure(r, r->order[1]))
        nl_buf_format(text,
                      "Recommendation: none yet between %s and %s: one measurement of each does "
                      "not show how much it varies; record 3 captures of both, or 4 steady steps.",
                      rank_word(r->order[0]), rank_word(r->order[1]));
    else if (rank_is_tie(r, r->order[1]))
        nl_buf_format(text,
                      is_close(r) ? "Recommendation: %s and %s are a tie: choose by price, or "
                                    "record more captures of both."
                                  : "Recommendation: none yet between %s and %s: their times "
                                    "vary too much; record more captures of both.",
                      rank_word(r->order[0]), rank_word(r->order[1]));
    else
        nl_buf_format(text, "Recommendation: %s, for %.*s.", rank_word(r->order[0]),
                      same.len ? (int)same.len : 33,
                      same.len ? same.ptr : "this workload as it was recorded");
    if (r->comparable)
        say_other_aims(r, text);
    if (few)
        nl_buf_format(text, " %zu of %zu candidates have fewer than 3 captures.", few, r->count);
    add_headline(r, text);
    if (r->comparable)
        say_unknown(r, text, &unknown);
    nl_buf_release(&same);
    nl_buf_release(&unknown);
}

void rank_sentences(struct ranking *r)
{
    struct nl_buf text;
    nl_buf_init(&text, SENTENCE);
    say_fastest(r, &text);
    say_ranks(r, &text);
    say_where(r, &text);
    say_beaten(r, &text);
    say_advice(r, &text);
    nl_buf_release(&text);
}
