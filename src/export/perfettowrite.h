/*
 * perfettowrite — what the parts of the Perfetto writer share.
 *
 * A file is a preamble (clock, tracks, all texts that are used, interned once) and then events:
 * parts of lanes and runs of counters, which are rendered by several threads and written in order.
 * All packets are of one sequence, whose interned ids are the trace's own dictionary ids; so parts
 * need nothing of each other and the bytes do not depend on the number of threads.
 *
 *   perfettowrite.c    the order of things
 *   perfettohead.c     the preamble
 *   perfettoevents.c   slices, flows, arguments, counters
 */
#ifndef NL_PERFETTOWRITE_H
#define NL_PERFETTOWRITE_H

#include "export/arrows.h"
#include "export/attributes.h"
#include "export/bytes.h"
#include "export/lanewalk.h"
#include "export/tracks.h"

/* Fields of TracePacket. */
enum {
    PACKET_CLOCKS = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,
    PACKET_PERF_SAMPLE = 66
};

/* A run of table counter or memory that goes to one part of the work. */
enum perfetto_part_kind { PERFETTO_PART_SLICES, PERFETTO_PART_COUNTERS, PERFETTO_PART_MEMORY };
struct perfetto_part {
    enum perfetto_part_kind kind;
    const struct nl_walk_part *walk; /* of slices */
    uint32_t track;                  /* of slices */
    uint32_t from, to;               /* else: rows */
};

struct perfetto_writer {
    struct nl_export *export;
    const struct nl_trace *trace;
    struct nl_tracks tracks;
    struct nl_arrows arrows;
    struct nl_attributes attributes;
    struct nl_walk_parts walk;
    struct perfetto_part *parts;
    size_t part_count, part_cap;
    uint8_t *names, *texts;  /* bit per dictionary id: used as a name, as an argument */
    int64_t shift;           /* added to all times: there are none below 0 in the format */
    uint32_t *memory_tracks; /* per row of table memory: number of its pair of counters */
    uint32_t memory_pairs;
};

/* Uuids of tracks: those of struct nl_tracks first, then counters. 0 is the root. */
static inline uint64_t perfetto_uuid(uint32_t track)
{
    return (uint64_t)track + 1;
}
uint64_t perfetto_series_uuid(const struct perfetto_writer *writer, uint32_t series);
/* Of allocated and reserved bytes. */
uint64_t perfetto_memory_uuid(const struct perfetto_writer *writer, uint32_t pair, bool reserved);

/* A packet of our sequence; `flags` 3 in the first one. */
void perfetto_packet(struct bytes *out, const struct bytes *body, unsigned flags);

NL_MUST_CHECK bool perfetto_write_head(struct perfetto_writer *writer, struct nl_err *err);

/* One part of the events. */
void perfetto_render(const struct perfetto_writer *writer, const struct perfetto_part *part,
                     struct bytes *out);

#endif
