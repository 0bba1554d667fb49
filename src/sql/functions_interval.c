/*
 * Interval sets in SQL.
 *
 * `intervals(ts, dur)` gathers rows into a set; the operators of interval.c then take and give
 * sets. A set travels through SQL as a pointer value, which no SQL text can forge; it belongs to
 * the statement and not to SQLite, so that copies of the pointer can never outlive it.
 */
#include <string.h>

#include "base/mem.h"
#include "sql/functions.h"

/* Aggregates gather here; busy() keeps its set in the aggregate itself. */
struct gather {
    struct nl_intervals *owned; /* intervals() */
    struct nl_intervals local;  /* busy() */
};

const struct nl_intervals *nl_value_set(sqlite3_value *value, char message[NL_MESSAGE])
{
    const struct nl_intervals *set = value ? sqlite3_value_pointer(value, NL_SET_POINTER) : NULL;
    if (!set && message)
        sqlite3_snprintf(NL_MESSAGE, message,
                         "this argument has to be a set of intervals, as in (SELECT intervals(ts, "
                         "dur) FROM kernels); a "
                         "set does not outlive the SELECT that makes it when that has a GROUP BY "
                         "or is a stored CTE");
    return set;
}

static void add_interval(sqlite3_context *context, struct nl_intervals *set, sqlite3_value **argv)
{
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) == SQLITE_NULL)
        return;
    int64_t start = sqlite3_value_int64(argv[0]), dur = sqlite3_value_int64(argv[1]), end;
    if (dur <= 0)
        return;
    if (__builtin_add_overflow(start, dur, &end))
        end = INT64_MAX;
    if (set->count == set->cap && !nl_context_room(context, 2 * set->cap * sizeof *set->items))
        return;
    nl_intervals_add(set, start, end);
}

static void intervals_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct gather *gather = sqlite3_aggregate_context(context, sizeof *gather);
    if (!gather)
        return;
    if (!gather->owned)
        gather->owned = nl_db_new_set(nl_context_db(context));
    add_interval(context, gather->owned, argv);
}

static void give_set(sqlite3_context *context, struct nl_intervals *set)
{
    if (!nl_db_set_filled(nl_context_db(context), set)) {
        sqlite3_result_error(context, "interval sets of this statement take too much memory", -1);
        return;
    }
    sqlite3_result_pointer(context, set, NL_SET_POINTER, NULL);
}

static void intervals_final(sqlite3_context *context)
{
    struct gather *gather = sqlite3_aggregate_context(context, 0);
    struct nl_intervals *set =
        gather && gather->owned ? gather->owned : nl_db_new_set(nl_context_db(context));
    nl_intervals_normalise(set);
    give_set(context, set);
}

static void busy_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct gather *gather = sqlite3_aggregate_context(context, sizeof *gather);
    if (gather)
        add_interval(context, &gather->local, argv);
}

static void busy_final(sqlite3_context *context)
{
    struct gather *gather = sqlite3_aggregate_context(context, 0);
    if (!gather) {
        sqlite3_result_int64(context, 0);
        return;
    }
    nl_intervals_normalise(&gather->local);
    sqlite3_result_int64(context, nl_intervals_length(&gather->local));
    nl_intervals_release(&gather->local);
}

/* The sets of the first `count` arguments; false (error set) when one is none. */
static bool take_sets(sqlite3_context *context, sqlite3_value **argv, int count,
                      const struct nl_intervals **sets)
{
    char message[NL_MESSAGE];
    for (int i = 0; i < count; i++) {
        sets[i] = nl_value_set(argv[i], message);
        if (!sets[i]) {
            sqlite3_result_error(context, message, -1);
            return false;
        }
    }
    return true;
}

static void length(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct nl_intervals *set;
    if (take_sets(context, argv, argc, &set))
        sqlite3_result_int64(context, nl_intervals_length(set));
}

