/*
 * ledgershare — a ledger that a group of people shares: its folders belong to the group, are
 * writable by it and hand it on (setgid), its files are readable and writable by it. A ledger is
 * shared when its folder is; others are their owner's alone.
 */
#ifndef NL_LEDGERSHARE_H
#define NL_LEDGERSHARE_H

#include <sys/types.h>

#include "base/err.h"

#define NL_SHARED_FOLDER 02770
#define NL_SHARED_FILE   0660

bool nl_ledger_shared(const char *folder);
bool nl_ledger_mode_shared(mode_t mode); /* of a folder of the ledger */

/* Makes the folder and those in it, for the group that owns the folder above. */
NL_MUST_CHECK bool nl_ledger_share(const char *folder, struct nl_err *err);

/* Gives a file or folder of a shared ledger the modes it needs; of any other nothing is changed.
 * What may not be changed is another member's, and has them. */
void nl_ledger_share_path(const char *folder, const char *path);

#endif
