/* Works on descriptors of folders only: renaming a folder meanwhile cannot lead it elsewhere. */
#define _GNU_SOURCE
#include "base/tempsweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OLD_SECONDS 86400
#define MAX_DEPTH   4

struct sweep {
    struct nl_tempsweep said;
    time_t before; /* what changed later stays */
    bool dry;
};

/* Is everything in it old, and nothing stranger than files and folders? Counts bytes.
 * The descriptor is taken. */
static bool is_old(struct sweep *sweep, int folder, int depth, uint64_t *bytes)
{
    DIR *dir = fdopendir(folder);
    bool old = dir && depth < MAX_DEPTH;
    if (!dir)
        close(folder);
    for (struct dirent *entry; old && (entry = readdir(dir));) {
        struct stat info;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        old = fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
              info.st_mtime < sweep->before && info.st_uid == geteuid();
        if (old && S_ISDIR(info.st_mode)) {
            int inner =
                openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            old = inner >= 0 && is_old(sweep, inner, depth + 1, bytes);
        } else if (S_ISREG(info.st_mode)) {
            *bytes += (uint64_t)info.st_size;
        }
    }
    if (dir)
        closedir(dir);
    return old;
}

static void empty(int folder)
{
    DIR *dir = fdopendir(folder);
    if (!dir)
        close(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), entry->d_name, 0) == 0)
            continue;
        int inner =
            openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0)
            empty(inner);
        (void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    }
    if (dir)
        closedir(dir);
}

/* "neurolens-" and six letters or digits, as mkdtemp makes them. */
static bool is_our_name(const char *name)
{
    static const char prefix[] = "neurolens-";
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const char *rest = name + sizeof prefix - 1;
    return strncmp(name, prefix, sizeof prefix - 1) == 0 && strlen(rest) == 6 &&
           strspn(rest, letters) == 6;
}

static int open_folder(int parent, const char *name, const struct stat *seen)
{
    struct stat info;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_dev == seen->st_dev &&
        info.st_ino == seen->st_ino)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* May it go? A file, or a folder in which all is old; counts bytes. */
static bool may_go(struct sweep *sweep, int parent, const char *name, const struct stat *info,
                   uint64_t *bytes)
{
    if (info->st_uid != geteuid() || (info->st_mode & 077) != 0 || info->st_mtime >= sweep->before)
        return false;
    if (S_ISREG(info->st_mode)) {
        *bytes = (uint64_t)info->st_size;
        return true;
    }
    int fd = S_ISDIR(info->st_mode) ? open_folder(parent, name, info) : -1;
    return fd >= 0 && is_old(sweep, fd, 0, bytes);
}

static void sweep_one(struct sweep *sweep, int parent, const char *name)
{
    struct stat info;
    uint64_t bytes = 0;
    if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !may_go(sweep, parent, name, &info, &bytes))
        return;
    bool folder = S_ISDIR(info.st_mode);
    int fd = folder && !sweep->dry ? open_folder(parent, name, &info) : -1;
    if (fd >= 0)
        empty(fd);
    if (sweep->dry || unlinkat(parent, name, folder ? AT_REMOVEDIR : 0) == 0) {
        sweep->said.removed++;
        sweep->said.removed_bytes += bytes;
    }
}

struct nl_tempsweep nl_tempsweep(bool dry)
{
    const char *place = getenv("TMPDIR");
    struct sweep sweep = {.before = time(NULL) - OLD_SECONDS, .dry = dry};
    DIR *dir = opendir(place && *place ? place : "/tmp");
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (is_our_name(entry->d_name))
            sweep_one(&sweep, dirfd(dir), entry->d_name);
    if (dir)
        closedir(dir);
    return sweep.said;
}
