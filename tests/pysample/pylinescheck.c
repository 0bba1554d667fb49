/* Holds pylines against what interpreters say of their own code (lines.py);
 * prints the first differences. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/python/pylines.h"

#define MAX_TABLE (1u << 20)

static unsigned char table[MAX_TABLE];
static char hex[2 * MAX_TABLE + 1];

static size_t read_hex(void)
{
    size_t count = 0;
    for (const char *at = hex; at[0] && at[1] && at[0] != '-'; at += 2) {
        const char digits[3] = {at[0], at[1], '\0'};
        table[count++] = (unsigned char)strtoul(digits, NULL, 16);
    }
    return count;
}

int main(void)
{
    unsigned format;
    int first, at, line;
    unsigned long codes = 0, checked = 0, wrong = 0;
    while (scanf("%u %d %2097152s", &format, &first, hex) == 3) {
        size_t count = read_hex();
        codes++;
        while (scanf("%d %d", &at, &line) == 2) {
            int got = pylines_find((enum pylines)format, table, count, first, at);
            checked++;
            if (got != line && wrong++ < 5)
                printf("code %lu, first line %d, at %d: %d, want %d\n", codes, first, at, got,
                       line);
        }
        (void)!scanf(" .");
    }
    printf("%lu code objects, %lu instructions, %lu wrong\n", codes, checked, wrong);
    return wrong || checked < 1000;
}
