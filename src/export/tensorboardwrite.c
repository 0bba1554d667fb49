/*
 * TensorBoard's event file: lengths of steps, where the time of each device went, and the
 * report as text. A file of TFRecords, each a length and data with masked CRC-32C checksums;
 * data is an Event message.
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

#define MAX_REPORT ((size_t)8 << 20)

/* Numbers of fields, by message: tensorflow/core/util/event.proto; tensorflow/core/framework:
 * summary.proto, tensor.proto, tensor_shape.proto, types.proto. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_TENSOR = 8, VALUE_METADATA = 9 }; /* Summary.Value */
enum { METADATA_PLUGIN_DATA = 1 };                            /* SummaryMetadata */
enum { PLUGIN_NAME = 1 };                                     /* SummaryMetadata.PluginData */
enum { TENSOR_DTYPE = 1, TENSOR_SHAPE = 2, TENSOR_FLOAT_VAL = 5, TENSOR_STRING_VAL = 8 };
enum { SHAPE_DIM = 2 };
enum { DIM_SIZE = 1 };
enum { DT_FLOAT = 1, DT_STRING = 7 }; /* DataType */

struct writer {
    struct nl_export *export;
    double wall; /* of all events: seconds since 1970 */
    struct bytes event, summary, value, metadata, plugin, tensor, shape, dimension, floats;
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
    bytes_tag_f64(&writer->event, EVENT_WALL_TIME, writer->wall);
    if (step)
        bytes_tag_varint(&writer->event, EVENT_STEP, (uint64_t)step);
}

/* The tensor as the one value of a summary. */
static void write_value(struct writer *writer, const char *tag, const char *plugin, int64_t step)
{
    bytes_clear(&writer->plugin);
    bytes_tag_text(&writer->plugin, PLUGIN_NAME, nl_str(plugin));
    bytes_clear(&writer->metadata);
    bytes_tag_message(&writer->metadata, METADATA_PLUGIN_DATA, &writer->plugin);
    bytes_clear(&writer->value);
    bytes_tag_text(&writer->value, VALUE_TAG, nl_str(tag));
    bytes_tag_message(&writer->value, VALUE_TENSOR, &writer->tensor);
    bytes_tag_message(&writer->value, VALUE_METADATA, &writer->metadata);
    bytes_clear(&writer->summary);
    bytes_tag_message(&writer->summary, SUMMARY_VALUE, &writer->value);
    begin_event(writer, step);
    bytes_tag_message(&writer->event, EVENT_SUMMARY, &writer->summary);
    write_record(writer);
}

static void write_scalar(struct writer *writer, const char *tag, double value, int64_t step)
{
    float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    bytes_clear(&writer->floats);
    bytes_u32(&writer->floats, bits);
    bytes_clear(&writer->shape); /* a scalar: no dimensions */
    bytes_clear(&writer->tensor);
    bytes_tag_varint(&writer->tensor, TENSOR_DTYPE, DT_FLOAT);
    bytes_tag_message(&writer->tensor, TENSOR_SHAPE, &writer->shape);
    bytes_tag_message(&writer->tensor, TENSOR_FLOAT_VAL, &writer->floats);
    write_value(writer, tag, "scalars", step);
}

static void write_text(struct writer *writer, const char *tag, struct nl_str text)
{
    bytes_clear(&writer->dimension);
    bytes_tag_varint(&writer->dimension, DIM_SIZE, 1);
    bytes_clear(&writer->shape);
    bytes_tag_message(&writer->shape, SHAPE_DIM, &writer->dimension);
    bytes_clear(&writer->tensor);
    bytes_tag_varint(&writer->tensor, TENSOR_DTYPE, DT_STRING);
    bytes_tag_message(&writer->tensor, TENSOR_SHAPE, &writer->shape);
    bytes_tag_text(&writer->tensor, TENSOR_STRING_VAL, text);
    write_value(writer, tag, "text", 0);
}

/* ---- what is written ---- */

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
    if (done && len > MAX_REPORT)
        nl_export_lost(export, len - nl_utf8_cut(text, len, MAX_REPORT),
                       "bytes at the end of the report");
    if (done)
        write_text(writer, "report", (struct nl_str){text, nl_utf8_cut(text, len, MAX_REPORT)});
    nl_free(text);
    nl_profile_free(profile);
    nl_report_free(report);
    return done;
}

static void release_writer(struct writer *writer)
{
    struct bytes *all[] = {&writer->event,    &writer->summary,   &writer->value,
                           &writer->metadata, &writer->plugin,    &writer->tensor,
                           &writer->shape,    &writer->dimension, &writer->floats};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        bytes_release(all[i]);
}

bool nl_export_tensorboard(struct nl_export *export, struct nl_err *err)
{
    struct writer writer = {.export = export};
    int64_t epoch = nl_export_epoch(export->trace);
    writer.wall = epoch == NL_NULL_I64 ? 0 : (double)epoch / 1e9;
    struct nl_result *breakdown = nl_export_ask(export, "time_breakdown", err);
    struct nl_result *steps = breakdown ? nl_export_ask(export, "steps", err) : NULL;
    bool done = steps != NULL;
    if (done) {
        begin_event(&writer, 0);
        bytes_tag_text(&writer.event, EVENT_FILE_VERSION, nl_str("brain.Event:2"));
        write_record(&writer);
        write_steps(&writer, steps);
        write_breakdown(&writer, breakdown);
        done = write_report(&writer, err);
    }
    nl_result_free(breakdown);
    nl_result_free(steps);
    release_writer(&writer);
    return done && nl_export_goes_on(export, err);
}
