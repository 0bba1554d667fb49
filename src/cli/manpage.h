/*
 * manpage — the manual page, from the same tables as help.
 */
#ifndef NL_MANPAGE_H
#define NL_MANPAGE_H

#include <stdio.h>

/* neurolens(1), in roff. */
void nl_man_page(FILE *out);

#endif
