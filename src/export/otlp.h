/*
 * otlp — a profile as OpenTelemetry's spans and metrics. Field numbers are those of
 * opentelemetry-proto (trace/v1, metrics/v1). Both halves write whole messages to export->out.
 */
#ifndef NL_OTLP_H
#define NL_OTLP_H

#include "export/export.h"
#include "export/otlpbytes.h"

struct otlp_writer {
    struct nl_export *export; /* borrowed */
    struct otlp_out out;
    int64_t epoch; /* UTC ns of the first event; 0 where it is not known */
};

void otlp_writer_open(struct otlp_writer *writer, struct nl_export *export, bool json);
void otlp_writer_close(struct otlp_writer *writer);

/* UTC ns of a time of the trace, not below 0. */
uint64_t otlp_time(const struct otlp_writer *writer, int64_t ts);

/* Resource of a process (NL_NULL_ROW: of the profile), field 1 of what is open. */
void otlp_resource(struct otlp_writer *writer, uint32_t process);
/* InstrumentationScope, field 1 of what is open. */
void otlp_scope(struct otlp_writer *writer);

/* Spans: ResourceSpans as field 1. */
NL_MUST_CHECK bool otlp_spans(struct otlp_writer *writer, struct nl_err *err);
/* Metrics: ResourceMetrics as field 1. */
NL_MUST_CHECK bool otlp_metrics(struct otlp_writer *writer, struct nl_err *err);

#endif
