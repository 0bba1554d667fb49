/*
 * torchrun — a model under PyTorch: which Python, its command line, and what our driver in it
 * reported.
 *
 * The driver (torchdriver.py, embedded) is written into a folder and run by the user's own Python,
 * where PyTorch lives. It times the model without PyTorch's profiler and with it, in turns as
 * ortrun does, and leaves files there: `facts`, `runs`, trace.json, or `error` with an exit status
 * of ours. While it runs, torch_shared (a mapped file) says what it is doing. What the model prints
 * goes wherever the command's output goes; nothing of it is read.
 */
#ifndef TORCHRUN_H
#define TORCHRUN_H

#include "backend/ortrun.h"

struct torch_plan {
    const char *python, *model, *folder;
    const char *const *inputs, *const *dims; /* as given, and checked with ort_words_read */
    size_t input_count, dim_count;
    const char *device; /* NULL = the model's own */
    int64_t threads;    /* 0 = as PyTorch chooses */
    int64_t warm_up, max_runs, profiled_runs, max_ns;
};

/* The beginning of the file `stage`: what the driver writes while it runs. */
struct torch_shared {
    char doing[96];
    char unused[32];
    _Atomic uint32_t runs;
};

/* Final results reported by the driver; missing texts are "". */
struct torch_facts {
    const char *version, *python, *kind, *inputs, *device, *profiler;
    const char *mode; /* "evaluation", "training", "as it was exported", "the script's own" */
    bool in_turns;    /* profiled runs alternated with the others */
};

/* `given`, else of the active virtual environment, else python3 or python on PATH.
 * NL_ENVIRONMENT when there is none. */
NL_MUST_CHECK const char *torch_find_python(const char *given, struct nl_arena *arena,
                                            struct nl_err *err);

/* Writes the driver and an empty `stage` into the folder, and maps the latter; torch_unmap it. */
struct torch_shared *torch_prepare(const struct torch_plan *plan, struct nl_arena *arena,
                                   struct nl_err *err);
void torch_unmap(struct torch_shared *shared);

/* The command line, NULL-terminated. */
char **torch_command(const struct torch_plan *plan, struct nl_arena *arena);

/* The driver's own error as err; false, with err untouched, when it left none. */
NL_MUST_CHECK bool torch_told_error(const struct torch_plan *plan, struct nl_arena *arena,
                                    struct nl_err *err);

/* Reads what was measured: version, inputs, batch, load, stop and runs of
 * the outcome, and the facts. */
NL_MUST_CHECK bool torch_read(const struct torch_plan *plan, struct ort_outcome *outcome,
                              struct torch_facts *facts, struct nl_arena *arena,
                              struct nl_err *err);

#endif
