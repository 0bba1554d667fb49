/*
 * celltext — one cell as text: with units for eyes, plain for machines; and how wide text is on a
 * screen.
 */
#ifndef NL_CELLTEXT_H
#define NL_CELLTEXT_H

#include "tables/result.h"

/* For eyes: "1.23 ms", "12.3 %", "1,234"; "-" for unknown. Control characters and bytes that are
 * not UTF-8 become U+FFFD, line breaks and tabs a space, so no name can drive a terminal. */
void nl_celltext_eyes(struct nl_buf *out, const struct nl_result_column *column,
                      const struct nl_cell *cell);

/* A column as one row shows it: of meaning WEIGHT what the row's unit makes of it. */
struct nl_result_column nl_celltext_column(const struct nl_result *result, size_t row,
                                           size_t column);

/* For machines: integers, shortest exact decimals, text as it is; nothing for unknown. Times in
 * columns of meaning NS are whole ns (rounded half away from zero). */
void nl_celltext_plain(struct nl_buf *out, const struct nl_result_column *column,
                       const struct nl_cell *cell);

/* A cell as machines get it: F64 in columns of meaning NS becomes I64. */
struct nl_cell nl_celltext_exact(const struct nl_result_column *column, struct nl_cell cell);

/* Adds text made safe for terminals, as nl_celltext_eyes does. */
void nl_celltext_safe(struct nl_buf *out, struct nl_str text);

/* Bytes of the character that `text` begins with; 0 when it steers a terminal, reorders
 * or hides text, or is none. */
size_t nl_celltext_harmless(struct nl_str text);

/* Screen columns that (valid UTF-8) text takes. */
size_t nl_celltext_width(struct nl_str text);

/* Adds text cut to at most `width` screen columns, leaving out its middle. */
void nl_celltext_elide(struct nl_buf *out, struct nl_str text, size_t width);

/* Whether a column's numbers stand to the right. */
bool nl_celltext_is_number(const struct nl_result *result, size_t column);

#endif
