/*
 * CSV logs of nvprof: traces of the GPU and of calls, summaries, metrics. A log has its own lines
 * ("==123== …"), then tables one after another, each with a header and a row of units; old
 * summaries have units in the cells and names with bare commas, which the last column takes whole.
 */

#include <math.h>

#include "base/chars.h"
#include "base/stream.h"
#include "ingest/ingest.h"
#include "base/mem.h"
#include "parse/csvread.h"
#include "ingest/lib/gpurows.h"
#include "store/copykind.h"

enum {
    T_START,
    T_DURATION,
    T_NAME,
    T_DEVICE,
    T_CONTEXT,
    T_STREAM,
    T_GRID_X,
    T_GRID_Y,
    T_GRID_Z,
    T_BLOCK_X,
    T_BLOCK_Y,
    T_BLOCK_Z,
    T_REGISTERS,
    T_STATIC,
    T_DYNAMIC,
    T_SIZE,
    T_FROM,
    T_TO,
    T_CORRELATION,
    T_CALLS,
    T_TIME,
    T_METRIC,
    T_AVERAGE,
    T_TYPE,
    T_COLUMNS
};
static const char *const columns[T_COLUMNS] = {"Start",
                                               "Duration",
                                               "Name",
                                               "Device",
                                               "Context",
                                               "Stream",
                                               "Grid X",
                                               "Grid Y",
                                               "Grid Z",
                                               "Block X",
                                               "Block Y",
                                               "Block Z",
                                               "Registers Per Thread",
                                               "Static SMem",
                                               "Dynamic SMem",
                                               "Size",
                                               "SrcMemType",
                                               "DstMemType",
                                               "Correlation_ID",
                                               "Calls",
                                               "Time",
                                               "Metric Name",
                                               "Avg",
                                               "Type"};

enum table { NO_TABLE, GPU_TRACE, API_TRACE, SUMMARY, METRICS };

struct nvprofcsv {
    struct gpurows rows;
    struct csvread csv;
    enum table table;
    int column[T_COLUMNS];
    int power[T_COLUMNS];     /* of times */
    double factor[T_COLUMNS]; /* of sizes */
    int64_t pid;

    struct gpurows_map kernels; /* of metrics: hash of device and kernel → slice */
    uint64_t used, unknown, before, marks;
};

static int find_column(const struct csvread *csv, const char *name)
{
    return csvread_column(csv, name);
}

static bool has(const struct csvread *csv, const char *const names[3])
{
    return find_column(csv, names[0]) >= 0 && find_column(csv, names[1]) >= 0 &&
           find_column(csv, names[2]) >= 0;
}

/* What the row at hand is the header of. */
static enum table table_of(struct csvread *csv)
{
    static const char *const firsts[] = {"Start", "Type", "Time(%)", "Device"};
    static const struct {
        const char *names[3];
        enum table table;
    } tables[] = {
        {{"Metric Name", "Kernel", "Avg"}, METRICS},
        {{"Start", "Duration", "Device"}, GPU_TRACE},
        {{"Start", "Duration", "Name"}, API_TRACE},
        {{"Time(%)", "Calls", "Name"}, SUMMARY},
    };
    struct nl_str first = csv->count ? csvread_trimmed(*csv->cells) : nl_str("");
    bool header = false;
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++)
        header = header || nl_str_is(first, firsts[i]);
    if (!header)
        return NO_TABLE;
    csvread_take_header(csv);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (has(csv, tables[i].names))
            return tables[i].table;
    return NO_TABLE;
}

/* "s" → power of ten, "KB" → factor. */
static void take_unit(struct nvprofcsv *load, int column, struct nl_str unit)
{
    static const char sizes[] = "BKMGT";
    (void)csvread_time_unit(unit, &load->power[column]);
    const char *size = unit.len && (unit.len == 1 || unit.ptr[1] == 'B') && unit.ptr[0]
                           ? strchr(sizes, unit.ptr[0])
                           : NULL;
    if (size)
        load->factor[column] = ldexp(1, 10 * (int)(size - sizes));
}

