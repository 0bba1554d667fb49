/* roofline — see roofline.h. Calls are grouped by hashing; each counts in three groups. */
#include "work/roofline.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/sum.h"

/* Kernels that miss the roof are bound by latency when their mean is short, or their work
 * would take no longer at the roof than what a kernel takes without any: its start, its
 * end and one trip to memory. */
#define SHORT_NS 5000
#define LITTLE_S 1e-6

#define RECENT 512 /* a power of two */

struct table {
    struct nl_roofs *roofs;
    const struct nl_op_works *works;
    const struct nl_device_peaks *peaks;
    const struct nl_work_places *places;
    struct nl_lookup by_key; /* of roofs */
    uint32_t recent
        [RECENT]; /* roof + 1 that was met last, by a part of its key: mostly it is met again */
};

const char *nl_bound_text(enum nl_bound bound)
{
    static const char *const texts[NL_BOUNDS] = {NULL, "compute", "memory", "latency",
                                                 "communication"};
    return texts[bound];
}

const char *nl_roof_kind_text(enum nl_roof_kind kind)
{
    static const char *const texts[NL_ROOF_KINDS] = {"operator", "family", "layer", "step",
                                                     "device"};
    return texts[kind];
}

static uint64_t mix(const struct nl_roof *roof)
{
    const uint64_t parts[] = {
        (uint64_t)roof->kind, roof->device, (uint64_t)roof->rank, (uint64_t)roof->name, roof->type,
        roof->family,         roof->step};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        hash = nl_hash_pair(hash, parts[i]);
    return hash;
}

static bool same(const struct nl_roof *a, const struct nl_roof *b)
{
    return a->kind == b->kind && a->device == b->device && a->rank == b->rank &&
           a->name == b->name && a->type == b->type && a->family == b->family && a->step == b->step;
}

static struct nl_roof *group(struct table *table, const struct nl_roof *key)
{
    struct nl_roofs *roofs = table->roofs;
    uint32_t *recent = &table->recent[(key->name * 5 + key->kind + key->family * 11u + key->step +
                                       key->type * 37u) %
                                      RECENT];
    if (*recent && same(&roofs->items[*recent - 1], key))
        return &roofs->items[*recent - 1];
    uint64_t hash = mix(key);
    uint32_t row = NL_LOOKUP(&table->by_key, hash, i, same(&roofs->items[i], key));
    if (row == NL_NO_ROW) {
        nl_grow(&roofs->items, &roofs->cap, roofs->count + 1);
        roofs->items[roofs->count] = *key;
        roofs->items[roofs->count].flops = roofs->items[roofs->count].bytes = NL_NULL_F64;
        if (key->kind != NL_ROOF_OPERATOR) /* of several types */
            roofs->items[roofs->count].peak_flops = NL_NULL_F64;
        nl_lookup_add(&table->by_key, hash, row = (uint32_t)roofs->count++);
    }
    *recent = row + 1;
    return &roofs->items[row];
}

static void add_known(double *sum, double value)
{
    if (value == value)
        *sum = *sum == *sum ? *sum + value : value;
}

struct nl_least_time nl_least_time(const struct nl_op_work *work,
                                   const struct nl_device_peaks *peaks)
{
    double peak = peaks ? nl_peak_flops(peaks, (enum work_type)work->type, work->matrix) : NAN;
    double memory = peaks ? peaks->figures[GPU_MEMORY] : NAN;
    struct nl_least_time least = {work->flops_needed / peak, work->bytes / memory, NAN};
    /* Without memory's roof nothing says that arithmetic is the nearer one. */
    if (isnan(memory) || (work->matrix && isnan(least.compute)))
        return least;
    if (isnan(least.compute))
        least.both = least.memory;
    else
        least.both = least.memory > least.compute ? least.memory : least.compute;
    return least;
}

/* Seconds: at the roof, and by the maker's figure, which MFU and HFU count (of products alone, else
 * NaN), with what of that the backward pass of attention computes again. */
struct call_cost {
    struct nl_least_time least;
    double nominal, again;
};

