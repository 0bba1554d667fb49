/*
 * brief — see brief.h. Every block is written into a buffer of its own and its lines are counted; the tables get
 * what is left of the page.
 */
#include "view/brief.h"

#include <math.h>

#include "base/units.h"
#include "tables/lookup.h"
#include "view/celltext.h"
#include "view/grid.h"
#include "view/notes.h"

#define DEFAULT_WIDTH 100
#define PAGE_BYTES    ((size_t)1 << 20)
#define DEVICES       4
#define FINDINGS      3
#define BAR           24
#define MOST_ROWS     8
#define LEAST_ROWS    3
#define LEAST_SHARE   0.0005
#define MISSING       2
#define COLUMNS       9
#define COMPUTE_LINES 3

#define PLAIN   "\033[0m"
#define BOLD    "\033[1m"
#define DIM     "\033[2m"
#define RED     "\033[31m"
#define GREEN   "\033[32m"
#define YELLOW  "\033[33m"
#define BLUE    "\033[34m"
#define MAGENTA "\033[35m"
#define CYAN    "\033[36m"

struct brief {
    const struct nl_profile *profile;
    const struct nl_report *report;
    const struct nl_view_options *options;
    size_t width;
    struct nl_buf *out, line;
};

static size_t lines_of(const struct nl_buf *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->len; i++)
        lines += text->ptr[i] == '\n';
    return lines;
}

static void style(struct brief *brief, struct nl_buf *out, const char *code)
{
    if (brief->options->color)
        nl_buf_text(out, code);
}

/* The collected line, wrapped; further lines stand `indent` columns in. */
static void put_line(struct brief *brief, const char *code, size_t indent)
{
    struct nl_buf safe;
    nl_buf_init(&safe, PAGE_BYTES);
    nl_celltext_safe(&safe,
                     (struct nl_str){brief->line.len ? brief->line.ptr : "", brief->line.len});
    style(brief, brief->out, code);
    nl_notes_wrap(brief->out, (struct nl_str){safe.len ? safe.ptr : "", safe.len}, brief->width,
                  indent);
    if (brief->options->color && brief->out->len && brief->out->ptr[brief->out->len - 1] == '\n') {
        brief->out->len--;
        nl_buf_text(brief->out, PLAIN "\n");
    }
    nl_buf_release(&safe);
    nl_buf_clear(&brief->line);
}

/* ---- the answer ---- */

static void put_saving(struct brief *brief)
{
    char text[NL_UNIT_TEXT];
    const struct nl_verdict_words *verdict = brief->report->verdict;
    const struct nl_result *steps = nl_report_result(brief->report, "step_summary");
    double step = steps && steps->rows ? nl_lookup_f64(steps, 0, "p50_ns") : 0;
    if (verdict->saving_ns == INT64_MIN || verdict->saving_ns <= 0)
        return;
    if (verdict->saving_ns_per_step != INT64_MIN && step > 0) {
        double rest = step - (double)verdict->saving_ns_per_step;
        nl_buf_format(&brief->line, "Could save at most %s",
                      nl_format_ns(text, verdict->saving_ns_per_step));
        nl_buf_format(&brief->line, " of %s per step", nl_format_ns(text, (int64_t)step));
        if (rest > step / 100)
            nl_buf_format(&brief->line, " (up to %.1f×)", step / rest);
        nl_buf_char(&brief->line, '.');
    } else {
        nl_buf_format(&brief->line, "Could save at most %s.",
                      nl_format_ns(text, verdict->saving_ns));
    }
    put_line(brief, "", 2);
}

static void put_answer(struct brief *brief)
{
    const struct nl_verdict_words *verdict = brief->report->verdict;
    nl_buf_text(&brief->line, verdict->sentence);
    put_line(brief, BOLD, 2);
    put_saving(brief);
    for (size_t i = 0; i < verdict->note_count; i++) {
        nl_buf_text(&brief->line, verdict->notes[i]);
        put_line(brief, "", 2);
    }
}

static void add_joined(struct nl_buf *out, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        nl_buf_format(out, i ? ", %s" : " · %s", texts[i]);
}

