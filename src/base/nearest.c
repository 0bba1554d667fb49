/* The nearest of some words, by optimal string alignment distance. */
#include "base/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MAX_WORD 64 /* longer words are not looked at */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment distance; rows of the classic table, three kept. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][MAX_WORD + 1];
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len > MAX_WORD || b_len > MAX_WORD)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *higher = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t cost = a[i - 1] != b[j - 1];
            row[j] = smaller(smaller(above[j] + 1, row[j - 1] + 1), above[j - 1] + cost);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped)
                row[j] = smaller(row[j], higher[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

void nl_nearest_init(struct nl_nearest *nearest, const char *word)
{
    size_t allowed = strlen(word) / 3;
    *nearest = (struct nl_nearest){.word = word, .distance = (allowed ? allowed : 1) + 1};
}

void nl_nearest_offer(struct nl_nearest *nearest, const char *candidate)
{
    size_t distance = edit_distance(nearest->word, candidate);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->best = candidate;
    }
}

const char *nl_nearest_best(const struct nl_nearest *nearest)
{
    return nearest->best;
}
