/*
 * launchfit: blocks that fit on a multiprocessor. Rows marked Kineto are launches of real
 * traces whose grid fills the device many times, with the occupancy that Kineto worked out for
 * them by CUDA's own calculator (cuda_occupancy.h); the others follow from the figures of the
 * CUDA C++ Programming Guide.
 */
#include "check.h"
#include "work/launchfit.h"

static const struct {
    uint32_t major, minor, threads, registers, shared, percent;
    const char *limit; /* NULL: not looked at */
} rows[] = {
    /* Kineto: A100 */
    {8, 0, 128, 28, 0, 100, NULL},
    {8, 0, 512, 32, 16, 100, NULL},
    {8, 0, 128, 122, 12800, 25, "registers"},
    {8, 0, 128, 40, 0, 75, "registers"},
    {8, 0, 256, 38, 0, 75, "registers"},
    {8, 0, 256, 32, 4224, 100, NULL},
    {8, 0, 32, 128, 5376, 25, "registers"},
    {8, 0, 64, 19, 0, 100, NULL},
    {8, 0, 128, 48, 16, 63, "registers"},
    /* Kineto: V100 */
    {7, 0, 128, 36, 0, 75, "registers"},
    {7, 0, 256, 57, 16384, 50, "registers"},
    {7, 0, 128, 160, 16384, 19, "registers"},
    {7, 0, 64, 126, 8448, 25, "registers"},
    {7, 0, 256, 32, 4224, 100, NULL},
    /* Kineto: H100 */
    {9, 0, 128, 22, 0, 100, NULL},
    /* By hand: 228 KiB hold two blocks of 100 + 1 KiB; four warps each of 64 */
    {9, 0, 128, 32, 100 * 1024, 13, "shared memory"},
    {9, 0, 32, 16, 0, 50, "threads or blocks"}, /* 32 blocks of a warp */
    {8, 9, 1024, 16, 0, 67, "threads"},         /* one block of 32 warps, of 48 */
};

struct launch {
    struct nl_trace trace;
    uint32_t major, minor, sms, grid[3], block[3], registers, fixed, dynamic;
};

static void point(struct launch *launch)
{
    struct nl_device_table *device = &launch->trace.device;
    struct nl_kernel_table *kernel = &launch->trace.kernel;
    device->compute_major = &launch->major;
    device->compute_minor = &launch->minor;
    device->sm_count = &launch->sms;
    kernel->grid_x = &launch->grid[0];
    kernel->grid_y = &launch->grid[1];
    kernel->grid_z = &launch->grid[2];
    kernel->block_x = &launch->block[0];
    kernel->block_y = &launch->block[1];
    kernel->block_z = &launch->block[2];
    kernel->registers = &launch->registers;
    kernel->static_shared_bytes = &launch->fixed;
    kernel->dynamic_shared_bytes = &launch->dynamic;
    launch->trace.device.rows = launch->trace.kernel.rows = 1;
}

static struct launch launch_of(size_t row)
{
    return (struct launch){.major = rows[row].major,
                           .minor = rows[row].minor,
                           .sms = 108,
                           .grid = {216, 1, 1},
                           .block = {rows[row].threads, 1, 1},
                           .registers = rows[row].registers,
                           .fixed = rows[row].shared,
                           .dynamic = NL_NULL_U32};
}

static void occupancy_is_that_of_cuda(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        struct launch launch = launch_of(i);
        struct nl_launch_fit fit;
        point(&launch);
        char label[64];
        snprintf(label, sizeof label, "%u.%u %u threads, %u registers", rows[i].major,
                 rows[i].minor, rows[i].threads, rows[i].registers);
        check_case(label);
        CHECK(nl_launch_fit(&launch.trace, 0, 0, &fit));
        CHECK_INT((int)(fit.occupancy * 100 + 0.5), (int)rows[i].percent);
        if (rows[i].limit && !strstr(rows[i].limit, " or "))
            CHECK(!strcmp(nl_launch_limit_text(fit.limit), rows[i].limit));
        CHECK(fit.waves > 0 && fit.waves * fit.blocks - 2.0 < 1e-9 &&
              2.0 - fit.waves * fit.blocks < 1e-9);
    }
}

static void what_is_not_known_has_no_fit(void)
{
    struct nl_launch_fit fit;
    for (int what = 0; what < 7; what++) {
        struct launch launch = launch_of(0);
        point(&launch);
        launch.registers = what == 0 ? NL_NULL_U32 : launch.registers;
        launch.sms = what == 1 ? NL_NULL_U32 : launch.sms;
        launch.major = what == 2 ? 77 : launch.major;
        launch.grid[1] = what == 3 ? NL_NULL_U32 : launch.grid[1];
        launch.block[0] = what == 4 ? 4096 : launch.block[0];
        launch.fixed = what == 5 ? UINT32_MAX - 1 : launch.fixed;
        launch.grid[0] = what == 6 ? 0 : launch.grid[0];
        CHECK(!nl_launch_fit(&launch.trace, 0, 0, &fit));
    }
    struct launch launch = launch_of(0);
    point(&launch);
    launch.grid[0] = launch.grid[1] = launch.grid[2] = UINT32_MAX - 1;
    CHECK(!nl_launch_fit(&launch.trace, 0, 0, &fit)); /* more than can be counted */
    CHECK(!nl_launch_fit(&launch.trace, NL_NULL_ROW, 0, &fit));
}

CHECK_MAIN("launchfit", {"occupancy is that of CUDA's calculator", occupancy_is_that_of_cuda},
           {"what is not known has no fit", what_is_not_known_has_no_fit})
