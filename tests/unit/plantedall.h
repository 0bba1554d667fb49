/*
 * plantedall — every made-up profile that plants a cause, or something that only
 * looks like it: a row each.
 */
#ifndef PLANTEDALL_H
#define PLANTEDALL_H

#include "plantedclocks.h"
#include "plantedhost.h"
#include "plantedlaunch.h"
#include "plantedrates.h"
#include "plantedweights.h"
#include "plantedwork.h"
#include "planted_cpu_before_work.h"

static const struct planted_case {
    const char *cause;
    bool printed;
    const char *label;
    void (*build)(struct gputrace *make);
} planted_cases[] = {
#include "plantedcauses.def"
};

#endif
