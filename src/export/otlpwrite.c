/*
 * OTLP: three forms. `otlp` is JSON Lines, as the OpenTelemetry Collector's otlp_json_file receiver
 * reads them: lines of spans, then lines of metrics. `otlp-traces` and `otlp-metrics` are the
 * protobuf bodies of POST /v1/traces and /v1/metrics.
 */
#include "export/otlp.h"

void otlp_writer_open(struct otlp_writer *writer, struct nl_export *export, bool json)
{
    *writer = (struct otlp_writer){.export = export, .out.json = json};
    writer->epoch = nl_export_epoch(export->trace);
    if (writer->epoch == NL_NULL_I64 || writer->epoch < 0) {
        writer->epoch = 0;
        nl_export_lost(export, 1, "date: the profile does not tell it, so its times start at 1970");
    }
}

void otlp_writer_close(struct otlp_writer *writer)
{
    otlp_release(&writer->out);
}

uint64_t otlp_time(const struct otlp_writer *writer, int64_t ts)
{
    uint64_t first = (uint64_t)writer->export->trace->first_ts, since = (uint64_t)ts - first;
    if (ts >= (int64_t)first)
        return (uint64_t)writer->epoch + since;
    return 0 - since < (uint64_t)writer->epoch ? (uint64_t)writer->epoch + since : 0;
}

void otlp_resource(struct otlp_writer *writer, uint32_t process)
{
    const struct nl_trace *trace = writer->export->trace;
    struct otlp_out *out = &writer->out;
    struct nl_str name = {0};
    if (process != NL_NULL_ROW)
        name = nl_trace_name(trace, trace->process.name[process]);
    otlp_open(out, 1, "resource");
    otlp_list(out, "attributes");
    otlp_attribute_text(out, 1, "service.name", name.len ? name : nl_str("neurolens"));
    if (process != NL_NULL_ROW && trace->process.pid[process] != NL_NULL_I64)
        otlp_attribute_number(out, 1, "process.pid", trace->process.pid[process]);
    if (process != NL_NULL_ROW && trace->process.rank[process] != NL_NULL_I64)
        otlp_attribute_number(out, 1, "neurolens.rank", trace->process.rank[process]);
    if (writer->export->title)
        otlp_attribute_text(out, 1, "neurolens.profile", nl_str(writer->export->title));
    otlp_list_end(out);
    otlp_close(out);
}

void otlp_scope(struct otlp_writer *writer)
{
    otlp_open(&writer->out, 1, "scope");
    otlp_text(&writer->out, 1, "name", nl_str("neurolens"));
    otlp_text(&writer->out, 2, "version", nl_str(NL_VERSION));
    otlp_close(&writer->out);
}

static bool write_parts(struct nl_export *export, bool json, bool spans, bool metrics,
                        struct nl_err *err)
{
    struct otlp_writer writer;
    otlp_writer_open(&writer, export, json);
    bool done = (!spans || otlp_spans(&writer, err)) && (!metrics || otlp_metrics(&writer, err));
    otlp_writer_close(&writer);
    return done;
}

bool nl_export_otlp(struct nl_export *export, struct nl_err *err)
{
    return write_parts(export, true, true, true, err);
}

bool nl_export_otlp_traces(struct nl_export *export, struct nl_err *err)
{
    return write_parts(export, false, true, false, err);
}

bool nl_export_otlp_metrics(struct nl_export *export, struct nl_err *err)
{
    return write_parts(export, false, false, true, err);
}
