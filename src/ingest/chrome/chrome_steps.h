/*
 * chrome_steps — the text between the values of events, which repeats from event to event.
 *
 * Events of a kind have the same keys in the same order and layout. A step is the text from the end
 * of a value to the start of the next (", \"pid\": ") as it was last seen after a certain key, with
 * the key in it. Mostly one comparison replaces looking for the comma, the key, its end, its
 * meaning, the colon and the value. Two are kept per key, since two different keys may follow it.
 *
 * A run is several steps with the values between them: phase and category, process and thread are
 * mostly what they were before (", \"pid\": 7, \"tid\": 7, \"ts\": "). Equal text means equal
 * values. Runs, and the second step per key, together save 5 % of the CPU time of loading.
 */
#ifndef CHROME_STEPS_H
#define CHROME_STEPS_H

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "ingest/chrome/chrome_value.h"

#define CHROME_MAX_STEP  32
#define CHROME_MAX_RUN   96 /* a multiple of 16 */
#define CHROME_RUN_WAYS  4
#define CHROME_RUN_INNER 4 /* values in a run */

struct chrome_step {
    char text[CHROME_MAX_STEP];
    uint32_t mask[2];  /* which bytes count, 16 each; CHROME_MATCHES_NOTHING while it is empty */
    uint8_t len, word; /* word: number of the key */
};

struct chrome_steps {
    struct chrome_step step[2]; /* the newer one first */
};

struct chrome_run {
    char text[CHROME_MAX_RUN];
    uint32_t len;        /* 0: none */
    uint32_t tail;       /* which of the last 16 bytes count, a bit each */
    uint32_t fields;     /* the fields inside, a bit each */
    uint8_t word, count; /* number of the key it ends with; fields inside */
    uint8_t field[CHROME_RUN_INNER];
    uint32_t at[CHROME_RUN_INNER];               /* positions of their values in `text` */
    struct chrome_value value[CHROME_RUN_INNER]; /* without `ptr` */
};

struct chrome_runs {
    struct chrome_run run[CHROME_RUN_WAYS];
    unsigned last, next; /* the one that matched, and how many were learned */
};

#define CHROME_MATCHES_NOTHING 0x10000u /* a bit that no 16 bytes can set */

static inline void chrome_steps_init(struct chrome_steps *steps)
{
    for (size_t i = 0; i < 2; i++)
        steps->step[i].mask[0] = CHROME_MATCHES_NOTHING;
}

#ifdef __SSE2__
/* Which of 16 bytes are the same. */
static inline uint32_t chrome_same16(const char *p, const char *q)
{
    __m128i a = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)q);
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b));
}
#endif

static inline bool chrome_step_matches(const struct chrome_step *step, const char *p)
{
#ifdef __SSE2__
    for (unsigned i = 0; i < 2; i++) {
        if ((chrome_same16(p + i * 16, step->text + i * 16) & step->mask[i]) != step->mask[i])
            return false;
        if (!step->mask[1])
            return true;
    }
    return true;
#else
    return step->mask[0] != CHROME_MATCHES_NOTHING && memcmp(p, step->text, step->len) == 0;
#endif
}

static inline void chrome_step_learn(struct chrome_steps *steps, const char *from, const char *to,
                                     unsigned word)
{
    size_t len = (size_t)(to - from);
    struct chrome_step *step = &steps->step[0];
    if (len == 0 || len > CHROME_MAX_STEP)
        return;
    steps->step[1] = *step;
    memset(step->text, 0, sizeof step->text);
    memcpy(step->text, from, len);
    uint64_t bits = ((uint64_t)1 << len) - 1;
    step->mask[0] = (uint32_t)(bits & 0xFFFF);
    step->mask[1] = (uint32_t)(bits >> 16);
    step->len = (uint8_t)len;
    step->word = (uint8_t)word;
}

static inline bool chrome_run_matches(const struct chrome_run *run, const char *p)
{
#ifdef __SSE2__
    uint32_t i = 0;
    for (; i + 16 < run->len; i += 16)
        if (chrome_same16(p + i, run->text + i) != 0xFFFF)
            return false;
    return (chrome_same16(p + i, run->text + i) & run->tail) == run->tail && run->len;
#else
    return run->len && memcmp(p, run->text, run->len) == 0;
#endif
}

/* The run at p, of which CHROME_MAX_RUN bytes must be readable; or NULL. */
static inline const struct chrome_run *chrome_run_find(struct chrome_runs *runs, const char *p)
{
    if (chrome_run_matches(&runs->run[runs->last], p))
        return &runs->run[runs->last];
    for (unsigned i = 0; i < CHROME_RUN_WAYS; i++)
        if (i != runs->last && chrome_run_matches(&runs->run[i], p)) {
            runs->last = i;
            return &runs->run[i];
        }
    return NULL;
}

/* A run that may be learned once it ends: it began at `from`, after key `key`. */
struct chrome_draft {
    const char *from;
    unsigned key, count;
    uint8_t field[CHROME_RUN_INNER];
    struct chrome_value value[CHROME_RUN_INNER];
};

static inline void chrome_draft_add(struct chrome_draft *draft, unsigned field,
                                    const struct chrome_value *value)
{
    if (draft->count < CHROME_RUN_INNER) {
        draft->field[draft->count] = (uint8_t)field;
        draft->value[draft->count] = *value;
    }
    draft->count++;
}

/* Learns the run, which ended at `to`, where the value of key `word` begins. */
static inline void chrome_run_learn(struct chrome_runs *runs, const struct chrome_draft *draft,
                                    const char *to, unsigned word)
{
    size_t len = (size_t)(to - draft->from);
    if (draft->count > CHROME_RUN_INNER || len > CHROME_MAX_RUN)
        return;
    /* A key that stands twice must be noted each time. */
    for (unsigned i = 1; i < draft->count; i++)
        for (unsigned k = 0; k < i; k++)
            if (draft->field[i] == draft->field[k])
                return;
    struct chrome_run *run = &runs->run[runs->next++ % CHROME_RUN_WAYS];
    *run = (struct chrome_run){.len = (uint32_t)len,
                               .tail = (2u << (len - 1) % 16) - 1,
                               .word = (uint8_t)word,
                               .count = (uint8_t)draft->count};
    memcpy(run->text, draft->from, len);
    for (unsigned i = 0; i < draft->count; i++) {
        run->fields |= 1u << draft->field[i];
        run->field[i] = draft->field[i];
        run->at[i] = (uint32_t)(draft->value[i].ptr - draft->from);
        run->value[i] = draft->value[i];
    }
}

#endif
