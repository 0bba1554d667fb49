/*
 * torchet — execution traces of PyTorch and Chakra: a graph of operators without times.
 *
 * The format's load takes a whole file: JSON of PyTorch ("nodes") or of Chakra's converters
 * ("workload_graph"), Chakra's protobuf stream (.et), or a tar archive with such files. Every node
 * becomes a row of table nodes through torchet_keep.
 */
#ifndef NL_TORCHET_H
#define NL_TORCHET_H

#include "base/json.h"
#include "ingest/ingest.h"

struct torchet {
    struct nl_builder *builder;
    struct nl_stage *stage;
    struct nl_job *job;
    uint32_t source;
    struct nl_node_row node; /* in work; NAME columns set by torchet_text */
    struct nl_buf detail;    /* its other facts, as JSON */
    int64_t nodes, others, unnamed, damaged, cut, shortened, foreign;
};

/* The parts, each over one document. False only when the job was cancelled. */
NL_MUST_CHECK bool torchet_json(struct torchet *et, const void *bytes, size_t len,
                                struct nl_err *err);
NL_MUST_CHECK bool torchet_chakra(struct torchet *et, const void *bytes, size_t len,
                                  struct nl_err *err);
/* Is this the start of a Chakra protobuf stream? */
bool torchet_is_chakra(const void *bytes, size_t len);

void torchet_begin(struct torchet *et);
/* A fact of the node in work: raw JSON text, or text that is to be quoted. Facts that are on no
 * list, and over-long ones, are counted only. */
void torchet_fact(struct torchet *et, struct nl_str name, struct nl_str value, bool quote);
/* A name of the stage for text that is not over-long. */
uint32_t torchet_text(struct torchet *et, struct nl_str text);
void torchet_keep(struct torchet *et);
/* Facts about the whole trace: schema, pid, time, start and finish. */
void torchet_global(struct torchet *et, struct nl_str name, struct nl_str value);

#endif
