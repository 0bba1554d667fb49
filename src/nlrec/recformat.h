/*
 * recformat — the raw recording of one process: capture/ writes it, ingest/recording/ reads it.
 *
 * A file is a head (struct nl_rec_head, `head_bytes` long) and then blocks of `block_bytes` each.
 * It is mapped shared by the recorded process, so what was written survives a kill of the process
 * and of the recorder: it can be read at any moment. Blocks are of three kinds:
 *
 *   EVENTS  cells of 16 bytes, in the order in which one thread wrote them. A THREAD cell says whose
 *           events follow (the block of an ended thread may be filled up by the next one).
 *   NAMES   texts by number; a number is used only after its text is in the file.
 *   PACKED  `span` blocks long: EVENTS and NAMES blocks, cut to what they hold, one after another,
 *           compressed with zstd. The recorder writes these when it takes full blocks away.
 *
 * Every EVENTS and NAMES block has its own sequence number; a block that is found twice (packed,
 * and not yet given back) counts once. A thread's events are in order of sequence.
 *
 * Times are ticks of the processor's time stamp counter, or ns of CLOCK_MONOTONIC where that
 * counter is not to be trusted. Pairs of (ticks, monotonic, real time) taken now and then turn them
 * into ns. Everything is little endian. All unused bytes are 0.
 *
 * Plain C types only: writers in several processes reach the members marked "shared" with atomic
 * operations, readers with memcpy.
 */
#ifndef NL_RECFORMAT_H
#define NL_RECFORMAT_H

#include "nlrec/rechooks.h"

/* File next to the parts of a run with its circumstances, a line "key<TAB>value" each: keys are
 * members of the run document, or names of metadata. */
#define NL_REC_FACTS ".facts"

#define NL_REC_MAGIC       "NLREC\r\n\x1a"
#define NL_REC_VERSION     1u
#define NL_REC_HEAD_BYTES  4096u
#define NL_REC_BLOCK_BYTES 65536u /* what is written; readers take any power of two from 256 */
#define NL_REC_BLOCK_MAGIC 0x4b4c424eu
#define NL_REC_PAIRS       64u
#define NL_REC_MAX_NAME    4095u /* bytes of a name; longer ones are cut and end in "…" */
#define NL_REC_UNKNOWN     INT64_MIN

/* The recorder writes into the files too. Its names have ids from the top downwards; its blocks
 * begin with a THREAD cell of this number, which stands for no thread. */
#define NL_REC_OWN_NAMES 0x80000000u /* ids from here on are the recorder's */
#define NL_REC_RECORDER  0xffffffffu

enum nl_rec_clock { NL_REC_CLOCK_TSC = 1, NL_REC_CLOCK_MONOTONIC = 2 };
enum nl_rec_policy { NL_REC_SPILL, NL_REC_WRAP, NL_REC_STOP };
enum nl_rec_end { NL_REC_OPEN, NL_REC_EXITED, NL_REC_EXECED, NL_REC_VANISHED };

/* Why an event is not in the file. */
enum nl_rec_drop {
    NL_REC_DROP_ROOM,   /* no block to be had: memory cap, disk full, size limit of the process */
    NL_REC_DROP_SIGNAL, /* a signal handler interrupted the writing of another event */
    NL_REC_DROP_DEEP,   /* nested deeper than is kept */
    NL_REC_DROP_NAME,   /* its name could not be kept (the event was) */
    NL_REC_DROP_WRAP,   /* overwritten by newer ones, as the policy wrap says */
    NL_REC_DROPS
};

/* `bracket` is the uncertainty in ticks: the clocks were read that far apart. */
struct nl_rec_pair {
    uint64_t ticks;
    int64_t monotonic_ns, real_ns;
    uint64_t bracket;
};

struct nl_rec_head {
    char magic[8];
    uint32_t version, head_bytes, block_bytes, clock;
    uint32_t policy;
    uint32_t closed; /* 1: the recorder took leave of the file in order */
    int64_t pid, parent, rank, local_rank, world; /* ranks: NL_REC_UNKNOWN = not given */
    int64_t epoch_ns;                             /* real time − monotonic, one value for a run */
    uint64_t ticks_per_second;                    /* as measured when the run began; 0 = unknown */
    char program[256];                            /* file name of the executable, no folder */
    char host[64];
    char tool[64];
    /* shared */
    uint64_t blocks;     /* allocated, from the first after the head */
    uint64_t sequence;   /* of the next block */
    uint64_t free_stack; /* tag << 32 | block + 1, linked by `next` */
    uint64_t full_stack; /* likewise, for the recorder to take away */
    uint64_t drops[NL_REC_DROPS];
    uint64_t mapped;             /* blocks that the process mapped: the memory it takes */
    uint64_t threads, cut_names; /* begun */
    uint32_t end;                /* enum nl_rec_end */
    uint32_t pair_count;
    uint32_t window_moves; /* times that the window of the run was opened or closed */
    uint32_t foreign;      /* 1: `pid` is of another PID namespace than the recorder's */
    uint64_t spill_errors; /* blocks that the recorder could not take away */
    struct nl_rec_pair last;
    struct nl_rec_pair pairs[NL_REC_PAIRS]; /* [0]: the process began; others by the recorder */
    /* shared; for who looks on: begun; the last one, when, how long after the one before */
    uint64_t steps;
    int64_t step;
    uint64_t step_begun, step_ticks;
    uint64_t ticket; /* grows with each start of a process, exec included; 0 = not given */
    uint32_t announced, python; /* place in control.h + 1, 0 = none; shared, recpython.h */
    struct nl_rec_hooks hooks;
};
_Static_assert(sizeof(struct nl_rec_head) <= NL_REC_HEAD_BYTES, "the head fits");

