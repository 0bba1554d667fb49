/*
 * fingerprint_tally — a part of a fingerprint in the making: calls under signatures, with what is
 * known of each. Private to compare/.
 *
 *     fingerprint_tally_init(&tally);
 *     item = fingerprint_tally_item(&tally, signature, family);     per different signature
 *     fingerprint_tally_add(&tally, item, category, length);        per call; category is text or empty
 *     fingerprint_tally_value(&tally, item, NL_FINGERPRINT_WARPS, x, length);   weighted means
 *     fingerprint_tally_flops(&tally, item, flops, flops, bytes, best);   sums: unknown when one call is
 *     fingerprint_tally_finish(&tally, &list, &arena);
 *     fingerprint_tally_release(&tally);
 */
#ifndef NL_FINGERPRINT_TALLY_H
#define NL_FINGERPRINT_TALLY_H

#include "fingerprint/fingerprint.h"

struct fingerprint_item {
    uint32_t family;
    uint64_t count;
    int64_t total_ns;
    double sums[NL_FINGERPRINT_VALUES], weights[NL_FINGERPRINT_VALUES];
    double flops, timed_flops, bytes, best_ns; /* NaN if one call does not say */
};

struct fingerprint_tally {
    struct nl_dict signatures, families, categories, pairs; /* pairs: item and category */
    struct fingerprint_item *items;                         /* by id of the signature */
    size_t item_cap;
    int64_t *pair_ns; /* by id of the pair */
    size_t pair_cap;
    uint32_t *call_items; /* per call */
    int64_t *call_ns;
    size_t calls, call_item_cap, call_ns_cap;
};

void fingerprint_tally_init(struct fingerprint_tally *tally);
void fingerprint_tally_release(struct fingerprint_tally *tally);
/* A family follows from its signature. */
uint32_t fingerprint_tally_item(struct fingerprint_tally *tally, struct nl_str signature,
                                struct nl_str family);
void fingerprint_tally_add(struct fingerprint_tally *tally, uint32_t item, struct nl_str category,
                           int64_t ns);
/* Calls that are known as a sum: `mean_ns` stands for each. */
void fingerprint_tally_sum(struct fingerprint_tally *tally, uint32_t item, struct nl_str category,
                           uint64_t count, int64_t total_ns, double mean_ns);
/* NaN counts for nothing. */
void fingerprint_tally_value(struct fingerprint_tally *tally, uint32_t item,
                             enum nl_fingerprint_value value, double x, double weight);
/* `timed_flops`: the same, but NaN where the item's time is not that of its operations. */
void fingerprint_tally_flops(struct fingerprint_tally *tally, uint32_t item, double flops,
                             double timed_flops, double bytes, double best_ns);
/* Texts are copied into the arena. */
void fingerprint_tally_finish(struct fingerprint_tally *tally, struct nl_fingerprint_list *list,
                              struct nl_arena *arena);

#endif
