/*
 * Scalene's JSON: per file and line the share of CPU time spent in Python, in native code and in
 * the system. A line becomes a frame below its file's, native and system time frames below the
 * line's; the weight is the share of the elapsed time, in exact decimals.
 *
 * Source lines and program arguments are in the file and are not kept. The elapsed time may come
 * after the lines, so these are gathered first.
 */
#include "base/utf8.h"
#include "ingest/lib/cpuprofile.h"

#include "base/mem.h"
#include "base/units.h"
#include "parse/jsonpull.h"

#define SHARE_DIGITS 15 /* of a percentage kept after the point */

enum part { PART_PYTHON, PART_NATIVE, PART_SYSTEM, PARTS };
static const char *const part_keys[PARTS] = {"n_cpu_percent_python", "n_cpu_percent_c",
                                             "n_sys_percent"};
static const char *const part_names[PARTS] = {NULL, "[native]", "[system]"};

struct line {
    uint32_t node;
    int64_t percent; /* × 10^SHARE_DIGITS */
};

struct scalene {
    struct cpuprofile profile;
    struct jsonpull reader;
    struct line *lines;
    size_t count, cap;
    int64_t elapsed_ns;
    uint32_t lane, series;
    uint64_t line_count, memory, gpu, own_samples, odd, footprints, timeless;
};

static int scalene_sniff(const struct nl_input *input, const char **why)
{
    struct nl_str head = {(const char *)input->head, input->head_len};
    size_t at = 0;
    while (at < head.len && (head.ptr[at] == ' ' || head.ptr[at] == '\n' || head.ptr[at] == '\r'))
        at++;
    if (at == head.len || head.ptr[at] != '{')
        return 0;
    bool lines = nl_str_contains(head, "\"n_cpu_percent_python\"");
    bool whole =
        nl_str_contains(head, "\"elapsed_time_sec\"") && nl_str_contains(head, "\"files\"");
    if (lines)
        return 92;
    if (whole && (nl_str_contains(head, "\"memory_samples\"") ||
                  nl_str_contains(head, "\"percent_cpu_time\"")))
        return 80;
    if (whole)
        *why = "JSON of files and an elapsed time, but without lines";
    return 0;
}

/* ---- lines ---- */

struct line_facts {
    int64_t number, percent[PARTS];
    bool memory, gpu;
};

static void gather_line(struct scalene *load, uint32_t parent, struct nl_str path,
                        const struct line_facts *facts)
{
    struct nl_str file = nl_str_file_name(path);
    struct nl_buf text;
    load->line_count++;
    load->memory += facts->memory;
    load->gpu += facts->gpu;
    if (facts->percent[PART_PYTHON] <= 0 && facts->percent[PART_NATIVE] <= 0 &&
        facts->percent[PART_SYSTEM] <= 0)
        return;
    struct nl_stack_row row = nl_stack_row();
    nl_buf_init(&text, 128);
    nl_buf_add(&text, file.ptr, nl_utf8_cut(file.ptr, file.len, 100));
    if (facts->number >= 0 && facts->number < NL_NULL_U32) {
        row.line = (uint32_t)facts->number;
        nl_buf_format(&text, ":%u", row.line);
    }
    row.name = cpuprofile_name(&load->profile, (struct nl_str){text.ptr, text.len});
    row.file = cpuprofile_name(&load->profile, path);
    nl_buf_release(&text);
    uint32_t node = cpuprofile_frame(&load->profile, parent, &row);
    for (size_t i = 0; i < PARTS; i++) {
        if (facts->percent[i] <= 0)
            continue;
        uint32_t part = node;
        if (part_names[i]) {
            row.name = cpuprofile_name(&load->profile, nl_str(part_names[i]));
            part = cpuprofile_frame(&load->profile, node, &row);
        }
        nl_grow(&load->lines, &load->cap, load->count + 1);
        load->lines[load->count++] = (struct line){part, facts->percent[i]};
    }
}

static void count_items(struct jsonpull *reader, uint64_t *count)
{
    while (jsonpull_item(reader)) {
        ++*count;
        jsonpull_skip(reader);
    }
}

enum fact { FACT_NUMBER = PARTS, FACT_GPU, FACT_MEMORY, FACT_TIMES, FACTS };
static const char *const fact_keys[FACTS] = {[FACT_NUMBER] = "lineno",
                                             [FACT_GPU] = "n_gpu_percent",
                                             [FACT_MEMORY] = "n_malloc_mb",
                                             [FACT_TIMES] = "cpu_samples_list"};

