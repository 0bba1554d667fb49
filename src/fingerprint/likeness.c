/* The comparison: one merge over items in the order of their families and hashes; a family is
 * finished when the next begins, and what it leaves goes to the categories. */
#include "fingerprint/likeness.h"

#include <math.h>

#include "base/mem.h"

#define SAME_NAME 0.5 /* of a pair's worth is being the same; the rest is behaving alike */
#define SAME_KIND 0.5 /* worth of other work of the same family, or of the same category */

/* Parts that decide together; the first level that both have is taken. */
static const unsigned levels[] = {
    1u << NL_FINGERPRINT_DEVICE | 1u << NL_FINGERPRINT_OP_DEVICE,
    1u << NL_FINGERPRINT_OP,
    1u << NL_FINGERPRINT_LAYER,
};

static double min(double x, double y)
{
    return x < y ? x : y;
}

/* 0..1; NaN when one of the values is not known. */
static double closeness_of(enum nl_fingerprint_rule rule, double x, double y)
{
    if (rule == NL_FINGERPRINT_NOTHING || isnan(x) || isnan(y))
        return NL_NULL_F64;
    if (x == y)
        return 1;
    if (rule == NL_FINGERPRINT_SHARE)
        return fabs(x - y) < 1 ? 1 - fabs(x - y) : 0;
    if (x <= 0 || y <= 0)
        return 0;
    return x < y ? x / y : y / x;
}

/* Mean over the known components; NaN when there is none. */
static double pair_closeness(const struct nl_packed_item *a, const struct nl_packed_item *b,
                             double each[NL_FINGERPRINT_VALUES])
{
    double sum = 0;
    int known = 0;
    for (int v = 0; v < NL_FINGERPRINT_VALUES; v++) {
        each[v] = closeness_of(nl_fingerprint_values[v].rule, a->values[v], b->values[v]);
        if (isnan(each[v]))
            continue;
        sum += each[v];
        known++;
    }
    return known ? sum / known : NL_NULL_F64;
}

/* What a pair is worth of the share that both have; what is not known does not speak against it. */
static double worth_of(double closeness)
{
    return isnan(closeness) ? 1 : SAME_NAME + (1 - SAME_NAME) * closeness;
}

/* What items of one category have left on both sides. */
struct rest {
    uint32_t category;
    double a, b;
};

#define GUESSES 64 /* a category is mostly where one of its hash was last */

struct rests {
    struct rest *items;
    size_t count, cap;
    size_t guesses[GUESSES];
};

static struct rest *rest_of(struct rests *rests, uint32_t category)
{
    size_t *guess = &rests->guesses[category / 2 % GUESSES], i = *guess; /* all hashes are odd */
    if (i < rests->count && rests->items[i].category == category)
        return &rests->items[i];
    for (i = 0; i < rests->count && rests->items[i].category != category; i++)
        ;
    if (i == rests->count) {
        nl_grow(&rests->items, &rests->cap, i + 1);
        rests->items[rests->count++] = (struct rest){.category = category};
    }
    *guess = i;
    return &rests->items[i];
}

static void leave_to(struct rests *rests, uint32_t category, double a, double b)
{
    if (!category || (a <= 0 && b <= 0))
        return;
    struct rest *rest = rest_of(rests, category);
    rest->a += a > 0 ? a : 0;
    rest->b += b > 0 ? b : 0;
}

/* A merge of two lists: the next signature of either or both. */
struct merge {
    const struct nl_packed_item *a, *b;
    size_t a_count, b_count, at_a, at_b;
};

static struct merge merge_of(const struct nl_fingerprint_view *a,
                             const struct nl_fingerprint_view *b, unsigned part)
{
    return (struct merge){a->items[part], b->items[part], a->count[part], b->count[part], 0, 0};
}

static bool is_same(const struct nl_packed_item *a, const struct nl_packed_item *b)
{
    return a->hash == b->hash && a->family == b->family;
}

static bool comes_first(const struct nl_packed_item *a, const struct nl_packed_item *b)
{
    return a->family != b->family ? a->family < b->family : a->hash < b->hash;
}

static bool next_pair(struct merge *merge, const struct nl_packed_item **a,
                      const struct nl_packed_item **b)
{
    *a = merge->at_a < merge->a_count ? &merge->a[merge->at_a] : NULL;
    *b = merge->at_b < merge->b_count ? &merge->b[merge->at_b] : NULL;
    if (!*a && !*b)
        return false;
    if (*a && *b && !is_same(*a, *b)) {
        if (comes_first(*a, *b))
            *b = NULL;
        else
            *a = NULL;
    }
    merge->at_a += *a != NULL;
    merge->at_b += *b != NULL;
    return true;
}

/* Sums of shares are 1 but for rounding; dividing by them makes equal ones 1 exactly. */
static double whole(const struct nl_packed_item *items, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += items[i].share;
    return sum;
}

