/*
 * modelruns — what runs of a compiled model on the CPU consist of: operators at their usual
 * pace, single calls that took far longer than the same operator takes otherwise, and time
 * in which no operator ran.
 *
 * Runs are marked steps (ONNX Runtime's model_run), operators are the outermost slices of nodes.
 * Totals per operator mislead where a thread was stopped: the stall lands in whichever operator was
 * running. So each call is compared with the median of its own operator with the same shapes. What
 * follows leaves out runs of which no operator was recorded.
 */
#ifndef NL_MODELRUNS_H
#define NL_MODELRUNS_H

#include "store/trace.h"

/* A name and what its calls take, each at its median at most where it stalled. */
struct nl_model_sum {
    uint32_t name;
    int64_t usual_ns;
    uint64_t calls;
};

struct nl_model_runs {
    uint64_t runs, bare_runs;          /* in which operators were recorded, and none were */
    int64_t run_ns, median_ns;         /* of all runs; of the median one */
    int64_t between_ns;                /* from the end of a run to the start of the next */
    int64_t operator_ns;               /* sum over calls that begin in runs */
    int64_t none_ns;                   /* in runs while no operator ran: */
    int64_t lead_ns, inner_ns, end_ns; /* before the first, between, after the last operator */
    int64_t stall_ns;                  /* by which slow calls exceed their median */
    uint64_t stalls, stalled_names, stalled_runs;
    bool first_stalled, no_stalls; /* the first run has stalls; they are too small to judge */
    uint64_t slow_runs;            /* with too many slow calls to be stalls of single ones */
    int64_t slow_ns;               /* of stall_ns, in these runs */
    bool changing;                 /* an operator stalls in at most half of stalled_runs */
    bool same_shapes;              /* shapes were recorded: slow calls had those of their median */
    int64_t worst_ns, worst_median_ns; /* the longest slow call */
    uint32_t worst;
    struct nl_model_sum *names, *types; /* most usual_ns first */
    size_t name_count, type_count;
};

/* False when no runs were marked or no node has times in them; nothing to release then. */
bool nl_model_runs_init(struct nl_model_runs *it, const struct nl_trace *trace);
void nl_model_runs_release(struct nl_model_runs *it);

#endif
