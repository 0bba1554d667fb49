/*
 * What nvbandwidth printed, as text or JSON: a matrix per test, of GB/s from row to column or the
 * other way. Each cell is a value of the column's GPU; if the rows are also GPUs, the name says
 * which. Nothing has a time: tests are ticks in their order.
 */
#include <stdio.h>
#include <string.h>

#include "base/chars.h"
#include "base/utf8.h"
#include "parse/csvread.h"
#include "ingest/telemetry/gputelemetry.h"
#include "parse/jsonpull.h"
#include "parse/textlines.h"

#define MAX_COLUMNS 1024

struct bandwidth {
    struct telemetry *t;
    char test[128];
    size_t test_len;
    bool peers, matrix; /* rows are GPUs; in a matrix */
};

static void begin_test(struct bandwidth *b, struct nl_str name)
{
    b->test_len = name.len < sizeof b->test ? name.len : sizeof b->test;
    memcpy(b->test, name.ptr, b->test_len);
    b->peers = b->matrix = false;
    b->t->tick++;
    b->t->timeless++;
}

static void take_cell(struct bandwidth *b, int64_t row, int64_t column, struct nl_str cell)
{
    char name[192];
    int len = (int)b->test_len;
    double value;
    if (b->peers)
        len = snprintf(name, sizeof name, "%.*s: GPU %d", len, b->test, (int)row);
    else
        len = snprintf(name, sizeof name, "%.*s", len, b->test);
    bool self = b->peers && row == column; /* not measured; old versions print 0.00 */
    if (self && csvread_f64(cell, &value) && value <= 0)
        cell = nl_str("N/A");
    telemetry_cell(b->t, b->t->tick, column, nl_str(""), (struct nl_str){name, (size_t)len},
                   nl_str("GB/s"), cell);
}

/* "CPU(row) -> GPU(column)": who the rows are. */
static void take_description(struct bandwidth *b, struct nl_str text)
{
    b->peers = nl_str_contains(text, "GPU(row)");
}

static void name_device(struct bandwidth *b, int64_t device, struct nl_str name)
{
    struct telemetry *t = b->t;
    for (size_t i = 0; i + 1 < name.len; i++) /* "NVIDIA H100 (00000000:01:00)" */
        if (name.ptr[i] == ' ' && name.ptr[i + 1] == '(' && name.ptr[name.len - 1] == ')' &&
            memchr(name.ptr + i, ':', name.len - i))
            name.len = i;
    if (!telemetry_is_device(device))
        return;
    struct nl_device_row *row =
        nl_builder_device_row(t->builder, nl_builder_device(t->builder, t->source, device, device));
    row->vendor = nl_builder_name(t->builder, nl_str("nvidia"));
    row->name = nl_builder_name(t->builder, csvread_trimmed(name));
}

/* Facts that both forms have under the same names. */
static void take_fact(struct bandwidth *b, struct nl_str key, struct nl_str value)
{
    static const char *const facts[] = {"CUDA Runtime Version", "CUDA Driver Version",
                                        "Driver Version"};
    char tool[64];
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (nl_str_is(key, facts[i]))
            nl_builder_meta(b->t->builder, b->t->source, facts[i], value);
    if (!nl_str_is(key, "nvbandwidth Version"))
        return;
    (void)snprintf(tool, sizeof tool, "nvbandwidth %.*s", NL_UP_TO(40, value));
    nl_builder_tool(b->t->builder, b->t->source, nl_str(tool));
}

/* ---- Text. ---- */

/* The next word of a line; empty at its end. */
static struct nl_str next_word(struct nl_str *line)
{
    while (line->len && nl_is_space(*line->ptr))
        line->ptr++, line->len--;
    struct nl_str word = {line->ptr, 0};
    while (line->len && !nl_is_space(*line->ptr))
        line->ptr++, line->len--, word.len++;
    return word;
}

/* "0  26.03  25.94"; the line above it names the columns, which are counted from 0. */
static void matrix_line(struct bandwidth *b, struct nl_str line)
{
    int64_t row;
    struct nl_str first = next_word(&line), cell;
    if (!csvread_i64(first, &row) || row < 0 || row > MAX_COLUMNS) {
        b->matrix = false;
        return;
    }
    for (int64_t column = 0; column < MAX_COLUMNS && (cell = next_word(&line)).len; column++)
        take_cell(b, row, column, cell);
}

static void text_line(struct bandwidth *b, struct nl_str line)
{
    static const char running[] = "Running ", device[] = "Device ";
    struct nl_str text = csvread_trimmed(line);
    const char *colon = text.len ? memchr(text.ptr, ':', text.len) : NULL;
    size_t from = colon ? (size_t)(colon - text.ptr) : 0;
    int64_t number;
    if (nl_str_starts(text, running) && text.ptr[text.len - 1] == '.') {
        begin_test(b, (struct nl_str){text.ptr + sizeof running - 1,
                                      text.len - sizeof running}); /* without the full stop */
    } else if (nl_str_contains(text, "(row)")) {
        take_description(b, text);
        b->matrix = false;
    } else if (!text.len) {
        b->matrix = false;
    } else if (b->matrix) {
        matrix_line(b, text);
    } else if (nl_is_digit(text.ptr[0]) && b->test_len) {
        b->matrix = true; /* the numbers of the columns */
    } else if (colon && nl_str_starts(text, device) &&
               csvread_i64((struct nl_str){text.ptr + sizeof device - 1,
                                           from > sizeof device - 1 ? from - sizeof device + 1 : 0},
                           &number)) {
        name_device(b, number, csvread_trimmed((struct nl_str){colon + 1, text.len - from - 1}));
    } else if (colon) {
        take_fact(b, (struct nl_str){text.ptr, from},
                  csvread_trimmed((struct nl_str){colon + 1, text.len - from - 1}));
    }
}

