/*
 * parquetpage — the bytes inside a Parquet file: thrift's compact protocol for its headers, and the
 * encodings of values (definition levels, dictionary indexes, plain values, differences).
 * Source: the format's specification, https://parquet.apache.org/docs/file-format/
 */
#ifndef NL_PARQUETPAGE_H
#define NL_PARQUETPAGE_H

#include "export/bytes.h"

/* ---- thrift's compact protocol ---- */

enum thrift_type {
    THRIFT_I16 = 4,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12
};

#define THRIFT_DEPTH 8

struct thrift {
    struct bytes *out;
    unsigned depth;
    int last[THRIFT_DEPTH]; /* number of the last field, per open struct */
};

static inline struct thrift thrift_over(struct bytes *out)
{
    return (struct thrift){.out = out};
}

void thrift_i16(struct thrift *thrift, int number, int64_t value);
void thrift_i32(struct thrift *thrift, int number, int64_t value);
void thrift_i64(struct thrift *thrift, int number, int64_t value);
void thrift_bool(struct thrift *thrift, int number, bool value);
void thrift_i8(struct thrift *thrift, int number, int8_t value);
void thrift_text(struct thrift *thrift, int number, struct nl_str text);
/* A struct as a field; 0 = as an element of a list. */
void thrift_open(struct thrift *thrift, int number);
void thrift_close(struct thrift *thrift);
void thrift_list(struct thrift *thrift, int number, enum thrift_type type, size_t count);

/* ---- encodings ---- */

enum parquet_encoding {
    PARQUET_PLAIN = 0,
    PARQUET_RLE = 3,
    PARQUET_DELTA = 5, /* DELTA_BINARY_PACKED */
    PARQUET_DICTIONARY = 8
};

/* `count` numbers of `width` bits as one run of the RLE/bit-packing hybrid. */
void parquet_hybrid(struct bytes *out, const uint32_t *values, size_t count, unsigned width);

/* Bits that hold numbers up to `most`; at least 1. */
unsigned parquet_width(uint32_t most);

/* Integers as differences; `wide` = INT64, else INT32 (values are then cut to 32 bits). */
void parquet_delta(struct bytes *out, const int64_t *values, size_t count, bool wide);

#endif
