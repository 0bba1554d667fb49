/*
 * nsyspayload — what the structured payload of an NVTX range says.
 */
#ifndef NSYSPAYLOAD_H
#define NSYSPAYLOAD_H

#include "ingest/nsys/nsys.h"

/* nsyspayload.c: what a range's structured payload says. */
struct nsys_payload {
    uint32_t text;  /* JSON, a name of the worker's stage */
    uint64_t bytes; /* message size of a communication call; unknown if not given */
    int64_t peer;   /* its peer or root */
};

/* False when the cell holds no payload. */
bool nsys_payload_decode(struct nsys_worker *worker, dbfile_cells cell,
                         struct nsys_payload *payload);
/* Reads the schemas. */
void nsys_payload_load(struct nsys_load *load);

#endif
