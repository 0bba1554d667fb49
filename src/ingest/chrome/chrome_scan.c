/*
 * The long scans: quote parity and bracket depth for 64 bytes at a time, as bit masks.
 *
 * A cut must be exact, because a block that starts in the middle of an event would be read as
 * something else; so the scan follows every quote, escape and bracket. It runs over a whole block
 * for the depth alone, remembering the state every SEGMENT bytes, and then looks for the last
 * event's end in the last segments only.
 */
#define _GNU_SOURCE
#include "ingest/chrome/chrome_scan.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define HAVE_AVX2 1
#endif

#define WORD    64
#define WORDS   64
#define SEGMENT (WORD * WORDS)

struct masks {
    uint64_t quote, slash, open, close;
    uint64_t parity; /* of the quotes up to each byte, as if none was escaped */
};

#define FOLD 0x20 /* '[' | 0x20 is '{', ']' | 0x20 is '}' */

/* Bit i of the result is the parity of bits 0..i. */
static inline uint64_t prefix_parity(uint64_t bits)
{
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^= bits << 32;
    return bits;
}

static inline void masks_plain(const char *p, struct masks *m)
{
    *m = (struct masks){0};
#ifdef __SSE2__
    for (unsigned i = 0; i < WORD; i += 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i fold = _mm_or_si128(text, _mm_set1_epi8(FOLD));
#define BITS(vector, c)                                                                            \
    ((uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(vector, _mm_set1_epi8(c))) << i)
        m->quote |= BITS(text, '"');
        m->slash |= BITS(text, '\\');
        m->open |= BITS(fold, '{');
        m->close |= BITS(fold, '}');
#undef BITS
    }
#else
    for (unsigned i = 0; i < WORD; i++) {
        uint64_t bit = (uint64_t)1 << i;
        char c = p[i];
        m->quote |= c == '"' ? bit : 0;
        m->slash |= c == '\\' ? bit : 0;
        m->open |= c == '{' || c == '[' ? bit : 0;
        m->close |= c == '}' || c == ']' ? bit : 0;
    }
#endif
    m->parity = prefix_parity(m->quote);
}

/* Bits of bytes that a backslash escapes. Walks the backslashes one by one: they are rare. */
static inline uint64_t escaped_bits(uint64_t slash, uint64_t *carry)
{
    uint64_t escaped = *carry;
    slash &= ~escaped;
    *carry = 0;
    while (slash) {
        unsigned at = (unsigned)__builtin_ctzll(slash);
        slash &= slash - 1;
        if (at == 63) {
            *carry = 1;
            break;
        }
        escaped |= (uint64_t)1 << (at + 1);
        slash &= ~((uint64_t)1 << (at + 1));
    }
    return escaped;
}

/* Masks → brackets outside strings; moves the string state over the word. */
static inline __attribute__((always_inline)) void outside(struct masks *m, struct chrome_walk *walk)
{
    if (m->slash | walk->escaped) {
        uint64_t plain = ~escaped_bits(m->slash, &walk->escaped);
        m->parity = prefix_parity(m->quote & plain);
        m->open &= plain;
        m->close &= plain;
    }
    uint64_t inside = m->parity ^ walk->in_string;
    walk->in_string = (uint64_t)((int64_t)inside >> 63);
    m->open &= ~inside;
    m->close &= ~inside;
}

/* Position of the first bracket in the word that brings the depth below `floor`, or -1; the last
 * that brings it to zero in *zero (-1 = none). */
static int word_events(const struct masks *m, int64_t depth, int64_t floor, int *zero)
{
    *zero = -1;
    for (uint64_t all = m->open | m->close; all; all &= all - 1) {
        int at = __builtin_ctzll(all);
        if (m->open >> at & 1) {
            depth++;
            continue;
        }
        depth--;
        if (depth < floor)
            return at;
        if (depth == 0)
            *zero = at;
    }
    return -1;
}

/* One segment of whole words. Returns the place of the bracket that closes the level around depth
 * 0, or NULL. */
static inline __attribute__((always_inline)) const char *
walk_words(struct chrome_walk *walk, struct masks *masks, const char *text, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct masks *m = &masks[i];
        outside(m, walk);
        int closes = __builtin_popcountll(m->close);
        if (walk->depth < closes) {
            int zero, below = word_events(m, walk->depth, 0, &zero);
            if (below >= 0)
                return text + (size_t)i * WORD + below;
        }
        walk->depth += __builtin_popcountll(m->open) - closes;
    }
    return NULL;
}

typedef const char *segment_fn(struct chrome_walk *, const char *, unsigned);

static const char *segment_plain(struct chrome_walk *walk, const char *text, unsigned count)
{
    struct masks masks[WORDS];
    for (unsigned i = 0; i < count; i++)
        masks_plain(text + (size_t)i * WORD, &masks[i]);
    return walk_words(walk, masks, text, count);
}

