/* Numbers for people, and exact decimals. */
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/chars.h"
#include "base/sum.h"

/* value in a unit with three significant digits after scaling. */
static const char *scaled(char out[NL_UNIT_TEXT], double value, const char *unit)
{
    double size = fabs(value);
    int digits = size < 9.9995 ? 3 : size < 99.995 ? 2 : 1;
    snprintf(out, NL_UNIT_TEXT, "%.*f %s", digits, value, unit);
    return out;
}

/* "8 min 56 s", "2 h 13 min": no one reads decimal minutes. */
static const char *minutes(char out[NL_UNIT_TEXT], int64_t ns)
{
    const char *sign = ns < 0 ? "-" : "";
    long long seconds = llabs((long long)round((double)ns / 1e9));
    if (seconds < 3600)
        snprintf(out, NL_UNIT_TEXT, "%s%lld min %lld s", sign, seconds / 60, seconds % 60);
    else if (seconds < 100 * 86400LL)
        snprintf(out, NL_UNIT_TEXT, "%s%lld h %lld min", sign, seconds / 3600, seconds / 60 % 60);
    else
        snprintf(out, NL_UNIT_TEXT, "%s%lld days", sign, seconds / 86400);
    return out;
}

const char *nl_format_ns(char out[NL_UNIT_TEXT], int64_t ns)
{
    static const struct {
        double size;
        const char *unit;
    } steps[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}};
    if (ns == INT64_MIN) {
        snprintf(out, NL_UNIT_TEXT, "-");
        return out;
    }
    if (fabs((double)ns) >= 119.95e9)
        return minutes(out, ns);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (fabs((double)ns) >= steps[i].size)
            return scaled(out, (double)ns / steps[i].size, steps[i].unit);
    snprintf(out, NL_UNIT_TEXT, "%lld ns", (long long)ns);
    return out;
}

const char *nl_format_bytes(char out[NL_UNIT_TEXT], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t i = 0;
    for (; value >= 1024 && i < 6; i++)
        value /= 1024;
    if (i == 0) {
        snprintf(out, NL_UNIT_TEXT, "%llu B", (unsigned long long)bytes);
        return out;
    }
    return scaled(out, value, units[i]);
}

const char *nl_format_count(char out[NL_UNIT_TEXT], uint64_t count)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    char *to = out;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

const char *nl_format_percent(char out[NL_UNIT_TEXT], double share)
{
    if (share != share)
        snprintf(out, NL_UNIT_TEXT, "-");
    else
        snprintf(out, NL_UNIT_TEXT, "%.1f %%", share * 100);
    return out;
}

const char *nl_format_rate(char out[NL_UNIT_TEXT], double bytes_per_s)
{
    if (bytes_per_s != bytes_per_s) {
        snprintf(out, NL_UNIT_TEXT, "-");
        return out;
    }
    if (bytes_per_s >= 1e12)
        return scaled(out, bytes_per_s / 1e12, "TB/s");
    if (bytes_per_s >= 1e9)
        return scaled(out, bytes_per_s / 1e9, "GB/s");
    return scaled(out, bytes_per_s / 1e6, "MB/s");
}

bool nl_parse_i64(struct nl_str text, int64_t *value)
{
    size_t i = 0;
    bool negative = false;
    if (text.len && (text.ptr[0] == '-' || text.ptr[0] == '+'))
        negative = text.ptr[i++] == '-';
    if (i == text.len)
        return false;
    int64_t sum = 0;
    for (; i < text.len; i++) {
        if (!nl_is_digit(text.ptr[i]))
            return false;
        int digit = text.ptr[i] - '0';
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_sub_overflow(sum, digit, &sum))
            return false;
    }
    if (!negative && sum == INT64_MIN)
        return false;
    *value = negative ? sum : -sum;
    return true;
}

/* Splits "12.5ms" into a number and the rest. */
static bool number_and_unit(struct nl_str text, double *number, struct nl_str *unit)
{
    char copy[64];
    if (text.len == 0 || text.len >= sizeof copy)
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    char *end;
    *number = strtod(copy, &end);
    if (end == copy || !isfinite(*number))
        return false;
    while (*end == ' ')
        end++;
    size_t at = (size_t)(end - copy);
    *unit = (struct nl_str){text.ptr + at, text.len - at};
    return true;
}

