/* Events into the thread's buffer. */
#include <string.h>

#include "capture/agent/agent.h"

#define TOKEN_VALID ((uint64_t)1 << 63)

static inline bool is_open(void)
{
    return __builtin_expect(*nl_agent.gate != 0, 1);
}

static inline void put_more(struct nl_rec_cell *cell, const struct nl_rec_more *more,
                            uint32_t count)
{
    if (count)
        memcpy(cell + 1, more, count * sizeof *more);
}

static inline uint64_t token_of(uint32_t kind, uint32_t depth, uint64_t time)
{
    return TOKEN_VALID | (uint64_t)kind << 48 | (uint64_t)(uint16_t)depth << 32 | (uint32_t)time;
}

/* The cell in two stores. */
static inline void put_cell(struct nl_rec_cell *cell, uint64_t time, uint32_t id, uint32_t kind,
                            uint32_t cells, uint32_t depth)
{
    uint64_t words[2] = {time, id | (uint64_t)(uint8_t)kind << 32 | (uint64_t)cells << 40 |
                                   (uint64_t)(uint16_t)depth << 48};
    memcpy(cell, words, sizeof words);
}

uint64_t agent_begin(uint32_t kind, uint32_t depth, uint32_t name, const struct nl_rec_more *more,
                     uint32_t count)
{
    kind &= NL_REC_MAX_CLASSES - 1;
    struct thread *thread = is_open() ? agent_enter() : NULL;
    if (!thread)
        return 0;
    uint64_t token = 0;
    struct nl_rec_cell *cell = agent_cells(thread, 1 + count);
    if (cell) {
        if (depth == AGENT_OWN_DEPTH)
            depth = thread->depth[kind]++;
        uint64_t time = ticks_now(nl_agent.clock);
        put_cell(cell, time, name, NL_REC_BEGIN + kind, 1 + count, depth);
        put_more(cell, more, count);
        agent_commit(thread, 1 + count);
        token = token_of(kind, depth, time);
    }
    agent_leave(thread);
    return token;
}

void agent_end(uint64_t token, uint32_t domain)
{
    uint32_t kind = (uint32_t)(token >> 48) & (NL_REC_MAX_CLASSES - 1);
    uint32_t depth = (uint32_t)(token >> 32) & 0xffff;
    struct thread *thread = token & TOKEN_VALID ? agent_enter() : NULL;
    if (!thread)
        return;
    uint32_t count = domain ? 2 : 1;
    struct nl_rec_cell *cell = agent_cells(thread, count);
    thread->depth[kind] = depth;
    if (cell) {
        put_cell(cell, ticks_now(nl_agent.clock), (uint32_t)token, NL_REC_END + kind, count, depth);
        if (domain)
            put_more(cell, &(struct nl_rec_more){.a = domain}, 1);
        agent_commit(thread, count);
    }
    agent_leave(thread);
}

/* Ready for a cell, without anything to be arranged first? */
static inline bool is_ready(const struct thread *thread)
{
    return thread && thread->state == THREAD_IDLE && thread->used + NL_REC_CELL <= thread->room;
}

/* The usual case of agent_begin and agent_end, written so that it saves no registers. */
uint64_t agent_scope_begin(uint32_t name, uint32_t kind)
{
    struct thread *thread = nl_agent_own;
    kind &= NL_REC_MAX_CLASSES - 1;
    if (__builtin_expect(!*nl_agent.gate || !is_ready(thread), 0))
        return agent_begin(kind, AGENT_OWN_DEPTH, name, NULL, 0);
    thread->state = THREAD_BUSY;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint32_t depth = thread->depth[kind]++;
    uint64_t time = ticks_now(nl_agent.clock);
    put_cell((void *)(thread->payload + thread->used), time, name, NL_REC_BEGIN + kind, 1, depth);
    agent_commit(thread, 1);
    agent_leave(thread);
    return token_of(kind, depth, time);
}

void agent_scope_end(uint64_t token)
{
    uint64_t time = ticks_now(nl_agent.clock);
    struct thread *thread = nl_agent_own;
    if (__builtin_expect(!(token & TOKEN_VALID) || !is_ready(thread), 0)) {
        agent_end(token, 0);
        return;
    }
    uint32_t kind = (uint32_t)(token >> 48) & (NL_REC_MAX_CLASSES - 1);
    uint32_t depth = (uint32_t)(token >> 32) & 0xffff;
    thread->state = THREAD_BUSY;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->depth[kind] = depth;
    put_cell((void *)(thread->payload + thread->used), time, (uint32_t)token, NL_REC_END + kind, 1,
             depth);
    agent_commit(thread, 1);
    agent_leave(thread);
}

bool agent_event(uint8_t kind, uint32_t name, const struct nl_rec_more *more, uint32_t count)
{
    bool always = kind == NL_REC_RANGE_END || kind == NL_REC_CATEGORY_NAME ||
                  kind == NL_REC_MARK + NL_REC_CLASS_LIBRARY;
    struct thread *thread = always || is_open() ? agent_enter() : NULL;
    if (!thread)
        return false;
    uint64_t time = ticks_now(nl_agent.clock); /* first: what it is about is before, not after */
    struct nl_rec_cell *cell = agent_cells(thread, 1 + count);
    if (cell) {
        put_cell(cell, time, name, kind, 1 + count, 0);
        put_more(cell, more, count);
        agent_commit(thread, 1 + count);
    }
    agent_leave(thread);
    return cell != NULL;
}

uint64_t agent_range(void)
{
    return (uint64_t)nl_agent.pid << 32 | __atomic_add_fetch(&nl_agent.ranges, 1, __ATOMIC_RELAXED);
}
