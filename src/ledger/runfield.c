/* Names of fields, and values in their units. */
#define _GNU_SOURCE
#include "ledger/runfield.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/chars.h"
#include "base/clock.h"
#include "base/units.h"

static const struct {
    const char *name;
    enum nl_field_kind kind;
} own_fields[] = {{"id", NL_FIELD_ID},
                  {"name", NL_FIELD_NAME},
                  {"added", NL_FIELD_ADDED},
                  {"tag", NL_FIELD_TAG},
                  {"tags", NL_FIELD_TAG},
                  {"finding", NL_FIELD_FINDING},
                  {"findings", NL_FIELD_FINDING},
                  {"anomaly", NL_FIELD_ANOMALY},
                  {"anomalies", NL_FIELD_ANOMALY}};

/* Short words for facts. */
static const struct {
    const char *word, *fact;
} short_words[] = {{"branch", "run.git_branch"},
                   {"run.branch", "run.git_branch"},
                   {"commit", "run.git_commit"},
                   {"host", "hardware.host_name"}};

enum nl_meaning nl_runfield_meaning(const char *name, const char *unit)
{
    static const struct {
        const char *unit, *ending;
        enum nl_meaning meaning;
    } rules[] = {{"ns", "_ns", NL_MEANS_NS},
                 {"bytes", "_bytes", NL_MEANS_BYTES},
                 {"0..1", "_share", NL_MEANS_SHARE},
                 {"bytes/s", "_bytes_per_s", NL_MEANS_RATE}};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (unit ? strcmp(unit, rules[i].unit) == 0
                 : name && nl_str_ends(nl_str(name), rules[i].ending))
            return rules[i].meaning;
    return NL_MEANS_ANY;
}

/* Facts called so, or whose last parts are; at most `room` of them. */
static bool find_facts(struct nl_ledger *ledger, const char *name, const char *condition_sql,
                       struct nl_field *fields, size_t room, size_t *count, struct nl_arena *arena,
                       struct nl_err *err)
{
    bool ok = true;
    sqlite3_stmt *rows = nl_ledgerdb_ask(ledger, err, condition_sql, "t", name);
    *count = 0;
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        if (*count == room) {
            sqlite3_reset(rows);
            break;
        }
        const char *full = nl_ledgerdb_text(arena, rows, 1);
        fields[(*count)++] = (struct nl_field){
            .kind = NL_FIELD_FACT,
            .key = sqlite3_column_int64(rows, 0),
            .name = full,
            .meaning = nl_runfield_meaning(full, (const char *)sqlite3_column_text(rows, 2))};
    }
    return rows && ok;
}

#define MAX_NAMES_SHOWN 8 /* names in a message */

static bool refuse_name(const char *name, const char *why, const struct nl_field *fields,
                        size_t count, struct nl_err *err)
{
    struct nl_buf list;
    nl_buf_init(&list, 300);
    for (size_t i = 0; i < count; i++)
        nl_buf_format(&list, "%s%s", i ? ", " : "", fields[i].name);
    (void)nl_fail(err, NL_USAGE, "'%s' %s%s%s%s", name, why, count ? ": " : "",
                  list.ptr ? list.ptr : "", count == MAX_NAMES_SHOWN ? ", …" : "");
    nl_buf_release(&list);
    return false;
}

/* A name that a run can have, though none of these has it. */
static bool could_be_set(const char *name)
{
    struct nl_rundoc_setting setting = {name, "null"};
    return nl_rundoc_setting_check(&setting, NULL);
}

/* By the whole name, else by the last part of it, else as a short word. */
static bool find_named(struct nl_ledger *ledger, const char *name, struct nl_field *some,
                       size_t *count, struct nl_arena *arena, struct nl_err *err)
{
    static const char exact[] = "SELECT key, name, unit FROM keys WHERE name = ?1";
    if (!find_facts(ledger, name, exact, some, MAX_NAMES_SHOWN, count, arena, err))
        return false;
    if (!*count && !find_facts(ledger, name,
                               "SELECT key, name, unit FROM keys "
                               "WHERE substr(name, -length(?1) - 1) = '.' || ?1 ORDER BY name",
                               some, MAX_NAMES_SHOWN, count, arena, err))
        return false;
    for (size_t i = 0; i < sizeof short_words / sizeof short_words[0] && !*count; i++)
        if (strcmp(name, short_words[i].word) == 0 &&
            !find_facts(ledger, short_words[i].fact, exact, some, MAX_NAMES_SHOWN, count, arena,
                        err))
            return false;
    return true;
}

