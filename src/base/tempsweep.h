/*
 * tempsweep — what killed commands left in the folder for temporary files.
 *
 * Folders and files are made there as neurolens-XXXXXX, mode 0700 or 0600, and removed at the end;
 * a command that is killed, or a machine that goes down, leaves them. `gc` removes those of this
 * user that are older than a day, with what is in them.
 */
#ifndef NL_TEMPSWEEP_H
#define NL_TEMPSWEEP_H

#include <stdbool.h>
#include <stdint.h>

struct nl_tempsweep {
    uint64_t removed, removed_bytes;
};

/* Sweeps $TMPDIR, or /tmp. Only what has our pattern of names, belongs to this user, is closed to
 * others, and in which nothing changed within a day; links are neither followed nor removed. With
 * `dry` it is only counted. */
struct nl_tempsweep nl_tempsweep(bool dry);

#endif
