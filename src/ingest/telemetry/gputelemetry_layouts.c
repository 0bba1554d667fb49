/*
 * The layouts of GPU telemetry: CSV of nvidia-smi queries, the columns of dmon and pmon, entities
 * of dcgmi, lines of dcgm-exporter.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/utf8.h"
#include "parse/csvread.h"
#include "ingest/telemetry/gputelemetry.h"
#include "parse/textlines.h"

/* ---- nvidia-smi --query-gpu ---- */

#define MAX_DESCRIBED 64 /* devices whose description is not repeated if it is the same */
#define MAX_UUIDS     64 /* devices of a file that does not number them */

struct query {
    struct csvread csv;
    int time, device, name, uuid;
    bool header;
    struct nl_arena arena;
    struct nl_str uuids[MAX_UUIDS];
    size_t uuid_count;
    struct query_column {
        struct nl_str name, unit;
        char room[16]; /* of a name where the file has none */
    } columns[TELEMETRY_COLUMNS];
    uint64_t described[MAX_DESCRIBED]; /* per device: hash of its last description */
};

/* Columns have numbers where the file has no header. */
static void number_columns(struct query *q)
{
    for (int c = 0; c < TELEMETRY_COLUMNS; c++) {
        struct query_column *column = &q->columns[c];
        int len = snprintf(column->room, sizeof column->room, "column %d", c + 1);
        column->name = (struct nl_str){column->room, (size_t)len};
        column->unit = (struct nl_str){"", 0};
    }
}

static void name_columns(struct query *q)
{
    for (int c = 0; c < TELEMETRY_COLUMNS && (size_t)c < q->csv.name_count; c++) {
        struct nl_str name = q->csv.names[c];
        const char *bracket = name.len ? memchr(name.ptr, '[', name.len) : NULL;
        if (bracket)
            name.len = (size_t)(bracket - name.ptr);
        q->columns[c].name = csvread_trimmed(name);
        q->columns[c].unit = csvread_unit(&q->csv, c);
    }
}

static void take_header(struct query *q)
{
    csvread_take_header(&q->csv);
    name_columns(q);
    q->time = csvread_column(&q->csv, "timestamp|time");
    /* a script's own column identifies devices if nvidia-smi's index is 0 for all */
    q->device = csvread_column(&q->csv, "gpu|gpu_id|index");
    q->name = csvread_column(&q->csv, "name|gpu_name");
    q->uuid = csvread_column(&q->csv, "uuid|gpu_uuid|pci.bus_id");
    q->header = true;
}

/* The device of a row: its number, or that of its UUID in order of appearance. */
static int64_t device_of(struct query *q)
{
    int64_t device;
    if (csvread_i64(csvread_cell(&q->csv, q->device), &device) && telemetry_is_device(device))
        return device;
    struct nl_str uuid = csvread_trimmed(csvread_cell(&q->csv, q->uuid));
    if (!uuid.len)
        return NL_NULL_I64;
    for (size_t i = 0; i < q->uuid_count; i++)
        if (nl_str_eq(q->uuids[i], uuid))
            return (int64_t)i;
    if (q->uuid_count == MAX_UUIDS)
        return NL_NULL_I64;
    q->uuids[q->uuid_count] =
        (struct nl_str){nl_arena_text(&q->arena, uuid.ptr, uuid.len), uuid.len};
    return (int64_t)q->uuid_count++;
}

static void describe_device(struct telemetry *t, struct query *q, int64_t device)
{
    struct nl_str name = csvread_trimmed(csvread_cell(&q->csv, q->name));
    struct nl_str uuid = csvread_trimmed(csvread_cell(&q->csv, q->uuid));
    if (device == NL_NULL_I64 || (!name.len && !uuid.len))
        return;
    uint64_t told[2] = {nl_hash(name.ptr, name.len), nl_hash(uuid.ptr, uuid.len)};
    uint64_t hash = nl_hash(told, sizeof told);
    if (device < MAX_DESCRIBED && q->described[device] == hash)
        return;
    if (device < MAX_DESCRIBED)
        q->described[device] = hash;
    struct nl_device_row *row =
        nl_builder_device_row(t->builder, nl_builder_device(t->builder, t->source, device, device));
    row->vendor = nl_builder_name(t->builder, nl_str("nvidia"));
    if (name.len)
        row->name = nl_builder_name(t->builder, name);
    if (nl_str_starts(uuid, "GPU-") || nl_str_starts(uuid, "MIG-"))
        row->uuid = nl_builder_name(t->builder, uuid);
}

static bool is_value(const struct query *q, int column, int time)
{
    bool describes = column == q->device || column == q->name || column == q->uuid;
    return column != time && !(q->header && describes);
}

