/*
 * Any bytes as an archive: what is unpacked stays within the bounds, and a refusal has a reason.
 * Members are looked at by nobody here; readers have fuzzers of their own. The bytes are also a
 * file alone, plain or of gzip or zstd: read by a thread and in one piece they give the same.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/stream.h"
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

#define MAX_READ ((uint64_t)64 << 20)

/* What a stream gives: how much, and a sum of it. Takes the stream. */
static uint64_t sum_of(struct nl_stream *stream, uint64_t *sum)
{
    static unsigned char buffer[1 << 16];
    struct nl_err err;
    uint64_t total = 0;
    ssize_t count;
    *sum = 0;
    nl_err_clear(&err);
    while (total < MAX_READ && (count = nl_stream_read(stream, buffer, sizeof buffer, &err)) > 0) {
        for (ssize_t i = 0; i < count; i++)
            *sum = *sum * 31 + buffer[i];
        total += (uint64_t)count;
    }
    if (total < MAX_READ && count < 0 && (err.code == NL_OK || !err.text[0]))
        abort();
    nl_stream_close(stream);
    return total;
}

static void read_both_ways(const char *path, const uint8_t *data, size_t size)
{
    struct nl_err err;
    uint64_t sums[2], totals[2];
    nl_err_clear(&err);
    struct nl_stream *file = nl_stream_open(path, NULL, &err);
    struct nl_stream *memory = nl_stream_memory(data, size, &err);
    if (!file || !memory)
        abort();
    totals[0] = sum_of(file, &sums[0]);
    totals[1] = sum_of(memory, &sums[1]);
    if (totals[0] != totals[1] || (totals[0] < MAX_READ && sums[0] != sums[1]))
        abort();
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
    if (getenv("FUZZ_DEEP"))
        read_both_ways(path, data, size);
    close(file);
    return 0;
}
