/* The tables of a diff that hold its numbers. */
#include <math.h>
#include <stdlib.h>

#include "tables/resultcells.h"
#include "base/mem.h"
#include "base/sum.h"
#include "compare/diffinner.h"
#include "compare/diffparts.h"
#include "compare/diffdoc.h"
#include "compare/diffplain.h"
#include "compare/diffnoise.h"
#include "compare/diffjudge.h"

/* ---- verdict ---- */

#define VERDICT_LIST(C, P)                                                                         \
    C(P, verdict, NULL, TEXT)                                                                      \
    C(P, unit, "compared by", TEXT)                                                                \
    C(P, base_ns, "A", NS)                                                                         \
    C(P, new_ns, "B", NS)                                                                          \
    C(P, change_ns, "change", CHANGE_NS)                                                           \
    C(P, ratio, "B/A", NUMBER)                                                                     \
    C(P, ratio_low, "at least", NUMBER)                                                            \
    C(P, ratio_high, "at most", NUMBER)                                                            \
    C(P, base_samples, "A steps", COUNT)                                                           \
    C(P, new_samples, "B steps", COUNT)                                                            \
    C(P, median_ratio, "of medians", NUMBER)                                                       \
    C(P, base_discarded, "A excluded", COUNT)                                                      \
    C(P, new_discarded, "B excluded", COUNT)                                                       \
    C(P, compared, NULL, TEXT)                                                                     \
    C(P, reason, NULL, TEXT)                                                                       \
    C(P, base_captures, "A captures", COUNT)                                                       \
    C(P, new_captures, "B captures", COUNT)                                                        \
    C(P, mean_ratio, "of means", NUMBER)                                                           \
    C(P, mean_ratio_low, "at least", NUMBER)                                                       \
    C(P, mean_ratio_high, "at most", NUMBER)                                                       \
    C(P, p95_ratio, "of p95", NUMBER)                                                              \
    C(P, base_slow, "A slow steps", COUNT)                                                         \
    C(P, new_slow, "B slow steps", COUNT)                                                          \
    C(P, basis, NULL, TEXT)                                                                        \
    C(P, captures_needed, "captures needed", COUNT)                                                \
    C(P, outlying, NULL, TEXT)                                                                     \
    C(P, base_preempted_share, "A preempted", SHARE)                                               \
    C(P, new_preempted_share, "B preempted", SHARE)                                                \
    C(P, noise_share, "captures differ by", SHARE)                                                 \
    C(P, noise_run_count, "as earlier runs show", COUNT)
NL_TABLE_COLUMNS(verdict_ns, VERDICT, VERDICT_LIST);

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

static void put_noise(const struct diff_row *row, struct nl_cell *low, struct nl_cell *high,
                      struct nl_cell *beyond)
{
    if (isnan(row->p))
        return;
    *low = nl_cell_i64(nl_whole_i64(row->low));
    *high = nl_cell_i64(nl_whole_i64(row->high));
    *beyond = nl_cell_static(row->flagged ? "yes" : "no");
}

static struct nl_cell samples_of(const struct diff_side *side, size_t value)
{
    return side->by_step ? nl_cell_count(value) : (struct nl_cell){0};
}

/* Runs without the profiler, else steps. */
static struct nl_cell judged_samples(const struct diff_side *side, size_t value)
{
    return side->plain_count ? nl_cell_count(value) : samples_of(side, value);
}

