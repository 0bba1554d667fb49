/*
 * Nsight Compute reports (.ncu-rep), read directly.
 *
 *     "NVR\0"  u32 size  FileHeader, then blocks:  u32 size  BlockHeader  payload
 *     payload: messages  u32 size  bytes: first sources, then results (kernels), then others
 *
 * Only one message is held at a time. The strings of all blocks make one table that metrics refer
 * to; session and devices come in separate blocks. A cut file gives the kernels of its whole
 * messages.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/stream.h"
#include "base/utf8.h"
#include "ingest/ncu/ncu.h"
#include "ingest/ncu/ncumessage.h"
#include "ingest/ncu/ncurepfields.h"

#define MAX_MESSAGE  ((uint64_t)1 << 30)
#define MAX_STRINGS  ((size_t)1 << 22)
#define MAX_SECTIONS 256
#define OLDEST       7 /* file version of 2022.1 to 2025.1 */

static const char magic[4] = {'N', 'V', 'R', 0};

/* A string of the table, and what it means as the name of a metric. */
struct string {
    struct nl_str text;
    struct ncu_name name;
    uint32_t unit, section;
    bool known;
};

struct rep {
    struct ncu_load ncu;
    struct nl_stream *stream;
    struct nl_err *err;
    unsigned char *bytes; /* of the message last read */
    size_t cap, len;
    uint64_t at;
    struct nl_arena arena;
    struct string *strings;
    size_t string_count, string_cap;
    struct nl_str process_name;
    int64_t pid;
    uint64_t sections[MAX_SECTIONS]; /* hashes of those whose metrics are known */
    size_t section_count;
    bool cut, damaged, failed;
    struct cubinlines lines;
    struct cubincode programs;
    int64_t results, others, sources, unnamed, nvtx;
};

static uint32_t u32_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static int ncurep_sniff(const struct nl_input *input, const char **why)
{
    if (input->head_len < 12 || memcmp(input->head, magic, sizeof magic) != 0)
        return 0;
    uint32_t size = u32_at(input->head + 4);
    if (size > 4096) {
        *why = "not one, or damaged: its header has an impossible size";
        return 0;
    }
    return 98;
}

/* The next `len` bytes into rep->bytes, growing with what really comes. False at the end. */
static bool read_bytes(struct rep *rep, uint64_t len)
{
    size_t step = (size_t)1 << 20;
    for (rep->len = 0; rep->len < len;) {
        size_t want = len - rep->len < step ? (size_t)(len - rep->len) : step;
        nl_grow(&rep->bytes, &rep->cap, rep->len + want);
        ssize_t got = nl_stream_read(rep->stream, rep->bytes + rep->len, want, rep->err);
        if (got <= 0) {
            rep->failed = got < 0;
            return false;
        }
        rep->len += (size_t)got;
        rep->at += (uint64_t)got;
    }
    return true;
}

static bool skip(struct rep *rep, uint64_t len)
{
    while (len) {
        uint64_t step = len < (1u << 20) ? len : 1u << 20;
        if (!read_bytes(rep, step))
            return false;
        len -= step;
    }
    return true;
}

/* A size before what it counts. False at the end, cut or impossible. */
static bool take_size(struct rep *rep, uint64_t *size)
{
    if (!read_bytes(rep, 4)) {
        rep->cut = rep->cut || rep->len > 0;
        return false;
    }
    *size = u32_at(rep->bytes);
    if (*size <= MAX_MESSAGE)
        return true;
    rep->damaged = true;
    return false;
}

static void read_strings(struct rep *rep, const struct wire_field *from)
{
    struct wire table = wire_inside(from);
    struct wire_field field;
    while (wire_next(&table, &field)) {
        if (field.number != STRING_TABLE_STRINGS || !wire_is_text(&field) ||
            rep->string_count >= MAX_STRINGS)
            continue;
        nl_grow(&rep->strings, &rep->string_cap, rep->string_count + 1);
        struct nl_str text = {nl_arena_text(&rep->arena, (const char *)field.data, field.len),
                              field.len};
        rep->strings[rep->string_count++] = (struct string){.text = text};
    }
}

