/* Any bytes as a template of report pages: read, or refused with a reason;
 * what was read is whole. */
#include <stdlib.h>

#include "pages/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nl_template own;
    struct nl_err err;
    nl_err_clear(&err);
    bool done = nl_template_read(&own, (const char *)data, size, &err);
    if (!done && !err.text[0])
        abort(); /* refused without a reason */
    for (size_t i = 0; i < own.section_count; i++)
        if (!own.sections[i].title || !own.sections[i].sql || !own.sections[i].line)
            abort();
    nl_template_release(&own);
    return 0;
}
