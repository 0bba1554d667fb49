/* Filling a word set. Words longer than 255 bytes, or more than the set holds, are our own bug. */
#include "ingest/chrome_words.h"

#include "base/err.h"

void chrome_words_init(struct chrome_words *words, const char *const *text, size_t count)
{
    if (count > CHROME_WORDS_MAX)
        NL_BUG("too many words");
    memset(words->slots, CHROME_NO_WORD, sizeof words->slots);
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(text[i]);
        words->text[i] = text[i];
        char padded[256 + 8] = {0};
        if (len > 255)
            NL_BUG("a word is too long");
        memcpy(padded, text[i], len);
        chrome_word_ends(padded, len, &words->first[i], &words->last[i]);
        words->len[i] = (uint8_t)len;
        uint32_t at = chrome_words_slot(words->first[i], words->last[i], len) % CHROME_WORDS_SLOTS;
        while (words->slots[at] != CHROME_NO_WORD)
            at = (at + 1) % CHROME_WORDS_SLOTS;
        words->slots[at] = (uint8_t)i;
    }
}
