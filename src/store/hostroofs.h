/*
 * hostroofs — the measured roofs of a profile's machine (`neurolens roof`), and its name.
 *
 * Measured roofs are not part of a profile: the loader looks them up by the recorded host and
 * attaches them to the trace before its first use (nl_trace_set_roofs). An unknown host has none:
 * roofs of another machine would be wrong.
 */
#ifndef NL_HOSTROOFS_H
#define NL_HOSTROOFS_H

#include <stddef.h>
#include <stdint.h>

#define NL_ROOF_HOST_TEXT   256
#define NL_ROOF_DEVICE_TEXT 128
#define NL_ROOF_TYPE_TEXT   16

struct nl_host_roof {
    char device[NL_ROOF_DEVICE_TEXT]; /* product name of a GPU; "" the processors */
    char type[NL_ROOF_TYPE_TEXT];     /* element type, as work_type_name; "" bytes alone */
    char with[NL_ROOF_TYPE_TEXT];     /* instructions or library: "AVX-512", "cuBLAS" */
    uint32_t threads;                 /* of processors; 0 of a GPU */
    double flops_per_s, bytes_per_s;  /* NaN not measured */
    int64_t measured_ns;              /* since 1970 */
};

struct nl_host_roofs {
    char host[NL_ROOF_HOST_TEXT]; /* "" not known */
    char cpu[NL_ROOF_HOST_TEXT];  /* product of its processors; "" not known */
    uint32_t processors;          /* 0 not known */
    bool named;   /* the host's name was given for this profile, not recorded with it */
    size_t count; /* 0: never measured, or not this host's for certain */
    struct nl_host_roof items[];
};

#endif
