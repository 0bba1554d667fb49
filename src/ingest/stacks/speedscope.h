/*
 * speedscope — parts of the speedscope reader: what is known of the file (speedscope.c) and of the
 * profile being read (sampled and evented ones, speedscope_profile.c).
 */
#ifndef SPEEDSCOPE_H
#define SPEEDSCOPE_H

#include "base/mem.h"
#include "ingest/lib/cpuprofile.h"
#include "parse/jsonpull.h"
#include "ingest/lib/wholefile.h"

struct speedscope_frame {
    struct nl_stack_row row;
    struct nl_str name, file;
    uint32_t number; /* among the profile's frames */
    uint32_t shown;  /* name of its slices, 0 = not made yet */
};

struct speedscope_counts {
    uint64_t unknown_frames, no_weight, repaired_order, crossed, unopened, unclosed, bad_times,
        empty;
    uint64_t sampled, evented, unknown_profiles, deep, untimed;
};

struct speedscope {
    struct cpuprofile profile;
    const struct whole_file *file;
    struct speedscope_frame *frames;
    size_t frame_count, frame_cap;
    struct nl_arena arena;  /* texts of the frames */
    bool python;            /* a Python profiler wrote it */
    struct nl_str profiles; /* text of the array */
    uint32_t unit_ns, unit_bytes, unit_millionths;
    struct speedscope_counts counts;
    struct jsonpull reader, weights; /* of the whole, and of one part each */
    struct nl_buf text;
};

/* One profile of the file, its members as they stand in the text. */
struct speedscope_profile {
    struct nl_str type, unit, name, samples, weights, events, end;
};

void speedscope_load_profile(struct speedscope *load, const struct speedscope_profile *profile);

#endif