/* Coverage has a line that begins so where a file ends too early (all readers). */
static bool is_cut(const struct nl_profile *profile)
{
    const struct nl_result *rows = profile->coverage;
    for (size_t row = 0; rows && row < rows->rows; row++)
        for (size_t column = 0; column < rows->column_count; column++) {
            const struct nl_cell *cell = nl_result_cell(rows, row, column);
            if (cell->type == NL_CELL_TEXT && !strcmp(rows->columns[column].name, "item") &&
                nl_str_starts(cell->text, "truncated"))
                return true;
        }
    return false;
}

static void put_profile(struct brief *brief)
{
    char text[NL_UNIT_TEXT];
    const struct nl_profile *profile = brief->profile;
    struct nl_buf *line = &brief->line;
    const struct nl_cell *name = profile->files->rows ? nl_result_cell(profile->files, 0, 0) : NULL;
    if (profile->file_count == 1 && name && name->type == NL_CELL_TEXT)
        nl_buf_add(line, name->text.ptr, name->text.len);
    else
        nl_buf_format(line, "%u files", profile->file_count);
    add_joined(line, profile->formats, profile->format_count);
    add_joined(line, profile->tools, profile->tool_count);
    if (profile->rank_count > 1)
        nl_buf_format(line, " · %zu ranks", profile->rank_count);
    if (profile->slices)
        nl_buf_format(line, " · %s event%s", nl_format_count(text, profile->slices),
                      profile->slices == 1 ? "" : "s");
    if (profile->duration_ns)
        nl_buf_format(line, " · %s", nl_format_ns(text, profile->duration_ns));
    if (is_cut(profile))
        nl_buf_text(line, " · cut: its end is missing, see `neurolens info`");
    put_line(brief, DIM, 2);
}

/* ---- bars ---- */

static const struct {
    const char *column, *word, *mark, *color;
} parts[] = {{"compute_ns", "computing", "█", GREEN},
             {"exposed_comm_ns", "exposed communication", "▒", MAGENTA},
             {"exposed_copy_ns", "exposed copies", "▓", CYAN},
             {"idle_ns", "idle", "·", RED}};
#define PARTS (sizeof parts / sizeof parts[0])
#define COPY  2

static void put_cells(struct brief *brief, const struct nl_result *rows, size_t row, int64_t wall)
{
    size_t drawn = 0;
    int64_t sum = 0;
    for (size_t i = 0; i < PARTS; i++) {
        sum += nl_lookup_i64(rows, row, parts[i].column);
        size_t upto = i + 1 == PARTS ? BAR : (size_t)((double)sum / (double)wall * BAR + 0.5);
        if (upto > drawn)
            style(brief, brief->out, parts[i].color);
        for (; drawn < upto; drawn++)
            nl_buf_text(brief->out, parts[i].mark);
    }
    style(brief, brief->out, PLAIN);
}

static void put_device(struct brief *brief, const struct nl_result *rows, size_t row, size_t place)
{
    char text[NL_UNIT_TEXT];
    int64_t rank = nl_lookup_i64(rows, row, "rank"), device = nl_lookup_i64(rows, row, "device");
    int64_t wall = nl_lookup_i64(rows, row, "wall_ns");
    struct nl_buf head;
    nl_buf_init(&head, 200);
    if (rank != INT64_MIN)
        nl_buf_format(&head, "rank %lld ", (long long)rank);
    nl_buf_format(&head, device != INT64_MIN ? "device %lld" : "device", (long long)device);
    nl_buf_format(brief->out, "%-*s ", (int)place, head.ptr);
    nl_buf_release(&head);
    put_cells(brief, rows, row, wall);
    struct nl_buf words;
    nl_buf_init(&words, 400);
    for (size_t i = 0; i < PARTS; i++) {
        double share = (double)nl_lookup_i64(rows, row, parts[i].column) / (double)wall;
        if (share < LEAST_SHARE)
            continue;
        nl_buf_format(&words, "%s%s", words.len ? ", " : "", nl_format_percent(text, share));
        nl_buf_format(&words, " %s", i == COPY ? nl_exposed_copy_word(rows) : parts[i].word);
    }
    nl_buf_format(&words, " of %s", nl_format_ns(text, wall));
    size_t room = brief->width > place + BAR + 3 ? brief->width - place - BAR - 3 : 0;
    if (nl_celltext_width((struct nl_str){words.ptr, words.len}) <= room) {
        nl_buf_format(brief->out, " %s\n", words.ptr);
    } else {
        nl_buf_char(brief->out, '\n');
        nl_buf_format(&brief->line, "%*s %s", (int)place, "", words.ptr);
        put_line(brief, "", place + 1);
    }
    nl_buf_release(&words);
}

