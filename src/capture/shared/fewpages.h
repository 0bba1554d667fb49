/*
 * fewpages — text functions for the start of a process. A function of the C library that a program
 * has not called yet is a page fault, a microsecond or two, which is more than these loops take;
 * compilers would turn them into calls of just those functions, so each turn hides what it does.
 */
#ifndef NL_FEWPAGES_H
#define NL_FEWPAGES_H

#include <stdbool.h>
#include <stddef.h>

#define FEWPAGES_TURN(pointer) __asm__ volatile("" : "+r"(pointer))

static inline size_t few_length(const char *text)
{
    const char *at = text;
    for (; *at; at++)
        FEWPAGES_TURN(at);
    return (size_t)(at - text);
}

/* At most room - 1 bytes, and a zero. */
static inline void few_copy(char *to, size_t room, const char *text)
{
    size_t i = 0;
    for (; i + 1 < room && text[i]; i++) {
        to[i] = text[i];
        FEWPAGES_TURN(i);
    }
    to[i] = '\0';
}

/* The text after the last slash. */
static inline const char *few_name(const char *path)
{
    const char *name = path;
    for (const char *at = path; *at; at++) {
        FEWPAGES_TURN(at);
        if (*at == '/')
            name = at + 1;
    }
    return name;
}

/* What an environment has of a name; NULL without. */
static inline const char *few_variable(char *const *environment, const char *name)
{
    for (; environment && *environment; environment++) {
        const char *at = *environment, *wanted = name;
        for (; *wanted && *at == *wanted; at++, wanted++)
            FEWPAGES_TURN(at);
        if (!*wanted && *at == '=')
            return at + 1;
    }
    return NULL;
}

#endif
