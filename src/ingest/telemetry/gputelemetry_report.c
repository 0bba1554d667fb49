/*
 * Reports of `nvidia-smi -q`, as text and as XML (-x), one or many in a file (-l): what is a number
 * of a GPU becomes a counter named by its path ("FB Memory Usage: Used"), facts go to devices.
 *
 * Text shows its structure by indents, XML by elements; both become the same path of names. XML is
 * read tag by tag: nvidia-smi writes elements and text only, and no text over several lines.
 */
#include <stdio.h>
#include <string.h>

#include "base/chars.h"
#include "base/utf8.h"
#include "parse/csvread.h"
#include "ingest/telemetry/gputelemetry.h"
#include "parse/textlines.h"

#define MAX_DEPTH 12
#define MAX_NAME  64
#define MIB       (UINT64_C(1) << 20)

struct level {
    char name[MAX_NAME];
    size_t len, indent;
    bool valued; /* a key with a value, under which others stand: no part of their names */
};

struct report {
    struct telemetry *t;
    struct level path[MAX_DEPTH];
    size_t depth;
    size_t lost; /* XML: open elements deeper than that */
    int64_t ts, device, devices, mig;
    bool timed, begun, told; /* told: the facts before the devices, once per file */
    uint32_t whole;          /* process that devices' own values are of */
    char value[256];
    size_t value_len; /* XML: text of the element that is open */
};

static struct nl_str level_name(const struct level *level)
{
    return (struct nl_str){level->name, level->len};
}

static void push(struct report *r, struct nl_str name, size_t indent)
{
    if (r->depth == MAX_DEPTH) {
        r->lost++;
        return;
    }
    struct level *level = &r->path[r->depth++];
    level->len = nl_utf8_cut(name.ptr, name.len, MAX_NAME);
    memcpy(level->name, name.ptr, level->len);
    level->indent = indent;
    level->valued = false;
}

/* Place of a section in the path, -1 = none. */
static int section(const struct report *r, const char *text, const char *xml)
{
    for (size_t i = 0; i < r->depth; i++)
        if (nl_str_is(level_name(&r->path[i]), text) || nl_str_is(level_name(&r->path[i]), xml))
            return (int)i;
    return -1;
}

static void begin_report(struct report *r)
{
    r->depth = r->lost = 0;
    r->device = r->mig = NL_NULL_I64;
    r->devices = 0;
    r->timed = false;
    r->begun = true;
    r->t->process = r->whole;
}

static struct nl_device_row *device_row(struct report *r)
{
    return nl_builder_device_row(
        r->t->builder, nl_builder_device(r->t->builder, r->t->source, r->device, r->device));
}

static void begin_device(struct report *r, struct nl_str bus)
{
    if (!r->timed) { /* one tick per report */
        r->ts = r->t->tick++;
        r->timed = true;
        r->t->timeless++;
    }
    r->told = true;
    r->device = r->devices < TELEMETRY_MAX_DEVICES ? r->devices++ : TELEMETRY_MAX_DEVICES - 1;
    r->mig = NL_NULL_I64;
    r->t->process = r->whole;
    struct nl_device_row *row = device_row(r);
    row->vendor = nl_builder_name(r->t->builder, nl_str("nvidia"));
    row->bus = nl_builder_name(r->t->builder, csvread_trimmed(bus));
}

/* "Wed Aug 26 15:47:19 2026" */
static void take_time(struct report *r, struct nl_str value)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char text[40], month[4], clock[9];
    int day, year;
    (void)snprintf(text, sizeof text, "%.*s", NL_UP_TO(39, value));
    if (sscanf(text, "%*3s %3s %2d %8s %4d", month, &day, clock, &year) != 4 || day < 1)
        return;
    const char *found = strstr(months, month);
    if (!found || (found - months) % 3)
        return;
    (void)snprintf(text, sizeof text, "%04d/%02d/%02d %s", year, (int)(found - months) / 3 + 1, day,
                   clock);
    r->timed = telemetry_time(r->t, nl_str(text), &r->ts);
}

/* ---- What a key means. ---- */

enum meaning {
    NAME,
    UUID,
    MEMORY,
    CLOCK,
    PID,
    PROCESS,
    TIME,
    DRIVER,
    CUDA,
    MIG_INDEX,
    IDENTITY, /* numbers that measure nothing, or identify the machine's owner */
    VALUE
};

