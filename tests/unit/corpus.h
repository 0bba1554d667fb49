/*
 * corpus — files of tests/corpus, and texts, for the tests of readers: a trace of one,
 * and what its coverage says.
 */
#ifndef CORPUS_H
#define CORPUS_H

#include <unistd.h>

#include "check.h"
#include "ingest/ingest.h"

/* NULL: it cannot be read, which is printed. */
static inline struct nl_trace *corpus_ingest_path(const char *path)
{
    const char *paths[] = {path};
    struct nl_err err;
    struct nl_job job = {.threads = 1};
    struct nl_ingest_options options = {.rank = NL_NULL_I64};
    nl_err_clear(&err);
    struct nl_trace *trace = nl_ingest(paths, 1, &options, &job, &err);
    if (!trace)
        printf("    %s\n", err.text);
    return trace;
}

/* The same of a file of tests/corpus. */
static inline struct nl_trace *corpus_ingest(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/corpus/%s/%s", check_folder, folder, name);
    return corpus_ingest_path(path);
}

/* The same of a file that holds these bytes for as long as it is read. */
static inline struct nl_trace *corpus_ingest_bytes(const void *bytes, size_t len)
{
    char path[] = "/tmp/nl-corpus-XXXXXX";
    int fd = mkstemp(path);
    bool written = fd >= 0 && write(fd, bytes, len) == (ssize_t)len;
    struct nl_trace *trace = written ? corpus_ingest_path(path) : NULL;
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    return trace;
}

/* The count of an item; 0: there is none. */
static inline int64_t corpus_coverage(const struct nl_trace *trace, const char *item)
{
    for (uint32_t i = 0; i < trace->coverage.rows; i++)
        if (nl_str_is(nl_trace_name(trace, trace->coverage.item[i]), item))
            return trace->coverage.count[i];
    return 0;
}

#endif
