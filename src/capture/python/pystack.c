/*
 * Thread states and chains of frames. Per thread the lines of memory that the last reading touched
 * are read at once the next time.
 */
#define _GNU_SOURCE
#include "capture/python/pystack.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "capture/python/pycode.h"

#define MAX_THREADS      4096u
#define MAX_INTERPRETERS 256u
#define MAX_LINES        48u
#define TRIES            3u
#define NOT_OURS         3 /* frames with this owner or a higher one stand for no function */
#define MAX_CHAIN        (PYSTACK_FRAMES * 4)
#define TCB_FROM         16u /* where in a thread's control block its number may be */
#define TCB_TO           2048u

struct raw {
    uint64_t code, at;
};

/* A stack as it was read. */
struct reading {
    struct raw *raw;
    const char **texts;
    size_t count, cap;
    bool cut;
};

struct pystack_thread {
    uint64_t address, ident, seen;
    struct pystack_note note;
    uint32_t tid;
    uint64_t lines[MAX_LINES];
    size_t line_count;
    struct reading before; /* for pystack_again; raw is not kept */
};

struct pystack {
    struct pymem mem;
    struct pyfind found;
    struct pycode code;
    struct reading now;
    bool ready;
    struct pystack_thread **threads;
    size_t count, cap;
    uint64_t round, interpreter; /* the first one */
    uint32_t tid_at; /* in the control block of a thread, for 3.9 and 3.10; 0 = not found yet */
    int64_t inner;   /* pid in its own PID namespace */
    struct pystack_losses losses;
};

struct pystack *pystack_new(int64_t pid)
{
    struct pystack *stack = nl_zalloc(sizeof *stack);
    pymem_init(&stack->mem, pid);
    return stack;
}

static void free_reading(struct reading *reading)
{
    nl_free(reading->raw);
    nl_free(reading->texts);
}

static void free_thread(struct pystack_thread *thread)
{
    free_reading(&thread->before);
    nl_free(thread);
}

void pystack_free(struct pystack *stack)
{
    if (!stack)
        return;
    for (size_t i = 0; i < stack->count; i++)
        free_thread(stack->threads[i]);
    nl_free(stack->threads);
    if (stack->ready)
        pycode_release(&stack->code);
    free_reading(&stack->now);
    pymem_release(&stack->mem);
    nl_free(stack);
}

/* The last number after NSpid: is the one that the process itself knows. */
static int64_t inner_number(int64_t pid, int64_t tid)
{
    char path[96], line[256];
    int64_t inner = tid;
    (void)snprintf(path, sizeof path, "/proc/%lld/task/%lld/status", (long long)pid,
                   (long long)tid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status)) {
        if (strncmp(line, "NSpid:", 6) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        const char *tab = strrchr(line, '\t');
        inner = strtoll(tab ? tab : line + 6, NULL, 10);
        break;
    }
    if (status)
        (void)fclose(status);
    return inner;
}

enum pyfind_state pystack_look(struct pystack *stack)
{
    if (stack->ready)
        return PYFIND_READY;
    enum pyfind_state state = pyfind_look(&stack->mem, &stack->found);
    if (state != PYFIND_READY)
        return state;
    pycode_init(&stack->code, &stack->mem, &stack->found);
    stack->inner = inner_number(stack->mem.pid, stack->mem.pid);
    stack->ready = true;
    return state;
}

const char *pystack_why(const struct pystack *stack)
{
    return stack->found.why;
}

uint32_t pystack_version(const struct pystack *stack)
{
    return stack->found.version;
}

const struct pystack_losses *pystack_losses(struct pystack *stack)
{
    stack->losses.overflow = stack->ready ? stack->code.overflow : 0;
    return &stack->losses;
}

/* ---- threads ---- */

/* The number of the main thread is the process's: where it stands in that thread's control block,
 * other threads have theirs. (3.9 and 3.10 keep only the address of that block.) */
