/* The schema's JSON into nodes; a keyword is a row of the table `keywords`. */
#include "rundoc/docschema.h"

#include <jansson.h>
#include <stdio.h>

#include "rundoc/rundoc.h"

extern const char nl_run_schema_text[]; /* generated from schema/run.schema.json */
extern const char nl_run_schema_3_text[];
extern const char nl_run_schema_2_text[];
extern const char nl_run_schema_1_text[];

struct compile {
    struct doc_schema *schema;
    struct nl_err *err;
};

static struct doc_node *compile_node(struct compile *compile, json_t *json);

static bool refuse_keyword(const struct compile *compile, const char *keyword, const char *why)
{
    return nl_fail(compile->err, NL_FORMAT, "schema: %s: %s", keyword, why);
}

static const char *copy_text(const struct compile *compile, json_t *text)
{
    return nl_arena_text(&compile->schema->arena, json_string_value(text),
                         json_string_length(text));
}

/* ---- keywords ---- */

static const char *const type_names[] = {"null",   "boolean", "integer", "number",
                                         "string", "array",   "object"};
#define TYPE_COUNT (sizeof type_names / sizeof type_names[0])

static unsigned type_bit(json_t *name)
{
    for (size_t i = 0; json_is_string(name) && i < TYPE_COUNT; i++)
        if (strcmp(json_string_value(name), type_names[i]) == 0)
            return 1u << i;
    return 0;
}

static bool take_type(struct compile *compile, struct doc_node *node, json_t *value)
{
    if (json_is_string(value))
        node->types = type_bit(value);
    for (size_t i = 0; i < json_array_size(value); i++) {
        unsigned bit = type_bit(json_array_get(value, i));
        node->types |= bit;
        if (!bit)
            return refuse_keyword(compile, "type", "not a type");
    }
    return node->types ? true : refuse_keyword(compile, "type", "not a type");
}

static bool take_enum(struct compile *compile, struct doc_node *node, json_t *value)
{
    size_t count = json_array_size(value);
    node->choices = nl_arena_alloc(&compile->schema->arena, (count + 1) * sizeof *node->choices);
    for (size_t i = 0; i < count; i++) {
        json_t *item = json_array_get(value, i);
        if (json_is_string(item))
            node->choices[node->choice_count++] = copy_text(compile, item);
        else if (json_is_null(item))
            node->null_choice = true;
        else
            return refuse_keyword(compile, "enum", "only texts and null are understood");
    }
    return count ? true : refuse_keyword(compile, "enum", "no values");
}

static bool take_const(struct compile *compile, struct doc_node *node, json_t *value)
{
    if (!json_is_string(value))
        return refuse_keyword(compile, "const", "only a text is understood");
    node->constant = copy_text(compile, value);
    return true;
}

static bool take_properties(struct compile *compile, struct doc_node *node, json_t *value)
{
    const char *name;
    json_t *item;
    size_t count = json_object_size(value);
    if (!json_is_object(value) || count > DOC_MEMBERS)
        return refuse_keyword(compile, "properties", "not an object of at most 64 members");
    node->members = nl_arena_alloc(&compile->schema->arena, (count + 1) * sizeof *node->members);
    json_object_foreach(value, name, item)
    {
        struct doc_member *member = &node->members[node->member_count++];
        member->name = nl_arena_text(&compile->schema->arena, name, strlen(name));
        member->node = compile_node(compile, item);
        if (!member->node)
            return false;
    }
    return true;
}

static bool take_required(struct compile *compile, struct doc_node *node, json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *name = json_string_value(json_array_get(value, i));
        struct doc_member *member =
            name ? (struct doc_member *)doc_member_find(node, nl_str(name)) : NULL;
        if (!member)
            return refuse_keyword(compile, "required",
                                  "a name that is not in properties before it");
        member->required = true;
    }
    return true;
}

static bool take_additional(struct compile *compile, struct doc_node *node, json_t *value)
{
    node->closed = json_is_false(value);
    return node->closed
               ? true
               : refuse_keyword(compile, "additionalProperties", "only false is understood");
}

static bool take_items(struct compile *compile, struct doc_node *node, json_t *value)
{
    return (node->items = compile_node(compile, value)) != NULL;
}

