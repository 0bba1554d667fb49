/*
 * pprofsamples — the samples of a profile in pprof's form.
 */
#ifndef PPROFSAMPLES_H
#define PPROFSAMPLES_H

#include "ingest/pprof/pproftables.h"

/* Rows of all samples. */
void pprof_read_samples(struct pprof *p);

#endif
