/*
 * Samples of a profile.proto: stacks that were met are found by the bytes of their location ids,
 * others are walked. See pprof.c.
 */
#include <inttypes.h>
#include <stdio.h>

#include "ingest/pprof/pproffields.h"
#include "ingest/pprof/pprofsamples.h"

#define MAX_FRAMES 65536

/* A sample that comes soon. */
struct awaited {
    struct wire_field sample;
    struct wire_field ids,
        values;    /* when it is plain: of these two packed fields and nothing else */
    uint64_t hash; /* of the ids, when its first field is packed ids */
    bool plain;
};

/* Frame of one function of a location. */
static uint32_t read_line(struct pprof *p, const struct pprof_location *location,
                          const struct wire_field *bytes)
{
    struct wire wire = wire_inside(bytes);
    struct wire_field field;
    struct nl_stack_row frame = nl_stack_row();
    frame.module = location->module;
    while (pprof_next(p, &wire, &field, false)) {
        uint32_t row;
        if (field.number == PPROF_LINE_FUNCTION_ID) {
            row = nl_idmap_get(&p->function_index, field.value);
            p->missing += row == NL_NO_ROW;
            frame.name = row == NL_NO_ROW ? NL_NO_NAME : p->functions[row].name;
            frame.file = row == NL_NO_ROW ? NL_NO_NAME : p->functions[row].file;
        } else if (field.number == PPROF_LINE_LINE && field.value > 0 && field.value < UINT32_MAX) {
            frame.line = (uint32_t)field.value;
        }
    }
    return cpuprofile_intern(&p->profile, &frame);
}

static uint32_t read_address(struct pprof *p, const struct pprof_location *location)
{
    char text[32];
    struct nl_stack_row frame = nl_stack_row();
    (void)snprintf(text, sizeof text, "0x%" PRIx64, location->address);
    frame.module = location->module;
    frame.name = cpuprofile_name(&p->profile, nl_str(text));
    return cpuprofile_intern(&p->profile, &frame);
}

static void keep_line(struct pprof *p, uint32_t frame)
{
    nl_grow(&p->lines, &p->line_cap, p->line_count + 1);
    p->lines[p->line_count++] = frame;
}

/* Its lines, outermost first: they are stored the other way round. */
static void read_lines(struct pprof *p, uint32_t row)
{
    struct pprof_location *location = &p->locations[row];
    struct wire_field lines[32], field;
    unsigned count = 0;
    uint64_t missing = p->missing, deep = p->deep;
    struct wire wire = location->whole;
    while (pprof_next(p, &wire, &field, false))
        if (field.number == PPROF_LOCATION_LINE && wire_is_text(&field)) {
            if (count < sizeof lines / sizeof lines[0])
                lines[count++] = field;
            else
                p->deep++;
        }
    struct pprof_lines own = {(uint32_t)p->line_count, (uint16_t)(count ? count : 1), false};
    if (count > 1)
        while (count)
            keep_line(p, read_line(p, location, &lines[--count]));
    else
        own.first = count ? read_line(p, location, &lines[0]) : read_address(p, location);
    location->missing = (uint32_t)(p->missing - missing);
    location->deep = (uint32_t)(p->deep - deep);
    own.odd = p->missing != missing || p->deep != deep;
    p->lines_of[row] = own;
    p->missing = missing;
    p->deep = deep;
}

/* Counts what is odd about a location, once below each caller. */
static void count_odd(struct pprof *p, uint32_t row, uint32_t parent)
{
    const struct pprof_location *location = &p->locations[row];
    uint64_t key = (uint64_t)parent << 32 | row;
    if (nl_idmap_get(&p->odd_below, key) != NL_NO_ROW)
        return;
    nl_idmap_put(&p->odd_below, key, 0);
    p->missing += location->missing;
    p->deep += location->deep;
}

/* A location in a stack that has something odd. */
static uint32_t add_location(struct pprof *p, uint64_t id, uint32_t parent)
{
    uint32_t row = nl_idmap_get(&p->location_index, id);
    if (row == NL_NO_ROW) {
        p->missing++;
        return parent;
    }
    if (!p->lines_of[row].count)
        read_lines(p, row);
    struct pprof_lines lines = p->lines_of[row];
    if (lines.odd)
        count_odd(p, row, parent);
    const uint32_t *frames = lines.count == 1 ? &lines.first : &p->lines[lines.first];
    for (uint32_t i = 0; i < lines.count; i++)
        parent = cpuprofile_child(&p->profile, parent, frames[i]);
    return parent;
}

static void keep_frame(struct pprof *p, uint64_t id)
{
    if (p->frame_count == MAX_FRAMES) {
        p->deep++;
        return;
    }
    nl_grow(&p->frames, &p->frame_cap, p->frame_count + 1);
    p->frames[p->frame_count++] = id;
}

