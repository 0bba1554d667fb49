/*
 * The strict pull parser of one event.
 *
 * It is a plain scalar parser, since most of the time goes into keys, numbers and names, not into
 * finding quotes. Speed comes from not looking at anything twice: fields are told apart by key
 * length and first letters, integers are summed while their end is sought, and containers in args
 * are skipped 64 bytes at a time. Members of containers below args are not checked; they are kept
 * or dropped as text.
 */
#include "ingest/chrome_event.h"

#include "ingest/chrome_scan.h"

#define NEAR_END 16 /* an error this close to the end may be a cut token */

static const char *const arg_keys[] = {
#define CHROME_ARG(id, key, use) key,
#include "ingest/chrome_args.def"
#undef CHROME_ARG
};

enum arg_use {
    KEEP,
    SKIP
};

static const uint8_t arg_uses[] = {
#define CHROME_ARG(id, key, use) use,
#include "ingest/chrome_args.def"
#undef CHROME_ARG
};

void chrome_args_init(struct chrome_words *words)
{
    chrome_words_init(words, arg_keys, CHROME_ARG_COUNT);
}

bool chrome_arg_skipped(enum chrome_arg arg)
{
    return arg_uses[arg] == SKIP;
}

static inline enum chrome_status fail_at(const char *p, const char *end)
{
    return p + NEAR_END > end ? CHROME_MORE : CHROME_BAD;
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static inline bool in_number(char c)
{
    return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '-' || c == '+';
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* How many of the 8 characters are digits before the first that is none. */
static inline unsigned digit_run(uint64_t word)
{
    uint64_t value = word ^ 0x3030303030303030u;
    uint64_t other = ((value + 0x7676767676767676u) | value) & 0x8080808080808080u;
    return other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
}

/* Value of the first `count` (1..8) characters, which are digits. */
static inline uint64_t digits_value(uint64_t word, unsigned count)
{
    word = (word << (64 - count * 8)) & 0x0F0F0F0F0F0F0F0Fu;
    word = (word * 2561) >> 8 & 0x00FF00FF00FF00FFu;
    word = (word * 6553601) >> 16 & 0x0000FFFF0000FFFFu;
    return (word * 42949672960001u) >> 32;
}

static const uint64_t powers[] = {1,      10,      100,      1000,     10000,
                                  100000, 1000000, 10000000, 100000000};

/* Sums digits at p, 8 at a time; returns where they end. */
static inline const char *sum_digits(const char *p, uint64_t *sum)
{
    unsigned count = 8;
    *sum = 0;
    while (count == 8) {
        uint64_t word = chrome_load8(p);
        count = digit_run(word);
        if (!count)
            break;
        *sum = *sum * powers[count] + digits_value(word, count);
        p += count;
    }
    return p;
}
#else
static inline const char *sum_digits(const char *p, uint64_t *sum)
{
    for (*sum = 0; is_digit(*p); p++)
        *sum = *sum * 10 + (uint64_t)(*p - '0');
    return p;
}
#endif

#define THOUSANDS_DIGITS 15 /* so many before the point, times 1000, fit 64 bits */

/* What follows the digits of a number: a short fraction is kept as thousandths. */
static inline const char *parse_fraction(struct chrome_value *value, const char *p,
                                         ptrdiff_t digits, uint64_t *sum)
{
    static const uint64_t scale[] = {0, 100, 10, 1};
    uint64_t fraction;
    value->type = CHROME_DECIMAL;
    if (*p == '.') {
        const char *start = p + 1;
        p = sum_digits(start, &fraction);
        if (p > start && p - start <= 3 && digits <= THOUSANDS_DIGITS && !in_number(*p)) {
            value->type = CHROME_THOUSANDTHS;
            *sum = *sum * 1000 + fraction * scale[p - start];
            return p;
        }
    }
    while (in_number(*p))
        p++;
    return p;
}

/* A number at p; what follows the digits decides whether it is an integer. */
static inline const char *parse_number(struct chrome_value *value, const char *p)
{
    const char *start = p;
    bool negative = *p == '-';
    p += negative;
    const char *digits = p;
    uint64_t sum;
    p = sum_digits(p, &sum);
    value->type = CHROME_INTEGER;
    if (p == digits)
        return NULL;
    if (in_number(*p))
        p = parse_fraction(value, p, p - digits, &sum);
    else if (p - digits > 19)
        value->type = CHROME_DECIMAL;
    value->number = (int64_t)(negative ? 0 - sum : sum);
    value->ptr = start;
    value->len = (uint32_t)(p - start);
    return p;
}

static const char *parse_word(struct chrome_value *value, const char *p)
{
    static const struct {
        const char *text;
        uint8_t len, type, number;
    } words[] = {{"true", 4, CHROME_BOOL, 1}, {"false", 5, CHROME_BOOL, 0}, {"null", 4, CHROME_NULL, 0}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (memcmp(p, words[i].text, words[i].len) != 0)
            continue;
        *value = (struct chrome_value){p, words[i].len, words[i].type, false, words[i].number};
        return p + words[i].len;
    }
    return NULL;
}

enum chrome_status chrome_parse_value(struct chrome_value *value, const char **text,
                                      const char *end)
{
    const char *p = *text, *stop;
    value->escaped = false;
    switch (*p) {
    case '"':
        stop = chrome_string_end(p + 1, end, &value->escaped);
        if (stop >= end)
            return CHROME_MORE;
        value->ptr = p + 1;
        value->len = (uint32_t)(stop - p - 1);
        value->type = CHROME_STRING;
        *text = stop + 1;
        return CHROME_OK;
    case '[':
    case '{':
        stop = chrome_container_end(p, end);
        if (!stop)
            return CHROME_MORE;
        value->ptr = p;
        value->len = (uint32_t)(stop - p);
        value->type = *p == '[' ? CHROME_ARRAY : CHROME_OBJECT;
        *text = stop;
        return CHROME_OK;
    case 't':
    case 'f':
    case 'n': stop = parse_word(value, p); break;
    default: stop = parse_number(value, p); break;
    }
    if (!stop)
        return fail_at(p, end);
    if (stop >= end)
        return CHROME_MORE;
    *text = stop;
    return CHROME_OK;
}

/* A key at p (at its '"') and the colon after it; *value is where its value begins. */
static inline enum chrome_status parse_key(const char *p, const char *end, struct nl_str *key,
                                           const char **value)
{
    if (*p != '"')
        return fail_at(p, end);
    bool escaped = false;
    const char *stop = chrome_string_end(p + 1, end, &escaped);
    if (stop >= end)
        return CHROME_MORE;
    *key = (struct nl_str){p + 1, (size_t)(stop - p - 1)};
    p = stop + 1;
    if (*p != ':') {
        p = chrome_skip_space(p);
        if (*p != ':')
            return fail_at(p, end);
    }
    *value = chrome_skip_space(p + 1);
    return CHROME_OK;
}

/* After a value: ',' moves on to the next key (true), '}' ends the object (*closed). */
static inline enum chrome_status next_member(const char **text, const char *end, bool *closed,
                                             bool *trailing)
{
    const char *p = chrome_skip_space(*text);
    if (*p == ',') {
        p = chrome_skip_space(p + 1);
        if (*p != '}') {
            *text = p;
            return CHROME_OK;
        }
        *trailing = true;
    }
    if (*p != '}' || p >= end)
        return fail_at(p, end);
    *closed = true;
    *text = p + 1;
    return CHROME_OK;
}

static enum chrome_status parse_args(struct chrome_event *event, const struct chrome_words *words,
                                     const char **text, const char *end)
{
    const char *p = chrome_skip_space(*text + 1);
    bool closed = *p == '}' && p < end;
    if (closed)
        p++;
    while (!closed) {
        struct nl_str key;
        const char *at;
        enum chrome_status status = parse_key(p, end, &key, &at);
        if (status != CHROME_OK)
            return status;
        struct chrome_value skipped, *value = &skipped;
        unsigned arg = chrome_words_find(words, key.ptr, key.len);
        if (arg != CHROME_NO_WORD) {
            value = &event->arg[arg];
            event->args[arg / 64] |= (uint64_t)1 << (arg % 64);
        } else if (event->unknown++ < CHROME_UNKNOWN_MAX) {
            event->unknown_key[event->unknown - 1] = key;
        }
        if ((status = chrome_parse_value(value, &at, end)) != CHROME_OK ||
            (status = next_member(&at, end, &closed, &event->trailing_comma)) != CHROME_OK)
            return status;
        p = at;
    }
    *text = p;
    return CHROME_OK;
}

#define KEY2(a, b)    ((unsigned)(a) | (unsigned)(b) << 8)
#define KEY3(a, b, c) (KEY2(a, b) | (unsigned)(c) << 16)

/* Field of a key, CHROME_F_COUNT when it is none that is kept. */
static inline enum chrome_field field_of(struct nl_str key)
{
    unsigned word = (unsigned)chrome_load8(key.ptr);
    switch (key.len) {
    case 1: return *key.ptr == 's' ? CHROME_F_S : CHROME_F_COUNT;
    case 2:
        switch (word & 0xffff) {
        case KEY2('p', 'h'): return CHROME_F_PH;
        case KEY2('t', 's'): return CHROME_F_TS;
        case KEY2('i', 'd'): return CHROME_F_ID;
        default: return CHROME_F_COUNT;
        }
    case 3:
        switch (word & 0xffffff) {
        case KEY3('c', 'a', 't'): return CHROME_F_CAT;
        case KEY3('p', 'i', 'd'): return CHROME_F_PID;
        case KEY3('t', 'i', 'd'): return CHROME_F_TID;
        case KEY3('d', 'u', 'r'): return CHROME_F_DUR;
        case KEY3('i', 'd', '2'): return CHROME_F_ID2;
        default: return CHROME_F_COUNT;
        }
    case 4:
        if (memcmp(key.ptr, "name", 4) == 0)
            return CHROME_F_NAME;
        return memcmp(key.ptr, "args", 4) == 0 ? CHROME_F_ARGS : CHROME_F_COUNT;
    case 5: return memcmp(key.ptr, "scope", 5) == 0 ? CHROME_F_SCOPE : CHROME_F_COUNT;
    default: return CHROME_F_COUNT;
    }
}

static inline void forget_args(struct chrome_event *event)
{
    event->args[0] = event->args[1] = 0;
    event->unknown = 0;
}

/* One member: key already read, *at is its value. */
static inline enum chrome_status parse_field(struct chrome_event *event,
                                             const struct chrome_words *args, struct nl_str key,
                                             const char **at, const char *end)
{
    enum chrome_field field = field_of(key);
    struct chrome_value skipped;
    if (field == CHROME_F_COUNT)
        return chrome_parse_value(&skipped, at, end);
    struct chrome_value *value = &event->field[field];
    event->duplicate |= event->seen >> field & 1;
    event->seen |= 1u << field;
    if (field != CHROME_F_ARGS)
        return chrome_parse_value(value, at, end);
    forget_args(event);
    if (**at != '{')
        return chrome_parse_value(value, at, end);
    const char *start = *at;
    enum chrome_status status = parse_args(event, args, at, end);
    *value = (struct chrome_value){start, (uint32_t)(*at - start), CHROME_OBJECT, false, 0};
    return status;
}

enum chrome_status chrome_parse(struct chrome_event *event, const struct chrome_words *args,
                                const char **text, const char *end)
{
    event->seen = 0;
    event->duplicate = event->trailing_comma = false;
    forget_args(event);
    const char *p = chrome_skip_space(*text + 1);
    bool closed = *p == '}' && p < end;
    if (closed)
        p++;
    while (!closed) {
        struct nl_str key;
        const char *at;
        enum chrome_status status = parse_key(p, end, &key, &at);
        if (status != CHROME_OK)
            return status;
        if ((status = parse_field(event, args, key, &at, end)) != CHROME_OK ||
            (status = next_member(&at, end, &closed, &event->trailing_comma)) != CHROME_OK)
            return status;
        p = at;
    }
    *text = p;
    return CHROME_OK;
}

bool chrome_member(const char **text, const char *end, struct nl_str *key,
                   struct chrome_value *value)
{
    const char *p = chrome_skip_space(*text);
    if (p >= end || (*p != '{' && *p != ','))
        return false;
    p = chrome_skip_space(p + 1);
    if (p >= end || *p != '"' || parse_key(p, end, key, &p) != CHROME_OK || p >= end)
        return false;
    if (chrome_parse_value(value, &p, end) != CHROME_OK)
        return false;
    *text = p;
    return true;
}
