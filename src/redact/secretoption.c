/* Options of one letter may follow others of one letter (curl -su me:word). */
#define _GNU_SOURCE
#include "redact/secretoption.h"

#include <string.h>

#include "base/chars.h"

static const struct option {
    struct nl_str command, after, text;
    bool apart;
} options[] = {
#define OPTION(command, after, option, apart)                                                      \
    {{command, sizeof(command) - 1},                                                               \
     {after, sizeof(after) - 1},                                                                   \
     {option, sizeof(option) - 1},                                                                 \
     apart},
#include "redact/secretshapes.def"
};

#define FLAGS "sSkLfvigIjGNn0a46#" /* of curl, that take no value */

static bool is_same(struct nl_str a, struct nl_str b)
{
    return a.len == b.len && a.ptr[0] == b.ptr[0] && memcmp(a.ptr, b.ptr, a.len) == 0;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* Letters of `word` that are the option, with those before it; 0 = it is another word. */
static size_t option_length(const struct option *option, struct nl_str word)
{
    size_t at = 1;
    bool letter = option->text.len == 2 && option->text.ptr[0] == '-';
    if (!letter)
        return is_same(option->text, word) ? word.len : 0;
    if (word.len < 2 || word.ptr[0] != '-')
        return 0;
    if (nl_str_is(option->command, "curl"))
        while (at + 1 < word.len && strchr(FLAGS, word.ptr[at]))
            at++;
    return word.ptr[at] == option->text.ptr[1] ? at + 1 : 0;
}

static size_t skip(struct nl_str text, size_t at, const char *set)
{
    while (at < text.len && text.ptr[at] && strchr(set, text.ptr[at]))
        at++;
    return at;
}

/* Where the value of the option that ends at `at` begins; 0 = there is none. */
static size_t value_of(const struct option *option, struct nl_str text, size_t at, size_t end)
{
    bool rest = at < end || (at < text.len && is_quote(text.ptr[at]));
    if (!rest && !option->apart)
        return 0;
    size_t begin = skip(text, at, option->apart ? " \t\"'\\=" : "\"'\\");
    bool next_option =
        !rest && begin < text.len && text.ptr[begin] == '-' && !is_quote(text.ptr[begin - 1]);
    return begin < text.len && !next_option ? begin : 0;
}

static void read_command(struct nl_secretoption *reading, struct nl_str word)
{
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (is_same(options[i].command, word)) {
            reading->command = word;
            reading->login = false;
            return;
        }
    reading->login = reading->login || nl_str_is(word, "login");
}

void nl_secretoption_read(struct nl_secretoption *reading, struct nl_str text, size_t at,
                          size_t end, size_t *from)
{
    struct nl_str word = {text.ptr + at, end - at};
    bool starts = !at || nl_is_space(text.ptr[at - 1]) || is_quote(text.ptr[at - 1]);
    *from = 0;
    for (size_t i = 0;
         reading->command.len && starts && !*from && i < sizeof options / sizeof options[0]; i++) {
        if (!is_same(options[i].command, reading->command) ||
            (options[i].after.len && !reading->login))
            continue;
        size_t len = option_length(&options[i], word);
        if (len)
            *from = value_of(&options[i], text, at + len, end);
    }
    if (!*from)
        read_command(reading, word);
}
