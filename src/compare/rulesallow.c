/* What `allow` takes: facts that decide whether two sides can be compared. */
#include "compare/rules.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"

/* The facts of "Can they be compared?" (diffsure.c, diffworkload.c) that can stop a verdict;
 * tests/check.py holds those of real pairs against this list. */
static const char *const facts[] = {
    "all", NL_ALLOW_WORK, "backend version", "batch or length (input shapes)", "batch size",
    "calls", "calls in a step", "compared by", "CPU model", "CUDA runtime", "device model",
    "devices with work", "driver", "framework", "framework version", "GPU operations",
    "GPU operations in a step", "GPU operations of a device", "input shapes", "kernels", "model",
    "names of functions", "names of kernels", "names of layers", "names of modules",
    "names of operators", "names of ranges", "NCCL", "phase", "precision", "ranks",
    "sequence length", "steady steps",
    /* reported, but they never stop a verdict */
    "command", "commit", "devices without steps, left out", "element types of kernels", "format",
    "host", "Python"};

bool nl_rules_allow(struct nl_rules *rules, const char *fact, struct nl_err *err)
{
    struct nl_nearest nearest;
    nl_nearest_init(&nearest, fact);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (strcmp(facts[i], fact) != 0) {
            nl_nearest_offer(&nearest, facts[i]);
            continue;
        }
        if (rules->allow_count == NL_MAX_ALLOW)
            return nl_fail(err, NL_USAGE, "more than %d facts to allow", NL_MAX_ALLOW);
        rules->allow[rules->allow_count++] = facts[i];
        return true;
    }
    const char *best = nl_nearest_best(&nearest);
    return nl_fail(
        err, NL_USAGE,
        "no fact is called '%.60s'%s%s; expected one of \"Can they be compared?\", such as "
        "driver or batch size",
        fact, best ? "; did you mean " : "", best ? best : "");
}
