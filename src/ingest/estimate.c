/* Estimates rows and memory of a profile, each file by the cheapest method that works. See
 * estimate.h. */
#define _GNU_SOURCE
#include "ingest/estimate.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/stream.h"
#include "base/sum.h"
#include "base/units.h"
#include "derive/derive.h"
#include "ingest/estimatedb.h"
#include "ingest/meet.h"
#include "store/tracefile.h"

#define SAMPLE_BYTES ((size_t)1 << 20)   /* of a file's first part, decompressed */
#define PACKED_BYTES ((size_t)128 << 10) /* of a packed file, to measure its compression */
#define WINDOW_BYTES ((size_t)64 << 10)
#define WINDOWS      7 /* places of a plain file that are sampled */

/* Peak memory while loading, relative to the finished columns. */
#define WHILE_LOADING   1.35
#define MIN_MAPPED      (1.0 * (1 << 20)) /* of a column that repeats one mapped page */
#define FIXED_BYTES     (4.0 * (1 << 20)) /* of any profile, however small */
#define ROW_BYTES       100.0             /* if no part was loaded */
#define BYTES_A_ROW     60.0              /* likewise, bytes of the decompressed file */
#define ROW_IN_FILE     40.0              /* bytes of a database's row */
#define MIN_ROW_IN_FILE 8.0               /* the shortest row with its header */
#define ARCHIVE_START   512               /* bytes needed to recognise a tar */
#define UNPACKED        8.0               /* assumed compression ratio if nothing is unpacked */

const char *nl_estimate_how_text(enum nl_estimate_how how)
{
    static const char *const texts[] = {
        [NL_ESTIMATE_COUNTED] = "counted",        [NL_ESTIMATE_DATABASE] = "rows of its tables",
        [NL_ESTIMATE_SAMPLED] = "its first part", [NL_ESTIMATE_SIZE] = "its size alone",
        [NL_ESTIMATE_LIKE] = "files like it",
    };
    return texts[how];
}

/* ---- the first part ---- */

struct part {
    unsigned char *text; /* decompressed */
    size_t size;
    double whole; /* bytes of the file, decompressed */
    bool all;     /* the part is the whole file */
};

static size_t read_at(int fd, void *to, size_t room, off_t at)
{
    size_t size = 0;
    for (ssize_t got; size < room; size += (size_t)got) {
        got = pread(fd, (char *)to + size, room - size, at + (off_t)size);
        if (got <= 0)
            break;
    }
    return size;
}

/* gzip ends with the unpacked size of its last member, modulo 4 GiB: trusted only if it is near the
 * guess from the first part. */
static double size_in_trailer(int fd, uint64_t bytes, double guess)
{
    unsigned char end[4];
    if (bytes < 18 || read_at(fd, end, 4, (off_t)bytes - 4) != 4)
        return guess;
    double size = (double)end[0] + 256.0 * end[1] + 65536.0 * end[2] + 16777216.0 * end[3];
    while (size + 2147483648.0 < guess)
        size += 4294967296.0;
    return size > guess / 2 && size < guess * 2 ? size : guess;
}

static void unpack_part(struct part *part, int fd, uint64_t bytes, bool gzip)
{
    struct nl_err ignored;
    unsigned char *packed = nl_alloc(PACKED_BYTES);
    size_t got = read_at(fd, packed, PACKED_BYTES, 0), room = 16 * SAMPLE_BYTES;
    nl_err_clear(&ignored);
    struct nl_stream *stream = nl_stream_memory(packed, got, &ignored);
    part->text = nl_alloc(room);
    for (ssize_t more = 1; stream && more > 0 && part->size < room; part->size += (size_t)more) {
        more = nl_stream_read(stream, part->text + part->size, room - part->size, &ignored);
        if (more <= 0)
            break;
    }
    if (stream)
        nl_stream_close(stream);
    part->all = got == bytes && part->size < room;
    part->whole = got ? (double)part->size * (double)bytes / (double)got : 0;
    if (gzip && !part->all)
        part->whole = size_in_trailer(fd, bytes, part->whole);
    if (part->size > SAMPLE_BYTES && !part->all)
        part->size = SAMPLE_BYTES;
    nl_free(packed);
}

static void read_part(struct part *part, const struct nl_input *input, int fd)
{
    *part = (struct part){0};
    if (strcmp(input->encoding, "plain") != 0) {
        unpack_part(part, fd, input->bytes, strcmp(input->encoding, "gzip") == 0);
        return;
    }
    part->text = nl_alloc(SAMPLE_BYTES);
    part->size = read_at(fd, part->text, SAMPLE_BYTES, 0);
    part->whole = (double)input->bytes;
    part->all = part->size == input->bytes;
}

