/* Events into the thread's buffer. */
#include <string.h>

#include "capture/agent.h"

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

uint64_t agent_begin(uint32_t kind, uint32_t depth, uint32_t name, const struct nl_rec_more *more,
                     uint32_t count)
{
    if (!is_open() || kind >= NL_REC_CLASS_COUNT)
        return 0;
    struct thread *thread = agent_enter();
    if (!thread)
        return 0;
    uint64_t token = 0;
    struct nl_rec_cell *cell = agent_cells(thread, 1 + count);
    if (cell) {
        if (depth == AGENT_OWN_DEPTH)
            depth = thread->depth[kind]++;
        uint64_t time = ticks_now(nl_agent.clock);
        *cell = (struct nl_rec_cell){.time = time,
                                     .id = name,
                                     .kind = (uint8_t)(NL_REC_BEGIN + kind),
                                     .cells = (uint8_t)(1 + count),
                                     .depth = (uint16_t)depth};
        put_more(cell, more, count);
        agent_commit(thread, 1 + count);
        token =
            TOKEN_VALID | (uint64_t)kind << 48 | (uint64_t)(uint16_t)depth << 32 | (uint32_t)time;
    }
    agent_leave(thread);
    return token;
}

void agent_end(uint64_t token, uint32_t domain)
{
    uint32_t kind = (uint32_t)(token >> 48) & 63, depth = (uint32_t)(token >> 32) & 0xffff;
    if (!(token & TOKEN_VALID) || kind >= NL_REC_CLASS_COUNT)
        return;
    struct thread *thread = agent_enter();
    if (!thread)
        return;
    uint32_t count = domain ? 2 : 1;
    struct nl_rec_cell *cell = agent_cells(thread, count);
    thread->depth[kind] = depth;
    if (cell) {
        *cell = (struct nl_rec_cell){.time = ticks_now(nl_agent.clock),
                                     .id = (uint32_t)token,
                                     .kind = (uint8_t)(NL_REC_END + kind),
                                     .cells = (uint8_t)count,
                                     .depth = (uint16_t)depth};
        if (domain)
            put_more(cell, &(struct nl_rec_more){.a = domain}, 1);
        agent_commit(thread, count);
    }
    agent_leave(thread);
}

bool agent_event(uint8_t kind, uint32_t name, const struct nl_rec_more *more, uint32_t count)
{
    if (!is_open() && kind != NL_REC_RANGE_END)
        return false;
    struct thread *thread = agent_enter();
    if (!thread)
        return false;
    struct nl_rec_cell *cell = agent_cells(thread, 1 + count);
    if (cell) {
        *cell = (struct nl_rec_cell){.time = ticks_now(nl_agent.clock),
                                     .id = name,
                                     .kind = kind,
                                     .cells = (uint8_t)(1 + count)};
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
