/*
 * remedy — what to do about a cause, in the words of who made the device and of the framework that
 * the program uses: advice for another vendor's tools is wrong advice. The texts are remedies.def,
 * the words remedywords.def.
 */
#ifndef NL_REMEDY_H
#define NL_REMEDY_H

#include "findings/finding.h"

enum nl_maker { NL_MAKER_NVIDIA, NL_MAKER_AMD, NL_MAKER_GOOGLE, NL_MAKER_OTHER, NL_MAKERS };
enum nl_framework {
    NL_FRAMEWORK_TORCH,
    NL_FRAMEWORK_XLA, /* JAX, TensorFlow, and whatever runs on a TPU */
    NL_FRAMEWORK_ORT,
    NL_FRAMEWORK_TENSORRT,
    NL_FRAMEWORK_NONE, /* not known */
    NL_FRAMEWORKS
};

struct nl_setting {
    enum nl_maker maker;
    enum nl_framework framework;
};

/* Of a device (a row, or NL_NULL_ROW) of this profile: its vendor or name, else the tool that
 * recorded and the names of calls; the framework by the tool, else by the names of operators. */
struct nl_setting nl_setting_of(const struct nl_trace *trace, uint32_t device);

/* What helps against `cause` ("gpu_idle", or a variant "gpu_idle:warm_up") there; ends with an
 * action of NULL. Texts live in the arena or forever. */
const struct nl_suggestion *nl_remedies(const char *cause, struct nl_setting setting,
                                        struct nl_arena *arena);

#endif
