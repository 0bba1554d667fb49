/*
 * The text that `go tool pprof -raw` prints of a profile: types of samples, a line per sample with
 * its values and the numbers of its locations (leaf first), then the locations, a line per inlined
 * call, and the mappings. What samples name comes after them, so the text is gone through twice.
 */
#include "base/chars.h"
#include "ingest/pprof/pprof.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/map.h"
#include "parse/textlines.h"

#define MAX_TYPES 64

struct raw_location {
    uint32_t first, count; /* of frames, innermost first */
};

struct raw {
    struct cpuprofile *profile;
    struct pprof_type types[MAX_TYPES];
    unsigned type_count;
    struct nl_stack_row *frames;
    size_t frame_count, frame_cap;
    struct raw_location *locations;
    size_t location_count, location_cap;
    uint32_t *modules;
    size_t module_count, module_cap;
    struct nl_idmap location_index, module_index;
    uint32_t *stack; /* locations of the sample at hand */
    size_t depth, depth_cap;
    bool ended; /* the part of samples has an end: the file is whole that far */
    uint64_t bad, labels, missing, comments, overflow;
};

/* ---- words ---- */

static bool take_word(struct nl_str *text, struct nl_str *word)
{
    while (text->len && text->ptr[0] == ' ') {
        text->ptr++;
        text->len--;
    }
    *word = (struct nl_str){text->ptr, 0};
    while (word->len < text->len && text->ptr[word->len] != ' ')
        word->len++;
    text->ptr += word->len;
    text->len -= word->len;
    return word->len > 0;
}

/* "12:" → 12 */
static bool take_id(struct nl_str *text, uint64_t *id)
{
    struct nl_str word;
    int64_t number;
    struct nl_str rest = *text;
    if (!take_word(&rest, &word) || word.len < 2 || word.ptr[word.len - 1] != ':' ||
        !nl_parse_i64((struct nl_str){word.ptr, word.len - 1}, &number) || number < 0)
        return false;
    *text = rest;
    *id = (uint64_t)number;
    return true;
}

/* ":12" at the end of the text, taken off it. */
static bool drop_number(struct nl_str *text, int64_t *number)
{
    size_t at = text->len;
    while (at > 0 && nl_is_digit(text->ptr[at - 1]))
        at--;
    if (at == 0 || at == text->len || text->ptr[at - 1] != ':' ||
        !nl_parse_i64((struct nl_str){text->ptr + at, text->len - at}, number))
        return false;
    text->len = at - 1;
    return true;
}

static struct nl_str trimmed(struct nl_str text)
{
    while (text.len && text.ptr[0] == ' ') {
        text.ptr++;
        text.len--;
    }
    while (text.len && text.ptr[text.len - 1] == ' ')
        text.len--;
    return text;
}

/* ---- locations and mappings ---- */

static size_t find_last(struct nl_str text, const char *part)
{
    size_t len = strlen(part);
    for (size_t i = text.len; i >= len && i > 0; i--)
        if (memcmp(text.ptr + i - len, part, len) == 0)
            return i - len;
    return text.len;
}

/* "name file.go:12:3 s=10(system name)"; older ones have no column. */
static void read_call(struct raw *raw, struct nl_str text, struct nl_stack_row *frame)
{
    int64_t last, line = -1;
    text.len = find_last(text, " s=");
    if (drop_number(&text, &last))
        line = drop_number(&text, &line) ? line : last;
    size_t space = find_last(text, " ");
    if (line >= 0 && space < text.len) {
        frame->file = cpuprofile_name(raw->profile,
                                      (struct nl_str){text.ptr + space + 1, text.len - space - 1});
        if (line > 0 && line < (int64_t)NL_NULL_U32)
            frame->line = (uint32_t)line;
        text.len = space;
    }
    frame->name = cpuprofile_name(raw->profile, trimmed(text));
}

static void add_frame(struct raw *raw, const struct nl_stack_row *frame)
{
    nl_grow(&raw->frames, &raw->frame_cap, raw->frame_count + 1);
    raw->frames[raw->frame_count++] = *frame;
    raw->locations[raw->location_count - 1].count++;
}

/* "     1: 0xbccc96 M=1 name file:12 s=3"; an inlined call's lines have no number in front. The
 * module is that of the location's first line. */