static uint32_t find_tid_place(struct pystack *stack)
{
    uint64_t block;
    int32_t word;
    if (!pymem_get(&stack->mem, stack->found.runtime + stack->found.layout.runtime_main, &block,
                   sizeof block))
        return 0;
    for (uint32_t at = TCB_FROM; at < TCB_TO; at += sizeof word)
        if (pymem_get(&stack->mem, block + at, &word, sizeof word) && word == stack->inner)
            return at;
    return 0;
}

static uint32_t inner_tid(struct pystack *stack, const struct pystack_thread *thread)
{
    const struct pylayout *layout = &stack->found.layout;
    uint64_t native = 0;
    int32_t word = 0;
    if (layout->thread_native != PYLAYOUT_NONE) {
        (void)pymem_get(&stack->mem, thread->address + layout->thread_native, &native,
                        sizeof native);
        return native < INT32_MAX ? (uint32_t)native : 0;
    }
    if (!stack->tid_at)
        stack->tid_at = find_tid_place(stack);
    if (!stack->tid_at ||
        !pymem_get(&stack->mem, thread->ident + stack->tid_at, &word, sizeof word))
        return 0;
    return word > 0 ? (uint32_t)word : 0;
}

/* From the number in the process's PID namespace to the one in ours. */
static uint32_t outer_tid(const struct pystack *stack, uint32_t inner)
{
    char path[64];
    uint32_t found = 0;
    if (stack->inner == stack->mem.pid || !inner)
        return inner;
    (void)snprintf(path, sizeof path, "/proc/%lld/task", (long long)stack->mem.pid);
    DIR *tasks = opendir(path);
    for (struct dirent *task = tasks ? readdir(tasks) : NULL; task && !found;
         task = readdir(tasks)) {
        int64_t tid = strtoll(task->d_name, NULL, 10);
        if (tid > 0 && inner_number(stack->mem.pid, tid) == inner)
            found = (uint32_t)tid;
    }
    if (tasks)
        closedir(tasks);
    return found;
}

/* False: it was seen in this round, the list goes in circles. */
static bool see_thread(struct pystack *stack, uint64_t address, uint64_t ident)
{
    for (size_t i = 0; i < stack->count; i++) {
        struct pystack_thread *thread = stack->threads[i];
        if (thread->address != address || thread->ident != ident)
            continue;
        bool fresh = thread->seen != stack->round;
        thread->seen = stack->round;
        if (!thread->tid) /* it may have been too young to judge */
            thread->tid = outer_tid(stack, inner_tid(stack, thread));
        return fresh;
    }
    if (stack->count >= MAX_THREADS) {
        stack->losses.unlisted++;
        return true;
    }
    nl_grow(&stack->threads, &stack->cap, stack->count + 1);
    struct pystack_thread *thread = stack->threads[stack->count++] = nl_zalloc(sizeof *thread);
    thread->address = address;
    thread->ident = ident;
    thread->seen = stack->round;
    thread->tid = outer_tid(stack, inner_tid(stack, thread));
    return true;
}

static bool list_interpreter(struct pystack *stack, uint64_t interpreter)
{
    const struct pylayout *layout = &stack->found.layout;
    uint64_t thread, owner, ident;
    if (!pymem_get(&stack->mem, interpreter + layout->interp_threads, &thread, sizeof thread))
        return false;
    for (unsigned i = 0; thread && i < MAX_THREADS; i++) {
        if (!pymem_get(&stack->mem, thread + layout->thread_interp, &owner, sizeof owner) ||
            !pymem_get(&stack->mem, thread + layout->thread_ident, &ident, sizeof ident))
            return false;
        if (owner != interpreter)
            return true; /* ended while we read */
        if (ident && !see_thread(stack, thread, ident))
            return true;
        if (!pymem_get(&stack->mem, thread + layout->thread_next, &thread, sizeof thread))
            return false;
    }
    return true;
}

static uint64_t line_address(uint64_t address)
{
    return address & ~(uint64_t)(PYMEM_LINE - 1);
}

