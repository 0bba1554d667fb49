/* init: make .neurolens/, which the other commands then find from here and below. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/folders.h"
#include "cli/message.h"
#include "cli/output.h"
#include "ledger/ledgershare.h"

struct init_options {
    bool shared;
};

static const struct init_options *init_own(const struct nl_call *call)
{
    return call->own;
}

static const struct nl_option init_options[] = {
    {"shared", 0, NL_OPTION_FLAG, NL_OWN(init_options, shared), NULL,
     "let the folder's group read it and add to it", NULL},
    NL_OPTIONS_END,
};

/* Keeps the ledger out of the project's own version control. */
static bool write_ignore(const char *folder, struct nl_err *err)
{
    struct nl_arena arena;
    struct nl_out out;
    nl_arena_init(&arena);
    bool done = nl_out_open(&out, nl_arena_format(&arena, "%s/.gitignore", folder), err);
    if (done) {
        fputs("*\n", out.stream);
        done = nl_out_commit(&out, err);
    }
    nl_arena_free(&arena);
    return done;
}

static bool make_ledger(const char *folder, bool *existed, struct nl_err *err)
{
    struct stat info;
    *existed = stat(folder, &info) == 0;
    if (*existed && S_ISDIR(info.st_mode))
        return true;
    if (*existed) {
        nl_err_at(err, folder, -1);
        return nl_fail(err, NL_WRITE, "exists and is not a folder; move it away");
    }
    return nl_make_folders_lasting(folder, err) && write_ignore(folder, err);
}

/* A ledger that is named elsewhere wins over the folder that was just made. */
static void warn_of_another(const struct nl_call *call, const char *folder)
{
    const char *named = getenv("NEUROLENS_LEDGER");
    char *made = realpath(folder, NULL), *meant = named ? realpath(named, NULL) : NULL;
    if (!call->settings.ledger && named && *named && !(made && meant && strcmp(made, meant) == 0))
        nl_message_note(call,
                        "$NEUROLENS_LEDGER is set to %s and wins over this ledger; unset it to use "
                        "this one",
                        named);
    nl_free(made); /* realpath's memory is malloc's, as ours */
    nl_free(meant);
}

/* The ledger to make: the one that --ledger names, else .neurolens of the
 * folder given or of this one. */
static const char *chosen(const struct nl_call *call, struct nl_arena *arena, struct nl_err *err)
{
    const char *named = call->settings.ledger;
    if (!named)
        return nl_arena_format(arena, "%s/.neurolens", call->count ? call->argument[0] : ".");
    if (call->count) {
        (void)nl_fail(err, NL_USAGE,
                      "--ledger names the ledger to make, and '%s' the folder to make one in; give "
                      "one of the two",
                      call->argument[0]);
        return NULL;
    }
    char *checked = nl_ledger_folder(named, err);
    const char *folder = checked ? nl_arena_format(arena, "%s", checked) : NULL;
    nl_free(checked);
    return folder;
}

static bool init_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_output output;
    struct nl_arena arena;
    bool existed;
    nl_arena_init(&arena);
    const char *folder = chosen(call, &arena, err);
    bool done = folder && make_ledger(folder, &existed, err) &&
                (!init_own(call)->shared || nl_ledger_share(folder, err)) &&
                nl_output_open(&output, call, NULL, 0, err);
    if (done) {
        fprintf(output.stream, "%s %s%s\n",
                existed ? "there is already a ledger in" : "made the ledger", folder,
                init_own(call)->shared ? ", shared with its group" : "");
        done = nl_output_close(&output, call, true, err);
        warn_of_another(call, folder);
    }
    nl_arena_free(&arena);
    return done;
}

const struct nl_command nl_command_init = {
    .name = "init",
    .group = "Ledger",
    .summary = "create a ledger folder",
    .usage = "[FOLDER]",
    .least = 0,
    .most = 1,
    NL_DEFAULTS(init_options, 0),
    .tables = NL_TABLES(init_options, nl_common_options),
    .help = "Creates .neurolens/ in FOLDER (default: the current one). Commands started there or "
            "in a\n"
            "folder below keep their runs and cached profiles in it. Only you can read it; with\n"
            "--shared, the group that owns FOLDER can read it and add runs.",
    .examples = "neurolens init\n"
                "neurolens init --shared /srv/perf    # after chgrp perfteam /srv/perf",
    .run = init_run,
};
