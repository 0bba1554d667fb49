/*
 * The document as a whole: its objects of facts are walked as the schema lists their members, so
 * that the order of the document is that of the schema; lists are written by the parts.
 */
#include <stdlib.h>

#include "tables/analyses.h"
#include "account/devicesteps.h"
#include "base/mem.h"
#include "rundoc/doccheck.h"
#include "rundoc/runparts.h"
#include "rundoc/runsettings.h"

/* ---- run.sources ---- */

/* The file of the caller that a source of the trace is: by name and size, each once. */
static const struct nl_rundoc_source *match_source(const struct run_parts *parts, uint32_t row,
                                                   bool *taken)
{
    const struct nl_trace *trace = parts->trace;
    struct nl_str name = nl_trace_name(trace, trace->source.file[row]);
    for (size_t i = 0; i < parts->options->source_count; i++) {
        const struct nl_rundoc_source *source = &parts->options->sources[i];
        uint64_t bytes = trace->source.bytes[row];
        if (taken[i] || !nl_str_is(name, source->name) ||
            (bytes != NL_NULL_U64 && bytes != source->bytes))
            continue;
        taken[i] = true;
        return source;
    }
    return NULL;
}

static void write_source(struct run_parts *parts, uint32_t row,
                         const struct nl_rundoc_source *given)
{
    const struct nl_source_table *source = &parts->trace->source;
    bool read = row != NL_NULL_ROW;
    run_row(parts);
    nl_json_key(&parts->json, "name");
    nl_json_str(&parts->json,
                read ? nl_trace_name(parts->trace, source->file[row]) : nl_str(given->name));
    run_static(parts, "sha256", given ? given->sha256 : NULL);
    run_u64(parts, "bytes", given ? given->bytes : source->bytes[row]);
    run_name(parts, "format", read ? source->format[row] : NL_NO_NAME);
    run_name(parts, "tool", read ? source->tool[row] : NL_NO_NAME);
    run_name(parts, "clock", read ? source->clock[row] : NL_NO_NAME);
    run_i64(parts, "epoch_ns", read ? source->epoch_ns[row] : NL_NULL_I64);
    run_i64(parts, "rank", read ? source->rank[row] : NL_NULL_I64);
    run_row_end(parts);
}

/* Rows of the trace first: other members refer to them by number. */
void run_write_sources(struct run_parts *parts)
{
    size_t given = parts->options->source_count;
    bool *taken = nl_zalloc(given + 1);
    nl_json_open(&parts->json, '[');
    for (uint32_t row = 0; row < parts->trace->source.rows; row++)
        write_source(parts, row, match_source(parts, row, taken));
    for (size_t i = 0; i < given; i++)
        if (!taken[i])
            write_source(parts, NL_NULL_ROW, &parts->options->sources[i]);
    nl_json_close(&parts->json, ']');
    nl_free(taken);
}

/* ---- coverage ---- */

static void write_kinds(struct run_parts *parts, bool *complete)
{
    const struct nl_slice_table *slice = &parts->trace->slice;
    uint64_t total[UINT8_MAX + 1] = {0}, listed[UINT8_MAX + 1] = {0};
    uint32_t slices = nl_trace_timed(parts->trace);
    for (uint32_t row = 0; row < slices; row++)
        total[slice->kind[row]]++;
    for (size_t i = 0; i < parts->listed_count; i++)
        listed[slice->kind[parts->listed[i]]]++;
    *complete = parts->listed_count == slices;
    run_bool(parts, "timeline_complete", *complete);
    run_open(parts, "events", '[');
    for (unsigned kind = 0; kind <= UINT8_MAX; kind++) {
        if (!total[kind])
            continue;
        run_row(parts);
        run_enum(parts, "kind", NL_ENUM_kind, kind);
        run_u64(parts, "total", total[kind]);
        run_u64(parts, "listed", listed[kind]);
        run_row_end(parts);
    }
    run_close(parts, ']');
}

/* Tables of the profile that the document shows in sums only, or not at all. */
static void write_tables(struct run_parts *parts)
{
    static const enum nl_table_id tables[] = {NL_T_counter, NL_T_memory, NL_T_sample, NL_T_call,
                                              NL_T_flow,    NL_T_arg,    NL_T_meta};
    run_open(parts, "parts", '[');
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        uint32_t rows = nl_trace_rows(parts->trace, tables[i]);
        if (!rows)
            continue;
        run_row(parts);
        run_static(parts, "part", nl_tables[tables[i]].sql);
        run_u64(parts, "total", rows);
        run_u64(parts, "listed", 0);
        run_row_end(parts);
    }
    run_close(parts, ']');
}

