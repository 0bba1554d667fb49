/*
 * NVTX into the recording, with or without a GPU. Domains and registered strings are handed out as
 * name ids, so their handles need no table. Texts are copied at each call: NVTX does not promise
 * that a pointer means the same text twice.
 */
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

#include "base/utf8.h"
#include "capture/agent/agent.h"
#include "capture/agent/hookcost.h"
#include "capture/agent/nvtxabi.h"
#include "capture/agent/nvtxinject.h"

#define EXPORTED          __attribute__((visibility("default")))
#define RANGE_OFF         ((uint64_t)1 << 63) /* ids of ranges that were not recorded: never 0 */
#define PUSH_NOT_RECORDED (-1)

/* ---- texts ---- */

static uint32_t name_a(const char *text)
{
    return text ? agent_name(text, strlen(text)) : 0;
}

static uint32_t name_w(const wchar_t *text)
{
    char bytes[NL_REC_MAX_NAME + 8];
    size_t used = 0;
    if (!text)
        return 0;
    for (; *text && used <= NL_REC_MAX_NAME; text++) {
        uint32_t c = (uint32_t)*text;
        used += nl_utf8_put(bytes + used, c > 0x10ffff || (c & 0xfffff800u) == 0xd800 ? 0xfffd : c);
    }
    return agent_name(bytes, used);
}

/* Outside the window texts are of no use, unless one of them may open it. */
static bool is_wanted(void)
{
    return *nl_agent.gate || nl_agent.control->trigger[0];
}

static uint32_t text_a(const char *text)
{
    return is_wanted() ? name_a(text) : 0;
}

static uint32_t text_w(const wchar_t *text)
{
    return is_wanted() ? name_w(text) : 0;
}

static uint32_t message(const struct nvtx_attributes *attributes)
{
    if (!attributes || attributes->size < sizeof *attributes)
        return 0;
    switch (attributes->message_type) {
    case NVTX_MESSAGE_A: return text_a(attributes->message);
    case NVTX_MESSAGE_W: return text_w(attributes->message);
    case NVTX_MESSAGE_REGISTERED: return (uint32_t)(uintptr_t)attributes->message;
    default: return 0;
    }
}

/* ---- attributes ---- */

static uint32_t payload(const struct nvtx_attributes *attributes, uint64_t *value)
{
    double real;
    *value = 0;
    switch (attributes->payload_type) {
    case NVTX_PAYLOAD_U64: *value = attributes->payload.u64; return NL_REC_U64;
    case NVTX_PAYLOAD_U32: *value = attributes->payload.u32; return NL_REC_U64;
    case NVTX_PAYLOAD_I64: *value = attributes->payload.u64; return NL_REC_I64;
    case NVTX_PAYLOAD_I32: *value = (uint64_t)(int64_t)attributes->payload.i32; return NL_REC_I64;
    case NVTX_PAYLOAD_F64: *value = attributes->payload.u64; return NL_REC_F64;
    case NVTX_PAYLOAD_F32:
        real = (double)attributes->payload.f32;
        memcpy(value, &real, sizeof real);
        return NL_REC_F64;
    default: return NL_REC_NOTHING;
    }
}

/* Fills the two cells after the first; returns how many of them are needed. */
static uint32_t more_of(const struct nvtx_attributes *attributes, uint32_t domain, uint64_t range,
                        struct nl_rec_more more[2])
{
    more[0] = (struct nl_rec_more){0};
    more[1] = (struct nl_rec_more){.value = range, .a = domain, .b = range ? NL_REC_IS_RANGE : 0};
    if (attributes && attributes->size >= sizeof *attributes) {
        more[1].b |= payload(attributes, &more[0].value) << 8;
        if (attributes->color_type == NVTX_COLOR_ARGB) {
            more[0].a = attributes->color;
            more[1].b |= NL_REC_HAS_COLOUR;
        }
        if (attributes->category) {
            more[0].b = attributes->category;
            more[1].b |= NL_REC_HAS_CATEGORY;
        }
    }
    return domain || more[1].b ? 2 : 0;
}

/* ---- events ---- */

static void mark(uint32_t domain, uint32_t name, const struct nvtx_attributes *attributes)
{
    struct nl_rec_more more[2];
    uint32_t count = more_of(attributes, domain, 0, more);
    (void)agent_event(NL_REC_MARK + NL_REC_CLASS_NVTX, name, more, count);
}

static bool start_as(uint64_t range, uint32_t domain, uint32_t name,
                     const struct nvtx_attributes *attributes)
{
    struct nl_rec_more more[2];
    uint32_t count = more_of(attributes, domain, range, more);
    return agent_event(NL_REC_BEGIN + NL_REC_CLASS_NVTX, name, more, count);
}

