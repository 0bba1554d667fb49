/*
 * verdict — what an expert says first about a profile: one class, one sentence with the culprit and
 * the numbers, what could be won, and a few sentences more. Every kind of profile has its own judge
 * (verdict*.c); the first that knows its kind answers:
 *
 *   hang              dumps of a flight recorder: which rank the others wait for
 *   energy            windows of measured energy: how much, at which power
 *   memory            allocator snapshots: whose memory it is at the peak
 *   counters          hardware counters and telemetry: what limits, how much is used
 *   device            timelines with device work: what takes the steady part, or the phase that dominates
 *   cpu               timelines of the CPU: what takes its time, or what the main thread waits for
 *   sums              CPU samples, layers of a compiled model, sums per kernel or call
 *   rates             benchmarks of communication: best rate, latency
 *   nothing           what is missing, and how it is recorded
 *
 * The README.md of the room says which file holds which.
 *
 * A verdict is made from the report's own results, its findings and the trace, so it cannot
 * disagree with the tables. Texts live in the report's arena.
 */
#ifndef NL_VERDICT_H
#define NL_VERDICT_H

#include "tables/analyze.h"

enum nl_verdict_class {
    NL_VERDICT_NONE,
    NL_VERDICT_COMPUTE,
    NL_VERDICT_MEMORY,
    NL_VERDICT_COMMUNICATION,
    NL_VERDICT_COPY,
    NL_VERDICT_LAUNCH,
    NL_VERDICT_INPUT,
    NL_VERDICT_SYNC,
    NL_VERDICT_STARTUP,
    NL_VERDICT_HOST,
    NL_VERDICT_IDLE,
    NL_VERDICT_CPU_ONLY,
    NL_VERDICT_HANG,
    NL_VERDICT_MEMORY_SNAPSHOT,
    NL_VERDICT_COUNTERS,
    NL_VERDICT_CLASSES
};

#define NL_VERDICT_NOTES 4
#define NL_VERDICT_BARS  4

/* How one device spends the whole that the answer is about; the parts add up to it. */
enum nl_verdict_part {
    NL_WHOLE_COMPUTE,
    NL_WHOLE_COMM,
    NL_WHOLE_COPY,
    NL_WHOLE_IDLE,
    NL_WHOLE_OUTSIDE, /* before its first work and after its last: what the CPU did for it then */
    NL_WHOLE_PARTS
};

struct nl_verdict_bar {
    int64_t rank, device; /* NL_NULL_I64 unknown */
    int64_t ns, parts[NL_WHOLE_PARTS];
};

struct nl_verdict_words {
    enum nl_verdict_class class;
    const char *sentence; /* the answer; never NULL once it was made */
    bool says_cut;        /* it says that the end of the recording is missing */
    const char *culprit;  /* name of what it is about, or NULL */
    const char *phase; /* startup, warmup, steady, tail, outlier; NULL where there are no phases */
    int64_t saving_ns; /* at most, over the profile; NL_NULL_I64 unknown */
    int64_t saving_ns_per_step;
    const char *notes[NL_VERDICT_NOTES]; /* more sentences, the most important first */
    size_t note_count;
    /* Timelines with device work: what shares in sentence and bars are of. */
    const char
        *whole; /* "44 steady steps", "from its first work to the last"; NULL: it has no bars */
    int64_t rank, device;  /* of the device that the sentence is about */
    int64_t whole_ns;      /* of that device */
    size_t whole_steps;    /* that it is; 0: it is not steps */
    int64_t whole_wall_ns; /* of that device from its first work to its last, whatever the phase */
    struct nl_verdict_bar bars[NL_VERDICT_BARS];
    size_t bar_count, bar_more; /* more: devices without a bar */
};

/* "compute", "memory-snapshot". */
const char *nl_verdict_class_name(enum nl_verdict_class class);

struct nl_report;

/* Fills report->verdict. `options` are those of the report, with its memo. */
void nl_verdict_make(struct nl_report *report, const struct nl_trace *trace,
                     const struct nl_analyze_options *options);

#endif
