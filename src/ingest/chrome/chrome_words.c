/* Filling a word set. Words longer than 255 bytes, or more than the set holds, are our own bug. */
#include "ingest/chrome/chrome_words.h"

#include "base/err.h"

void chrome_words_init(struct chrome_words *words, const char *const *text, size_t count)
{
    if (count > CHROME_MAX_WORDS)
        NL_BUG("too many words");
    memset(words->slots, CHROME_NO_WORD, sizeof words->slots);
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(text[i]);
        char padded[256 + 8] = {0};
        if (len > 255)
            NL_BUG("a word is too long");
        memcpy(padded, text[i], len);
        struct chrome_word *word = &words->word[i];
        *word = (struct chrome_word){.first = chrome_load8(padded),
                                     .mask = chrome_word_mask(len),
                                     .text = text[i],
                                     .len = (uint32_t)len};
        if (len >= 8) {
            word->tail = chrome_load8(padded + len - 8);
            word->tail_mask = ~(uint64_t)0;
        }
        uint32_t at = chrome_words_slot(word->first, word->tail, len);
        while (words->slots[at % CHROME_WORDS_SLOTS] != CHROME_NO_WORD)
            at++;
        words->slots[at % CHROME_WORDS_SLOTS] = (uint8_t)i;
    }
}
