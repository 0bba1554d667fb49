/*
 * confine — takes from the calling process what a reader of foreign files has no use for.
 *
 * Called in a child that will do nothing but read (ingest/sandbox.h). Landlock limits which files
 * can be opened, seccomp which system calls are made: no other program, no process, no socket, no
 * signal to others, no tracing; limits hold memory and files within bounds. It cannot be undone.
 * Each part holds where the kernel has it; nl_confine_available says which those are: Landlock is
 * in Linux since 5.13, and may be switched off at boot. Without Landlock no file can be opened for
 * writing, nor can folders be changed, but any file that the user may read can be read.
 */
#ifndef NL_CONFINE_H
#define NL_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NL_CONFINE_FILES = 1, NL_CONFINE_CALLS = 2 }; /* bits: Landlock, seccomp */

struct nl_confine {
    const char *const *readable; /* files that may be read, besides those of the C library */
    size_t readable_count;
    const char *folder;    /* the only folder in which files may be made; NULL: none */
    bool read_all;         /* everything may be read */
    bool sends;            /* it may send over sockets that it has; it can make none */
    uint64_t memory_bytes; /* of writable memory that no file has; 0: no limit */
    uint64_t file_bytes;   /* of a file that it writes; 0: no limit */
};

/* What this kernel has. Costs two system calls. */
unsigned nl_confine_available(void);

/* Confines the process, which has a single thread; what holds from now on. */
unsigned nl_confine(const struct nl_confine *to);

#endif