/* How good the compute is (the table `compute`), a line a row. */
static void put_compute(struct brief *brief)
{
    char text[NL_UNIT_TEXT];
    const struct nl_result *rows = nl_report_result(brief->report, "compute");
    for (size_t row = 0; rows && row < rows->rows && row < COMPUTE_LINES; row++) {
        struct nl_str what = nl_lookup_text(rows, row, "what");
        struct nl_str says = nl_lookup_text(rows, row, "says");
        double share = nl_lookup_f64(rows, row, "share");
        nl_buf_format(&brief->line, "%-10s ", row ? "" : "efficiency");
        nl_buf_add(&brief->line, what.ptr, what.len);
        if (!isnan(share))
            nl_buf_format(&brief->line, " %s", nl_format_percent(text, share));
        nl_buf_text(&brief->line, ": ");
        nl_buf_add(&brief->line, says.ptr, says.len);
        put_line(brief, "", 13);
    }
}

static void put_bars(struct brief *brief)
{
    const struct nl_result *rows = nl_report_result(brief->report, "breakdown");
    size_t shown = 0, place = 0;
    if (!rows || !rows->rows || brief->report->verdict->class == NL_VERDICT_COUNTERS ||
        brief->report->verdict->class == NL_VERDICT_NONE)
        return;
    for (size_t row = 0; row < rows->rows; row++) {
        bool ranks = nl_lookup_i64(rows, row, "rank") != INT64_MIN;
        place = ranks && place < 16 ? 16 : place < 9 ? 9 : place;
    }
    for (size_t row = 0; row < rows->rows; row++) {
        int64_t wall = nl_lookup_i64(rows, row, "wall_ns");
        if (wall == INT64_MIN || wall <= 0 || shown == DEVICES)
            continue;
        put_device(brief, rows, row, place);
        shown++;
    }
    if (shown && rows->rows > shown) {
        nl_buf_format(&brief->line, "… %zu more devices (--section time_breakdown)",
                      rows->rows - shown);
        put_line(brief, DIM, 2);
    }
}

static void put_devices(struct brief *brief)
{
    put_bars(brief);
    if (brief->out->len)
        put_compute(brief);
}

/* ---- findings ---- */

static const char *severity_color(enum nl_severity severity)
{
    return severity == NL_SEVERITY_CRITICAL ? RED : severity == NL_SEVERITY_WARNING ? YELLOW : DIM;
}

static void put_finding(struct brief *brief, const struct nl_finding *finding, size_t number)
{
    char text[NL_UNIT_TEXT];
    struct nl_buf *line = &brief->line;
    nl_buf_format(line, "%zu. %s", number, finding->title);
    put_line(brief, severity_color(finding->severity), 3);
    nl_buf_format(line, "   %s", nl_severity_name(finding->severity));
    if (finding->saving_ns[1] > 0 && !finding->validity) {
        nl_buf_format(line, " · saves up to %s", nl_format_ns(text, finding->saving_ns[1]));
        if (finding->cost_ns > 0 && !isnan(finding->cost_share))
            nl_buf_format(
                line, " (%s)",
                nl_format_percent(text, finding->cost_share * (double)finding->saving_ns[1] /
                                            (double)finding->cost_ns));
    }
    if (finding->evidence_count)
        nl_buf_format(line, " · %s", finding->evidence[0].says);
    put_line(brief, "", 3);
    if (finding->suggestions && finding->suggestions[0].action) {
        nl_buf_format(line, "   → %s", finding->suggestions[0].action);
        put_line(brief, "", 5);
    }
}

