/* trust: say once that a ledger which belongs to others may be used. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "cli/folders.h"
#include "cli/output.h"
#include "cli/trust.h"

struct trust_options {
    bool list, remove;
};

static const struct trust_options *trust_own(const struct nl_call *call)
{
    return call->own;
}

/* FOLDER/.neurolens when there is one, else FOLDER; without a word the one
 * that is found from here. */
static char *wanted(const struct nl_call *call, struct nl_err *err)
{
    struct stat info;
    if (!call->count) {
        char *found = nl_project_folder();
        if (!found)
            (void)nl_fail(err, NL_USAGE,
                          "no .neurolens in this folder or above; name a folder to trust");
        return found;
    }
    size_t room = strlen(call->argument[0]) + 16;
    char *path = nl_alloc(room);
    snprintf(path, room, "%s/.neurolens", call->argument[0]);
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        snprintf(path, room, "%s", call->argument[0]);
    return path;
}

static bool print_answer(const struct nl_call *call, const char *format, const char *text,
                         struct nl_err *err)
{
    struct nl_output output;
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    fprintf(output.stream, "%s%s", format, text);
    return nl_output_close(&output, call, true, err);
}

static bool trust_run(struct nl_call *call, struct nl_err *err)
{
    char *folder = NULL, *real = NULL;
    bool changed, done;
    struct nl_buf text;
    nl_buf_init(&text, (size_t)2 << 20);
    if (trust_own(call)->list) {
        done = nl_trust_list(&text, err) && print_answer(call, "", text.ptr ? text.ptr : "", err);
    } else {
        bool remove = trust_own(call)->remove;
        done =
            (folder = wanted(call, err)) && nl_trust_change(folder, remove, &real, &changed, err);
        if (done) {
            nl_buf_format(&text, "%s\n", real);
            done = print_answer(call,
                                remove ? (changed ? "no longer trusted: " : "was not trusted: ")
                                       : (changed ? "trusted from now on: " : "already trusted: "),
                                text.ptr, err);
        }
    }
    nl_buf_release(&text);
    nl_free(folder);
    nl_free(real);
    return done;
}

static const struct nl_option trust_options[] = {
    {"list", 0, NL_OPTION_FLAG, NL_OWN(trust_options, list), NULL, "list the trusted folders",
     NULL},
    {"remove", 0, NL_OPTION_FLAG, NL_OWN(trust_options, remove), NULL, "stop trusting it", NULL},
    NL_OPTIONS_END,
};

const struct nl_command nl_command_trust = {
    .name = "trust",
    .group = "Ledger",
    .summary = "trust a ledger that someone else owns",
    .usage = "[FOLDER]",
    .least = 0,
    .most = 1,
    NL_DEFAULTS(trust_options, 0),
    .tables = NL_TABLES(trust_options, nl_common_options),
    .help =
        "A .neurolens/ found in this folder or above it is used only if you (or root) own it and\n"
        "every folder above it, and nobody else can write to them. To use another one, trust its\n"
        "FOLDER once (default: the one found from here). A ledger named by --ledger or\n"
        "$NEUROLENS_LEDGER needs no trust. The list is in ~/.config/neurolens/trusted.",
    .examples = "neurolens trust /shared/project\n"
                "neurolens trust --list\n"
                "neurolens trust --remove /shared/project",
    .run = trust_run,
};