static void keep_value(struct pprof *p, unsigned at, int64_t value, int64_t *values)
{
    if (at >= p->type_count)
        p->extra++;
    else if (__builtin_mul_overflow(value, p->types[at].factor, &values[at])) {
        values[at] = NL_NULL_I64;
        p->overflow++;
    }
}

/* Lane of the thread that a label names; NL_NULL_ROW without one. */
static uint32_t label_lane(struct pprof *p, const struct wire_field *bytes)
{
    struct wire wire = wire_inside(bytes);
    struct wire_field field;
    struct nl_str key = {"", 0}, text = {"", 0};
    int64_t number = NL_NULL_I64;
    while (pprof_next(p, &wire, &field, true)) {
        if (field.number == PPROF_LABEL_KEY)
            key = pprof_string(p, field.value);
        else if (field.number == PPROF_LABEL_TEXT)
            text = pprof_string(p, field.value);
        else if (field.number == PPROF_LABEL_NUMBER)
            number = wire_i64(&field);
    }
    bool thread = nl_str_is(key, "tid") || nl_str_is(key, "thread_id") ||
                  nl_str_is(key, "thread id") || nl_str_is(key, "thread");
    if (thread && number != NL_NULL_I64)
        return cpuprofile_lane(&p->profile, NL_NULL_I64, number, text);
    p->labels++;
    return NL_NULL_ROW;
}

static void add_values(struct pprof *p, const int64_t *values, uint32_t stack, uint32_t lane)
{
    struct nl_sample_row row = nl_sample_row();
    row.stack = stack;
    row.lane = lane;
    for (unsigned i = 0; i < p->type_count; i++) {
        if (values[i] == 0)
            continue;
        row.weight = values[i];
        row.unit = p->types[i].unit;
        row.event = p->types[i].event;
        cpuprofile_sample(&p->profile, &row);
    }
}

/* The frames of the sample's locations, outermost first, in p->path; false
 * when something is odd. */
static bool find_path(struct pprof *p)
{
    p->path_count = 0;
    for (size_t i = p->frame_count; i-- > 0;) {
        uint32_t row = nl_idmap_get(&p->location_index, p->frames[i]);
        if (row == NL_NO_ROW)
            return false;
        if (!p->lines_of[row].count)
            read_lines(p, row);
        struct pprof_lines lines = p->lines_of[row];
        if (lines.odd)
            return false;
        nl_grow(&p->path, &p->path_cap, p->path_count + lines.count);
        if (lines.count == 1) {
            p->path[p->path_count++] = lines.first;
            continue;
        }
        for (uint32_t k = 0; k < lines.count; k++)
            p->path[p->path_count++] = p->lines[lines.first + k];
    }
    return true;
}

/* Node of the sample's frames. */
static uint32_t walk_stack(struct pprof *p)
{
    uint32_t node = NL_NULL_ROW;
    if (find_path(p))
        return cpuprofile_stack(&p->profile, p->path, p->path_count);
    for (size_t i = p->frame_count; i-- > 0;)
        node = add_location(p, p->frames[i], node);
    return node;
}

/* Numbers of a repeated field, packed or one by one. */
static bool next_number(const struct wire_field *field, struct wire *packed, bool *first,
                        uint64_t *number)
{
    bool one = *first && wire_is_varint(field);
    *first = false;
    *number = field->value;
    return one || wire_varint(packed, number);
}

static void keep_numbers(struct pprof *p, const struct wire_field *field, unsigned *value_count,
                         int64_t *values)
{
    struct wire packed = wire_inside(field);
    bool first = true;
    uint64_t number;
    while (next_number(field, &packed, &first, &number)) {
        if (field->number == PPROF_SAMPLE_LOCATION_ID)
            keep_frame(p, number);
        else
            keep_value(p, (*value_count)++, (int64_t)number, values);
    }
    p->damaged += packed.damaged;
}

/* The location ids of a packed field: a byte each, at least. */
static void keep_ids(struct pprof *p, const struct wire_field *field)
{
    struct wire packed = wire_inside(field);
    nl_grow(&p->frames, &p->frame_cap, field->len < MAX_FRAMES ? field->len : MAX_FRAMES);
    size_t count = 0;
    for (uint64_t id; wire_varint(&packed, &id);)
        if (count < MAX_FRAMES)
            p->frames[count++] = id;
        else
            p->deep++;
    p->frame_count = count;
    p->damaged += packed.damaged;
}

/* Node of a stack that one packed field holds whole; what is odd about it is counted every time. */
static uint32_t packed_stack(struct pprof *p, const struct wire_field *ids,
                             const struct awaited *awaited)
{
    bool hashed = ids->data == awaited->ids.data;
    uint64_t hash = hashed ? awaited->hash : nl_hash_keyed(ids->data, ids->len);
    uint32_t node;
    if (stack_cache_find(&p->stacks, ids->data, ids->len, hash, &node))
        return node;
    uint64_t odd = p->missing + p->deep + p->damaged;
    keep_ids(p, ids);
    node = walk_stack(p);
    if (odd == p->missing + p->deep + p->damaged)
        stack_cache_keep(&p->stacks, ids->data, ids->len, hash, node);
    return node;
}

