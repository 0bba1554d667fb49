/*
 * runfield — what a name means that a person uses in filters, columns and orders of `ls`: something
 * about the run itself (id, name, added, tag, finding, anomaly), or a fact by its dotted name or by
 * its last part where that is enough ("batch_size"). Private to ledger/.
 */
#ifndef NL_RUNFIELD_H
#define NL_RUNFIELD_H

#include "ledger/ledgerdb.h"
#include "tables/result.h"

enum nl_field_kind {
    NL_FIELD_ID,
    NL_FIELD_NAME,
    NL_FIELD_ADDED,
    NL_FIELD_TAG,
    NL_FIELD_FINDING,
    NL_FIELD_ANOMALY,
    NL_FIELD_FACT
};

struct nl_field {
    enum nl_field_kind kind;
    int64_t key;      /* of a fact */
    const char *name; /* full name, in the caller's arena */
    enum nl_meaning meaning;
};

/* NL_USAGE when there is no such name (with those that contain it) or several facts end
 * so. *known is false when a run could have it and none does: in an empty ledger, or by
 * the full name of a setting. */
NL_MUST_CHECK bool nl_runfield_find(struct nl_ledger *ledger, const char *name,
                                    struct nl_field *field, bool *known, struct nl_arena *arena,
                                    struct nl_err *err);

/* A value as it is written for such a field → a number in the field's unit: "1.2s" of times, "4GiB"
 * of sizes, "40%" of shares, a date of `added`. False when it is no number. */
bool nl_runfield_number(const struct nl_field *field, const char *text, double *number,
                        int64_t *whole, bool *is_whole);

/* Does it name a whole day of `added`: 2026-11-20, today, yesterday? */
bool nl_runfield_is_day(const struct nl_field *field, const char *text);

/* What a fact's numbers mean: by the unit that came with it (may be NULL),
 * else by its name's end. */
enum nl_meaning nl_runfield_meaning(const char *name, const char *unit);

/* What an id is compared with: when cut to the digits that it begins with, a pattern. */
const char *nl_runfield_id(const char *text, struct nl_arena *arena);

/* "2026-11-20T09:05:07Z" */
#define NL_DATE_TEXT 32
const char *nl_runfield_date(char text[NL_DATE_TEXT], int64_t ns);
/* Makes it "2026-11-20 09:05", for eyes. */
void nl_runfield_short_date(char text[NL_DATE_TEXT]);

#endif
