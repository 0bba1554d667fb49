/*
 * finishing — staged rows → columns: the steps of finishing a builder that follow from rows alone.
 * For room derive, which calls them in the order below and puts in between what it derives from
 * rows (derive/derive.c). Not for other rooms.
 */
#ifndef NL_FINISHING_H
#define NL_FINISHING_H

#include "store/columns.h"

/* Takes the builder; nl_finishing_end must follow. */
void nl_finishing_begin(struct nl_finish *f, struct nl_builder *builder);

/* Units in order, entities numbered, slices nested; then all tables but those for which room derive
 * calls nl_build_table: collective, captured, metric, measurement. */
NL_MUST_CHECK bool nl_finishing_rows(struct nl_finish *f, struct nl_err *err);

/* Frees what is no longer needed, unless tables metric and measurement have rows that need it. */
void nl_finishing_give_back(struct nl_finish *f);

/* When all tables are complete: the first and last time, and in coverage what was repaired. */
void nl_finishing_extent(struct nl_finish *f);

/* `done`: everything succeeded; then table coverage is built and the trace is returned, else
 * NULL. Frees the builder. */
struct nl_trace *nl_finishing_end(struct nl_finish *f, bool done);

#endif