static struct call_cost cost_of(const struct nl_op_work *work, const struct nl_device_peaks *peaks,
                                const struct nl_trace *trace)
{
    struct call_cost cost = {nl_least_time(work, peaks), NAN, 0};
    if (!work->matrix || !peaks)
        return cost;
    cost.nominal = work->flops_needed / nl_nominal_flops(peaks, (enum work_type)work->type, true);
    double again = cost.nominal * nl_op_work_again(trace, work) / work->flops_needed;
    cost.again = again == again ? again : 0;
    return cost;
}

const struct nl_device_peaks *nl_peaks_of(const struct nl_op_works *works,
                                          const struct nl_op_work *work,
                                          const struct nl_device_peaks *peaks)
{
    uint32_t device = work->device;
    if (device != NL_NULL_ROW && (peaks[device].known || !works->on_host))
        return &peaks[device];
    return works->on_host ? nl_host_peaks(peaks, works->trace) : NULL;
}

static void add_call(struct nl_roof *roof, const struct nl_op_work *work, struct call_cost cost,
                     double target)
{
    int64_t ns = nl_op_work_ns(work);
    roof->calls += work->slice == NL_NULL_ROW ? work->kernels : 1;
    roof->kernels += work->kernels;
    nl_sum_add(&roof->ns, ns);
    add_known(&roof->flops, work->flops_needed);
    add_known(&roof->bytes, work->bytes);
    if (work->flops_needed == work->flops_needed)
        nl_sum_add(&roof->flops_ns, ns);
    if (work->bytes == work->bytes)
        nl_sum_add(&roof->bytes_ns, ns);
    if (cost.nominal == cost.nominal) {
        roof->peak_s += cost.nominal;
        roof->again_s += cost.again;
    }
    if (isnan(cost.least.both))
        return;
    nl_sum_add(&roof->judged_ns, ns);
    roof->compute_s += isnan(cost.least.compute) ? 0 : cost.least.compute;
    roof->memory_s += isnan(cost.least.memory) ? 0 : cost.least.memory;
    roof->least_s += cost.least.both;
    double spare = (double)ns - cost.least.both / target * 1e9;
    if (spare > 0)
        nl_sum_add(&roof->headroom_ns, nl_sum_near(spare));
}

/* The families of one device, of what has no model and of communication. */
static struct nl_roof family_of(struct nl_roof key)
{
    key.kind = NL_ROOF_FAMILY;
    key.name = 0;
    key.type = 0;
    key.text = key.bound == NL_BOUND_COMMUNICATION ? "communication"
                                                   : work_family_name((enum work_family)key.family);
    if (!key.text)
        key.text = "no model";
    if (key.bound == NL_BOUND_COMMUNICATION)
        key.family = WORK_FAMILIES;
    return key;
}

static void add_work(struct table *table, size_t index, double target)
{
    const struct nl_op_work *work = &table->works->items[index];
    const struct nl_trace *trace = table->works->trace;
    uint32_t device = work->device;
    const struct nl_device_peaks *own = nl_peaks_of(table->works, work, table->peaks);
    struct call_cost cost = cost_of(work, own, trace);
    struct nl_roof key = {.kind = NL_ROOF_OPERATOR,
                          .device = device,
                          .rank = work->rank,
                          .name = work->name,
                          .type = work->type,
                          .family = work->family,
                          .matrix = work->matrix,
                          .peak_flops = NL_NULL_F64,
                          .peak_bytes = own ? own->figures[GPU_MEMORY] : NL_NULL_F64};
    if (own)
        key.peak_flops = nl_peak_flops(own, (enum work_type)work->type, work->matrix);
    if (work->comm_ns > 0 && work->comm_ns > work->kernel_ns / 2)
        key.bound = NL_BOUND_COMMUNICATION;
    add_call(group(table, &key), work, cost, target);
    key = family_of(key);
    add_call(group(table, &key), work, cost, target);
    key = (struct nl_roof){.kind = NL_ROOF_DEVICE,
                           .device = device,
                           .rank = key.rank,
                           .peak_bytes = key.peak_bytes,
                           .text = own ? own->product : NULL};
    add_call(group(table, &key), work, cost, target);
    key.text = NULL;
    if (table->places && table->places->layers[index]) {
        key.kind = NL_ROOF_LAYER;
        key.name = table->places->layers[index];
        add_call(group(table, &key), work, cost, target);
    }
    if (table->places && table->places->steps[index]) {
        key.kind = NL_ROOF_STEP;
        key.name = 0;
        key.step = table->places->steps[index] - 1;
        add_call(group(table, &key), work, cost, target);
    }
}

