/*
 * TensorBoard's event file: lengths of steps, where the time of each device went, and the report as text.
 * A file of TFRecords, each a length and data with masked CRC-32C checksums; data is an Event message.
 * Schemas: tensorflow/core/util/event.proto, framework/summary.proto.
 */
#include <inttypes.h>

#include "answer/profile.h"
#include "answer/report.h"
#include "base/crc.h"
#include "base/utf8.h"
#include "export/bytes.h"
#include "export/export.h"
#include "tables/lookup.h"
#include "view/view.h"

#define FLOAT       1 /* DataType */
#define STRING      7
#define REPORT_MOST ((size_t)8 << 20)

struct writer {
    struct nl_export *export;
    double wall; /* of all events: seconds since 1970 */
    struct bytes event, summary, value, tensor, shape;
};

/* ---- records ---- */

static uint32_t masked(const void *bytes, size_t len)
{
    uint32_t crc = nl_crc32c(bytes, len);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void write_record(struct writer *writer)
{
    uint64_t len = writer->event.len;
    uint32_t crc = masked(&len, sizeof len);
    fwrite(&len, sizeof len, 1, writer->export->out);
    fwrite(&crc, sizeof crc, 1, writer->export->out);
    fwrite(writer->event.at, 1, writer->event.len, writer->export->out);
    crc = masked(writer->event.at, writer->event.len);
    fwrite(&crc, sizeof crc, 1, writer->export->out);
}

static void begin_event(struct writer *writer, int64_t step)
{
    bytes_clear(&writer->event);
    bytes_tag_f64(&writer->event, 1, writer->wall);
    if (step)
        bytes_tag_varint(&writer->event, 2, (uint64_t)step);
}

/* The tensor as the one value of a summary. */
static void write_value(struct writer *writer, const char *tag, const char *plugin, int64_t step)
{
    struct bytes *shape = &writer->shape; /* reused: plugin data, then metadata */
    bytes_clear(shape);
    bytes_tag_text(shape, 1, nl_str(plugin));
    bytes_clear(&writer->summary);
    bytes_tag_message(&writer->summary, 1, shape);
    bytes_clear(&writer->value);
    bytes_tag_text(&writer->value, 1, nl_str(tag));
    bytes_tag_message(&writer->value, 8, &writer->tensor);
    bytes_tag_message(&writer->value, 9, &writer->summary);
    bytes_clear(&writer->summary);
    bytes_tag_message(&writer->summary, 1, &writer->value);
    begin_event(writer, step);
    bytes_tag_message(&writer->event, 5, &writer->summary);
    write_record(writer);
}

static void write_scalar(struct writer *writer, const char *tag, double value, int64_t step)
{
    float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    bytes_clear(&writer->tensor);
    bytes_tag_varint(&writer->tensor, 1, FLOAT);
    bytes_tag_bytes(&writer->tensor, 2, "", 0); /* a scalar: a shape without dimensions */
    bytes_clear(&writer->shape);
    bytes_u32(&writer->shape, bits);
    bytes_tag_message(&writer->tensor, 5, &writer->shape);
    write_value(writer, tag, "scalars", step);
}

static void write_text(struct writer *writer, const char *tag, struct nl_str text)
{
    struct bytes dimension = {0};
    bytes_clear(&writer->tensor);
    bytes_tag_varint(&writer->tensor, 1, STRING);
    bytes_tag_varint(&dimension, 1, 1); /* size 1 */
    bytes_clear(&writer->shape);
    bytes_tag_message(&writer->shape, 2, &dimension);
    bytes_tag_message(&writer->tensor, 2, &writer->shape);
    bytes_tag_text(&writer->tensor, 8, text);
    write_value(writer, tag, "text", 0);
    bytes_release(&dimension);
}

/* ---- what is written ---- */

static struct nl_result *ask(struct writer *writer, const char *analysis, struct nl_err *err)
{
    struct nl_analyze_options options = {.window = writer->export->window};
    return nl_analysis_run(nl_analysis_find(analysis), writer->export->trace, &options,
                           writer->export->job, err);
}

static void write_steps(struct writer *writer, const struct nl_result *steps)
{
    char tag[64];
    for (size_t row = 0; row < steps->rows; row++) {
        int64_t length = nl_lookup_i64(steps, row, "dur_ns"),
                rank = nl_lookup_i64(steps, row, "rank");
        int64_t index = nl_lookup_i64(steps, row, "index");
        if (length == INT64_MIN)
            continue;
        snprintf(tag, sizeof tag, "step_time_ms");
        if (rank != INT64_MIN)
            snprintf(tag, sizeof tag, "step_time_ms/rank_%" PRId64, rank);
        write_scalar(writer, tag, (double)length / 1e6, index < 0 ? (int64_t)row : index);
    }
}

/* "rank_0_gpu_1"; what is unknown is left out. */
static void put_device(char *text, size_t room, int64_t rank, int64_t device)
{
    if (rank != INT64_MIN && device != INT64_MIN)
        snprintf(text, room, "rank_%" PRId64 "_gpu_%" PRId64, rank, device);
    else if (rank != INT64_MIN)
        snprintf(text, room, "rank_%" PRId64, rank);
    else if (device != INT64_MIN)
        snprintf(text, room, "gpu_%" PRId64, device);
    else
        snprintf(text, room, "device");
}

static void write_breakdown(struct writer *writer, const struct nl_result *result)
{
    static const struct {
        const char *column, *name;
    } parts[] = {{"wall_ns", "wall_ms"},
                 {"compute_ns", "compute_ms"},
                 {"exposed_comm_ns", "exposed_communication_ms"},
                 {"exposed_copy_ns", "exposed_copy_ms"},
                 {"idle_ns", "idle_ms"}};
    char tag[160], device[64];
    for (size_t row = 0; row < result->rows; row++) {
        put_device(device, sizeof device, nl_lookup_i64(result, row, "rank"),
                   nl_lookup_i64(result, row, "device"));
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            int64_t value = nl_lookup_i64(result, row, parts[i].column);
            if (value == INT64_MIN)
                continue;
            snprintf(tag, sizeof tag, "device_time/%s/%s", device, parts[i].name);
            write_scalar(writer, tag, (double)value / 1e6, 0);
        }
    }
}