static void put_captures(const struct diff_doc *doc, struct nl_result *result,
                         struct nl_cell *cells)
{
    static const char *const bases[] = {[DIFF_BY_TYPICAL] = "typical step",
                                        [DIFF_BY_MEAN] = "mean step",
                                        [DIFF_BY_TAIL] = "slow steps"};
    const struct diff_sureness *s = &doc->sureness;
    bool judged = s->verdict == DIFF_SLOWER || s->verdict == DIFF_FASTER;
    cells[VERDICT_base_captures] = nl_cell_count(diff_capture_count(&doc->base));
    cells[VERDICT_new_captures] = nl_cell_count(diff_capture_count(&doc->changed));
    cells[VERDICT_mean_ratio] = nl_cell_f64(s->mean_ratio);
    cells[VERDICT_mean_ratio_low] = nl_cell_f64(s->mean_low);
    cells[VERDICT_mean_ratio_high] = nl_cell_f64(s->mean_high);
    cells[VERDICT_p95_ratio] = nl_cell_f64(s->p95_ratio);
    cells[VERDICT_base_slow] = judged_samples(&doc->base, s->slow[0]);
    cells[VERDICT_new_slow] = judged_samples(&doc->changed, s->slow[1]);
    cells[VERDICT_basis] = nl_cell_static(judged ? bases[s->basis] : NULL);
    cells[VERDICT_captures_needed] =
        s->more == SIZE_MAX ? (struct nl_cell){0} : nl_cell_count(s->more);
    cells[VERDICT_outlying] =
        s->outlying ? nl_cell_text(result, nl_str(s->outlying)) : (struct nl_cell){0};
    cells[VERDICT_base_preempted_share] = nl_cell_f64(diff_kept_share(&doc->base));
    cells[VERDICT_new_preempted_share] = nl_cell_f64(diff_kept_share(&doc->changed));
    if (doc->noise.sd > 0) {
        cells[VERDICT_noise_share] = nl_cell_f64(doc->noise.sd);
        cells[VERDICT_noise_run_count] = nl_cell_count(doc->noise.runs);
    }
}

static void put_means(struct nl_cell *cells, int64_t a, int64_t b, const char *what)
{
    cells[VERDICT_base_ns] = nl_cell_i64(a);
    cells[VERDICT_new_ns] = nl_cell_i64(b);
    cells[VERDICT_change_ns] = nl_cell_i64(b - a);
    cells[VERDICT_compared] = nl_cell_static(what);
}

/* What the parts add up to: judged where no runs without the profiler are. */
static void put_compared(const struct diff_doc *doc, struct nl_cell *cells)
{
    const struct diff_side *a = &doc->base, *b = &doc->changed;
    cells[VERDICT_unit] = nl_cell_static(diff_unit_text(a->unit));
    if (a->unit < DIFF_UNITS)
        put_means(cells, a->mean, b->mean, diff_unit_words(a));
    cells[VERDICT_base_samples] = samples_of(a, a->length_count);
    cells[VERDICT_new_samples] = samples_of(b, b->length_count);
    cells[VERDICT_base_discarded] = samples_of(a, a->warm_up + a->compile);
    cells[VERDICT_new_discarded] = samples_of(b, b->warm_up + b->compile);
}

static void put_plain(const struct diff_doc *doc, struct nl_cell *cells)
{
    const struct diff_side *a = &doc->base, *b = &doc->changed;
    cells[VERDICT_unit] = nl_cell_static("run");
    put_means(cells, diff_judged_time(a), diff_judged_time(b),
              "a typical run without the profiler");
    cells[VERDICT_base_samples] = nl_cell_count(a->plain_count);
    cells[VERDICT_new_samples] = nl_cell_count(b->plain_count);
}

/* If there are also runs without the profiler, a separate row, so that numbers of a row are of one
 * thing. */
static void put_profiled_row(const struct diff_doc *doc, struct nl_result *result)
{
    const struct diff_side *a = &doc->base, *b = &doc->changed;
    struct nl_cell *cells = nl_result_row(result);
    put_compared(doc, cells);
    if (a->mean > 0)
        cells[VERDICT_mean_ratio] = nl_cell_f64((double)b->mean / (double)a->mean);
    cells[VERDICT_reason] = nl_cell_static("under the profiler: what the parts add up to");
    put_unit(doc, result, cells);
}

struct nl_result *diff_verdict_table(const struct diff_doc *doc)
{
    const struct diff_sureness *s = &doc->sureness;
    struct nl_result *result = new_table(doc, "verdict", "What is compared, and how sure it is",
                                         verdict_ns, VERDICT_COUNT);
    bool plain = doc->base.plain_count && doc->base.unit < DIFF_UNITS;
    struct nl_cell *cells = nl_result_row(result);
    cells[VERDICT_verdict] = nl_cell_static(diff_verdict_text(s->verdict));
    if (plain)
        put_plain(doc, cells);
    else
        put_compared(doc, cells);
    cells[VERDICT_ratio] = nl_cell_f64(s->ratio);
    cells[VERDICT_ratio_low] = nl_cell_f64(s->low);
    cells[VERDICT_ratio_high] = nl_cell_f64(s->high);
    cells[VERDICT_median_ratio] = nl_cell_f64(s->median_ratio);
    cells[VERDICT_reason] =
        s->reason ? nl_cell_text(result, nl_str(s->reason)) : (struct nl_cell){0};
    put_captures(doc, result, cells);
    put_unit(doc, result, cells);
    if (plain)
        put_profiled_row(doc, result);
    return result;
}

