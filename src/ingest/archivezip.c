/*
 * ZIP: a directory at the end names the files and where they begin; each is stored as it is
 * or deflated (ISA-L inflates). Sizes beyond 4 GiB stand in the ZIP64 fields. Source:
 * PKWARE's APPNOTE 6.3.10.
 */
#include "ingest/archive.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <string.h>

#include "base/mem.h"

#define END_SIZE   22u
#define END_FAR    65557u /* the furthest that it is from the file's end */
#define ENTRY_SIZE 46u
#define LOCAL_SIZE 30u
#define STEP       65536u

struct zip {
    struct nl_unpack *unpack;
    const unsigned char *bytes;
    size_t size;
    unsigned char *buffer;
};

struct entry {
    struct nl_str name;
    unsigned flags, method;
    uint32_t crc;
    uint64_t packed, size, local;
};

static uint64_t little(const unsigned char *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

/* ---- The directory ---- */

static const unsigned char *find_end(const struct zip *zip)
{
    size_t least = zip->size > END_FAR ? zip->size - END_FAR : 0;
    for (size_t at = zip->size < END_SIZE ? 0 : zip->size - END_SIZE + 1; at-- > least;)
        if (memcmp(zip->bytes + at, "PK\5\6", 4) == 0)
            return zip->bytes + at;
    return NULL;
}

/* Where the directory begins and how many entries it has. */
static bool find_directory(const struct zip *zip, uint64_t *at, uint64_t *count)
{
    const unsigned char *end = find_end(zip);
    if (!end)
        return false;
    *count = little(end + 10, 2);
    *at = little(end + 16, 4);
    size_t before = (size_t)(end - zip->bytes);
    if (before >= 20 && memcmp(end - 20, "PK\6\7", 4) == 0) {
        uint64_t far = little(end - 20 + 8, 8);
        if (zip->size < 56 || far > zip->size - 56 || memcmp(zip->bytes + far, "PK\6\6", 4) != 0)
            return false;
        *count = little(zip->bytes + far + 32, 8);
        *at = little(zip->bytes + far + 48, 8);
    }
    return *at <= zip->size;
}

/* The values of ZIP64 stand in this order, only those whose field is full. */
static void take_wide(struct entry *entry, const unsigned char *extra, size_t len)
{
    uint64_t *const fields[] = {&entry->size, &entry->packed, &entry->local};
    while (len >= 4) {
        size_t size = (size_t)little(extra + 2, 2);
        if (size > len - 4)
            return;
        const unsigned char *at = extra + 4, *end = at + size;
        for (size_t i = 0; little(extra, 2) == 1 && i < 3; i++)
            if (*fields[i] == UINT32_MAX && end - at >= 8) {
                *fields[i] = little(at, 8);
                at += 8;
            }
        len -= size + 4;
        extra = end;
    }
}

/* The entry at *at, which moves past it; false: there is none. */
static bool take_entry(const struct zip *zip, uint64_t *at, struct entry *entry)
{
    if (zip->size < ENTRY_SIZE || *at > zip->size - ENTRY_SIZE)
        return false;
    const unsigned char *head = zip->bytes + *at;
    size_t name = (size_t)little(head + 28, 2), extra = (size_t)little(head + 30, 2);
    size_t whole = ENTRY_SIZE + name + extra + (size_t)little(head + 32, 2);
    if (memcmp(head, "PK\1\2", 4) != 0 || whole > zip->size - *at)
        return false;
    *entry = (struct entry){.name = {(const char *)head + ENTRY_SIZE, name},
                            .flags = (unsigned)little(head + 8, 2),
                            .method = (unsigned)little(head + 10, 2),
                            .crc = (uint32_t)little(head + 16, 4),
                            .packed = little(head + 20, 4),
                            .size = little(head + 24, 4),
                            .local = little(head + 42, 4)};
    const char *stop = memchr(entry->name.ptr, 0, name);
    if (stop)
        entry->name.len = (size_t)(stop - entry->name.ptr);
    take_wide(entry, head + ENTRY_SIZE + name, extra);
    *at += whole;
    return true;
}

/* ---- Files ---- */

/* Bytes of a file as they are packed; NULL: they are not within the archive. */
static const unsigned char *packed_at(const struct zip *zip, const struct entry *entry)
{
    if (zip->size < LOCAL_SIZE || entry->local > zip->size - LOCAL_SIZE)
        return NULL;
    const unsigned char *head = zip->bytes + entry->local;
    uint64_t start = entry->local + LOCAL_SIZE + little(head + 26, 2) + little(head + 28, 2);
    if (memcmp(head, "PK\3\4", 4) != 0 || start > zip->size || entry->packed > zip->size - start)
        return NULL;
    return zip->bytes + start;
}

static bool copy_stored(const struct zip *zip, const unsigned char *from, const struct entry *entry,
                        struct nl_archive_out *out, uint32_t *crc, struct nl_err *err)
{
    (void)zip;
    for (uint64_t at = 0; at < entry->packed;) {
        size_t len = entry->packed - at < STEP ? (size_t)(entry->packed - at) : STEP;
        *crc = crc32_gzip_refl(*crc, from + at, len);
        if (!nl_archive_write(out, from + at, len, err))
            return false;
        at += len;
    }
    return true;
}

/* *whole: the stream ended where it should. */
static bool copy_deflated(const struct zip *zip, const unsigned char *from,
                          const struct entry *entry, struct nl_archive_out *out, uint32_t *crc,
                          bool *whole, struct nl_err *err)
{
    struct inflate_state *state = nl_alloc(sizeof *state);
    uint64_t left = entry->packed;
    bool done = true;
    isal_inflate_init(state);
    state->next_in = (unsigned char *)(uintptr_t)from;
    *whole = false;
    for (;;) {
        if (state->avail_in == 0 && left > 0) {
            state->avail_in = left < (uint64_t)1 << 30 ? (uint32_t)left : (uint32_t)1 << 30;
            left -= state->avail_in;
        }
        state->next_out = zip->buffer;
        state->avail_out = STEP;
        int status = isal_inflate(state);
        size_t made = STEP - state->avail_out;
        if (made)
            *crc = crc32_gzip_refl(*crc, zip->buffer, made);
        done = nl_archive_write(out, zip->buffer, made, err);
        *whole = state->block_state == ISAL_BLOCK_FINISH;
        if (!done || status != ISAL_DECOMP_OK || *whole ||
            (made == 0 && state->avail_in == 0 && left == 0))
            break;
    }
    nl_free(state);
    return done;
}

static bool copy_file(const struct zip *zip, const struct entry *entry, struct nl_archive_out *out,
                      struct nl_err *err)
{
    const unsigned char *from = packed_at(zip, entry);
    uint32_t crc = 0;
    bool whole = from != NULL, done = true;
    if (from && entry->method == 0)
        done = copy_stored(zip, from, entry, out, &crc, err);
    else if (from)
        done = copy_deflated(zip, from, entry, out, &crc, &whole, err);
    if (done && (!whole || crc != entry->crc))
        zip->unpack->told.damaged++;
    return done;
}

static bool take_file(const struct zip *zip, const struct entry *entry, struct nl_err *err)
{
    struct nl_archive_out out;
    bool folder = entry->name.len == 0 || entry->name.ptr[entry->name.len - 1] == '/';
    if (folder)
        return true;
    if (entry->flags & 1) {
        zip->unpack->told.locked++;
        return true;
    }
    if (entry->method != 0 && entry->method != 8) {
        zip->unpack->told.unpacked++;
        return true;
    }
    if (!nl_archive_begin(&out, zip->unpack, entry->name, err))
        return false;
    if (out.fd < 0)
        return true;
    if (copy_file(zip, entry, &out, err))
        return nl_archive_end(&out, err);
    nl_archive_drop(&out);
    return false;
}

bool nl_archive_zip(struct nl_unpack *unpack, const unsigned char *bytes, size_t size,
                    struct nl_err *err)
{
    struct zip zip = {.unpack = unpack, .bytes = bytes, .size = size};
    uint64_t at, count, taken = 0;
    struct entry entry;
    if (!find_directory(&zip, &at, &count))
        return nl_fail(
            err, NL_FORMAT,
            "a ZIP archive without the directory at its end: it was cut; fetch it again");
    bool done = true;
    zip.buffer = nl_alloc(STEP);
    while (done && taken < count && take_entry(&zip, &at, &entry)) {
        done = take_file(&zip, &entry, err);
        taken++;
    }
    if (done && taken < count)
        unpack->told.cut++;
    nl_free(zip.buffer);
    return done;
}
