/* Facts that allow a comparison or forbid it, then the verdict: see diffsure.h. */
#include "compare/diffsure.h"

#include <math.h>
#include <stdlib.h>

#include "tables/answer.h"
#include "base/mem.h"
#include "compare/shift.h"

#define NORMAL_95  1.959963984540054
#define LIST_BYTES ((size_t)1 << 12)

static const struct nl_result_column columns[] = {
    {"fact", NULL, NL_MEANS_TEXT},   {"base", "A", NL_MEANS_TEXT},     {"new", "B", NL_MEANS_TEXT},
    {"agrees", NULL, NL_MEANS_TEXT}, {"decides", NULL, NL_MEANS_TEXT},
};

const char *diff_verdict_text(enum diff_verdict verdict)
{
    static const char *const texts[DIFF_VERDICTS] = {
        [DIFF_SLOWER] = "slower",
        [DIFF_FASTER] = "faster",
        [DIFF_UNTOLD] = "no change that can be told",
        [DIFF_UNKNOWN] = "cannot be told",
        [DIFF_INCOMPARABLE] = "cannot be compared",
    };
    return texts[verdict];
}

const char *diff_unit_text(enum diff_unit unit)
{
    static const char *const texts[DIFF_UNITS] = {
        [DIFF_BY_STEP] = "step", [DIFF_BY_WALL] = "wall",   [DIFF_BY_WORK] = "work",
        [DIFF_BY_HOST] = "host", [DIFF_BY_LAYER] = "layer", [DIFF_BY_FUNCTION] = "function",
    };
    return unit < DIFF_UNITS ? texts[unit] : NULL;
}

/* What of threads is added up. */
static const char *host_words(const struct diff_side *side)
{
    static const struct {
        enum nl_kind kind;
        const char *whole, *step;
    } words[] = {
        {NL_KIND_OP, "self time of operators on threads",
         "self time of operators on threads in a steady step"},
        {NL_KIND_LAYER, "self time of modules on threads",
         "self time of modules on threads in a steady step"},
        {NL_KIND_PYTHON, "self time of Python functions on threads",
         "self time of Python functions on threads in a steady step"},
        {NL_KIND_NVTX, "self time of ranges on threads",
         "self time of ranges on threads in a steady step"},
        {NL_KIND_OSRT, "self time of operating system calls, waits included",
         "self time of operating system calls, waits included, in a steady step"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i].kind == side->host_kind)
            return side->by_step ? words[i].step : words[i].whole;
    return side->by_step ? "self time on threads in a steady step" : "self time on threads";
}

const char *diff_unit_words(const struct diff_side *side)
{
    switch (side->unit) {
    case DIFF_BY_STEP: return "a steady step of a device";
    case DIFF_BY_WALL: return "a device from its first to its last work";
    case DIFF_BY_WORK: return "the work of a device, added up";
    case DIFF_BY_HOST: return host_words(side);
    case DIFF_BY_LAYER:
        return side->units > 1 ? "the layers of an execution" : "the layers of the model";
    case DIFF_BY_FUNCTION:
        return nl_str_is(side->weight, "ns") ? "self time of functions" : "weight of functions";
    default: return "nothing";
    }
}

/* ---- facts ---- */

struct judging {
    struct diff_sureness *sureness;
    struct nl_buf against; /* facts that decide and disagree */
};

static bool is_known(const char *value)
{
    return value && *value;
}

/* A fact with its value on both sides (NULL or "" = not known); equal texts agree unless told. What is
 * not known on a side neither agrees nor decides. */
static void put_fact(struct judging *judging, const char *fact, const char *base,
                     const char *changed, bool agrees, bool decides)
{
    struct nl_result *facts = judging->sureness->facts;
    bool known = is_known(base) && is_known(changed);
    struct nl_cell *cells = nl_result_row(facts);
    cells[0] = nl_answer_static(fact);
    cells[1] = is_known(base) ? nl_cell_text(facts, nl_str(base)) : (struct nl_cell){0};
    cells[2] = is_known(changed) ? nl_cell_text(facts, nl_str(changed)) : (struct nl_cell){0};
    cells[3] = nl_answer_static(!known ? "unknown" : agrees ? "yes" : "no");
    cells[4] = nl_answer_static(known && decides ? "yes" : "no");
    if (known && !agrees && decides)
        nl_buf_format(&judging->against, "%s%s: %s and %s", judging->against.len ? "; " : "", fact,
                      base, changed);
}

