/* chrome_head — see chrome_head.h: a table of the top-level keys that are known. */
#include "ingest/chrome/chrome_head.h"
#include "base/utf8.h"
#include "ingest/chrome/chrome_value.h"

#include <stdio.h>

#define MAX_KEYS 64 /* unknown keys named in coverage */

typedef void take_fn(struct chrome_head *, struct chrome_load *, struct chrome_names *,
                     const char *key, const struct chrome_value *);

static take_fn take_fact, take_base, take_devices, take_distributed, take_viztracer;

static const struct {
    const char *key;
    take_fn *take;
    bool kineto; /* only Kineto writes it */
} known[] = {
    {"schemaVersion", take_fact, true},
    {"baseTimeNanoseconds", take_base, false},
    {"distributedInfo", take_distributed, true},
    {"deviceProperties", take_devices, true},
    {"computeProperties", take_devices, true},
    {"displayTimeUnit", take_fact, false},
    {"viztracer_metadata", take_viztracer, false},
    {"with_flops", take_fact, false},
    {"with_stack", take_fact, false},
    {"with_modules", take_fact, false},
    {"record_shapes", take_fact, false},
    {"profile_memory", take_fact, false},
    {"trace_id", take_fact, false},
    {"cuda_runtime_version", take_fact, false},
    {"cuda_driver_version", take_fact, false},
    {"cupti_version", take_fact, false},
    {"hip_runtime_version", take_fact, false},
    {"hip_driver_version", take_fact, false},
    {"roctracer_version", take_fact, false},
    {"rocprofiler_version", take_fact, false},
    {"nccl_version", take_fact, false},
};

static size_t find_key(struct nl_str key)
{
    size_t i = 0;
    while (i < sizeof known / sizeof known[0] && !nl_str_is(key, known[i].key))
        i++;
    return i;
}

void chrome_head_init(struct chrome_head *head)
{
    *head = (struct chrome_head){.base_ns = NL_NULL_I64, .rank = NL_NULL_I64};
}

bool chrome_head_wants(struct nl_str key)
{
    return find_key(key) < sizeof known / sizeof known[0];
}

void chrome_head_take(struct chrome_head *head, struct chrome_load *load,
                      struct chrome_names *names, struct nl_str key,
                      const struct chrome_value *value)
{
    size_t i = find_key(key);
    head->kineto |= known[i].kineto;
    known[i].take(head, load, names, known[i].key, value);
}

void chrome_head_skip(struct chrome_head *head, struct chrome_load *load, struct nl_str key)
{
    static const char *const quiet[] = {"traceName"}; /* a path, of no use here */
    static const struct {
        const char *key, *advice;
    } known_skips[] = {
        {"stackFrames", "it is not an object"},
        {"samples", "it is not a list"},
        {"systemTraceEvents", "ftrace text is not read"},
    };
    char item[128];
    for (size_t i = 0; i < sizeof quiet / sizeof quiet[0]; i++)
        if (nl_str_is(key, quiet[i]))
            return;
    const char *advice = "left out of the profile: it may contain anything, secrets included";
    for (size_t i = 0; i < sizeof known_skips / sizeof known_skips[0]; i++)
        if (nl_str_is(key, known_skips[i].key))
            advice = known_skips[i].advice;
    if (head->unknown++ >= MAX_KEYS)
        key = nl_str("(more)");
    if (key.len > 64)
        key.len = 64;
    struct nl_buf text;
    nl_buf_init(&text, sizeof item - 1);
    nl_buf_text(&text, "not stored: top-level key ");
    for (size_t i = 0; i < key.len; i++) /* a key is shown, so only plain characters of it */
        nl_buf_char(&text, key.ptr[i] >= ' ' && key.ptr[i] < 127 ? key.ptr[i] : '?');
    nl_builder_coverage(load->builder, load->source, text.ptr, 1, advice);
    nl_buf_release(&text);
}

static struct nl_str value_text(struct chrome_names *names, const struct chrome_value *value)
{
    return chrome_names_decode(names, chrome_text(value), value->type == CHROME_STRING);
}

static void take_fact(struct chrome_head *head, struct chrome_load *load,
                      struct chrome_names *names, const char *key, const struct chrome_value *value)
{
    (void)head;
    if (value->type != CHROME_ARRAY && value->type != CHROME_OBJECT && value->type != CHROME_NULL)
        nl_builder_meta(load->builder, load->source, key, value_text(names, value));
}

