/* Likenesses as tables. */
#include "fingerprint/similar.h"

#include <math.h>
#include <stdlib.h>

#include "tables/resultcells.h"
#include "base/mem.h"
#include "base/units.h"

#define MIN_SHOWN 0.001 /* of the time: smaller agreements and differences are not listed */

struct pages {
    const struct nl_fingerprint_view *view;
    const struct nl_fingerprint_texts *texts;
    struct nl_result *runs, *differences, *agreements, *components;
};

static struct nl_cell text_cell(struct nl_result *result, const char *text)
{
    return nl_cell_text(result, nl_str(text));
}

/* ---- runs ---- */

#define RUN_LIST(C, P)                                                                             \
    C(P, similarity, NULL, NUMBER)                                                                 \
    C(P, id, NULL, TEXT)                                                                           \
    C(P, name, NULL, TEXT)                                                                         \
    C(P, same_share, "same", SHARE)                                                                \
    C(P, same_items, "items", COUNT)                                                               \
    C(P, alike_share, "alike", SHARE)                                                              \
    C(P, unmatched_share, "other", SHARE)                                                          \
    C(P, behaviour, NULL, NUMBER)                                                                  \
    C(P, parts, NULL, TEXT)                                                                        \
    C(P, device, NULL, TEXT)                                                                       \
    C(P, model, NULL, TEXT)                                                                        \
    C(P, tags, NULL, TEXT)                                                                         \
    C(P, added, NULL, TEXT)
NL_TABLE_COLUMNS(run_columns, RUN, RUN_LIST);

static const char *part_names(struct nl_result *result, unsigned parts)
{
    const char *text = "";
    for (int p = 0; p < NL_FINGERPRINT_PARTS; p++)
        if (parts & 1u << p)
            text = nl_arena_format(&result->arena, "%s%s%s", text, *text ? ", " : "",
                                   nl_fingerprint_part_names[p]);
    return text;
}

/* Four digits are more than the definition deserves. */
static double rounded(double value)
{
    return round(value * 1e4) / 1e4;
}

static void add_run(struct nl_result *result, const struct nl_similar_run *run)
{
    const struct nl_likeness *like = &run->likeness;
    struct nl_cell *cells = nl_result_row(result);
    cells[RUN_similarity] = nl_cell_f64(rounded(like->similarity));
    cells[RUN_id] = text_cell(result, run->id);
    cells[RUN_name] = text_cell(result, run->name);
    cells[RUN_same_share] = nl_cell_f64(rounded(like->same));
    cells[RUN_same_items] = nl_cell_count(like->same_items);
    cells[RUN_alike_share] = nl_cell_f64(rounded(like->alike));
    cells[RUN_unmatched_share] = nl_cell_f64(rounded(like->unmatched));
    cells[RUN_behaviour] = nl_cell_f64(rounded(like->behaviour));
    cells[RUN_parts] = text_cell(result, part_names(result, like->level_parts));
    cells[RUN_device] = text_cell(result, run->texts.device);
    cells[RUN_model] = text_cell(result, run->model);
    cells[RUN_tags] = text_cell(result, run->tags);
    cells[RUN_added] = text_cell(result, run->added);
}

/* ---- items ---- */

#define ITEM_LIST(C, P)                                                                            \
    C(P, id, NULL, TEXT)                                                                           \
    C(P, part, NULL, TEXT)                                                                         \
    C(P, signature, NULL, TEXT)                                                                    \
    C(P, share, "here", SHARE)                                                                     \
    C(P, other_share, "there", SHARE)                                                              \
    C(P, closeness, NULL, NUMBER)                                                                  \
    C(P, component, "differs in", TEXT)                                                            \
    C(P, value, "value here", NUMBER)                                                              \
    C(P, other_value, "value there", NUMBER)
NL_TABLE_COLUMNS(item_columns, ITEM, ITEM_LIST);