static void decide_bound(struct nl_roof *roof)
{
    roof->attainable = NL_NULL_F64;
    if (!roof->judged_ns) {
        roof->headroom_ns = NL_NULL_I64;
        return;
    }
    double share = nl_roof_share(roof);
    if (roof->bound == NL_BOUND_UNKNOWN)
        roof->bound = roof->compute_s >= roof->memory_s ? NL_BOUND_COMPUTE : NL_BOUND_MEMORY;
    bool little = roof->kernels && (roof->ns / (int64_t)roof->kernels < SHORT_NS ||
                                    roof->least_s < LITTLE_S * (double)roof->kernels);
    if (roof->kind == NL_ROOF_OPERATOR && share < 0.5 && little)
        roof->bound = NL_BOUND_LATENCY;
    bool too_fast = share > NL_ROOF_BROKEN;
    roof->over = too_fast && roof->compute_s >= roof->memory_s;
    roof->cached = too_fast && !roof->over;
    if (roof->least_s > 0 && roof->flops == roof->flops)
        roof->attainable = roof->flops / roof->least_s;
}

static int compare_steps(const struct nl_roof *x, const struct nl_roof *y)
{
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

static int compare_roofs(const void *a, const void *b)
{
    const struct nl_roof *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->kind == NL_ROOF_STEP)
        return compare_steps(x, y);
    if (x->headroom_ns != y->headroom_ns)
        return x->headroom_ns > y->headroom_ns ? -1 : 1;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->family < y->family ? -1 : x->family > y->family;
}

void nl_roofs_init(struct nl_roofs *roofs, const struct nl_op_works *works,
                   const struct nl_device_peaks *peaks, const struct nl_work_places *places,
                   double target)
{
    *roofs = (struct nl_roofs){0};
    struct table table = {.roofs = roofs, .works = works, .peaks = peaks, .places = places};
    for (size_t i = 0; i < works->count; i++)
        if (nl_op_work_ns(&works->items[i]) != NL_NULL_I64)
            add_work(&table, i, target);
    for (size_t i = 0; i < roofs->count; i++)
        decide_bound(&roofs->items[i]);
    if (roofs->count)
        qsort(roofs->items, roofs->count, sizeof *roofs->items, compare_roofs);
    if (roofs->count)
        nl_device_order_init(&roofs->order, &roofs->items->device, sizeof *roofs->items,
                             roofs->count);
    nl_lookup_release(&table.by_key);
}

void nl_roofs_release(struct nl_roofs *roofs)
{
    nl_free(roofs->items);
    nl_device_order_release(&roofs->order);
    *roofs = (struct nl_roofs){0};
}

static double over(double part, int64_t ns)
{
    return ns > 0 ? part / ((double)ns / 1e9) : NL_NULL_F64;
}

double nl_roof_share(const struct nl_roof *roof)
{
    return over(roof->judged_ns ? roof->least_s : NL_NULL_F64, roof->judged_ns);
}

double nl_roof_flops_per_s(const struct nl_roof *roof)
{
    return over(roof->flops, roof->flops_ns);
}

double nl_roof_bytes_per_s(const struct nl_roof *roof)
{
    return over(roof->bytes, roof->bytes_ns);
}

double nl_roof_intensity(const struct nl_roof *roof)
{
    return roof->bytes > 0 ? roof->flops / roof->bytes : NL_NULL_F64;
}
