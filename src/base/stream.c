/*
 * A stream is three layers: raw bytes (a descriptor or memory), a decoder (none, gzip, zstd), and,
 * for compressed files, a thread that decodes ahead into a ring of RING_SLOTS buffers. Inflate is
 * the bottleneck of compressed input, so it must never wait for the parser, and the other way
 * round: a buffer that is lent leaves the ring, and another takes its place.
 */
#define _GNU_SOURCE
#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/mem.h"
#include "base/str.h"

#define RAW_BYTES  ((size_t)256 << 10)
#define RING_BYTES ((size_t)1 << 20)
#define RING_SLOTS 6
#define MAX_RATIO  400 /* of traces 10 to 100; of spaces alone in gzip 1030 */
#define RATIO_FROM ((uint64_t)1 << 30)

enum encoding { PLAIN, GZIP, ZSTD };

/* A buffer of the ring: its bytes are between room that borrowers may write to. */
struct slot {
    unsigned char *bytes;
    size_t len;
};

struct nl_stream {
    /* raw */
    int fd;
    const unsigned char *memory;
    size_t memory_left;
    unsigned char head[4];
    size_t head_len, head_at;
    uint64_t raw_bytes, out_bytes;
    struct nl_job *job;
    char *path;
    /* decoder */
    enum encoding encoding;
    struct inflate_state *gzip;
    ZSTD_DStream *zstd;
    bool frame_open, ended;
    unsigned char *raw;
    size_t raw_len, raw_at;
    const char *damage;
    /* ring; filled and taken under the lock */
    bool has_lock, threaded, producer_done, stop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct slot ring[RING_SLOTS];
    size_t filled, taken, taken_at;
    unsigned char **spare; /* buffers that were given back */
    size_t spare_count, spare_cap;
    struct nl_err err;
};

static ssize_t raw_read(struct nl_stream *s, void *buffer, size_t room)
{
    size_t got = 0;
    if (s->head_at < s->head_len) {
        got = s->head_len - s->head_at < room ? s->head_len - s->head_at : room;
        memcpy(buffer, s->head + s->head_at, got);
        s->head_at += got;
    } else if (s->memory) {
        got = s->memory_left < room ? s->memory_left : room;
        memcpy(buffer, s->memory, got);
        s->memory += got;
        s->memory_left -= got;
    } else {
        ssize_t n;
        do
            n = read(s->fd, buffer, room);
        while (n < 0 && errno == EINTR && !nl_job_cancelled(s->job));
        if (n < 0) {
            nl_err_at(&s->err, s->path, (int64_t)s->raw_bytes);
            (void)nl_fail(&s->err, NL_IO, "cannot read: %s", strerror(errno));
            return -1;
        }
        got = (size_t)n;
    }
    s->raw_bytes += got;
    nl_job_add(s->job, got);
    return (ssize_t)got;
}