/* ---- work per time ---- */

#define PACE_LIST(C, P)                                                                            \
    C(P, base_piece_ns, "A, per operation", NS)                                                    \
    C(P, new_piece_ns, "B, per operation", NS)                                                     \
    C(P, ratio, "B/A", NUMBER)                                                                     \
    C(P, base_pieces, "A operations", NUMBER)                                                      \
    C(P, new_pieces, "B operations", NUMBER)                                                       \
    C(P, base_pieces_per_s, "A, a second", NUMBER)                                                 \
    C(P, new_pieces_per_s, "B, a second", NUMBER)                                                  \
    C(P, same_work, "same work", TEXT)
NL_TABLE_COLUMNS(pace_columns, PACE, PACE_LIST);

struct nl_result *diff_pace_table(const struct diff_doc *doc)
{
    const struct diff_pace *pace = &doc->pace;
    struct nl_result *result =
        NL_ANSWER_NEW("pace", "Work per time, of the names that both have", pace_columns);
    if (isnan(pace->base_pieces))
        return result;
    struct nl_cell *cells = nl_result_row(result);
    cells[PACE_base_piece_ns] = nl_cell_f64(pace->base_piece_ns);
    cells[PACE_new_piece_ns] = nl_cell_f64(pace->changed_piece_ns);
    cells[PACE_ratio] = nl_cell_f64(pace->changed_piece_ns / pace->base_piece_ns);
    cells[PACE_base_pieces] = nl_cell_f64(pace->base_pieces);
    cells[PACE_new_pieces] = nl_cell_f64(pace->changed_pieces);
    if (doc->base.unit == DIFF_BY_WALL) { /* other times are added up over what runs at once */
        cells[PACE_base_pieces_per_s] = nl_cell_f64(1e9 / pace->base_piece_ns);
        cells[PACE_new_pieces_per_s] = nl_cell_f64(1e9 / pace->changed_piece_ns);
    }
    cells[PACE_same_work] = nl_cell_static(pace->other_work ? "no" : NULL);
    return result;
}

/* ---- parts and devices ---- */

#define PART_LIST(C, P)                                                                            \
    C(P, part, NULL, TEXT)                                                                         \
    C(P, base_ns, "A", NS)                                                                         \
    C(P, new_ns, "B", NS)                                                                          \
    C(P, change_ns, "change", CHANGE_NS)                                                           \
    C(P, change_share, "of A", CHANGE_SHARE)                                                       \
    C(P, base_share, "share of A", SHARE)                                                          \
    C(P, new_share, "share of B", SHARE)                                                           \
    C(P, beyond_noise, "beyond noise", TEXT)                                                       \
    C(P, change_low_ns, "at least", CHANGE_NS)                                                     \
    C(P, change_high_ns, "at most", CHANGE_NS)
NL_TABLE_COLUMNS(part_columns, PART, PART_LIST);

struct nl_result *diff_parts_table(const struct diff_doc *doc)
{
    struct diff_row groups[DIFF_GROUPS];
    struct nl_result *result =
        new_table(doc, "parts", "What the change is made of", part_columns, PART_COUNT);
    diff_groups_judge(groups, &doc->rows, &doc->base, &doc->changed, &doc->noise);
    for (size_t i = 0; i < DIFF_GROUPS; i++) {
        const struct diff_row *group = &groups[i];
        bool device = doc->base.unit <= DIFF_BY_WALL && i != DIFF_HOST;
        if (doc->base.unit == DIFF_UNITS || (!device && !group->base_ns && !group->changed_ns))
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[PART_part] = nl_cell_static(diff_group_text(group->group));
        cells[PART_base_ns] = nl_cell_i64(group->base_ns);
        cells[PART_new_ns] = nl_cell_i64(group->changed_ns);
        cells[PART_change_ns] = nl_cell_i64(group->changed_ns - group->base_ns);
        cells[PART_change_share] =
            nl_cell_share(group->changed_ns - group->base_ns, doc->base.mean);
        cells[PART_base_share] = nl_cell_share(group->base_ns, doc->base.mean);
        cells[PART_new_share] = nl_cell_share(group->changed_ns, doc->changed.mean);
        put_noise(group, &cells[PART_change_low_ns], &cells[PART_change_high_ns],
                  &cells[PART_beyond_noise]);
        put_unit(doc, result, cells);
    }
    return result;
}

