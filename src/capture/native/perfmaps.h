/*
 * perfmaps — which code is where in which process, as the kernel reported it record by record:
 * mappings of files, forks, new programs, ends. Records must come in order of time.
 *
 * A mapping that was removed (dlclose, munmap) is not reported; it stays until something else is
 * mapped there, and no code runs in it meanwhile.
 */
#ifndef NL_PERFMAPS_H
#define NL_PERFMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERFMAPS_ID_TEXT 48u /* "" not known */

/* A file that code comes from. */
struct perfmaps_module {
    char *path;
    char id
        /* build id in hex, or "~bytes-mtime" of a file without one; "" not known */
        [PERFMAPS_ID_TEXT];
    bool is_file; /* else memory that a program wrote code to, or the kernel's */
};

struct perfmaps_mapping {
    uint64_t start, end; /* addresses */
    uint64_t file_offset;
    uint32_t module;
};

struct perfmaps_process {
    int64_t pid;
    struct perfmaps_mapping *mapping; /* ascending, apart */
    size_t count, cap;
    char program[16]; /* as the kernel names it */
    uint64_t changes; /* of the mappings */
    void *owner;      /* the caller's: nothing here looks at it. Not copied by forks */
};

struct perfmaps;

struct perfmaps *perfmaps_new(void);
void perfmaps_free(struct perfmaps *maps); /* owners must be gone by then */

/* The process, made when it is new; NULL over 1,048,576 of them. Valid until
 * the next of these calls. */
struct perfmaps_process *perfmaps_process(struct perfmaps *maps, int64_t pid);
struct perfmaps_process *perfmaps_find(const struct perfmaps *maps, int64_t pid); /* or NULL */
/* All there are, for walks; perfmaps_end puts the last one in the place of the one that ended. */
struct perfmaps_process *perfmaps_first(struct perfmaps *maps, size_t *count);

/* Number of a module; the same path and id have the same. */
uint32_t perfmaps_module(struct perfmaps *maps, const char *path, const unsigned char *id,
                         size_t id_len);
const struct perfmaps_module *perfmaps_module_at(const struct perfmaps *maps, uint32_t module);

void perfmaps_map(struct perfmaps *maps, struct perfmaps_process *process,
                  const struct perfmaps_mapping *mapping);
/* What is mapped now, from /proc; where records of it were lost. */
void perfmaps_look(struct perfmaps *maps, struct perfmaps_process *process);
void perfmaps_fork(struct perfmaps *maps, int64_t pid, int64_t parent);
void perfmaps_clear(struct perfmaps_process *process);
void perfmaps_end(struct perfmaps *maps, int64_t pid);

/* The mapping that contains an address, or NULL. */
const struct perfmaps_mapping *perfmaps_at(const struct perfmaps_process *process,
                                           uint64_t address);

#endif