/* ---- how dense the rest is ---- */

static double count_byte(const unsigned char *text, size_t size, unsigned char byte)
{
    double count = 0;
    for (const unsigned char *at = text, *end = text + size;
         (at = memchr(at, byte, (size_t)(end - at))) != NULL; at++)
        count++;
    return count;
}

/* The byte that marks an event: '{' in JSON, a newline in other text; 0 in binary files. */
static unsigned char mark_of(const struct part *part)
{
    size_t at = 0;
    while (at < part->size && strchr(" \t\r\n", part->text[at]) && part->text[at])
        at++;
    if (at < part->size && (part->text[at] == '{' || part->text[at] == '['))
        return '{';
    return memchr(part->text, 0, part->size) ? 0 : '\n';
}

/* How many times more events the file has than its first part. */
static double times(const struct part *part, const struct nl_input *input, int fd)
{
    double plain = part->size ? part->whole / (double)part->size : 0;
    unsigned char mark = mark_of(part);
    double first = mark ? count_byte(part->text, part->size, mark) : 0, seen = 0, bytes = 0;
    double rest = (double)input->bytes - (double)part->size;
    if (first < 100 || strcmp(input->encoding, "plain") != 0 || rest < 2.0 * WINDOWS * WINDOW_BYTES)
        return plain;
    unsigned char *window = nl_alloc(WINDOW_BYTES);
    for (int i = 0; i < WINDOWS; i++) {
        off_t at = (off_t)((double)part->size +
                           (rest - (double)WINDOW_BYTES) * (2 * i + 1) / (2 * WINDOWS));
        size_t got = read_at(fd, window, WINDOW_BYTES, at);
        seen += count_byte(window, got, mark);
        bytes += (double)got;
    }
    nl_free(window);
    return bytes > 0 ? 1 + seen / bytes * rest / first : plain;
}

/* ---- one file ---- */

static struct nl_amount about(double likely, double factor)
{
    return (struct nl_amount){likely / factor, likely, likely * factor};
}

/* Memory of columns plus fixed costs; the low bound allows for packed columns. */
static struct nl_amount memory_of(double bytes, double factor)
{
    return (struct nl_amount){bytes / factor, bytes + FIXED_BYTES, bytes * 2.5 + FIXED_BYTES};
}

static double rows_of(const struct nl_trace *trace)
{
    return (double)trace->slice.rows + (double)trace->sample.rows + (double)trace->counter.rows +
           (double)trace->memory.rows + (double)trace->call.rows + (double)trace->node.rows +
           (double)trace->metric.rows;
}

