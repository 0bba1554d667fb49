/*
 * NCCL logs. The lines have no times (before 2.26, and not by default), so that enqueued
 * collectives are marks in their order, 1 ns apart. A row of an nccl-tests table is a measurement:
 * two slices with the time per operation, laid end to end, and their bandwidths as metrics. With
 * NCCL_DEBUG=INFO a row is printed in pieces between the lines of NCCL, and the first line of those
 * is glued to each piece; the pieces are put together again.
 */
#define _GNU_SOURCE

#include <stdio.h>
#include <string.h>

#include "base/chars.h"
#include "base/stream.h"
#include "base/utf8.h"
#include "ingest/ingest.h"
#include "base/mem.h"
#include "parse/csvread.h"
#include "parse/textlines.h"

#define MAX_WORDS 40
#define MAX_COMMS 4096u

/* What a communicator said of itself when it was made. */
struct comm {
    uint64_t address, pid;
    int64_t rank, ranks;
};

struct log {
    struct nl_builder *builder;
    struct nl_stage *stage;
    struct nl_job *job;
    uint32_t source, table_lane;
    int64_t order, table_ts;
    struct comm *comms;
    size_t comm_count, comm_cap;
    /* the columns of the table, by what they are; -1 = not there */
    int size, count, type, redop, columns, time[2], algbw[2], busbw[2];
    bool table;
    uint32_t ranks; /* of the test, as it lists them; 0 not known */
    char test[64];
    char row[512]; /* of the table, as far as it was printed */
    size_t row_len, pieces;
    int64_t infos, warnings, calls, results, others, mended, mixed;
};

/* ---- HOST:PID:TID [DEVICE] NCCL INFO text ---- */

struct said {
    int64_t pid, tid, device;
    struct nl_str text, before; /* before: what the line is glued to */
    bool warning;
};

/* Characters of a number, or of N/A, at the start of a word. */
static size_t number_length(struct nl_str word)
{
    size_t len = nl_str_starts(word, "N/A") ? 3 : 0;
    while (len < word.len && word.ptr[len] && strchr("-+.e0123456789", word.ptr[len]))
        len++;
    return len;
}

static bool read_origin(struct nl_str before, struct said *said)
{
    struct nl_str words[MAX_WORDS] = {{0}};
    int count = textlines_words(before, words, MAX_WORDS);
    if (count < 2)
        return false;
    struct nl_str where = words[count - 2], device = words[count - 1];
    const char *last = where.len ? memrchr(where.ptr, ':', where.len) : NULL;
    const char *first = last ? memrchr(where.ptr, ':', (size_t)(last - where.ptr)) : NULL;
    if (!first || device.len < 3 || device.ptr[0] != '[')
        return false;
    struct nl_str pid = {first + 1, (size_t)(last - first - 1)};
    struct nl_str tid = {last + 1, where.len - (size_t)(last + 1 - where.ptr)};
    device = (struct nl_str){device.ptr + 1, device.len - 2};
    if (!csvread_i64(device, &said->device))
        said->device = NL_NULL_I64;
    size_t words_before = (size_t)(where.ptr - before.ptr);
    said->before = (struct nl_str){before.ptr, count > 2 ? words_before + number_length(where) : 0};
    return csvread_i64(pid, &said->pid) && csvread_i64(tid, &said->tid);
}

static bool read_said(struct nl_str line, struct said *said)
{
    static const char *const levels[] = {" NCCL INFO ", " NCCL WARN ", " NCCL TRACE "};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        const char *at = memmem(line.ptr, line.len, levels[i], strlen(levels[i]));
        if (!at)
            continue;
        const char *text = at + strlen(levels[i]);
        said->text = (struct nl_str){text, line.len - (size_t)(text - line.ptr)};
        said->warning = i == 1;
        return read_origin((struct nl_str){line.ptr, (size_t)(at - line.ptr)}, said);
    }
    return false;
}

/* The word after `key`. */
static struct nl_str after(struct nl_str text, const char *key)
{
    const char *at = text.len ? memmem(text.ptr, text.len, key, strlen(key)) : NULL;
    if (!at)
        return (struct nl_str){"", 0};
    at += strlen(key);
    size_t len = 0, left = text.len - (size_t)(at - text.ptr);
    while (len < left && !nl_is_space(at[len]) && at[len] != ']')
        len++;
    return (struct nl_str){at, len};
}

static int64_t number_after(struct nl_str text, const char *key)
{
    int64_t value;
    return csvread_i64(after(text, key), &value) ? value : NL_NULL_I64;
}

