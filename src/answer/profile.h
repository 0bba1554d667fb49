/*
 * profile — the facts about a profile that go with every answer: which files it was read from, by
 * which tools they were written, ranks, devices, how long, how many events of which kind, and its
 * coverage. The JSON envelope of every command and the head of `info` are made from it.
 */
#ifndef NL_PROFILE_H
#define NL_PROFILE_H

#include "answer/contents.h"
#include "tables/analyze.h"

struct nl_profile {
    struct nl_result
        *files; /* file, format, tool, bytes, rank, clock, epoch_ns; file_count may be more:
                                 * processes of a run that recorded nothing share a row */
    struct nl_result *devices;  /* rank, device, name, ... */
    struct nl_result *events;   /* kind, count, total_ns: events by kind */
    struct nl_result *coverage; /* item, count, detail, file */
    const char **formats;       /* distinct, in order of first use; likewise tools */
    const char **tools;
    int64_t *ranks; /* distinct known ranks, ascending */
    size_t format_count, tool_count, rank_count;
    uint32_t file_count, processes, threads;
    int64_t first_ns, last_ns, duration_ns; /* store time; duration = last - first */
    uint64_t slices;
    struct nl_contents contents;            /* what there is most of, for the line about it */
    struct nl_window window;                /* what answers are limited to; zeroed = nothing */
    int64_t window_start_ns, window_end_ns; /* relative to first_ns; only with window.has_time */
    struct nl_arena arena;
};

/* Everything is copied: the trace may be freed before the profile. `window` may be NULL. */
struct nl_profile *nl_profile_new(const struct nl_trace *trace, const struct nl_window *window);
void nl_profile_free(struct nl_profile *profile);

/* What file_count counts: "files"; of a recording, which is one file for
 * whoever made it, "processes". */
const char *nl_profile_files_word(const struct nl_profile *profile);

/* "limited to 200.0 ms … 400.0 ms, rank 2, device 0"; nothing without a window. */
void nl_profile_put_window(const struct nl_profile *profile, struct nl_buf *out);

#endif