static uint64_t start_range(uint32_t domain, uint32_t name,
                            const struct nvtx_attributes *attributes)
{
    uint64_t range = agent_range();
    return start_as(range, domain, name, attributes) ? range : range | RANGE_OFF;
}

static void range_end(uint64_t range)
{
    struct nl_rec_more more = {.value = range};
    if (!(range & RANGE_OFF))
        (void)agent_event(NL_REC_RANGE_END, 0, &more, 1);
}

/* Open ranges of the domain on this thread. */
static uint32_t depth_of(const struct thread *thread, uint32_t domain)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < thread->nvtx_depth; i++)
        depth += thread->nvtx_domain[i] == domain;
    return depth;
}

/* Every push takes a place on the thread's stack, recorded or not, so that pops find their own. */
static int push(uint32_t domain, uint32_t name, const struct nvtx_attributes *attributes)
{
    struct nl_rec_more more[2];
    struct thread *thread = agent_enter();
    if (!thread)
        return PUSH_NOT_RECORDED;
    agent_leave(thread);
    if (thread->nvtx_depth == MAX_THREAD_NVTX) {
        thread->nvtx_deeper++;
        recfile_drop(&nl_agent.file, NL_REC_DROP_DEEP, 1);
        return PUSH_NOT_RECORDED;
    }
    uint32_t depth = depth_of(thread, domain);
    uint32_t count = more_of(attributes, domain, 0, more);
    thread->nvtx_domain[thread->nvtx_depth] = domain;
    thread->nvtx_token[thread->nvtx_depth++] =
        agent_begin(NL_REC_CLASS_NVTX, depth, name, more, count);
    return (int)depth;
}

static int pop(uint32_t domain)
{
    struct thread *thread = agent_enter();
    if (!thread)
        return PUSH_NOT_RECORDED;
    agent_leave(thread);
    if (thread->nvtx_deeper) {
        thread->nvtx_deeper--;
        return PUSH_NOT_RECORDED;
    }
    uint32_t at = thread->nvtx_depth;
    while (at && thread->nvtx_domain[at - 1] != domain)
        at--;
    if (!at)
        return PUSH_NOT_RECORDED; /* more pops than pushes */
    agent_end(thread->nvtx_token[at - 1], domain);
    uint32_t behind = thread->nvtx_depth - at;
    memmove(&thread->nvtx_token[at - 1], &thread->nvtx_token[at],
            behind * sizeof *thread->nvtx_token);
    memmove(&thread->nvtx_domain[at - 1], &thread->nvtx_domain[at],
            behind * sizeof *thread->nvtx_domain);
    thread->nvtx_depth--;
    return (int)depth_of(thread, domain);
}

static void name_category(uint32_t domain, uint32_t number, uint32_t name)
{
    struct nl_rec_more more = {.a = domain, .b = number};
    (void)agent_event(NL_REC_CATEGORY_NAME, name, &more, 1);
}

/* Only the calling thread can be named: another one's buffer is its own. */
static void name_thread(uint32_t id, uint32_t name)
{
    if (id == (uint32_t)syscall(SYS_gettid))
        agent_thread_name(name);
}

/* ---- what programs call ---- */

#define DOMAIN(handle) ((uint32_t)(uintptr_t)(handle))
#define HANDLE(id)     ((void *)(uintptr_t)(id))
typedef const struct nvtx_attributes *attributes;

/* clang-format off */
static void mark_ex(attributes a) { mark(0, message(a), a); }
static void mark_a(const char *text) { mark(0, text_a(text), NULL); }
static void mark_w(const wchar_t *text) { mark(0, text_w(text), NULL); }
static uint64_t start_ex(attributes a) { return start_range(0, message(a), a); }
static uint64_t start_a(const char *text) { return start_range(0, text_a(text), NULL); }
static uint64_t start_w(const wchar_t *text) { return start_range(0, text_w(text), NULL); }
static int push_ex(attributes a) { return push(0, message(a), a); }
static int push_a(const char *text) { return push(0, text_a(text), NULL); }
static int push_w(const wchar_t *text) { return push(0, text_w(text), NULL); }
static int pop_any(void) { return pop(0); }
static void category_a(uint32_t n, const char *text) { name_category(0, n, name_a(text)); }
static void category_w(uint32_t n, const wchar_t *text) { name_category(0, n, name_w(text)); }
static void thread_a(uint32_t id, const char *text) { name_thread(id, name_a(text)); }
static void thread_w(uint32_t id, const wchar_t *text) { name_thread(id, name_w(text)); }
static void domain_mark(void *d, attributes a) { mark(DOMAIN(d), message(a), a); }
static uint64_t domain_start(void *d, attributes a) { return start_range(DOMAIN(d), message(a), a); }
static void domain_end(void *d, uint64_t range) { (void)d; range_end(range); }
static int domain_push(void *d, attributes a) { return push(DOMAIN(d), message(a), a); }
static int domain_pop(void *d) { return pop(DOMAIN(d)); }
static void domain_category_a(void *d, uint32_t n, const char *text) { name_category(DOMAIN(d), n, name_a(text)); }
static void domain_category_w(void *d, uint32_t n, const wchar_t *text) { name_category(DOMAIN(d), n, name_w(text)); }
static void *register_a(void *d, const char *text) { (void)d; return HANDLE(name_a(text)); }
static void *register_w(void *d, const wchar_t *text) { (void)d; return HANDLE(name_w(text)); }
static void *create_a(const char *text) { return HANDLE(name_a(text)); }
static void *create_w(const wchar_t *text) { return HANDLE(name_w(text)); }
/* For others (nvtxinject.h). */
int nvtx_push_text(const char *text) { return push(0, text_a(text), NULL); }
int nvtx_pop(void) { return pop(0); }
void nvtx_mark_text(const char *text) { mark(0, text_a(text), NULL); }
void nvtx_start_text(const char *text, uint64_t range) { (void)start_as(range, 0, text_a(text), NULL); }
void nvtx_end_range(uint64_t range) { range_end(range); }
/* clang-format on */

