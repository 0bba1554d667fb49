#include "cli/record/runpython.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/trace.h"

#define HOOK          "hook/sitecustomize.py"
#define WHEEL_PLACES  "/../{lib/python3*/{site,dist}-packages,.}/nlens/"
#define PYTHON_HZ     100 /* when no rate is given */
#define MAX_VARIABLES 5   /* and the end */

const char *const nl_run_python_names[] = {"on", "sample", "trace", "trace-c", "off", NULL};

char *nl_run_find_in_wheel(struct nl_arena *arena, const char *folder, const char *name)
{
    glob_t found;
    char *path = NULL, *pattern = nl_arena_format(arena, "%s" WHEEL_PLACES "%s", folder, name);
    if (glob(pattern, GLOB_BRACE, NULL, &found) == 0) {
        path = nl_arena_text(arena, found.gl_pathv[0], strlen(found.gl_pathv[0]));
        globfree(&found);
    }
    return path;
}

/* The folder of the hook: in the build tree, next to the installed program, in the package of a
 * wheel, where it was installed. */
static char *find_hook(struct nl_arena *arena)
{
    static const char *const places[] = {"/python/nlens/", "/../lib/neurolens/python/nlens/",
                                         "/../lib64/neurolens/python/nlens/"};
    char *own = realpath("/proc/self/exe", NULL), *found = NULL;
    char *slash = own ? strrchr(own, '/') : NULL;
    if (slash)
        *slash = '\0';
    for (size_t i = 0; slash && !found && i < sizeof places / sizeof places[0]; i++) {
        char *path = nl_arena_format(arena, "%s%s" HOOK, own, places[i]);
        if (access(path, R_OK) == 0)
            found = path;
    }
    if (slash && !found)
        found = nl_run_find_in_wheel(arena, own, HOOK);
    nl_free(own);
    if (!found) {
        found = nl_arena_format(arena, "%s/neurolens/python/nlens/" HOOK, NL_LIBRARY_FOLDER);
        if (access(found, R_OK) != 0)
            return NULL;
    }
    *strrchr(found, '/') = '\0';
    return strchr(found, ':') ? NULL : found; /* PYTHONPATH cannot name it */
}

const struct nl_variable *nl_run_python_variables(struct nl_arena *arena,
                                                  const struct nl_run_python_options *options)
{
    struct nl_variable *variables = nl_arena_alloc(arena, MAX_VARIABLES * sizeof *variables);
    const char *before = getenv("PYTHONPATH");
    bool hooks = options->mode != NL_RUN_PYTHON_SAMPLE && options->mode != NL_RUN_PYTHON_OFF;
    char *hook = hooks ? find_hook(arena) : NULL;
    size_t count = 0;
    memset(variables, 0, MAX_VARIABLES * sizeof *variables);
    if (!hook)
        return variables;
    if (before && *before)
        hook = nl_arena_format(arena, "%s:%s", hook, before);
    variables[count++] = (struct nl_variable){"PYTHONPATH", hook};
    variables[count++] =
        (struct nl_variable){"NEUROLENS_PYTHON", nl_run_python_names[options->mode]};
    if (options->shapes)
        variables[count++] = (struct nl_variable){"NEUROLENS_SHAPES", "1"};
    if (options->heap)
        variables[count++] = (struct nl_variable){"NEUROLENS_HEAP", "1"};
    return variables;
}

int64_t nl_run_python_period(enum nl_run_python mode, int64_t rate)
{
    bool wanted = mode == NL_RUN_PYTHON_ON || mode == NL_RUN_PYTHON_SAMPLE ||
                  (mode != NL_RUN_PYTHON_OFF && rate != NL_NULL_I64);
    if (!wanted || !rate)
        return 0;
    return 1000000000 / (rate != NL_NULL_I64 ? rate : PYTHON_HZ);
}