/* Makes sure there are raw bytes to decode; false at the end of the file or on error. */
static bool refill(struct nl_stream *s)
{
    if (s->raw_at < s->raw_len)
        return true;
    ssize_t n = raw_read(s, s->raw, RAW_BYTES);
    s->raw_at = 0;
    s->raw_len = n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* After a gzip member: is there another one? Zero padding is fine, anything else is reported. */
static bool next_member(struct nl_stream *s)
{
    while (refill(s)) {
        unsigned char c = s->raw[s->raw_at];
        if (c == 0x1f) {
            isal_inflate_reset(s->gzip);
            s->gzip->crc_flag = ISAL_GZIP;
            s->frame_open = true;
            return true;
        }
        if (c != 0) {
            s->damage = "bytes after the end of the gzip data were ignored";
            return false;
        }
        s->raw_at++;
    }
    return false;
}

/* Decoders: fill `room` bytes as far as the input goes; set `ended`. Damage ends the stream. */
static size_t decode_gzip(struct nl_stream *s, unsigned char *out, size_t room)
{
    s->gzip->next_out = out;
    s->gzip->avail_out = (uint32_t)room;
    while (s->gzip->avail_out && !s->ended) {
        if (!s->frame_open && !next_member(s)) {
            s->ended = true;
            break;
        }
        if (!refill(s)) {
            s->damage = "the gzip data end without their trailer (the file was cut)";
            s->ended = true;
        }
        s->gzip->next_in = s->raw + s->raw_at;
        s->gzip->avail_in = (uint32_t)(s->raw_len - s->raw_at);
        int status = isal_inflate(s->gzip);
        s->raw_at = s->raw_len - s->gzip->avail_in;
        if (status < 0) {
            s->damage = status == ISAL_INCORRECT_CHECKSUM ? "the gzip checksum does not match"
                                                          : "the gzip data are damaged";
            s->ended = true;
        } else if (s->gzip->block_state == ISAL_BLOCK_FINISH) {
            s->frame_open = false;
        }
    }
    return room - s->gzip->avail_out;
}

static size_t decode_zstd(struct nl_stream *s, unsigned char *out, size_t room)
{
    ZSTD_outBuffer to = {out, room, 0};
    while (to.pos < to.size && !s->ended) {
        bool more = refill(s);
        ZSTD_inBuffer from = {s->raw, s->raw_len, s->raw_at};
        size_t before = to.pos;
        size_t status = ZSTD_decompressStream(s->zstd, &to, &from);
        s->raw_at = from.pos;
        if (ZSTD_getErrorCode(status) == ZSTD_error_memory_allocation)
            nl_memory_exhausted(ZSTD_DStreamOutSize());
        if (ZSTD_isError(status)) {
            s->damage = "the zstd data are damaged";
            s->ended = true;
        } else if (status == 0) {
            s->frame_open = false;
            s->ended = !more && s->raw_at == s->raw_len;
        } else if (!more && to.pos == before) {
            if (s->frame_open)
                s->damage = "the zstd data end in the middle of a frame (the file was cut)";
            s->ended = true;
        } else {
            s->frame_open = true;
        }
    }
    return to.pos;
}

/* One buffer of decoded bytes; 0 = end, -1 = error in s->err. */
static ssize_t decode(struct nl_stream *s, unsigned char *out, size_t room)
{
    size_t got = 0;
    if (s->ended)
        return s->err.code == NL_OK ? 0 : -1;
    if (s->encoding == GZIP)
        got = decode_gzip(s, out, room);
    else
        got = decode_zstd(s, out, room);
    s->out_bytes += got;
    if (s->out_bytes > RATIO_FROM && s->out_bytes / MAX_RATIO > s->raw_bytes) {
        nl_err_at(&s->err, s->path, (int64_t)s->raw_bytes);
        (void)nl_fail(&s->err, NL_LIMIT, "decompresses to more than %d times its size; refused",
                      MAX_RATIO);
        s->ended = true;
        return -1;
    }
    if (got == 0 && s->err.code != NL_OK)
        return -1;
    return (ssize_t)got;
}

static unsigned char *new_buffer(void)
{
    return (unsigned char *)nl_alloc(NL_STREAM_BEFORE + RING_BYTES + NL_STREAM_BEHIND) +
           NL_STREAM_BEFORE;
}

static void free_buffer(unsigned char *bytes)
{
    if (bytes)
        nl_free(bytes - NL_STREAM_BEFORE);
}

/* Gives a slot a buffer, unless it has one: its bytes were copied then. The lock is held. */
static void fit_buffer(struct nl_stream *s, struct slot *slot)
{
    if (!slot->bytes)
        slot->bytes = s->spare_count ? s->spare[--s->spare_count] : new_buffer();
}

static void *produce(void *argument)
{
    struct nl_stream *s = argument;
    for (;;) {
        pthread_mutex_lock(&s->lock);
        while (s->filled - s->taken == RING_SLOTS && !s->stop)
            pthread_cond_wait(&s->changed, &s->lock);
        bool stop = s->stop;
        struct slot *slot = &s->ring[s->filled % RING_SLOTS];
        if (!stop)
            fit_buffer(s, slot);
        pthread_mutex_unlock(&s->lock);
        if (stop)
            return NULL;
        ssize_t got = decode(s, slot->bytes, RING_BYTES);
        pthread_mutex_lock(&s->lock);
        if (got > 0) {
            slot->len = (size_t)got;
            s->filled++;
        } else {
            s->producer_done = true;
        }
        pthread_cond_signal(&s->changed);
        pthread_mutex_unlock(&s->lock);
        if (got <= 0)
            return NULL;
    }
}

static void start_thread(struct nl_stream *s)
{
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->has_lock = true;
    s->threaded = pthread_create(&s->thread, NULL, produce, s) == 0;
}

/* Looks at the magic number and sets the decoder up. */
static void set_up_decoder(struct nl_stream *s)
{
    while (s->head_len < sizeof s->head) {
        ssize_t n;
        if (s->memory) {
            n = s->memory_left > 0;
            if (n) {
                s->head[s->head_len] = *s->memory++;
                s->memory_left--;
            }
        } else {
            n = read(s->fd, s->head + s->head_len, sizeof s->head - s->head_len);
        }
        if (n <= 0)
            break;
        s->head_len += (size_t)n;
    }
    if (s->head_len >= 2 && s->head[0] == 0x1f && s->head[1] == 0x8b)
        s->encoding = GZIP;
    else if (s->head_len >= 4 && memcmp(s->head, "\x28\xb5\x2f\xfd", 4) == 0)
        s->encoding = ZSTD;
    if (s->encoding == PLAIN)
        return;
    s->raw = nl_alloc(RAW_BYTES);
    if (s->encoding == GZIP) {
        s->gzip = nl_zalloc(sizeof *s->gzip);
        isal_inflate_init(s->gzip);
        s->gzip->crc_flag = ISAL_GZIP;
        s->frame_open = true;
    } else {
        s->zstd = ZSTD_createDStream();
        if (!s->zstd)
            nl_memory_exhausted(ZSTD_DStreamOutSize());
        ZSTD_initDStream(s->zstd);
    }
    if (!s->memory)
        start_thread(s);
}

struct nl_stream *nl_stream_open_file(int fd, const char *path, struct nl_job *job,
                                      struct nl_err *err)
{
    struct stat info = {0};
    bool good = fstat(fd, &info) == 0;
    if (!good || S_ISDIR(info.st_mode)) {
        const char *why = good ? "is a folder, not a file" : strerror(errno);
        nl_err_at(err, path, -1);
        (void)nl_fail(err, NL_IO, "%s%s", good ? "" : "cannot open: ", why);
        if (fd > 0)
            close(fd);
        return NULL;
    }
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    struct nl_stream *s = nl_zalloc(sizeof *s);
    s->fd = fd;
    s->path = nl_strdup(path);
    s->job = job;
    nl_err_clear(&s->err);
    if (job && S_ISREG(info.st_mode))
        nl_job_phase(job, "reading", (uint64_t)info.st_size);
    set_up_decoder(s);
    return s;
}

struct nl_stream *nl_stream_open(const char *path, struct nl_job *job, struct nl_err *err)
{
    int fd = strcmp(path, "-") == 0 ? 0 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        return nl_stream_open_file(fd, path, job, err);
    nl_err_at(err, path, -1);
    (void)nl_fail(err, NL_IO, "cannot open: %s", strerror(errno));
    return NULL;
}

struct nl_stream *nl_stream_memory(const void *bytes, size_t len, struct nl_err *err)
{
    (void)err;
    struct nl_stream *s = nl_zalloc(sizeof *s);
    s->fd = -1;
    s->memory = bytes ? bytes : "";
    s->memory_left = len;
    s->path = nl_strdup("");
    nl_err_clear(&s->err);
    set_up_decoder(s);
    return s;
}

void nl_stream_close(struct nl_stream *s)
{
    if (!s)
        return;
    if (s->threaded) {
        pthread_mutex_lock(&s->lock);
        s->stop = true;
        pthread_cond_signal(&s->changed);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
    }
    if (s->has_lock) {
        pthread_mutex_destroy(&s->lock);
        pthread_cond_destroy(&s->changed);
    }
    for (size_t i = 0; i < RING_SLOTS; i++)
        free_buffer(s->ring[i].bytes);
    for (size_t i = 0; i < s->spare_count; i++)
        free_buffer(s->spare[i]);
    nl_free(s->spare);
    if (s->fd > 0)
        close(s->fd);
    ZSTD_freeDStream(s->zstd);
    nl_free(s->gzip);
    nl_free(s->raw);
    nl_free(s->path);
    nl_free(s);
}

/* Waits until the ring holds something; false at the end. The lock is held. */
static bool wait_filled(struct nl_stream *s)
{
    while (s->filled == s->taken && !s->producer_done)
        pthread_cond_wait(&s->changed, &s->lock);
    return s->filled != s->taken;
}

/* Copies what the ring holds; waits for at least one byte or the end. */
static ssize_t copy_from_ring(struct nl_stream *s, unsigned char *to, size_t room)
{
    pthread_mutex_lock(&s->lock);
    bool filled = wait_filled(s);
    pthread_mutex_unlock(&s->lock);
    if (!filled)
        return s->err.code == NL_OK ? 0 : -1;
    struct slot *slot = &s->ring[s->taken % RING_SLOTS];
    size_t n = slot->len - s->taken_at < room ? slot->len - s->taken_at : room;
    memcpy(to, slot->bytes + s->taken_at, n);
    s->taken_at += n;
    if (s->taken_at == slot->len) {
        pthread_mutex_lock(&s->lock);
        s->taken++;
        s->taken_at = 0;
        pthread_cond_signal(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
    return (ssize_t)n;
}

struct nl_stream_piece nl_stream_lend(struct nl_stream *s)
{
    struct nl_stream_piece piece = {0};
    if (!s->threaded)
        return piece;
    pthread_mutex_lock(&s->lock);
    if (wait_filled(s)) {
        struct slot *slot = &s->ring[s->taken % RING_SLOTS];
        piece = (struct nl_stream_piece){(char *)slot->bytes + s->taken_at, slot->len - s->taken_at,
                                         slot->bytes};
        slot->bytes = NULL;
        s->taken++;
        s->taken_at = 0;
        pthread_cond_signal(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    return piece;
}

void nl_stream_return(struct nl_stream *s, struct nl_stream_piece *piece)
{
    if (piece->bytes) {
        pthread_mutex_lock(&s->lock);
        nl_grow(&s->spare, &s->spare_cap, s->spare_count + 1);
        s->spare[s->spare_count++] = piece->buffer;
        pthread_mutex_unlock(&s->lock);
    }
    *piece = (struct nl_stream_piece){0};
}

bool nl_stream_is_ahead(const struct nl_stream *s)
{
    return s->threaded;
}

ssize_t nl_stream_read(struct nl_stream *s, void *buffer, size_t room, struct nl_err *err)
{
    size_t got = 0;
    while (got < room) {
        ssize_t n;
        if (s->encoding == PLAIN)
            n = raw_read(s, (char *)buffer + got, room - got);
        else if (s->threaded)
            n = copy_from_ring(s, (unsigned char *)buffer + got, room - got);
        else
            n = decode(s, (unsigned char *)buffer + got, room - got);
        if (n < 0 && got == 0) {
            if (err)
                *err = s->err;
            return -1;
        }
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

const char *nl_stream_damage(const struct nl_stream *s)
{
    return s->damage;
}

const char *nl_stream_encoding(const struct nl_stream *s)
{
    static const char *const names[] = {"plain", "gzip", "zstd"};
    return names[s->encoding];
}

bool nl_stream_read_all(struct nl_buf *out, const char *path, struct nl_err *err)
{
    struct nl_stream *s = nl_stream_open(path, NULL, err);
    if (!s)
        return false;
    char *part = nl_alloc(RAW_BYTES);
    ssize_t got;
    while ((got = nl_stream_read(s, part, RAW_BYTES, err)) > 0)
        nl_buf_add(out, part, (size_t)got);
    bool done = got == 0;
    nl_err_at(err, path, -1);
    if (done && s->damage)
        done = nl_fail(err, NL_FORMAT, "%s", s->damage);
    if (done && out->overflow)
        done = nl_fail(err, NL_LIMIT, "over %zu MiB", out->max >> 20);
    nl_stream_close(s);
    nl_free(part);
    return done;
}