/* The general finding of an idle device says what the answer has just said. */
static bool repeats(const struct brief *brief, const struct nl_finding *finding)
{
    enum nl_verdict_class class = brief->report->verdict->class;
    return !strcmp(finding->cause, "gpu_idle") && class != NL_VERDICT_COMPUTE &&
           class != NL_VERDICT_COPY && class != NL_VERDICT_COMMUNICATION;
}

static void put_findings(struct brief *brief, size_t most)
{
    const struct nl_findings *findings = brief->report->findings;
    size_t shown = 0;
    const struct nl_finding *first = findings && findings->count ? &findings->items[0] : NULL;
    if (first && repeats(brief, first) && first->suggestions && first->suggestions[0].action) {
        nl_buf_format(&brief->line, "→ %s",
                      first->suggestions[0].action); /* its title is the answer */
        put_line(brief, "", 2);
    }
    for (size_t i = 0; findings && i < findings->count && shown < most; i++)
        if (!findings->items[i].explained_by && !repeats(brief, &findings->items[i]))
            put_finding(brief, &findings->items[i], ++shown);
    if (findings && findings->count > shown) {
        nl_buf_format(&brief->line, "… %zu more finding%s (--section findings)",
                      findings->count - shown, findings->count - shown == 1 ? "" : "s");
        put_line(brief, DIM, 2);
    }
}

/* ---- tables ---- */

static const struct choice {
    enum nl_verdict_class class;
    const char *tables[5]; /* the first two with rows are shown */
} choices[] = {
    {NL_VERDICT_COMPUTE, {"kernels", "kernel_categories", "op_gpu", "model_layers", "call_sums"}},
    {NL_VERDICT_MEMORY, {"kernels", "kernel_categories", "op_gpu", NULL}},
    {NL_VERDICT_COMMUNICATION, {"collectives", "overlap", "kernels", NULL}},
    {NL_VERDICT_COPY, {"copies", "nvtx_gpu", "kernels", NULL}},
    {NL_VERDICT_LAUNCH, {"idle_causes", "kernels", "ops", NULL}},
    {NL_VERDICT_INPUT, {"idle_causes", "step_parts", "kernels", NULL}},
    {NL_VERDICT_SYNC, {"idle_causes", "syncs", "api", NULL}},
    {NL_VERDICT_STARTUP, {"idle_causes", "api", "nvtx", "ops", NULL}},
    {NL_VERDICT_HOST, {"idle_causes", "idle_gaps", "ops", "nvtx", NULL}},
    {NL_VERDICT_IDLE, {"idle_gaps", "kernels", "python", "cpu_samples", "others"}},
    {NL_VERDICT_CPU_ONLY, {"ops", "python", "cpu_samples", "nvtx", "others"}},
    {NL_VERDICT_MEMORY_SNAPSHOT, {"memory", NULL}},
    {NL_VERDICT_COUNTERS, {"kernel_counters", "kernels", "counters", NULL}},
    {NL_VERDICT_HANG, {NULL}},
    {NL_VERDICT_NONE, {NULL}},
};