struct sums {
    uint32_t pairs;
    double same, worth;                  /* of pairs */
    double known_share, known_closeness; /* of pairs with a known component */
    double share[NL_FINGERPRINT_VALUES], close[NL_FINGERPRINT_VALUES];
};

static double add_pair(struct sums *sums, const struct nl_packed_item *a,
                       const struct nl_packed_item *b)
{
    double each[NL_FINGERPRINT_VALUES], closeness = pair_closeness(a, b, each);
    double share = a->share < b->share ? a->share : b->share;
    sums->pairs++;
    sums->same += share;
    sums->worth += share * worth_of(closeness);
    if (!isnan(closeness)) {
        sums->known_share += share;
        sums->known_closeness += share * closeness;
    }
    for (int v = 0; v < NL_FINGERPRINT_VALUES; v++) {
        if (isnan(each[v]))
            continue;
        sums->share[v] += share;
        sums->close[v] += share * each[v];
    }
    return share;
}

/* ---- families ---- */

/* What a family leaves on a side: of items with recorded calls, and of those without. */
struct left {
    double told, plain;
};

static void count_left(struct left *left, const struct nl_packed_item *item, double both)
{
    double rest = item ? item->share - both : 0;
    if (rest > 0)
        *(item->hash == item->family ? &left->plain : &left->told) += rest;
}

/* One family: its pairs, then what is left of it, then what that leaves to categories. */
struct family {
    struct rests *rests;
    struct sums *sums;
    double worth, same, kin; /* of what is outside the pairs */
};

/* What the items leave to their categories: `a_share` and `b_share` of what the pairs left. */
static void leave(struct family *family, struct merge merge, double a_share, double b_share)
{
    const struct nl_packed_item *x, *y;
    while (next_pair(&merge, &x, &y)) {
        double both = x && y ? min(x->share, y->share) : 0;
        double a = x ? (x->share - both) * a_share : 0, b = y ? (y->share - both) * b_share : 0;
        /* Met in an order that both ways have, so that sums are the same to the last digit. */
        bool other_first = x && y && y->category < x->category;
        if (other_first)
            leave_to(family->rests, y->category, 0, b);
        if (x)
            leave_to(family->rests, x->category, a, 0);
        if (y && !other_first)
            leave_to(family->rests, y->category, 0, b);
    }
}

/* What is not known does not speak against it: an item without shapes may be any of the others. */
static void compare_family(struct family *family, struct merge merge)
{
    const struct merge whole = merge;
    const struct nl_packed_item *x, *y;
    struct left a = {0, 0}, b = {0, 0};
    while (next_pair(&merge, &x, &y)) {
        double both = x && y ? add_pair(family->sums, x, y) : 0;
        count_left(&a, x, both);
        count_left(&b, y, both);
    }
    double all_a = a.told + a.plain, all_b = b.told + b.plain, common = min(all_a, all_b);
    double unknown = min(common, a.plain + b.plain);
    family->same += unknown;
    family->kin += common - unknown;
    family->worth += unknown + (common - unknown) * SAME_KIND;
    leave(family, whole, all_a > 0 ? 1 - common / all_a : 0, all_b > 0 ? 1 - common / all_b : 0);
}

static size_t end_of_family(const struct nl_packed_item *items, size_t count, size_t at,
                            uint64_t family)
{
    while (at < count && items[at].family == family)
        at++;
    return at;
}

/* The next family of either side; false at the end. */
static bool next_family(struct merge *merge, struct merge *family)
{
    bool a = merge->at_a < merge->a_count, b = merge->at_b < merge->b_count;
    if (!a && !b)
        return false;
    uint64_t first = a ? merge->a[merge->at_a].family : merge->b[merge->at_b].family;
    if (a && b && merge->b[merge->at_b].family < first)
        first = merge->b[merge->at_b].family;
    *family = *merge;
    merge->at_a = end_of_family(merge->a, merge->a_count, merge->at_a, first);
    merge->at_b = end_of_family(merge->b, merge->b_count, merge->at_b, first);
    family->a_count = merge->at_a;
    family->b_count = merge->at_b;
    return true;
}

static struct nl_likeness_part compare_part(const struct nl_fingerprint_view *a,
                                            const struct nl_fingerprint_view *b, unsigned part,
                                            struct rests *rests, struct sums *sums)
{
    struct merge merge = merge_of(a, b, part), one;
    struct family family = {.rests = rests, .sums = sums};
    double alike = 0, all = whole(merge.a, merge.a_count), other = whole(merge.b, merge.b_count);
    struct nl_likeness_part like = {.compared = true};
    all = all > other ? all : other;
    *sums = (struct sums){0};
    rests->count = 0;
    while (next_family(&merge, &one))
        compare_family(&family, one);
    for (size_t i = 0; i < rests->count; i++)
        alike += min(rests->items[i].a, rests->items[i].b);
    like.same = min((sums->same + family.same) / all, 1);
    like.alike = min((family.kin + alike) / all, 1);
    like.similarity = min((sums->worth + family.worth + SAME_KIND * alike) / all, 1);
    for (int v = 0; v < NL_FINGERPRINT_VALUES; v++) {
        like.known[v] = sums->share[v] / all;
        like.closeness[v] = sums->share[v] > 0 ? sums->close[v] / sums->share[v] : NL_NULL_F64;
    }
    return like;
}

