/*
 * cubinlines — which line of which source file an instruction of a kernel came from: the line tables
 * (.debug_line, as `nvcc -lineinfo` makes them) of GPU programs, by function and place in its code.
 *
 *     struct cubinlines lines;
 *     cubinlines_init(&lines);
 *     cubinlines_add(&lines, id, bytes, len);                 // an ELF file; its number
 *     if (cubinlines_find(&lines, id, function, offset, &file, &line)) ...
 *     cubinlines_release(&lines);
 *
 * Files are named without their folders. Bytes are not trusted: what makes no sense ends the reading
 * of that table, and `damaged` counts it. At most CUBINLINES_MOST rows are kept in all.
 */
#ifndef CUBINLINES_H
#define CUBINLINES_H

#include "base/mem.h"
#include "base/str.h"
#include "ingest/gpurows.h"

#define CUBINLINES_MOST ((size_t)1 << 22)

struct cubinlines_row {
    uint64_t offset;
    uint32_t file, line; /* file: number in `files`; line 0: end of the function */
};

struct cubinlines {
    struct nl_arena texts;
    struct cubinlines_row *rows;
    size_t row_count, row_cap;
    struct cubinlines_function {
        size_t first, count;
    } * functions;
    size_t function_count, function_cap;
    struct gpurows_map known; /* hash of (id, name) → number of the function */
    struct nl_str *files;
    size_t file_count, file_cap;
    uint64_t damaged, full;
};

void cubinlines_init(struct cubinlines *lines);
void cubinlines_release(struct cubinlines *lines);
void cubinlines_add(struct cubinlines *lines, uint64_t id, const void *bytes, size_t len);

/* False when the table does not tell. *file borrows. */
bool cubinlines_find(const struct cubinlines *lines, uint64_t id, struct nl_str function,
                     uint64_t offset, struct nl_str *file, uint32_t *line);

#endif
