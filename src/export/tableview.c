/* Which rows, which columns, and reading a value. */
#include "export/tableview.h"

/* ---- columns ---- */

static enum nl_form form_of(const struct nl_trace *trace, const struct nl_column_def *def)
{
    (void)trace;
    switch (def->type) {
    case NL_TYPE_TIME:
    case NL_TYPE_DUR:
    case NL_TYPE_I64: return NL_FORM_I64;
    case NL_TYPE_U64: return NL_FORM_U64;
    case NL_TYPE_F64: return NL_FORM_F64;
    case NL_TYPE_U32:
    case NL_TYPE_REF: return NL_FORM_U32;
    case NL_TYPE_U16: return NL_FORM_U16;
    case NL_TYPE_U8: return NL_FORM_U8;
    case NL_TYPE_NAME: return NL_FORM_NAME;
    case NL_TYPE_ENUM: break;
    }
    return NL_FORM_WORD;
}

static void add_column(struct nl_table_view *view, enum nl_table_id table,
                       const struct nl_column_def *def)
{
    const struct nl_trace *trace = view->export->trace;
    struct nl_view_column *column = &view->columns[view->count++];
    *column = (struct nl_view_column){.name = def->name,
                                      .unit = def->unit,
                                      .doc = def->doc,
                                      .form = form_of(trace, def),
                                      .path = nl_column_path_of(trace, table, def)};
    bool small = def->type == NL_TYPE_U16 || def->type == NL_TYPE_U8;
    column->nullable = !small || column->path.hop_count;
    column->ascending = def->type == NL_TYPE_TIME || def->type == NL_TYPE_REF;
    column->origin = def->type == NL_TYPE_TIME ? trace->first_ts : 0;
}

/* ---- rows ---- */

struct row_picker {
    const struct nl_export *export;
    enum nl_table_id table;
    const uint32_t *slice, *lane; /* columns, or NULL */
    const int64_t *ts;
};

static const void *stored(const struct nl_trace *trace, enum nl_table_id table, const char *name)
{
    const struct nl_column_def *def = nl_table_column(table, name);
    return def && def->hop == NL_HOP_NONE ? nl_trace_column(trace, def) : NULL;
}

/* A step that began before the window and goes on in it, as its slice. */
static bool picks_step(const struct nl_export *export, uint32_t row)
{
    const struct nl_step_table *step = &export->trace->step;
    int64_t end, dur = step->dur[row] == NL_NULL_I64 ? 0 : step->dur[row];
    if (__builtin_add_overflow(step->ts[row], dur, &end))
        end = INT64_MAX;
    if (step->ts[row] >= export->scope.start || dur == 0)
        return nl_export_picks_moment(export, step->lane[row], step->ts[row]);
    return end > export->scope.start &&
           (step->lane[row] == NL_NULL_ROW || nl_scope_lane(&export->scope, step->lane[row]));
}

static bool picks(const struct row_picker *picker, uint32_t row)
{
    const struct nl_export *export = picker->export;
    const struct nl_trace *trace = export->trace;
    if (picker->table == NL_T_slice)
        return nl_export_picks(export, row);
    if (picker->table == NL_T_flow)
        return nl_export_picks_moment(export, trace->flow.src_lane[row], trace->flow.src_ts[row]) ||
               nl_export_picks_moment(export, trace->flow.dst_lane[row], trace->flow.dst_ts[row]);
    if (picker->table == NL_T_counter) {
        uint32_t series = trace->counter.series[row];
        uint32_t lane = series == NL_NULL_ROW ? NL_NULL_ROW : trace->series.lane[series];
        return nl_export_picks_moment(export, lane, trace->counter.ts[row]);
    }
    if (picker->table == NL_T_step)
        return picks_step(export, row);
    if (picker->slice)
        return picker->slice[row] == NL_NULL_ROW || nl_export_picks(export, picker->slice[row]);
    if (picker->ts)
        return nl_export_picks_moment(export, picker->lane ? picker->lane[row] : NL_NULL_ROW,
                                      picker->ts[row]);
    return true;
}

static struct row_picker make_picker(const struct nl_export *export, enum nl_table_id table)
{
    return (struct row_picker){.export = export,
                               .table = table,
                               .slice = stored(export->trace, table, "slice"),
                               .lane = stored(export->trace, table, "lane"),
                               .ts = stored(export->trace, table, "ts")};
}

uint32_t nl_table_view_count(const struct nl_export *export, enum nl_table_id table)
{
    uint32_t rows = nl_trace_rows(export->trace, table), count = 0;
    if (export->scope.everything)
        return rows;
    struct row_picker picker = make_picker(export, table);
    for (uint32_t row = 0; row < rows; row++)
        count += picks(&picker, row);
    return count;
}

static void pick_rows(struct nl_table_view *view, enum nl_table_id table, uint32_t **rows_room)
{
    const struct nl_trace *trace = view->export->trace;
    uint32_t rows = nl_trace_rows(trace, table);
    *rows_room = NULL;
    view->row_count = rows;
    if (view->export->scope.everything || !rows)
        return;
    struct row_picker picker = make_picker(view->export, table);
    uint32_t *picked = nl_alloc((size_t)rows * sizeof *picked), count = 0;
    for (uint32_t row = 0; row < rows; row++)
        if (picks(&picker, row))
            picked[count++] = row;
    view->rows = *rows_room = picked;
    view->row_count = count;
}

