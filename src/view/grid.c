/* grid — see grid.h. */
#include "view/grid.h"

#include "tables/readname.h"
#include "tables/shortname.h"
#include "base/sort.h"
#include "view/celltext.h"
#include "view/distinct.h"
#include "view/plot.h"

#define GAP        2  /* between columns */
#define MIN_TEXT   24 /* text columns shrink no further while others can go, */
#define FIRST_TEXT 40 /* the first of them not below this share of the width, per cent */
#define CELL_BYTES ((size_t)1 << 20)

const char *nl_grid_heading(const struct nl_result_column *column)
{
    return column->head ? column->head : column->name;
}

static bool has_value(const struct nl_result *result, size_t column)
{
    for (size_t row = 0; row < result->rows; row++)
        if (nl_result_cell(result, row, column)->type != NL_CELL_NULL)
            return true;
    return false;
}

/* A cell for a table: kernels by their readable names, which live in the grid. */
static struct nl_cell short_cell(struct nl_grid *grid, const struct nl_result_column *column,
                                 struct nl_cell cell)
{
    if (cell.type != NL_CELL_TEXT || !column->head || strcmp(column->head, "kernel") != 0)
        return cell;
    struct nl_buf read;
    nl_buf_init(&read, CELL_BYTES);
    nl_read_kernel(&read, cell.text);
    if (read.len)
        cell.text = (struct nl_str){nl_arena_text(&grid->arena, read.ptr, read.len), read.len};
    nl_buf_release(&read);
    return cell;
}

/* Marks the rows whose kernel another kernel of the column reads like: they are shown with
 * templates, without parameters. */
static void mark_namesakes(struct nl_grid *grid, size_t source, bool *whole)
{
    const struct nl_result_column *def = &grid->result->columns[source];
    struct nl_keyed *keys = nl_alloc(2 * (grid->rows + 1) * sizeof *keys);
    size_t count = 0;
    for (size_t row = 0; row < grid->rows; row++) {
        struct nl_cell cell = short_cell(grid, def, *nl_result_cell(grid->result, row, source));
        if (cell.type == NL_CELL_TEXT)
            keys[count++] = (struct nl_keyed){nl_hash(cell.text.ptr, cell.text.len), (uint32_t)row};
    }
    nl_sort_keyed(keys, keys + count, count);
    for (size_t from = 0, to; from < count; from = to) {
        bool differ = false;
        struct nl_str first = nl_result_cell(grid->result, keys[from].row, source)->text;
        for (to = from; to < count && keys[to].key == keys[from].key; to++)
            differ |= !nl_str_eq(nl_result_cell(grid->result, keys[to].row, source)->text, first);
        for (size_t i = from; differ && i < to; i++)
            whole[keys[i].row] = true;
    }
    nl_free(keys);
}

static struct nl_cell namesake_cell(struct nl_cell cell)
{
    struct nl_str plain = nl_short_kernel(cell.text);
    if (plain.len && plain.ptr[plain.len - 1] == '>')
        cell.text = plain;
    return cell;
}

static void fill_column(struct nl_grid *grid, struct nl_grid_column *column)
{
    const struct nl_result *result = grid->result;
    const struct nl_result_column *def = &result->columns[column->source];
    struct nl_buf text;
    bool *whole = nl_zalloc(grid->rows + 1);
    nl_buf_init(&text, CELL_BYTES);
    if (def->head && !strcmp(def->head, "kernel"))
        mark_namesakes(grid, column->source, whole);
    column->texts = nl_arena_alloc(&grid->arena, (grid->rows + 1) * sizeof *column->texts);
    column->width = nl_celltext_width(nl_str(nl_grid_heading(def)));
    for (size_t row = 0; row < grid->rows; row++) {
        const struct nl_cell *full = nl_result_cell(result, row, column->source);
        const struct nl_cell cell =
            whole[row] ? namesake_cell(*full) : short_cell(grid, def, *full);
        nl_buf_clear(&text);
        const struct nl_result_column shown = nl_celltext_column(result, row, column->source);
        nl_celltext_eyes(&text, &shown, &cell);
        column->texts[row].ptr = nl_arena_text(&grid->arena, text.len ? text.ptr : "", text.len);
        column->texts[row].len = text.len;
        size_t width = nl_celltext_width(column->texts[row]);
        column->width = width > column->width ? width : column->width;
    }
    nl_buf_release(&text);
    nl_free(whole);
}

