/*
 * The shortest decimal of a double, as %.15g to %.17g write it, in most cases without printf and
 * strtod: they were half of what printing tables as JSON took.
 *
 * A double is m * 2^e with m below 2^53. Times 10^k it is m * 5^k * 2^(e + k), and up to k = 27
 * m * 5^k fits into 128 bits. So the digits, what rounding them leaves, and whether they read back
 * as the same double are exact. Numbers below 1e-11 and from 1e15 on are printf's.
 */
#include "base/shortest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 wide_int;

#define MIN_TEN (-11)
#define LOWEST_MANTISSA                                                                            \
    (UINT64_C(1) << 52) /* of m: the double below is nearer than the one above */

/* The power of ten that `size` has before its digits, one less where the last bit decides. */
static int power_of_ten(double size)
{
    static const double powers[] = {1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
                                    1e-2,  1e-1,  1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                                    1e7,   1e8,   1e9,  1e10, 1e11, 1e12, 1e13, 1e14};
    size_t at = size >= 1 ? 11 : 0;
    while (at + 1 < sizeof powers / sizeof powers[0] && size >= powers[at + 1])
        at++;
    return (int)at + MIN_TEN;
}

/* bits * five * 2^-shift, rounded as printf does; whether that reads back as the same. */
static bool are_digits(uint64_t bits, wide_int five, int shift, uint64_t *digits)
{
    wide_int exact = bits * five, one = (wide_int)1 << shift, rest = exact & (one - 1);
    *digits = (uint64_t)(exact >> shift);
    bool up = 2 * rest > one || (2 * rest == one && *digits % 2);
    if (up) {
        rest = one - rest;
        ++*digits;
    }
    return (bits == LOWEST_MANTISSA && !up ? 4 : 2) * rest < five;
}

/* digits / 10^places, and 10^ten after it where that is not 0. */
static void write_decimal(char out[NL_UNIT_TEXT], bool negative, uint64_t digits, int places,
                          int ten)
{
    char text[NL_UNIT_TEXT];
    int at = 0, len = 0;
    for (; places && digits % 10 == 0; places--)
        digits /= 10;
    for (; digits || at <= places + (places > 0); digits /= 10) {
        if (places && at == places)
            text[at++] = '.';
        text[at++] = (char)('0' + digits % 10);
    }
    if (negative)
        out[len++] = '-';
    while (at)
        out[len++] = text[--at];
    out[len] = '\0';
    if (ten)
        snprintf(out + len, NL_UNIT_TEXT - (size_t)len, "e-%02d", -ten);
}

static bool write_shortest(char out[NL_UNIT_TEXT], double value, double size)
{
    int exponent, ten = power_of_ten(size);
    uint64_t bits = (uint64_t)ldexp(frexp(size, &exponent), 53), digits, least = 10000000000000;
    wide_int five = 1;
    for (int k = 0; k < 14 - ten; k++)
        five *= 5;
    for (int count = 15; count <= 17; count++, five *= 5) {
        int k = count - 1 - ten;
        least *= 10;
        if (!are_digits(bits, five, 53 - exponent - k, &digits) && count < 17)
            continue;
        if (digits < least || digits >= 10 * least)
            return false; /* rounded to a power of ten */
        write_decimal(out, value < 0, digits, ten < -4 ? count - 1 : k, ten < -4 ? ten : 0);
        return true;
    }
    return false;
}

const char *nl_format_shortest(char out[NL_UNIT_TEXT], double value)
{
    double size = fabs(value);
    if (size >= 1e-11 && size < 1e15 && write_shortest(out, value, size))
        return out;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, NL_UNIT_TEXT, "%.*g", digits, value);
        if (digits == 17 || strtod(out, NULL) == value)
            break;
    }
    return out;
}
