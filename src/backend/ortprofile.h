/*
 * ortprofile — the file that ONNX Runtime's profiler wrote, with the runs
 * that were timed without it.
 *
 * The result is an ordinary profile of ONNX Runtime: its own events byte for byte, followed by one
 * Session range "unprofiled run" for every counted run without the profiler, on the same clock,
 * with ns as decimals. So everything that was measured stands in one file.
 */
#ifndef ORTPROFILE_H
#define ORTPROFILE_H

#include "base/file.h"
#include "backend/ortrun.h"

#define ORT_PLAIN_RUN "unprofiled run" /* name of those ranges */

/* Reads outcome->profile, writes `path`. NL_FORMAT when the former is no list of events. */
NL_MUST_CHECK bool ort_profile_join(const struct ort_outcome *outcome, const char *path,
                                    struct nl_err *err);

#endif
