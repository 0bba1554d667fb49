/*
 * OpenMetrics: the numbers of a run for Prometheus and its kin: where the time of each device went,
 * lengths of steps as a histogram, the kernels with most time. Times are seconds, written from
 * whole ns without rounding. Format: https://prometheus.io/docs/specs/om/open_metrics_spec/
 */
#include <inttypes.h>

#include "base/units.h"
#include "base/sum.h"
#include "export/jsonbytes.h"
#include "export/export.h"
#include "tables/lookup.h"

#define MAX_KERNELS 100

static const int64_t step_bounds[] = {1000000,    2000000,    5000000,     10000000,   20000000,
                                      50000000,   100000000,  200000000,   500000000,  1000000000,
                                      2000000000, 5000000000, 10000000000, 60000000000};
#define BOUNDS (sizeof step_bounds / sizeof step_bounds[0])

struct writer {
    struct nl_export *export;
    struct bytes out;
};

static void put_seconds(struct bytes *out, int64_t ns)
{
    char text[32];
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    snprintf(text, sizeof text, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "", size / 1000000000,
             size % 1000000000);
    json_raw(out, text);
}

/* In label values only backslash, quote and line feed are escaped; other control characters go. */
static void put_label(struct bytes *out, const char *name, struct nl_str value, bool first)
{
    json_raw(out, first ? "{" : ",");
    json_raw(out, name);
    json_raw(out, "=\"");
    for (size_t i = 0, start = 0; i <= value.len; i++) {
        unsigned char c = i < value.len ? (unsigned char)value.ptr[i] : 0;
        if (i < value.len && c >= 0x20 && c != '"' && c != '\\')
            continue;
        bytes_utf8(out, (struct nl_str){value.ptr + start, i - start});
        if (i < value.len)
            json_raw(out, c == '"' ? "\\\"" : c == '\\' ? "\\\\" : c == '\n' ? "\\n" : " ");
        start = i + 1;
    }
    bytes_u8(out, '"');
}

static void put_number_label(struct bytes *out, const char *name, int64_t value, bool first)
{
    char text[24] = "";
    if (value != INT64_MIN)
        snprintf(text, sizeof text, "%" PRId64, value);
    put_label(out, name, nl_str(text), first);
}

static void put_family(struct bytes *out, const char *name, const char *type, const char *unit,
                       const char *help)
{
    const char *const parts[] = {"# TYPE ", name, " ", type, "\n"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        json_raw(out, parts[i]);
    if (unit) {
        const char *const units[] = {"# UNIT ", name, " ", unit, "\n"};
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
            json_raw(out, units[i]);
    }
    const char *const helps[] = {"# HELP ", name, " ", help, "\n"};
    for (size_t i = 0; i < sizeof helps / sizeof helps[0]; i++)
        json_raw(out, helps[i]);
}

/* ---- families ---- */

static void put_info(struct writer *writer)
{
    const struct nl_source_table *source = &writer->export->trace->source;
    struct bytes *out = &writer->out;
    put_family(out, "neurolens_profile", "info", NULL, "The profile these numbers are of.");
    json_raw(out, "neurolens_profile_info");
    put_label(out, "profile", nl_str(writer->export->title ? writer->export->title : ""), true);
    put_label(out, "format",
              source->rows ? nl_trace_name(writer->export->trace, source->format[0]) : nl_str(""),
              false);
    put_label(out, "tool",
              source->rows ? nl_trace_name(writer->export->trace, source->tool[0]) : nl_str(""),
              false);
    json_raw(out, "} 1\n");
}

static void put_breakdown(struct writer *writer, const struct nl_result *result)
{
    static const struct {
        const char *column, *name, *help;
    } parts[] = {
        {"wall_ns", "neurolens_device_wall_seconds", "From first to last work of the device."},
        {"compute_ns", "neurolens_device_compute_seconds", "Time under compute kernels."},
        {"exposed_comm_ns", "neurolens_device_exposed_communication_seconds",
         "Time under communication and no compute."},
        {"exposed_copy_ns", "neurolens_device_exposed_copy_seconds",
         "Time under copies or fills alone."},
        {"idle_ns", "neurolens_device_idle_seconds", "Time under none of them."}};
    struct bytes *out = &writer->out;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && result->rows; i++) {
        put_family(out, parts[i].name, "gauge", "seconds", parts[i].help);
        for (size_t row = 0; row < result->rows; row++) {
            int64_t value = nl_lookup_i64(result, row, parts[i].column);
            if (value == INT64_MIN)
                continue;
            json_raw(out, parts[i].name);
            put_number_label(out, "rank", nl_lookup_i64(result, row, "rank"), true);
            put_number_label(out, "device", nl_lookup_i64(result, row, "device"), false);
            json_raw(out, "} ");
            put_seconds(out, value);
            bytes_u8(out, '\n');
        }
    }
}

