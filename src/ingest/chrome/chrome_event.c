/*
 * The strict pull parser of one event.
 *
 * It is a plain scalar parser, since most of the time goes into keys, numbers and names, not into
 * finding quotes. Speed comes from not looking at anything twice: fields are distinguished by key
 * length and first letters, integers are summed while their end is sought, and containers in args
 * are skipped 64 bytes at a time. Members of containers below args are not checked; they are kept
 * or dropped as text.
 */
#include "ingest/chrome/chrome_event.h"

#include "base/chars.h"
#include "ingest/chrome/chrome_scan.h"

#define HOT __attribute__((always_inline))

#define NEAR_END 16 /* an error this close to the end may be a cut token */

static const char *const arg_keys[] = {
#define CHROME_ARG(id, key, use) key,
#include "ingest/chrome/chrome_args.def"
#undef CHROME_ARG
};

static const char *const field_keys[CHROME_F_COUNT] = {
    [CHROME_F_PH] = "ph",       [CHROME_F_CAT] = "cat",      [CHROME_F_NAME] = "name",
    [CHROME_F_PID] = "pid",     [CHROME_F_TID] = "tid",      [CHROME_F_TS] = "ts",
    [CHROME_F_DUR] = "dur",     [CHROME_F_ID] = "id",        [CHROME_F_ID2] = "id2",
    [CHROME_F_SCOPE] = "scope", [CHROME_F_S] = "s",          [CHROME_F_ARGS] = "args",
    [CHROME_F_BP] = "bp",       [CHROME_F_TTS] = "tts",      [CHROME_F_TDUR] = "tdur",
    [CHROME_F_CNAME] = "cname", [CHROME_F_SF] = "sf",        [CHROME_F_STACK] = "stack",
    [CHROME_F_ESF] = "esf",     [CHROME_F_ESTACK] = "estack"};

void chrome_parser_init(struct chrome_parser *parser)
{
    memset(parser, 0, sizeof *parser);
    for (size_t i = 0; i < CHROME_F_COUNT + 2; i++)
        chrome_steps_init(&parser->field_steps[i]);
    for (size_t c = 0; c < CHROME_CONTEXTS; c++)
        for (size_t i = 0; i < CHROME_ARG_COUNT + 2; i++)
            chrome_steps_init(&parser->arg_steps[c][i]);
    chrome_words_init(&parser->args, arg_keys, CHROME_ARG_COUNT);
    chrome_words_init(&parser->fields, field_keys, CHROME_F_COUNT);
}

static inline enum chrome_status fail_at(const char *p, const char *end)
{
    return p + NEAR_END > end ? CHROME_MORE : CHROME_BAD;
}