void run_write_coverage(struct run_parts *parts)
{
    const struct nl_coverage_table *coverage = &parts->trace->coverage;
    bool complete;
    nl_json_open(&parts->json, '{');
    write_kinds(parts, &complete);
    write_tables(parts);
    run_open(parts, "items", '[');
    for (uint32_t row = 0; row < coverage->rows; row++) {
        run_row(parts);
        run_name(parts, "item", coverage->item[row]);
        run_i64(parts, "count", coverage->count[row]);
        run_name(parts, "detail", coverage->detail[row]);
        run_u32(parts, "source", coverage->source[row]);
        run_row_end(parts);
    }
    run_close(parts, ']');
    nl_json_close(&parts->json, '}');
}

/* ---- objects of facts ---- */

static void write_id(struct run_parts *parts)
{
    nl_json_text(&parts->json, parts->id);
}

static void write_writer(struct run_parts *parts)
{
    nl_json_text(&parts->json, "neurolens " NL_VERSION);
}

/* People tag runs and write notes about them in a ledger, which puts them in
 * when it hands a document on. */
static void write_nothing(struct run_parts *parts)
{
    nl_json_open(&parts->json, '[');
    nl_json_close(&parts->json, ']');
}

static void write_schema(struct run_parts *parts)
{
    nl_json_text(&parts->json,
                 doc_member_find(parts->schema.root, nl_str("schema"))->node->constant);
}

static const struct {
    const char *path;
    void (*write)(struct run_parts *parts);
} writers[] = {
    {"schema", write_schema},
    {"run.id", write_id},
    {"run.writer", write_writer},
    {"run.tags", write_nothing},
    {"run.notes", write_nothing},
    {"run.sources", run_write_sources},
    {"hardware.devices", run_write_hardware_devices},
    {"devices", run_write_devices},
    {"ranks", run_write_ranks},
    {"steps", run_write_steps},
    {"aggregates", run_write_aggregates},
    {"memory", run_write_memory},
    {"telemetry", run_write_telemetry},
    {"metrics", run_write_metrics},
    {"recorder", run_write_recorder},
    {"findings", run_write_findings},
    {"fingerprint", run_write_fingerprint},
    {"coverage", run_write_coverage},
    {"timeline", run_write_timeline},
};

static bool write_part(struct run_parts *parts, const char *path)
{
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++)
        if (strcmp(writers[i].path, path) == 0) {
            writers[i].write(parts);
            return true;
        }
    return false;
}

static void write_fact(struct run_parts *parts, const struct doc_node *node, const char *path)
{
    const char *value = run_fact(&parts->facts, path);
    if (!value)
        nl_json_null(&parts->json);
    else if (node->types & DOC_STRING)
        nl_json_text(&parts->json, value);
    else if (node->types & DOC_BOOLEAN)
        nl_json_bool(&parts->json, strcmp(value, "true") == 0);
    else if (node->types & DOC_NUMBER)
        nl_json_f64(&parts->json, strtod(value, NULL));
    else
        nl_json_i64(&parts->json, strtoll(value, NULL, 10));
}

static void write_facts(struct run_parts *parts, const struct doc_member *object)
{
    char path[128];
    nl_json_open(&parts->json, '{');
    for (size_t i = 0; i < object->node->member_count; i++) {
        const struct doc_member *member = &object->node->members[i];
        snprintf(path, sizeof path, "%s.%s", object->name, member->name);
        nl_json_key(&parts->json, member->name);
        if (!write_part(parts, path))
            write_fact(parts, member->node, path);
    }
    nl_json_close(&parts->json, '}');
}

static void write_document(struct run_parts *parts)
{
    const struct doc_node *root = parts->schema.root;
    nl_json_open(&parts->json, '{');
    for (size_t i = 0; i < root->member_count; i++) {
        nl_json_key(&parts->json, root->members[i].name);
        if (!write_part(parts, root->members[i].name))
            write_facts(parts, &root->members[i]);
    }
    nl_json_close(&parts->json, '}');
}

/* ---- the whole ---- */

