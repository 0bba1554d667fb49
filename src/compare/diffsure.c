/* Facts that allow a comparison or forbid it, then the verdict: see diffsure.h. */
#include "compare/diffinner.h"
#include "compare/diffparts.h"
#include "compare/diffsure.h"

#include <math.h>
#include <stdlib.h>

#include "tables/resultcells.h"
#include "base/mem.h"
#include "compare/diffworkload.h"

#define LIST_BYTES ((size_t)1 << 12)

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
        {NL_KIND_COLLECTIVE, "time of communication operations",
         "time of communication operations in a steady step"},
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
    case DIFF_BY_WALL: return "first to last GPU operation";
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
    struct nl_buf *against; /* facts that decide and disagree */
    double least;           /* share of names that both must have */
};

static bool is_known(const char *value)
{
    return value && *value;
}

/* A fact with its value on both sides (NULL or "" = not known); equal texts agree unless stated.
 * What is not known on a side neither agrees nor decides. */
static void put_fact(struct judging *judging, const char *fact, const char *base,
                     const char *changed, bool agrees, bool decides)
{
    struct nl_result *facts = judging->sureness->facts;
    bool known = is_known(base) && is_known(changed);
    struct nl_cell *cells = nl_result_row(facts);
    cells[DIFF_FACT_NAME] = nl_cell_static(fact);
    cells[DIFF_FACT_BASE] =
        is_known(base) ? nl_cell_text(facts, nl_str(base)) : (struct nl_cell){0};
    cells[DIFF_FACT_NEW] =
        is_known(changed) ? nl_cell_text(facts, nl_str(changed)) : (struct nl_cell){0};
    cells[DIFF_FACT_AGREES] = nl_cell_static(!known ? "unknown" : agrees ? "yes" : "no");
    cells[DIFF_FACT_DECIDES] = nl_cell_static(known && decides ? "yes" : "no");
    if (known && !agrees && decides)
        nl_buf_format(judging->against, "%s%s: A has %s, B has %s",
                      judging->against->len ? "; " : "", fact, base, changed);
}

static void put_equal(struct judging *judging, const char *fact, const char *base,
                      const char *changed, bool decides)
{
    put_fact(judging, fact, base, changed, base && changed && !strcmp(base, changed), decides);
}

static int by_text(const void *left, const void *right)
{
    return nl_str_order(*(const struct nl_str *)left, *(const struct nl_str *)right);
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

struct names {
    struct nl_str *items;
    size_t count, cap;
};

static void add_name(struct names *names, struct nl_str name)
{
    nl_grow(&names->items, &names->cap, names->count + 1);
    names->items[names->count++] = name;
}

static const char *joined_names(struct names *names, struct nl_arena *arena)
{
    const char *text = joined(arena, names->items, names->count);
    nl_free(names->items);
    return text;
}

/* What a device that has no name is called: as the others, where these are of one name. */
static struct nl_str common_name(const struct nl_trace *trace)
{
    struct nl_str common = {"", 0};
    for (uint32_t row = 0; row < trace->device.rows; row++) {
        struct nl_str name = nl_trace_name(trace, trace->device.name[row]);
        if (common.len && name.len && !nl_str_eq(common, name))
            return (struct nl_str){"", 0};
        common = name.len ? name : common;
    }
    return common;
}

static const char *models(struct diff_side *side, struct nl_arena *arena)
{
    struct names names = {0};
    for (size_t c = 0; c < diff_capture_count(side); c++) {
        const struct diff_side *one = &diff_captures(side)[c];
        struct nl_str common = common_name(one->trace);
        for (size_t i = 0; i < one->device_count; i++) {
            uint32_t row = one->devices[i].device;
            struct nl_str name = {"", 0};
            if (row != NL_NULL_ROW)
                name = nl_trace_name(one->trace, one->trace->device.name[row]);
            add_name(&names, name.len ? name : common);
        }
    }
    return joined_names(&names, arena);
}

static void add_types(struct names *names, const struct nl_trace *trace)
{
    uint8_t *seen = nl_zalloc(trace->names.count + (size_t)1);
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t id = trace->kernel.dtype[row];
        if (!id || seen[id])
            continue;
        seen[id] = 1;
        add_name(names, nl_trace_name(trace, id));
    }
    nl_free(seen);
}

static const char *types(struct diff_side *side, struct nl_arena *arena)
{
    struct names names = {0};
    for (size_t c = 0; c < diff_capture_count(side); c++)
        add_types(&names, diff_captures(side)[c].trace);
    return joined_names(&names, arena);
}

static const char *formats(struct diff_side *side, struct nl_arena *arena)
{
    struct names names = {0};
    for (size_t c = 0; c < diff_capture_count(side); c++) {
        const struct nl_trace *trace = diff_captures(side)[c].trace;
        for (uint32_t row = 0; row < trace->source.rows; row++)
            add_name(&names, nl_trace_name(trace, trace->source.format[row]));
    }
    return joined_names(&names, arena);
}

