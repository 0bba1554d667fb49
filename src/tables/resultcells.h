/*
 * resultcells — the few lines that every analysis needs to fill a result: text cells from the
 * dictionary, enumerations, statistics in their usual columns.
 */
#ifndef NL_RESULTCELLS_H
#define NL_RESULTCELLS_H

#include "tables/analyze.h"

struct nl_fold;

/* Columns of a group's statistics, as rows of a list (NL_COLUMNS):
 * nl_cells_stats(cells + AT_count, ...). */
#define NL_STATS_LIST(C)                                                                           \
    C(count, NULL, COUNT)                                                                          \
    C(total_ns, "total", NS)                                                                       \
    C(share, NULL, SHARE)                                                                          \
    C(min_ns, "min", NS)                                                                           \
    C(median_ns, "median", NS)                                                                     \
    C(p95_ns, "p95", NS)                                                                           \
    C(max_ns, "max", NS)                                                                           \
    C(stddev_ns, "stddev", NS)
#define NL_STATS_PLACE(name, head, meaning) NL_STATS_##name,
enum { NL_STATS_LIST(NL_STATS_PLACE) NL_STATS_COUNT };

/* `share` is total / whole; NULL when whole is 0. Medians, percentiles and deviations in ns are
 * cells of type F64: between two ranks they are not whole. */
void nl_cells_stats(struct nl_cell *cells, const struct nl_group_stats *stats, int64_t whole);

/* NULL for id 0. The text is copied into the result. */
struct nl_cell nl_cell_name(struct nl_result *result, const struct nl_trace *trace, uint32_t id);
/* A folded name by its id; NULL for NL_NO_NAME. */
struct nl_cell nl_cell_folded(const struct nl_fold *fold, struct nl_result *result, uint32_t id);
struct nl_cell nl_cell_enum(enum nl_enum_id id, unsigned value);
struct nl_cell nl_cell_static(const char *text);           /* borrowed; NULL → NULL */
struct nl_cell nl_cell_count(uint64_t value);              /* NL_NULL_U64 → NULL */
struct nl_cell nl_cell_u32(uint32_t value);                /* NL_NULL_U32 → NULL */
struct nl_cell nl_cell_share(int64_t part, int64_t whole); /* NULL when whole is 0 */
/* The same for shares given in a file: NULL also when part is negative, or above whole by more than
 * rounding. */
struct nl_cell nl_cell_given_share(int64_t part, int64_t whole);

/* Whole percentile of ascending values, count > 0, as the statistics' median and p95. */
struct nl_cell nl_cell_percentile(const int64_t *sorted, size_t count, unsigned percent);

/* Orders rows that are equal in `column`, by which the result is sorted, by their cells from left
 * to right: dictionary ids follow the order of events, answers must not. */
void nl_result_settle(struct nl_result *result, const char *column);

/* The window for work on the CPU: a device says nothing about it. */
struct nl_window nl_analyze_host_window(const struct nl_analyze_options *options);

/*
 * The columns of an analysis and the names of its cells, from one list:
 *
 *     #define COLUMNS(C) C(rank, NULL, INTEGER) C(busy_ns, "busy", NS)
 *     NL_COLUMNS(COLUMNS)
 *     ...
 *     cells[AT_busy_ns] = nl_cell_i64(busy);
 *
 * A row of the list is the name in JSON and CSV, the head in text (NULL: the name), the meaning.
 */
#define NL_COLUMN_PLACE(name, head, meaning) AT_##name,
#define NL_COLUMN_ROW(name, head, meaning)   {#name, head, NL_MEANS_##meaning},
#define NL_COLUMNS(list)                                                                           \
    enum { list(NL_COLUMN_PLACE) AT_COUNT };                                                       \
    static const struct nl_result_column columns[AT_COUNT] = {list(NL_COLUMN_ROW)}

/* The same for a file with several tables; the array and the places have separate names:
 *
 *     #define GATE_LIST(C, P)                    \
 *         C(P, verdict, NULL, TEXT)              \
 *         C(P, exit_status, "exit", INTEGER)
 *     NL_TABLE_COLUMNS(gate_columns, GATE, GATE_LIST);
 *     ...
 *     cells[GATE_exit_status] = nl_cell_i64(status);
 */
#define NL_TABLE_PLACE(prefix, name, head, meaning) prefix##_##name,
#define NL_TABLE_ROW(prefix, name, head, meaning)   {#name, head, NL_MEANS_##meaning},
#define NL_TABLE_COLUMNS(array, prefix, list)                                                      \
    enum { list(NL_TABLE_PLACE, prefix) prefix##_COUNT };                                          \
    static const struct nl_result_column array[prefix##_COUNT] = {list(NL_TABLE_ROW, prefix)}

#define NL_ANSWER_NEW(name, title, columns)                                                        \
    nl_result_new(name, title, columns, sizeof(columns) / sizeof(columns)[0])

#endif