/* A string of the table as a metric's name; its unit is looked up once. */
static struct string *metric_string(struct rep *rep, uint64_t id)
{
    if (id >= rep->string_count)
        return NULL;
    struct string *string = &rep->strings[id];
    if (!string->known) {
        string->known = true;
        string->name = ncu_name(&rep->ncu, string->text);
        const char *unit = ncu_unit_of(string->text);
        if (unit[0])
            string->unit = nl_stage_name(rep->ncu.stage, nl_str(unit));
    }
    return string;
}

static bool same_value(const struct ncu_value *a, const struct ncu_value *b)
{
    return a->kind == b->kind && !(a->number < b->number) && !(a->number > b->number) &&
           nl_str_eq(a->text, b->text);
}

/* Instance of a MetricResult: what it belongs to and its value, both as MetricValue. */
struct instance {
    struct ncu_value parts[2];
    char rooms[2][24];
};

static void read_instance(const struct wire_field *from, struct instance *to)
{
    struct wire message = wire_inside(from);
    struct wire_field part;
    to->parts[0] = to->parts[1] = (struct ncu_value){.kind = NCU_NO_DATA};
    while (wire_next(&message, &part))
        if (part.number == INSTANCE_KEY || part.number == INSTANCE_VALUE) {
            unsigned which = part.number - INSTANCE_KEY;
            to->parts[which] = ncu_read_value(&part, to->rooms[which]);
        }
}

static void keep_instance(struct rep *rep, const struct wire_field *from, const unsigned char *end)
{
    struct instance instance;
    int64_t key;
    double value;
    if (ncu_quick_instance(from, end, &key, &value)) {
        ncu_instances_number(&rep->ncu.instances, key, value);
        return;
    }
    read_instance(from, &instance);
    if (instance.parts[0].kind != NCU_NO_DATA || instance.parts[1].kind != NCU_NO_DATA)
        ncu_instance(&rep->ncu, &instance.parts[0], &instance.parts[1]);
}

/* Newer versions repeat the value over all as the only instance, which says nothing more. */
static bool is_repeated(const struct wire_field *only, const struct ncu_value *whole)
{
    struct instance instance;
    read_instance(only, &instance);
    return instance.parts[0].kind == NCU_NUMBER && instance.parts[0].whole == 0 &&
           same_value(&instance.parts[1], whole);
}

/* MetricResult */
static void read_metric(struct rep *rep, const struct wire_field *from)
{
    struct wire message = wire_inside(from);
    struct wire_field field, instance = {0};
    struct string *name = NULL;
    struct ncu_value value = {.kind = NCU_NO_DATA};
    char room[24];
    int instances = 0;
    while (wire_next(&message, &field)) {
        if (field.number == METRIC_INSTANCES) {
            instance = field;
            instances += instances < 2;
            if (wire_is_text(&field))
                keep_instance(rep, &field, message.end);
        } else if (field.number == METRIC_NAME_ID) {
            name = metric_string(rep, field.value);
        } else if (field.number == METRIC_VALUE) {
            value = ncu_read_value(&field, room);
        }
    }
    if (name)
        ncu_metric(&rep->ncu, name->name, name->unit, name->section, &value);
    rep->unnamed += !name;
    if (!name || (instances == 1 && is_repeated(&instance, &value)))
        ncu_instances_drop(&rep->ncu.instances);
    else
        ncu_instances_done(&rep->ncu, name->name);
}

/* Size {x, y, z}; protobuf leaves zeroes out. */
static void read_triple(const struct wire_field *from, uint32_t out[3])
{
    struct wire message = wire_inside(from);
    struct wire_field field;
    out[0] = out[1] = out[2] = 0;
    while (wire_next(&message, &field))
        if (field.number >= SIZE_X && field.number <= SIZE_Z && field.value < UINT32_MAX)
            out[field.number - SIZE_X] = (uint32_t)field.value;
}

/* RuleResult, whose body has items with a message with a text: advice as a
 * metric without a number. */
