/* Whole files: what was passed leaves memory, and is there all the same. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "check.h"
#include "ingest/lib/wholefile.h"

#define PART ((size_t)1 << 20)
#define SIZE (9 * PART)

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 31 ^ i >> 12);
}

/* Pages of the first `size` bytes that this process has mapped in; read from its own table, since
 * mincore tells of the page cache. */
static size_t present(const unsigned char *bytes, size_t size)
{
    size_t count = 0;
    uint64_t entry;
    FILE *pages = fopen("/proc/self/pagemap", "rb");
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < size && pages; at += page) {
        long place = (long)(((uintptr_t)bytes + at) / page * sizeof entry);
        if (fseek(pages, place, SEEK_SET) == 0 && fread(&entry, sizeof entry, 1, pages) == 1)
            count += entry >> 63;
    }
    if (pages)
        fclose(pages);
    return count;
}

static void what_was_passed_can_be_read_again(void)
{
    char path[] = "/tmp/nl-wholefile-XXXXXX";
    int fd = mkstemp(path);
    unsigned char *bytes = nl_alloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = byte_at(i);
    CHECK(fd >= 0 && write(fd, bytes, SIZE) == (ssize_t)SIZE);
    close(fd);
    struct nl_input input = {.path = path, .encoding = "plain"};
    struct nl_job job = {0};
    struct nl_err err = {0};
    struct whole_file file;
    CHECK(whole_file_open(&file, &input, &job, &err));
    CHECK(file.size == SIZE && memcmp(file.bytes, bytes, SIZE) == 0);
    CHECK(present(file.bytes, 4 * PART) > 0);
    const void *mark = file.bytes + 100;
    whole_file_passed(&file, &mark, file.bytes + 200);
    CHECK(mark == file.bytes + 100); /* not worth it yet */
    whole_file_passed(&file, &mark, file.bytes + 4 * PART + 100);
    CHECK(mark == file.bytes + 4 * PART);
    CHECK(present(file.bytes + PART, 3 * PART) == 0);
    whole_file_passed(&file, &mark, file.bytes + 4 * PART); /* back a little, and again */
    CHECK(mark == file.bytes + 4 * PART);
    CHECK(memcmp(file.bytes, bytes, SIZE) == 0);
    whole_file_close(&file);
    nl_free(bytes);
    unlink(path);
}

CHECK_MAIN("wholefile", {"what was passed can be read again", what_was_passed_can_be_read_again})
