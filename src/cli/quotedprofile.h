/* quotedprofile — the words of a command line that name its profile, for
 * commands that people paste. */
#ifndef NL_QUOTEDPROFILE_H
#define NL_QUOTEDPROFILE_H

#include <stdbool.h>

#include "cli/command.h"

/* More profiles than these are reported with "…". */
#define NL_MAX_QUOTED 4

/* What the user called the profile, so that a shell reads it as the same words; `bare`:
 * without windows. nl_free it. */
char *nl_quoted_profile(const struct nl_call *call, bool bare);

#endif
