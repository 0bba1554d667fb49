/*
 * notes — what a profile does not hold, in sentences: coverage (dropped, cut, repaired) and what
 * was not recorded with the option that records it. Wrapped to the width, indented under a bullet.
 */
#ifndef NL_NOTES_H
#define NL_NOTES_H

#include "tables/result.h"

/* Rows of the analysis `missing`, one paragraph each. */
void nl_notes_missing(struct nl_buf *out, const struct nl_result *missing, size_t width);

/* Rows that say what to do next (do, why, verify): the commands to verify are on separate lines,
 * whole, so that they can be copied. */
void nl_notes_next(struct nl_buf *out, const struct nl_result *next, size_t width);

/* Rows of the analysis `coverage`, at most `rows` of them (0 = all). With more than one file, each
 * row names its own. */
void nl_notes_coverage(struct nl_buf *out, const struct nl_result *coverage, size_t width,
                       size_t rows, size_t files);

/* Adds text broken at spaces into lines of at most `width` screen columns; lines after the first
 * start with `indent` spaces. A word longer than a line stays whole. Ends with a line break. */
void nl_notes_wrap(struct nl_buf *out, struct nl_str text, size_t width, size_t indent);

#endif
