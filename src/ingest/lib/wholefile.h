/*
 * wholefile — all bytes of an input at once, for formats whose parts refer backwards and forwards:
 * what those whose row says NL_FEED_WHOLE get as reading->file.
 *
 * A plain file is mapped (its pages cost nothing that cannot be taken back); a compressed one is
 * inflated into memory, up to a part of the job's memory budget.
 */
#ifndef NL_WHOLEFILE_H
#define NL_WHOLEFILE_H

#include "base/file.h"
#include "ingest/ingest.h"

struct whole_file {
    const unsigned char *bytes;
    size_t size;
    bool cut; /* the compressed data ended early; why: */
    char damage[120];
    struct nl_map map;
    void *pages;
    size_t room;
};

/* Fails when the file cannot be read (NL_IO, NL_FORMAT), is larger than the budget allows once it
 * is inflated (NL_LIMIT), or the job was cancelled (NL_INTERRUPTED). */
NL_MUST_CHECK bool whole_file_open(struct whole_file *file, const struct nl_input *input,
                                   struct nl_job *job, struct nl_err *err);
void whole_file_close(struct whole_file *file);

/* Bytes from *mark up to `at` were read and will hardly be needed again: of a mapped file it no
 * longer counts as this program's memory. It may still be read, and is fetched again then. Moves
 * *mark, which begins where the reader of this part of the file does. Cheap to call often. */
void whole_file_passed(const struct whole_file *file, const void **mark, const void *at);

#endif