void nl_table_view_make(struct nl_table_view *view, const struct nl_export *export,
                        enum nl_table_id table, uint32_t **rows_room)
{
    const struct nl_table_def *def = &nl_tables[table];
    *view = (struct nl_table_view){
        .export = export, .name = def->sql, .doc = def->doc, .partition = NL_NULL_I64};
    view->columns = nl_zalloc((def->count + 1u) * sizeof *view->columns);
    if (nl_table_has_id(table))
        view->columns[view->count++] = (struct nl_view_column){.name = "id",
                                                               .unit = "",
                                                               .doc = "number of the row",
                                                               .form = NL_FORM_U32,
                                                               .ascending = true};
    for (unsigned i = 0; i < def->count; i++)
        add_column(view, table, &nl_columns[def->first + i]);
    pick_rows(view, table, rows_room);
}

/* ---- results ---- */

static enum nl_form form_of_result(const struct nl_result *result, size_t column)
{
    bool whole = true, any = false;
    for (size_t row = 0; row < result->rows; row++) {
        enum nl_cell_type type = nl_result_cell(result, row, column)->type;
        if (type == NL_CELL_TEXT)
            return NL_FORM_TEXT;
        whole = whole && type != NL_CELL_F64;
        any = any || type != NL_CELL_NULL;
    }
    if (any)
        return whole ? NL_FORM_I64 : NL_FORM_F64;
    switch (result->columns[column].meaning) {
    case NL_MEANS_TEXT:
    case NL_MEANS_UNIT:
    case NL_MEANS_ANY: return NL_FORM_TEXT;
    case NL_MEANS_SHARE:
    case NL_MEANS_NUMBER:
    case NL_MEANS_RATE:
    case NL_MEANS_FLOPS:
    case NL_MEANS_CHANGE_SHARE: return NL_FORM_F64;
    default: return NL_FORM_I64;
    }
}

void nl_table_view_of_result(struct nl_table_view *view, const struct nl_export *export,
                             struct nl_result *result)
{
    *view = (struct nl_table_view){.export = export,
                                   .name = result->name,
                                   .doc = result->title,
                                   .row_count = (uint32_t)result->rows,
                                   .partition = NL_NULL_I64,
                                   .of_result = result};
    view->columns = nl_zalloc((result->column_count + 1) * sizeof *view->columns);
    for (size_t i = 0; i < result->column_count; i++)
        view->columns[view->count++] = (struct nl_view_column){.name = result->columns[i].name,
                                                               .unit = "",
                                                               .doc = "",
                                                               .form = form_of_result(result, i),
                                                               .nullable = true,
                                                               .result = result,
                                                               .index = i};
}

void nl_table_view_release(struct nl_table_view *view)
{
    nl_free(view->columns);
    if (view->of_result)
        nl_result_free(view->of_result);
    *view = (struct nl_table_view){0};
}

/* ---- values ---- */

static bool result_value(const struct nl_view_column *column, uint32_t row,
                         union nl_view_cell *value)
{
    const struct nl_cell *cell = nl_result_cell(column->result, row, column->index);
    switch (cell->type) {
    case NL_CELL_NULL: return false;
    case NL_CELL_I64:
        if (column->form == NL_FORM_F64)
            value->f64 = (double)cell->i64;
        else
            value->i64 = cell->i64;
        return column->form != NL_FORM_TEXT;
    case NL_CELL_F64: value->f64 = cell->f64; return column->form == NL_FORM_F64;
    case NL_CELL_TEXT: value->str = cell->text; return true;
    }
    return false;
}

bool nl_view_value(const struct nl_table_view *view, const struct nl_view_column *column,
                   uint32_t i, union nl_view_cell *value)
{
    uint32_t row = nl_view_row(view, i);
    if (column->result)
        return result_value(column, row, value);
    if (!column->path.def) {
        value->u64 = row;
        return true;
    }
    const void *array = column->path.array;
    row = nl_column_path_row(&column->path, row);
    if (row == NL_NULL_ROW)
        return false;
    switch (column->form) {
    case NL_FORM_I64:
        value->i64 = ((const int64_t *)array)[row];
        if (value->i64 == NL_NULL_I64)
            return false;
        value->i64 -= column->origin;
        return true;
    case NL_FORM_U64: value->u64 = ((const uint64_t *)array)[row]; return value->u64 != NL_NULL_U64;
    case NL_FORM_U32: value->u64 = ((const uint32_t *)array)[row]; return value->u64 != NL_NULL_U32;
    case NL_FORM_U16: value->u64 = ((const uint16_t *)array)[row]; return true;
    case NL_FORM_U8: value->u64 = ((const uint8_t *)array)[row]; return true;
    case NL_FORM_F64: value->f64 = ((const double *)array)[row]; return value->f64 == value->f64;
    case NL_FORM_NAME:
        value->name = ((const uint32_t *)array)[row];
        return value->name != NL_NO_NAME;
    case NL_FORM_WORD:
        value->text = nl_enum_text(column->path.def->enumeration, ((const uint8_t *)array)[row]);
        return value->text != NULL;
    case NL_FORM_TEXT: break;
    }
    return false;
}
