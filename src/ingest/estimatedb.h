/*
 * estimatedb — how many events a SQLite file of a profiler holds, without reading
 * them. Private to the room.
 */
#ifndef NL_ESTIMATEDB_H
#define NL_ESTIMATEDB_H

#include "ingest/ingest.h"

/* False if row ids of the format are no row counts, or the file is not a plain SQLite database that
 * can be opened. Reads a page or two a table. */
NL_MUST_CHECK bool nl_estimate_tables(const char *path, const char *format,
                                      const struct nl_input *input, double *rows);

#endif