static void query_row(struct telemetry *t, struct query *q)
{
    const struct csvread *csv = &q->csv;
    int time = q->header ? q->time : 0;
    int64_t ts, device = q->header ? device_of(q) : NL_NULL_I64;
    if (time >= 0 && !telemetry_time(t, csvread_cell(csv, time), &ts)) {
        t->strange++; /* a header again, or a line cut in the middle */
        return;
    }
    if (time < 0) {
        ts = t->tick++;
        t->timeless++;
    }
    describe_device(t, q, device);
    for (int c = 0; c < (int)csv->count && c < TELEMETRY_COLUMNS; c++) {
        const struct query_column *column = &q->columns[c];
        if (is_value(q, c, time))
            telemetry_cell(t, ts, device, (struct nl_str){"", 0}, column->name, column->unit,
                           csv->cells[c]);
    }
}

bool telemetry_query(struct telemetry *t, struct nl_stream *stream, struct nl_err *err)
{
    struct query q = {.time = -1, .device = -1, .name = -1, .uuid = -1};
    enum csvread_status got;
    number_columns(&q);
    nl_arena_init(&q.arena);
    csvread_init(&q.csv, stream, t->job, &(struct csvread_options){.delimiter = ','});
    for (uint64_t i = 0;
         (got = csvread_next(&q.csv, err)) == CSVREAD_ROW && !nl_builder_over_budget(t->builder);
         i++) {
        int64_t ns;
        struct telemetry scratch = {.source = 0};
        if (i < 3 && !q.header && !telemetry_time(&scratch, *q.csv.cells, &ns))
            take_header(&q);
        else
            query_row(t, &q);
    }
    if (!q.header)
        nl_builder_coverage(t->builder, t->source, "not recorded: names of columns", 1,
                            "the file has no header; columns are numbered");
    csvread_release(&q.csv);
    nl_arena_free(&q.arena);
    return got != CSVREAD_ERROR;
}

/* ---- tables of words: dmon, pmon, dcgmi ---- */

struct table {
    struct nl_str names[TELEMETRY_COLUMNS], units[TELEMETRY_COLUMNS];
    char text[4096], unit_text[4096];
    int count, device, date, time, pid, command;
    bool units_next;
    int64_t last_device, day;
    int64_t last_time;
};

/* A header, copied; its '#' taken off. */
static int keep_header(struct nl_str line, char *room, size_t size, struct nl_str *names)
{
    size_t len = line.len < size - 1 ? line.len : size - 1;
    memcpy(room, line.ptr, len);
    if (len && room[0] == '#')
        room[0] = ' ';
    return textlines_words((struct nl_str){room, len}, names, TELEMETRY_COLUMNS);
}

static int find_column(const struct table *table, const char *name)
{
    for (int i = 0; i < table->count; i++)
        if (nl_str_is(table->names[i], name))
            return i;
    return -1;
}

static void table_header(struct table *table, struct nl_str line)
{
    if (table->units_next) {
        for (int i = 0; i < TELEMETRY_COLUMNS; i++)
            table->units[i] = (struct nl_str){"", 0};
        (void)keep_header(line, table->unit_text, sizeof table->unit_text, table->units);
        table->units_next = false;
        return;
    }
    table->count = keep_header(line, table->text, sizeof table->text, table->names);
    table->device = find_column(table, "gpu");
    table->date = find_column(table, "Date");
    table->time = find_column(table, "Time");
    table->pid = find_column(table, "pid");
    table->command = find_column(table, "command");
    table->units_next = true;
}

static int64_t day_of(struct nl_str date)
{
    struct telemetry scratch = {.source = 0};
    char text[32];
    int64_t ns = 0;
    if (date.len != 8)
        return 0;
    snprintf(text, sizeof text, "%.4s/%.2s/%.2s 00:00:00", date.ptr, date.ptr + 4, date.ptr + 6);
    return telemetry_time(&scratch, nl_str(text), &ns) ? ns : 0;
}

/* Time of a row: date and time, time of day alone (which passes midnight), or the number of the
 * tick: a device that comes again begins the next one. */