static void read_rule(struct rep *rep, const struct wire_field *from)
{
    struct wire message = wire_inside(from);
    struct wire_field field;
    char room[160];
    struct nl_str id = ncu_text_in(message, RULE_IDENTIFIER),
                  section = ncu_text_in(message, RULE_SECTION_IDENTIFIER);
    struct nl_str label = {room,
                           (size_t)snprintf(room, sizeof room, "rule:%.*s", NL_UP_TO(120, id))};
    while (wire_next(&message, &field)) {
        if (field.number != RULE_BODY)
            continue;
        struct wire body = wire_inside(&field);
        struct wire_field item;
        while (wire_next(&body, &item)) {
            struct nl_str inner = ncu_text_in(wire_inside(&item), BODY_ITEM_MESSAGE);
            struct nl_str text = ncu_text_in(wire_over(inner.ptr, inner.len), MESSAGE_TEXT);
            struct ncu_value value = {.kind = NCU_TEXT, .text = text};
            if (item.number == BODY_ITEMS && text.len)
                ncu_metric(&rep->ncu, ncu_name(&rep->ncu, label), NL_NO_NAME,
                           section.len ? nl_stage_name(rep->ncu.stage, section) : NL_NO_NAME,
                           &value);
        }
    }
}

static bool is_new_section(struct rep *rep, const struct wire_field *from)
{
    uint64_t hash = nl_hash(from->data, from->len);
    for (size_t i = 0; i < rep->section_count; i++)
        if (rep->sections[i] == hash)
            return false;
    if (rep->section_count == MAX_SECTIONS)
        return false;
    rep->sections[rep->section_count++] = hash;
    return true;
}

static void set_section(struct rep *rep, struct nl_str metric, uint32_t section)
{
    uint32_t name = nl_stage_name(rep->ncu.stage, metric);
    for (size_t i = 0; i < rep->string_count; i++)
        if (rep->strings[i].known && rep->strings[i].name.id == name && !rep->strings[i].section)
            rep->strings[i].section = section;
    for (size_t i = 0; i < rep->ncu.count; i++)
        if (rep->ncu.pending[i].name == name && !rep->ncu.pending[i].section)
            rep->ncu.pending[i].section = section;
}

/* Section, whose header names metrics: where they are shown.
 * Every kernel brings the same ones again. */
static void read_section(struct rep *rep, const struct wire_field *from)
{
    struct nl_str title = ncu_text_in(wire_inside(from), SECTION_DISPLAY_NAME);
    struct wire message = wire_inside(from);
    struct wire_field field, item;
    if (!title.len || !is_new_section(rep, from))
        return;
    uint32_t section = nl_stage_name(rep->ncu.stage, title);
    while (wire_next(&message, &field)) {
        if (field.number != SECTION_HEADER)
            continue;
        struct wire header = wire_inside(&field);
        while (wire_next(&header, &item))
            if (item.number == HEADER_METRICS)
                set_section(rep, ncu_text_in(wire_inside(&item), HEADER_METRIC_NAME), section);
    }
}

/* ProfileResult: one kernel. */
static void read_result(struct rep *rep)
{
    struct wire message = wire_over(rep->bytes, rep->len);
    struct wire_field field;
    struct ncu_kernel kernel = {.process_name = rep->process_name,
                                .lines = &rep->lines,
                                .programs = &rep->programs,
                                .pid = rep->pid,
                                .device = NL_NULL_I64,
                                .context = NL_NULL_I64,
                                .stream = NL_NULL_I64};
    memset(kernel.grid, 0xff, sizeof kernel.grid);
    memset(kernel.block, 0xff, sizeof kernel.block);
    while (wire_next(&message, &field)) {
        switch (field.number) {
        case RESULT_KERNEL_MANGLED_NAME: kernel.mangled = wire_str(&field); break;
        case RESULT_KERNEL_FUNCTION_NAME: kernel.short_name = wire_str(&field); break;
        case RESULT_KERNEL_DEMANGLED_NAME: kernel.name = wire_str(&field); break;
        case RESULT_GRID_SIZE: read_triple(&field, kernel.grid); break;
        case RESULT_BLOCK_SIZE: read_triple(&field, kernel.block); break;
        case RESULT_METRIC_RESULTS: read_metric(rep, &field); break;
        case RESULT_SOURCE: kernel.code = ncu_number_in(wire_inside(&field), SOURCE_ID); break;
        case RESULT_SECTIONS: read_section(rep, &field); break;
        case RESULT_RULE_RESULTS: read_rule(rep, &field); break;
        case RESULT_NVTX: rep->nvtx++; break;
        case RESULT_CONTEXT_ID: kernel.context = wire_i64(&field); break;
        case RESULT_STREAM_ID: kernel.stream = wire_i64(&field); break;
        default: break;
        }
    }
    rep->damaged = rep->damaged || message.damaged;
    if (!kernel.name.len)
        kernel.name = kernel.mangled.len ? kernel.mangled : kernel.short_name;
    kernel.device = rep->ncu.device_index;
    ncu_kernel(&rep->ncu, &kernel);
    rep->results++;
}

