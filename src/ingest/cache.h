/*
 * cache — finished traces of imported profiles, so that the second look costs milliseconds.
 *
 * A cached trace is <folder>/<key>.nlt; the key is a hash of every input's fingerprint (size, time,
 * first and last MiB), of the options that matter, of the schema and of the program's build. Files
 * appear by rename, so two processes importing the same profile at once both succeed and one of the
 * equal files stays. The cache never fails a command: what cannot be written is simply not kept.
 *
 * Answers about a trace are next to it, <key>-<question>.nla: what they are is for who writes them
 * (answer/reportfile.h). They count, age and go like traces, but never outlive theirs.
 */
#ifndef NL_CACHE_H
#define NL_CACHE_H

#include "ingest/inputs.h"
#include "store/trace.h"

struct nl_cache_key {
    uint64_t hash;
    uint64_t bytes; /* of the inputs */
};

/* `join`: reports that are joined to the profile, or NULL. False when the inputs cannot be cached
 * (stdin, too small to be worth it, no way to distinguish this build from others). */
bool nl_cache_key(struct nl_cache_key *key, const struct nl_inputs *inputs,
                  const struct nl_inputs *join, int64_t rank);

/* The cached trace, or NULL. Marks it as used now. A damaged one is removed. `unchecked`: as
 * nl_trace_open_unchecked opens it. */
struct nl_trace *nl_cache_find(const struct nl_cache_key *key, const char *folder, bool unchecked,
                               unsigned threads);

/* Removes the longest unused until there is room within `max_bytes`, and keeps a trace. */
bool nl_cache_keep(const struct nl_cache_key *key, const char *folder, uint64_t max_bytes,
                   const struct nl_trace *trace);

/* Gives a file of the cache to the group that shares the folder; of any
 * other nothing is changed. */
void nl_cache_share(const char *folder, const char *path);

/* <folder>/<key>.nlt; nl_free'd by the caller. */
char *nl_cache_path(const struct nl_cache_key *key, const char *folder);

/*
 * A trace that the cache gets later, by another process (cachelater.c). Zeroed but for `least`:
 * nothing is to be written. One process at a time writes a trace of a key; another that needs
 * it meanwhile waits for it.
 */
struct nl_cache_later {
    uint64_t least;    /* traces of fewer bytes are kept at once */
    char *path, *part; /* absolute; NULL: nothing to write */
    int file;          /* of the part, locked */
};

/* Makes room like nl_cache_keep, and takes the right to write a trace of so many bytes. False when
 * it cannot be kept, or another process writes it. */
bool nl_cache_later(struct nl_cache_later *later, const struct nl_cache_key *key,
                    const char *folder, uint64_t max_bytes, uint64_t bytes);

/* Writes the trace; nothing is left when that fails. Then nothing is to be written any more. */
bool nl_cache_later_write(struct nl_cache_later *later, const struct nl_trace *trace);

/* Leaves the writing to a child that was forked, or drops it. */
void nl_cache_later_leave(struct nl_cache_later *later);
void nl_cache_later_drop(struct nl_cache_later *later);

/* The trace that another process is writing, when it is done; NULL if no process writes it, or too
 * slowly, or the job was cancelled. */
struct nl_trace *nl_cache_await(const struct nl_cache_key *key, const char *folder,
                                unsigned threads, struct nl_job *job);

/* Where an answer to a question about the trace of that key belongs; nl_free'd by the caller. */
char *nl_cache_beside(uint64_t trace, const char *folder, uint64_t question);

/* Marks a file of the cache as used now. */
void nl_cache_used(const char *path);

struct nl_cache_sweep {
    uint64_t removed, removed_bytes, kept, kept_bytes;
};

/* Removes the longest unused files until at most max_bytes are left, an answer before its trace;
 * answers whose trace is gone; and temporaries of writers that died more than a day ago. With `dry`
 * nothing is removed, only counted. */
struct nl_cache_sweep nl_cache_sweep(const char *folder, uint64_t max_bytes, bool dry);

#endif