static const char *signature_of(const struct pages *pages, const struct nl_similar_run *run,
                                unsigned part, const struct nl_likeness_item *item)
{
    const char *text = item->a != SIZE_MAX ? pages->texts->signatures[part][item->a]
                                           : run->texts.signatures[part][item->b];
    return text ? text : "";
}

static void add_item(const struct pages *pages, struct nl_result *result,
                     const struct nl_similar_run *run, unsigned part,
                     const struct nl_likeness_item *item)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[ITEM_id] = text_cell(result, run->id);
    cells[ITEM_part] = nl_cell_static(nl_fingerprint_part_names[part]);
    cells[ITEM_signature] = text_cell(result, signature_of(pages, run, part, item));
    cells[ITEM_share] = nl_cell_f64(item->a == SIZE_MAX ? NL_NULL_F64 : rounded(item->share_a));
    cells[ITEM_other_share] =
        nl_cell_f64(item->b == SIZE_MAX ? NL_NULL_F64 : rounded(item->share_b));
    cells[ITEM_closeness] = nl_cell_f64(rounded(item->closeness));
    if (item->worst == NL_FINGERPRINT_VALUES)
        return;
    cells[ITEM_component] = nl_cell_static(nl_fingerprint_values[item->worst].column);
    cells[ITEM_value] = nl_cell_f64(rounded(pages->view->items[part][item->a].values[item->worst]));
    cells[ITEM_other_value] =
        nl_cell_f64(rounded(run->view.items[part][item->b].values[item->worst]));
}

static int by_agreement(const void *left, const void *right)
{
    const struct nl_likeness_item *a = left, *b = right;
    return a->agrees != b->agrees ? (a->agrees > b->agrees ? -1 : 1)
                                  : (a->a > b->a) - (a->a < b->a);
}

static int by_difference(const void *left, const void *right)
{
    const struct nl_likeness_item *a = left, *b = right;
    if (a->differs != b->differs)
        return a->differs > b->differs ? -1 : 1;
    return a->a != b->a ? (a->a > b->a) - (a->a < b->a) : (a->b > b->b) - (a->b < b->b);
}

static void add_items(struct pages *pages, const struct nl_similar_run *run, unsigned part)
{
    size_t count;
    struct nl_likeness_item *items =
        nl_likeness_items(pages->view, &run->view, (enum nl_fingerprint_part)part, &count);
    qsort(items, count, sizeof *items, by_difference);
    for (size_t i = 0; i < count && i < NL_SIMILAR_ITEMS && items[i].differs > MIN_SHOWN; i++)
        add_item(pages, pages->differences, run, part, &items[i]);
    qsort(items, count, sizeof *items, by_agreement);
    for (size_t i = 0; i < count && i < NL_SIMILAR_ITEMS && items[i].agrees > MIN_SHOWN; i++)
        add_item(pages, pages->agreements, run, part, &items[i]);
    nl_free(items);
}

/* ---- components ---- */

#define COMPONENT_LIST(C, P)                                                                       \
    C(P, id, NULL, TEXT)                                                                           \
    C(P, part, NULL, TEXT)                                                                         \
    C(P, component, NULL, TEXT)                                                                    \
    C(P, known_share, "known", SHARE)                                                              \
    C(P, closeness, NULL, NUMBER)
NL_TABLE_COLUMNS(component_columns, COMPONENT, COMPONENT_LIST);

static void add_components(struct nl_result *result, const struct nl_similar_run *run,
                           unsigned part)
{
    const struct nl_likeness_part *like = &run->likeness.parts[part];
    for (int v = 0; v < NL_FINGERPRINT_VALUES; v++) {
        if (!(like->known[v] > 0))
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[COMPONENT_id] = text_cell(result, run->id);
        cells[COMPONENT_part] = nl_cell_static(nl_fingerprint_part_names[part]);
        cells[COMPONENT_component] = nl_cell_static(nl_fingerprint_values[v].column);
        cells[COMPONENT_known_share] = nl_cell_f64(rounded(like->known[v]));
        cells[COMPONENT_closeness] = nl_cell_f64(rounded(like->closeness[v]));
    }
}

