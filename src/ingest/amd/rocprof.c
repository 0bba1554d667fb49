/*
 * The format row of AMD's CSV files. What a file holds follows from the columns of its header
 * alone; names changed between releases, so a column is known by any of its names.
 */
#include "ingest/amd/rocprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/chars.h"
#include "base/mem.h"
#include "base/utf8.h"

#define KERNEL "Kernel_Name|KernelName|Kernel Name"
/* "1.7e+18" as pandas writes it; a long double holds 64 bits. */
static bool scientific(struct nl_str text, int64_t *value)
{
    char copy[64], *end;
    snprintf(copy, sizeof copy, "%.*s", NL_UP_TO(63, text));
    long double number = strtold(copy, &end);
    if (end == copy || *end || !(number > -9e18L && number < 9e18L))
        return false;
    *value = (int64_t)(number < 0 ? number - 0.5L : number + 0.5L);
    return true;
}

/* Digits are read as they stand: a double does not hold the ns of a clock. */
bool rocprof_ns(struct nl_str text, int64_t *value)
{
    text = csvread_trimmed(text);
    const char *dot = text.len ? memchr(text.ptr, '.', text.len) : NULL;
    if (nl_str_find_nocase(text, "e") > 0)
        return scientific(text, value);
    if (!dot)
        return csvread_i64(text, value);
    size_t whole = (size_t)(dot - text.ptr), rest = text.len - whole - 1;
    int64_t number;
    for (size_t i = 1; i <= rest; i++)
        if (!nl_is_digit(dot[i]))
            return false;
    if (!csvread_i64((struct nl_str){text.ptr, whole}, &number) || number == INT64_MAX)
        return false;
    *value = number + (rest && dot[1] >= '5');
    return true;
}

#define START "Start_Timestamp|BeginNs|Start_Ns|Start"
#define END   "End_Timestamp|EndNs|End_Ns|End"

/* The first kind whose needs are there is taken. */
static const struct rocprof_kind kinds[] = {
    {"counter collection", KERNEL "&Counter_Name&Counter_Value&Dispatch_Id|Dispatch_ID", NULL,
     rocprof_counter_columns, rocprof_counter_row, NULL},
    {"kernel trace", KERNEL "&" START "&" END "&Dispatch_Id|Queue_Id|gpu-id|GPU_ID|Agent_Id",
     "Counter_Name", rocprof_kernel_columns, rocprof_kernel_row, rocprof_kernel_open},
    {"counters per dispatch", KERNEL "&gpu-id|GPU_ID|Dispatch_ID&grd|Grid_Size&wgr|Workgroup_Size",
     "Counter_Name", rocprof_kernel_columns, rocprof_kernel_row, rocprof_kernel_open},
    {"memory copies", "Direction|Operation&Source_Agent_Id&Destination_Agent_Id&" START "&" END,
     NULL, rocprof_copy_columns, rocprof_copy_row, NULL},
    {"API trace", "Function&Domain&" START "&" END "&Thread_Id", NULL, rocprof_call_columns,
     rocprof_call_row, NULL},
    {"memory allocations", "Operation&Allocation_Size&Address&" START, NULL,
     rocprof_allocation_columns, rocprof_allocation_row, NULL},
    {"scratch memory", "Operation&Agent_Id&Alloc_Flags&" START, NULL, rocprof_scratch_columns,
     rocprof_scratch_row, NULL},
    {"statistics", "Name&Calls&TotalDurationNs&Percentage", NULL, rocprof_stat_columns,
     rocprof_stat_row, rocprof_stat_open},
    {"sums of kernels", KERNEL "&Count&Sum", "Counter_Name", rocprof_stat_columns, rocprof_stat_row,
     rocprof_stat_open},
    {"PC samples", "Sample_Timestamp&Exec_Mask&Dispatch_Id&Instruction", NULL,
     rocprof_sample_columns, rocprof_sample_row, NULL},
    {"agents", "Node_Id&Logical_Node_Id&Agent_Type&Cu_Count", NULL, rocprof_agent_columns,
     rocprof_agent_row, NULL},
};

