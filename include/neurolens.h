/*
 * neurolens.h — names what a program does, for `neurolens run`. One header, C11
 * and C++11, nothing to link.
 *
 *     #include <neurolens.h>
 *
 *     void forward(void)
 *     {
 *         NL_FUNCTION();                        // until the end of the function
 *         for (int i = 0; i < layers; i++) {
 *             NL_LAYER("conv");                 // until the end of the block
 *             ...
 *             nl_counter("queue", length);
 *         }
 *         nl_mark("done");
 *     }
 *
 * Under `neurolens run` the recording library is in the process and is found at the first use;
 * without it every call is a load and a branch (below 1 ns). Recording, a scope costs two readings
 * of the processor's time stamp counter and two 16-byte stores. A recorded scope ends on the thread
 * it began on; what passes between threads is a range (nl_range_start) or a flow.
 *
 * Texts given to the macros are string literals or live as long as the program. Functions that take
 * a `const char *` look the text up at each call (about 5 ns more) and copy it.
 *
 * Define NEUROLENS_DISABLE to compile all of it away.
 */
#ifndef NEUROLENS_H
#define NEUROLENS_H

#include <stddef.h>
#include <stdint.h>

/* What a scope is; the numbers are those of recordings. */
enum nl_scope_class {
    NL_CLASS_SCOPE,
    NL_CLASS_LAYER,
    NL_CLASS_STEP,
    NL_CLASS_NVTX,
    NL_CLASS_OPERATOR,
    NL_CLASS_PYTHON,
    NL_CLASS_COMPILE,
    NL_CLASS_GC,
    NL_CLASS_LIBRARY
};

/*
 * What the recording library offers: the result of its exported function nl_capture_v1(). Members
 * are only ever appended; a call that needs one of those asks first whether `size` reaches that
 * far, as the library may be older than this header. All functions may be called from any
 * thread and from signal handlers, at any time, also in forked children; none fails, blocks for
 * long or allocates from the heap. Ids of names are valid for the process and its forked children.
 */
struct nl_capture_v1 {
    size_t size;
    const volatile uint32_t *recording; /* 0 = nothing is recorded now */
    /* Number of a text; 0 when it cannot be kept. */
    uint32_t (*name)(const char *text, size_t bytes);
    /* Begins a scope of enum nl_scope_class; category is a name id or 0, of an operator
     * the shapes of its inputs, such as "[[8, 16], []]". Returns what `end` takes, 0
     * when it was not recorded. */
    uint64_t (*begin)(uint32_t name, uint32_t kind, uint32_t category);
    void (*end)(uint64_t scope); /* 0 is ignored */
    void (*mark)(uint32_t name, uint32_t kind, uint32_t category);
    void (*counter)(uint32_t name, double value, uint32_t unit);
    /* A range that any thread may end; `lane` is the name of the row it is shown in, or 0. */
    uint64_t (*range_start)(uint32_t name, uint32_t lane);
    void (*range_end)(uint64_t range); /* 0 is ignored */
    /* An arrow: from inside one scope (`in` 0) to inside another (`in` 1). */
    void (*flow)(uint64_t id, uint32_t name, int in);
    uint64_t (*step_begin)(int64_t index, uint32_t name); /* ended by `end` */
    void (*thread_name)(uint32_t name);
    void (*record)(int on); /* opens and closes the window of recording, for the whole run */
};

#if defined(__linux__) && (defined(__GNUC__) || defined(__clang__)) && !defined(NEUROLENS_DISABLE)

#ifdef __cplusplus
extern "C" void *dlsym(void *, const char *) noexcept __attribute__((weak));
#else
extern void *dlsym(void *restrict, const char *restrict) __attribute__((weak));
#endif

static const struct nl_capture_v1 nl_unresolved_ = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
static const struct nl_capture_v1 *nl_table_ = &nl_unresolved_;

static __attribute__((noinline, cold, unused)) const struct nl_capture_v1 *nl_resolve_(void)
{
    const struct nl_capture_v1 *table = 0;
    union {
        void *object;
        const struct nl_capture_v1 *(*call)(void);
    } found = {0};
    if (dlsym)
        found.object = dlsym(0, "nl_capture_v1");
    if (found.object)
        table = found.call();
    /* By the last member that this header calls; one that is appended asks for
     * its own place in `size`. */
    if (table && table->size < offsetof(struct nl_capture_v1, record) + sizeof table->record)
        table = 0;
    __atomic_store_n(&nl_table_, table, __ATOMIC_RELEASE);
    return table;
}

