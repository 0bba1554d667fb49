/* Five pairs; lists are JSON. */
#include "export/tablemeta.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"

#define MAX_META ((size_t)16 << 20)

static void columns_text(struct nl_buf *text, const struct nl_table_view *view)
{
    struct nl_json json;
    nl_json_to_buf(&json, text, 0);
    nl_json_open(&json, '{');
    for (unsigned c = 0; c < view->count; c++) {
        nl_json_key(&json, view->columns[c].name);
        nl_json_open(&json, '{');
        nl_json_put_text(&json, "unit", view->columns[c].unit[0] ? view->columns[c].unit : NULL);
        nl_json_put_text(&json, "doc", view->columns[c].doc[0] ? view->columns[c].doc : NULL);
        nl_json_close(&json, '}');
    }
    nl_json_close(&json, '}');
}

static void coverage_text(struct nl_buf *text, const struct nl_trace *trace)
{
    const struct nl_coverage_table *table = &trace->coverage;
    struct nl_json json;
    nl_json_to_buf(&json, text, 0);
    nl_json_open(&json, '[');
    for (uint32_t i = 0; i < table->rows; i++) {
        nl_json_open(&json, '{');
        nl_json_key(&json, "item");
        nl_json_str(&json, nl_trace_name(trace, table->item[i]));
        nl_json_put_i64(&json, "count", table->count[i], table->count[i] != NL_NULL_I64);
        nl_json_key(&json, "detail");
        nl_json_str(&json, nl_trace_name(trace, table->detail[i]));
        nl_json_close(&json, '}');
    }
    nl_json_close(&json, ']');
}

void nl_table_meta_make(struct nl_table_meta *meta, const struct nl_table_view *view)
{
    const struct nl_trace *trace = view->export->trace;
    nl_buf_init(&meta->columns, MAX_META);
    nl_buf_init(&meta->coverage, MAX_META);
    columns_text(&meta->columns, view);
    coverage_text(&meta->coverage, trace);
    snprintf(meta->first, sizeof meta->first, "%" PRId64, trace->first_ts);
    const struct nl_str values[] = {
        nl_str("neurolens.tables/1"), nl_str(view->name), nl_str(meta->first),
        (struct nl_str){meta->columns.ptr, meta->columns.len},
        meta->coverage.overflow ? nl_str("[]")
                                : (struct nl_str){meta->coverage.ptr, meta->coverage.len}};
    static const char *const keys[] = {"neurolens.schema", "neurolens.table", "neurolens.first_ns",
                                       "neurolens.columns", "neurolens.coverage"};
    for (size_t i = 0; i < NL_TABLE_PAIRS; i++) {
        meta->pairs[i].key = keys[i];
        meta->pairs[i].value = values[i];
    }
}

void nl_table_meta_release(struct nl_table_meta *meta)
{
    nl_buf_release(&meta->columns);
    nl_buf_release(&meta->coverage);
}
