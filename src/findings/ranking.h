/*
 * ranking — in which order findings are reported: by what each can win that no finding above it wins already.
 *
 *     nl_findings_join(findings);      several views of one matter become one finding
 *     nl_findings_rank(findings);      claims, what is left to save, severity, order
 *
 * Claims: specific causes claim their time first, then general ones (the level of causes.def). Within a level the
 * finding that can win most goes first; of those that can win nearly as much, the one that stands earlier
 * in causes.def. What a finding can win is its largest saving less what earlier claims win in the time that they
 * share. It is reported under another's name (explained_by) only when those above win nearly all of it, so no
 * finding hides behind a smaller one.
 */
#ifndef NL_RANKING_H
#define NL_RANKING_H

#include "findings/finding.h"

/* Joins findings of one device that look at the same matter: copies of both directions and their kind of memory. */
void nl_findings_join(struct nl_findings *findings);

/* Fills beyond_ns, wins_ns, explained_by and severity, and puts the findings in order. */
void nl_findings_rank(struct nl_findings *findings);

#endif
