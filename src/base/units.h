/*
 * units — numbers as people write them: times, sizes, counts, shares; and exact decimal → ns.
 */
#ifndef NL_UNITS_H
#define NL_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* One convention everywhere, in tables as in sentences: amounts of memory and data in
 * powers of 1024 (KiB, MiB, GiB), rates of links and memories in powers of 1000
 * (GB/s), as vendors quote them. */

#define NL_SECOND_NS INT64_C(1000000000)
#define NL_DAY_NS    (86400 * NL_SECOND_NS)

#define NL_UNIT_TEXT 32 /* room that every nl_format_* needs */

/* "1.234 ms", "12 ns", "3.21 s"; at most 4 significant digits, never loses the unit. INT64_MIN
 * (unknown) gives "-". Returns `out`. */
const char *nl_format_ns(char out[NL_UNIT_TEXT], int64_t ns);
const char *nl_format_bytes(char out[NL_UNIT_TEXT], uint64_t bytes);    /* "1.50 MiB" */
const char *nl_format_count(char out[NL_UNIT_TEXT], uint64_t count);    /* "12,345,678" */
const char *nl_format_percent(char out[NL_UNIT_TEXT], double share);    /* 0.123 → "12.3 %" */
const char *nl_format_rate(char out[NL_UNIT_TEXT], double bytes_per_s); /* "12.3 GB/s" */

/* "512M", "4GiB", "1.5g", "1024" → bytes. False when it is no size. */
bool nl_parse_bytes(struct nl_str text, uint64_t *bytes);
/* "1.2s", "350ms", "10us", "42ns", "42" (ns) → ns. False when it is no time. */
bool nl_parse_ns(struct nl_str text, int64_t *ns);
/* Decimal integer with optional sign, whole text, no overflow. */
bool nl_parse_i64(struct nl_str text, int64_t *value);

/* Exact: the decimal number text × 1000 rounded half away from zero (µs with a fraction → ns).
 * Accepts JSON numbers incl. exponents. False when no number or out of int64. Never goes through
 * a double: "1365627887021.673" → 1365627887021673. */
bool nl_decimal_us_to_ns(struct nl_str text, int64_t *ns);

/* The same for any unit: the decimal number text × 10^shift (9: seconds → ns, 0: whole numbers). */
bool nl_decimal_shifted(struct nl_str text, int shift, int64_t *value);

/* The nearest double to text × 10^exponent, for plain numbers of up to 15 digits: "-12.5". False
 * for everything else, also for numbers that strtod reads; it is the fast path before strtod. */
bool nl_decimal_short(struct nl_str text, int exponent, double *value);

#endif
