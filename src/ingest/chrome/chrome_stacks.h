/*
 * chrome_stacks — call stacks and samples of a trace: the dictionary `stackFrames`, references to
 * it (`sf`) and stacks written out (`stack`) of events, the list `samples`, sample events (P), and
 * the profiles of V8 (chrome_v8.c).
 *
 * The dictionary may come after the events, and rows refer only to stacks of the same unit; so
 * everything waits here, and what has a stack is staged in the last unit of the file, in the order
 * of the file. Workers share one of these; what they call takes its lock.
 */
#ifndef CHROME_STACKS_H
#define CHROME_STACKS_H

#include <pthread.h>

#include "base/mem.h"
#include "ingest/chrome/chrome_event.h"
#include "ingest/lib/cpuprofile.h"
#include "ingest/lib/gpurows.h"

struct chrome_worker;
struct chrome_frame;
struct chrome_sample;
struct chrome_chunk;

#define CHROME_MAX_FRAMES 1024 /* of one stack */

/* Fields that carry stacks: one look at an event shows whether it has any of them. */
#define CHROME_STACK_FIELDS (1u << CHROME_F_SF | 1u << CHROME_F_STACK)
#define CHROME_END_FIELDS   (1u << CHROME_F_ESF | 1u << CHROME_F_ESTACK)

/* A stack that an event names: an entry of the dictionary, or its own frames. */
struct chrome_stack {
    uint64_t frame;    /* key of the innermost frame, where `text` is NULL */
    const char *text;  /* the array as JSON, followed by CHROME_PAD bytes of '"' */
    uint32_t len, row; /* row: in the last unit, once it is `staged` */
    bool staged;
};

struct chrome_stacks {
    pthread_mutex_t lock;
    struct nl_arena texts;
    struct chrome_stack *stacks; /* by reference - 1 */
    size_t stack_count, stack_cap;
    struct gpurows_map known; /* hash of a stack's id or text → its reference */
    struct chrome_frame *frames;
    size_t frame_count, frame_cap;
    struct gpurows_map frame_keys; /* hash of an id → number in `frames` */
    struct chrome_sample *samples;
    size_t sample_count, sample_cap;
    struct chrome_chunk *chunks; /* of V8's profiles */
    size_t chunk_count, chunk_cap;
    struct cpuprofile profile; /* of the last unit, from chrome_stacks_open on */
    uint64_t unresolved, deep, bad_frames, bad_samples; /* for coverage */
};

void chrome_stacks_init(struct chrome_stacks *stacks);
void chrome_stacks_release(struct chrome_stacks *stacks);

/* ---- While events are read; any thread. ---- */

/* Reference to the stack of the worker's event, 0 = none. */
uint32_t chrome_stack_of_event(struct chrome_worker *worker);
/* A sample event (P): V8's, or any other. */
void chrome_take_sample_event(struct chrome_worker *worker);
/* Takes the worker's event if it holds a piece of V8's profile; false when it does not. */
bool chrome_take_profile(struct chrome_worker *worker);

/* ---- Between lists of events; one thread. ---- */

/* A member of the dictionary `stackFrames`. */
void chrome_take_frame(struct chrome_worker *worker, struct nl_str id,
                       const struct chrome_value *value);
/* An item of the list `samples`. */
void chrome_take_sample(struct chrome_worker *worker, const struct chrome_value *value);

/* ---- After all events, in the last unit; one thread. ---- */

/* The unit is begun on the stage of the first worker. */
void chrome_stacks_open(struct chrome_stacks *stacks, struct chrome_worker *first);
/* Row of the stack, NL_NULL_ROW when the file does not have its frames. */
uint32_t chrome_stack_row(struct chrome_stacks *stacks, uint32_t reference);
/* Stages all samples, and says in coverage what was lost. */
void chrome_stacks_finish(struct chrome_stacks *stacks, struct chrome_worker *workers,
                          unsigned count);

/* ---- chrome_v8.c ---- */

/* A piece of a profile of V8: one event's args.data, kept as text. */
struct chrome_chunk {
    uint64_t profile; /* hash of pid and id */
    int64_t ts;
    uint64_t order;
    uint32_t lane;
    bool start; /* the event that begins a profile: it is on the sampled thread */
    const char *text;
    size_t len;
};

#endif
