/*
 * Texts are read two letters at a time; each part that is looked for has two rows in the table that
 * tools/siftparts.py makes: with a pair of its letters that starts at an even place of it, and one
 * that starts at an odd place. Rows of one pair follow each other.
 */
#include "redact/secretsift.h"

#include <string.h>

struct part {
    struct nl_str text;
    uint8_t at; /* of the pair in it */
    bool also;  /* the next row has the same pair */
};

#include "redact/siftparts.h"

/* Letters are distinguished but for their case. */
#define PAIR(a, b) (((b)&0x5f) << 7 | ((a)&0x5f))

bool nl_sift_is_folded(const char *text, const char *wanted, size_t len)
{
    while (len && (text[len - 1] | 0x20) == (wanted[len - 1] | 0x20))
        len--;
    return len == 0;
}

/* One of the rows of the pair at `at` is there. */
static bool is_part(struct nl_str text, size_t at, uint8_t number)
{
    const struct part *part = &parts[first_part[number - 1]];
    for (;; part++) {
        if (at >= part->at && text.len - at >= part->text.len - part->at &&
            nl_sift_is_folded(text.ptr + at - part->at, part->text.ptr, part->text.len))
            return true;
        if (!part->also)
            return false;
    }
}

bool nl_sift_may_hold(struct nl_str text)
{
    size_t at = 0;
    for (; at + 8 <= text.len; at += 8) {
        uint64_t pairs; /* the first letter of each in its low bits: little-endian */
        memcpy(&pairs, text.ptr + at, 8);
        pairs = (pairs & 0x005f005f005f005f) | (pairs >> 1 & 0x2f802f802f802f80);
        uint8_t numbers[] = {number_of_pair[pairs & 0xffff], number_of_pair[pairs >> 16 & 0xffff],
                             number_of_pair[pairs >> 32 & 0xffff], number_of_pair[pairs >> 48]};
        if (!(numbers[0] | numbers[1] | numbers[2] | numbers[3]))
            continue;
        for (size_t i = 0; i < 4; i++)
            if (numbers[i] && is_part(text, at + 2 * i, numbers[i]))
                return true;
    }
    for (; at + 2 <= text.len; at += 2) {
        uint8_t number = number_of_pair[PAIR(text.ptr[at], text.ptr[at + 1])];
        if (number && is_part(text, at, number))
            return true;
    }
    return false;
}
