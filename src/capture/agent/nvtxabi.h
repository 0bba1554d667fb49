/*
 * nvtxabi — the calling convention between a program's NVTX (version 3) and an injected library, as
 * far as it is used here. The program carries the NVTX functions itself, as pointers that first
 * look for a library; the library named by NVTX_INJECTION64_PATH is loaded, its
 * InitializeInjectionNvtx2 is called, and may put its own functions into the tables. That happens
 * once for every shared object that was compiled with the NVTX headers.
 */
#ifndef NL_NVTXABI_H
#define NL_NVTXABI_H

#include <stddef.h>
#include <stdint.h>

typedef void (*nvtx_function)(void);
/* Row: address of the program's pointer, NULL where it has none. */
typedef nvtx_function **nvtx_table;
typedef const void *(*nvtx_get_export)(uint32_t id);

enum { NVTX_EXPORT_CALLBACKS = 1, NVTX_EXPORT_VERSION = 3 };

struct nvtx_callbacks {
    size_t size;
    int (*module_table)(int module, nvtx_table *table, unsigned *count);
};

struct nvtx_version {
    size_t size;
    uint32_t version, reserved;
    void (*set_injection_version)(uint32_t version);
};

enum nvtx_module { NVTX_CORE = 1, NVTX_CORE2 = 5 };

enum nvtx_core {
    NVTX_MARK_EX = 1,
    NVTX_MARK_A,
    NVTX_MARK_W,
    NVTX_START_EX,
    NVTX_START_A,
    NVTX_START_W,
    NVTX_RANGE_END,
    NVTX_PUSH_EX,
    NVTX_PUSH_A,
    NVTX_PUSH_W,
    NVTX_POP,
    NVTX_NAME_CATEGORY_A,
    NVTX_NAME_CATEGORY_W,
    NVTX_NAME_THREAD_A,
    NVTX_NAME_THREAD_W
};

enum nvtx_core2 {
    NVTX_DOMAIN_MARK_EX = 1,
    NVTX_DOMAIN_START_EX,
    NVTX_DOMAIN_RANGE_END,
    NVTX_DOMAIN_PUSH_EX,
    NVTX_DOMAIN_POP,
    NVTX_DOMAIN_NAME_CATEGORY_A = 8,
    NVTX_DOMAIN_NAME_CATEGORY_W,
    NVTX_DOMAIN_REGISTER_A,
    NVTX_DOMAIN_REGISTER_W,
    NVTX_DOMAIN_CREATE_A,
    NVTX_DOMAIN_CREATE_W
};

struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t message_type; /* 1 char *, 2 wchar_t *, 3 registered string */
    const void *message;
};
_Static_assert(sizeof(struct nvtx_attributes) == 48, "as the headers have it");
_Static_assert(offsetof(struct nvtx_attributes, message) == 40, "as the headers have it");

enum { NVTX_MESSAGE_A = 1, NVTX_MESSAGE_W, NVTX_MESSAGE_REGISTERED };
enum {
    NVTX_PAYLOAD_U64 = 1,
    NVTX_PAYLOAD_I64,
    NVTX_PAYLOAD_F64,
    NVTX_PAYLOAD_U32,
    NVTX_PAYLOAD_I32,
    NVTX_PAYLOAD_F32
};
enum { NVTX_COLOR_ARGB = 1 };

#endif
