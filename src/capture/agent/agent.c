/* The state of recording in a process: start, forks, threads' beginnings and ends. */
#define _GNU_SOURCE
#include "capture/agent/agent.h"
#include "capture/agent/selfcost.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/chars.h"
#include "capture/agent/pythonhere.h"
#include "capture/shared/fewpages.h"
#include "nlrec/recgpu.h"

#define RETRY_TICKS  ((uint64_t)4000000) /* 1 to 4 ms */
#define THREAD_BYTES 4096u
#define COMM_BYTES   16u
#define CLAIM_YIELDS 100000u /* then the recorder was killed while it made the file, or is slow */
#define THREAD_CELLS 2u
#define SCRIPT_WORDS 2u /* an option of the interpreter, and the script */

_Static_assert(sizeof(struct thread) <= THREAD_BYTES, "a thread's state is a page");

static const uint32_t closed = 0;
struct agent nl_agent = {.gate = &closed};
_Thread_local struct thread *nl_agent_own;
/* Inside agent_name: a signal handler that comes here then must not wait for the lock. */
static _Thread_local uint32_t naming __attribute__((tls_model("initial-exec")));
/* Making a forked child's file: likewise. */
static _Thread_local uint32_t becoming __attribute__((tls_model("initial-exec")));

/* ---- small arrays of numbers that any thread takes from and puts to ---- */

static uint64_t unpark(uint64_t *slots)
{
    for (unsigned i = 0; i < AGENT_PARKED; i++) {
        if (!__atomic_load_n(&slots[i], __ATOMIC_RELAXED))
            continue;
        uint64_t value = __atomic_exchange_n(&slots[i], 0, __ATOMIC_ACQ_REL);
        if (value)
            return value;
    }
    return 0;
}

