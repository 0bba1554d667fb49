/*
 * workfollow — the output of a convolution whose stride was not recorded (PyTorch before 1.11 wrote
 * shapes alone): the next operator of the thread that takes a tensor of its batch and channels.
 */
#ifndef NL_WORKFOLLOW_H
#define NL_WORKFOLLOW_H

#include "timeline/rangetree.h"
#include "work/workmodel.h"

/* `range`: index in `ops` of a forward convolution with input and weight as its first inputs. False
 * when none of the next operators fits. The cost is marked as estimated. */
bool work_follow(const struct nl_rangetree *ops, uint32_t range, struct work_cost *cost);

#endif
