/*
 * perfetto — protobuf traces of Perfetto: what the parts share.
 *
 * A trace is a list of packets from several writers ("sequences"). Each sequence has its own table
 * of interned texts, defaults and clocks, and may reset them. Events are on tracks, which are
 * described before or after their events. So packets become records on tracks as they are read;
 * when all are read, tracks become lanes and the records of each, in order of time, become slices.
 *
 *   perfetto.c            recognising a trace, packets, coverage
 *   perfetto_sequence.c   interned data, defaults, clocks
 *   perfetto_track.c      tracks, processes, threads → lanes
 *   perfetto_event.c      track events
 *   perfetto_args.c       debug annotations → JSON text
 *   perfetto_gpu.c        GPU render stages and counters
 *   perfetto_samples.c    call stacks at moments, sums of heap profiles
 *   perfetto_ftrace.c     scheduling, atrace marks, frequencies
 *   perfetto_finish.c     records → slices, counters, arrows
 */
#ifndef NL_PERFETTO_H
#define NL_PERFETTO_H

#include "base/mem.h"
#include "ingest/lib/cpuprofile.h"
#include "ingest/lib/gpurows.h"
#include "base/map.h"
#include "ingest/ingest.h"
#include "ingest/perfetto/perfetto_rows.h"
#include "parse/wire.h"

struct perfetto_interned {
    struct nl_str text; /* in the arena */
    uint32_t name;
    uint32_t category; /* of GPU stages: 2 compute; of what is read once, what was made of it + 1 */
};

/* Kinds of interned texts: their field numbers, but for the extension with compute kernels. */
enum {
    PERFETTO_CATEGORIES = 1,
    PERFETTO_NAMES = 2,
    PERFETTO_ARG_NAMES = 3,
    PERFETTO_ARG_TEXTS = 29,
    PERFETTO_STAGES = 24,
    PERFETTO_GPU_COUNTERS = 47,
    PERFETTO_FUNCTIONS = 5,
    PERFETTO_MAPPING_PATHS = 17,
    PERFETTO_SOURCES = 18,
    PERFETTO_CORRELATIONS = 43,
    /* whole messages, kept as they are */
    PERFETTO_FRAMES = 6,
    PERFETTO_STACKS = 7,
    PERFETTO_MAPPINGS = 19,
    PERFETTO_KERNELS = 10000,
};

struct perfetto_sequence {
    uint64_t id;
    bool valid; /* its incremental state is known */
    struct nl_idmap interned;
    struct perfetto_interned *texts;
    size_t text_count, text_cap;
    uint64_t clock, track_uuid; /* defaults; clock 0 = none */
    bool has_track;
    uint64_t counter_uuids[16];
    unsigned counters;
    int64_t pid, tid; /* of its thread descriptor */
    int64_t reference_us;
    uint32_t sample_event; /* defaults of perf samples */
    int64_t sample_period;
};

struct perfetto_clock {
    uint64_t key; /* clock id, with the sequence for those of a sequence */
    int64_t unit, last;
    bool incremental, known;
    int64_t from, to; /* of the newest snapshot: its time and that of the trace clock, ns */
};

struct perfetto_load {
    struct nl_builder *builder;
    struct nl_stage *stage;
    struct nl_job *job;
    uint32_t source;
    struct nl_arena arena;
    struct perfetto_sequence *sequences;
    size_t sequence_count, sequence_cap;
    struct perfetto_clock *clocks;
    size_t clock_count, clock_cap;
    struct perfetto_track *tracks;
    size_t track_count, track_cap;
    struct perfetto_record *records;
    size_t record_count, record_cap;
    struct perfetto_launch *launches;
    size_t launch_count, launch_cap;
    struct perfetto_running {
        int64_t since, tid; /* tid 0 = idle or not known */
    } * cpus;
    size_t cpu_count, cpu_cap;
    struct nl_idmap sequence_index, clock_index, track_index, thread_index;
    int64_t *thread_pids; /* of thread_index: tid → tgid */
    size_t thread_count, thread_cap;
    uint64_t trace_clock; /* id of the clock that all times are moved to */
    uint64_t notes[PERFETTO_NOTES];
    uint64_t packets, bytes;
    struct nl_buf text;
    struct cpuprofile profile;   /* rows of the same stage */
    struct nl_stack_row *frames; /* interned ones that stacks named */
    size_t frame_count, frame_cap;
    struct gpurows_map heaps; /* hash of process, heap, stack and sum → its last value */
    bool snapshot, epoch, stopped;
};

