/*
 * heldtime — what the CPU waits in while work that was launched does not begin. Gaps of
 * NL_ACCOUNT_LONG_NS or more under "queued" are no launch latency: the device waits for something
 * that is not in the file. Whether the CPU waits, too, and in which call, is all that can be
 * said. Private to the room.
 */
#ifndef NL_HELDTIME_H
#define NL_HELDTIME_H

#include "answer/timeparts.h"

/* Sums, over those gaps of the device in a phase (NL_PHASES: in all), how long blocking calls and
 * calls that copy of 1 ms or more lasted in them, on any thread of its process, of each gap the
 * call that lasted longest there: *blocked ns. At most NL_TIME_NAMES names, longest first, each
 * with the range around the longest call; texts live in the report's arena. */
void nl_held_calls(struct nl_judged *judged, const struct nl_idle *idle,
                   const struct nl_idle_device *gaps, const struct nl_account_device *device,
                   enum nl_phase phase, int64_t *blocked, struct nl_time_name *names);

#endif