static int64_t row_time(struct telemetry *t, struct table *table, const struct nl_str *words,
                        int64_t device)
{
    int hour, minute, second;
    char text[16];
    if (table->time >= 0) {
        struct nl_str clock = words[table->time];
        snprintf(text, sizeof text, "%.*s", NL_UP_TO(15, clock));
        if (sscanf(text, "%2d:%2d:%2d", &hour, &minute, &second) == 3) {
            int64_t ns = ((hour * INT64_C(60) + minute) * 60 + second) * NL_SECOND_NS;
            if (table->date >= 0) {
                t->dated = true;
                return day_of(words[table->date]) + ns;
            }
            if (table->last_time != NL_NULL_I64 && ns < table->last_time - NL_DAY_NS / 2)
                table->day += NL_DAY_NS;
            table->last_time = ns;
            return table->day + ns;
        }
    }
    if (device <= table->last_device)
        t->tick++;
    table->last_device = device;
    t->timeless++;
    return t->tick;
}

static bool is_left_out(const struct table *table, int column)
{
    return column == table->device || column == table->date || column == table->time ||
           column == table->pid || column == table->command ||
           (table->pid >= 0 && nl_str_is(table->names[column], "type"));
}

/* pmon: the row's process in place of the file's; false when no process is on the device now. */
static bool row_process(struct telemetry *t, const struct table *table, const struct nl_str *words,
                        int count)
{
    int64_t pid;
    if (table->pid < 0)
        return true;
    if (count <= table->pid || !csvread_i64(words[table->pid], &pid))
        return false;
    t->process = nl_builder_process(t->builder, t->source, pid);
    if (table->command >= 0 && count > table->command)
        nl_builder_process_name(t->builder, t->process, words[table->command]);
    return true;
}

/* A row has as many words as the header, but for the command of pmon, which may hold spaces. */
static bool is_row(const struct table *table, int count)
{
    if (table->device < 0 || count <= table->device || count <= table->time || count <= table->date)
        return false;
    return table->command >= 0 || count == table->count;
}

static void dmon_row(struct telemetry *t, struct table *table, struct nl_str line)
{
    struct nl_str words[TELEMETRY_COLUMNS] = {{0}};
    int count = textlines_words(line, words, TELEMETRY_COLUMNS);
    int64_t device;
    if (!is_row(table, count) || !csvread_i64(words[table->device], &device) ||
        !telemetry_is_device(device)) {
        t->strange++;
        return;
    }
    int64_t ts = row_time(t, table, words, device);
    uint32_t whole = t->process;
    if (!row_process(t, table, words, count))
        return;
    for (int c = 0; c < count && c < table->count; c++)
        if (!is_left_out(table, c))
            telemetry_cell(t, ts, device, (struct nl_str){"", 0}, table->names[c], table->units[c],
                           words[c]);
    t->process = whole;
}

