#include "mutate.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

bool mutate_alone;

struct change {
    uint8_t *data;
    size_t size, room;
    uint64_t random;
};

static size_t below(struct change *c, size_t limit)
{
    uint64_t x = c->random;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    c->random = x;
    return limit ? (size_t)((x * 0x2545F4914F6CDD1Du >> 33) % limit) : 0;
}

/* Puts other bytes in place of data[at, at + len); nothing where there is no room. */
static void replace(struct change *c, size_t at, size_t len, const void *bytes, size_t count)
{
    if (c->size - len + count > c->room)
        return;
    memmove(c->data + at + count, c->data + at + len, c->size - at - len);
    if (count)
        memcpy(c->data + at, bytes, count);
    c->size = c->size - len + count;
}

/* ---- text ---- */

static const char *const odd_numbers[] = {
    "-1",
    "0",
    "-0.0",
    "1",
    "0.5",
    "-0.5",
    "1e308",
    "-1e308",
    "1e999",
    "-1e999",
    "1e-320",
    "NaN",
    "inf",
    "null",
    "9.3e18",
    "-9.3e18",
    "1.9e19",
    "255",
    "65536",
    "2147483648",
    "-2147483649",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "2305843009213693953",
    "-2305843009213693953",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "\"1\"",
    "00",
    "1.5.2",
    "",
};
static const char *const odd_words[] = {
    "",
    "0",
    "-1",
    "\\u0000",
    "\\ud800",
    "\033[31m",
    "\xff\xfe",
    "../../x",
    "nan",
    "%s%n",
    "=1+1",
    "void gemm<float, 4096>(float const*)",
    "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
};
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static bool in_number(uint8_t byte)
{
    return isdigit(byte) || byte == '.' || byte == '-' || byte == '+' || byte == 'e';
}

/* The number at or behind a place by chance. */
static void change_number(struct change *c)
{
    size_t at = below(c, c->size), end;
    while (at < c->size && !isdigit(c->data[at]))
        at++;
    while (at > 0 && in_number(c->data[at - 1]))
        at--;
    for (end = at; end < c->size && in_number(c->data[end]);)
        end++;
    const char *odd = odd_numbers[below(c, COUNT(odd_numbers))];
    replace(c, at, end - at, odd, strlen(odd));
}

/* The quoted text behind a place by chance becomes an odd one. */
static void change_word(struct change *c)
{
    size_t at = below(c, c->size);
    uint8_t *from = memchr(c->data + at, '"', c->size - at), *to;
    if (!from)
        return;
    at = (size_t)(from - c->data) + 1;
    to = memchr(c->data + at, '"', c->size - at);
    const char *odd = odd_words[below(c, COUNT(odd_words))];
    if (to)
        replace(c, at, (size_t)(to - c->data) - at, odd, strlen(odd));
}

/* A line, or what stands between two commas or brackets, goes or comes twice. */
static void change_part(struct change *c)
{
    static const char marks[] = "\n,{[;";
    char mark = marks[below(c, sizeof marks - 1)];
    size_t at = below(c, c->size);
    uint8_t *from = memchr(c->data + at, mark, c->size - at), *to;
    if (!from)
        return;
    at = (size_t)(from - c->data);
    to = memchr(from + 1, mark, c->size - at - 1);
    size_t len = to ? (size_t)(to - from) : c->size - at;
    if (below(c, 2) || len > 4096) {
        replace(c, at, len, NULL, 0);
    } else {
        uint8_t copy[4096];
        memcpy(copy, from, len);
        replace(c, at, 0, copy, len);
    }
}

static void change_text(struct change *c)
{
    switch (below(c, 8)) {
    case 0:
    case 1: change_word(c); break;
    case 2: change_part(c); break;
    default: change_number(c); break;
    }
}

/* ---- bytes ---- */

static const uint64_t odd_wholes[] = {
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0xffff,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    (uint64_t)1 << 53,
    ((uint64_t)1 << 61) + 1,
    INT64_MAX,
    (uint64_t)INT64_MAX + 1,
    UINT64_MAX - 1,
    UINT64_MAX,
};

/* Eight, four, two or one byte at a place by chance: a whole number, a
 * double, a float or a varint. */
static void change_value(struct change *c)
{
    static const double reals[] = {-1, -0.0, 0.5, 1e308, -1e308, 9.3e18, -9.3e18, 1e-320};
    double real = below(c, 5) ? reals[below(c, COUNT(reals))] : below(c, 2) ? NAN : INFINITY;
    float small = (float)(fabs(real) > 3e38 ? 3e38 : real);
    uint64_t whole = odd_wholes[below(c, COUNT(odd_wholes))], bytes = 0;
    size_t len = (size_t)1 << below(c, 4);
    if (c->size < len)
        return;
    size_t at = below(c, c->size - len + 1);
    memcpy(&bytes, len == 8 && below(c, 2) ? (const void *)&real : (const void *)&whole, 8);
    if (len == 4 && below(c, 2))
        memcpy(&bytes, &small, 4);
    if (below(c, 6) == 0)
        bytes = __builtin_bswap64(bytes) >> (64 - 8 * len);
    if (below(c, 6) == 0) {
        static const uint8_t varint[] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 1};
        replace(c, at, 1, varint, sizeof varint);
    } else {
        memcpy(c->data + at, &bytes, len);
    }
}

static void change_range(struct change *c)
{
    uint8_t copy[256];
    size_t at = below(c, c->size), len = 1 + below(c, sizeof copy);
    len = len < c->size - at ? len : c->size - at;
    memcpy(copy, c->data + at, len);
    switch (below(c, 3)) {
    case 0: replace(c, at, len, NULL, 0); break;
    case 1: replace(c, below(c, c->size), 0, copy, len); break;
    default: c->size = at; break; /* cut */
    }
}

static void change_bytes(struct change *c)
{
    switch (below(c, 8)) {
    case 0: change_range(c); break;
    case 1:
    case 2: c->data[below(c, c->size)] ^= (uint8_t)(1u << below(c, 8)); break;
    case 3: c->data[below(c, c->size)] = (uint8_t)below(c, 256); break;
    default: change_value(c); break;
    }
}

size_t mutate_form(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct change change = {data, size, max_size, (seed + 1) * 0x9E3779B97F4A7C15u | 1},
                  *c = &change;
    if (!max_size)
        return 0;
    if (!size)
        data[c->size++] = (uint8_t)below(c, 256);
    bool binary = memchr(data, 0, c->size < 256 ? c->size : 256) != NULL;
    for (size_t more = 1 + below(c, 4); more && c->size; more--) {
        if (below(c, 4) ? binary : !binary)
            change_bytes(c);
        else
            change_text(c);
    }
    return c->size;
}

size_t mutate_any(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return mutate_alone ? mutate_form(data, size, max_size, seed)
                        : LLVMFuzzerMutate(data, size, max_size);
}
