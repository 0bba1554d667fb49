/*
 * CSV pages of Nsight Compute (`ncu --csv`), raw and details, of any version, alone or among the
 * output of the program that was profiled.
 *
 * raw: names, units, then a row per kernel with a column per metric. details: a row per metric, and
 * rows of advice that are longer; the rows of one kernel follow each other. Columns are found by
 * name: their number differs between versions.
 */
#include <stdio.h>
#include <string.h>

#include "base/chars.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/utf8.h"
#include "parse/csvread.h"
#include "ingest/ncu/ncu.h"

/* Columns that describe the kernel, and those of the details page. */
enum column {
    ID,
    PROCESS,
    PROCESS_NAME,
    KERNEL,
    CONTEXT,
    STREAM,
    BLOCK,
    GRID,
    DEVICE,
    SECTION,
    METRIC,
    UNIT,
    VALUE,
    RULE,
    RULE_TEXT,
    SPEEDUP,
    COLUMNS
};
static const char *const titles[COLUMNS] = {
    [ID] = "ID",
    [PROCESS] = "Process ID",
    [PROCESS_NAME] = "Process Name",
    [KERNEL] = "Kernel Name",
    [CONTEXT] = "Context",
    [STREAM] = "Stream",
    [BLOCK] = "Block Size",
    [GRID] = "Grid Size",
    [DEVICE] = "Device",
    [SECTION] = "Section Name",
    [METRIC] = "Metric Name",
    [UNIT] = "Metric Unit",
    [VALUE] = "Metric Value",
    [RULE] = "Rule Name",
    [RULE_TEXT] = "Rule Description",
    [SPEEDUP] = "Estimated Speedup",
};
/* Known, and of no use to us. */
static const char *const ignored[] = {"Host Name", "Kernel Time", "CC"};

/* A metric's column on the raw page. */
struct metric_column {
    bool metric, percent;
    struct ncu_name name;
    uint32_t unit;
    int exponent;
};

struct page {
    struct ncu_load ncu;
    struct csvread csv;
    int at[COLUMNS]; /* cell of each column, -1 = not there */
    struct metric_column *columns;
    size_t column_count, column_cap;
    bool header, units, open;
    struct nl_buf kernel; /* identity of the kernel in work: ID, process and name */
    struct ncu_kernel facts;
    struct nl_arena arena;
    int64_t preamble, strange;
};

static bool is_header(const struct csvread *csv)
{
    return csv->count > 2 && nl_str_is(csvread_trimmed(csv->cells[ID]), titles[ID]) &&
           nl_str_is(csvread_trimmed(csv->cells[PROCESS]), titles[PROCESS]);
}

static bool is_known(struct nl_str title)
{
    for (size_t i = 0; i < COLUMNS; i++)
        if (nl_str_is(title, titles[i]))
            return true;
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        if (nl_str_is(title, ignored[i]))
            return true;
    return false;
}

static bool is_raw(const struct page *page)
{
    return page->at[METRIC] < 0;
}

static void finish_kernel(struct page *page)
{
    if (page->open)
        ncu_kernel(&page->ncu, &page->facts);
    page->open = false;
    nl_buf_clear(&page->kernel);
}

static void take_header(struct page *page)
{
    const struct csvread *csv = &page->csv;
    finish_kernel(page);
    for (int i = 0; i < COLUMNS; i++)
        page->at[i] = -1;
    nl_grow(&page->columns, &page->column_cap, csv->count);
    page->column_count = csv->count;
    for (size_t c = 0; c < csv->count; c++) {
        struct nl_str title = csvread_trimmed(csv->cells[c]);
        for (int i = 0; i < COLUMNS; i++)
            if (page->at[i] < 0 && nl_str_is(title, titles[i]))
                page->at[i] = (int)c;
        page->columns[c] = (struct metric_column){.metric = title.len && !is_known(title),
                                                  .percent = ncu_is_percent(title)};
        if (page->columns[c].metric)
            page->columns[c].name = ncu_name(&page->ncu, title);
    }
    page->header = true;
    page->units = is_raw(page);
}