static const struct {
    const char *section_text, *section_xml; /* that it stands in, NULL = any */
    const char *text, *xml;
    enum meaning meaning;
} keys[] = {
    {NULL, NULL, "Product Name", "product_name", NAME},
    {NULL, NULL, "GPU UUID", "uuid", UUID},
    {"FB Memory Usage", "fb_memory_usage", "Total", "total", MEMORY},
    {"Max Clocks", "max_clocks", "SM", "sm_clock", CLOCK},
    {"Processes", "processes", "Process ID", "pid", PID},
    {"Processes", "processes", "Name", "process_name", PROCESS},
    {"MIG Device", "mig_device", "Index", "index", MIG_INDEX},
    {NULL, NULL, "Timestamp", "timestamp", TIME},
    {NULL, NULL, "Driver Version", "driver_version", DRIVER},
    {NULL, NULL, "CUDA Version", "cuda_version", CUDA},
    {NULL, NULL, "Serial Number", "serial", IDENTITY},
    {NULL, NULL, "Minor Number", "minor_number", IDENTITY},
    {NULL, NULL, "Attached GPUs", "attached_gpus", IDENTITY},
    {NULL, NULL, "GPU Part Number", "gpu_part_number", IDENTITY},
    {NULL, NULL, "Board Part Number", "board_part_number", IDENTITY},
    {NULL, NULL, "Module ID", "gpu_module_id", IDENTITY},
    {NULL, NULL, "Module Id", "module_id", IDENTITY},
    {NULL, NULL, "GPU Instance ID", "gpu_instance_id", IDENTITY},
    {NULL, NULL, "GPU instance ID", "gpu_instance_id", IDENTITY},
    {NULL, NULL, "Compute Instance ID", "compute_instance_id", IDENTITY},
    {NULL, NULL, "Compute instance ID", "compute_instance_id", IDENTITY},
    {"PCI", "pci", "Bus", "pci_bus", IDENTITY},
    {"PCI", "pci", "Device", "pci_device", IDENTITY},
    {"PCI", "pci", "Domain", "pci_domain", IDENTITY},
    {"PCI", "pci", "Device Id", "pci_device_id", IDENTITY},
    {"PCI", "pci", "Sub System Id", "pci_sub_system_id", IDENTITY},
    {"PCI", "pci", "Base Classcode", "pci_base_class", IDENTITY},
    {"PCI", "pci", "Sub Classcode", "pci_sub_class", IDENTITY},
    {NULL, NULL, "VBIOS Version", "vbios_version", IDENTITY},
    {"Inforom Version", "inforom_version", NULL, NULL, IDENTITY},
};

static enum meaning meaning_of(const struct report *r, struct nl_str key)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        bool named = !keys[i].text || nl_str_is(key, keys[i].text) || nl_str_is(key, keys[i].xml);
        if (named &&
            (!keys[i].section_text || section(r, keys[i].section_text, keys[i].section_xml) >= 0))
            return keys[i].meaning;
    }
    return VALUE;
}

/* A number before its unit; 0 when there is none. */
static uint64_t number_in(struct nl_str value)
{
    char text[24];
    unsigned long long number = 0;
    (void)snprintf(text, sizeof text, "%.*s", NL_UP_TO(23, value));
    return nl_is_digit(text[0]) && sscanf(text, "%15llu", &number) == 1 ? number : 0;
}

/* A number of a device: named by the sections it stands in. */
static void take_counter(struct report *r, struct nl_str key, struct nl_str value)
{
    char name[MAX_DEPTH * (MAX_NAME + 2) + MAX_NAME], entity[32];
    size_t len = 0;
    int mig = section(r, "MIG Device", "mig_device");
    int first = mig >= 0 ? mig + 1 : 0;
    key.len = nl_utf8_cut(key.ptr, key.len, MAX_NAME); /* as in the path */
    for (size_t i = (size_t)first; i < r->depth; i++) {
        if (r->path[i].valued || (i + 1 == r->depth && nl_str_eq(level_name(&r->path[i]), key)))
            continue;
        memcpy(name + len, r->path[i].name, r->path[i].len);
        memcpy(name + len + r->path[i].len, ": ", 2);
        len += r->path[i].len + 2;
    }
    memcpy(name + len, key.ptr, key.len);
    if (nl_str_is(value, "Active")) /* reasons why clocks are low, and the like */
        value = nl_str("1");
    else if (nl_str_is(value, "Not Active"))
        value = nl_str("0");
    struct nl_str of = {"", 0};
    if (mig >= 0 && r->mig != NL_NULL_I64)
        of = (struct nl_str){
            entity, (size_t)snprintf(entity, sizeof entity, "MIG %lld", (long long)r->mig)};
    telemetry_cell(r->t, r->ts, r->device, of, (struct nl_str){name, len + key.len}, nl_str(""),
                   value);
}

