/* units: reading and writing numbers as people do, and exact decimals. */
#include "check.h"

#include "base/shortest.h"
#include "base/units.h"

#include <math.h>

static void formats_times(void)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0 ns"},
        {999, "999 ns"},
        {1000, "1.000 µs"},
        {1234567, "1.235 ms"},
        {12345678, "12.35 ms"},
        {123456789, "123.5 ms"},
        {3210000000, "3.210 s"},
        {90000000000, "90.00 s"},
        {7200000000000, "2 h 0 min"},
        {-1500000, "-1.500 ms"},
        {INT64_MIN, "-"},
    };
    char out[NL_UNIT_TEXT];
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        CHECK_TEXT(nl_format_ns(out, cases[i].ns), cases[i].text);
}

static void formats_the_shortest(void)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {0.1, "0.1"},
        {-2.5, "-2.5"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e300, "1e+300"},
        {5e-324, "4.94065645841247e-324"},
        {-1.7976931348623157e308, "-1.7976931348623157e+308"},
    };
    char out[NL_UNIT_TEXT];
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        CHECK_TEXT(nl_format_shortest(out, cases[i].value), cases[i].text);
}

/* What the shortest must be, by printf and strtod alone. */
static void check_shortest(double value)
{
    char out[NL_UNIT_TEXT], want[NL_UNIT_TEXT];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(want, sizeof want, "%.*g", digits, value);
        if (strtod(want, NULL) == value)
            break;
    }
    CHECK_TEXT(nl_format_shortest(out, value), want);
}

/* Ends of what is done without printf, both neighbours of powers of ten and of two, texts of each
 * length and quotients. */
static void formats_the_shortest_as_printf(void)
{
    uint64_t random = 7;
    char text[NL_UNIT_TEXT];
    for (int i = -60; i <= 60; i++) {
        snprintf(text, sizeof text, "1e%d", i);
        double values[] = {strtod(text, NULL), ldexp(1, i), ldexp(3, i), i / 128.0};
        for (size_t k = 0; k < CHECK_LENGTH(values); k++) {
            check_shortest(-values[k]);
            check_shortest(nextafter(values[k], 0));
            check_shortest(nextafter(values[k], INFINITY));
        }
    }
    for (int i = 0; i < 20000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        snprintf(text, sizeof text, "%.*g", 1 + i % 17, (double)random * pow(10, i % 29 - 33));
        check_shortest(strtod(text, NULL));
        check_shortest((double)(random >> 40) / (1 + i));
    }
}

static void formats_others(void)
{
    char out[NL_UNIT_TEXT];
    CHECK_TEXT(nl_format_bytes(out, 0), "0 B");
    CHECK_TEXT(nl_format_bytes(out, 1023), "1023 B");
    CHECK_TEXT(nl_format_bytes(out, 1536), "1.500 KiB");
    CHECK(strstr(nl_format_bytes(out, UINT64_MAX), "EiB") != NULL);
    CHECK_TEXT(nl_format_count(out, 0), "0");
    CHECK_TEXT(nl_format_count(out, 999), "999");
    CHECK_TEXT(nl_format_count(out, 1000), "1,000");
    CHECK_TEXT(nl_format_count(out, 12345678), "12,345,678");
    CHECK_TEXT(nl_format_count(out, UINT64_MAX), "18,446,744,073,709,551,615");
    CHECK_TEXT(nl_format_percent(out, 0.123), "12.3 %");
    CHECK_TEXT(nl_format_percent(out, (double)NAN), "-");
    CHECK_TEXT(nl_format_rate(out, 1.25e9), "1.250 GB/s");
}

static void parses_sizes(void)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t bytes;
    } cases[] = {
        {"1024", true, 1024},
        {"512M", true, 512u << 20},
        {"4GiB", true, (uint64_t)4 << 30},
        {"4gb", true, (uint64_t)4 << 30},
        {"1.5k", true, 1536},
        {"0", true, 0},
        {"7B", true, 7},
        {"", false, 0},
        {"abc", false, 0},
        {"-1", false, 0},
        {"1X", false, 0},
        {"1e30", false, 0},
        {"12 MiB", true, 12u << 20},
        {"nan", false, 0},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        uint64_t bytes = 0;
        check_case(cases[i].text);
        CHECK_INT(nl_parse_bytes(nl_str(cases[i].text), &bytes), cases[i].good);
        CHECK_INT(bytes, cases[i].bytes);
    }
}

