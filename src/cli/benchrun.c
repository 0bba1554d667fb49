/* See benchrun.h. */
#define _GNU_SOURCE
#include "cli/benchrun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/child.h"

/* A program to become, and where. */
struct start {
    const char *place; /* NULL = here */
    const char *const *words;
};

static bool become(void *context, struct nl_err *err)
{
    const struct start *start = context;
    if (start->place && chdir(start->place) != 0)
        return nl_fail(err, NL_ENVIRONMENT, "%s: %s", start->place, strerror(errno));
    execvp(start->words[0], (char *const *)start->words);
    return nl_fail(err, NL_ENVIRONMENT, "%s: %s", start->words[0], strerror(errno));
}

static bool do_words(const char *what, const char *place, const char *const *words, const char *log,
                     struct nl_job *job, struct nl_err *err)
{
    struct start start = {place, words};
    struct nl_child child = {
        .work = become, .context = &start, .program = true, .what = what, .log = log};
    return nl_child_run(&child, job, err);
}

static const char *log_of(struct nl_bench *bench, size_t side)
{
    return nl_arena_format(&bench->arena, "%s/%c.log", bench->folder, 'A' + (char)side);
}

/* ---- checkouts ---- */

static bool check_out(struct nl_bench *bench, size_t i, const struct nl_call *call,
                      struct nl_err *err)
{
    struct nl_bench_side *side = &bench->side[i];
    const char *log = log_of(bench, i);
    char *place = nl_arena_format(&bench->arena, "%s/%c.checkout", bench->folder, 'A' + (char)i);
    const char *add[] = {"git",     "worktree", "add",        "--detach",
                         "--quiet", place,      side->commit, NULL};
    const char *build[] = {"sh", "-c", nl_bench_own(call)->build, NULL};
    if (!do_words(nl_arena_format(&bench->arena, "git worktree add %s", side->commit), NULL, add,
                  log, call->job, err))
        return false;
    side->place = place;
    return !nl_bench_own(call)->build ||
           do_words(nl_arena_format(&bench->arena, "--build at %s", side->commit), place, build,
                    log, call->job, err);
}

bool nl_bench_prepare(struct nl_bench *bench, const struct nl_call *call, struct nl_err *err)
{
    char *whole = realpath(bench->folder, NULL); /* commands run elsewhere */
    if (!whole) {
        nl_err_at(err, bench->folder, -1);
        return nl_fail(err, NL_WRITE, "%s", strerror(errno));
    }
    bool commits = bench->side[0].commit != NULL;
    if (commits)
        bench->folder = nl_arena_text(&bench->arena, whole, strlen(whole));
    nl_free(whole);
    nl_job_phase(call->job, "building", 0);
    for (size_t i = 0; i < bench->sides; i++)
        if (bench->side[i].commit && !check_out(bench, i, call, err))
            return false;
    return true;
}

void nl_bench_clear(struct nl_bench *bench)
{
    for (size_t i = 0; i < bench->sides; i++) {
        const char *place = bench->side[i].place;
        struct nl_err ignored = {0};
        const char *words[] = {"git", "worktree", "remove", "--force", place, NULL};
        if (place)
            (void)!do_words("git worktree remove", NULL, words, NULL, NULL, &ignored);
    }
}

/* ---- captures ---- */

bool nl_bench_capture(struct nl_bench *bench, size_t i, size_t number, const struct nl_call *call,
                      struct nl_err *err)
{
    static const char *const recording[] = {"run", "--quiet", "-o"};
    struct nl_bench_side *side = &bench->side[i];
    char *self = realpath("/proc/self/exe", NULL);
    char *path =
        nl_arena_format(&bench->arena, "%s/%c%zu.nlt", bench->folder, 'A' + (char)i, number);
    const char **words = nl_arena_alloc(&bench->arena, ((size_t)side->count + 8) * sizeof *words);
    size_t count = 0;
    words[count++] = self ? self : "neurolens";
    for (size_t k = 0; k < sizeof recording / sizeof recording[0]; k++)
        words[count++] = recording[k];
    words[count++] = path;
    words[count++] = "--";
    for (int k = 0; k < side->count; k++)
        words[count++] = side->words[k];
    words[count] = NULL;
    const char *what = nl_arena_format(&bench->arena, "capture %zu of %c (%s; its output is in %s)",
                                       number, 'A' + (char)i, side->words[0], log_of(bench, i));
    bool done = do_words(what, side->place, words, log_of(bench, i), call->job, err);
    nl_free(self);
    if (done && access(path, R_OK) != 0)
        done =
            nl_fail(err, NL_ENVIRONMENT, "%s: nothing was recorded; `neurolens run -- %s` says why",
                    what, side->words[0]);
    if (!done)
        return false;
    side->all = side->all ? nl_arena_format(&bench->arena, "%s,%s", side->all, path) : path;
    if (call->job)
        atomic_fetch_add(&call->job->done, 1);
    return true;
}
