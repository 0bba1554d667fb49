/*
 * The format row of .nsys-rep (and .qdrep) reports. Their content is NVIDIA's own and changes with
 * every release; the program that wrote it turns it into SQLite, which is what we read.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ingest/nsys/nsys.h"
#include "ingest/lib/dbspool.h"

extern char **environ;

/* Every report seen, from 2021 to 2026, begins with the product's first name. */
static const char magic[] = "NVIDIA Tegra Profiler Report";

static int nsysrep_sniff(const struct nl_input *input, const char **why)
{
    (void)why;
    size_t len = sizeof magic - 1;
    return input->head_len >= len && memcmp(input->head, magic, len) == 0 ? 100 : 0;
}

/* Runs `nsys export` and waits. False with errno set when it could not be started; *status is what
 * it ended with. Its own output goes nowhere: what is wrong is reported by us. */
static bool run_export(const char *report, const char *out, int *status)
{
    char *arguments[] = {"nsys",
                         "export",
                         "--type",
                         "sqlite",
                         "--force-overwrite",
                         "true",
                         "--output",
                         (char *)(uintptr_t)out,
                         (char *)(uintptr_t)report,
                         NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child;
    int failure = posix_spawnp(&child, "nsys", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) {
        errno = failure;
        return false;
    }
    while (waitpid(child, status, 0) < 0)
        if (errno != EINTR)
            return false;
    return true;
}

/* The path as it can be pasted into a shell. */
static void quoted(struct nl_buf *buf, const char *path)
{
    nl_buf_char(buf, '\'');
    for (; *path; path++) {
        if (*path == '\'')
            nl_buf_text(buf, "'\\''");
        else
            nl_buf_char(buf, *path);
    }
    nl_buf_char(buf, '\'');
}

static bool no_export(const struct nl_input *input, const char *why, struct nl_err *err)
{
    struct nl_buf name;
    nl_buf_init(&name, 300);
    if (strpbrk(input->place, " '\"\\$&;()*?<>|`!#"))
        quoted(&name, input->place);
    else
        nl_buf_text(&name, input->place);
    nl_err_at(err, input->place, -1);
    (void)nl_fail(
        err, NL_ENVIRONMENT,
        "%s; make the file that can be read with: nsys export --type sqlite -o out.sqlite "
        "%s",
        why, name.overflow ? "FILE.nsys-rep" : name.ptr);
    nl_buf_release(&name);
    return false;
}

/* A program run by posix_spawnp may take a path that begins with - for an option. */
static char *safe_path(const char *path)
{
    size_t room = strlen(path) + 3;
    char *safe = nl_alloc(room);
    strcpy(safe, path[0] == '-' ? "./" : "");
    strcat(safe, path);
    return safe;
}

static bool nsysrep_load(struct nl_reading *reading, struct nl_err *err)
{
    char *folder;
    int status = 0;
    if (strcmp(reading->input->path, "-") == 0 ||
        (reading->input->encoding && strcmp(reading->input->encoding, "plain") != 0))
        return no_export(reading->input, "a .nsys-rep report must be a plain file", err);
    if (!dbspool_folder(&folder, err))
        return false;
    struct nl_buf out;
    nl_buf_init(&out, 8192);
    nl_buf_format(&out, "%s/export.sqlite", folder);
    char *report = safe_path(reading->input->path);
    nl_job_phase(reading->job, "converting with nsys export", 0);
    bool done = run_export(report, out.ptr, &status);
    if (!done)
        done = no_export(reading->input,
                         errno == ENOENT ? "a .nsys-rep report needs the program nsys, "
                                           "which is not on the PATH"
                                         : "the program nsys cannot be started",
                         err);
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || access(out.ptr, R_OK) != 0)
        done = no_export(reading->input, "nsys export failed", err);
    else
        done = nsys_load_copy(reading, out.ptr, err);
    nl_free(report);
    nl_buf_release(&out);
    dbspool_remove(folder);
    return done;
}

const struct nl_format nl_format_nsysrep = {.name = "nsys-rep",
                                            .title = "Nsight Systems report (through nsys export)",
                                            .sniff = nsysrep_sniff,
                                            .load = nsysrep_load,
                                            .reach = NL_REACH_PROGRAMS,
                                            .doc = "formats/nsys.md"};
