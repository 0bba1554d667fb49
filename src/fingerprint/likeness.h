/*
 * likeness — how alike two fingerprints are, 0 to 1, and on what that rests. docs/fingerprint.md
 * has the definition with its reasons; in short, for a part that both have:
 *
 *     items of one signature       min of their shares × (½ + ½ × mean closeness of known components)
 *     what is left of a category   min of what both have left × ½
 *     the sum of it                the part's similarity
 *
 * The similarity is the mean over the parts of the first level that both have: device
 * work (as kernels and as operators), then operators on the host, then layers. It is
 * symmetric, and 1 for equal ones.
 */
#ifndef NL_LIKENESS_H
#define NL_LIKENESS_H

#include "fingerprint/fingerprint_pack.h"

struct nl_likeness_part {
    bool compared;     /* both have it */
    double similarity; /* NaN unless compared; so are the others */
    double same;       /* share of the time under signatures that both have */
    double alike;      /* share of other time in categories that both have */
    /* Per component: share of the time in `same` for which both know it, and its mean
     * closeness there (NaN when none). */
    double known[NL_FINGERPRINT_VALUES], closeness[NL_FINGERPRINT_VALUES];
};

struct nl_likeness {
    double similarity;             /* NaN: no part in common */
    double same, alike, unmatched; /* means over the parts that decide */
    uint32_t same_items;           /* pairs in `same`, all parts together */
    /* of `same`: mean closeness of components, weighted by time; NaN: none known */
    double behaviour;
    unsigned level_parts; /* bits: the parts that decide */
    struct nl_likeness_part parts[NL_FINGERPRINT_PARTS];
};

struct nl_likeness nl_likeness_of(const struct nl_fingerprint_view *a,
                                  const struct nl_fingerprint_view *b);

/* One signature of a part in both. */
struct nl_likeness_item {
    size_t a, b; /* places in the views; SIZE_MAX = it does not have it */
    double share_a, share_b;
    double closeness; /* NaN: not in both, or nothing known */
    enum nl_fingerprint_value
        worst;              /* the component that differs most; NL_FINGERPRINT_VALUES = none */
    double agrees, differs; /* shares of the time; what order follows */
};

/* Every signature of the part; nl_free it. */
struct nl_likeness_item *nl_likeness_items(const struct nl_fingerprint_view *a,
                                           const struct nl_fingerprint_view *b,
                                           enum nl_fingerprint_part part, size_t *count);

#endif