/* Columns of the short tables, the deciding ones first: those that do not fit go from the end. */
static const struct {
    const char *table, *columns[COLUMNS];
} layouts[] = {
    {"kernels", {"name", "count", "total_ns", "share", "median_ns", NULL}},
    {"kernel_categories", {"rank", "device", "category", "count", "sum_ns", "share", NULL}},
    {"op_gpu", {"name", "count", "gpu_ns", "total_ns", "share", NULL}},
    {"model_layers", {"layer", "type", "total_ns", "share", "mean_ns", NULL}},
    {"call_sums", {"name", "place", "count", "self_ns", "total_ns", "share", NULL}},
    {"collectives",
     {"rank", "operation", "count", "bytes", "total_ns", "bandwidth_bytes_per_s", NULL}},
    {"overlap", {"rank", "device", "comm_ns", "overlap_share", "exposed_comm_ns", NULL}},
    {"copies",
     {"rank", "device", "kind", "src_memory", "dst_memory", "count", "bytes", "total_ns",
      "bandwidth_bytes_per_s"}},
    {"nvtx_gpu", {"name", "instances", "projected_ns", "gpu_ops", NULL}},
    {"idle_causes", {"rank", "device", "activity", "name", "gaps", "total_ns", "wall_share", NULL}},
    {"idle_gaps", {"rank", "device", "start_ns", "dur_ns", "activity", "name", "after", NULL}},
    {"step_parts", {"rank", "device", "part", "mean_ns", "share", "p95_ns", NULL}},
    {"ops", {"name", "count", "self_ns", "share", "total_ns", NULL}},
    {"nvtx", {"name", "count", "self_ns", "share", "total_ns", NULL}},
    {"python", {"name", "count", "self_ns", "share", "total_ns", NULL}},
    {"layers", {"name", "count", "self_ns", "share", "total_ns", NULL}},
    {"others", {"name", "kind", "count", "self_ns", "share", "total_ns", NULL}},
    {"cpu_samples", {"function", "place", "samples", "share", "total_share", NULL}},
    {"api", {"name", "count", "total_ns", "share", "median_ns", "max_ns", NULL}},
    {"syncs", {"name", "count", "total_ns", "share", "median_ns", NULL}},
    {"counters", {"name", "unit", "count", "min", "mean", "max", NULL}},
    {"kernel_counters",
     {"name", "launches", "total_ns", "sm_throughput", "memory_throughput", "dram_throughput",
      "achieved_occupancy", "limiter", NULL}},
    {"memory",
     {"device", "kind", "allocations", "allocated_bytes", "freed_bytes", "peak_net_bytes", NULL}},
};

static void mark_columns(const struct nl_result *result, bool *skip)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        if (strcmp(layouts[i].table, result->name) != 0)
            continue;
        for (size_t column = 0; column < result->column_count; column++) {
            bool wanted = false;
            for (size_t c = 0; c < COLUMNS && layouts[i].columns[c]; c++)
                wanted |= !strcmp(layouts[i].columns[c], result->columns[column].name);
            skip[column] = !wanted;
        }
    }
}

static void put_table(struct brief *brief, const struct nl_result *result, size_t rows)
{
    struct nl_grid grid;
    bool *skip = nl_zalloc((result->column_count + 1) * sizeof *skip);
    char count[NL_UNIT_TEXT];
    mark_columns(result, skip);
    rows = rows < result->rows ? rows : result->rows;
    nl_grid_init(&grid, result, rows, brief->width, false, skip);
    nl_buf_char(brief->out, '\n');
    style(brief, brief->out, BOLD);
    nl_buf_text(brief->out, result->title);
    style(brief, brief->out, PLAIN);
    if (rows < result->rows)
        nl_buf_format(brief->out, " (%zu of %s; --section %s)", rows,
                      nl_format_count(count, result->rows), result->name);
    nl_buf_char(brief->out, '\n');
    style(brief, brief->out, DIM);
    nl_grid_head(brief->out, &grid);
    style(brief, brief->out, PLAIN);
    nl_buf_char(brief->out, '\n');
    for (size_t row = 0; row < grid.rows; row++) {
        nl_grid_line(brief->out, &grid, row);
        nl_buf_char(brief->out, '\n');
    }
    nl_grid_release(&grid);
    nl_free(skip);
}

/* A table whose first row is all there is repeats the sentence. */
static size_t choose_tables(const struct brief *brief, const struct nl_result *chosen[2])
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        if (choices[i].class != brief->report->verdict->class)
            continue;
        for (size_t t = 0; t < 5 && choices[i].tables[t] && count < 2; t++) {
            const struct nl_result *result = nl_report_result(brief->report, choices[i].tables[t]);
            if (result && result->rows)
                chosen[count++] = result;
        }
    }
    return count;
}

