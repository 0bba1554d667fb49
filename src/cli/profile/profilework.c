/* The same work around every backend of `profile`. */
#define _GNU_SOURCE
#include "cli/profile/profilework.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/folders.h"
#include "cli/hostfacts.h"

bool nl_profile_check_model(struct nl_profile_work *work, struct nl_err *err)
{
    static const char *const endings[] = {".onnx", ".engine", ".plan", ".pt2",
                                          ".pt",   ".pth",    ".py"};
    struct nl_map map;
    const char *slash = strrchr(work->model, '/');
    const char *name = slash ? slash + 1 : work->model;
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t end = strlen(endings[i]);
        if (len > end && strcmp(name + len - end, endings[i]) == 0) {
            len -= end;
            break;
        }
    }
    work->name = nl_arena_text(&work->arena, name, len);
    if (!nl_map_open(&map, work->model, err))
        return false;
    bool empty = !map.size;
    nl_map_close(&map);
    nl_err_at(err, work->model, -1);
    return !empty || nl_fail(err, NL_FORMAT, "the file is empty");
}

/* ---- the temporary folder ---- */

bool nl_profile_folder(struct nl_profile_work *work, struct nl_err *err)
{
    const char *root = getenv("TMPDIR");
    char *path =
        nl_arena_format(&work->arena, "%s/neurolens-XXXXXX", root && *root ? root : "/tmp");
    if (!mkdtemp(path)) {
        nl_err_at(err, path, -1);
        return nl_fail(err, NL_WRITE, "cannot create a temporary folder: %s", strerror(errno));
    }
    work->folder = path;
    return true;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

void nl_profile_end(struct nl_profile_work *work)
{
    if (work->folder)
        (void)nftw(work->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    nl_arena_free(&work->arena);
}

/* ---- the ledger ---- */

static bool add_to(struct nl_profile_work *work, const char *folder, const char *profile,
                   const struct nl_rundoc_setting *own, size_t own_count, struct nl_err *err)
{
    const struct nl_profile_options *asked = nl_profile_own(work->call);
    struct nl_rundoc_setting *facts = nl_arena_alloc(
        &work->arena, (NL_HOST_FACTS + own_count + asked->set.count) * sizeof *facts);
    size_t count = nl_host_facts(facts, &work->arena);
    for (size_t i = 0; i < own_count; i++)
        facts[count++] = own[i];
    for (size_t i = 0; i < asked->set.count; i++)
        facts[count++] = work->said[i];
    struct nl_add_options options = {.settings = facts,
                                     .setting_count = count,
                                     .keep_source = asked->keep_source,
                                     .rank = NL_NULL_I64,
                                     .command = work->call->line};
    if (!nl_ledger_add(folder, &profile, 1, &options, &work->added, work->call->job, err))
        return false;
    if (work->added.outcome != NL_ADD_FAILED)
        return true;
    *err = work->added.err;
    return false;
}

bool nl_profile_keep(struct nl_profile_work *work, const char *profile,
                     const struct nl_rundoc_setting *facts, size_t count, struct nl_err *err)
{
    if (nl_profile_own(work->call)->no_add)
        return true;
    char *folder = nl_ledger_folder(work->call->settings.ledger, err);
    bool done = folder && add_to(work, folder, profile, facts, count, err);
    nl_free(folder);
    return done;
}