static bool take_size(const struct compile *compile, const char *keyword, json_t *value,
                      size_t *size)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return refuse_keyword(compile, keyword, "not a size");
    *size = (size_t)json_integer_value(value);
    return true;
}

static bool take_min_items(struct compile *compile, struct doc_node *node, json_t *value)
{
    return take_size(compile, "minItems", value, &node->least_items);
}

static bool take_max_items(struct compile *compile, struct doc_node *node, json_t *value)
{
    return take_size(compile, "maxItems", value, &node->most_items);
}

static bool take_min_length(struct compile *compile, struct doc_node *node, json_t *value)
{
    return take_size(compile, "minLength", value, &node->least_length);
}

static bool take_minimum(struct compile *compile, struct doc_node *node, json_t *value)
{
    node->has_minimum = json_is_number(value);
    node->minimum = json_number_value(value);
    return node->has_minimum ? true : refuse_keyword(compile, "minimum", "not a number");
}

static bool take_maximum(struct compile *compile, struct doc_node *node, json_t *value)
{
    node->has_maximum = json_is_number(value);
    node->maximum = json_number_value(value);
    return node->has_maximum ? true : refuse_keyword(compile, "maximum", "not a number");
}

static bool take_pattern(struct compile *compile, struct doc_node *node, json_t *value)
{
    struct doc_schema *schema = compile->schema;
    if (!json_is_string(value))
        return refuse_keyword(compile, "pattern", "not a text");
    node->pattern = copy_text(compile, value);
    size_t length = strlen(node->pattern);
    if (length < 2 || node->pattern[0] != '^' || node->pattern[length - 1] != '$')
        return refuse_keyword(compile, "pattern", "only whole texts are matched: ^...$");
    node->regex = nl_arena_alloc(&schema->arena, sizeof *node->regex);
    int wrong = regcomp(node->regex, node->pattern, REG_EXTENDED | REG_NOSUB);
    if (wrong == REG_ESPACE)
        nl_memory_exhausted(strlen(node->pattern));
    if (wrong)
        return refuse_keyword(compile, "pattern", "not an expression");
    nl_grow(&schema->regexes, &schema->regex_cap, schema->regex_count + 1);
    schema->regexes[schema->regex_count++] = node->regex;
    return true;
}

static bool take_description(struct compile *compile, struct doc_node *node, json_t *value)
{
    if (json_is_string(value))
        node->description = copy_text(compile, value);
    return true;
}

static bool take_note(struct compile *compile, struct doc_node *node, json_t *value)
{
    (void)compile;
    (void)node;
    (void)value;
    return true;
}

static const struct keyword {
    const char *name;
    bool (*take)(struct compile *compile, struct doc_node *node, json_t *value);
} keywords[] = {
    {"type", take_type},          {"enum", take_enum},
    {"const", take_const},        {"properties", take_properties},
    {"required", take_required},  {"additionalProperties", take_additional},
    {"items", take_items},        {"minItems", take_min_items},
    {"maxItems", take_max_items}, {"minLength", take_min_length},
    {"minimum", take_minimum},    {"maximum", take_maximum},
    {"pattern", take_pattern},    {"description", take_description},
    {"title", take_note},         {"$schema", take_note},
    {"$id", take_note},           {"$defs", take_note}, /* read before */
};

static bool take_keyword(struct compile *compile, struct doc_node *node, const char *name,
                         json_t *value)
{
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        if (strcmp(keywords[i].name, name) == 0)
            return keywords[i].take(compile, node, value);
    return refuse_keyword(compile, name, "a keyword that is not understood");
}

/* ---- nodes ---- */

/* A reference is the node it names, with the types that both allow. */
static bool follow(struct compile *compile, struct doc_node *node, json_t *json)
{
    const char *reference = json_string_value(json_object_get(json, "$ref"));
    const struct doc_schema *schema = compile->schema;
    struct doc_node own = {0};
    json_t *type = json_object_get(json, "type"), *text = json_object_get(json, "description");
    if (json_object_size(json) != 1u + (type != NULL) + (text != NULL))
        return refuse_keyword(compile, "$ref", "only type and description may be given beside it");
    if (type && !take_type(compile, &own, type))
        return false;
    for (size_t i = 0; reference && i < schema->def_count; i++) {
        if (strncmp(reference, "#/$defs/", 8) != 0 ||
            strcmp(reference + 8, schema->defs[i].name) != 0)
            continue;
        *node = *schema->defs[i].node;
        if (own.types)
            node->types = node->types ? node->types & own.types : own.types;
        return !text || take_description(compile, node, text);
    }
    return refuse_keyword(compile, "$ref", "names nothing in $defs before it");
}