static void count(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct nl_intervals *set;
    if (take_sets(context, argv, argc, &set))
        sqlite3_result_int64(context, (sqlite3_int64)set->count);
}

static void overlap(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct nl_intervals *sets[2];
    if (take_sets(context, argv, argc, sets))
        sqlite3_result_int64(context, nl_intervals_overlap(sets[0], sets[1]));
}

static void operate(sqlite3_context *context, sqlite3_value **argv, nl_set_operator *operator)
{
    const struct nl_intervals *sets[2];
    if (!take_sets(context, argv, 2, sets))
        return;
    struct nl_intervals *out = nl_db_new_set(nl_context_db(context));
    operator(sets[0], sets[1], out);
    give_set(context, out);
}

static void make_union(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    operate(context, argv, nl_intervals_union);
}

static void make_intersection(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    operate(context, argv, nl_intervals_intersect);
}

static void make_difference(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    operate(context, argv, nl_intervals_subtract);
}

static void make_gaps(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const struct nl_intervals *set;
    if (!take_sets(context, argv, 1, &set))
        return;
    struct nl_intervals *out = nl_db_new_set(nl_context_db(context));
    nl_intervals_gaps(set, sqlite3_value_int64(argv[1]), sqlite3_value_int64(argv[2]), out);
    give_set(context, out);
}

const struct nl_function nl_interval_functions[] = {
    {"intervals", "intervals(ts, dur)",
     "Aggregate: the set of intervals [ts, ts + dur), overlapping and touching ones joined. Rows "
     "with a NULL and of no length add nothing. A set is not a number or a text: hand it to one of "
     "the functions below.",
     "SELECT interval_length(intervals(ts, dur)) FROM kernels", 2, NULL, intervals_step,
     intervals_final},
    {"busy", "busy(ts, dur)",
     "Aggregate: length of the union of the intervals in ns; the same as "
     "interval_length(intervals(ts, dur)).",
     "SELECT stream, busy(ts, dur) FROM kernels GROUP BY stream", 2, NULL, busy_step, busy_final},
    {"interval_length", "interval_length(set)", "Sum of the lengths in ns.",
     "SELECT interval_length(intervals(ts, dur)) FROM copies", 1, length, NULL, NULL},
    {"interval_count", "interval_count(set)", "Number of disjoint intervals.",
     "SELECT interval_count(intervals(ts, dur)) FROM kernels", 1, count, NULL, NULL},
    {"overlap_ns", "overlap_ns(a, b)", "Length in ns of the intersection of both sets.",
     "SELECT overlap_ns((SELECT intervals(ts, dur) FROM kernels WHERE class = 'communication'), "
     "(SELECT intervals(ts, dur) FROM kernels WHERE class = 'compute'))",
     2, overlap, NULL, NULL},
    {"interval_union", "interval_union(a, b)", "The union of both sets.",
     "SELECT interval_length(interval_union((SELECT intervals(ts, dur) FROM kernels), "
     "(SELECT intervals(ts, dur) FROM copies)))",
     2, make_union, NULL, NULL},
    {"interval_intersect", "interval_intersect(a, b)", "The intersection of both sets.",
     "SELECT interval_count(interval_intersect((SELECT intervals(ts, dur) FROM kernels), "
     "(SELECT intervals(ts, dur) FROM copies)))",
     2, make_intersection, NULL, NULL},
    {"interval_subtract", "interval_subtract(a, b)", "What is in a and not in b.",
     "SELECT interval_length(interval_subtract((SELECT intervals(ts, dur) FROM copies), "
     "(SELECT intervals(ts, dur) FROM kernels)))",
     2, make_difference, NULL, NULL},
    {"interval_gaps", "interval_gaps(set, start, end)",
     "Set of what of [start, end) is not covered.",
     "SELECT interval_length(interval_gaps(intervals(ts, dur), min(ts), max(ts + dur))) FROM "
     "kernels",
     3, make_gaps, NULL, NULL},
    {0}};
