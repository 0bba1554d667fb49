/* Options: one loop over the words, one function per type of value. */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"

#define MAX_WORD 64 /* characters of an option or of a time that are looked at */

static bool unknown_option(const struct nl_option *const *tables, const char *word,
                           struct nl_err *err)
{
    char name[MAX_WORD + 1];
    size_t len = strcspn(word, "=");
    snprintf(name, sizeof name, "%.*s", (int)len, word);
    struct nl_nearest nearest;
    nl_nearest_init(&nearest, name + (nl_str_starts(nl_str(name), "--") ? 2 : 1));
    for (size_t t = 0; tables[t]; t++)
        for (const struct nl_option *o = tables[t]; o->name; o++)
            if (o->help)
                nl_nearest_offer(&nearest, o->name);
    const char *best = nl_nearest_best(&nearest);
    if (best)
        return nl_fail(err, NL_USAGE, "unknown option '%s'; did you mean --%s?", name, best);
    return nl_fail(err, NL_USAGE, "unknown option '%s'; -h lists the options", name);
}

static const struct nl_option *by_name(const struct nl_option *const *tables, const char *name,
                                       size_t len)
{
    for (size_t t = 0; tables[t]; t++)
        for (const struct nl_option *o = tables[t]; o->name; o++)
            if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
                return o;
    return NULL;
}

static const struct nl_option *by_letter(const struct nl_option *const *tables, char letter)
{
    for (size_t t = 0; tables[t]; t++)
        for (const struct nl_option *o = tables[t]; o->name; o++)
            if (o->letter && o->letter == letter)
                return o;
    return NULL;
}

static bool bad_value(const struct nl_option *option, const char *value, const char *want,
                      struct nl_err *err)
{
    return nl_fail(err, NL_USAGE, "--%s: '%s' is not %s", option->name, value, want);
}

static bool set_choice(const struct nl_option *option, int *target, const char *value,
                       struct nl_err *err)
{
    char list[160] = "";
    for (int i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], value) == 0) {
            *target = i;
            return true;
        }
        size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", i ? ", " : "", option->choices[i]);
    }
    return nl_fail(err, NL_USAGE, "--%s: '%s' is not one of %s", option->name, value, list);
}

static bool set_number(const struct nl_option *option, int64_t *target, const char *value,
                       struct nl_err *err)
{
    int64_t number;
    if (!nl_parse_i64(nl_str(value), &number) || number < 0)
        return bad_value(option, value, "a whole number", err);
    *target = number;
    return true;
}

static bool set_time(const struct nl_option *option, int64_t *target, const char *value,
                     struct nl_err *err)
{
    int64_t time;
    bool bare = value[strspn(value, "0123456789.")] == '\0';
    char seconds[MAX_WORD];
    snprintf(seconds, sizeof seconds, "%s%s", value, bare ? "s" : "");
    if (!nl_parse_ns(nl_str(seconds), &time) || time < 0)
        return bad_value(option, value, "a time such as 30s or 500ms", err);
    *target = time;
    return true;
}

static bool add_text(struct nl_texts *list, const char *value)
{
    nl_grow(&list->items, &list->cap, list->count + 1);
    list->items[list->count++] = value;
    return true;
}

static bool set_one(const struct nl_option *option, const char **target, const char *value,
                    struct nl_err *err)
{
    if (*target && strcmp(*target, value) != 0)
        return nl_fail(err, NL_USAGE, "--%s takes one name, not both '%s' and '%s'; run it twice",
                       option->name, *target, value);
    *target = value;
    return true;
}

/* Gives the option its value; `value` is NULL for flags only. */
static bool set_option(const struct nl_option *option, const char *value, void *into,
                       struct nl_err *err)
{
    if (!into)
        return true;
    void *target = (char *)into + option->target.offset;
    switch (option->type) {
    case NL_OPTION_FLAG: *(bool *)target = true; return true;
    case NL_OPTION_COUNT: ++*(unsigned *)target; return true;
    case NL_OPTION_TEXT: *(const char **)target = value; return true;
    case NL_OPTION_ONE: return set_one(option, target, value, err);
    case NL_OPTION_CHOICE: return set_choice(option, target, value, err);
    case NL_OPTION_NUMBER: return set_number(option, target, value, err);
    case NL_OPTION_TIME: return set_time(option, target, value, err);
    case NL_OPTION_LIST: return add_text(target, value);
    case NL_OPTION_SIZE:
        if (nl_parse_bytes(nl_str(value), target))
            return true;
        return bad_value(option, value, "a size such as 512M or 4GiB", err);
    }
    NL_BUG("option of an unknown type");
}

/* The words being read and where in them. */
struct reader {
    const struct nl_option *const *tables;
    struct nl_words *words;
    int at; /* next word */
    void *settings, *own;
    struct nl_err *err;
};

/* An option that wants a value takes `joined` (not NULL, perhaps empty) or the next word. */
static bool take_option(struct reader *reader, const struct nl_option *option, const char *joined)
{
    void *into = option->target.own ? reader->own : reader->settings;
    if (!option->argument)
        return set_option(option, NULL, into, reader->err);
    if (!joined && reader->at == reader->words->count)
        return nl_fail(reader->err, NL_USAGE, "--%s needs a value: %s", option->name,
                       option->argument);
    const char *value = joined ? joined : reader->words->word[reader->at++];
    return set_option(option, value, into, reader->err);
}

static bool read_long(struct reader *reader, const char *word)
{
    const char *name = word + 2;
    size_t len = strcspn(name, "=");
    const struct nl_option *option = by_name(reader->tables, name, len);
    if (!option)
        return unknown_option(reader->tables, word, reader->err);
    if (!option->argument && name[len] == '=')
        return nl_fail(reader->err, NL_USAGE, "--%s takes no value", option->name);
    return take_option(reader, option, name[len] == '=' ? name + len + 1 : NULL);
}

static bool read_letters(struct reader *reader, const char *word)
{
    for (const char *c = word + 1; *c; c++) {
        const struct nl_option *option = by_letter(reader->tables, *c);
        if (!option)
            return unknown_option(reader->tables, word, reader->err);
        if (option->argument)
            return take_option(reader, option, c[1] ? c + 1 : NULL);
        if (!take_option(reader, option, NULL))
            return false;
    }
    return true;
}

bool nl_options_parse(const struct nl_option *const *tables, struct nl_words *words, bool leading,
                      void *settings, void *own, struct nl_err *err)
{
    struct reader reader = {
        .tables = tables, .words = words, .settings = settings, .own = own, .err = err};
    int kept = 0;
    bool ended = false;
    while (reader.at < words->count) {
        char *word = words->word[reader.at++];
        if (!ended && strcmp(word, "--") == 0) {
            ended = true;
        } else if (ended || word[0] != '-' || word[1] == '\0') {
            words->word[kept++] = word;
            ended = ended || leading;
        } else if (!(word[1] == '-' ? read_long(&reader, word) : read_letters(&reader, word))) {
            return false;
        }
    }
    words->count = kept;
    return true;
}

void nl_options_release(const struct nl_option *const *tables, void *settings, void *own)
{
    for (size_t t = 0; tables[t]; t++)
        for (const struct nl_option *o = tables[t]; o->name; o++) {
            void *into = o->target.own ? own : settings;
            if (o->type != NL_OPTION_LIST || !into)
                continue;
            struct nl_texts *list = (struct nl_texts *)((char *)into + o->target.offset);
            nl_free(list->items);
            *list = (struct nl_texts){0};
        }
}
