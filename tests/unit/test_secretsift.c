/*
 * The sieve for names of events against a search of every part at every place: each part
 * alone, behind and before other letters, in both cases, with one letter changed, and texts
 * pieced together from parts.
 */
#include <string.h>

#include "check.h"
#include "redact/secretsift.h"

static const char *const wanted[] = {
#define TOKEN(start, least, letters, proof) start,
#define PART(text)                          text,
#include "redact/secretshapes.def"
};

static bool folded(char a, char b)
{
    return (a | 0x20) == (b | 0x20);
}

static bool holds(const char *text, size_t len)
{
    for (size_t i = 0; i < CHECK_LENGTH(wanted); i++) {
        size_t part = strlen(wanted[i]);
        for (size_t at = 0; at + part <= len; at++) {
            size_t same = 0;
            while (same < part && folded(text[at + same], wanted[i][same]))
                same++;
            if (same == part)
                return true;
        }
    }
    return false;
}

static void try_text(const char *text, size_t len)
{
    bool want = holds(text, len);
    if (nl_sift_may_hold((struct nl_str){text, len}) != want) {
        check_case(text);
        CHECK_INT(!want, want);
    }
}

static void finds_each_part(void)
{
    size_t found = 0;
    for (size_t i = 0; i < CHECK_LENGTH(wanted); i++)
        for (size_t before = 0; before < 10; before++)
            for (size_t behind = 0; behind < 4; behind++) {
                char text[200];
                size_t part = strlen(wanted[i]), len = before + part + behind;
                memset(text, '%', sizeof text);
                memcpy(text + before, wanted[i], part);
                text[len] = 0;
                found += nl_sift_may_hold((struct nl_str){text, len});
                try_text(text, len);
                for (size_t k = 0; k < part; k++) {
                    text[before + k] ^= 0x20; /* the other case, or another sign */
                    try_text(text, len);
                    text[before + k] ^= 0x21;
                    try_text(text, len);
                    text[before + k] ^= 0x01;
                }
                try_text(text, len - 1);
                try_text(text + 1, len - 1);
            }
    CHECK_INT(found, CHECK_LENGTH(wanted) * 10 * 4);
}

static void finds_what_is_pieced_together(void)
{
    uint64_t state = 88172645463325252u;
    size_t found = 0, rounds = (size_t)check_draws(8000);
    for (size_t round = 0; round < rounds; round++) {
        char text[64];
        size_t len = 0;
        while (len < 40) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            const char *part = wanted[(state >> 8) % CHECK_LENGTH(wanted)];
            size_t from = (state >> 24) % strlen(part), take = 1 + (state >> 32) % 6;
            for (size_t k = from; k < strlen(part) && k < from + take; k++)
                text[len++] = part[k];
        }
        text[len] = 0;
        found += holds(text, len);
        try_text(text, len);
    }
    CHECK(found > rounds / 16 && found < rounds - rounds / 16);
}

CHECK_MAIN("secretsift", {"finds each part", finds_each_part},
           {"finds what is pieced together", finds_what_is_pieced_together})
