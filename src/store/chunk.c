/* Ranks of values, and loops over one column for every size of a value and of a cell. */
#include "store/chunk.h"

#include <string.h>

#include "base/err.h"
#include "base/wide.h"

/* Rank of a value: the value + this, in as many bits as it has. */
static uint64_t rank_of_zero(enum nl_type type)
{
    const union {
        double number;
        uint64_t bits;
    } nan = {.number = NL_NULL_F64};
    switch (type) {
    case NL_TYPE_TIME:
    case NL_TYPE_DUR:
    case NL_TYPE_I64: return 0 - (uint64_t)NL_NULL_I64;
    case NL_TYPE_U64:
    case NL_TYPE_U32:
    case NL_TYPE_REF: return 1;
    case NL_TYPE_F64: return 0 - nan.bits;
    default: return 0;
    }
}

/* Finishing computes the rest of a slice. */
static bool is_staged(const struct nl_column_def *column)
{
    return column->hop == NL_HOP_NONE && (column->table != NL_T_slice ||
                                          (column->field != offsetof(struct nl_slice_row, depth) &&
                                           column->field != offsetof(struct nl_slice_row, parent) &&
                                           column->field != offsetof(struct nl_slice_row, link) &&
                                           column->field != offsetof(struct nl_slice_row, detail)));
}

#define BY_SIZE(size, DO)                                                                          \
    switch (size) {                                                                                \
    case 1: {                                                                                      \
        DO(uint8_t);                                                                               \
    } break;                                                                                       \
    case 2: {                                                                                      \
        DO(uint16_t);                                                                              \
    } break;                                                                                       \
    case 4: {                                                                                      \
        DO(uint32_t);                                                                              \
    } break;                                                                                       \
    default: {                                                                                     \
        DO(uint64_t);                                                                              \
    } break;                                                                                       \
    }

#define RANK(type, from) ((type)(*(const type *)(const void *)(from) + (type)zero))

/* The least and the greatest rank. */
struct range {
    uint64_t least, most;
};

static struct range find_range(const char *from, size_t width, uint32_t count, unsigned size,
                               uint64_t zero)
{
    struct range range = {0, 0};
#define LOOK(type)                                                                                 \
    type first = RANK(type, from), least = first, most = first;                                    \
    uint32_t k = 1;                                                                                \
    while (k < count && RANK(type, from + k * width) == first)                                     \
        k++;                                                                                       \
    for (; k < count; k++) {                                                                       \
        type rank = RANK(type, from + k * width);                                                  \
        least = rank < least ? rank : least;                                                       \
        most = rank > most ? rank : most;                                                          \
    }                                                                                              \
    range = (struct range){least, most}
    BY_SIZE(size, LOOK)
#undef LOOK
    return range;
}

/* One less than the least known rank. */
static uint64_t find_low(const char *from, size_t width, uint32_t count, unsigned size,
                         uint64_t zero)
{
    uint64_t found = 0;
#define LOOK(type)                                                                                 \
    type low = (type) ~(type)0;                                                                    \
    for (uint32_t k = 0; k < count; k++) {                                                         \
        type below = (type)(RANK(type, from + k * width) - 1);                                     \
        low = below < low ? below : low;                                                           \
    }                                                                                              \
    found = low
    BY_SIZE(size, LOOK)
#undef LOOK
    return found;
}

static uint32_t bytes_for(uint64_t most)
{
    return most <= UINT8_MAX ? 1 : most <= UINT16_MAX ? 2 : most <= UINT32_MAX ? 4 : 8;
}

static struct nl_chunk_column plan_column(const struct nl_column_def *column, const char *rows,
                                          size_t width, uint32_t count)
{
    uint64_t zero = rank_of_zero(column->type), low;
    rows += column->field;
    struct range range = find_range(rows, width, count, column->size, zero);
    if (range.least == range.most)
        return (struct nl_chunk_column){.low = range.least};
    low = range.least ? range.least - 1 : find_low(rows, width, count, column->size, zero);
    uint32_t bytes = bytes_for(range.most - low);
    if (bytes >= column->size)
        return (struct nl_chunk_column){.low = 0, .bytes = column->size};
    return (struct nl_chunk_column){.low = low, .bytes = bytes};
}

