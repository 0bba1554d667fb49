/* Chunks of staged rows: what is read is what was written, for every type, size of cells and
 * mixture with unknown values. */
#include "check.h"

#include "base/mem.h"
#include "store/chunk.h"

#define MOST 700

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11 ^ *state << 53;
}

/* Values of a column: the same, near each other, anything; unknown now and then; and the ends. */
static uint64_t value(uint64_t *state, unsigned spread, uint64_t base, uint64_t unknown)
{
    static const unsigned bits[] = {0, 3, 8, 9, 16, 17, 32, 33, 64};
    unsigned wide = bits[spread / 3];
    uint64_t any = wide == 64 ? next(state) : next(state) & (((uint64_t)1 << wide) - 1);
    if (spread % 3 == 1 && next(state) % 4 == 0)
        return unknown;
    if (spread % 3 == 2 && next(state) % 50 == 0)
        return next(state) % 2 ? unknown + 1 : unknown - 1;
    return base + any;
}

static uint64_t unknown_of(enum nl_type type)
{
    const union {
        double number;
        uint64_t bits;
    } nan = {.number = NL_NULL_F64};
    if (type == NL_TYPE_TIME || type == NL_TYPE_DUR || type == NL_TYPE_I64)
        return (uint64_t)NL_NULL_I64;
    if (type == NL_TYPE_F64)
        return nan.bits;
    return type == NL_TYPE_U64 || type == NL_TYPE_U32 || type == NL_TYPE_REF ? UINT64_MAX : 0;
}

static void fill(const struct nl_table_def *def, char *rows, uint32_t count, unsigned spread,
                 uint64_t *state)
{
    for (unsigned c = 0; c < def->count; c++) {
        const struct nl_column_def *column = &nl_columns[def->first + c];
        uint64_t base = next(state) % 3 ? next(state) : 0;
        for (uint32_t k = 0; k < count && column->hop == NL_HOP_NONE; k++) {
            uint64_t cell = value(state, (spread + c) % 27, base, unknown_of(column->type));
            memcpy(rows + k * def->row_size + column->field, &cell, column->size);
        }
    }
}

static bool is_computed(const struct nl_column_def *column)
{
    static const char *const names[] = {"depth", "parent", "link", "detail"};
    for (size_t i = 0; i < CHECK_LENGTH(names); i++)
        if (column->table == NL_T_slice && strcmp(column->name, names[i]) == 0)
            return true;
    return false;
}

static void compare(const struct nl_table_def *def, const char *chunk, const char *rows,
                    uint32_t count)
{
    static char cells[MOST * 8];
    for (unsigned c = 0; c < def->count; c++) {
        const struct nl_column_def *column = &nl_columns[def->first + c];
        uint64_t unknown = unknown_of(column->type);
        bool equal = true, known = false;
        if (column->hop != NL_HOP_NONE)
            continue;
        nl_chunk_read(chunk, def, c, count, cells);
        for (uint32_t k = 0; k < count; k++) {
            const char *cell = cells + k * column->size;
            const void *want = rows + k * def->row_size + column->field;
            equal &= memcmp(cell, is_computed(column) ? &unknown : want, column->size) == 0;
            known |= memcmp(cell, &unknown, column->size) != 0;
        }
        check_case(column->name);
        CHECK(equal);
        CHECK(nl_chunk_unknown(chunk, c) == !known);
    }
}

static void reads_what_was_written(void)
{
    static const uint32_t counts[] = {1, 2, 300, MOST};
    uint64_t state = 7;
    for (int t = 0; t < NL_TABLE_COUNT; t++) {
        const struct nl_table_def *def = &nl_tables[t];
        char *rows = nl_zalloc(MOST * def->row_size);
        for (unsigned spread = 0; spread < 27; spread++)
            for (size_t i = 0; i < CHECK_LENGTH(counts); i++) {
                size_t room = nl_chunk_room(def, counts[i]);
                char *chunk = nl_alloc(room);
                fill(def, rows, counts[i], spread, &state);
                size_t bytes = nl_chunk_pack(chunk, def, rows, counts[i]);
                CHECK(bytes <= room);
                compare(def, chunk, rows, counts[i]);
                CHECK(bytes % 8 == 0);
                nl_free(chunk);
            }
        nl_free(rows);
    }
}

/* Rows of a usual operator: ids that count up, few names, most columns unknown. */
static void usual_rows_are_small(void)
{
    static struct nl_op_row rows[MOST];
    static char chunk[MOST * sizeof rows[0] + 4096];
    for (uint32_t k = 0; k < MOST; k++) {
        rows[k] = nl_op_row();
        rows[k].slice = 5000 + k;
        rows[k].external_id = 123456789 + k;
        rows[k].shapes = k % 200;
        rows[k].sequence = k % 3 ? NL_NULL_I64 : (int64_t)k;
    }
    REQUIRE(nl_chunk_room(&nl_tables[NL_T_op], MOST) <= sizeof chunk);
    size_t bytes = nl_chunk_pack(chunk, &nl_tables[NL_T_op], rows, MOST);
    CHECK(bytes < MOST * 8);
}

/* slice, name and value are known: 4 + 4 + 8 bytes, though the name is the same in all. */
static void unknown_columns_take_nothing(void)
{
    static struct nl_metric_row rows[100];
    static char chunk[100 * sizeof rows[0] + 4096];
    const struct nl_table_def *def = &nl_tables[NL_T_metric];
    for (uint32_t k = 0; k < 100; k++) {
        rows[k] = nl_metric_row();
        rows[k].slice = k;
        rows[k].name = 7;
        rows[k].value = k;
    }
    REQUIRE(nl_chunk_room(def, 100) <= sizeof chunk);
    (void)nl_chunk_pack(chunk, def, rows, 100);
    CHECK_INT(nl_chunk_values(def, chunk, 100), 1600);
    rows[50].measured = 2; /* known once: a column */
    (void)nl_chunk_pack(chunk, def, rows, 100);
    CHECK_INT(nl_chunk_values(def, chunk, 100), 2000);
}

CHECK_MAIN("chunk", {"reads what was written", reads_what_was_written},
           {"usual rows are small", usual_rows_are_small},
           {"unknown columns take nothing", unknown_columns_take_nothing})
