/* The same rows of facts.def that a run document is made of. */
#include "rundoc/hostmeta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum wanted { HOST, CPU, PROCESSORS, WANTED };

static const char *const wanted_keys[WANTED] = {"hardware.host_name", "hardware.cpu_model",
                                                "hardware.cpu_count"};

static const struct {
    const char *meta, *key, *form;
} facts[] = {
#define FACT(meta, key, form) {meta, key, #form},
#include "rundoc/facts.def"
#undef FACT
};

/* Which of the three a row of metadata gives, under its own key or a profiler's. */
static enum wanted wanted_of(struct nl_str key, bool *has_port)
{
    const char *name = NULL;
    *has_port = false;
    for (size_t i = 0; !name && i < sizeof facts / sizeof facts[0]; i++)
        if (nl_str_is(key, facts[i].meta)) {
            name = facts[i].key;
            *has_port = strcmp(facts[i].form, "host") == 0;
        }
    for (enum wanted k = HOST; k < WANTED; k++)
        if (name ? strcmp(name, wanted_keys[k]) == 0 : nl_str_is(key, wanted_keys[k]))
            return k;
    return WANTED;
}

/* A text that all files of the profile agree on; "" otherwise, or when it is too long to be one. */
struct agreed {
    struct nl_str text;
    bool differ;
};

static void agree(struct agreed *agreed, struct nl_str value)
{
    agreed->differ |= agreed->text.len && !nl_str_eq(agreed->text, value);
    agreed->text = value;
}

static void copy_agreed(char *room, size_t size, const struct agreed *agreed)
{
    bool told = !agreed->differ && agreed->text.len && agreed->text.len < size;
    snprintf(room, size, "%.*s", told ? (int)agreed->text.len : 0, told ? agreed->text.ptr : "");
}

struct nl_str nl_host_without_port(struct nl_str host)
{
    const char *colon = host.len ? memchr(host.ptr, ':', host.len) : NULL;
    return (struct nl_str){host.ptr, colon ? (size_t)(colon - host.ptr) : host.len};
}

struct nl_host_roofs nl_host_meta(const struct nl_trace *trace)
{
    struct nl_host_roofs host = {.count = 0};
    struct agreed found[WANTED] = {0};
    char number[16];
    for (uint32_t row = 0; row < trace->meta.rows; row++) {
        bool has_port;
        enum wanted k = wanted_of(nl_trace_name(trace, trace->meta.key[row]), &has_port);
        struct nl_str value = nl_trace_name(trace, trace->meta.value[row]);
        if (has_port)
            value = nl_host_without_port(value);
        if (k != WANTED && value.len)
            agree(&found[k], value);
    }
    copy_agreed(host.host, sizeof host.host, &found[HOST]);
    copy_agreed(host.cpu, sizeof host.cpu, &found[CPU]);
    copy_agreed(number, sizeof number, &found[PROCESSORS]);
    long count = strtol(number, NULL, 10);
    host.processors = count > 0 && count < 1000000 ? (uint32_t)count : 0;
    return host;
}
