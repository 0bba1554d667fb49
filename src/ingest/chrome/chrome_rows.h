/*
 * chrome_rows — complete (X) events → rows: a table of Kineto's categories, and the arguments that
 * fill columns. chrome_rows.c has the rows of the host, chrome_device.c those of devices.
 *
 * Everything here is about the event that the worker parsed last, worker->event.
 */
#ifndef CHROME_ROWS_H
#define CHROME_ROWS_H

#include "ingest/chrome/chrome_work.h"

struct chrome_cat;

/* Stages an X event of a category. */
typedef void chrome_row_fn(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                           int64_t dur);

/* For `needs`: nothing, and the category belongs to another tool. */
#define CHROME_CAT_NOT_KINETO (-2)

/* A category with a meaning: a row of chrome_cats[]. */
struct chrome_cat {
    const char *text;
    enum nl_kind kind;
    enum nl_lanekind lane;
    chrome_row_fn *row;
    int needs; /* argument that must be there, else the event is generic; -1 = none */
};

extern const struct chrome_cat chrome_cats[];
extern const size_t chrome_cat_count;
void chrome_cats_init(struct chrome_words *words);
/* The event's category, NULL when it has no known one. */
const struct chrome_cat *chrome_category(struct chrome_worker *worker);
/* Stages an X event, whatever its category. */
void chrome_take_complete(struct chrome_worker *worker);

/* ---- chrome_rows.c: what an event says. ---- */

/* Its time in ns; false (and noted) when it has none. */
bool chrome_event_time(struct chrome_worker *worker, int64_t *ts);
/* Its name, as the id of the stage; NL_NO_NAME when it has none. */
uint32_t chrome_event_name(struct chrome_worker *worker);

/* A known argument as a number; the type's null when it is absent, no number or out of range. */
int64_t chrome_arg_integer(struct chrome_worker *worker, enum chrome_arg arg);
uint64_t chrome_arg_unsigned(struct chrome_worker *worker, enum chrome_arg arg);
uint32_t chrome_arg_u32(struct chrome_worker *worker, enum chrome_arg arg);
/* An amount, of bytes or the like: what is absurdly large becomes the largest int64, as sums do. */
uint64_t chrome_arg_amount(struct chrome_worker *worker, enum chrome_arg arg);
/* A known argument as text, as the id of the stage; NL_NO_NAME when it is absent. */
uint32_t chrome_arg_name(struct chrome_worker *worker, enum chrome_arg arg);
/* NL_NULL_U64 when there is none; so are 0 and -1, which are noted. */
uint64_t chrome_correlation(struct chrome_worker *worker);
/* "External id" in either spelling; NL_NULL_I64 when there is none. */
int64_t chrome_external_id(struct chrome_worker *worker);

/* ---- chrome_rows.c: rows. ---- */

/* Stages a slice with the event's name and the category's kind; gives its row in the stage. A `dur`
 * of NL_NULL_I64: unfinished. */
uint32_t chrome_slice(struct chrome_worker *worker, const struct chrome_cat *cat, uint32_t lane,
                      int64_t ts, int64_t dur);
/* All arguments as the JSON text they were, as a name id; 0 when there are none. Cut at 4 KiB. */
uint32_t chrome_args_text(struct chrome_worker *worker, struct chrome_names *names);
/* Keeps that text with a slice (table arg), if there is any. */
void chrome_keep_args(struct chrome_worker *worker, uint32_t slice);

chrome_row_fn chrome_row_annotation;

/* ---- chrome_device.c ---- */

chrome_row_fn chrome_row_kernel, chrome_row_copy, chrome_row_memset, chrome_row_sync,
    chrome_row_range, chrome_row_mtia;
/* Stages what NCCL's arguments say of the collective in a slice. */
void chrome_collective(struct chrome_worker *worker, uint32_t slice);

/* ---- chrome_phase.c ---- */

/* The event's id or id2; false when it has none. */
bool chrome_event_id(struct chrome_worker *worker, uint64_t *id);
/* Sets a slice with a call stack aside until its frames are known. */
void chrome_set_aside(struct chrome_worker *worker, enum nl_kind kind, uint32_t lane, int64_t ts,
                      int64_t dur);

/* ---- chrome_memdump.c ---- */

/* A memory dump of a process (v). */
void chrome_take_memory_dump(struct chrome_worker *worker);

#endif
