/*
 * Logs of Zeus (ZeusMonitor's `log_file`): a row per measured window with its start, its length and
 * the energy that each GPU took in it. A window is a range of the user's; its energies are metrics
 * of the range, since a window has one value per GPU and no values over time.
 */
#include "base/mem.h"
#include "parse/csvread.h"
#include "ingest/lib/gpurows.h"
#include "ingest/ingest.h"

#define MAX_COLUMNS 256
#define EPOCH       (INT64_C(600000000) * 1000000000) /* later than that is no time since boot */

struct zeus {
    struct gpurows rows;
    struct csvread csv;
    int start, name, elapsed;
    uint32_t energies[MAX_COLUMNS]; /* names of the columns "gpu0_energy", 0 = another column */
    uint32_t domain, lane, unit;
    int64_t windows, odd, no_energy;
    bool epoch; /* times are since 1970, not of a monotonic clock */
};

static bool find_columns(struct zeus *z)
{
    z->start = csvread_column(&z->csv, "start_time");
    z->name = csvread_column(&z->csv, "window_name");
    z->elapsed = csvread_column(&z->csv, "elapsed_time");
    for (size_t i = 0; i < z->csv.name_count && i < MAX_COLUMNS; i++) {
        struct nl_str name = csvread_trimmed(z->csv.names[i]);
        bool energy = nl_str_starts(name, "gpu") && nl_str_contains(name, "_energy");
        z->energies[i] = energy ? nl_stage_name(z->rows.stage, name) : NL_NO_NAME;
    }
    return z->start >= 0 && z->name >= 0 && z->elapsed >= 0;
}

static void add_energies(struct zeus *z, uint32_t slice)
{
    for (size_t i = 0; i < z->csv.count && i < MAX_COLUMNS; i++) {
        struct nl_metric_row metric = nl_metric_row();
        if (!z->energies[i])
            continue;
        if (!csvread_f64(csvread_cell(&z->csv, (int)i), &metric.value)) {
            z->no_energy++;
            continue;
        }
        metric.slice = slice;
        metric.name = z->energies[i];
        metric.unit = z->unit;
        nl_stage_metric(z->rows.stage, &metric);
    }
}

static void add_window(struct zeus *z)
{
    struct nl_slice_row slice = nl_slice_row();
    struct nl_nvtx_row range = nl_nvtx_row();
    int64_t start = NL_NULL_I64, elapsed, end;
    bool timed = csvread_scaled(csvread_cell(&z->csv, z->start), 9, &start) &&
                 csvread_scaled(csvread_cell(&z->csv, z->elapsed), 9, &elapsed) && elapsed >= 0 &&
                 !__builtin_add_overflow(start, elapsed, &end);
    if (!timed || !gpurows_times(&z->rows, start, end, &slice)) {
        z->odd++;
        return;
    }
    slice.kind = NL_KIND_NVTX;
    slice.name = nl_stage_name(z->rows.stage, csvread_cell(&z->csv, z->name));
    slice.lane = z->lane;
    range.slice = nl_stage_slice(z->rows.stage, &slice);
    range.domain = z->domain;
    range.style = NL_RANGE_START_END;
    nl_stage_nvtx(z->rows.stage, &range);
    z->epoch |= start > EPOCH;
    add_energies(z, range.slice);
    z->windows++;
}

static bool read_windows(struct zeus *z, struct nl_err *err)
{
    enum csvread_status got = csvread_header(&z->csv, err);
    if (got == CSVREAD_ERROR)
        return false;
    if (got != CSVREAD_ROW || !find_columns(z))
        return nl_fail(err, NL_FORMAT, "its header is not one that Zeus writes");
    while ((got = csvread_next(&z->csv, err)) == CSVREAD_ROW && !gpurows_stop(&z->rows))
        add_window(z);
    if (got == CSVREAD_ERROR)
        return false;
    if (nl_job_cancelled(z->rows.job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    return z->windows > 0 || nl_fail(err, NL_FORMAT, "no window in this log");
}

static void report_coverage(const struct zeus *z)
{
    nl_builder_clock(z->rows.builder, z->rows.source, z->epoch ? "unix" : "monotonic",
                     z->epoch ? 0 : NL_NULL_I64);
    const struct {
        const char *item;
        int64_t count;
        const char *detail;
    } notes[] = {
        {"skipped: damaged row", z->odd, "its start or duration is not a time"},
        {"not available: energies", z->no_energy, "the cell is empty or no number"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (notes[i].count)
            nl_builder_coverage(z->rows.builder, z->rows.source, notes[i].item, notes[i].count,
                                notes[i].detail);
}

static bool zeus_load(struct nl_reading *reading, struct nl_err *err)
{
    struct zeus *z = nl_zalloc(sizeof *z);
    gpurows_begin(&z->rows, reading->builder, reading->source, reading->job);
    csvread_init(&z->csv, reading->stream, reading->job, NULL);
    nl_builder_tool(reading->builder, reading->source, nl_str("Zeus"));
    z->domain = nl_builder_name(reading->builder, nl_str("zeus"));
    z->unit = nl_builder_name(reading->builder, nl_str("J"));
    z->lane = gpurows_thread(&z->rows, NL_LANE_NVTX, NL_NULL_I64, NL_NULL_I64, z->domain);
    bool done = read_windows(z, err);
    report_coverage(z);
    gpurows_end(&z->rows);
    csvread_release(&z->csv);
    nl_free(z);
    return done;
}

static int zeus_sniff(const struct nl_input *input, const char **why)
{
    struct nl_str head = {(const char *)input->head, input->head_len};
    if (nl_str_starts(head, "start_time,window_name,elapsed_time"))
        return 90;
    if (!nl_str_starts(head, "start_time,") || !nl_str_contains(head, "_energy"))
        return 0;
    *why = "a table without the columns window_name and elapsed_time";
    return NL_NEAR_MISS;
}

const struct nl_format nl_format_zeus = {.name = "zeus",
                                         .title = "Zeus energy log",
                                         .sniff = zeus_sniff,
                                         .load = zeus_load,
                                         .feed = NL_FEED_STREAM,
                                         .doc = "formats/gputelemetry.md"};
