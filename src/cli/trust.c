/* Whose folder is it, and was it trusted: lstat from the folder up to the
 * root, then the user's list. */
#define _GNU_SOURCE
#include "cli/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/folders.h"

#define MAX_LIST ((size_t)1 << 20)

/* ---- the list ---- */

/* "UID PATH", as it stands in a line. */
static char *trust_line(uid_t owner, const char *real)
{
    size_t room = strlen(real) + 16;
    char *line = nl_alloc(room);
    snprintf(line, room, "%u %s", (unsigned)owner, real);
    return line;
}

/* The list's text; empty when there is none, or when others may have written it. */
static bool read_list(struct nl_buf *text, struct nl_err *err)
{
    struct stat info;
    char *path = nl_trust_file(err);
    if (!path)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
        !(info.st_mode & (S_IWGRP | S_IWOTH))) {
        char part[4096];
        ssize_t got;
        while ((got = read(fd, part, sizeof part)) > 0)
            nl_buf_add(text, part, (size_t)got);
    }
    if (fd >= 0)
        close(fd);
    nl_free(path);
    return true;
}

/* Where a line stands in the list, or NULL. */
static char *find_line(const struct nl_buf *text, const char *line)
{
    size_t len = strlen(line);
    for (char *at = text->ptr; at && *at;) {
        char *end = strchrnul(at, '\n');
        if ((size_t)(end - at) == len && memcmp(at, line, len) == 0)
            return at;
        at = *end ? end + 1 : end;
    }
    return NULL;
}

static bool is_listed(uid_t owner, const char *folder)
{
    struct nl_buf text;
    struct nl_err ignored;
    nl_err_clear(&ignored);
    char *real = realpath(folder, NULL);
    if (!real)
        return false;
    char *line = trust_line(owner, real);
    nl_buf_init(&text, MAX_LIST);
    bool listed = read_list(&text, &ignored) && find_line(&text, line);
    nl_buf_release(&text);
    nl_free(line);
    nl_free(real);
    return listed;
}

static bool write_list(const struct nl_buf *text, struct nl_err *err)
{
    struct nl_out out;
    char *path = nl_trust_file(err);
    if (!path)
        return false;
    char *slash = strrchr(path, '/');
    *slash = '\0';
    bool done = nl_make_folders(path, err);
    *slash = '/';
    done = done && nl_out_open_private(&out, path, err);
    if (done) {
        fwrite(text->ptr, 1, text->len, out.stream);
        done = nl_out_commit(&out, err);
    }
    nl_free(path);
    return done;
}

bool nl_trust_list(struct nl_buf *out, struct nl_err *err)
{
    return read_list(out, err);
}

bool nl_trust_change(const char *folder, bool remove, char **real, bool *changed,
                     struct nl_err *err)
{
    struct nl_buf text;
    struct stat info;
    char *resolved = realpath(folder, NULL);
    *real = NULL;
    if (!resolved || stat(resolved, &info) != 0 || !S_ISDIR(info.st_mode)) {
        nl_err_at(err, folder, -1);
        nl_free(resolved);
        return nl_fail(err, NL_IO, "is not a folder; name a folder with a ledger (.neurolens)");
    }
    *real = nl_strdup(resolved);
    nl_free(resolved);
    if (strchr(*real, '\n')) {
        nl_err_at(err, *real, -1);
        return nl_fail(
            err, NL_USAGE,
            "a folder with a line break in its name cannot be added to the trusted ones");
    }
    char *line = trust_line(info.st_uid, *real);
    nl_buf_init(&text, MAX_LIST);
    bool done = read_list(&text, err);
    char *at = done ? find_line(&text, line) : NULL;
    *changed = done && (remove ? at != NULL : at == NULL);
    if (*changed && remove) {
        char *end = strchrnul(at, '\n');
        end += *end == '\n';
        memmove(at, end, (size_t)(text.ptr + text.len - end));
        text.len -= (size_t)(end - at);
    } else if (*changed) {
        nl_buf_format(&text, "%s\n", line);
    }
    done = done && (!*changed || write_list(&text, err));
    nl_buf_release(&text);
    nl_free(line);
    return done;
}

/* ---- the folders ---- */

/* A group that is the user's alone: it has their name, and no other members
 * (what useradd makes). */
static bool is_private_group(gid_t gid)
{
    const struct passwd *user = getpwuid(geteuid());
    if (!user || user->pw_gid != gid)
        return false;
    char *name = nl_strdup(user->pw_name);
    const struct group *group = getgrgid(gid);
    bool alone = group && strcmp(group->gr_name, name) == 0;
    for (char **member = alone ? group->gr_mem : NULL; member && *member; member++)
        alone = alone && strcmp(*member, name) == 0;
    nl_free(name);
    return alone;
}

static bool others_may_write(const struct stat *info)
{
    if (info->st_mode & S_IWOTH)
        return true;
    return (info->st_mode & S_IWGRP) && !is_private_group(info->st_gid);
}

static bool refuse_ledger(const char *folder, const char *where, const char *why,
                          struct nl_err *err)
{
    nl_err_at(err, folder, -1);
    return nl_fail(err, NL_ENVIRONMENT,
                   "this ledger is not used: %s%s%s; if you trust who can write there, run "
                   "`neurolens trust %s`, else name another with --ledger",
                   strcmp(folder, where) == 0 ? "it" : where, why[0] == '\'' ? " belongs to " : " ",
                   why, folder);
}

/* Refuses a folder of somebody else; those above the ledger may be root's, or sticky as /tmp is. */
static bool look_at(const char *folder, const char *where, struct nl_err *err)
{
    struct stat info;
    bool above = strcmp(folder, where) != 0;
    if (lstat(where, &info) != 0)
        return refuse_ledger(folder, where, "cannot be inspected", err);
    if (S_ISLNK(info.st_mode))
        return refuse_ledger(folder, where, "is a symbolic link", err);
    if (info.st_uid != geteuid() && !(above && info.st_uid == 0)) {
        const struct passwd *user = getpwuid(info.st_uid);
        char who[80];
        if (user)
            snprintf(who, sizeof who, "'%.64s'", user->pw_name);
        else
            snprintf(who, sizeof who, "'%u'", (unsigned)info.st_uid);
        return refuse_ledger(folder, where, who, err);
    }
    if (others_may_write(&info) && !(above && (info.st_mode & S_ISVTX)))
        return refuse_ledger(folder, where, "can be written by others", err);
    return true;
}

/* Whoever owns the root owns all of it: it is not asked. */
static bool check_path(const char *folder, struct nl_err *err)
{
    char *where = nl_strdup(folder);
    bool done = look_at(folder, where, err);
    for (char *slash = strrchr(where, '/'); done && slash && slash != where;
         slash = strrchr(where, '/')) {
        *slash = '\0';
        done = look_at(folder, where, err);
    }
    nl_free(where);
    return done;
}

bool nl_trust_folder(const char *folder, struct nl_err *err)
{
    struct stat info;
    struct nl_err why;
    nl_err_clear(&why);
    if (check_path(folder, &why))
        return true;
    if (stat(folder, &info) == 0 && is_listed(info.st_uid, folder))
        return true;
    if (err)
        *err = why;
    return false;
}
