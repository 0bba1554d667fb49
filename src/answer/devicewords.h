/*
 * devicewords — the sentences about timelines with device work, one function per class. Private to
 * the room: verdictdevice.c chooses, these say it.
 */
#ifndef NL_DEVICEWORDS_H
#define NL_DEVICEWORDS_H

#include "answer/laterank.h"
#include "tables/steptime.h"

struct nl_device_case {
    struct nl_judged *judged;
    struct nl_time_parts parts;
    struct nl_device_breakdown row; /* of the device that the parts are about */
    size_t devices;
    int64_t steps;                 /* steady ones, on that device */
    int64_t steady[NL_STEP_PARTS]; /* ns over them */
    int64_t step_ns;               /* median */
    int64_t first, last;           /* store time: start of the first steady step, end of the last */
    bool in_steps;                 /* the parts are about the steady steps alone */
    double thinned;                /* nl_thinned */
    uint64_t replays;              /* nl_replays_unrecorded */
    const struct nl_finding
        *inside;              /* of a device that computes: what can win most there, or NULL */
    int64_t inside_ns;        /* that, of the time that the parts are about */
    struct nl_late_rank late; /* others: 0 where no rank stands out */
};

/* Whether the finding's time is that of the device that the sentence is about. */
bool nl_device_is_place(const struct nl_device_case *it, const struct nl_finding *finding);

/* "GPU 0", "rank 3 GPU 0": the device that the sentence is about. */
void nl_device_put_place(const struct nl_device_case *it, struct nl_buf *out, const char *before);

/* Each writes sentence and culprit about `ns` of the device's time. */
void nl_device_tell_compute(struct nl_device_case *it, int64_t ns);
void nl_device_tell_comm(struct nl_device_case *it, int64_t ns);
void nl_device_tell_launch(struct nl_device_case *it, int64_t ns);
void nl_device_tell_input(struct nl_device_case *it, int64_t ns);
void nl_device_tell_sync(struct nl_device_case *it, int64_t ns);
void nl_device_tell_startup(struct nl_device_case *it, int64_t ns);
void nl_device_tell_host(struct nl_device_case *it, int64_t ns);
void nl_device_tell_idle(struct nl_device_case *it, int64_t ns);

const char *nl_device_top_collective(struct nl_judged *judged);

#endif
