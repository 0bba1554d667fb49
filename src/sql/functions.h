/*
 * functions — what SQL gets beyond SQLite's own: one table of scalar functions and aggregates, one
 * of table functions. Registration, completion, error hints and docs/sql.md read these tables.
 * Private to sql/.
 */
#ifndef NL_FUNCTIONS_H
#define NL_FUNCTIONS_H

#include "sql/dbstate.h"

struct nl_function {
    const char *name, *signature, *doc, *example;
    int args; /* -1 = any number */
    void (*scalar)(sqlite3_context *, int, sqlite3_value **);
    void (*step)(sqlite3_context *, int, sqlite3_value **); /* aggregates: step and final */
    void (*final)(sqlite3_context *);
};

/* Ended by a row without name. */
extern const struct nl_function nl_interval_functions[];  /* functions_interval.c */
extern const struct nl_function nl_statistic_functions[]; /* functions_statistic.c */
extern const struct nl_function nl_api_functions[];       /* functions_api.c */

/* The connection of a function's call. */
static inline struct nl_db *nl_context_db(sqlite3_context *context)
{
    return sqlite3_user_data(context);
}

/* Whether `bytes` more may be used by one statement's aggregates; sets the error when not. */
bool nl_context_room(sqlite3_context *context, uint64_t bytes);

#define NL_MESSAGE 240 /* bytes of an error message */

/* ---- Table functions ---- */

#define NL_MAX_ARGUMENTS 4

struct nl_tf_column {
    const char *name, *type, *doc; /* type as nl_column_sql_type gives it */
};

/* The columns of a table function, and enum constants of their places, from one list:
 *
 *     #define GAP_COLUMNS(C, P)                                \
 *         C(P, rank, "INTEGER", "rank, where it is known")     \
 *         C(P, dur, "INTEGER NS", "how long nothing ran")
 *     NL_TF_COLUMNS(gap_columns, GAP, GAP_COLUMNS);
 *     ...
 *     case GAP_dur: nl_show_int(context, gap->dur); break;
 */
#define NL_TF_PLACE(prefix, name, type, doc) prefix##_##name,
#define NL_TF_ROW(prefix, name, type, doc)   {#name, type, doc},
#define NL_TF_COLUMNS(array, prefix, list)                                                         \
    enum { list(NL_TF_PLACE, prefix) prefix##_COUNT };                                             \
    static const struct nl_tf_column array[] = {list(NL_TF_ROW, prefix){0}}

/* One call: made by `open`, read by `column`, released by `close`. */
struct nl_tf_call {
    struct nl_db *db;
    void *state;
    size_t rows;
    char message[NL_MESSAGE]; /* why `open` failed */
};

struct nl_table_function {
    const char *name, *signature, *doc, *example;
    const struct nl_tf_column *columns;   /* ended by a row without name */
    const struct nl_tf_column *arguments; /* hidden columns, in order; ended likewise */
    unsigned required;                    /* how many arguments must be given */
    bool listed;                          /* a view: shown among the tables */
    /* args[i] is NULL when argument i was not given. False: see call->message. */
    bool (*open)(struct nl_tf_call *call, sqlite3_value **args);
    void (*column)(const struct nl_tf_call *call, size_t row, int column, sqlite3_context *context);
    void (*close)(struct nl_tf_call *call);
};

/* Each ended by a NULL. */
extern const struct nl_table_function *const nl_table_functions[];
extern const struct nl_table_function nl_tf_time_breakdown, nl_tf_detected_steps,
    nl_tf_kernel_summary, nl_tf_name_stats, nl_tf_self_time, nl_tf_launch_ranges,
    nl_tf_kernel_owner, nl_tf_union, nl_tf_intersect, nl_tf_subtract, nl_tf_gaps, nl_tf_idle_gaps,
    nl_tf_idle_causes, nl_tf_account, nl_tf_op_work, nl_tf_roofline, nl_tf_llm_steps;

/* The set an SQL value carries; NULL (and `message` filled, if given) when it is none. */
const struct nl_intervals *nl_value_set(sqlite3_value *value, char message[NL_MESSAGE]);

/* Binary operators on sets as shared by scalar and table functions. */
typedef void nl_set_operator(const struct nl_intervals *a, const struct nl_intervals *b,
                             struct nl_intervals *out);

#endif
