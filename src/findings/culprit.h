/*
 * culprit — what the account says about a finding: who is to blame, for its title. Copies that
 * block save no more than the waits for them (bound.h has what bounds all causes).
 */
#ifndef NL_CULPRIT_H
#define NL_CULPRIT_H

#include "account/account.h"
#include "findings/cause.h"

/* Adds the culprit to the title where the cause has one, and bounds saving_ns. */
void nl_culprit_name(struct nl_finding *finding, const struct nl_scene *scene,
                     const struct nl_account *account);

#endif
