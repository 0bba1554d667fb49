/*
 * Any bytes as a .nlt file: opening refuses them or gives a trace that answers all that is asked
 * of it (answers.h).
 *
 * An input that begins with 'P' is a list of patches {offset, value} for a sound small file, whose
 * checksums are then made right again: so the checks behind the checksums are reached as well.
 */
#define _GNU_SOURCE
#include <isa-l/crc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../tests/unit/fabricate.h"

#include "answers.h"
#include "base/file.h"
#include "store/tracefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file = -1;
static char path[64];
static unsigned char *sound, *patched;
static size_t sound_size;

static void prepare(void)
{
    struct nl_err err;
    struct nl_map map;
    file = memfd_create("trace", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    char saved[] = "/tmp/neurolens-fuzz-XXXXXX";
    int fd = mkstemp(saved);
    nl_err_clear(&err);
    struct nl_trace *trace = fabricate(2, 40, 1, NULL, &err);
    if (fd < 0 || !trace || !nl_trace_save(trace, saved, &err) || !nl_map_open(&map, saved, &err))
        abort();
    sound_size = map.size;
    sound = malloc(sound_size);
    patched = malloc(sound_size);
    memcpy(sound, map.bytes, sound_size);
    nl_map_close(&map);
    nl_trace_free(trace);
    close(fd);
    unlink(saved);
}

static uint32_t crc(const unsigned char *bytes, size_t len)
{
    return ~crc32_iscsi((unsigned char *)(uintptr_t)bytes, (int)len, 0xffffffffu);
}

/* The places of the header that hold checksums (tracefile.h describes the layout). */
static void right_checksums(unsigned char *bytes, size_t size)
{
    uint64_t contents;
    uint32_t chunks, sum;
    memcpy(&contents, bytes + 24, 8);
    memcpy(&chunks, bytes + 32, 4);
    if (contents <= size && chunks <= (size - contents) / 32) {
        sum = crc(bytes + contents, (size_t)chunks * 32);
        memcpy(bytes + 36, &sum, 4);
    }
    sum = crc(bytes, 40);
    memcpy(bytes + 40, &sum, 4);
}

static size_t patch(const uint8_t *data, size_t size)
{
    memcpy(patched, sound, sound_size);
    size_t end = sound_size;
    for (; size >= 6; data += 6, size -= 6) {
        uint16_t at;
        memcpy(&at, data, 2);
        size_t offset = (size_t)at * 4 % sound_size;
        if (offset + 4 <= sound_size)
            memcpy(patched + offset, data + 2, 4);
    }
    if (size == 2)
        end -= data[0] * 16u % sound_size;
    if (end >= 64)
        right_checksums(patched, end);
    return end;
}

static volatile uint64_t sink;

/* Follows what a reader follows. */
static void walk(const struct nl_trace *t)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->slice.rows; i++) {
        sum += nl_trace_name(t, t->slice.name[i]).len + (uint64_t)nl_slice_end(t, i);
        sum += (uint64_t)nl_slice_rank(t, i);
        for (uint32_t up = i; up != NL_NULL_ROW; up = t->slice.parent[up])
            sum++;
    }
    for (uint32_t l = 0; l < t->lane.rows; l++)
        sum += nl_lane_slice_at(t, &(struct nl_lane_cursor){0}, l, t->first_ts + 500);
    for (unsigned c = 0; c < nl_column_count; c++) {
        const struct nl_column_def *column = &nl_columns[c];
        uint32_t rows = nl_trace_rows(t, column->table);
        if (column->hop != NL_HOP_NONE || column->type != NL_TYPE_NAME)
            continue;
        const uint32_t *names = nl_trace_column(t, column);
        for (uint32_t i = 0; i < rows; i++)
            sum += nl_hash(nl_trace_name(t, names[i]).ptr, nl_trace_name(t, names[i]).len);
    }
    sink += sum + nl_trace_bytes(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (file < 0)
        prepare();
    const uint8_t *bytes = data;
    size_t len = size;
    if (size && data[0] == 'P') {
        len = patch(data + 1, size - 1);
        bytes = patched;
    }
    if (ftruncate(file, 0) != 0 || pwrite(file, bytes, len, 0) != (ssize_t)len)
        return 0;
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_trace *trace = nl_trace_open(path, size & 1, 1, &err);
    if (trace) {
        walk(trace);
        answers_ask(trace, answers_variant(data, size));
        nl_trace_free(trace);
    } else if (err.code != NL_FORMAT && err.code != NL_IO) {
        abort();
    }
    return 0;
}