static void begin_table(struct nvprofcsv *load, enum table table)
{
    load->table = table;
    for (int i = 0; i < T_COLUMNS; i++) {
        load->column[i] = find_column(&load->csv, columns[i]);
        load->power[i] = -1;
        load->factor[i] = 1;
    }
    if (table == METRICS)
        load->column[T_NAME] = find_column(&load->csv, "Kernel");
}

static struct nl_str cell(const struct nvprofcsv *load, int what)
{
    return csvread_trimmed(csvread_cell(&load->csv, load->column[what]));
}

/* A row of units has no number in it. */
static bool is_units(struct nvprofcsv *load)
{
    for (size_t i = 0; i < load->csv.count; i++)
        for (size_t c = 0; c < load->csv.cells[i].len; c++)
            if (nl_is_digit(load->csv.cells[i].ptr[c]))
                return false;
    for (int i = 0; i < T_COLUMNS; i++)
        take_unit(load, i, cell(load, i));
    return true;
}

/* A time: number in the column's unit, or with its own unit ("12.05ms"). */
static int64_t time_of(const struct nvprofcsv *load, int what)
{
    struct nl_str text = cell(load, what);
    int64_t ns = NL_NULL_I64;
    size_t digits = 0;
    int power = load->power[what];
    while (digits < text.len && (strchr("0123456789.+-", text.ptr[digits]) && text.ptr[digits]))
        digits++;
    if (digits < text.len &&
        !csvread_time_unit((struct nl_str){text.ptr + digits, text.len - digits}, &power))
        return ns;
    if (power >= 0)
        (void)csvread_scaled((struct nl_str){text.ptr, digits}, power, &ns);
    return ns;
}

static int64_t whole(const struct nvprofcsv *load, int what)
{
    int64_t value = NL_NULL_I64;
    (void)csvread_i64(cell(load, what), &value);
    return value;
}

static double size_of(const struct nvprofcsv *load, int what)
{
    double value;
    if (!csvread_f64(cell(load, what), &value) || !(value >= 0) || value > 1e15)
        return -1;
    return floor(value * load->factor[what] + 0.5);
}

/* The last column takes the rest of a row whose name has bare commas. */
static struct nl_str row_name(const struct nvprofcsv *load)
{
    struct nl_str name = cell(load, T_NAME);
    const struct csvread *csv = &load->csv;
    if ((size_t)load->column[T_NAME] + 1 == csv->name_count && csv->count > csv->name_count) {
        struct nl_str last = csv->cells[csv->count - 1];
        name.len = (size_t)(last.ptr + last.len - name.ptr);
    }
    return name;
}

/* "Tesla V100 (0)" → 0, and the name of device 0. */
static int64_t device_of(struct nvprofcsv *load)
{
    struct nl_str text = cell(load, T_DEVICE);
    size_t at = text.len;
    int64_t number;
    while (at > 0 && text.ptr[at - 1] != '(')
        at--;
    if (at < 2 || text.ptr[text.len - 1] != ')' ||
        !csvread_i64((struct nl_str){text.ptr + at, text.len - at - 1}, &number))
        return NL_NULL_I64;
    struct nl_builder *builder = load->rows.builder;
    struct nl_device_row *row = nl_builder_device_row(
        builder, nl_builder_device(builder, load->rows.source, number, number));
    if (row->name == NL_NO_NAME) {
        row->name = nl_builder_name(builder, csvread_trimmed((struct nl_str){text.ptr, at - 1}));
        row->vendor = nl_builder_name(builder, nl_str("nvidia"));
    }
    return number;
}