/* Facts of the report, which stand before its devices. */
static bool take_head(struct report *r, enum meaning meaning, struct nl_str value)
{
    struct telemetry *t = r->t;
    if (meaning == TIME)
        take_time(r, value);
    else if (meaning == DRIVER && !r->told)
        nl_builder_meta(t->builder, t->source, "Driver Version", value);
    else if (meaning == CUDA && !r->told)
        nl_builder_meta(t->builder, t->source, "CUDA Version", value);
    return meaning == TIME || meaning == DRIVER || meaning == CUDA;
}

static void take_value(struct report *r, struct nl_str key, struct nl_str value)
{
    struct telemetry *t = r->t;
    enum meaning meaning = meaning_of(r, key);
    int64_t number;
    if (take_head(r, meaning, value) || meaning == IDENTITY)
        return;
    if (r->device == NL_NULL_I64) {
        t->words++;
        return;
    }
    switch (meaning) {
    case NAME: device_row(r)->name = nl_builder_name(t->builder, value); return;
    case UUID: device_row(r)->uuid = nl_builder_name(t->builder, value); return;
    case PID:
        t->process = csvread_i64(value, &number) && number > 0
                         ? nl_builder_process(t->builder, t->source, number)
                         : r->whole;
        return;
    case PROCESS:
        if (t->process != r->whole)
            nl_builder_process_name(t->builder, t->process, nl_str_file_name(value));
        return;
    case MIG_INDEX: r->mig = csvread_i64(value, &number) ? number : NL_NULL_I64; return;
    case MEMORY:
        if (number_in(value) && section(r, "MIG Device", "mig_device") < 0)
            device_row(r)->memory_bytes = number_in(value) * MIB;
        break;
    case CLOCK:
        if (number_in(value))
            device_row(r)->clock_hz = number_in(value) * 1000000;
        break;
    default: break;
    }
    take_counter(r, key, value);
    if (section(r, "Processes", "processes") < 0)
        t->process = r->whole;
}

/* ---- Text. ---- */

/* Where "Key   : value" has its colon; NULL in the title of a section, and in a bus like 0000:06. */
static const char *colon_of(struct nl_str text)
{
    for (size_t i = 1; i < text.len; i++)
        if (text.ptr[i] == ':' && text.ptr[i - 1] == ' ' &&
            (i + 1 == text.len || text.ptr[i + 1] == ' '))
            return text.ptr + i;
    return NULL;
}

/* A line below a report's head: the title of a section, or a key with its value. */
static void text_key(struct report *r, struct nl_str text, size_t indent)
{
    const char *colon = colon_of(text);
    size_t key_len = colon ? (size_t)(colon - text.ptr) : text.len, depth = r->depth;
    struct nl_str key = csvread_trimmed((struct nl_str){text.ptr, key_len});
    push(r, key, indent);
    if (!colon)
        return;
    take_value(r, key, csvread_trimmed((struct nl_str){colon + 1, text.len - key_len - 1}));
    if (r->depth > depth)
        r->path[depth].valued = true;
}

static void text_line(struct report *r, struct nl_str line)
{
    size_t indent = 0;
    while (indent < line.len && line.ptr[indent] == ' ')
        indent++;
    struct nl_str text = csvread_trimmed(line);
    if (text.len && nl_str_contains(text, "==NVSMI LOG=="))
        begin_report(r);
    else if (text.len && r->begun) {
        while (r->depth && r->path[r->depth - 1].indent >= indent)
            r->depth--;
        if (section(r, "Processes", "processes") < 0)
            r->t->process = r->whole;
        if (indent == 0) /* of the report, or text around it */
            r->device = NL_NULL_I64;
        if (indent == 0 && nl_str_starts(text, "GPU ") && !colon_of(text) &&
            memchr(text.ptr, ':', text.len))
            begin_device(r, (struct nl_str){text.ptr + 4, text.len - 4});
        else
            text_key(r, text, indent);
    }
}