static void take_units(struct page *page)
{
    const struct csvread *csv = &page->csv;
    for (size_t c = 0; c < page->column_count && c < csv->count; c++) {
        struct ncu_unit unit =
            ncu_unit_in(csvread_trimmed(csv->cells[c]), page->columns[c].percent);
        if (!unit.text[0])
            continue;
        page->columns[c].unit = nl_stage_name(page->ncu.stage, nl_str(unit.text));
        page->columns[c].exponent = unit.exponent;
    }
}

/* "1,234,567.8" without its separators, in `room`; other text as it is. */
static struct nl_str without_separators(struct nl_str text, char room[48])
{
    size_t len = 0, digits = 0;
    bool comma = false, fraction = false;
    if (text.len >= 48)
        return text;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == ',' && !fraction) {
            if (digits == 0 || digits > 3 || (comma && digits != 3))
                return text;
            comma = true;
            digits = 0;
            continue;
        }
        if (c == '.' && !fraction)
            fraction = true;
        else if (!nl_is_digit(c))
            return text;
        else if (!fraction)
            digits++;
        room[len++] = c;
    }
    return comma && digits == 3 ? (struct nl_str){room, len} : text;
}

static bool is_no_data(struct nl_str text)
{
    static const char *const words[] = {"n/a", "N/A", "no data", "nan", "-nan", "inf", "-inf"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (nl_str_is(text, words[i]))
            return true;
    return false;
}

static bool is_hexadecimal(struct nl_str text)
{
    return text.len > 2 && text.ptr[0] == '0' && (text.ptr[1] | 32) == 'x';
}

/* The digits of a number, followed by its own power of ten and `exponent`, in `room`; nothing where
 * that is no number. */
static struct nl_str raised(struct nl_str text, int exponent, char room[64])
{
    size_t digits = 0;
    int64_t own = 0;
    while (digits < text.len && (text.ptr[digits] | 32) != 'e')
        digits++;
    struct nl_str power = {text.ptr + digits + 1, text.len - digits - 1};
    bool good = digits == text.len || nl_parse_i64(power, &own);
    if (!good || digits >= 48 || own < -400 || own > 400)
        return nl_str("");
    int len = snprintf(room, 64, "%.*se%d", (int)digits, text.ptr, (int)own + exponent);
    return (struct nl_str){room, (size_t)len};
}

/* A cell × 10^exponent; the power is applied to the text, so that the double is the nearest one. */
static struct ncu_value read_cell(struct nl_str cell, int exponent)
{
    struct ncu_value value = {.kind = NCU_NO_DATA};
    char plain[48], scaled[64];
    struct nl_str text = csvread_trimmed(cell);
    value.kind = nl_decimal_short(text, exponent, &value.number) ? NCU_NUMBER : NCU_NO_DATA;
    if (value.kind == NCU_NUMBER)
        return value;
    text = without_separators(text, plain);
    value.kind = nl_decimal_short(text, exponent, &value.number) ? NCU_NUMBER : NCU_NO_DATA;
    if (value.kind == NCU_NUMBER || !text.len || is_no_data(text))
        return value;
    struct nl_str number = exponent ? raised(text, exponent, scaled) : text;
    if (is_hexadecimal(text) || !csvread_f64(number, &value.number)) {
        value.kind = NCU_TEXT;
        value.text = csvread_trimmed(cell);
        return value;
    }
    value.kind = NCU_NUMBER;
    if (text.len > 15 && !exponent && !memchr(text.ptr, '.', text.len))
        value.text = csvread_trimmed(cell); /* more digits than a double holds */
    return value;
}

/* The same for the metric `name`: columns need it as an integer, exact. */
static struct ncu_value read_metric_cell(struct nl_str cell, int exponent, struct ncu_name name)
{
    struct ncu_value value = read_cell(cell, exponent);
    char plain[48];
    if (name.fact && value.kind == NCU_NUMBER &&
        !csvread_scaled(without_separators(csvread_trimmed(cell), plain), exponent, &value.whole))
        value.whole = 0;
    return value;
}

static int64_t whole_cell(const struct page *page, enum column column)
{
    int64_t value;
    return csvread_i64(csvread_cell(&page->csv, page->at[column]), &value) ? value : NL_NULL_I64;
}

/* The kernel that this row is about, its text copied. */
static void open_kernel(struct page *page)
{
    struct ncu_kernel *facts = &page->facts;
    const struct csvread *csv = &page->csv;
    nl_arena_free(&page->arena);
    nl_arena_init(&page->arena);
    struct nl_str name = csvread_cell(csv, page->at[KERNEL]);
    struct nl_str process = csvread_cell(csv, page->at[PROCESS_NAME]);
    *facts = (struct ncu_kernel){.pid = whole_cell(page, PROCESS),
                                 .device = whole_cell(page, DEVICE),
                                 .context = whole_cell(page, CONTEXT),
                                 .stream = whole_cell(page, STREAM)};
    facts->name = (struct nl_str){nl_arena_text(&page->arena, name.ptr, name.len), name.len};
    facts->process_name =
        (struct nl_str){nl_arena_text(&page->arena, process.ptr, process.len), process.len};
    memset(facts->grid, 0xff, sizeof facts->grid);
    memset(facts->block, 0xff, sizeof facts->block);
    if (!ncu_triple(csvread_cell(csv, page->at[GRID]), facts->grid))
        memset(facts->grid, 0xff, sizeof facts->grid);
    if (!ncu_triple(csvread_cell(csv, page->at[BLOCK]), facts->block))
        memset(facts->block, 0xff, sizeof facts->block);
    page->open = true;
}

static void raw_row(struct page *page)
{
    const struct csvread *csv = &page->csv;
    open_kernel(page);
    for (size_t c = 0; c < page->column_count && c < csv->count; c++) {
        const struct metric_column *column = &page->columns[c];
        if (!column->metric || !csv->cells[c].len)
            continue;
        struct ncu_value value = read_metric_cell(csv->cells[c], column->exponent, column->name);
        ncu_metric(&page->ncu, column->name, column->unit, NL_NO_NAME, &value);
    }
    finish_kernel(page);
}

/* Does this row begin another kernel? */
static bool is_next(struct page *page)
{
    static const enum column keys[] = {ID, PROCESS, KERNEL};
    struct nl_buf *kernel = &page->kernel;
    size_t at = 0;
    bool same = page->open;
    for (size_t i = 0; same && i < sizeof keys / sizeof keys[0]; i++) {
        struct nl_str cell = csvread_cell(&page->csv, page->at[keys[i]]);
        same = kernel->len - at > cell.len && memcmp(kernel->ptr + at, cell.ptr, cell.len) == 0 &&
               kernel->ptr[at + cell.len] == '\n';
        at += cell.len + 1;
    }
    if (same && at == kernel->len)
        return false;
    finish_kernel(page);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct nl_str cell = csvread_cell(&page->csv, page->at[keys[i]]);
        nl_buf_add(kernel, cell.ptr, cell.len);
        nl_buf_char(kernel, '\n');
    }
    return true;
}

