/*
 * stepfind — the iterations of a profile, however they can be known, per rank:
 *
 *   marked     rows of table step (ProfilerStep#N and what else the reader took for a step)
 *   ranges     NVTX ranges and annotations whose text stands for an iteration (stepname.def); without
 *              device work also ranges that come round in turn (stepcycle.h)
 *   launches   nothing marked: the launch sequence of the busiest device repeats (stepdetect.h)
 *
 * Marks of several processes of one rank (or of none) that overlap are those of the process that
 * has most. The first of them that answers is taken. Steps of a rank are in order of time and do
 * not overlap. Warm-up and compile steps are recognised and stay in the list with their phase. The
 * table step itself is not changed.
 *
 * Marks are the CPU's. Where the devices ran the steps says account/devicesteps.h; only who looks
 * for the marks themselves takes them from here.
 */
#ifndef NL_STEPFIND_H
#define NL_STEPFIND_H

#include "store/trace.h"

enum nl_step_method { NL_STEPS_MARKED, NL_STEPS_RANGES, NL_STEPS_LAUNCHES, NL_STEP_METHODS };

enum nl_step_phase {
    NL_STEP_STEADY,
    NL_STEP_WARM_UP, /* at the beginning and of unusual length, or unlike the others */
    NL_STEP_COMPILE, /* loads modules or compiles for 5 % of its length or more */
    NL_STEP_LAST     /* of launches: ends with its last kernel, not where the next step begins */
};

struct nl_found_step {
    int64_t index;                    /* number as marked; else 0, 1, … */
    int64_t start, end;               /* store time */
    int64_t marked_start, marked_end; /* as the program marked it; windows choose steps by it */
    int64_t load_ns;                  /* loading modules and compiling that began in it */
    uint32_t name; /* dictionary id of the mark, or of the kernel it begins with */
    enum nl_step_phase phase;
};

/* Steps of one rank, found in one way. */
struct nl_step_group {
    int64_t rank; /* NL_NULL_I64 unknown */
    enum nl_step_method method;
    double confidence;   /* 0..1 that these are the iterations */
    const char *pattern; /* of the ranges, or NULL */
    bool on_device;      /* marked on lanes of devices: the device's own steps (XPlane) */
    size_t first, count; /* in items */
};

struct nl_found_steps {
    struct nl_found_step *items;
    size_t count, cap;
    struct nl_step_group *groups; /* ascending by rank */
    size_t group_count, group_cap;
};

/* Whether it counts for the typical step: a steady one that takes time. */
static inline bool nl_step_is_steady(const struct nl_found_step *step)
{
    return step->phase == NL_STEP_STEADY && step->end > step->start;
}

/* Methods by name: "marked", "ranges", "launches"; phases: "steady",
 * "warm-up", "compile", "last". */
const char *nl_step_method_text(enum nl_step_method method);
const char *nl_step_phase_text(enum nl_step_phase phase);

void nl_steps_find(const struct nl_trace *trace, struct nl_found_steps *found);
/* Only by the methods whose bits (1u << enum nl_step_method) are set. */
void nl_steps_find_by(const struct nl_trace *trace, unsigned methods, struct nl_found_steps *found);
void nl_steps_release(struct nl_found_steps *found);

#endif
