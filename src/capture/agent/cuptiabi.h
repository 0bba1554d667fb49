/*
 * cuptiabi — as much of CUPTI's binary interface (CUDA 11.8 to 13) as is used here, so
 * that neither the toolkit nor a driver is needed to build. libcupti is found and opened
 * at run time (cuptilib.h).
 *
 * Records only ever grew at their end between these versions, and libcupti itself steps from one
 * record to the next: the beginnings below are right for all of them. cuptilib.c has the
 * compiler check each member against cuptifields.def, which lists every version. Members that
 * are not used are `skipN`.
 *
 * Source: the layouts, numbers and prototypes are those of cupti_activity.h, cupti_callbacks.h and
 * cupti_result.h of NVIDIA's CUDA toolkit (public documentation: docs.nvidia.com/cupti).
 */
#ifndef NL_CUPTIABI_H
#define NL_CUPTIABI_H

#include "capture/agent/cuptipages.h"

enum cupti_result {
    CUPTI_OK = 0,
    CUPTI_NO_MORE = 12, /* MAX_LIMIT_REACHED: the buffer has no more records */
    CUPTI_HELD = 39     /* MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: another tool holds CUPTI */
};

/* Values of cuptiGetVersion. */
#define CUPTI_CUDA_11_8 18u
#define CUPTI_CUDA_12_3 21u
#define CUPTI_CUDA_12_9 27u
#define CUPTI_CUDA_14   140000u /* since 13.0 the number is major, minor and patch level */

enum cupti_kind {
    CUPTI_MEMCPY = 1,
    CUPTI_MEMSET = 2,
    CUPTI_KERNEL = 3, /* never asked for: it makes kernels run one after another */
    CUPTI_DRIVER = 4,
    CUPTI_RUNTIME = 5,
    CUPTI_DEVICE = 8,
    CUPTI_CONTEXT = 9,
    CUPTI_CONCURRENT_KERNEL = 10,
    CUPTI_OVERHEAD = 17,
    CUPTI_MEMCPY2 = 22, /* between devices */
    CUPTI_UNIFIED_MEMORY = 25,
    CUPTI_STREAM = 37,
    CUPTI_SYNCHRONIZATION = 38,
    CUPTI_MEMORY2 = 49,
    CUPTI_MEMORY_POOL = 50,
    CUPTI_GRAPH_TRACE = 51,
    CUPTI_JIT = 52,
    CUPTI_KINDS = 64
};

enum cupti_domain { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME, CUPTI_DOMAIN_RESOURCE };
#define CUPTI_DOMAIN_STATE             6u
#define CUPTI_CONTEXT_DESTROY_STARTING 2u /* of the domain RESOURCE */
#define CUPTI_FATAL_ERROR              1u /* of the domain STATE */
#define CUPTI_PER_THREAD_BUFFER        9u /* attribute, one byte */
#define CUPTI_THREAD_IDS_OF_THE_SYSTEM 1u /* argument of cuptiSetThreadIdType */
#define CUPTI_FLUSH_FORCED             1u
#define CUPTI_OBJECT_THREAD            2u

struct cupti_record {
    uint32_t kind;
};

struct cupti_kernel {
    uint32_t kind;
    uint16_t skip1, registers_per_thread;
    uint64_t skip2, start, end, skip3;
    uint32_t device_id, context_id, stream_id;
    int32_t grid_x, grid_y, grid_z, block_x, block_y, block_z;
    int32_t static_shared_memory, dynamic_shared_memory;
    uint32_t skip4[2], correlation_id;
    uint64_t skip5;
    const char *name;
    uint64_t skip6[4];
    uint64_t graph_node_id;
    uint32_t skip7, graph_id;
};

struct cupti_copy {
    uint32_t kind;
    uint8_t copy_kind, src_kind, dst_kind, skip1;
    uint64_t bytes, start, end;
    uint32_t device_id, context_id, stream_id, correlation_id, skip2[2];
    uint64_t skip3, graph_node_id;
    uint32_t graph_id;
};

struct cupti_peer_copy {
    uint32_t kind;
    uint8_t copy_kind, src_kind, dst_kind, skip1;
    uint64_t bytes, start, end;
    uint32_t device_id, context_id, stream_id, src_device_id, skip2, dst_device_id, skip3;
    uint32_t correlation_id;
    uint64_t skip4, graph_node_id;
    uint32_t graph_id;
};

struct cupti_fill {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device_id, context_id, stream_id, correlation_id;
    uint16_t skip1, memory_kind;
    uint32_t skip2;
    uint64_t skip3, graph_node_id;
    uint32_t graph_id;
};

struct cupti_call {
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t process_id, thread_id, correlation_id, return_value;
};

struct cupti_wait {
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation_id, context_id, stream_id, cuda_event_id;
};

struct cupti_whole_graph {
    uint32_t kind, correlation_id;
    uint64_t start, end;
    uint32_t device_id, graph_id, context_id, stream_id;
};

struct cupti_memory {
    uint32_t kind, memory_operation_type, memory_kind, correlation_id;
    uint64_t address, bytes, timestamp, skip1;
    uint32_t process_id, device_id, context_id, stream_id;
    const char *name;
    uint32_t is_async;
};

struct cupti_memory_pool {
    uint32_t kind, memory_pool_operation_type, memory_pool_type, correlation_id;
    uint32_t process_id, device_id;
    uint64_t skip1, address, size, skip2, timestamp;
};

struct cupti_overhead {
    uint32_t kind, overhead_kind, object_kind;
    uint32_t object_id[3]; /* of a thread: process, thread */
    uint64_t start, end;
};

struct cupti_device {
    uint32_t kind, skip1;
    uint64_t global_memory_bandwidth; /* KB/s */
    uint64_t global_memory_size;
    uint32_t skip2[2], num_threads_per_warp;
    uint32_t core_clock_rate; /* kHz */
    uint32_t skip3, num_multiprocessors, skip4, max_warps_per_multiprocessor, skip5[12];
    uint32_t compute_capability_major, compute_capability_minor, id, skip6;
    unsigned char uuid[16];
    const char *name;
};

struct cupti_context {
    uint32_t kind, context_id, device_id;
    uint16_t compute_api_kind, null_stream_id;
};

struct cupti_jit {
    uint32_t kind, entry, operation, device_id;
    uint64_t start, end;
    uint32_t correlation_id, skip1;
    uint64_t skip2, cache_bytes;
    const char *cache_path;
};

/* What cuptiSubscribe_v2 takes, and reports about the current subscriber. */
struct cupti_subscriber {
    size_t size;
    const char *name;
    char *holder;
    size_t holder_bytes;
    uint8_t several, skip1[7];
};

struct cupti_stream {
    uint32_t kind, context_id, stream_id, priority, flag, correlation_id;
};

typedef void (*cupti_callback_fn)(void *user, uint32_t domain, uint32_t id, const void *data);
typedef void (*cupti_request_fn)(uint8_t **buffer, size_t *bytes, size_t *records);
typedef void (*cupti_complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                                  size_t valid);
typedef uint64_t (*cupti_time_fn)(void);

#endif