/* SourceData: of programs, operations, PTX and line tables are read. */
static void read_source(struct rep *rep)
{
    struct wire message = wire_over(rep->bytes, rep->len);
    struct wire_field field;
    uint64_t id = 0;
    while (wire_next(&message, &field))
        if (field.number == SOURCE_DATA_ID)
            id = field.value;
        else if (field.number == SOURCE_DATA_PROGRAM && wire_is_text(&field)) {
            cubinlines_add(&rep->lines, id, field.data, field.len);
            cubincode_add(&rep->programs, id, field.data, field.len);
        }
    rep->sources++;
}

struct block {
    uint64_t sources, results, others, payload;
};

static void read_process(struct rep *rep, const struct wire_field *from)
{
    struct wire message = wire_inside(from);
    struct wire_field field;
    rep->pid = NL_NULL_I64;
    while (wire_next(&message, &field)) {
        if (field.number == PROCESS_PROCESS_ID && wire_is_varint(&field))
            rep->pid = wire_i64(&field);
        if (field.number == PROCESS_PROCESS_NAME && field.len) {
            struct nl_str name = nl_str_file_name(wire_str(&field));
            if (!nl_str_eq(rep->process_name, name))
                rep->process_name =
                    (struct nl_str){nl_arena_text(&rep->arena, name.ptr, name.len), name.len};
        }
    }
}

static struct block read_header(struct rep *rep)
{
    struct block block = {0};
    struct wire message = wire_over(rep->bytes, rep->len);
    struct wire_field field;
    while (wire_next(&message, &field)) {
        switch (field.number) {
        case BLOCK_NUM_SOURCES: block.sources = field.value; break;
        case BLOCK_NUM_RESULTS: block.results = field.value; break;
        case BLOCK_SESSION_DETAILS: ncu_read_session(&rep->ncu, &field); break;
        case BLOCK_STRING_TABLE: read_strings(rep, &field); break;
        case BLOCK_PAYLOAD_SIZE: block.payload = field.value; break;
        case BLOCK_PROCESS: read_process(rep, &field); break;
        case BLOCK_NUM_RANGE_RESULTS:
        case BLOCK_NUM_CMDLIST_RESULTS:
        case BLOCK_NUM_GRAPH_RESULTS: block.others += field.value; break;
        default: break;
        }
    }
    rep->damaged = rep->damaged || message.damaged;
    return block;
}

/* The messages of one block. False when the file ends or makes no sense from here. */
static bool read_payload(struct rep *rep, const struct block *block)
{
    uint64_t left = block->payload, size;
    for (uint64_t i = 0; left >= 4; i++) {
        if (!take_size(rep, &size))
            return false;
        left -= 4;
        if (size > left) {
            rep->damaged = true;
            return false;
        }
        left -= size;
        bool result = i >= block->sources && i - block->sources < block->results;
        if (!(result || i < block->sources ? read_bytes(rep, size) : skip(rep, size))) {
            rep->cut = true;
            return false;
        }
        if (result)
            read_result(rep);
        else if (i < block->sources)
            read_source(rep);
        else
            rep->others++;
    }
    if (left)
        rep->damaged = true;
    return !left;
}

