/*
 * cfivalue — values of DWARF's call frame expressions: small programs on a stack that say where a
 * caller's registers are. Only what compilers and assemblers put into .eh_frame is understood.
 */
#ifndef NL_CFIVALUE_H
#define NL_CFIVALUE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFIVALUE_REGISTERS                                                                         \
    17u /* of x86-64 by DWARF's numbers; the last is the address to return to */

/* A thread at one frame. */
struct cfivalue_state {
    uint64_t registers[CFIVALUE_REGISTERS];
    bool known[CFIVALUE_REGISTERS];
    uint64_t cfa; /* the frame's address, where it is known already */
    /* its memory: a copy of the stack */
    const unsigned char *stack;
    uint64_t stack_start;
    size_t stack_len;
};

/* 8 bytes of memory; false: not in the copy. */
bool cfivalue_memory(const struct cfivalue_state *state, uint64_t address, uint64_t *value);

/* *is_value: the result is the value itself, else its address. */
bool cfivalue_of(const struct cfivalue_state *state, const Dwarf_Op *ops, size_t count,
                 uint64_t *value, bool *is_value);

#endif