/* Units of dcgmi's short names; the rest have none. */
static const char *dcgm_unit(struct nl_str name)
{
    static const struct {
        const char *name, *unit;
    } units[] = {{"GRACT", "0..1"},    {"SMACT", "0..1"},    {"SMOCC", "0..1"},
                 {"TENSO", "0..1"},    {"DRAMA", "0..1"},    {"FP64A", "0..1"},
                 {"FP32A", "0..1"},    {"FP16A", "0..1"},    {"GPUTL", "%"},
                 {"MCUTL", "%"},       {"FBUSD", "MiB"},     {"FBFRE", "MiB"},
                 {"POWER", "W"},       {"TMPTR", "C"},       {"PCITX", "bytes/s"},
                 {"PCIRX", "bytes/s"}, {"NVLTX", "bytes/s"}, {"NVLRX", "bytes/s"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (nl_str_is(name, units[i].name))
            return units[i].unit;
    return "";
}

/* "GPU 0  0.969 …": the entity is two words, the header has one for both. */
static void dcgm_row(struct telemetry *t, struct table *table, struct nl_str line)
{
    struct nl_str words[TELEMETRY_COLUMNS] = {{0}}, entity = {"", 0};
    char room[64];
    int count = textlines_words(line, words, TELEMETRY_COLUMNS);
    int64_t id, device;
    if (count < 2 || count != table->count + 1 || !csvread_i64(words[1], &id) || id < 0 ||
        id > 1 << 20) {
        t->strange += count > 1;
        return;
    }
    device = id;
    if (!nl_str_is(words[0], "GPU")) {
        device = NL_NULL_I64;
        entity = (struct nl_str){
            room, (size_t)snprintf(room, sizeof room, "%.*s %d", NL_UP_TO(40, words[0]), (int)id)};
    }
    int64_t order = entity.len ? (int64_t)(nl_hash(room, entity.len) >> 20) : id;
    if (table->last_device == NL_NULL_I64)
        table->last_device = order; /* the entity that begins every tick */
    else if (order == table->last_device)
        t->tick++;
    t->timeless++;
    for (int c = 1; c < table->count; c++)
        telemetry_cell(t, t->tick, device, entity, table->names[c],
                       nl_str(dcgm_unit(table->names[c])), words[c + 1]);
}

/* ---- dcgm-exporter: NAME{label="value",…} number ---- */

/* The text of a label. */
static struct nl_str label(struct nl_str labels, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i + len + 2 < labels.len; i++) {
        if ((i && labels.ptr[i - 1] != ',' && labels.ptr[i - 1] != '{') ||
            memcmp(labels.ptr + i, name, len) != 0 || memcmp(labels.ptr + i + len, "=\"", 2) != 0)
            continue;
        const char *from = labels.ptr + i + len + 2;
        const char *end = memchr(from, '"', labels.len - i - len - 2);
        return end ? (struct nl_str){from, (size_t)(end - from)} : (struct nl_str){"", 0};
    }
    return (struct nl_str){"", 0};
}

/* "# HELP NAME text (in W)." names the unit of the lines that follow. */
static void exporter_help(struct table *table, struct nl_str line)
{
    size_t at = line.len;
    table->units[0] = (struct nl_str){"", 0};
    if (!nl_str_starts(line, "# HELP ") || !nl_str_contains(line, "(in "))
        return;
    while (at > 0 && line.ptr[at - 1] != '(')
        at--;
    const char *end = memchr(line.ptr + at, ')', line.len - at);
    size_t len = end ? (size_t)(end - line.ptr) - at : 0;
    if (len < 4 || len > 40 || memcmp(line.ptr + at, "in ", 3) != 0)
        return;
    memcpy(table->unit_text, line.ptr + at + 3, len - 3);
    table->units[0] = (struct nl_str){table->unit_text, len - 3};
}

static void exporter_line(struct telemetry *t, struct table *table, struct nl_str line)
{
    const char *open = line.len ? memchr(line.ptr, '{', line.len) : NULL;
    const char *close = line.len ? memrchr(line.ptr, '}', line.len) : NULL;
    int64_t device;
    if (!nl_str_starts(line, "DCGM_FI_") || !open || !close || close < open)
        return;
    struct nl_str labels = {open, (size_t)(close - open) + 1};
    struct nl_str name = {line.ptr, (size_t)(open - line.ptr)};
    struct nl_str value = {close + 1, line.len - (size_t)(close + 1 - line.ptr)};
    struct nl_str words[TELEMETRY_COLUMNS] = {{0}};
    if (!csvread_i64(label(labels, "gpu"), &device) || !telemetry_is_device(device) ||
        textlines_words(value, words, TELEMETRY_COLUMNS) < 1) {
        t->strange++;
        return;
    }
    struct nl_device_row *row =
        nl_builder_device_row(t->builder, nl_builder_device(t->builder, t->source, device, device));
    row->vendor = nl_builder_name(t->builder, nl_str("nvidia"));
    row->name = nl_builder_name(t->builder, label(labels, "modelName"));
    row->uuid = nl_builder_name(t->builder, label(labels, "UUID"));
    row->bus = nl_builder_name(t->builder, label(labels, "pci_bus_id"));
    t->timeless++;
    telemetry_cell(t, t->tick, device, label(labels, "GPU_I_ID"), name, table->units[0], words[0]);
}

static void take_line(struct telemetry *t, struct table *table, enum telemetry_kind kind,
                      struct nl_str line)
{
    if (!line.len)
        return;
    if (kind == TELEMETRY_EXPORTER) {
        if (nl_str_starts(line, "# HELP"))
            exporter_help(table, line);
        else
            exporter_line(t, table, line);
    } else if (line.ptr[0] == '#') {
        table_header(table, line);
        if (kind == TELEMETRY_DCGM)
            table->units_next = false; /* its second line has no '#' */
    } else if (kind == TELEMETRY_DMON) {
        dmon_row(t, table, line);
    } else {
        dcgm_row(t, table, line);
    }
}

bool telemetry_lines(struct telemetry *t, enum telemetry_kind kind, struct nl_stream *stream,
                     struct nl_err *err)
{
    struct table *table = nl_zalloc(sizeof *table);
    struct textlines lines;
    struct nl_str line;
    table->last_device = kind == TELEMETRY_DCGM ? NL_NULL_I64 : INT64_MAX;
    table->last_time = NL_NULL_I64;
    table->device = table->date = table->time = table->pid = table->command = -1;
    textlines_init(&lines, stream);
    while (textlines_next(&lines, &line, err) && !nl_builder_over_budget(t->builder)) {
        if (lines.count % 4096 == 0 && nl_job_cancelled(t->job))
            break;
        take_line(t, table, kind, line);
    }
    bool failed = lines.failed;
    textlines_release(&lines);
    nl_free(table);
    if (nl_job_cancelled(t->job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    return !failed;
}
