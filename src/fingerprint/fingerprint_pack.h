/*
 * fingerprint_pack — a fingerprint as bytes, as a ledger keeps it: what is compared apart from the
 * names, which are only needed for the few runs that are shown.
 *
 *     nl_fingerprint_pack(print, &items, &names);
 *     struct nl_fingerprint_view view = {0};
 *     nl_fingerprint_unpack(&view, items)        again and again; nl_fingerprint_view_release at the end
 *
 * Items are in order of the hashes of their families, then of their own hashes. Values are kept as
 * 32-bit floats; what is compared is always packed, so that a fresh fingerprint and a kept one of
 * the same run are equal.
 */
#ifndef NL_FINGERPRINT_PACK_H
#define NL_FINGERPRINT_PACK_H

#include "fingerprint/fingerprint.h"

#define NL_MAX_FINGERPRINT_PACK ((size_t)16 << 20) /* either of both is less */

struct nl_packed_item {
    uint64_t hash, family;
    uint32_t category; /* hash; 0 = not known */
    float share;
    float values[NL_FINGERPRINT_VALUES]; /* NaN = not known */
};

struct nl_fingerprint_view {
    uint64_t device; /* hash of its name; 0 = not known, or several */
    struct nl_packed_item *items[NL_FINGERPRINT_PARTS];
    size_t count[NL_FINGERPRINT_PARTS], caps[NL_FINGERPRINT_PARTS];
};

/* `items` and `names` are initialised buffers. */
void nl_fingerprint_pack(const struct nl_runfingerprint *print, struct nl_buf *items,
                         struct nl_buf *names);

/* False when the bytes are no fingerprint of NL_FINGERPRINT_FORM. */
bool nl_fingerprint_unpack(struct nl_fingerprint_view *view, struct nl_str items);
void nl_fingerprint_view_release(struct nl_fingerprint_view *view);

/* Texts of the items, in the view's order; they live in the arena. */
struct nl_fingerprint_texts {
    const char *device; /* or NULL */
    const char **signatures[NL_FINGERPRINT_PARTS], **categories[NL_FINGERPRINT_PARTS];
};
bool nl_fingerprint_texts(struct nl_fingerprint_texts *texts,
                          const struct nl_fingerprint_view *view, struct nl_str names,
                          struct nl_arena *arena);

#endif
