/*
 * sqlmemory — SQLite without memory ends the process, as all else does.
 *
 * SQLite reports a failed allocation to its caller once, and goes on: a text that could not be
 * bound is NULL in a row of the ledger, a schema that could not be read is a table that is not
 * there. Where memory is gone no answer is better than a part of one, so its allocator ends the
 * process with a message and status 5. A transaction that was open is rolled back by whoever opens
 * the database next.
 */
#ifndef NL_SQLMEMORY_H
#define NL_SQLMEMORY_H

/* Once, from main, before SQLite is used. */
void nl_sqlmemory_install(void);

#endif
