/* Facts from the trace: the tables facts.def and backends.def, and what all devices share. */
#include "rundoc/runfacts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/chars.h"
#include "base/utf8.h"
#include "work/gpupeaks.h"
#include "rundoc/hostmeta.h"
#include "rundoc/runsettings.h"
#include "redact/redact.h"

void run_facts_init(struct run_facts *facts)
{
    *facts = (struct run_facts){0};
    nl_arena_init(&facts->arena);
}

void run_facts_release(struct run_facts *facts)
{
    nl_free(facts->items);
    nl_arena_free(&facts->arena);
}

const char *run_fact(const struct run_facts *facts, const char *key)
{
    for (size_t i = facts->count; i-- > 0;)
        if (strcmp(facts->items[i].key, key) == 0)
            return facts->items[i].value;
    return NULL;
}

double run_fact_number(const struct run_facts *facts, const char *key)
{
    const char *value = run_fact(facts, key);
    return value ? strtod(value, NULL) : NAN;
}

void run_fact_set(struct run_facts *facts, const struct doc_schema *schema, const char *key,
                  struct nl_str value)
{
    const struct doc_node *node = run_setting_node(schema, key);
    struct nl_buf clean;
    if (!node)
        NL_BUG("a fact that the schema does not have");
    if (!value.len)
        return;
    nl_buf_init(&clean, (size_t)1 << 20);
    (void)nl_redact_text(&clean, value);
    const char *text = nl_arena_text(&facts->arena, clean.ptr, clean.len);
    nl_buf_release(&clean);
    if (!run_setting_allowed(node, text, NULL))
        return;
    nl_grow(&facts->items, &facts->cap, facts->count + 1);
    facts->items[facts->count++] =
        (struct run_fact){nl_arena_text(&facts->arena, key, strlen(key)), text};
}

void run_fact_clear(struct run_facts *facts, const char *key)
{
    nl_grow(&facts->items, &facts->cap, facts->count + 1);
    facts->items[facts->count++] =
        (struct run_fact){nl_arena_text(&facts->arena, key, strlen(key)), NULL};
}

/* Also to unknown. */
static bool is_set(const struct run_facts *facts, const char *key)
{
    for (size_t i = 0; i < facts->count; i++)
        if (strcmp(facts->items[i].key, key) == 0)
            return true;
    return false;
}

struct find {
    struct run_facts *facts;
    const struct doc_schema *schema;
    const struct nl_trace *trace;
};

static void set(const struct find *find, const char *key, struct nl_str value)
{
    run_fact_set(find->facts, find->schema, key, value);
}

static void set_u64(const struct find *find, const char *key, uint64_t value)
{
    char text[24];
    if (value == NL_NULL_U64)
        return;
    snprintf(text, sizeof text, "%" PRIu64, value);
    set(find, key, nl_str(text));
}

static void set_i64(const struct find *find, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    set(find, key, nl_str(text));
}

/* ---- metadata ---- */

typedef void form_fn(const struct find *find, const char *key, struct nl_str value);

static void take_plain(const struct find *find, const char *key, struct nl_str value)
{
    set(find, key, value);
}

/* CUDA numbers its versions 1000 × major + 10 × minor. */
static void take_cuda(const struct find *find, const char *key, struct nl_str value)
{
    char text[32];
    char *end;
    snprintf(text, sizeof text, "%.*s", NL_UP_TO(20, value));
    long number = strtol(text, &end, 10);
    if (*end || number < 1000 || number >= 1000000)
        return;
    snprintf(text, sizeof text, "%ld.%ld", number / 1000, number % 1000 / 10);
    set(find, key, nl_str(text));
}

static void take_host(const struct find *find, const char *key, struct nl_str value)
{
    set(find, key, nl_host_without_port(value));
}

static const struct {
    const char *meta, *key;
    form_fn *take;
} meta_facts[] = {
#define FACT(meta, key, form) {meta, key, take_##form},
#include "rundoc/facts.def"
#undef FACT
};

