/*
 * rocmabi — as much of the binary interface of AMD's rocprofiler-sdk (1.x, ROCm 7 and later) as is
 * used here, so that neither ROCm nor a driver is needed to build. The library is in the process
 * already when it calls us; its functions are found at run time (rocmcalls.def).
 *
 * Records contain their size and only grow at their end within a major version. What is not used is
 * `skipN`.
 *
 * Source: layouts, numbers and prototypes are those of fwd.h, buffer_tracing.h, callback_tracing.h,
 * agent.h and registration.h of rocprofiler-sdk 1.x (public: github.com/ROCm/rocm-systems,
 * projects/rocprofiler-sdk).
 */
#ifndef NL_ROCMABI_H
#define NL_ROCMABI_H

#include <stddef.h>
#include <stdint.h>

#define ROCM_VERSION_FIRST                                                                         \
    10000u /* 10000 × major + 100 × minor + patch; before 1.0 records were others */
#define ROCM_VERSION_NEW 20000u

enum rocm_status { ROCM_OK = 0 };
enum rocm_agent_type { ROCM_AGENT_CPU = 1, ROCM_AGENT_GPU = 2 };
enum rocm_phase { ROCM_ENTER = 1, ROCM_EXIT = 2 };
enum rocm_policy { ROCM_DISCARD = 1 };
#define ROCM_CATEGORY_TRACING 1u
#define ROCM_AGENTS_VERSION   1

enum rocm_callback_kind { ROCM_ON_MARKER = 7, ROCM_ON_CODE_OBJECT = 10 };
#define ROCM_KERNEL_SYMBOL 2 /* operation of ROCM_ON_CODE_OBJECT */
enum rocm_marker { ROCM_MARK, ROCM_PUSH, ROCM_POP, ROCM_START, ROCM_STOP };

enum rocm_buffer_kind { ROCM_HIP_CALL = 5, ROCM_COPY = 10, ROCM_KERNEL = 11, ROCM_ALLOCATION = 16 };
enum rocm_direction {
    ROCM_HOST_TO_HOST = 1,
    ROCM_HOST_TO_DEVICE,
    ROCM_DEVICE_TO_HOST,
    ROCM_DEVICE_TO_DEVICE
};
enum rocm_allocation { ROCM_ALLOCATE = 1, ROCM_VIRTUAL_ALLOCATE, ROCM_FREE, ROCM_VIRTUAL_FREE };

struct rocm_header {
    uint32_t category, kind;
    const void *payload;
};

/* Of calls. */
struct rocm_call {
    uint64_t size;
    uint32_t kind;
    int32_t operation;
    uint64_t correlation, external, ancestor;
    uint64_t start, end, thread;
};

struct rocm_copy {
    uint64_t size;
    uint32_t kind, operation;
    uint64_t correlation, external;
    uint64_t thread, start, end;
    uint64_t to_agent, from_agent, bytes;
};

struct rocm_allocated {
    uint64_t size;
    uint32_t kind, operation;
    uint64_t correlation, external, ancestor;
    uint64_t thread, start, end;
    uint64_t agent, address, bytes;
};

struct rocm_kernel {
    uint64_t size;
    uint32_t kind, operation;
    uint64_t correlation, external;
    uint64_t thread, start, end;
    uint64_t dispatch_size, agent, queue, kernel, dispatch;
    uint32_t private_bytes, group_bytes;
    uint32_t workgroup[3], grid[3]; /* the grid is in work-items */
};

/* Given by value. */
struct rocm_notice {
    uint64_t context, thread;
    uint64_t correlation, external, ancestor;
    uint32_t kind;
    int32_t operation;
    uint32_t phase, skip1;
    const void *payload;
};

struct rocm_symbol {
    uint64_t size, kernel, code_object;
    const char *name; /* as linked: "_Z3addPf.kd" */
    uint64_t object;
    uint32_t argument_bytes, argument_alignment;
    uint32_t group_bytes, private_bytes;
    uint32_t scalar_registers, vector_registers, accumulation_registers;
};

struct rocm_marker_data {
    uint64_t size;
    union {
        const char *message;
        uint64_t range;
    } args;
    uint64_t result; /* of ROCM_START: the range */
};

struct rocm_memory_bank {
    uint32_t heap; /* 1 and 2: the device's own */
    uint32_t skip1[3];
    uint64_t bytes;
};

struct rocm_agent {
    uint64_t size, id;
    uint32_t type, skip1[2], bank_count, skip2[8];
    uint32_t wave_lanes, skip3, compute_units, skip4[6];
    uint32_t target; /* 90402 = gfx942: major, minor, stepping */
    uint16_t skip5[2];
    uint32_t location, domain; /* of the bus */
    uint32_t skip6[6], clock_mhz, skip7[4], waves_per_unit, skip8[3];
    uint64_t skip9[3];
    uint32_t skip10[6];
    const struct rocm_memory_bank *banks;
    const void *skip11[2];
    const char *name, *vendor, *product, *model;
    uint32_t node;
    int32_t logical, number; /* among the GPUs */
};

/* The members that the compiler can hold against the headers. */
#define ROCM_AT(record, member, offset)                                                            \
    _Static_assert(offsetof(struct record, member) == (offset), "where rocprofiler-sdk has it")
ROCM_AT(rocm_call, start, 40);
ROCM_AT(rocm_call, thread, 56);
ROCM_AT(rocm_copy, start, 40);
ROCM_AT(rocm_copy, bytes, 72);
ROCM_AT(rocm_allocated, start, 48);
ROCM_AT(rocm_allocated, bytes, 80);
ROCM_AT(rocm_kernel, agent, 64);
ROCM_AT(rocm_kernel, workgroup, 104);
ROCM_AT(rocm_kernel, grid, 116);
ROCM_AT(rocm_notice, kind, 40);
ROCM_AT(rocm_notice, payload, 56);
ROCM_AT(rocm_symbol, name, 24);
ROCM_AT(rocm_symbol, vector_registers, 60);
ROCM_AT(rocm_agent, wave_lanes, 64);
ROCM_AT(rocm_agent, compute_units, 72);
ROCM_AT(rocm_agent, target, 100);
ROCM_AT(rocm_agent, location, 108);
ROCM_AT(rocm_agent, clock_mhz, 140);
ROCM_AT(rocm_agent, waves_per_unit, 160);
ROCM_AT(rocm_agent, banks, 224);
ROCM_AT(rocm_agent, product, 264);
ROCM_AT(rocm_agent, number, 288);

struct rocm_client {
    const char *name;
    uint32_t handle;
};

struct rocm_tool {
    size_t size;
    int (*initialize)(void (*finalize)(struct rocm_client), void *user);
    void (*finalize)(void *user);
    void *user;
};

typedef void (*rocm_buffer_fn)(uint64_t context, uint64_t buffer, struct rocm_header **headers,
                               size_t count, void *user, uint64_t dropped);
typedef void (*rocm_notice_fn)(struct rocm_notice notice, uint64_t *data, void *user);
typedef int (*rocm_agents_fn)(int version, const void **agents, size_t count, void *user);

#endif
