/*
 * io_waits — the main thread reads and writes while nothing else gets done.
 *
 * Signal: rows of the account of a process without device work whose function reads, writes, sends
 * or receives, by its name (cpunames), over 10 % of wall. A function of Python with such a name
 * counts only where functions in C are not shown.
 */
#include "findings/bookcause.h"
#include "findings/cpunames.h"

#define WARN_SHARE     0.10
#define CRITICAL_SHARE 0.40

static bool is_wanted(const struct nl_scene *scene, const struct nl_account_row *row)
{
    return nl_is_file_io(scene->trace, nl_account_name(scene->account, row->name));
}

static enum nl_verdict io_waits_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    static const struct nl_booked_calls calls = {
        .wanted = is_wanted,
        .warn_share = WARN_SHARE,
        .critical_share = CRITICAL_SHARE,
        .threshold = "> 10 % of wall",
        .metric = "io_wait_ns",
        .longest = "longest_io_wait_ns",
        .before = "Reading and writing takes",
        .after = "of the main thread",
        .says = "calls that read, write, send or receive",
    };
    return nl_judge_calls(scene, finding, &calls);
}

const struct nl_cause nl_cause_io_waits = {
    .id = "io_waits",
    .on = NL_ON_CPU,
    .doc = "CPU-only: the main thread is inside calls that read, write, send, receive or flush for "
           "more than 10 % of wall. The last word of a name decides (read, write, fsync, recv, "
           "print and the like); the program's own functions of such a name count only where the "
           "profile does not list built-in functions separately.",
    .evaluate = io_waits_evaluate,
    .not_this_if = "the data comes from memory (a cache, a pipe that is always full) and the time "
                   "is spent copying, or parsing takes longer",
};