bool nl_runfield_find(struct nl_ledger *ledger, const char *name, struct nl_field *field,
                      bool *known, struct nl_arena *arena, struct nl_err *err)
{
    struct nl_field some[MAX_NAMES_SHOWN];
    size_t count;
    int64_t facts;
    *known = true;
    for (size_t i = 0; i < sizeof own_fields / sizeof own_fields[0]; i++)
        if (strcmp(own_fields[i].name, name) == 0) {
            *field = (struct nl_field){.kind = own_fields[i].kind, .name = own_fields[i].name};
            return true;
        }
    if (!find_named(ledger, name, some, &count, arena, err))
        return false;
    if (count == 1) {
        *field = some[0];
        return true;
    }
    if (count)
        return refuse_name(name, "could be several; write one of", some, count, err);
    if (!nl_ledgerdb_number(ledger, &facts, 0, err, "SELECT count(*) FROM keys", ""))
        return false;
    *known = facts > 0 && !could_be_set(name);
    if (!*known)
        return true;
    if (!find_facts(ledger, name,
                    "SELECT key, name, unit FROM keys WHERE instr(name, ?1) ORDER BY name", some,
                    MAX_NAMES_SHOWN, &count, arena, err))
        return false;
    return refuse_name(name,
                       count ? "is nothing that a run has; near it are"
                             : "is nothing that a run has; `neurolens show @` lists the names",
                       some, count, err);
}

/* A date, with or without a time, UTC. */
static bool parse_date(const char *text, int64_t *ns)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M",
                                        "%Y-%m-%d %H:%M", "%Y-%m-%d"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tm parts = {0};
        const char *end = strptime(text, forms[i], &parts);
        if (end && !*end) {
            *ns = (int64_t)timegm(&parts) * 1000000000;
            return true;
        }
    }
    return false;
}

/* "today", "yesterday", "-7d", "-12h", "-30m": back from now. */
static bool parse_relative(const char *text, int64_t *ns)
{
    static const struct {
        char unit;
        int64_t ns;
    } units[] = {{'m', 60000000000}, {'h', 3600000000000}, {'d', NL_DAY_NS}, {'w', 7 * NL_DAY_NS}};
    int64_t now = nl_calendar_ns(), count;
    size_t len = strlen(text);
    if (strcmp(text, "today") == 0 || strcmp(text, "yesterday") == 0) {
        *ns = now - now % NL_DAY_NS - (text[0] == 'y' ? NL_DAY_NS : 0);
        return true;
    }
    if (text[0] != '-' || len < 3 || len > 8 ||
        !nl_parse_i64((struct nl_str){text + 1, len - 2}, &count) || count < 0)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (units[i].unit == text[len - 1])
            return !__builtin_mul_overflow(count, -units[i].ns, ns) &&
                   !__builtin_add_overflow(*ns, now, ns);
    return false;
}

bool nl_runfield_is_day(const struct nl_field *field, const char *text)
{
    int64_t ns;
    return field->kind == NL_FIELD_ADDED && text[0] != '-' && !strchr(text, ':') &&
           (parse_date(text, &ns) || parse_relative(text, &ns));
}

static bool parse_plain(const char *text, double *number, int64_t *whole, bool *is_whole)
{
    char *end;
    *is_whole = nl_parse_i64(nl_str(text), whole);
    *number = strtod(text, &end);
    return *is_whole || (end != text && !*end && isfinite(*number));
}

bool nl_runfield_number(const struct nl_field *field, const char *text, double *number,
                        int64_t *whole, bool *is_whole)
{
    uint64_t bytes;
    size_t len = strlen(text);
    *number = 0;
    if (field->kind == NL_FIELD_ADDED)
        return *is_whole = parse_date(text, whole) || parse_relative(text, whole);
    if (parse_plain(text, number, whole, is_whole))
        return true;
    if (field->meaning == NL_MEANS_NS)
        return *is_whole = nl_parse_ns(nl_str(text), whole);
    if (field->meaning == NL_MEANS_BYTES && nl_parse_bytes(nl_str(text), &bytes)) {
        *whole = (int64_t)bytes;
        return *is_whole = bytes <= INT64_MAX;
    }
    if (field->meaning == NL_MEANS_SHARE && len > 1 && len < 30 && text[len - 1] == '%') {
        char share[32];
        snprintf(share, sizeof share, "%.*s", (int)len - 1, text);
        bool good = parse_plain(share, number, whole, is_whole);
        *number /= 100;
        *is_whole = false;
        return good;
    }
    return false;
}

const char *nl_runfield_date(char text[NL_DATE_TEXT], int64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || !strftime(text, NL_DATE_TEXT, "%Y-%m-%dT%H:%M:%SZ", &parts))
        text[0] = '\0';
    return text;
}

void nl_runfield_short_date(char text[NL_DATE_TEXT])
{
    if (strlen(text) > 16) {
        text[10] = ' ';
        text[16] = '\0';
    }
}

const char *nl_runfield_id(const char *text, struct nl_arena *arena)
{
    char pattern[NL_RUNDOC_ID + 1];
    size_t len = strlen(text);
    if (!nl_ledger_begins_id(text))
        return text;
    for (size_t i = 0; i < len; i++)
        pattern[i] = nl_is_hex(text[i]) ? nl_lower(text[i]) : text[i];
    bool is_whole = len == NL_RUNDOC_ID - 1; /* found by its index */
    pattern[len] = '*';
    return nl_arena_text(arena, pattern, len + !is_whole);
}
