/*
 * flatbytes — FlatBuffers written front to back, as far as Arrow's metadata needs them:
 * tables, texts, vectors. What a field refers to is written after its table, and the
 * field is filled in then.
 *
 *     struct bytes out = {0};
 *     size_t root = flat_begin(&out);
 *     struct flat_table message = flat_table(&out, root, "21o8");     // a letter per field, see below
 *     flat_u16(&out, &message, 0, 4);
 *     struct flat_table child = flat_table(&out, flat_at(&message, 2), "8o");
 *
 * Letters: 1, 2, 4, 8 a number of so many bytes; o a reference; . a field that is not there. Every
 * place (`size_t`) counts from the start of `out`, where the buffer must begin.
 */
#ifndef NL_FLATBYTES_H
#define NL_FLATBYTES_H

#include "export/bytes.h"

#define FLAT_FIELDS 8

struct flat_table {
    size_t field[FLAT_FIELDS]; /* places; 0 = not there */
};

static inline void flat_align(struct bytes *out, size_t to, size_t past)
{
    while ((out->len + past) % to)
        bytes_u8(out, 0);
}

static inline void flat_set(struct bytes *out, size_t at, const void *value, size_t len)
{
    memcpy(out->at + at, value, len);
}

/* Makes the reference at `from` lead to `to`, which is after it. */
static inline void flat_refer(struct bytes *out, size_t from, size_t to)
{
    uint32_t distance = (uint32_t)(to - from);
    flat_set(out, from, &distance, sizeof distance);
}

/* Starts a buffer; gives the place of the reference to its root table. */
static inline size_t flat_begin(struct bytes *out)
{
    bytes_u64(out, 0);
    return 0;
}

/* A table of zeros that the reference at `from` leads to. */
struct flat_table flat_table(struct bytes *out, size_t from, const char *fields);

static inline size_t flat_at(const struct flat_table *table, unsigned field)
{
    return table->field[field];
}

static inline void flat_number(struct bytes *out, const struct flat_table *table, unsigned field,
                               int64_t value, size_t len)
{
    flat_set(out, table->field[field], &value, len); /* little-endian */
}

/* A vector of `count` elements of `size` zero bytes each; gives the place of the first. */
size_t flat_vector(struct bytes *out, size_t from, size_t count, size_t size);
void flat_text(struct bytes *out, size_t from, struct nl_str text);

#endif
