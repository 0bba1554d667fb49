/*
 * cubinlines — which line of which source file an instruction of a kernel came from:
 * the line tables (.debug_line, as `nvcc -lineinfo` makes them) of GPU programs, by
 * function and place in its code.
 *
 *     struct cubinlines lines;
 *     cubinlines_init(&lines);
 *     cubinlines_add(&lines, id, bytes, len);                 // an ELF file; its number
 *     function = cubinlines_find(&lines, id, name);
 *     row = cubinlines_at(&lines, function, offset, &near);   // lines.files[row->file], row->line
 *     cubinlines_release(&lines);
 *
 * Files are named without their folders. Bytes are not trusted: what makes no sense ends the
 * reading of that table, and `damaged` counts it. At most MAX_CUBINLINES rows are kept in all.
 */
#ifndef CUBINLINES_H
#define CUBINLINES_H

#include "base/mem.h"
#include "base/str.h"
#include "ingest/lib/gpurows.h"

#define MAX_CUBINLINES ((size_t)1 << 22)

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
    /* lines are of one text that no file name is known of: `file` of rows means nothing */
    bool unfiled;
};

void cubinlines_init(struct cubinlines *lines);
void cubinlines_release(struct cubinlines *lines);
void cubinlines_add(struct cubinlines *lines, uint64_t id, const void *bytes, size_t len);
/* The same of another table of that form, such as ".nv_debug_line_sass": lines of the PTX. */
void cubinlines_add_table(struct cubinlines *lines, uint64_t id, const void *bytes, size_t len,
                          const char *section);

/* Calls show for every section of an ELF file; texts are borrowed from `bytes`. */
void cubinlines_sections(const void *bytes, size_t len,
                         void (*show)(void *context, struct nl_str name, struct nl_str content),
                         void *context);

/* The lines of a function of a program, NULL when no table has them. */
const struct cubinlines_function *cubinlines_find(const struct cubinlines *lines, uint64_t id,
                                                  struct nl_str function);
/* The row that an instruction belongs to, NULL if the table does not say. *near is where the last
 * one was found, as neighbours are asked for one after the other; 0 at first. */
const struct cubinlines_row *cubinlines_at(const struct cubinlines *lines,
                                           const struct cubinlines_function *function,
                                           uint64_t offset, size_t *near);

#endif
