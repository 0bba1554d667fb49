/*
 * roctext — text traces of roctracer and rocprof v1: hip_api_trace.txt, hsa_api_trace.txt,
 * hcc_ops_trace.txt, async_copy_trace.txt, roctx_trace.txt, a line per event (tests and fuzzers use
 * the format's row).
 */
#ifndef NL_ROCTEXT_H
#define NL_ROCTEXT_H

#include "base/str.h"

/* A line, taken apart; views into it. */
struct roctext_line {
    enum roctext_kind {
        ROCTEXT_NONE, /* no line of such a trace */
        ROCTEXT_CALL, /* begin:end pid:tid name(arguments) :correlation */
        ROCTEXT_WORK, /* begin:end device:queue name:correlation[:pid] */
        ROCTEXT_COPY, /* begin:end async-copy:correlation[:pid] */
        ROCTEXT_MARK, /* time pid:tid operation[:id]:"text" */
    } kind;
    int64_t begin, end;      /* end of a mark: its time */
    int64_t first, second;   /* "first:second" after the times: pid:tid, device:queue */
    int64_t correlation;     /* NL_NULL_I64: the line has none (also `pid`) */
    int64_t pid;             /* of work and copies */
    struct nl_str name;      /* of calls without arguments; the text of a mark */
    struct nl_str arguments; /* of calls */
    int64_t operation, id;   /* of marks */
};

/* Marks' operations: numbers of roctx. */
enum { ROCTEXT_MARKED, ROCTEXT_PUSHED, ROCTEXT_POPPED, ROCTEXT_STARTED, ROCTEXT_STOPPED };

void roctext_parse(struct roctext_line *line, struct nl_str text);

/* The value of an argument, "sizeBytes=4096, …" or "sizeBytes(4096) …"; empty when it is not there.
 * The name of a kernel is the rest of the arguments. */
struct nl_str roctext_argument(struct nl_str arguments, const char *name);

#endif
