/* The tables of a diff that hold its numbers. */
#include <math.h>
#include <stdlib.h>

#include "tables/answer.h"
#include "base/mem.h"
#include "compare/diffinner.h"
#include "compare/diffdoc.h"

/* ---- verdict ---- */

static const struct nl_result_column verdict_ns[] = {
    {"verdict", NULL, NL_MEANS_TEXT},
    {"unit", "compared by", NL_MEANS_TEXT},
    {"base_ns", "A", NL_MEANS_NS},
    {"new_ns", "B", NL_MEANS_NS},
    {"change_ns", "change", NL_MEANS_CHANGE_NS},
    {"ratio", "B/A", NL_MEANS_NUMBER},
    {"ratio_low", "at least", NL_MEANS_NUMBER},
    {"ratio_high", "at most", NL_MEANS_NUMBER},
    {"base_samples", "A steps", NL_MEANS_COUNT},
    {"new_samples", "B steps", NL_MEANS_COUNT},
    {"median_ratio", "of medians", NL_MEANS_NUMBER},
    {"base_discarded", "A excluded", NL_MEANS_COUNT},
    {"new_discarded", "B excluded", NL_MEANS_COUNT},
    {"compared", NULL, NL_MEANS_TEXT},
    {"reason", NULL, NL_MEANS_TEXT},
    {"base_captures", "A captures", NL_MEANS_COUNT},
    {"new_captures", "B captures", NL_MEANS_COUNT},
    {"mean_ratio", "of means", NL_MEANS_NUMBER},
    {"mean_ratio_low", "at least", NL_MEANS_NUMBER},
    {"mean_ratio_high", "at most", NL_MEANS_NUMBER},
    {"p95_ratio", "of p95", NL_MEANS_NUMBER},
    {"base_slow", "A slow steps", NL_MEANS_COUNT},
    {"new_slow", "B slow steps", NL_MEANS_COUNT},
    {"basis", NULL, NL_MEANS_TEXT},
    {"captures_needed", "captures needed", NL_MEANS_COUNT},
    {"outlying", NULL, NL_MEANS_TEXT},
    {"base_preempted_share", "A preempted", NL_MEANS_SHARE},
    {"new_preempted_share", "B preempted", NL_MEANS_SHARE},
    {"noise_share", "captures differ by", NL_MEANS_SHARE},
    {"noise_run_count", "as earlier runs show", NL_MEANS_COUNT},
};
#define VERDICT_COLUMNS (sizeof verdict_ns / sizeof verdict_ns[0])

/* The columns of a table for numbers that are no times: base, new and change, with a unit's column
 * at the end. */
static struct nl_result *new_table(const struct diff_doc *doc, const char *name, const char *title,
                                   const struct nl_result_column *columns, size_t count)
{
    static const struct {
        const char *ns, *plain;
    } names[] = {{"base_ns", "base_weight"},
                 {"new_ns", "new_weight"},
                 {"change_ns", "change_weight"},
                 {"by_count_ns", "by_count_weight"},
                 {"by_time_ns", "by_time_weight"}};
    struct nl_result_column own[32];
    if (diff_doc_in_ns(doc))
        return nl_result_new(name, title, columns, count);
    memcpy(own, columns, count * sizeof *own);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            if (strcmp(own[i].name, names[k].ns) == 0) {
                own[i].name = names[k].plain;
                own[i].meaning = NL_MEANS_WEIGHT;
            }
    own[count] = (struct nl_result_column){"weight_unit", "unit", NL_MEANS_UNIT};
    return nl_result_new(name, title, own, count + 1);
}

static void put_unit(const struct diff_doc *doc, struct nl_result *result, struct nl_cell *cells)
{
    if (!diff_doc_in_ns(doc))
        cells[result->column_count - 1] = nl_cell_text(result, doc->base.weight);
}

static struct nl_cell samples_of(const struct diff_side *side, size_t value)
{
    return side->by_step ? nl_answer_count(value) : (struct nl_cell){0};
}

