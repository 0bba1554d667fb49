/*
 * profile.proto: samples are lists of location ids, leaf first, with one value per sample type.
 * Tables come after the samples in most files, so they are read first. A location holds several
 * lines when calls were inlined into each other, innermost first.
 *
 * Every value that is not 0 becomes a row of samples with its type as event;
 * units of time become ns.
 */
#include "ingest/pprof/pproffields.h"
#include "ingest/pprof/pprof.h"

#include <inttypes.h>
#include <stdio.h>

#include "ingest/pprof/pproftables.h"
#include "ingest/pprof/pprofsamples.h"

/* ---- tables ---- */

static uint32_t name_of(struct pprof *p, uint64_t id)
{
    return cpuprofile_name(&p->profile, pprof_string(p, id));
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
    while (pprof_next(p, &wire, &field, true)) {
        if (field.number == PPROF_TYPE_TYPE)
            type = field.value;
        else if (field.number == PPROF_TYPE_UNIT)
            unit = field.value;
    }
    if (p->type_count == PPROF_MAX_TYPES)
        p->extra++;
    else
        p->types[p->type_count++] =
            pprof_type_of(&p->profile, pprof_string(p, type), pprof_string(p, unit));
}

static void read_mapping(struct pprof *p, const struct wire_field *bytes)
{
    struct wire wire = wire_inside(bytes);
    struct wire_field field;
    uint64_t id = 0, file = 0;
    while (pprof_next(p, &wire, &field, true)) {
        if (field.number == PPROF_MAPPING_ID)
            id = field.value;
        else if (field.number == PPROF_MAPPING_FILENAME)
            file = field.value;
    }
    nl_grow(&p->modules, &p->module_cap, p->module_count + 1);
    nl_idmap_put(&p->module_index, id, (uint32_t)p->module_count);
    p->modules[p->module_count++] = name_of(p, file);
}

static void read_function(struct pprof *p, const struct wire_field *bytes)
{
    struct wire wire = wire_inside(bytes);
    struct wire_field field;
    uint64_t id = 0, name = 0, system = 0, file = 0;
    while (pprof_next(p, &wire, &field, true)) {
        switch (field.number) {
        case PPROF_FUNCTION_ID: id = field.value; break;
        case PPROF_FUNCTION_NAME: name = field.value; break;
        case PPROF_FUNCTION_SYSTEM_NAME: system = field.value; break;
        case PPROF_FUNCTION_FILENAME: file = field.value; break;
        default: break;
        }
    }
    nl_grow(&p->functions, &p->function_cap, p->function_count + 1);
    nl_idmap_put(&p->function_index, id, (uint32_t)p->function_count);
    struct nl_str text = pprof_string(p, name);
    p->functions[p->function_count++] = (struct pprof_function){
        .name = text.len ? name_of(p, name) : name_of(p, system), .file = name_of(p, file)};
}