static struct comm *comm_of(struct log *log, int64_t pid, struct nl_str text)
{
    uint64_t address;
    if (!csvread_u64(after(text, " comm "), &address))
        return NULL;
    for (size_t i = log->comm_count; i-- > 0;)
        if (log->comms[i].address == address && log->comms[i].pid == (uint64_t)pid)
            return &log->comms[i];
    if (log->comm_count == MAX_COMMS)
        return NULL;
    nl_grow(&log->comms, &log->comm_cap, log->comm_count + 1);
    log->comms[log->comm_count] = (struct comm){address, (uint64_t)pid, NL_NULL_I64, NL_NULL_I64};
    return &log->comms[log->comm_count++];
}

static void take_init(struct log *log, const struct said *said)
{
    struct comm *comm = comm_of(log, said->pid, said->text);
    char key[64], value[200];
    if (!comm)
        return;
    comm->rank = number_after(said->text, " rank ");
    comm->ranks = number_after(said->text, " nranks ");
    struct nl_str id = after(said->text, " commId "), bus = after(said->text, " busId ");
    snprintf(key, sizeof key, "communicator %.*s rank %lld", NL_UP_TO(30, id),
             (long long)comm->rank);
    int len =
        snprintf(value, sizeof value, "nranks %lld, device %lld, bus %.*s", (long long)comm->ranks,
                 (long long)number_after(said->text, " cudaDev "), NL_UP_TO(30, bus));
    nl_builder_meta(log->builder, log->source, key, (struct nl_str){value, (size_t)len});
}

/* ncclDataType_t, as PyTorch's traces spell them where they do. */
static const struct {
    const char *name;
    unsigned bytes;
} types[] = {{"int8", 1},   {"uint8", 1},    {"int32", 4},    {"uint32", 4},
             {"int64", 8},  {"uint64", 8},   {"half", 2},     {"float", 4},
             {"double", 8}, {"bfloat16", 2}, {"fp8_e4m3", 1}, {"fp8_e5m2", 1}};

