/*
 * recordjson — the report at the end of `neurolens run` as JSON: `run --format json`.
 * src/capture/README.md lists the members; they are only ever added to.
 */
#ifndef NL_RECORDJSON_H
#define NL_RECORDJSON_H

#include <stdio.h>

#include "capture/recorder/recorder.h"
#include "store/trace.h"

/* `trace` and `path` are NULL when nothing was recorded; `why` says why then. */
void nl_record_json(FILE *stream, const struct nl_recorder_report *report,
                    const struct nl_trace *trace, const char *path, const char *why);

#endif
