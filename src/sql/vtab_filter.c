/*
 * WHERE constraints as tests on stored values.
 *
 * Whatever SQL compares an integer column with (an integer, a real, text that looks like a number),
 * the rows that pass are those between two stored values: the constraint is turned into that range
 * once, in 128-bit integers so that no bound overflows, and SQLite's rules (NULL passes nothing,
 * numbers come before text) are in the range. Text is looked up in the dictionary once; what needs
 * the characters (GLOB, LIKE, <, >) is asked once per distinct name, not per row.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sql/vtab.h"

__extension__ typedef __int128 wide;

struct bounds {
    wide low, high;
};

#define WIDE_LIMIT ((wide)1 << 80) /* beyond every stored value */
static const struct bounds everything = {-WIDE_LIMIT, WIDE_LIMIT}, nothing = {1, 0};

static void never(struct nl_filter *filter)
{
    filter->test = NL_TEST_NEVER;
}

static void between(struct nl_filter *filter, uint64_t low, uint64_t high)
{
    filter->test = NL_TEST_RANGE;
    filter->low = low;
    filter->high = high;
}

static void known(struct nl_filter *filter, const struct nl_vcolumn *column)
{
    if (column->shown == NL_SHOWN_REAL) {
        filter->test = NL_TEST_REAL;
        filter->real_low = -(double)INFINITY;
        filter->real_high = (double)INFINITY;
    } else if (!column->nullable) {
        between(filter, 0, UINT64_MAX);
    } else if (column->null_key == 0) {
        between(filter, 1, UINT64_MAX);
    } else {
        between(filter, 0, column->null_key - 1);
    }
}

static void unknown(struct nl_filter *filter, const struct nl_vcolumn *column)
{
    filter->null_hop_passes = true;
    if (column->shown == NL_SHOWN_REAL) {
        filter->test = NL_TEST_REAL;
        filter->real_null = true;
    } else if (column->nullable) {
        between(filter, column->null_key, column->null_key);
    } else {
        never(filter);
    }
}

/* Range of integers n for which `n op value`. */
static struct bounds compare_integer(enum nl_op op, wide value)
{
    switch (op) {
    case NL_OP_LT: return (struct bounds){-WIDE_LIMIT, value - 1};
    case NL_OP_LE: return (struct bounds){-WIDE_LIMIT, value};
    case NL_OP_GT: return (struct bounds){value + 1, WIDE_LIMIT};
    case NL_OP_GE: return (struct bounds){value, WIDE_LIMIT};
    default: return (struct bounds){value, value};
    }
}

static struct bounds compare_real(enum nl_op op, double value)
{
    if (value >= 0x1p79)
        return op == NL_OP_LT || op == NL_OP_LE ? everything : nothing;
    if (value <= -0x1p79)
        return op == NL_OP_GT || op == NL_OP_GE ? everything : nothing;
    wide down = (wide)floor(value), up = (wide)ceil(value);
    switch (op) {
    case NL_OP_LT: return (struct bounds){-WIDE_LIMIT, up - 1};
    case NL_OP_LE: return (struct bounds){-WIDE_LIMIT, down};
    case NL_OP_GT: return (struct bounds){down + 1, WIDE_LIMIT};
    case NL_OP_GE: return (struct bounds){up, WIDE_LIMIT};
    default: return down == up ? (struct bounds){down, down} : nothing;
    }
}

/* Decimal digits above int64 (how such ids are shown): SQLite would compare them rounded. */
static bool big_digits(sqlite3_value *value, uint64_t *number)
{
    const char *text = (const char *)sqlite3_value_text(value);
    char *end;
    if (!text || text[0] < '1' || text[0] > '9' || strlen(text) < 19 || strlen(text) > 20)
        return false;
    *number = strtoull(text, &end, 10);
    return *end == '\0' && *number > INT64_MAX && *number != UINT64_MAX;
}

static struct bounds compare_value(enum nl_op op, sqlite3_value *value)
{
    uint64_t big;
    if (sqlite3_value_type(value) == SQLITE_TEXT && big_digits(value, &big))
        return compare_integer(op, big);
    switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER: return compare_integer(op, sqlite3_value_int64(value));
    case SQLITE_FLOAT: return compare_real(op, sqlite3_value_double(value));
    case SQLITE_NULL: return nothing;
    default: return op == NL_OP_LT || op == NL_OP_LE ? everything : nothing;
    }
}

static bool is_signed(const struct nl_vcolumn *column)
{
    return column->def && (column->def->type == NL_TYPE_TIME || column->def->type == NL_TYPE_DUR ||
                           column->def->type == NL_TYPE_I64);
}

