/*
 * Maps or inflates an input. Memory grows by doubling; half of the job's budget is the ceiling,
 * since what is staged needs the other half.
 */
#include "ingest/lib/wholefile.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/stream.h"
#include "base/units.h"

#define FIRST_ROOM     ((size_t)4 << 20)
#define PASSED_AT_ONCE ((size_t)2 << 20)
#define PASSED_UNIT    ((size_t)64 << 10)  /* whole pages, whatever their size */
#define MAX_UNKNOWN    ((uint64_t)8 << 30) /* ceiling when the job has no budget */

static bool make_room(struct whole_file *file, const struct nl_job *job, struct nl_err *err)
{
    uint64_t most = job && job->memory_bytes ? job->memory_bytes / 2 : MAX_UNKNOWN;
    size_t room = file->room ? file->room * 2 : FIRST_ROOM;
    if (room > most)
        room = (size_t)most & ~(size_t)4095;
    if (room <= file->room) {
        char text[NL_UNIT_TEXT];
        return nl_fail(err, NL_LIMIT,
                       "more than %s when decompressed; decompress it to a file or raise --memory",
                       nl_format_bytes(text, most));
    }
    file->pages = nl_pages_grow(file->pages, file->room, room);
    file->room = room;
    return true;
}

static bool inflate(struct whole_file *file, struct nl_stream *stream, struct nl_job *job,
                    struct nl_err *err)
{
    for (;;) {
        if (nl_job_cancelled(job))
            return nl_fail(err, NL_INTERRUPTED, "interrupted");
        if (file->size == file->room && !make_room(file, job, err))
            return false;
        size_t want = file->room - file->size;
        ssize_t got = nl_stream_read(stream, (char *)file->pages + file->size,
                                     want < FIRST_ROOM ? want : FIRST_ROOM, err);
        if (got < 0)
            return false;
        if (got == 0)
            break;
        file->size += (size_t)got;
    }
    const char *damage = nl_stream_damage(stream);
    file->cut = damage != NULL;
    if (damage)
        (void)snprintf(file->damage, sizeof file->damage, "%s", damage);
    file->bytes = file->pages;
    return true;
}

bool whole_file_open(struct whole_file *file, const struct nl_input *input, struct nl_job *job,
                     struct nl_err *err)
{
    *file = (struct whole_file){0};
    bool plain = !input->encoding || strcmp(input->encoding, "plain") == 0;
    if (plain && strcmp(input->path, "-") != 0) {
        if (!nl_map_open(&file->map, input->path, err))
            return false;
        file->bytes = file->map.bytes;
        file->size = file->map.size;
        nl_job_phase(job, "reading", file->size);
        return true;
    }
    struct nl_stream *stream = nl_stream_open(input->path, job, err);
    if (!stream)
        return false;
    bool done = inflate(file, stream, job, err);
    nl_stream_close(stream);
    if (!done)
        whole_file_close(file);
    return done;
}

void whole_file_close(struct whole_file *file)
{
    if (file->map.bytes)
        nl_map_close(&file->map);
    nl_pages_free(file->pages, file->room);
    *file = (struct whole_file){0};
}

void whole_file_passed(const struct whole_file *file, const void **mark, const void *at)
{
    if (!file->map.bytes || (uintptr_t)at < (uintptr_t)*mark + PASSED_AT_ONCE)
        return;
    size_t from = (size_t)((const unsigned char *)*mark - file->bytes);
    size_t to = (size_t)((const unsigned char *)at - file->bytes);
    from += (PASSED_UNIT - from % PASSED_UNIT) % PASSED_UNIT;
    to -= to % PASSED_UNIT;
    nl_map_forget(&file->map, from, to);
    *mark = file->bytes + to;
}
