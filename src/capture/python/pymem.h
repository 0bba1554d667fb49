/*
 * pymem — the memory of another process, read while it runs and without
 * stopping it (process_vm_readv).
 *
 * What is read may be torn: the caller checks it. Small things are read through a cache of
 * 4 KiB lines that holds for one round, so that a call stack costs a few system calls
 * however many frames it has.
 */
#ifndef PYMEM_H
#define PYMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYMEM_LINE  4096u
#define PYMEM_LINES 64u /* a power of two */

struct pymem_line {
    uint64_t address, round;
    unsigned char bytes[PYMEM_LINE];
};

struct pymem {
    int64_t pid;
    int failure; /* errno of the last read that failed */
    uint64_t round, calls;
    struct pymem_line *lines;
};

/* One of many pieces: 1 when it could be read. */
struct pymem_piece {
    uint64_t address;
    void *to;
    size_t bytes;
    bool done;
};

void pymem_init(struct pymem *mem, int64_t pid);
void pymem_release(struct pymem *mem);

/* Straight from the process. */
bool pymem_read(struct pymem *mem, uint64_t address, void *to, size_t bytes);
/* Many pieces in few system calls. */
void pymem_read_all(struct pymem *mem, struct pymem_piece *pieces, size_t count);

/* Forgets the lines: what follows is read anew. */
void pymem_round(struct pymem *mem);
/* Reads lines that will likely be wanted in this round, in one system call. */
void pymem_expect(struct pymem *mem, const uint64_t *lines, size_t count);
/* Through the lines. At most PYMEM_LINE bytes. */
bool pymem_get(struct pymem *mem, uint64_t address, void *to, size_t bytes);

#endif