/* The library, when it is there and records; else NULL. */
static inline const struct nl_capture_v1 *nl_recorder(void)
{
    const struct nl_capture_v1 *table = __atomic_load_n(&nl_table_, __ATOMIC_ACQUIRE);
    if (__builtin_expect(table == &nl_unresolved_, 0))
        table = nl_resolve_();
    return table && *table->recording ? table : 0;
}

/* The library, whether it records or not; else NULL. */
static inline const struct nl_capture_v1 *nl_library(void)
{
    const struct nl_capture_v1 *table = __atomic_load_n(&nl_table_, __ATOMIC_ACQUIRE);
    return table == &nl_unresolved_ ? nl_resolve_() : table;
}

static inline uint32_t nl_text_(const struct nl_capture_v1 *table, const char *text)
{
    return table->name(text, __builtin_strlen(text));
}

/* A place in the source with a name: looked up once. */
struct nl_site {
    const char *text, *category;
    uint32_t kind, name, category_name;
};

static __attribute__((noinline, cold, unused)) void nl_site_look_(struct nl_site *site,
                                                                  const struct nl_capture_v1 *table)
{
    if (site->category)
        __atomic_store_n(&site->category_name, nl_text_(table, site->category), __ATOMIC_RELAXED);
    __atomic_store_n(&site->name, nl_text_(table, site->text), __ATOMIC_RELEASE);
}

static inline uint64_t nl_site_begin(struct nl_site *site)
{
    const struct nl_capture_v1 *table = nl_recorder();
    if (__builtin_expect(!table, 1))
        return 0;
    if (__builtin_expect(!__atomic_load_n(&site->name, __ATOMIC_ACQUIRE), 0))
        nl_site_look_(site, table);
    return table->begin(site->name, site->kind, site->category_name);
}

static inline void nl_scope_end(uint64_t scope)
{
    if (__builtin_expect(scope != 0, 0))
        nl_table_->end(scope);
}

/* Ends with nl_scope_end, on the same thread. */
static inline uint64_t nl_scope_begin(const char *text)
{
    const struct nl_capture_v1 *table = nl_recorder();
    return table ? table->begin(nl_text_(table, text), NL_CLASS_SCOPE, 0) : 0;
}

static inline void nl_mark(const char *text)
{
    const struct nl_capture_v1 *table = nl_recorder();
    if (table)
        table->mark(nl_text_(table, text), NL_CLASS_SCOPE, 0);
}

static inline void nl_mark_event(const char *text, const char *category)
{
    const struct nl_capture_v1 *table = nl_recorder();
    if (table)
        table->mark(nl_text_(table, text), NL_CLASS_SCOPE, nl_text_(table, category));
}

static inline void nl_counter(const char *text, double value)
{
    const struct nl_capture_v1 *table = nl_recorder();
    if (table)
        table->counter(nl_text_(table, text), value, 0);
}

/* `unit` such as "bytes" or "1/s". */
static inline void nl_counter_unit(const char *text, double value, const char *unit)
{
    const struct nl_capture_v1 *table = nl_recorder();
    if (table)
        table->counter(nl_text_(table, text), value, nl_text_(table, unit));
}

/* A range that may end on another thread. `lane` names the row it is shown in. */
static inline uint64_t nl_range_start(const char *text, const char *lane)
{
    const struct nl_capture_v1 *table = nl_recorder();
    return table ? table->range_start(nl_text_(table, text), lane ? nl_text_(table, lane) : 0) : 0;
}

static inline void nl_range_end(uint64_t range)
{
    if (range)
        nl_table_->range_end(range);
}

/* An arrow with a number of the program's choice, from the scope that calls nl_flow_out to the one
 * that calls nl_flow_in. */
static inline void nl_flow_out(uint64_t id, const char *text)
{
    const struct nl_capture_v1 *table = nl_recorder();
    if (table)
        table->flow(id, nl_text_(table, text), 0);
}

static inline void nl_flow_in(uint64_t id, const char *text)
{
    const struct nl_capture_v1 *table = nl_recorder();
    if (table)
        table->flow(id, nl_text_(table, text), 1);
}

