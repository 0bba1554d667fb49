/*
 * chrome_words — a small fixed set of words (argument keys, categories) that texts are looked up
 * in, at a few nanoseconds each. Built once per reader from an array of words; up to
 * CHROME_MAX_WORDS of them. A lookup reads 8 bytes from the text's start and the 8 up to its end,
 * so texts need 8 readable bytes before and after them, which JSON blocks have.
 */
#ifndef CHROME_WORDS_H
#define CHROME_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ingest/chrome/chrome_scan.h"

#define CHROME_MAX_WORDS   160
#define CHROME_WORDS_BITS  9
#define CHROME_WORDS_SLOTS (1 << CHROME_WORDS_BITS)
#define CHROME_NO_WORD     255

struct chrome_word {
    uint64_t first, mask;     /* its first 8 bytes, and which of them count */
    uint64_t tail, tail_mask; /* its last 8 bytes; nothing where it is shorter than 8 */
    const char *text;
    uint32_t len;
};

struct chrome_words {
    struct chrome_word word[CHROME_MAX_WORDS];
    uint8_t slots[CHROME_WORDS_SLOTS]; /* number of a word, or CHROME_NO_WORD */
};

void chrome_words_init(struct chrome_words *words, const char *const *text, size_t count);

static inline uint64_t chrome_word_mask(size_t len)
{
    return len >= 8 ? ~(uint64_t)0 : ((uint64_t)1 << (len * 8)) - 1;
}

static inline uint32_t chrome_words_slot(uint64_t first, uint64_t tail, size_t len)
{
    uint64_t mix = (first ^ (tail << 1) ^ len) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(mix >> (64 - CHROME_WORDS_BITS));
}

/* Does the text at p begin with the word? */
static inline bool chrome_word_is(const struct chrome_word *word, const char *p)
{
    return (chrome_load8(p) & word->mask) == word->first &&
           (chrome_load8(p + word->len - 8) & word->tail_mask) == word->tail &&
           (word->len <= 16 || memcmp(p, word->text, word->len) == 0);
}

/* Number of the word, or CHROME_NO_WORD. */
static inline unsigned chrome_words_find(const struct chrome_words *words, const char *p,
                                         size_t len)
{
    uint64_t first = chrome_load8(p) & chrome_word_mask(len);
    uint64_t tail = len >= 8 ? chrome_load8(p + len - 8) : 0;
    for (uint32_t at = chrome_words_slot(first, tail, len);; at++) {
        unsigned word = words->slots[at % CHROME_WORDS_SLOTS];
        if (word == CHROME_NO_WORD ||
            (words->word[word].len == len && chrome_word_is(&words->word[word], p)))
            return word;
    }
}

#endif
