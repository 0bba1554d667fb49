/*
 * jsonbytes — JSON into a byte array, for files of millions of small events: texts are escaped and
 * made UTF-8, commas and brackets are the caller's.
 */
#ifndef NL_JSONBYTES_H
#define NL_JSONBYTES_H

#include "export/bytes.h"

/* "text", quotes included. */
void json_text(struct bytes *out, struct nl_str text);
void json_raw(struct bytes *out, const char *text);
void json_i64(struct bytes *out, int64_t value);
void json_u64(struct bytes *out, uint64_t value);
/* Shortest of 15 to 17 digits that reads back as the same; null for what is no number. */
void json_f64(struct bytes *out, double value);
/* Nanoseconds as microseconds, exact: 1234567 → 1234.567 */
void json_us(struct bytes *out, int64_t ns);

#endif
