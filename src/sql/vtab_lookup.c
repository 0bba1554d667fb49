/*
 * Order: sorted indexes for lookups that repeat, and ORDER BY / GROUP BY without SQLite's sorter.
 *
 * Both are radix sorts of (key, row). SQLite never indexes a virtual table by itself, so a join on
 * correlation ids would compare every row with every row; an index is made once the same column
 * has been looked up a few times and is kept for the connection.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "timeline/bigarray.h"
#include "sql/vtab.h"

#define SCANS_FIRST 4   /* lookups answered by scanning before an index is made */
#define SMALL_TABLE 256 /* rows that are scanned for ever */

static struct nl_index *build(struct nl_vtab *vtab, const struct nl_vcolumn *column)
{
    struct nl_index *index = nl_zalloc(sizeof *index);
    index->memory = nl_bigarray_take((size_t)vtab->rows * sizeof *index->items);
    struct nl_keyed *items = index->items = index->memory.memory;
    for (uint32_t row = 0; row < vtab->rows; row++) {
        struct nl_keyed *item = &items[index->count];
        item->row = row;
        if (nl_vcolumn_key(column, row, &item->key) &&
            !(column->nullable && item->key == column->null_key))
            index->count++;
    }
    struct nl_bigarray scratch = nl_bigarray_take((index->count + 1) * sizeof *items);
    nl_sort_keyed(items, scratch.memory, index->count);
    nl_bigarray_free(&scratch);
    return index;
}

const struct nl_index *nl_index_for(struct nl_vtab *vtab, struct nl_vcolumn *column)
{
    if (column->index)
        return column->index;
    const struct nl_job *job = vtab->db->job;
    uint64_t need = (uint64_t)vtab->rows * 2 * sizeof(struct nl_keyed);
    bool fits = !job || !job->memory_bytes || need < job->memory_bytes / 4;
    if (vtab->rows < SMALL_TABLE || column->lookups++ < SCANS_FIRST || !fits)
        return NULL;
    column->index = build(vtab, column);
    return column->index;
}

void nl_index_free(struct nl_index *index)
{
    if (!index)
        return;
    nl_bigarray_free(&index->memory);
    nl_free(index);
}

/* First item whose key is not below `key`. */
static size_t lower(const struct nl_index *index, uint64_t key)
{
    return NL_FIRST(i, 0, index->count, index->items[i].key >= key);
}

size_t nl_index_range(const struct nl_index *index, uint64_t low, uint64_t high,
                      const struct nl_keyed **first)
{
    size_t from = low <= high ? lower(index, low) : index->count;
    size_t to = high == UINT64_MAX ? index->count : lower(index, high + 1);
    *first = index->items + from;
    return to > from ? to - from : 0;
}

/* ---- Order ---- */

/* Keys in SQLite's order: unknown first, then by value. */
struct order {
    const struct nl_vcolumn *column;
    char direction;
    const uint32_t *name_ranks;
    uint32_t enum_ranks[UINT8_MAX + 1];
};

static void rank_enum(struct order *order)
{
    enum nl_enum_id id = order->column->def->enumeration;
    for (unsigned value = 0; value <= UINT8_MAX; value++) {
        const char *text = nl_enum_text(id, value);
        order->enum_ranks[value] = text != NULL;
        for (unsigned other = 1; text && other < nl_enum_count(id); other++)
            order->enum_ranks[value] += strcmp(nl_enum_text(id, other), text) < 0;
    }
}

static uint64_t real_key(double value)
{
    uint64_t bits;
    if (value != value)
        return 0;
    value += 0.0; /* -0 and 0 are equal */
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static uint64_t order_key(const struct order *order, uint32_t row)
{
    const struct nl_vcolumn *column = order->column;
    uint64_t key;
    if (column->shown == NL_SHOWN_REAL)
        return real_key(nl_vcolumn_real(column, row));
    if (!nl_vcolumn_key(column, row, &key) || (column->nullable && key == column->null_key))
        return 0;
    if (column->shown == NL_SHOWN_NAME && order->name_ranks)
        return order->name_ranks[key];
    if (column->shown == NL_SHOWN_ENUM)
        return order->enum_ranks[key];
    return column->nullable && column->null_key == 0 ? key : key + 1;
}

void nl_order_rows(struct nl_vtab *vtab, const struct nl_plan *plan, uint32_t *rows, size_t count)
{
    if (count < 2)
        return;
    struct nl_bigarray memory = nl_bigarray_take(2 * count * sizeof(struct nl_keyed));
    struct nl_keyed *items = memory.memory;
    for (size_t i = 0; i < count; i++)
        items[i].row = rows[i];
    for (unsigned term = plan->order_count; term-- > 0;) {
        struct order order = {.column = &vtab->columns[plan->order[term].column],
                              .direction = plan->order[term].direction};
        if (order.column->shown == NL_SHOWN_NAME && order.direction != 'g')
            order.name_ranks = nl_db_name_ranks(vtab->db);
        if (order.column->shown == NL_SHOWN_ENUM)
            rank_enum(&order);
        uint64_t flip = order.direction == 'd' ? UINT64_MAX : 0;
        for (size_t i = 0; i < count; i++)
            items[i].key = order_key(&order, items[i].row) ^ flip;
        nl_sort_keyed(items, items + count, count);
    }
    for (size_t i = 0; i < count; i++)
        rows[i] = items[i].row;
    nl_bigarray_free(&memory);
}

struct named {
    struct nl_str text;
    uint32_t id;
};

static int by_text(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    return nl_str_order(a->text, b->text);
}

static void sort_names(struct nl_db *db)
{
    uint32_t count = db->trace->names.count;
    struct named *names = nl_alloc(((size_t)count + 1) * sizeof *names);
    for (uint32_t i = 0; i < count; i++)
        names[i] = (struct named){nl_trace_name(db->trace, i), i};
    if (count > 1)
        qsort(names + 1, count - 1, sizeof *names, by_text);
    db->name_order = nl_alloc(((size_t)count + 1) * sizeof *db->name_order);
    db->name_ranks = nl_alloc(((size_t)count + 1) * sizeof *db->name_ranks);
    for (uint32_t i = 0; i < count; i++) {
        db->name_order[i] = names[i].id;
        db->name_ranks[names[i].id] = i;
    }
    nl_free(names);
}

const uint32_t *nl_db_name_ranks(struct nl_db *db)
{
    if (!db->name_ranks)
        sort_names(db);
    return db->name_ranks;
}

static int order_of_name(const struct nl_db *db, uint32_t place, const struct named *wanted)
{
    const struct named name = {nl_trace_name(db->trace, db->name_order[place]), 0};
    return by_text(&name, wanted);
}

uint32_t nl_db_find_name(struct nl_db *db, struct nl_str text)
{
    const struct nl_dict *names = &db->trace->names;
    if (text.len == 0)
        return NL_NO_NAME;
    if (names->slot_count || (!db->name_ranks && db->name_lookups++ < SCANS_FIRST)) {
        uint32_t id = nl_dict_find(names, text);
        return id == UINT32_MAX ? NL_NO_NAME : id;
    }
    (void)nl_db_name_ranks(db);
    const struct named wanted = {text, 0};
    uint32_t at = NL_FIRST(i, 1, names->count, order_of_name(db, i, &wanted) >= 0);
    bool found = at < names->count && order_of_name(db, at, &wanted) == 0;
    return found ? db->name_order[at] : NL_NO_NAME;
}
