/*
 * tar: blocks of 512 bytes, a head with its sum per file, then its bytes. Names that do not fit in
 * a head come before it: "L" of GNU, "path" and "size" of POSIX ("x").
 */
#include "ingest/archive.h"

#include <string.h>

#include "base/mem.h"
#include "base/units.h"

#define BLOCK    512u
#define MAX_NAME 4096u
#define MAX_META ((uint64_t)1 << 20) /* of "L" and "x" */
#define STEP     65536u

/* Fields of a head (POSIX ustar): where they begin, and their bytes. */
#define NAME_BYTES   100
#define SIZE_AT      124
#define SIZE_BYTES   12
#define SUM_AT       148
#define SUM_BYTES    8
#define TYPE_AT      156
#define MAGIC_AT     257
#define PREFIX_AT    345
#define PREFIX_BYTES 155

struct tar {
    struct nl_unpack *unpack;
    struct nl_stream *stream;
    char name[MAX_NAME + 1]; /* for the next file, "" = as its head says */
    int64_t size;            /* likewise; -1 */
    unsigned char *buffer;
};

/* Octal digits, or base 256 after a set first bit. */
static bool number(const unsigned char *field, size_t len, uint64_t *value)
{
    *value = 0;
    if (field[0] & 0x80) {
        for (size_t i = 1; i < len; i++) {
            if (*value >> 55)
                return false;
            *value = *value << 8 | field[i];
        }
        return true;
    }
    size_t at = 0;
    while (at < len && field[at] == ' ')
        at++;
    for (; at < len && field[at] >= '0' && field[at] <= '7'; at++)
        *value = *value << 3 | (uint64_t)(field[at] - '0');
    return at == len || field[at] == ' ' || field[at] == 0;
}

bool nl_archive_is_tar(const unsigned char *block)
{
    uint64_t told, sum = 0;
    if (!block[0] || !number(block + SUM_AT, SUM_BYTES, &told))
        return false;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + SUM_BYTES ? ' ' : block[i];
    return sum == told;
}

