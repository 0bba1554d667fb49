/*
 * jsoncheck — is a text one JSON document, to the letter of RFC 8259? Readers of traces forgive
 * (jsonpull); a form that promises to be strict asks here first.
 *
 * Checked: the grammar, UTF-8, no byte order mark, nothing after the document, nesting. Not
 * checked: keys that occur twice, surrogates without a partner.
 */
#ifndef NL_JSONCHECK_H
#define NL_JSONCHECK_H

#include <stdbool.h>
#include <stddef.h>

#define NL_JSON_DEPTH 64 /* open brackets at most */

/* Where a text stops being JSON, and what is wrong there (static text). */
struct nl_json_problem {
    size_t offset;
    const char *says;
};

/* True when all of it is JSON; otherwise fills `problem`. Linear, without recursion. */
bool nl_json_check(const char *text, size_t size, struct nl_json_problem *problem);

#endif
