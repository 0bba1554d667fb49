/* A file's first bytes, and which format they are surest of. */
#define _GNU_SOURCE
#include "ingest/meet.h"

#include <string.h>

#include "base/mem.h"
#include "base/stream.h"

const char *nl_meet_place(const char *where, const char *name)
{
    return strncmp(where, "/proc/self/fd/", 14) == 0 ? name : where;
}

/* Reads the first bytes, decompressed, and fills an nl_input. */
static bool read_head(struct nl_input *input, const struct nl_path *from, unsigned char *head,
                      struct nl_err *err)
{
    const char *path = from->path, *place = nl_meet_place(from->where, from->name);
    nl_err_at(err, place, -1);
    struct nl_stream *stream = nl_stream_open(path, NULL, err);
    if (!stream)
        return false;
    ssize_t got = nl_stream_read(stream, head, NL_SNIFF_BYTES, err);
    *input = (struct nl_input){.path = path,
                               .where = from->where,
                               .name = from->name,
                               .place = place,
                               .encoding = nl_stream_encoding(stream),
                               .head = head,
                               .head_len = got > 0 ? (size_t)got : 0,
                               .rank = nl_rank_in_name(from->name)};
    const char *damage = nl_stream_damage(stream); /* a constant text */
    nl_stream_close(stream);
    if (got > 0 || got < 0)
        return got > 0;
    nl_err_at(err, place, 0);
    if (damage)
        return nl_fail(err, NL_FORMAT, "it cannot be unpacked: %s; fetch it again", damage);
    return nl_fail(err, NL_FORMAT, "the file is empty");
}

/* Well-known file types that no reader takes, with advice for each. */
static const struct stranger {
    size_t offset, length;
    const char *bytes, *what, *advice;
} strangers[] = {
#define NL_STRANGER(offset, bytes, what, advice) {offset, sizeof bytes - 1, bytes, what, advice},
#include "ingest/strangers.def"
#undef NL_STRANGER
};

static const struct stranger *stranger_at(const unsigned char *head, size_t len)
{
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        const struct stranger *it = &strangers[i];
        if (len >= it->offset + it->length && memcmp(head + it->offset, it->bytes, it->length) == 0)
            return it;
    }
    return NULL;
}

/* Skips leading '#' comment lines before matching. */
static const struct stranger *stranger_of(const struct nl_input *input)
{
    const unsigned char *at = input->head, *end = at + input->head_len;
    const struct stranger *found = stranger_at(at, input->head_len);
    while (!found && at < end && (*at == '#' || *at == '\n')) {
        const unsigned char *line = memchr(at, '\n', (size_t)(end - at));
        at = line ? line + 1 : end;
        found = stranger_at(at, (size_t)(end - at));
    }
    return found;
}

static const struct nl_format *recognise(const struct nl_input *input, struct nl_err *err)
{
    const struct nl_format *best = NULL, *nearest = NULL;
    const char *reason = NULL;
    int best_score = 50, nearest_score = -1;
    for (size_t i = 0; nl_formats[i]; i++) {
        const char *why = NULL;
        int score = nl_formats[i]->sniff(input, &why);
        if (score > best_score) {
            best = nl_formats[i];
            best_score = score;
        } else if (why && score > nearest_score) {
            nearest_score = score;
            nearest = nl_formats[i];
            reason = why;
        }
    }
    if (best)
        return best;
    nl_err_at(err, input->place, 0);
    const struct stranger *stranger = stranger_of(input);
    if (stranger)
        (void)nl_fail(err, NL_FORMAT, "not a profile: this is %s; %s", stranger->what,
                      stranger->advice);
    else if (reason)
        (void)nl_fail(err, NL_FORMAT, "unknown format; the nearest is %s, but this is %s",
                      nearest->title, reason);
    else
        (void)nl_fail(err, NL_FORMAT,
                      "unknown format; `neurolens help inputs` lists the supported ones");
    return NULL;
}

const struct nl_format *nl_meet(struct nl_input *input, const struct nl_path *path,
                                unsigned char *head, struct nl_err *err)
{
    if (!read_head(input, path, head, err) || !nl_file_size(path->path, &input->bytes, err))
        return NULL;
    return recognise(input, err);
}