/* ---- the report ---- */

static void put_headline(struct nl_report *report, const char *text)
{
    report->headlines[report->headline_count++] = text;
}

/* "3 runs have SAYS", when there are any. */
static void put_count(struct nl_report *report, uint64_t count, const char *says)
{
    char text[NL_UNIT_TEXT];
    if (count)
        put_headline(report,
                     nl_arena_format(&report->arena, "%s run%s %s", nl_format_count(text, count),
                                     count == 1 ? " has" : "s have", says));
}

static bool is_empty(const struct nl_fingerprint_view *view)
{
    for (unsigned p = 0; p < NL_FINGERPRINT_PARTS; p++)
        if (view->count[p])
            return false;
    return true;
}

/* Why there is nothing at all. */
static const char *why_none(const struct nl_similar_count *counts)
{
    if (counts->filtered)
        return counts->itself ? "No other run passes the filters."
                              : "No run passes the filters; `neurolens ls` takes the same ones.";
    return counts->itself ? "This is the only run in the ledger."
                          : "The ledger has no runs; `neurolens add PROFILE` puts one in.";
}

static void put_headlines(struct nl_report *report, const struct nl_fingerprint_view *view,
                          const struct nl_similar_count *counts)
{
    char text[NL_UNIT_TEXT];
    uint64_t all = counts->compared + counts->apart + counts->without + counts->damaged;
    put_headline(report, nl_arena_format(&report->arena, "Compared with %s run%s.",
                                         nl_format_count(text, counts->compared),
                                         counts->compared == 1 ? "" : "s"));
    if (!all)
        put_headline(report, why_none(counts));
    else if (is_empty(view))
        put_headline(report,
                     "There are no kernels, copies, operators or layers by which to compare it.");
    else
        put_count(report, counts->apart,
                  "no part in common with this profile: nothing to compare.");
    put_count(report, counts->without,
              counts->updated ? "no fingerprint, and none could be made; -v says why."
                              : "no fingerprint; --update makes those that can be made.");
    put_count(report, counts->damaged,
              counts->updated ? "a damaged fingerprint, and none could be made; -v says why."
                              : "a damaged fingerprint; --update makes it again.");
}

struct nl_report *nl_similar_report(const struct nl_fingerprint_view *view,
                                    const struct nl_fingerprint_texts *texts,
                                    const struct nl_similar_run *runs, size_t count,
                                    const struct nl_similar_count *counts)
{
    struct nl_report *report = nl_zalloc(sizeof *report);
    struct pages pages = {
        .view = view,
        .texts = texts,
        .runs = NL_ANSWER_NEW("runs", "Nearest runs", run_columns),
        .differences = NL_ANSWER_NEW("differences", "What differs most", item_columns),
        .agreements = NL_ANSWER_NEW("agreements", "What agrees most", item_columns),
        .components = NL_ANSWER_NEW("components", "Behaviour of what both have", component_columns),
    };
    nl_arena_init(&report->arena);
    report->name = "similar";
    report->title = "Similar runs";
    put_headlines(report, view, counts);
    if (count < counts->compared) {
        pages.runs->truncated = true;
        pages.runs->note = nl_arena_format(&pages.runs->arena,
                                           "the nearest %zu; --limit N or --all shows more", count);
    }
    for (size_t i = 0; i < count; i++) {
        add_run(pages.runs, &runs[i]);
        for (unsigned p = 0; p < NL_FINGERPRINT_PARTS; p++) {
            if (!(runs[i].likeness.level_parts & 1u << p))
                continue;
            add_items(&pages, &runs[i], p);
            add_components(pages.components, &runs[i], p);
        }
    }
    struct nl_result *results[] = {pages.runs, pages.differences, pages.agreements,
                                   pages.components};
    report->result_count = sizeof results / sizeof results[0];
    report->results = nl_arena_alloc(&report->arena, sizeof results);
    memcpy(report->results, results, sizeof results);
    return report;
}
