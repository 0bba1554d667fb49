/* Values of events as integers, numbers and exact times (declared in chrome_event.h). */
#include <math.h>
#include <stdlib.h>

#include "base/chars.h"
#include "base/hex.h"
#include "base/units.h"
#include "ingest/chrome/chrome_value.h"
#include "ingest/chrome/chrome_event.h"

bool chrome_time(const struct chrome_value *value, int64_t *ns)
{
    if (value->type == CHROME_THOUSANDTHS) {
        *ns = value->number;
        return true;
    }
    if (value->type == CHROME_INTEGER && !__builtin_mul_overflow(value->number, 1000, ns))
        return value->len < 20;
    if (value->type != CHROME_DECIMAL && value->type != CHROME_STRING)
        return false;
    return nl_decimal_us_to_ns(chrome_text(value), ns);
}

static bool hex_integer(const char *p, const char *end, int64_t *number)
{
    uint64_t sum;
    if (end - p < 3 || p[0] != '0' || (p[1] | 0x20) != 'x' ||
        !nl_hex_u64((struct nl_str){p + 2, (size_t)(end - p) - 2}, &sum))
        return false;
    *number = (int64_t)sum;
    return true;
}

/* 2^63 .. 2^64 - 1, wrapped. */
static bool wide_integer(const char *p, const char *end, int64_t *number)
{
    uint64_t sum = 0;
    if (p == end)
        return false;
    for (; p < end; p++)
        if (!nl_is_digit(*p) || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(*p - '0'), &sum))
            return false;
    *number = (int64_t)sum;
    return true;
}

bool chrome_integer(const struct chrome_value *value, int64_t *number)
{
    if (value->type == CHROME_INTEGER) {
        *number = value->number;
        return true;
    }
    if (value->type == CHROME_THOUSANDTHS) {
        *number = value->number / 1000;
        return value->number % 1000 == 0;
    }
    if (value->type != CHROME_STRING && value->type != CHROME_DECIMAL)
        return false;
    if (nl_parse_i64(chrome_text(value), number) ||
        hex_integer(value->ptr, value->ptr + value->len, number))
        return true;
    if (wide_integer(value->ptr, value->ptr + value->len, number))
        return true;
    double whole;
    if (!chrome_number(value, &whole) || whole != floor(whole) || fabs(whole) > 9e15)
        return false;
    *number = (int64_t)whole;
    return true;
}

bool chrome_number(const struct chrome_value *value, double *number)
{
    if (value->type == CHROME_INTEGER) {
        bool wrapped = value->number < 0 && *value->ptr != '-';
        *number = wrapped ? (double)(uint64_t)value->number : (double)value->number;
        return true;
    }
    char copy[64], *stop;
    if ((value->type != CHROME_STRING && value->type != CHROME_DECIMAL &&
         value->type != CHROME_THOUSANDTHS) ||
        value->len == 0 || value->len >= sizeof copy)
        return false;
    memcpy(copy, value->ptr, value->len);
    copy[value->len] = '\0';
    *number = strtod(copy, &stop);
    return *stop == '\0' && stop != copy && isfinite(*number);
}
