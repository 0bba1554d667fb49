/*
 * archivetaken — what is taken out of an archive, as text: each file as "name=content;" or with its
 * size, then what is counted as left out.
 */
#ifndef ARCHIVETAKEN_H
#define ARCHIVETAKEN_H

#include <stdio.h>
#include <unistd.h>

#include "ingest/archive.h"

struct taken {
    struct nl_buf said;
};

static inline bool taken_member(struct nl_unpack *unpack, struct nl_str name, int fd,
                                struct nl_err *err)
{
    struct taken *taken = unpack->context;
    char bytes[100] = "";
    off_t len = lseek(fd, 0, SEEK_END);
    (void)err;
    if (pread(fd, bytes, 20, 0) < 0)
        bytes[0] = '?';
    nl_buf_format(&taken->said, "%.*s=", (int)name.len, name.ptr);
    if (len < 20)
        nl_buf_text(&taken->said, bytes);
    else
        nl_buf_format(&taken->said, "%d", (int)len);
    nl_buf_char(&taken->said, ';');
    close(fd);
    return true;
}

/* `packed`: bytes of the archive; `only`: the file that is wanted, NULL all. */
static inline void taken_begin(struct taken *taken, struct nl_unpack *unpack, struct nl_job *job,
                               size_t packed, const char *only)
{
    nl_buf_init(&taken->said, 100000);
    *unpack = (struct nl_unpack){.member = taken_member,
                                 .context = taken,
                                 .only = only,
                                 .job = job,
                                 .packed = packed,
                                 .room = 1 << 30};
}

static inline void taken_end(struct taken *taken, const struct nl_archive_told *told)
{
    const struct {
        const char *what;
        int64_t count;
    } left[] = {{"others", told->others},   {"locked", told->locked}, {"unpacked", told->unpacked},
                {"damaged", told->damaged}, {"cut", told->cut},       {"deep", told->deep}};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        if (left[i].count)
            nl_buf_format(&taken->said, " %s %d", left[i].what, (int)left[i].count);
    nl_buf_char(&taken->said, '\0');
}

#endif