static size_t total_width(const struct nl_grid *grid)
{
    size_t width = 0, shown = 0;
    for (size_t i = 0; i < grid->column_count; i++) {
        if (!grid->columns[i].shown)
            continue;
        width += grid->columns[i].width;
        shown++;
    }
    return shown ? width + GAP * (shown - 1) : 0;
}

static struct nl_grid_column *widest_text(const struct nl_grid *grid)
{
    struct nl_grid_column *widest = NULL;
    for (size_t i = 0; i < grid->column_count; i++) {
        struct nl_grid_column *column = &grid->columns[i];
        if (column->shown && !column->number && (!widest || column->width > widest->width))
            widest = column;
    }
    return widest;
}

/* Takes from the widest text column until the grid fits or it is as narrow as allowed: `least`,
 * and for the first one `first`. */
static void shrink(struct nl_grid *grid, size_t first, size_t least)
{
    struct nl_grid_column *leading = NULL;
    for (size_t i = grid->column_count; i-- > 0;)
        if (grid->columns[i].shown && !grid->columns[i].number)
            leading = &grid->columns[i];
    for (size_t total = total_width(grid); total > grid->width; total--) {
        struct nl_grid_column *column = widest_text(grid);
        if (!column || column->width <= (column == leading ? first : least))
            return;
        column->width--;
    }
}

/* What eyes miss least, in this order. */
static const char *const dispensable[] = {"pageable", "stddev_ns", "context", "min_ns",
                                          "max_ns",   "process",   "p95_ns"};

static bool hide(struct nl_grid *grid, const char *name)
{
    for (size_t i = 0; i < grid->column_count; i++) {
        struct nl_grid_column *column = &grid->columns[i];
        if (!column->shown || strcmp(grid->result->columns[column->source].name, name) != 0)
            continue;
        column->shown = false;
        return true;
    }
    return false;
}

/* What a table is read for: it goes last. */
static const char *const deciding[] = {"share",    "wall_share", "self_ns", "total_ns", "dur_ns",
                                       "idle_ns",  "saving_ns",  "ns",      "name",     "function",
                                       "activity", "limiter",    "verdict"};

static bool decides(const struct nl_grid *grid, const struct nl_grid_column *column)
{
    const char *name = grid->result->columns[column->source].name;
    bool found = false;
    for (size_t i = 0; i < sizeof deciding / sizeof deciding[0] && !found; i++)
        found = !strcmp(name, deciding[i]);
    return found;
}

/* Hides columns from the right until the rest fits, keeping two; `all`: the deciding ones, too. */
static void drop_from_right(struct nl_grid *grid, size_t *shown, bool all)
{
    for (size_t i = grid->column_count; i-- > 0 && *shown > 2;) {
        if (total_width(grid) <= grid->width)
            return;
        if (!grid->columns[i].shown || (!all && decides(grid, &grid->columns[i])))
            continue;
        grid->columns[i].shown = false;
        (*shown)--;
    }
}

/* Hides columns until the rest fits: first the dispensable ones, then from the
 * right, the deciding ones last. */
static void drop(struct nl_grid *grid)
{
    size_t shown = 0;
    for (size_t i = 0; i < grid->column_count; i++)
        shown += grid->columns[i].shown;
    for (size_t i = 0; i < sizeof dispensable / sizeof dispensable[0] && shown > 2; i++) {
        if (total_width(grid) <= grid->width)
            return;
        shown -= hide(grid, dispensable[i]);
    }
    drop_from_right(grid, &shown, false);
    drop_from_right(grid, &shown, true);
}

static bool is_share(const struct nl_grid *grid, const struct nl_grid_column *column)
{
    return column->shown && !strcmp(grid->result->columns[column->source].name, "share");
}

