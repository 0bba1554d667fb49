/* Files: mapping, atomic replacement, folders, fingerprints. */
#define _GNU_SOURCE
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

/* Opens a regular file for reading and gives its stat; explains what it is when it is not one. */
static int open_regular(const char *path, struct stat *info, struct nl_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        nl_err_at(err, path, -1);
        (void)nl_fail(err, NL_IO, "cannot open: %s", strerror(errno));
        return -1;
    }
    bool asked = fstat(fd, info) == 0;
    if (!asked || !S_ISREG(info->st_mode)) {
        nl_err_at(err, path, -1);
        (void)(asked ? nl_fail(err, NL_IO, "%s, not a regular file",
                               S_ISDIR(info->st_mode) ? "is a folder" : "is a device or pipe")
                     : nl_fail(err, NL_IO, "cannot read: %s", strerror(errno)));
        close(fd);
        return -1;
    }
    return fd;
}

bool nl_map_open(struct nl_map *map, const char *path, struct nl_err *err)
{
    *map = (struct nl_map){0};
    struct stat info;
    int fd = open_regular(path, &info, err);
    if (fd < 0)
        return false;
    if (info.st_size == 0) {
        close(fd);
        return true;
    }
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    int failure = errno;
    close(fd);
    if (bytes == MAP_FAILED) {
        nl_err_at(err, path, -1);
        return nl_fail(err, NL_IO, "cannot map: %s", strerror(failure));
    }
    map->bytes = bytes;
    map->size = (size_t)info.st_size;
    return true;
}

void nl_map_close(struct nl_map *map)
{
    if (map->bytes)
        munmap((void *)(uintptr_t)map->bytes, map->size);
    *map = (struct nl_map){0};
}

void nl_map_forget(const struct nl_map *map, size_t from, size_t to)
{
    if (map->bytes && from < to && to <= map->size)
        (void)madvise((void *)(uintptr_t)(map->bytes + from), to - from, MADV_DONTNEED);
}

/* Permissions of a new file: those of the file it replaces, else what the umask leaves. */
static bool set_mode(int fd, const char *path)
{
    struct stat old;
    bool there = stat(path, &old) == 0;
    if (!there && errno != ENOENT)
        return false;
    if (there && S_ISREG(old.st_mode)) {
        /* The owner before the mode, which a change of owner may cut. Others cannot be served: then
         * the group must not get what the old group had. */
        mode_t mode = old.st_mode & 0777;
        if (fchown(fd, old.st_uid, old.st_gid) != 0 && fchown(fd, (uid_t)-1, old.st_gid) != 0)
            mode &= ~(mode_t)0070;
        return fchmod(fd, mode) == 0;
    }
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(fd, 0666 & ~mask) == 0;
}

static bool open_out(struct nl_out *out, const char *path, bool private, struct nl_err *err)
{
    *out = (struct nl_out){0};
    size_t room = strlen(path) + 8;
    out->temporary = nl_alloc(room);
    snprintf(out->temporary, room, "%s.XXXXXX", path);
    out->path =
        nl_strdup(path); /* first: without memory the command ends, and no file must be left */
    int fd = mkostemp(out->temporary, O_CLOEXEC); /* 0600 */
    if (fd >= 0 && (private || set_mode(fd, path)))
        out->stream = fdopen(fd, "w");
    if (!out->stream) {
        int failure = errno;
        if (fd >= 0) {
            close(fd);
            unlink(out->temporary);
        }
        nl_free(out->temporary);
        nl_free(out->path);
        *out = (struct nl_out){0};
        nl_err_at(err, path, -1);
        return nl_fail(err, NL_WRITE, "cannot write here: %s", strerror(failure));
    }
    return true;
}

bool nl_out_open(struct nl_out *out, const char *path, struct nl_err *err)
{
    return open_out(out, path, false, err);
}

bool nl_out_open_private(struct nl_out *out, const char *path, struct nl_err *err)
{
    return open_out(out, path, true, err);
}

bool nl_out_commit(struct nl_out *out, struct nl_err *err)
{
    bool bad = fflush(out->stream) != 0 || ferror(out->stream);
    int failure = errno;
    if (fclose(out->stream) != 0 && !bad) {
        bad = true;
        failure = errno;
    }
    out->stream = NULL;
    if (!bad && rename(out->temporary, out->path) != 0) {
        bad = true;
        failure = errno;
    }
    if (bad) {
        nl_err_at(err, out->path, -1);
        (void)nl_fail(err, NL_WRITE, "cannot write: %s; nothing was left behind",
                      strerror(failure));
        nl_out_abort(out);
        return false;
    }
    nl_free(out->path);
    nl_free(out->temporary);
    *out = (struct nl_out){0};
    return true;
}

void nl_out_abort(struct nl_out *out)
{
    if (out->stream)
        fclose(out->stream);
    if (out->temporary)
        unlink(out->temporary);
    nl_free(out->path);
    nl_free(out->temporary);
    *out = (struct nl_out){0};
}

bool nl_write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t done = write(fd, bytes, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        len -= (size_t)done;
    }
    return true;
}

bool nl_file_is_name(const char *name)
{
    return name && name[0] && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           !strchr(name, '/') && strlen(name) <= NAME_MAX;
}

/* A new name lasts when its folder was synced. What cannot be synced (some file
 * systems) is left to the system. */
static void sync_above(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *above = slash == path ? nl_strdup("/") : nl_strdup(slash ? path : ".");
    if (slash && slash != path)
        above[slash - path] = '\0';
    int fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    nl_free(above);
}

static bool make_folders(const char *path, bool lasting, struct nl_err *err)
{
    char *part = nl_strdup(path);
    bool done = true;
    for (char *at = part + 1; done; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char end = *at;
        *at = '\0';
        if (mkdir(part, 0700) == 0) {
            if (lasting)
                sync_above(part);
        } else if (errno != EEXIST) {
            nl_err_at(err, part, -1);
            done = nl_fail(err, NL_WRITE, "cannot make this folder: %s", strerror(errno));
        }
        *at = end;
        if (end == '\0')
            break;
    }
    nl_free(part);
    return done;
}

bool nl_make_folders(const char *path, struct nl_err *err)
{
    return make_folders(path, false, err);
}

bool nl_make_folders_lasting(const char *path, struct nl_err *err)
{
    return make_folders(path, true, err);
}

bool nl_fingerprint_file(struct nl_fingerprint *print, const char *path, struct nl_err *err)
{
    enum { PART = 1 << 20 };
    struct stat info;
    int fd = open_regular(path, &info, err);
    if (fd < 0)
        return false;
    char *bytes = nl_alloc(PART);
    uint64_t hash = 0;
    ssize_t got = pread(fd, bytes, PART, 0);
    if (got > 0)
        hash = nl_hash(bytes, (size_t)got);
    if (info.st_size > PART) {
        got = pread(fd, bytes, PART, info.st_size - PART);
        if (got > 0)
            hash = hash * 31 + nl_hash(bytes, (size_t)got);
    }
    nl_free(bytes);
    close(fd);
    print->size = (uint64_t)info.st_size;
    print->mtime_ns = (uint64_t)info.st_mtim.tv_sec * 1000000000u + (uint64_t)info.st_mtim.tv_nsec;
    print->hash = hash;
    return true;
}