/* Whether all of it was there. */
static bool read_all(struct tar *tar, void *bytes, size_t len, struct nl_err *err)
{
    size_t at = 0;
    while (at < len) {
        ssize_t got = nl_stream_read(tar->stream, (char *)bytes + at, len - at, err);
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

/* Names beyond what is kept are cut. */
static void take_name(struct tar *tar, const char *text, size_t len)
{
    len = strnlen(text, len);
    len = len < MAX_NAME ? len : MAX_NAME;
    memcpy(tar->name, text, len);
    tar->name[len] = 0;
}

/* Records "LENGTH key=value\n". */
static void take_records(struct tar *tar, struct nl_str text)
{
    while (text.len > 0) {
        const char *space = memchr(text.ptr, ' ', text.len);
        int64_t len, size;
        if (!space || !nl_parse_i64((struct nl_str){text.ptr, (size_t)(space - text.ptr)}, &len) ||
            len <= space - text.ptr + 1 || (uint64_t)len > text.len)
            return;
        struct nl_str record = {space + 1, (size_t)(text.ptr + len - space) - 2};
        if (nl_str_starts(record, "path="))
            take_name(tar, record.ptr + 5, record.len - 5);
        if (nl_str_starts(record, "size=") &&
            nl_parse_i64((struct nl_str){record.ptr + 5, record.len - 5}, &size) && size >= 0)
            tar->size = size;
        text = (struct nl_str){text.ptr + len, text.len - (size_t)len};
    }
}

/* What describes the next file: small, kept as a whole. False: the archive ends here. */
static bool take_meta(struct tar *tar, char type, uint64_t size, struct nl_err *err)
{
    uint64_t padded = (size + BLOCK - 1) / BLOCK * BLOCK;
    char *text = nl_alloc(padded + 1);
    bool whole = read_all(tar, text, padded, err);
    if (whole && type == 'L')
        take_name(tar, text, size);
    if (whole && type == 'x')
        take_records(tar, (struct nl_str){text, size});
    nl_free(text);
    return whole;
}

static void read_member_name(struct tar *tar, const unsigned char *head)
{
    char text[256 + 1];
    size_t prefix = memcmp(head + MAGIC_AT, "ustar", 6) == 0
                        ? strnlen((const char *)head + PREFIX_AT, PREFIX_BYTES)
                        : 0;
    size_t len = strnlen((const char *)head, NAME_BYTES);
    if (tar->name[0])
        return;
    memcpy(text, head + PREFIX_AT, prefix);
    if (prefix)
        text[prefix++] = '/';
    memcpy(text + prefix, head, len);
    take_name(tar, text, prefix + len);
}

/* The bytes of a file; *cut: the archive ended within it. */
static bool copy_bytes(struct tar *tar, struct nl_archive_out *out, uint64_t size, bool *cut,
                       struct nl_err *err)
{
    size_t padding = (size_t)((BLOCK - size % BLOCK) % BLOCK);
    while (size > 0) {
        ssize_t got =
            nl_stream_read(tar->stream, tar->buffer, size < STEP ? (size_t)size : STEP, err);
        *cut = got == 0;
        if (got <= 0)
            return got == 0;
        size -= (uint64_t)got;
        if (!nl_archive_write(out, tar->buffer, (size_t)got, err))
            return false;
    }
    *cut = !read_all(tar, tar->buffer, padding, err);
    return err->code == NL_OK;
}

/* Begins what a head says; nothing is written of what is no regular file. */
static bool begin_file(struct tar *tar, const unsigned char *head, struct nl_archive_out *out,
                       struct nl_err *err)
{
    char type = (char)head[TYPE_AT];
    bool regular = type == '0' || type == 0 || type == '7';
    size_t len = strlen(tar->name);
    bool folder = type == '5' || (len > 0 && tar->name[len - 1] == '/');
    if (regular && !folder)
        return nl_archive_begin(out, tar->unpack, nl_str(tar->name), err);
    tar->unpack->told.others += !folder && type != 'g' && type != 'K';
    return true;
}

/* Links, devices, folders and pipes have no bytes, whatever size they claim; unknown types have
 * (POSIX: they are to be read as files). */
static bool has_bytes(char type)
{
    return !type || strchr("123456", type) == NULL;
}

static bool take_file(struct tar *tar, const unsigned char *head, uint64_t size, bool *cut,
                      struct nl_err *err)
{
    struct nl_archive_out out = {.unpack = tar->unpack, .fd = -1};
    read_member_name(tar, head);
    bool done = begin_file(tar, head, &out, err) &&
                (!has_bytes((char)head[TYPE_AT]) || copy_bytes(tar, &out, size, cut, err));
    tar->unpack->told.damaged += done && *cut && out.fd >= 0;
    if (done)
        done = nl_archive_end(&out, err); /* looks at the name */
    else
        nl_archive_drop(&out);
    tar->name[0] = 0;
    tar->size = -1;
    return done;
}

/* One head and what belongs to it; *ended after the last. */
static bool take_entry(struct tar *tar, bool *ended, struct nl_err *err)
{
    unsigned char head[BLOCK];
    uint64_t size;
    *ended = !read_all(tar, head, BLOCK, err);
    if (*ended) {
        tar->unpack->told.cut++;
        return err->code == NL_OK;
    }
    *ended = head[0] == 0;
    if (*ended)
        return true;
    if (!nl_archive_is_tar(head) || !number(head + SIZE_AT, SIZE_BYTES, &size)) {
        *ended = true;
        tar->unpack->told.damaged++;
        return true;
    }
    char type = (char)head[TYPE_AT];
    if ((type == 'L' || type == 'x') && size <= MAX_META) {
        *ended = !take_meta(tar, type, size, err);
        tar->unpack->told.cut += *ended;
        return err->code == NL_OK;
    }
    if (tar->size >= 0)
        size = (uint64_t)tar->size;
    if (size > (uint64_t)1 << 56) {
        *ended = true;
        tar->unpack->told.damaged++;
        return true;
    }
    bool done = take_file(tar, head, size, ended, err);
    tar->unpack->told.cut += *ended;
    return done;
}

bool nl_archive_tar(struct nl_unpack *unpack, struct nl_stream *stream, struct nl_err *err)
{
    struct tar tar = {.unpack = unpack, .stream = stream, .size = -1};
    bool ended = false, done = true;
    tar.buffer = nl_alloc(STEP);
    while (done && !ended)
        done = take_entry(&tar, &ended, err);
    nl_free(tar.buffer);
    return done;
}
