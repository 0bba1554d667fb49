/*
 * brief — see brief.h. Every block is written into a separate buffer and its lines are counted; the
 * tables get what is left of the page.
 */
#include "view/brief.h"

#include "view/briefparts.h"
#include <math.h>

#include "base/units.h"
#include "tables/lookup.h"
#include "view/alikerows.h"
#include "view/celltext.h"
#include "view/grid.h"
#include "view/notes.h"
#include "answer/maintables.h"

#define DEFAULT_WIDTH 100
#define PAGE_BYTES    ((size_t)1 << 20)
#define FINDINGS      3
#define MAX_ROWS      8
#define MIN_ROWS      3
#define MISSING       2
#define COLUMNS       9

static size_t lines_of(const struct nl_buf *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->len; i++)
        lines += text->ptr[i] == '\n';
    return lines;
}

void nl_brief_style(struct brief *brief, struct nl_buf *out, const char *code)
{
    if (brief->options->color)
        nl_buf_text(out, code);
}

/* The collected line, wrapped; further lines stand `indent` columns in. */
void nl_brief_line(struct brief *brief, const char *code, size_t indent)
{
    struct nl_buf safe;
    nl_buf_init(&safe, PAGE_BYTES);
    nl_celltext_safe(&safe,
                     (struct nl_str){brief->line.len ? brief->line.ptr : "", brief->line.len});
    nl_brief_style(brief, brief->out, code);
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
    if (verdict->saving_ns == INT64_MIN || verdict->saving_ns <= 0)
        return;
    int64_t rest = verdict->whole ? verdict->whole_ns - verdict->saving_ns : 0;
    nl_buf_text(&brief->line, "Could save at most ");
    if (verdict->whole && verdict->whole_steps && verdict->saving_ns_per_step != INT64_MIN) {
        int64_t step = verdict->whole_ns / (int64_t)verdict->whole_steps;
        nl_buf_text(&brief->line, nl_format_ns(text, verdict->saving_ns_per_step));
        nl_buf_format(&brief->line, " of %s a step", nl_format_ns(text, step));
    } else {
        nl_buf_text(&brief->line, nl_format_ns(text, verdict->saving_ns));
        if (verdict->saving_ns_per_step != INT64_MIN)
            nl_buf_format(&brief->line, ", %s a step",
                          nl_format_ns(text, verdict->saving_ns_per_step));
    }
    if (rest > verdict->whole_ns / 100)
        nl_buf_format(&brief->line, " (up to %.1f×)", (double)verdict->whole_ns / (double)rest);
    nl_buf_char(&brief->line, '.');
    nl_brief_line(brief, "", 2);
}

static void put_answer(struct brief *brief)
{
    const struct nl_verdict_words *verdict = brief->report->verdict;
    nl_buf_text(&brief->line, verdict->sentence);
    nl_brief_line(brief, BOLD, 2);
    put_saving(brief);
    for (size_t i = 0; i < verdict->note_count; i++) {
        nl_buf_text(&brief->line, verdict->notes[i]);
        nl_brief_line(brief, "", 2);
    }
}

static void add_joined(struct nl_buf *out, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        nl_buf_format(out, i ? ", %s" : " · %s", texts[i]);
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
        nl_buf_format(line, "%u %s", profile->file_count, nl_profile_files_word(profile));
    add_joined(line, profile->formats, profile->format_count);
    add_joined(line, profile->tools, profile->tool_count);
    if (profile->rank_count > 1)
        nl_buf_format(line, " · %zu ranks", profile->rank_count);
    const struct nl_contents *most = &profile->contents;
    if (most->count)
        nl_buf_format(line, " · %s %s", nl_format_count(text, most->count),
                      most->count == 1 ? most->one : most->many);
    if (most->span_ns)
        nl_buf_format(line, " · %s", nl_format_ns(text, most->span_ns));
    nl_brief_line(brief, DIM, 2);
    nl_profile_put_window(profile, line);
    if (line->len)
        nl_brief_line(brief, DIM, 2);
}

/* ---- tables ---- */