/* ---- XML. ---- */

/* Text with the five entities that XML has without a DTD; others stay. */
static size_t unescape(char *text, size_t len)
{
    static const struct {
        const char *name;
        char character;
    } entities[] = {
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    size_t to = 0;
    for (size_t at = 0; at < len; to++) {
        size_t step = 1;
        char character = text[at];
        for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++) {
            size_t size = strlen(entities[i].name);
            if (size <= len - at && memcmp(text + at, entities[i].name, size) == 0) {
                character = entities[i].character;
                step = size;
            }
        }
        text[to] = character;
        at += step;
    }
    return to;
}

/* id="…" of a tag */
static struct nl_str id_of(struct nl_str tag)
{
    for (size_t i = 0; i + 4 < tag.len; i++) {
        if (memcmp(tag.ptr + i, "id=", 3) != 0 || !strchr("\"'", tag.ptr[i + 3]))
            continue;
        const char *from = tag.ptr + i + 4;
        const char *end = memchr(from, tag.ptr[i + 3], tag.len - i - 4);
        return end ? (struct nl_str){from, (size_t)(end - from)} : nl_str("");
    }
    return nl_str("");
}

static void open_element(struct report *r, struct nl_str tag)
{
    size_t len = 0;
    while (len < tag.len && !nl_is_space(tag.ptr[len]) && tag.ptr[len] != '/')
        len++;
    struct nl_str name = {tag.ptr, len};
    bool empty = tag.ptr[tag.len - 1] == '/';
    r->value_len = 0;
    if (nl_str_is(name, "nvidia_smi_log"))
        begin_report(r);
    else if (r->begun && nl_str_is(name, "gpu") && !r->depth)
        begin_device(r, id_of(tag));
    else if (r->begun && !empty)
        push(r, name, 0);
}

static void close_element(struct report *r, struct nl_str name)
{
    if (r->lost) {
        r->lost--;
    } else if (nl_str_is(name, "gpu") && !r->depth) {
        r->device = NL_NULL_I64;
    } else if (r->depth) {
        struct level level = r->path[r->depth - 1];
        struct nl_str value =
            csvread_trimmed((struct nl_str){r->value, unescape(r->value, r->value_len)});
        r->depth--;
        if (value.len)
            take_value(r, level_name(&level), value);
        if (section(r, "Processes", "processes") < 0)
            r->t->process = r->whole;
    }
    r->value_len = 0;
}

/* A line: tags, and text between them. Tags do not go over lines. */
static void xml_line(struct report *r, struct nl_str line)
{
    for (size_t at = 0; at < line.len;) {
        if (line.ptr[at] != '<') {
            if (r->value_len < sizeof r->value)
                r->value[r->value_len++] = line.ptr[at];
            at++;
            continue;
        }
        const char *end = memchr(line.ptr + at, '>', line.len - at);
        if (!end) {
            r->t->strange++;
            return;
        }
        struct nl_str tag = {line.ptr + at + 1, (size_t)(end - line.ptr) - at - 1};
        at += tag.len + 2;
        if (!tag.len || tag.ptr[0] == '?' || tag.ptr[0] == '!')
            continue;
        if (tag.ptr[0] == '/')
            close_element(r, csvread_trimmed((struct nl_str){tag.ptr + 1, tag.len - 1}));
        else
            open_element(r, tag);
    }
}

bool telemetry_report(struct telemetry *t, enum telemetry_kind kind, struct nl_stream *stream,
                      struct nl_err *err)
{
    struct report r = {.t = t, .whole = t->process, .device = NL_NULL_I64, .mig = NL_NULL_I64};
    struct textlines lines;
    struct nl_str line;
    textlines_init(&lines, stream);
    while (textlines_next(&lines, &line, err) && !nl_builder_over_budget(t->builder)) {
        if (lines.count % 4096 == 0 && nl_job_cancelled(t->job))
            break;
        if (kind == TELEMETRY_REPORT)
            text_line(&r, line);
        else
            xml_line(&r, line);
    }
    bool failed = lines.failed;
    t->strange += (int64_t)lines.cut;
    t->process = r.whole;
    textlines_release(&lines);
    if (nl_job_cancelled(t->job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    return !failed;
}
