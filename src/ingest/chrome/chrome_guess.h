/*
 * chrome_guess — guessing the texts of arguments from what came before them.
 *
 * A program does the same things over and over, so what "Input Dims", "Concrete Inputs" and their
 * like say mostly follows from the event's name, its arguments so far, and the event before. So
 * what followed the last time is compared with the text first: when it is the same, the end of the
 * array need not be found, nor its text hashed and looked up. Of the operators of a training run
 * seven in eight arrays are guessed, which saves 12 % of all instructions of loading it.
 *
 * A guess is only a slot in the cache of texts (chrome_texts), whose text is compared in full, so a
 * wrong or stale one costs time and nothing else.
 */
#ifndef CHROME_GUESS_H
#define CHROME_GUESS_H

#include "ingest/chrome/chrome_scan.h"
#include "ingest/chrome/chrome_texts.h"

#define CHROME_GUESS_BITS  14
#define CHROME_GUESSES     (1 << CHROME_GUESS_BITS)
#define CHROME_GUESS_BYTES 1024 /* longer texts are not guessed */

struct chrome_guess {
    struct chrome_texts *texts;      /* NULL: nothing is guessed */
    uint64_t before, now;            /* hashes of the event before, and of this one so far */
    uint16_t places[CHROME_GUESSES]; /* by hash: the slot in `texts` of the text that followed */
};

/* Records that the current event contains this text. Reads up to 8 bytes before and after it. */
static inline void chrome_guess_saw(struct chrome_guess *guess, const char *p, size_t len)
{
    uint64_t ends = chrome_load8(p) ^ (chrome_load8(p + len - 8) << 1) ^ len << 56;
    guess->now = ((guess->now ^ guess->now >> 29) + ends) * 0x9E3779B97F4A7C15u;
}

/* An event of this name begins. */
static inline void chrome_guess_begin(struct chrome_guess *guess, const char *name, size_t len)
{
    guess->before = guess->now * 0xD6E8FEB86659FD93u;
    guess->now = 0;
    chrome_guess_saw(guess, name, len);
}

/* Where in `places` the guess of the next text is kept. */
static inline uint32_t chrome_guess_place(const struct chrome_guess *guess)
{
    return (uint32_t)((guess->now ^ guess->before) >> (64 - CHROME_GUESS_BITS));
}

/* The slot of the text at p, when that is the one guessed; else NULL. */
static inline const struct chrome_text_slot *
chrome_guess_text(const struct chrome_guess *guess, uint32_t place, const char *p, const char *end)
{
    if (!guess->texts)
        return NULL;
    const struct chrome_text_slot *slot = &guess->texts->slots[guess->places[place]];
    bool may = slot->text && !slot->escaped && slot->len <= CHROME_GUESS_BYTES &&
               (size_t)(end - p) > slot->len;
    return may && memcmp(slot->text, p, slot->len) == 0 ? slot : NULL;
}

#endif