/* Columns of the short tables, the deciding ones first: those that do not fit go from the end. */
static const struct {
    const char *table, *shares, *columns[COLUMNS]; /* shares: what they are of */
} layouts[] = {
    {"kernels",
     "share of all kernel time",
     {"name", "count", "total_ns", "share", "median_ns", NULL}},
    {"kernel_categories",
     "share of the device's kernel time",
     {"rank", "device", "category", "count", "sum_ns", "share", NULL}},
    {"op_gpu", "share of all kernel time", {"name", "count", "gpu_ns", "total_ns", "share", NULL}},
    {"model_layers",
     "share of all their time",
     {"layer", "type", "total_ns", "share", "mean_ns", NULL}},
    {"call_sums",
     "share of all in the same place",
     {"name", "place", "count", "self_ns", "total_ns", "share", NULL}},
    {"collectives",
     NULL,
     {"rank", "operation", "count", "bytes", "total_ns", "bandwidth_bytes_per_s", NULL}},
    {"overlap", NULL, {"rank", "device", "comm_ns", "overlap_share", "exposed_comm_ns", NULL}},
    {"copies",
     NULL,
     {"rank", "device", "kind", "src_memory", "dst_memory", "count", "bytes", "total_ns",
      "bandwidth_bytes_per_s"}},
    {"nvtx_gpu", NULL, {"name", "instances", "projected_ns", "gpu_ops", NULL}},
    {"idle_causes",
     "of wall: first to last work",
     {"rank", "device", "activity", "name", "gaps", "total_ns", "wall_share", NULL}},
    {"idle_gaps",
     NULL,
     {"rank", "device", "start_ns", "dur_ns", "activity", "name", "after", NULL}},
    {"step_parts",
     "share of all steps",
     {"rank", "device", "part", "mean_ns", "share", "p95_ns", NULL}},
    {"ops",
     "share of the self time in which a thread works",
     {"name", "count", "self_ns", "share", "total_ns", NULL}},
    {"nvtx",
     "share of the self time in which a thread works",
     {"name", "count", "self_ns", "share", "total_ns", NULL}},
    {"python",
     "share of the self time in which a thread works",
     {"name", "count", "self_ns", "bound", "share", "total_ns", NULL}},
    {"layers",
     "share of the self time in which a thread works",
     {"name", "count", "self_ns", "share", "total_ns", NULL}},
    {"others",
     "share of the self time in which a thread works",
     {"name", "kind", "count", "self_ns", "share", "total_ns", NULL}},
    {"cpu_samples",
     "share of the total",
     {"function", "place", "samples", "share", "total_share", NULL}},
    {"api",
     "share of all calls' time",
     {"name", "count", "total_ns", "share", "median_ns", "max_ns", NULL}},
    {"syncs",
     "share of all waits' time",
     {"name", "count", "total_ns", "share", "median_ns", NULL}},
    {"counters", NULL, {"rank", "device", "name", "unit", "count", "min", "mean", "max", NULL}},
    {"kernel_counters",
     NULL,
     {"name", "launches", "total_ns", "sm_throughput", "memory_throughput", "dram_throughput",
      "achieved_occupancy", "limiter", NULL}},
    {"memory",
     NULL,
     {"device", "kind", "allocations", "allocated_bytes", "freed_bytes", "peak_net_bytes", NULL}},
};

/* What the shares of a table are of; NULL when it has none. */
static const char *mark_columns(const struct nl_result *result, bool *skip)
{
    const char *shares = NULL;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        if (strcmp(layouts[i].table, result->name) != 0)
            continue;
        shares = layouts[i].shares;
        for (size_t column = 0; column < result->column_count; column++) {
            bool wanted = false;
            for (size_t c = 0; c < COLUMNS && layouts[i].columns[c]; c++)
                wanted |= !strcmp(layouts[i].columns[c], result->columns[column].name);
            skip[column] = !wanted;
        }
    }
    return shares;
}

/* --limit makes the page shorter, never longer. */
static size_t at_most(const struct brief *brief, size_t most)
{
    return brief->options->rows && brief->options->rows < most ? brief->options->rows : most;
}

static bool shows_share(const struct nl_grid *grid)
{
    bool shown = false;
    for (size_t i = 0; i < grid->column_count; i++)
        shown |= grid->columns[i].shown &&
                 strstr(grid->result->columns[grid->columns[i].source].name, "share");
    return shown;
}

/* "Kernels by total time (8 of 24; --section kernels) · share of all kernel time", in two
 * lines where it is too wide. */
