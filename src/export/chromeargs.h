/*
 * chromeargs — the arguments of events in Chrome's JSON, under the names that PyTorch's profiler
 * gives them, so that tools made for its traces find what they look for.
 */
#ifndef NL_CHROMEARGS_H
#define NL_CHROMEARGS_H

#include "export/attributes.h"
#include "export/export.h"
#include "export/jsonbytes.h"

struct chrome_args {
    const struct nl_trace *trace;
    struct nl_attributes attributes;
    bool many;     /* processes with calls: their correlation ids may be the same */
    uint8_t *json; /* bit per dictionary id: the text is JSON and can stand as it is */
};

void chrome_args_make(struct chrome_args *args, const struct nl_trace *trace);
void chrome_args_release(struct chrome_args *args);

/* Adds `,"args":{…}` of a slice; nothing when there are none. `room` is scratch. */
void chrome_args_put(const struct chrome_args *args, struct bytes *out, uint32_t slice,
                     struct nl_buf *room);

#endif