static uint32_t communicator_lane(struct log *log, int64_t pid, int64_t device,
                                  const struct comm *comm)
{
    uint32_t process = nl_builder_process(log->builder, log->source, pid);
    struct nl_lane_key key = {.kind = NL_LANE_ASYNC,
                              .process = process,
                              .thread = NL_NULL_ROW,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    char title[64];
    if (device != NL_NULL_I64)
        key.device = nl_builder_device(log->builder, log->source, device, device);
    snprintf(title, sizeof title, "communicator %llx",
             comm ? (unsigned long long)comm->address : 0ull);
    if (comm)
        key.domain = nl_builder_name(log->builder, nl_str(title));
    return nl_builder_lane(log->builder, &key);
}

/* "AllReduce: opCount 0 sendbuff … count 25557032 datatype 7 op 0 root 0 comm 0x… [nranks=8]" */
static void take_call(struct log *log, const struct said *said)
{
    const char *colon = memchr(said->text.ptr, ':', said->text.len);
    struct nl_str name = {said->text.ptr, (size_t)(colon - said->text.ptr)};
    struct comm *comm = comm_of(log, said->pid, said->text);
    struct nl_slice_row slice = nl_slice_row();
    struct nl_collective_row row = nl_collective_row();
    uint64_t sequence;
    char hex[40];
    slice.kind = NL_KIND_COLLECTIVE;
    slice.ts = ++log->order;
    slice.dur = 0;
    slice.flags = NL_SLICE_INSTANT;
    slice.name = nl_stage_name(log->stage, name);
    slice.lane = communicator_lane(log, said->pid, said->device, comm);
    row.slice = nl_stage_slice(log->stage, &slice);
    row.operation = slice.name;
    int64_t count = number_after(said->text, " count ");
    int64_t type = number_after(said->text, " datatype ");
    int64_t ranks = number_after(said->text, "[nranks=");
    if (count >= 0 && count < INT64_MAX / 16)
        row.in_elements = (uint64_t)count;
    if (type >= 0 && type < (int64_t)(sizeof types / sizeof types[0])) {
        row.dtype = nl_stage_name(log->stage, nl_str(types[type].name));
        if (row.in_elements != NL_NULL_U64)
            row.bytes = row.in_elements * types[type].bytes;
    }
    if (ranks > 0 && ranks < UINT32_MAX)
        row.ranks = (uint32_t)ranks;
    struct nl_str number = after(said->text, "opCount ");
    snprintf(hex, sizeof hex, "0x%.*s", NL_UP_TO(16, number));
    if (number.len && csvread_u64(nl_str(hex), &sequence) && sequence < INT64_MAX)
        row.sequence = (int64_t)sequence;
    if (comm) {
        struct nl_str address = after(said->text, " comm ");
        row.group_name = nl_stage_name(log->stage, address);
    }
    row.peer = NL_NULL_I64;
    nl_stage_collective(log->stage, &row);
    log->calls++;
}

static void take_said(struct log *log, const struct said *said)
{
    log->infos++;
    log->warnings += said->warning;
    if (nl_str_starts(said->text, "NCCL version ") || nl_str_starts(said->text, "RCCL version ")) {
        nl_builder_tool(log->builder, log->source, csvread_trimmed(said->text));
    } else if (nl_str_contains(said->text, "Init COMPLETE")) {
        take_init(log, said);
    } else if (nl_str_contains(said->text, ": opCount ")) {
        take_call(log, said);
    } else {
        log->others++;
    }
}

/* ---- nccl-tests ---- */

/* "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error" */
static bool take_columns(struct log *log, struct nl_str line)
{
    struct nl_str words[MAX_WORDS] = {{0}};
    int count = textlines_words(line, words, MAX_WORDS), place = -1;
    const struct {
        const char *name;
        int *column; /* the first of two: out-of-place, in-place */
        bool twice;
    } columns[] = {{"size", &log->size, false}, {"count", &log->count, false},
                   {"type", &log->type, false}, {"redop", &log->redop, false},
                   {"time", log->time, true},   {"algbw", log->algbw, true},
                   {"busbw", log->busbw, true}};
    if (count < 6 || !nl_str_is(words[0], "#") || !nl_str_is(words[1], "size") ||
        !nl_str_is(words[2], "count"))
        return false;
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
        columns[c].column[0] = columns[c].column[columns[c].twice] = -1;
    log->columns = count - 1;
    for (int i = 1; i < count; i++) {
        place += nl_str_is(words[i], "time") && place < 1;
        for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
            if (nl_str_is(words[i], columns[c].name) && (place >= 0 || !columns[c].twice))
                columns[c].column[columns[c].twice ? place : 0] = i - 1;
    }
    log->table = log->size >= 0 && log->time[0] >= 0;
    return true;
}

/* The word of a column; empty where the row ends before it. */
static struct nl_str word_of(const struct nl_str *words, int count, int column)
{
    return column >= 0 && column < count ? words[column] : (struct nl_str){"", 0};
}

static void take_bandwidth(struct log *log, uint32_t slice, const char *name, struct nl_str cell)
{
    struct nl_metric_row row = nl_metric_row();
    char scaled[48];
    if (!cell.len)
        return;
    row.slice = slice;
    row.name = nl_stage_name(log->stage, nl_str(name));
    row.unit = nl_stage_name(log->stage, nl_str("bytes/s"));
    row.section = nl_stage_name(log->stage, nl_str("nccl-tests"));
    snprintf(scaled, sizeof scaled, "%.*se9", NL_UP_TO(40, cell));
    if (csvread_f64(nl_str(scaled), &row.value))
        nl_stage_metric(log->stage, &row);
}

static uint32_t table_lane(struct log *log)
{
    struct nl_lane_key key = {.kind = NL_LANE_ASYNC,
                              .process = nl_builder_process(log->builder, log->source, NL_NULL_I64),
                              .thread = NL_NULL_ROW,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64,
                              .domain = nl_builder_name(log->builder, nl_str("nccl-tests"))};
    if (log->table_lane == NL_NULL_ROW) {
        log->table_lane = nl_builder_lane(log->builder, &key);
        nl_builder_lane_name(log->builder, log->table_lane,
                             nl_str("nccl-tests, time per operation"));
    }
    return log->table_lane;
}

/* One side (out-of-place, in-place) of a row. */
static void take_side(struct log *log, const struct nl_str *words, int count, int place)
{
    static const char *const places[] = {"out-of-place", "in-place"};
    struct nl_slice_row slice = nl_slice_row();
    struct nl_collective_row row = nl_collective_row();
    char name[120];
    uint64_t number;
    struct nl_str time = word_of(words, count, log->time[place]);
    if (!csvread_scaled(time, 3, &slice.dur) || slice.dur < 0 ||
        slice.dur > INT64_MAX / 4 - log->table_ts)
        return;
    int len = snprintf(name, sizeof name, "%s %s", log->test[0] ? log->test : "nccl-tests",
                       places[place]);
    slice.kind = NL_KIND_COLLECTIVE;
    slice.ts = log->table_ts;
    log->table_ts += slice.dur;
    slice.lane = table_lane(log);
    slice.name = nl_stage_name(log->stage, (struct nl_str){name, (size_t)len});
    row.slice = nl_stage_slice(log->stage, &slice);
    if (log->ranks)
        row.ranks = log->ranks;
    if (log->test[0])
        row.operation = nl_stage_name(log->stage, nl_str(log->test));
    struct nl_str type = word_of(words, count, log->type);
    if (csvread_u64(word_of(words, count, log->size), &number))
        row.bytes = number;
    if (csvread_u64(word_of(words, count, log->count), &number))
        row.in_elements = number;
    if (type.len)
        row.dtype = nl_stage_name(log->stage, type);
    nl_stage_collective(log->stage, &row);
    take_bandwidth(log, row.slice, "algbw", word_of(words, count, log->algbw[place]));
    take_bandwidth(log, row.slice, "busbw", word_of(words, count, log->busbw[place]));
    log->results++;
}

/* Tests without a reduction leave its columns empty, so that a row has fewer words than the header:
 * what comes after the type is then that many words earlier. */
static int missing_words(const struct log *log, int count)
{
    int missing = log->columns - count, between = log->time[0] - log->type - 1;
    return log->type >= 0 && missing > 0 && missing <= between ? missing : 0;
}

static bool all_numbers(const struct nl_str *words, int count)
{
    for (int i = 0; i < count; i++)
        if (number_length(words[i]) != words[i].len)
            return false;
    return count > 0;
}

static void take_row(struct log *log, const struct nl_str *words, int count)
{
    struct nl_str moved[MAX_WORDS] = {{0}};
    if (count < 6 || count > log->columns)
        return;
    int missing = missing_words(log, count);
    for (int i = 0; i < count + missing; i++)
        moved[i] = i <= log->type            ? words[i]
                   : i - missing > log->type ? words[i - missing]
                                             : nl_str("");
    count += missing;
    if (count <= log->time[0] || !all_numbers(&moved[log->time[0]], count - log->time[0]))
        return;
    take_side(log, moved, count, 0);
    take_side(log, moved, count, 1);
}

/* How many words a row has in the end: tests without a reduction leave its column empty. */
static int words_of_row(const struct log *log, const struct nl_str *words, int count)
{
    struct nl_str redop = word_of(words, count, log->redop);
    return log->columns - (redop.len && number_length(redop) == redop.len);
}

/* The row at hand has no more pieces. One of several is whole or none: a number that the program
 * printed between them would move the columns. */
static void end_row(struct log *log)
{
    struct nl_str words[MAX_WORDS] = {{0}};
    int count = textlines_words((struct nl_str){log->row, log->row_len}, words, MAX_WORDS);
    int64_t before = log->results;
    if (log->pieces == 1 || count == words_of_row(log, words, count))
        take_row(log, words, count);
    if (log->results == before)
        log->mixed += log->pieces > 0;
    else
        log->mended += log->pieces > 1;
    log->row_len = log->pieces = 0;
}

static bool row_is_whole(const struct log *log)
{
    struct nl_str words[MAX_WORDS] = {{0}};
    int count = textlines_words((struct nl_str){log->row, log->row_len}, words, MAX_WORDS);
    return count == words_of_row(log, words, count);
}

static bool is_type(struct nl_str word)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (nl_str_is(word, types[i].name))
            return true;
    return nl_str_starts(word, "f8e") || nl_str_starts(word, "fp8");
}

