/*
 * Any bytes held against the schema of the run document: the check ends; it finds nothing wrong
 * exactly when its list is empty; every fault has a place that begins as a pointer does, a keyword
 * and a reason; and a text that it takes is JSON.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsoncheck.h"
#include "rundoc/doccheck.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct doc_schema schema; /* compiled once: a run is a check */
    struct nl_rundoc_faults faults = {0};
    struct nl_json_problem problem;
    if (!schema.root)
        doc_schema_open(&schema);
    nl_arena_init(&faults.arena);
    char *text = malloc(size + 1); /* so that reading one byte too far is seen */
    if (!text)
        return 0;
    memcpy(text, data, size);
    char *exact = realloc(text, size ? size : 1);
    bool good = doc_check(schema.root, exact, size, &faults);
    bool json = nl_json_check(exact, size, &problem);
    if (good != (faults.count == 0) || (good && !json) || (!json && !problem.says))
        abort();
    for (size_t i = 0; i < faults.count; i++) {
        const struct nl_rundoc_fault *fault = &faults.items[i];
        if ((fault->pointer[0] && fault->pointer[0] != '/') || !fault->keyword[0] ||
            !fault->says[0] || (strcmp(fault->keyword, "syntax") == 0) == json)
            abort();
    }
    nl_rundoc_faults_release(&faults);
    free(exact);
    return 0;
}
