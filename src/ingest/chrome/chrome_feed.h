/*
 * chrome_feed — a window on the decompressed bytes of the input.
 *
 * Of compressed input the window is a piece of decoded bytes, used where the stream has put it;
 * what was left of the piece before is copied in front of it. Of other input, and where more is
 * left than fits in front, it is a buffer of the feed.
 *
 * feed->at .. feed->end are the bytes not used yet. CHROME_PAD bytes of '"' follow `end` and stop
 * the scans; before `at` at least 8 bytes are readable. chrome_feed_more reads on, moving and
 * growing the window as needed; pointers into it are stale afterwards.
 */
#ifndef CHROME_FEED_H
#define CHROME_FEED_H

#include "base/stream.h"

#define CHROME_FIRST_WINDOW ((size_t)1 << 20)   /* bytes; the first is looked at ahead */
#define CHROME_BLOCK        ((size_t)512 << 10) /* the others: stays in a core's own caches */
#define CHROME_MAX_VALUE    ((size_t)256 << 20) /* no event or other value may be larger */

struct chrome_feed {
    struct nl_stream *stream;
    char *bytes; /* a separate buffer; `room` bytes of data fit */
    size_t room;
    struct nl_stream_piece piece; /* the window is there if it has bytes, else in `bytes` */
    char *at, *end;
    uint64_t offset; /* of `at` in the file */
    bool ended;      /* nothing follows `end` */
};

void chrome_feed_init(struct chrome_feed *feed, struct nl_stream *stream);
void chrome_feed_release(struct chrome_feed *feed);

/* Uses up everything before `to`. */
void chrome_feed_use(struct chrome_feed *feed, const char *to);

/* Reads more after the unused bytes; doubles the room when they fill it. Sets feed->ended at the
 * end. False with err when reading failed; NL_LIMIT when the window is at its ceiling. */
NL_MUST_CHECK bool chrome_feed_more(struct chrome_feed *feed, struct nl_err *err);

/* Takes the bytes up to `cut` away with their piece, which the caller returns to the stream; those
 * after it move to the feed's own buffer. */
struct nl_stream_piece chrome_feed_take_piece(struct chrome_feed *feed, const char *cut);

/* Replaces the buffer by `bytes` of `room`; the unused bytes from `cut` on are moved there,
 * and what is left in the old buffer (up to `cut`) is padded. Returns the old buffer. For
 * windows that are in no piece. */
char *chrome_feed_swap(struct chrome_feed *feed, const char *cut, char *bytes, size_t room);

/* The next byte that is no white space, '\0' at the end. */
NL_MUST_CHECK bool chrome_feed_peek(struct chrome_feed *feed, char *c, struct nl_err *err);

/* Makes the window CHROME_BLOCK again where what is not used fits. */
void chrome_feed_shrink(struct chrome_feed *feed);

/* A buffer for `room` bytes of data, and its size in memory. */
char *chrome_feed_buffer(size_t room);

#endif