#ifdef HAVE_AVX2
/* prefix_parity as a product without carries. */
#define PARITY(bits)                                                                               \
    (uint64_t) _mm_cvtsi128_si64(                                                                  \
        _mm_clmulepi64_si128(_mm_set_epi64x(0, (int64_t)(bits)), _mm_set1_epi8(-1), 0))

__attribute__((target("avx2,pclmul,popcnt"))) static const char *
segment_avx2(struct chrome_walk *walk, const char *text, unsigned count)
{
    struct masks masks[WORDS];
    const __m256i quote = _mm256_set1_epi8('"'), slash = _mm256_set1_epi8('\\');
    const __m256i open = _mm256_set1_epi8('{'), close = _mm256_set1_epi8('}');
    const __m256i fold = _mm256_set1_epi8(FOLD);
    for (unsigned i = 0; i < count; i++) {
        const char *p = text + (size_t)i * WORD;
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
#define BITS(x, y, c)                                                                              \
    ((uint64_t)(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, c)) |                           \
     (uint64_t)(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(y, c)) << 32)
        masks[i].quote = BITS(a, b, quote);
        masks[i].slash = BITS(a, b, slash);
        a = _mm256_or_si256(a, fold);
        b = _mm256_or_si256(b, fold);
        masks[i].open = BITS(a, b, open);
        masks[i].close = BITS(a, b, close);
#undef BITS
        masks[i].parity = PARITY(masks[i].quote);
    }
    return walk_words(walk, masks, text, count);
}

/* How far the depth falls within four brackets, of which the bits say that
 * they close: a digit each. */
#define FALLS UINT64_C(0x4220201031102010)

static inline int64_t fall_of(uint64_t closing)
{
    return (int64_t)(FALLS >> (closing & 15) * 4 & 15);
}

/* Whether the depth falls below 0 in the word. */
__attribute__((target("popcnt,bmi2"))) static inline bool falls(const struct masks *m,
                                                                int64_t depth)
{
    uint64_t all = m->open | m->close, closing = _pext_u64(m->close, all);
    bool below = depth < fall_of(closing);
    for (int left = __builtin_popcountll(all) - 4; left > 0; left -= 4) {
        depth += 4 - 2 * __builtin_popcountll(closing & 15);
        closing >>= 4;
        below |= depth < fall_of(closing);
    }
    return below;
}

__attribute__((target("avx512bw,pclmul,popcnt,bmi2"))) static const char *
segment_avx512(struct chrome_walk *to, const char *text, unsigned count)
{
    struct chrome_walk walk = *to;
    const char *list_end = NULL;
    const __m512i quote = _mm512_set1_epi8('"'), slash = _mm512_set1_epi8('\\');
    const __m512i open = _mm512_set1_epi8('{'), close = _mm512_set1_epi8('}');
    const __m512i fold = _mm512_set1_epi8(FOLD);
    for (unsigned i = 0; i < count && !list_end; i++) {
        const char *p = text + (size_t)i * WORD;
        __m512i bytes = _mm512_loadu_si512(p), folded = _mm512_or_si512(bytes, fold);
        struct masks m = {.quote = _mm512_cmpeq_epi8_mask(bytes, quote),
                          .slash = _mm512_cmpeq_epi8_mask(bytes, slash),
                          .open = _mm512_cmpeq_epi8_mask(folded, open),
                          .close = _mm512_cmpeq_epi8_mask(folded, close)};
        m.parity = PARITY(m.quote);
        outside(&m, &walk);
        uint64_t lone = m.close & ~(m.open << 1); /* the rest closes what is opened before it */
        if (walk.depth < __builtin_popcountll(lone) && falls(&m, walk.depth)) {
            int zero, below = word_events(&m, walk.depth, 0, &zero);
            list_end = below >= 0 ? p + below : NULL;
        }
        walk.depth += __builtin_popcountll(m.open) - __builtin_popcountll(m.close);
    }
    *to = walk;
    return list_end;
}
#endif

/* The best last; what the processor has is asked in chrome_scan_ways. */
static segment_fn *const segments[] = {
    segment_plain,
#ifdef HAVE_AVX2
    segment_avx2,
    segment_avx512,
#endif
};

unsigned chrome_scan_ways(void)
{
#ifdef HAVE_AVX2
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("pclmul") ||
        !__builtin_cpu_supports("popcnt"))
        return 1;
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2") ? 3 : 2;
#else
    return 1;
#endif
}

/* Byte by byte, from `walk`; stops at the end of the list, notes the last event's end. */
static struct chrome_cut walk_bytes(struct chrome_walk *walk, const char *p, const char *end)
{
    struct chrome_cut cut = {NULL, NULL};
    for (; p < end; p++) {
        if (walk->escaped) {
            walk->escaped = 0;
        } else if (*p == '\\') {
            walk->escaped = 1;
        } else if (*p == '"') {
            walk->in_string = ~walk->in_string;
        } else if (!walk->in_string) {
            char c = (char)(*p | FOLD);
            walk->depth += (c == '{') - (c == '}');
            if (c == '}' && walk->depth == 0)
                cut.events_end = p + 1;
            if (walk->depth < 0) {
                cut.list_end = p;
                break;
            }
        }
    }
    return cut;
}

