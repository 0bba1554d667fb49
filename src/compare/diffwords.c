/* See diffwords.h. */
#include "compare/diffwords.h"

#include <math.h>
#include <stdlib.h>

#include "base/chars.h"
#include "base/median.h"
#include "tables/shortname.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/units.h"

#define CALL_APART  0.02 /* of the time a call takes, as a logarithm */
#define CALLS_APART 0.10 /* of calls relative to those of all work, as a logarithm */
#define STEPS_APART 0.25 /* of whole steps relative to what is compared of them */

bool diff_tells_pieces(const struct diff_doc *doc)
{
    enum diff_verdict verdict = doc->sureness.verdict;
    return doc->base.unit != DIFF_UNITS && diff_is_other_work(doc) &&
           (verdict == DIFF_UNTOLD || verdict == DIFF_UNKNOWN);
}

double diff_told_change(const struct diff_doc *doc, int64_t base_ns, int64_t changed_ns)
{
    if (!diff_tells_pieces(doc))
        return (double)(changed_ns - base_ns);
    return (double)changed_ns / doc->pace.changed_pieces - (double)base_ns / doc->pace.base_pieces;
}

struct told {
    double size;
    size_t place;
    const struct diff_row *row;
};

static int by_size(const void *left, const void *right)
{
    const struct told *a = left, *b = right;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* The rows are in the order of their changes, which is another one for each part of the work. */
static void sort_by_piece(const struct diff_doc *doc, const struct diff_row **rows, size_t count)
{
    struct told *told = nl_alloc((count + 1) * sizeof *told);
    for (size_t i = 0; i < count; i++)
        told[i] = (struct told){fabs(diff_told_change(doc, rows[i]->base_ns, rows[i]->changed_ns)),
                                i, rows[i]};
    qsort(told, count, sizeof *told, by_size);
    for (size_t i = 0; i < count; i++)
        rows[i] = told[i].row;
    nl_free(told);
}

const struct diff_row **diff_rows_to_tell(const struct diff_doc *doc)
{
    const struct diff_row **rows = nl_alloc((doc->rows.count + 1) * sizeof *rows);
    size_t count = 0;
    for (int noise = 0; noise < 2; noise++) {
        size_t first = count;
        for (size_t i = 0; i < doc->rows.count; i++)
            if (diff_row_is_noise(&doc->rows.items[i]) == noise)
                rows[count++] = &doc->rows.items[i];
        if (diff_tells_pieces(doc))
            sort_by_piece(doc, rows + first, count - first);
    }
    return rows;
}

void diff_put_value(const struct diff_doc *doc, struct nl_buf *out, int64_t value)
{
    char text[NL_UNIT_TEXT];
    if (diff_doc_in_ns(doc)) {
        nl_buf_text(out, nl_format_ns(text, value));
        return;
    }
    nl_buf_format(out, "%s%s", value < 0 ? "-" : "",
                  nl_format_count(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value));
    if (doc->base.weight.len)
        nl_buf_format(out, " %.*s", (int)doc->base.weight.len, doc->base.weight.ptr);
}

void diff_put_change(const struct diff_doc *doc, struct nl_buf *out, int64_t change)
{
    if (change > 0)
        nl_buf_char(out, '+');
    diff_put_value(doc, out, change);
}

void diff_put_percent(struct nl_buf *out, double share)
{
    char text[NL_UNIT_TEXT];
    if (share > NL_MANYFOLD) /* +10720 % is unreadable */
        nl_buf_format(out, "×%.3g", share + 1);
    else
        nl_buf_format(out, "%s%s", share > 0 ? "+" : "", nl_format_percent(text, share));
}

/* Of the whole steps of all captures, ns. */
static double median_step(struct diff_side *side)
{
    struct diff_side *captures = diff_captures(side);
    size_t count = 0, at = 0;
    for (size_t i = 0; i < diff_capture_count(side); i++)
        count += captures[i].span_count;
    double *lengths = nl_alloc((count + 1) * sizeof *lengths);
    for (size_t i = 0; i < diff_capture_count(side); i++)
        for (size_t k = 0; k < captures[i].span_count; k++)
            lengths[at++] = (double)(captures[i].spans[k].end - captures[i].spans[k].start);
    double median = nl_median_f64(lengths, count);
    nl_free(lengths);
    return median;
}

void diff_put_whole_steps(struct diff_doc *doc, struct nl_buf *text)
{
    if (doc->base.unit != DIFF_BY_HOST || !doc->base.by_step || !doc->changed.by_step ||
        doc->sureness.verdict == DIFF_INCOMPARABLE)
        return;
    double a = median_step(&doc->base), b = median_step(&doc->changed);
    if (!(fabs(log(b / a / doc->sureness.ratio)) >= log1p(STEPS_APART)))
        return;
    nl_buf_text(text, " Whole steps, with waits and what was not recorded: median ");
    diff_put_value(doc, text, nl_whole_i64(a));
    nl_buf_text(text, " → ");
    diff_put_value(doc, text, nl_whole_i64(b));
    nl_buf_text(text, " (");
    diff_put_percent(text, b / a - 1);
    nl_buf_text(text, ").");
}

bool diff_is_largest(const struct diff_doc *doc, const struct diff_row *row)
{
    double size = fabs(diff_told_change(doc, row->base_ns, row->changed_ns));
    for (size_t i = 0; i < doc->rows.count; i++)
        if (fabs(diff_told_change(doc, doc->rows.items[i].base_ns, doc->rows.items[i].changed_ns)) >
            size)
            return false;
    return true;
}

static struct nl_str row_name(const struct diff_row *row)
{
    return row->changed.ptr ? row->changed : row->base;
}

static struct nl_str brief(struct nl_buf *out, const struct diff_row *row)
{
    struct nl_str name = row_name(row);
    nl_buf_clear(out);
    nl_elide_name(out, name.len ? nl_short_kernel(name) : nl_str("(no name)"),
                  row->group == DIFF_IDLE ? 2 * DIFF_NAME_WIDTH : DIFF_NAME_WIDTH);
    return (struct nl_str){out->ptr, out->len};
}

/* Another of the rows that sentences speak of that would be called the same; NULL without. */
static const struct diff_row *namesake(const struct diff_doc *doc, const struct diff_row *row,
                                       struct nl_str name)
{
    struct nl_buf other;
    const struct diff_row *found = NULL, **rows = diff_rows_to_tell(doc);
    nl_buf_init(&other, DIFF_SENTENCE);
    for (size_t i = 0; i < doc->rows.count && i < DIFF_TOP_ROWS && !found; i++) {
        const struct diff_row *top = rows[i];
        if (top != row && !nl_str_eq(row_name(top), row_name(row)) &&
            nl_str_eq(brief(&other, top), name))
            found = top;
    }
    nl_free(rows);
    nl_buf_release(&other);
    return found;
}

static bool in_word(char c)
{
    return nl_is_alnum(c) || (unsigned char)c >= 0x80;
}

void diff_put_apart(struct nl_buf *text, struct nl_str name, struct nl_str other)
{
    struct nl_str a = nl_short_kernel(name), b = nl_short_kernel(other);
    if (nl_str_eq(a, b)) { /* they differ in their parameters */
        a = name;
        b = other;
    }
    size_t same = 0;
    while (same < a.len && same < b.len && a.ptr[same] == b.ptr[same])
        same++;
    while (same && same < a.len && in_word(a.ptr[same - 1]))
        same--;
    if (a.len <= DIFF_NAME_WIDTH)
        same = 0;
    nl_elide_name(text, (struct nl_str){a.ptr, same}, DIFF_NAME_WIDTH / 2);
    nl_elide_name(text, (struct nl_str){a.ptr + same, a.len - same}, DIFF_NAME_WIDTH);
}

/* A short name, with what distinguishes two if short ones do not. */
void diff_put_name(const struct diff_doc *doc, struct nl_buf *text, const struct diff_row *row)
{
    struct nl_buf short_name;
    nl_buf_init(&short_name, DIFF_SENTENCE);
    struct nl_str name = brief(&short_name, row);
    if (row->group == DIFF_IDLE)
        nl_buf_text(text, "idle, ");
    const struct diff_row *other = namesake(doc, row, name);
    if (other)
        diff_put_apart(text, row_name(row), row_name(other));
    else
        nl_buf_add(text, name.ptr, name.len);
    nl_buf_release(&short_name);
    bool gone = row->match == DIFF_REMOVED || row->match == DIFF_ADDED;
    if (row->match != DIFF_SAME &&
        !(gone && row->group == DIFF_IDLE)) /* the operator may be there */
        nl_buf_format(text, " (%s)", diff_match_text(row->match));
}

/* Time a call takes and calls a unit, on both sides. */
struct calls {
    double a, b;
    double base, changed;
};

static struct calls calls_of(const struct diff_doc *doc, const struct diff_row *row)
{
    struct calls calls = {diff_call_ns(row->base_gross, row->base_count),
                          diff_call_ns(row->changed_gross, row->changed_count),
                          (double)row->base_count / (double)(doc->base.units ? doc->base.units : 1),
                          (double)row->changed_count /
                              (double)(doc->changed.units ? doc->changed.units : 1)};
    if (row->group == DIFF_HOST) { /* self time */
        calls.a = calls.base > 0 ? (double)row->base_ns / calls.base : NAN;
        calls.b = calls.changed > 0 ? (double)row->changed_ns / calls.changed : NAN;
    }
    return calls;
}

void diff_put_what(const struct diff_doc *doc, struct nl_buf *text, const struct diff_row *row)
{
    struct calls calls = calls_of(doc, row);
    if (row->group == DIFF_IDLE || row->by_count == NL_NULL_I64 || !row->base.ptr ||
        !row->changed.ptr)
        return;
    bool pieces = diff_tells_pieces(doc);
    if (pieces) { /* fewer calls, as of all, say nothing */
        double all = doc->pace.changed_pieces / doc->pace.base_pieces;
        if (fabs(log(calls.changed / calls.base / all)) > CALLS_APART)
            nl_buf_format(text, ", calls %.4g → %.4g", calls.base, calls.changed);
    } else if (fabs(calls.changed - calls.base) > 0.005 * (calls.changed + calls.base))
        nl_buf_format(text, ", calls %.4g → %.4g", calls.base, calls.changed);
    if (calls.a > 0 && calls.b > 0 && fabs(log(calls.b / calls.a)) > CALL_APART) {
        nl_buf_text(text, ", a call ");
        diff_put_value(doc, text, nl_whole_i64(calls.a));
        nl_buf_text(text, " → ");
        diff_put_value(doc, text, nl_whole_i64(calls.b));
        nl_buf_text(text, " (");
        diff_put_percent(text, calls.b / calls.a - 1);
        nl_buf_char(text, ')');
    } else if (!pieces && llabs(row->by_count) <= llabs(row->by_time)) {
        nl_buf_text(text, calls.a > 0 && row->group != DIFF_HOST ? ", less or more of it hidden"
                                                                 : ", by time per call");
    }
}

/* "was X" for what goes under another name. */
static void put_was(struct nl_buf *text, const struct diff_row *row)
{
    if (!row->base.ptr || !row->changed.ptr || nl_str_eq(row->base, row->changed))
        return;
    nl_buf_text(text, ", was ");
    nl_elide_name(text, nl_short_kernel(row->base), DIFF_NAME_WIDTH);
}

void diff_put_row(const struct diff_doc *doc, struct nl_buf *text, const struct diff_row *row)
{
    diff_put_name(doc, text, row);
    nl_buf_char(text, ' ');
    diff_put_change(doc, text, nl_whole_i64(diff_told_change(doc, row->base_ns, row->changed_ns)));
    diff_put_what(doc, text, row);
    if (row->match >= DIFF_FUSED && row->match <= DIFF_REPLACED_CATEGORY)
        put_was(text, row);
}
