/*
 * bound — what a finding can save at most: no more than the part of the account that it is about,
 * and no step gets shorter than what the device computes, or than what the feeding thread works on
 * where the change leaves that work as it is (timeline/hostbusy.h).
 */
#ifndef NL_BOUND_H
#define NL_BOUND_H

#include "account/account.h"
#include "findings/cause.h"

/* Lowers saving_ns of a finding about the scene's device. */
void nl_bound_saving(struct nl_finding *finding, struct nl_scene *scene,
                     const struct nl_account *account);

/* The scene's device in the account; NULL when it is not there. */
const struct nl_account_device *nl_scene_account(const struct nl_account *account,
                                                 const struct nl_scene *scene);

#endif
