/*
 * lategain — what a program gains where one of its ranks is late (account/accountlate.h). All leave
 * a collective together, so the program gains what the late rank saves until another one is the
 * last, and nothing by what others save: they wait longer then. With what each device saves, and
 * what each waits for the late one, the program gains at most the least sum of the two of any
 * device. Private to the findings engine.
 */
#ifndef NL_LATEGAIN_H
#define NL_LATEGAIN_H

#include "findings/scene.h"

/* `savings`: of the cause, per scene; 0 where it was not found. Caps what the finding saves, and
 * keeps in alone_ns what its own device saves. Communication and what balances ranks are left
 * alone: their savings are of all of them. */
void nl_late_cap(struct nl_finding *finding, enum nl_cause_saves saves,
                 const struct nl_scenes *scenes, const struct nl_account *account,
                 const int64_t *savings);

#endif