/* What the list will look at, as far as it is known from the one before. */
static void expect_threads(struct pystack *stack)
{
    const struct pylayout *layout = &stack->found.layout;
    uint64_t lines[PYMEM_LINES] = {line_address(stack->found.runtime + layout->runtime_head)};
    size_t used = 1;
    if (stack->interpreter) {
        lines[used++] = line_address(stack->interpreter + layout->interp_threads);
        lines[used++] = line_address(stack->interpreter + layout->interp_next);
    }
    for (size_t i = 0; i < stack->count && used < PYMEM_LINES; i++)
        lines[used++] = line_address(stack->threads[i]->address);
    pymem_expect(&stack->mem, lines, used);
}

bool pystack_list(struct pystack *stack, struct pystack_thread *const **threads, size_t *count)
{
    const struct pylayout *layout = &stack->found.layout;
    uint64_t interpreter;
    stack->round++;
    pymem_round(&stack->mem);
    expect_threads(stack);
    *count = 0;
    bool done = pymem_get(&stack->mem, stack->found.runtime + layout->runtime_head, &interpreter,
                          sizeof interpreter);
    stack->interpreter = done ? interpreter : 0;
    for (unsigned i = 0; done && interpreter && i < MAX_INTERPRETERS; i++) {
        uint64_t before = interpreter;
        done = list_interpreter(stack, interpreter) &&
               pymem_get(&stack->mem, interpreter + layout->interp_next, &interpreter,
                         sizeof interpreter);
        if (interpreter == stack->interpreter || interpreter == before)
            break; /* rubbish: it goes in circles */
    }
    if (!done && stack->mem.failure == ESRCH)
        return false;
    for (size_t i = 0; i < stack->count;) {
        if (stack->threads[i]->seen == stack->round || !done) {
            stack->losses.anonymous += !stack->threads[i]->tid;
            i++;
            continue;
        }
        free_thread(stack->threads[i]);
        stack->threads[i] = stack->threads[--stack->count];
    }
    *threads = stack->threads;
    *count = stack->count;
    return true;
}

uint32_t pystack_tid(const struct pystack_thread *thread)
{
    return thread->tid;
}

struct pystack_note *pystack_note(struct pystack_thread *thread)
{
    return &thread->note;
}

struct pystack_thread *pystack_thread(struct pystack *stack, uint32_t tid)
{
    for (size_t i = 0; i < stack->count; i++)
        if (stack->threads[i]->tid == tid)
            return stack->threads[i];
    return NULL;
}

/* ---- frames ---- */

