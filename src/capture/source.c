/* The sources, and those of them that need no code in the recorder. */
#include "capture/source.h"

const struct nl_source nl_source_scopes = {.name = "scopes",
                                           .doc = "scopes, counters, steps of include/neurolens.h"};

const struct nl_source nl_source_nvtx = {
    .name = "NVTX", .doc = "NVTX ranges and marks", .variable = "NVTX_INJECTION64_PATH"};

const struct nl_source *const nl_sources[] = {&nl_source_scopes, &nl_source_nvtx,
                                              &nl_source_process, &nl_source_gpus, NULL};
