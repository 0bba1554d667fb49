/*
 * tracefile — the .nlt file: a trace's columns as chunks that can be mapped and used in place.
 *
 * Layout (all little endian, chunks 64-byte aligned):
 *   header   64 B: magic "NLTRACE\n", version, schema hash, table-of-contents offset, size and CRC
 *   chunks   one per stored column, two for the dictionary, one of facts
 *   contents rows {table, column, rows, offset, bytes, crc32c}
 * The file is written front to back and never rewritten; the header's last 16 bytes point to the
 * newest table of contents, so a file can be appended to.
 *
 * Opening checks the contents (bounds, alignment, order, sizes against row counts, every column
 * once), and what code follows in the rows (tracecheck.h), so a foreign or damaged file cannot
 * crash a reader. CRCs of the chunks are checked, too: of all when `verify` is set or the file has
 * at most 96 MiB, else of 96 MiB of it, others at each opening.
 */
#ifndef NL_TRACEFILE_H
#define NL_TRACEFILE_H

#include <stdio.h>

#include "store/trace.h"

/* Writes atomically (temporary + rename), readable by the user alone (0600): a profile reveals
 * much. Returns false with NL_WRITE (e.g. disk full). */
NL_MUST_CHECK bool nl_trace_save(const struct nl_trace *trace, const char *path,
                                 struct nl_err *err);

/* The same to a stream that is empty and can be sought. What is buffered is
 * the caller's to flush. */
NL_MUST_CHECK bool nl_trace_write(const struct nl_trace *trace, FILE *out);

/* NL_FORMAT with the offset of what is wrong; another schema version is NL_FORMAT too. */
struct nl_trace *nl_trace_open(const char *path, bool verify, unsigned threads, struct nl_err *err);

/* Checks the contents, the dictionary's order and small tables (tracecheck.h) alone, so that it
 * costs the same for large files: the trace is `unchecked`, and nothing but those tables and row
 * counts may be read of it until nl_trace_check has said that the rest is fine. */
struct nl_trace *nl_trace_open_unchecked(const char *path, struct nl_err *err);

/* The checks that nl_trace_open_unchecked left out, as nl_trace_open makes them; true
 * at once where nothing was. */
NL_MUST_CHECK bool nl_trace_check(struct nl_trace *trace, unsigned threads, struct nl_err *err);

/* True when the bytes begin like a .nlt file. */
bool nl_trace_recognise(const void *bytes, size_t len);

#endif
