/* See metricexpr.h. */
#include "compare/metricexpr.h"

#include <stdio.h>

#include "base/chars.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "tables/analyze.h"

#define MAX_NAME 64

#define LESS_more false
#define LESS_less true

static const struct {
    const char *name;
    enum nl_metric_source source;
    int which;
    enum nl_meaning meaning;
    enum nl_metric_class class;
    bool less_is_worse;
} names[] = {
#define METRIC(name, source, which, meaning, class, worse)                                         \
    {name, NL_METRIC_##source, which, NL_MEANS_##meaning, NL_METRIC_##class, LESS_##worse},
#include "compare/metricnames.def"
#undef METRIC
};
#define NAMES (sizeof names / sizeof *names)

/* All derived metrics of a run document are metrics of rules, too, by their own names. */
static const struct {
    const char *name, *unit;
} documents[] = {
#define METRIC(name, unit, formula, inputs, source) {#name, unit},
#include "rundoc/metrics.def"
#undef METRIC
};
#define DOCUMENTS (sizeof documents / sizeof *documents)

/* Short words for analyses whose rows people ask for most. */
static const struct {
    const char *word, *analysis;
} tables[] = {
    {"op", "ops"},     {"operator", "ops"},           {"kernel", "kernels"},    {"layer", "layers"},
    {"range", "nvtx"}, {"collective", "collectives"}, {"python_call", "python"}};

static const struct {
    const char *word, *column;
} columns[] = {{"p50", "median_ns"}, {"median", "median_ns"}, {"p95", "p95_ns"},
               {"min", "min_ns"},    {"max", "max_ns"},       {"total", "total_ns"}};

static bool in_name(char c)
{
    return nl_is_word(c) || c == '.';
}

static bool unknown_name(struct nl_err *err, const char *name)
{
    struct nl_nearest nearest;
    nl_nearest_init(&nearest, name);
    for (size_t i = 0; i < NAMES; i++)
        nl_nearest_offer(&nearest, names[i].name);
    for (size_t i = 0; i < DOCUMENTS; i++)
        nl_nearest_offer(&nearest, documents[i].name);
    const char *best = nl_nearest_best(&nearest);
    return nl_fail(err, NL_USAGE,
                   "no metric is called '%s'%s%s; expected a metric such as step.p50, or "
                   "TABLE[\"ROW\"].COLUMN such as op[\"aten::mm\"].p95",
                   name, best ? "; did you mean " : "", best ? best : "");
}

static bool take_table(struct nl_metric *metric, const char *word)
{
    metric->table = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strcmp(word, tables[i].word) == 0)
            metric->table = tables[i].analysis;
    const struct nl_analysis *analysis = nl_analysis_find(metric->table ? metric->table : word);
    if (!analysis)
        return false;
    metric->table = analysis->name;
    return true;
}

/* ["text"] or [text]. */
static bool take_row(struct nl_metric *metric, const char *text, size_t *at, struct nl_arena *arena,
                     struct nl_err *err)
{
    size_t from = ++*at;
    char quote = text[from] == '"' || text[from] == '\'' ? text[from] : 0;
    from += quote != 0;
    const char *end = quote ? strchr(text + from, quote) : strchr(text + from, ']');
    if (!end) {
        *at = strlen(text);
        return nl_fail(err, NL_USAGE, "expected %c after the name of a row", quote ? quote : ']');
    }
    metric->row = nl_arena_text(arena, text + from, (size_t)(end - text) - from);
    *at = (size_t)(end - text) + (quote != 0);
    if (text[*at] != ']')
        return nl_fail(err, NL_USAGE, "expected ] after the name of a row");
    ++*at;
    return true;
}

static enum nl_meaning meaning_of(const char *column)
{
    size_t len = strlen(column);
    if (len > 3 && strcmp(column + len - 3, "_ns") == 0)
        return NL_MEANS_NS;
    if (len >= 5 && strcmp(column + len - 5, "bytes") == 0)
        return NL_MEANS_BYTES;
    if (len >= 5 && strcmp(column + len - 5, "share") == 0)
        return NL_MEANS_SHARE;
    return NL_MEANS_NUMBER;
}

static bool take_column(struct nl_metric *metric, const char *word, struct nl_err *err)
{
    if (!*word)
        return nl_fail(err, NL_USAGE,
                       "expected a column after the table, such as .p95 or .total_ns");
    metric->column = word;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(word, columns[i].word) == 0)
            metric->column = columns[i].column;
    metric->source = NL_METRIC_TABLE;
    metric->meaning =
        strcmp(metric->column, "mean") == 0 ? NL_MEANS_NS : meaning_of(metric->column);
    bool exact = strstr(metric->column, "count") || metric->meaning == NL_MEANS_BYTES;
    metric->class = exact ? NL_METRIC_exact : NL_METRIC_timed;
    return true;
}

