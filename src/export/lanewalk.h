/*
 * lanewalk — the slices of a lane as begins and ends in order of time, as formats of nested events
 * want them, and a trace cut into parts of about equal size that can be walked apart.
 *
 * A lane's slices are ordered by depth, and by time within a depth; children follow the order of
 * their parents. So one cursor per depth gives the order without sorting, and a walk can begin and
 * end at any slice. Ends come before begins of the same time, and a slice without length ends
 * before anything else begins.
 *
 *     struct nl_walk_parts parts;
 *     nl_walk_cut(&parts, trace, &scope, 65536);
 *     nl_walk_open(&walk, trace, &parts.items[i]);
 *     while ((what = nl_walk_next(&walk, &slice)) != NL_WALK_DONE) ...
 *     nl_walk_close(&walk);
 *
 * Slices that overlap too many others to be nested (NL_SLICE_OVERFLOW) are put on separate rows:
 * `row` of a part is 0 for the nested slices of a lane, else the number of such a row.
 */
#ifndef NL_LANEWALK_H
#define NL_LANEWALK_H

#include "tables/scope.h"

struct nl_walk_part {
    uint32_t lane, row;
    uint32_t from, to; /* row 0: first slice to begin, and first one not to; NL_NULL_ROW = ends of
                           * the lane. Else positions in nl_walk_parts.loose. */
    const uint32_t *list; /* row > 0: slices one after the other */
};

struct nl_walk_parts {
    struct nl_walk_part *items;
    size_t count, cap;
    uint32_t *loose; /* slices of rows > 0 */
    size_t loose_count, loose_cap;
};

/* Cuts the lanes that the scope has into parts of about `slices` slices. */
void nl_walk_cut(struct nl_walk_parts *parts, const struct nl_trace *trace,
                 const struct nl_scope *scope, uint32_t slices);
void nl_walk_parts_release(struct nl_walk_parts *parts);

enum nl_walk_what { NL_WALK_DONE, NL_WALK_BEGIN, NL_WALK_END };

struct nl_walk {
    const struct nl_trace *trace;
    const struct nl_walk_part *part;
    uint32_t *next, *end, *open; /* per depth */
    uint32_t depths, depth;      /* open slices */
    uint32_t at;                 /* in the list of a loose row */
    bool pending;                /* its slice is open */
};

void nl_walk_open(struct nl_walk *walk, const struct nl_trace *trace,
                  const struct nl_walk_part *part);
void nl_walk_close(struct nl_walk *walk);

/* The next begin or end, and whose. After a begin, walk->depth - 1 is its depth. */
enum nl_walk_what nl_walk_next(struct nl_walk *walk, uint32_t *slice);

#endif
