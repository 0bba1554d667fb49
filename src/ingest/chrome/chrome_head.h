/*
 * chrome_head — the top-level keys of a trace other than its events: clock base, rank, devices, and
 * a fixed list of facts. Keys that are not on the list are never shown, since programs store
 * whatever they like there, environments with tokens included; coverage names them.
 */
#ifndef CHROME_HEAD_H
#define CHROME_HEAD_H

#include "ingest/chrome/chrome_work.h"
#include "store/builder.h"

struct chrome_head {
    struct nl_device_row listed; /* what all devices in deviceProperties have in common */
    bool any_listed, listed_differ;
    int64_t base_ns; /* baseTimeNanoseconds, NL_NULL_I64 = absent */
    int64_t rank;    /* distributedInfo.rank */
    bool kineto;     /* has keys that only Kineto writes */
    bool several_bases;
    unsigned unknown; /* keys in coverage so far */
};

void chrome_head_init(struct chrome_head *head);

/* Should the value of this key be captured? Others are skipped whatever their size. */
bool chrome_head_wants(struct nl_str key);

/* Takes a captured value. */
void chrome_head_take(struct chrome_head *head, struct chrome_load *load,
                      struct chrome_names *names, struct nl_str key,
                      const struct chrome_value *value);

/* ROCm lists the devices that HIP shows (0, 1, …) and numbers those of kernels as the driver does,
 * processors first (2, 9). A kernel runs on a device that its process sees: where all that are
 * listed are one product, one that is not listed is that, too. */
void chrome_head_settle(const struct chrome_head *head, struct chrome_load *load,
                        const struct chrome_worker *workers, unsigned count);

/* Notes a key that is not loaded. */
void chrome_head_skip(struct chrome_head *head, struct chrome_load *load, struct nl_str key);

#endif
