/*
 * xplane — XSpace files (`*.xplane.pb`) of TensorFlow, JAX and PyTorch/XLA: what the parts share.
 *
 * A file is one host: XSpace → planes (a device, or the host's threads) → lines → events. Names and
 * statistics of events are ids into tables of their plane, which may come after the lines; so a
 * plane is walked twice, tables first. Nothing is copied: all text is in the file's bytes.
 *
 *   xplane.c          recognising a file, its planes in order, coverage
 *   xplane_tables.c   tables of a plane; statistics of events; arguments as text
 *   xplane_device.c   lines of GPUs and TPUs
 *   xplane_host.c     lines of threads; allocations; steps
 *   xplane_links.c    arrows between events that hand work to each other
 *   xplane_hlo.h      compiled programs: what an instruction is, and what it costs
 *   xplane_nodes.h    instructions beside the events that ran them
 *   xplane_text.c     small languages inside texts: kernel and copy details, HLO shapes
 */
#ifndef NL_XPLANE_H
#define NL_XPLANE_H

#include "base/map.h"
#include "ingest/ingest.h"
#include "parse/wire.h"
#include "ingest/xplane/xplane_hlo.h"

enum xplane_stat {
#define XPLANE_STAT(id, name, in_args) XPLANE_##id,
#include "ingest/xplane/xplane_stats.def"
    XPLANE_STATS, /* at most 64: see xplane_stats.has */
};

struct xplane_value {
    enum { XPLANE_INT, XPLANE_UINT, XPLANE_REAL, XPLANE_TEXT, XPLANE_BLOB } type;
    union {
        int64_t i;
        uint64_t u;
        double f;
    } number;
    struct nl_str text;
};

/* The known statistics of one event or of what describes it. */
struct xplane_stats {
    uint64_t has; /* bit per enum xplane_stat */
    struct xplane_value value[XPLANE_STATS];
};

/* A row of event_metadata. Text borrowed from the file. */
struct xplane_meta {
    int64_t id;
    struct nl_str name, display;
    struct wire stats; /* the whole message: its statistics are read when first needed */
    uint32_t name_id;  /* in the stage; 0 = not asked for yet */
    uint32_t args_id;  /* of its own statistics as text */
    uint8_t class;     /* enum nl_class, from the HLO category */
    uint8_t copy;      /* enum nl_copykind of an asynchronous HLO copy */
    bool read;         /* the four above are valid */
    bool is_copy;
    uint64_t bytes;     /* of its result, if the shape says; else unknown */
    uint32_t operation; /* collective operation, name id; 0 = none */
    uint32_t dtype;
    uint32_t facts; /* of the instruction that it is, or XPLANE_NO_FACTS */
};

struct xplane_stat_name {
    int64_t id;
    struct nl_str name;
    int known; /* enum xplane_stat or -1 */
};

struct xplane_plane {
    struct nl_str name;
    struct wire bytes;
    struct xplane_meta *metas;
    size_t meta_count, meta_cap;
    struct xplane_stat_name *stats;
    size_t stat_count, stat_cap;
    struct nl_idmap meta_index, stat_index;
};

struct xplane_line {
    int64_t id, timestamp_ns;
    struct nl_str name;
    struct wire bytes;
};

/* An event, decoded: times exact, rounded down to ns at both ends so that nesting is kept. */
struct xplane_event {
    int64_t ts, dur;
    struct xplane_meta *meta; /* NULL: its metadata are not in the file */
    struct wire stats;        /* from its first statistic on */
};

enum xplane_note {
    XPLANE_NOTE_CUT,          /* the file ends within a message */
    XPLANE_NOTE_DAMAGED,      /* messages that are no protobuf */
    XPLANE_NOTE_NAMELESS,     /* events whose metadata are missing */
    XPLANE_NOTE_AGGREGATE,    /* events that are sums without a time */
    XPLANE_NOTE_TIME,         /* times outside of int64 ns */
    XPLANE_NOTE_STATS,        /* statistics without a column */
    XPLANE_NOTE_DETAILS,      /* kernel_details with impossible numbers */
    XPLANE_NOTE_LINKS,        /* consumers without a producer */
    XPLANE_NOTE_MARKS,        /* the profiler's own statistics: _a, _r */
    XPLANE_NOTE_PROGRAMS,     /* HLO programs that no event names */
    XPLANE_NOTE_UNREADABLE,   /* HLO programs that are damaged */
    XPLANE_NOTE_INSTRUCTIONS, /* events of instructions that are in no program of the file */
    XPLANE_NOTE_STEPS,        /* steps of further devices */
    XPLANE_NOTE_CUT_ARGS,
    XPLANE_NOTES,
};