/* One number of a line; it was read. */
static void take_number(struct scalene *load, struct line_facts *facts, enum fact fact)
{
    double value;
    if (fact == FACT_NUMBER)
        load->odd += !jsonpull_i64(&load->reader, &facts->number);
    else if (fact < FACT_NUMBER)
        load->odd += !jsonpull_ns(&load->reader, SHARE_DIGITS, &facts->percent[fact]);
    else if (fact == FACT_GPU)
        facts->gpu = jsonpull_f64(&load->reader, &value) && value > 0;
    else if (fact == FACT_MEMORY)
        facts->memory = jsonpull_f64(&load->reader, &value) && value > 0;
}

/* A member of a line; the key was read. */
static void take_fact(struct scalene *load, struct line_facts *facts)
{
    struct jsonpull *reader = &load->reader;
    unsigned fact = 0;
    while (fact < FACTS &&
           !nl_str_is(reader->text, fact < PARTS ? part_keys[fact] : fact_keys[fact]))
        fact++;
    if (fact == FACTS) {
        jsonpull_skip(reader);
        return;
    }
    enum jsonpull_type type = jsonpull_next(reader);
    if (type == JSONPULL_NUMBER) {
        take_number(load, facts, (enum fact)fact);
    } else if (type == JSONPULL_ARRAY && fact == FACT_TIMES) {
        count_items(reader, &load->own_samples);
    } else {
        load->odd += fact <= FACT_NUMBER;
        jsonpull_skip(reader);
    }
}

static void take_lines(struct scalene *load, uint32_t parent, struct nl_str path)
{
    struct jsonpull *reader = &load->reader;
    while (!cpuprofile_stopped(&load->profile) && jsonpull_item(reader)) {
        struct line_facts facts = {.number = -1};
        if (reader->type != JSONPULL_OBJECT) {
            jsonpull_skip(reader);
            continue;
        }
        while (jsonpull_member(reader))
            take_fact(load, &facts);
        gather_line(load, parent, path, &facts);
    }
}

/* The value of "files": path → {"lines": [...], "functions": the same summed up, ...}. */
static void take_files(struct scalene *load)
{
    struct jsonpull *reader = &load->reader;
    while (!cpuprofile_stopped(&load->profile) && jsonpull_member(reader)) {
        struct nl_arena arena;
        nl_arena_init(&arena);
        struct nl_str path = jsonpull_keep(reader, &arena);
        struct nl_stack_row row = nl_stack_row();
        row.name = row.file = cpuprofile_name(&load->profile, path);
        if (jsonpull_next(reader) == JSONPULL_OBJECT)
            while (jsonpull_member(reader)) {
                bool lines = nl_str_is(reader->text, "lines");
                if (lines && jsonpull_next(reader) == JSONPULL_ARRAY)
                    take_lines(load, cpuprofile_frame(&load->profile, NL_NULL_ROW, &row), path);
                else
                    jsonpull_skip(reader);
            }
        else
            jsonpull_skip(reader);
        nl_arena_free(&arena);
    }
}

/* ---- the whole ---- */

/* "samples": the program's memory over time, [ns since its start, MB]; once plain numbers. */
static void take_footprint(struct scalene *load)
{
    struct jsonpull *reader = &load->reader;
    while (!cpuprofile_stopped(&load->profile) && jsonpull_item(reader)) {
        struct nl_counter_row row = nl_counter_row();
        bool known = false;
        if (reader->type != JSONPULL_ARRAY) {
            load->timeless++;
            jsonpull_skip(reader);
            continue;
        }
        for (unsigned i = 0; jsonpull_item(reader); i++) {
            if (i == 0)
                known = jsonpull_ns(reader, 0, &row.ts);
            else if (i == 1)
                known = known && jsonpull_f64(reader, &row.value);
            jsonpull_skip(reader);
        }
        if (!known) {
            load->odd++;
            continue;
        }
        row.series = load->series;
        load->footprints++;
        nl_stage_counter(load->profile.stage, &row);
    }
}

static void take_member(struct scalene *load)
{
    static const char *const facts[] = {"elapsed_time_sec", "max_footprint_mb", "alloc_samples",
                                        "growth_rate", "start_time_absolute"};
    const size_t fact_count = sizeof facts / sizeof facts[0];
    struct jsonpull *reader = &load->reader;
    size_t fact = 0;
    while (fact < fact_count && !nl_str_is(reader->text, facts[fact]))
        fact++;
    bool files = nl_str_is(reader->text, "files"), samples = nl_str_is(reader->text, "samples");
    if (!files && !samples && fact == fact_count) {
        jsonpull_skip(reader);
        return;
    }
    enum jsonpull_type type = jsonpull_next(reader);
    if (files && type == JSONPULL_OBJECT)
        take_files(load);
    else if (samples && type == JSONPULL_ARRAY)
        take_footprint(load);
    else if (fact < fact_count && type == JSONPULL_NUMBER) {
        nl_builder_meta(load->profile.builder, load->profile.source, facts[fact], reader->text);
        if (fact == 0 && !jsonpull_ns(reader, 9, &load->elapsed_ns))
            load->elapsed_ns = NL_NULL_I64;
    } else {
        jsonpull_skip(reader);
    }
}

