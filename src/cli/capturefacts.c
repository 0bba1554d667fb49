/* See capturefacts.h. */
#include "cli/capturefacts.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define MAX_DOCUMENT ((size_t)1 << 30)
#define MAX_FACTS    256

/* Parts of a run document that say how it was made; metrics are no facts of that. */
static const char *const parts[] = {"workload", "software", "hardware", "run"};

static const char *json_value_text(struct nl_arena *arena, const json_t *value)
{
    if (json_is_string(value))
        return nl_arena_text(arena, json_string_value(value), json_string_length(value));
    if (json_is_integer(value))
        return nl_arena_format(arena, "%lld", (long long)json_integer_value(value));
    if (json_is_real(value))
        return nl_arena_format(arena, "%.17g", json_real_value(value));
    if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    return NULL;
}

static void take_part(const json_t *document, const char *part, struct nl_arena *arena,
                      struct nl_diff_fact *facts, size_t *count)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(document, part), name, value)
    {
        const char *text = *count < MAX_FACTS ? json_value_text(arena, value) : NULL;
        if (text)
            facts[(*count)++] =
                (struct nl_diff_fact){nl_arena_format(arena, "%s.%s", part, name), text};
    }
}

bool nl_capture_facts(const struct nl_input_words *words, const struct nl_call *call,
                      struct nl_arena *arena, struct nl_diff_input *input, struct nl_err *err)
{
    struct nl_buf text;
    bool is_run = false;
    nl_buf_init(&text, MAX_DOCUMENT);
    bool done = nl_input_document(words, call, &text, &is_run, err);
    json_t *document = done && is_run ? json_loadb(text.ptr, text.len, 0, NULL) : NULL;
    struct nl_diff_fact *facts = nl_arena_alloc(arena, MAX_FACTS * sizeof *facts);
    for (size_t i = 0; document && i < sizeof parts / sizeof parts[0]; i++)
        take_part(document, parts[i], arena, facts, &input->fact_count);
    input->facts = facts;
    json_decref(document);
    nl_buf_release(&text);
    return done;
}
