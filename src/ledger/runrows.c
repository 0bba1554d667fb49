/* Document → rows: which member becomes which column stands in tables. */
#include "ledger/runrows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "ledger/ledgerdb.h"
#include "redact/redact.h"

#define MAX_TEXT ((size_t)1 << 20) /* of one value */

json_t *nl_runrows_parse(const char *text, size_t size, struct nl_err *err)
{
    json_error_t error;
    json_t *document = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (document && json_is_object(document))
        return document;
    json_decref(document);
    (void)nl_fail(err, NL_FORMAT, "no JSON object: %s", document ? "another value" : error.text);
    return NULL;
}

const json_t *nl_runrows_value(const json_t *document, const char *key)
{
    char part[128];
    const json_t *at = document;
    while (at && *key) {
        size_t len = strcspn(key, ".");
        snprintf(part, sizeof part, "%.*s", (int)len, key);
        at = json_object_get(at, part);
        key += len + (key[len] == '.');
    }
    return json_is_null(at) ? NULL : at;
}

/* Absent and null are both unknown. */
static int64_t whole(const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : INT64_MIN;
}

static double real(const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

/* ---- facts ---- */

static bool find_or_add_key(struct nl_ledger *ledger, const char *name, const char *unit,
                            int64_t *key, struct nl_err *err)
{
    if (!nl_ledgerdb_number(ledger, key, 0, err, "SELECT key FROM keys WHERE name = ?1", "t", name))
        return false;
    if (*key)
        return true;
    return nl_ledgerdb_do(ledger, err, "INSERT INTO keys(name, unit) VALUES(?1, ?2)", "tt", name,
                          unit) &&
           nl_ledgerdb_number(ledger, key, 0, err, "SELECT key FROM keys WHERE name = ?1", "t",
                              name);
}

static bool put_text_fact(struct nl_ledger *ledger, int64_t run, int64_t key, const char *value,
                          struct nl_err *err)
{
    struct nl_buf safe;
    nl_buf_init(&safe, MAX_TEXT);
    nl_redact_text(&safe, nl_str(value));
    bool done = nl_ledgerdb_do(ledger, err, "INSERT INTO facts VALUES(?1, ?2, NULL, ?3)", "iit",
                               run, key, safe.len ? safe.ptr : "");
    nl_buf_release(&safe);
    return done;
}

/* A single value; null and what is not single are no facts. */
static bool put_fact(struct nl_ledger *ledger, int64_t run, const char *name, const char *unit,
                     const json_t *value, struct nl_err *err)
{
    char number[40];
    int64_t key;
    if (!value || json_is_null(value) || json_is_array(value) || json_is_object(value))
        return true;
    if (!find_or_add_key(ledger, name, unit, &key, err))
        return false;
    if (json_is_integer(value)) {
        int64_t exact = (int64_t)json_integer_value(value);
        snprintf(number, sizeof number, "%" PRId64, exact);
        return nl_ledgerdb_do(ledger, err, "INSERT INTO facts VALUES(?1, ?2, ?3, ?4)", "iiit", run,
                              key, exact, number);
    }
    if (json_is_real(value)) {
        snprintf(number, sizeof number, "%.17g", json_real_value(value));
        return nl_ledgerdb_do(ledger, err, "INSERT INTO facts VALUES(?1, ?2, ?3, ?4)", "iift", run,
                              key, json_real_value(value), number);
    }
    if (json_is_boolean(value))
        return put_text_fact(ledger, run, key, json_is_true(value) ? "true" : "false", err);
    return put_text_fact(ledger, run, key, json_string_value(value), err);
}

static bool put_objects(struct nl_ledger *ledger, int64_t run, const json_t *document,
                        struct nl_err *err)
{
    static const char *const objects[] = {"run", "hardware", "software", "workload"};
    char name[256];
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
        /* Only read; jansson's iteration is not const. */
        json_t *object = json_object_get(document, objects[i]);
        const char *member;
        json_t *value;
        json_object_foreach(object, member, value)
        {
            snprintf(name, sizeof name, "%s.%s", objects[i], member);
            if (!put_fact(ledger, run, name, NULL, value, err))
                return false;
        }
    }
    const json_t *timeline = json_object_get(document, "timeline");
    return put_fact(ledger, run, "timeline.duration_ns", "ns",
                    json_object_get(timeline, "duration_ns"), err);
}

static bool put_metrics(struct nl_ledger *ledger, int64_t run, const json_t *metrics,
                        struct nl_err *err)
{
    char name[256];
    for (size_t i = 0; i < json_array_size(metrics); i++) {
        const json_t *metric = json_array_get(metrics, i);
        snprintf(name, sizeof name, "metrics.%s", text(metric, "name"));
        if (!put_fact(ledger, run, name, text(metric, "unit"), json_object_get(metric, "value"),
                      err))
            return false;
    }
    return true;
}

