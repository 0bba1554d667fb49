/*
 * doctorkernel — what `doctor` checks of the kernel and the processor.
 */
#ifndef NL_DOCTORKERNEL_H
#define NL_DOCTORKERNEL_H

#include "cli/command.h"

#define NL_CHECKED_TEXT 400

/* What a check found. */
struct nl_checked {
    bool good;
    char found[NL_CHECKED_TEXT];
    const char *unlock; /* how to get it, when it is not good; NULL: as the table of checks says */
};

NL_PRINTF(2, 3) void nl_checked_say(struct nl_checked *checked, const char *format, ...);

/* What `run` samples with: opened once, and closed. */
void nl_doctor_perf(struct nl_call *call, struct nl_checked *checked);
/* Whether `run --pid` may look at other processes. */
void nl_doctor_ptrace(struct nl_call *call, struct nl_checked *checked);
/* Whether the processor's counter runs evenly. */
void nl_doctor_tsc(struct nl_call *call, struct nl_checked *checked);

#endif
