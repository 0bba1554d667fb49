/*
 * busguard — a mapped input that becomes shorter while it is read ends the command with a message.
 *
 * Profiles are mapped. When their writer cuts one meanwhile, or its disk fails, touching the
 * lost pages raises SIGBUS. The handler finds the file among the mappings, removes the
 * unfinished output, says what happened and ends with the status of NL_IO. A SIGBUS of another
 * kind stays what it was. The unfinished output is removed, too, when the process ends for want
 * of memory (nl_memory_exhausted).
 */
#ifndef NL_BUSGUARD_H
#define NL_BUSGUARD_H

/* Once, from main. */
void nl_busguard_install(void);

/* The temporary file of -o, or folder of files, to be removed in that case; it must
 * live until NULL is given. */
void nl_busguard_temporary(const char *path);

/* Removes it, whatever other threads still write into it; for a process that ends without
 * them. Async-signal-safe. */
void nl_busguard_remove(void);

#endif
