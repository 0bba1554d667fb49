/*
 * folders — where things are kept: the ledger, its cache of imported profiles, the shell's history.
 *
 * The ledger is --ledger, else $NEUROLENS_LEDGER, else .neurolens in this folder or one above it
 * (made by `neurolens init`), else $XDG_DATA_HOME/neurolens or ~/.local/share/neurolens. Paths are
 * nl_free'd by the caller.
 */
#ifndef NL_FOLDERS_H
#define NL_FOLDERS_H

#include "base/err.h"

/* `given` is the value of --ledger or NULL. NULL with NL_ENVIRONMENT when there is no home to put
 * it in, or for a ledger behind a URL. */
char *nl_ledger_folder(const char *given, struct nl_err *err);

/* <ledger>/cache; nothing is made. */
char *nl_cache_folder(const char *given, struct nl_err *err);

/* The bound of the cache: 20 GiB, or a tenth of what is free on its file system if that is less. */
uint64_t nl_cache_bound(const char *folder);

/* The file of the SQL shell's history, its folder made; NULL when there is no place for it. */
char *nl_history_file(void);

#endif
