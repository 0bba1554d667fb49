/*
 * chrome — the reader of Chrome trace-event JSON and PyTorch's Kineto dialect.
 *
 * chrome.c      formats, sniffing, top level of a file      chrome_feed    buffered bytes
 * chrome_scan   SIMD scans: event boundaries                chrome_event   one event as text
 * chrome_repair damaged events → clean JSON                 chrome_value   numbers and times
 * chrome_names  texts → name ids                            chrome_words   sets of known keys
 * chrome_work   blocks of events                            chrome_queue   blocks → threads
 * chrome_rows   Kineto's categories → rows                  chrome_device  the device's side
 * chrome_nsys   the dialect of nsys2json and nsightful
 * chrome_rpd    rocmProfileData's dialect
 * chrome_phase  the other phases (B/E, C, s/t/f, M, ...)    chrome_lanes   pids, tids → lanes
 * chrome_pair   begins with ends, arrows, after all blocks  chrome_report  names and coverage
 * chrome_head   top-level metadata
 */
#ifndef CHROME_H
#define CHROME_H

#include "base/stream.h"
#include "ingest/ingest.h"

/* Loads from an open stream (for the format's load function, tests and fuzzing). */
NL_MUST_CHECK bool chrome_load_stream(struct nl_builder *builder, uint32_t source,
                                      const struct nl_input *input, struct nl_stream *stream,
                                      struct nl_job *job, struct nl_err *err);

#endif
