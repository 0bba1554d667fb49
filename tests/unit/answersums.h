/*
 * answersums — answers in sums: of a table its name, its rows and a checksum of its cells, of the short page its first line and a
 * checksum. For readeach and edgesays, whose words are kept.
 */
#ifndef ANSWERSUMS_H
#define ANSWERSUMS_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/crc.h"
#include "base/mem.h"
#include "answer/report.h"
#include "view/brief.h"

/* All cells; fractions to six digits, since the last ones are not the same on every machine. */
static inline uint32_t table_sum(const struct nl_result *result)
{
    struct nl_buf text;
    nl_buf_init(&text, (size_t)1 << 30);
    for (size_t row = 0; row < result->rows; row++)
        for (size_t column = 0; column < result->column_count; column++) {
            const struct nl_cell *cell = nl_result_cell(result, row, column);
            if (cell->type == NL_CELL_I64)
                nl_buf_format(&text, "%" PRId64, cell->i64);
            else if (cell->type == NL_CELL_F64)
                nl_buf_format(&text, "%.6g", cell->f64);
            else if (cell->type == NL_CELL_TEXT)
                nl_buf_add(&text, cell->text.ptr, cell->text.len);
            nl_buf_char(&text, '\n');
        }
    uint32_t sum = nl_crc32c(text.ptr, text.len);
    nl_buf_release(&text);
    return sum;
}

/* "FIRST LINE ~CHECKSUM" and the end of the line. */
static inline void tell_page(const struct nl_profile *profile, const struct nl_report *report)
{
    struct nl_buf page;
    nl_buf_init(&page, (size_t)1 << 24);
    nl_brief_page(&page, profile, report, &(struct nl_view_options){.width = 100});
    const char *end = page.len ? memchr(page.ptr, '\n', page.len) : NULL;
    printf("%.*s ~%08x\n", end ? (int)(end - page.ptr) : 0, page.ptr,
           nl_crc32c(page.ptr, page.len));
    nl_buf_release(&page);
}

#endif
