/*
 * ledgerschema — versions of the ledger's database.
 */
#ifndef NL_LEDGERSCHEMA_H
#define NL_LEDGERSCHEMA_H

#include "ledger/ledgerdb.h"

/* Brings the database to the newest version, in one transaction; refuses databases of others and of
 * newer programs, and older ones that may not be written. */
NL_MUST_CHECK bool nl_ledger_migrate(struct nl_ledger *ledger,
                                     const struct nl_ledger_schema *schema, bool writable,
                                     struct nl_err *err);

#endif
