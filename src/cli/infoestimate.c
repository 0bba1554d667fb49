/* A table of files and, of several, their sum; one sentence for eyes. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/sum.h"
#include "base/units.h"
#include "cli/infoestimate.h"
#include "cli/input.h"
#include "cli/output.h"
#include "ingest/estimate.h"
#include "tables/resultcells.h"
#include "view/view.h"

#define COLUMNS(C)                                                                                 \
    C(file, NULL, TEXT)                                                                            \
    C(format, NULL, TEXT)                                                                          \
    C(bytes, "size", BYTES)                                                                        \
    C(rows, NULL, COUNT)                                                                           \
    C(rows_low, "at least", COUNT)                                                                 \
    C(rows_high, "at most", COUNT)                                                                 \
    C(memory_bytes, "memory", BYTES)                                                               \
    C(memory_low_bytes, "at least", BYTES)                                                         \
    C(memory_high_bytes, "at most", BYTES)                                                         \
    C(estimated_from, "from", TEXT)
NL_COLUMNS(COLUMNS);

static uint64_t whole(double value)
{
    return value < 9e18 ? nl_whole_u64(value + 0.5) : UINT64_MAX - 1;
}

static void add_estimate_row(struct nl_result *result, const char *name, const char *format,
                             uint64_t bytes, const struct nl_amount *rows,
                             const struct nl_amount *memory, const char *how)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_file] = nl_cell_text(result, nl_str(name));
    cells[AT_format] = nl_cell_text(result, nl_str(format));
    cells[AT_bytes] = nl_cell_count(bytes);
    cells[AT_rows] = nl_cell_count(whole(rows->likely));
    cells[AT_rows_low] = nl_cell_count(whole(rows->low));
    cells[AT_rows_high] = nl_cell_count(whole(rows->high));
    cells[AT_memory_bytes] = nl_cell_count(whole(memory->likely));
    cells[AT_memory_low_bytes] = nl_cell_count(whole(memory->low));
    cells[AT_memory_high_bytes] = nl_cell_count(whole(memory->high));
    cells[AT_estimated_from] = nl_cell_text(result, nl_str(how));
}

static struct nl_result *table_of(const struct nl_estimate *estimate, const struct nl_call *call)
{
    struct nl_result *result = NL_ANSWER_NEW("estimate", "Before loading", columns);
    char rows[NL_UNIT_TEXT], memory[NL_UNIT_TEXT], budget[NL_UNIT_TEXT];
    for (size_t i = 0; i < estimate->count; i++) {
        const struct nl_file_estimate *file = &estimate->files[i];
        if (file->format)
            add_estimate_row(result, file->name, file->format, file->bytes, &file->rows,
                             &file->memory, nl_estimate_how_text(file->how));
    }
    if (result->rows > 1)
        add_estimate_row(result, "(all)", NULL, estimate->bytes, &estimate->rows, &estimate->memory,
                         "sum of the files");
    uint64_t most = call->job->memory_bytes;
    const char *fits = estimate->memory.high <= (double)most ? "it fits in"
                       : estimate->memory.low > (double)most ? "it does not fit in"
                                                             : "it may not fit in";
    result->note = nl_arena_format(
        &result->arena, "about %s rows and %s of memory; %s the %s that commands may use here%s",
        nl_format_count(rows, whole(estimate->rows.likely)),
        nl_format_bytes(memory, whole(estimate->memory.likely)), fits,
        nl_format_bytes(budget, most), estimate->memory.high > (double)most ? " (--memory)" : "");
    return result;
}

/* What cannot be estimated: part of a profile, and runs, which are loaded already. */
static bool check_words(const struct nl_input_words *input, const struct nl_call *call,
                        struct nl_err *err)
{
    static const struct nl_window_words none;
    struct nl_ledger_run run;
    bool is_run;
    nl_err_at(err, input->paths[0], -1);
    if (memcmp(&input->window, &none, sizeof none) != 0)
        return nl_fail(err, NL_USAGE,
                       "--estimate looks at whole files; leave out the window in brackets");
    if (!nl_input_run(input, call, &run, &is_run, err))
        return false;
    for (size_t i = 0; !is_run && i < input->count; i++) {
        nl_err_at(err, input->paths[i], -1);
        is_run = nl_input_names_run(call, input->paths[i]);
    }
    if (is_run)
        return nl_fail(err, NL_USAGE,
                       "a run of the ledger cannot be estimated: it was loaded when it was added; "
                       "leave out --estimate");
    nl_err_clear(err);
    return true;
}

bool nl_info_estimate(struct nl_call *call, struct nl_err *err)
{
    struct nl_input_words input;
    struct nl_inputs inputs;
    struct nl_output output;
    struct nl_estimate estimate = {0};
    bool done = nl_input_read(&input, call->argument, (size_t)call->count, err) &&
                check_words(&input, call, err);
    done = done && nl_inputs_expand(&inputs, (const char *const *)input.paths, input.count, err);
    if (done) {
        done = nl_ingest_estimate(&estimate, &inputs, call->job, err) &&
               nl_output_open(&output, call, input.paths, input.count, err);
        if (done) {
            struct nl_result *result = table_of(&estimate, call);
            struct nl_view_options options = {
                .width = output.width, .color = output.color, .all = call->settings.all};
            done = output.view->render_result(output.stream, NULL, result, &options, err);
            done = nl_output_close(&output, call, done, err);
            nl_result_free(result);
        }
        nl_estimate_release(&estimate);
        nl_inputs_free(&inputs);
    }
    nl_input_release(&input);
    return done;
}