static void take_base(struct chrome_head *head, struct chrome_load *load,
                      struct chrome_names *names, const char *key, const struct chrome_value *value)
{
    int64_t base;
    (void)load;
    (void)names;
    (void)key;
    if (!chrome_integer(value, &base))
        return;
    if (head->base_ns == NL_NULL_I64)
        head->base_ns = base;
    else
        head->several_bases |= head->base_ns != base;
}

/* ---- viztracer_metadata ---- */

static void take_viztracer(struct chrome_head *head, struct chrome_load *load,
                           struct chrome_names *names, const char *name,
                           const struct chrome_value *value)
{
    const char *p = value->ptr;
    struct nl_str key;
    struct chrome_value member;
    char tool[64] = "viztracer";
    while (value->type == CHROME_OBJECT &&
           chrome_member(&p, value->ptr + value->len, &key, &member)) {
        struct nl_str text = value_text(names, &member);
        if (nl_str_is(key, "version") && member.type == CHROME_STRING)
            (void)snprintf(tool, sizeof tool, "viztracer %.*s", NL_UP_TO(40, text));
        else if (nl_str_is(key, "baseTimeNanoseconds"))
            take_base(head, load, names, name, &member);
        else if (nl_str_is(key, "overflow") && nl_str_is(chrome_text(&member), "true"))
            nl_builder_coverage(load->builder, load->source, "overwritten: the first events", 1,
                                "the buffer was full; raise --tracer_entries");
    }
    nl_builder_tool(load->builder, load->source, nl_str(tool));
}

/* ---- distributedInfo ---- */

static void take_distributed(struct chrome_head *head, struct chrome_load *load,
                             struct chrome_names *names, const char *name,
                             const struct chrome_value *value)
{
    static const char *const facts[] = {"backend", "world_size", "pg_count", "nccl_version"};
    const char *p = value->ptr;
    struct nl_str key;
    struct chrome_value member;
    (void)name;
    while (value->type == CHROME_OBJECT &&
           chrome_member(&p, value->ptr + value->len, &key, &member)) {
        if (nl_str_is(key, "rank"))
            chrome_integer(&member, &head->rank);
        for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
            if (nl_str_is(key, facts[i]))
                take_fact(head, load, names, facts[i], &member);
    }
}

/* ---- deviceProperties ---- */

enum property {
    DEVICE_ID,
    DEVICE_NAME,
    DEVICE_MEMORY,
    DEVICE_MAJOR,
    DEVICE_MINOR,
    DEVICE_SMS,
    DEVICE_THREADS,
    DEVICE_WARP,
    DEVICE_PROPERTIES
};

static const struct {
    const char *key;
    enum property property;
} properties[] = {
    {"id", DEVICE_ID},
    {"name", DEVICE_NAME},
    {"totalGlobalMem", DEVICE_MEMORY},
    {"computeMajor", DEVICE_MAJOR},
    {"major", DEVICE_MAJOR}, /* 2020-21 */
    {"computeMinor", DEVICE_MINOR},
    {"minor", DEVICE_MINOR},
    {"numSms", DEVICE_SMS},
    {"multiProcessorCount", DEVICE_SMS},
    {"maxThreadsPerMultiprocessor", DEVICE_THREADS},
    {"maxThreadsPerMultiProcessor", DEVICE_THREADS},
    {"warpSize", DEVICE_WARP},
};

static const struct {
    const char *part, *vendor;
} vendors[] = {
    {"NVIDIA", "nvidia"}, {"Tesla", "nvidia"}, {"GeForce", "nvidia"},
    {"Quadro", "nvidia"}, {"TITAN", "nvidia"}, {"AMD", "amd"},
    {"Radeon", "amd"},    {"Instinct", "amd"}, {"Intel", "intel"},
};

static uint32_t as_u32(int64_t number)
{
    return number >= 0 && number < NL_NULL_U32 ? (uint32_t)number : NL_NULL_U32;
}

static bool same_product(const struct nl_device_row *a, const struct nl_device_row *b)
{
    return a->name == b->name && a->memory_bytes == b->memory_bytes &&
           a->compute_major == b->compute_major && a->compute_minor == b->compute_minor &&
           a->sm_count == b->sm_count;
}