/* "name [12]" → name; 12 is the correlation id. */
static uint64_t split_number(struct nl_str *name)
{
    size_t at = name->len;
    uint64_t id;
    while (at > 0 && name->ptr[at - 1] != '[')
        at--;
    if (at < 3 || name->ptr[name->len - 1] != ']' || name->ptr[at - 2] != ' ' ||
        !csvread_u64((struct nl_str){name->ptr + at, name->len - at - 1}, &id) || id == 0)
        return NL_NULL_U64;
    name->len = at - 2;
    return id;
}

static uint8_t memory_of(const struct nvprofcsv *load, int what)
{
    struct nl_str text = cell(load, what);
    static const char *const words[] = {"Pageable", "Pinned", "Device", "Managed", "Array"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (nl_str_is(text, words[i]))
            return (uint8_t)(NL_MEMORY_PAGEABLE + i);
    return NL_MEMORY_UNKNOWN;
}

static void stage_kernel(struct nvprofcsv *load, uint32_t slice, uint64_t correlation)
{
    struct nl_kernel_row kernel = nl_kernel_row();
    uint32_t *sizes[] = {&kernel.grid_x,  &kernel.grid_y,  &kernel.grid_z,   &kernel.block_x,
                         &kernel.block_y, &kernel.block_z, &kernel.registers};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        *sizes[i] = gpurows_u32(whole(load, T_GRID_X + (int)i));
    double fixed = size_of(load, T_STATIC), dynamic = size_of(load, T_DYNAMIC);
    kernel.static_shared_bytes = fixed < 0 ? NL_NULL_U32 : gpurows_u32((int64_t)fixed);
    kernel.dynamic_shared_bytes = dynamic < 0 ? NL_NULL_U32 : gpurows_u32((int64_t)dynamic);
    kernel.slice = slice;
    kernel.correlation = correlation;
    nl_stage_kernel(load->rows.stage, &kernel);
}

static void stage_copy(struct nvprofcsv *load, uint32_t slice, uint64_t id, struct nl_str name)
{
    struct nl_copy_row copy = nl_copy_row();
    double bytes = size_of(load, T_SIZE);
    copy.slice = slice;
    copy.correlation = id;
    copy.kind = (uint8_t)nl_copykind_of_text(name);
    copy.bytes = bytes < 0 ? NL_NULL_U64 : (uint64_t)bytes;
    copy.src_memory = memory_of(load, T_FROM);
    copy.dst_memory = memory_of(load, T_TO);
    nl_stage_copy(load->rows.stage, &copy);
}

static void stage_fill(struct nvprofcsv *load, uint32_t slice, uint64_t correlation)
{
    struct nl_memset_row fill = nl_memset_row();
    double bytes = size_of(load, T_SIZE);
    fill.slice = slice;
    fill.correlation = correlation;
    fill.bytes = bytes < 0 ? NL_NULL_U64 : (uint64_t)bytes;
    nl_stage_memset(load->rows.stage, &fill);
}

static void stage_call(struct nvprofcsv *load, struct nl_slice_row *slice, uint64_t correlation)
{
    struct nl_api_row api = nl_api_row();
    slice->kind = NL_KIND_API;
    slice->lane = gpurows_thread(&load->rows, NL_LANE_THREAD, load->pid, NL_NULL_I64, 0);
    api.slice = nl_stage_slice(load->rows.stage, slice);
    api.correlation = correlation;
    nl_stage_api(load->rows.stage, &api);
}

static enum nl_kind slice_kind(struct nl_str name)
{
    if (nl_str_starts(name, "[CUDA memcpy"))
        return NL_KIND_MEMCPY;
    return nl_str_starts(name, "[CUDA memset") ? NL_KIND_MEMSET : NL_KIND_KERNEL;
}

static void trace_row(struct nvprofcsv *load, bool gpu)
{
    struct nl_slice_row slice = nl_slice_row();
    struct nl_str name = row_name(load);
    int64_t start = time_of(load, T_START), dur = time_of(load, T_DURATION);
    bool known = start != NL_NULL_I64 && dur != NL_NULL_I64 && dur < ((int64_t)1 << 61) &&
                 start < ((int64_t)1 << 62);
    if (!gpurows_times(&load->rows, start, known ? start + dur : NL_NULL_I64, &slice))
        return;
    uint64_t id = split_number(&name);
    (void)csvread_u64(cell(load, T_CORRELATION), &id);
    int64_t device = gpu ? device_of(load) : NL_NULL_I64;
    slice.name = nl_stage_name(load->rows.stage, name);
    if (device == NL_NULL_I64) {
        stage_call(load, &slice, id);
        return;
    }
    slice.kind = (uint8_t)slice_kind(name);
    slice.lane = gpurows_stream(&load->rows, load->pid, device, whole(load, T_CONTEXT),
                                whole(load, T_STREAM));
    uint32_t row = nl_stage_slice(load->rows.stage, &slice);
    if (slice.kind == NL_KIND_MEMCPY)
        stage_copy(load, row, id, name);
    else if (slice.kind == NL_KIND_MEMSET)
        stage_fill(load, row, id);
    else
        stage_kernel(load, row, id);
}

static void summary_row(struct nvprofcsv *load)
{
    struct nl_stack_row stack = nl_stack_row();
    struct nl_call_row call = nl_call_row();
    call.count = whole(load, T_CALLS);
    call.self_ns = call.total_ns = time_of(load, T_TIME);
    if (call.count == NL_NULL_I64) {
        load->unknown++;
        return;
    }
    stack.name = nl_stage_name(load->rows.stage, row_name(load));
    stack.module = nl_stage_name(load->rows.stage, cell(load, T_TYPE));
    call.stack = nl_stage_stack(load->rows.stage, &stack);
    nl_stage_call(load->rows.stage, &call);
    load->used++;
}

/* Sums over a kernel's launches: a mark per kernel and device carries them. */
static void metric_row(struct nvprofcsv *load)
{
    struct nl_stage *stage = load->rows.stage;
    struct nl_str name = cell(load, T_NAME), value = cell(load, T_AVERAGE);
    int64_t device = device_of(load);
    struct nl_metric_row metric = nl_metric_row();
    bool made;
    uint64_t key = nl_hash(name.ptr, name.len) ^ (uint64_t)device << 56;
    uint64_t *slice = gpurows_map_put(&load->kernels, key, 0, &made);
    if (made) {
        struct nl_slice_row row = nl_slice_row();
        row.ts = (int64_t)load->marks++;
        row.dur = 0;
        row.flags = NL_SLICE_INSTANT;
        row.kind = NL_KIND_KERNEL;
        row.name = nl_stage_name(stage, name);
        row.lane = gpurows_stream(&load->rows, load->pid, device, NL_NULL_I64, NL_NULL_I64);
        *slice = nl_stage_slice(stage, &row);
        stage_kernel(load, (uint32_t)*slice, NL_NULL_U64);
    }
    metric.slice = (uint32_t)*slice;
    metric.name = nl_stage_name(stage, cell(load, T_METRIC));
    if (value.len && value.ptr[value.len - 1] == '%') {
        value.len--;
        metric.unit = nl_stage_name(stage, nl_str("%"));
    }
    if (!csvread_f64(value, &metric.value))
        metric.text = nl_stage_name(stage, value);
    nl_stage_metric(stage, &metric);
    load->used++;
}

static void take_row(struct nvprofcsv *load)
{
    enum table table = table_of(&load->csv);
    if (table != NO_TABLE) {
        begin_table(load, table);
    } else if (load->table == NO_TABLE) {
        load->before++;
    } else if (!is_units(load)) {
        if (load->table == GPU_TRACE || load->table == API_TRACE)
            trace_row(load, load->table == GPU_TRACE);
        else if (load->table == SUMMARY)
            summary_row(load);
        else
            metric_row(load);
    }
}

/* "==123== NVPROF is profiling process 123" */
static int64_t pid_in_head(const struct nl_input *input)
{
    struct nl_str head = {(const char *)input->head,
                          input->head_len < 4096 ? input->head_len : 4096};
    ptrdiff_t at = head.len ? nl_str_find_nocase(head, "profiling process ") : -1;
    int64_t pid = NL_NULL_I64;
    if (at < 0)
        return pid;
    size_t from = (size_t)at + 18, to = from;
    while (to < head.len && nl_is_digit(head.ptr[to]))
        to++;
    (void)csvread_i64((struct nl_str){head.ptr + from, to - from}, &pid);
    return pid;
}

static bool finish_load(struct nvprofcsv *load, enum csvread_status got, struct nl_err *err)
{
    const struct {
        const char *item;
        uint64_t count;
        const char *detail;
    } notes[] = {
        {"lines before the first table", load->before, "output of the program"},
        {"skipped: damaged row", load->unknown, "no number of calls"},
        {NL_COVERS_NO_STARTS, load->marks,
         "metrics are averages over launches; kernels are placed one after another"},
        {"repaired: quote never closed", load->csv.loose_quotes, NULL},
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (notes[i].count > 0)
            nl_builder_coverage(load->rows.builder, load->rows.source, notes[i].item,
                                (int64_t)notes[i].count, notes[i].detail);
    gpurows_end(&load->rows);
    if (got == CSVREAD_ERROR)
        return false;
    if (nl_job_cancelled(load->rows.job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    if (load->table == NO_TABLE)
        return nl_fail(err, NL_FORMAT, "it has no table written by nvprof");
    if (load->used + load->rows.rows == 0 && load->rows.no_start + load->unknown > 0)
        return nl_fail(err, NL_FORMAT, "none of its rows can be read: no times or no units");
    return true;
}

static bool nvprofcsv_load(struct nl_reading *reading, struct nl_err *err)
{
    struct nvprofcsv *load = nl_zalloc(sizeof *load);
    gpurows_begin(&load->rows, reading->builder, reading->source, reading->job);
    csvread_init(&load->csv, reading->stream, reading->job,
                 &(struct csvread_options){.comment = '=', .delimiter = ','});
    load->pid = pid_in_head(reading->input);
    nl_builder_tool(reading->builder, reading->source, nl_str("nvprof"));
    enum csvread_status got;
    while ((got = csvread_next(&load->csv, err)) == CSVREAD_ROW) {
        take_row(load);
        if ((load->csv.rows & 4095) == 0 && gpurows_stop(&load->rows))
            break;
    }
    bool done = finish_load(load, got, err);
    csvread_release(&load->csv);
    gpurows_map_release(&load->kernels);
    nl_free(load);
    return done;
}

static int nvprofcsv_sniff(const struct nl_input *input, const char **why)
{
    struct nl_str head = {(const char *)input->head, input->head_len};
    if (head.len == 0 || memchr(head.ptr, 0, head.len) || !nl_str_contains(head, ","))
        return 0;
    if (nl_str_starts(head, "Err:510") && nl_str_contains(head, "Time(%)")) {
        *why = "a log that a spreadsheet program has rewritten; use the file that nvprof wrote";
        return 0;
    }
    struct nl_stream *stream = nl_stream_memory(input->head, input->head_len, NULL);
    if (!stream)
        return 0;
    struct csvread csv;
    csvread_init(&csv, stream, NULL, &(struct csvread_options){.comment = '=', .delimiter = ','});
    int sure = 0;
    while (!sure && csv.rows < 100 && csvread_next(&csv, NULL) == CSVREAD_ROW)
        sure = table_of(&csv) != NO_TABLE ? 85 : 0;
    csvread_release(&csv);
    nl_stream_close(stream);
    return sure;
}

const struct nl_format nl_format_nvprofcsv = {.name = "nvprof-csv",
                                              .title = "nvprof CSV log",
                                              .sniff = nvprofcsv_sniff,
                                              .load = nvprofcsv_load,
                                              .feed = NL_FEED_STREAM,
                                              .doc = "formats/nvprof.md"};
