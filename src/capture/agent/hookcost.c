/* How often hooks ran, and what one costs: see hookcalls.h. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "capture/agent/agent.h"
#include "capture/agent/hookcost.h"

#define EXPORTED __attribute__((visibility("default")))
#define PAIRS    200
#define ROUNDS   5

/* A plain increment: hooks run one at a time (the GIL) or may be missed. */
static void add_to_counter(uint64_t *sum, uint64_t more)
{
    __atomic_store_n(sum, __atomic_load_n(sum, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
}

static void ran(uint32_t hook, uint64_t times)
{
    struct nl_rec_head *head = nl_agent.file.head;
    bool measured = nl_agent.scratch && nl_agent.scratch == nl_agent_own;
    if (head && hook < NL_REC_HOOK_COUNT && !measured)
        add_to_counter(&head->hooks.ran[hook], times);
}

static int claim(uint32_t hook)
{
    uint64_t none = 0;
    if (hook >= NL_REC_HOOK_COUNT || !agent_ready() || !*nl_agent.gate || nl_agent.scratch)
        return 0;
    return __atomic_compare_exchange_n(&nl_agent.control->hook_ps[hook], &none,
                                       NL_CONTROL_MEASURING, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

/* A thread's state and its block, in memory that is there at once: faults
 * would be measured, too. */
static struct thread *make_scratch(void)
{
    size_t bytes = 4096 + NL_REC_BLOCK_BYTES;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    _Static_assert(sizeof(struct thread) <= 4096, "a page for the state");
    if (memory == MAP_FAILED)
        return NULL;
    struct thread *thread = (struct thread *)(void *)memory;
    thread->block = (struct nl_rec_block *)(void *)(memory + 4096);
    return thread;
}

int hookcost_scratch_begin(void)
{
    struct agent *agent = &nl_agent;
    struct thread *scratch = agent->scratch ? agent->scratch : make_scratch();
    if (!scratch)
        return 0;
    *scratch = (struct thread){.block = scratch->block,
                               .payload = recfile_payload(scratch->block),
                               .room = RECFILE_ROOM,
                               .number = 1,
                               .retry_at = UINT64_MAX, /* it takes no block of the recording */
                               .state = THREAD_IDLE};
    agent->scratch = scratch;
    agent->instead = nl_agent_own;
    nl_agent_own = scratch;
    return 1;
}

uint32_t hookcost_scratch_end(void)
{
    uint32_t events = nl_agent.scratch->events;
    nl_agent_own = nl_agent.instead;
    return events;
}

static void cost(uint32_t hook, uint64_t ps)
{
    struct thread *scratch = nl_agent.scratch;
    if (hook < NL_REC_HOOK_COUNT)
        __atomic_store_n(&nl_agent.control->hook_ps[hook], ps ? ps : NL_CONTROL_UNMEASURED,
                         __ATOMIC_RELAXED);
    nl_agent.scratch = NULL;
    if (scratch)
        munmap(scratch, 4096 + NL_REC_BLOCK_BYTES);
}

static void started(uint64_t ns)
{
    if (agent_ready())
        add_to_counter(&nl_agent.file.head->hooks.start_ns, ns);
}

EXPORTED const struct nl_hook_calls *nl_capture_hooks(void);

/* NULL: this process does not record. */
EXPORTED const struct nl_hook_calls *nl_capture_hooks(void)
{
    static const struct nl_hook_calls calls = {.size = sizeof calls,
                                               .ran = ran,
                                               .claim = claim,
                                               .scratch_begin = hookcost_scratch_begin,
                                               .scratch_end = hookcost_scratch_end,
                                               .cost = cost,
                                               .started = started};
    return agent_ready() ? &calls : NULL;
}

void hookcost_measure(uint32_t hook, void (*pair)(void))
{
    int64_t least = INT64_MAX;
    if (!claim(hook))
        return;
    for (int round = 0; round < ROUNDS && hookcost_scratch_begin(); round++) {
        int64_t before = ticks_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < PAIRS; i++)
            pair();
        int64_t ns = ticks_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
        if (hookcost_scratch_end() == 2 * PAIRS && ns < least)
            least = ns;
    }
    cost(hook, least < INT64_MAX && least > 0 ? (uint64_t)least * 1000 / PAIRS : 0);
}