static void put_captures(const struct diff_doc *doc, struct nl_result *result,
                         struct nl_cell *cells)
{
    static const char *const bases[] = {[DIFF_BY_TYPICAL] = "typical step",
                                        [DIFF_BY_MEAN] = "mean step",
                                        [DIFF_BY_TAIL] = "slow steps"};
    const struct diff_sureness *s = &doc->sureness;
    bool judged = s->verdict == DIFF_SLOWER || s->verdict == DIFF_FASTER;
    cells[0] = nl_answer_count(diff_capture_count(&doc->base));
    cells[1] = nl_answer_count(diff_capture_count(&doc->changed));
    cells[2] = nl_cell_f64(s->mean_ratio);
    cells[3] = nl_cell_f64(s->mean_low);
    cells[4] = nl_cell_f64(s->mean_high);
    cells[5] = nl_cell_f64(s->p95_ratio);
    cells[6] = samples_of(&doc->base, s->slow[0]);
    cells[7] = samples_of(&doc->changed, s->slow[1]);
    cells[8] = nl_answer_static(judged ? bases[s->basis] : NULL);
    cells[9] = s->more == SIZE_MAX ? (struct nl_cell){0} : nl_answer_count(s->more);
    cells[10] = s->outlying ? nl_cell_text(result, nl_str(s->outlying)) : (struct nl_cell){0};
    cells[11] = nl_cell_f64(diff_kept_share(&doc->base));
    cells[12] = nl_cell_f64(diff_kept_share(&doc->changed));
    if (doc->noise.sd > 0) {
        cells[13] = nl_cell_f64(doc->noise.sd);
        cells[14] = nl_answer_count(doc->noise.runs);
    }
}

struct nl_result *diff_verdict_table(const struct diff_doc *doc)
{
    const struct diff_side *a = &doc->base, *b = &doc->changed;
    const struct diff_sureness *s = &doc->sureness;
    struct nl_result *result = new_table(doc, "verdict", "What is compared, and how sure it is",
                                         verdict_ns, VERDICT_COLUMNS);
    bool compared = a->unit < DIFF_UNITS;
    struct nl_cell *cells = nl_result_row(result);
    cells[0] = nl_answer_static(diff_verdict_text(s->verdict));
    cells[1] = nl_answer_static(diff_unit_text(a->unit));
    if (compared) {
        cells[2] = nl_cell_i64(a->mean);
        cells[3] = nl_cell_i64(b->mean);
        cells[4] = nl_cell_i64(b->mean - a->mean);
        cells[13] = nl_answer_static(diff_unit_words(a));
    }
    cells[5] = nl_cell_f64(s->ratio);
    cells[6] = nl_cell_f64(s->low);
    cells[7] = nl_cell_f64(s->high);
    cells[8] = samples_of(a, a->length_count);
    cells[9] = samples_of(b, b->length_count);
    cells[10] = nl_cell_f64(s->median_ratio);
    cells[11] = samples_of(a, a->warm_up + a->compile);
    cells[12] = samples_of(b, b->warm_up + b->compile);
    cells[14] = s->reason ? nl_cell_text(result, nl_str(s->reason)) : (struct nl_cell){0};
    put_captures(doc, result, cells + 15);
    put_unit(doc, result, cells);
    return result;
}

/* ---- work per time ---- */

static const struct nl_result_column pace_columns[] = {
    {"base_piece_ns", "A, a piece", NL_MEANS_NS},
    {"new_piece_ns", "B, a piece", NL_MEANS_NS},
    {"ratio", "B/A", NL_MEANS_NUMBER},
    {"base_pieces", "A pieces", NL_MEANS_NUMBER},
    {"new_pieces", "B pieces", NL_MEANS_NUMBER},
    {"base_pieces_per_s", "A, a second", NL_MEANS_NUMBER},
    {"new_pieces_per_s", "B, a second", NL_MEANS_NUMBER},
    {"same_work", "same work", NL_MEANS_TEXT},
};

