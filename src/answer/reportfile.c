/*
 * reportfile — see reportfile.h. A report goes over a tape: one walk over its members, which
 * writes or reads, so that the two cannot differ. Reading, every count is checked against
 * the bytes that are left before anything is made from it; once something is wrong all
 * counts are 0 and the walk ends.
 */
#define _GNU_SOURCE
#include "answer/reportfile.h"

#include <inttypes.h>

#include "base/crc.h"
#include "base/file.h"
#include "store/hostroofs.h"

#define MAGIC    "NLREPORT"
#define FORMAT   5u
#define MAX_BODY ((size_t)256 << 20)
#define TEXTS(n) ((n) * sizeof(uint64_t)) /* bytes that n texts take at least: their lengths */

struct header {
    char magic[8];
    uint32_t crc, format;
};

struct tape {
    struct nl_buf *out; /* NULL: reading */
    const unsigned char *at, *end;
    bool bad;
};

/* ---- Members ---- */

static size_t left(const struct tape *tape)
{
    return (size_t)(tape->end - tape->at);
}

static void put_bytes(struct tape *tape, void *value, size_t size)
{
    if (tape->out) {
        nl_buf_add(tape->out, value, size);
        return;
    }
    tape->bad |= left(tape) < size;
    if (tape->bad) {
        memset(value, 0, size);
        return;
    }
    memcpy(value, tape->at, size);
    tape->at += size;
}

static void put_i64(struct tape *tape, int64_t *value)
{
    put_bytes(tape, value, sizeof *value);
}

static void put_f64(struct tape *tape, double *value)
{
    put_bytes(tape, value, sizeof *value);
}

static void put_size(struct tape *tape, size_t *value)
{
    uint64_t wide = *value;
    put_bytes(tape, &wide, sizeof wide);
    *value = (size_t)wide;
}

/* How many of something follow, each of at least `least` bytes, at most `most`. */
static void put_count(struct tape *tape, size_t *count, size_t least, size_t most)
{
    put_size(tape, count);
    if (tape->out)
        return;
    tape->bad |= *count > most || *count > left(tape) / least;
    if (tape->bad)
        *count = 0;
}

/* A number below `end`: members of enumerations, flags. */
static unsigned put_small(struct tape *tape, unsigned value, unsigned end)
{
    unsigned char byte = (unsigned char)value;
    put_bytes(tape, &byte, 1);
    tape->bad |= byte >= end;
    return tape->bad ? 0 : byte;
}

static void put_flag(struct tape *tape, bool *flag)
{
    *flag = put_small(tape, *flag, 2) != 0;
}

static void put_meaning(struct tape *tape, enum nl_meaning *meaning)
{
    *meaning = (enum nl_meaning)put_small(tape, *meaning, NL_MEANS_ANY + 1);
}

static void put_str(struct tape *tape, struct nl_str *text, struct nl_arena *arena)
{
    size_t stored = text->ptr ? text->len + 1 : 0;
    put_size(tape, &stored);
    if (tape->out) {
        if (stored)
            nl_buf_add(tape->out, text->ptr, text->len);
        return;
    }
    *text = (struct nl_str){NULL, 0};
    tape->bad |= stored && stored - 1 > left(tape);
    if (!stored || tape->bad)
        return;
    *text = (struct nl_str){nl_arena_text(arena, (const char *)tape->at, stored - 1), stored - 1};
    tape->at += stored - 1;
}

/* A text that may be absent. */
static void put_remark(struct tape *tape, const char **text, struct nl_arena *arena)
{
    struct nl_str str = nl_str(*text);
    put_str(tape, &str, arena);
    *text = str.ptr;
}

static void put_text(struct tape *tape, const char **text, struct nl_arena *arena)
{
    put_remark(tape, text, arena);
    if (!*text) {
        tape->bad = true;
        *text = "";
    }
}

/* ---- Results ---- */

static void put_cell(struct tape *tape, struct nl_cell *cell, struct nl_arena *arena)
{
    cell->type = (enum nl_cell_type)put_small(tape, cell->type, NL_CELL_TEXT + 1);
    switch (cell->type) {
    case NL_CELL_NULL: break;
    case NL_CELL_I64: put_i64(tape, &cell->i64); break;
    case NL_CELL_F64: put_f64(tape, &cell->f64); break;
    case NL_CELL_TEXT:
        if (!tape->out)
            cell->text = (struct nl_str){NULL, 0};
        put_str(tape, &cell->text, arena);
        tape->bad |= !cell->text.ptr;
        break;
    }
}

