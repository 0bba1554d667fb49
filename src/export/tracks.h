/*
 * tracks — where slices are drawn by viewers that know processes, threads and named rows: a tree
 * with a track for every lane.
 *
 *   process (a rank)          name "rank 3: python"; pid unique in the file
 *     thread                  the slices of its THREAD lane
 *       NVTX, Python, …       its other lanes, and overlapping slices
 *     GPU 0: NVIDIA H100      a group
 *       stream 7              a lane
 *
 * Lanes of overlapping slices (lane.sub > 0) have the name and parent of the first one: viewers
 * draw tracks of one name and parent as one with several rows.
 */
#ifndef NL_TRACKS_H
#define NL_TRACKS_H

#include "export/export.h"

enum nl_track_kind { NL_TRACK_PROCESS, NL_TRACK_THREAD, NL_TRACK_GROUP, NL_TRACK_ROW };

#define NL_NO_TRACK UINT32_MAX

struct nl_track {
    enum nl_track_kind kind;
    uint32_t parent; /* a track, or NL_NO_TRACK */
    int64_t pid;     /* of the process it belongs to, unique and below 2^31; 0 = none */
    int64_t tid;     /* of threads: below 2^31, unique in the process */
    struct nl_str name;
    int64_t order; /* among tracks of one parent, ascending */
    uint32_t row;  /* of table process, thread or lane; of a group: the device */
};

struct nl_tracks {
    struct nl_track *items; /* parents stand before their children */
    uint32_t count;
    size_t cap;
    uint32_t *of_lane, *of_process; /* a track per row of table lane and process */
    struct nl_arena arena;
};

/* Tracks of the processes, threads and lanes that the export's window has. */
void nl_tracks_make(struct nl_tracks *tracks, const struct nl_export *export);
void nl_tracks_release(struct nl_tracks *tracks);

/* Another row for slices of a lane that overlap: same name, same parent. Gives its number. */
uint32_t nl_tracks_add_row(struct nl_tracks *tracks, uint32_t lane);

#endif
