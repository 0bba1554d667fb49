/*
 * arrowanswer — an SQL answer as Arrow columns, made row by row and handed out without a copy.
 *
 *     struct nlens_answer *answer = nl_arrowanswer_new(budget);
 *     struct nl_db_sink sink = nl_arrowanswer_sink(answer);
 *     if (nl_db_rows(db, query, &sink, err))
 *         nlens_answer_stream(answer, &stream); // as often as wanted
 *     nlens_answer_free(answer);                // streams and arrays keep what they need
 *
 * A column's type follows from all its values: int64 when all are whole numbers, float64 when some
 * are not, large_utf8 when some are texts (numbers among them are then written out), null when
 * there are none. Whole numbers beyond 2^53 among others also make texts: as float64 they would be
 * other numbers.
 */
#ifndef NL_ARROWANSWER_H
#define NL_ARROWANSWER_H

#include <neurolens-engine.h>

#include "sql/db.h"

/* At most `budget` bytes of columns; 0 = no limit. */
struct nlens_answer *nl_arrowanswer_new(uint64_t budget);

struct nl_db_sink nl_arrowanswer_sink(struct nlens_answer *answer);

#endif
