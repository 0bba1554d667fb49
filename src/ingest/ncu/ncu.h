/*
 * ncu — what the readers of Nsight Compute's files share: a kernel with its metrics on the way to
 * the store.
 *
 *     ncu_begin(&load, builder, source, job);
 *     for each kernel:
 *         struct ncu_name name = ncu_name(&load, text);        // may be kept for the whole load
 *         ncu_metric(&load, name, unit, section, &value);      // in any order
 *         ncu_kernel(&load, &kernel);                          // stages it with those metrics
 *     ncu_end(&load);                                          // coverage, release
 *
 * A report says how long a kernel took, but not when it ran (each is replayed alone): kernels are
 * laid end to end in their order, and coverage says so. Metrics that columns of the tables kernels
 * and devices hold too (registers, shared memory, occupancy, device attributes) are put there as
 * well. Units are the base ones of ncu_unit. A load is used by one thread.
 */
#ifndef NL_NCU_H
#define NL_NCU_H

#include "base/stream.h"
#include "ingest/ncu/cubincode.h"
#include "ingest/ncu/cubinlines.h"
#include "ingest/ingest.h"
#include "ingest/ncu/ncuinstances.h"

struct ncu_name {
    uint32_t id;   /* of the stage */
    uint32_t fact; /* which column it fills, 0 = none (ncukernel.c) */
};

struct ncu_value {
    enum { NCU_NO_DATA, NCU_NUMBER, NCU_TEXT } kind;
    double number;      /* in the base unit */
    int64_t whole;      /* the same as an integer, where it is one (rounded for times) */
    struct nl_str text; /* also next to a number that a double cannot hold */
};

struct ncu_kernel {
    struct nl_str name, short_name, process_name;
    int64_t pid, device, context, stream; /* NL_NULL_I64 unknown */
    uint32_t grid[3], block[3];           /* NL_NULL_U32 unknown */
    const struct cubincode *programs;     /* NULL, or the machine code, likewise */
    const struct cubinlines *lines;       /* NULL, or source lines, where `code` and `mangled` */
    uint64_t code;                        /* name the program and the function */
    struct nl_str mangled;
};

struct ncu_load {
    struct nl_builder *builder;
    struct nl_stage *stage;
    struct nl_job *job;
    uint32_t source;
    int64_t next_ts;
    struct nl_metric_row *pending;
    size_t count, cap;
    struct ncu_instances instances; /* likewise */
    int64_t dur, device_index;      /* of the kernel in work */
    int64_t code;                   /* address of its first instruction, NL_NULL_I64 unknown */
    struct nl_kernel_row facts;
    struct nl_device_row device;
    int64_t kernels, without_duration, without_value;
};

void ncu_begin(struct ncu_load *load, struct nl_builder *builder, uint32_t source,
               struct nl_job *job);
struct ncu_name ncu_name(struct ncu_load *load, struct nl_str text);
void ncu_metric(struct ncu_load *load, struct ncu_name name, uint32_t unit, uint32_t section,
                const struct ncu_value *value);
/* One of the values that a metric has in addition to its total: of an opcode, an instruction, …;
 * after the last one, which metric that was. */
void ncu_instance(struct ncu_load *load, const struct ncu_value *key,
                  const struct ncu_value *value);
void ncu_instances_done(struct ncu_load *load, struct ncu_name name);
void ncu_kernel(struct ncu_load *load, const struct ncu_kernel *kernel);
void ncu_end(struct ncu_load *load);

/* Attributes of a device given outside kernels, and their end. */
void ncu_device_attribute(struct ncu_load *load, struct nl_str name, const struct ncu_value *value);
void ncu_device_done(struct ncu_load *load, int64_t ordinal);

/*
 * A unit as a CSV page spells it → the base unit and the power of ten that gets
 * there: "Kbyte/block" → "bytes/block", 3; "cycle/nsecond" and "Ghz" → "Hz", 9; "us"
 * → "ns", 3. Unknown words stay.
 */
struct ncu_unit {
    char text[48];
    int exponent;
};
struct ncu_unit ncu_unit(struct nl_str spelled);

/* The same of a metric: where its name says that it is a percentage and the page names a size
 * alone, Nsight Compute means percent per that size ("Kbyte" → "%/Kbyte", 0). */
bool ncu_is_percent(struct nl_str metric);
struct ncu_unit ncu_unit_in(struct nl_str spelled, bool percent);

/* The base unit of a metric by its name, as reports keep none: "" if the name does not say. */
const char *ncu_unit_of(struct nl_str metric);

/* (x, y, z) of a launch: "(8, 1, 1)". False when it is none. */
bool ncu_triple(struct nl_str text, uint32_t out[3]);

#endif