/* One of "a|b&c" after the other, up to `&`. */
static bool has_any(const struct csvread *csv, const char *names, size_t len)
{
    char one[160];
    if (len >= sizeof one)
        return false;
    memcpy(one, names, len);
    one[len] = 0;
    return csvread_column(csv, one) >= 0;
}

static bool has_all(const struct csvread *csv, const char *needs)
{
    while (*needs) {
        size_t len = strcspn(needs, "&");
        if (!has_any(csv, needs, len))
            return false;
        needs += len + (needs[len] == '&');
    }
    return true;
}

static const struct rocprof_kind *table_kind(const struct csvread *csv)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (has_all(csv, kinds[i].needs) &&
            (!kinds[i].not_with || csvread_column(csv, kinds[i].not_with) < 0))
            return &kinds[i];
    return NULL;
}

/* ---- Recognition ---- */

/* A row of rocprof v1 without the header above it, as pieces of a file have. */
/* Cells of such a row: 16, and four times after them where it was timed. */
enum { V1_KERNEL = 1, V1_SIGNAL = 14, V1_OBJECT, V1_MIN_VALUES, V1_TIMED = 20 };

static bool is_headless(const struct csvread *csv)
{
    return csv->count >= V1_MIN_VALUES &&
           (nl_str_contains(csv->cells[V1_KERNEL], ".kd") || csv->count >= V1_TIMED) &&
           nl_str_starts(csv->cells[V1_SIGNAL], "0x") && nl_str_starts(csv->cells[V1_OBJECT], "0x");
}

static const char *miss(const struct csvread *csv)
{
    if (is_headless(csv))
        return "rows of rocprof without the header line that names their columns";
    if (has_all(csv, "CodeObj&Vaddr&Instruction&Hitcount"))
        return "instruction statistics of a thread trace, which have no timeline";
    if (has_all(csv, KERNEL) && csv->name_count > 3)
        return "a table of kernels without columns for their dispatch and times";
    return NULL;
}

static int rocprof_sniff(const struct nl_input *input, const char **why)
{
    size_t line = 0;
    while (line < input->head_len && input->head[line] != '\n' && input->head[line])
        line++;
    if (!memchr(input->head, ',', line))
        return 0;
    struct nl_stream *stream = nl_stream_memory(input->head, input->head_len, NULL);
    if (!stream)
        return 0;
    struct csvread csv;
    csvread_init(&csv, stream, NULL, NULL);
    int sure = 0;
    if (csvread_header(&csv, NULL) == CSVREAD_ROW) {
        sure = table_kind(&csv) ? 85 : 0;
        if (!sure && (*why = miss(&csv)) != NULL)
            sure = NL_NEAR_MISS;
    }
    csvread_release(&csv);
    nl_stream_close(stream);
    return sure;
}

/* ---- Loading ---- */

int64_t rocprof_agent(const struct rocprof *load, int what)
{
    struct nl_str text = csvread_trimmed(rocprof_text(load, what));
    int64_t value = NL_NULL_I64;
    if (nl_str_starts(text, "Agent "))
        text = (struct nl_str){text.ptr + 6, text.len - 6};
    (void)csvread_i64(text, &value);
    return value;
}

/* "1234_kernel_trace.csv" → 1234. */
static int64_t pid_in_name(const char *name)
{
    size_t digits = 0;
    int64_t pid = NL_NULL_I64;
    while (nl_is_digit(name[digits]))
        digits++;
    if (digits > 0 && digits < 11 && name[digits] == '_')
        (void)csvread_i64((struct nl_str){name, digits}, &pid);
    return pid;
}

static void report_count(struct rocprof *load, const char *item, uint64_t count, const char *detail)
{
    if (count > 0)
        nl_builder_coverage(load->rows.builder, load->source, item, (int64_t)count, detail);
}

