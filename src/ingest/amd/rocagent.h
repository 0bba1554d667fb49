/*
 * rocagent — an agent (processor) as rocprofiler-sdk describes it in JSON: in the `agents` of a
 * result file, and in the extra data of a rocpd database.
 */
#ifndef ROCAGENT_H
#define ROCAGENT_H

#include "ingest/lib/gpurows.h"
#include "parse/jsonpull.h"

struct rocagent {
    int64_t handle, node, gpu_number; /* number among the agents of its type */
    int64_t type;                     /* 1 CPU, 2 GPU */
    int64_t units, wave, clock_mhz, waves_per_unit;
    uint64_t memory_bytes;
    uint32_t name, product; /* builder's */
};

/* Reads the object that the reader has just entered. */
void rocagent_read(struct jsonpull *reader, struct nl_builder *builder, struct rocagent *agent);

/* Makes the device `key` of a GPU; nothing for other agents. */
void rocagent_device(struct gpurows *rows, int64_t key, const struct rocagent *agent);

#endif