/* A run document that was read as a profile has its facts in metadata under their own keys. */
static void find_own(const struct find *find)
{
    const struct nl_trace *trace = find->trace;
    for (uint32_t row = 0; row < trace->meta.rows; row++) {
        struct nl_str name = nl_trace_name(trace, trace->meta.key[row]);
        const char *key = nl_arena_text(&find->facts->arena, name.ptr, name.len);
        if (run_setting_node(find->schema, key))
            set(find, key, nl_trace_name(trace, trace->meta.value[row]));
    }
}

static void find_metadata(const struct find *find)
{
    const struct nl_trace *trace = find->trace;
    for (size_t i = 0; i < sizeof meta_facts / sizeof meta_facts[0]; i++)
        for (uint32_t row = 0; row < trace->meta.rows; row++)
            if (!run_fact(find->facts, meta_facts[i].key) &&
                nl_str_is(nl_trace_name(trace, trace->meta.key[row]), meta_facts[i].meta))
                meta_facts[i].take(find, meta_facts[i].key,
                                   nl_trace_name(trace, trace->meta.value[row]));
}

/* ---- sources ---- */

static const struct {
    const char *format, *backend, *framework;
} backends[] = {
#define BACKEND(format, backend, framework) {format, backend, framework},
#include "rundoc/backends.def"
#undef BACKEND
};

static bool has_format(const struct nl_trace *trace, const char *format)
{
    for (uint32_t row = 0; row < trace->source.rows; row++)
        if (nl_str_is(nl_trace_name(trace, trace->source.format[row]), format))
            return true;
    return false;
}

/* "Nsight Systems 2025.3.1.90" is a name and a version. */
static void find_profiler(const struct find *find)
{
    const struct nl_trace *trace = find->trace;
    uint32_t tool = NL_NO_NAME;
    for (uint32_t row = 0; row < trace->source.rows; row++) {
        uint32_t other = trace->source.tool[row];
        if (tool != NL_NO_NAME && other != NL_NO_NAME && other != tool)
            return;
        tool = other == NL_NO_NAME ? tool : other;
    }
    struct nl_str name = nl_trace_name(trace, tool), version = {NULL, 0};
    for (size_t i = 1; i + 1 < name.len; i++)
        if (name.ptr[i] == ' ' && nl_is_digit(name.ptr[i + 1]))
            version = (struct nl_str){name.ptr + i + 1, name.len - i - 1};
    if (version.ptr)
        name.len -= version.len + 1;
    set(find, "software.profiler", name);
    if (version.ptr)
        set(find, "software.profiler_version", version);
}

static void find_sources(const struct find *find)
{
    const struct nl_source_table *source = &find->trace->source;
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        if (!has_format(find->trace, backends[i].format))
            continue;
        set(find, "software.backend", nl_str(backends[i].backend));
        set(find, "software.framework", nl_str(backends[i].framework));
        break;
    }
    find_profiler(find);
    for (uint32_t row = 0; row < source->rows; row++) {
        int64_t start;
        if (source->epoch_ns[row] == NL_NULL_I64 || source->offset_ns[row] == NL_NULL_I64 ||
            __builtin_sub_overflow(find->trace->first_ts, source->offset_ns[row], &start) ||
            __builtin_add_overflow(start, source->epoch_ns[row], &start))
            continue;
        set_i64(find, "run.start_epoch_ns", start);
        break;
    }
}

/* ---- the framework of a recording ---- */

static bool has_operator(const struct nl_trace *trace, const char *beginning)
{
    for (uint32_t row = 0; row < trace->slice.rows; row++)
        if (trace->slice.kind[row] == NL_KIND_OP &&
            nl_str_starts(nl_trace_name(trace, trace->slice.name[row]), beginning))
            return true;
    return false;
}

static struct nl_str metadata(const struct nl_trace *trace, const char *key)
{
    for (uint32_t row = 0; row < trace->meta.rows; row++)
        if (nl_str_is(nl_trace_name(trace, trace->meta.key[row]), key))
            return nl_trace_name(trace, trace->meta.value[row]);
    return (struct nl_str){NULL, 0};
}

