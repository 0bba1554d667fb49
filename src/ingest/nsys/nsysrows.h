/*
 * nsysrows — the handlers of event tables, for the table of tables in nsystables.c. nsys.h says
 * what each gets; each says in its .c file which tables it is made for.
 */
#ifndef NSYSROWS_H
#define NSYSROWS_H

#include "ingest/nsys/nsys.h"

/* nsysgpu.c: what devices did. */
extern const struct nsys_handler nsys_kernels, nsys_memcpys, nsys_memsets, nsys_syncs,
    nsys_cuda_events, nsys_graph_traces, nsys_gpu_faults;

/* nsyshost.c: what threads did. */
extern const struct nsys_handler nsys_api_calls, nsys_host_calls, nsys_overheads, nsys_graph_events,
    nsys_mpi_calls, nsys_marks;

/* nsyscontexts.c: which context had a GPU. */
extern const struct nsys_handler nsys_context_switches;

/* nsysnvtx.c */
extern const struct nsys_handler nsys_nvtx_ranges;

/* nsysseries.c: values over time; nsyscpu.c: scheduling and samples. */
extern const struct nsys_handler nsys_gpu_metrics, nsys_nic_metrics, nsys_memory_events,
    nsys_sched_events, nsys_samples;

#endif
