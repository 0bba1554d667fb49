/*
 * places — where device work runs: the (rank, device) pairs of a trace and their streams, with the
 * sub-lanes that overlapping slices got folded back into their stream.
 */
#ifndef NL_PLACES_H
#define NL_PLACES_H

#include "store/trace.h"

/* One device as one rank uses it. */
struct nl_place {
    int64_t rank, ordinal; /* NL_NULL_I64 unknown */
    uint32_t device;       /* row, NL_NULL_ROW unknown */
};

struct nl_stream_place {
    uint32_t place;   /* index into places */
    uint32_t process; /* row, NL_NULL_ROW unknown */
    uint32_t lane;    /* one of its lanes */
    int64_t context, stream;
};

struct nl_places {
    struct nl_place *items; /* sorted by (rank, ordinal, device) */
    size_t count, cap;
    struct nl_stream_place *streams; /* sorted by (place, process, context, stream) */
    size_t stream_count, stream_cap;
    uint32_t *lane_place;  /* per lane: index, or NL_NULL_ROW for lanes without a device */
    uint32_t *lane_stream; /* per lane: index, or NL_NULL_ROW for lanes that are no stream */
};

void nl_places_init(struct nl_places *places, const struct nl_trace *trace);
void nl_places_release(struct nl_places *places);

struct nl_scope;

/* Calls `take` for every device operation (kernels, copies, fills, graphs) that is on a
 * stream and, in part at least, in the scope; `length` is that part. In no order of
 * time: streamwork.h has that. */
void nl_places_work(const struct nl_places *places, const struct nl_scope *scope,
                    void (*take)(void *context, uint32_t stream, uint32_t slice, int64_t length),
                    void *context);

#endif
