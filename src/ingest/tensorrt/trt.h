/*
 * trt — TensorRT: the JSON files of trtexec and of the engine explorer (trex) around it.
 *
 * trt.c recognises the kinds by their first keys and hands the open reader to the kind's function:
 *
 *     trt_times.c   --exportTimes: an inference per row, a timeline
 *     trt_layers.c  --exportProfile and --exportLayerInfo: rows of table nodes, without a timeline
 *     trt_facts.c   metadata of trex, --exportOutput: facts
 *
 * A kind's function finds the reader before the document's first token and returns false only for a
 * stop (cancel); damage is left in json->problem. It counts what it understood in load->rows.
 */
#ifndef TRT_H
#define TRT_H

#include "ingest/ingest.h"
#include "parse/jsonpull.h"

struct trt_load {
    struct nl_builder *builder;
    struct nl_stage *stage;
    uint32_t source;
    struct jsonpull *json;
    struct nl_job *job;
    uint64_t rows, damaged, damage_at; /* rows skipped, and the byte of the first */
    uint64_t empty;                    /* copies without length */
    struct nl_buf text, more;          /* scratch */
};

typedef void trt_read_fn(struct trt_load *load);
trt_read_fn trt_read_times, trt_read_profile, trt_read_layers, trt_read_output, trt_read_metadata,
    trt_read_device;

/* Appends the member whose key was just read, ,"key":value, when it is not too long. */
void trt_keep_member(struct trt_load *load, struct nl_buf *members);

/* A JSON text of what trt_keep_member kept, as a name; NL_NO_NAME when it is none. */
uint32_t trt_members_name(struct trt_load *load, const struct nl_buf *members);

/* Reads the first token of the list's next item, as jsonpull_item does; after damage reading goes
 * on at the next text `mark`, which begins an item as trtexec writes it. */
NL_MUST_CHECK bool trt_item(struct trt_load *load, const char *mark);

bool trt_stop(struct trt_load *load);

#endif