struct nl_result *diff_pace_table(const struct diff_doc *doc)
{
    const struct diff_pace *pace = &doc->pace;
    struct nl_result *result =
        NL_ANSWER_NEW("pace", "Work per time, of the names that both have", pace_columns);
    if (isnan(pace->base_pieces))
        return result;
    struct nl_cell *cells = nl_result_row(result);
    cells[0] = nl_cell_f64(pace->base_piece_ns);
    cells[1] = nl_cell_f64(pace->changed_piece_ns);
    cells[2] = nl_cell_f64(pace->changed_piece_ns / pace->base_piece_ns);
    cells[3] = nl_cell_f64(pace->base_pieces);
    cells[4] = nl_cell_f64(pace->changed_pieces);
    if (doc->base.unit == DIFF_BY_WALL) { /* other times are added up over what runs at once */
        cells[5] = nl_cell_f64(1e9 / pace->base_piece_ns);
        cells[6] = nl_cell_f64(1e9 / pace->changed_piece_ns);
    }
    cells[7] = nl_answer_static(pace->other_work ? "no" : NULL);
    return result;
}

/* ---- parts and devices ---- */

static const struct nl_result_column part_columns[] = {
    {"part", NULL, NL_MEANS_TEXT},
    {"base_ns", "A", NL_MEANS_NS},
    {"new_ns", "B", NL_MEANS_NS},
    {"change_ns", "change", NL_MEANS_CHANGE_NS},
    {"change_share", "of A", NL_MEANS_CHANGE_SHARE},
    {"base_share", "share of A", NL_MEANS_SHARE},
    {"new_share", "share of B", NL_MEANS_SHARE},
};
#define PART_COLUMNS (sizeof part_columns / sizeof part_columns[0])

static void group_sums(const struct diff_rows *rows, int64_t base[DIFF_GROUPS],
                       int64_t changed[DIFF_GROUPS])
{
    for (size_t i = 0; i < rows->count; i++) {
        base[rows->items[i].group] += rows->items[i].base_ns;
        changed[rows->items[i].group] += rows->items[i].changed_ns;
    }
}

struct nl_result *diff_parts_table(const struct diff_doc *doc)
{
    int64_t a[DIFF_GROUPS] = {0}, b[DIFF_GROUPS] = {0};
    struct nl_result *result =
        new_table(doc, "parts", "What the change is made of", part_columns, PART_COLUMNS);
    group_sums(&doc->rows, a, b);
    for (size_t group = 0; group < DIFF_GROUPS; group++) {
        bool device = doc->base.unit <= DIFF_BY_WALL && group != DIFF_HOST;
        if (doc->base.unit == DIFF_UNITS || (!device && !a[group] && !b[group]))
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_answer_static(diff_group_text((enum diff_group)group));
        cells[1] = nl_cell_i64(a[group]);
        cells[2] = nl_cell_i64(b[group]);
        cells[3] = nl_cell_i64(b[group] - a[group]);
        cells[4] = nl_answer_share(b[group] - a[group], doc->base.mean);
        cells[5] = nl_answer_share(a[group], doc->base.mean);
        cells[6] = nl_answer_share(b[group], doc->changed.mean);
        put_unit(doc, result, cells);
    }
    return result;
}

static const struct nl_result_column device_columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},
    {"device", NULL, NL_MEANS_INTEGER},
    {"part", NULL, NL_MEANS_TEXT},
    {"base_ns", "A", NL_MEANS_NS},
    {"new_ns", "B", NL_MEANS_NS},
    {"change_ns", "change", NL_MEANS_CHANGE_NS},
    {"base_spans", "A steps", NL_MEANS_COUNT},
    {"new_spans", "B steps", NL_MEANS_COUNT},
};
#define DEVICE_COLUMNS (sizeof device_columns / sizeof device_columns[0])

