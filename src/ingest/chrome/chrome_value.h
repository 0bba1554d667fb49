/*
 * chrome_value — one value of an event: its text and, when it is a number, the number.
 */
#ifndef CHROME_VALUE_H
#define CHROME_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum chrome_type {
    CHROME_ABSENT,
    CHROME_NULL,
    CHROME_INTEGER,     /* `number` holds it, wrapped to 64 bits when above INT64_MAX */
    CHROME_THOUSANDTHS, /* up to 3 decimals: `number` is a thousand times the value */
    CHROME_DECIMAL,     /* any other number */
    CHROME_BOOL,
    CHROME_STRING,
    CHROME_ARRAY,
    CHROME_OBJECT
};

/* `number`: of numbers see enum chrome_type; of an array that is `seen` its slot in chrome_texts,
 * and the serial number that this had. */
struct chrome_value {
    const char *ptr;
    uint32_t len;
    uint8_t type; /* enum chrome_type */
    bool escaped; /* a string with a backslash inside */
    bool seen;    /* an array of the arguments */
    int64_t number;
};

static inline void chrome_value_saw(struct chrome_value *value, uint32_t slot, uint32_t serial)
{
    value->seen = true;
    value->number = (int64_t)((uint64_t)serial << 16 | slot);
}

static inline uint32_t chrome_value_slot(const struct chrome_value *value)
{
    return (uint32_t)(value->number & 0xffff);
}

static inline uint32_t chrome_value_serial(const struct chrome_value *value)
{
    return (uint32_t)((uint64_t)value->number >> 16);
}

static inline struct nl_str chrome_text(const struct chrome_value *value)
{
    return (struct nl_str){value->ptr, value->len};
}

/* Microseconds of a number or a string with a number → exact ns. False when there is none, or it
 * is out of range. */
bool chrome_time(const struct chrome_value *value, int64_t *ns);
/* Integer of a number, of a string with one (decimal or 0x…), or of a decimal without fraction. */
bool chrome_integer(const struct chrome_value *value, int64_t *number);
/* Finite number of a number or a string with one. */
bool chrome_number(const struct chrome_value *value, double *number);

#endif