static bool read_blocks(struct rep *rep)
{
    uint64_t size;
    while (take_size(rep, &size)) {
        if (!read_bytes(rep, size)) {
            rep->cut = true;
            break;
        }
        struct block block = read_header(rep);
        if (!read_payload(rep, &block) || rep->damaged)
            break;
        if (nl_job_cancelled(rep->ncu.job))
            return nl_fail(rep->err, NL_INTERRUPTED, "interrupted");
        if (nl_builder_over_budget(rep->ncu.builder))
            break;
    }
    return !rep->failed;
}

/* FileHeader */
static bool read_start(struct rep *rep)
{
    struct wire_field field;
    uint64_t size, version = 0;
    bool whole =
        read_bytes(rep, 4) && take_size(rep, &size) && size <= 4096 && read_bytes(rep, size);
    if (rep->failed)
        return false;
    if (!whole)
        return nl_fail(rep->err, NL_FORMAT, "the report ends within its header; copy it again");
    struct wire message = wire_over(rep->bytes, rep->len);
    while (wire_next(&message, &field))
        if (field.number == FILE_HEADER_VERSION)
            version = field.value;
    if (version < OLDEST)
        return nl_fail(rep->err, NL_FORMAT,
                       "a report of file version %llu, older than Nsight Compute 2022.1; open it "
                       "with the ncu that wrote it: ncu --import FILE --csv --page raw",
                       (unsigned long long)version);
    if (version > OLDEST)
        nl_builder_coverage(rep->ncu.builder, rep->ncu.source, "newer file version", 1,
                            "some of it may not be understood");
    return true;
}

static void report_coverage(struct rep *rep)
{
    const struct {
        const char *item;
        int64_t count;
        const char *detail;
    } rows[] = {
        {"not loaded: text of machine code", rep->sources,
         "reports have none; operations, PTX and line tables of programs are read"},
        {"damaged: line tables of programs", (int64_t)rep->lines.damaged, NULL},
        {"left out: rows of line tables", (int64_t)rep->lines.full, "there are too many"},
        {"not loaded: range, command list and graph results", rep->others, NULL},
        {"not loaded: NVTX states of kernels", rep->nvtx, NULL},
        {"skipped: metrics whose name is not in the report", rep->unnamed, NULL},
        {"truncated: the report ends early", rep->cut, "kernels before the end are loaded"},
        {"damaged: a block cannot be read", rep->damaged, "what follows it is not loaded"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].count)
            nl_builder_coverage(rep->ncu.builder, rep->ncu.source, rows[i].item, rows[i].count,
                                rows[i].detail);
    ncu_end(&rep->ncu);
}

static bool ncurep_load(struct nl_reading *reading, struct nl_err *err)
{
    struct rep rep = {.stream = reading->stream, .err = err, .pid = NL_NULL_I64};
    ncu_begin(&rep.ncu, reading->builder, reading->source, reading->job);
    nl_arena_init(&rep.arena);
    cubinlines_init(&rep.lines);
    cubincode_init(&rep.programs);
    bool done = read_start(&rep) && read_blocks(&rep);
    if (done && !rep.results) {
        err->offset = (int64_t)rep.at;
        done = nl_fail(err, NL_FORMAT, "this report has no complete kernel%s",
                       rep.cut || rep.damaged ? "; it is cut or damaged, copy it again" : "");
    }
    report_coverage(&rep);
    nl_arena_free(&rep.arena);
    cubinlines_release(&rep.lines);
    cubincode_release(&rep.programs);
    nl_free(rep.strings);
    nl_free(rep.bytes);
    return done;
}

/* It carries machine code with its debug information. */
static bool ncurep_risky(const struct nl_input *input)
{
    (void)input;
    return true;
}

const struct nl_format nl_format_ncurep = {
    .name = "ncu",
    .title = "Nsight Compute report",
    .sniff = ncurep_sniff,
    .load = ncurep_load,
    .feed = NL_FEED_STREAM,
    .doc = "docs/formats/ncu.md",
    .risky = ncurep_risky,
    .measures = true,
};
