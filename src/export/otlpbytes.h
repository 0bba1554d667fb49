/*
 * otlpbytes — messages of the OpenTelemetry protocol, as protobuf or as its JSON, by one set of
 * calls. JSON differs from protobuf's usual JSON in one way: ids are hexadecimal. Whole numbers of
 * 64 bits are texts there, enumerations are numbers.
 *
 *     otlp_open(&out, 2, "resource");              // a message as field 2, called "resource" in JSON
 *     otlp_list(&out, "attributes");               // repeated: the messages in it have no name
 *     otlp_open(&out, 1, NULL);
 *     otlp_text(&out, 1, "key", nl_str("a"));
 *     otlp_close(&out);
 *     otlp_list_end(&out);
 *     otlp_close(&out);
 *     otlp_flush(&out, file);                      // at depth 0: all that is whole goes to the file
 *
 * Every message of depth 0 is a line in JSON; in protobuf one follows the other, which is one
 * message with all of them.
 */
#ifndef NL_OTLPBYTES_H
#define NL_OTLPBYTES_H

#include <stdio.h>

#include "export/jsonbytes.h"

#define OTLP_DEPTH 12

struct otlp_out {
    bool json, comma; /* comma: something stands before the next member */
    unsigned depth;
    uint32_t number[OTLP_DEPTH]; /* fields that the open messages are */
    struct bytes level[OTLP_DEPTH];
};

void otlp_release(struct otlp_out *out);
void otlp_flush(struct otlp_out *out, FILE *file);

void otlp_open(struct otlp_out *out, uint32_t number, const char *name);
void otlp_close(struct otlp_out *out);
void otlp_list(struct otlp_out *out, const char *name);
void otlp_list_end(struct otlp_out *out);

void otlp_text(struct otlp_out *out, uint32_t number, const char *name, struct nl_str text);
void otlp_id(struct otlp_out *out, uint32_t number, const char *name, const unsigned char *id,
             size_t len);
void otlp_word(struct otlp_out *out, uint32_t number, const char *name, unsigned value); /* enum */
void otlp_true(struct otlp_out *out, uint32_t number, const char *name);
void otlp_fixed(struct otlp_out *out, uint32_t number, const char *name, uint64_t value);
void otlp_signed(struct otlp_out *out, uint32_t number, const char *name, int64_t value,
                 bool fixed); /* sfixed64, or int64 */
void otlp_double(struct otlp_out *out, uint32_t number, const char *name, double value);
void otlp_fixed_list(struct otlp_out *out, uint32_t number, const char *name,
                     const uint64_t *values, size_t count);
void otlp_double_list(struct otlp_out *out, uint32_t number, const char *name, const double *values,
                      size_t count);

/* A list of attributes, field `number` of the message, between otlp_list(out,
 * "attributes") and its end. */
void otlp_attribute_text(struct otlp_out *out, uint32_t number, const char *key,
                         struct nl_str value);
void otlp_attribute_number(struct otlp_out *out, uint32_t number, const char *key, int64_t value);
void otlp_attribute_double(struct otlp_out *out, uint32_t number, const char *key, double value);
void otlp_attribute_true(struct otlp_out *out, uint32_t number, const char *key);

#endif
