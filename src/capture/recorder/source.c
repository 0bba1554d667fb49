/* The sources, and those of them that need no code in the recorder. */
#include "capture/recorder/source.h"

#include <stdio.h>
#include <unistd.h>

const struct nl_source nl_source_scopes = {.name = "scopes",
                                           .doc = "scopes, counters, steps of include/neurolens.h"};

const struct nl_source nl_source_nvtx = {
    .name = "NVTX", .doc = "NVTX ranges and marks", .variable = "NVTX_INJECTION64_PATH"};

/* Programs load the recording library for CUDA's sake when they start CUDA, so what is missing is
 * reported from here: without a driver nothing in the program would. */
static bool find_driver(struct source_run *run)
{
    static const char *const signs[] = {"/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg",
                                        "/dev/nvhost-ctrl-gpu"};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (access(signs[i], F_OK) == 0)
            return true;
    (void)snprintf(run->why, sizeof run->why, "no NVIDIA driver here; the CPU side is recorded");
    return false;
}

const struct nl_source nl_source_cuda = {
    .name = "CUDA",
    .doc = "kernels, copies, memsets, waits, calls, memory of NVIDIA GPUs (CUPTI)",
    .variable = "CUDA_INJECTION64_PATH",
    .start = find_driver};

/* Machines without an AMD GPU are no news: then this source says nothing. */
static bool find_amd(struct source_run *run)
{
    (void)run;
    return access("/dev/kfd", F_OK) == 0;
}

const struct nl_source nl_source_rocm = {
    .name = "ROCm",
    .doc = "kernels, copies, calls, memory of AMD GPUs (rocprofiler-sdk); not run on one yet",
    .variable = "ROCP_TOOL_LIBRARIES",
    .start = find_amd};

const struct nl_source *const nl_sources[] = {
    &nl_source_scopes, &nl_source_nvtx,   &nl_source_cuda, &nl_source_rocm, &nl_source_process,
    &nl_source_hooks,  &nl_source_python, &nl_source_gpus, &nl_source_cpu,  NULL};

_Static_assert(sizeof nl_sources / sizeof nl_sources[0] - 1 <= NL_MAX_SOURCES,
               "raise PART_PRIVATES: further sources would be left out");