static struct doc_node *compile_node(struct compile *compile, json_t *json)
{
    const char *name;
    json_t *value;
    struct doc_node *node = nl_arena_alloc(&compile->schema->arena, sizeof *node);
    node->most_items = SIZE_MAX;
    if (!json_is_object(json)) {
        (void)refuse_keyword(compile, "schema", "a schema that is not an object");
        return NULL;
    }
    if (json_object_get(json, "$ref"))
        return follow(compile, node, json) ? node : NULL;
    json_object_foreach(json, name, value)
    {
        if (!take_keyword(compile, node, name, value))
            return NULL;
    }
    return node;
}

static bool compile_all(struct compile *compile, json_t *json)
{
    struct doc_schema *schema = compile->schema;
    json_t *defs = json_object_get(json, "$defs"), *value;
    const char *name;
    schema->defs =
        nl_arena_alloc(&schema->arena, (json_object_size(defs) + 1) * sizeof *schema->defs);
    json_object_foreach(defs, name, value)
    {
        struct doc_node *node = compile_node(compile, value);
        if (!node)
            return false;
        schema->defs[schema->def_count++] = (struct doc_member){
            .name = nl_arena_text(&schema->arena, name, strlen(name)), .node = node};
    }
    return (schema->root = compile_node(compile, json)) != NULL;
}

bool doc_schema_compile(struct doc_schema *schema, const char *text, struct nl_err *err)
{
    *schema = (struct doc_schema){0};
    nl_arena_init(&schema->arena);
    json_error_t where;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (!json)
        return nl_fail(err, NL_FORMAT, "schema: line %d: %s", where.line, where.text);
    struct compile compile = {.schema = schema, .err = err};
    bool done = compile_all(&compile, json);
    json_decref(json);
    return done;
}

/* Versions that are still read; the first is the one that is written. */
static const struct {
    const char *version, *name, *text;
} versions[] = {{"neurolens.run/4", "run", nl_run_schema_text},
                {"neurolens.run/3", "run-3", nl_run_schema_3_text},
                {"neurolens.run/2", "run-2", nl_run_schema_2_text},
                {"neurolens.run/1", "run-1", nl_run_schema_1_text}};
#define VERSIONS (sizeof versions / sizeof versions[0])

const char *nl_rundoc_schema(const char *name)
{
    for (size_t i = 0; i < VERSIONS; i++)
        if (strcmp(versions[i].name, name) == 0)
            return versions[i].text;
    return NULL;
}

void doc_schema_open_version(struct doc_schema *schema, struct nl_str version)
{
    struct nl_err err;
    const char *text = versions[0].text;
    nl_err_clear(&err);
    for (size_t i = 0; i < VERSIONS; i++)
        if (nl_str_is(version, versions[i].version))
            text = versions[i].text;
    if (!doc_schema_compile(schema, text, &err))
        NL_BUG("the schema of the run document is damaged");
}

void doc_schema_open(struct doc_schema *schema)
{
    doc_schema_open_version(schema, (struct nl_str){"", 0});
}

void doc_schema_release(struct doc_schema *schema)
{
    for (size_t i = 0; i < schema->regex_count; i++)
        regfree(schema->regexes[i]);
    nl_free(schema->regexes);
    nl_arena_free(&schema->arena);
}

const struct doc_member *doc_member_find(const struct doc_node *node, struct nl_str name)
{
    for (size_t i = 0; i < node->member_count; i++)
        if (nl_str_is(name, node->members[i].name))
            return &node->members[i];
    return NULL;
}

const char *doc_types_text(char text[64], unsigned types)
{
    size_t length = 0;
    text[0] = 0;
    for (size_t i = TYPE_COUNT; i-- > 0;)
        if (types >> i & 1 && length < 64)
            length += (size_t)snprintf(text + length, 64 - length, "%s%s", length ? " or " : "",
                                       type_names[i]);
    return text;
}
