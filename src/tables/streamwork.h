/*
 * streamwork — the device work of every stream in the order in which it started: kernels, copies,
 * memsets and graph launches that are in the scope, at least in part.
 *
 *     struct nl_streamwork work;
 *     nl_streamwork_init(&work, &places, &scope);
 *     for (size_t stream = 0; stream < places.stream_count; stream++)
 *         for (size_t i = work.first[stream]; i < work.first[stream + 1]; i++)
 *             ... work.items[i].start, .end, .slice ...
 *     nl_streamwork_release(&work);
 *
 * Use this instead of walking lanes: slices of one stream that overlap are on several lanes
 * (sub-lanes), and a lane is ordered by depth first, so that walking a lane finds gaps in which the
 * stream was busy.
 */
#ifndef NL_STREAMWORK_H
#define NL_STREAMWORK_H

#include "tables/places.h"
#include "tables/scope.h"

struct nl_streamwork_item {
    int64_t start, end; /* ns, cut to the window */
    uint32_t stream;    /* index into the places' streams */
    uint32_t slice;
};

struct nl_streamwork {
    struct nl_streamwork_item *items; /* by stream, start, end, slice */
    size_t count, cap;
    size_t *first; /* per stream its first item; one more at the end */
};

/* 24 bytes per device operation. */
void nl_streamwork_init(struct nl_streamwork *work, const struct nl_places *places,
                        const struct nl_scope *scope);
void nl_streamwork_release(struct nl_streamwork *work);

#endif
