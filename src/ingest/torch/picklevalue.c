/*
 * What the values of a pickle are, once its program has run.
 */
#include <string.h>

#include "ingest/torch/pickle.h"

static const struct pickle_value nothing = {PICKLE_NONE};

const struct pickle_value *pickle_items(const struct pickle *pickle, struct pickle_value list)
{
    bool plain = pickle_type(list) == PICKLE_LIST || pickle_type(list) == PICKLE_TUPLE;
    return plain ? pickle_container(pickle, list)->values : NULL;
}

struct pickle_value pickle_key(const struct pickle *pickle, struct pickle_value dict, uint32_t i)
{
    if (pickle_type(dict) != PICKLE_DICT || i >= pickle_count(pickle, dict))
        return nothing;
    return pickle_container(pickle, dict)->values[2 * (size_t)i];
}

static bool is_key(const struct pickle *pickle, struct pickle_value value, const char *key,
                   size_t len)
{
    if (pickle_type(value) != PICKLE_TEXT)
        return false;
    struct nl_str name = pickle->texts[value.bits >> 4];
    return name.len == len && memcmp(name.ptr, key, len) == 0;
}

struct pickle_value pickle_get(const struct pickle *pickle, struct pickle_value dict,
                               const char *key)
{
    if (pickle_type(dict) != PICKLE_DICT)
        return nothing;
    const struct pickle_items *items = pickle_container(pickle, dict);
    struct pickle_place *place =
        &pickle->places[((uintptr_t)key * 0x9e3779b97f4a7c15u >> 32) % PICKLE_PLACES];
    if (place->key == key && place->at + 1 < items->count &&
        items->values[place->at].bits == place->bits) /* one text, by way of the memo */
        return items->values[place->at + 1];
    size_t len = strlen(key);
    for (uint32_t i = 0; i + 1 < items->count; i += 2)
        if (is_key(pickle, items->values[i], key, len)) {
            *place = (struct pickle_place){key, i, items->values[i].bits};
            return items->values[i + 1];
        }
    return nothing;
}

/* The field of a key at `place`, or `count`; what it was in the dictionary
 * before is tried first. */
static unsigned field_of(const struct pickle *pickle, struct pickle_layout *layout,
                         struct pickle_value key, size_t place)
{
    struct nl_str text = pickle_text(pickle, key);
    unsigned guess = place < PICKLE_FIELDS ? layout->field[place] : 0, field = 0;
    if (pickle_type(key) != PICKLE_TEXT)
        return layout->count;
    if (guess < layout->count && nl_str_eq(text, layout->keys[guess]))
        return guess;
    while (field < layout->count && !nl_str_eq(text, layout->keys[field]))
        field++;
    return field;
}

const struct pickle_value *pickle_pairs(const struct pickle *pickle, struct pickle_value dict,
                                        size_t *count)
{
    *count = 0;
    if (pickle_type(dict) != PICKLE_DICT)
        return NULL;
    *count = pickle_container(pickle, dict)->count;
    return pickle_container(pickle, dict)->values;
}

/* The same keys at the same places as in the dictionary before, as nearly always. */
static bool same_layout(const struct pickle_layout *layout, const struct pickle_value *items,
                        size_t count, struct pickle_value *values)
{
    if (count != 2 * (size_t)layout->places)
        return false;
    for (unsigned place = 0; place < layout->places; place++) {
        if (items[2 * place].bits != layout->bits[place])
            return false;
        values[layout->field[place]] = items[2 * place + 1];
    }
    return count > 0;
}

void pickle_fields(const struct pickle *pickle, struct pickle_layout *layout,
                   const struct pickle_value *items, size_t count, struct pickle_value *values)
{
    uint64_t seen = 0;
    bool plain = count <= 2 * (size_t)PICKLE_FIELDS;
    memset(values, 0, (layout->count + 1) * sizeof *values);
    if (same_layout(layout, items, count, values))
        return;
    memset(values, 0, (layout->count + 1) * sizeof *values);
    for (size_t place = 0; 2 * place + 1 < count; place++) {
        struct pickle_value key = items[2 * place];
        unsigned field = field_of(pickle, layout, key, place);
        if (place < PICKLE_FIELDS) {
            layout->bits[place] = key.bits;
            layout->field[place] = (uint8_t)field;
        }
        plain = plain && pickle_type(key) == PICKLE_TEXT;
        if (field == layout->count)
            continue;
        if (seen >> field & 1) {
            plain = false; /* the first one counts */
        } else {
            seen |= (uint64_t)1 << field;
            values[field] = items[2 * place + 1];
        }
    }
    layout->places = plain ? (unsigned)(count / 2) : 0;
}

uint64_t pickle_u64(const struct pickle *pickle, struct pickle_value value)
{
    int64_t number = pickle_i64(pickle, value);
    return number == INT64_MIN ? UINT64_MAX : (uint64_t)number;
}

double pickle_f64(const struct pickle *pickle, struct pickle_value value)
{
    if (pickle_type(value) == PICKLE_FLOAT) {
        double number;
        memcpy(&number, &pickle->wide[value.bits >> 4], sizeof number);
        return number;
    }
    int64_t whole = pickle_i64(pickle, value);
    return whole == INT64_MIN ? (double)__builtin_nan("") : (double)whole;
}
