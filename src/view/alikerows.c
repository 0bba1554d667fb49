/* alikerows — see alikerows.h. Reports have some hundred such rows, of which each is looked
 * for among those before it. */
#include "view/alikerows.h"

#include <string.h>

#include "base/chars.h"
#include "base/mem.h"
#include "base/sum.h"
#include "tables/lookup.h"
#include "tables/resultcells.h"

#define MAX_ROWS 4096 /* larger tables are left as they are */

/* Tables whose numbers are sums, and which numbers; the first is what they are ordered by. */
static const struct {
    const char *result, *sums[5];
} summed[] = {{"idle_causes", {"total_ns", "gaps", "wall_share", "idle_share", NULL}}};

static const char *const *sums_of(const struct nl_result *result)
{
    for (size_t i = 0; i < sizeof summed / sizeof summed[0]; i++)
        if (!strcmp(result->name, summed[i].result))
            return summed[i].sums;
    return NULL;
}

static bool is_sum(const char *const *sums, const char *column)
{
    for (; *sums; sums++)
        if (!strcmp(*sums, column))
            return true;
    return false;
}

static bool is_same(const struct nl_cell *a, const struct nl_cell *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case NL_CELL_TEXT: return nl_str_eq(a->text, b->text);
    case NL_CELL_I64: return a->i64 == b->i64;
    case NL_CELL_F64: return !(a->f64 < b->f64) && !(a->f64 > b->f64);
    default: return true;
    }
}

static bool is_alike(const struct nl_result *result, const char *const *sums, const bool *skip,
                     const struct nl_cell *a, const struct nl_cell *b)
{
    for (size_t i = 0; i < result->column_count; i++)
        if (!skip[i] && !is_sum(sums, result->columns[i].name) && !is_same(&a[i], &b[i]))
            return false;
    return true;
}

static void add_cell(struct nl_cell *to, const struct nl_cell *cell)
{
    if (to->type != cell->type)
        return;
    if (to->type == NL_CELL_I64)
        nl_sum_add(&to->i64, cell->i64);
    if (to->type == NL_CELL_F64)
        to->f64 += cell->f64;
}

static void merge_row(struct nl_alikerows *alike, const struct nl_result *result, const bool *skip,
                      const char *const *sums, const struct nl_cell *row)
{
    size_t width = result->column_count, at = 0;
    struct nl_cell *cells = alike->shown.cells;
    while (at < alike->shown.rows && !is_alike(result, sums, skip, cells + at * width, row))
        at++;
    if (at == alike->shown.rows) {
        memcpy(cells + at * width, row, width * sizeof *row);
        alike->shown.rows++;
        return;
    }
    for (size_t i = 0; i < width; i++)
        if (is_sum(sums, result->columns[i].name))
            add_cell(&cells[at * width + i], &row[i]);
}

static int64_t sum_at(const struct nl_alikerows *alike, const char *column, size_t row)
{
    for (size_t i = 0; i < alike->shown.column_count; i++)
        if (!strcmp(alike->shown.columns[i].name, column))
            return nl_result_cell(&alike->shown, row, i)->i64;
    return 0;
}

/* A row that grew moves up; the order of others is kept. */
static void order(struct nl_alikerows *alike, const char *column)
{
    size_t width = alike->shown.column_count;
    struct nl_cell *cells = alike->shown.cells;
    struct nl_cell *moved = nl_alloc((width + 1) * sizeof *moved);
    for (size_t row = 1; row < alike->shown.rows; row++) {
        size_t to = row;
        while (to && sum_at(alike, column, to - 1) < sum_at(alike, column, row))
            to--;
        if (to == row)
            continue;
        memcpy(moved, cells + row * width, width * sizeof *moved);
        memmove(cells + (to + 1) * width, cells + to * width, (row - to) * width * sizeof *cells);
        memcpy(cells + to * width, moved, width * sizeof *moved);
    }
    nl_free(moved);
}

void nl_alikerows_init(struct nl_alikerows *alike, const struct nl_result *result, const bool *skip)
{
    const char *const *sums = sums_of(result);
    *alike = (struct nl_alikerows){.shown = *result};
    if (!sums || result->rows > MAX_ROWS)
        return;
    alike->made = true;
    alike->shown.rows = 0;
    alike->shown.cells =
        nl_alloc((result->rows * result->column_count + 1) * sizeof *alike->shown.cells);
    for (size_t row = 0; row < result->rows; row++)
        merge_row(alike, result, skip, sums, result->cells + row * result->column_count);
    order(alike, sums[0]);
}