static void read_location(struct raw *raw, struct nl_str line)
{
    struct nl_stack_row frame = nl_stack_row();
    struct nl_str word = {"", 0}, address = {"", 0};
    uint64_t id;
    int64_t mapping;
    if (take_id(&line, &id)) {
        nl_grow(&raw->locations, &raw->location_cap, raw->location_count + 1);
        nl_idmap_put(&raw->location_index, id, (uint32_t)raw->location_count);
        raw->locations[raw->location_count++] =
            (struct raw_location){.first = (uint32_t)raw->frame_count};
        (void)take_word(&line, &address);
        struct nl_str rest = line;
        if (take_word(&rest, &word) && nl_str_starts(word, "M=") &&
            nl_parse_i64((struct nl_str){word.ptr + 2, word.len - 2}, &mapping)) {
            line = rest;
            uint32_t row = nl_idmap_get(&raw->module_index, (uint64_t)mapping);
            frame.module = row == NL_NO_ROW ? NL_NO_NAME : raw->modules[row];
        }
    } else if (!raw->location_count) {
        raw->bad++;
        return;
    } else {
        frame.module = raw->frame_count ? raw->frames[raw->frame_count - 1].module : NL_NO_NAME;
    }
    line = trimmed(line);
    if (nl_str_starts(line, "[F]"))
        line = trimmed((struct nl_str){line.ptr + 3, line.len - 3});
    if (line.len && !nl_str_is(line, "??"))
        read_call(raw, line, &frame);
    else
        frame.name = cpuprofile_name(raw->profile, address.len ? address : nl_str("??"));
    add_frame(raw, &frame);
}

/* "1: 0x400000/0xfcb000/0x0 /path build-id [FN]" */
static void read_mapping(struct raw *raw, struct nl_str line)
{
    uint64_t id;
    struct nl_str range, path;
    if (!take_id(&line, &id) || !take_word(&line, &range)) {
        raw->bad += line.len > 0;
        return;
    }
    (void)take_word(&line, &path);
    nl_grow(&raw->modules, &raw->module_cap, raw->module_count + 1);
    nl_idmap_put(&raw->module_index, id, (uint32_t)raw->module_count);
    raw->modules[raw->module_count++] = cpuprofile_name(raw->profile, path);
}

/* ---- samples ---- */

static void read_types(struct raw *raw, struct nl_str line)
{
    struct nl_str word;
    while (take_word(&line, &word) && raw->type_count < MAX_TYPES) {
        size_t slash = find_last(word, "/");
        size_t ends = find_last(word, "[dflt]");
        if (slash == word.len || ends < slash)
            return;
        raw->types[raw->type_count++] =
            pprof_type_of(raw->profile, (struct nl_str){word.ptr, slash},
                          (struct nl_str){word.ptr + slash + 1, ends - slash - 1});
    }
}

static uint32_t add_stack(struct raw *raw)
{
    uint32_t node = NL_NULL_ROW;
    for (size_t i = raw->depth; i-- > 0;) {
        const struct raw_location *at = &raw->locations[raw->stack[i]];
        for (uint32_t k = at->count; k-- > 0;)
            node = cpuprofile_frame(raw->profile, node, &raw->frames[at->first + k]);
    }
    return node;
}

static void take_stack(struct raw *raw, struct nl_str line)
{
    struct nl_str word;
    int64_t id;
    raw->depth = 0;
    while (take_word(&line, &word)) {
        uint32_t row =
            nl_parse_i64(word, &id) ? nl_idmap_get(&raw->location_index, (uint64_t)id) : NL_NO_ROW;
        if (row == NL_NO_ROW) {
            raw->missing++;
            continue;
        }
        nl_grow(&raw->stack, &raw->depth_cap, raw->depth + 1);
        raw->stack[raw->depth++] = row;
    }
}

/* "       2700  608881724: 1 2 3"; a line of labels below has no colon after numbers. */
static void read_sample(struct raw *raw, struct nl_str line)
{
    int64_t values[MAX_TYPES];
    unsigned count = 0;
    struct nl_str word = {"", 0};
    bool last = false;
    while (!last && count < raw->type_count && take_word(&line, &word)) {
        last = word.ptr[word.len - 1] == ':';
        word.len -= last;
        if (!nl_parse_i64(word, &values[count]))
            break;
        count++;
    }
    if (!last || count != raw->type_count) {
        bool label = word.len && memchr(word.ptr, '[', word.len);
        *(label ? &raw->labels : &raw->bad) += 1;
        return;
    }
    take_stack(raw, line);
    uint32_t stack = add_stack(raw);
    for (unsigned i = 0; i < count; i++) {
        struct nl_sample_row row = nl_sample_row();
        row.event = raw->types[i].event;
        row.unit = raw->types[i].unit;
        row.stack = stack;
        if (values[i] == 0)
            continue;
        if (__builtin_mul_overflow(values[i], raw->types[i].factor, &row.weight)) {
            row.weight = NL_NULL_I64;
            raw->overflow++;
        }
        cpuprofile_sample(raw->profile, &row);
    }
}