__extension__ typedef __int128 wide_int;

/* percent of the elapsed time; of nothing known, the percentage itself in millionths. */
static int64_t weight_of(const struct scalene *load, int64_t percent)
{
    wide_int scale = 100, whole = load->elapsed_ns;
    for (unsigned i = 0; i < SHARE_DIGITS; i++)
        scale *= 10;
    if (load->elapsed_ns == NL_NULL_I64)
        whole = (wide_int)100 * 1000000;
    wide_int weight = (whole * percent + scale / 2) / scale;
    return weight > INT64_MAX ? NL_NULL_I64 : (int64_t)weight;
}

static void stage_lines(struct scalene *load)
{
    struct nl_sample_row row = nl_sample_row();
    bool timed = load->elapsed_ns != NL_NULL_I64;
    row.lane = load->lane;
    row.unit = cpuprofile_name(&load->profile, nl_str(timed ? "ns" : "millionths"));
    row.event = cpuprofile_name(&load->profile, nl_str("cpu time"));
    for (size_t i = 0; i < load->count && !cpuprofile_stopped(&load->profile); i++) {
        row.stack = load->lines[i].node;
        row.weight = weight_of(load, load->lines[i].percent);
        cpuprofile_sample(&load->profile, &row);
    }
}

static void report_coverage(struct scalene *load)
{
    struct cpuprofile *profile = &load->profile;
    cpuprofile_no_timeline(profile);
    cpuprofile_cover(profile, "truncated: JSON", load->reader.problem != NULL,
                     load->reader.problem);
    cpuprofile_cover(profile, "repaired: JSON", load->reader.repairs, "trailing commas, NaN");
    cpuprofile_cover(profile, "elapsed time not recorded", load->elapsed_ns == NL_NULL_I64,
                     "weights are millionths of a percent");
    cpuprofile_cover(profile, "not loaded: memory of lines", load->memory,
                     "allocations per line; the program's footprint is in counters");
    cpuprofile_cover(profile, "not loaded: GPU shares of lines", load->gpu, NULL);
    cpuprofile_cover(profile, "not loaded: times of CPU samples", load->own_samples,
                     "they are in the shares of their lines");
    cpuprofile_cover(profile, "not loaded: memory samples without times", load->timeless, NULL);
    cpuprofile_cover(profile, "values that are not numbers", load->odd, NULL);
}

static bool load_stream(struct scalene *load, struct nl_stream *stream, const char *place,
                        struct nl_err *err)
{
    struct nl_err problem;
    nl_err_clear(&problem);
    jsonpull_stream(&load->reader, stream, 0, &problem);
    load->elapsed_ns = NL_NULL_I64;
    load->lane = cpuprofile_lane(&load->profile, NL_NULL_I64, NL_NULL_I64, nl_str(""));
    load->series = nl_builder_series(load->profile.builder, load->lane, nl_str("memory footprint"),
                                     nl_str("MB"));
    if (jsonpull_next(&load->reader) == JSONPULL_OBJECT)
        while (!cpuprofile_stopped(&load->profile) && jsonpull_member(&load->reader))
            take_member(load);
    stage_lines(load);
    report_coverage(load);
    if (load->line_count || load->footprints || cpuprofile_stopped(&load->profile))
        return true;
    nl_err_at(err, place, (int64_t)jsonpull_offset(&load->reader));
    return nl_fail(err, NL_FORMAT, "no line of a file can be read%s%s",
                   load->reader.problem ? ": " : "",
                   load->reader.problem ? load->reader.problem : "");
}

static bool scalene_load(struct nl_reading *reading, struct nl_err *err)
{
    struct scalene *load = nl_zalloc(sizeof *load);
    cpuprofile_begin(&load->profile, reading->builder, reading->source, reading->job);
    bool done = load_stream(load, reading->stream, reading->input->place, err);
    jsonpull_release(&load->reader);
    bool ended = cpuprofile_end(&load->profile, done ? err : NULL);
    nl_free(load->lines);
    nl_free(load);
    return ended && done;
}

const struct nl_format nl_format_scalene = {.name = "scalene",
                                            .title = "Scalene profile JSON",
                                            .sniff = scalene_sniff,
                                            .load = scalene_load,
                                            .feed = NL_FEED_STREAM,
                                            .doc = "formats/scalene.md"};
