/*
 * Writing is one pass front to back through a FILE. Opening maps the file and points the trace's
 * columns into it: the cost is checking the contents and the references, not reading the data.
 */
#define _GNU_SOURCE
#include "store/tracefile.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/crc.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "store/tracecheck.h"

#define MAGIC      "NLTRACE\n"
#define ALIGNMENT  64u
#define FORMAT     2u
#define MAX_CHUNKS 4096u

/* Chunks that are no column have these numbers in `column`. */
#define DICT_OFFSETS   0xffff0001u
#define DICT_BYTES     0xffff0002u
#define FACTS          0xffff0003u
#define FILLED_OFFSETS 0xffff0004u
#define FILLED_BYTES   0xffff0005u

struct header {
    char magic[8];
    uint32_t format, reserved;
    uint64_t schema;
    uint64_t contents_offset;
    uint32_t chunks, contents_crc;
    uint32_t header_crc, padding[5];
};

struct chunk {
    uint32_t column; /* index in nl_columns[] or one of the numbers above */
    uint32_t crc;
    uint64_t rows, offset, bytes;
};

struct facts {
    int64_t first_ts, last_ts;
};

static uint32_t header_crc(const struct header *header)
{
    return nl_crc32c(header, offsetof(struct header, header_crc));
}

/* ---- writing ---- */

struct writer {
    FILE *out;
    uint64_t at;
    struct chunk chunks[MAX_CHUNKS];
    uint32_t count;
};

static void write_bytes(struct writer *w, const void *bytes, size_t len)
{
    if (len)
        fwrite(bytes, 1, len, w->out);
    w->at += len;
}

static void pad(struct writer *w)
{
    static const char zeros[ALIGNMENT];
    write_bytes(w, zeros, (ALIGNMENT - w->at % ALIGNMENT) % ALIGNMENT);
}

static void put_chunk(struct writer *w, uint32_t column, uint64_t rows, const void *bytes,
                      size_t len)
{
    pad(w);
    w->chunks[w->count++] = (struct chunk){.column = column,
                                           .crc = nl_crc32c(bytes, len),
                                           .rows = rows,
                                           .offset = w->at,
                                           .bytes = len};
    write_bytes(w, bytes, len);
}

static void write_all(struct writer *w, const struct nl_trace *trace)
{
    struct header header = {.format = FORMAT, .schema = nl_schema_hash()};
    memcpy(header.magic, MAGIC, sizeof header.magic);
    write_bytes(w, &header, sizeof header);
    struct facts facts = {trace->first_ts, trace->last_ts};
    put_chunk(w, FACTS, 1, &facts, sizeof facts);
    const struct nl_dict *names = &trace->names;
    put_chunk(w, DICT_OFFSETS, names->count + 1u, names->offsets,
              (names->count + 1u) * sizeof *names->offsets);
    put_chunk(w, DICT_BYTES, names->offsets[names->count], names->bytes,
              names->offsets[names->count]);
    const struct nl_filled *filled = &trace->filled;
    if (filled->count) {
        put_chunk(w, FILLED_OFFSETS, filled->count + 1u, filled->offsets,
                  (filled->count + 1u) * sizeof *filled->offsets);
        put_chunk(w, FILLED_BYTES, filled->offsets[filled->count], filled->bytes,
                  filled->offsets[filled->count]);
    }
    for (unsigned c = 0; c < nl_column_count; c++) {
        const struct nl_column_def *column = &nl_columns[c];
        uint64_t rows = nl_trace_rows(trace, column->table);
        if (column->hop == NL_HOP_NONE && rows)
            put_chunk(w, c, rows, nl_trace_column(trace, column), rows * column->size);
    }
    pad(w);
    header.contents_offset = w->at;
    header.chunks = w->count;
    header.contents_crc = nl_crc32c(w->chunks, w->count * sizeof *w->chunks);
    write_bytes(w, w->chunks, w->count * sizeof *w->chunks);
    header.header_crc = header_crc(&header);
    /* Not rewind(), which would forget that a write failed. */
    if (fseek(w->out, 0, SEEK_SET) == 0)
        fwrite(&header, sizeof header, 1, w->out);
}