static void put_cells(struct tape *tape, struct nl_result *result)
{
    size_t columns = result->column_count;
    put_count(tape, &result->rows, columns ? columns : 1, SIZE_MAX);
    size_t cells = result->rows * columns;
    if (!tape->out) {
        nl_grow(&result->cells, &result->cell_cap, cells + 1);
        memset(result->cells, 0, (cells + 1) * sizeof *result->cells);
    }
    for (size_t i = 0; i < cells; i++)
        put_cell(tape, &result->cells[i], &result->arena);
}

static void put_result(struct tape *tape, struct nl_result *result)
{
    put_text(tape, &result->name, &result->arena);
    put_text(tape, &result->title, &result->arena);
    put_remark(tape, &result->note, &result->arena);
    put_flag(tape, &result->truncated);
    put_count(tape, &result->column_count, TEXTS(2), SIZE_MAX);
    if (!tape->out) {
        nl_free(result->columns);
        result->columns = nl_zalloc((result->column_count + 1) * sizeof *result->columns);
    }
    for (size_t i = 0; i < result->column_count; i++) {
        struct nl_result_column *column = &result->columns[i];
        put_text(tape, &column->name, &result->arena);
        put_remark(tape, &column->head, &result->arena);
        put_meaning(tape, &column->meaning);
    }
    put_cells(tape, result);
}

/* ---- Findings ---- */

static void put_evidence(struct tape *tape, struct nl_evidence *evidence, struct nl_arena *arena)
{
    put_text(tape, &evidence->metric, arena);
    put_text(tape, &evidence->says, arena);
    put_remark(tape, &evidence->threshold, arena);
    put_remark(tape, &evidence->query, arena);
    put_meaning(tape, &evidence->meaning);
    put_f64(tape, &evidence->value);
    put_count(tape, &evidence->example_count, TEXTS(2), NL_FINDING_EXAMPLES);
    for (size_t i = 0; i < evidence->example_count; i++) {
        struct nl_example *example = &evidence->examples[i];
        put_remark(tape, &example->lane, arena);
        put_remark(tape, &example->name, arena);
        put_i64(tape, &example->start_ns);
        put_i64(tape, &example->dur_ns);
    }
}

static void put_suggestions(struct tape *tape, struct nl_finding *finding, struct nl_arena *arena)
{
    struct nl_suggestion *made = NULL;
    size_t count = 0;
    while (tape->out && finding->suggestions && finding->suggestions[count].action)
        count++;
    put_count(tape, &count, TEXTS(3), SIZE_MAX);
    if (!tape->out)
        finding->suggestions = made = nl_arena_alloc(arena, (count + 1) * sizeof *made);
    for (size_t i = 0; i < count; i++) {
        struct nl_suggestion suggestion = finding->suggestions[i];
        put_text(tape, &suggestion.action, arena);
        put_remark(tape, &suggestion.why, arena);
        put_remark(tape, &suggestion.verify, arena);
        if (made)
            made[i] = suggestion;
    }
}

static void put_needs(struct tape *tape, struct nl_finding *finding, struct nl_arena *arena)
{
    put_count(tape, &finding->need_count, TEXTS(3), NL_FINDING_NEEDS);
    for (size_t i = 0; i < finding->need_count; i++) {
        struct nl_finding_need *need = &finding->needs[i];
        put_text(tape, &need->missing, arena);
        put_text(tape, &need->why, arena);
        put_remark(tape, &need->record, arena);
    }
}

static void put_finding(struct tape *tape, struct nl_finding *finding, struct nl_arena *arena)
{
    put_text(tape, &finding->id, arena);
    put_text(tape, &finding->cause, arena);
    put_text(tape, &finding->title, arena);
    put_remark(tape, &finding->culprit, arena);
    for (size_t i = 0; i < NL_FINDING_ALSO; i++)
        put_remark(tape, &finding->also[i], arena);
    for (size_t i = 0; i < NL_FINDING_ALTERNATIVES; i++)
        put_remark(tape, &finding->alternatives[i], arena);
    put_remark(tape, &finding->not_this_if, arena);
    put_remark(tape, &finding->place, arena);
    put_remark(tape, &finding->explained_by, arena);
    put_remark(tape, &finding->reason, arena);
    finding->severity =
        (enum nl_severity)put_small(tape, finding->severity, NL_SEVERITY_CRITICAL + 1);
    finding->level = put_small(tape, finding->level, UINT8_MAX);
    put_flag(tape, &finding->validity);
    put_flag(tape, &finding->timeless);
    put_f64(tape, &finding->confidence);
    put_f64(tape, &finding->cost_share);
    int64_t *const numbers[] = {
        &finding->cost_ns,       &finding->net_cost_ns,  &finding->claims_ns,
        &finding->net_saving_ns, &finding->saving_ns[0], &finding->saving_ns[1],
        &finding->rank,          &finding->device,       &finding->steps[0],
        &finding->steps[1],      &finding->alone_ns,     &finding->shared_ns};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        put_i64(tape, numbers[i]);
    put_size(tape, &finding->devices);
    put_size(tape, &finding->of_devices);
    put_count(tape, &finding->evidence_count, TEXTS(4), NL_FINDING_EVIDENCE);
    for (size_t i = 0; i < finding->evidence_count; i++)
        put_evidence(tape, &finding->evidence[i], arena);
    put_suggestions(tape, finding, arena);
    put_needs(tape, finding, arena);
}

