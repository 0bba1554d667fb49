/*
 * nvmlabi — the part of NVIDIA's management library (libnvidia-ml.so.1) that is used, in structs
 * of our own: neither its header nor its library is needed to build. Layouts and numbers follow
 * the public nvml.h of CUDA 12 and 13; they are fixed there, since programs built with old headers
 * must run with new drivers.
 */
#ifndef NL_NVMLABI_H
#define NL_NVMLABI_H

#include <stddef.h>

typedef void *nvml_handle; /* nvmlDevice_t */

/* nvmlReturn_t */
enum {
    NVML_OK = 0,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_VERSION_MISMATCH = 25
};

struct nvml_utilisation { /* nvmlUtilization_t */
    unsigned gpu, memory;
};
struct nvml_memory { /* nvmlMemory_t */
    unsigned long long total, free, used;
};
struct nvml_memory2 { /* nvmlMemory_v2_t: `used` is without what the driver keeps for itself */
    unsigned version;
    unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY2_VERSION ((unsigned)sizeof(struct nvml_memory2) | 2u << 24)

union nvml_value { /* nvmlValue_t */
    double real;
    int i32;
    unsigned u32;
    unsigned long ulong;
    unsigned long long u64;
    long long i64;
    unsigned short u16;
};
enum { /* nvmlValueType_t */
       NVML_TYPE_DOUBLE,
       NVML_TYPE_U32,
       NVML_TYPE_ULONG,
       NVML_TYPE_U64,
       NVML_TYPE_I64,
       NVML_TYPE_I32,
       NVML_TYPE_U16
};
struct nvml_field { /* nvmlFieldValue_t */
    unsigned field, scope;
    long long timestamp, latency_us;
    unsigned type;
    int result;
    union nvml_value value;
};
struct nvml_sample {         /* nvmlSample_t */
    unsigned long long time; /* µs of CLOCK_REALTIME */
    union nvml_value value;
};
/* nvmlSamplingType_t */
enum { NVML_SAMPLES_POWER, NVML_SAMPLES_UTILISATION, NVML_SAMPLES_MEMORY_UTILISATION };

/* NVML_FI_DEV_… */
enum {
    NVML_FIELD_MEMORY_TEMPERATURE = 82,
    NVML_FIELD_NVLINK_SENT = 138, /* KiB; of all links with the scope of all */
    NVML_FIELD_NVLINK_RECEIVED = 139,
    NVML_FIELD_POWER_AVERAGE = 185, /* mW */
    NVML_FIELD_POWER_INSTANT = 186,
    NVML_FIELD_PCIE_SENT = 197, /* bytes so far */
    NVML_FIELD_PCIE_RECEIVED = 198
};
#define NVML_ALL_LINKS 0xffffffffu

struct nvml_process { /* nvmlProcessInfo_t of the _v3 call */
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
#define NVML_UNKNOWN_BYTES (~0ull)

struct nvml_pci { /* nvmlPciInfo_t */
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

/* GPM: counters of the hardware between two samples (Hopper and later) */
struct nvml_gpm_support {
    unsigned version, supported;
};
struct nvml_gpm_metric { /* nvmlGpmMetric_t */
    unsigned metric;
    int result;
    double value;
    const char *names[3];
};
#define NVML_GPM_METRICS 512u /* room; headers so far say 98 to 333, and only `count` are used */
struct nvml_gpm_query {       /* nvmlGpmMetricsGet_t */
    unsigned version, count;
    void *before, *after;
    struct nvml_gpm_metric metric[NVML_GPM_METRICS];
};
enum { NVML_GPM_SM_ACTIVE = 2, NVML_GPM_SM_OCCUPANCY = 3, NVML_GPM_TENSOR = 5, NVML_GPM_DRAM = 10 };

_Static_assert(sizeof(struct nvml_utilisation) == 8, "nvmlUtilization_t");
_Static_assert(sizeof(struct nvml_memory) == 24, "nvmlMemory_t");
_Static_assert(sizeof(struct nvml_memory2) == 40 && offsetof(struct nvml_memory2, used) == 32,
               "nvmlMemory_v2_t");
_Static_assert(sizeof(struct nvml_field) == 40 && offsetof(struct nvml_field, result) == 28 &&
                   offsetof(struct nvml_field, value) == 32,
               "nvmlFieldValue_t");
_Static_assert(sizeof(struct nvml_sample) == 16 && offsetof(struct nvml_sample, value) == 8,
               "nvmlSample_t");
_Static_assert(sizeof(struct nvml_process) == 24 && offsetof(struct nvml_process, used) == 8,
               "nvmlProcessInfo_t");
_Static_assert(sizeof(struct nvml_pci) == 68 && offsetof(struct nvml_pci, bus_id) == 36,
               "nvmlPciInfo_t");
_Static_assert(sizeof(struct nvml_gpm_metric) == 40 && offsetof(struct nvml_gpm_metric, value) == 8,
               "nvmlGpmMetric_t");
_Static_assert(offsetof(struct nvml_gpm_query, metric) == 24, "nvmlGpmMetricsGet_t");

#endif
