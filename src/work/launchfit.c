/* launchfit — see launchfit.h. */
#include "work/launchfit.h"

#define WARP           32
#define PARTS          4     /* of a multiprocessor; a warp stays in one */
#define REGISTERS      16384 /* of a part */
#define REGISTER_GRAIN 256   /* of a warp */
#define SHARED_GRAIN   128
#define SHARED_OWN     1024 /* of a block, from capability 8.0 on */

struct limits {
    uint32_t major, minor, warps, blocks, shared_kib;
};

/* "Technical Specifications per Compute Capability" */
static const struct limits table[] = {
    {7, 0, 64, 32, 96},   {7, 2, 64, 32, 96},   {7, 5, 32, 16, 64},   {8, 0, 64, 32, 164},
    {8, 6, 48, 16, 100},  {8, 7, 48, 16, 164},  {8, 9, 48, 24, 100},  {9, 0, 64, 32, 228},
    {10, 0, 64, 32, 228}, {10, 3, 64, 32, 228}, {12, 0, 48, 24, 100}, {12, 1, 48, 24, 100},
};

static const struct limits *limits_of(const struct nl_trace *trace, uint32_t device)
{
    uint32_t major = trace->device.compute_major[device],
             minor = trace->device.compute_minor[device];
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].major == major && table[i].minor == minor)
            return &table[i];
    return NULL;
}

const char *nl_launch_limit_text(enum nl_launch_limit limit)
{
    static const char *const texts[NL_LAUNCH_LIMITS] = {"threads", "registers", "shared memory",
                                                        "the number of blocks"};
    return texts[limit];
}

static uint64_t up(uint64_t value, uint64_t grain)
{
    return (value + grain - 1) / grain * grain;
}

/* 0: not known, or more than there can be. */
static uint64_t product(uint32_t x, uint32_t y, uint32_t z)
{
    uint64_t all = 0;
    if (x == NL_NULL_U32 || y == NL_NULL_U32 || z == NL_NULL_U32 ||
        __builtin_mul_overflow((uint64_t)x * (y ? y : 1), (uint64_t)(z ? z : 1), &all))
        return 0;
    return all;
}

/* Bytes of shared memory of a block; those that are not recorded count as none. */
static uint64_t shared_of(const struct nl_kernel_table *kernel, uint32_t row, uint32_t major)
{
    uint64_t fixed = kernel->static_shared_bytes[row], given = kernel->dynamic_shared_bytes[row];
    uint64_t sum = (fixed == NL_NULL_U32 ? 0 : fixed) + (given == NL_NULL_U32 ? 0 : given);
    return up(sum + (major >= 8 ? SHARED_OWN : 0), SHARED_GRAIN);
}

static void lower(struct nl_launch_fit *fit, uint64_t blocks, enum nl_launch_limit limit)
{
    if (blocks >= fit->blocks)
        return;
    fit->blocks = (uint32_t)blocks;
    fit->limit = limit;
}

bool nl_launch_fit(const struct nl_trace *trace, uint32_t device, uint32_t kernel,
                   struct nl_launch_fit *fit)
{
    const struct nl_kernel_table *table_of = &trace->kernel;
    const struct limits *limits = device == NL_NULL_ROW ? NULL : limits_of(trace, device);
    uint32_t registers = table_of->registers[kernel];
    uint32_t sms = limits ? trace->device.sm_count[device] : NL_NULL_U32;
    uint64_t threads =
        product(table_of->block_x[kernel], table_of->block_y[kernel], table_of->block_z[kernel]);
    uint64_t grid =
        product(table_of->grid_x[kernel], table_of->grid_y[kernel], table_of->grid_z[kernel]);
    if (!limits || sms == NL_NULL_U32 || !sms || !threads || threads > 1024 || !grid ||
        registers == NL_NULL_U32 || !registers || registers > 255)
        return false;
    uint64_t warps = up(threads, WARP) / WARP;
    uint64_t shared = shared_of(table_of, kernel, limits->major);
    *fit = (struct nl_launch_fit){.blocks = limits->blocks, .limit = NL_LIMIT_BLOCKS};
    lower(fit, limits->warps / warps, NL_LIMIT_THREADS);
    lower(fit, REGISTERS / up((uint64_t)registers * WARP, REGISTER_GRAIN) * PARTS / warps,
          NL_LIMIT_REGISTERS);
    lower(fit, shared ? (uint64_t)limits->shared_kib * 1024 / shared : UINT32_MAX, NL_LIMIT_SHARED);
    if (!fit->blocks)
        return false;
    fit->occupancy = (double)(fit->blocks * warps) / limits->warps;
    fit->waves = (double)grid / ((double)fit->blocks * sms);
    return true;
}
