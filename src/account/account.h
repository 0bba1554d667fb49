/*
 * account — where all the time of every device went: every nanosecond booked once, to a phase of
 * the run, a part, and a culprit named as deeply as the data know.
 *
 * The span of a device's account is that of its process: from the first event of its threads (or
 * of the device) to the last. Inside the device's first and last work (`inside`) the parts are
 * those of time_breakdown, exactly: Σ ns of inside rows = wall_ns, Σ compute = compute_ns, Σ
 * exposed_comm* = exposed_comm_ns, Σ exposed_copy + exposed_memset + migration =
 * exposed_copy_ns, Σ idle = idle_ns. Outside, before_device and after_device are what the thread
 * did that launched the nearest work.
 *
 *   compute               by kernel (the one that began first holds time that several share)
 *   exposed_comm          by collective; with several ranks, or devices that run the same, split into exposed_comm_wait
 *                         (this one waits for the last) and exposed_comm_transfer
 *   exposed_copy          copies, by direction and kind of memory; exposed_memset; migration = unified memory
 *   idle                  by what the CPU did in the gap (timeline/idletime.h); `wait` names the blocking
 *                         call without which the CPU could have run ahead through that time
 *
 * A process without device work gets the same account of its main thread: `compute` is what
 * it worked on, `idle` where it waited, was off the processors or nothing was recorded;
 * device is unknown. Where there are only CPU samples in ns, or sums of functions, those of
 * the heaviest thread are booked.
 *
 *     maker = nl_account_begin(trace, window, &steps, &roles);
 *     idle = nl_idle_new_with_sink(trace, window, &roles, nl_account_sink(maker));
 *                                                             (the table of idle time, too)
 *     account = nl_account_finish(maker, &owners);                     (frees the maker)
 *
 * or nl_account_new for all of it. A struct nl_account owns its rows.
 */
#ifndef NL_ACCOUNT_H
#define NL_ACCOUNT_H

#include "account/accountcomm.h"
#include "account/phase.h"
#include "timeline/fold.h"
#include "timeline/idletime.h"
#include "timeline/owner.h"

#define NL_ACCOUNT_LONG_NS 1000000 /* shorter pieces of idle time are dispatch */

enum nl_account_part {
    NL_BOOKED_COMPUTE,
    NL_BOOKED_COMM_WAIT,
    NL_BOOKED_COMM_TRANSFER,
    NL_BOOKED_COMM,
    NL_BOOKED_COPY,
    NL_BOOKED_MEMSET,
    NL_BOOKED_MIGRATION,
    NL_BOOKED_IDLE,
    NL_BOOKED_BEFORE,
    NL_BOOKED_AFTER,
    NL_BOOKED_PARTS
};

struct nl_account_row {
    uint32_t device; /* index in nl_account.devices */
    uint8_t phase, part;
    /* before_device, after_device: no time of the program, see below */
    bool not_program;
    bool inside;      /* in devices with starts_unknown it means nothing */
    bool elsewhere;   /* idle: another thread did that, for which the launching one waited */
    uint8_t activity; /* enum nl_activity; of device work NL_ACTIVITY_COUNT */
    uint8_t class;    /* idle: enum nl_idle_class, else NL_IDLE_CLASSES */
    /* of kernels, copy kernels too: the category; of copies: kind and memories, see
     * nl_account_copykind */
    uint16_t category_or_copy;
    /* dictionary ids, NL_NO_NAME none: kernel, collective, copy, or what the CPU did */
    uint32_t name;
    uint32_t op; /* operator that launched the work; of idle time the one around the CPU's call */
    /* module, else NVTX range or annotation, around the launch, or around what the CPU did */
    uint32_t module_or_range;
    uint32_t wait;  /* idle: see above */
    uint32_t group; /* exposed_comm: name of the process group, where recorded */
    uint32_t late;  /* exposed_comm_wait: member that came last, NL_NULL_ROW unknown */
    uint64_t count; /* operations on the device, or idle gaps */
    uint64_t bytes; /* of copies and memsets, NL_NULL_U64 unknown */
    int64_t ns;
    int64_t long_ns; /* idle: of ns, in gaps that have NL_ACCOUNT_LONG_NS or more under this key */
    uint64_t long_count;         /* those gaps */
    int64_t open_start, open_ns; /* while it is made: the gap at hand */
};

/* not_program: other threads, the profiler or the system were recorded before the thread that feeds
 * the device; of after_device, the profiler is being switched off. That is no time of the program's
 * start-up, as far as one knows. */