/* A step (iteration); ends with nl_scope_end. `--steps N:M` goes by these, recorded or not. */
static inline uint64_t nl_step_begin(int64_t index)
{
    const struct nl_capture_v1 *table = nl_library();
    return table ? table->step_begin(index, 0) : 0;
}

static inline void nl_thread_name(const char *text)
{
    const struct nl_capture_v1 *table = nl_library();
    if (table)
        table->thread_name(nl_text_(table, text));
}

/* Opens and closes the window of recording (`neurolens run --paused` begins with it closed). */
static inline void nl_record(int on)
{
    const struct nl_capture_v1 *table = nl_library();
    if (table)
        table->record(on);
}

#else /* compiled away */

static inline uint64_t nl_scope_begin(const char *text)
{
    (void)text;
    return 0;
}
static inline void nl_scope_end(uint64_t scope)
{
    (void)scope;
}
static inline void nl_mark(const char *text)
{
    (void)text;
}
static inline void nl_mark_event(const char *text, const char *category)
{
    (void)text;
    (void)category;
}
static inline void nl_counter(const char *text, double value)
{
    (void)text;
    (void)value;
}
static inline void nl_counter_unit(const char *text, double value, const char *unit)
{
    (void)text;
    (void)value;
    (void)unit;
}
static inline uint64_t nl_range_start(const char *text, const char *lane)
{
    (void)text;
    (void)lane;
    return 0;
}
static inline void nl_range_end(uint64_t range)
{
    (void)range;
}
static inline void nl_flow_out(uint64_t id, const char *text)
{
    (void)id;
    (void)text;
}
static inline void nl_flow_in(uint64_t id, const char *text)
{
    (void)id;
    (void)text;
}
static inline uint64_t nl_step_begin(int64_t index)
{
    (void)index;
    return 0;
}
static inline void nl_thread_name(const char *text)
{
    (void)text;
}
static inline void nl_record(int on)
{
    (void)on;
}

struct nl_site {
    const char *text, *category;
    uint32_t kind, name, category_name;
};
static inline uint64_t nl_site_begin(struct nl_site *site)
{
    (void)site;
    return 0;
}

#endif

/* ---- scopes that end with their block ---- */

#define NL_JOIN2_(a, b) a##b
#define NL_JOIN_(a, b)  NL_JOIN2_(a, b)

#ifdef __cplusplus
struct nl_scope_guard {
    uint64_t scope;
    explicit nl_scope_guard(uint64_t begun) : scope(begun)
    {
    }
    ~nl_scope_guard()
    {
        nl_scope_end(scope);
    }
    nl_scope_guard(const nl_scope_guard &) = delete;
    nl_scope_guard &operator=(const nl_scope_guard &) = delete;
};
#define NL_GUARD_(value, number) nl_scope_guard NL_JOIN_(nl_guard_, number)(value)
#else
static inline __attribute__((unused)) void nl_scope_cleanup_(const uint64_t *scope)
{
    nl_scope_end(*scope);
}
#define NL_GUARD_(value, number)                                                                   \
    __attribute__((cleanup(nl_scope_cleanup_), unused)) const uint64_t NL_JOIN_(nl_guard_,         \
                                                                                number) = (value)
#endif

#define NL_SITE_(text, category, kind, number)                                                     \
    static struct nl_site NL_JOIN_(nl_site_, number) = {text, category, kind, 0, 0};               \
    NL_GUARD_(nl_site_begin(&NL_JOIN_(nl_site_, number)), number)

#define NL_SCOPE(text)                    NL_SITE_(text, 0, NL_CLASS_SCOPE, __COUNTER__)
#define NL_SCOPE_CATEGORY(text, category) NL_SITE_(text, category, NL_CLASS_SCOPE, __COUNTER__)
#define NL_FUNCTION()                     NL_SITE_(__func__, 0, NL_CLASS_SCOPE, __COUNTER__)
#define NL_LAYER(text)                    NL_SITE_(text, 0, NL_CLASS_LAYER, __COUNTER__)
#define NL_OPERATOR(text)                 NL_SITE_(text, 0, NL_CLASS_OPERATOR, __COUNTER__)
#define NL_STEP(index)                    NL_GUARD_(nl_step_begin(index), __COUNTER__)
#define NL_SCOPE_TEXT(text)               /* made at run time */ NL_GUARD_(nl_scope_begin(text), __COUNTER__)

#endif
