/*
 * file — reads whole files through mmap, and writes files so that no reader sees half of one.
 */
#ifndef NL_FILE_H
#define NL_FILE_H

#include <stdio.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A read-only mapping of a regular file. An empty file gives bytes == NULL, size == 0. */
struct nl_map {
    const unsigned char *bytes;
    size_t size;
};

/* Fails with NL_IO (missing, no permission, a directory, not regular), naming path and reason. */
NL_MUST_CHECK bool nl_map_open(struct nl_map *map, const char *path, struct nl_err *err);
void nl_map_close(struct nl_map *map);
/* Bytes `from` up to `to`, multiples of 64 KiB, are not needed for now: they leave this program's
 * memory until they are read again. */
void nl_map_forget(const struct nl_map *map, size_t from, size_t to);

/*
 * Atomic replacement: write to nl_out.stream, then nl_out_commit (fsync-free rename over path) or
 * nl_out_abort (removes the temporary). The temporary is next to the target. The new file keeps the
 * permissions of the one it replaces (and its owner if allowed).
 */
struct nl_out {
    FILE *stream;
    char *path, *temporary;
};
NL_MUST_CHECK bool nl_out_open(struct nl_out *out, const char *path, struct nl_err *err);
/* The same for what is the user's alone: mode 0600, whatever the umask and the old file. */
NL_MUST_CHECK bool nl_out_open_private(struct nl_out *out, const char *path, struct nl_err *err);
NL_MUST_CHECK bool nl_out_commit(struct nl_out *out, struct nl_err *err);
void nl_out_abort(struct nl_out *out);

/* All bytes, however many calls it takes; false with errno. */
NL_MUST_CHECK bool nl_write_all(int fd, const char *bytes, size_t len);

/* May this text be the name of one file in a folder? Neither empty nor "." or "..", no slash, at
 * most 255 bytes. Names that come from a database or an archive must be asked. NULL is none. */
bool nl_file_is_name(const char *name);

/* mkdir -p with mode 0700 for what it makes. */
NL_MUST_CHECK bool nl_make_folders(const char *path, struct nl_err *err);

/* The same; folders that it makes are there after a loss of power, too. */
NL_MUST_CHECK bool nl_make_folders_lasting(const char *path, struct nl_err *err);

/* Identity of a file's content without reading all of it: hash of size, mtime and the first and
 * last MiB. Used as the key of the import cache. */
struct nl_fingerprint {
    uint64_t size, mtime_ns, hash;
};
NL_MUST_CHECK bool nl_fingerprint_file(struct nl_fingerprint *print, const char *path,
                                       struct nl_err *err);

#endif
