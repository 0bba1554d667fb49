/* runoptions — the options of `neurolens run`. */
#ifndef NL_RUNOPTIONS_H
#define NL_RUNOPTIONS_H

#include "cli/command.h"

/* The options of run. Zero (or NULL) = not given, except where said. */
struct nl_run_options {
    int policy; /* enum nl_rec_policy */
    int graphs; /* 1 = whole */
    bool unified_memory;
    uint64_t buffer_bytes;
    int64_t delay_ns, duration_ns;
    const char *steps, *on_signal, *trigger;
    bool paused;
    int python; /* enum nl_run_python */
    bool shapes, python_heap;
    int64_t sample_rate;  /* a second, of both kinds of samples; NL_NULL_I64 = not given */
    int64_t pid;          /* to attach to; 0 = not given */
    int native;           /* 1 = off */
    int stacks;           /* enum perf_stacks */
    uint64_t stack_bytes; /* copied of a stack per sample; 0 = not given */
    int switches;         /* enum nl_switches */
};

static inline const struct nl_run_options *nl_run_own(const struct nl_call *call)
{
    return call->own;
}

extern const struct nl_option nl_run_options[];

#endif
