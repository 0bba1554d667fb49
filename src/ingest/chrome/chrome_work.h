/*
 * chrome_work — what the parts of the reader share while it runs.
 *
 * One struct chrome_worker per thread: it owns a stage, the event being parsed, caches and the
 * notes for coverage. struct chrome_load is shared and only read while workers run.
 */
#ifndef CHROME_WORK_H
#define CHROME_WORK_H

#include "base/stream.h"
#include "base/map.h"
#include "ingest/chrome/chrome_event.h"
#include "ingest/chrome/chrome_lanes.h"
#include "ingest/chrome/chrome_names.h"
#include "ingest/chrome/chrome_rpd.h"
#include "ingest/chrome/chrome_scan.h"
#include "ingest/chrome/chrome_stacks.h"
#include "ingest/ingest.h"

#define CHROME_MAX_ARGS 4096 /* bytes kept of an event's raw arguments */

enum chrome_note {
#define CHROME_NOTE(id, item, advice) CHROME_NOTE_##id,
#include "ingest/chrome/chrome_notes.def"
#undef CHROME_NOTE
    CHROME_NOTE_COUNT
};

/* One of the two events that make a slice or a flow; also a slice that waits for its call stack
 * (phase X). Set aside until all blocks are read: the other one may be in a block that another
 * thread reads. */
struct chrome_half {
    int64_t ts;     /* ns */
    uint64_t order; /* chrome_event_order */
    union {
        uint64_t id; /* of async events and flows */
        int64_t dur; /* ns, of a waiting slice; NL_NULL_I64 = unknown */
    };
    uint32_t lane;
    uint32_t name, args, cat; /* ids of chrome_worker.shared; 0 = none */
    uint8_t phase;            /* the letter in "ph" */
    uint8_t kind;             /* enum nl_flowkind of a flow, enum nl_kind of a waiting slice */
    uint32_t stack;           /* reference of chrome_stacks; 0 = none */
};

struct chrome_halves {
    struct chrome_half *items;
    size_t count, cap;
};

/* Beside each half of a flow: where its event stands, from which its lane is found. */
struct chrome_flow_end {
    int64_t pid, tid;
};

/* A lane of a device, as flows and labels may refer to it. */
struct chrome_device_lane {
    int64_t device, stream;
    uint32_t lane;
};

/* Metadata events (M): names of processes and threads, applied when all of them are known. */
enum chrome_label_kind { CHROME_PROCESS_NAME, CHROME_PROCESS_LABEL, CHROME_THREAD_NAME };

struct chrome_label {
    enum chrome_label_kind kind;
    int64_t pid, tid;
    uint64_t order;
    char *text; /* in the worker's arena */
    size_t len;
};

/* An argument key that no column takes, and how often it was seen. */
struct chrome_key_count {
    char text[64];
    uint32_t len;
    uint64_t count;
};

#define CHROME_MAX_KEYS    64
#define CHROME_LABEL_SLOTS 1024

struct chrome_load {
    struct nl_builder *builder;
    uint32_t source;
    const struct nl_input *input;
    struct nl_job *job;
    struct nl_stream *stream;
    struct chrome_words cats;
    struct chrome_stacks stacks;
    bool lines;  /* events stand one per line, without a list around them */
    bool kineto; /* Kineto's categories were seen in the first block */
    struct chrome_rpd rpd;
    int64_t main_pid; /* process that device work belongs to, NL_NULL_I64 unknown */
};

struct chrome_worker {
    struct chrome_load *load;
    struct nl_stage *stage;
    struct chrome_parser parser;
    struct chrome_event event;
    struct chrome_names names;  /* ids of this stage */
    struct chrome_names shared; /* ids for all stages: halves */
    struct chrome_lane_slot *lanes, *last_lane;
    struct nl_buf repaired, text;
    uint64_t unit, number; /* number of the event within its unit */
    uint64_t offset;       /* of the event being read, in the decompressed file */
    bool at_file_end;      /* nothing follows the block being read */
    uint64_t notes[CHROME_NOTE_COUNT];
    uint64_t note_offset[CHROME_NOTE_COUNT]; /* of the first; UINT64_MAX: no place is known */
    uint64_t events, phases[128], other_phases;
    uint64_t device_ids, device_ids_equal;     /* "External id" on device work, see chrome_rows.c */
    int64_t first_ts;                          /* ns; INT64_MAX = no event yet */
    struct chrome_halves spans, asyncs, flows; /* B, E and waiting X; async and objects; s, t, f */
    struct chrome_flow_end *flow_ends;
    size_t flow_end_cap;
    struct chrome_label *labels;
    size_t label_count, label_cap;
    uint64_t *label_hashes; /* CHROME_LABEL_SLOTS */
    struct nl_idmap pids;   /* processes made */
    struct chrome_device_lane *device_lanes;
    size_t device_lane_count, device_lane_cap;
    struct nl_arena texts;
    struct chrome_key_count *keys;
    unsigned key_count;
};

void chrome_worker_init(struct chrome_worker *worker, struct chrome_load *load);
void chrome_worker_release(struct chrome_worker *worker);
static inline void chrome_note(struct chrome_worker *worker, enum chrome_note note)
{
    worker->notes[note]++;
    if (worker->offset < worker->note_offset[note])
        worker->note_offset[note] = worker->offset;
}

/* Place of the worker's event in the file: puts events in order, whichever thread read them. */
static inline uint64_t chrome_event_order(const struct chrome_worker *worker)
{
    return worker->unit << 32 | (uint32_t)worker->number;
}

/* Takes the events of a block: text between two events up to `end`, followed by CHROME_PAD bytes of
 * '"'; `offset` is the place of `text` in the file. Returns where it stopped: at `end`, or, unless
 * `last`, at an event that is not whole. *list_end is set when the list's ']' was met. */
const char *chrome_take_block(struct chrome_worker *worker, const char *text, const char *end,
                              uint64_t offset, bool last, bool *list_end);
/* True if the text after a ']' shows that the list continues. */
bool chrome_list_goes_on(const char *after, const char *end);
/* Looks at the first events without staging them: sets load->kineto, load->rpd and load->main_pid,
 * the process that most calls and operators belong to. */
void chrome_peek(struct chrome_worker *worker, const char *text, const char *end);

/* ---- chrome_repair.c ---- */

/* Rewrites a damaged event at *text into worker->repaired as clean JSON (padded). True when that
 * succeeded; then *text is after it. */
bool chrome_repair(struct chrome_worker *worker, const char **text, const char *end);

/* ---- chrome_phase.c ---- */

/* Stages or sets aside the parsed event by its phase. */
void chrome_take_event(struct chrome_worker *worker);
/* Are events of this phase loaded at all? */
bool chrome_phase_loaded(unsigned char phase);

/* ---- chrome_pair.c ---- */

/* After all blocks: pairs the halves of slices, async slices and flows of all workers. */
void chrome_pair(struct chrome_load *load, struct chrome_worker *workers, unsigned count,
                 uint64_t unit);

/* ---- chrome_report.c ---- */

/* Names of processes and threads, notes, phases and keys of all workers → builder. */
void chrome_report(struct chrome_load *load, struct chrome_worker *workers, unsigned count);

/* ---- chrome_turns.c ---- */

struct chrome_feed;
/* Reads the events of one list from the feed with as many workers as the load has. *unit is the
 * next free unit number. False with err when reading failed or was cancelled. */
NL_MUST_CHECK bool chrome_read_events(struct chrome_load *load, struct chrome_feed *feed,
                                      struct chrome_worker *workers, unsigned count, bool lines,
                                      uint64_t *unit, struct nl_err *err);

#endif