/* Means of one device, which add up as those of all do: [DIFF_GROUPS] is the time. */
static void device_means(const struct diff_device *device, int64_t means[DIFF_GROUPS + 1])
{
    struct diff_part parts[DIFF_GROUPS];
    uint64_t units = device->spans ? device->spans : 1;
    for (size_t group = 0; group < DIFF_GROUPS; group++)
        parts[group] = (struct diff_part){
            .group = (enum diff_group)group, .name = {"", 0}, .sum = device->groups[group]};
    means[DIFF_GROUPS] = diff_mean(device->sum, units);
    diff_parts_round(parts, DIFF_GROUPS, units, means[DIFF_GROUPS]);
    for (size_t group = 0; group < DIFF_GROUPS; group++)
        means[group] = parts[group].mean;
}

/* One row; the sides' values are unknown where a side does not have the device. */
static void put_device_row(struct nl_result *result, const struct diff_device *a,
                           const struct diff_device *b, const char *part, int64_t base,
                           int64_t changed)
{
    const struct diff_device *either = a ? a : b;
    struct nl_cell *cells = nl_result_row(result);
    cells[0] = nl_cell_i64(either->rank);
    cells[1] = nl_cell_i64(either->ordinal);
    cells[2] = nl_answer_static(part);
    cells[3] = nl_cell_i64(a ? base : NL_NULL_I64);
    cells[4] = nl_cell_i64(b ? changed : NL_NULL_I64);
    cells[5] = nl_cell_i64(a && b ? changed - base : NL_NULL_I64);
    cells[6] = a ? nl_answer_count(a->spans) : (struct nl_cell){0};
    cells[7] = b ? nl_answer_count(b->spans) : (struct nl_cell){0};
}

static void put_device(struct nl_result *result, const struct diff_device *a,
                       const struct diff_device *b)
{
    int64_t base[DIFF_GROUPS + 1] = {0}, changed[DIFF_GROUPS + 1] = {0};
    if (a)
        device_means(a, base);
    if (b)
        device_means(b, changed);
    put_device_row(result, a, b, "time", base[DIFF_GROUPS], changed[DIFF_GROUPS]);
    for (size_t group = 0; group < DIFF_GROUPS; group++)
        if (base[group] || changed[group])
            put_device_row(result, a, b, diff_group_text((enum diff_group)group), base[group],
                           changed[group]);
}

static const struct diff_device *partner(const struct diff_side *side,
                                         const struct diff_device *device)
{
    for (size_t i = 0; i < side->device_count; i++)
        if (side->devices[i].rank == device->rank && side->devices[i].ordinal == device->ordinal)
            return &side->devices[i];
    return NULL;
}

struct nl_result *diff_devices_table(const struct diff_doc *doc)
{
    const struct diff_side *a = &doc->base, *b = &doc->changed;
    struct nl_result_column columns[DEVICE_COLUMNS];
    memcpy(columns, device_columns, sizeof columns);
    if (!a->by_step) { /* each device has one */
        columns[DEVICE_COLUMNS - 2].head = "A spans";
        columns[DEVICE_COLUMNS - 1].head = "B spans";
    }
    struct nl_result *result = nl_result_new("devices", "Per device", columns, DEVICE_COLUMNS);
    if (a->unit > DIFF_BY_WORK || (a->device_count < 2 && b->device_count < 2))
        return result;
    for (size_t i = 0; i < a->device_count; i++)
        put_device(result, &a->devices[i], partner(b, &a->devices[i]));
    for (size_t i = 0; i < b->device_count; i++)
        if (!partner(a, &b->devices[i]))
            put_device(result, NULL, &b->devices[i]);
    return result;
}

/* ---- rows of pairing ---- */