struct nl_account_device {
    uint32_t device, process;    /* rows; NL_NULL_ROW unknown, device of a CPU-only account */
    uint32_t feeder;             /* thread that launches most of its work; NL_NULL_ROW unknown */
    int64_t rank, ordinal;       /* NL_NULL_I64 unknown */
    int64_t start, end;          /* span of the account */
    int64_t work_start, wall_ns; /* of the device's work */
    int64_t startup_end; /* of the whole trace, whatever the window; INT64_MIN without one */
    int64_t phase_ns[NL_PHASES];
    uint64_t steps[NL_PHASES];
    size_t first_row, rows; /* most ns first */
    bool starts_unknown;    /* lengths of kernels without times: only compute means something */
};

struct nl_account {
    const struct nl_trace *trace; /* borrowed */
    struct nl_account_device
        *devices; /* by rank, device; CPU-only ones after the others of a rank */
    struct nl_account_row *rows;
    size_t device_count, row_count;
    struct nl_account_member *members; /* of collectives (accountcomm.h) */
    size_t member_count;
    struct nl_fold fold; /* see nl_account_name */
};

/* Whose work it is: index arrays as nl_owners_find gives them. Any pointer may be NULL. */
struct nl_account_owners {
    const struct nl_owners *owners;
    const struct nl_rangetree *ops, *layers, *ranges;
    const uint32_t *op, *layer, *range; /* per work of the owners */
};

struct nl_account_maker;

/* Borrows all four until finished. */
struct nl_account_maker *nl_account_begin(const struct nl_trace *trace,
                                          const struct nl_window *window,
                                          const struct nl_found_steps *steps,
                                          const struct nl_api_roles *roles);
const struct nl_idle_sink *nl_account_sink(struct nl_account_maker *maker);
/* `owners` may be NULL. Frees the maker. */
struct nl_account *nl_account_finish(struct nl_account_maker *maker,
                                     const struct nl_account_owners *owners);
void nl_account_abandon(struct nl_account_maker *maker);

struct nl_account *nl_account_new(const struct nl_trace *trace, const struct nl_window *window);
void nl_account_free(struct nl_account *account);

/* Of a profile with nothing but samples: the event (a name) and the lane whose samples in ns the
 * account books; false when there are none. */
bool nl_account_sampled(const struct nl_trace *trace, const struct nl_window *window,
                        uint32_t *event, uint32_t *lane);

/* "compute", "exposed_comm_wait", … */
const char *nl_account_part_name(enum nl_account_part part);

/* What an id of op, module_or_range, wait, or of the name of idle time says: without instance
 * numbers, which rows do not distinguish (timeline/fold.h). Names of device work are as
 * recorded: nl_trace_name. */
struct nl_str nl_account_name(const struct nl_account *account, uint32_t id);

/* "rank 3", "GPU 1" where ranks are not known, "rank 0 GPU 1" where that rank has several. */
void nl_account_put_member(const struct nl_account *account, size_t member, struct nl_buf *out);

/* The member's device; NULL where it has no work. */
const struct nl_account_device *nl_account_member_device(const struct nl_account *account,
                                                         size_t member);

/* Its culprit in a few words: the kernel, "all_reduce, waiting for rank 3", "HtoD (pageable),
 * aten::copy_", "aten::item", "nothing recorded". */
void nl_account_culprit(const struct nl_account *account, const struct nl_account_row *row,
                        struct nl_buf *out);

/* What sort of culprit: category of a kernel, "HtoD (pageable)", or the activity ("operator",
 * "python", "off-CPU (waiting)"); static or in *room, never NULL. */
const char *nl_account_kind(const struct nl_account_row *row, char room[64]);

/* Of a row of copies. */
static inline enum nl_copykind nl_account_copykind(const struct nl_account_row *row)
{
    return (enum nl_copykind)(row->category_or_copy >> 8);
}
static inline enum nl_memory nl_account_src_memory(const struct nl_account_row *row)
{
    return (enum nl_memory)(row->category_or_copy >> 4 & 15);
}
static inline enum nl_memory nl_account_dst_memory(const struct nl_account_row *row)
{
    return (enum nl_memory)(row->category_or_copy & 15);
}

/* ns per step of the row's phase; NL_NULL_I64 where the phase has no steps. */
int64_t nl_account_per_step(const struct nl_account *account, const struct nl_account_row *row);
/* Σ ns of the device's rows. */
int64_t nl_account_total(const struct nl_account_device *device);

#endif
