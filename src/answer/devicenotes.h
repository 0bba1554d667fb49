/*
 * devicenotes — the notes below the sentence about a device. Private to the room.
 */
#ifndef NL_DEVICENOTES_H
#define NL_DEVICENOTES_H

#include "answer/devicewords.h"

/* Notes: what the device does otherwise, how the steady steps look. */
void nl_device_tell_rest(struct nl_device_case *it, enum nl_verdict_class class);

#endif
