/* sections — the tables that --section may name, for the commands that have a list of them. */
#ifndef NL_SECTIONS_H
#define NL_SECTIONS_H

#include <stdbool.h>

#include "base/err.h"

/* Whether `section` (NULL: not asked for, which is right) is one of `names`, a list that ends
 * with NULL; `of` is what they are tables of, for the message ("a diff"). NL_USAGE with the
 * nearest name when it is none. */
NL_MUST_CHECK bool nl_section_check(const char *of, const char *const *names, const char *section,
                                    struct nl_err *err);

#endif