static bool apply_settings(struct run_parts *parts, struct nl_err *err)
{
    bool good = true;
    for (size_t i = 0; good && i < parts->options->setting_count; i++) {
        const struct nl_rundoc_setting *setting = &parts->options->settings[i];
        if (nl_rundoc_is_label(setting->key))
            continue;
        struct nl_str value = nl_str(setting->value);
        good = nl_rundoc_setting_check(setting, err);
        if (!good)
            break;
        if (nl_str_is(value, "null"))
            run_fact_clear(&parts->facts, setting->key);
        else
            run_fact_set(&parts->facts, &parts->schema, setting->key, value);
    }
    return good;
}

/* Findings and fingerprint: the caller's, or made here. */
static bool make_findings_and_print(struct run_parts *parts, struct nl_err *err)
{
    const struct nl_analyze_options everything = {0};
    const struct nl_rundoc_options *options = parts->options;
    if (options->brief)
        return true;
    parts->findings = options->findings;
    parts->print = options->print;
    if (!parts->findings)
        parts->findings = parts->own_findings =
            nl_findings_new(parts->trace, &everything, parts->job, err);
    if (parts->findings && !parts->print)
        parts->print = parts->own_print =
            nl_runfingerprint_new(parts->trace, NULL, parts->job, err);
    return parts->findings && parts->print;
}

static void sum_step_parts(struct run_parts *parts)
{
    const struct nl_window everything = {0};
    struct nl_step_times times;
    nl_step_times_init(&times, parts->trace, &everything, &parts->steps);
    for (size_t i = 0; i < times.count; i++)
        for (size_t part = 0; part < NL_STEP_PARTS && nl_step_is_steady(times.items[i].step);
             part++)
            parts->step_parts[part] += (double)times.items[i].parts[part];
    nl_step_times_release(&times);
}

/* What several parts need. */
static bool prepare(struct run_parts *parts, struct nl_err *err)
{
    const struct nl_analyze_options everything = {0};
    doc_schema_open(&parts->schema);
    run_facts_init(&parts->facts);
    parts->devices = nl_time_breakdown(parts->trace, &everything.window, &parts->device_count);
    nl_steps_find_run(parts->trace, &parts->steps);
    sum_step_parts(parts);
    run_work_find(&parts->work, parts->trace);
    run_choose_events(parts);
    run_facts_find(&parts->facts, &parts->schema, parts->trace, parts->device_count);
    parts->memory =
        nl_analysis_run(&nl_analysis_memory, parts->trace, &everything, parts->job, err);
    bool good = parts->memory && make_findings_and_print(parts, err) &&
                apply_settings(parts, err) &&
                nl_rundoc_id(parts->id, parts->options->sources, parts->options->source_count, err);
    run_facts_find_peaks(&parts->facts, &parts->schema);
    return good;
}

static void release_parts(struct run_parts *parts)
{
    nl_findings_free(parts->own_findings);
    nl_runfingerprint_free(parts->own_print);
    nl_result_free(parts->memory);
    nl_steps_release(&parts->steps);
    nl_free(parts->devices);
    nl_free(parts->listed);
    run_facts_release(&parts->facts);
    doc_schema_release(&parts->schema);
}

/* Nothing is handed out that the check refuses: what it refuses is a bug of ours, reported as
 * one. */
static bool check_own(const struct run_parts *parts, const struct nl_buf *out, struct nl_err *err)
{
    struct nl_rundoc_faults faults = {0};
    nl_arena_init(&faults.arena);
    bool good = doc_check(parts->schema.root, out->ptr, out->len, &faults);
    if (!good)
        (void)nl_fail(err, NL_INTERNAL, "the document breaks its schema at %s: %s",
                      faults.items[0].pointer, faults.items[0].says);
    nl_rundoc_faults_release(&faults);
    return good;
}

bool nl_rundoc_write(const struct nl_trace *trace, const struct nl_rundoc_options *options,
                     struct nl_job *job, struct nl_buf *out, struct nl_err *err)
{
    struct run_parts parts = {.trace = trace, .options = options, .job = job};
    bool good = prepare(&parts, err);
    if (good) {
        nl_json_to_buf(&parts.json, out, RUN_INDENT);
        write_document(&parts);
        if (nl_job_cancelled(job))
            good = nl_fail(err, NL_INTERRUPTED, "stopped");
        else if (out->overflow)
            good = nl_fail(err, NL_MEMORY,
                           "the document is over %zu MiB; list fewer events, or give more with "
                           "--memory",
                           out->max >> 20);
        else
            good = check_own(&parts, out, err);
    }
    release_parts(&parts);
    return good;
}
