/*
 * provenance — under what circumstances a program is recorded: the command, where, by whom, which
 * commit, on which machine, in which container and job. Gathered before the program starts and
 * written next to the parts, so that a recording whose recorder was killed has it, too. Members are
 * those of the run document (schema/run.schema.json); what looks like a secret is taken out first.
 */
#ifndef NL_PROVENANCE_H
#define NL_PROVENANCE_H

#include "base/job.h"
#include "base/mem.h"
#include "capture/recorder/recorder.h"

/* Writes <parts>/.facts (nlrec/recformat.h: NL_REC_FACTS). What cannot be found out or written is
 * left out: a recording without it is still one. Returns a descriptor that holds a lock on the file
 * for as long as it is open, so that others can see that the parts are being written; -1 without
 * one. */
int nl_provenance_begin(const char *parts, char *const *argv, int count);

/* Is somebody recording into this folder now? */
bool nl_provenance_busy(const char *parts);

/* Adds how the program ended, and what recording cost. */
void nl_provenance_end(const char *parts, const struct nl_recorder_report *report);

#endif
