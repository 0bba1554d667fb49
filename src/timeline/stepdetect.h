/*
 * stepdetect — unmarked iterations, found by the launch sequence that repeats.
 *
 * Works on the kernels (and recorded graphs) of one device in order of start, as numbers of names.
 * A name that comes once per iteration cuts the sequence into segments; the right one is that
 * whose segments are most alike as bags of names and explain most of the names that repeat. A name
 * that comes once per layer also cuts evenly, but its segments miss the names between the last
 * layer and the first. Among equals the shortest period wins, then the name before which the device
 * idles longest: iterations begin there. O(n log n) time, O(n) memory.
 */
#ifndef NL_STEPDETECT_H
#define NL_STEPDETECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Launches, by number of name (< name_count). */
struct nl_step_sequence {
    const uint32_t *names;
    size_t count;
    uint32_t name_count;
    const double *idle; /* per number: ns of idleness before its launches */
};

struct nl_step_cut {
    size_t first, last; /* launches first .. last - 1 */
    double likeness;    /* 0..1, to the typical segment */
};

struct nl_step_cuts {
    struct nl_step_cut *items; /* nl_free it */
    size_t count;              /* 0 = nothing repeats */
    uint32_t name;             /* that every segment begins with */
    double confidence;         /* 0..1 */
};

/* A segment is like the typical one from here on. */
#define NL_STEP_ALIKE 0.75

/* Segments that are not like the typical one are kept, so that the caller can recognise warm-up;
 * the piece before the first cut and an unlike one at the end are not. */
struct nl_step_cuts nl_step_detect(const struct nl_step_sequence *sequence);

#endif
