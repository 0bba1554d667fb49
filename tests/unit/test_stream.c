/* stream: the same bytes come out whatever the encoding, the member boundaries and the reads. */
#include "check.h"

#include <isa-l/igzip_lib.h>
#include <unistd.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/stream.h"

enum { PLAIN_BYTES = 3 << 20 };

/* Text that compresses a little and differs everywhere. */
static unsigned char *some_bytes(void)
{
    unsigned char *bytes = nl_alloc(PLAIN_BYTES);
    uint64_t state = 1;
    for (size_t i = 0; i < PLAIN_BYTES; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (unsigned char)("etaoin shrdlu{}:,"[(state >> 59) % 17]);
    }
    bytes[0] = '{';
    return bytes;
}

struct packed {
    unsigned char *bytes;
    size_t len;
};

/* One gzip member, appended. */
static void add_gzip(struct packed *out, const unsigned char *bytes, size_t len)
{
    struct isal_zstream *stream = nl_zalloc(sizeof *stream);
    isal_deflate_stateless_init(stream);
    size_t room = len + len / 8 + 4096;
    out->bytes = nl_realloc(out->bytes, out->len + room);
    stream->next_in = (unsigned char *)(uintptr_t)bytes;
    stream->avail_in = (uint32_t)len;
    stream->next_out = out->bytes + out->len;
    stream->avail_out = (uint32_t)room;
    stream->gzip_flag = IGZIP_GZIP;
    stream->end_of_stream = 1;
    CHECK_INT(isal_deflate_stateless(stream), COMP_OK);
    out->len += room - stream->avail_out;
    nl_free(stream);
}

static void add_zstd(struct packed *out, const unsigned char *bytes, size_t len)
{
    size_t room = ZSTD_compressBound(len);
    out->bytes = nl_realloc(out->bytes, out->len + room);
    out->len += ZSTD_compress(out->bytes + out->len, room, bytes, len, 1);
}

static void add_plain(struct packed *out, const unsigned char *bytes, size_t len)
{
    out->bytes = nl_realloc(out->bytes, out->len + len);
    memcpy(out->bytes + out->len, bytes, len);
    out->len += len;
}

static const struct {
    const char *name;
    void (*add)(struct packed *out, const unsigned char *bytes, size_t len);
} encodings[] = {{"plain", add_plain}, {"gzip", add_gzip}, {"zstd", add_zstd}};

/* Reads all with reads of `step` bytes; returns the length, -1 on error. */
static ssize_t read_all(struct nl_stream *stream, unsigned char *out, size_t room, size_t step,
                        struct nl_err *err)
{
    size_t len = 0;
    while (len < room) {
        ssize_t got = nl_stream_read(stream, out + len, step < room - len ? step : room - len, err);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        len += (size_t)got;
    }
    return (ssize_t)len;
}

static void reads_encodings(void)
{
    static const size_t steps[] = {1 << 20, 4096, 37777};
    unsigned char *bytes = some_bytes(), *out = nl_alloc(PLAIN_BYTES + 1);
    struct nl_err err;
    for (size_t e = 0; e < CHECK_LENGTH(encodings); e++) {
        struct packed packed = {0};
        /* Two members, so that the seam is passed too. */
        encodings[e].add(&packed, bytes, PLAIN_BYTES / 3);
        encodings[e].add(&packed, bytes + PLAIN_BYTES / 3, PLAIN_BYTES - PLAIN_BYTES / 3);
        for (size_t s = 0; s < CHECK_LENGTH(steps); s++) {
            check_case(encodings[e].name);
            nl_err_clear(&err);
            struct nl_stream *stream = nl_stream_memory(packed.bytes, packed.len, &err);
            CHECK(stream != NULL);
            if (!stream)
                continue;
            CHECK_TEXT(nl_stream_encoding(stream), encodings[e].name);
            CHECK_INT(read_all(stream, out, PLAIN_BYTES + 1, steps[s], &err), PLAIN_BYTES);
            CHECK(memcmp(out, bytes, PLAIN_BYTES) == 0);
            CHECK(nl_stream_damage(stream) == NULL);
            nl_stream_close(stream);
        }
        nl_free(packed.bytes);
    }
    nl_free(bytes);
    nl_free(out);
}

static void cut_files_give_their_start(void)
{
    unsigned char *bytes = some_bytes(), *out = nl_alloc(PLAIN_BYTES + 1);
    struct nl_err err;
    for (size_t e = 1; e < CHECK_LENGTH(encodings); e++) {
        struct packed packed = {0};
        encodings[e].add(&packed, bytes, PLAIN_BYTES);
        for (size_t cut = 5; cut < packed.len; cut += packed.len / 40 + 1) {
            check_case(encodings[e].name);
            nl_err_clear(&err);
            struct nl_stream *stream = nl_stream_memory(packed.bytes, cut, &err);
            if (!stream)
                continue; /* too short to be recognised */
            ssize_t len = read_all(stream, out, PLAIN_BYTES + 1, 65536, &err);
            CHECK(len >= 0 && len < PLAIN_BYTES);
            CHECK(len < 0 || memcmp(out, bytes, (size_t)len) == 0);
            CHECK(nl_stream_damage(stream) != NULL);
            nl_stream_close(stream);
        }
        nl_free(packed.bytes);
    }
    nl_free(bytes);
    nl_free(out);
}

