/*
 * hostdoing — one thing that the CPU does in a hand-made profile (gputrace.h), from a word: "o
 * aten::add" is an operator of that name. Times in microseconds.
 */
#ifndef HOSTDOING_H
#define HOSTDOING_H

#include "gputrace.h"

/* Does `what` for that time: o operator, a call, p Python, l layer, n range, s system call, g
 * garbage collection, c compilation, v the profiler, x anything else, - nothing. */
static inline void hostdoing(struct gputrace *make, const char *what, int64_t at, int64_t us)
{
    enum nl_kind kind = NL_KIND_GENERIC;
    switch (*what) {
    case '-': return;
    case 'o': gputrace_op(make, what + 2, at, us); return;
    case 'a': gputrace_call(make, what + 2, at, us); return;
    case 'p': kind = NL_KIND_PYTHON; break;
    case 'l': kind = NL_KIND_LAYER; break;
    case 'n': kind = NL_KIND_NVTX; break;
    case 's': kind = NL_KIND_OSRT; break;
    case 'g': kind = NL_KIND_GC; break;
    case 'c': kind = NL_KIND_COMPILE; break;
    case 'v': kind = NL_KIND_OVERHEAD; break;
    default: break;
    }
    uint32_t slice = gputrace_slice(make, kind, make->calls, what + 2, at, us);
    if (kind == NL_KIND_PYTHON) {
        struct nl_python_row row = nl_python_row();
        row.slice = slice;
        nl_stage_python(make->stage, &row);
    } else if (kind == NL_KIND_LAYER) {
        struct nl_layer_row row = nl_layer_row();
        row.slice = slice;
        nl_stage_layer(make->stage, &row);
    } else if (kind == NL_KIND_NVTX) {
        struct nl_nvtx_row row = nl_nvtx_row();
        row.slice = slice;
        nl_stage_nvtx(make->stage, &row);
    }
}

#endif