static void put_tables(struct brief *brief, size_t lines)
{
    const struct nl_result *chosen[2];
    size_t count = choose_tables(brief, chosen);
    while (count && lines < count * (3 + LEAST_ROWS))
        count--;
    for (size_t i = 0; i < count; i++) {
        size_t rows = (lines - 3 * (count - i)) / (count - i);
        rows = rows > MOST_ROWS ? MOST_ROWS : rows;
        size_t had = lines_of(brief->out);
        put_table(brief, chosen[i], rows);
        lines -= lines_of(brief->out) - had;
    }
}

/* ---- the end ---- */

/* "Not recorded: … ; record with: …", the most telling ones. */
static void put_missing(struct brief *brief)
{
    const struct nl_result *missing = nl_report_result(brief->report, "missing");
    size_t shown = 0;
    if (brief->report->verdict->class == NL_VERDICT_NONE)
        return;
    for (size_t row = 0; missing && row < missing->rows && shown < MISSING; row++) {
        struct nl_str what = nl_lookup_text(missing, row, "missing");
        struct nl_str record = nl_lookup_text(missing, row, "record");
        if (!what.len || !record.len)
            continue;
        nl_buf_text(&brief->line, shown++ ? "; " : "Not recorded: ");
        nl_buf_format(&brief->line, "%.*s (%.*s)", (int)what.len, what.ptr, (int)record.len,
                      record.ptr);
    }
    if (shown) {
        nl_buf_char(&brief->line, '.');
        put_line(brief, DIM, 2);
    }
}

static void put_next(struct brief *brief)
{
    const char *input = brief->options->input ? brief->options->input : "PROFILE";
    const struct nl_result *chosen[2];
    size_t count = choose_tables(brief, chosen);
    nl_buf_format(&brief->line, "Next: neurolens analyze %s --full", input);
    if (brief->report->findings && brief->report->findings->count)
        nl_buf_text(&brief->line, " · --section findings");
    else if (count)
        nl_buf_format(&brief->line, " · --section %s", chosen[0]->name);
    put_line(brief, DIM, 2);
}

static void make(struct brief *brief, struct nl_buf *block, void (*put)(struct brief *))
{
    nl_buf_init(block, PAGE_BYTES);
    brief->out = block;
    put(brief);
}

static void add_block(struct nl_buf *out, struct nl_buf *block, bool apart)
{
    if (block->len && apart)
        nl_buf_char(out, '\n');
    if (block->len)
        nl_buf_add(out, block->ptr, block->len);
    nl_buf_release(block);
}

void nl_brief_page(struct nl_buf *out, const struct nl_profile *profile,
                   const struct nl_report *report, const struct nl_view_options *options)
{
    struct brief brief = {.profile = profile,
                          .report = report,
                          .options = options,
                          .width = options->width ? options->width : DEFAULT_WIDTH};
    struct nl_buf answer, facts, bars, findings = {0}, tables, missing, next;
    nl_buf_init(&brief.line, PAGE_BYTES);
    make(&brief, &answer, put_answer);
    make(&brief, &facts, put_profile);
    make(&brief, &bars, put_devices);
    make(&brief, &missing, put_missing);
    make(&brief, &next, put_next);
    size_t fixed = lines_of(&answer) + lines_of(&facts) + lines_of(&bars) + lines_of(&missing) +
                   lines_of(&next) + 4;
    for (size_t most = FINDINGS; most > 0; most--) {
        nl_buf_init(&findings, PAGE_BYTES);
        brief.out = &findings;
        put_findings(&brief, most);
        if (most == 1 || fixed + lines_of(&findings) + 3 + LEAST_ROWS <= NL_BRIEF_LINES)
            break;
        nl_buf_release(&findings);
    }
    size_t used = fixed + lines_of(&findings);
    nl_buf_init(&tables, PAGE_BYTES);
    brief.out = &tables;
    put_tables(&brief, used < NL_BRIEF_LINES ? NL_BRIEF_LINES - used : 0);
    add_block(out, &answer, false);
    add_block(out, &facts, false);
    add_block(out, &bars, true);
    add_block(out, &findings, true);
    add_block(out, &tables, false);
    bool apart = missing.len != 0;
    add_block(out, &missing, true);
    add_block(out, &next, !apart);
    nl_buf_release(&brief.line);
}
