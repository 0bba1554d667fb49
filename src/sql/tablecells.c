/* Arguments and cells of table functions, see tablecells.h. */
#include "sql/tablecells.h"

bool nl_argument_given(sqlite3_value *value)
{
    return value && sqlite3_value_type(value) != SQLITE_NULL;
}

/* A moment as the store has it; one that is out of range is later than any. */
static int64_t moment(const struct nl_tf_call *call, sqlite3_value *value)
{
    int64_t out;
    return __builtin_add_overflow(sqlite3_value_int64(value), call->db->origin, &out) ? INT64_MAX
                                                                                      : out;
}

struct nl_window nl_argument_window(const struct nl_tf_call *call, sqlite3_value **args,
                                    bool ranked)
{
    bool from = nl_argument_given(args[0]), to = nl_argument_given(args[1]);
    struct nl_window window = {.has_time = from || to,
                               .start = from ? moment(call, args[0]) : INT64_MIN,
                               .end = to ? moment(call, args[1]) : INT64_MAX};
    window.has_rank = ranked && nl_argument_given(args[2]);
    if (window.has_rank)
        window.rank = sqlite3_value_int64(args[2]);
    return window;
}

void nl_show_int(sqlite3_context *context, int64_t value)
{
    if (value != NL_NULL_I64)
        sqlite3_result_int64(context, value);
}

void nl_show_real(sqlite3_context *context, double value)
{
    if (value == value)
        sqlite3_result_double(context, value);
}

void nl_show_row(sqlite3_context *context, uint32_t row)
{
    if (row != NL_NULL_ROW)
        sqlite3_result_int64(context, row);
}

void nl_show_name(sqlite3_context *context, const struct nl_tf_call *call, uint32_t id)
{
    struct nl_str name = nl_trace_name(call->db->trace, id);
    if (id != NL_NO_NAME)
        sqlite3_result_text(context, name.ptr, (int)name.len, SQLITE_STATIC);
}

void nl_show_text(sqlite3_context *context, const char *text)
{
    if (text)
        sqlite3_result_text(context, text, -1, SQLITE_STATIC);
}
