/*
 * loadfile — for fuzz targets of formats that open their file: the bytes as a file in memory, loaded
 * and finished. A refusal must have a reason.
 */
#ifndef LOADFILE_H
#define LOADFILE_H

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ingest/ingest.h"

static inline void loadfile_run(const struct nl_format *format, const uint8_t *data, size_t size)
{
    struct nl_err err;
    struct nl_job job = {.threads = 1};
    char path[64];
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    struct nl_input input = {.path = path,
                             .name = "fuzz",
                             .encoding = "plain",
                             .head = data,
                             .head_len = size < NL_SNIFF_BYTES ? size : NL_SNIFF_BYTES,
                             .rank = NL_NULL_I64};
    const char *why = NULL;
    (void)format->sniff(&input, &why);
    nl_err_clear(&err);
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "fuzz", format->name);
    if (format->load(builder, source, &input, &job, &err)) {
        nl_trace_free(nl_builder_finish(builder, &err));
    } else {
        if (err.code == NL_OK || !err.text[0])
            abort();
        nl_builder_free(builder);
    }
    close(file);
}

#endif
