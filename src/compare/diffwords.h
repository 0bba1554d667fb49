/*
 * diffwords — numbers and rows of a diff as sentences have them.
 */
#ifndef NL_COMPARE_DIFFWORDS_H
#define NL_COMPARE_DIFFWORDS_H

#include "compare/diffdoc.h"

#define DIFF_SENTENCE   ((size_t)1 << 12)
#define DIFF_NAME_WIDTH 44  /* of a name in a sentence */
#define DIFF_TOP_ROWS   3   /* rows that sentences speak of */
#define NL_MANYFOLD     9.0 /* shares above are said as factors */

/* Whether a row's change is known to be within what it varies by itself. */
static inline bool diff_row_is_noise(const struct diff_row *row)
{
    return !row->flagged && row->p == row->p;
}

/* Whether sentences speak of each operation: where one side did less of the same work, the change
 * of the whole says nothing. And a change in those terms, of two times of the sides. */
bool diff_tells_pieces(const struct diff_doc *doc);
double diff_told_change(const struct diff_doc *doc, int64_t base_ns, int64_t changed_ns);

/* The rows in the order in which sentences speak of them: those that are noise come last, each kind
 * by its change. nl_free the array, which is as long as the rows. */
const struct diff_row **diff_rows_to_tell(const struct diff_doc *doc);

/* Whether no row changed by more. */
bool diff_is_largest(const struct diff_doc *doc, const struct diff_row *row);

/* " Whole steps, …": of self times of steps, where the steps themselves changed otherwise. */
void diff_put_whole_steps(struct diff_doc *doc, struct nl_buf *text);

/* A number of what is compared: a time, or a weight in its unit; a change has its sign. */
void diff_put_value(const struct diff_doc *doc, struct nl_buf *out, int64_t value);
void diff_put_change(const struct diff_doc *doc, struct nl_buf *out, int64_t change);
void diff_put_percent(struct nl_buf *out, double share);

/* A name next to another that it may share its beginning with: its beginning, shortened, and from
 * where they differ. */
void diff_put_apart(struct nl_buf *text, struct nl_str name, struct nl_str other);

/* A short name, with what distinguishes two if short ones do not; and how it was paired. */
void diff_put_name(const struct diff_doc *doc, struct nl_buf *text, const struct diff_row *row);

/* ", calls 1 → 2, a call 200 us → 220 us (+10.0 %)": what of a row changed. */
void diff_put_what(const struct diff_doc *doc, struct nl_buf *text, const struct diff_row *row);

/* Name, change, and what of it changed. */
void diff_put_row(const struct diff_doc *doc, struct nl_buf *text, const struct diff_row *row);

#endif