/* Libraries choose other kernels on other devices: there only the operators show the work. */
static unsigned without_kernels(const struct nl_fingerprint_view *a,
                                const struct nl_fingerprint_view *b, unsigned parts)
{
    bool other = a->device && b->device && a->device != b->device;
    return other && parts & 1u << NL_FINGERPRINT_OP_DEVICE ? parts & ~(1u << NL_FINGERPRINT_DEVICE)
                                                           : parts;
}

static unsigned shared_parts(const struct nl_fingerprint_view *a,
                             const struct nl_fingerprint_view *b)
{
    unsigned both = 0;
    for (unsigned p = 0; p < NL_FINGERPRINT_PARTS; p++)
        both |= a->count[p] && b->count[p] ? 1u << p : 0;
    return without_kernels(a, b, both);
}

struct nl_likeness nl_likeness_of(const struct nl_fingerprint_view *a,
                                  const struct nl_fingerprint_view *b)
{
    struct nl_likeness like = {.similarity = NL_NULL_F64, .behaviour = NL_NULL_F64};
    struct rests rests = {0};
    struct sums sums;
    unsigned both = shared_parts(a, b), parts = 0;
    double share = 0, close = 0;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0] && !like.level_parts; i++)
        like.level_parts = both & levels[i];
    like.same = like.alike = like.unmatched = like.level_parts ? 0 : NL_NULL_F64;
    for (unsigned p = 0; p < NL_FINGERPRINT_PARTS; p++) {
        struct nl_likeness_part *part = &like.parts[p];
        *part = (struct nl_likeness_part){.similarity = NL_NULL_F64};
        if (!(like.level_parts & 1u << p))
            continue;
        *part = compare_part(a, b, p, &rests, &sums);
        like.similarity = (parts++ ? like.similarity : 0) + part->similarity;
        like.same += part->same;
        like.same_items += sums.pairs;
        like.alike += part->alike;
        share += sums.known_share;
        close += sums.known_closeness;
    }
    nl_free(rests.items);
    if (!parts)
        return like;
    like.similarity /= parts;
    like.same /= parts;
    like.alike /= parts;
    like.unmatched = 1 - min(like.same + like.alike, 1);
    like.behaviour = share > 0 ? close / share : NL_NULL_F64;
    return like;
}

/* The component that differs most; NL_FINGERPRINT_VALUES when none does. */
static enum nl_fingerprint_value worst_of(const double each[NL_FINGERPRINT_VALUES])
{
    unsigned worst = NL_FINGERPRINT_VALUES;
    for (unsigned v = 0; v < NL_FINGERPRINT_VALUES; v++)
        if (each[v] < 1 && (worst == NL_FINGERPRINT_VALUES || each[v] < each[worst]))
            worst = v;
    return (enum nl_fingerprint_value)worst;
}

static struct nl_likeness_item pair_of(const struct nl_packed_item *a,
                                       const struct nl_packed_item *b)
{
    double each[NL_FINGERPRINT_VALUES], closeness = pair_closeness(a, b, each);
    double both = min(a->share, b->share);
    double agrees = both * worth_of(closeness);
    return (struct nl_likeness_item){.share_a = a->share,
                                     .share_b = b->share,
                                     .closeness = closeness,
                                     .worst = worst_of(each),
                                     .agrees = agrees,
                                     .differs = a->share + b->share - both - agrees};
}

struct nl_likeness_item *nl_likeness_items(const struct nl_fingerprint_view *a,
                                           const struct nl_fingerprint_view *b,
                                           enum nl_fingerprint_part part, size_t *count)
{
    struct merge merge = merge_of(a, b, part);
    const struct nl_packed_item *x, *y;
    struct nl_likeness_item *items = nl_alloc((merge.a_count + merge.b_count + 1) * sizeof *items);
    *count = 0;
    while (next_pair(&merge, &x, &y)) {
        struct nl_likeness_item *item = &items[(*count)++];
        double share_a = x ? x->share : 0, share_b = y ? y->share : 0;
        if (x && y)
            *item = pair_of(x, y);
        else
            *item = (struct nl_likeness_item){.share_a = share_a,
                                              .share_b = share_b,
                                              .closeness = NL_NULL_F64,
                                              .worst = NL_FINGERPRINT_VALUES,
                                              .differs = share_a + share_b};
        item->a = x ? (size_t)(x - merge.a) : SIZE_MAX;
        item->b = y ? (size_t)(y - merge.b) : SIZE_MAX;
    }
    return items;
}