/* Which one ran follows from its operators; its version from the packages
 * of the Python that ran. */
static void find_framework(const struct find *find)
{
    static const struct {
        const char *operator, * framework, *package;
    } rows[] = {{"aten::", "PyTorch", "package torch"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nl_str version = metadata(find->trace, rows[i].package);
        if (!version.len || !has_operator(find->trace, rows[i].operator))
            continue;
        if (!run_fact(find->facts, "software.framework"))
            set(find, "software.framework", nl_str(rows[i].framework));
        if (!run_fact(find->facts, "software.framework_version"))
            set(find, "software.framework_version", version);
    }
}

/* ---- devices: what all that are described share ---- */

static uint32_t common_name(const uint32_t *ids, uint32_t rows)
{
    for (uint32_t row = 1; row < rows; row++)
        if (ids[row] != ids[0])
            return NL_NO_NAME;
    return rows ? ids[0] : NL_NO_NAME;
}

static uint64_t common_u64(const uint64_t *values, uint32_t rows)
{
    for (uint32_t row = 1; row < rows; row++)
        if (values[row] != values[0])
            return NL_NULL_U64;
    return rows ? values[0] : NL_NULL_U64;
}

static uint64_t common_u32(const uint32_t *values, uint32_t rows)
{
    for (uint32_t row = 1; row < rows; row++)
        if (values[row] != values[0])
            return NL_NULL_U64;
    return rows && values[0] != NL_NULL_U32 ? values[0] : NL_NULL_U64;
}

void run_facts_find_peaks(struct run_facts *facts, const struct doc_schema *schema)
{
    struct gpu_peaks gpus;
    const char *name = run_fact(facts, "hardware.device_name");
    double sms = run_fact_number(facts, "hardware.sm_count");
    if (!name)
        return;
    gpu_peaks_init(&gpus);
    const struct gpu_peak *peak = gpu_peaks_find(&gpus, name, sms);
    for (size_t i = 0; peak && i < peak->count; i++) {
        char key[80], text[40];
        const char *member = gpu_figure_members[peak->figures[i].figure];
        if (!member)
            continue;
        snprintf(key, sizeof key, "hardware.%s", member);
        snprintf(text, sizeof text, "%.17g", peak->figures[i].value);
        if (!is_set(facts, key))
            run_fact_set(facts, schema, key, nl_str(text));
    }
    if (peak && !is_set(facts, "hardware.peak_source"))
        run_fact_set(facts, schema, "hardware.peak_source", nl_str(peak->source));
    gpu_peaks_release(&gpus);
}

static void find_devices(const struct find *find, size_t busy)
{
    const struct nl_trace *trace = find->trace;
    const struct nl_device_table *device = &trace->device;
    uint32_t vendor = common_name(device->vendor, device->rows);
    set(find, "hardware.device_vendor", nl_str(run_vendor(nl_trace_name(trace, vendor))));
    set(find, "hardware.device_name",
        nl_trace_name(trace, common_name(device->name, device->rows)));
    if (busy || device->rows)
        set_u64(find, "hardware.device_count", busy ? busy : device->rows);
    set_u64(find, "hardware.sm_count", common_u32(device->sm_count, device->rows));
    set_u64(find, "hardware.device_memory_bytes", common_u64(device->memory_bytes, device->rows));
    set_u64(find, "hardware.device_clock_hz", common_u64(device->clock_hz, device->rows));
}

const char *run_vendor(struct nl_str text)
{
    static const char *const known[] = {"nvidia", "amd", "intel", "google", "apple"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (nl_str_find_nocase(text, known[i]) >= 0)
            return known[i];
    return text.len ? "other" : NULL;
}

void run_facts_find(struct run_facts *facts, const struct doc_schema *schema,
                    const struct nl_trace *trace, size_t busy_devices)
{
    const struct find find = {facts, schema, trace};
    find_sources(&find);
    find_metadata(&find);
    find_devices(&find, busy_devices);
    find_framework(&find);
    find_own(&find);
}
