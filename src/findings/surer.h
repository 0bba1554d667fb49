/*
 * surer — what a profile lacks that would make a finding surer.
 */
#ifndef NL_SURER_H
#define NL_SURER_H

#include "findings/finding.h"

/* Fills the needs of a finding (surer.def). Texts live in the trace's tables or the arena. */
void nl_finding_surer(struct nl_finding *finding, const struct nl_trace *trace,
                      struct nl_arena *arena);

#endif
