/*
 * profile.proto: samples are lists of location ids, leaf first, with one value per sample type.
 * Tables come after the samples in most files, so they are read first. A location holds several
 * lines when calls were inlined into each other, innermost first.
 *
 * Every value that is not 0 becomes a row of samples with its type as event; units of time become ns.
 */
#include "ingest/pprof.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "ingest/idindex.h"
#include "ingest/stackcache.h"
#include "ingest/wholefile.h"
#include "ingest/wire.h"

#define TYPES_MOST  64
#define FRAMES_MOST 65536

struct function {
    uint32_t name, file; /* name ids */
};

struct location {
    uint64_t address;
    uint32_t module;   /* name id */
    struct wire whole; /* its lines are read when it is used */
};

/* A sample that comes soon, and the hash of its packed location ids. */
struct awaited {
    struct wire_field sample;
    const unsigned char *ids; /* NULL = they are not its first field */
    uint64_t hash;
};

struct pprof {
    struct cpuprofile profile;
    struct wire message;
    struct nl_str *strings;
    size_t string_count, string_cap;
    struct function *functions;
    size_t function_count, function_cap;
    struct location *locations;
    size_t location_count, location_cap;
    uint32_t *modules;
    size_t module_count, module_cap;
    struct id_index function_index, location_index, module_index;
    struct id_index
        below; /* (caller's node, location) → node: a walk of a stack is one look a frame */
    struct stack_cache stacks;
    struct pprof_type types[TYPES_MOST];
    unsigned type_count;
    const unsigned char *run, *run_end; /* the longest run of samples, which is most of the file */
    uint64_t *frames;                   /* location ids of the sample at hand */
    size_t frame_count, frame_cap;
    uint64_t cut, damaged, labels, missing, comments, overflow, deep, extra, values;
};

/* ---- tables ---- */

static struct nl_str string_of(const struct pprof *p, uint64_t id)
{
    return id < p->string_count ? p->strings[id] : (struct nl_str){"", 0};
}

static uint32_t name_of(struct pprof *p, uint64_t id)
{
    return cpuprofile_name(&p->profile, string_of(p, id));
}

/* The next field, also of a file that was cut; damage is noted where `note`. */
static bool next(struct pprof *p, struct wire *wire, struct wire_field *field, bool note)
{
    if (wire_next(wire, field))
        return true;
    bool damaged = wire->damaged;
    bool cut = damaged && wire_clip(wire, field);
    if (note && damaged)
        *(cut ? &p->cut : &p->damaged) += 1;
    return cut;
}

struct pprof_type pprof_type_of(struct cpuprofile *profile, struct nl_str event, struct nl_str unit)
{
    static const struct {
        const char *name, *store;
        int64_t factor;
    } units[] = {{"nanoseconds", "ns", 1},        {"microseconds", "ns", 1000},
                 {"milliseconds", "ns", 1000000}, {"seconds", "ns", 1000000000},
                 {"bytes", "bytes", 1},           {"count", "count", 1}};
    struct pprof_type own = {.event = cpuprofile_name(profile, event),
                             .unit = cpuprofile_name(profile, unit),
                             .factor = 1};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (nl_str_is(unit, units[i].name)) {
            bool samples = nl_str_is(unit, "count") && nl_str_is(event, "samples");
            own.unit = cpuprofile_name(profile, nl_str(samples ? "samples" : units[i].store));
            own.factor = units[i].factor;
        }
    return own;
}

static void read_type(struct pprof *p, const struct wire_field *bytes)
{
    struct wire wire = wire_inside(bytes);
    struct wire_field field;
    uint64_t type = 0, unit = 0;
    while (next(p, &wire, &field, true)) {
        if (field.number == 1)
            type = field.value;
        else if (field.number == 2)
            unit = field.value;
    }
    if (p->type_count == TYPES_MOST)
        p->extra++;
    else
        p->types[p->type_count++] =
            pprof_type_of(&p->profile, string_of(p, type), string_of(p, unit));
}

static void read_mapping(struct pprof *p, const struct wire_field *bytes)
{
    struct wire wire = wire_inside(bytes);
    struct wire_field field;
    uint64_t id = 0, file = 0;
    while (next(p, &wire, &field, true)) {
        if (field.number == 1)
            id = field.value;
        else if (field.number == 5)
            file = field.value;
    }
    nl_grow(&p->modules, &p->module_cap, p->module_count + 1);
    id_index_put(&p->module_index, id, (uint32_t)p->module_count);
    p->modules[p->module_count++] = name_of(p, file);
}

