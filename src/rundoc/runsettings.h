/*
 * runsettings — values of settings as text, checked against the schema: "32" is a whole number
 * where one is expected, bf16 a precision, null unknown.
 */
#ifndef NL_RUNSETTINGS_H
#define NL_RUNSETTINGS_H

#include "rundoc/docschema.h"

/* Node of a member that may be set ("workload.batch_size"), or NULL: scalars of run, hardware,
 * software and workload that may be null. */
const struct doc_node *run_setting_node(const struct doc_schema *schema, const char *key);

/* May the member have this value? Otherwise `err` (may be NULL) says what it takes. */
NL_MUST_CHECK bool run_setting_allowed(const struct doc_node *node, const char *value,
                                       struct nl_err *err);

/* The value as JSON: text in quotes where the member is a text, else as it is. */
void run_setting_json(struct nl_buf *out, const struct doc_node *node, const char *value);

#endif