#define DEVICE_LIST(C, P)                                                                          \
    C(P, rank, NULL, INTEGER)                                                                      \
    C(P, device, NULL, INTEGER)                                                                    \
    C(P, part, NULL, TEXT)                                                                         \
    C(P, base_ns, "A", NS)                                                                         \
    C(P, new_ns, "B", NS)                                                                          \
    C(P, change_ns, "change", CHANGE_NS)                                                           \
    C(P, base_spans, "A steps", COUNT)                                                             \
    C(P, new_spans, "B steps", COUNT)
NL_TABLE_COLUMNS(device_columns, DEVICE, DEVICE_LIST);

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
    cells[DEVICE_rank] = nl_cell_i64(either->rank);
    cells[DEVICE_device] = nl_cell_i64(either->ordinal);
    cells[DEVICE_part] = nl_cell_static(part);
    cells[DEVICE_base_ns] = nl_cell_i64(a ? base : NL_NULL_I64);
    cells[DEVICE_new_ns] = nl_cell_i64(b ? changed : NL_NULL_I64);
    cells[DEVICE_change_ns] = nl_cell_i64(a && b ? changed - base : NL_NULL_I64);
    cells[DEVICE_base_spans] = a ? nl_cell_count(a->spans) : (struct nl_cell){0};
    cells[DEVICE_new_spans] = b ? nl_cell_count(b->spans) : (struct nl_cell){0};
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
    return diff_device_at(side, device->rank, device->ordinal);
}

struct nl_result *diff_devices_table(const struct diff_doc *doc)
{
    const struct diff_side *a = &doc->base, *b = &doc->changed;
    struct nl_result_column columns[DEVICE_COUNT];
    memcpy(columns, device_columns, sizeof columns);
    if (!a->by_step) { /* each device has one */
        columns[DEVICE_base_spans].head = "A spans";
        columns[DEVICE_new_spans].head = "B spans";
    }
    struct nl_result *result = nl_result_new("devices", "Per device", columns, DEVICE_COUNT);
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

#define ROW_LIST(C, P)                                                                             \
    C(P, name, NULL, TEXT)                                                                         \
    C(P, change_ns, "change", CHANGE_NS)                                                           \
    C(P, base_ns, "A", NS)                                                                         \
    C(P, new_ns, "B", NS)                                                                          \
    C(P, by_count_ns, "by count", CHANGE_NS)                                                       \
    C(P, by_time_ns, "by time", CHANGE_NS)                                                         \
    C(P, match, NULL, TEXT)                                                                        \
    C(P, base_name, "was", TEXT)                                                                   \
    C(P, base_calls, "A calls", NUMBER)                                                            \
    C(P, new_calls, "B calls", NUMBER)                                                             \
    C(P, part, NULL, TEXT)                                                                         \
    C(P, operator, NULL, TEXT)                                                                     \
    C(P, category, NULL, TEXT)                                                                     \
    C(P, base_count, "A count", COUNT)                                                             \
    C(P, new_count, "B count", COUNT)                                                              \
    C(P, change_low_ns, "at least", CHANGE_NS)                                                     \
    C(P, change_high_ns, "at most", CHANGE_NS)                                                     \
    C(P, beyond_noise, "beyond noise", TEXT)                                                       \
    C(P, base_call_ns, "A, a call", NS)                                                            \
    C(P, new_call_ns, "B, a call", NS)
NL_TABLE_COLUMNS(row_columns, ROW, ROW_LIST);

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
    return isnan(ns) ? (struct nl_cell){0} : nl_cell_i64(nl_whole_i64(ns));
}