/* The report in Markdown, which TensorBoard renders. */
static bool write_report(struct writer *writer, struct nl_err *err)
{
    struct nl_export *export = writer->export;
    struct nl_analyze_options options = {.window = export->window, .fold = true};
    struct nl_view_options view = {0};
    struct nl_report *report = nl_report_new(export->trace, "analyze", &options, export->job, err);
    if (!report)
        return false;
    struct nl_profile *profile = nl_profile_new(export->trace, &export->window);
    char *text = NULL;
    size_t len = 0;
    FILE *memory = open_memstream(&text, &len);
    bool done = memory && nl_view_md.render_report(memory, profile, report, &view, err);
    if (memory)
        fclose(memory);
    if (done && len > REPORT_MOST)
        nl_export_lost(export, len - nl_utf8_cut(text, len, REPORT_MOST),
                       "bytes at the end of the report");
    if (done)
        write_text(writer, "report", (struct nl_str){text, nl_utf8_cut(text, len, REPORT_MOST)});
    nl_free(text);
    nl_profile_free(profile);
    nl_report_free(report);
    return done;
}

bool nl_export_tensorboard(struct nl_export *export, struct nl_err *err)
{
    struct writer writer = {.export = export};
    int64_t epoch = nl_export_epoch(export->trace);
    writer.wall = epoch == NL_NULL_I64 ? 0 : (double)epoch / 1e9;
    struct nl_result *breakdown = ask(&writer, "time_breakdown", err);
    struct nl_result *steps = breakdown ? ask(&writer, "steps", err) : NULL;
    bool done = steps != NULL;
    if (done) {
        begin_event(&writer, 0);
        bytes_tag_text(&writer.event, 3, nl_str("brain.Event:2"));
        write_record(&writer);
        write_steps(&writer, steps);
        write_breakdown(&writer, breakdown);
        done = write_report(&writer, err);
    }
    nl_result_free(breakdown);
    nl_result_free(steps);
    bytes_release(&writer.event);
    bytes_release(&writer.summary);
    bytes_release(&writer.value);
    bytes_release(&writer.tensor);
    bytes_release(&writer.shape);
    return done && nl_export_goes_on(export, err);
}