bool nl_parse_bytes(struct nl_str text, uint64_t *bytes)
{
    static const char letters[] = "kmgtp";
    double number;
    struct nl_str unit;
    if (!number_and_unit(text, &number, &unit) || number < 0)
        return false;
    double scale = 1;
    if (unit.len) {
        char first = nl_lower(unit.ptr[0]);
        const char *letter = first ? strchr(letters, first) : NULL;
        if (letter)
            for (const char *l = letters; l <= letter; l++)
                scale *= 1024;
        else if (first != 'b' || unit.len > 1)
            return false;
        if (letter && !(unit.len == 1 || nl_str_find_nocase(unit, "ib") == 1 ||
                        nl_str_find_nocase(unit, "b") == 1))
            return false;
    }
    double value = number * scale;
    if (value >= 9e18)
        return false;
    *bytes = (uint64_t)value;
    return true;
}

bool nl_parse_ns(struct nl_str text, int64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 6e10}};
    double number;
    struct nl_str unit;
    if (nl_parse_i64(text, ns))
        return true;
    if (!number_and_unit(text, &number, &unit))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (nl_str_is(unit, units[i].unit)) {
            double value = number * units[i].ns;
            if (fabs(value) >= 9e18)
                return false;
            *ns = nl_whole_i64(value);
            return true;
        }
    }
    return false;
}

/* A decimal number as mantissa × 10^power. Digits beyond the 19th only move the power. */
struct decimal {
    bool negative, any;
    uint64_t mantissa;
    int power;
};

static void take_digit(struct decimal *decimal, int digit, bool after_point)
{
    decimal->any = true;
    if (decimal->mantissa < 999999999999999999u) {
        decimal->mantissa = decimal->mantissa * 10 + (uint64_t)digit;
        decimal->power -= after_point;
    } else {
        decimal->power += !after_point;
    }
}

static bool take_exponent(struct decimal *decimal, struct nl_str text)
{
    int64_t exponent;
    if (!nl_parse_i64(text, &exponent) || exponent > 400 || exponent < -400)
        return false;
    decimal->power += (int)exponent;
    return true;
}

static bool read_decimal(struct nl_str text, struct decimal *decimal)
{
    size_t i = 0;
    bool point = false;
    *decimal = (struct decimal){.negative = text.len && text.ptr[0] == '-'};
    if (text.len && (text.ptr[0] == '-' || text.ptr[0] == '+'))
        i++;
    for (; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '.' && !point)
            point = true;
        else if (nl_is_digit(c))
            take_digit(decimal, c - '0', point);
        else
            break;
    }
    if (!decimal->any)
        return false;
    if (i < text.len && (text.ptr[i] == 'e' || text.ptr[i] == 'E'))
        return take_exponent(decimal, (struct nl_str){text.ptr + i + 1, text.len - i - 1});
    return i == text.len;
}

bool nl_decimal_us_to_ns(struct nl_str text, int64_t *ns)
{
    return nl_decimal_shifted(text, 3, ns);
}

bool nl_decimal_shifted(struct nl_str text, int shift, int64_t *out)
{
    struct decimal decimal;
    if (!read_decimal(text, &decimal))
        return false;
    uint64_t value = decimal.mantissa;
    int power = decimal.power + shift;
    for (; power > 0 && value; power--)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value))
            return false;
    unsigned last = 0;
    for (; power < 0 && (value || last); power++) {
        last = (unsigned)(value % 10);
        value /= 10;
    }
    if (last >= 5)
        value++;
    if (value > (uint64_t)INT64_MAX)
        return false;
    *out = decimal.negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static inline const char *take_digits(const char *at, const char *end, uint64_t *sum)
{
    unsigned digit;
    uint64_t value = *sum;
    for (; at < end && (digit = (unsigned)(unsigned char)*at - '0') <= 9; at++)
        value = value * 10 + digit;
    *sum = value;
    return at;
}

/* One rounding of two exact numbers gives the nearest double (Clinger 1990). */
bool nl_decimal_short(struct nl_str text, int exponent, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!text.len)
        return false;
    bool negative = text.ptr[0] == '-';
    const char *at = text.ptr + negative, *end = text.ptr + text.len;
    if (at == end || end - at > 15 || *at == '.')
        return false;
    uint64_t mantissa = 0;
    at = take_digits(at, end, &mantissa);
    if (at < end && *at == '.') {
        const char *point = ++at;
        at = take_digits(at, end, &mantissa);
        exponent -= (int)(end - point);
    }
    if (at < end)
        return false;
    if (exponent < -22 || exponent > 22)
        return false;
    double whole = (double)(int64_t)mantissa;
    double size = exponent < 0 ? whole / powers[-exponent] : whole * powers[exponent];
    *value = negative ? -size : size;
    return true;
}