static void put_row(const struct diff_doc *doc, struct nl_result *result,
                    const struct diff_row *row, uint64_t base_units, uint64_t changed_units)
{
    bool a = row->base.ptr != NULL, b = row->changed.ptr != NULL;
    struct nl_cell *cells = nl_result_row(result);
    struct nl_str name = b ? row->changed : row->base;
    cells[ROW_name] = nl_cell_text(result, name.len ? name : nl_str("(no name)"));
    if (a && b && !nl_str_eq(row->base, row->changed))
        cells[ROW_base_name] =
            nl_cell_text(result, row->base.len ? row->base : nl_str("(no name)"));
    cells[ROW_change_ns] = nl_cell_i64(row->changed_ns - row->base_ns);
    cells[ROW_base_ns] = nl_cell_i64(row->base_ns);
    cells[ROW_new_ns] = nl_cell_i64(row->changed_ns);
    cells[ROW_by_count_ns] = nl_cell_i64(row->by_count);
    cells[ROW_by_time_ns] = nl_cell_i64(row->by_time);
    cells[ROW_base_calls] = calls(a, row->base_count, base_units);
    cells[ROW_new_calls] = calls(b, row->changed_count, changed_units);
    cells[ROW_match] = nl_cell_static(diff_match_text(row->match));
    cells[ROW_part] = nl_cell_static(diff_group_text(row->group));
    cells[ROW_operator] = row->owner.len ? nl_cell_text(result, row->owner) : (struct nl_cell){0};
    cells[ROW_category] = nl_cell_enum(NL_ENUM_category, row->category);
    cells[ROW_base_count] = a ? nl_cell_count(row->base_count) : (struct nl_cell){0};
    cells[ROW_new_count] = b ? nl_cell_count(row->changed_count) : (struct nl_cell){0};
    put_noise(row, &cells[ROW_change_low_ns], &cells[ROW_change_high_ns], &cells[ROW_beyond_noise]);
    cells[ROW_base_call_ns] = call_ns(row->base_gross, row->base_count);
    cells[ROW_new_call_ns] = call_ns(row->changed_gross, row->changed_count);
    put_unit(doc, result, cells);
}

struct nl_result *diff_rows_table(const struct diff_doc *doc, const char *name, const char *title,
                                  const struct diff_rows *rows, uint64_t base_units,
                                  uint64_t changed_units)
{
    struct nl_result *result = new_table(doc, name, title, row_columns, ROW_COUNT);
    for (size_t i = 0; i < rows->count; i++)
        put_row(doc, result, &rows->items[i], base_units, changed_units);
    return result;
}

/* ---- steps that are left out ---- */

#define APART_LIST(C, P)                                                                           \
    C(P, side, NULL, TEXT)                                                                         \
    C(P, rank, NULL, INTEGER)                                                                      \
    C(P, step, NULL, INTEGER)                                                                      \
    C(P, why, NULL, TEXT)                                                                          \
    C(P, dur_ns, "duration", NS)
NL_TABLE_COLUMNS(apart_columns, APART, APART_LIST);

static void put_apart(struct nl_result *result, const struct diff_side *side, const char *letter)
{
    const struct nl_found_steps *found = diff_steps(side);
    for (size_t g = 0; side->by_step && g < found->group_count; g++) {
        const struct nl_step_group *group = &found->groups[g];
        for (size_t i = 0; i < group->count; i++) {
            const struct nl_found_step *step = &found->items[group->first + i];
            if (!nl_step_in_window(group, step, &side->window) || step->phase == NL_STEP_STEADY)
                continue;
            struct nl_cell *cells = nl_result_row(result);
            cells[APART_side] = nl_cell_static(letter);
            cells[APART_rank] = nl_cell_i64(group->rank);
            cells[APART_step] = nl_cell_i64(step->index);
            cells[APART_why] =
                nl_cell_static(step->phase == NL_STEP_LAST ? "its end was not recorded"
                                                           : nl_step_phase_text(step->phase));
            cells[APART_dur_ns] = nl_cell_i64(step->end - step->start);
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
    struct nl_result *result =
        NL_ANSWER_NEW("excluded_steps", "Steps that are left out", apart_columns);
    put_all_apart(result, &doc->base, "A");
    put_all_apart(result, &doc->changed, "B");
    return result;
}

/* ---- what one side lacks ---- */

#define RECORDED_LIST(C, P)                                                                        \
    C(P, what, NULL, TEXT)                                                                         \
    C(P, base, "A", COUNT)                                                                         \
    C(P, new, "B", COUNT)
NL_TABLE_COLUMNS(recorded_columns, RECORDED, RECORDED_LIST);

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
        cells[RECORDED_what] = nl_cell_static(nl_tables[table].sql);
        cells[RECORDED_base] = nl_cell_count(a);
        cells[RECORDED_new] = nl_cell_count(b);
    }
    return result;
}
