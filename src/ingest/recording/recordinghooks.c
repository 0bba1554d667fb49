/* How often the hooks of a process ran, for what recording cost it (derive/reccost.h). */
#include <inttypes.h>
#include <stdio.h>

#include "derive/reccost.h"
#include "ingest/recording/recording.h"

/* For operators the head says that their hook was there: they run on several threads, and are
 * counted as events; so are ranges of NVTX and Python functions. */
static uint64_t runs(const struct rec_load *load, const uint64_t *events, unsigned hook)
{
    uint64_t told = load->head.hooks.ran[hook];
    switch (hook) {
    case NL_REC_HOOK_OPERATOR: return told ? events[NL_REC_CLASS_OP] / 2 : 0;
    case NL_REC_HOOK_CALL: return events[NL_REC_CLASS_PYTHON] / 2;
    case NL_REC_HOOK_NVTX: return events[NL_REC_CLASS_NVTX] / 2;
    default: return told;
    }
}

static void keep_hook_fact(struct rec_load *load, const char *key, uint64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    if (value)
        nl_builder_meta(load->builder, load->source, key, nl_str(text));
}

void rec_tell_hooks(struct rec_load *load, const uint64_t *events)
{
#define NL_REC_HOOK(identifier, word, what) NL_RECCOST_RAN what,
    static const char *const keys[] = {
#include "nlrec/rechooks.def"
    };
#undef NL_REC_HOOK
    for (unsigned i = 0; i < NL_REC_HOOK_COUNT; i++)
        keep_hook_fact(load, keys[i], runs(load, events, i));
    keep_hook_fact(load, NL_RECCOST_TOOK, load->head.hooks.start_ns);
}
