/*
 * What include/neurolens.h calls: the table nl_capture_v1, and the library's start and end (named
 * to the linker as its init and fini functions, see meson.build).
 */
#include <stdio.h>
#include <string.h>

#include "capture/agent/agent.h"
#include "nlrec/recpython.h"

#define EXPORTED __attribute__((visibility("default")))

_Static_assert((int)NL_CLASS_LIBRARY == (int)NL_REC_CLASS_LIBRARY, "classes have one numbering");

/* The window's state as programs look at it; always open where the library has to look at names to
 * find the trigger. */
static const uint32_t always_open = 1;

static uint64_t scope_begin(uint32_t name, uint32_t kind, uint32_t category)
{
    if (!category)
        return agent_scope_begin(name, kind);
    struct nl_rec_more more[2] = {{.b = category}, {.b = NL_REC_HAS_CATEGORY}};
    return agent_begin(kind, AGENT_OWN_DEPTH, name, more, 2);
}

static void mark(uint32_t name, uint32_t kind, uint32_t category)
{
    struct nl_rec_more more[2] = {{.b = category}, {.b = NL_REC_HAS_CATEGORY}};
    if (kind < NL_REC_CLASS_COUNT)
        (void)agent_event((uint8_t)(NL_REC_MARK + kind), name, more, category ? 2 : 0);
}

static void counter(uint32_t name, double value, uint32_t unit)
{
    struct nl_rec_more more = {.a = unit};
    memcpy(&more.value, &value, sizeof value);
    (void)agent_event(NL_REC_COUNTER, name, &more, 1);
}

static uint64_t range_start(uint32_t name, uint32_t lane)
{
    uint64_t range = agent_range();
    struct nl_rec_more more[2] = {{0}, {.value = range, .a = lane, .b = NL_REC_IS_RANGE}};
    return agent_event(NL_REC_BEGIN + NL_REC_CLASS_SCOPE, name, more, 2) ? range : 0;
}

static void range_end(uint64_t range)
{
    struct nl_rec_more more = {.value = range};
    if (range)
        (void)agent_event(NL_REC_RANGE_END, 0, &more, 1);
}

static void flow(uint64_t id, uint32_t name, int in)
{
    struct nl_rec_more more = {.value = id};
    (void)agent_event(in ? NL_REC_FLOW_IN : NL_REC_FLOW_OUT, name, &more, 1);
}

/* For `top`: where the program is now. */
static void tell_step(struct nl_rec_head *head, int64_t index)
{
    uint64_t now = ticks_now(nl_agent.clock);
    uint64_t before = __atomic_exchange_n(&head->step_begun, now, __ATOMIC_RELAXED);
    __atomic_store_n(&head->step_ticks, now > before ? now - before : 0, __ATOMIC_RELAXED);
    __atomic_store_n(&head->step, index, __ATOMIC_RELAXED);
    __atomic_fetch_add(&head->steps, 1, __ATOMIC_RELAXED);
}

static uint64_t step_begin(int64_t index, uint32_t name)
{
    const struct nl_control *control = nl_agent.control;
    if (control && control->first_step != NL_REC_UNKNOWN) {
        if (index == control->first_step)
            agent_gate(1);
        else if (index >= control->last_step)
            agent_gate(0);
    }
    struct nl_rec_more more[2] = {{.value = (uint64_t)index}, {.b = NL_REC_I64 << 8}};
    uint64_t token = agent_begin(NL_REC_CLASS_STEP, AGENT_OWN_DEPTH, name, more, 2);
    if (token) /* so the file is this process's own, not the one of before a fork */
        tell_step(nl_agent.file.head, index);
    return token;
}

static void record(int on)
{
    agent_gate(on != 0);
}

EXPORTED const struct nl_capture_v1 *nl_capture_v1(void);

/* NULL when this process does not record. */
EXPORTED const struct nl_capture_v1 *nl_capture_v1(void)
{
    static const struct nl_capture_v1 by_gate = {.size = sizeof by_gate,
                                                 .recording = &always_open,
                                                 .name = agent_name,
                                                 .begin = scope_begin,
                                                 .end = agent_scope_end,
                                                 .mark = mark,
                                                 .counter = counter,
                                                 .range_start = range_start,
                                                 .range_end = range_end,
                                                 .flow = flow,
                                                 .step_begin = step_begin,
                                                 .thread_name = agent_thread_name,
                                                 .record = record};
    struct nl_capture_v1 *table = &nl_agent.calls;
    agent_start(NULL);
    if (!agent_ready() && !agent_becomes())
        return NULL;
    if (!table->size) {
        struct nl_capture_v1 filled = by_gate;
        if (!nl_agent.control->trigger[0])
            filled.recording = nl_agent.gate;
        filled.size = 0;
        *table = filled;
        __atomic_store_n(&table->size, sizeof *table, __ATOMIC_RELEASE);
    }
    return table;
}

EXPORTED void nl_capture_python(const char *problem);

/* Called by the hooks of the Python package, once: they are installed (NULL), or cannot be. */
EXPORTED void nl_capture_python(const char *problem)
{
    agent_start(NULL);
    if (!agent_ready())
        return;
    nl_agent.python |= NL_REC_PYTHON_HERE | NL_REC_PYTHON_HOOKED;
    __atomic_fetch_or(&nl_agent.file.head->python, nl_agent.python, __ATOMIC_RELAXED);
    if (problem)
        mark(agent_name(problem, strlen(problem)), NL_CLASS_LIBRARY,
             agent_name(NL_REC_PROBLEM, sizeof NL_REC_PROBLEM - 1));
}

/* Run by the dynamic linker when the library is loaded and when the process ends. */
EXPORTED void nl_capture_loaded(int count, char **words);
EXPORTED void nl_capture_unloaded(void);

#if defined(__GLIBC__) /* which gives them to such functions */
EXPORTED void nl_capture_loaded(int count, char **words)
{
    (void)count;
    agent_start(words);
}
#else
EXPORTED void nl_capture_loaded(int count, char **words)
{
    (void)count;
    (void)words;
    agent_start(NULL);
}
#endif

EXPORTED void nl_capture_unloaded(void)
{
    agent_finish();
}