/* Known stored values of an integer column, and bounds as keys in it; false when none fits. */
static bool to_keys(const struct nl_vcolumn *column, struct bounds bounds, uint64_t *low,
                    uint64_t *high)
{
    struct bounds domain = {0, (wide)UINT32_MAX - 1};
    if (is_signed(column))
        domain = (struct bounds){(wide)INT64_MIN + 1, INT64_MAX};
    else if (column->def && column->def->type == NL_TYPE_U64)
        domain = (struct bounds){0, (wide)UINT64_MAX - 1};
    if (bounds.low > bounds.high)
        return false;
    bounds.low += column->origin;
    bounds.high += column->origin;
    if (bounds.low > domain.high || bounds.high < domain.low)
        return false;
    bounds.low = bounds.low < domain.low ? domain.low : bounds.low;
    bounds.high = bounds.high > domain.high ? domain.high : bounds.high;
    *low = is_signed(column) ? nl_sort_key((int64_t)bounds.low) : (uint64_t)bounds.low;
    *high = is_signed(column) ? nl_sort_key((int64_t)bounds.high) : (uint64_t)bounds.high;
    return true;
}

/* Real columns are checked by SQLite again, so the ends may be included. */
static bool compare_stored_real(struct nl_filter *filter, enum nl_op op, sqlite3_value *value)
{
    int type = sqlite3_value_numeric_type(value);
    double number = sqlite3_value_double(value);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return false;
    if (fabs(number) >= 0x1p53)
        return false;
    known(filter, filter->column);
    if (op == NL_OP_GT || op == NL_OP_GE || op == NL_OP_EQ)
        filter->real_low = number;
    if (op == NL_OP_LT || op == NL_OP_LE || op == NL_OP_EQ)
        filter->real_high = number;
    return true;
}

/* ---- Text ---- */

static uint64_t distinct(const struct nl_vtab *vtab, const struct nl_vcolumn *column)
{
    return column->shown == NL_SHOWN_ENUM ? nl_enum_count(column->def->enumeration)
                                          : vtab->db->trace->names.count;
}

static struct nl_str text_of_id(const struct nl_vtab *vtab, const struct nl_vcolumn *column,
                                uint64_t id)
{
    if (column->shown == NL_SHOWN_ENUM)
        return nl_str(nl_enum_text(column->def->enumeration, (unsigned)id));
    return nl_trace_name(vtab->db->trace, (uint32_t)id);
}

/* Id of a text that a row may hold; 0 when no row can. */
static uint64_t id_of(const struct nl_vtab *vtab, const struct nl_vcolumn *column,
                      struct nl_str text)
{
    if (text.len == 0)
        return 0;
    if (column->shown == NL_SHOWN_ENUM) {
        int value = nl_enum_value(column->def->enumeration, text.ptr, text.len);
        return value < 0 ? 0 : (uint64_t)value;
    }
    return nl_db_find_name(vtab->db, text);
}

static void clear_bits(struct nl_filter *filter, uint64_t count)
{
    size_t words = (size_t)(count / 64 + 1);
    nl_grow(&filter->bits, &filter->bit_cap, words);
    memset(filter->bits, 0, words * sizeof *filter->bits);
    filter->bit_count = count;
    filter->test = NL_TEST_BITS;
}

static void set_bit(struct nl_filter *filter, uint64_t id)
{
    filter->bits[id / 64] |= (uint64_t)1 << id % 64;
}

static bool text_passes(enum nl_op op, struct nl_str text, const char *terminated,
                        struct nl_str pattern)
{
    switch (op) {
    case NL_OP_GLOB: return sqlite3_strglob(pattern.ptr, terminated) == 0;
    case NL_OP_LIKE: return sqlite3_strlike(pattern.ptr, terminated, 0) == 0;
    case NL_OP_LT: return nl_str_order(text, pattern) < 0;
    case NL_OP_LE: return nl_str_order(text, pattern) <= 0;
    case NL_OP_GT: return nl_str_order(text, pattern) > 0;
    default: return nl_str_order(text, pattern) >= 0;
    }
}

/* Whether the bits at hand were made for this very pattern; notes it when not. */
static bool same_pattern(struct nl_filter *filter, enum nl_op op, struct nl_str pattern)
{
    if (filter->pattern_op == (char)op && filter->bits && filter->pattern_len == pattern.len &&
        memcmp(filter->pattern, pattern.ptr, pattern.len) == 0)
        return true;
    nl_grow(&filter->pattern, &filter->pattern_cap, pattern.len + 1);
    memcpy(filter->pattern, pattern.ptr, pattern.len);
    filter->pattern[pattern.len] = '\0';
    filter->pattern_len = pattern.len;
    filter->pattern_op = (char)op;
    return false;
}

