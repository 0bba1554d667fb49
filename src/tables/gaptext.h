/*
 * gaptext — a gap of a device in words, for tables and findings.
 */
#ifndef NL_GAPTEXT_H
#define NL_GAPTEXT_H

#include "timeline/idletime.h"

/* The part of a range's name that its repetitions share, without the ", op_id = 1", ", seq = 2" and
 * ", sizes = […]" of PyTorch's emit_nvtx, the hash of a compiled graph, and without a number at the
 * end ("step 12", "iter_7"). A view into `name`. */
struct nl_str nl_gap_fold(struct nl_str name);

/* Name of what the CPU did (activity and name of a gap or a sum): ranges folded, others whole. */
struct nl_str nl_gap_activity(const struct nl_trace *trace, unsigned activity, uint32_t name);

/* "12.3 ms at 1.2 s, gemm → relu (aten::item)"; times from the trace's first event. */
void nl_gap_tell(struct nl_buf *out, const struct nl_trace *trace, const struct nl_idle_gap *gap);

/* Short name of a slice, at most `width` bytes, never cut inside a character. */
void nl_gap_name(struct nl_buf *out, const struct nl_trace *trace, uint32_t slice, size_t width);

#endif
