/* The options of `neurolens run`. */

#include "cli/record/runoptions.h"

#include "cli/command.h"
#include "cli/record/runpython.h"

static const char *const graph_names[] = {"nodes", "whole", NULL};
static const char *const stacks_names[] = {"dwarf", "fp", "off", NULL};
static const char *const native_names[] = {"on", "off", NULL};
static const char *const switches_names[] = {"auto", "on", "off", NULL};
static const char *const policy_names[] = {"spill", "wrap", "stop", NULL};

const struct nl_option nl_run_options[] = {
    {"policy", 0, NL_OPTION_CHOICE, NL_OWN(nl_run_options, policy), "WORD",
     "when the buffer of events is full: spill to disk (default), wrap or stop", policy_names},
    {"buffer", 0, NL_OPTION_SIZE, NL_OWN(nl_run_options, buffer_bytes), "SIZE",
     "size of the event buffer shared by all processes (default 1GiB)", NULL},
    {"delay", 0, NL_OPTION_TIME, NL_OWN(nl_run_options, delay_ns), "TIME",
     "start recording after this time, such as 10s", NULL},
    {"duration", 0, NL_OPTION_TIME, NL_OWN(nl_run_options, duration_ns), "TIME",
     "stop recording after this time, such as 30s", NULL},
    {"steps", 0, NL_OPTION_TEXT, NL_OWN(nl_run_options, steps), "N:M",
     "record only steps N to M - 1, as marked by the program", NULL},
    {"trigger", 0, NL_OPTION_TEXT, NL_OWN(nl_run_options, trigger), "NAME",
     "start recording at the first scope or mark with this name", NULL},
    {"on-signal", 0, NL_OPTION_TEXT, NL_OWN(nl_run_options, on_signal), "SIGNAL",
     "start and stop recording on this signal, such as USR1", NULL},
    {"python", 0, NL_OPTION_CHOICE, NL_OWN(nl_run_options, python), "MODE",
     "Python: stacks and layers (on), stacks only (sample), every call (trace), C functions too "
     "(trace-c), off",
     nl_run_python_names},
    {"sample-rate", 0, NL_OPTION_NUMBER, NL_OWN(nl_run_options, sample_rate), "HZ",
     "samples per second and thread (default: Python 100, native 99; 0 is off)", NULL},
    {"native", 0, NL_OPTION_CHOICE, NL_OWN(nl_run_options, native), "WORD",
     "native (machine code) samples: on (default) or off", native_names},
    {"stacks", 0, NL_OPTION_CHOICE, NL_OWN(nl_run_options, stacks), "WORD",
     "call stacks of samples: dwarf (default), fp (frame pointers) or off", stacks_names},
    {"stack-size", 0, NL_OPTION_SIZE, NL_OWN(nl_run_options, stack_bytes), "SIZE",
     "stack bytes copied per sample with dwarf (default 8192, at most 65528)", NULL},
    {"switches", 0, NL_OPTION_CHOICE, NL_OWN(nl_run_options, switches), "WORD",
     "context switches (waits): on, off, or auto: while the overhead is negligible (default)",
     switches_names},
    {"shapes", 0, NL_OPTION_FLAG, NL_OWN(nl_run_options, shapes), NULL,
     "record input shapes of PyTorch operators", NULL},
    {"python-heap", 0, NL_OPTION_FLAG, NL_OWN(nl_run_options, python_heap), NULL,
     "record the Python heap: bytes in use, peak per step and layer", NULL},
    {"pid", 0, NL_OPTION_NUMBER, NL_OWN(nl_run_options, pid), "PID",
     "sample this running Python process instead of starting a PROGRAM", NULL},
    {"paused", 0, NL_OPTION_FLAG, NL_OWN(nl_run_options, paused), NULL,
     "record nothing until the program calls nl_record(1)", NULL},
    {"graphs", 0, NL_OPTION_CHOICE, NL_OWN(nl_run_options, graphs), "WORD",
     "CUDA graphs: record each kernel (nodes, default), or each launch as one interval (whole), "
     "which costs less",
     graph_names},
    {"unified-memory", 0, NL_OPTION_FLAG, NL_OWN(nl_run_options, unified_memory), NULL,
     "also record page migrations between CPU and GPU, and page faults; adds overhead", NULL},
    NL_OPTIONS_END,
};
