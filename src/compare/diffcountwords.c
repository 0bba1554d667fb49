/* What sentences say of the table of counts: see diffwords.h. */
#include <math.h>

#include "base/sum.h"
#include "base/units.h"
#include "compare/diffcounts.h"
#include "compare/diffcountwords.h"
#include "compare/diffwords.h"
#include "tables/lookup.h"

#define COUNT_APART 0.02

/* The row of the counts about memory, where times cannot be compared and both sides know it;
 * SIZE_MAX none. */
static size_t memory_alone(const struct diff_doc *doc, const struct nl_result *counts)
{
    for (size_t row = 0; doc->base.unit == DIFF_UNITS && row < counts->rows; row++)
        if (nl_str_is(nl_lookup_text(counts, row, "what"), DIFF_PEAK_MEMORY) &&
            nl_lookup_f64(counts, row, "base") > 0 && nl_lookup_f64(counts, row, "new") > 0)
            return row;
    return SIZE_MAX;
}

void diff_put_memory(const struct diff_doc *doc, struct nl_buf *text,
                     const struct nl_result *counts)
{
    size_t row = memory_alone(doc, counts);
    char number[NL_UNIT_TEXT];
    if (row == SIZE_MAX)
        return;
    double a = nl_lookup_f64(counts, row, "base"), b = nl_lookup_f64(counts, row, "new");
    nl_buf_format(text, " Memory: at most %s", nl_format_bytes(number, nl_whole_u64(a)));
    if (a != b) {
        nl_buf_format(text, " → %s (", nl_format_bytes(number, nl_whole_u64(b)));
        diff_put_percent(text, b / a - 1);
        nl_buf_char(text, ')');
    }
    nl_buf_format(text, " are allocated at once%s.", a != b ? "" : " on both sides");
}

/* Counts whose change explains something; the sentence has them in the order of the table. */
static bool is_telling(struct nl_str what)
{
    static const char *const starts[] = {"kernels",          "copies",
                                         "collective",       "calls that synchronise",
                                         "calls that block", "calls that allocate",
                                         "compilations",     "operators",
                                         "most memory"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (nl_str_starts(what, starts[i]))
            return !nl_str_is(what, "kernels of graphs");
    return false;
}

static void put_count(struct nl_buf *text, double value, bool bytes)
{
    char number[NL_UNIT_TEXT];
    if (bytes)
        nl_buf_text(text, nl_format_bytes(number, nl_whole_u64(value)));
    else
        nl_buf_format(text, "%.6g", value);
}

static bool are_apart(double a, double b)
{
    return !isnan(a) && !isnan(b) && fabs(a - b) >= COUNT_APART * fmax(a, b);
}

void diff_put_counts(const struct diff_doc *doc, struct nl_buf *text,
                     const struct nl_result *counts)
{
    size_t said = 0, told = memory_alone(doc, counts);
    for (size_t row = 0; row < counts->rows && said < DIFF_TOP_ROWS; row++) {
        struct nl_str what = nl_lookup_text(counts, row, "what");
        bool bytes = nl_str_is(nl_lookup_text(counts, row, "unit"), "bytes");
        double a = nl_lookup_f64(counts, row, "base_per_step"),
               b = nl_lookup_f64(counts, row, "new_per_step");
        bool per = !isnan(a) && !isnan(b);
        if (!per) {
            a = nl_lookup_f64(counts, row, "base");
            b = nl_lookup_f64(counts, row, "new");
        }
        bool changed = nl_str_is(nl_lookup_text(counts, row, "changed"), "yes");
        if (!changed || !is_telling(what) || row == told || !are_apart(a, b))
            continue;
        nl_buf_format(text, "%s%.*s%s ", said++ ? "; " : "Counts: ", (int)what.len, what.ptr,
                      bytes && !nl_str_starts(what, "most") ? ", bytes" : "");
        put_count(text, a, bytes);
        nl_buf_text(text, " → ");
        put_count(text, b, bytes);
        nl_buf_text(text, per ? " a step" : "");
    }
    if (said)
        nl_buf_char(text, '.');
}