bool nl_trace_write(const struct nl_trace *trace, FILE *out)
{
    struct writer *w = nl_zalloc(sizeof *w);
    w->out = out;
    write_all(w, trace);
    nl_free(w);
    return !ferror(out);
}

bool nl_trace_save(const struct nl_trace *trace, const char *path, struct nl_err *err)
{
    struct nl_out out;
    if (!nl_out_open_private(&out, path, err))
        return false;
    if (!nl_trace_write(trace, out.stream)) {
        nl_err_at(err, path, -1);
        nl_out_abort(&out);
        return nl_fail(err, NL_WRITE, "cannot write: the disk is full or failed");
    }
    return nl_out_commit(&out, err);
}

/* ---- opening ---- */

struct reader {
    const unsigned char *bytes;
    size_t size;
    const struct chunk *chunks;
    uint32_t count;
    struct nl_err *err;
};

static bool bad(const struct reader *r, uint64_t offset, const char *what)
{
    if (r->err)
        r->err->offset = (int64_t)offset;
    return nl_fail(r->err, NL_FORMAT, "not a whole NeuroLens trace file: %s; import it again",
                   what);
}

static bool read_contents(struct reader *r)
{
    struct header header;
    if (r->size < sizeof header || memcmp(r->bytes, MAGIC, 8) != 0)
        return bad(r, 0, "no trace file header");
    memcpy(&header, r->bytes, sizeof header);
    if (header.header_crc != header_crc(&header))
        return bad(r, 0, "the header's checksum does not match");
    if (header.format != FORMAT || header.schema != nl_schema_hash())
        return bad(r, 8, "written by another version");
    if (header.chunks > MAX_CHUNKS || header.contents_offset % ALIGNMENT ||
        header.contents_offset > r->size ||
        (r->size - header.contents_offset) / sizeof(struct chunk) < header.chunks)
        return bad(r, 24, "its table of contents points outside the file");
    r->chunks = (const void *)(r->bytes + header.contents_offset);
    r->count = header.chunks;
    if (nl_crc32c(r->chunks, r->count * sizeof *r->chunks) != header.contents_crc)
        return bad(r, header.contents_offset, "the checksum of its contents does not match");
    return true;
}

/* Bytes that a chunk must have, or SIZE_MAX for an unknown chunk. */
static uint64_t bytes_expected(const struct chunk *chunk)
{
    switch (chunk->column) {
    case FACTS: return chunk->rows * sizeof(struct facts);
    case FILLED_OFFSETS:
    case DICT_OFFSETS: return chunk->rows * sizeof(uint64_t);
    case FILLED_BYTES:
    case DICT_BYTES: return chunk->rows;
    default: break;
    }
    if (chunk->column >= nl_column_count || nl_columns[chunk->column].hop != NL_HOP_NONE)
        return UINT64_MAX;
    return chunk->rows * nl_columns[chunk->column].size;
}

