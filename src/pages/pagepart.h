/*
 * pagepart — inside the room: what a page shows in addition to the answer's tables, made from the
 * trace. Each adds one member to an open JSON object, small enough for a page whatever the size of
 * the trace: series keep the least and the largest value of every pixel, the timeline is one step,
 * histograms are counts. Times are ns from the profile's first event.
 */
#ifndef NL_PAGEPART_H
#define NL_PAGEPART_H

#include "base/json.h"
#include "tables/memo.h"

#define NL_MAX_PAGE_NAME 300 /* characters shown of a name */

/* What the script takes a slice's colour from: its kind (enum nl_kind), but of device work this +
 * its class (enum nl_class). */
#define NL_PAGE_CLASS 32u

/* The word by which the script knows a meaning: "ns", "bytes", "share", …; NULL for text. */
const char *nl_page_meaning(enum nl_meaning meaning);

struct nl_page_source {
    const struct nl_trace *trace;
    const struct nl_window *window;
    struct nl_memo *memo;
};

/* "timeline": the slices of one typical step on every lane, or of the window that was asked for. */
void nl_page_timeline(struct nl_json *json, const struct nl_page_source *source);

/* "steps": start and duration of every step of every rank. */
void nl_page_steps(struct nl_json *json, const struct nl_page_source *source);

/* "busy": how much of each part of the time each device worked, in thousandths. */
void nl_page_busy(struct nl_json *json, const struct nl_page_source *source);

/* "kernels": how long the instances of the kernels took that take most time. */
void nl_page_kernels(struct nl_json *json, const struct nl_page_source *source);

/* "memory": allocated and reserved bytes over time; "counters": values over time. */
void nl_page_memory(struct nl_json *json, const struct nl_page_source *source);
void nl_page_counters(struct nl_json *json, const struct nl_page_source *source);

/* "pair" and "flames" of a comparison: steady steps of A and B, and the first kind of stacks that
 * both have, with what grew and shrank. */
void nl_page_pair(struct nl_json *json, const struct nl_page_source sides[2]);

/* A series of points (ts ascending), thinned to about `most`: of each part of the time the least
 * and the largest. Members "t" (ns from the first event) and "v". */
struct nl_page_point {
    int64_t ts;
    double value;
};
void nl_page_points(struct nl_json *json, const struct nl_page_point *points, size_t count,
                    size_t most, int64_t first_ts);

#endif