/* One end of an arrow. */
struct xplane_link {
    uint64_t type, id;
    int64_t ts;
    uint32_t lane;
    bool on_device;
};
struct xplane_links {
    struct xplane_link *rows;
    size_t count, cap;
};

#define XPLANE_NO_FACTS UINT32_MAX
struct xplane_facts; /* of an instruction of an HLO program: xplane_nodes.c */

struct xplane_run { /* a slice that ran an instruction */
    uint32_t slice, facts, name;
    int64_t dur;
};

struct xplane_load {
    struct nl_builder *builder;
    struct nl_stage *stage;
    struct nl_job *job;
    uint32_t source, process;
    uint64_t notes[XPLANE_NOTES];
    uint64_t events;
    struct nl_str first_stat; /* name of the first statistic without a column */
    int64_t steps_of;         /* device whose steps were taken: key, or NL_NULL_I64 */
    bool host_steps;          /* the host marked steps: those of devices are only annotations */
    bool interrupted;
    bool device_work; /* some GPU or TPU has lines: operators of the host only launch */
    struct xplane_links producers, consumers;
    struct hlo_programs programs;
    struct xplane_facts *facts;
    size_t facts_count, facts_cap;
    struct xplane_run *ran; /* of the plane in hand */
    size_t ran_count, ran_cap;
    uint32_t planes_staged;
    bool rivals;        /* some instruction of the plane in hand ran as kernels of several names */
    struct nl_buf text; /* scratch for arguments */
    struct xplane_value last_number;       /* arguments that are one number: the last of them, */
    int last_number_stat;                  /* which statistic it is, */
    uint32_t last_number_text;             /* and its text; 0 = none yet */
    struct xplane_stats stats, meta_stats; /* scratch */
};

/* tables */
void xplane_tables_read(struct xplane_load *load, struct xplane_plane *plane);
void xplane_tables_release(struct xplane_plane *plane);
/* The next field of `wire`, also of a message cut short (noted). */
bool xplane_next(struct xplane_load *load, struct wire *wire, struct wire_field *field);
/* The same for a message that is walked again: damage was noted before. */
bool xplane_again(struct wire *wire, struct wire_field *field);
void xplane_stat_read(struct xplane_load *load, const struct xplane_plane *plane,
                      struct xplane_stats *stats, const struct wire_field *field);
void xplane_stats_read(struct xplane_load *load, const struct xplane_plane *plane,
                       const struct wire *event, uint32_t number, struct xplane_stats *stats);
/* Id of the statistics that go to args, as a JSON object; 0 when there are none. */
uint32_t xplane_args(struct xplane_load *load, const struct xplane_stats *stats);
uint32_t xplane_name(struct xplane_load *load, struct xplane_meta *meta);
/* Calls `take` for every event of the line that has a time. False when the job was stopped. */
typedef void xplane_take_fn(void *context, struct xplane_event *event);
bool xplane_events(struct xplane_load *load, const struct xplane_plane *plane,
                   const struct xplane_line *line, xplane_take_fn *take, void *context);
bool xplane_lines(struct xplane_load *load, struct xplane_plane *plane,
                  bool (*take)(struct xplane_load *, struct xplane_plane *, struct xplane_line *,
                               void *),
                  void *context);

static inline bool xplane_has(const struct xplane_stats *stats, enum xplane_stat stat)
{
    return stats->has >> stat & 1;
}
int64_t xplane_i64(const struct xplane_stats *stats, enum xplane_stat stat);  /* or NULL_I64 */
uint64_t xplane_u64(const struct xplane_stats *stats, enum xplane_stat stat); /* or NULL_U64 */
struct nl_str xplane_text(const struct xplane_stats *stats, enum xplane_stat stat);

/* arrows */
/* Keeps what load->stats say of an event that became a slice of `lane`. */
void xplane_link(struct xplane_load *load, const struct xplane_event *event, uint32_t lane,
                 bool on_device);
/* Stages the arrows; after all planes, in a separate unit. */
void xplane_links_join(struct xplane_load *load);

/* planes */
bool xplane_device(struct xplane_load *load, struct xplane_plane *plane);
bool xplane_host(struct xplane_load *load, struct xplane_plane *plane);

#endif