static void decide_bars(struct nl_grid *grid)
{
    for (size_t i = 0; i < grid->column_count && grid->rows > 1; i++)
        if (is_share(grid, &grid->columns[i]) && total_width(grid) + 1 + NL_GRID_BAR <= grid->width)
            grid->bars = true;
}

void nl_grid_init(struct nl_grid *grid, const struct nl_result *result, size_t rows, size_t width,
                  bool keep_empty, const bool *skip)
{
    *grid = (struct nl_grid){
        .result = result, .rows = rows < result->rows ? rows : result->rows, .width = width};
    nl_arena_init(&grid->arena);
    grid->columns =
        nl_arena_alloc(&grid->arena, (result->column_count + 1) * sizeof *grid->columns);
    for (size_t i = 0; i < result->column_count; i++) {
        bool empty = !keep_empty && result->rows && !has_value(result, i);
        if (empty || (skip && skip[i]))
            continue;
        struct nl_grid_column *column = &grid->columns[grid->column_count++];
        *column = (struct nl_grid_column){
            .source = i, .number = nl_celltext_is_number(result, i), .shown = true};
        fill_column(grid, column);
    }
    if (!width)
        grid->width = total_width(grid);
    shrink(grid, width * FIRST_TEXT / 100, MIN_TEXT);
    drop(grid);
    shrink(grid, 1, 1);
    for (size_t i = 0; i < grid->column_count; i++)
        if (grid->columns[i].shown && !grid->columns[i].number)
            nl_distinct(grid->columns[i].texts, grid->rows, grid->columns[i].width, &grid->arena);
    decide_bars(grid);
}

void nl_grid_release(struct nl_grid *grid)
{
    nl_arena_free(&grid->arena);
    *grid = (struct nl_grid){0};
}

static void spaces(struct nl_buf *out, size_t count)
{
    while (count--)
        nl_buf_char(out, ' ');
}

static void put_aligned(struct nl_buf *out, struct nl_str text, size_t width, bool right, bool last)
{
    struct nl_buf cut;
    nl_buf_init(&cut, CELL_BYTES);
    nl_celltext_elide(&cut, text, width);
    struct nl_str fits = {cut.len ? cut.ptr : "", cut.len};
    size_t pad = width - nl_celltext_width(fits);
    if (right)
        spaces(out, pad);
    nl_buf_add(out, fits.ptr, fits.len);
    if (!right && !last)
        spaces(out, pad);
    nl_buf_release(&cut);
}

static bool is_last(const struct nl_grid *grid, size_t at)
{
    for (size_t i = at + 1; i < grid->column_count; i++)
        if (grid->columns[i].shown)
            return false;
    return true;
}

static void put_row(struct nl_buf *out, const struct nl_grid *grid, size_t row, bool head)
{
    bool first = true;
    for (size_t i = 0; i < grid->column_count; i++) {
        const struct nl_grid_column *column = &grid->columns[i];
        if (!column->shown)
            continue;
        if (!first)
            spaces(out, GAP);
        first = false;
        bool bar = grid->bars && is_share(grid, column), last = is_last(grid, i);
        struct nl_str text = head ? nl_str(nl_grid_heading(&grid->result->columns[column->source]))
                                  : column->texts[row];
        put_aligned(out, text, column->width, column->number, last && !bar);
        if (!bar)
            continue;
        const struct nl_cell *cell = nl_result_cell(grid->result, row, column->source);
        bool known = !head && cell->type == NL_CELL_F64;
        if (head && last)
            continue;
        nl_buf_char(out, ' ');
        nl_grid_bar(out, known ? cell->f64 : 0, NL_GRID_BAR, !last);
    }
}

void nl_grid_head(struct nl_buf *out, const struct nl_grid *grid)
{
    put_row(out, grid, 0, true);
}

void nl_grid_line(struct nl_buf *out, const struct nl_grid *grid, size_t row)
{
    put_row(out, grid, row, false);
}

void nl_grid_bar(struct nl_buf *out, double share, size_t width, bool pad)
{
    nl_plot_bar(out, share, width, NL_INK_NONE, pad, &(struct nl_plot_style){0});
}
