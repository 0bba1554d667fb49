/*
 * pylines — which source line an instruction of a code object is of, from the code object's table:
 * three formats, of 3.9, of 3.10 and of 3.11 on. Any bytes are safe.
 */
#ifndef PYLINES_H
#define PYLINES_H

#include "capture/python/pylayout.h"

/* `at` is the offset in bytes of the instruction, below 0 before the first. `first` is the line of
 * the definition. Returns 0 when the table names no line for it. */
int32_t pylines_find(enum pylines format, const unsigned char *bytes, size_t count, int32_t first,
                     int32_t at);

#endif