static void report_coverage(struct rocprof *load, const struct rocprof_kind *kind, uint64_t rows)
{
    report_count(load, NL_COVERS_NO_STARTS, load->timeless,
                 "the file has no start times; kernels are placed one after another in file order");
    report_count(load, "not recorded: length of kernels", load->untold_length,
                 "add a kernel trace of the same run");
    report_count(load, "skipped: damaged row", load->bad_rows,
                 "fewer cells than the header has columns");
    report_count(load, "counters without a value", load->no_value,
                 "the cell is empty or no number");
    report_count(load, "not linked: process id of two recordings", load->ambiguous,
                 "the same number under another Guid");
    report_count(load, "repaired: quote never closed", load->csv.loose_quotes, NULL);
    report_count(load, "skipped: line over 16 MiB", load->csv.long_rows, NULL);
    report_count(load, "no rows in the file", rows == 0, kind->name);
}

static bool read_rows(struct rocprof *load, const struct rocprof_kind *kind, struct nl_err *err)
{
    for (int i = 0; i < ROCPROF_COLUMNS && kind->columns[i]; i++)
        load->column[i] = csvread_column(&load->csv, kind->columns[i]);
    load->guid_column = csvread_column(&load->csv, "Guid");
    if (kind->open)
        kind->open(load);
    uint64_t rows = 0, before = load->rows.no_start;
    enum csvread_status got;
    while ((got = csvread_next(&load->csv, err)) == CSVREAD_ROW) {
        if ((rows++ & 4095) == 0 && gpurows_stop(&load->rows))
            break;
        if (load->csv.count + 1 < load->csv.name_count)
            load->bad_rows++;
        else
            kind->row(load);
    }
    report_coverage(load, kind, rows);
    if (got == CSVREAD_ERROR)
        return false;
    if (nl_job_cancelled(load->rows.job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    if (rows > 0 && load->bad_rows + load->rows.no_start - before == rows)
        return nl_fail(err, NL_FORMAT, "none of its %llu rows can be read as a row of a %s",
                       (unsigned long long)rows, kind->name);
    return true;
}

static void begin_file(struct rocprof *load, uint32_t source, const struct nl_input *input,
                       struct nl_stream *stream)
{
    csvread_init(&load->csv, stream, load->rows.job, NULL);
    load->parts = input->recording != NULL;
    load->source = source;
    load->file_pid = pid_in_name(input->name);
    load->bad_rows = load->timeless = load->untold_length = 0;
    load->no_value = load->ambiguous = 0;
    for (int i = 0; i < ROCPROF_COLUMNS; i++)
        load->column[i] = -1;
}

static bool rocprof_load(struct nl_reading *reading, struct nl_err *err)
{
    struct rocprof *load = reading->input->recording ? *reading->input->recording : NULL;
    if (!load)
        load = rocprof_new(reading->builder, reading->source, reading->job);
    if (reading->input->recording)
        *reading->input->recording = load;
    begin_file(load, reading->source, reading->input, reading->stream);
    bool done = false;
    enum csvread_status got = csvread_header(&load->csv, err);
    const struct rocprof_kind *kind = got == CSVREAD_ROW ? table_kind(&load->csv) : NULL;
    if (kind) {
        nl_builder_clock(reading->builder, reading->source, "boot", NL_NULL_I64);
        nl_builder_tool(reading->builder, reading->source, nl_str("rocprof"));
        nl_builder_meta(reading->builder, reading->source, "table", nl_str(kind->name));
        done = read_rows(load, kind, err);
    } else if (got != CSVREAD_ERROR) {
        (void)nl_fail(err, NL_FORMAT, "its header is not one that rocprof writes");
    }
    csvread_release(&load->csv);
    gpurows_map_release(&load->stacks);
    nl_free(load->counter_names);
    load->counter_names = NULL;
    if (!reading->input->recording)
        rocprof_free(load);
    return done;
}

const struct nl_format nl_format_rocprof = {.name = "rocprof",
                                            .title = "ROCm profiler CSV (rocprof, rocprofv3)",
                                            .sniff = rocprof_sniff,
                                            .load = rocprof_load,
                                            .feed = NL_FEED_STREAM,
                                            .doc = "formats/rocprof.md",
                                            .recording = rocprof_recording,
                                            .recording_end = rocprof_free};
