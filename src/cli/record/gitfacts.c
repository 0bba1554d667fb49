/* .git/HEAD → a reference → a commit, loose or packed; worktrees have a file in place of .git. */
#define _GNU_SOURCE
#include "cli/record/gitfacts.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#define LINE              4096
#define STATUS_TIMEOUT_MS 500 /* ms for git status */
#define COMMIT_HEX        "0123456789abcdef"

extern char **environ;

static bool read_line(const char *path, char text[LINE])
{
    FILE *file = fopen(path, "re");
    bool got = file && fgets(text, LINE, file);
    if (file)
        fclose(file);
    if (got)
        text[strcspn(text, "\r\n")] = '\0';
    return got;
}

static bool is_commit(const char *text)
{
    size_t len = strspn(text, COMMIT_HEX);
    return (len == 40 || len == 64) && text[len] == '\0';
}

/* The .git here or above, or the folder that a file of that name points to. */
static const char *find_git(struct nl_arena *arena)
{
    char here[LINE], line[LINE];
    struct stat info;
    if (!getcwd(here, sizeof here))
        return NULL;
    for (;;) {
        const char *path = nl_arena_format(arena, "%s/.git", strcmp(here, "/") ? here : "");
        if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
            return path;
        if (stat(path, &info) == 0 && read_line(path, line) && strncmp(line, "gitdir: ", 8) == 0)
            return line[8] == '/' ? nl_arena_text(arena, line + 8, strlen(line + 8))
                                  : nl_arena_format(arena, "%s/%s", here, line + 8);
        char *slash = strrchr(here, '/');
        if (!slash || !slash[1])
            return NULL;
        slash[slash == here] = '\0';
    }
}

/* "<commit> refs/heads/main" */
static void find_packed(const char *path, const char *reference, char commit[72])
{
    char line[LINE];
    FILE *file = fopen(path, "re");
    while (file && !commit[0] && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = '\0';
        char *space = strchr(line, ' ');
        if (!space || strcmp(space + 1, reference) != 0)
            continue;
        *space = '\0';
        if (is_commit(line))
            snprintf(commit, 72, "%.64s", line);
    }
    if (file)
        fclose(file);
}

/* References of a worktree are in the repository that it belongs to. */
static const char *common_folder(const char *git, struct nl_arena *arena)
{
    char line[LINE];
    if (!read_line(nl_arena_format(arena, "%s/commondir", git), line))
        return git;
    return line[0] == '/' ? nl_arena_text(arena, line, strlen(line))
                          : nl_arena_format(arena, "%s/%s", git, line);
}

static void read_head(const char *git, struct git_facts *facts, struct nl_arena *arena)
{
    char line[LINE], head[LINE];
    if (!read_line(nl_arena_format(arena, "%s/HEAD", git), head))
        return;
    if (is_commit(head))
        snprintf(facts->commit, sizeof facts->commit, "%.64s", head);
    if (strncmp(head, "ref: ", 5) != 0 || strstr(head, ".."))
        return;
    const char *common = common_folder(git, arena), *reference = head + 5;
    if (strncmp(reference, "refs/heads/", 11) == 0)
        snprintf(facts->branch, sizeof facts->branch, "%.250s", reference + 11);
    if (read_line(nl_arena_format(arena, "%s/%s", common, reference), line) && is_commit(line))
        snprintf(facts->commit, sizeof facts->commit, "%.64s", line);
    else
        find_packed(nl_arena_format(arena, "%s/packed-refs", common), reference, facts->commit);
}

/* Something printed: dirty; the end without anything: clean, if git says 0. */
static int ask_status(int from, pid_t child)
{
    char byte;
    int status;
    struct pollfd wait = {.fd = from, .events = POLLIN};
    bool told = poll(&wait, 1, STATUS_TIMEOUT_MS) > 0;
    ssize_t got = told ? read(from, &byte, 1) : -1;
    if (!told || got > 0)
        kill(child, SIGKILL);
    if (waitpid(child, &status, 0) != child)
        return -1;
    if (got > 0)
        return 1;
    return got == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int ask_dirty(void)
{
    static char *const words[] = {"git",
                                  "--no-optional-locks",
                                  "-c",
                                  "core.fsmonitor=false",
                                  "-c",
                                  "core.hooksPath=/dev/null",
                                  "status",
                                  "--porcelain",
                                  "--untracked-files=no",
                                  NULL};
    int pipes[2], dirty = -1;
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    bool started = posix_spawnp(&child, "git", &actions, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    if (started)
        dirty = ask_status(pipes[0], child);
    close(pipes[0]);
    return dirty;
}

void nl_git_facts(struct git_facts *facts)
{
    struct nl_arena arena;
    *facts = (struct git_facts){.dirty = -1};
    nl_arena_init(&arena);
    const char *git = find_git(&arena);
    if (git)
        read_head(git, facts, &arena);
    if (facts->commit[0])
        facts->dirty = ask_dirty();
    nl_arena_free(&arena);
}
