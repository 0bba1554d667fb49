/* The window: one buffer, filled in large reads. */
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
    *feed = (struct chrome_feed){.stream = stream, .room = CHROME_FIRST};
    feed->bytes = chrome_feed_buffer(feed->room);
    feed->at = feed->end = feed->bytes + BEFORE;
    pad(feed->end);
}

void chrome_feed_release(struct chrome_feed *feed)
{
    nl_free(feed->bytes);
    feed->bytes = NULL;
}

void chrome_feed_use(struct chrome_feed *feed, const char *to)
{
    feed->offset += (uint64_t)(to - feed->at);
    feed->at += to - feed->at;
}

/* Unused bytes to the front of a buffer that has room for them. */
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

void chrome_feed_shrink(struct chrome_feed *feed)
{
    if (feed->room > CHROME_BLOCK && (size_t)(feed->end - feed->at) <= CHROME_BLOCK)
        nl_free(chrome_feed_swap(feed, feed->at, chrome_feed_buffer(CHROME_BLOCK), CHROME_BLOCK));
}

bool chrome_feed_more(struct chrome_feed *feed, struct nl_err *err)
{
    size_t left = (size_t)(feed->end - feed->at);
    if (feed->ended)
        return true;
    if (left >= feed->room) {
        if (feed->room >= CHROME_MOST)
            return nl_fail(err, NL_LIMIT, "one value of the JSON text is over %zu MiB",
                           CHROME_MOST >> 20);
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
