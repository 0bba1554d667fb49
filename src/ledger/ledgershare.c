/* Modes of shared ledgers. */
#define _GNU_SOURCE
#include "ledger/ledgershare.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"

bool nl_ledger_mode_shared(mode_t mode)
{
    return (mode & S_ISGID) && (mode & S_IWGRP);
}

bool nl_ledger_shared(const char *folder)
{
    struct stat info;
    return stat(folder, &info) == 0 && S_ISDIR(info.st_mode) && nl_ledger_mode_shared(info.st_mode);
}

bool nl_ledger_share(const char *folder, struct nl_err *err)
{
    static const char *const inside[] = {"", "/artefacts", "/runs", "/cache"};
    struct nl_arena arena;
    bool done = true;
    nl_arena_init(&arena);
    for (size_t i = 0; done && i < sizeof inside / sizeof inside[0]; i++) {
        const char *path = nl_arena_format(&arena, "%s%s", folder, inside[i]);
        done = nl_make_folders_lasting(path, err);
        if (done && chmod(path, NL_SHARED_FOLDER) != 0) {
            nl_err_at(err, path, -1);
            done = nl_fail(err, NL_WRITE, "cannot be shared: %s", strerror(errno));
        }
    }
    nl_arena_free(&arena);
    return done;
}

void nl_ledger_share_path(const char *folder, const char *path)
{
    struct stat info;
    if (nl_ledger_shared(folder) && lstat(path, &info) == 0 && !S_ISLNK(info.st_mode))
        (void)!chmod(path, S_ISDIR(info.st_mode) ? NL_SHARED_FOLDER : NL_SHARED_FILE);
}