static const struct nl_result_column row_columns[] = {
    {"name", NULL, NL_MEANS_TEXT},
    {"change_ns", "change", NL_MEANS_CHANGE_NS},
    {"base_ns", "A", NL_MEANS_NS},
    {"new_ns", "B", NL_MEANS_NS},
    {"by_count_ns", "by count", NL_MEANS_CHANGE_NS},
    {"by_time_ns", "by time", NL_MEANS_CHANGE_NS},
    {"match", NULL, NL_MEANS_TEXT},
    {"base_name", "was", NL_MEANS_TEXT},
    {"base_calls", "A calls", NL_MEANS_NUMBER},
    {"new_calls", "B calls", NL_MEANS_NUMBER},
    {"part", NULL, NL_MEANS_TEXT},
    {"operator", NULL, NL_MEANS_TEXT},
    {"category", NULL, NL_MEANS_TEXT},
    {"base_count", "A count", NL_MEANS_COUNT},
    {"new_count", "B count", NL_MEANS_COUNT},
    {"change_low_ns", "at least", NL_MEANS_CHANGE_NS},
    {"change_high_ns", "at most", NL_MEANS_CHANGE_NS},
    {"beyond_noise", "beyond noise", NL_MEANS_TEXT},
    {"base_call_ns", "A, a call", NL_MEANS_NS},
    {"new_call_ns", "B, a call", NL_MEANS_NS},
};
#define ROW_COLUMNS (sizeof row_columns / sizeof row_columns[0])

static struct nl_cell calls(bool there, uint64_t count, uint64_t units)
{
    if (!there || count == NL_NULL_U64 || !units)
        return (struct nl_cell){0};
    return nl_cell_f64((double)count / (double)units);
}

/* The whole length of a call, rounded. */
static struct nl_cell call_ns(int64_t gross, uint64_t count)
{
    double ns = diff_call_ns(gross, count);
    return isnan(ns) ? (struct nl_cell){0} : nl_cell_i64(llround(ns));
}

static void put_row(const struct diff_doc *doc, struct nl_result *result,
                    const struct diff_row *row, uint64_t base_units, uint64_t changed_units)
{
    bool a = row->base.ptr != NULL, b = row->changed.ptr != NULL;
    struct nl_cell *cells = nl_result_row(result);
    struct nl_str name = b ? row->changed : row->base;
    cells[0] = nl_cell_text(result, name.len ? name : nl_str("(no name)"));
    if (a && b && !nl_str_eq(row->base, row->changed))
        cells[7] = nl_cell_text(result, row->base.len ? row->base : nl_str("(no name)"));
    cells[1] = nl_cell_i64(row->changed_ns - row->base_ns);
    cells[2] = nl_cell_i64(row->base_ns);
    cells[3] = nl_cell_i64(row->changed_ns);
    cells[4] = nl_cell_i64(row->by_count);
    cells[5] = nl_cell_i64(row->by_time);
    cells[8] = calls(a, row->base_count, base_units);
    cells[9] = calls(b, row->changed_count, changed_units);
    cells[6] = nl_answer_static(diff_match_text(row->match));
    cells[10] = nl_answer_static(diff_group_text(row->group));
    cells[11] = row->owner.len ? nl_cell_text(result, row->owner) : (struct nl_cell){0};
    cells[12] = nl_answer_enum(NL_ENUM_category, row->category);
    cells[13] = a ? nl_answer_count(row->base_count) : (struct nl_cell){0};
    cells[14] = b ? nl_answer_count(row->changed_count) : (struct nl_cell){0};
    if (!isnan(row->p)) {
        cells[15] = nl_cell_i64(llround(row->low));
        cells[16] = nl_cell_i64(llround(row->high));
        cells[17] = nl_answer_static(row->flagged ? "yes" : "no");
    }
    cells[18] = call_ns(row->base_gross, row->base_count);
    cells[19] = call_ns(row->changed_gross, row->changed_count);
    put_unit(doc, result, cells);
}

struct nl_result *diff_rows_table(const struct diff_doc *doc, const char *name, const char *title,
                                  const struct diff_rows *rows, uint64_t base_units,
                                  uint64_t changed_units)
{
    struct nl_result *result = new_table(doc, name, title, row_columns, ROW_COLUMNS);
    for (size_t i = 0; i < rows->count; i++)
        put_row(doc, result, &rows->items[i], base_units, changed_units);
    return result;
}

