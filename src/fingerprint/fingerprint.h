/*
 * fingerprint — what a run does, as vectors: for every kernel, operator and layer its signature,
 * its share of the time, its latency, and how it uses the hardware. docs/fingerprint.md defines
 * every component; fingerprint.def lists them.
 *
 * A fingerprint has up to four parts. Items of a part have different signatures; their shares add
 * up to 1. A signature is a name without what changes between builds, tools and instances, with
 * what distinguishes one use from another: template arguments of a kernel, shapes of an operator's
 * inputs. Its family is the name alone, which every tool records; an item whose signature is its
 * family says no more. Unknown components are NaN, never 0.
 *
 *     print = nl_runfingerprint_new(trace, &window, job, err);
 *     report = nl_runfingerprint_report(print);
 *     nl_fingerprint_pack(print, &items, &names);     // what a ledger keeps
 *     nl_runfingerprint_free(print);
 */
#ifndef NL_FINGERPRINT_H
#define NL_FINGERPRINT_H

#include "answer/report.h"

#define NL_FINGERPRINT_ITEMS                                                                       \
    1000 /* per part; with more, families are the items, and the smallest one */
#define NL_FINGERPRINT_REST "[all others]"

/* Number of the definitions and of the packed form: fingerprints of another are made anew. */
#define NL_FINGERPRINT_FORM 3

enum nl_fingerprint_part {
    NL_FINGERPRINT_DEVICE,    /* kernels, copies and fills, by device time */
    NL_FINGERPRINT_OP_DEVICE, /* operators, by the device time that they launched themselves */
    NL_FINGERPRINT_OP,        /* operators, by their own time on the host */
    NL_FINGERPRINT_LAYER,     /* modules and layers, by their own time */
    NL_FINGERPRINT_PARTS
};

enum nl_fingerprint_value {
#define NL_FINGERPRINT_VALUE(id, column, heading, meaning, rule, doc) NL_FINGERPRINT_##id,
#include "fingerprint/fingerprint.def"
#undef NL_FINGERPRINT_VALUE
    NL_FINGERPRINT_VALUES
};

enum nl_fingerprint_rule { NL_FINGERPRINT_NOTHING, NL_FINGERPRINT_RATIO, NL_FINGERPRINT_SHARE };

extern const struct nl_fingerprint_value_def {
    const char *column;
    enum nl_meaning meaning;
    enum nl_fingerprint_rule rule;
    const char *doc;
} nl_fingerprint_values[NL_FINGERPRINT_VALUES];

extern const char *const nl_fingerprint_part_names[NL_FINGERPRINT_PARTS];

struct nl_fingerprint_item {
    const char *signature, *family, *category; /* category NULL: not known */
    uint64_t hash, family_hash;                /* of the signature, of the family */
    uint32_t category_hash;                    /* 0 = not known */
    uint64_t count;
    int64_t total_ns;
    double share; /* of the part's time; of its calls when that is 0 */
    double values[NL_FINGERPRINT_VALUES];
};

struct nl_fingerprint_list {
    struct nl_fingerprint_item *items; /* largest share first */
    size_t count;
    uint64_t calls;
    int64_t total_ns;
    size_t impossible; /* items whose roofline came out over 1: left unknown */
    bool families;     /* there were more than NL_FINGERPRINT_ITEMS signatures */
};

struct nl_runfingerprint {
    struct nl_fingerprint_list parts[NL_FINGERPRINT_PARTS];
    const char *device; /* product name that all devices with work share, or NULL */
    const char *peaks;  /* source of the peaks, or NULL */
    double peak_bytes_per_s;
    uint64_t excluded_steps; /* of warm-up and compilation, of the rank that has most: left out */
    struct nl_arena arena;
};

/* NULL with err filled when cancelled. `window` and `job` may be NULL. */
struct nl_runfingerprint *nl_runfingerprint_new(const struct nl_trace *trace,
                                                const struct nl_window *window, struct nl_job *job,
                                                struct nl_err *err);
void nl_runfingerprint_free(struct nl_runfingerprint *print);

/* Hash of a signature that never changes: FNV-1a, 64 bits. */
uint64_t nl_fingerprint_hash(struct nl_str text);

/* One hash for the part: of the set of its families, whatever their order, times and counts. Every
 * format has them; only some have template arguments and shapes. */
uint64_t nl_fingerprint_signature(const struct nl_fingerprint_list *list);

/* The report of `neurolens fingerprint`: parts, items, components. */
struct nl_report *nl_runfingerprint_report(const struct nl_runfingerprint *print);

#endif
