/*
 * perfrecord — records of the kernel's perf ring (perf_event_open) taken apart.
 *
 * The bytes may be anything: a record that does not hold what its head promises is refused.
 * What is found points into the bytes given. All records carry who, when and where
 * (sample_id_all); which members a sample has follows from the `sample_type` that its event was
 * opened with, one for a whole ring.
 */
#ifndef NL_PERFRECORD_H
#define NL_PERFRECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum perf_record_kind {
    PERF_RECORD_KIND_OTHER, /* nothing that we need */
    PERF_RECORD_KIND_SAMPLE,
    PERF_RECORD_KIND_MAP,  /* memory was mapped to be executed */
    PERF_RECORD_KIND_COMM, /* a new name; exec: and a new program */
    PERF_RECORD_KIND_FORK, /* a new process or thread */
    PERF_RECORD_KIND_EXIT,
    PERF_RECORD_KIND_SWITCH,   /* a thread was given a processor, or left it */
    PERF_RECORD_KIND_LOST,     /* `lost` records are missing before this one */
    PERF_RECORD_KIND_THROTTLE, /* the kernel stopped sampling for a moment: it was too frequent */
};

#define PERF_MAX_RECORD_ID 20u /* bytes of a build id */

struct perf_record {
    enum perf_record_kind kind;
    bool in_kernel;      /* a sample taken while the kernel worked for the thread */
    bool exec;           /* COMM: by exec */
    bool out, preempted; /* SWITCH: left the processor; though it could have gone on */
    int64_t pid, tid;   /* of the thread that it is about; -1 = the kernel does not know any more */
    int64_t parent;     /* FORK: process that forked */
    uint64_t time, cpu; /* ns of the event's clock */
    uint64_t period;    /* SAMPLE: ns or cycles that it stands for */
    uint64_t ip;        /* SAMPLE */
    uint64_t lost;      /* LOST */
    uint64_t start, len;     /* MAP: addresses; COMM: none */
    uint64_t file_offset;    /* MAP */
    const char *text;        /* MAP: file; COMM: name; NUL-terminated */
    const unsigned char *id; /* MAP: build id, NULL = not given */
    size_t id_len;
    const unsigned char *chain; /* SAMPLE: `chain_count` addresses of 8 bytes, innermost first */
    size_t chain_count;
    const unsigned char
        *registers; /* SAMPLE: `register_count` values of 8 bytes, lowest number first */
    size_t register_count;
    const unsigned char *stack; /* SAMPLE: bytes from the stack pointer on */
    size_t stack_len;
};

/* What the event was opened with. */
struct perf_record_layout {
    uint64_t sample_type; /* PERF_SAMPLE_…; others than those of perfring.h are not understood */
    uint64_t registers;   /* mask */
};

/* Takes the record of `len` bytes at `bytes` apart. False: it is damaged. */
bool perf_record_read(const struct perf_record_layout *layout, const unsigned char *bytes,
                      size_t len, struct perf_record *record);

static inline uint64_t perf_record_u64(const unsigned char *bytes, size_t row)
{
    uint64_t value;
    __builtin_memcpy(&value, bytes + row * sizeof value, sizeof value);
    return value;
}

#endif