static void rule_row(struct page *page, uint32_t section)
{
    const struct csvread *csv = &page->csv;
    char label[160];
    struct nl_str rule = csvread_cell(csv, page->at[RULE]);
    int len = snprintf(label, sizeof label, "rule:%.*s", NL_UP_TO(120, rule));
    struct ncu_value value = read_cell(csvread_cell(csv, page->at[SPEEDUP]), 0);
    uint32_t unit = NL_NO_NAME;
    if (value.kind == NCU_NUMBER)
        unit = nl_stage_name(page->ncu.stage, nl_str("%"));
    else
        value.kind = NCU_TEXT;
    value.text = csvread_cell(csv, page->at[RULE_TEXT]);
    ncu_metric(&page->ncu, ncu_name(&page->ncu, (struct nl_str){label, (size_t)len}), unit, section,
               &value);
}

static void details_row(struct page *page)
{
    const struct csvread *csv = &page->csv;
    if (is_next(page))
        open_kernel(page);
    struct nl_str section = csvread_cell(csv, page->at[SECTION]);
    struct nl_str metric = csvread_cell(csv, page->at[METRIC]);
    uint32_t section_name = section.len ? nl_stage_name(page->ncu.stage, section) : NL_NO_NAME;
    if (csvread_cell(csv, page->at[RULE]).len) {
        rule_row(page, section_name);
    } else if (metric.len) {
        struct ncu_unit unit =
            ncu_unit_in(csvread_trimmed(csvread_cell(csv, page->at[UNIT])), ncu_is_percent(metric));
        struct ncu_name name = ncu_name(&page->ncu, metric);
        struct ncu_value value =
            read_metric_cell(csvread_cell(csv, page->at[VALUE]), unit.exponent, name);
        ncu_metric(&page->ncu, name,
                   unit.text[0] ? nl_stage_name(page->ncu.stage, nl_str(unit.text)) : NL_NO_NAME,
                   section_name, &value);
    }
}

