/*
 * tablecells — what table functions have in common: arguments that may be missing, and cells that
 * are NULL where nothing is known. Private to sql/.
 */
#ifndef NL_TABLECELLS_H
#define NL_TABLECELLS_H

#include "timeline/breakdown.h"
#include "sql/functions.h"

/* Was the argument given, and not NULL? */
bool nl_argument_given(sqlite3_value *value);

/* Arguments start and end (ns as rows have them), any of them missing or NULL, as a window;
 * and rank, when `ranked`. */
struct nl_window nl_argument_window(const struct nl_tf_call *call, sqlite3_value **args,
                                    bool ranked);

/* The cell's value; each leaves NULL for unknown: NL_NULL_I64, NaN,
 * NL_NULL_ROW, NL_NO_NAME, NULL. */
void nl_show_int(sqlite3_context *context, int64_t value);
void nl_show_real(sqlite3_context *context, double value);
void nl_show_row(sqlite3_context *context, uint32_t row);
void nl_show_name(sqlite3_context *context, const struct nl_tf_call *call, uint32_t id);
void nl_show_text(sqlite3_context *context, const char *text); /* text outlives the statement */

#endif
