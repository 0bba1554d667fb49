/* Temporary copies. */
#define _GNU_SOURCE
#include "ingest/lib/dbspool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stream.h"

#define COPY_BYTES ((size_t)1 << 20)

bool dbspool_folder(char **folder, struct nl_err *err)
{
    const char *base = getenv("TMPDIR");
    if (!base || !*base)
        base = "/tmp";
    size_t room = strlen(base) + sizeof "/neurolens-XXXXXX";
    char *name = nl_alloc(room);
    (void)snprintf(name, room, "%s/neurolens-XXXXXX", base);
    if (!mkdtemp(name)) {
        nl_err_at(err, name, -1);
        (void)nl_fail(err, NL_ENVIRONMENT, "cannot create a temporary folder: %s (set TMPDIR)",
                      strerror(errno));
        nl_free(name);
        return false;
    }
    *folder = name;
    return true;
}

static bool cannot_write(const char *path, struct nl_err *err)
{
    nl_err_at(err, path, -1);
    return nl_fail(err, NL_WRITE,
                   "cannot write the temporary copy: %s (set TMPDIR to another folder)",
                   strerror(errno));
}

bool dbspool_file(const char *from, const char *to, struct nl_err *err)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0) {
        nl_err_at(err, from, -1);
        return nl_fail(err, NL_IO, "cannot open: %s", strerror(errno));
    }
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = out >= 0;
    char *buffer = nl_alloc(COPY_BYTES);
    ssize_t got = 0;
    while (ok && (got = read(in, buffer, COPY_BYTES)) > 0)
        ok = nl_write_all(out, buffer, (size_t)got);
    if (!ok)
        (void)cannot_write(to, err);
    if (ok && got < 0) {
        nl_err_at(err, from, -1);
        ok = nl_fail(err, NL_IO, "cannot read: %s", strerror(errno));
    }
    nl_free(buffer);
    close(in);
    if (out >= 0)
        close(out);
    return ok;
}

bool dbspool_stream(const char *from, const char *to, struct nl_job *job, const char **damage,
                    struct nl_err *err)
{
    struct nl_stream *stream = nl_stream_open(from, job, err);
    if (!stream)
        return false;
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = out >= 0;
    char *buffer = nl_alloc(COPY_BYTES);
    ssize_t got = 0;
    while (ok && (got = nl_stream_read(stream, buffer, COPY_BYTES, err)) > 0) {
        ok = nl_write_all(out, buffer, (size_t)got);
        if (ok && nl_job_cancelled(job)) {
            got = -1;
            (void)nl_fail(err, NL_INTERRUPTED, "stopped");
        }
    }
    if (!ok)
        (void)cannot_write(to, err);
    *damage = nl_stream_damage(stream);
    nl_free(buffer);
    nl_stream_close(stream);
    if (out >= 0)
        close(out);
    return ok && got == 0;
}

void dbspool_remove(char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    (void)rmdir(folder);
    nl_free(folder);
}
