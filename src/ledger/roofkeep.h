/*
 * roofkeep — measured roofs of machines in the ledger, by host (store/hostroofs.h).
 *
 * A host is its name with the product and number of its processors: two machines of one
 * name are two. The highest figure that was ever measured counts, as whatever else ran at
 * the time can only lower it.
 */
#ifndef NL_ROOFKEEP_H
#define NL_ROOFKEEP_H

#include "ledger/ledger.h"
#include "store/hostroofs.h"

/* Keeps what was measured. With `replace` the host's earlier figures go
 * first. `host` must be known. */
NL_MUST_CHECK bool nl_roofkeep_put(struct nl_ledger *ledger, const struct nl_host_roofs *roofs,
                                   bool replace, struct nl_err *err);

/* The roofs of a host with these facts: its name, and where they are known its processors.
 * nl_alloc'd, never NULL: without rows when the name is not known, never measured, or of several
 * machines that the facts do not distinguish. False with err when the ledger cannot be asked. */
NL_MUST_CHECK bool nl_roofkeep_get(struct nl_ledger *ledger, const struct nl_host_roofs *facts,
                                   struct nl_host_roofs **roofs, struct nl_err *err);

/* Facts of a run's host: what was set or recorded; what is not known stays as it is in `facts`. */
NL_MUST_CHECK bool nl_roofkeep_host(struct nl_ledger *ledger, int64_t run,
                                    struct nl_host_roofs *facts, struct nl_err *err);

/* Roofs of another ledger that are higher than those here. */
NL_MUST_CHECK bool nl_roofkeep_merge(struct nl_ledger *from, struct nl_ledger *into,
                                     struct nl_err *err);

#endif
