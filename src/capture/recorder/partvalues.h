/*
 * partvalues — what the recorder itself writes into a recording: values, alerts, samples, notes.
 */
#ifndef NL_PARTVALUES_H
#define NL_PARTVALUES_H

#include "capture/recorder/parts.h"

/* A value of the process (thread 0) or of one of its threads, now. */
void part_counter(struct parts *parts, struct part *part, int64_t thread, const char *name,
                  const char *unit, double value);

/* A value of a device at `time` (ticks of the run's clock). */
void part_device_counter(struct part *part, const struct part_device *device, uint64_t time,
                         const char *name, const char *unit, double value);

/* A threshold that `value` crossed at `time`: of a device, or (NULL) of the process. */
void part_alert(struct part *part, const struct part_device *device, uint64_t time,
                const char *name, double value);

/* A line of the recording's coverage. `detail` may be NULL. */
void part_note(struct parts *parts, struct part *part, const char *item, uint64_t count,
               const char *detail);

void part_sample(struct part *part, uint64_t now_ticks, const struct part_sample *sample);

void part_run(struct part *part, uint64_t now_ticks, const struct part_run *run);

#endif
