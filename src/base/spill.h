/*
 * spill — large arrays in files without a name, for work that does not fit in memory.
 *
 * Once started, a spill gives arrays of half a MiB and more as shared mappings of files in a folder
 * on a disk, one file each, removed from the folder before it is used. The kernel writes their
 * pages out and drops them when memory is short, and nl_spill_trim takes all of them out of the
 * process's resident set; what they hold stays. An array that is freed gives its room on the disk
 * back. Nothing remains however the process ends.
 *
 * Room on the disk is reserved when an array is made, so that a full disk is no fault of a later
 * write. When it is full, arrays are in memory again (and the memory guard ends the command if that
 * does not suffice).
 *
 *     struct nl_spill *spill = nl_spill_new();
 *     if (nl_spill_start(spill, bytes)) …
 *     memory = nl_spill_take(spill, bytes);              // NULL: take it elsewhere
 *     if (!nl_spill_free(spill, memory)) …               // it was from elsewhere
 *
 * What nl_alloc and its kin give from 2 MiB on lies in the files of the process's spill as well,
 * once that one has started: so all that readers, analyses and SQL keep beside the columns.
 *
 * Thread-safe. NULL is a spill that never starts.
 */
#ifndef NL_SPILL_H
#define NL_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nl_spill;

/* The one that nl_alloc uses. NULL, unless the program says another (cli/main.c):
 * the library keeps no state. */
struct nl_spill *nl_process_spill(void);

struct nl_spill *nl_spill_new(void);
void nl_spill_release(struct nl_spill *spill); /* arrays that are not freed stay as they are */

/* From now on large arrays are spilled: into $TMPDIR, else /tmp, or /var/tmp where that one is kept
 * in memory. False when no such folder has `bytes` free, and a tenth more; 0 takes any. Does
 * nothing when it is started already. */
bool nl_spill_start(struct nl_spill *spill, uint64_t bytes);
bool nl_spill_started(const struct nl_spill *spill);

/* The folder, or the one that would be used, and what is free there (0: not known). */
const char *nl_spill_folder(struct nl_spill *spill, uint64_t *free_bytes);

/* The folder had no more room when it was asked for some. */
bool nl_spill_full(const struct nl_spill *spill);

/* What an error adds after "does not fit": the folder is full, has too little room, or no file
 * could be made there; else "". Returns `text`. */
#define NL_SPILL_TEXT 512
const char *nl_spill_said(struct nl_spill *spill, char text[NL_SPILL_TEXT]);

/* Zeroed, page-aligned; NULL when it is not started, the array is small, or there is no room. */
void *nl_spill_take(struct nl_spill *spill, size_t bytes);

/* False: no array of this spill begins there. */
bool nl_spill_free(struct nl_spill *spill, void *memory);
bool nl_spill_owns(struct nl_spill *spill, const void *memory);

/* Bytes of the array that begins there, whole pages; 0: none of this spill does. */
size_t nl_spill_bytes(struct nl_spill *spill, const void *memory);

/* The array is no longer looked after: other pages are put under it. It is freed
 * with nl_pages_free then. */
void nl_spill_leave(struct nl_spill *spill, void *memory);

/* A file that is mapped for reading alone is trimmed with the arrays, until nl_spill_leave. */
void nl_spill_watch(struct nl_spill *spill, void *map, size_t bytes);

/* Takes all pages of all arrays out of the resident set. */
void nl_spill_trim(struct nl_spill *spill);

/* In a child after fork: it spills nothing more, and no thread that it does
 * not have holds a lock. */
void nl_spill_in_child(struct nl_spill *spill);

#endif
