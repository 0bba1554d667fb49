/* Ranks of values, and loops over one column for every size of a value and of a cell. */
#include "store/chunk.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/wide.h"

uint64_t nl_unknown_cells(enum nl_type type)
{
    const union {
        double number;
        uint64_t bits;
    } nan = {.number = NL_NULL_F64};
    switch (type) {
    case NL_TYPE_TIME:
    case NL_TYPE_DUR:
    case NL_TYPE_I64: return (uint64_t)NL_NULL_I64;
    case NL_TYPE_U64:
    case NL_TYPE_U32:
    case NL_TYPE_REF: return UINT64_MAX;
    case NL_TYPE_F64: return nan.bits;
    default: return 0;
    }
}

/* Rank of a value: the value + this, in as many bits as it has. */
static uint64_t rank_of_zero(enum nl_type type)
{
    return 0 - nl_unknown_cells(type);
}

/* Finishing computes the rest of a slice. */
static bool is_staged(const struct nl_column_def *column)
{
    return nl_is_stored(column) && (column->table != NL_T_slice ||
                                    (column->field != offsetof(struct nl_slice_row, depth) &&
                                     column->field != offsetof(struct nl_slice_row, parent) &&
                                     column->field != offsetof(struct nl_slice_row, link) &&
                                     column->field != offsetof(struct nl_slice_row, detail)));
}

#define BY_SIZE(size, DO)                                                                          \
    switch (size) {                                                                                \
    case 1: DO(uint8_t); break;                                                                    \
    case 2: DO(uint16_t); break;                                                                   \
    case 4: DO(uint32_t); break;                                                                   \
    default: DO(uint64_t); break;                                                                  \
    }

static uint32_t bytes_for(uint64_t most)
{
    return most <= UINT8_MAX ? 1 : most <= UINT16_MAX ? 2 : most <= UINT32_MAX ? 4 : 8;
}

#define NARROW(cell)                                                                               \
    for (uint32_t k = 0; k < count; k++)                                                           \
    ((cell *)to)[k] = (cell)(ranks[k] ? ranks[k] - low : 0)

/* One column of values of a type: `from` is the first of them, `width` bytes apart. It is passed
 * over as long as nothing but the first value comes; then the ranks are gathered, so that vectors
 * can find the least and the greatest and make cells. */
#define PACK_COLUMN(type)                                                                          \
    static inline __attribute__((always_inline)) struct nl_chunk_column pack_##type(               \
        void *to, const char *from, size_t width, uint32_t count, uint64_t zero)                   \
    {                                                                                              \
        type ranks[NL_CHUNK_ROWS], least, most, low = (type) ~(type)0;                             \
        uint32_t same = 0;                                                                         \
        least = most = (type)(*(const type *)(const void *)from + (type)zero);                     \
        while (same < count &&                                                                     \
               (type)(*(const type *)(const void *)(from + same * width) + (type)zero) == least)   \
            same++;                                                                                \
        if (same == count)                                                                         \
            return (struct nl_chunk_column){.low = least};                                         \
        for (uint32_t k = 0; k < count; k++)                                                       \
            ranks[k] = (type)(*(const type *)(const void *)(from + k * width) + (type)zero);       \
        for (uint32_t k = 0; k < count; k++) {                                                     \
            least = ranks[k] < least ? ranks[k] : least;                                           \
            most = ranks[k] > most ? ranks[k] : most;                                              \
        }                                                                                          \
        for (uint32_t k = 0; k < count && !least; k++) /* of the known ones */                     \
            low = (type)(ranks[k] - 1) < low ? (type)(ranks[k] - 1) : low;                         \
        low = least ? (type)(least - 1) : low;                                                     \
        uint32_t bytes = bytes_for((type)(most - low));                                            \
        if (bytes >= sizeof(type)) {                                                               \
            memcpy(to, ranks, count * sizeof(type));                                               \
            return (struct nl_chunk_column){.low = 0, .bytes = sizeof(type)};                      \
        }                                                                                          \
        BY_SIZE(bytes, NARROW)                                                                     \
        return (struct nl_chunk_column){.low = low, .bytes = bytes};                               \
    }

PACK_COLUMN(uint8_t)
PACK_COLUMN(uint16_t)
PACK_COLUMN(uint32_t)
PACK_COLUMN(uint64_t)

size_t nl_chunk_room(const struct nl_table_def *def, uint32_t count)
{
    return def->count * (sizeof(struct nl_chunk_column) + 8) + def->row_size * count;
}

NL_WIDE static size_t pack(char *chunk, const struct nl_table_def *def, const void *rows,
                           uint32_t count)
{
    struct nl_chunk_column *have = (struct nl_chunk_column *)(void *)chunk;
    size_t at = def->count * sizeof *have;
    for (unsigned c = 0; c < def->count; c++) {
        const struct nl_column_def *column = &nl_columns[def->first + c];
        have[c] = (struct nl_chunk_column){0};
        if (!is_staged(column))
            continue;
#define PACK(cell)                                                                                 \
    have[c] = pack_##cell(chunk + at, (const char *)rows + column->field, def->row_size, count,    \
                          rank_of_zero(column->type))
        BY_SIZE(column->size, PACK)
#undef PACK
        have[c].at = (uint32_t)at;
        at += ((size_t)have[c].bytes * count + 7) & ~(size_t)7;
    }
    return at;
}

size_t nl_chunk_pack(char *chunk, const struct nl_table_def *def, const void *rows, uint32_t count)
{
    if (count > NL_CHUNK_ROWS)
        NL_BUG("a chunk of too many rows");
    return pack(chunk, def, rows, count);
}

size_t nl_chunk_values(const struct nl_table_def *def, const char *chunk, uint32_t count)
{
    const struct nl_chunk_column *have = (const struct nl_chunk_column *)(const void *)chunk;
    size_t row = 0;
    for (unsigned c = 0; c < def->count; c++) {
        const struct nl_column_def *column = &nl_columns[def->first + c];
        bool unknown = is_staged(column) && !have[c].bytes && !have[c].low;
        if (column->hop == NL_HOP_NONE && !unknown)
            row += column->size;
    }
    return row * count;
}

/* The cells of one column, of values of a size each; no cell is wider than a value. */
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

NL_WIDE static void fill_cells(void *cells, unsigned size, size_t count, uint64_t value)
{
#define FILL(type)                                                                                 \
    for (size_t k = 0; k < count; k++)                                                             \
    ((type *)cells)[k] = (type)value
    BY_SIZE(size, FILL)
#undef FILL
}

void nl_fill_cells(void *cells, unsigned size, size_t count, uint64_t value)
{
    fill_cells(cells, size, count, value);
}

NL_WIDE static void read_cells(const char *chunk, const struct nl_table_def *def, unsigned c,
                               uint32_t count, void *cells)
{
    const struct nl_column_def *column = &nl_columns[def->first + c];
    const struct nl_chunk_column *have = (const struct nl_chunk_column *)(const void *)chunk + c;
    uint64_t zero = rank_of_zero(column->type), low = have->low;
    const void *from = chunk + have->at;
    if (!have->bytes) {
        fill_cells(cells, column->size, count, low - zero);
        return;
    }
    BY_SIZES(column->size, have->bytes, READ)
}

void nl_chunk_read(const char *chunk, const struct nl_table_def *def, unsigned c, uint32_t count,
                   void *cells)
{
    read_cells(chunk, def, c, count, cells);
}
