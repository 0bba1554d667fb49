/*
 * Columns: how a value is reached, read, shown and compared.
 *
 * A column of schema.def is either stored in the table itself or reached over up to three
 * references (kernel → slice → lane → process). Both are one thing here: a short list of reference
 * arrays to follow, then an array to read.
 */
#include <string.h>

#include "base/mem.h"
#include "sql/vtab.h"

const char *nl_column_sql_type(const struct nl_column_def *def)
{
    if (def->type == NL_TYPE_NAME || def->type == NL_TYPE_ENUM)
        return "TEXT";
    if (def->type == NL_TYPE_F64)
        return strcmp(def->unit, "0..1") == 0 ? "REAL SHARE" : "REAL";
    if (strcmp(def->unit, "ns") == 0)
        return "INTEGER NS";
    return strcmp(def->unit, "bytes") == 0 ? "INTEGER BYTES" : "INTEGER";
}

static void resolve(struct nl_vcolumn *column, const struct nl_vtab *vtab,
                    const struct nl_column_def *def)
{
    const struct nl_trace *trace = vtab->db->trace;
    struct nl_column_path path = nl_column_path_of(trace, vtab->table, def);
    *column = (struct nl_vcolumn){.def = def,
                                  .ascending = -1,
                                  .nullable = true,
                                  .array = path.array,
                                  .hop_count = path.hop_count};
    memcpy(column->hops, path.hops, sizeof column->hops);
    switch (def->type) {
    case NL_TYPE_TIME: column->origin = vtab->db->origin; break;
    case NL_TYPE_U64: column->null_key = NL_NULL_U64; break;
    case NL_TYPE_U32:
    case NL_TYPE_REF: column->null_key = NL_NULL_U32; break;
    case NL_TYPE_U16:
    case NL_TYPE_U8: column->nullable = false; break;
    case NL_TYPE_F64: column->shown = NL_SHOWN_REAL; break;
    case NL_TYPE_NAME:
        column->shown =
            def->storage == NL_T_arg && trace->filled.count ? NL_SHOWN_TEXT : NL_SHOWN_NAME;
        break;
    case NL_TYPE_ENUM: column->shown = NL_SHOWN_ENUM; break;
    case NL_TYPE_DUR:
    case NL_TYPE_I64: break;
    }
}

void nl_vcolumns_resolve(struct nl_vtab *vtab)
{
    const struct nl_table_def *table = &nl_tables[vtab->table];
    const struct nl_vcolumn number = {.ascending = 1};
    unsigned count = 0;
    vtab->columns = nl_alloc((table->count + 2) * sizeof *vtab->columns);
    if (nl_table_has_id(vtab->table))
        vtab->columns[count++] = number;
    for (unsigned i = 0; i < table->count; i++)
        resolve(&vtab->columns[count++], vtab, &nl_columns[table->first + i]);
    vtab->column_count = count;
    vtab->columns[count] = number;
}

bool nl_vcolumn_key(const struct nl_vcolumn *column, uint32_t row, uint64_t *key)
{
    row = nl_vcolumn_storage_row(column, row);
    if (row == NL_NULL_ROW)
        return false;
    if (!column->def) {
        *key = row;
        return true;
    }
    switch (column->def->type) {
    case NL_TYPE_TIME:
    case NL_TYPE_DUR:
    case NL_TYPE_I64: *key = nl_sort_key(((const int64_t *)column->array)[row]); break;
    case NL_TYPE_U64: *key = ((const uint64_t *)column->array)[row]; break;
    case NL_TYPE_U32:
    case NL_TYPE_NAME:
    case NL_TYPE_REF: *key = ((const uint32_t *)column->array)[row]; break;
    case NL_TYPE_U16: *key = ((const uint16_t *)column->array)[row]; break;
    case NL_TYPE_U8:
    case NL_TYPE_ENUM: *key = ((const uint8_t *)column->array)[row]; break;
    case NL_TYPE_F64: NL_BUG("a column of reals cannot be a key");
    }
    return true;
}

double nl_vcolumn_real(const struct nl_vcolumn *column, uint32_t row)
{
    row = nl_vcolumn_storage_row(column, row);
    return row == NL_NULL_ROW ? NL_NULL_F64 : ((const double *)column->array)[row];
}

/* Above int64, SQLite has no integers: the decimal digits are given as text. */
static void show_unsigned(uint64_t value, sqlite3_context *context)
{
    if (value <= INT64_MAX) {
        sqlite3_result_int64(context, (int64_t)value);
        return;
    }
    char digits[24];
    sqlite3_snprintf(sizeof digits, digits, "%llu", (unsigned long long)value);
    sqlite3_result_text(context, digits, -1, SQLITE_TRANSIENT);
}

static void show_integer(const struct nl_vcolumn *column, uint64_t key, sqlite3_context *context)
{
    enum nl_type type = column->def ? column->def->type : NL_TYPE_U32;
    if (type == NL_TYPE_TIME || type == NL_TYPE_DUR || type == NL_TYPE_I64)
        sqlite3_result_int64(context,
                             (int64_t)(nl_sort_key((int64_t)key) - (uint64_t)column->origin));
    else if (type == NL_TYPE_U64)
        show_unsigned(key, context);
    else
        sqlite3_result_int64(context, (int64_t)key);
}

static void show_text(const struct nl_vtab *vtab, const struct nl_vcolumn *column, uint64_t key,
                      sqlite3_context *context)
{
    if (column->shown == NL_SHOWN_ENUM) {
        sqlite3_result_text(context, nl_enum_text(column->def->enumeration, (unsigned)key), -1,
                            SQLITE_STATIC);
        return;
    }
    if (key & NL_FILLED) {
        struct nl_buf room;
        nl_buf_init(&room, NL_MAX_FILLED);
        struct nl_str filled = nl_trace_text(vtab->db->trace, (uint32_t)key, &room);
        sqlite3_result_text(context, filled.ptr, (int)filled.len, SQLITE_TRANSIENT);
        nl_buf_release(&room);
        return;
    }
    struct nl_str text = nl_trace_name(vtab->db->trace, (uint32_t)key);
    sqlite3_result_text(context, text.ptr, (int)text.len, SQLITE_STATIC);
}

void nl_vcolumn_show(const struct nl_vtab *vtab, const struct nl_vcolumn *column, uint32_t row,
                     sqlite3_context *context)
{
    if (column->shown == NL_SHOWN_REAL) {
        double value = nl_vcolumn_real(column, row);
        if (value == value)
            sqlite3_result_double(context, value);
        return;
    }
    uint64_t key;
    if (!nl_vcolumn_key(column, row, &key) || (column->nullable && key == column->null_key))
        return; /* SQLite's default is NULL */
    if (column->shown == NL_SHOWN_INTEGER)
        show_integer(column, key, context);
    else
        show_text(vtab, column, key, context);
}

bool nl_vcolumn_ascending(struct nl_vtab *vtab, struct nl_vcolumn *column)
{
    if (column->ascending >= 0)
        return column->ascending;
    column->ascending = 0;
    if (column->hop_count || column->shown != NL_SHOWN_INTEGER)
        return false;
    uint64_t before = 0, key = 0;
    for (uint32_t row = 0; row < vtab->rows; row++) {
        /* NULL comes first, but some types store it as their greatest number. */
        if (!nl_vcolumn_key(column, row, &key) || key < before ||
            (key > 0 && column->nullable && key == column->null_key))
            return false;
        before = key;
    }
    column->ascending = 1;
    return true;
}
