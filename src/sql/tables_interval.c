/* Interval sets as rows: SELECT * FROM interval_union((SELECT intervals(ts, dur) FROM …), …). */
#include "base/mem.h"
#include "sql/tablecells.h"

static const struct nl_tf_column interval_columns[] = {
    {"ts", "INTEGER NS", "start"}, {"dur", "INTEGER NS", "duration"}, {0}};
static const struct nl_tf_column two_sets[] = {
    {"a", "", "a set of intervals"}, {"b", "", "another"}, {0}};

/* The set belongs to the statement. */
static void close_nothing(struct nl_tf_call *call)
{
    (void)call;
}

static bool keep_set(struct nl_tf_call *call, struct nl_intervals *set)
{
    if (!nl_db_set_filled(call->db, set)) {
        sqlite3_snprintf(sizeof call->message, call->message,
                         "interval sets of this statement take too much memory");
        return false;
    }
    call->state = set;
    call->rows = set->count;
    return true;
}

static bool operate(struct nl_tf_call *call, sqlite3_value **args, nl_set_operator *operator)
{
    static const struct nl_intervals none;
    const struct nl_intervals *a = nl_value_set(args[0], call->message);
    const struct nl_intervals *b = args[1] ? nl_value_set(args[1], call->message) : &none;
    if (!a || !b)
        return false;
    struct nl_intervals *out = nl_db_new_set(call->db);
    operator(a, b, out);
    return keep_set(call, out);
}

static bool open_union(struct nl_tf_call *call, sqlite3_value **args)
{
    return operate(call, args, nl_intervals_union);
}

static bool open_intersect(struct nl_tf_call *call, sqlite3_value **args)
{
    return operate(call, args, nl_intervals_intersect);
}

static bool open_subtract(struct nl_tf_call *call, sqlite3_value **args)
{
    return operate(call, args, nl_intervals_subtract);
}

static bool open_gaps(struct nl_tf_call *call, sqlite3_value **args)
{
    const struct nl_intervals *set = nl_value_set(args[0], call->message);
    if (!set)
        return false;
    int64_t start = set->count ? set->items[0].start : 0;
    int64_t end = set->count ? set->items[set->count - 1].end : 0;
    if (nl_argument_given(args[1]))
        start = sqlite3_value_int64(args[1]);
    if (nl_argument_given(args[2]))
        end = sqlite3_value_int64(args[2]);
    struct nl_intervals *out = nl_db_new_set(call->db);
    nl_intervals_gaps(set, start, end, out);
    return keep_set(call, out);
}

static void interval_column(const struct nl_tf_call *call, size_t row, int column,
                            sqlite3_context *context)
{
    const struct nl_interval *item = &((const struct nl_intervals *)call->state)->items[row];
    sqlite3_result_int64(context, column ? (int64_t)((uint64_t)item->end - (uint64_t)item->start)
                                         : item->start);
}

const struct nl_table_function nl_tf_union = {
    .name = "interval_union",
    .signature = "interval_union(a, b)",
    .doc = "The union of both sets; of a alone when b is not given.",
    .example =
        "SELECT * FROM interval_union((SELECT intervals(ts, dur) FROM kernels WHERE stream = 7))",
    .columns = interval_columns,
    .arguments = two_sets,
    .required = 1,
    .open = open_union,
    .column = interval_column,
    .close = close_nothing};

const struct nl_table_function nl_tf_intersect = {
    .name = "interval_intersect",
    .signature = "interval_intersect(a, b)",
    .doc = "The intersection of both sets.",
    .example = "SELECT sum(dur) FROM interval_intersect((SELECT intervals(ts, dur) FROM copies), "
               "(SELECT intervals(ts, dur) FROM kernels))",
    .columns = interval_columns,
    .arguments = two_sets,
    .required = 2,
    .open = open_intersect,
    .column = interval_column,
    .close = close_nothing};

const struct nl_table_function nl_tf_subtract = {
    .name = "interval_subtract",
    .signature = "interval_subtract(a, b)",
    .doc = "What is in a and not in b.",
    .example =
        "SELECT * FROM interval_subtract((SELECT intervals(ts, dur) FROM kernels WHERE class = "
        "'communication'), (SELECT intervals(ts, dur) FROM kernels WHERE class = 'compute'))",
    .columns = interval_columns,
    .arguments = two_sets,
    .required = 2,
    .open = open_subtract,
    .column = interval_column,
    .close = close_nothing};

const struct nl_table_function nl_tf_gaps = {
    .name = "interval_gaps",
    .signature = "interval_gaps(set, start, end)",
    .doc = "What of [start, end) the set does not cover; between its first start and last end when "
           "not given.",
    .example = "SELECT * FROM interval_gaps((SELECT intervals(ts, dur) FROM kernels)) ORDER BY dur "
               "DESC LIMIT 5",
    .columns = interval_columns,
    .arguments = (const struct nl_tf_column[]){{"intervals", "", "a set of intervals"},
                                               {"gaps_start", "INTEGER", "where to begin"},
                                               {"gaps_end", "INTEGER", "where to stop"},
                                               {0}},
    .required = 1,
    .open = open_gaps,
    .column = interval_column,
    .close = close_nothing};
