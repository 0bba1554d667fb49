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

/* The last field of what each thread has its own of in an array: no line of the cache, nor the pair
 * of lines that processors fetch together, is written by two threads then, which would each time
 * have to wait for the other's. */
#define NL_APART char apart[128]

/* Processors this process may use. */
unsigned nl_processors(void);

#endif
