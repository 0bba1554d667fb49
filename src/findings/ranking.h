/*
 * ranking — the order of the report: by the saving of each finding beyond those above it.
 *
 *     nl_findings_join(findings);      merges several views of one problem
 *     nl_findings_rank(findings);      claims, remaining savings, severity, order
 *
 * Claims: specific causes claim their time first, then general ones (the level of causes.def).
 * Within a level the finding with the largest saving goes first; if several save nearly as much,
 * the first in causes.def. A finding's saving is its largest saving minus what earlier claims save
 * in the shared time. It is reported under another finding (explained_by) only if those above save
 * nearly all of it, so a smaller finding never hides it.
 */
#ifndef NL_RANKING_H
#define NL_RANKING_H

#include "findings/finding.h"

/* Fills net_cost_ns, net_saving_ns, explained_by and severity, and puts the findings in order. */
void nl_findings_rank(struct nl_findings *findings);

#endif