/* Places a chunk in the trace. All columns of a table must agree on its rows. */
static bool take_chunk(struct reader *r, struct nl_trace *trace, const struct chunk *chunk)
{
    void *cells = (void *)(uintptr_t)(r->bytes + chunk->offset);
    switch (chunk->column) {
    case FACTS:
        if (chunk->rows != 1)
            return bad(r, chunk->offset, "odd facts");
        trace->first_ts = ((const struct facts *)cells)->first_ts;
        trace->last_ts = ((const struct facts *)cells)->last_ts;
        return true;
    case DICT_OFFSETS:
        if (chunk->rows < 2 || chunk->rows > NL_FILLED)
            return bad(r, chunk->offset, "an empty dictionary, or one of too many names");
        trace->names.offsets = cells;
        trace->names.count = (uint32_t)(chunk->rows - 1);
        return true;
    case DICT_BYTES:
        trace->names.bytes = cells;
        trace->names.bytes_cap = chunk->bytes;
        return true;
    case FILLED_OFFSETS:
        if (chunk->rows < 2 || chunk->rows > NL_FILLED)
            return bad(r, chunk->offset, "an uneven number of strings");
        trace->filled.offsets = cells;
        trace->filled.count = (uint32_t)(chunk->rows - 1);
        return true;
    case FILLED_BYTES:
        trace->filled.bytes = cells;
        trace->filled.bytes_cap = chunk->bytes;
        return true;
    default: break;
    }
    const struct nl_column_def *column = &nl_columns[chunk->column];
    char *table = (char *)trace + nl_tables[column->table].offset;
    uint32_t *rows = (uint32_t *)(void *)table;
    void **array = (void **)(void *)(table + column->array);
    if (!chunk->rows || *array)
        return bad(r, chunk->offset, "a column is empty or there twice");
    if (*rows && *rows != chunk->rows)
        return bad(r, chunk->offset, "columns of a table differ in length");
    *rows = (uint32_t)chunk->rows;
    *array = cells;
    return true;
}

/* Bounds, alignment, order and size of a chunk; `end` is where the one before it ended. */
static bool check_chunk(struct reader *r, const struct chunk *chunk, uint64_t end)
{
    bool many =
        chunk->rows >= UINT32_MAX && chunk->column != DICT_BYTES && chunk->column != FILLED_BYTES;
    if (chunk->offset % ALIGNMENT || chunk->offset < end || chunk->offset > r->size ||
        chunk->bytes > r->size - chunk->offset || many)
        return bad(r, chunk->offset, "a chunk is outside the file or overlaps another");
    if (chunk->bytes != bytes_expected(chunk))
        return bad(r, chunk->offset, "a chunk has the wrong size");
    return true;
}

static bool place_chunks(struct reader *r, struct nl_trace *trace)
{
    uint64_t end = sizeof(struct header);
    for (uint32_t i = 0; i < r->count; i++) {
        const struct chunk *chunk = &r->chunks[i];
        if (!check_chunk(r, chunk, end) || !take_chunk(r, trace, chunk))
            return false;
        end = chunk->offset + chunk->bytes;
    }
    for (unsigned c = 0; c < nl_column_count; c++)
        if (nl_columns[c].hop == NL_HOP_NONE && nl_trace_rows(trace, nl_columns[c].table) &&
            !nl_trace_column(trace, &nl_columns[c]))
            return bad(r, 0, "a column is missing");
    if (!trace->names.offsets || (!trace->names.bytes && trace->names.count > 1))
        return bad(r, 0, "the dictionary is missing");
    if (trace->filled.count && !trace->filled.bytes)
        return bad(r, 0, "the texts of args are missing");
    return true;
}

/* Texts in order, within `bytes`. */
static bool in_order(const uint64_t *offsets, uint32_t count, uint64_t bytes)
{
    bool fine = offsets[0] == 0 && offsets[count] <= bytes;
    for (uint32_t i = 0; i < count && fine; i++)
        fine = offsets[i] <= offsets[i + 1];
    return fine;
}

static bool check_texts(struct reader *r, const struct nl_trace *t)
{
    if (!in_order(t->names.offsets, t->names.count, t->names.bytes_cap))
        return bad(r, 0, "the dictionary is out of order or points outside its text");
    if (t->filled.count && !in_order(t->filled.offsets, t->filled.count, t->filled.bytes_cap))
        return bad(r, 0, "texts of args are out of order or outside of their bytes");
    return true;
}

/* Of large files a part, another one each second: what rots is found by one
 * of the next openings. */
#define VERIFIED_BYTES ((uint64_t)96 << 20)

struct crcs {
    const struct reader *r;
    uint32_t first;     /* the chunk to begin with */
    atomic_uint failed; /* chunk + 1 */
};

static void check_crc(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct crcs *crcs = context;
    size_t place = (crcs->first + index) % crcs->r->count;
    const struct chunk *chunk = &crcs->r->chunks[place];
    if (nl_crc32c(crcs->r->bytes + chunk->offset, chunk->bytes) != chunk->crc)
        atomic_store(&crcs->failed, (unsigned)place + 1);
}

