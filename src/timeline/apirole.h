/*
 * apirole — what a call into the CUDA/HIP runtime or driver is for: launching, copying, waiting,
 * allocating, loading code. Its name decides, by the rows of apirole.def. Suffixes such as _v2 or
 * _ptsz do not matter.
 *
 * A struct nl_api_roles holds the answer per dictionary id, so asking for a slice is one load.
 */
#ifndef NL_APIROLE_H
#define NL_APIROLE_H

#include "store/trace.h"

enum nl_api_role {
    NL_API_OTHER,
    NL_API_LAUNCH, /* kernels */
    NL_API_GRAPH_LAUNCH,
    NL_API_GRAPH_BUILD, /* capture and instantiation */
    NL_API_COPY,
    NL_API_FILL,
    NL_API_SYNC,          /* the CPU waits for the device */
    NL_API_STREAM_WAIT,   /* a stream waits for an event; the CPU does not */
    NL_API_ALLOCATE,      /* device memory: allocate, free, map */
    NL_API_HOST_ALLOCATE, /* pinned host memory */
    NL_API_MODULE         /* load or compile device code */
};

/* *blocks (may be NULL): whether the call returns only when the device has done its part. */
enum nl_api_role nl_api_role_of(struct nl_str name, bool *blocks);

struct nl_api_roles {
    uint8_t *by_name; /* role, with NL_API_BLOCKS set for calls that block */
};
#define NL_API_BLOCKS 0x80u

/* Looks at the names that API slices use. */
void nl_api_roles_init(struct nl_api_roles *roles, const struct nl_trace *trace);
void nl_api_roles_release(struct nl_api_roles *roles);

static inline enum nl_api_role nl_api_slice_role(const struct nl_api_roles *roles,
                                                 const struct nl_trace *trace, uint32_t slice)
{
    return (enum nl_api_role)(roles->by_name[trace->slice.name[slice]] & ~NL_API_BLOCKS);
}
static inline bool nl_api_slice_blocks(const struct nl_api_roles *roles,
                                       const struct nl_trace *trace, uint32_t slice)
{
    return (roles->by_name[trace->slice.name[slice]] & NL_API_BLOCKS) != 0;
}

#endif