static void put_equal(struct judging *judging, const char *fact, const char *base,
                      const char *changed, bool decides)
{
    put_fact(judging, fact, base, changed, base && changed && !strcmp(base, changed), decides);
}

static int by_text(const void *left, const void *right)
{
    return diff_text_order(*(const struct nl_str *)left, *(const struct nl_str *)right);
}

/* The different texts, sorted and joined. */
static const char *joined(struct nl_arena *arena, struct nl_str *texts, size_t count)
{
    struct nl_buf list;
    nl_buf_init(&list, LIST_BYTES);
    if (count)
        qsort(texts, count, sizeof *texts, by_text);
    for (size_t i = 0; i < count; i++) {
        if (!texts[i].len || (i && nl_str_eq(texts[i], texts[i - 1])))
            continue;
        if (list.len)
            nl_buf_text(&list, ", ");
        nl_buf_add(&list, texts[i].ptr, texts[i].len);
    }
    const char *text = nl_arena_text(arena, list.len ? list.ptr : "", list.len);
    nl_buf_release(&list);
    return text;
}

static const char *models(const struct diff_side *side, struct nl_arena *arena)
{
    const struct nl_trace *trace = side->trace;
    struct nl_str *texts = nl_zalloc((side->device_count + 1) * sizeof *texts);
    size_t count = 0;
    for (size_t i = 0; i < side->device_count; i++)
        if (side->devices[i].device != NL_NULL_ROW)
            texts[count++] = nl_trace_name(trace, trace->device.name[side->devices[i].device]);
    const char *text = joined(arena, texts, count);
    nl_free(texts);
    return text;
}

static const char *types(const struct diff_side *side, struct nl_arena *arena)
{
    const struct nl_trace *trace = side->trace;
    uint8_t *seen = nl_zalloc(trace->names.count + (size_t)1);
    struct nl_str *texts = NULL;
    size_t count = 0, cap = 0;
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t id = trace->kernel.dtype[row];
        if (!id || seen[id])
            continue;
        seen[id] = 1;
        nl_grow(&texts, &cap, count + 1);
        texts[count++] = nl_trace_name(trace, id);
    }
    const char *text = joined(arena, texts, count);
    nl_free(texts);
    nl_free(seen);
    return text;
}

static const char *formats(const struct diff_side *side, struct nl_arena *arena)
{
    const struct nl_source_table *source = &side->trace->source;
    struct nl_str *texts = nl_zalloc((source->rows + (size_t)1) * sizeof *texts);
    for (uint32_t row = 0; row < source->rows; row++)
        texts[row] = nl_trace_name(side->trace, source->format[row]);
    const char *text = joined(arena, texts, source->rows);
    nl_free(texts);
    return text;
}

static size_t ranks_of(const struct diff_side *side)
{
    size_t count = 0;
    for (size_t i = 0; i < side->device_count; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen |= side->devices[j].rank == side->devices[i].rank;
        count += !seen && side->devices[i].rank != NL_NULL_I64;
    }
    return count;
}

static void put_count(struct judging *judging, const char *fact, size_t base, size_t changed)
{
    struct nl_arena *arena = &judging->sureness->facts->arena;
    put_equal(judging, fact, base ? nl_arena_format(arena, "%zu", base) : NULL,
              changed ? nl_arena_format(arena, "%zu", changed) : NULL, true);
}

/* ---- likeness ---- */

static bool is_named(const struct diff_part *part)
{
    return !part->nobody &&
           (part->group == DIFF_COMPUTE || part->group == DIFF_COMM || part->group == DIFF_HOST);
}

