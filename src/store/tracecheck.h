/*
 * tracecheck — may what is in the columns of a trace be followed?
 *
 * A trace file is mapped and used in place, so before anybody reads it, its rows are checked
 * against what code relies on:
 *
 *   - names are in the dictionary, values of enumerations are known ones;
 *   - a reference leads to a row that is there; it is unknown (NL_NULL_ROW) only where schema.def says
 *     NL_REF and not NL_KEY;
 *   - slice.detail leads to a row of the side table of the slice's kind (nl_detail_table);
 *   - times are within 2^61 (so that every span fits), lengths are settled, parents come before children;
 *   - lanes follow each other and hold all slices; those of a lane are in order of depth, of a
 *     depth in order of time and of parents; each is within its parent, which is one depth up, and
 *     overlaps none of its depth (unless flagged NL_SLICE_OVERFLOW); lane.depth is what it holds.
 *
 * It reads the columns of references, names and enumerations, and starts and lengths, once: about 3
 * ms of processor time for a million slices.
 */
#ifndef NL_TRACECHECK_H
#define NL_TRACECHECK_H

#include "store/trace.h"

#define NL_TRACECHECK_TEXT  128
#define NL_TRACECHECK_SMALL 4096 /* rows of a table that is checked even where the others wait */

/* False with what is wrong in `what`. */
NL_MUST_CHECK bool nl_tracecheck(const struct nl_trace *trace, unsigned threads,
                                 char what[NL_TRACECHECK_TEXT]);

/* Of the names, references and enumerations of the metadata and of tables of at most
 * NL_TRACECHECK_SMALL rows alone. */
NL_MUST_CHECK bool nl_tracecheck_small(const struct nl_trace *trace, char what[NL_TRACECHECK_TEXT]);

#endif
