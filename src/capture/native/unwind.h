/*
 * unwind — call stacks from a copy of a thread's registers and of the top of its stack, by the
 * tables that compilers put into programs for exceptions (.eh_frame), read with elfutils' libdw.
 *
 * Tables are looked up in the files that processes have mapped, once per file and not per
 * process. Nothing is read from the processes. A stack ends where a table is missing, where it
 * says so, or where the copy does.
 */
#ifndef NL_UNWIND_H
#define NL_UNWIND_H

#include "capture/native/perfmaps.h"
#include "capture/native/perfrecord.h"

/* PERF_SAMPLE_REGS_USER's mask of the registers that are needed; 0: not
 * known for this processor. */
uint64_t unwind_registers(void);

struct unwind;

struct unwind *unwind_new(const struct perfmaps *maps); /* borrows them */
void unwind_free(struct unwind *unwind);

/* Addresses, innermost first, return addresses as they are. *cut: the stack goes on. */
size_t unwind_stack(struct unwind *unwind, const struct perfmaps_process *process,
                    const struct perf_record *record, uint64_t *addresses, size_t most, bool *cut);

#endif