/* A sample of any fields. */
static void read_any_sample(struct pprof *p, const struct awaited *awaited)
{
    struct wire wire = wire_inside(&awaited->sample);
    struct wire_field field, ids = {.len = 0};
    int64_t values[PPROF_MAX_TYPES];
    unsigned value_count = 0, id_fields = 0;
    uint32_t lane = NL_NULL_ROW;
    memset(values, 0, p->type_count * sizeof *values);
    p->frame_count = 0;
    while (pprof_next(p, &wire, &field, true)) {
        if (field.number == PPROF_SAMPLE_LOCATION_ID) {
            if (id_fields++ == 0) {
                ids = field;
                continue;
            }
            if (id_fields == 2)
                keep_numbers(p, &ids, &value_count, values);
            keep_numbers(p, &field, &value_count, values);
        } else if (field.number == PPROF_SAMPLE_VALUE) {
            keep_numbers(p, &field, &value_count, values);
        } else if (field.number == PPROF_SAMPLE_LABEL && wire_is_text(&field)) {
            uint32_t labelled = label_lane(p, &field);
            lane = labelled != NL_NULL_ROW ? labelled : lane;
        }
    }
    bool packed = id_fields == 1 && wire_is_text(&ids) && ids.len > 0;
    if (id_fields == 1 && !packed)
        keep_numbers(p, &ids, &value_count, values);
    p->values += value_count;
    add_values(p, values, packed ? packed_stack(p, &ids, awaited) : walk_stack(p), lane);
}

/* The next of packed values, which are of any length. */
static inline bool next_value(const struct pprof *p, struct wire *packed, uint64_t *value)
{
    uint64_t word;
    if (p->message.end - packed->at < (ptrdiff_t)sizeof word)
        return wire_varint(packed, value);
    memcpy(&word, packed->at, sizeof word);
    unsigned bytes = wire_word_bytes(word);
    if (!bytes || bytes > packed->end - packed->at)
        return wire_varint(packed, value);
    *value = wire_word_value(word, bytes);
    packed->at += bytes;
    return true;
}

static void read_sample(struct pprof *p, const struct awaited *awaited)
{
    if (!awaited->plain) {
        read_any_sample(p, awaited);
        return;
    }
    int64_t values[PPROF_MAX_TYPES];
    unsigned value_count = 0;
    memset(values, 0, p->type_count * sizeof *values);
    p->frame_count = 0;
    struct wire packed = wire_inside(&awaited->values);
    for (uint64_t value; next_value(p, &packed, &value);)
        keep_value(p, value_count++, (int64_t)value, values);
    p->damaged += packed.damaged;
    p->values += value_count;
    add_values(p, values, packed_stack(p, &awaited->ids, awaited), NL_NULL_ROW);
}

/* Known stacks may be anywhere: the slot of a sample's is fetched some samples before it is read,
 * the ids that the slot leads to a few later. */
#define AWAITED 16

static void await_slot(const struct pprof *p, struct awaited *awaited,
                       const struct wire_field *sample)
{
    struct wire wire = wire_inside(sample);
    awaited->sample = *sample;
    awaited->plain = false;
    awaited->hash = 0;
    awaited->ids.data = NULL;
    if (!wire_next(&wire, &awaited->ids) || awaited->ids.number != PPROF_SAMPLE_LOCATION_ID ||
        !wire_is_text(&awaited->ids) || !awaited->ids.len) {
        awaited->ids.data = NULL;
        return;
    }
    awaited->hash = nl_hash_keyed(awaited->ids.data, awaited->ids.len);
    stack_cache_expect_slot(&p->stacks, awaited->hash);
    awaited->plain = wire_next(&wire, &awaited->values) &&
                     awaited->values.number == PPROF_SAMPLE_VALUE &&
                     wire_is_text(&awaited->values) && wire.at == wire.end;
}

void pprof_read_samples(struct pprof *p)
{
    struct awaited awaited[AWAITED];
    struct wire wire = p->message;
    struct wire_field field;
    const void *mark = p->file->bytes;
    size_t come = 0, done = 0;
    while (!cpuprofile_stopped(&p->profile) && pprof_next(p, &wire, &field, false)) {
        if (field.number != PPROF_PROFILE_SAMPLE || !wire_is_text(&field))
            continue;
        if (come - done == AWAITED) {
            whole_file_passed(p->file, &mark, awaited[done % AWAITED].sample.data);
            read_sample(p, &awaited[done++ % AWAITED]);
        }
        await_slot(p, &awaited[come++ % AWAITED], &field);
        if (come > AWAITED / 2)
            stack_cache_expect_ids(&p->stacks, awaited[(come - 1 - AWAITED / 2) % AWAITED].hash);
    }
    while (done < come)
        read_sample(p, &awaited[done++ % AWAITED]);
}
