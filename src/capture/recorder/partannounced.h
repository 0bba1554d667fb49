/*
 * partannounced — processes that announce themselves to the recorder, and their places.
 */
#ifndef NL_PARTANNOUNCED_H
#define NL_PARTANNOUNCED_H

#include "capture/recorder/parts.h"

/* The files of processes that were announced since the last call, in the
 * order of their beginnings. */
void parts_announced(struct parts *parts);
/* The process's place is given to others; what it said when it ended goes into its file. */
void parts_leave_place(struct parts *parts, struct part *part);

#endif
