/* Tables of lines. All three run through the code from its beginning. */
#include "capture/python/pylines.h"

#define NO_LINE (-128)
#define MARK    0x80u /* first byte of an entry */

enum {
    COLUMN_ONE_LINE = 10,
    COLUMN_LAST_LINE = 12,
    NO_COLUMNS = 13,
    LONG_FORM = 14,
    NO_PLACE = 15
};

/* Sums of lines stay far from the ends of the type, whatever the table says. */
static int32_t add_line(int32_t line, int32_t step)
{
    int64_t sum = (int64_t)line + step;
    return sum > 0 && sum < INT32_MAX / 2 ? (int32_t)sum : 0;
}

/* (bytes of code, signed step of the line) that applies after these bytes. */
static int32_t find_lnotab(const unsigned char *bytes, size_t count, int32_t line, int32_t at)
{
    int64_t code = 0;
    for (size_t i = 0; i + 1 < count; i += 2) {
        code += bytes[i];
        if (code > at)
            break;
        line = add_line(line, (signed char)bytes[i + 1]);
    }
    return line;
}

/* (bytes of code, signed step of the line) that applies to these bytes. */
static int32_t find_pairs(const unsigned char *bytes, size_t count, int32_t line, int32_t at)
{
    int64_t code = 0;
    for (size_t i = 0; i + 1 < count; i += 2) {
        int step = (signed char)bytes[i + 1];
        code += bytes[i];
        if (step != NO_LINE)
            line = add_line(line, step);
        if (code > at)
            return step == NO_LINE ? 0 : line;
    }
    return 0;
}

/* Six bits a byte, the lowest first, bit 6 says that more follow; the
 * lowest bit of all is the sign. */
static int32_t signed_number(const unsigned char *bytes, size_t count, size_t from)
{
    uint64_t value = 0;
    for (unsigned shift = 0; from < count && shift < 36; from++, shift += 6) {
        value |= (uint64_t)(bytes[from] & 0x3f) << shift;
        if (!(bytes[from] & 0x40))
            break;
    }
    int64_t half = (int64_t)(value >> 1 & INT32_MAX);
    return (int32_t)(value & 1 ? -half : half);
}

/* Entries: mark, kind in bits 3 to 6, instructions of two bytes less one in bits 0 to 2; then what
 * the kind says, in bytes without the mark. */
static int32_t find_locations(const unsigned char *bytes, size_t count, int32_t line, int32_t at)
{
    int64_t code = 0;
    for (size_t i = 0; i < count;) {
        unsigned kind = bytes[i] >> 3 & 15;
        code += 2 * ((bytes[i] & 7) + 1);
        int32_t step = 0;
        if (kind == NO_COLUMNS || kind == LONG_FORM)
            step = signed_number(bytes, count, i + 1);
        else if (kind >= COLUMN_ONE_LINE && kind <= COLUMN_LAST_LINE)
            step = (int32_t)kind - COLUMN_ONE_LINE;
        line = add_line(line, step);
        if (code > at)
            return kind == NO_PLACE ? 0 : line;
        for (i++; i < count && !(bytes[i] & MARK); i++)
            ;
    }
    return 0;
}

int32_t pylines_find(enum pylines format, const unsigned char *bytes, size_t count, int32_t first,
                     int32_t at)
{
    if (at < 0)
        return first;
    switch (format) {
    case PYLINES_LNOTAB: return find_lnotab(bytes, count, first, at);
    case PYLINES_PAIRS: return find_pairs(bytes, count, first, at);
    case PYLINES_LOCATIONS: return find_locations(bytes, count, first, at);
    }
    return 0;
}
