/*
 * attributes — what a slice says besides its name and times: the columns of its side table that are
 * worth showing, under their names in SQL, and arguments that are text.
 *
 *     nl_attributes_make(&attributes, trace);
 *     for each attribute a of attributes.first[kind] .. attributes.first[kind + 1]:
 *         if (nl_attribute_value(&attributes.items[a], trace->slice.detail[slice], &value)) ...
 *     text = nl_attributes_text(&attributes, slice);         // id of its arguments, or NL_NO_NAME
 */
#ifndef NL_ATTRIBUTES_H
#define NL_ATTRIBUTES_H

#include "store/trace.h"

#define NL_MAX_ATTRIBUTES 96

struct nl_attribute {
    const char *name;
    enum nl_type type; /* TIME, DUR, I64, U64, F64, U32, U16, U8, NAME or ENUM */
    enum nl_enum_id enumeration;
    const void *array; /* of the side table */
    uint32_t rows;
};

union nl_value {
    int64_t i64;
    uint64_t u64;
    double f64;
    uint32_t name; /* dictionary id */
    const char *text;
};

struct nl_attributes {
    struct nl_attribute items[NL_MAX_ATTRIBUTES];
    unsigned count;
    uint8_t first[NL_KIND_COUNT + 1];          /* by kind of slice */
    uint8_t collective_first, collective_last; /* of rows of table collective */
    uint32_t *args, *collectives;              /* row per slice, or NULL: there are none */
    const struct nl_trace *trace;
};

void nl_attributes_make(struct nl_attributes *attributes, const struct nl_trace *trace);
void nl_attributes_release(struct nl_attributes *attributes);

/* Row of table collective that is about the slice; NL_NULL_ROW when none. */
static inline uint32_t nl_attributes_collective(const struct nl_attributes *attributes,
                                                uint32_t slice)
{
    return attributes->collectives ? attributes->collectives[slice] : NL_NULL_ROW;
}

/* Id (of nl_trace_text) of its first arguments; NL_NO_NAME when it has none. */
static inline uint32_t nl_attributes_text(const struct nl_attributes *attributes, uint32_t slice)
{
    uint32_t row = attributes->args ? attributes->args[slice] : NL_NULL_ROW;
    return row == NL_NULL_ROW ? NL_NO_NAME : attributes->trace->arg.text[row];
}

/* The value in a row of the side table; false when it is not known. */
static inline bool nl_attribute_value(const struct nl_attribute *attribute, uint32_t row,
                                      union nl_value *value)
{
    if (row >= attribute->rows)
        return false;
    switch (attribute->type) {
    case NL_TYPE_TIME:
    case NL_TYPE_DUR:
    case NL_TYPE_I64:
        value->i64 = ((const int64_t *)attribute->array)[row];
        return value->i64 != NL_NULL_I64;
    case NL_TYPE_U64:
        value->u64 = ((const uint64_t *)attribute->array)[row];
        return value->u64 != NL_NULL_U64;
    case NL_TYPE_F64:
        value->f64 = ((const double *)attribute->array)[row];
        return value->f64 == value->f64;
    case NL_TYPE_U32:
        value->u64 = ((const uint32_t *)attribute->array)[row];
        return value->u64 != NL_NULL_U32;
    case NL_TYPE_U16: value->u64 = ((const uint16_t *)attribute->array)[row]; return true;
    case NL_TYPE_U8: value->u64 = ((const uint8_t *)attribute->array)[row]; return true;
    case NL_TYPE_NAME:
        value->name = ((const uint32_t *)attribute->array)[row];
        return value->name != NL_NO_NAME;
    case NL_TYPE_ENUM:
        value->text =
            nl_enum_text(attribute->enumeration, ((const uint8_t *)attribute->array)[row]);
        return value->text != NULL;
    case NL_TYPE_REF: break;
    }
    return false;
}

#endif
