/*
 * pythonhere — whether this process is a Python interpreter, and what keeps the package's hooks
 * from being run in it: options (-I, -E, -S), a PYTHONPATH that does not name them. Known before
 * the interpreter starts, so that coverage can say it of the shortest program, too.
 */
#ifndef NL_PYTHONHERE_H
#define NL_PYTHONHERE_H

#include <stdint.h>

/* Bits of enum nl_rec_python; 0 = no interpreter here. */
uint32_t pythonhere_look(void);

/* Bits of a command line: words, each with its NUL, `bytes` in all. */
uint32_t pythonhere_options(const char *words, uint64_t bytes);

#endif