static bool park(uint64_t *slots, uint64_t value)
{
    for (unsigned i = 0; i < AGENT_PARKED; i++) {
        uint64_t none = 0;
        if (__atomic_compare_exchange_n(&slots[i], &none, value, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

/* ---- the process ---- */

static int64_t number_in(const char *const *variables)
{
    for (; *variables; variables++) {
        const char *text = few_variable(environ, *variables);
        char *end;
        if (!text || !nl_is_digit(*text))
            continue;
        long value = strtol(text, &end, 10);
        if (!*end && value >= 0 && value < 1 << 30)
            return value;
    }
    return NL_REC_UNKNOWN;
}

/* What launchers of distributed jobs give their processes. */
static void read_ranks(struct agent *agent)
{
    static const char *const rank[] = {
        "RANK",        "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
        "PALS_RANKID", "SLURM_PROCID",         NULL};
    static const char *const local[] = {"LOCAL_RANK",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "MPI_LOCALRANKID",
                                        "MV2_COMM_WORLD_LOCAL_RANK",
                                        "PALS_LOCAL_RANKID",
                                        "SLURM_LOCALID",
                                        NULL};
    static const char *const world[] = {"WORLD_SIZE",          "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                        "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS",         NULL};
    agent->rank = number_in(rank);
    agent->local_rank = number_in(local);
    agent->world = number_in(world);
}

static void copy_name(struct agent *agent, const char *path)
{
    few_copy(agent->program, sizeof agent->program, few_name(path));
}

/* The path that was executed, where it is the program's own: there (a descriptor that was
 * executed may be closed) and not a link to it nor a script, whose path is among the words
 * that its interpreter gets. */
static const char *path_executed(char *const *words)
{
    const char *path = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    char target[1];
    if (!path || !words || syscall(SYS_readlinkat, AT_FDCWD, path, target, sizeof target) >= 0 ||
        errno != EINVAL)
        return NULL;
    for (unsigned i = 1; words[0] && words[i] && i <= SCRIPT_WORDS; i++)
        if (strcmp(words[i], path) == 0)
            return NULL;
    return path;
}

/* In a separate function: room on the stack is memory that most programs have not touched yet. */
static __attribute__((noinline)) void copy_name_of_link(struct agent *agent)
{
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    path[len > 0 ? len : 0] = '\0';
    copy_name(agent, path);
}

static void read_program(struct agent *agent, char *const *words)
{
    int before = errno;
    const char *path = path_executed(words);
    if (path)
        copy_name(agent, path);
    else
        copy_name_of_link(agent);
    errno = before;
    struct utsname machine;
    bool told = syscall(SYS_uname, &machine) == 0;
    few_copy(agent->host, sizeof agent->host, told ? machine.nodename : "");
}

/* The file that the recorder made for this process, or is making. */
static bool claim_file(struct agent *agent, bool *refused)
{
    struct nl_control *control = agent->control;
    uint32_t place = agent->place - 1;
    uint8_t told = NL_ANNOUNCED;
    if (!agent->place || agent->announcer != (uint32_t)getpid() ||
        control->announcements[place].ticket != agent->ticket)
        return false;
    if (__atomic_compare_exchange_n(&control->announced[place], &told, NL_ANNOUNCED_OWN, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return false;
    for (unsigned i = 0; told == NL_ANNOUNCED_MAKING && i < CLAIM_YIELDS; i++) {
        sched_yield();
        told = __atomic_load_n(&control->announced[place], __ATOMIC_ACQUIRE);
    }
    /* Still: the place is taken back, and a recorder that is only slow throws its file away. */
    if (told == NL_ANNOUNCED_MAKING &&
        __atomic_compare_exchange_n(&control->announced[place], &told, NL_ANNOUNCED_OWN, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return false;
    *refused = told == NL_ANNOUNCED_REFUSED;
    return told == NL_ANNOUNCED_MADE && recfile_claim(&agent->file, agent->folder, control, place);
}

/* Makes this process's file. */
static bool open_file(struct agent *agent)
{
    struct recfile_facts facts = {.program = agent->program,
                                  .host = agent->host,
                                  .pid = getpid(),
                                  .parent = getppid(),
                                  .rank = agent->rank,
                                  .local_rank = agent->local_rank,
                                  .world = agent->world};
    bool refused = false;
    bool made = claim_file(agent, &refused);
    if (!made && !refused) {
        made = recfile_make(&agent->file, agent->folder, agent->control, &facts);
        __atomic_fetch_add(made ? &agent->control->attached : &agent->control->refused, 1,
                           __ATOMIC_RELAXED);
    }
    if (!made)
        return false;
    __atomic_fetch_or(&agent->file.head->python, agent->python, __ATOMIC_RELAXED);
    if (agent->announcer == (uint32_t)facts.pid) {
        agent->file.head->ticket = agent->ticket;
        agent->file.head->announced = agent->place;
    }
    return true;
}

/* Tells the recorder that this process is there. Where there is no place left, and in another PID
 * namespace, in which the recorder could not find it, the process makes its file at once. */
static void announce(struct agent *agent, bool near)
{
    struct nl_control *control = agent->control;
    uint64_t ticket = __atomic_add_fetch(&control->tickets, 1, __ATOMIC_RELAXED);
    int32_t pid = (int32_t)syscall(SYS_getpid);
    agent->ticket = ticket;
    agent->announcer = (uint32_t)pid;
    if (!near && control->pid_namespace != control_pid_namespace())
        return;
    for (uint32_t place = 0; place < NL_CONTROL_PLACES; place++) {
        uint8_t none = NL_ANNOUNCED_FREE;
        if (__atomic_load_n(&control->announced[place], __ATOMIC_RELAXED) != NL_ANNOUNCED_FREE ||
            !__atomic_compare_exchange_n(&control->announced[place], &none, NL_ANNOUNCED_TAKEN,
                                         false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        struct nl_announcement *mine = &control->announcements[place];
        *mine = (struct nl_announcement){.ticket = ticket,
                                         .rank = agent->rank,
                                         .local_rank = agent->local_rank,
                                         .world = agent->world,
                                         .pair = ticks_pair(agent->clock, 8),
                                         .pid = pid,
                                         .parent = (int32_t)syscall(SYS_getppid),
                                         .python = agent->python};
        few_copy(mine->program, sizeof mine->program, agent->program);
        few_copy(mine->host, sizeof mine->host, agent->host);
        agent->place = place + 1;
        __atomic_store_n(&control->announced[place], NL_ANNOUNCED, __ATOMIC_RELEASE);
        return;
    }
}

void agent_start(char *const *words)
{
    struct agent *agent = &nl_agent;
    const char *folder = few_variable(environ, NL_CONTROL_VARIABLE);
    bool near;
    if (agent->state != AGENT_NEW)
        return;
    agent->state = AGENT_CANNOT;
    if (!folder || folder[0] != '/' || few_length(folder) > NL_CONTROL_PATH)
        return;
    agent->control = control_find(folder, &near);
    if (!agent->control)
        return;
    few_copy(agent->folder, sizeof agent->folder, folder);
    agent->clock = agent->control->clock;
    agent->python = pythonhere_look();
    read_ranks(agent);
    read_program(agent, words);
    agent_measure();
    announce(agent, near);
    agent->gate = &agent->control->gate;
    __atomic_store_n(&agent->state, AGENT_RECORDS, __ATOMIC_RELEASE);
    if (!agent->place)
        (void)agent_ready();
}

/* A process that was announced and has no event leaves a word where the recorder looks. */
static void say_goodbye(struct agent *agent, uint32_t pid)
{
    struct nl_announcement *mine = &agent->control->announcements[agent->place - 1];
    if (agent->announcer != pid || mine->ticket != agent->ticket)
        return;
    mine->last = ticks_pair(agent->clock, 8);
    __atomic_store_n(&mine->ended, 1, __ATOMIC_RELEASE);
}

void agent_finish(void)
{
    struct agent *agent = &nl_agent;
    if (agent->state != AGENT_RECORDS)
        return;
    uint32_t pid = (uint32_t)syscall(SYS_getpid);
    if (!agent->pid && agent->place)
        say_goodbye(agent, pid);
    if (agent->pid != pid)
        return;
    agent->file.head->last = ticks_pair(agent->clock, 8);
    __atomic_store_n(&agent->file.head->end, NL_REC_EXITED, __ATOMIC_RELEASE);
}

static void thread_end(void *state);

/* The first event of a process. In a forked child its parent's file is forgotten, its own made. */
static void become(struct agent *agent, uint32_t pid)
{
    recfile_forget(&agent->file);
    memset(agent->parked_blocks, 0, sizeof agent->parked_blocks);
    memset(agent->parked_threads, 0, sizeof agent->parked_threads);
    agent->threads = 0;
    if (!agent->has_key) /* not at the start: it writes to a page of the C library */
        agent->has_key = pthread_key_create(&agent->thread_key, thread_end) == 0;
    if (agent->has_key && (agent->texts.slots || texts_init(&agent->texts)) && open_file(agent)) {
        texts_rewrite(&agent->texts, &agent->file);
    } else {
        agent->gate = &closed;
        agent->state = AGENT_CANNOT;
    }
    __atomic_store_n(&agent->pid, pid, __ATOMIC_RELEASE);
}

bool agent_ready(void)
{
    struct agent *agent = &nl_agent;
    uint32_t pid = (uint32_t)getpid();
    if (__atomic_load_n(&agent->state, __ATOMIC_ACQUIRE) != AGENT_RECORDS)
        return false;
    while (__atomic_load_n(&agent->pid, __ATOMIC_ACQUIRE) != pid) {
        if (becoming)
            return false;
        uint32_t holder = __atomic_load_n(&agent->lock, __ATOMIC_RELAXED);
        if (holder == pid || !__atomic_compare_exchange_n(&agent->lock, &holder, pid, false,
                                                          __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            sched_yield();
            continue;
        }
        becoming = 1;
        if (agent->pid != pid)
            become(agent, pid);
        becoming = 0;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        uint64_t early = __atomic_exchange_n(&agent->early, 0, __ATOMIC_RELAXED);
        if (early && agent->state == AGENT_RECORDS)
            recfile_drop(&agent->file, NL_REC_DROP_SIGNAL, early);
        __atomic_store_n(&agent->lock, 0, __ATOMIC_RELEASE);
    }
    return agent->state == AGENT_RECORDS;
}

bool agent_becomes(void)
{
    return becoming;
}

/* ---- threads ---- */

static void put_cell(struct thread *thread, uint8_t kind, uint32_t id, const uint64_t *value)
{
    struct nl_rec_cell cell = {
        .time = ticks_now(nl_agent.clock), .id = id, .kind = kind, .cells = value ? 2 : 1};
    memcpy(thread->payload + thread->used, &cell, sizeof cell);
    thread->used += NL_REC_CELL;
    if (value) {
        struct nl_rec_more more = {.value = *value};
        memcpy(thread->payload + thread->used, &more, sizeof more);
        thread->used += NL_REC_CELL;
    }
    __atomic_store_n(&thread->block->used, thread->used, __ATOMIC_RELEASE);
}

/* The name that the kernel has, when it is a new one. */
static void put_comm(struct thread *thread)
{
    char name[COMM_BYTES + 1] = "";
    if (thread->number == NL_REC_DRIVER || prctl(PR_GET_NAME, name) != 0 ||
        memcmp(name, thread->name, COMM_BYTES) == 0 || thread->used + NL_REC_CELL > thread->room)
        return;
    memcpy(thread->name, name, COMM_BYTES);
    put_cell(thread, NL_REC_THREAD_NAME, agent_name(name, strlen(name)), NULL);
}

static void set_block(struct thread *thread, struct nl_rec_block *block)
{
    uint64_t id = (uint64_t)syscall(SYS_gettid);
    bool first = thread->number == 0;
    if (first) {
        thread->number = __atomic_add_fetch(&nl_agent.threads, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&nl_agent.file.head->threads, 1, __ATOMIC_RELAXED);
    }
    thread->block = block;
    thread->payload = recfile_payload(block);
    thread->used = block->used;
    thread->room = RECFILE_ROOM;
    thread->events = block->events;
    put_cell(thread, NL_REC_THREAD, thread->number, &id);
    if (thread->lost)
        put_cell(thread, NL_REC_LOST, 0, &thread->lost);
    thread->lost = 0;
    if (first)
        put_comm(thread);
}

/* A block that another thread left with room; only for a thread's first one, so that its blocks are
 * in order. */
static struct nl_rec_block *parked_block(const struct thread *thread)
{
    if (thread->number)
        return NULL;
    return (struct nl_rec_block *)(uintptr_t)unpark(nl_agent.parked_blocks);
}

bool agent_refill(struct thread *thread, uint32_t bytes)
{
    struct agent *agent = &nl_agent;
    uint64_t now = ticks_now(agent->clock);
    struct nl_rec_block *block = NULL;
    if (now >= thread->retry_at) {
        block = parked_block(thread);
        if (!block)
            block = recfile_take(&agent->file, NL_REC_EVENTS);
        thread->retry_at = block ? 0 : now + RETRY_TICKS;
    }
    if (!block) {
        thread->lost++;
        recfile_drop(&agent->file, NL_REC_DROP_ROOM, 1);
        return false;
    }
    if (thread->block)
        recfile_retire(&agent->file, thread->block, thread->events);
    set_block(thread, block);
    return thread->used + bytes <= thread->room || agent_refill(thread, bytes);
}

struct thread *agent_thread_begin(void)
{
    struct agent *agent = &nl_agent;
    if (!agent_ready()) {
        if (becoming) /* a signal handler: counted in the file that is being made */
            __atomic_fetch_add(&agent->early, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    struct thread *thread = (struct thread *)(uintptr_t)unpark(agent->parked_threads);
    if (!thread) {
        void *page =
            mmap(NULL, THREAD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED || madvise(page, THREAD_BYTES, MADV_WIPEONFORK) != 0) {
            recfile_drop(&agent->file, NL_REC_DROP_ROOM, 1);
            return NULL;
        }
        thread = page;
    }
    *thread = (struct thread){.state = THREAD_IDLE};
    (void)pthread_setspecific(agent->thread_key, thread);
    nl_agent_own = thread;
    return thread;
}

void agent_interrupted(void)
{
    recfile_drop(&nl_agent.file, NL_REC_DROP_SIGNAL, 1);
}

/* The thread ends: what is left of its block goes to the next one that begins. */
static void thread_end(void *state)
{
    struct agent *agent = &nl_agent;
    struct thread *thread = state;
    nl_agent_own = NULL;
    if (thread->state != THREAD_IDLE || agent->pid != (uint32_t)getpid())
        return;
    if (thread->block) {
        put_comm(thread);
        if (thread->used + NL_REC_CELL <= thread->room)
            put_cell(thread, NL_REC_THREAD_END, 0, NULL);
        thread->block->events = thread->events;
        bool roomy = thread->room - thread->used > RECFILE_ROOM / 16;
        if (!roomy || !park(agent->parked_blocks, (uintptr_t)thread->block))
            recfile_retire(&agent->file, thread->block, thread->events);
    }
    thread->state = THREAD_NONE;
    if (!park(agent->parked_threads, (uintptr_t)thread))
        munmap(thread, THREAD_BYTES);
}

/* ---- names, gate ---- */

/* The name that `--trigger` waits for opens the window. */
static void look_for_trigger(const char *text, size_t bytes)
{
    const char *trigger = nl_agent.control->trigger;
    if (strlen(trigger) == bytes && memcmp(trigger, text, bytes) == 0)
        agent_gate(1);
}

uint32_t agent_name(const char *text, size_t bytes)
{
    struct agent *agent = &nl_agent;
    struct thread *thread = nl_agent_own;
    if (!text || __atomic_load_n(&agent->state, __ATOMIC_ACQUIRE) != AGENT_RECORDS)
        return 0;
    if ((!thread || thread->state == THREAD_NONE) && !agent_ready())
        return 0;
    if (naming) {
        uint32_t known = texts_known(&agent->texts, text, bytes);
        if (!known)
            recfile_drop(&agent->file, NL_REC_DROP_NAME, 1);
        return known;
    }
    naming = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint32_t id = texts_id(&agent->texts, &agent->file, text, bytes, agent->pid);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    naming = 0;
    if (__builtin_expect(agent->control->trigger[0] != 0, 0))
        look_for_trigger(text, bytes);
    return id;
}

void agent_thread_name(uint32_t name)
{
    struct thread *thread = agent_enter();
    if (!thread)
        return;
    if (thread->used + NL_REC_CELL <= thread->room || agent_refill(thread, NL_REC_CELL))
        put_cell(thread, NL_REC_THREAD_NAME, name, NULL);
    agent_leave(thread);
}

void agent_gate(uint32_t open)
{
    if (nl_agent.control)
        (void)control_gate(nl_agent.control, open);
}
