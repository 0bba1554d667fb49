/*
 * accountmake — what the parts of an account share while it is made: the rows found so far, by key,
 * and the phases. Private to account/.
 */
#ifndef NL_ACCOUNTMAKE_H
#define NL_ACCOUNTMAKE_H

#include "account/account.h"
#include "base/map.h"
#include "account/accountcomm.h"
#include "timeline/lanesof.h"
#include "timeline/worksweep.h"

#define NL_ACCOUNT_MAX_ROWS 20000 /* per account; of later ones operator and range are left out */

/* Rows of one account under construction, each key once. */
struct nl_account_rows {
    struct nl_account_row *items;
    size_t count, cap;
    struct nl_lookup by_key;
    uint32_t *by_name; /* per name: the row it was last booked to, + 1 */
};

/* Devices of the account while it is made: groups of nl_work_lanes. */
struct nl_account_group {
    struct nl_account_device device;
    const struct nl_phase_group *phases;
    size_t lane_first, lane_count;
    uint32_t
        host;   /* process whose threads feed it, where it is none of its lanes'; or NL_NULL_ROW */
    bool begun; /* the thread that feeds it was seen at work */
    size_t cut; /* hint for nl_phase_find */
};

struct nl_account_maker {
    const struct nl_trace *trace;
    const struct nl_api_roles *roles;
    struct nl_window window;
    struct nl_phases phases;
    struct nl_work_lane *lanes;
    size_t lane_count;
    struct nl_lanes_of lanes_of;
    struct nl_account_group *groups;
    size_t group_count, group_cap, last_group;
    struct nl_account_rows rows;
    struct nl_idle_sink sink;
    struct nl_account_comm comm;
    struct nl_fold fold;
    uint32_t *first_of; /* per id of the fold: the first name that became it */
    size_t first_cap;
    uint8_t *is_step; /* per name: names a step, and says nothing as a culprit's range */
};

/* Books [start, end) under the key, cut at the group's phases; `key` has device,
 * part and names. The number of `count` goes to the first part. `open_start` says in
 * which gap, INT64_MIN in none. */
void nl_account_book(struct nl_account_maker *maker, size_t group, struct nl_account_row key,
                     int64_t start, int64_t end);

/* The gap at hand is over for the row. */
void nl_account_close(struct nl_account_row *row);

/* The name that stands for all that differ from it only in the number of an instance. */
uint32_t nl_account_plain(struct nl_account_maker *maker, uint32_t name);

/* Name of the range around what the CPU did, unless it is a step or the very thing. */
uint32_t nl_account_range(struct nl_account_maker *maker, const struct nl_did *did);

/* A key with nothing in it. */
struct nl_account_row nl_account_key(size_t group, enum nl_account_part part);

/* The row of a key; `ns`, `count` and `bytes` are no part of it. */
struct nl_account_row *nl_account_rows_at(struct nl_account_rows *rows,
                                          const struct nl_account_row *key);
void nl_account_rows_init(struct nl_account_rows *rows, size_t names);
void nl_account_rows_release(struct nl_account_rows *rows);

/* First start and last end of what the threads of the lanes' processes, and the lanes,
 * have recorded in the window. */
void nl_account_span(const struct nl_account_maker *maker, const struct nl_work_lane *lanes,
                     size_t count, int64_t *start, int64_t *end);
/* The same of the threads of one process; false when nothing was recorded. */
bool nl_account_host_span(const struct nl_account_maker *maker, uint32_t process, int64_t *start,
                          int64_t *end);

/* Books the busy time of a group (accountwork.c). */
void nl_account_work(struct nl_account_maker *maker, size_t group,
                     const struct nl_account_owners *owners);
/* Adds groups for processes without device work and books them (accountcpu.c). */
void nl_account_cpu(struct nl_account_maker *maker);
/* Books CPU samples or sums of functions where there is nothing else (accountsample.c). */
void nl_account_samples(struct nl_account_maker *maker);

#endif
