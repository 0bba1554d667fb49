/*
 * answersums — answers in sums: of a table its name, its rows and a checksum of its cells, of the
 * short page its first line and a checksum. For readeach and edgesays, whose words are kept.
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

static inline bool is_kept_name(struct nl_str name)
{
    static const char *const names[] = {
#define KEPT(NAME) #NAME,
#include "keptnames.def"
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (nl_str_eq(name, nl_str(names[i])))
            return true;
    return false;
}

/* Of names joined by ", " those of keptnames.def. */
static inline void add_kept_names(struct nl_buf *text, struct nl_str joined)
{
    const char *at = joined.ptr, *end = joined.ptr + joined.len;
    for (bool first = true; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct nl_str name = {at, (size_t)((comma ? comma : end) - at)};
        if (is_kept_name(name)) {
            nl_buf_format(text, "%s%.*s", first ? "" : ", ", (int)name.len, name.ptr);
            first = false;
        }
        at = comma ? comma + strlen(", ") : end;
    }
}

static inline void tell_cell(struct nl_buf *text, const struct nl_cell *cell, bool names)
{
    if (cell->type == NL_CELL_I64)
        nl_buf_format(text, "%" PRId64, cell->i64);
    else if (cell->type == NL_CELL_F64)
        nl_buf_format(text, "%.6g", cell->f64);
    else if (cell->type == NL_CELL_TEXT && names)
        add_kept_names(text, cell->text);
    else if (cell->type == NL_CELL_TEXT)
        nl_buf_add(text, cell->text.ptr, cell->text.len);
    nl_buf_char(text, '\n');
}

struct table_sum {
    size_t rows;
    uint32_t sum;
};

/* All cells; fractions to six digits, since the last ones are not the same on every machine. Of the
 * table of what was not recorded the analyses of keptnames.def, and the rows that have one. */
static inline struct table_sum table_sum(const struct nl_result *result)
{
    bool missing = strcmp(result->name, "missing") == 0;
    struct table_sum sum = {0};
    struct nl_buf text;
    nl_buf_init(&text, (size_t)1 << 30);
    for (size_t row = 0; row < result->rows; row++) {
        size_t before = text.len;
        bool named = !missing;
        for (size_t column = 0; column < result->column_count; column++) {
            bool names = missing && strcmp(result->columns[column].name, "answers") == 0;
            size_t start = text.len;
            tell_cell(&text, nl_result_cell(result, row, column), names);
            named = named || (names && text.len > start + 1);
        }
        sum.rows += named;
        text.len = named ? text.len : before;
    }
    sum.sum = nl_crc32c(text.ptr, text.len);
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