static size_t ranks_of(const struct diff_side *side)
{
    size_t count = 0;
    for (size_t i = 0; i < side->device_count; i++)
        count += side->devices[i].rank != NL_NULL_I64 &&
                 diff_device_of_rank(side, side->devices[i].rank) == &side->devices[i];
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
        int order = nl_str_order(a[i], b[j]);
        both += !order;
        i += order <= 0;
        j += order >= 0;
    }
    size_t either = a_count + b_count - both;
    double jaccard = either ? (double)both / (double)either : 1;
    put_fact(judging, fact, nl_arena_format(arena, "%zu", a_count),
             nl_arena_format(arena, "%zu, %zu in both (%.0f %%)", b_count, both, 100 * jaccard),
             jaccard >= judging->least, decides);
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
    double ratio = a == b ? 1 : a < b ? a / b : b / a;
    bool device = base->unit <= DIFF_BY_WORK, step = base->by_step;
    bool several = base->device_count + changed->device_count > 2;
    put_fact(judging,
             !device   ? step ? "calls in a step" : "calls"
             : step    ? "GPU operations in a step"
             : several ? "GPU operations of a device"
                       : "GPU operations",
             isnan(a) ? NULL : nl_arena_format(arena, "%.6g", a),
             isnan(b) ? NULL : nl_arena_format(arena, "%.6g", b), ratio >= DIFF_WORK, true);
}

/* What the parts by name are. */
static const char *names_fact(const struct diff_side *side)
{
    switch (side->unit) {
    case DIFF_BY_STEP:
    case DIFF_BY_WALL:
    case DIFF_BY_WORK: return "names of kernels";
    case DIFF_BY_LAYER: return "names of layers";
    case DIFF_BY_FUNCTION: return "names of functions";
    default:
        return side->host_kind == NL_KIND_OP           ? "names of operators"
               : side->host_kind == NL_KIND_LAYER      ? "names of modules"
               : side->host_kind == NL_KIND_COLLECTIVE ? "operations and their sizes"
                                                       : "names of ranges";
    }
}

/* What the program was given to do, and with what: these decide where they are reported. */
static void put_workload(struct judging *judging, const struct diff_judged *a,
                         const struct diff_judged *b)
{
    struct diff_workload workload;
    diff_workload_find(&workload, a->side, a->facts, b->side, b->facts);
    for (size_t i = 0; i < workload.count; i++) {
        const struct diff_workload_fact *fact = &workload.items[i];
        put_fact(judging, fact->name, fact->base, fact->changed, fact->agrees,
                 fact->decides == DIFF_DECIDES);
        struct nl_result *facts = judging->sureness->facts;
        struct nl_cell *cells = facts->cells + (facts->rows - 1) * facts->column_count;
        cells[DIFF_FACT_NAME] = nl_cell_text(facts, nl_str(fact->name));
        if (fact->decides == DIFF_DECIDES_IN_CHECK && is_known(fact->base) &&
            is_known(fact->changed))
            cells[DIFF_FACT_DECIDES] = nl_cell_static("in check");
    }
    diff_workload_release(&workload);
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

static void put_work(struct judging *judging, const struct diff_judged *a,
                     const struct diff_judged *b)
{
    if (a->operators && b->operators)
        put_likeness(judging, "names of operators", a->operators, b->operators, true);
    put_likeness(judging, names_fact(a->side), a->parts, b->parts, !a->operators);
    put_pieces(judging, a->side, a->parts, b->side, b->parts);
}

/* Without work of devices on one side, what threads took on both is no comparison of the two. */
static void put_devices(struct judging *judging, struct diff_side *base, struct diff_side *changed)
{
    struct nl_arena *arena = &judging->sureness->facts->arena;
    struct diff_side *sides[2] = {base, changed};
    const char *texts[2];
    size_t kernels[2] = {0};
    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < diff_capture_count(sides[side]); i++)
            kernels[side] += diff_captures(sides[side])[i].trace->kernel.rows;
        texts[side] = kernels[side] ? nl_arena_format(arena, "%zu", kernels[side]) : "none";
    }
    if (!kernels[0] != !kernels[1])
        put_fact(judging, "kernels", texts[0], texts[1], false, true);
}

static void put_facts(struct judging *judging, const struct diff_judged *a,
                      const struct diff_judged *b)
{
    struct diff_side *base = a->side, *changed = b->side;
    struct nl_arena *arena = &judging->sureness->facts->arena;
    put_equal(judging, "compared by", diff_unit_text(base->unit), diff_unit_text(changed->unit),
              true);
    if (base->unit <= DIFF_BY_WORK) {
        put_equal(judging, "device model", models(base, arena), models(changed, arena), true);
        put_count(judging, "devices with work", base->device_count, changed->device_count);
    }
    if (base->unit > DIFF_BY_WORK)
        put_devices(judging, base, changed);
    if (base->unit <= DIFF_BY_HOST)
        put_count(judging, "ranks", ranks_of(base), ranks_of(changed));
    if (base->unit <= DIFF_BY_WORK)
        put_equal(judging, "element types of kernels", types(base, arena), types(changed, arena),
                  false);
    put_work(judging, a, b);
    put_steps(judging, base, changed);
    put_workload(judging, a, b);
    put_equal(judging, "format", formats(base, arena), formats(changed, arena), false);
}

/* ---- in all ---- */

void diff_find_work_facts(struct diff_sureness *sureness, const struct diff_judged *a,
                          const struct diff_judged *b, double least, struct nl_buf *against)
{
    struct judging judging = {sureness, against, least};
    put_work(&judging, a, b);
}

void diff_find_facts(struct diff_sureness *sureness, const struct diff_judged *a,
                     const struct diff_judged *b, struct nl_buf *against)
{
    struct judging judging = {sureness, against, DIFF_JACCARD};
    if (a->side->unit < DIFF_UNITS)
        put_facts(&judging, a, b);
    else if (a->side->too_long || b->side->too_long)
        nl_buf_text(against, "times are too long to be added up");
    else
        nl_buf_text(against, "nothing was recorded on both sides that takes time");
}
