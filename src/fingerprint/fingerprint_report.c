/* A fingerprint as tables: a table per part, what is in the parts, what is
 * known of which component. */
#include <math.h>
#include <stdlib.h>

#include "tables/resultcells.h"
#include "base/mem.h"
#include "base/units.h"
#include "fingerprint/fingerprint.h"

static const char *const titles[NL_FINGERPRINT_PARTS] = {
    "Kernels, copies and memsets by device time",
    "Operators by the device time they launched",
    "Operators by their own time on the host",
    "Layers by their own time",
};

/* Columns of an item; its values are between its share and its family. */
enum {
    ITEM_SIGNATURE,
    ITEM_CATEGORY,
    ITEM_COUNT,
    ITEM_TOTAL,
    ITEM_SHARE,
    ITEM_VALUES,
    ITEM_FAMILY = ITEM_VALUES + NL_FINGERPRINT_VALUES
};

static const struct nl_result_column item_columns[] = {
    [ITEM_SIGNATURE] = {"signature", NULL, NL_MEANS_TEXT},
    [ITEM_CATEGORY] = {"category", NULL, NL_MEANS_TEXT},
    [ITEM_COUNT] = {"count", NULL, NL_MEANS_COUNT},
    [ITEM_TOTAL] = {"total_ns", "total", NL_MEANS_NS},
    [ITEM_SHARE] = {"share", NULL, NL_MEANS_SHARE},
#define NL_FINGERPRINT_VALUE(id, column, heading, meaning, rule, doc)                              \
    {column, heading, NL_MEANS_##meaning},
#include "fingerprint/fingerprint.def"
#undef NL_FINGERPRINT_VALUE
    [ITEM_FAMILY] = {"family", NULL, NL_MEANS_TEXT},
};

static struct nl_result *items_of(const struct nl_fingerprint_list *list, unsigned part)
{
    struct nl_result *result =
        NL_ANSWER_NEW(nl_fingerprint_part_names[part], titles[part], item_columns);
    for (size_t i = 0; i < list->count; i++) {
        const struct nl_fingerprint_item *item = &list->items[i];
        struct nl_cell *cells = nl_result_row(result);
        cells[ITEM_SIGNATURE] = nl_cell_text(result, nl_str(item->signature));
        cells[ITEM_CATEGORY] = nl_cell_text(result, nl_str(item->category));
        cells[ITEM_COUNT] = nl_cell_count(item->count);
        cells[ITEM_TOTAL] = nl_cell_i64(item->total_ns);
        cells[ITEM_SHARE] = nl_cell_f64(item->share);
        for (int v = 0; v < NL_FINGERPRINT_VALUES; v++)
            cells[ITEM_VALUES + v] = nl_cell_f64(item->values[v]);
        cells[ITEM_FAMILY] = nl_cell_text(result, nl_str(item->family));
    }
    if (list->impossible)
        result->note = nl_arena_format(&result->arena,
                                       "%zu item%s would be faster than the device's peaks allow: "
                                       "the counts cannot be right, so roofline_share is left out",
                                       list->impossible, list->impossible == 1 ? "" : "s");
    else if (list->families)
        result->note = "more than 1,000 signatures: without template arguments and shapes";
    return result;
}

/* ---- parts ---- */

static int by_hash(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

uint64_t nl_fingerprint_signature(const struct nl_fingerprint_list *list)
{
    uint64_t *hashes = nl_alloc((list->count + 1) * sizeof *hashes);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        hashes[i] = list->items[i].family_hash;
    qsort(hashes, list->count, sizeof *hashes, by_hash);
    for (size_t i = 0; i < list->count; i++)
        if (!kept || hashes[kept - 1] != hashes[i])
            hashes[kept++] = hashes[i];
    uint64_t hash =
        nl_fingerprint_hash((struct nl_str){(const char *)hashes, kept * sizeof *hashes});
    nl_free(hashes);
    return hash;
}

#define PART_LIST(C, P)                                                                            \
    C(P, part, NULL, TEXT)                                                                         \
    C(P, signature, NULL, TEXT)                                                                    \
    C(P, items, NULL, COUNT)                                                                       \
    C(P, calls, NULL, COUNT)                                                                       \
    C(P, total_ns, "total", NS)
NL_TABLE_COLUMNS(part_columns, PART, PART_LIST);

static struct nl_result *parts_of(const struct nl_runfingerprint *print)
{
    struct nl_result *result = NL_ANSWER_NEW("parts", "Parts", part_columns);
    for (int p = 0; p < NL_FINGERPRINT_PARTS; p++) {
        const struct nl_fingerprint_list *list = &print->parts[p];
        if (!list->count)
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[PART_part] = nl_cell_static(nl_fingerprint_part_names[p]);
        cells[PART_signature] = nl_cell_text(
            result, nl_str(nl_arena_format(&result->arena, "%016llx",
                                           (unsigned long long)nl_fingerprint_signature(list))));
        cells[PART_items] = nl_cell_count(list->count);
        cells[PART_calls] = nl_cell_count(list->calls);
        cells[PART_total_ns] = nl_cell_i64(list->total_ns);
    }
    return result;
}

/* ---- components ---- */

#define COMPONENT_LIST(C, P)                                                                       \
    C(P, component, NULL, TEXT)                                                                    \
    C(P, device_share, "device", SHARE)                                                            \
    C(P, op_device_share, "op_device", SHARE)                                                      \
    C(P, op_share, "op", SHARE)                                                                    \
    C(P, layer_share, "layer", SHARE)                                                              \
    C(P, definition, NULL, TEXT)
NL_TABLE_COLUMNS(component_columns, COMPONENT, COMPONENT_LIST);

static struct nl_result *components_of(const struct nl_runfingerprint *print)
{
    struct nl_result *result = NL_ANSWER_NEW(
        "components", "Share of each part's time that has the component", component_columns);
    for (int v = 0; v < NL_FINGERPRINT_VALUES; v++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[COMPONENT_component] = nl_cell_static(nl_fingerprint_values[v].column);
        for (int p = 0; p < NL_FINGERPRINT_PARTS; p++) {
            const struct nl_fingerprint_list *list = &print->parts[p];
            double known = 0;
            for (size_t i = 0; i < list->count; i++)
                known += isnan(list->items[i].values[v]) ? 0 : list->items[i].share;
            cells[COMPONENT_device_share + p] = nl_cell_f64(list->count ? known : NL_NULL_F64);
        }
        cells[COMPONENT_definition] = nl_cell_static(nl_fingerprint_values[v].doc);
    }
    return result;
}

/* ---- the report ---- */

static void put_headlines(struct nl_report *report, const struct nl_runfingerprint *print)
{
    char rate[NL_UNIT_TEXT] = "";
    bool any = false;
    for (unsigned p = 0; p < NL_FINGERPRINT_PARTS; p++)
        any = any || print->parts[p].count;
    if (!any)
        report->headlines[report->headline_count++] =
            "There are no kernels, copies, operators or layers of which a fingerprint is made.";
    if (print->excluded_steps)
        report->headlines[report->headline_count++] = nl_arena_format(
            &report->arena, "%llu step%s of warm-up or compilation %s left out.",
            (unsigned long long)print->excluded_steps, print->excluded_steps == 1 ? "" : "s",
            print->excluded_steps == 1 ? "is" : "are");
    if (!print->device)
        return;
    if (!isnan(print->peak_bytes_per_s))
        nl_format_rate(rate, print->peak_bytes_per_s);
    report->headlines[report->headline_count++] =
        nl_arena_format(&report->arena, "Device: %s%s%s%s%s.", print->device,
                        *rate ? ", peak of memory " : "", rate,
                        print->peaks ? "; peaks from "
                        : *rate      ? " as the profile tells it"
                                     : "; its peaks are not known",
                        print->peaks ? print->peaks : "");
}

struct nl_report *nl_runfingerprint_report(const struct nl_runfingerprint *print)
{
    struct nl_report *report = nl_zalloc(sizeof *report);
    nl_arena_init(&report->arena);
    report->name = "fingerprint";
    report->title = "Fingerprint";
    report->results =
        nl_arena_alloc(&report->arena, (NL_FINGERPRINT_PARTS + 2) * sizeof(struct nl_result *));
    put_headlines(report, print);
    for (unsigned p = 0; p < NL_FINGERPRINT_PARTS; p++)
        report->results[report->result_count++] = items_of(&print->parts[p], p);
    report->results[report->result_count++] = parts_of(print);
    report->results[report->result_count++] = components_of(print);
    return report;
}
