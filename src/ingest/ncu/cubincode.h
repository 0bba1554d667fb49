/*
 * cubincode — what an instruction of a GPU program is, by function and place in its code: the
 * operation of the machine code (SASS), and the statement of the PTX that it was compiled from,
 * where the program holds its PTX (-lineinfo, -G, or compiled at run time).
 *
 *     struct cubincode code;
 *     cubincode_init(&code);
 *     cubincode_add(&code, id, bytes, len);                    // an ELF file; its number
 *     function = cubincode_find(&code, id, name);
 *     cubincode_opcode(&code, function, offset);               // "LDG", NULL when not known
 *     cubincode_ptx(&code, function, offset, &near);           // "ld.global.u32 …"; length 0 without
 *     cubincode_release(&code);
 *
 * A report holds no text of the machine code: Nsight Compute disassembles the program when it shows
 * it. Of instructions of 16 bytes (compute capability 7 and later) the lowest nine bits are the
 * operation; cubinopcodes.def names those that were seen.
 */
#ifndef CUBINCODE_H
#define CUBINCODE_H

#include "ingest/ncu/cubinlines.h"

#define CUBINCODE_STEP 16                /* bytes of an instruction */
#define MAX_CUBINCODE  ((size_t)1 << 24) /* instructions that are kept in all */

struct cubincode {
    struct nl_arena texts;
    struct cubinlines ptx; /* lines of the PTX */
    struct cubincode_function {
        size_t first, count; /* of `operations` */
        uint32_t text;       /* its program's PTX, in `programs`; UINT32_MAX = none */
        uint64_t program;
        struct nl_str name;
    } * functions;
    size_t function_count, function_cap;
    uint16_t *operations;
    size_t operation_count, operation_cap;
    struct cubincode_text {
        struct nl_str *lines;
        size_t count, cap;
    } * programs;
    size_t program_count, program_cap;
    struct gpurows_map known; /* hash of (id, name) → number of the function */
};

void cubincode_init(struct cubincode *code);
void cubincode_release(struct cubincode *code);
void cubincode_add(struct cubincode *code, uint64_t id, const void *bytes, size_t len);

/* The code of a function of a program, NULL when no program has it. */
const struct cubincode_function *cubincode_find(const struct cubincode *code, uint64_t id,
                                                struct nl_str function);
const char *cubincode_opcode(const struct cubincode *code,
                             const struct cubincode_function *function, uint64_t offset);
/* Borrowed until the release. *near: as of cubinlines_at. */
struct nl_str cubincode_ptx(const struct cubincode *code, const struct cubincode_function *function,
                            uint64_t offset, size_t *near);

#endif