static uint64_t word_at(const unsigned char *bytes, uint32_t offset)
{
    uint64_t word;
    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

/* What was read for this thread is likely wanted again. */
static void remember_line(struct pystack_thread *thread, uint64_t address)
{
    uint64_t line = line_address(address);
    for (size_t i = thread->line_count; i-- > 0;)
        if (thread->lines[i] == line)
            return;
    if (thread->line_count < MAX_LINES)
        thread->lines[thread->line_count++] = line;
}

/* The innermost frame, 0 = none. */
static bool first_frame(struct pystack *stack, struct pystack_thread *thread, uint64_t *frame)
{
    const struct pylayout *layout = &stack->found.layout;
    uint64_t ident;
    if (!pymem_get(&stack->mem, thread->address + layout->thread_frame, frame, sizeof *frame) ||
        !pymem_get(&stack->mem, thread->address + layout->thread_ident, &ident, sizeof ident) ||
        ident != thread->ident)
        return false;
    if (layout->cframe_frame == PYLAYOUT_NONE || !*frame)
        return true;
    remember_line(thread, *frame);
    return pymem_get(&stack->mem, *frame + layout->cframe_frame, frame, sizeof *frame);
}

/* Instructions of 3.9 and 3.10 are numbers of four bytes. */
static uint64_t place_in(const struct pylayout *layout, const unsigned char *bytes)
{
    uint64_t at = word_at(bytes, layout->frame_at);
    return layout->at_scale ? (uint32_t)at : at;
}

/* Follows the chain. False: it does not hold together. */
static bool walk(struct pystack *stack, struct pystack_thread *thread, uint64_t frame, bool *cut)
{
    const struct pylayout *layout = &stack->found.layout;
    struct reading *now = &stack->now;
    unsigned char bytes[PYLAYOUT_MAX_FRAME + sizeof(uint64_t)]; /* a field may begin at the end */
    uint32_t size = layout->frame_size;
    *cut = false;
    now->count = 0;
    for (unsigned i = 0; frame && i < MAX_CHAIN; i++) {
        if (now->count == PYSTACK_FRAMES) {
            *cut = true;
            return true;
        }
        if (frame & 7 || !pymem_get(&stack->mem, frame, bytes, size + 8))
            return false;
        remember_line(thread, frame);
        uint64_t code = word_at(bytes, layout->frame_code) & ~(uint64_t)7;
        uint64_t previous = word_at(bytes, layout->frame_previous);
        bool ours = layout->frame_owner == PYLAYOUT_NONE ||
                    (signed char)bytes[layout->frame_owner] < NOT_OURS;
        if (ours)
            now->raw[now->count++] = (struct raw){code, place_in(layout, bytes)};
        if (previous == frame)
            return false;
        frame = previous;
    }
    return !frame;
}

/* Names the frames; false when one of them has no code object. All code objects are looked at anew:
 * another one may be where the last one was, called from the same place. Recursion is looked up
 * once. */
static bool name_frames(struct pystack *stack)
{
    struct reading *now = &stack->now;
    struct pycode_entry *entries[PYSTACK_FRAMES];
    uint64_t addresses[PYSTACK_FRAMES];
    size_t count = 0;
    pycode_begin(&stack->code);
    for (size_t i = 0; i < now->count; i++)
        if (!i || now->raw[i].code != now->raw[i - 1].code)
            addresses[count++] = now->raw[i].code;
    pycode_find(&stack->code, addresses, entries, count);
    for (size_t i = 0, at = 0; i < now->count; i++) {
        at += i && now->raw[i].code != now->raw[i - 1].code;
        if (!entries[at])
            return false;
        now->texts[i] = pycode_frame(&stack->code, entries[at], now->raw[i].at);
    }
    return true;
}

static void keep_reading(struct reading *kept, const struct reading *now, bool cut)
{
    nl_grow(&kept->texts, &kept->cap, now->count);
    kept->count = now->count;
    kept->cut = cut;
    if (now->count)
        memcpy(kept->texts, now->texts, now->count * sizeof *now->texts);
}

static bool read_once(struct pystack *stack, struct pystack_thread *thread, bool *cut)
{
    uint64_t frame;
    pymem_round(&stack->mem);
    pymem_expect(&stack->mem, thread->lines, thread->line_count);
    thread->line_count = 0;
    remember_line(thread, thread->address + stack->found.layout.thread_frame);
    return first_frame(stack, thread, &frame) && walk(stack, thread, frame, cut) &&
           name_frames(stack);
}

bool pystack_read(struct pystack *stack, struct pystack_thread *thread,
                  struct pystack_frames *frames)
{
    if (!stack->now.raw) {
        stack->now.raw = nl_alloc(PYSTACK_FRAMES * sizeof *stack->now.raw);
        stack->now.texts = nl_alloc(PYSTACK_FRAMES * sizeof *stack->now.texts);
    }
    *frames = (struct pystack_frames){0};
    for (unsigned i = 0; i < TRIES; i++) {
        if (read_once(stack, thread, &frames->cut)) {
            keep_reading(&thread->before, &stack->now, frames->cut);
            frames->texts = stack->now.texts;
            frames->count = stack->now.count;
            return true;
        }
    }
    return false;
}

void pystack_again(const struct pystack_thread *thread, struct pystack_frames *frames)
{
    const struct reading *before = &thread->before;
    *frames = (struct pystack_frames){before->texts, before->count, before->cut};
}