struct entry {
    unsigned place;
    nvtx_function function;
};
#define ENTRY(place, function)                                                                     \
    {                                                                                              \
        place, (nvtx_function)(function)                                                           \
    }

static const struct entry core[] = {
    ENTRY(NVTX_MARK_EX, mark_ex),
    ENTRY(NVTX_MARK_A, mark_a),
    ENTRY(NVTX_MARK_W, mark_w),
    ENTRY(NVTX_START_EX, start_ex),
    ENTRY(NVTX_START_A, start_a),
    ENTRY(NVTX_START_W, start_w),
    ENTRY(NVTX_RANGE_END, range_end),
    ENTRY(NVTX_PUSH_EX, push_ex),
    ENTRY(NVTX_PUSH_A, push_a),
    ENTRY(NVTX_PUSH_W, push_w),
    ENTRY(NVTX_POP, pop_any),
    ENTRY(NVTX_NAME_CATEGORY_A, category_a),
    ENTRY(NVTX_NAME_CATEGORY_W, category_w),
    ENTRY(NVTX_NAME_THREAD_A, thread_a),
    ENTRY(NVTX_NAME_THREAD_W, thread_w),
};

static const struct entry core2[] = {
    ENTRY(NVTX_DOMAIN_MARK_EX, domain_mark),
    ENTRY(NVTX_DOMAIN_START_EX, domain_start),
    ENTRY(NVTX_DOMAIN_RANGE_END, domain_end),
    ENTRY(NVTX_DOMAIN_PUSH_EX, domain_push),
    ENTRY(NVTX_DOMAIN_POP, domain_pop),
    ENTRY(NVTX_DOMAIN_NAME_CATEGORY_A, domain_category_a),
    ENTRY(NVTX_DOMAIN_NAME_CATEGORY_W, domain_category_w),
    ENTRY(NVTX_DOMAIN_REGISTER_A, register_a),
    ENTRY(NVTX_DOMAIN_REGISTER_W, register_w),
    ENTRY(NVTX_DOMAIN_CREATE_A, create_a),
    ENTRY(NVTX_DOMAIN_CREATE_W, create_w),
};

static void fill_table(const struct nvtx_callbacks *callbacks, int module,
                       const struct entry *entries, size_t count)
{
    nvtx_table table;
    unsigned size;
    if (!callbacks->module_table(module, &table, &size))
        return;
    for (size_t i = 0; i < count; i++)
        if (entries[i].place < size && table[entries[i].place])
            *table[entries[i].place] = entries[i].function;
}

/* What a range costs besides its events: looking its text up, mostly. */
static void range_pair(void)
{
    (void)push_a("neurolens: the cost of a range");
    (void)pop_any();
}

EXPORTED int InitializeInjectionNvtx2(nvtx_get_export get);

/* 0: this process does not record, NVTX then calls nothing any more. */
EXPORTED int InitializeInjectionNvtx2(nvtx_get_export get)
{
    const struct nvtx_callbacks *callbacks = get(NVTX_EXPORT_CALLBACKS);
    const struct nvtx_version *version = get(NVTX_EXPORT_VERSION);
    agent_start(NULL);
    if (!callbacks || callbacks->size < sizeof *callbacks || !agent_ready())
        return 0;
    hookcost_measure(NL_REC_HOOK_NVTX, range_pair);
    if (version && version->size >= sizeof *version)
        version->set_injection_version(3);
    fill_table(callbacks, NVTX_CORE, core, sizeof core / sizeof core[0]);
    fill_table(callbacks, NVTX_CORE2, core2, sizeof core2 / sizeof core2[0]);
    return 1;
}
