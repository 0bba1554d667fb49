/* Compressing blocks into the file they come from. */
#define _GNU_SOURCE
#include "capture/recorder/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <isa-l/crc.h>
#include <zstd.h>

#include "base/mem.h"

#define MAX_RAW ((size_t)2 << 20)
#define LEVEL   1

void pack_begin(struct pack *pack, int file, struct nl_rec_head *head)
{
    *pack = (struct pack){.file = file, .head = head};
    nl_buf_init(&pack->raw, MAX_RAW);
}

static off_t block_offset(uint64_t number)
{
    return (off_t)(NL_REC_HEAD_BYTES + number * NL_REC_BLOCK_BYTES);
}

static bool read_all(int file, char *bytes, size_t count, off_t at)
{
    while (count) {
        ssize_t got = pread(file, bytes, count, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        bytes += got;
        at += got;
        count -= (size_t)got;
    }
    return true;
}

static bool write_all(int file, const char *bytes, size_t count, off_t at)
{
    while (count) {
        ssize_t put = pwrite(file, bytes, count, at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        at += put;
        count -= (size_t)put;
    }
    return true;
}

bool pack_block(struct pack *pack, uint32_t number, struct nl_rec_block *header)
{
    static const size_t most = NL_REC_BLOCK_BYTES - sizeof *header;
    if (!read_all(pack->file, (char *)header, sizeof *header, block_offset(number)) ||
        header->magic != NL_REC_BLOCK_MAGIC || header->kind == NL_REC_PACKED ||
        header->state == NL_REC_FREE || header->used > most)
        return false;
    char *bytes = nl_alloc(most);
    bool done =
        read_all(pack->file, bytes, header->used, block_offset(number) + (off_t)sizeof *header);
    if (done) {
        nl_buf_add(&pack->raw, (const char *)header, sizeof *header);
        nl_buf_add(&pack->raw, bytes, header->used);
        nl_grow(&pack->blocks, &pack->cap, pack->count + 1);
        pack->blocks[pack->count++] = number;
    }
    nl_free(bytes);
    return done;
}

void pack_own(struct pack *pack, uint32_t kind, const char *bytes, size_t count)
{
    struct nl_rec_block header = {
        .magic = NL_REC_BLOCK_MAGIC,
        .kind = kind,
        .used = (uint32_t)count,
        .sequence = __atomic_fetch_add(&pack->head->sequence, 1, __ATOMIC_RELAXED),
        .state = NL_REC_FULL};
    nl_buf_add(&pack->raw, (const char *)&header, sizeof header);
    nl_buf_add(&pack->raw, bytes, count);
}

/* The compressed blocks go after everything else; the header last, so that a reader sees all or
 * nothing. */
static bool write_packed(struct pack *pack)
{
    size_t most = ZSTD_compressBound(pack->raw.len);
    char *bytes = nl_alloc(most);
    size_t count = ZSTD_compress(bytes, most, pack->raw.ptr, pack->raw.len, LEVEL);
    struct nl_rec_block header = {.magic = NL_REC_BLOCK_MAGIC,
                                  .kind = NL_REC_PACKED,
                                  .raw = (uint32_t)pack->raw.len,
                                  .state = NL_REC_FULL};
    bool done = !ZSTD_isError(count);
    if (done) {
        size_t whole = count + sizeof header;
        header.used = (uint32_t)count;
        header.span = (uint32_t)((whole + NL_REC_BLOCK_BYTES - 1) / NL_REC_BLOCK_BYTES);
        header.crc = crc32_gzip_refl(0, (unsigned char *)bytes, count);
        uint64_t number = __atomic_fetch_add(&pack->head->blocks, header.span, __ATOMIC_RELAXED);
        off_t at = block_offset(number);
        done = write_all(pack->file, bytes, count, at + (off_t)sizeof header) &&
               write_all(pack->file, (const char *)&header, sizeof header, at);
    }
    nl_free(bytes);
    return done;
}

/* Puts a block on the stack that the process takes from. Its memory is the process's: it is changed
 * through the file. */
static void give_back(struct pack *pack, uint32_t number)
{
    uint32_t state = NL_REC_FREE;
    off_t at = block_offset(number);
    if (!write_all(pack->file, (const char *)&state, sizeof state,
                   at + (off_t)offsetof(struct nl_rec_block, state)))
        return;
    uint64_t *stack = &pack->head->free_stack;
    uint64_t top = __atomic_load_n(stack, __ATOMIC_RELAXED), next;
    do {
        uint32_t link = (uint32_t)top;
        if (!write_all(pack->file, (const char *)&link, sizeof link,
                       at + (off_t)offsetof(struct nl_rec_block, next)))
            return;
        next = ((top >> 32) + 1) << 32 | (number + 1);
    } while (
        !__atomic_compare_exchange_n(stack, &top, next, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static void punch(struct pack *pack, uint32_t number)
{
    uint32_t state = NL_REC_FREE;
    off_t at = block_offset(number);
    (void)!write_all(pack->file, (const char *)&state, sizeof state,
                     at + (off_t)offsetof(struct nl_rec_block, state));
    (void)fallocate(pack->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, NL_REC_BLOCK_BYTES);
}

void pack_write(struct pack *pack, size_t least, enum pack_back back)
{
    if (!pack->raw.len || pack->raw.len < least)
        return;
    bool done = !pack->raw.overflow && write_packed(pack);
    if (!done) {
        pack->failed += pack->count;
        __atomic_fetch_add(&pack->head->spill_errors, pack->count, __ATOMIC_RELAXED);
    } else {
        pack->packed += pack->count;
    }
    for (size_t i = 0; i < pack->count && done; i++)
        (back == PACK_PUNCH ? punch : give_back)(pack, pack->blocks[i]);
    pack->count = 0;
    nl_buf_clear(&pack->raw);
}

void pack_end(struct pack *pack)
{
    nl_free(pack->blocks);
    nl_buf_release(&pack->raw);
    *pack = (struct pack){.file = -1};
}