/* ---- steps that are left out ---- */

static const struct nl_result_column apart_columns[] = {
    {"side", NULL, NL_MEANS_TEXT},     {"rank", NULL, NL_MEANS_INTEGER},
    {"step", NULL, NL_MEANS_INTEGER},  {"why", NULL, NL_MEANS_TEXT},
    {"dur_ns", "length", NL_MEANS_NS},
};

static void put_apart(struct nl_result *result, const struct diff_side *side, const char *letter)
{
    const struct nl_found_steps *found = diff_steps(side);
    for (size_t g = 0; side->by_step && g < found->group_count; g++) {
        const struct nl_step_group *group = &found->groups[g];
        for (size_t i = 0; i < group->count; i++) {
            const struct nl_found_step *step = &found->items[group->first + i];
            bool whole = i < diff_whole_steps(group);
            if (!diff_step_counts(side, group, step) || (whole && step->phase == NL_STEP_STEADY))
                continue;
            struct nl_cell *cells = nl_result_row(result);
            cells[0] = nl_answer_static(letter);
            cells[1] = nl_cell_i64(group->rank);
            cells[2] = nl_cell_i64(step->index);
            cells[3] = nl_answer_static(whole ? nl_step_phase_text(step->phase)
                                              : "its end was not recorded");
            cells[4] = nl_cell_i64(step->end - step->start);
        }
    }
}

/* Captures of a side are A1, A2, … */
static void put_all_apart(struct nl_result *result, const struct diff_side *side,
                          const char *letter)
{
    if (!side->captures)
        put_apart(result, side, letter);
    for (size_t i = 0; i < side->capture_count; i++)
        put_apart(result, &side->captures[i],
                  nl_arena_format(&result->arena, "%s%zu", letter, i + 1));
}

struct nl_result *diff_apart_table(const struct diff_doc *doc)
{
    struct nl_result *result = NL_ANSWER_NEW("set_apart", "Steps that are left out", apart_columns);
    put_all_apart(result, &doc->base, "A");
    put_all_apart(result, &doc->changed, "B");
    return result;
}

/* ---- what one side lacks ---- */

static const struct nl_result_column recorded_columns[] = {
    {"what", NULL, NL_MEANS_TEXT},
    {"base", "A", NL_MEANS_COUNT},
    {"new", "B", NL_MEANS_COUNT},
};

/* Tables that say something about the program; the others only hold them together. */
static bool tells(enum nl_table_id table)
{
    static const enum nl_table_id ids[] = {NL_T_kernel, NL_T_copy,   NL_T_memset,      NL_T_sync,
                                           NL_T_api,    NL_T_op,     NL_T_layer,       NL_T_node,
                                           NL_T_nvtx,   NL_T_python, NL_T_collective,  NL_T_graph,
                                           NL_T_memory, NL_T_metric, NL_T_measurement, NL_T_counter,
                                           NL_T_step,   NL_T_sample, NL_T_call};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        if (ids[i] == table)
            return true;
    return false;
}

static uint64_t rows_of(const struct diff_side *side, enum nl_table_id table)
{
    uint64_t rows = side->captures ? 0 : nl_trace_rows(side->trace, table);
    for (size_t i = 0; i < side->capture_count; i++)
        rows += nl_trace_rows(side->captures[i].trace, table);
    return rows;
}

struct nl_result *diff_recorded_table(const struct diff_doc *doc)
{
    struct nl_result *result =
        NL_ANSWER_NEW("recorded", "Recorded on one side only", recorded_columns);
    for (enum nl_table_id table = 0; table < NL_TABLE_COUNT; table++) {
        uint64_t a = rows_of(&doc->base, table), b = rows_of(&doc->changed, table);
        if (!tells(table) || !a == !b)
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_answer_static(nl_tables[table].sql);
        cells[1] = nl_answer_count(a);
        cells[2] = nl_answer_count(b);
    }
    return result;
}
