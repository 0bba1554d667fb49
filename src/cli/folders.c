/* Folders: environment first, then the tree upwards, then the user's own place. */
#define _GNU_SOURCE
#include "cli/folders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/trust.h"
#include "ledger/ledgerours.h"

#define CACHE_BYTES ((uint64_t)20 << 30)

static char *join_path(const char *folder, const char *name)
{
    size_t room = strlen(folder) + strlen(name) + 2;
    char *path = nl_alloc(room);
    snprintf(path, room, "%s/%s", folder, name);
    return path;
}

/* A set and not empty variable, or NULL. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool nl_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

char *nl_project_folder(void)
{
    char *here = getcwd(NULL, 0);
    char *found = NULL;
    while (here && !found) {
        char *path = join_path(strcmp(here, "/") == 0 ? "" : here, ".neurolens");
        if (nl_is_folder(path))
            found = path;
        else
            nl_free(path);
        char *slash = strrchr(here, '/');
        if (!slash || slash[1] == '\0')
            break;
        slash[slash == here] = '\0';
    }
    nl_free(here);
    return found;
}

/* $XDG/neurolens, or ~/fallback/neurolens. */
static char *user_folder(const char *xdg, const char *fallback)
{
    const char *base = variable(xdg);
    if (base && base[0] == '/')
        return join_path(base, "neurolens");
    const char *home = variable("HOME");
    if (!home)
        return NULL;
    char *folder = join_path(home, fallback);
    char *path = join_path(folder, "neurolens");
    nl_free(folder);
    return path;
}

char *nl_trust_file(struct nl_err *err)
{
    char *folder = user_folder("XDG_CONFIG_HOME", ".config");
    if (!folder) {
        (void)nl_fail(
            err, NL_ENVIRONMENT,
            "nowhere to put the list of trusted folders: neither HOME nor XDG_CONFIG_HOME "
            "is set");
        return NULL;
    }
    char *path = join_path(folder, "trusted");
    nl_free(folder);
    return path;
}

static char *user_ledger(struct nl_err *err)
{
    char *path = user_folder("XDG_DATA_HOME", ".local/share");
    if (!path)
        (void)nl_fail(err, NL_ENVIRONMENT,
                      "nowhere to put the ledger: neither HOME nor XDG_DATA_HOME is set; give a "
                      "folder with --ledger");
    return path;
}

char *nl_ledger_folder(const char *given, struct nl_err *err)
{
    if (!given)
        given = variable("NEUROLENS_LEDGER");
    if (given && strstr(given, "://")) {
        (void)nl_fail(err, NL_ENVIRONMENT,
                      "a ledger behind a URL is not supported yet; give a folder with --ledger");
        return NULL;
    }
    if (given)
        return nl_strdup(given);
    char *path = nl_project_folder();
    if (!path)
        return user_ledger(err);
    if (nl_trust_folder(path, err))
        return path;
    nl_free(path);
    return NULL;
}

/* A ledger that was found is left alone when it is not the user's or its cache leads elsewhere. */
static char *ledger_of_cache(const char *given, struct nl_err *err)
{
    struct nl_err why;
    nl_err_clear(&why);
    if (given || variable("NEUROLENS_LEDGER"))
        return nl_ledger_folder(given, err);
    char *path = nl_project_folder();
    if (path && nl_trust_folder(path, &why) && nl_ledger_files_ours(path, &why))
        return path;
    nl_free(path);
    return user_ledger(err);
}

char *nl_cache_folder(const char *given, struct nl_err *err)
{
    char *ledger = ledger_of_cache(given, err);
    if (!ledger)
        return NULL;
    char *path = join_path(ledger, "cache");
    nl_free(ledger);
    return path;
}

uint64_t nl_cache_bound(const char *folder)
{
    char *path = nl_strdup(folder);
    struct statvfs info;
    uint64_t bound = CACHE_BYTES;
    /* The folder may not exist yet: ask the nearest one above that does. */
    while (statvfs(path, &info) != 0) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) {
            nl_free(path);
            return bound;
        }
        *slash = '\0';
    }
    uint64_t tenth = (uint64_t)info.f_bavail * info.f_frsize / 10;
    nl_free(path);
    return tenth < bound ? tenth : bound;
}

char *nl_history_file(void)
{
    char *folder = user_folder("XDG_STATE_HOME", ".local/state");
    if (!folder)
        return NULL;
    struct nl_err err;
    nl_err_clear(&err);
    char *path = nl_make_folders(folder, &err) ? join_path(folder, "history") : NULL;
    nl_free(folder);
    return path;
}
