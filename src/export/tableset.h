/*
 * tableset — all tables of a profile as a set of files.
 */
#ifndef NL_TABLESET_H
#define NL_TABLESET_H

#include "export/tableview.h"

/* Writes all tables with rows to export->folder, those with a rank as TABLE/rank=N/part.ENDING when
 * the profile has several ranks; or export->table to export->out. */
NL_MUST_CHECK bool nl_write_tables(struct nl_export *export, const struct nl_table_format *format,
                                   struct nl_err *err);

#endif
