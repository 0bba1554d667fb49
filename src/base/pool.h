/*
 * pool — run a function over the indexes 0..count-1 on several threads.
 *
 * nl_parallel(threads, count, run, context) calls run(context, index, worker) once per index,
 * `worker` < threads names the thread (for per-thread scratch). It returns when all are done.
 * With one thread, or one index, everything happens in the caller. Indexes are handed out in
 * ascending order.
 */
#ifndef NL_POOL_H
#define NL_POOL_H

#include <stddef.h>

typedef void nl_run_fn(void *context, size_t index, unsigned worker);
void nl_parallel(unsigned threads, size_t count, nl_run_fn *run, void *context);

/* Processors this process may use. */
unsigned nl_processors(void);

#endif
