/*
 * meet — a file looked at for the first time: its first bytes, decompressed, and the format whose
 * sniff is surest of them. Private to the room.
 */
#ifndef NL_MEET_H
#define NL_MEET_H

#include "ingest/ingest.h"

/* Fills *input; `head` has room for NL_SNIFF_BYTES and must live as long. NULL with err when the
 * file cannot be read, is empty, or is of no known format. */
const struct nl_format *nl_meet(struct nl_input *input, const struct nl_path *path,
                                unsigned char *head, struct nl_err *err);

/* What to call the file in messages: copies of standard input, of pipes and of members of archives
 * have no path. */
const char *nl_meet_place(const char *where, const char *name);

#endif
