/*
 * jsonview — JSON of answers: what all of it has in common.
 */
#ifndef NL_JSONVIEW_H
#define NL_JSONVIEW_H

#include "base/json.h"
#include "base/units.h"

/* Opens the JSON envelope of an answer that is about no profile: "schema" (such as
 * "neurolens.gc/1"), "profile" and "coverage" null, up to and including the key "result". The
 * caller writes the value, closes the '}' and ends the line. */
void nl_view_json_begin(struct nl_json *json, FILE *out, const char *schema);

/* What a column's numbers are counted in, as JSON says it: "ns", "bytes", …; NULL for none. */
const char *nl_view_unit(enum nl_meaning meaning);

#endif
