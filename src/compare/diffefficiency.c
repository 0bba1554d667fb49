/* diffefficiency — see diffefficiency.h. Rows of both sides are sorted by what
 * they are about and merged. */
#include "compare/diffefficiency.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"
#include "compare/diffinner.h"
#include "compare/diffparts.h"
#include "tables/resultcells.h"
#include "tables/efficiency.h"
#include "tables/memo.h"

#define COLUMNS(C)                                                                                 \
    C(kind, NULL, TEXT)                                                                            \
    C(name, NULL, TEXT)                                                                            \
    C(dtype, "type", TEXT)                                                                         \
    C(base_roof_share, "A of roof", SHARE)                                                         \
    C(new_roof_share, "B of roof", SHARE)                                                          \
    C(change_share, "change", CHANGE_SHARE)                                                        \
    C(base_total_ns, "A time", NS)                                                                 \
    C(new_total_ns, "B time", NS)                                                                  \
    C(base_headroom_ns, "A headroom", NS)                                                          \
    C(new_headroom_ns, "B headroom", NS)                                                           \
    C(base_flops_per_s, "A FLOP/s", FLOPS)                                                         \
    C(new_flops_per_s, "B FLOP/s", FLOPS)                                                          \
    C(base_hfu_share, "A HFU", SHARE)                                                              \
    C(new_hfu_share, "B HFU", SHARE)                                                               \
    C(base_mfu_share, "A MFU", SHARE)                                                              \
    C(new_mfu_share, "B MFU", SHARE)
NL_COLUMNS(COLUMNS);

/* One side's figures of one thing, summed over ranks and devices. */
struct use {
    bool known;
    int64_t ns, judged_ns, headroom_ns, flops_ns;
    double least_s, flops, hfu, mfu; /* NaN unknown */
};

struct entry {
    enum nl_roof_kind kind;
    struct nl_str name;
    uint8_t type;
    struct use sides[2];
};

struct entries {
    struct entry *items;
    size_t count, cap;
};

static struct use use_of(const struct nl_roof *roof)
{
    return (struct use){.known = true,
                        .ns = roof->ns,
                        .judged_ns = roof->judged_ns,
                        .headroom_ns = roof->headroom_ns == NL_NULL_I64 ? 0 : roof->headroom_ns,
                        .flops_ns = roof->flops_ns,
                        .least_s = roof->least_s,
                        .flops = roof->flops == roof->flops ? roof->flops : 0,
                        .hfu = NAN,
                        .mfu = NAN};
}

/* Use of the peak over all devices of a side: parts of the time that each has. */
static void find_use(struct diff_side *side, struct use *use)
{
    struct nl_analyze_options options = {.window = side->window, .memo = side->memo};
    size_t count;
    struct nl_efficiency *rows = nl_efficiency_new(side->trace, &options, &count);
    double wall = 0, hfu = 0, mfu = 0;
    for (size_t i = 0; i < count; i++) {
        wall += (double)rows[i].wall_ns;
        hfu += rows[i].hfu == rows[i].hfu ? rows[i].hfu * (double)rows[i].wall_ns : 0;
        mfu += rows[i].mfu == rows[i].mfu ? rows[i].mfu * (double)rows[i].wall_ns : 0;
    }
    use->hfu = wall > 0 && hfu > 0 ? hfu / wall : NAN;
    use->mfu = wall > 0 && mfu > 0 ? mfu / wall : NAN;
    nl_free(rows);
}

static void add_entries(struct entries *entries, struct diff_side *side, int which)
{
    const struct nl_roofs *roofs = nl_memo_roofs(side->memo);
    for (size_t i = 0; i < roofs->count; i++) {
        const struct nl_roof *roof = &roofs->items[i];
        struct nl_str name = roof->kind == NL_ROOF_OPERATOR ? nl_trace_name(side->trace, roof->name)
                             : roof->kind == NL_ROOF_DEVICE ? nl_str("all devices")
                                                            : nl_str(roof->text);
        if (roof->kind == NL_ROOF_LAYER || roof->kind == NL_ROOF_STEP)
            continue;
        nl_grow(&entries->items, &entries->cap, entries->count + 1);
        struct entry *entry = &entries->items[entries->count++];
        *entry = (struct entry){.kind = roof->kind, .name = name, .type = roof->type};
        entry->sides[which] = use_of(roof);
    }
}

static int by_key(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    int order = nl_str_order(a->name, b->name);
    return order ? order : a->type < b->type ? -1 : a->type > b->type;
}

