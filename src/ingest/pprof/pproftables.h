/*
 * pproftables — what is read of a profile.proto before its samples are: pprof.c fills it,
 * pprofsamples.c turns samples into rows with it. Not for other files.
 */
#ifndef PPROFTABLES_H
#define PPROFTABLES_H

#include "base/mem.h"
#include "base/map.h"
#include "ingest/pprof/pprof.h"
#include "ingest/lib/stackcache.h"
#include "ingest/lib/wholefile.h"
#include "parse/wire.h"

#define PPROF_MAX_TYPES 64

struct pprof_function {
    uint32_t name, file; /* name ids */
};

struct pprof_location {
    uint64_t address;
    uint32_t module;        /* name id */
    uint32_t missing, deep; /* what is odd about its lines */
    struct wire whole;      /* its lines are read when it is first used */
};

/* The frames of a location: the only one, or where they begin in p->lines, outermost first. */
struct pprof_lines {
    uint32_t first;
    uint16_t count; /* 0: not read yet */
    bool odd;
};

struct pprof {
    struct cpuprofile profile;
    const struct whole_file *file;
    struct wire message; /* all of it */
    struct nl_str *strings;
    size_t string_count, string_cap;
    struct pprof_function *functions;
    size_t function_count, function_cap;
    struct pprof_location *locations;
    size_t location_count, location_cap;
    struct pprof_lines *lines_of; /* by location, apart from the rest since a walk needs no more */
    size_t lines_of_cap;
    uint32_t *lines; /* frames */
    size_t line_count, line_cap;
    uint32_t *modules;
    size_t module_count, module_cap;
    struct nl_idmap function_index, location_index, module_index;
    struct nl_idmap odd_below; /* (caller's node, location) of odd ones, which are counted once */
    struct stack_cache stacks;
    struct pprof_type types[PPROF_MAX_TYPES];
    unsigned type_count;
    const unsigned char *run, *run_end; /* the longest run of samples, which is most of the file */
    uint64_t *frames;                   /* location ids of the sample at hand */
    size_t frame_count, frame_cap;
    uint32_t *path; /* its frames, outermost first */
    size_t path_count, path_cap;
    uint64_t cut, damaged, labels, missing, comments, overflow, deep, extra, values;
};

static inline struct nl_str pprof_string(const struct pprof *p, uint64_t id)
{
    return id < p->string_count ? p->strings[id] : (struct nl_str){"", 0};
}

/* The next field, also of a file that was cut; damage is noted where `note`. */
static inline bool pprof_next(struct pprof *p, struct wire *wire, struct wire_field *field,
                              bool note)
{
    if (wire_next(wire, field))
        return true;
    bool damaged = wire->damaged;
    bool cut = damaged && wire_clip(wire, field);
    if (note && damaged)
        *(cut ? &p->cut : &p->damaged) += 1;
    return cut;
}

#endif