/* The lengths of all steps, of every rank. */
static void put_steps(struct writer *writer, const struct nl_result *steps)
{
    struct bytes *out = &writer->out;
    uint64_t below[BOUNDS] = {0}, count = 0;
    int64_t total = 0;
    for (size_t row = 0; row < steps->rows; row++) {
        int64_t length = nl_lookup_i64(steps, row, "dur_ns");
        if (length == INT64_MIN)
            continue;
        count++;
        nl_sum_add(&total, length);
        for (size_t i = 0; i < BOUNDS; i++)
            below[i] += length <= step_bounds[i];
    }
    if (!count)
        return;
    put_family(out, "neurolens_step_seconds", "histogram", "seconds", "Lengths of steps.");
    for (size_t i = 0; i <= BOUNDS; i++) {
        json_raw(out, "neurolens_step_seconds_bucket{le=\"");
        if (i < BOUNDS)
            json_f64(out, (double)step_bounds[i] / 1e9);
        else
            json_raw(out, "+Inf");
        json_raw(out, "\"} ");
        json_u64(out, i < BOUNDS ? below[i] : count);
        bytes_u8(out, '\n');
    }
    json_raw(out, "neurolens_step_seconds_count ");
    json_u64(out, count);
    json_raw(out, "\nneurolens_step_seconds_sum ");
    put_seconds(out, total);
    bytes_u8(out, '\n');
}

static void put_kernels(struct writer *writer, const struct nl_result *kernels)
{
    struct bytes *out = &writer->out;
    size_t rows = kernels->rows < MAX_KERNELS ? kernels->rows : MAX_KERNELS;
    if (!rows)
        return;
    put_family(out, "neurolens_kernel_seconds", "summary", "seconds",
               "Time of the kernels that took most, by name.");
    for (size_t row = 0; row < rows; row++) {
        struct nl_str name = nl_lookup_text(kernels, row, "name");
        json_raw(out, "neurolens_kernel_seconds_count");
        put_label(out, "kernel", name, true);
        json_raw(out, "} ");
        json_i64(out, nl_lookup_i64(kernels, row, "count"));
        json_raw(out, "\nneurolens_kernel_seconds_sum");
        put_label(out, "kernel", name, true);
        json_raw(out, "} ");
        put_seconds(out, nl_lookup_i64(kernels, row, "total_ns"));
        bytes_u8(out, '\n');
    }
    nl_export_lost(writer->export, kernels->rows - rows, "further names of kernels");
}

bool nl_export_openmetrics(struct nl_export *export, struct nl_err *err)
{
    struct writer writer = {.export = export};
    struct nl_result *breakdown = nl_export_ask(export, "time_breakdown", err);
    struct nl_result *steps = breakdown ? nl_export_ask(export, "steps", err) : NULL;
    struct nl_result *kernels = steps ? nl_export_ask(export, "kernels", err) : NULL;
    if (kernels) {
        put_info(&writer);
        put_breakdown(&writer, breakdown);
        put_steps(&writer, steps);
        put_kernels(&writer, kernels);
        json_raw(&writer.out, "# EOF\n");
        fwrite(writer.out.at, 1, writer.out.len, export->out);
    }
    nl_result_free(breakdown);
    nl_result_free(steps);
    nl_result_free(kernels);
    bytes_release(&writer.out);
    return kernels != NULL && nl_export_goes_on(export, err);
}
