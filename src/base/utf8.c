/* The well-formed sequences as table 3-7 of the Unicode Standard lists them. */
#include "base/utf8.h"

size_t nl_utf8_length(const unsigned char *p, size_t left)
{
    static const struct {
        unsigned char low, high, second_low, second_high;
        size_t len;
    } forms[] = {{0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
                 {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3},
                 {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
                 {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (p[0] < forms[i].low || p[0] > forms[i].high || left < forms[i].len)
            continue;
        if (p[1] < forms[i].second_low || p[1] > forms[i].second_high)
            return 0;
        for (size_t k = 2; k < forms[i].len; k++)
            if ((p[k] & 0xC0) != 0x80)
                return 0;
        return forms[i].len;
    }
    return 0;
}
