/*
 * symbols — the names of places in machine code, of all files that one recording refers to.
 *
 * A place is a file, what the file was (its build id), and an offset in it. Files that are not what
 * they were are reported and not used: a wrong name is worse than none.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include "base/str.h"

struct symbols;
struct symbols_files;

/* The process that the places are of, and when it lived (real time, ns), for what it reports about
 * functions that it makes while it runs. */
struct symbols_process {
    int64_t pid, begin, end;
};

struct symbols_place {
    struct nl_str function, file; /* .len 0 = not known; valid until the next call */
    uint32_t line;                /* 0 = not known */
};

/* Files that several recordings refer to, opened once; for one recording at a time. */
struct symbols_files *symbols_files_new(void);
void symbols_files_free(struct symbols_files *files);

/* `files` NULL: of this recording alone; else they outlive it. */
struct symbols *symbols_new(const struct symbols_process *process, struct symbols_files *files);
void symbols_free(struct symbols *symbols);

/* False: it has no name, which is counted. */
bool symbols_find(struct symbols *symbols, struct nl_str path, struct nl_str id, uint64_t offset,
                  struct symbols_place *place);

/* Places that got no name, by reason, with the first files that it was so for. */
enum symbols_reason {
    SYMBOLS_STRIPPED,
    SYMBOLS_MISSING,
    SYMBOLS_CHANGED,
    SYMBOLS_MADE,
    SYMBOLS_REASONS
};
uint64_t symbols_nameless(const struct symbols *symbols, enum symbols_reason reason,
                          const char **files);

#endif