enum nl_rec_block_kind { NL_REC_EVENTS = 1, NL_REC_NAMES = 2, NL_REC_PACKED = 3 };
/* FREE blocks hold nothing; ACTIVE and FULL ones count. */
enum nl_rec_block_state { NL_REC_FREE, NL_REC_ACTIVE, NL_REC_FULL };

struct nl_rec_block {
    uint32_t magic, kind;
    uint32_t used; /* bytes after this header; PACKED: compressed ones */
    uint32_t next; /* links of the stacks */
    uint64_t sequence;
    uint64_t ticks; /* a pair, taken when the block was begun; bracket 0 = none */
    int64_t monotonic_ns;
    uint32_t bracket;
    uint32_t events; /* set when the block is FULL */
    uint32_t span;   /* PACKED: blocks it covers, itself included; else its own number */
    uint32_t raw;    /* PACKED: bytes when decompressed */
    uint32_t crc;    /* PACKED: CRC-32 (the one of zlib) of the compressed bytes */
    uint32_t state;  /* shared */
};
_Static_assert(sizeof(struct nl_rec_block) == 64, "blocks start with 64 bytes");

/* In a NAMES block: this, the bytes, zeros up to a multiple of 8. */
struct nl_rec_name {
    uint32_t id, bytes;
};

/* What a cell means. `cells` is their total number, so that unknown kinds can be skipped. */
enum nl_rec_kind {
    NL_REC_THREAD = 1,  /* who writes from here on: id number of the thread, value OS thread id */
    NL_REC_THREAD_NAME, /* id name */
    NL_REC_THREAD_END,  /* the thread ended */
    NL_REC_LOST,        /* value events of this thread are missing here */
    NL_REC_COUNTER,     /* id name, value the bits of a double; a = name id of the unit, b = lane */
    NL_REC_FLOW_OUT,    /* value id of the arrow; id name */
    NL_REC_FLOW_IN,     /* likewise */
    NL_REC_CATEGORY_NAME, /* id name, a = domain, b = number of the category */
    NL_REC_RANGE_END,     /* value id of the range, on whatever thread */
    NL_REC_SUBJECT,       /* counters that follow are about the thread `value`; 0 = the process */
    NL_REC_DEVICE = 16, /* … about the GPU `value`, id its name, a UUID, b bus; second a vendor */
    NL_REC_NOTE,        /* coverage: id what, value how many, a = detail */
    NL_REC_SAMPLE,      /* where a thread was, below */
    NL_REC_RAN = 24,    /* a thread had a processor, below */
    NL_REC_BEGIN = 64,  /* + class: a scope, or a range that RANGE_END ends (third cell flag) */
    NL_REC_END = 128,   /* + class: id is the low half of the time of its BEGIN, depth likewise */
    NL_REC_MARK = 192   /* + class */
};
#define NL_REC_MAX_CLASSES 64u

/*
 * Cells: struct nl_rec_cell, then as many struct nl_rec_more as `cells` says. Of BEGIN and MARK the
 * first of these is {payload, colour, category}, the second {range id, domain, flags}. Of END it is
 * {0, domain, 0}. Domain and category are name ids for scopes; an NVTX category is a number.
 */
struct nl_rec_cell {
    uint64_t time;
    uint32_t id;
    uint8_t kind, cells;
    uint16_t depth;
};
struct nl_rec_more {
    uint64_t value;
    uint32_t a, b;
};
#define NL_REC_CELL 16u

/*
 * SAMPLE, of the recorder: `time` is ns of CLOCK_MONOTONIC, id the OS thread id, depth the number
 * of frames. Then {weight, event, unit}, {0, processor, flags}, and frames as name ids, innermost
 * first, four per cell: "function\tfile\tline", machine code "@module\tbuild id\t0xoffset".
 */
#define NL_REC_NO_CPU     UINT32_MAX
#define NL_REC_SAMPLE_CUT 1u /* outer frames are missing */

/* RAN, of the recorder: from `time` to value (ns of CLOCK_MONOTONIC) the thread id had processor a;
 * depth says how it left. */
#define NL_REC_RAN_READY 1u /* though it could go on */
#define NL_REC_RAN_WAITS 2u /* to wait */

/* Category of a mark of class LIBRARY that says what could not be recorded, "what: why". Such marks
 * are written outside the window too. */
#define NL_REC_PROBLEM "neurolens.problem"

/* Flags of the second struct nl_rec_more. */
#define NL_REC_HAS_COLOUR   1u
#define NL_REC_HAS_CATEGORY 2u
#define NL_REC_IS_RANGE     4u /* ended by RANGE_END; domain is then the name of its lane */
#define NL_REC_PAYLOAD(f)   ((f) >> 8 & 7u)
enum nl_rec_payload { NL_REC_NOTHING, NL_REC_U64, NL_REC_I64, NL_REC_F64 };

/* Classes of scopes: enum nl_rec_class { NL_REC_CLASS_SCOPE, … }. */
#define NL_REC_CLASS(identifier, name, kind, lane) NL_REC_CLASS_##identifier,
enum nl_rec_class {
#include "nlrec/recclasses.def"
    NL_REC_CLASS_COUNT
};
#undef NL_REC_CLASS

#endif
