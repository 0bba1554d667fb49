/* The walk over artefacts: folders of two hex digits, files named by their content. */
#define _GNU_SOURCE
#include "ledger/artefactwalk.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/stream.h"
#include "rundoc/rundoc.h"
#include "store/tracefile.h"

#define HEX        "0123456789abcdef"
#define SHA256_HEX 64
#define HEAD       64 /* bytes that identify a trace */

static bool is_artefact(const char *two, const char *name)
{
    return strspn(name, HEX) == SHA256_HEX && strcmp(name + SHA256_HEX, ".zst") == 0 &&
           strncmp(two, name, 2) == 0;
}

static bool walk_folder(int above, const char *two, nl_artefact_see *see, void *context,
                        struct nl_err *err)
{
    struct nl_artefact_file file;
    int fd = openat(above, two, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    bool done = true;
    while (done && folder && (entry = readdir(folder))) {
        if (!is_artefact(two, entry->d_name) ||
            fstatat(fd, entry->d_name, &file.info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(file.info.st_mode))
            continue;
        snprintf(file.sha256, sizeof file.sha256, "%.64s", entry->d_name);
        file.folder = fd;
        file.name = entry->d_name;
        done = see(context, &file, err);
    }
    if (folder)
        closedir(folder);
    return done;
}

bool nl_artefact_walk(const char *ledger, nl_artefact_see *see, void *context, struct nl_err *err)
{
    size_t room = strlen(ledger) + 16;
    char *path = nl_alloc(room);
    snprintf(path, room, "%s/artefacts", ledger);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    nl_free(path);
    struct dirent *entry;
    bool done = true;
    while (done && folder && (entry = readdir(folder)))
        if (strlen(entry->d_name) == 2 && strspn(entry->d_name, HEX) == 2)
            done = walk_folder(dirfd(folder), entry->d_name, see, context, err);
    if (folder)
        closedir(folder);
    return done;
}

static bool stop_at_first(void *context, const struct nl_artefact_file *file, struct nl_err *err)
{
    (void)context;
    (void)file;
    (void)err;
    return false;
}

bool nl_artefact_any(const char *ledger)
{
    return !nl_artefact_walk(ledger, stop_at_first, NULL, NULL);
}

enum nl_artefact_kind nl_artefact_kind_of(const char *ledger, const char *sha256)
{
    char head[HEAD];
    struct nl_err ignored;
    char *path = nl_artefact_path(ledger, sha256);
    nl_err_clear(&ignored);
    struct nl_stream *stream = nl_stream_open(path, NULL, &ignored);
    ssize_t size = stream ? nl_stream_read(stream, head, sizeof head, &ignored) : -1;
    enum nl_artefact_kind kind = NL_ARTEFACT_SOURCE;
    if (size < 0)
        kind = NL_ARTEFACT_DAMAGED;
    else if (nl_trace_recognise(head, (size_t)size))
        kind = NL_ARTEFACT_TRACE;
    else if (nl_rundoc_recognise(path))
        kind = NL_ARTEFACT_DOCUMENT;
    if (stream)
        nl_stream_close(stream);
    nl_free(path);
    return kind;
}
