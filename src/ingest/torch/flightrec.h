/*
 * flightrec — NCCL flight recorder dumps, from the bytes of a pickle or of the JSON variant (tests and
 * fuzzers use memory).
 */
#ifndef NL_FLIGHTREC_H
#define NL_FLIGHTREC_H

#include "ingest/ingest.h"
#include "ingest/torch/pickle.h"
#include "ingest/lib/wholefile.h"

NL_MUST_CHECK bool flightrec_load_bytes(const struct nl_reading *reading, const void *bytes,
                                        size_t len, struct nl_err *err);

#endif