/* ---- the whole ---- */

enum part { FACTS, TYPES, SAMPLES, LOCATIONS, MAPPINGS };

static void read_fact(struct raw *raw, struct nl_str line)
{
    static const struct {
        const char *start, *key;
    } facts[] = {{"PeriodType: ", "period_type"},
                 {"Period: ", "sampling_period"},
                 {"Time: ", "time"},
                 {"Duration: ", "duration"}};
    raw->comments += nl_str_starts(line, "Comment: ");
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        size_t len = strlen(facts[i].start);
        if (nl_str_starts(line, facts[i].start))
            nl_builder_meta(raw->profile->builder, raw->profile->source, facts[i].key,
                            (struct nl_str){line.ptr + len, line.len - len});
    }
}

/* Goes through the text; a line is read when `wanted` is its part. */
static void read_part(struct raw *raw, struct nl_str text, enum part wanted)
{
    struct nl_str line;
    enum part part = FACTS;
    while (!cpuprofile_stopped(raw->profile) && textlines_split(&text, &line)) {
        enum part before = part;
        if (part == FACTS && nl_str_is(line, "Samples:"))
            part = TYPES;
        else if (part == SAMPLES && nl_str_is(line, "Locations"))
            part = LOCATIONS;
        else if (part == LOCATIONS && nl_str_is(line, "Mappings"))
            part = MAPPINGS;
        raw->ended |= part == LOCATIONS;
        if (before == part && part == wanted && trimmed(line).len) {
            switch (wanted) {
            case FACTS: read_fact(raw, line); break;
            case TYPES: read_types(raw, line); break;
            case SAMPLES: read_sample(raw, line); break;
            case LOCATIONS: read_location(raw, line); break;
            case MAPPINGS: read_mapping(raw, line); break;
            }
        }
        if (before == TYPES)
            part = SAMPLES;
    }
}

bool pprof_raw_recognise(struct nl_str text)
{
    struct nl_str line;
    static const char *const starts[] = {
        "PeriodType: ", "Period: ", "Comment: ", "Doc: ", "Time: ", "Duration: "};
    for (unsigned lines = 0; lines < 64 && textlines_split(&text, &line); lines++) {
        bool known = false;
        for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
            known |= nl_str_starts(line, starts[i]);
        if (!known)
            return lines > 0 && nl_str_is(line, "Samples:");
    }
    return false;
}

bool pprof_raw_load(struct cpuprofile *profile, const unsigned char *bytes, size_t len,
                    struct nl_err *err)
{
    struct raw *raw = nl_zalloc(sizeof *raw);
    struct nl_str text = {(const char *)bytes, len};
    bool done = true;
    raw->profile = profile;
    static const enum part order[] = {FACTS, TYPES, MAPPINGS, LOCATIONS, SAMPLES};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        read_part(raw, text, order[i]);
    if (!raw->type_count)
        done = nl_fail(err, NL_FORMAT, "the profile has no types of samples");
    cpuprofile_no_timeline(profile);
    const struct {
        const char *item;
        uint64_t count;
        const char *detail;
    } notes[] = {
        {"truncated: the file ends early", !raw->ended, "it has no list of locations"},
        {"skipped: lines that are neither samples nor locations", raw->bad, NULL},
        {"not loaded: labels of samples", raw->labels, NULL},
        {"not loaded: comments", raw->comments, "they may hold command lines"},
        {"locations that the file does not have", raw->missing, "frames are missing"},
        {"values that do not fit 64 bits", raw->overflow, NULL},
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        cpuprofile_cover(profile, notes[i].item, notes[i].count, notes[i].detail);
    nl_idmap_release(&raw->location_index);
    nl_idmap_release(&raw->module_index);
    nl_free(raw->frames);
    nl_free(raw->locations);
    nl_free(raw->modules);
    nl_free(raw->stack);
    nl_free(raw);
    return done;
}
