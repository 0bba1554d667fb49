/*
 * devicecopies — copies in the answer about a device: which took the time, and which were captured
 * for a graph. Private to the room.
 */
#ifndef NL_DEVICECOPIES_H
#define NL_DEVICECOPIES_H

#include "answer/devicewords.h"

/* The time of copies holds that of memsets: what it is called where the
 * profile has either or both. */
struct nl_copy_words {
    const char *name, *takes;
};
const struct nl_copy_words *nl_device_copy_words(const struct nl_device_case *it);
void nl_device_tell_copy(struct nl_device_case *it, int64_t ns);

/* Whether most of the time is the capture of a graph; then that is the answer. */
bool nl_device_tell_capture(struct nl_device_case *it);

#endif
