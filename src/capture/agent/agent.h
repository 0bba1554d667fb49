/*
 * agent — recording inside a process: its file, its names, and a buffer per thread.
 *
 * Sources of events (the scope API, NVTX, later CUPTI and Python) write through the functions here:
 *
 *     struct thread *thread = agent_enter();          // NULL: cannot record; the drop is counted
 *     if (thread) {
 *         struct nl_rec_cell *cell = agent_cells(thread, 1);
 *         if (cell) { *cell = ...; agent_commit(thread, 1); }
 *         agent_leave(thread);
 *     }
 *
 * or through agent_begin and its kin. The hot path is a few loads and stores of the thread's own
 * memory: no lock, no atomic read-modify-write, no system call. Once per 4,092 cells it takes a new
 * block (recfile.h).
 *
 * A forked child is recognised by its empty thread states (the kernel wipes them) and gets its own
 * file at its first event. There is one `struct agent`: the library is a guest in a process and
 * must be reachable from any of its threads. It is the only mutable global of this room.
 */
#ifndef NL_AGENT_H
#define NL_AGENT_H

#include <neurolens.h>

#include "capture/agent/texts.h"
#include "capture/shared/ticks.h"

#define AGENT_PARKED    64u
#define MAX_THREAD_NVTX 128u

/* NONE: the state does not belong to this process (yet): the kernel clears it in a forked child. */
enum thread_state {
    THREAD_NONE,
    THREAD_IDLE,
    THREAD_BUSY /* between agent_enter and agent_leave */
};

/* What a thread needs to write; in a separate page that is all zeros in a forked child. */
struct thread {
    struct nl_rec_block *block; /* NULL: none yet */
    char *payload;
    uint32_t used, room;
    uint32_t events;   /* in this block */
    uint32_t state;    /* enum thread_state */
    uint32_t number;   /* NL_REC_DRIVER: what is written is not about this thread */
    uint64_t lost;     /* events dropped since the last LOST cell */
    uint64_t retry_at; /* no new block is tried for before */
    char name[16];
    uint32_t depth[NL_REC_MAX_CLASSES];
    uint32_t nvtx_depth, nvtx_deeper; /* NVTX push/pop: open ones, and those too deep to be kept */
    uint64_t nvtx_token[MAX_THREAD_NVTX];
    uint32_t nvtx_domain[MAX_THREAD_NVTX];
};

enum agent_state { AGENT_NEW, AGENT_RECORDS, AGENT_CANNOT };

struct gpu;

struct agent {
    const volatile uint32_t *gate; /* of the control page, or of `closed` */
    uint32_t state, lock;
    uint32_t pid; /* whose file it is; 0: none was made yet */
    uint32_t clock;
    uint32_t threads; /* numbers given out */
    uint64_t early;   /* events of signal handlers while the file was made */
    uint32_t ranges;
    struct nl_control *control;
    struct texts texts;
    int64_t rank, local_rank, world;
    uint64_t ticket;    /* of this program, */
    uint32_t announcer; /* in this process; */
    uint32_t place;     /* among the announcements, + 1; 0 = not announced */
    uint32_t python;    /* enum nl_rec_python */
    unsigned thread_key, has_key;
    struct thread *scratch, *instead; /* while a hook is measured, and what it stands in for */
    struct gpu *gpu;                  /* recording of GPU work (gpu.h); NULL until CUDA is used */
    struct rocm *rocm;                /* likewise of AMD's (rocmstate.h) */
    char program[256], host[64], folder[NL_CONTROL_PATH + 1];
    /* A program that records nothing writes to nothing from here on, so all that
     * it writes is in one page. */
    struct recfile file;
    uint64_t parked_blocks[AGENT_PARKED];  /* not full, their threads ended */
    uint64_t parked_threads[AGENT_PARKED]; /* states to use again */
    struct nl_capture_v1 calls;            /* what scopes call, once filled */
};
extern struct agent nl_agent;

/* When the library is loaded and when the process ends; both may be called again and do nothing.
 * `words` are the program's, NULL-terminated; NULL = not known here. */
void agent_start(char *const *words);
void agent_finish(void);

/* True when this process records. At the first call, and in a forked child, this makes its file. */
bool agent_ready(void);

/* True in a signal handler that interrupted the making of the file: what it
 * records is counted, not kept. */
bool agent_becomes(void);

/* The calling thread's state; NULL before its first event and after its last. */
extern _Thread_local struct thread *nl_agent_own __attribute__((tls_model("initial-exec")));

/* Makes it. NULL: there is none to be had. */
struct thread *agent_thread_begin(void);

/* An event that interrupts the writing of another (a signal handler's) is counted and left out. */
void agent_interrupted(void);

/* The calling thread's state, marked busy; NULL when there is none to be had, or when it is busy
 * already: then it is counted. */
static inline struct thread *agent_enter(void)
{
    struct thread *thread = nl_agent_own;
    if (__builtin_expect(!thread || thread->state != THREAD_IDLE, 0)) {
        if (thread && thread->state == THREAD_BUSY) {
            agent_interrupted();
            return NULL;
        }
        thread = agent_thread_begin();
        if (!thread)
            return NULL;
    }
    thread->state = THREAD_BUSY;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return thread;
}

static inline void agent_leave(struct thread *thread)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->state = THREAD_IDLE;
}

/* Another block for the thread, with room for `bytes`. Counts the event as dropped when not. */
bool agent_refill(struct thread *thread, uint32_t bytes);

/* Room for `count` cells; NULL: no room, counted. */
static inline struct nl_rec_cell *agent_cells(struct thread *thread, uint32_t count)
{
    uint32_t bytes = count * NL_REC_CELL;
    if (__builtin_expect(thread->used + bytes > thread->room, 0) && !agent_refill(thread, bytes))
        return NULL;
    return (struct nl_rec_cell *)(void *)(thread->payload + thread->used);
}

/* Publishes the cells reserved by agent_cells(). */
static inline void agent_commit(struct thread *thread, uint32_t count)
{
    thread->used += count * NL_REC_CELL;
    thread->events++;
    __atomic_store_n(&thread->block->used, thread->used, __ATOMIC_RELEASE);
}

/*
 * The events. A scope's token is what agent_end wants back: the low half of the time of its begin,
 * its depth, its class; 0 = not recorded. `more` (NULL: none) points to 1 or 2 structs as in
 * recformat.h. All return at once while the window is closed, agent_end excepted.
 */
uint64_t agent_begin(uint32_t kind, uint32_t depth, uint32_t name, const struct nl_rec_more *more,
                     uint32_t count);
void agent_end(uint64_t token, uint32_t domain);
/* The two of them for the scope API: nothing but a name, and the thread's own depth. */
uint64_t agent_scope_begin(uint32_t name, uint32_t kind);
void agent_scope_end(uint64_t token);
/* MARK, COUNTER, FLOW_…, RANGE_END, CATEGORY_NAME, and BEGIN of ranges. False: not recorded. */
bool agent_event(uint8_t kind, uint32_t name, const struct nl_rec_more *more, uint32_t count);
/* A number for a range, unique in the process; never 0. */
uint64_t agent_range(void);
#define AGENT_OWN_DEPTH UINT32_MAX /* depth: the thread's own count for that class */

/* Number of a name, 0 when it cannot be kept. */
uint32_t agent_name(const char *text, size_t bytes);

/* The thread's name, from now on. */
void agent_thread_name(uint32_t name);

/* Opens or closes the window of the whole run. */
void agent_gate(uint32_t open);

#endif