/* ---- steps and operators ---- */

static bool put_steps(struct nl_ledger *ledger, int64_t run, const json_t *groups,
                      struct nl_err *err)
{
    int64_t ordinal = 0;
    for (size_t g = 0; g < json_array_size(groups); g++) {
        const json_t *group = json_array_get(groups, g), *items = json_object_get(group, "items");
        for (size_t i = 0; i < json_array_size(items); i++) {
            const json_t *step = json_array_get(items, i);
            if (!nl_ledgerdb_do(ledger, err,
                                "INSERT INTO steps VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                                "iiiittii", run, ordinal++, whole(group, "rank"),
                                whole(step, "index"), text(step, "name"), text(step, "phase"),
                                whole(step, "start_ns"), whole(step, "dur_ns")))
                return false;
        }
    }
    return true;
}

/* Lists of aggregates, what one of their rows is, and which member names it. */
static const struct {
    const char *list, *kind, *name;
} op_lists[] = {{"kernels", "kernel", "name"}, {"ops", "op", "name"},
                {"layers", "layer", "name"},   {"nodes", "node", "name"},
                {"copies", "copy", "kind"},    {"collectives", "collective", "operation"},
                {"calls", "call", "name"}};

static bool put_ops(struct nl_ledger *ledger, int64_t run, const json_t *aggregates,
                    struct nl_err *err)
{
    int64_t ordinal = 0;
    for (size_t k = 0; k < sizeof op_lists / sizeof op_lists[0]; k++) {
        const json_t *list = json_object_get(aggregates, op_lists[k].list);
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *op = json_array_get(list, i);
            const json_t *stats = json_object_get(op, "dur_ns");
            bool known = json_is_object(stats); /* nodes have theirs without statistics */
            if (!nl_ledgerdb_do(
                    ledger, err, "INSERT INTO ops VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    "iittiiff", run, ordinal++, op_lists[k].kind, text(op, op_lists[k].name),
                    whole(known ? stats : op, "count"), whole(known ? stats : op, "total_ns"),
                    real(known ? stats : op, "mean_ns"),
                    known ? real(stats, "p50_ns") : real(op, "median_ns")))
                return false;
        }
    }
    return true;
}

/* Labels are the ledger's: no member of the document is called so. */
static bool put_labels(struct nl_ledger *ledger, int64_t run, struct nl_err *err)
{
    bool ok = true, done = true;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err, "SELECT key, value FROM settings WHERE run = ?1 AND key GLOB '" NL_LABELS "*'",
        "i", run);
    while (rows && done && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        const char *name = (const char *)sqlite3_column_text(rows, 0);
        const char *label = (const char *)sqlite3_column_text(rows, 1);
        int64_t number;
        json_t *value =
            nl_parse_i64(nl_str(label), &number) ? json_integer(number) : json_string(label);
        done = put_fact(ledger, run, name, NULL, value, err);
        json_decref(value);
    }
    if (rows && !done)
        sqlite3_reset(rows);
    return rows && ok && done;
}

bool nl_runrows_document(struct nl_ledger *ledger, int64_t run, const json_t *document,
                         struct nl_err *err)
{
    return nl_ledgerdb_do(ledger, err, "DELETE FROM facts WHERE run = ?1", "i", run) &&
           nl_ledgerdb_do(ledger, err, "DELETE FROM steps WHERE run = ?1", "i", run) &&
           nl_ledgerdb_do(ledger, err, "DELETE FROM ops WHERE run = ?1", "i", run) &&
           put_objects(ledger, run, document, err) && put_labels(ledger, run, err) &&
           put_metrics(ledger, run, json_object_get(document, "metrics"), err) &&
           put_steps(ledger, run, json_object_get(document, "steps"), err) &&
           put_ops(ledger, run, json_object_get(document, "aggregates"), err);
}

bool nl_runrows_findings(struct nl_ledger *ledger, int64_t run, const struct nl_findings *findings,
                         struct nl_err *err)
{
    if (!nl_ledgerdb_do(ledger, err, "DELETE FROM findings WHERE run = ?1", "i", run))
        return false;
    for (size_t i = 0; i < findings->count; i++) {
        const struct nl_finding *f = &findings->items[i];
        if (!nl_ledgerdb_do(
                ledger, err, "INSERT INTO findings VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                "iittttfif", run, (int64_t)i, f->id, f->cause, nl_severity_name(f->severity),
                f->title, f->confidence, f->cost_ns, f->cost_share))
            return false;
    }
    return true;
}
