/*
 * textlines — the lines of a text in order, whatever its encoding and line ends.
 *
 *     struct textlines lines;
 *     textlines_init(&lines, stream);
 *     while (textlines_next(&lines, &line, err)) ...       // a view, valid until the next call
 *     if (lines.failed) return false;                      // err is filled
 *     textlines_release(&lines);
 *
 * LF, CRLF and lone CR at a line's end are taken off, a final line needs no end. A byte order mark
 * decides between UTF-8 and UTF-16, which comes out as UTF-8. Memory is the longest line; lines of
 * up to TEXTLINES_LONGEST are given, those of twice as much and more are left out and counted.
 */
#ifndef TEXTLINES_H
#define TEXTLINES_H

#include "base/str.h"
#include "base/stream.h"

#define TEXTLINES_LONGEST ((size_t)4 << 20)

enum textlines_encoding { TEXTLINES_UTF8, TEXTLINES_UTF16_LE, TEXTLINES_UTF16_BE };

struct textlines {
    struct nl_stream *stream; /* borrowed */
    char *buffer;
    size_t cap, at, len;
    unsigned char *raw; /* UTF-16 before it is turned */
    size_t raw_len;
    enum textlines_encoding encoding;
    bool begun, ended, failed;
    bool skipping; /* inside the rest of a line that is too long */
    uint64_t count, cut;
};

void textlines_init(struct textlines *lines, struct nl_stream *stream);
void textlines_release(struct textlines *lines);

/* False at the end, or when reading failed. */
NL_MUST_CHECK bool textlines_next(struct textlines *lines, struct nl_str *line, struct nl_err *err);

/* The start of a text as UTF-8, for recognising it: `head` itself, or turned into `room` (at least
 * len bytes; characters outside ASCII become '?'). */
struct nl_str textlines_head(const unsigned char *head, size_t len, char *room);

/* What blanks part in a line, at most `most` words of it; how many. */
int textlines_words(struct nl_str line, struct nl_str *words, int most);

/* Takes the first line off `text`; false when nothing is left. */
bool textlines_split(struct nl_str *text, struct nl_str *line);

#endif
