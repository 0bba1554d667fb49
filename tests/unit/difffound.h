/*
 * difffound — what was found out about whether two sides of a diff can be compared, read back, and
 * parts of a side in a few letters.
 *
 *     struct found found = found_start();
 *     diff_find_work_facts(&found.sureness, &a, &b, 0.5, &found.against);
 *     check_fact(&found, "names of kernels", "3", "3, 3 in both (100 %)", "yes", "yes");
 *     found_release(&found);
 */
#ifndef DIFFFOUND_H
#define DIFFFOUND_H

#include "check.h"
#include "compare/diffjudge.h"
#include "compare/diffparts.h"

/* Parts of a side: names of one letter, of work that is counted once each. */
static inline void parts_fill(struct diff_parts *parts, const char *names, enum diff_group group)
{
    *parts = (struct diff_parts){0};
    for (size_t i = 0; names[i]; i++)
        diff_part_add(parts, group, (struct nl_str){names + i, 1})->count = 1;
}

/* What was found about two sides. */
struct found {
    struct diff_sureness sureness;
    struct nl_buf against;
};

static inline struct found found_start(void)
{
    struct found found = {.sureness = {.facts = diff_facts_table()}};
    nl_buf_init(&found.against, 1000);
    return found;
}

static inline void found_release(struct found *found)
{
    nl_result_free(found->sureness.facts);
    nl_buf_release(&found->against);
}

static inline size_t found_row(const struct found *found, const char *fact)
{
    const struct nl_result *facts = found->sureness.facts;
    for (size_t row = 0; row < facts->rows; row++)
        if (nl_str_is(nl_result_cell(facts, row, DIFF_FACT_NAME)->text, fact))
            return row;
    return SIZE_MAX;
}

static inline void check_cell(const struct found *found, size_t row, size_t column,
                              const char *want)
{
    const struct nl_cell *cell = nl_result_cell(found->sureness.facts, row, column);
    CHECK_INT(cell->type, want ? NL_CELL_TEXT : NL_CELL_NULL);
    if (want && cell->type == NL_CELL_TEXT)
        CHECK_STR(cell->text, want);
}

/* A fact and what is said of it; `base` and `changed` NULL: not known. */
static inline void check_fact(const struct found *found, const char *fact, const char *base,
                              const char *changed, const char *agrees, const char *decides)
{
    size_t row = found_row(found, fact);
    check_case(fact);
    REQUIRE(row != SIZE_MAX);
    check_cell(found, row, DIFF_FACT_BASE, base);
    check_cell(found, row, DIFF_FACT_NEW, changed);
    check_cell(found, row, DIFF_FACT_AGREES, agrees);
    check_cell(found, row, DIFF_FACT_DECIDES, decides);
}

#endif