static void read_function(struct pprof *p, const struct wire_field *bytes)
{
    struct wire wire = wire_inside(bytes);
    struct wire_field field;
    uint64_t id = 0, name = 0, system = 0, file = 0;
    while (next(p, &wire, &field, true)) {
        switch (field.number) {
        case 1: id = field.value; break;
        case 2: name = field.value; break;
        case 3: system = field.value; break;
        case 4: file = field.value; break;
        default: break;
        }
    }
    nl_grow(&p->functions, &p->function_cap, p->function_count + 1);
    id_index_put(&p->function_index, id, (uint32_t)p->function_count);
    struct nl_str text = string_of(p, name);
    p->functions[p->function_count++] = (struct function){
        .name = text.len ? name_of(p, name) : name_of(p, system), .file = name_of(p, file)};
}

static void read_location(struct pprof *p, const struct wire_field *bytes)
{
    struct location own = {.whole = wire_inside(bytes)};
    struct wire wire = own.whole;
    struct wire_field field;
    uint64_t id = 0, mapping = 0;
    while (next(p, &wire, &field, true)) {
        switch (field.number) {
        case 1: id = field.value; break;
        case 2: mapping = field.value; break;
        case 3: own.address = field.value; break;
        default: break;
        }
    }
    uint32_t module = mapping ? id_index_get(&p->module_index, mapping) : ID_INDEX_NONE;
    own.module = module == ID_INDEX_NONE ? NL_NO_NAME : p->modules[module];
    nl_grow(&p->locations, &p->location_cap, p->location_count + 1);
    id_index_put(&p->location_index, id, (uint32_t)p->location_count);
    p->locations[p->location_count++] = own;
}

/* Calls `read` for every message of one number, which is not that of samples. */
static void each(struct pprof *p, uint32_t number,
                 void (*read)(struct pprof *, const struct wire_field *))
{
    struct wire wire = p->message;
    struct wire_field field;
    while (!cpuprofile_stopped(&p->profile)) {
        if (wire.at == p->run)
            wire.at = p->run_end;
        if (!next(p, &wire, &field, false))
            break;
        if (field.number == number && wire_is_text(&field))
            read(p, &field);
    }
}

static void read_string(struct pprof *p, const struct wire_field *field)
{
    nl_grow(&p->strings, &p->string_cap, p->string_count + 1);
    p->strings[p->string_count++] = wire_str(field);
}

/* ---- samples ---- */

/* Node of one function of a location. */
static uint32_t add_line(struct pprof *p, const struct location *location, uint32_t parent,
                         const struct wire_field *bytes)
{
    struct wire wire = wire_inside(bytes);
    struct wire_field field;
    struct nl_stack_row frame = nl_stack_row();
    frame.module = location->module;
    while (next(p, &wire, &field, false)) {
        uint32_t row;
        if (field.number == 1) {
            row = id_index_get(&p->function_index, field.value);
            p->missing += row == ID_INDEX_NONE;
            frame.name = row == ID_INDEX_NONE ? NL_NO_NAME : p->functions[row].name;
            frame.file = row == ID_INDEX_NONE ? NL_NO_NAME : p->functions[row].file;
        } else if (field.number == 2 && field.value > 0 && field.value < UINT32_MAX) {
            frame.line = (uint32_t)field.value;
        }
    }
    return cpuprofile_frame(&p->profile, parent, &frame);
}

static uint32_t add_address(struct pprof *p, const struct location *location, uint32_t parent)
{
    char text[32];
    struct nl_stack_row frame = nl_stack_row();
    (void)snprintf(text, sizeof text, "0x%" PRIx64, location->address);
    frame.module = location->module;
    frame.name = cpuprofile_name(&p->profile, nl_str(text));
    return cpuprofile_frame(&p->profile, parent, &frame);
}

/* Its lines, outermost first: they are stored the other way round. */
static uint32_t add_lines(struct pprof *p, const struct location *location, uint32_t parent)
{
    struct wire_field lines[32], field;
    unsigned count = 0;
    struct wire wire = location->whole;
    while (next(p, &wire, &field, false))
        if (field.number == 4 && wire_is_text(&field)) {
            if (count < sizeof lines / sizeof lines[0])
                lines[count++] = field;
            else
                p->deep++;
        }
    if (!count)
        return add_address(p, location, parent);
    while (count)
        parent = add_line(p, location, parent, &lines[--count]);
    return parent;
}

static uint32_t add_location(struct pprof *p, uint64_t id, uint32_t parent)
{
    uint32_t row = id_index_get(&p->location_index, id);
    if (row == ID_INDEX_NONE) {
        p->missing++;
        return parent;
    }
    uint64_t key = (uint64_t)parent << 32 | row;
    uint32_t node = id_index_get(&p->below, key);
    if (node == ID_INDEX_NONE) {
        node = add_lines(p, &p->locations[row], parent);
        id_index_put(&p->below, key, node);
    }
    return node;
}