/* The sum of a column over the devices with that label, and how many have it. */
static int64_t sum_of_label(const struct nl_result *devices, const char *column, int64_t rank,
                            int64_t device, size_t *count)
{
    int64_t sum = 0;
    *count = 0;
    for (size_t row = 0; row < devices->rows; row++) {
        int64_t ns = nl_lookup_i64(devices, row, column);
        if (nl_lookup_i64(devices, row, "rank") != rank ||
            nl_lookup_i64(devices, row, "device") != device || ns == NL_NULL_I64)
            continue;
        nl_sum_add(&sum, ns);
        ++*count;
    }
    return sum;
}

void nl_alikerows_share(struct nl_alikerows *alike, const struct nl_result *devices)
{
    static const struct {
        const char *share, *whole;
    } of[] = {{"wall_share", "wall_ns"}, {"idle_share", "idle_ns"}};
    struct nl_result *shown = &alike->shown;
    for (size_t i = 0; alike->made && devices && i < sizeof of / sizeof of[0]; i++) {
        ptrdiff_t column = nl_lookup_column(shown, of[i].share);
        for (size_t row = 0; column >= 0 && row < shown->rows; row++) {
            size_t count;
            int64_t whole = sum_of_label(devices, of[i].whole, nl_lookup_i64(shown, row, "rank"),
                                         nl_lookup_i64(shown, row, "device"), &count);
            if (count > 1)
                shown->cells[row * shown->column_count + (size_t)column] =
                    nl_cell_share(nl_lookup_i64(shown, row, "total_ns"), whole);
        }
    }
}

void nl_alikerows_release(struct nl_alikerows *alike)
{
    if (alike->made)
        nl_free(alike->shown.cells);
}

/* ---- columns that distinguish rows ---- */

/* Letters and digits alone, whatever their case: all_reduce and AllReduce
 * are one word to a reader. */
static bool reads_alike(struct nl_str a, struct nl_str b)
{
    size_t i = 0, j = 0;
    for (;; i++, j++) {
        while (i < a.len && a.ptr[i] == '_')
            i++;
        while (j < b.len && b.ptr[j] == '_')
            j++;
        if (i == a.len || j == b.len)
            return i == a.len && j == b.len;
        if (nl_lower(a.ptr[i]) != nl_lower(b.ptr[j]))
            return false;
    }
}

/* Where something is, or when: numbers that distinguish rows. */
static bool is_place(const char *column)
{
    return !strcmp(column, "rank") || !strcmp(column, "device") || !strcmp(column, "start_ns");
}

/* Whether a reader sees a difference in that column: of words and places,
 * but not of other numbers. */
static bool is_told_by(const struct nl_result_column *column, const struct nl_cell *a,
                       const struct nl_cell *b)
{
    if (a->type == NL_CELL_TEXT && b->type == NL_CELL_TEXT)
        return !reads_alike(a->text, b->text);
    return (column->meaning == NL_MEANS_TEXT || is_place(column->name)) && !is_same(a, b);
}

/* Whether two rows have the same words and places in the columns that are shown. */
static bool look_alike(const struct nl_result *result, const bool *skip, size_t first,
                       size_t second)
{
    for (size_t i = 0; i < result->column_count; i++)
        if (!skip[i] && is_told_by(&result->columns[i], nl_result_cell(result, first, i),
                                   nl_result_cell(result, second, i)))
            return false;
    return true;
}

/* The first column of words that is left out and differs; the count of columns without one. */
static size_t telling_column(const struct nl_result *result, const bool *skip, size_t first,
                             size_t second)
{
    for (size_t i = 0; i < result->column_count; i++)
        if (skip[i] && result->columns[i].meaning == NL_MEANS_TEXT &&
            !is_same(nl_result_cell(result, first, i), nl_result_cell(result, second, i)))
            return i;
    return result->column_count;
}

void nl_alikerows_tell(const struct nl_result *result, size_t rows, bool *skip)
{
    for (size_t row = 1; row < rows && row < result->rows; row++)
        for (size_t before = 0; before < row; before++) {
            size_t column = look_alike(result, skip, before, row)
                                ? telling_column(result, skip, before, row)
                                : result->column_count;
            if (column < result->column_count)
                skip[column] = false;
        }
}