static void put_findings(struct tape *tape, struct nl_findings *findings)
{
    put_size(tape, &findings->hidden);
    put_size(tape, &findings->judged);
    put_count(tape, &findings->count, TEXTS(9), SIZE_MAX);
    if (!tape->out)
        findings->items = nl_zalloc((findings->count + 1) * sizeof *findings->items);
    for (size_t i = 0; i < findings->count; i++)
        put_finding(tape, &findings->items[i], &findings->arena);
    put_count(tape, &findings->abstained_count, TEXTS(3), SIZE_MAX);
    if (!tape->out)
        findings->abstained =
            nl_zalloc((findings->abstained_count + 1) * sizeof *findings->abstained);
    for (size_t i = 0; i < findings->abstained_count; i++) {
        struct nl_abstention *abstained = &findings->abstained[i];
        put_text(tape, &abstained->cause, &findings->arena);
        put_text(tape, &abstained->reason, &findings->arena);
        put_remark(tape, &abstained->record, &findings->arena);
    }
}

/* ---- Reports ---- */

static void put_whole(struct tape *tape, struct nl_verdict_words *verdict, struct nl_arena *arena)
{
    put_remark(tape, &verdict->whole, arena);
    put_i64(tape, &verdict->whole_ns);
    put_i64(tape, &verdict->whole_wall_ns);
    put_i64(tape, &verdict->rank);
    put_i64(tape, &verdict->device);
    put_size(tape, &verdict->whole_steps);
    put_size(tape, &verdict->bar_more);
    put_count(tape, &verdict->bar_count, sizeof(struct nl_verdict_bar), NL_VERDICT_BARS);
    for (size_t i = 0; i < verdict->bar_count; i++) {
        struct nl_verdict_bar *bar = &verdict->bars[i];
        put_i64(tape, &bar->rank);
        put_i64(tape, &bar->device);
        put_i64(tape, &bar->ns);
        for (size_t part = 0; part < NL_WHOLE_PARTS; part++)
            put_i64(tape, &bar->parts[part]);
    }
}

static void put_verdict(struct tape *tape, struct nl_report *report)
{
    struct nl_arena *arena = &report->arena;
    struct nl_verdict_words verdict = {0};
    bool has = report->verdict != NULL;
    put_flag(tape, &has);
    if (!has)
        return;
    if (tape->out)
        verdict = *report->verdict;
    verdict.class = (enum nl_verdict_class)put_small(tape, verdict.class, NL_VERDICT_CLASSES);
    put_text(tape, &verdict.sentence, arena);
    put_remark(tape, &verdict.culprit, arena);
    put_remark(tape, &verdict.phase, arena);
    put_i64(tape, &verdict.saving_ns);
    put_i64(tape, &verdict.saving_ns_per_step);
    put_count(tape, &verdict.note_count, TEXTS(1), NL_VERDICT_NOTES);
    for (size_t i = 0; i < verdict.note_count; i++)
        put_text(tape, &verdict.notes[i], arena);
    put_whole(tape, &verdict, arena);
    if (tape->out)
        return;
    struct nl_verdict_words *kept = nl_arena_alloc(arena, sizeof *kept);
    *kept = verdict;
    report->verdict = kept;
}

