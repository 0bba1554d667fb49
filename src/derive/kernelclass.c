/* Kernel names against the rules of kernelclass.def. Called once per distinct name. */
#include "derive/kernelclass.h"

enum how { PREFIX, CONTAINS, NOCASE };

static const struct {
    enum how how;
    const char *text;
    enum nl_class class;
} kernel_rules[] = {
#define NL_KERNEL_RULE(how, text, class) {how, text, NL_CLASS_##class},
#define NL_COLLECTIVE_RULE(text, operation)
#include "derive/kernelclass.def"
};

static const struct {
    const char *text, *operation;
} collective_rules[] = {
#define NL_KERNEL_RULE(how, text, class)
#define NL_COLLECTIVE_RULE(text, operation) {text, operation},
#include "derive/kernelclass.def"
};

static bool hits(enum how how, struct nl_str name, const char *text)
{
    switch (how) {
    case PREFIX: return nl_str_starts(name, text);
    case CONTAINS: return nl_str_contains(name, text);
    case NOCASE: return nl_str_find_nocase(name, text) >= 0;
    }
    return false;
}

enum nl_class nl_kernel_class(struct nl_str name)
{
    for (size_t i = 0; i < sizeof kernel_rules / sizeof kernel_rules[0]; i++)
        if (hits(kernel_rules[i].how, name, kernel_rules[i].text))
            return kernel_rules[i].class;
    return NL_CLASS_COMPUTE;
}

const char *nl_collective_operation(struct nl_str name)
{
    for (size_t i = 0; i < sizeof collective_rules / sizeof collective_rules[0]; i++)
        if (nl_str_find_nocase(name, collective_rules[i].text) >= 0)
            return collective_rules[i].operation;
    return NULL;
}