/* Loads the part as a separate file; NULL if a part is not a valid file of the format. */
static struct nl_trace *load_part(const struct nl_format *format, const struct nl_input *input,
                                  const struct part *part)
{
    char path[40];
    struct nl_err ignored;
    struct nl_job job = {.threads = 1};
    struct nl_input piece = *input;
    nl_err_clear(&ignored);
    int fd = memfd_create("neurolens-estimate", MFD_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (write(fd, part->text, part->size) != (ssize_t)part->size) {
        close(fd);
        return NULL;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    piece.path = piece.where = path;
    piece.encoding = "plain";
    piece.bytes = part->size;
    piece.head = part->text;
    piece.head_len = part->size < NL_SNIFF_BYTES ? part->size : NL_SNIFF_BYTES;
    piece.symbols = NULL;
    piece.recording = NULL;
    struct nl_builder *builder = nl_builder_new(&job);
    struct nl_reading reading = nl_reading_begin(builder, format, &piece, &job);
    struct nl_trace *trace = NULL;
    if (nl_reading_load(&reading, format, &ignored))
        trace = nl_builder_finish(builder, &ignored);
    else
        nl_builder_free(builder);
    close(fd);
    return trace;
}

/* Formats that cannot be read in part: bytes per row, measured on whole files of ../shared. */
static const struct {
    const char *format;
    double bytes_a_row;
} sizes[] = {{"torch-memory", 200},     {"rocprofv3", 850}, {"pstats", 40}, {"ncu", 350},
             {"execution-trace", 1500}, {"v8profile", 20},  {"rocpd", 66},  {"rpd", 60}};

static void by_size(struct nl_file_estimate *file, double bytes)
{
    double rows = bytes / BYTES_A_ROW;
    file->how = NL_ESTIMATE_SIZE;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (strcmp(sizes[i].format, file->format) == 0)
            rows = bytes / sizes[i].bytes_a_row;
    file->rows = about(rows, 4);
    file->memory = memory_of(rows * ROW_BYTES + bytes, 8);
    file->memory.low = 0; /* too uncertain to reject a load */
}

/* Estimates an archive without reading its contents or compression; for one member not even its
 * share is known. */
static void by_archive(struct nl_file_estimate *file, const struct nl_path *path)
{
    unsigned char start[ARCHIVE_START];
    size_t got = nl_file_start(path->path, start, sizeof start);
    bool plain = got == sizeof start && nl_archive_is_tar(start);
    file->format = "archive";
    by_size(file, (double)file->bytes * (plain ? 1 : UNPACKED));
    if (path->member)
        file->rows.low = 0;
}

/* Bytes of the columns of a trace `factor` times as large, without large columns whose cells are
 * all equal: those take a few pages for any number of rows. */
static double varying_bytes(const struct nl_trace *trace, double factor)
{
    double bytes = 0;
    for (unsigned c = 0; c < nl_column_count; c++) {
        const struct nl_column_def *column = &nl_columns[c];
        size_t rows = nl_trace_rows(trace, column->table), size = column->size;
        if (column->hop != NL_HOP_NONE || rows < 2)
            continue;
        const char *cells = nl_trace_column(trace, column);
        if ((double)(rows * size) * factor < MIN_MAPPED ||
            memcmp(cells, cells + size, (rows - 1) * size) != 0)
            bytes += (double)(rows * size) * factor;
    }
    return bytes;
}

static void by_part(struct nl_file_estimate *file, const struct nl_format *format,
                    const struct nl_input *input, int fd)
{
    struct part part;
    read_part(&part, input, fd);
    struct nl_trace *trace = load_part(format, input, &part);
    if (trace && (part.all || rows_of(trace) >= 50)) {
        double factor = part.all ? 1 : times(&part, input, fd);
        double text = format->feed != NL_FEED_STREAM && strcmp(input->encoding, "plain") != 0
                          ? part.whole
                          : 0;
        file->how = part.all ? NL_ESTIMATE_COUNTED : NL_ESTIMATE_SAMPLED;
        file->rows = about(rows_of(trace) * factor, part.all ? 1 : 2.5);
        file->memory = memory_of((double)nl_trace_bytes(trace) * factor * WHILE_LOADING + text, 4);
        file->memory.low = memory_of(varying_bytes(trace, factor) * WHILE_LOADING + text, 4).low;
    } else {
        by_size(file, part.whole);
    }
    if (trace)
        nl_trace_free(trace);
    nl_free(part.text);
}

/* Row ids may be other numbers, such as times: ignore a row count that cannot fit into the file;
 * the low bound is the count that fits with rows of ordinary size. */
static void by_tables(struct nl_file_estimate *file, double rows)
{
    double bytes = (double)file->bytes, sure = fmin(rows, bytes / ROW_IN_FILE);
    if (rows > bytes / MIN_ROW_IN_FILE) {
        by_size(file, bytes);
        return;
    }
    file->how = NL_ESTIMATE_DATABASE;
    file->rows = about(rows, 1.5);
    file->rows.low = sure / 1.5;
    file->memory = memory_of(rows * ROW_BYTES, 4);
    file->memory.low = sure * ROW_BYTES / 4;
}

static bool is_whole_trace(struct nl_file_estimate *file, const char *path)
{
    unsigned char magic[8];
    struct nl_err ignored;
    nl_err_clear(&ignored);
    if (nl_file_start(path, magic, sizeof magic) != 8 || !nl_trace_recognise(magic, sizeof magic))
        return false;
    struct nl_trace *trace = nl_trace_open(path, false, 1, &ignored);
    if (!trace)
        return false;
    file->format = "trace";
    file->how = NL_ESTIMATE_COUNTED;
    file->rows = about(rows_of(trace), 1);
    file->memory = memory_of(0, 1); /* the file is mapped and used in place */
    nl_trace_free(trace);
    return true;
}

static double unpacked_bytes(const struct nl_input *input)
{
    return (double)input->bytes * (strcmp(input->encoding, "plain") != 0 ? UNPACKED : 1);
}

/* If every format is read in a separate process (`apart`), only the first bytes are read here. */
static bool one_file(struct nl_file_estimate *file, const struct nl_path *path, unsigned char *head,
                     bool apart, struct nl_err *err)
{
    struct nl_input input;
    double rows;
    file->name = path->name;
    file->bytes = nl_file_bytes(path->path);
    if (is_whole_trace(file, path->path))
        return true;
    if (path->member || nl_archive_is(path->path)) {
        by_archive(file, path);
        return true;
    }
    const struct nl_format *format = nl_meet(&input, path, head, err);
    if (!format)
        return path->from_folder && (err->code == NL_FORMAT || err->code == NL_ENVIRONMENT);
    input.bytes = file->bytes;
    file->format = format->name;
    bool risky = apart || (format->risky && format->risky(&input));
    int fd = risky || format->reach != NL_REACH_INPUT ? -1 : open(path->path, O_RDONLY | O_CLOEXEC);
    if (!risky && nl_estimate_tables(path->path, format->name, &input, &rows))
        by_tables(file, rows);
    else if (fd >= 0)
        by_part(file, format, &input, fd);
    else
        by_size(file, unpacked_bytes(&input));
    if (fd >= 0)
        close(fd);
    return true;
}

/* ---- many files ---- */

#define LOOKED_AT  8   /* sampled files; others are estimated from those with the same extension */
#define LIKE_RANGE 2.0 /* tolerance of that estimate, to either side */

struct looked {
    size_t at[LOOKED_AT], count;
};

static const char *ending(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot : "";
}

static bool is_looked_at(const struct looked *looked, size_t file)
{
    for (size_t i = 0; i < looked->count; i++)
        if (looked->at[i] == file)
            return true;
    return false;
}

/* `room`: bytes that may still be read from all files. */
static void look_at(struct looked *looked, size_t file, const struct nl_inputs *inputs,
                    double *room)
{
    double bytes = fmin((double)nl_file_bytes(inputs->items[file].path), (double)SAMPLE_BYTES);
    if (looked->count == LOOKED_AT || (looked->count && bytes > *room) ||
        is_looked_at(looked, file))
        return;
    looked->at[looked->count++] = file;
    *room -= bytes;
}

/* One file of each extension, then files spread evenly over all. */
static void choose_files(struct looked *looked, const struct nl_inputs *inputs, double room)
{
    looked->count = 0;
    for (size_t i = 0; i < inputs->count && looked->count < LOOKED_AT; i++) {
        bool first = true;
        for (size_t j = 0; first && j < looked->count; j++)
            first = strcmp(ending(inputs->items[looked->at[j]].name),
                           ending(inputs->items[i].name)) != 0;
        if (first)
            look_at(looked, i, inputs, &room);
    }
    if (inputs->count <= LOOKED_AT)
        for (size_t i = 0; i < inputs->count; i++)
            look_at(looked, i, inputs, &room);
    else
        for (size_t i = 0; i < LOOKED_AT; i++)
            look_at(looked, (2 * i + 1) * inputs->count / (2 * LOOKED_AT), inputs, &room);
}

/* Widens the range per byte: `low` and `high` of the extremes. */
static void widen(struct nl_amount *each, const struct nl_amount *of, double fixed, double bytes)
{
    each->low = fmin(each->low, of->low / bytes);
    each->likely += fmax(of->likely - fixed, 0);
    each->high = fmax(each->high, fmax(of->high - fixed, 0) / bytes);
}

static struct nl_amount like(const struct nl_amount *each, double fixed, double bytes, double share)
{
    return (struct nl_amount){each->low * bytes / LIKE_RANGE, each->likely * share + fixed,
                              each->high * bytes * LIKE_RANGE + fixed};
}

/* Estimates a file that was not sampled from those with its extension; without one from all sampled
 * files, with 0 as the low bound. */
static void by_others(struct nl_estimate *estimate, struct nl_file_estimate *file,
                      const struct looked *looked, bool same_ending)
{
    struct nl_amount rows = {INFINITY, 0, 0}, memory = {INFINITY, 0, 0};
    double bytes = 0, size = (double)file->bytes;
    bool met = false;
    for (size_t i = 0; i < looked->count; i++) {
        const struct nl_file_estimate *other = &estimate->files[looked->at[i]];
        if (same_ending && strcmp(ending(other->name), ending(file->name)) != 0)
            continue;
        double its = fmax((double)other->bytes, 1);
        met = true;
        bytes += its;
        widen(&rows, &other->rows, 0, its);
        widen(&memory, &other->memory, FIXED_BYTES, its);
        if (other->format)
            file->format = other->format;
    }
    if (!met && same_ending) {
        by_others(estimate, file, looked, false);
        file->rows.low = file->memory.low = 0;
    } else if (file->format) {
        file->how = NL_ESTIMATE_LIKE;
        file->rows = like(&rows, 0, size, size / bytes);
        file->memory = like(&memory, FIXED_BYTES, size, size / bytes);
    }
}

/* ---- all of them ---- */

static void add_amount(struct nl_amount *sum, struct nl_amount more)
{
    sum->low += more.low;
    sum->likely += more.likely;
    sum->high += more.high;
}

/* Reads at most `room` bytes of all files, but always one file. */
static bool estimate_within(struct nl_estimate *estimate, const struct nl_inputs *inputs,
                            double room, struct nl_job *job, struct nl_err *err)
{
    unsigned char *head = nl_alloc(NL_SNIFF_BYTES);
    struct looked looked;
    bool done = true;
    *estimate = (struct nl_estimate){0};
    nl_arena_init(&estimate->arena);
    estimate->files = nl_zalloc((inputs->count + 1) * sizeof *estimate->files);
    choose_files(&looked, inputs, room);
    for (size_t i = 0; done && i < looked.count; i++) {
        size_t at = looked.at[i];
        if (nl_job_cancelled(job))
            done = nl_fail(err, NL_INTERRUPTED, "stopped");
        else
            done = one_file(&estimate->files[at], &inputs->items[at], head,
                            job->sandbox == NL_SANDBOX_ALL, err);
    }
    for (size_t i = 0; done && i < inputs->count; i++) {
        struct nl_file_estimate *file = &estimate->files[estimate->count++];
        if (!is_looked_at(&looked, i)) {
            file->name = inputs->items[i].name;
            file->bytes = nl_file_bytes(inputs->items[i].path);
            by_others(estimate, file, &looked, true);
        }
        estimate->bytes += file->bytes;
        add_amount(&estimate->rows, file->rows);
        add_amount(&estimate->memory, file->memory);
    }
    if (done)
        nl_err_clear(err);
    nl_free(head);
    return done;
}

bool nl_ingest_estimate(struct nl_estimate *estimate, const struct nl_inputs *inputs,
                        struct nl_job *job, struct nl_err *err)
{
    return estimate_within(estimate, inputs, LOOKED_AT * (double)SAMPLE_BYTES, job, err);
}

void nl_estimate_release(struct nl_estimate *estimate)
{
    nl_free(estimate->files);
    nl_arena_free(&estimate->arena);
}

/* ---- before loading ---- */

#define WORTH_BYTES ((uint64_t)1 << 20) /* smaller profiles load faster than an estimate */
#define WORTH_SHARE 8                   /* at most 1/8 of many small files is read twice */

/* A profile that probably does not fit is spilled from the beginning, if there is disk space. */
static bool may_fit(const struct nl_amount *memory, const struct nl_job *job)
{
    double most = (double)job->memory_bytes;
    return memory->likely <= most || nl_spill_start(job->spill, nl_whole_u64(memory->likely)) ||
           memory->low <= most;
}

bool nl_estimate_check(const struct nl_inputs *inputs, struct nl_job *job, struct nl_err *err)
{
    struct nl_estimate estimate;
    struct nl_err ignored;
    char budget[NL_UNIT_TEXT], need[NL_UNIT_TEXT];
    uint64_t bytes = 0;
    for (size_t i = 0; i < inputs->count; i++)
        bytes += nl_file_bytes(inputs->items[i].path);
    if (!job || !job->memory_bytes || bytes < WORTH_BYTES || bytes < job->memory_bytes / 64)
        return true;
    if (job->sandbox == NL_SANDBOX_ALL) /* a size alone is not enough to decide */
        return true;
    nl_err_clear(&ignored);
    double room = fmax((double)WORTH_BYTES, (double)bytes / WORTH_SHARE);
    bool known = estimate_within(&estimate, inputs, room, job, &ignored);
    bool fits = !known || may_fit(&estimate.memory, job);
    char said[NL_SPILL_TEXT];
    if (!fits)
        (void)nl_fail(err, NL_MEMORY,
                      "the profile does not fit in %s of memory: it needs about %s (estimated from "
                      "%s)%s; give it --memory %.0fMiB%s",
                      nl_format_bytes(budget, job->memory_bytes),
                      nl_format_bytes(need, nl_whole_u64(estimate.memory.likely)),
                      inputs->count == 1 ? nl_estimate_how_text(estimate.files[0].how)
                                         : "its files",
                      nl_spill_said(job->spill, said), estimate.memory.high / (1 << 20) + 1,
                      inputs->count > 1 ? ", or load fewer ranks" : "");
    if (!fits && inputs->count == 1)
        nl_err_at(err, nl_meet_place(inputs->items[0].where, inputs->items[0].name), -1);
    nl_estimate_release(&estimate);
    return fits;
}