static inline bool in_number(char c)
{
    return nl_is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '-' || c == '+';
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* How many of the 8 characters are digits, before the first other one. A digit ^ '0' is under 10;
 * adding 0x76 carries all larger ones into the top bit of their byte. */
static inline unsigned digit_run(uint64_t word)
{
    uint64_t value = word ^ 0x3030303030303030u;
    uint64_t other = ((value + 0x7676767676767676u) | value) & 0x8080808080808080u;
    return other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
}

/* Value of the first `count` (1..8) characters, which are digits: neighbours are joined to
 * pairs, pairs to fours and fours to eight. Each product adds the left one, times 10, 100 or
 * 10000, to the right one. */
static inline uint64_t digits_value(uint64_t word, unsigned count)
{
    word = (word << (64 - count * 8)) & 0x0F0F0F0F0F0F0F0Fu;
    word = word * (10 << 8 | 1) >> 8 & 0x00FF00FF00FF00FFu;
    word = word * (100 << 16 | 1) >> 16 & 0x0000FFFF0000FFFFu;
    return word * (UINT64_C(10000) << 32 | 1) >> 32;
}

static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* Sums digits at p, 8 at a time; returns where they end. */
static inline const char *sum_digits(const char *p, uint64_t *sum)
{
    uint64_t word = chrome_load8(p);
    unsigned count = digit_run(word);
    *sum = count ? digits_value(word, count) : 0;
    p += count;
    while (count == 8) {
        word = chrome_load8(p);
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
    for (*sum = 0; nl_is_digit(*p); p++)
        *sum = *sum * 10 + (uint64_t)(*p - '0');
    return p;
}
#endif

#define THOUSANDTHS_DIGITS 15 /* this many integer digits still fit 64 bits after × 1000 */

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
        if (p > start && p - start <= 3 && digits <= THOUSANDTHS_DIGITS && !in_number(*p)) {
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
    } words[] = {
        {"true", 4, CHROME_BOOL, 1}, {"false", 5, CHROME_BOOL, 0}, {"null", 4, CHROME_NULL, 0}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (memcmp(p, words[i].text, words[i].len) != 0)
            continue;
        *value =
            (struct chrome_value){p, words[i].len, words[i].type, false, false, words[i].number};
        return p + words[i].len;
    }
    return NULL;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static inline bool ends_number(char c)
{
    return c == ',' || c == '}' || (unsigned char)c <= ' ';
}

#define MAX_WHOLE 9000000000000000u /* fits 64 bits as thousandths, and is exact as a double */

/* The usual numbers: up to 16 digits, as microseconds since 1970 have, with up to 3
 * decimals. NULL for all others. */
static inline HOT const char *parse_usual_number(struct chrome_value *value, const char *p)
{
    uint64_t word = chrome_load8(p);
    unsigned count = digit_run(word);
    uint64_t sum = digits_value(word, count);
    const char *stop = p + count;
    if (count == 8) {
        word = chrome_load8(stop);
        count = digit_run(word);
        if (count) {
            sum = sum * powers[count] + digits_value(word, count);
            stop += count;
        }
    }
    value->type = CHROME_INTEGER;
    if (*stop == '.') {
        if (sum > MAX_WHOLE)
            return NULL;
        static const uint32_t scale[] = {0, 100, 10, 1};
        word = chrome_load8(stop + 1);
        count = digit_run(word);
        if (count - 1 >= 3)
            return NULL;
        sum = sum * 1000 + digits_value(word, count) * scale[count];
        stop += count + 1;
        value->type = CHROME_THOUSANDTHS;
    }
    value->ptr = p;
    value->len = (uint32_t)(stop - p);
    value->number = (int64_t)sum;
    return ends_number(*stop) ? stop : NULL;
}
#else
static inline HOT const char *parse_usual_number(struct chrome_value *value, const char *p)
{
    (void)value;
    (void)p;
    return NULL;
}
#endif

__attribute__((noinline)) static enum chrome_status parse_rare(struct chrome_value *value,
                                                               const char **text, const char *end)
{
    const char *p = *text, *stop;
    if ((unsigned char)*p <= ' ') {
        *text = chrome_skip_space(p);
        return chrome_parse_value(value, text, end);
    }
    if (*p == '[' || *p == '{') {
        stop = chrome_container_end(p, end);
        if (!stop)
            return CHROME_MORE;
        value->ptr = p;
        value->len = (uint32_t)(stop - p);
        value->type = *p == '[' ? CHROME_ARRAY : CHROME_OBJECT;
        *text = stop;
        return CHROME_OK;
    }
    stop = *p == 't' || *p == 'f' || *p == 'n' ? parse_word(value, p) : parse_number(value, p);
    if (!stop)
        return fail_at(p, end);
    if (stop >= end)
        return CHROME_MORE;
    *text = stop;
    return CHROME_OK;
}

static inline HOT enum chrome_status parse_value(struct chrome_value *value, const char **text,
                                                 const char *end)
{
    const char *p = *text, *stop;
    value->escaped = value->seen = false;
    if (nl_is_digit(*p) && (stop = parse_usual_number(value, p)) && stop < end) {
        *text = stop;
        return CHROME_OK;
    }
    if (*p != '"') {
        enum chrome_status status = parse_rare(value, &p, end);
        *text = p;
        return status;
    }
    stop = chrome_string_end(p + 1, end, &value->escaped);
    if (stop >= end)
        return CHROME_MORE;
    value->ptr = p + 1;
    value->len = (uint32_t)(stop - p - 1);
    value->type = CHROME_STRING;
    *text = stop + 1;
    return CHROME_OK;
}

enum chrome_status chrome_parse_value(struct chrome_value *value, const char **text,
                                      const char *end)
{
    return parse_value(value, text, end);
}

/* After a key's closing quote: the colon, and where the value begins. */
static inline enum chrome_status parse_colon(const char *p, const char *end, const char **value)
{
    if (*p != ':') {
        p = chrome_skip_space(p);
        if (*p != ':')
            return fail_at(p, end);
    }
    *value = chrome_skip_space(p + 1);
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
    return parse_colon(stop + 1, end, value);
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

/* Where the parsing of an object stands: `before` is the number of the last key, `none` at the
 * start of the object, and `none` + 1 after an unknown key. */
struct members {
    const struct chrome_words *words;
    struct chrome_steps *steps;
    unsigned none, before;
    bool closed, trailing;
    struct nl_str key; /* its text, when it is unknown */
};

/* From the end of a value (or the object's start) to the start of the next, the long way. */
__attribute__((noinline)) static enum chrome_status search_member(struct members *m,
                                                                  const char **at, const char *end)
{
    const char *p = chrome_skip_space(*at), *value;
    enum chrome_status status;
    if (m->before == m->none) {
        m->closed = *p == '}' && p < end;
        p += m->closed;
    } else {
        status = next_member(&p, end, &m->closed, &m->trailing);
        if (status != CHROME_OK)
            return status;
    }
    if (m->closed) {
        *at = p;
        return CHROME_OK;
    }
    status = parse_key(p, end, &m->key, &value);
    if (status != CHROME_OK)
        return status;
    unsigned word = chrome_words_find(m->words, m->key.ptr, m->key.len);
    if (word != CHROME_NO_WORD)
        chrome_step_learn(&m->steps[m->before], *at, value, word);
    m->before = word != CHROME_NO_WORD ? word : m->none + 1;
    *at = value;
    return CHROME_OK;
}

/* The same in one comparison where the text is a known step, else the long way. *key is what
 * struct members calls `before`. */
static inline HOT enum chrome_status next_key(struct members *m, unsigned *key, const char **at,
                                              const char *end)
{
    const struct chrome_step *step = m->steps[*key].step;
    if (chrome_step_matches(step, *at) || chrome_step_matches(++step, *at)) {
        *at += step->len; /* more white space than usual may follow: see parse_rare */
        *key = step->word;
        return CHROME_OK;
    }
    const char *p = chrome_skip_space(*at);
    if (*p == '}' && p < end) { /* the usual end, after a value or of an empty object */
        m->closed = true;
        *at = p + 1;
        return CHROME_OK;
    }
    p = *at;
    m->before = *key;
    enum chrome_status status = search_member(m, &p, end);
    *key = m->before;
    *at = p;
    return status;
}

/* Events with the same kind of arguments, by a few bits of their category. */
static inline unsigned context_of(const struct chrome_event *event)
{
    if (!(event->seen >> CHROME_F_CAT & 1))
        return 0;
    const struct chrome_value *cat = &event->field[CHROME_F_CAT];
    return ((unsigned)(unsigned char)*cat->ptr ^ cat->len) % CHROME_CONTEXTS;
}

/* An array of the arguments, whose text is mostly what it was the last time. */
static inline enum chrome_status parse_array(struct chrome_guess *guess, struct chrome_value *value,
                                             const char **text, const char *end)
{
    uint32_t place = chrome_guess_place(guess);
    const char *p = *text;
    const struct chrome_text_slot *slot = chrome_guess_text(guess, place, p, end);
    if (slot) {
        *value = (struct chrome_value){.ptr = p, .len = slot->len, .type = CHROME_ARRAY};
        *text = p + slot->len;
    } else {
        enum chrome_status status = parse_value(value, text, end);
        if (status != CHROME_OK)
            return status;
        slot = guess->texts ? chrome_texts_slot(guess->texts, chrome_text(value), false) : NULL;
    }
    if (slot) {
        uint32_t number = (uint32_t)(slot - guess->texts->slots);
        guess->places[place] = (uint16_t)number;
        chrome_value_saw(value, number, slot->serial);
    }
    chrome_guess_saw(guess, p, value->len);
    return CHROME_OK;
}

static enum chrome_status parse_args(struct chrome_parser *parser, struct chrome_event *event,
                                     const char **text, const char *end)
{
    struct members m = {.words = &parser->args,
                        .steps = parser->arg_steps[context_of(event)],
                        .none = CHROME_ARG_COUNT};
    const char *at = *text + 1;
    if (event->seen >> CHROME_F_NAME & 1)
        chrome_guess_begin(&parser->guess, event->field[CHROME_F_NAME].ptr,
                           event->field[CHROME_F_NAME].len);
    for (unsigned arg = CHROME_ARG_COUNT;;) {
        enum chrome_status status = next_key(&m, &arg, &at, end);
        if (status != CHROME_OK)
            return status;
        if (m.closed)
            break;
        struct chrome_value skipped, *value = &skipped;
        if (arg < CHROME_ARG_COUNT) {
            value = &event->arg[arg];
            event->args[arg / 64] |= (uint64_t)1 << (arg % 64);
        } else if (event->unknown++ < CHROME_MAX_UNKNOWN) {
            event->unknown_key[event->unknown - 1] = m.key;
        }
        status = arg < CHROME_ARG_COUNT && *at == '[' ? parse_array(&parser->guess, value, &at, end)
                                                      : parse_value(value, &at, end);
        if (status != CHROME_OK)
            return status;
    }
    event->trailing_comma |= m.trailing;
    *text = at;
    return CHROME_OK;
}

static inline void forget_args(struct chrome_event *event)
{
    event->args[0] = event->args[1] = 0;
    event->unknown = 0;
}

/* The value at *at of a field. */
static inline enum chrome_status parse_field(struct chrome_parser *parser,
                                             struct chrome_event *event, unsigned field,
                                             const char **at, const char *end)
{
    struct chrome_value skipped;
    if (field >= CHROME_F_KEPT)
        return parse_value(&skipped, at, end);
    struct chrome_value *value = &event->field[field];
    event->duplicate |= event->seen >> field & 1;
    event->seen |= 1u << field;
    if (field != CHROME_F_ARGS)
        return parse_value(value, at, end);
    forget_args(event);
    *at = chrome_skip_space(*at);
    if (**at != '{')
        return parse_value(value, at, end);
    const char *start = *at;
    const char *p = start;
    enum chrome_status status = parse_args(parser, event, &p, end);
    *value = (struct chrome_value){start, (uint32_t)(p - start), CHROME_OBJECT, false, false, 0};
    *at = p;
    return status;
}

/* Fields that are mostly what they were in the event before. */
#define STEADY_FIELDS                                                                              \
    (1u << CHROME_F_PH | 1u << CHROME_F_CAT | 1u << CHROME_F_PID | 1u << CHROME_F_TID |            \
     1u << CHROME_F_S)

/* Takes a run of steady fields at *at, up to the start of the value of *field. */
static inline HOT bool take_run(struct chrome_parser *parser, struct chrome_event *event,
                                unsigned *field, const char **at, const char *end)
{
    const char *p = *at;
    if (!parser->runs[*field].next || end - p < CHROME_MAX_RUN)
        return false;
    const struct chrome_run *run = chrome_run_find(&parser->runs[*field], p);
    if (!run)
        return false;
    event->duplicate |= (event->seen & run->fields) != 0;
    event->seen |= run->fields;
    for (unsigned i = 0; i < run->count; i++) {
        event->field[run->field[i]] = run->value[i];
        event->field[run->field[i]].ptr = p + run->at[i];
    }
    *field = run->word;
    *at = p + run->len;
    return true;
}

enum chrome_status chrome_parse(struct chrome_parser *parser, struct chrome_event *event,
                                const char **text, const char *end)
{
    event->seen = 0;
    event->duplicate = event->trailing_comma = false;
    forget_args(event);
    struct members m = {
        .words = &parser->fields, .steps = parser->field_steps, .none = CHROME_F_COUNT};
    struct chrome_draft draft = {.count = 0};
    const char *at = *text + 1;
    for (unsigned field = CHROME_F_COUNT;;) {
        enum chrome_status status = CHROME_OK;
        if (!draft.count) {
            draft.from = at;
            draft.key = field;
        }
        if (draft.count || !take_run(parser, event, &field, &at, end)) {
            if ((status = next_key(&m, &field, &at, end)) != CHROME_OK)
                return status;
            if (m.closed)
                break;
        }
        bool steady = STEADY_FIELDS >> field & 1;
        if (draft.count && !steady && field < CHROME_F_COUNT) {
            chrome_run_learn(&parser->runs[draft.key], &draft, at, field);
            draft.count = 0;
        }
        if ((status = parse_field(parser, event, field, &at, end)) != CHROME_OK)
            return status;
        if (steady)
            chrome_draft_add(&draft, field, &event->field[field]);
        else
            draft.count = 0;
    }
    event->trailing_comma |= m.trailing;
    *text = at;
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