static void take_row(struct page *page)
{
    int64_t id;
    struct nl_str first = csvread_cell(&page->csv, page->at[ID]);
    if (is_header(&page->csv)) {
        take_header(page);
    } else if (!page->header) {
        page->preamble++;
    } else if (page->units && !first.len) {
        take_units(page);
        page->units = false;
    } else if (page->csv.count < 4 || !csvread_i64(first, &id)) {
        page->strange++;
    } else if (is_raw(page)) {
        raw_row(page);
    } else {
        details_row(page);
    }
}

static void report_coverage(struct page *page)
{
    const struct {
        const char *item;
        int64_t count;
        const char *detail;
    } rows[] = {
        {"skipped: lines before the table", page->preamble, "messages of ncu or of the program"},
        {"skipped: lines that are not rows of the table", page->strange,
         "messages of ncu or of the program"},
        {"repaired: quotes that are never closed", (int64_t)page->csv.loose_quotes, NULL},
        {"skipped: rows too long", (int64_t)page->csv.long_rows, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].count)
            nl_builder_coverage(page->ncu.builder, page->ncu.source, rows[i].item, rows[i].count,
                                rows[i].detail);
    ncu_end(&page->ncu);
}

static bool ncucsv_load(struct nl_reading *reading, struct nl_err *err)
{
    struct page page = {.header = false};
    enum csvread_status got;
    ncu_begin(&page.ncu, reading->builder, reading->source, reading->job);
    csvread_init(&page.csv, reading->stream, reading->job,
                 &(struct csvread_options){.delimiter = ','});
    nl_buf_init(&page.kernel, (size_t)1 << 20);
    nl_arena_init(&page.arena);
    for (int i = 0; i < COLUMNS; i++)
        page.at[i] = -1;
    while ((got = csvread_next(&page.csv, err)) == CSVREAD_ROW &&
           !nl_builder_over_budget(reading->builder))
        take_row(&page);
    finish_kernel(&page);
    bool done = got != CSVREAD_ERROR;
    if (done && !page.ncu.kernels)
        done = nl_fail(err, NL_FORMAT,
                       page.header ? "an ncu table without kernels"
                                   : "the output of ncu without a table; run ncu with --csv --page "
                                     "raw, or give the .ncu-rep file");
    report_coverage(&page);
    csvread_release(&page.csv);
    nl_buf_release(&page.kernel);
    nl_arena_free(&page.arena);
    nl_free(page.columns);
    return done;
}

static int ncucsv_sniff(const struct nl_input *input, const char **why)
{
    static const char *const headers[] = {"\"ID\",\"Process ID\",", "ID,Process ID,"};
    struct nl_str head = {(const char *)input->head, input->head_len};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        ptrdiff_t at = nl_str_find_nocase(head, headers[i]);
        if (at == 0 || (at > 0 && (head.ptr[at - 1] == '\n' || (at == 3 && head.ptr[0] == '\xef'))))
            return 92;
    }
    if (nl_str_starts(head, "Launch Settings") || nl_str_starts(head, "\"Launch Settings"))
        *why = "the session page, which holds no kernels; use --page raw";
    return nl_str_starts(head, "==PROF== ") ? 60 : 0;
}

const struct nl_format nl_format_ncucsv = {
    .name = "ncu-csv",
    .title = "Nsight Compute CSV page",
    .sniff = ncucsv_sniff,
    .load = ncucsv_load,
    .feed = NL_FEED_STREAM,
    .doc = "docs/formats/ncu.md",
    .measures = true,
};