/* Different folded names, sorted. */
static size_t names_of(const struct diff_parts *parts, struct nl_str *names)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < parts->count; i++)
        if (is_named(&parts->items[i]))
            names[count++] = parts->items[i].folded;
    qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count; i++)
        if (!kept || !nl_str_eq(names[kept - 1], names[i]))
            names[kept++] = names[i];
    return kept;
}

static void put_likeness(struct judging *judging, const char *fact, const struct diff_parts *base,
                         const struct diff_parts *changed, bool decides)
{
    struct nl_arena *arena = &judging->sureness->facts->arena;
    struct nl_str *a = nl_alloc((base->count + 1) * sizeof *a);
    struct nl_str *b = nl_alloc((changed->count + 1) * sizeof *b);
    size_t a_count = names_of(base, a), b_count = names_of(changed, b), both = 0;
    for (size_t i = 0, j = 0; i < a_count && j < b_count;) {
        int order = diff_text_order(a[i], b[j]);
        both += !order;
        i += order <= 0;
        j += order >= 0;
    }
    size_t either = a_count + b_count - both;
    double jaccard = either ? (double)both / (double)either : 1;
    put_fact(judging, fact, nl_arena_format(arena, "%zu, %zu of them in B", a_count, both),
             nl_arena_format(arena, "%zu; %.0f %% of all are in both", b_count, 100 * jaccard),
             jaccard >= DIFF_JACCARD, decides);
    nl_free(a);
    nl_free(b);
}

static double pieces_of(const struct diff_side *side, const struct diff_parts *parts)
{
    uint64_t pieces = 0;
    for (size_t i = 0; i < parts->count; i++)
        if (parts->items[i].group != DIFF_IDLE) {
            if (parts->items[i].count == NL_NULL_U64)
                return NAN;
            pieces += parts->items[i].count;
        }
    return (double)pieces / (double)side->units;
}

static void put_pieces(struct judging *judging, const struct diff_side *base,
                       const struct diff_parts *base_parts, const struct diff_side *changed,
                       const struct diff_parts *changed_parts)
{
    struct nl_arena *arena = &judging->sureness->facts->arena;
    double a = pieces_of(base, base_parts), b = pieces_of(changed, changed_parts);
    double ratio = a < b ? a / b : b > 0 ? b / a : 1;
    put_fact(judging,
             base->by_step ? "pieces of work in a step"
             : base->unit <= DIFF_BY_WORK && base->device_count + changed->device_count > 2
                 ? "pieces of work of a device"
                 : "pieces of work",
             isnan(a) ? NULL : nl_arena_format(arena, "%.6g", a),
             isnan(b) ? NULL : nl_arena_format(arena, "%.6g", b), ratio >= DIFF_WORK, true);
}

static const char *steps_words(const struct diff_side *side, struct nl_arena *arena)
{
    return nl_arena_format(arena, "%zu, %s", side->length_count, nl_step_method_text(side->method));
}

static void put_steps(struct judging *judging, const struct diff_side *base,
                      const struct diff_side *changed)
{
    struct nl_arena *arena = &judging->sureness->facts->arena;
    if (base->by_step && changed->by_step)
        put_fact(judging, "steady steps", steps_words(base, arena), steps_words(changed, arena),
                 base->method == changed->method, false);
    else if (base->by_step != changed->by_step)
        put_fact(judging, "steady steps", base->by_step ? steps_words(base, arena) : "none",
                 changed->by_step ? steps_words(changed, arena) : "none", false, true);
    if (base->stepless || changed->stepless)
        put_fact(judging, "devices without steps, left out",
                 nl_arena_format(arena, "%zu", base->stepless),
                 nl_arena_format(arena, "%zu", changed->stepless),
                 base->stepless == changed->stepless, false);
}