static bool verify_chunks(struct reader *r, bool all, unsigned threads)
{
    struct crcs crcs = {.r = r};
    uint32_t count = r->count;
    if (!all && r->size > VERIFIED_BYTES) {
        uint64_t bytes = 0;
        crcs.first = (uint32_t)((uint64_t)time(NULL) * 7919 % r->count);
        for (count = 0; count < r->count; count++) {
            bytes += r->chunks[(crcs.first + count) % r->count].bytes;
            if (bytes > VERIFIED_BYTES)
                break;
        }
    }
    nl_parallel(threads, count, check_crc, &crcs);
    return !crcs.failed ||
           bad(r, r->chunks[crcs.failed - 1].offset, "the checksum of a chunk does not match");
}

/* Of chunks that hold at most that much, when the others wait. */
#define SMALL_BYTES ((uint64_t)64 << 10)

static bool verify_small_chunks(struct reader *r)
{
    for (uint32_t i = 0; i < r->count; i++) {
        const struct chunk *chunk = &r->chunks[i];
        if (chunk->bytes <= SMALL_BYTES &&
            nl_crc32c(r->bytes + chunk->offset, chunk->bytes) != chunk->crc)
            return bad(r, chunk->offset, "the checksum of a chunk does not match");
    }
    return true;
}

static bool check_rows(struct reader *r, const struct nl_trace *trace, unsigned threads)
{
    char what[NL_TRACECHECK_TEXT];
    return nl_tracecheck(trace, threads, what) || bad(r, 0, what);
}

static bool check_small_rows(struct reader *r, const struct nl_trace *trace)
{
    char what[NL_TRACECHECK_TEXT];
    return nl_tracecheck_small(trace, what) || bad(r, 0, what);
}

enum checks { CHECK_SMALL, CHECK_PART, CHECK_ALL };

static bool check(struct reader *r, const struct nl_trace *trace, enum checks checks,
                  unsigned threads)
{
    if (checks == CHECK_SMALL)
        return verify_small_chunks(r) && check_small_rows(r, trace);
    return verify_chunks(r, checks == CHECK_ALL, threads) && check_rows(r, trace, threads);
}

static struct nl_trace *open_file(const char *path, enum checks checks, unsigned threads,
                                  struct nl_err *err)
{
    struct nl_map map;
    if (!nl_map_open(&map, path, err))
        return NULL;
    nl_err_at(err, path, -1);
    struct reader r = {.bytes = map.bytes, .size = map.size, .err = err};
    struct nl_trace *trace = nl_zalloc(sizeof *trace);
    if (!read_contents(&r) || !place_chunks(&r, trace) || !check_texts(&r, trace) ||
        !check(&r, trace, checks, threads)) {
        nl_free(trace);
        nl_map_close(&map);
        return NULL;
    }
    trace->map = map.bytes;
    trace->map_size = map.size;
    trace->unchecked = checks == CHECK_SMALL;
    return trace;
}

struct nl_trace *nl_trace_open(const char *path, bool verify, unsigned threads, struct nl_err *err)
{
    return open_file(path, verify ? CHECK_ALL : CHECK_PART, threads, err);
}

struct nl_trace *nl_trace_open_unchecked(const char *path, struct nl_err *err)
{
    return open_file(path, CHECK_SMALL, 1, err);
}

bool nl_trace_check(struct nl_trace *trace, unsigned threads, struct nl_err *err)
{
    struct reader r = {.bytes = trace->map, .size = trace->map_size, .err = err};
    if (trace->unchecked && (!read_contents(&r) || !check(&r, trace, CHECK_PART, threads)))
        return false;
    trace->unchecked = false;
    return true;
}

bool nl_trace_recognise(const void *bytes, size_t len)
{
    return len >= 8 && memcmp(bytes, MAGIC, 8) == 0;
}
