/*
 * steptime — the found steps (timeline/stepfind.h) inside a window, and what each
 * device did in each of them. compute + exposed communication + exposed copies + idle =
 * wall of the step, exactly.
 */
#ifndef NL_STEPTIME_H
#define NL_STEPTIME_H

#include "tables/analyze.h"
#include "timeline/stepfind.h"

/* Parts of a step's wall, in the order that the breakdown lists them. */
enum nl_step_part {
    NL_PART_WALL,
    NL_PART_COMPUTE,
    NL_PART_COMM,
    NL_PART_COPY,
    NL_PART_IDLE,
    NL_STEP_PARTS
};

/* What one device did during one step. */
struct nl_step_time {
    int64_t rank, ordinal;            /* of the device; NL_NULL_I64 unknown */
    uint32_t device;                  /* row, NL_NULL_ROW unknown */
    const struct nl_found_step *step; /* borrowed from the found steps */
    int64_t parts[NL_STEP_PARTS];     /* ns */
};

struct nl_step_times {
    const struct nl_found_steps *found; /* borrowed */
    struct nl_step_time *items;         /* by (rank, device, time) */
    size_t count;
};

/* Steps that start inside the window, at their whole length. */
void nl_step_times_init(struct nl_step_times *times, const struct nl_trace *trace,
                        const struct nl_window *window, const struct nl_found_steps *found);
void nl_step_times_release(struct nl_step_times *times);

/* Whether a step of the group counts in the window. */
bool nl_step_in_window(const struct nl_step_group *group, const struct nl_found_step *step,
                       const struct nl_window *window);

/* Lengths of the steady steps that count in the window, in order; steps of no length are left out.
 * A step of several ranks is one measurement: the mean of their n-th steps. So every command has
 * the same typical step. `length`, where given, says how long a step is. nl_free the array. */
typedef double (*nl_step_length)(const void *context, const struct nl_found_step *step);
double *nl_step_lengths(const struct nl_found_steps *found, const struct nl_window *window,
                        nl_step_length length, const void *context, size_t *count);

/* Says under a table how the steps were found and how sure that is, or that there are none. */
void nl_step_note(struct nl_result *result, const struct nl_found_steps *found);

#endif