/* Reads name characters into `word`; false when there are too many. */
static bool take_word(const char *text, size_t *at, char word[MAX_NAME], bool dots,
                      struct nl_err *err)
{
    size_t len = 0;
    while (in_name(text[*at]) && (dots || text[*at] != '.')) {
        if (len + 1 == MAX_NAME)
            return nl_fail(err, NL_USAGE, "expected a metric; this name is too long");
        word[len++] = text[(*at)++];
    }
    word[len] = '\0';
    return true;
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

/* Units say what it is, and for the rest there are two lists. */
static bool find_document(struct nl_metric *metric, const char *word)
{
    static const char *const good_shares[] = {"compute_share",
                                              "step_compute_share",
                                              "gpu_busy_share",
                                              "comm_overlap_share",
                                              "mfu",
                                              "hfu",
                                              "operator_mfu",
                                              "roof_share",
                                              NULL};
    static const char *const exact[] = {"kernels", "FLOP", NULL};
    for (size_t i = 0; i < DOCUMENTS; i++) {
        const char *unit = documents[i].unit;
        size_t len = strlen(unit);
        bool rate = len > 2 && strcmp(unit + len - 2, "/s") == 0;
        if (strcmp(documents[i].name, word) != 0)
            continue;
        metric->source = NL_METRIC_DOCUMENT;
        metric->column = documents[i].name;
        metric->meaning = strcmp(unit, "ns") == 0      ? NL_MEANS_NS
                          : strcmp(unit, "bytes") == 0 ? NL_MEANS_BYTES
                          : strcmp(unit, "0..1") == 0  ? NL_MEANS_SHARE
                                                       : NL_MEANS_NUMBER;
        metric->class = is_one_of(unit, exact) || strcmp(word, "copied_bytes") == 0
                            ? NL_METRIC_exact
                        : strcmp(unit, "bytes") == 0 ? NL_METRIC_level
                                                     : NL_METRIC_timed;
        metric->less_is_worse = rate || is_one_of(word, good_shares);
        return true;
    }
    return false;
}

/* "gpu_busy.share" is the member gpu_busy_share. */
static const char *member_of(const char *name, struct nl_arena *arena)
{
    char member[MAX_NAME];
    if (strcmp(name, "memory.peak") == 0)
        return "peak_memory_bytes";
    snprintf(member, sizeof member, "%s", name);
    for (char *c = member; *c; c++)
        *c = *c == '.' ? '_' : *c;
    return nl_arena_text(arena, member, strlen(member));
}

static bool find_name(struct nl_metric *metric, const char *word, struct nl_arena *arena)
{
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(names[i].name, word) == 0) {
            if (names[i].source == NL_METRIC_DOCUMENT)
                metric->column = member_of(word, arena);
            metric->source = names[i].source;
            metric->which = names[i].which;
            metric->meaning = names[i].meaning;
            metric->class = names[i].class;
            metric->less_is_worse = names[i].less_is_worse;
            return true;
        }
    return find_document(metric, word);
}

/* TABLE.COLUMN, or TABLE[ROW].COLUMN: `word` is what stands from `from` to *at. */
static bool take_cell(struct nl_metric *metric, const char *text, size_t *at, size_t from,
                      char word[MAX_NAME], struct nl_arena *arena, struct nl_err *err)
{
    char column[MAX_NAME] = "", whole[MAX_NAME];
    char *dot = strchr(word, '.');
    bool row = text[*at] == '[';
    snprintf(whole, sizeof whole, "%s", word);
    if (dot) {
        snprintf(column, sizeof column, "%s", dot + 1);
        *dot = '\0';
    }
    if ((dot != NULL) == row || !take_table(metric, word)) {
        *at = from;
        return unknown_name(err, whole);
    }
    if (row) {
        if (!take_row(metric, text, at, arena, err))
            return false;
        if (text[*at] != '.')
            return nl_fail(err, NL_USAGE, "expected .COLUMN after the row, such as .p95");
        ++*at;
        if (!take_word(text, at, column, false, err))
            return false;
    }
    return take_column(metric, nl_arena_text(arena, column, strlen(column)), err);
}

bool nl_metric_parse(const char *text, size_t *at, struct nl_metric *metric, struct nl_arena *arena,
                     struct nl_err *err)
{
    char word[MAX_NAME];
    *metric = (struct nl_metric){0};
    while (text[*at] == ' ')
        ++*at;
    size_t from = *at;
    if (!take_word(text, at, word, true, err))
        return false;
    if (!word[0])
        return nl_fail(err, NL_USAGE, "expected a metric, such as step.p50");
    bool named = text[*at] != '[' && find_name(metric, word, arena);
    if (!named && !take_cell(metric, text, at, from, word, arena, err))
        return false;
    metric->text = nl_arena_text(arena, text + from, *at - from);
    return true;
}