static void put_facts(struct judging *judging, const struct diff_judged *a,
                      const struct diff_judged *b)
{
    const struct diff_side *base = a->side, *changed = b->side;
    struct nl_arena *arena = &judging->sureness->facts->arena;
    put_equal(judging, "compared by", diff_unit_text(base->unit), diff_unit_text(changed->unit),
              true);
    if (base->unit <= DIFF_BY_WORK) {
        put_equal(judging, "device model", models(base, arena), models(changed, arena), true);
        put_count(judging, "devices with work", base->device_count, changed->device_count);
    }
    if (base->unit <= DIFF_BY_HOST)
        put_count(judging, "ranks", ranks_of(base), ranks_of(changed));
    if (base->unit <= DIFF_BY_WORK)
        put_equal(judging, "element types of kernels", types(base, arena), types(changed, arena),
                  false);
    if (a->operators && b->operators)
        put_likeness(judging, "names of operators", a->operators, b->operators, true);
    put_likeness(judging, "names of the work", a->parts, b->parts, !a->operators);
    put_pieces(judging, base, a->parts, changed, b->parts);
    put_steps(judging, base, changed);
    put_equal(judging, "format", formats(base, arena), formats(changed, arena), false);
}

/* ---- verdict ---- */

static double *logarithms(const struct diff_side *side)
{
    double *logs = nl_alloc((side->length_count + 1) * sizeof *logs);
    for (size_t i = 0; i < side->length_count; i++)
        logs[i] = log(side->lengths[i]);
    return logs;
}

static void judge_steps(struct diff_sureness *s, const struct diff_side *base,
                        const struct diff_side *changed)
{
    double *a = logarithms(base), *b = logarithms(changed);
    struct nl_shift shift = nl_shift_of(a, base->length_count, b, changed->length_count);
    double spread = (shift.high - shift.low) / 2 / NORMAL_95;
    double half = NORMAL_95 * sqrt(spread * spread + 2 * DIFF_NOISE * DIFF_NOISE);
    s->ratio = exp(shift.point);
    s->verdict = DIFF_UNTOLD;
    s->low = exp(shift.point - half); /* NaN when the spread is not known */
    s->high = exp(shift.point + half);
    s->median_ratio =
        exp(nl_median_f64(b, changed->length_count) - nl_median_f64(a, base->length_count));
    if (s->low > 1)
        s->verdict = DIFF_SLOWER;
    else if (s->high < 1)
        s->verdict = DIFF_FASTER;
    if (isnan(s->low)) {
        s->verdict = DIFF_UNKNOWN;
        s->reason = nl_arena_format(
            &s->facts->arena, "%zu and %zu steady steps are too few for an interval; 4 a side do",
            base->length_count, changed->length_count);
    } else if (s->verdict == DIFF_UNTOLD) {
        s->reason = "the interval holds 1: both may take the same time";
    }
    nl_free(a);
    nl_free(b);
}

void diff_judge(struct diff_sureness *sureness, const struct diff_judged *a,
                const struct diff_judged *b)
{
    const struct diff_side *base = a->side, *changed = b->side;
    struct judging judging = {.sureness = sureness};
    *sureness = (struct diff_sureness){
        .verdict = DIFF_UNKNOWN, .ratio = NAN, .low = NAN, .high = NAN, .median_ratio = NAN};
    sureness->facts = NL_ANSWER_NEW("comparability", "Can they be compared?", columns);
    nl_buf_init(&judging.against, LIST_BYTES);
    if (base->unit < DIFF_UNITS)
        put_facts(&judging, a, b);
    else if (base->too_long || changed->too_long)
        nl_buf_text(&judging.against, "times are too long to be added up");
    else
        nl_buf_text(&judging.against, "nothing was recorded on both sides that takes time");
    if (base->sum > 0)
        sureness->ratio = (double)changed->mean / (double)base->mean;
    if (base->by_step && changed->by_step)
        judge_steps(sureness, base, changed);
    else
        sureness->reason = "one measurement a side: how much it varies is not known";
    if (judging.against.len) {
        sureness->verdict = DIFF_INCOMPARABLE;
        sureness->reason =
            nl_arena_text(&sureness->facts->arena, judging.against.ptr, judging.against.len);
    }
    nl_buf_release(&judging.against);
}