static void read_location(struct pprof *p, const struct wire_field *bytes)
{
    struct pprof_location own = {.whole = wire_inside(bytes)};
    struct wire wire = own.whole;
    struct wire_field field;
    uint64_t id = 0, mapping = 0;
    while (pprof_next(p, &wire, &field, true)) {
        switch (field.number) {
        case PPROF_LOCATION_ID: id = field.value; break;
        case PPROF_LOCATION_MAPPING_ID: mapping = field.value; break;
        case PPROF_LOCATION_ADDRESS: own.address = field.value; break;
        default: break;
        }
    }
    uint32_t module = mapping ? nl_idmap_get(&p->module_index, mapping) : NL_NO_ROW;
    own.module = module == NL_NO_ROW ? NL_NO_NAME : p->modules[module];
    nl_grow(&p->locations, &p->location_cap, p->location_count + 1);
    nl_grow(&p->lines_of, &p->lines_of_cap, p->location_count + 1);
    p->lines_of[p->location_count] = (struct pprof_lines){0};
    nl_idmap_put(&p->location_index, id, (uint32_t)p->location_count);
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
        if (!pprof_next(p, &wire, &field, false))
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

/* ---- the whole ---- */

static void add_number(struct pprof *p, const char *key, int64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    nl_builder_meta(p->profile.builder, p->profile.source, key, nl_str(text));
}

/* Passes samples of less than 128 bytes, which are most of a file. */
static void pass_samples(struct wire *wire)
{
    const unsigned char *at = wire->at, *end = wire->end;
    while (end - at >= 2 && at[0] == (PPROF_PROFILE_SAMPLE << 3 | WIRE_BYTES) && at[1] < 0x80 &&
           at[1] <= end - at - 2)
        at += 2 + at[1];
    wire->at = at;
}

static void read_facts(struct pprof *p)
{
    struct wire wire = p->message;
    struct wire_field field;
    const unsigned char *run = wire.at; /* samples since then, and nothing else */
    p->run = p->run_end = wire.at;
    for (;;) {
        pass_samples(&wire);
        if (wire.at - run > p->run_end - p->run)
            p->run = run, p->run_end = wire.at;
        if (!pprof_next(p, &wire, &field, true))
            break;
        if (field.number != PPROF_PROFILE_SAMPLE)
            run = wire.at;
        switch (field.number) {
        case PPROF_PROFILE_TIME_NANOS: add_number(p, "profile_time_ns", wire_i64(&field)); break;
        case PPROF_PROFILE_DURATION_NANOS:
            add_number(p, "profile_duration_ns", wire_i64(&field));
            break;
        case PPROF_PROFILE_PERIOD: add_number(p, "sampling_period", wire_i64(&field)); break;
        case PPROF_PROFILE_COMMENT: p->comments++; break;
        default: break;
        }
    }
}

static void report_coverage(struct pprof *p)
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
    cpuprofile_cover(profile, "shortened: stacks too deep", p->deep, NULL);
    cpuprofile_cover(profile, "not loaded: values without a type", p->extra, NULL);
}

static void release_pprof(struct pprof *p)
{
    nl_free(p->strings);
    nl_free(p->functions);
    nl_free(p->locations);
    nl_free(p->lines_of);
    nl_free(p->lines);
    nl_free(p->modules);
    nl_free(p->frames);
    nl_free(p->path);
    nl_idmap_release(&p->function_index);
    nl_idmap_release(&p->location_index);
    nl_idmap_release(&p->module_index);
    nl_idmap_release(&p->odd_below);
    stack_cache_release(&p->stacks);
}

static void load_message(struct pprof *p)
{
    read_facts(p);
    each(p, PPROF_PROFILE_STRING, read_string);
    each(p, PPROF_PROFILE_SAMPLE_TYPE, read_type);
    each(p, PPROF_PROFILE_MAPPING, read_mapping);
    each(p, PPROF_PROFILE_FUNCTION, read_function);
    each(p, PPROF_PROFILE_LOCATION, read_location);
    pprof_read_samples(p);
    report_coverage(p);
}

static bool pprof_load(struct nl_reading *reading, struct nl_err *err)
{
    struct pprof *p = nl_zalloc(sizeof *p);
    const void *bytes = reading->file->bytes;
    size_t len = reading->file->size;
    bool done = true;
    p->file = reading->file;
    cpuprofile_begin(&p->profile, reading->builder, reading->source, reading->job);
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
    release_pprof(p);
    done = cpuprofile_end(&p->profile, done ? err : NULL) && done;
    nl_free(p);
    return done;
}

/* The first fields of the message: a sample type must lead, and every field fit. */
static int pprof_sniff(const struct nl_input *input, const char **why)
{
    int legacy = pprof_legacy_sniff(input->head, input->head_len);
    if (legacy)
        return legacy;
    if (pprof_raw_recognise((struct nl_str){(const char *)input->head, input->head_len}))
        return 90;
    struct wire wire = wire_over(input->head, input->head_len);
    struct wire_field field;
    if (!wire_next(&wire, &field) || field.number != PPROF_PROFILE_SAMPLE_TYPE || field.len > 8)
        return 0;
    struct wire type = wire_inside(&field);
    struct wire_field part;
    while (wire_next(&type, &part))
        if (part.number > PPROF_TYPE_UNIT || part.type != WIRE_VARINT || part.value > 1 << 20)
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

const struct nl_format nl_format_pprof = {.name = "pprof",
                                          .title = "pprof profile",
                                          .sniff = pprof_sniff,
                                          .load = pprof_load,
                                          .feed = NL_FEED_WHOLE,
                                          .doc = "formats/pprof.md"};
