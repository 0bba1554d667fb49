/*
 * cachewriter — writes the cache after the answer was given.
 *
 * Writing a large trace to the cache takes about as long as loading it, and the user does not wait
 * for it: a child of low priority does it while the answer is printed, and ends by itself. It holds
 * no descriptor of its parent's, so that who reads our output sees its end at once; it has a
 * separate session, so that Ctrl-C and the end of the terminal do not reach it; it leaves when it
 * is killed (SIGTERM), when the disk is full and after two minutes, and never leaves a file that
 * could be taken for a whole one. Another command that needs the trace meanwhile waits for it
 * (nl_cache_await).
 *
 *     input.later.least = nl_cachewriter_least();    before nl_input_load: traces of so many bytes
 *     ... nl_input_load(&input, call, err) ...
 *     nl_cachewriter_start(&input.later, trace);     when only printing is left; nothing happens twice
 *
 * $NEUROLENS_CACHE_WRITE chooses: "foreground" writes before the answer, "background"
 * never, whatever the size; else traces under 32 MiB, which take some 20 ms, are
 * written in the foreground.
 */
#ifndef NL_CACHEWRITER_H
#define NL_CACHEWRITER_H

#include "ingest/cache.h"

/* From how many bytes on a trace is written after the answer; UINT64_MAX: none. */
uint64_t nl_cachewriter_least(void);

/* Starts the child, or writes here when there can be none. Nothing when
 * there is nothing to write. */
void nl_cachewriter_start(struct nl_cache_later *later, const struct nl_trace *trace);

#endif