size_t nl_chunk_plan(struct nl_chunk_column *columns, const struct nl_table_def *def,
                     const void *rows, uint32_t count)
{
    size_t at = def->count * sizeof *columns;
    if (def->count > NL_CHUNK_COLUMNS)
        NL_BUG("a table has too many columns");
    for (unsigned c = 0; c < def->count; c++) {
        const struct nl_column_def *column = &nl_columns[def->first + c];
        columns[c] = (struct nl_chunk_column){0};
        if (!is_staged(column))
            continue;
        columns[c] = plan_column(column, rows, def->row_size, count);
        columns[c].at = (uint32_t)at;
        at += ((size_t)columns[c].bytes * count + 7) & ~(size_t)7;
    }
    return at;
}

/* The cells of one column, of values of a size each; no cell is wider than a value. */
#define WRITE(type, cell)                                                                          \
    for (uint32_t k = 0; k < count; k++, from += width) {                                          \
        type rank = RANK(type, from);                                                              \
        ((cell *)to)[k] = (cell)(rank ? rank - low : 0);                                           \
    }                                                                                              \
    break
#define READ(type, cell)                                                                           \
    for (uint32_t k = 0; k < count; k++) {                                                         \
        type rank = (type)((const cell *)from)[k];                                                 \
        rank = rank ? (type)(rank + (type)low) : 0;                                                \
        ((type *)cells)[k] = (type)(rank - (type)zero);                                            \
    }                                                                                              \
    break
#define BY_SIZES(size, bytes, DO)                                                                  \
    switch ((size) << 4 | (bytes)) {                                                               \
    case 0x11: DO(uint8_t, uint8_t);                                                               \
    case 0x21: DO(uint16_t, uint8_t);                                                              \
    case 0x22: DO(uint16_t, uint16_t);                                                             \
    case 0x41: DO(uint32_t, uint8_t);                                                              \
    case 0x42: DO(uint32_t, uint16_t);                                                             \
    case 0x44: DO(uint32_t, uint32_t);                                                             \
    case 0x81: DO(uint64_t, uint8_t);                                                              \
    case 0x82: DO(uint64_t, uint16_t);                                                             \
    case 0x84: DO(uint64_t, uint32_t);                                                             \
    case 0x88: DO(uint64_t, uint64_t);                                                             \
    default: NL_BUG("a cell is wider than its value");                                             \
    }

static void write_cells(void *to, const struct nl_chunk_column *chunk,
                        const struct nl_column_def *column, const char *rows, size_t width,
                        uint32_t count)
{
    const char *from = rows + column->field;
    uint64_t zero = rank_of_zero(column->type), low = chunk->low;
    BY_SIZES(column->size, chunk->bytes, WRITE)
}

void nl_chunk_write(char *chunk, const struct nl_chunk_column *columns,
                    const struct nl_table_def *def, const void *rows, uint32_t count)
{
    memcpy(chunk, columns, def->count * sizeof *columns);
    for (unsigned c = 0; c < def->count; c++)
        if (columns[c].bytes)
            write_cells(chunk + columns[c].at, &columns[c], &nl_columns[def->first + c], rows,
                        def->row_size, count);
}

static void fill(const struct nl_column_def *column, uint64_t value, uint32_t count, void *cells)
{
#define FILL(type)                                                                                 \
    for (uint32_t k = 0; k < count; k++)                                                           \
    ((type *)cells)[k] = (type)value
    BY_SIZE(column->size, FILL)
#undef FILL
}

NL_WIDE void nl_chunk_read(const char *chunk, const struct nl_table_def *def, unsigned c,
                           uint32_t count, void *cells)
{
    const struct nl_column_def *column = &nl_columns[def->first + c];
    const struct nl_chunk_column *have = (const struct nl_chunk_column *)(const void *)chunk + c;
    uint64_t zero = rank_of_zero(column->type), low = have->low;
    const void *from = chunk + have->at;
    if (!have->bytes) {
        fill(column, low - zero, count, cells);
        return;
    }
    BY_SIZES(column->size, have->bytes, READ)
}
