/*
 * answersjson — whether what was exported as JSON is JSON, by two libraries that are not ours.
 */
#ifndef NL_FUZZ_ANSWERSJSON_H
#define NL_FUZZ_ANSWERSJSON_H

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* jansson refuses whole numbers over 2^63 and reals over 1e308, which are JSON all the same and
 * pass through from details of a profile as they are: SQLite reads these. */
static inline bool answers_is_json(const char *text, size_t len)
{
    static sqlite3_stmt *valid;
    static sqlite3 *db;
    if (!valid && (sqlite3_open(":memory:", &db) != SQLITE_OK ||
                   sqlite3_prepare_v2(db, "SELECT json_valid(?1)", -1, &valid, NULL) != SQLITE_OK))
        abort();
    sqlite3_bind_text64(valid, 1, text, len, SQLITE_STATIC, SQLITE_UTF8);
    bool is = sqlite3_step(valid) == SQLITE_ROW && sqlite3_column_int(valid, 0) == 1;
    sqlite3_reset(valid);
    return is;
}

/* Is each line, or all of it, a JSON value? */
static inline void answers_json(const char *what, char *text, size_t size, bool lines)
{
    while (size) {
        char *end = lines ? memchr(text, '\n', size) : NULL;
        size_t len = end ? (size_t)(end - text) + 1 : size;
        json_error_t problem;
        json_t *value = json_loadb(text, len, JSON_ALLOW_NUL, &problem);
        if (!value && !answers_is_json(text, len)) {
            size_t at = (size_t)problem.position < len ? (size_t)problem.position : 0;
            at = at > 200 ? at - 200 : 0;
            fprintf(stderr, "%s: no JSON: %s near %.240s\n", what, problem.text, text + at);
            abort();
        }
        json_decref(value); /* or NULL */
        text += len;
        size -= len;
    }
}

#endif
