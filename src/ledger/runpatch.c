/* A document read, changed at a few places and written again in the layout of the writer: one space
 * per level, rows of lists on one line. */
#include "ledger/runpatch.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"

#define INDENT 1

bool nl_runpatch_check(const char *text, size_t size, struct nl_err *err)
{
    struct nl_rundoc_faults faults;
    bool done = nl_rundoc_check(text, size, &faults);
    if (!done)
        (void)nl_fail(err, NL_FORMAT,
                      "no valid run document: %s: %s; `neurolens validate` lists "
                      "everything",
                      *faults.items[0].pointer ? faults.items[0].pointer : "the whole",
                      faults.items[0].says);
    nl_rundoc_faults_release(&faults);
    return done;
}

/* The value that a text writes: null, a number, true or false, else the text itself. */
static json_t *value_of(const char *text)
{
    int64_t whole;
    json_error_t error;
    if (nl_parse_i64(nl_str(text), &whole))
        return json_integer(whole);
    json_t *value = json_loads(text, JSON_DECODE_ANY, &error);
    if (value && !json_is_object(value) && !json_is_array(value))
        return value;
    json_decref(value);
    return json_string(text);
}

static void put_json_value(struct nl_json *json, const json_t *value, bool row);

/* `row`: all on one line. So stand the elements of lists, except those that have their own list of
 * items (the steps of a rank). */
static void put_members(struct nl_json *json, const json_t *value, bool row)
{
    bool list = json_is_array(value);
    int indent = json->indent;
    nl_json_open(json, list ? '[' : '{');
    if (row)
        json->indent = 0;
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        nl_json_key(json, key);
        put_json_value(json, member, row);
    }
    for (size_t i = 0; list && i < json_array_size(value); i++) {
        const json_t *element = json_array_get(value, i);
        put_json_value(json, element, row || !json_object_get(element, "items"));
    }
    nl_json_close(json, list ? ']' : '}');
    json->indent = indent;
}

static void put_json_value(struct nl_json *json, const json_t *value, bool row)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
    case JSON_ARRAY: put_members(json, value, row); break;
    case JSON_STRING:
        nl_json_str(json, (struct nl_str){json_string_value(value), json_string_length(value)});
        break;
    case JSON_INTEGER: nl_json_i64(json, (int64_t)json_integer_value(value)); break;
    case JSON_REAL: nl_json_f64(json, json_real_value(value)); break;
    case JSON_TRUE: nl_json_bool(json, true); break;
    case JSON_FALSE: nl_json_bool(json, false); break;
    case JSON_NULL: nl_json_null(json); break;
    }
}

static void set(json_t *document, const struct nl_rundoc_setting *setting, bool as_text)
{
    char object[64];
    const char *member = strchr(setting->key, '.');
    if (!member) /* keys were checked: they are OBJECT.MEMBER */
        NL_BUG("a setting without a dot");
    snprintf(object, sizeof object, "%.*s", (int)(member - setting->key), setting->key);
    json_object_set_new(json_object_get(document, object), member + 1,
                        as_text ? json_string(setting->value) : value_of(setting->value));
}

static bool write_text(const json_t *document, struct nl_buf *text, struct nl_err *err)
{
    struct nl_json json;
    nl_buf_clear(text);
    nl_json_to_buf(&json, text, INDENT);
    put_json_value(&json, document, false);
    return !text->overflow || nl_fail(err, NL_LIMIT, "the document is over %zu bytes", text->max);
}

/* "/workload/model" is the place of "workload.model". */
static bool is_place(const char *pointer, const char *key)
{
    for (; *pointer == '/' && *key; key++) {
        size_t len = strcspn(key, ".");
        if (strncmp(pointer + 1, key, len) != 0)
            return false;
        pointer += 1 + len;
        key += len;
        if (!*key)
            break;
    }
    return !*pointer && !*key;
}

/* A model called 7 is a text: what the schema refuses as a number is set as written. */
static void set_refused(json_t *document, const struct nl_rundoc_setting *settings, size_t count,
                        const struct nl_buf *text)
{
    struct nl_rundoc_faults faults;
    if (!nl_rundoc_check(text->ptr, text->len, &faults))
        for (size_t f = 0; f < faults.count; f++)
            for (size_t i = 0; i < count; i++)
                if (is_place(faults.items[f].pointer, settings[i].key))
                    set(document, &settings[i], true);
    nl_rundoc_faults_release(&faults);
}

bool nl_runpatch(json_t *document, const struct nl_rundoc_setting *settings, size_t count,
                 struct nl_buf *text, struct nl_err *err)
{
    for (size_t i = 0; i < count; i++)
        set(document, &settings[i], false);
    if (!write_text(document, text, err))
        return false;
    set_refused(document, settings, count, text);
    return write_text(document, text, err) && nl_runpatch_check(text->ptr, text->len, err);
}
