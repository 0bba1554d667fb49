/* The options of `neurolens run`. */
#include <stddef.h>

#include "cli/command.h"
#include "cli/record/runpython.h"

#define TARGET(member) offsetof(struct nl_settings, member)

static const char *const graph_names[] = {"nodes", "whole", NULL};
static const char *const stacks_names[] = {"dwarf", "fp", "off", NULL};
static const char *const native_names[] = {"on", "off", NULL};
static const char *const switches_names[] = {"auto", "on", "off", NULL};
static const char *const policy_names[] = {"spill", "wrap", "stop", NULL};

const struct nl_option nl_run_options[] = {
    {"policy", 0, NL_OPTION_CHOICE, TARGET(policy), "WORD",
     "when memory is full: spill to disk (default), wrap or stop", policy_names},
    {"buffer", 0, NL_OPTION_SIZE, TARGET(buffer_bytes), "SIZE",
     "memory for events, of all processes together (1GiB)", NULL},
    {"delay", 0, NL_OPTION_TIME, TARGET(delay_ns), "TIME", "begin recording after, say, 10s", NULL},
    {"duration", 0, NL_OPTION_TIME, TARGET(duration_ns), "TIME", "record for, say, 30s", NULL},
    {"steps", 0, NL_OPTION_TEXT, TARGET(steps), "N:M",
     "record steps N to M - 1, as the program marks them", NULL},
    {"trigger", 0, NL_OPTION_TEXT, TARGET(trigger), "NAME",
     "begin recording when a scope or mark of that name first appears", NULL},
    {"on-signal", 0, NL_OPTION_TEXT, TARGET(on_signal), "SIGNAL",
     "begin and end recording when neurolens gets, say, USR1", NULL},
    {"python", 0, NL_OPTION_CHOICE, TARGET(python), "MODE",
     "Python: stacks and layers (on), stacks alone (sample), each call (trace), C functions too "
     "(trace-c), off",
     nl_run_python_names},
    {"sample-rate", 0, NL_OPTION_NUMBER, TARGET(sample_rate), "HZ",
     "samples a second of each thread, Python and native (default 100 and 99; 0 none)", NULL},
    {"native", 0, NL_OPTION_CHOICE, TARGET(native), "WORD",
     "samples of machine code: on (default) or off", native_names},
    {"stacks", 0, NL_OPTION_CHOICE, TARGET(stacks), "WORD",
     "call stacks of samples: by dwarf tables (default), fp: frame pointers alone, or off",
     stacks_names},
    {"stack-size", 0, NL_OPTION_SIZE, TARGET(stack_bytes), "SIZE",
     "of a stack copied per sample for dwarf (8192; at most 65528); what is deeper is cut", NULL},
    {"switches", 0, NL_OPTION_CHOICE, TARGET(switches), "WORD",
     "when threads wait for what: on, off, or while it costs next to nothing (auto, default)",
     switches_names},
    {"shapes", 0, NL_OPTION_FLAG, TARGET(shapes), NULL,
     "the shapes of the inputs of PyTorch's operators", NULL},
    {"python-heap", 0, NL_OPTION_FLAG, TARGET(python_heap), NULL,
     "memory of Python objects: bytes in use, and the peak of each step and layer", NULL},
    {"pid", 0, NL_OPTION_NUMBER, TARGET(pid), "PID",
     "sample this Python process, which runs already, in place of a PROGRAM", NULL},
    {"paused", 0, NL_OPTION_FLAG, TARGET(paused), NULL,
     "record nothing until the program calls nl_record(1)", NULL},
    {"graphs", 0, NL_OPTION_CHOICE, TARGET(graphs), "WORD",
     "CUDA graphs: their kernels as nodes (default), or whole, which costs less", graph_names},
    {"unified-memory", 0, NL_OPTION_FLAG, TARGET(unified_memory), NULL,
     "also pages that move between CPU and GPU, and page faults; costs time at each", NULL},
    {.name = NULL},
};
