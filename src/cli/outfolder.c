/* A folder made next to its place, then renamed. */
#define _GNU_SOURCE
#include "cli/outfolder.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define OPEN_FOLDERS 16

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    return remove(path);
}

bool nl_outfolder_open(struct nl_outfolder *folder, const char *path, struct nl_progress *progress,
                       struct nl_err *err)
{
    *folder = (struct nl_outfolder){.path = nl_strdup(path), .progress = progress};
    size_t len = strlen(path);
    while (len > 1 && folder->path[len - 1] == '/')
        folder->path[--len] = '\0';
    nl_err_at(err, path, -1);
    if (access(folder->path, F_OK) == 0 && rmdir(folder->path) != 0) {
        nl_free(folder->path);
        return nl_fail(err, NL_WRITE,
                       errno == ENOTDIR ? "is a file; the tables need a folder of their own"
                                        : "already exists; give -o a new name or remove it");
    }
    folder->temporary = nl_alloc(len + 8);
    snprintf(folder->temporary, len + 8, "%s.XXXXXX", folder->path);
    mode_t mask = umask(0);
    umask(mask);
    if (!mkdtemp(folder->temporary) || chmod(folder->temporary, 0777 & ~mask) != 0) {
        int failure = errno;
        nl_free(folder->path);
        nl_free(folder->temporary);
        return nl_fail(err, NL_WRITE, "cannot create a folder here: %s", strerror(failure));
    }
    nl_progress_temporary(progress, folder->temporary);
    nl_err_clear(err);
    return true;
}

bool nl_outfolder_close(struct nl_outfolder *folder, bool done, struct nl_err *err)
{
    if (done) /* from here on it is whole; who ends the process must not remove it while it is put in place */
        nl_progress_temporary(folder->progress, NULL);
    if (done && rename(folder->temporary, folder->path) != 0) {
        nl_err_at(err, folder->path, -1);
        done = nl_fail(err, NL_WRITE, "cannot put the folder here: %s", strerror(errno));
    }
    if (!done)
        (void)nftw(folder->temporary, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    nl_progress_temporary(folder->progress, NULL);
    nl_free(folder->path);
    nl_free(folder->temporary);
    return done;
}