/* Whatever the bits, reading ends, without more bytes than could be. */
static void damaged_files_end(void)
{
    unsigned char *bytes = some_bytes(), *out = nl_alloc(2 * PLAIN_BYTES);
    struct nl_err err;
    uint64_t state = 7;
    for (size_t e = 1; e < CHECK_LENGTH(encodings); e++) {
        struct packed packed = {0};
        encodings[e].add(&packed, bytes, 200000);
        for (int round = 0; round < 200; round++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t at = (state >> 33) % (round < 50 ? 64 : packed.len);
            unsigned char bit = (unsigned char)(1 << (state >> 60) % 8);
            packed.bytes[at] ^= bit;
            nl_err_clear(&err);
            struct nl_stream *stream = nl_stream_memory(packed.bytes, packed.len, &err);
            if (stream) {
                (void)read_all(stream, out, 2 * PLAIN_BYTES, 65536, &err);
                nl_stream_close(stream);
            }
            packed.bytes[at] ^= bit;
        }
        nl_free(packed.bytes);
    }
    nl_free(bytes);
    nl_free(out);
}

static void files_and_early_close(void)
{
    char path[] = "/tmp/neurolens-stream-XXXXXX";
    struct nl_err err;
    unsigned char *bytes = some_bytes(), *out = nl_alloc(PLAIN_BYTES + 1);
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    for (size_t e = 0; e < CHECK_LENGTH(encodings); e++) {
        struct packed packed = {0};
        check_case(encodings[e].name);
        encodings[e].add(&packed, bytes, PLAIN_BYTES);
        CHECK(ftruncate(fd, 0) == 0);
        CHECK(pwrite(fd, packed.bytes, packed.len, 0) == (ssize_t)packed.len);
        nl_err_clear(&err);
        struct nl_job job = {.threads = 1};
        struct nl_stream *stream = nl_stream_open(path, &job, &err);
        CHECK(stream != NULL);
        if (stream) {
            CHECK_INT(read_all(stream, out, PLAIN_BYTES + 1, 100000, &err), PLAIN_BYTES);
            CHECK(memcmp(out, bytes, PLAIN_BYTES) == 0);
            CHECK_INT(job.done, packed.len);
            nl_stream_close(stream);
        }
        stream = nl_stream_open(path, NULL, &err); /* closed while the thread inflates ahead */
        CHECK(stream && nl_stream_read(stream, out, 10, &err) == 10);
        nl_stream_close(stream);
        nl_free(packed.bytes);
    }
    close(fd);
    unlink(path);
    nl_err_clear(&err);
    CHECK(nl_stream_open(path, NULL, &err) == NULL);
    CHECK_INT(err.code, NL_IO);
    CHECK_TEXT(err.file, path);
    nl_free(bytes);
    nl_free(out);
}

enum { HELD = 9, COPIES = 5 }; /* more than the ring has, and so many bytes that it goes round */

/* Reads and pieces in turn, several pieces at a time, with all of the room
 * around them written to. */
static void lends_and_reads(struct nl_stream *stream, const unsigned char *bytes)
{
    struct nl_stream_piece held[HELD] = {0};
    unsigned char part[70000];
    struct nl_err err;
    size_t at = 0;
    nl_err_clear(&err);
    for (unsigned round = 0; at < COPIES * PLAIN_BYTES; round++) {
        struct nl_stream_piece *piece = &held[round % HELD];
        nl_stream_return(stream, piece);
        CHECK(piece->bytes == NULL);
        if (round % 5 == 2) {
            ssize_t got = nl_stream_read(stream, part, sizeof part, &err);
            REQUIRE(got > 0);
            CHECK(memcmp(part, bytes + at, (size_t)got) == 0);
            at += (size_t)got;
            continue;
        }
        *piece = nl_stream_lend(stream);
        REQUIRE(piece->bytes && piece->len && piece->len <= COPIES * PLAIN_BYTES - at);
        memset(piece->bytes - NL_STREAM_BEFORE, 'x', NL_STREAM_BEFORE);
        memset(piece->bytes + piece->len, 'x', NL_STREAM_BEHIND);
        CHECK(memcmp(piece->bytes, bytes + at, piece->len) == 0);
        at += piece->len;
    }
    for (size_t i = 0; i < HELD; i++)
        nl_stream_return(stream, &held[i]);
    CHECK(nl_stream_lend(stream).bytes == NULL);
    CHECK_INT(nl_stream_read(stream, part, sizeof part, &err), 0);
    CHECK(nl_stream_damage(stream) == NULL);
}

static void lends_what_is_decoded_ahead(void)
{
    char path[] = "/tmp/neurolens-stream-XXXXXX";
    struct nl_err err;
    unsigned char *some = some_bytes(), *bytes = nl_alloc(COPIES * PLAIN_BYTES);
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    for (size_t i = 0; i < COPIES; i++)
        memcpy(bytes + i * PLAIN_BYTES, some, PLAIN_BYTES);
    for (size_t e = 0; e < CHECK_LENGTH(encodings); e++) {
        struct packed packed = {0};
        check_case(encodings[e].name);
        for (size_t i = 0; i < COPIES; i++)
            encodings[e].add(&packed, some, PLAIN_BYTES);
        CHECK(ftruncate(fd, 0) == 0);
        CHECK(pwrite(fd, packed.bytes, packed.len, 0) == (ssize_t)packed.len);
        nl_err_clear(&err);
        struct nl_stream *stream = nl_stream_open(path, NULL, &err);
        REQUIRE(stream != NULL);
        CHECK(nl_stream_is_ahead(stream) == (e != 0));
        if (e != 0)
            lends_and_reads(stream, bytes);
        else
            CHECK(nl_stream_lend(stream).bytes == NULL);
        nl_stream_close(stream);
        nl_free(packed.bytes);
    }
    close(fd);
    unlink(path);
    nl_free(some);
    nl_free(bytes);
}

CHECK_MAIN("stream", {"reads encodings", reads_encodings},
           {"cut files give their start", cut_files_give_their_start},
           {"damaged files end", damaged_files_end},
           {"files and early close", files_and_early_close},
           {"lends what is decoded ahead", lends_what_is_decoded_ahead})