bool telemetry_bandwidth(struct telemetry *t, struct nl_stream *stream, struct nl_err *err)
{
    struct bandwidth b = {.t = t};
    struct textlines lines;
    struct nl_str line;
    textlines_init(&lines, stream);
    while (textlines_next(&lines, &line, err) && !nl_builder_over_budget(t->builder))
        text_line(&b, line);
    bool failed = lines.failed;
    t->strange += (int64_t)lines.cut;
    textlines_release(&lines);
    return !failed;
}

/* ---- JSON: {"nvbandwidth": {facts, "testcases": [{name, bandwidth_description, bandwidth_matrix}]}} */

static void json_matrix(struct bandwidth *b, struct nl_str text)
{
    struct jsonpull reader;
    int64_t row = 0;
    jsonpull_memory(&reader, text.ptr, text.len, 0);
    bool list = jsonpull_next(&reader) == JSONPULL_ARRAY;
    for (; list && jsonpull_item(&reader); row++) {
        if (reader.type != JSONPULL_ARRAY) {
            jsonpull_skip(&reader);
            continue;
        }
        for (int64_t column = 0; jsonpull_item(&reader); column++) {
            if ((reader.type == JSONPULL_STRING || reader.type == JSONPULL_NUMBER) &&
                column < MAX_COLUMNS && row < MAX_COLUMNS)
                take_cell(b, row, column, reader.text);
            else
                jsonpull_skip(&reader);
        }
    }
    jsonpull_release(&reader);
}

/* A test; the matrix waits, because its name and description may come after it. */
static void json_test(struct bandwidth *b, struct nl_str text)
{
    struct jsonpull reader;
    struct nl_str matrix = {"", 0};
    b->test_len = 0;
    b->peers = false;
    jsonpull_memory(&reader, text.ptr, text.len, 0);
    bool object = jsonpull_next(&reader) == JSONPULL_OBJECT;
    while (object && jsonpull_member(&reader)) {
        bool name = nl_str_is(reader.text, "name");
        bool description = nl_str_is(reader.text, "bandwidth_description");
        if (nl_str_is(reader.text, "bandwidth_matrix")) {
            if (!jsonpull_raw(&reader, &matrix))
                break;
            continue;
        }
        enum jsonpull_type type = jsonpull_next(&reader);
        if (name && type == JSONPULL_STRING) {
            b->test_len = reader.text.len < sizeof b->test ? reader.text.len : sizeof b->test;
            memcpy(b->test, reader.text.ptr, b->test_len);
        } else if (description && type == JSONPULL_STRING) {
            take_description(b, reader.text);
        } else {
            jsonpull_skip(&reader);
        }
    }
    jsonpull_release(&reader);
    if (!matrix.len)
        return;
    b->t->tick++;
    b->t->timeless++;
    json_matrix(b, matrix);
}

static void json_tests(struct bandwidth *b, struct jsonpull *reader)
{
    struct nl_str test;
    while (jsonpull_item(reader) && jsonpull_raw(reader, &test))
        json_test(b, test);
}

/* "GPU Device list": ["0: NVIDIA H100: …"] */
static void json_devices(struct bandwidth *b, struct jsonpull *reader)
{
    while (jsonpull_item(reader)) {
        int64_t number;
        const char *colon = reader->type == JSONPULL_STRING
                                ? memchr(reader->text.ptr, ':', reader->text.len)
                                : NULL;
        size_t from = colon ? (size_t)(colon - reader->text.ptr) : 0;
        if (colon && csvread_i64((struct nl_str){reader->text.ptr, from}, &number))
            name_device(b, number, (struct nl_str){colon + 1, reader->text.len - from - 1});
        else
            jsonpull_skip(reader);
    }
}

static void json_body(struct bandwidth *b, struct jsonpull *reader)
{
    char room[64];
    while (jsonpull_member(reader) && !nl_builder_over_budget(b->t->builder)) {
        struct nl_str key = {room, reader->text.len < sizeof room ? reader->text.len : sizeof room};
        memcpy(room, reader->text.ptr, key.len);
        enum jsonpull_type type = jsonpull_next(reader);
        if (type == JSONPULL_ARRAY && nl_str_is(key, "testcases"))
            json_tests(b, reader);
        else if (type == JSONPULL_ARRAY && nl_str_is(key, "GPU Device list"))
            json_devices(b, reader);
        else if (type == JSONPULL_STRING || type == JSONPULL_NUMBER)
            take_fact(b, nl_str_is(key, "Version") ? nl_str("nvbandwidth Version") : key,
                      reader->text);
        else
            jsonpull_skip(reader);
    }
}

bool telemetry_bandwidth_json(struct telemetry *t, struct nl_stream *stream, struct nl_err *err)
{
    struct bandwidth b = {.t = t};
    struct jsonpull reader;
    struct nl_err problem;
    nl_err_clear(&problem);
    jsonpull_stream(&reader, stream, 0, &problem);
    bool object = jsonpull_next(&reader) == JSONPULL_OBJECT;
    while (object && jsonpull_member(&reader)) {
        bool ours = nl_str_is(reader.text, "nvbandwidth");
        if (jsonpull_next(&reader) == JSONPULL_OBJECT && ours)
            json_body(&b, &reader);
        else
            jsonpull_skip(&reader);
    }
    t->strange += reader.problem != NULL;
    jsonpull_release(&reader);
    if (problem.code != NL_OK) {
        *err = problem;
        return false;
    }
    return true;
}
