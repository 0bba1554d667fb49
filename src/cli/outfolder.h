/*
 * outfolder — a folder of files that appears at once when all of them are written: it is made under
 * a temporary name next to its place and renamed in the end. An empty folder of that name is
 * replaced; anything else there is refused.
 */
#ifndef NL_OUTFOLDER_H
#define NL_OUTFOLDER_H

#include "base/err.h"
#include "cli/progress.h"

struct nl_outfolder {
    char *path, *temporary; /* write below `temporary` */
    struct nl_progress *progress;
};

/* `progress` removes the folder if it has to end the process; NULL is fine. */
NL_MUST_CHECK bool nl_outfolder_open(struct nl_outfolder *folder, const char *path,
                                     struct nl_progress *progress, struct nl_err *err);
/* With `done` the folder is put in place, else nothing is left. Passes `done` on. */
NL_MUST_CHECK bool nl_outfolder_close(struct nl_outfolder *folder, bool done, struct nl_err *err);

#endif
