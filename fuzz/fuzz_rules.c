/* Any bytes as a rules file, and its first line as a rule: read, or refused with a reason. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compare/rules.h"
#include "compare/rulesread.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nl_rules rules;
    struct nl_err err;
    nl_rules_init(&rules);
    nl_err_clear(&err);
    if (!nl_rules_read(&rules, (const char *)data, size, &err) && !err.text[0])
        abort(); /* refused without a reason */
    for (size_t i = 0; i < rules.count; i++)
        if (!rules.items[i].metric.text || !rules.items[i].text)
            abort();
    struct nl_str line = {(const char *)data, size};
    const char *end = size ? memchr(data, '\n', size) : NULL;
    line.len = end ? (size_t)(end - line.ptr) : size;
    char *text = nl_arena_text(&rules.arena, size ? line.ptr : "", line.len);
    nl_err_clear(&err);
    if (!nl_rules_add(&rules, text, &err) && !err.text[0])
        abort();
    nl_rules_release(&rules);
    return 0;
}
