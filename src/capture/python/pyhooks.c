/*
 * Python programs in which the package's hooks did not run: a line of coverage with the reason and
 * the remedy. The hooks themselves work in the program; that they do is in the recording's head,
 * and what keeps them off, too.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "capture/recorder/programfile.h"
#include "capture/recorder/source.h"
#include "nlrec/recpython.h"
#include "capture/recorder/partvalues.h"

#define ITEM "not recorded: Python layers, operators and steps"

struct look {
    bool without; /* the process became an interpreter that did not load the recording library */
};

static bool start(struct source_run *run)
{
    return run->options && run->options->python_hooks; /* not asked for: nothing to report */
}

/* The program that the process is now, by its file. */
static bool is_python(int64_t pid)
{
    char path[PROGRAMFILE_PATH];
    return strncmp(programfile_of(pid, path), "python", 6) == 0;
}

static void poll_parts(struct source_run *run)
{
    size_t count;
    struct part *part = parts_first(run->parts, &count);
    for (; count; count--, part++) {
        struct look *look = part->private[run->place];
        if (part->pid == PART_FOREIGN || part->head->python)
            continue;
        if (!look)
            look = part->private[run->place] = nl_zalloc(sizeof *look);
        if (!look->without)
            look->without = is_python(part->pid);
    }
}

static const char *reason(uint32_t python)
{
    static const struct {
        uint32_t bit;
        const char *text;
    } reasons[] = {
        {NL_REC_PYTHON_ISOLATED,
         "python was started with -I, which keeps the hooks off: start it without -I"},
        {NL_REC_PYTHON_NO_ENV,
         "python was started with -E, which keeps the hooks off: start it without -E"},
        {NL_REC_PYTHON_NO_SITE,
         "python was started with -S, which keeps the hooks off: start it without -S"},
        {NL_REC_PYTHON_NO_PATH,
         "PYTHONPATH was replaced on the way to python, so that the hooks were not found: "
         "add to it, do not replace it"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (python & reasons[i].bit)
            return reasons[i].text;
    return "the hooks did not run: another sitecustomize is found before theirs, or python ended "
           "while it started";
}

/* Whether a later program in this process (after exec) loaded the library,
 * and reports for itself. */
static bool has_next(const struct source_run *run, const struct part *part)
{
    size_t count;
    const struct part *other = parts_first(run->parts, &count);
    for (; count; count--, other++)
        if (other != part && other->pid == part->pid && other->head->ticket > part->head->ticket)
            return true;
    return false;
}

static void leave(struct source_run *run, struct part *part)
{
    const struct look *look = part->private[run->place];
    uint32_t python = part->head->python;
    if ((python & NL_REC_PYTHON_HERE) &&
        !(python & (NL_REC_PYTHON_HOOKED | NL_REC_PYTHON_RUNS_NONE)) &&
        strncmp(part->head->program, "python", 6) == 0)
        part_note(run->parts, part, ITEM, 1, reason(python));
    else if (look && look->without && !has_next(run, part))
        part_note(
            run->parts, part, ITEM, 1,
            "python was started without the environment of the run (env -i, sudo, a container): "
            "pass LD_PRELOAD, NEUROLENS_RECORDING, NEUROLENS_PYTHON and PYTHONPATH on");
}

const struct nl_source nl_source_hooks = {.name = "Python hooks",
                                          .doc =
                                              "layers, operators, steps, tasks of Python programs",
                                          .period_ns = 100000000,
                                          .always = true,
                                          .start = start,
                                          .poll = poll_parts,
                                          .leave = leave};
