/*
 * joined — findings that are views of one problem, joined.
 */
#ifndef NL_JOINED_H
#define NL_JOINED_H

#include "findings/finding.h"

/* Merges findings of one device about the same problem: copies of both directions and their kind of
 * memory. */
void nl_findings_join(struct nl_findings *findings);

#endif
