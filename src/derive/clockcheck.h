/*
 * clockcheck — do the times of a device fit those of the CPU that drives it?
 *
 * Cause and effect bound them: work cannot start before the call that launched it began; work whose
 * launch had returned before a wait for its stream or context began cannot end after that wait has
 * returned; nor can a copy to the host end after a call that copies synchronously. What does not
 * fit is the fault of a clock (or of a file that joins the wrong call). No time is changed: the
 * check says by how much the device's times would have to move.
 *
 * Times rounded to whole µs may seem to end up to 2 µs late; that is allowed for.
 */
#ifndef NL_CLOCKCHECK_H
#define NL_CLOCKCHECK_H

#include "store/trace.h"

/* Items of coverage. */
#define NL_CLOCK_ITEMS "clock: "
#define NL_CLOCK_EARLY NL_CLOCK_ITEMS "device work before its launch"
#define NL_CLOCK_LATE  NL_CLOCK_ITEMS "device work that ends after a wait for it"

struct nl_clock_check {
    uint32_t device;                  /* row, NL_NULL_ROW: of work whose device is not known */
    uint32_t source;                  /* of its work */
    uint64_t launches, early;         /* starts compared; before their call */
    uint64_t waits, late;             /* ends compared; those after their wait */
    int64_t worst_early, worst_late;  /* ns, 0 = none */
    uint32_t early_slice, late_slice; /* the worst, NL_NULL_ROW */
    /* What could be added to the device's times: all of it between the two fits. least > most: no
     * single number does. INT64_MIN, INT64_MAX: not bounded on that side. */
    int64_t least, most;
    int64_t shift; /* the smallest that fits; NL_NULL_I64: none does */
    /* rate, as a share, at which a straight line fits where no single number does; else 0 */
    double drift;
};

struct nl_clock_checks {
    struct nl_clock_check *items; /* those with something to compare, by device row */
    size_t count;
    int64_t grain; /* ns that all times of device work are multiples of: 1000 or 1 */
};

/* Once launches are linked and the extent is known. */
void nl_clock_checks_init(struct nl_clock_checks *checks, const struct nl_trace *trace);
/* Lines of coverage for what does not fit. */
struct nl_builder;
void nl_clock_checks_cover(const struct nl_clock_checks *checks, struct nl_builder *builder);
void nl_clock_checks_release(struct nl_clock_checks *checks);

#endif
