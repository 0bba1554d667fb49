/*
 * chrome_words — a small fixed set of words (argument keys, categories) that texts are looked up
 * in, at a few nanoseconds each. Built once per reader from an array of words; up to
 * CHROME_WORDS_MAX of them. A lookup reads 8 bytes from the text's start and the 8 up to its end,
 * so texts need 8 readable bytes before and after them, which JSON blocks have.
 */
#ifndef CHROME_WORDS_H
#define CHROME_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CHROME_WORDS_MAX   160
#define CHROME_WORDS_SLOTS 512
#define CHROME_NO_WORD     255

struct chrome_words {
    const char *text[CHROME_WORDS_MAX];
    uint8_t slots[CHROME_WORDS_SLOTS]; /* number of a word, or CHROME_NO_WORD */
    uint64_t first[CHROME_WORDS_MAX], last[CHROME_WORDS_MAX];
    uint8_t len[CHROME_WORDS_MAX];
};

void chrome_words_init(struct chrome_words *words, const char *const *text, size_t count);

static inline uint32_t chrome_words_slot(uint64_t first, uint64_t last, size_t len)
{
    uint64_t mix = (first ^ (last << 1) ^ len) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(mix >> (64 - 9));
}

/* The first and last 8 bytes of a text, zeros where it is shorter. */
static inline void chrome_word_ends(const char *p, size_t len, uint64_t *first, uint64_t *last)
{
    memcpy(first, p, 8);
    if (len >= 8) {
        memcpy(last, p + len - 8, 8);
        return;
    }
    *first &= ((uint64_t)1 << (len * 8)) - 1;
    *last = *first;
}

/* Number of the word, or CHROME_NO_WORD. */
static inline unsigned chrome_words_find(const struct chrome_words *words, const char *p, size_t len)
{
    uint64_t first, last;
    chrome_word_ends(p, len, &first, &last);
    for (uint32_t at = chrome_words_slot(first, last, len);; at++) {
        unsigned word = words->slots[at % CHROME_WORDS_SLOTS];
        if (word == CHROME_NO_WORD)
            return word;
        if (words->first[word] == first && words->last[word] == last && words->len[word] == len &&
            (len <= 16 || memcmp(p, words->text[word], len) == 0))
            return word;
    }
}

#endif