static void parses_times(void)
{
    static const struct {
        const char *text;
        bool good;
        int64_t ns;
    } cases[] = {
        {"42", true, 42},
        {"42ns", true, 42},
        {"10us", true, 10000},
        {"350ms", true, 350000000},
        {"1.2s", true, 1200000000},
        {"2min", true, 120000000000},
        {"-5ms", true, -5000000},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"1h30", false, 0},
        {"", false, 0},
        {"s", false, 0},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        int64_t ns = 0;
        check_case(cases[i].text);
        bool good = nl_parse_ns(nl_str(cases[i].text), &ns);
        CHECK_INT(good, cases[i].good);
        if (good)
            CHECK_INT(ns, cases[i].ns);
    }
}

static void parses_integers(void)
{
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"+7", true, 7},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"1 ", false, 0},
        {"0x10", false, 0},
        {"1.0", false, 0},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        int64_t value = 0;
        check_case(cases[i].text);
        bool good = nl_parse_i64(nl_str(cases[i].text), &value);
        CHECK_INT(good, cases[i].good);
        if (good)
            CHECK_INT(value, cases[i].value);
    }
}

/* Exactness: these digits do not survive a trip through a double. */
static void decimals_are_exact(void)
{
    static const struct {
        const char *text;
        bool good;
        int64_t ns;
    } cases[] = {
        {"1365627887021.673", true, 1365627887021673},
        {"6339345678901234.567", true, 6339345678901234567},
        {"1763603234567890.123", true, 1763603234567890123},
        {"0", true, 0},
        {"-0.001", true, -1},
        {"0.0004", true, 0},
        {"0.0005", true, 1},
        {"-0.0005", true, -1},
        {"1e3", true, 1000000},
        {"1.5E-3", true, 2}, /* 1.5 ns, half away from zero */
        {"12.", true, 12000},
        {".5", true, 500},
        {"9223372036854775.807", true, INT64_MAX},
        {"9223372036854775.808", false, 0},
        {"1e300", false, 0},
        {"0e300", true, 0},
        {"1e-300", true, 0},
        {"", false, 0},
        {"-", false, 0},
        {".", false, 0},
        {"1.2.3", false, 0},
        {"1e", false, 0},
        {"NaN", false, 0},
        {"12 ", false, 0},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        int64_t ns = 0;
        check_case(cases[i].text);
        bool good = nl_decimal_us_to_ns(nl_str(cases[i].text), &ns);
        CHECK_INT(good, cases[i].good);
        if (good && cases[i].good)
            CHECK_INT(ns, cases[i].ns);
    }
}

/* Property: text of (whole µs, ns part) reads back as the same ns, over all magnitudes. */
static void decimals_round_trip(void)
{
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        int64_t want = (int64_t)(state >> (1 + state % 60));
        char text[64];
        snprintf(text, sizeof text, "%" PRId64 ".%03d", want / 1000, (int)(want % 1000));
        int64_t got = -1;
        CHECK(nl_decimal_us_to_ns(nl_str(text), &got));
        CHECK_INT(got, want);
    }
}

static void short_decimals_are_the_nearest_double(void)
{
    static const char *const others[] = {
        "", "-", ".", "-.5", "+1", "1e5", "1.2.3", "12a", "1234567890123456", "0x10", "nan", " 1"};
    double value;
    for (size_t i = 0; i < CHECK_LENGTH(others); i++)
        CHECK(!nl_decimal_short(nl_str(others[i]), 0, &value));
    CHECK(!nl_decimal_short(nl_str("1"), 23, &value));
    CHECK(nl_decimal_short(nl_str("-0"), 0, &value) && signbit(value));
    CHECK(nl_decimal_short(nl_str("5."), 3, &value) && value == 5000);
    uint64_t state = 3;
    for (int i = 0; i < 200000; i++) {
        char text[64], scaled[80];
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned digits = 1 + (unsigned)(state >> 40) % 15, point = (unsigned)(state >> 50) % 16;
        int exponent = (int)(state >> 56) % 9 - 4, len = 0;
        if (state >> 63)
            text[len++] = '-';
        uint64_t left = state >> 3;
        for (unsigned k = 0; k < digits; k++, left = left * 2862933555777941757u + 3037000493u) {
            text[len++] = (char)('0' + (left >> 33) % 10);
            if (k + 1 == point && digits < 15)
                text[len++] = '.';
        }
        text[len] = '\0';
        snprintf(scaled, sizeof scaled, "%se%d", text, exponent);
        CHECK(nl_decimal_short(nl_str(text), exponent, &value) && value == strtod(scaled, NULL));
    }
}

CHECK_MAIN("units", {"formats times", formats_times},
           {"formats the shortest", formats_the_shortest},
           {"formats the shortest as printf", formats_the_shortest_as_printf},
           {"formats others", formats_others}, {"parses sizes", parses_sizes},
           {"parses times", parses_times}, {"parses integers", parses_integers},
           {"decimals are exact", decimals_are_exact}, {"decimals round-trip", decimals_round_trip},
           {"short decimals are the nearest double", short_decimals_are_the_nearest_double})