static void put_report(struct tape *tape, struct nl_report *report)
{
    bool judged = report->findings != NULL;
    put_text(tape, &report->name, &report->arena);
    put_text(tape, &report->title, &report->arena);
    put_count(tape, &report->headline_count, TEXTS(1), NL_MAX_HEADLINES);
    for (size_t i = 0; i < report->headline_count; i++)
        put_text(tape, &report->headlines[i], &report->arena);
    put_verdict(tape, report);
    put_flag(tape, &judged);
    if (judged && !tape->out) {
        report->findings = nl_zalloc(sizeof *report->findings);
        nl_arena_init(&report->findings->arena);
    }
    if (judged)
        put_findings(tape, report->findings);
    put_count(tape, &report->result_count, TEXTS(3), SIZE_MAX);
    if (!tape->out)
        report->results =
            nl_arena_alloc(&report->arena, (report->result_count + 1) * sizeof *report->results);
    for (size_t i = 0; i < report->result_count; i++) {
        if (!tape->out)
            report->results[i] = nl_result_new("", "", NULL, 0);
        put_result(tape, report->results[i]);
    }
}

static bool write_file(const char *path, const struct nl_buf *body, struct nl_err *err)
{
    struct header header = {.crc = nl_crc32c(body->ptr, body->len), .format = FORMAT};
    struct nl_out out;
    memcpy(header.magic, MAGIC, sizeof header.magic);
    if (!nl_out_open_private(&out, path, err))
        return false;
    fwrite(&header, sizeof header, 1, out.stream);
    fwrite(body->ptr, 1, body->len, out.stream);
    return nl_out_commit(&out, err);
}

/* ---- Profiles ---- */

/* Views read the first cells of these tables by their places. */
static void put_table(struct tape *tape, struct nl_result **result, size_t columns)
{
    if (!tape->out)
        *result = nl_result_new("", "", NULL, 0);
    put_result(tape, *result);
    tape->bad |= (*result)->column_count < columns;
}

static void put_events(struct tape *tape, struct nl_result **events)
{
    put_table(tape, events, 2);
    for (size_t row = 0; row < (*events)->rows && !tape->bad; row++)
        tape->bad |= nl_result_cell(*events, row, 0)->type != NL_CELL_TEXT;
}

static void put_texts(struct tape *tape, const char ***texts, size_t *count, struct nl_arena *arena)
{
    put_count(tape, count, TEXTS(1), SIZE_MAX);
    if (!tape->out)
        *texts = nl_arena_alloc(arena, (*count + 1) * sizeof **texts);
    for (size_t i = 0; i < *count; i++)
        put_text(tape, &(*texts)[i], arena);
}

static void put_numbers(struct tape *tape, int64_t *const *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_i64(tape, numbers[i]);
}

static void put_u32(struct tape *tape, uint32_t *value)
{
    put_bytes(tape, value, sizeof *value);
}

static void put_window(struct tape *tape, struct nl_window *window)
{
    int64_t *const numbers[] = {&window->start, &window->end, &window->rank, &window->device};
    put_flag(tape, &window->has_time);
    put_flag(tape, &window->has_rank);
    put_flag(tape, &window->has_device);
    put_numbers(tape, numbers, sizeof numbers / sizeof numbers[0]);
}

static void put_contents(struct tape *tape, struct nl_profile *profile)
{
    struct nl_contents *contents = &profile->contents;
    put_bytes(tape, &contents->count, sizeof contents->count);
    put_text(tape, &contents->one, &profile->arena);
    put_text(tape, &contents->many, &profile->arena);
    put_flag(tape, &contents->slices);
    put_i64(tape, &contents->span_ns);
}

static void put_profile(struct tape *tape, struct nl_profile *profile)
{
    struct nl_arena *arena = &profile->arena;
    int64_t *const times[] = {&profile->first_ns, &profile->last_ns, &profile->duration_ns,
                              &profile->window_start_ns, &profile->window_end_ns};
    put_table(tape, &profile->files, 1);
    put_table(tape, &profile->devices, 1);
    put_events(tape, &profile->events);
    put_table(tape, &profile->coverage, 1);
    put_texts(tape, &profile->formats, &profile->format_count, arena);
    put_texts(tape, &profile->tools, &profile->tool_count, arena);
    put_count(tape, &profile->rank_count, sizeof *profile->ranks, SIZE_MAX);
    if (!tape->out)
        profile->ranks = nl_arena_alloc(arena, (profile->rank_count + 1) * sizeof *profile->ranks);
    for (size_t i = 0; i < profile->rank_count; i++)
        put_i64(tape, &profile->ranks[i]);
    put_u32(tape, &profile->file_count);
    put_u32(tape, &profile->processes);
    put_u32(tape, &profile->threads);
    put_numbers(tape, times, sizeof times / sizeof times[0]);
    put_bytes(tape, &profile->slices, sizeof profile->slices);
    put_contents(tape, profile);
    put_window(tape, &profile->window);
}