static void add_use(struct use *to, const struct use *from)
{
    if (!from->known)
        return;
    if (!to->known) {
        *to = *from;
        return;
    }
    nl_sum_add(&to->ns, from->ns);
    nl_sum_add(&to->judged_ns, from->judged_ns);
    nl_sum_add(&to->headroom_ns, from->headroom_ns);
    nl_sum_add(&to->flops_ns, from->flops_ns);
    to->least_s += from->least_s;
    to->flops += from->flops;
}

/* Entries of one thing become one. */
static void merge_entries(struct entries *entries)
{
    size_t kept = 0;
    if (entries->count)
        qsort(entries->items, entries->count, sizeof *entries->items, by_key);
    for (size_t i = 0; i < entries->count; i++) {
        if (kept && by_key(&entries->items[kept - 1], &entries->items[i]) == 0) {
            add_use(&entries->items[kept - 1].sides[0], &entries->items[i].sides[0]);
            add_use(&entries->items[kept - 1].sides[1], &entries->items[i].sides[1]);
        } else {
            entries->items[kept++] = entries->items[i];
        }
    }
    entries->count = kept;
}

static double share_of(const struct use *use)
{
    return use->judged_ns > 0 ? use->least_s * 1e9 / (double)use->judged_ns : NAN;
}

/* Time that the change of the share of the roof makes at the newer side's work. */
static double weight_of(const struct entry *entry)
{
    double base = share_of(&entry->sides[0]), changed = share_of(&entry->sides[1]);
    double weight = entry->sides[1].least_s * 1e9 * fabs(1 / changed - 1 / base);
    return weight == weight ? weight : 0;
}

static int by_weight(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    bool device_a = a->kind == NL_ROOF_DEVICE, device_b = b->kind == NL_ROOF_DEVICE;
    if (device_a != device_b)
        return device_a ? -1 : 1;
    double x = weight_of(a), y = weight_of(b);
    if (x != y)
        return x > y ? -1 : 1;
    return by_key(a, b);
}

static void put_side(struct nl_cell *cells, const struct use *use, bool changed)
{
    if (!use->known)
        return;
    cells[changed ? AT_new_roof_share : AT_base_roof_share] = nl_cell_f64(share_of(use));
    cells[changed ? AT_new_total_ns : AT_base_total_ns] = nl_cell_i64(use->ns);
    if (use->judged_ns > 0)
        cells[changed ? AT_new_headroom_ns : AT_base_headroom_ns] = nl_cell_i64(use->headroom_ns);
    if (use->flops_ns > 0)
        cells[changed ? AT_new_flops_per_s : AT_base_flops_per_s] =
            nl_cell_f64(use->flops / ((double)use->flops_ns / 1e9));
    cells[changed ? AT_new_hfu_share : AT_base_hfu_share] = nl_cell_f64(use->hfu);
    cells[changed ? AT_new_mfu_share : AT_base_mfu_share] = nl_cell_f64(use->mfu);
}

static void add_efficiency_row(struct nl_result *result, const struct entry *entry)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_kind] = nl_cell_static(nl_roof_kind_text(entry->kind));
    cells[AT_name] = nl_cell_text(result, entry->name);
    cells[AT_dtype] = nl_cell_static(work_type_name((enum work_type)entry->type));
    cells[AT_change_share] = nl_cell_f64(share_of(&entry->sides[1]) - share_of(&entry->sides[0]));
    put_side(cells, &entry->sides[0], false);
    put_side(cells, &entry->sides[1], true);
}

struct nl_result *diff_efficiency(struct diff_side *base, struct diff_side *changed)
{
    struct nl_result *result =
        NL_ANSWER_NEW("efficiency", "Use of the devices: share of the roofs reached", columns);
    struct diff_side *sides[2] = {diff_captures(base), diff_captures(changed)};
    struct entries entries = {0};
    for (int which = 0; which < 2; which++)
        add_entries(&entries, sides[which], which);
    merge_entries(&entries);
    for (size_t i = 0; i < entries.count; i++)
        for (int which = 0; which < 2; which++)
            if (entries.items[i].kind == NL_ROOF_DEVICE && entries.items[i].sides[which].known)
                find_use(sides[which], &entries.items[i].sides[which]);
    if (entries.count)
        qsort(entries.items, entries.count, sizeof *entries.items, by_weight);
    for (size_t i = 0; i < entries.count; i++)
        if (entries.items[i].sides[0].judged_ns > 0 || entries.items[i].sides[1].judged_ns > 0)
            add_efficiency_row(result, &entries.items[i]);
    nl_free(entries.items);
    return result;
}