/* Is it the beginning of a row, or a row? */
static bool begins_row(const struct log *log, const struct nl_str *words, int count)
{
    uint64_t number;
    return csvread_u64(words[log->size], &number) &&
           (count >= 6 || is_type(word_of(words, count, log->type)));
}

/* Text in a table that is no comment: a row, a piece of one, or what others print. */
static void take_piece(struct log *log, struct nl_str text)
{
    struct nl_str words[MAX_WORDS] = {{0}};
    int count = textlines_words(text, words, MAX_WORDS);
    bool more = log->pieces && log->type >= 0 && all_numbers(words, count);
    if (!more && !begins_row(log, words, count))
        return;
    if (!more)
        end_row(log);
    if (text.len + 1 < sizeof log->row - log->row_len) {
        memcpy(log->row + log->row_len, text.ptr, text.len);
        log->row[log->row_len + text.len] = ' ';
        log->row_len += text.len + 1;
    }
    log->pieces++;
    if (row_is_whole(log))
        end_row(log);
}

/* "#  Rank  0 Group  0 Pid  64904 on  node0 device  0 [0000:17:00] NVIDIA A100 80GB PCIe" */
static bool is_rank(struct nl_str line)
{
    struct nl_str words[MAX_WORDS] = {{0}};
    int count = textlines_words(line, words, MAX_WORDS);
    return count >= 6 && nl_str_is(words[0], "#") && nl_str_is(words[1], "Rank") &&
           all_numbers(&words[2], 1) && nl_str_contains(line, " Pid ") &&
           nl_str_contains(line, " device ");
}

