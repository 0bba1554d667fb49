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

/* `number`: of numbers see enum chrome_type; of an array that chrome_guess knew (`named`) its name id; of other
 * arrays in args the place at which chrome_guess is to learn it. */
struct chrome_value {
    const char *ptr;
    uint32_t len;
    uint8_t type; /* enum chrome_type */
    bool escaped; /* a string with a backslash inside */
    bool named;
    int64_t number;
};

static inline struct nl_str chrome_text(const struct chrome_value *value)
{
    return (struct nl_str){value->ptr, value->len};
}

#endif
