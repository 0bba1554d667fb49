/*
 * picklemake — what opcodes of pickles make values with. For pickle.c.
 */
#ifndef PICKLEMAKE_H
#define PICKLEMAKE_H

#include "ingest/torch/pickle.h"

#define PICKLE_OP_MEMOIZE 0x94
#define PICKLE_OP_LONG1   0x8a

/* Values that pass have room for so many before they are kept after all. */
#define PICKLE_POOL ((size_t)32 << 10)

static inline struct pickle_value pickle_make(enum pickle_type type, uint64_t payload)
{
    return (struct pickle_value){payload << 4 | type};
}

static inline void pickle_push(struct pickle *p, struct pickle_value value)
{
    if (p->depth == p->stack_cap)
        nl_grow(&p->stack, &p->stack_cap, p->depth + 1);
    p->stack[p->depth++] = value;
}

struct pickle_value pickle_wide(struct pickle *p, enum pickle_type type, uint64_t bits);
struct pickle_value pickle_integer(struct pickle *p, int64_t value);
/* A new, empty container. */
struct pickle_value pickle_new(struct pickle *p, enum pickle_type type);
/* Adds values to a container; false when there are too many. */
bool pickle_add(struct pickle *p, struct pickle_value to, const struct pickle_value *values,
                size_t count);

/* Carries out the opcodes that files have most of as long as they come, far from all ends: those
 * that push a number, a constant, or something from the memo. */
void pickle_run_frequent(struct pickle *p);

#endif