static void keep_frame(struct pprof *p, uint64_t id)
{
    if (p->frame_count == FRAMES_MOST) {
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
    while (next(p, &wire, &field, true)) {
        if (field.number == 1)
            key = string_of(p, field.value);
        else if (field.number == 2)
            text = string_of(p, field.value);
        else if (field.number == 3)
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
    for (unsigned i = 0; i < p->type_count; i++) {
        struct nl_sample_row row = nl_sample_row();
        if (values[i] == 0)
            continue;
        row.weight = values[i];
        row.unit = p->types[i].unit;
        row.event = p->types[i].event;
        row.stack = stack;
        row.lane = lane;
        cpuprofile_sample(&p->profile, &row);
    }
}

/* Node of the sample's frames. */
static uint32_t walk_stack(struct pprof *p)
{
    uint32_t node = NL_NULL_ROW;
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
        if (field->number == 1)
            keep_frame(p, number);
        else
            keep_value(p, (*value_count)++, (int64_t)number, values);
    }
    p->damaged += packed.damaged;
}

/* Node of a stack that one packed field tells whole; what is odd about it is counted every time. */
static uint32_t packed_stack(struct pprof *p, const struct wire_field *ids,
                             const struct awaited *awaited)
{
    bool hashed = ids->data == awaited->ids;
    uint64_t hash = hashed ? awaited->hash : nl_hash(ids->data, ids->len);
    uint32_t node;
    if (stack_cache_find(&p->stacks, ids->data, ids->len, hash, &node))
        return node;
    uint64_t odd = p->missing + p->deep + p->damaged;
    unsigned none = 0;
    keep_numbers(p, ids, &none, NULL);
    node = walk_stack(p);
    if (odd == p->missing + p->deep + p->damaged)
        stack_cache_keep(&p->stacks, ids->data, ids->len, hash, node);
    return node;
}

static void read_sample(struct pprof *p, const struct awaited *awaited)
{
    struct wire wire = wire_inside(&awaited->sample);
    struct wire_field field, ids = {.len = 0};
    int64_t values[TYPES_MOST];
    unsigned value_count = 0, id_fields = 0;
    uint32_t lane = NL_NULL_ROW;
    memset(values, 0, p->type_count * sizeof *values);
    p->frame_count = 0;
    while (next(p, &wire, &field, true)) {
        if (field.number == 1) {
            if (id_fields++ == 0) {
                ids = field;
                continue;
            }
            if (id_fields == 2)
                keep_numbers(p, &ids, &value_count, values);
            keep_numbers(p, &field, &value_count, values);
        } else if (field.number == 2) {
            keep_numbers(p, &field, &value_count, values);
        } else if (field.number == 3 && wire_is_text(&field)) {
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

/* Stacks that were met lie anywhere: the slot of a sample's is fetched some samples before it is read,
 * the ids that the slot leads to a few later. */
#define AWAITED 8

static void await_slot(const struct pprof *p, struct awaited *awaited,
                       const struct wire_field *sample)
{
    struct wire wire = wire_inside(sample);
    struct wire_field field;
    *awaited = (struct awaited){.sample = *sample};
    if (!wire_next(&wire, &field) || field.number != 1 || !wire_is_text(&field) || !field.len)
        return;
    awaited->ids = field.data;
    awaited->hash = nl_hash(field.data, field.len);
    stack_cache_expect_slot(&p->stacks, awaited->hash);
}

static void read_samples(struct pprof *p)
{
    struct awaited awaited[AWAITED];
    struct wire wire = p->message;
    struct wire_field field;
    size_t come = 0, done = 0;
    while (!cpuprofile_stopped(&p->profile) && next(p, &wire, &field, false)) {
        if (field.number != 2 || !wire_is_text(&field))
            continue;
        if (come - done == AWAITED)
            read_sample(p, &awaited[done++ % AWAITED]);
        await_slot(p, &awaited[come++ % AWAITED], &field);
        if (come > AWAITED / 2)
            stack_cache_expect_ids(&p->stacks, awaited[(come - 1 - AWAITED / 2) % AWAITED].hash);
    }
    while (done < come)
        read_sample(p, &awaited[done++ % AWAITED]);
}

/* ---- the whole ---- */

static void add_number(struct pprof *p, const char *key, int64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    nl_builder_meta(p->profile.builder, p->profile.source, key, nl_str(text));
}

static void read_facts(struct pprof *p)
{
    struct wire wire = p->message;
    struct wire_field field;
    const unsigned char *run = wire.at; /* samples since then, and nothing else */
    p->run = p->run_end = wire.at;
    while (next(p, &wire, &field, true)) {
        if (field.number != 2)
            run = wire.at;
        else if (wire.at - run > p->run_end - p->run)
            p->run = run, p->run_end = wire.at;
        switch (field.number) {
        case 9: add_number(p, "profile_time_ns", wire_i64(&field)); break;
        case 10: add_number(p, "profile_duration_ns", wire_i64(&field)); break;
        case 12: add_number(p, "sampling_period", wire_i64(&field)); break;
        case 13: p->comments++; break;
        default: break;
        }
    }
}

static void cover(struct pprof *p)
{
    struct cpuprofile *profile = &p->profile;
    cpuprofile_no_timeline(profile);
    cpuprofile_cover(profile, "truncated: the file ends early", p->cut != 0, NULL);
    cpuprofile_cover(profile, "skipped: rest of a damaged message", p->damaged, NULL);
    cpuprofile_cover(profile, "frames without an entry in the file's tables", p->missing, NULL);
    cpuprofile_cover(profile, "not loaded: labels of samples", p->labels, NULL);
    cpuprofile_cover(profile, "not loaded: comments", p->comments,
                     "programs write command lines and environments there");
    cpuprofile_cover(profile, "unknown: values out of range", p->overflow, NULL);
    cpuprofile_cover(profile, "truncated: stacks too deep", p->deep, NULL);
    cpuprofile_cover(profile, "not loaded: values without a type", p->extra, NULL);
}

static void release(struct pprof *p)
{
    nl_free(p->strings);
    nl_free(p->functions);
    nl_free(p->locations);
    nl_free(p->modules);
    nl_free(p->frames);
    id_index_release(&p->function_index);
    id_index_release(&p->location_index);
    id_index_release(&p->module_index);
    id_index_release(&p->below);
    stack_cache_release(&p->stacks);
}

static void load_message(struct pprof *p)
{
    read_facts(p);
    each(p, 6, read_string);
    each(p, 1, read_type);
    each(p, 3, read_mapping);
    each(p, 5, read_function);
    each(p, 4, read_location);
    read_samples(p);
    cover(p);
}

static bool load_bytes(struct nl_builder *builder, uint32_t source, const void *bytes, size_t len,
                       struct nl_job *job, struct nl_err *err)
{
    struct pprof *p = nl_zalloc(sizeof *p);
    bool done = true;
    cpuprofile_begin(&p->profile, builder, source, job);
    if (pprof_raw_recognise((struct nl_str){bytes, len})) {
        done = pprof_raw_load(&p->profile, bytes, len, err);
    } else if (pprof_legacy_sniff(bytes, len)) {
        done = pprof_legacy_load(&p->profile, bytes, len, err);
    } else {
        p->message = wire_over(bytes, len);
        load_message(p);
        if (!p->type_count || (!p->values && (p->damaged || p->cut)))
            done = nl_fail(err, NL_FORMAT,
                           p->type_count ? "the file is damaged before its first sample"
                                         : "the profile has no types of samples");
    }
    release(p);
    done = cpuprofile_end(&p->profile, done ? err : NULL) && done;
    nl_free(p);
    return done;
}

/* The first fields of the message: a sample type must lead, and every field fit. */
static int sniff(const struct nl_input *input, const char **why)
{
    int legacy = pprof_legacy_sniff(input->head, input->head_len);
    if (legacy)
        return legacy;
    if (pprof_raw_recognise((struct nl_str){(const char *)input->head, input->head_len}))
        return 90;
    struct wire wire = wire_over(input->head, input->head_len);
    struct wire_field field;
    if (!wire_next(&wire, &field) || field.number != 1 || field.len > 8)
        return 0;
    struct wire type = wire_inside(&field);
    struct wire_field part;
    while (wire_next(&type, &part))
        if (part.number > 2 || part.type != WIRE_VARINT || part.value > 1 << 20)
            return 0;
    if (type.damaged)
        return 0;
    size_t fields;
    bool cut;
    size_t sound = wire_sound_prefix(input->head, input->head_len, 15, &fields, &cut);
    if (fields < 2)
        *why = "a profile that ends after its first field";
    return fields >= 2 && (cut || sound == input->head_len) ? 75 : 0;
}

static bool load(struct nl_builder *builder, uint32_t source, const struct nl_input *input,
                 struct nl_job *job, struct nl_err *err)
{
    return whole_file_load(builder, source, input, job, load_bytes, err);
}

const struct nl_format nl_format_pprof = {.name = "pprof",
                                          .title = "pprof profile",
                                          .sniff = sniff,
                                          .load = load,
                                          .doc = "formats/pprof.md"};
