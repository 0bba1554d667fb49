/* Calls under signatures → items with shares, medians and means. */
#include "fingerprint/fingerprint_tally.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"
#include "timeline/quantile.h"

void fingerprint_tally_init(struct fingerprint_tally *tally)
{
    *tally = (struct fingerprint_tally){0};
    nl_dict_init(&tally->signatures);
    nl_dict_init(&tally->families);
    nl_dict_init(&tally->categories);
    nl_dict_init(&tally->pairs);
}

void fingerprint_tally_release(struct fingerprint_tally *tally)
{
    nl_dict_release(&tally->signatures);
    nl_dict_release(&tally->families);
    nl_dict_release(&tally->categories);
    nl_dict_release(&tally->pairs);
    nl_free(tally->items);
    nl_free(tally->pair_ns);
    nl_free(tally->call_items);
    nl_free(tally->call_ns);
}

uint32_t fingerprint_tally_item(struct fingerprint_tally *tally, struct nl_str signature,
                                struct nl_str family)
{
    uint32_t known = tally->signatures.count;
    uint32_t id = nl_dict_add(&tally->signatures, signature.len ? signature : nl_str("[unnamed]"));
    if (id < known)
        return id;
    nl_grow(&tally->items, &tally->item_cap, (size_t)id + 1);
    tally->items[id] = (struct fingerprint_item){
        .family = nl_dict_add(&tally->families, family.len ? family : nl_str("[unnamed]"))};
    return id;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* The category of an item is the one that most of its time has. */
static void vote(struct fingerprint_tally *tally, uint32_t item, struct nl_str category, int64_t ns)
{
    if (!category.len)
        return;
    uint32_t pair[2] = {item, nl_dict_add(&tally->categories, category)};
    uint32_t known = tally->pairs.count;
    uint32_t id = nl_dict_add(&tally->pairs, (struct nl_str){(const char *)pair, sizeof pair});
    nl_grow(&tally->pair_ns, &tally->pair_cap, (size_t)id + 1);
    tally->pair_ns[id] = plus(id < known ? tally->pair_ns[id] : 0, ns);
}

void fingerprint_tally_sum(struct fingerprint_tally *tally, uint32_t item, struct nl_str category,
                           uint64_t count, int64_t total_ns, double mean_ns)
{
    struct fingerprint_item *of = &tally->items[item];
    of->count += count;
    of->total_ns = plus(of->total_ns, total_ns);
    vote(tally, item, category, total_ns);
    nl_grow(&tally->call_items, &tally->call_item_cap, tally->calls + 1);
    nl_grow(&tally->call_ns, &tally->call_ns_cap, tally->calls + 1);
    tally->call_items[tally->calls] = item;
    tally->call_ns[tally->calls++] = nl_whole_i64(mean_ns);
}

void fingerprint_tally_add(struct fingerprint_tally *tally, uint32_t item, struct nl_str category,
                           int64_t ns)
{
    fingerprint_tally_sum(tally, item, category, 1, ns, (double)ns);
}

#define MAX_VALUE 1e30 /* of rates and shares; sums of them stay numbers */

void fingerprint_tally_value(struct fingerprint_tally *tally, uint32_t item,
                             enum nl_fingerprint_value value, double x, double weight)
{
    if (!(x >= 0 && x < MAX_VALUE))
        return; /* unknown, or a wrong trace file */
    tally->items[item].sums[value] += x * weight;
    tally->items[item].weights[value] += weight;
}

void fingerprint_tally_flops(struct fingerprint_tally *tally, uint32_t item, double flops,
                             double timed_flops, double bytes, double best_ns)
{
    tally->items[item].flops += flops;
    tally->items[item].timed_flops += timed_flops;
    tally->items[item].bytes += bytes;
    tally->items[item].best_ns += best_ns;
}

/* Medians, by a counting sort of the calls by item. */
static double *medians(const struct fingerprint_tally *tally)
{
    size_t count = tally->signatures.count;
    size_t *starts = nl_zalloc((count + 2) * sizeof *starts);
    int64_t *sorted = nl_alloc((tally->calls + 1) * sizeof *sorted);
    double *of = nl_zalloc((count + 1) * sizeof *of);
    for (size_t i = 0; i < tally->calls; i++)
        starts[tally->call_items[i] + 2]++;
    for (size_t i = 2; i < count + 2; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < tally->calls; i++)
        sorted[starts[tally->call_items[i] + 1]++] = tally->call_ns[i];
    for (size_t i = 1; i < count; i++) {
        size_t calls = starts[i + 1] - starts[i];
        of[i] = calls ? nl_quantile_median(&sorted[starts[i]], calls) : NL_NULL_F64;
    }
    nl_free(starts);
    nl_free(sorted);
    return of;
}

/* Per item the id of its category, 0 = not known. Ties go to the text that comes first. */
static uint32_t *categories(const struct fingerprint_tally *tally)
{
    uint32_t *best = nl_zalloc(((size_t)tally->signatures.count + 1) * sizeof *best);
    int64_t *most = nl_zalloc(((size_t)tally->signatures.count + 1) * sizeof *most);
    for (uint32_t i = 1; i < tally->pairs.count; i++) {
        uint32_t pair[2];
        memcpy(pair, nl_dict_text(&tally->pairs, i).ptr, sizeof pair);
        struct nl_str mine = nl_dict_text(&tally->categories, pair[1]),
                      other = nl_dict_text(&tally->categories, best[pair[0]]);
        size_t shorter = mine.len < other.len ? mine.len : other.len;
        int order = memcmp(mine.ptr, other.ptr, shorter);
        bool first = order ? order < 0 : mine.len < other.len;
        if (!best[pair[0]] || tally->pair_ns[i] > most[pair[0]] ||
            (tally->pair_ns[i] == most[pair[0]] && first)) {
            best[pair[0]] = pair[1];
            most[pair[0]] = tally->pair_ns[i];
        }
    }
    nl_free(most);
    return best;
}

static void fill_values(struct nl_fingerprint_item *item, const struct fingerprint_item *from,
                        struct nl_fingerprint_list *list)
{
    double ns = (double)from->total_ns;
    for (int v = 0; v < NL_FINGERPRINT_VALUES; v++)
        item->values[v] = from->weights[v] > 0 ? from->sums[v] / from->weights[v] : NL_NULL_F64;
    if (from->flops > 0 && ns > 0) {
        if (from->timed_flops > 0)
            item->values[NL_FINGERPRINT_FLOP_RATE] = from->timed_flops / ns * 1e9;
        if (from->bytes > 0)
            item->values[NL_FINGERPRINT_INTENSITY] = from->flops / from->bytes;
        if (from->best_ns > 0)
            item->values[NL_FINGERPRINT_ROOFLINE] = from->best_ns / ns;
    }
    list->impossible += item->values[NL_FINGERPRINT_ROOFLINE] > 1;
    for (int v = 0; v < NL_FINGERPRINT_VALUES; v++)
        if (nl_fingerprint_values[v].rule == NL_FINGERPRINT_SHARE && item->values[v] > 1)
            item->values[v] = NL_NULL_F64;
}

static int by_total(const void *left, const void *right)
{
    const struct nl_fingerprint_item *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return strcmp(a->signature, b->signature);
}

static void add_item(struct fingerprint_item *to, const struct fingerprint_item *from)
{
    to->count += from->count;
    to->total_ns = plus(to->total_ns, from->total_ns);
    for (int v = 0; v < NL_FINGERPRINT_VALUES; v++) {
        to->sums[v] += from->sums[v];
        to->weights[v] += from->weights[v];
    }
    to->flops += from->flops;
    to->timed_flops += from->timed_flops;
    to->bytes += from->bytes;
    to->best_ns += from->best_ns;
}

/* The same calls under their families alone: what changes its shapes all the
 * time has too many items. */
static void join_families(struct fingerprint_tally *tally)
{
    struct fingerprint_tally joined;
    uint32_t *moved = nl_zalloc(((size_t)tally->signatures.count + 1) * sizeof *moved);
    fingerprint_tally_init(&joined);
    for (uint32_t i = 1; i < tally->signatures.count; i++) {
        struct nl_str family = nl_dict_text(&tally->families, tally->items[i].family);
        moved[i] = fingerprint_tally_item(&joined, family, family);
        add_item(&joined.items[moved[i]], &tally->items[i]);
    }
    for (uint32_t i = 1; i < tally->pairs.count; i++) {
        uint32_t pair[2];
        memcpy(pair, nl_dict_text(&tally->pairs, i).ptr, sizeof pair);
        vote(&joined, moved[pair[0]], nl_dict_text(&tally->categories, pair[1]), tally->pair_ns[i]);
    }
    for (size_t call = 0; call < tally->calls; call++)
        tally->call_items[call] = moved[tally->call_items[call]];
    joined.call_items = tally->call_items;
    joined.call_ns = tally->call_ns;
    joined.calls = tally->calls;
    tally->call_items = NULL;
    tally->call_ns = NULL;
    fingerprint_tally_release(tally);
    *tally = joined;
    nl_free(moved);
}

/* The smallest become one item. */
static void fold_rest(struct nl_fingerprint_list *list)
{
    if (list->count <= NL_FINGERPRINT_ITEMS)
        return;
    struct nl_fingerprint_item *rest = &list->items[NL_FINGERPRINT_ITEMS - 1];
    for (size_t i = NL_FINGERPRINT_ITEMS; i < list->count; i++) {
        rest->count += list->items[i].count;
        rest->total_ns = plus(rest->total_ns, list->items[i].total_ns);
    }
    rest->signature = NL_FINGERPRINT_REST;
    rest->hash = nl_fingerprint_hash(nl_str(NL_FINGERPRINT_REST));
    rest->family = rest->signature;
    rest->family_hash = rest->hash;
    rest->category = NULL;
    rest->category_hash = 0;
    for (int v = 0; v < NL_FINGERPRINT_VALUES; v++)
        rest->values[v] = NL_NULL_F64;
    list->count = NL_FINGERPRINT_ITEMS;
}

static void share_out(struct nl_fingerprint_list *list)
{
    double all = 0;
    list->calls = 0;
    list->total_ns = 0;
    for (size_t i = 0; i < list->count; i++) {
        all += (double)list->items[i].total_ns;
        list->calls += list->items[i].count;
        list->total_ns = plus(list->total_ns, list->items[i].total_ns);
    }
    double mean = list->calls ? (double)list->total_ns / (double)list->calls : 0;
    for (size_t i = 0; i < list->count; i++) {
        struct nl_fingerprint_item *item = &list->items[i];
        item->share = list->total_ns > 0 ? (double)item->total_ns / all /* which cannot saturate */
                                         : (double)item->count / (double)list->calls;
        if (mean > 0)
            item->values[NL_FINGERPRINT_RELATIVE] = item->values[NL_FINGERPRINT_LATENCY] / mean;
    }
}

void fingerprint_tally_finish(struct fingerprint_tally *tally, struct nl_fingerprint_list *list,
                              struct nl_arena *arena)
{
    list->families = tally->signatures.count > NL_FINGERPRINT_ITEMS + 1;
    if (list->families)
        join_families(tally);
    size_t most = tally->signatures.count;
    double *median = medians(tally);
    uint32_t *category = categories(tally);
    list->items = nl_arena_alloc(arena, (most + 1) * sizeof *list->items);
    for (uint32_t i = 1; i < most; i++) {
        struct nl_fingerprint_item *item = &list->items[list->count];
        struct nl_str name = nl_dict_text(&tally->signatures, i);
        struct nl_str kind = nl_dict_text(&tally->categories, category[i]);
        struct nl_str family = nl_dict_text(&tally->families, tally->items[i].family);
        if (!tally->items[i].count)
            continue;
        list->count++;
        fill_values(item, &tally->items[i], list);
        item->signature = nl_arena_text(arena, name.ptr, name.len);
        item->hash = nl_fingerprint_hash(name);
        item->family = nl_arena_text(arena, family.ptr, family.len);
        item->family_hash = nl_fingerprint_hash(family);
        item->count = tally->items[i].count;
        item->total_ns = tally->items[i].total_ns;
        item->values[NL_FINGERPRINT_LATENCY] = median[i];
        if (!category[i])
            continue;
        item->category = nl_arena_text(arena, kind.ptr, kind.len);
        item->category_hash = (uint32_t)(nl_fingerprint_hash(kind) >> 32) | 1;
    }
    qsort(list->items, list->count, sizeof *list->items, by_total);
    fold_rest(list);
    share_out(list);
    nl_free(median);
    nl_free(category);
}
