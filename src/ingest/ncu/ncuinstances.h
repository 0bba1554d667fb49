/*
 * ncuinstances — values per instance of the metrics of one kernel, on their way to the store. Most
 * are numbers of numbers (samples of an instruction), and a kernel's metrics list the same
 * instructions again and again: the list is kept once. Texts are kept as rows.
 *
 *     for each metric: for each value: ncu_instances_number(&in, 0x7fd0, 17) or ncu_instances_row(&in, &row);
 *                      ncu_instances_end(&in, metric) or ncu_instances_drop(&in);
 *     at the kernel's end: ncu_instances_stage(&in, stage, slice, &code);   // in that order; then none are left
 *     ncu_instances_release(&in);
 */
#ifndef NCUINSTANCES_H
#define NCUINSTANCES_H

#include "base/mem.h"
#include "ingest/ncu/cubincode.h"
#include "ingest/ncu/cubinlines.h"
#include "store/builder.h"

/* Addresses of the kernel's code, and its source lines. */
struct ncu_code {
    int64_t first; /* of its first instruction, NL_NULL_I64 unknown */
    const struct cubinlines *lines;
    const struct cubinlines_function *function; /* or NULL */
    const struct cubincode *programs;
    const struct cubincode_function *body; /* or NULL */
};

struct ncu_instances {
    int64_t *numbers; /* of all keys; and last of the values in work */
    double *values;
    struct nl_instance_row *rows;
    struct ncu_keys {
        size_t first; /* in `numbers` */
        uint32_t count;
        struct nl_staged_keys *staged;
    } * keys;
    struct ncu_group {
        size_t first, count;   /* in `values`, or of `rows` */
        uint32_t metric, keys; /* keys: NCU_ROWS for rows */
    } * groups;
    struct ncu_instances_counts {
        size_t numbers, values, rows, keys, groups;
    } has, before; /* `before`: before the metric in work */
    size_t number_cap, value_cap, row_cap, key_cap, group_cap;
    uint32_t open;   /* values in work, the last ones in `numbers` and `values` */
    uint32_t *files; /* names of source files, by their number in cubinlines; 0 = not asked yet */
    size_t file_cap;
    struct ncu_places *places; /* room for those of a run */
};
#define NCU_ROWS UINT32_MAX

/* The values in work become a separate group. */
void ncu_instances_close(struct ncu_instances *in);

static inline void ncu_instances_number(struct ncu_instances *in, int64_t number, double value)
{
    nl_grow(&in->numbers, &in->number_cap, in->has.numbers + 1);
    nl_grow(&in->values, &in->value_cap, in->has.values + 1);
    in->numbers[in->has.numbers++] = number;
    in->values[in->has.values++] = value;
    if (++in->open == NL_MAX_KEYS)
        ncu_instances_close(in);
}

/* Its `metric` and `slice` are set later. */
void ncu_instances_row(struct ncu_instances *in, const struct nl_instance_row *row);
void ncu_instances_end(struct ncu_instances *in, uint32_t metric);
void ncu_instances_drop(struct ncu_instances *in);
void ncu_instances_stage(struct ncu_instances *in, struct nl_stage *stage, uint32_t slice,
                         const struct ncu_code *code);
void ncu_instances_release(struct ncu_instances *in);

#endif
