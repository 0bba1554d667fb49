/*
 * dbspool — private temporary copies, for inputs that cannot be read where they are: compressed,
 * piped in, in need of recovery, or converted by another program. They are in a folder of mode 0700
 * below $TMPDIR (or /tmp).
 */
#ifndef DBSPOOL_H
#define DBSPOOL_H

#include "base/err.h"
#include "base/job.h"

/* Makes a folder; *folder is its name, given back with dbspool_remove. */
NL_MUST_CHECK bool dbspool_folder(char **folder, struct nl_err *err);

/* Copies a file byte by byte. */
NL_MUST_CHECK bool dbspool_file(const char *from, const char *to, struct nl_err *err);

/* Writes the decompressed content of `from` (any encoding, "-" = stdin) to `to`. */
NL_MUST_CHECK bool dbspool_stream(const char *from, const char *to, struct nl_job *job,
                                  const char **damage, struct nl_err *err);

/* Removes the folder and the files in it, and frees the name. */
void dbspool_remove(char *folder);

#endif
