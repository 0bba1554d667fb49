/*
 * rechooks — the hooks of a recording: code of ours that runs in the program around a layer, an
 * operator, a task … and then writes events. How often each ran is in the head of a recording
 * (recformat.h), what one costs on this machine in the control page of the run
 * (capture/shared/control.h).
 */
#ifndef NL_RECHOOKS_H
#define NL_RECHOOKS_H

#include <stdint.h>

#define NL_REC_MAX_HOOKS 8u /* room in recordings */

#define NL_REC_HOOK(identifier, word, what) NL_REC_HOOK_##identifier,
enum nl_rec_hook {
#include "nlrec/rechooks.def"
    NL_REC_HOOK_COUNT
};
#undef NL_REC_HOOK

/* In the head of a recording; written by its process, read by anybody. */
struct nl_rec_hooks {
    uint64_t ran[NL_REC_MAX_HOOKS]; /* while the window was open */
    uint64_t start_ns;              /* processor time that installing them took */
};

#endif
