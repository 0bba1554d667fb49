/*
 * latewords — the sentence about the rank that the others wait for. Private to the room.
 */
#ifndef NL_LATEWORDS_H
#define NL_LATEWORDS_H

#include "answer/devicewords.h"

/* Sentence and culprit of a device whose rank the others wait for. */
void nl_device_tell_late(struct nl_device_case *it);

#endif
