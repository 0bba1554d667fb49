/* Modes of shared ledgers. */
#define _GNU_SOURCE
#include "ledger/ledgershare.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    if (!nl_ledger_shared(folder))
        return;
    /* By its descriptor: others may write in the folder, and could put a link to a private file
     * there between two looks. */
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return;
    if (fstat(file, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)))
        (void)!fchmod(file, S_ISDIR(info.st_mode) ? NL_SHARED_FOLDER : NL_SHARED_FILE);
    close(file);
}