bool nl_report_save(const struct nl_report *report, const struct nl_profile *profile,
                    struct nl_str question, const char *path, struct nl_err *err)
{
    struct nl_buf body;
    nl_buf_init(&body, MAX_BODY);
    struct tape tape = {.out = &body};
    struct nl_report same = *report;
    struct nl_profile facts = *profile;
    put_str(&tape, &question, NULL);
    put_profile(&tape, &facts);
    put_report(&tape, &same);
    bool done = body.overflow || tape.bad ? nl_fail(err, NL_WRITE, "this report cannot be cached")
                                          : write_file(path, &body, err);
    nl_buf_release(&body);
    return done;
}

static struct nl_profile *new_profile(void)
{
    struct nl_profile *profile = nl_zalloc(sizeof *profile);
    nl_arena_init(&profile->arena);
    return profile;
}

static struct nl_report *read_body(struct tape *tape, struct nl_str question,
                                   struct nl_profile **profile)
{
    struct nl_report *report = nl_zalloc(sizeof *report);
    struct nl_profile *facts = new_profile();
    struct nl_str asked = {NULL, 0};
    nl_arena_init(&report->arena);
    put_str(tape, &asked, &report->arena);
    if (nl_str_eq(asked, question)) {
        put_profile(tape, facts);
        put_report(tape, report);
        if (!tape->bad && tape->at == tape->end) {
            *profile = facts;
            return report;
        }
    }
    nl_profile_free(facts);
    nl_report_free(report);
    return NULL;
}

struct nl_report *nl_report_open(const char *path, struct nl_str question,
                                 struct nl_profile **profile, struct nl_err *err)
{
    struct nl_map map;
    struct header header;
    struct nl_report *report = NULL;
    if (!nl_map_open(&map, path, err))
        return NULL;
    if (map.size >= sizeof header) {
        memcpy(&header, map.bytes, sizeof header);
        struct tape tape = {.at = map.bytes + sizeof header, .end = map.bytes + map.size};
        if (memcmp(header.magic, MAGIC, sizeof header.magic) == 0 && header.format == FORMAT &&
            header.crc == nl_crc32c(tape.at, left(&tape)))
            report = read_body(&tape, question, profile);
    }
    nl_map_close(&map);
    if (!report) {
        nl_err_at(err, path, -1);
        nl_fail(err, NL_FORMAT, "this is not a complete report for that question");
    }
    return report;
}

/* ---- Questions ---- */

#define ROOFS_BYTES ((size_t)1 << 20)

/* Roofs that are measured later give other answers. */
static uint64_t roofs_key(const struct nl_host_roofs *roofs)
{
    struct nl_buf text;
    nl_buf_init(&text, ROOFS_BYTES);
    nl_buf_format(&text, "%s\n%s\n%" PRIu32 " %d", roofs->host, roofs->cpu, roofs->processors,
                  roofs->named);
    for (size_t i = 0; i < roofs->count; i++) {
        const struct nl_host_roof *roof = &roofs->items[i];
        nl_buf_format(&text, "\n%s\n%s\n%s\n%" PRIu32 " %.17g %.17g %" PRId64, roof->device,
                      roof->type, roof->with, roof->threads, roof->flops_per_s, roof->bytes_per_s,
                      roof->measured_ns);
    }
    uint64_t key = nl_hash(text.ptr, text.len);
    nl_buf_release(&text);
    return key;
}

void nl_report_question(struct nl_buf *out, uint64_t trace_key, const char *plan,
                        const struct nl_analyze_options *options, const struct nl_host_roofs *roofs)
{
    const struct nl_window *window = &options->window;
    nl_buf_format(out, "trace %016" PRIx64 " plan %s fold %d all %d", trace_key, plan,
                  options->fold, options->all);
    if (options->brief)
        nl_buf_text(out, " brief");
    if (options->section)
        nl_buf_format(out, " section %s", options->section);
    if (options->flops_per_step > 0 || options->tokens_per_step > 0)
        nl_buf_format(out, " per step %.17g %.17g", options->flops_per_step,
                      options->tokens_per_step);
    if (window->has_time)
        nl_buf_format(out, " time %" PRId64 " %" PRId64, window->start, window->end);
    if (window->has_rank)
        nl_buf_format(out, " rank %" PRId64, window->rank);
    if (window->has_device)
        nl_buf_format(out, " device %" PRId64, window->device);
    if (roofs)
        nl_buf_format(out, " roofs %016" PRIx64, roofs_key(roofs));
}
