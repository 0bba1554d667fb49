/*
 * Any bytes as an archive: what is unpacked stays within the bounds, and a refusal has a reason. Members
 * are looked at by nobody here; readers have fuzzers of their own.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ingest/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool member(struct nl_unpack *unpack, struct nl_str name, int fd, struct nl_err *err)
{
    struct stat info;
    (void)err;
    if (fstat(fd, &info) != 0 || (uint64_t)info.st_size > unpack->bytes || name.len > 65535)
        abort();
    close(fd);
    ++*(size_t *)unpack->context;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct nl_err err;
    size_t count = 0;
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    nl_err_clear(&err);
    struct nl_unpack unpack = {.member = member, .context = &count};
    if (!nl_archive_unpack(&unpack, path, &err) && (err.code == NL_OK || !err.text[0]))
        abort(); /* refused without a reason */
    if (count > unpack.members || unpack.members > NL_ARCHIVE_MEMBERS + 1)
        abort();
    close(file);
    return 0;
}
