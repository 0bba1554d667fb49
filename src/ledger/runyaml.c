/* neurolens.yaml, event by event: a key opens a place, a value or the end
 * of a mapping closes it. */
#include "ledger/runyaml.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "base/file.h"

#define MAX_FILE_BYTES ((size_t)1 << 20)
#define MAX_DEPTH      8
#define MAX_SETTINGS   1000
#define MAX_KEY        200

struct place {
    struct nl_runyaml *yaml;
    char key[MAX_KEY];
    size_t starts[MAX_DEPTH + 1]; /* length of `key` before each open mapping's own key */
    unsigned depth;
    bool wants_value;
    struct nl_err *err;
};

static bool refuse_event(struct place *place, const yaml_event_t *event, const char *why)
{
    return nl_fail(place->err, NL_FORMAT, "line %zu: %s", event->start_mark.line + 1, why);
}

static bool take_key(struct place *place, const yaml_event_t *event)
{
    size_t start = place->starts[place->depth];
    int len = snprintf(place->key + start, MAX_KEY - start, "%s%s", start ? "." : "",
                       (const char *)event->data.scalar.value);
    if (len < 0 || (size_t)len >= MAX_KEY - start)
        return refuse_event(place, event, "this name is too long");
    place->wants_value = true;
    return true;
}

/* ~ and an empty value mean unknown, as null does. */
static const char *plain_value(const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return plain && (!*value || strcmp(value, "~") == 0) ? "null" : value;
}

static bool take_value(struct place *place, const yaml_event_t *event)
{
    struct nl_runyaml *yaml = place->yaml;
    const char *value = plain_value(event);
    if (yaml->count == MAX_SETTINGS)
        return refuse_event(place, event, "more than 1000 values");
    for (size_t i = 0; i < yaml->count; i++)
        if (strcmp(yaml->items[i].key, place->key) == 0)
            return refuse_event(place, event, "this name was given before");
    struct nl_rundoc_setting setting = {nl_arena_text(&yaml->arena, place->key, strlen(place->key)),
                                        nl_arena_text(&yaml->arena, value, strlen(value))};
    struct nl_err wrong;
    nl_err_clear(&wrong);
    if (!nl_rundoc_setting_check(&setting, &wrong))
        return refuse_event(place, event, wrong.text);
    nl_grow(&yaml->items, &yaml->cap, yaml->count + 1);
    yaml->items[yaml->count++] = setting;
    place->wants_value = false;
    return true;
}

static bool open_mapping(struct place *place, const yaml_event_t *event)
{
    if (place->depth == MAX_DEPTH)
        return refuse_event(place, event, "mappings are nested too deeply");
    if (place->depth && !place->wants_value)
        return refuse_event(place, event, "a name is expected here");
    place->starts[++place->depth] = place->wants_value ? strlen(place->key) : 0;
    place->wants_value = false;
    return true;
}

static bool take_event(struct place *place, const yaml_event_t *event, unsigned *documents)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return ++*documents == 1 || refuse_event(place, event, "only one document is read");
    case YAML_MAPPING_START_EVENT: return open_mapping(place, event);
    case YAML_MAPPING_END_EVENT:
        place->depth--;
        place->wants_value = false;
        return true;
    case YAML_SCALAR_EVENT:
        if (!place->depth) /* a document of comments alone is one empty scalar */
            return !event->data.scalar.length ||
                   refuse_event(place, event, "NAME: VALUE is expected");
        return place->wants_value ? take_value(place, event) : take_key(place, event);
    case YAML_SEQUENCE_START_EVENT: return refuse_event(place, event, "a list is not a value here");
    case YAML_ALIAS_EVENT:
        return refuse_event(place, event, "aliases are not read; write the value");
    default: return true;
    }
}

static bool parse(struct place *place, yaml_parser_t *parser)
{
    bool done = true, more = true;
    unsigned documents = 0;
    while (done && more) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return nl_fail(place->err, NL_FORMAT, "line %zu: no YAML: %s",
                           parser->problem_mark.line + 1,
                           parser->problem ? parser->problem : "cannot be read");
        done = take_event(place, &event, &documents);
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    return done;
}

bool nl_runyaml_read(struct nl_runyaml *yaml, const char *path, struct nl_err *err)
{
    *yaml = (struct nl_runyaml){0};
    nl_arena_init(&yaml->arena);
    if (access(path, F_OK) != 0)
        return true;
    struct nl_map map;
    yaml_parser_t parser;
    if (!nl_map_open(&map, path, err))
        return false;
    nl_err_at(err, path, -1);
    bool done = map.size <= MAX_FILE_BYTES || nl_fail(err, NL_LIMIT, "over 1 MiB");
    if (done && map.size) {
        done = yaml_parser_initialize(&parser) || nl_fail(err, NL_MEMORY, "no memory");
        if (done) {
            struct place place = {.yaml = yaml, .err = err};
            yaml_parser_set_input_string(&parser, map.bytes, map.size);
            done = parse(&place, &parser);
            yaml_parser_delete(&parser);
        }
    }
    nl_map_close(&map);
    if (done)
        nl_err_at(err, "", -1);
    return done;
}

void nl_runyaml_release(struct nl_runyaml *yaml)
{
    nl_arena_free(&yaml->arena);
    nl_free(yaml->items);
    *yaml = (struct nl_runyaml){0};
}