static void take_comment(struct log *log, struct nl_str line)
{
    struct nl_str test = after(line, "Collective test starting: ");
    if (test.len) {
        size_t len = test.len < sizeof log->test ? test.len : sizeof log->test - 1;
        if (len > 5 && memcmp(test.ptr + len - 5, "_perf", 5) == 0)
            len -= 5;
        memcpy(log->test, test.ptr, len);
        log->test[len] = 0;
    } else if (is_rank(line)) {
        log->ranks++;
    } else if (nl_str_starts(line, "# nThread ")) {
        log->ranks = 0;
        nl_builder_meta(log->builder, log->source, "nccl-tests options",
                        csvread_trimmed((struct nl_str){line.ptr + 1, line.len - 1}));
    } else if (nl_str_starts(line, "# Avg bus bandwidth")) {
        nl_builder_meta(log->builder, log->source, "average bus bandwidth GB/s", after(line, ": "));
    } else {
        (void)take_columns(log, line);
    }
}

static void take_line(struct log *log, struct nl_str line)
{
    struct said said;
    if (line.len > 10 && memmem(line.ptr, line.len, " NCCL ", 6) && read_said(line, &said)) {
        if (log->table && said.before.len)
            take_piece(log, said.before);
        take_said(log, &said);
    } else if (line.len && line.ptr[0] == '#') {
        end_row(log);
        take_comment(log, line);
    } else if (log->table && line.len) {
        take_piece(log, line);
    }
}

static void report_coverage(struct log *log)
{
    const struct {
        const char *item;
        int64_t count;
        const char *detail;
    } rows[] = {
        {"not recorded: times of NCCL calls", log->calls, "their order counts as 1, 2, 3 ns"},
        {"not recorded: when the tests ran", log->results,
         "each test lasts the time of one operation; tests are placed end to end"},
        {"repaired: rows of nccl-tests split by other output", log->mended,
         "printed between lines of NCCL"},
        {"skipped: rows of nccl-tests mixed with other output", log->mixed,
         "their numbers cannot be separated from the other output"},
        {"NCCL warnings", log->warnings, "read them in the log itself"},
        {"not loaded: NCCL lines", log->others, "channels, rings, transports, plug-ins"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].count)
            nl_builder_coverage(log->builder, log->source, rows[i].item, rows[i].count,
                                rows[i].detail);
}

static bool nccllog_load(struct nl_reading *reading, struct nl_err *err)
{
    struct log log = {.builder = reading->builder,
                      .stage = nl_stage_new(reading->builder),
                      .job = reading->job,
                      .source = reading->source,
                      .table_lane = NL_NULL_ROW};
    struct textlines lines;
    struct nl_str line;
    nl_stage_begin(log.stage, reading->source, 0);
    textlines_init(&lines, reading->stream);
    while (textlines_next(&lines, &line, err) && !nl_builder_over_budget(reading->builder)) {
        take_line(&log, line);
        if (lines.count % 4096 == 0 && nl_job_cancelled(reading->job))
            break;
    }
    end_row(&log);
    bool done = !lines.failed;
    textlines_release(&lines);
    nl_free(log.comms);
    report_coverage(&log);
    if (nl_job_cancelled(reading->job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    if (done && !log.infos && !log.results)
        return nl_fail(err, NL_FORMAT, "no line of this log is from NCCL");
    return done;
}

/* A text that only speaks of NCCL has no line that reads as one of its lines. */
static int nccllog_sniff(const struct nl_input *input, const char **why)
{
    struct nl_str head = {(const char *)input->head, input->head_len}, line;
    struct said said;
    (void)why;
    while (textlines_split(&head, &line)) {
        if (nl_str_starts(line, "# nThread ") && nl_str_contains(line, "nGpus "))
            return 90;
        if (nl_str_starts(line, "# Collective test starting: "))
            return 80;
        if (line.len > 10 && memmem(line.ptr, line.len, " NCCL ", 6) && read_said(line, &said))
            return 70;
    }
    return 0;
}

const struct nl_format nl_format_nccllog = {
    .name = "nccl-log",
    .title = "NCCL log or nccl-tests table",
    .sniff = nccllog_sniff,
    .load = nccllog_load,
    .feed = NL_FEED_STREAM,
    .doc = "docs/formats/nccllog.md",
};