static void put_heading(struct brief *brief, const struct nl_result *result, size_t rows,
                        const char *shares)
{
    char count[NL_UNIT_TEXT];
    struct nl_buf *out = brief->out;
    size_t wide = strlen(result->title) + (shares ? strlen(shares) + 3 : 0);
    nl_buf_char(out, '\n');
    nl_brief_style(brief, out, BOLD);
    nl_buf_text(out, result->title);
    nl_brief_style(brief, out, PLAIN);
    if (rows < result->rows) {
        nl_format_count(count, result->rows);
        wide += strlen(count) + 10; /* " (8 of …)" */
        nl_buf_format(out, " (%zu of %s", rows, count);
        if (wide + strlen(result->name) + 12 < brief->width)
            nl_buf_format(out, "; --section %s", result->name);
        nl_buf_char(out, ')');
    }
    nl_brief_style(brief, out, DIM);
    if (shares)
        nl_buf_format(out, wide <= brief->width ? " · %s" : "\n  %s", shares);
    nl_buf_char(out, '\n');
}

static void put_table(struct brief *brief, const struct nl_result *table, size_t rows)
{
    struct nl_grid grid;
    struct nl_alikerows alike;
    bool *skip = nl_zalloc((table->column_count + 1) * sizeof *skip);
    const char *shares = mark_columns(table, skip);
    nl_alikerows_init(&alike, table, skip);
    nl_alikerows_share(&alike, nl_report_result(brief->report, "breakdown"));
    const struct nl_result *result = &alike.shown;
    rows = rows < result->rows ? rows : result->rows;
    if (!alike.made)
        nl_alikerows_tell(result, rows, skip);
    nl_grid_init(&grid, result, rows, brief->width, false, skip);
    put_heading(brief, result, rows, shows_share(&grid) ? shares : NULL);
    nl_grid_head(brief->out, &grid);
    nl_brief_style(brief, brief->out, PLAIN);
    nl_buf_char(brief->out, '\n');
    for (size_t row = 0; row < grid.rows; row++) {
        nl_grid_line(brief->out, &grid, row);
        nl_buf_char(brief->out, '\n');
    }
    nl_grid_release(&grid);
    nl_alikerows_release(&alike);
    nl_free(skip);
}

static void put_tables(struct brief *brief, size_t lines)
{
    const struct nl_result *chosen[NL_MAIN_TABLES];
    size_t count = nl_report_main_tables(brief->report, chosen);
    while (count && lines < count * (3 + MIN_ROWS))
        count--;
    for (size_t i = 0; i < count; i++) {
        size_t rows = (lines - 3 * (count - i)) / (count - i);
        size_t most = at_most(brief, MAX_ROWS);
        rows = rows > most ? most : rows;
        size_t had = lines_of(brief->out);
        put_table(brief, chosen[i], rows);
        lines -= lines_of(brief->out) - had;
    }
}

/* ---- the end ---- */

/* "Not recorded: layers (record with …); python (…).", the most important ones. */
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
        nl_buf_format(&brief->line, shown == 1 ? "%.*s (record with %.*s)" : "%.*s (%.*s)",
                      (int)what.len, what.ptr, (int)record.len, record.ptr);
    }
    if (shown) {
        nl_buf_char(&brief->line, '.');
        nl_brief_line(brief, DIM, 2);
    }
}

/* A command each line, whole: they are there to be copied. */
static void put_next(struct brief *brief)
{
    const char *input = brief->options->input ? brief->options->input : "PROFILE";
    const struct nl_result *chosen[NL_MAIN_TABLES];
    size_t count = nl_report_main_tables(brief->report, chosen);
    const char *section = brief->report->findings && brief->report->findings->count ? "findings"
                          : count ? chosen[0]->name
                                  : NULL;
    struct nl_buf safe;
    nl_brief_style(brief, brief->out, DIM);
    nl_buf_text(brief->out, "Next:\n");
    nl_buf_init(&safe, PAGE_BYTES);
    nl_celltext_safe(&safe, nl_str(input));
    if (section)
        nl_buf_format(brief->out, "  neurolens analyze %s --section %s\n", safe.ptr ? safe.ptr : "",
                      section);
    nl_buf_format(brief->out, "  neurolens analyze %s --full\n", safe.ptr ? safe.ptr : "");
    nl_brief_style(brief, brief->out, PLAIN);
    nl_buf_release(&safe);
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
    make(&brief, &bars, nl_brief_devices);
    make(&brief, &missing, put_missing);
    make(&brief, &next, put_next);
    size_t fixed = lines_of(&answer) + lines_of(&facts) + lines_of(&bars) + lines_of(&missing) +
                   lines_of(&next) + 4;
    for (size_t most = at_most(&brief, FINDINGS); most > 0; most--) {
        nl_buf_init(&findings, PAGE_BYTES);
        brief.out = &findings;
        nl_brief_findings(&brief, most);
        if (most == 1 || fixed + lines_of(&findings) + 3 + MIN_ROWS <= NL_BRIEF_LINES)
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