/* Asks every distinct text; SQLITE_INTERRUPT if cancelled meanwhile. */
static int ask_names(struct nl_vtab *vtab, struct nl_filter *filter, enum nl_op op)
{
    const struct nl_str pattern = {filter->pattern, filter->pattern_len};
    uint64_t count = distinct(vtab, filter->column);
    char *copy = NULL;
    size_t cap = 0;
    int code = SQLITE_OK;
    clear_bits(filter, count);
    for (uint64_t id = 1; id < count; id++) {
        if (id % 512 == 0 && nl_db_must_stop(vtab->db)) {
            code = SQLITE_INTERRUPT;
            filter->pattern_op = 0;
            break;
        }
        struct nl_str text = text_of_id(vtab, filter->column, id);
        nl_grow(&copy, &cap, text.len + 1);
        memcpy(copy, text.ptr, text.len);
        copy[text.len] = '\0';
        if (text_passes(op, text, copy, pattern))
            set_bit(filter, id);
    }
    nl_free(copy);
    return code;
}

static bool compare_text(struct nl_vtab *vtab, struct nl_filter *filter, enum nl_op op,
                         sqlite3_value *value, int *code)
{
    if (sqlite3_value_type(value) != SQLITE_TEXT)
        return false;
    struct nl_str text = {(const char *)sqlite3_value_text(value), 0};
    text.len = (size_t)sqlite3_value_bytes(value);
    if (op == NL_OP_EQ) {
        uint64_t id = id_of(vtab, filter->column, text);
        if (id)
            between(filter, id, id);
        else
            never(filter);
        return true;
    }
    int most = sqlite3_limit(vtab->db->sqlite, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, -1);
    if ((op == NL_OP_GLOB || op == NL_OP_LIKE) && text.len > (size_t)most) {
        sqlite3_free(vtab->base.zErrMsg);
        vtab->base.zErrMsg = sqlite3_mprintf("LIKE or GLOB pattern too complex");
        *code = SQLITE_ERROR;
        return true;
    }
    filter->test = NL_TEST_BITS;
    if (!same_pattern(filter, op, text))
        *code = ask_names(vtab, filter, op);
    return true;
}

/* ---- IN ---- */

static int by_key(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static void add_to_list(struct nl_vtab *vtab, struct nl_filter *filter, sqlite3_value *value)
{
    uint64_t low, high;
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return;
    if (filter->column->shown == NL_SHOWN_INTEGER) {
        if (!to_keys(filter->column, compare_value(NL_OP_EQ, value), &low, &high) || low != high)
            return;
        nl_grow(&filter->list, &filter->list_cap, filter->list_count + 1);
        filter->list[filter->list_count++] = low;
        return;
    }
    struct nl_str text = {(const char *)sqlite3_value_text(value), 0};
    text.len = (size_t)sqlite3_value_bytes(value);
    uint64_t id = text.ptr ? id_of(vtab, filter->column, text) : 0;
    if (id)
        set_bit(filter, id);
}

static void one_of(struct nl_vtab *vtab, struct nl_filter *filter, sqlite3_value *values)
{
    filter->list_count = 0;
    filter->pattern_op = 0;
    if (filter->column->shown != NL_SHOWN_INTEGER)
        clear_bits(filter, distinct(vtab, filter->column));
#if NL_SQLITE_338
    sqlite3_value *value;
    for (int rc = sqlite3_vtab_in_first(values, &value); rc == SQLITE_OK && value;
         rc = sqlite3_vtab_in_next(values, &value))
        add_to_list(vtab, filter, value);
#else
    add_to_list(vtab, filter, values);
#endif
    if (filter->column->shown != NL_SHOWN_INTEGER)
        return;
    if (filter->list_count == 0) {
        never(filter);
        return;
    }
    qsort(filter->list, filter->list_count, sizeof *filter->list, by_key);
    filter->test = NL_TEST_LIST;
}

bool nl_filter_set(struct nl_vtab *vtab, struct nl_filter *filter, struct nl_vcolumn *column,
                   enum nl_op op, sqlite3_value *value, int *code)
{
    uint64_t low, high;
    filter->column = column;
    filter->null_hop_passes = filter->real_null = false;
    bool no_value = op != NL_OP_IN && sqlite3_value_type(value) == SQLITE_NULL;
    if (op == NL_OP_IS)
        op = no_value ? NL_OP_NULL : NL_OP_EQ;
    if (op == NL_OP_NULL)
        unknown(filter, column);
    else if (op == NL_OP_NOT_NULL)
        known(filter, column);
    else if (op == NL_OP_IN)
        one_of(vtab, filter, value);
    else if (no_value)
        never(filter);
    else if (column->shown == NL_SHOWN_REAL)
        return compare_stored_real(filter, op, value);
    else if (column->shown != NL_SHOWN_INTEGER)
        return compare_text(vtab, filter, op, value, code);
    else if (to_keys(column, compare_value(op, value), &low, &high))
        between(filter, low, high);
    else
        never(filter);
    return true;
}

void nl_filter_release(struct nl_filter *filter)
{
    nl_free(filter->bits);
    nl_free(filter->list);
    nl_free(filter->pattern);
    *filter = (struct nl_filter){0};
}
