/*
 * culprit — what the account says about a finding: who is to blame, for its title, and how much can be
 * saved at most. A cause that claims idle time cannot save more than is idle, one that claims copies no more than
 * is exposed, and a blocking call no more than running ahead would have hidden.
 */
#ifndef NL_CULPRIT_H
#define NL_CULPRIT_H

#include "account/account.h"
#include "findings/cause.h"

/* Adds the culprit to the title where the cause has one, and bounds saving_ns. */
void nl_culprit_name(struct nl_finding *finding, const struct nl_scene *scene,
                     const struct nl_account *account);

#endif