static void list_device(struct chrome_head *head, const struct nl_device_row *row)
{
    if (!head->any_listed)
        head->listed = *row;
    head->listed_differ |= !same_product(&head->listed, row);
    head->any_listed = true;
}

static bool is_listed(const struct nl_device_row *row)
{
    return row->name || row->memory_bytes != NL_NULL_U64 || row->sm_count != NL_NULL_U32;
}

void chrome_head_settle(const struct chrome_head *head, struct chrome_load *load,
                        const struct chrome_worker *workers, unsigned count)
{
    int64_t taken = 0;
    if (!head->any_listed || head->listed_differ || !is_listed(&head->listed))
        return;
    for (unsigned w = 0; w < count; w++)
        for (size_t i = 0; i < workers[w].device_lane_count; i++) {
            int64_t number = workers[w].device_lanes[i].device;
            if (number < 0 || number == NL_NULL_I64)
                continue;
            struct nl_device_row *row = nl_builder_device_row(
                load->builder, nl_builder_device(load->builder, load->source, number, number));
            if (is_listed(row))
                continue;
            struct nl_device_row own = *row;
            *row = head->listed;
            row->ordinal = own.ordinal;
            row->source = own.source;
            taken++;
        }
    if (taken)
        nl_builder_coverage(load->builder, load->source, "devices that are not listed", taken,
                            "their product is that of all devices that the file lists");
}

static void fill_device(struct chrome_head *head, struct chrome_load *load, const int64_t *number,
                        struct nl_str name)
{
    uint32_t device =
        nl_builder_device(load->builder, load->source, number[DEVICE_ID], number[DEVICE_ID]);
    struct nl_device_row *row = nl_builder_device_row(load->builder, device);
    if (name.len)
        row->name = nl_builder_name(load->builder, name);
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0] && !row->vendor; i++)
        if (nl_str_contains(name, vendors[i].part))
            row->vendor = nl_builder_name(load->builder, nl_str(vendors[i].vendor));
    if (number[DEVICE_MEMORY] >= 0)
        row->memory_bytes = (uint64_t)number[DEVICE_MEMORY];
    row->compute_major = as_u32(number[DEVICE_MAJOR]);
    row->compute_minor = as_u32(number[DEVICE_MINOR]);
    row->sm_count = as_u32(number[DEVICE_SMS]);
    row->warp_size = as_u32(number[DEVICE_WARP]);
    if (number[DEVICE_WARP] > 0 && number[DEVICE_THREADS] > 0)
        row->max_warps_per_sm = as_u32(number[DEVICE_THREADS] / number[DEVICE_WARP]);
    list_device(head, row);
}

static void take_device(struct chrome_head *head, struct chrome_load *load,
                        struct chrome_names *names, const struct chrome_value *value)
{
    int64_t number[DEVICE_PROPERTIES];
    struct nl_str key, name = {"", 0};
    struct chrome_value member;
    const char *p = value->ptr;
    for (size_t i = 0; i < DEVICE_PROPERTIES; i++)
        number[i] = NL_NULL_I64;
    while (chrome_member(&p, value->ptr + value->len, &key, &member)) {
        for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++) {
            if (!nl_str_is(key, properties[i].key))
                continue;
            if (properties[i].property == DEVICE_NAME)
                name = value_text(names, &member);
            else
                chrome_integer(&member, &number[properties[i].property]);
        }
    }
    if (number[DEVICE_ID] != NL_NULL_I64)
        fill_device(head, load, number, name);
}

static void take_devices(struct chrome_head *head, struct chrome_load *load,
                         struct chrome_names *names, const char *key,
                         const struct chrome_value *value)
{
    (void)key;
    const char *p = value->ptr + 1, *end = value->ptr + value->len;
    if (value->type != CHROME_ARRAY)
        return;
    for (;;) {
        struct chrome_value device;
        p = chrome_skip_space(p);
        if (p < end && *p == ',')
            p = chrome_skip_space(p + 1);
        if (p >= end || *p != '{' || chrome_parse_value(&device, &p, end) != CHROME_OK)
            return;
        take_device(head, load, names, &device);
    }
}
