/* A fingerprint as tables: a table per part, what is in the parts, what is known of which component. */
#include <math.h>
#include <stdlib.h>

#include "tables/answer.h"
#include "base/mem.h"
#include "base/units.h"
#include "fingerprint/fingerprint.h"

static const char *const titles[NL_PRINT_PARTS] = {
    "Kernels, copies and fills by device time",
    "Operators by the device time they launched",
    "Operators by their own time on the host",
    "Layers by their own time",
};

static const struct nl_result_column item_columns[] = {
    {"signature", NULL, NL_MEANS_TEXT}, {"category", NULL, NL_MEANS_TEXT},
    {"count", NULL, NL_MEANS_COUNT},    {"total_ns", "total", NL_MEANS_NS},
    {"share", NULL, NL_MEANS_SHARE},
#define NL_PRINT_VALUE(id, column, heading, meaning, rule, doc)                                    \
    {column, heading, NL_MEANS_##meaning},
#include "fingerprint/fingerprint.def"
#undef NL_PRINT_VALUE
    {"family", NULL, NL_MEANS_TEXT},
};

static struct nl_result *items_of(const struct nl_print_list *list, unsigned part)
{
    struct nl_result *result = NL_ANSWER_NEW(nl_print_part_names[part], titles[part], item_columns);
    for (size_t i = 0; i < list->count; i++) {
        const struct nl_print_item *item = &list->items[i];
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_cell_text(result, nl_str(item->signature));
        cells[1] = nl_cell_text(result, nl_str(item->category));
        cells[2] = nl_answer_count(item->count);
        cells[3] = nl_cell_i64(item->total_ns);
        cells[4] = nl_cell_f64(item->share);
        for (int v = 0; v < NL_PRINT_VALUES; v++)
            cells[5 + v] = nl_cell_f64(item->values[v]);
        cells[5 + NL_PRINT_VALUES] = nl_cell_text(result, nl_str(item->family));
    }
    if (list->impossible)
        result->note = nl_arena_format(&result->arena,
                                       "%zu item%s would be faster than the device's peaks allow: "
                                       "what was counted cannot be right, so roofline_share is "
                                       "not told",
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

uint64_t nl_print_signature(const struct nl_print_list *list)
{
    uint64_t *hashes = nl_alloc((list->count + 1) * sizeof *hashes);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        hashes[i] = list->items[i].family_hash;
    qsort(hashes, list->count, sizeof *hashes, by_hash);
    for (size_t i = 0; i < list->count; i++)
        if (!kept || hashes[kept - 1] != hashes[i])
            hashes[kept++] = hashes[i];
    uint64_t hash = nl_print_hash((struct nl_str){(const char *)hashes, kept * sizeof *hashes});
    nl_free(hashes);
    return hash;
}

static struct nl_result *parts_of(const struct nl_runprint *print)
{
    static const struct nl_result_column columns[] = {
        {"part", NULL, NL_MEANS_TEXT},      {"signature", NULL, NL_MEANS_TEXT},
        {"items", NULL, NL_MEANS_COUNT},    {"calls", NULL, NL_MEANS_COUNT},
        {"total_ns", "total", NL_MEANS_NS},
    };
    struct nl_result *result = NL_ANSWER_NEW("parts", "Parts", columns);
    for (int p = 0; p < NL_PRINT_PARTS; p++) {
        const struct nl_print_list *list = &print->parts[p];
        if (!list->count)
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_answer_static(nl_print_part_names[p]);
        cells[1] = nl_cell_text(
            result, nl_str(nl_arena_format(&result->arena, "%016llx",
                                           (unsigned long long)nl_print_signature(list))));
        cells[2] = nl_answer_count(list->count);
        cells[3] = nl_answer_count(list->calls);
        cells[4] = nl_cell_i64(list->total_ns);
    }
    return result;
}

/* ---- components ---- */

static struct nl_result *components_of(const struct nl_runprint *print)
{
    static const struct nl_result_column columns[] = {
        {"component", NULL, NL_MEANS_TEXT},
        {"device_share", "device", NL_MEANS_SHARE},
        {"op_device_share", "op_device", NL_MEANS_SHARE},
        {"op_share", "op", NL_MEANS_SHARE},
        {"layer_share", "layer", NL_MEANS_SHARE},
        {"definition", NULL, NL_MEANS_TEXT},
    };
    struct nl_result *result =
        NL_ANSWER_NEW("components", "Share of each part's time that has the component", columns);
    for (int v = 0; v < NL_PRINT_VALUES; v++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_answer_static(nl_print_values[v].column);
        for (int p = 0; p < NL_PRINT_PARTS; p++) {
            const struct nl_print_list *list = &print->parts[p];
            double known = 0;
            for (size_t i = 0; i < list->count; i++)
                known += isnan(list->items[i].values[v]) ? 0 : list->items[i].share;
            cells[1 + p] = nl_cell_f64(list->count ? known : NL_NULL_F64);
        }
        cells[5] = nl_answer_static(nl_print_values[v].doc);
    }
    return result;
}

/* ---- the report ---- */

static void put_headlines(struct nl_report *report, const struct nl_runprint *print)
{
    char rate[NL_UNIT_TEXT] = "";
    bool any = false;
    for (unsigned p = 0; p < NL_PRINT_PARTS; p++)
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

struct nl_report *nl_runprint_report(const struct nl_runprint *print)
{
    struct nl_report *report = nl_zalloc(sizeof *report);
    nl_arena_init(&report->arena);
    report->name = "fingerprint";
    report->title = "Fingerprint";
    report->results =
        nl_arena_alloc(&report->arena, (NL_PRINT_PARTS + 2) * sizeof(struct nl_result *));
    put_headlines(report, print);
    for (unsigned p = 0; p < NL_PRINT_PARTS; p++)
        report->results[report->result_count++] = items_of(&print->parts[p], p);
    report->results[report->result_count++] = parts_of(print);
    report->results[report->result_count++] = components_of(print);
    return report;
}
