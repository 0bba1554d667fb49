/*
 * chrome_scan — finding ends in JSON text: of strings, of containers, of whole events.
 *
 * Every function works on text that is followed by CHROME_PAD readable bytes holding '"', which
 * stops all of them without a test per byte; a result at or after `end` means "more text needed".
 * Containers are skipped by counting brackets outside strings, so nesting depth is no limit.
 * SSE2 where the compiler has it, plain bytes elsewhere; the long scan also in AVX2 and AVX-512
 * when the processor offers them.
 */
#ifndef CHROME_SCAN_H
#define CHROME_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define CHROME_PAD 64

static inline uint64_t chrome_load8(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* First byte that is no white space (anything up to ' ' counts as such). */
static inline const char *chrome_skip_space(const char *p)
{
    if (*p > ' ' || *p < 0)
        return p;
    p++;
    while ((unsigned char)*p <= ' ')
        p++;
    return p;
}

/* `p` is after an opening quote: the first '"' or '\\' at or after it. */
static inline const char *chrome_string_stop(const char *p)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    for (;; p += 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)p);
        int hit = _mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(text, quote), _mm_cmpeq_epi8(text, slash)));
        if (hit)
            return p + __builtin_ctz((unsigned)hit);
    }
#else
    while (*p != '"' && *p != '\\')
        p++;
    return p;
#endif
}

/* `p` is after an opening quote: its closing quote, or a place at or after `end`. Sets *escaped
 * when there is a backslash inside. */
static inline const char *chrome_string_end(const char *p, const char *end, bool *escaped)
{
    for (;;) {
        p = chrome_string_stop(p);
        if (*p == '"')
            return p;
        *escaped = true;
        p += 2;
        if (p >= end)
            return end;
    }
}

/* `p` is at '[' or '{': the place after the matching bracket, NULL when it is not before `end`. */
const char *chrome_container_end(const char *p, const char *end);

/* The state of a scan through a list of events. */
struct chrome_walk {
    int64_t depth;      /* open brackets; 0 between events */
    uint64_t in_string; /* all ones inside a string, else 0 */
    uint64_t escaped;   /* 1 when the next byte is escaped */
};

struct chrome_cut {
    const char *events_end; /* after the last whole event, NULL when there is none */
    const char *list_end;   /* the ']' or '}' that closes the list of events, NULL = not here */
};

/* Scans events (from a place between two of them) up to `end`. What the cut says is exact for
 * well-formed text; unbalanced quotes give no or a wrong cut, never a crash. */
struct chrome_cut chrome_find_cut(const char *text, const char *end);

/* The same in way 0 (plain), 1 (AVX2) or 2 (AVX-512); so many of them this processor
 * can go. All say the same. */
unsigned chrome_scan_ways(void);
struct chrome_cut chrome_find_cut_by(unsigned way, const char *text, const char *end);

/* Feeds text to a running scan (begun as {0, 0, 0} after an opening bracket): the place of the
 * bracket that closes it, or NULL (then all of the text was taken in). For skipping values of any
 * length piece by piece. */
const char *chrome_walk_list(struct chrome_walk *walk, const char *text, const char *end);

/* A place that looks like the start of an event: '{', a key of the format, ':'; and what is
 * before it looks like the end of one. NULL when none in [text, end). For damaged text. */
const char *chrome_guess_event(const char *text, const char *end);

#endif
