/* Thrift and Parquet's encodings: see the header. */
#include "export/parquetpage.h"

#define BLOCK     128
#define MINIS     4
#define MINI      (BLOCK / MINIS)
#define TRUE_BIT  1
#define FALSE_BIT 2

/* ---- thrift ---- */

static void field_of(struct thrift *thrift, int number, unsigned type)
{
    int *last = &thrift->last[thrift->depth], step = number - *last;
    *last = number;
    if (step > 0 && step < 16) {
        bytes_u8(thrift->out, (uint8_t)((unsigned)step << 4 | type));
        return;
    }
    bytes_u8(thrift->out, (uint8_t)type);
    bytes_zigzag(thrift->out, number);
}

void thrift_i16(struct thrift *thrift, int number, int64_t value)
{
    field_of(thrift, number, THRIFT_I16);
    bytes_zigzag(thrift->out, value);
}

void thrift_i32(struct thrift *thrift, int number, int64_t value)
{
    field_of(thrift, number, THRIFT_I32);
    bytes_zigzag(thrift->out, value);
}

void thrift_i64(struct thrift *thrift, int number, int64_t value)
{
    field_of(thrift, number, THRIFT_I64);
    bytes_zigzag(thrift->out, value);
}

void thrift_bool(struct thrift *thrift, int number, bool value)
{
    field_of(thrift, number, value ? TRUE_BIT : FALSE_BIT);
}

void thrift_i8(struct thrift *thrift, int number, int8_t value)
{
    field_of(thrift, number, 3);
    bytes_u8(thrift->out, (uint8_t)value);
}

void thrift_text(struct thrift *thrift, int number, struct nl_str text)
{
    if (number)
        field_of(thrift, number, THRIFT_BINARY);
    bytes_varint(thrift->out, text.len);
    bytes_add(thrift->out, text.ptr, text.len);
}

void thrift_open(struct thrift *thrift, int number)
{
    if (number)
        field_of(thrift, number, THRIFT_STRUCT);
    thrift->last[++thrift->depth] = 0;
}

void thrift_close(struct thrift *thrift)
{
    bytes_u8(thrift->out, 0);
    if (thrift->depth)
        thrift->depth--;
}

void thrift_list(struct thrift *thrift, int number, enum thrift_type type, size_t count)
{
    field_of(thrift, number, THRIFT_LIST);
    if (count < 15) {
        bytes_u8(thrift->out, (uint8_t)(count << 4 | type));
        return;
    }
    bytes_u8(thrift->out, (uint8_t)(15u << 4 | type));
    bytes_varint(thrift->out, count);
}

/* ---- bits ---- */

struct bits {
    struct bytes *out;
    uint64_t held;
    unsigned count;
};

static inline void put_bits(struct bits *bits, uint64_t value, unsigned width)
{
    while (width) {
        unsigned room = 64 - bits->count, some = width < room ? width : room;
        bits->held |= value << bits->count;
        bits->count += some;
        value = some < 64 ? value >> some : 0;
        width -= some;
        if (bits->count == 64) {
            bytes_u64(bits->out, bits->held);
            bits->held = 0;
            bits->count = 0;
        }
    }
}

static void flush_bits(struct bits *bits)
{
    for (; bits->count; bits->count = bits->count > 8 ? bits->count - 8 : 0) {
        bytes_u8(bits->out, (uint8_t)bits->held);
        bits->held >>= 8;
    }
}

unsigned parquet_width(uint32_t most)
{
    return most ? 32 - (unsigned)__builtin_clz(most) : 1;
}

void parquet_hybrid(struct bytes *out, const uint32_t *values, size_t count, unsigned width)
{
    size_t same = 1;
    while (same < count && values[same] == values[0])
        same++;
    if (same >= count) {
        bytes_varint(out, count << 1);
        for (unsigned i = 0; i < width; i += 8)
            bytes_u8(out, (uint8_t)(count ? values[0] >> i : 0));
        return;
    }
    struct bits bits = {.out = out};
    size_t groups = (count + 7) / 8;
    bytes_varint(out, groups << 1 | 1);
    for (size_t i = 0; i < groups * 8; i++)
        put_bits(&bits, i < count ? values[i] : 0, width);
    flush_bits(&bits);
}

/* ---- differences ---- */

static int64_t difference(int64_t after, int64_t before, bool wide)
{
    uint64_t step = (uint64_t)after - (uint64_t)before;
    return wide ? (int64_t)step : (int32_t)(uint32_t)step;
}

/* A block of differences: the least, then what each is over it, in runs of separate widths. */
static void put_block(struct bytes *out, const int64_t *steps, size_t count, bool wide)
{
    uint64_t over[BLOCK] = {0};
    unsigned widths[MINIS] = {0};
    int64_t least = steps[0];
    for (size_t i = 1; i < count; i++)
        least = steps[i] < least ? steps[i] : least;
    for (size_t i = 0; i < count; i++) {
        over[i] = (uint64_t)steps[i] - (uint64_t)least;
        if (!wide)
            over[i] = (uint32_t)over[i];
        unsigned width = over[i] ? 64 - (unsigned)__builtin_clzll(over[i]) : 0;
        if (width > widths[i / MINI])
            widths[i / MINI] = width;
    }
    bytes_zigzag(out, least);
    for (unsigned mini = 0; mini < MINIS; mini++)
        bytes_u8(out, (uint8_t)widths[mini]);
    for (unsigned mini = 0; mini < MINIS && mini * MINI < count; mini++) {
        struct bits bits = {.out = out};
        for (unsigned i = 0; i < MINI; i++)
            put_bits(&bits, over[mini * MINI + i], widths[mini]);
        flush_bits(&bits);
    }
}

void parquet_delta(struct bytes *out, const int64_t *values, size_t count, bool wide)
{
    int64_t steps[BLOCK];
    bytes_varint(out, BLOCK);
    bytes_varint(out, MINIS);
    bytes_varint(out, count);
    bytes_zigzag(out, count ? values[0] : 0);
    for (size_t at = 1; at < count; at += BLOCK) {
        size_t some = count - at < BLOCK ? count - at : BLOCK;
        for (size_t i = 0; i < some; i++)
            steps[i] = difference(values[at + i], values[at + i - 1], wide);
        put_block(out, steps, some, wide);
    }
}
