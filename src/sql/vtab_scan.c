/*
 * Tests on blocks of rows. Each loop reads one array and writes the passing rows without a
 * branch that depends on the data; the kind of test and the width of the column are decided once
 * per block.
 */
#include "sql/vtab.h"

#include "base/search.h"

/* Keeps rows[i] where `passes`, an expression of `at` (the row of the array to read). */
#define KEEP(passes)                                                                               \
    do {                                                                                           \
        for (size_t i = 0; i < count; i++) {                                                       \
            uint32_t row = rows[i], at = where[i];                                                 \
            rows[kept] = row;                                                                      \
            kept += (passes);                                                                      \
        }                                                                                          \
    } while (0)

#define RANGE(type, to_key)                                                                        \
    do {                                                                                           \
        const type *values = column->array;                                                        \
        KEEP(to_key(values[at]) - low <= span);                                                    \
    } while (0)

#define AS_IS(value)  ((uint64_t)(value))
#define SIGNED(value) (nl_sort_key(value))

static size_t keep_range(const struct nl_filter *filter, uint32_t *rows, const uint32_t *where,
                         size_t count)
{
    const struct nl_vcolumn *column = filter->column;
    uint64_t low = filter->low, span = filter->high - filter->low;
    size_t kept = 0;
    switch (column->def ? column->def->type : NL_TYPE_F64) {
    case NL_TYPE_TIME:
    case NL_TYPE_DUR:
    case NL_TYPE_I64: RANGE(int64_t, SIGNED); break;
    case NL_TYPE_U64: RANGE(uint64_t, AS_IS); break;
    case NL_TYPE_U32:
    case NL_TYPE_NAME:
    case NL_TYPE_REF: RANGE(uint32_t, AS_IS); break;
    case NL_TYPE_U16: RANGE(uint16_t, AS_IS); break;
    case NL_TYPE_U8:
    case NL_TYPE_ENUM: RANGE(uint8_t, AS_IS); break;
    case NL_TYPE_F64: KEEP(at - low <= span); break; /* the row's own number */
    }
    return kept;
}

static bool has_bit(const struct nl_filter *filter, uint64_t id)
{
    return id < filter->bit_count && (filter->bits[id / 64] >> id % 64 & 1);
}

static size_t keep_bits(const struct nl_filter *filter, uint32_t *rows, const uint32_t *where,
                        size_t count)
{
    size_t kept = 0;
    if (filter->column->shown == NL_SHOWN_ENUM) {
        const uint8_t *values = filter->column->array;
        KEEP(has_bit(filter, values[at]));
    } else {
        const uint32_t *values = filter->column->array;
        KEEP(has_bit(filter, values[at]));
    }
    return kept;
}

static bool in_list(const struct nl_filter *filter, uint64_t key)
{
    size_t low = NL_FIRST(i, 0, filter->list_count, filter->list[i] >= key);
    return low < filter->list_count && filter->list[low] == key;
}

static bool row_in_list(const struct nl_filter *filter, uint32_t row)
{
    uint64_t key;
    return nl_vcolumn_key(filter->column, row, &key) && in_list(filter, key);
}

static bool real_passes(const struct nl_filter *filter, uint32_t row)
{
    double value = nl_vcolumn_real(filter->column, row);
    if (filter->real_null)
        return value != value;
    return value >= filter->real_low && value <= filter->real_high;
}

/* Follows the hops of the rows into `where`; drops rows whose hops lead nowhere. */
static size_t follow(const struct nl_vcolumn *column, uint32_t *rows, uint32_t *where, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t at = nl_vcolumn_storage_row(column, rows[i]);
        rows[kept] = rows[i];
        where[kept] = at;
        kept += at != NL_NULL_ROW;
    }
    return kept;
}

/* IS NULL over hops: row by row, because dropped rows would have to come back in order. */
static size_t keep_unknown(const struct nl_filter *filter, uint32_t *rows, size_t count)
{
    size_t kept = 0;
    const struct nl_vcolumn *column = filter->column;
    for (size_t i = 0; i < count; i++) {
        uint64_t key;
        bool passes = !nl_vcolumn_key(column, rows[i], &key) ||
                      (filter->test == NL_TEST_RANGE && key == filter->low);
        rows[kept] = rows[i];
        kept += passes;
    }
    return kept;
}

size_t nl_filter_rows(const struct nl_filter *filter, uint32_t *rows, size_t count)
{
    uint32_t reached[NL_BLOCK_ROWS];
    const uint32_t *where = rows;
    size_t kept = 0;
    if (filter->test == NL_TEST_REAL) {
        KEEP(real_passes(filter, at));
        return kept;
    }
    if (filter->null_hop_passes)
        return keep_unknown(filter, rows, count);
    if (filter->test == NL_TEST_NEVER)
        return 0;
    if (filter->test == NL_TEST_LIST) {
        KEEP(row_in_list(filter, at));
        return kept;
    }
    if (filter->column->hop_count) {
        count = follow(filter->column, rows, reached, count);
        where = reached;
    }
    if (filter->test == NL_TEST_BITS)
        return keep_bits(filter, rows, where, count);
    return keep_range(filter, rows, where, count);
}