/* A packet, with what is needed of it before its content is read. */
struct perfetto_packet {
    struct wire bytes;
    struct perfetto_sequence *sequence;
    uint64_t timestamp, clock;
    bool has_time;
};

/* sequence */
struct perfetto_sequence *perfetto_sequence_of(struct perfetto_load *load, uint64_t id);
void perfetto_sequence_clear(struct perfetto_sequence *sequence);
void perfetto_interned(struct perfetto_load *load, struct perfetto_sequence *sequence,
                       const struct wire_field *data);
const struct perfetto_interned *perfetto_text(struct perfetto_load *load,
                                              const struct perfetto_sequence *sequence,
                                              uint32_t kind, uint64_t iid);
/* The entry to change, NULL (noted) when it was never sent. */
struct perfetto_interned *perfetto_entry(struct perfetto_load *load,
                                         const struct perfetto_sequence *sequence, uint32_t kind,
                                         uint64_t iid);
/* One entry of a table: iid 1, text 2. */
void perfetto_intern(struct perfetto_load *load, struct perfetto_sequence *sequence, uint32_t kind,
                     const struct wire_field *entry);
void perfetto_defaults(struct perfetto_load *load, struct perfetto_sequence *sequence,
                       const struct wire_field *data);
void perfetto_snapshot(struct perfetto_load *load, const struct perfetto_packet *packet,
                       const struct wire_field *data);
/* Time on the trace clock; false (noted) when it cannot be had. */
bool perfetto_time(struct perfetto_load *load, const struct perfetto_packet *packet, int64_t *ts);
bool perfetto_convert(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                      uint64_t clock, uint64_t value, int64_t *ts);
/* Copies a text that must outlive its packet. */
struct nl_str perfetto_keep(struct perfetto_load *load, struct nl_str text);

/* track */
uint32_t perfetto_track_of(struct perfetto_load *load, uint64_t uuid);
uint32_t perfetto_thread_track(struct perfetto_load *load, int64_t pid, int64_t tid, bool sched);
uint32_t perfetto_named_track(struct perfetto_load *load, const char *scope, uint64_t number,
                              struct nl_str name);
/* Device and stream of a track by the names of it and of the track above. */
void perfetto_find_device(struct perfetto_load *load, struct perfetto_track *track);
void perfetto_descriptor(struct perfetto_load *load, const struct wire_field *data);
void perfetto_process_tree(struct perfetto_load *load, const struct wire_field *data);
void perfetto_thread_descriptor(struct perfetto_load *load, struct perfetto_sequence *sequence,
                                const struct wire_field *data);
uint32_t perfetto_lane(struct perfetto_load *load, uint32_t track);

/* the rest */
void perfetto_add(struct perfetto_load *load, const struct perfetto_record *record);
void perfetto_event(struct perfetto_load *load, const struct perfetto_packet *packet,
                    const struct wire_field *data);
/* Name id of the arguments as JSON, NL_NO_NAME without any. What has a
 * column goes to `launch`, too. */
uint32_t perfetto_args(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                       struct wire event, const struct perfetto_tag *tag,
                       struct perfetto_launch *launch);
void perfetto_stage_event(struct perfetto_load *load, const struct perfetto_packet *packet,
                          const struct wire_field *data);
void perfetto_gpu_counters(struct perfetto_load *load, const struct perfetto_packet *packet,
                           const struct wire_field *data);
/* Row of stacks + 1 of an event's call stack, interned or as a separate message; 0 = none. */
uint32_t perfetto_event_stack(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                              const struct wire_field *data);
void perfetto_sample_defaults(struct perfetto_load *load, struct perfetto_sequence *sequence,
                              const struct wire_field *data);
void perfetto_perf_sample(struct perfetto_load *load, const struct perfetto_packet *packet,
                          const struct wire_field *data);
void perfetto_streamed_samples(struct perfetto_load *load, const struct perfetto_packet *packet,
                               const struct wire_field *data);
void perfetto_heap(struct perfetto_load *load, const struct perfetto_packet *packet,
                   const struct wire_field *data);
void perfetto_ftrace(struct perfetto_load *load, const struct wire_field *data);
bool perfetto_finish(struct perfetto_load *load);

#endif
