/*
 * folders — where things are kept: the ledger, its cache of imported profiles, the shell's history.
 *
 * A ledger that was found, not named, is used only when trust.h lets it.
 *
 * The ledger is --ledger, else $NEUROLENS_LEDGER, else .neurolens in this folder or one above it
 * (made by `neurolens init`), else $XDG_DATA_HOME/neurolens or ~/.local/share/neurolens. Paths are
 * nl_free'd by the caller.
 */
#ifndef NL_FOLDERS_H
#define NL_FOLDERS_H

#include "base/err.h"

/* `given` is the value of --ledger or NULL. NULL with NL_ENVIRONMENT when there is no home to put
 * it in, for a ledger given as a URL, and for one that was found and is not trusted. */
char *nl_ledger_folder(const char *given, struct nl_err *err);

bool nl_is_folder(const char *path);

/* The .neurolens of this folder or the nearest one above, whoever made it; NULL without one. */
char *nl_project_folder(void);

/* The list of trusted ledgers (trust.h); NULL with NL_ENVIRONMENT when there is no home. */
char *nl_trust_file(struct nl_err *err);

/* <ledger>/cache; nothing is made. Beside a ledger that was found and may not be used (trust.h):
 * that of the user's own ledger, so that files are read all the same. */
char *nl_cache_folder(const char *given, struct nl_err *err);

/* The bound of the cache: 20 GiB, or a tenth of what is free on its file system if that is less. */
uint64_t nl_cache_bound(const char *folder);

/* The file of the SQL shell's history, its folder made; NULL when there is no place for it. */
char *nl_history_file(void);

#endif
