/*
 * window — the part in brackets after a profile's name: PROFILE[1.2s:1.5s], [step=10:20],
 * [nvtx="forward*"], [rank=3], [gpu=0], joined with commas: all must hold.
 *
 * Reading the words (nl_window_split, nl_window_parse) needs no profile; turning them into times
 * (nl_window_resolve) does. Intervals are half-open: a:b is [a, b), step=10:20 are the steps 10 to
 * 19. An nvtx pattern (as in file names) stands for the time from its first match to its last.
 */
#ifndef NL_WINDOW_H
#define NL_WINDOW_H

#include "base/mem.h"
#include "timeline/breakdown.h"

struct nl_window_words {
    bool has_time, has_steps, has_rank, has_device;
    int64_t start, end;           /* ns; INT64_MIN, INT64_MAX = open */
    int64_t first_step, end_step; /* likewise */
    int64_t rank, device;
    const char *nvtx; /* in the arena, or NULL */
};

/* Splits "file[...]" at the bracket that belongs to the last ']'. Returns the length of the name;
 * *words gets what is inside the brackets, ptr NULL when there are none. Brackets inside double
 * quotes do not count. Whether a file is really called that way is for the caller to see. */
size_t nl_window_split(const char *text, struct nl_str *words);

/* Fails with NL_USAGE, saying what was expected. */
NL_MUST_CHECK bool nl_window_parse(struct nl_str text, struct nl_window_words *words,
                                   struct nl_arena *arena, struct nl_err *err);

/* `absolute`: the times in `words` are as recorded, not from the first event. Fails with NL_USAGE
 * when no step, range, rank or device matches, or nothing is left of the time; the text says what
 * there is. `note` (NULL or room for NL_WINDOW_NOTE bytes) gets a remark worth printing, or "". */
#define NL_WINDOW_NOTE 200
NL_MUST_CHECK bool nl_window_resolve(const struct nl_window_words *words,
                                     const struct nl_trace *trace, bool absolute,
                                     struct nl_window *window, char *note, struct nl_err *err);

/* SQL looks at the whole profile: fails with the words to write instead of a window,
 * in times after `origin`. */
NL_MUST_CHECK bool nl_window_refuse_sql(const struct nl_window *window, int64_t origin,
                                        struct nl_err *err);

#endif
