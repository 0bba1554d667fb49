/* The window: one buffer, filled in large reads, or the pieces that a stream lends. */
#include "ingest/chrome/chrome_feed.h"

#include <string.h>

#include "base/mem.h"
#include "ingest/chrome/chrome_scan.h"

#define BEFORE 16 /* readable bytes before the data */

char *chrome_feed_buffer(size_t room)
{
    char *bytes = nl_alloc(BEFORE + room + CHROME_PAD);
    memset(bytes, ' ', BEFORE);
    return bytes;
}

static void pad(char *end)
{
    memset(end, '"', CHROME_PAD);
}

void chrome_feed_init(struct chrome_feed *feed, struct nl_stream *stream)
{
    *feed = (struct chrome_feed){.stream = stream, .room = CHROME_FIRST_WINDOW};
    feed->bytes = chrome_feed_buffer(feed->room);
    feed->at = feed->end = feed->bytes + BEFORE;
    pad(feed->end);
}

void chrome_feed_release(struct chrome_feed *feed)
{
    nl_stream_return(feed->stream, &feed->piece);
    nl_free(feed->bytes);
    feed->bytes = NULL;
}

void chrome_feed_use(struct chrome_feed *feed, const char *to)
{
    feed->offset += (uint64_t)(to - feed->at);
    feed->at += to - feed->at;
}

/* Moves the unused bytes, from `from` on, to the front of a buffer that has room for them. */
static void move_to(struct chrome_feed *feed, const char *from, char *bytes, size_t room)
{
    size_t left = (size_t)(feed->end - from);
    memmove(bytes + BEFORE, from, left);
    feed->bytes = bytes;
    feed->room = room;
    feed->at = bytes + BEFORE;
    feed->end = feed->at + left;
    pad(feed->end);
}

char *chrome_feed_swap(struct chrome_feed *feed, const char *cut, char *bytes, size_t room)
{
    char *old = feed->bytes, *old_cut = feed->at + (cut - feed->at);
    feed->offset += (uint64_t)(cut - feed->at);
    move_to(feed, cut, bytes, room);
    pad(old_cut);
    return old;
}

/* The feed's own buffer, with room for what is left from `from` on, becomes the window. */
static void move_to_own(struct chrome_feed *feed, const char *from)
{
    size_t left = (size_t)(feed->end - from), room = feed->room;
    while (room <= left)
        room *= 2;
    if (room > feed->room) {
        nl_free(feed->bytes);
        feed->bytes = chrome_feed_buffer(room);
    }
    move_to(feed, from, feed->bytes, room);
}

struct nl_stream_piece chrome_feed_take_piece(struct chrome_feed *feed, const char *cut)
{
    struct nl_stream_piece piece = feed->piece;
    char *old_cut = feed->at + (cut - feed->at);
    feed->offset += (uint64_t)(cut - feed->at);
    move_to_own(feed, cut);
    feed->piece = (struct nl_stream_piece){0};
    pad(old_cut);
    return piece;
}

/* Makes the next piece the window, after the rest of this one. False when there is none, or too
 * much is left. */
static bool borrow(struct chrome_feed *feed)
{
    size_t left = (size_t)(feed->end - feed->at);
    struct nl_stream_piece piece = {0};
    if (left <= NL_STREAM_BEFORE - BEFORE)
        piece = nl_stream_lend(feed->stream);
    if (!piece.bytes)
        return false;
    char *at = piece.bytes - left;
    memcpy(at, feed->at, left);
    memset(at - BEFORE, ' ', BEFORE);
    nl_stream_return(feed->stream, &feed->piece);
    feed->piece = piece;
    feed->at = at;
    feed->end = piece.bytes + piece.len;
    pad(feed->end);
    return true;
}

void chrome_feed_shrink(struct chrome_feed *feed)
{
    if (!feed->piece.bytes && feed->room > CHROME_BLOCK &&
        (size_t)(feed->end - feed->at) <= CHROME_BLOCK)
        nl_free(chrome_feed_swap(feed, feed->at, chrome_feed_buffer(CHROME_BLOCK), CHROME_BLOCK));
}

bool chrome_feed_more(struct chrome_feed *feed, struct nl_err *err)
{
    size_t left = (size_t)(feed->end - feed->at);
    if (feed->ended || borrow(feed))
        return true;
    if (feed->piece.bytes) {
        struct nl_stream_piece piece = chrome_feed_take_piece(feed, feed->at);
        nl_stream_return(feed->stream, &piece);
    }
    if (left >= feed->room) {
        if (feed->room >= CHROME_MAX_VALUE)
            return nl_fail(err, NL_LIMIT, "one value of the JSON text is over %zu MiB",
                           CHROME_MAX_VALUE >> 20);
        char *bytes = chrome_feed_buffer(feed->room * 2), *old = feed->bytes;
        move_to(feed, feed->at, bytes, feed->room * 2);
        nl_free(old);
    } else if (feed->at > feed->bytes + BEFORE) {
        move_to(feed, feed->at, feed->bytes, feed->room);
    }
    ssize_t got = nl_stream_read(feed->stream, feed->end, feed->room - left, err);
    if (got < 0)
        return false;
    feed->ended = got == 0;
    feed->end += got;
    pad(feed->end);
    return true;
}

bool chrome_feed_peek(struct chrome_feed *feed, char *c, struct nl_err *err)
{
    for (;;) {
        char *p = feed->at;
        while (p < feed->end && (unsigned char)*p <= ' ')
            p++;
        chrome_feed_use(feed, p);
        if (p < feed->end || feed->ended) {
            *c = p < feed->end ? *p : '\0';
            return true;
        }
        if (!chrome_feed_more(feed, err))
            return false;
    }
}