struct chrome_cut chrome_find_cut_by(unsigned way, const char *text, const char *end)
{
    /* States at the starts of the segments of a stretch, to come back to. */
    enum { STATES = 2048 };
    segment_fn *segment = segments[way];
    struct chrome_walk states[STATES];
    struct chrome_walk walk = {0, 0, 0};
    struct chrome_cut best = {NULL, NULL};
    while (text < end) {
        unsigned count = 0;
        const char *start = text, *list_end = NULL;
        for (; count < STATES && (size_t)(end - text) >= SEGMENT && !list_end; count++) {
            states[count] = walk;
            list_end = segment(&walk, text, WORDS);
            text += SEGMENT;
        }
        if (!list_end && count < STATES) { /* the last, partial segment */
            states[count++] = walk;
            text = end;
        }
        for (unsigned i = count; i-- > 0;) {
            const char *from = start + (size_t)i * SEGMENT;
            const char *to = from + SEGMENT < end ? from + SEGMENT : end;
            if (!memchr(from, '}', (size_t)(to - from)) && !memchr(from, ']', (size_t)(to - from)))
                continue; /* nothing ends in it */
            struct chrome_walk state = states[i];
            struct chrome_cut cut = walk_bytes(&state, from, to);
            if (cut.list_end)
                best.list_end = cut.list_end;
            if (cut.events_end) {
                best.events_end = cut.events_end;
                break;
            }
        }
        if (best.list_end)
            break;
    }
    return best;
}

struct chrome_cut chrome_find_cut(const char *text, const char *end)
{
    return chrome_find_cut_by(chrome_scan_ways() - 1, text, end);
}

const char *chrome_walk_list(struct chrome_walk *walk, const char *text, const char *end)
{
    segment_fn *segment = segments[chrome_scan_ways() - 1];
    while ((size_t)(end - text) >= SEGMENT) {
        const char *list_end = segment(walk, text, WORDS);
        if (list_end)
            return list_end;
        text += SEGMENT;
    }
    return walk_bytes(walk, text, end).list_end;
}

const char *chrome_container_end(const char *p, const char *end)
{
    struct chrome_walk walk = {0, 0, 0};
    for (; p < end; p += WORD) {
        struct masks m;
        masks_plain(p, &m);
        outside(&m, &walk);
        for (uint64_t all = m.open | m.close; all; all &= all - 1) {
            unsigned at = (unsigned)__builtin_ctzll(all);
            walk.depth += m.open >> at & 1 ? 1 : -1;
            if (walk.depth == 0) {
                p += at + 1;
                return p <= end ? p : NULL;
            }
        }
    }
    return NULL;
}

/* ---- Guesses, for damaged text only. ---- */

#define PHASE_NEAR 1024 /* an event's "ph" is looked for this far */

static const char *const event_keys[] = {"\"ph\"", "\"name\"", "\"cat\"",  "\"pid\"", "\"tid\"",
                                         "\"ts\"", "\"dur\"",  "\"args\"", "\"id\"",  "\"tts\"",
                                         "\"s\"",  "\"bp\"",   NULL};

/* True if the text before `p` (a '{') is the end of an event and a comma, or the start of a
 * list. */
static bool event_before(const char *text, const char *p)
{
    bool comma = false;
    while (p > text) {
        char c = *--p;
        if ((unsigned char)c <= ' ')
            continue;
        if (c == ',' && !comma)
            comma = true;
        else
            return c == '}' || c == ']' || (c == '[' && !comma);
    }
    return true;
}

static bool event_at(const char *text, const char *p, const char *end)
{
    const char *key = p + 1;
    while (key < end && (unsigned char)*key <= ' ')
        key++;
    for (unsigned i = 0; event_keys[i]; i++) {
        size_t len = strlen(event_keys[i]);
        if ((size_t)(end - key) <= len || memcmp(key, event_keys[i], len) != 0)
            continue;
        const char *colon = key + len;
        while (colon < end && (unsigned char)*colon <= ' ')
            colon++;
        if (colon == end || *colon != ':' || !event_before(text, p))
            return false;
        size_t near = (size_t)(end - p) < PHASE_NEAR ? (size_t)(end - p) : PHASE_NEAR;
        return memmem(p, near, "\"ph\"", 4) != NULL;
    }
    return false;
}

const char *chrome_guess_event(const char *text, const char *end)
{
    const char *p = text;
    while (p < end && (p = memchr(p, '{', (size_t)(end - p)))) {
        if (event_at(text, p, end))
            return p;
        p++;
    }
    return NULL;
}
