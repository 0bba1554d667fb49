/* Rows of an account by key. A name mostly is booked to the row it was booked to last, so most
 * bookings compare one key and touch no hash table. */
#include "account/accountmake.h"

#include <string.h>

#include "base/mem.h"
#include "base/sum.h"

struct nl_account_row nl_account_key(size_t group, enum nl_account_part part)
{
    return (struct nl_account_row){.device = (uint32_t)group,
                                   .part = (uint8_t)part,
                                   .inside = part != NL_BOOKED_BEFORE && part != NL_BOOKED_AFTER,
                                   .activity = NL_ACTIVITY_COUNT,
                                   .class = NL_IDLE_CLASSES,
                                   .name = NL_NO_NAME,
                                   .op = NL_NO_NAME,
                                   .module_or_range = NL_NO_NAME,
                                   .wait = NL_NO_NAME,
                                   .group = NL_NO_NAME,
                                   .late = NL_NULL_ROW,
                                   .open_start = INT64_MIN,
                                   .bytes = NL_NULL_U64};
}

static inline bool is_key(const struct nl_account_row *a, const struct nl_account_row *b)
{
    return a->name == b->name && a->device == b->device && a->phase == b->phase &&
           a->part == b->part && a->op == b->op && a->module_or_range == b->module_or_range &&
           a->wait == b->wait && a->late == b->late && a->group == b->group &&
           a->category_or_copy == b->category_or_copy && a->activity == b->activity &&
           a->class == b->class && a->elsewhere == b->elsewhere && a->inside == b->inside &&
           a->not_program == b->not_program;
}

static uint64_t hash_of(const struct nl_account_row *key)
{
    uint64_t small = (uint64_t)key->phase << 40 | (uint64_t)key->part << 32 |
                     (uint64_t)key->activity << 24 | (uint64_t)key->class << 19 |
                     (uint64_t)key->not_program << 18 | (uint64_t)key->elsewhere << 17 |
                     (uint64_t)key->inside << 16 | key->category_or_copy;
    uint64_t hash = nl_hash_pair(small, (uint64_t)key->name << 32 | key->op);
    hash = nl_hash_pair(hash, (uint64_t)key->module_or_range << 32 | key->wait);
    return nl_hash_pair(hash, (uint64_t)key->late ^ (uint64_t)key->device << 40 ^
                                  (uint64_t)key->group << 8);
}

void nl_account_rows_init(struct nl_account_rows *rows, size_t names)
{
    *rows = (struct nl_account_rows){0};
    rows->by_name = nl_zalloc((names + 1) * sizeof *rows->by_name);
}

void nl_account_rows_release(struct nl_account_rows *rows)
{
    nl_free(rows->items);
    nl_lookup_release(&rows->by_key);
    nl_free(rows->by_name);
    *rows = (struct nl_account_rows){0};
}

static uint32_t find_row(struct nl_account_rows *rows, const struct nl_account_row *key)
{
    uint64_t hash = hash_of(key);
    uint32_t found = NL_LOOKUP(&rows->by_key, hash, i, is_key(&rows->items[i], key));
    if (found != NL_NO_ROW)
        return found;
    if (rows->count >= NL_ACCOUNT_MAX_ROWS &&
        (key->op != NL_NO_NAME || key->module_or_range != NL_NO_NAME)) {
        struct nl_account_row less = *key;
        less.op = less.module_or_range = NL_NO_NAME;
        return find_row(rows, &less);
    }
    nl_grow(&rows->items, &rows->cap, rows->count + 1);
    uint32_t index = (uint32_t)rows->count++;
    rows->items[index] = *key;
    rows->items[index].ns = 0;
    rows->items[index].count = 0;
    rows->items[index].bytes = NL_NULL_U64;
    rows->items[index].open_start = INT64_MIN;
    nl_lookup_add(&rows->by_key, hash, index);
    return index;
}

struct nl_account_row *nl_account_rows_at(struct nl_account_rows *rows,
                                          const struct nl_account_row *key)
{
    uint32_t known = rows->by_name[key->name];
    if (known && is_key(&rows->items[known - 1], key))
        return &rows->items[known - 1];
    uint32_t index = find_row(rows, key);
    rows->by_name[key->name] = index + 1;
    return &rows->items[index];
}

static void add_bytes(struct nl_account_row *row, uint64_t bytes)
{
    if (bytes == NL_NULL_U64)
        return;
    if (row->bytes == NL_NULL_U64)
        row->bytes = 0;
    row->bytes = bytes > NL_NULL_U64 - 1 - row->bytes ? NL_NULL_U64 - 1 : row->bytes + bytes;
}

void nl_account_close(struct nl_account_row *row)
{
    if (row->open_ns >= NL_ACCOUNT_LONG_NS) {
        nl_sum_add(&row->long_ns, row->open_ns);
        row->long_count++;
    }
    row->open_ns = 0;
}

/* Pieces of one gap come one after the other. */
static void add_piece(struct nl_account_row *row, int64_t gap_start, int64_t ns)
{
    if (row->open_start != gap_start)
        nl_account_close(row);
    row->open_start = gap_start;
    nl_sum_add(&row->open_ns, ns);
}

void nl_account_book(struct nl_account_maker *maker, size_t group, struct nl_account_row key,
                     int64_t start, int64_t end)
{
    struct nl_account_group *it = &maker->groups[group];
    while (start < end) {
        it->cut = nl_phase_find(&maker->phases, it->phases, start, it->cut);
        int64_t to = nl_phase_end(&maker->phases, it->phases, it->cut);
        to = to < end ? to : end;
        key.phase = (uint8_t)maker->phases.cuts[it->cut].phase;
        struct nl_account_row *row = nl_account_rows_at(&maker->rows, &key);
        nl_sum_add(&row->ns, to - start);
        row->count += key.count;
        if (key.open_start != INT64_MIN)
            add_piece(row, key.open_start, to - start);
        add_bytes(row, key.bytes);
        nl_sum_add(&it->device.phase_ns[key.phase], to - start);
        key.count = 0;
        key.bytes = NL_NULL_U64;
        start = to;
    }
}
