/*
 * runpython — the Python part of `neurolens run`: variables that make interpreters of the
 * program start with our hooks (docs/python.md). Nothing is imported or patched in
 * programs that are not Python.
 */
#ifndef NL_RUNPYTHON_H
#define NL_RUNPYTHON_H

#include "base/mem.h"
#include "capture/recorder/recorder.h"

enum nl_run_python {
    NL_RUN_PYTHON_ON,
    NL_RUN_PYTHON_SAMPLE,
    NL_RUN_PYTHON_TRACE,
    NL_RUN_PYTHON_TRACE_C,
    NL_RUN_PYTHON_OFF
};
extern const char *const nl_run_python_names[];

/* What is recorded on request only. */
struct nl_run_python_options {
    enum nl_run_python mode;
    bool shapes; /* of the inputs of operators */
    bool heap;   /* of Python: bytes in use and their peaks */
};

/* In the arena, ended by a NULL name; none with OFF, or where the package
 * was not built or installed. */
const struct nl_variable *nl_run_python_variables(struct nl_arena *arena,
                                                  const struct nl_run_python_options *options);

/* A file of the Python package that a wheel installed next to the program: `folder` is the
 * program's. In the arena; NULL when there is none. */
char *nl_run_find_in_wheel(struct nl_arena *arena, const char *folder, const char *name);

/* Nanoseconds between samples; 0 = none: switched off, or each call is recorded and no rate was
 * given. `rate` is a number a second, NL_NULL_I64 when not given. */
int64_t nl_run_python_period(enum nl_run_python mode, int64_t rate);

#endif
