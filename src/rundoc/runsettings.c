/* Which members may be set, and what they take: both as the schema says. */
#include <stdio.h>

#include "base/json.h"
#include "base/nearest.h"
#include "rundoc/doccheck.h"
#include "rundoc/runsettings.h"

/* Objects whose scalar members are facts. */
static const char *const objects[] = {"run", "hardware", "software", "workload"};
#define OBJECT_COUNT (sizeof objects / sizeof objects[0])

static bool settable(const struct doc_node *node)
{
    return (node->types & DOC_NULL) && !(node->types & (DOC_OBJECT | DOC_ARRAY));
}

const struct doc_node *run_setting_node(const struct doc_schema *schema, const char *key)
{
    const char *dot = strchr(key, '.');
    struct nl_str object = {key, dot ? (size_t)(dot - key) : 0};
    for (size_t i = 0; dot && i < OBJECT_COUNT; i++) {
        if (!nl_str_is(object, objects[i]))
            continue;
        const struct doc_member *outer = doc_member_find(schema->root, object);
        const struct doc_member *inner =
            outer ? doc_member_find(outer->node, nl_str(dot + 1)) : NULL;
        return inner && settable(inner->node) ? inner->node : NULL;
    }
    return NULL;
}

void run_setting_json(struct nl_buf *out, const struct doc_node *node, const char *value)
{
    struct nl_json json;
    if (node->types & DOC_STRING) {
        nl_json_to_buf(&json, out, 0);
        nl_json_text(&json, value);
    } else {
        nl_buf_text(out, value);
    }
}

bool run_setting_allowed(const struct doc_node *node, const char *value, struct nl_err *err)
{
    struct nl_rundoc_faults faults = {0};
    struct nl_buf text;
    nl_arena_init(&faults.arena);
    nl_buf_init(&text, (size_t)1 << 20);
    run_setting_json(&text, node, value);
    bool blank = !(node->types & DOC_STRING) && strpbrk(value, " \t\r\n");
    bool good =
        !blank && !text.overflow && doc_check(node, text.ptr ? text.ptr : "", text.len, &faults);
    char types[64];
    if (!good && faults.count && strcmp(faults.items[0].keyword, "syntax") != 0)
        (void)nl_fail(err, NL_USAGE, "%s", faults.items[0].says);
    else if (!good)
        (void)nl_fail(err, NL_USAGE, "'%.60s' where %s is expected", value,
                      doc_types_text(types, node->types));
    nl_buf_release(&text);
    nl_rundoc_faults_release(&faults);
    return good;
}

/* The whole key of the member of that name, in whichever object; NULL when there is none. */
static const char *whole_key(const struct doc_schema *schema, const char *name,
                             struct nl_arena *arena)
{
    for (size_t i = 0; i < OBJECT_COUNT; i++) {
        const struct doc_node *object = doc_member_find(schema->root, nl_str(objects[i]))->node;
        const struct doc_member *member = doc_member_find(object, nl_str(name));
        if (member && settable(member->node))
            return nl_arena_format(arena, "%s.%s", objects[i], name);
    }
    return NULL;
}

const char *nl_rundoc_setting_key(const char *word, struct nl_arena *arena)
{
    if (strchr(word, '.'))
        return word;
    struct doc_schema schema;
    doc_schema_open(&schema);
    const char *key = whole_key(&schema, word, arena);
    doc_schema_release(&schema);
    return key ? key : word;
}

/* The key that was probably meant, or NULL: one of the same name in any
 * object, else the nearest. */
static const char *nearest_key(const struct doc_schema *schema, const char *wanted,
                               struct nl_arena *arena)
{
    struct nl_nearest nearest;
    const char *dot = strrchr(wanted, '.');
    const char *same = whole_key(schema, dot ? dot + 1 : wanted, arena);
    if (same)
        return same;
    nl_nearest_init(&nearest, wanted);
    for (size_t i = 0; i < OBJECT_COUNT; i++) {
        const struct doc_node *object = doc_member_find(schema->root, nl_str(objects[i]))->node;
        for (size_t k = 0; k < object->member_count; k++) {
            const struct doc_member *member = &object->members[k];
            if (!settable(member->node))
                continue;
            const char *key = nl_arena_format(arena, "%s.%s", objects[i], member->name);
            nl_nearest_offer(&nearest, key);
        }
    }
    return nl_nearest_best(&nearest);
}

bool nl_rundoc_is_label(const char *key)
{
    size_t start = strlen(NL_LABELS);
    return strncmp(key, NL_LABELS, start) == 0 && key[start] &&
           key[start + strspn(key + start, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789._-")] == '\0';
}

bool nl_rundoc_setting_check(const struct nl_rundoc_setting *setting, struct nl_err *err)
{
    struct doc_schema schema;
    struct nl_err why;
    doc_schema_open(&schema);
    nl_err_clear(&why);
    const struct doc_node *node = run_setting_node(&schema, setting->key);
    bool good = node && (strcmp(setting->value, "null") == 0 ||
                         run_setting_allowed(node, setting->value, &why));
    const char *best = node ? NULL : nearest_key(&schema, setting->key, &schema.arena);
    if (node && !good)
        (void)nl_fail(err, NL_USAGE, "%s: %s", setting->key, why.text);
    else if (!good)
        (void)nl_fail(err, NL_USAGE, "nothing to set is called '%.60s'; %s%s%s", setting->key,
                      best ? "did you mean " : "docs/metrics.md lists the fields", best ? best : "",
                      best ? "?" : "");
    doc_schema_release(&schema);
    return good;
}
