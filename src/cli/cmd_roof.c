/* roof: measure what this machine's processors can do at most, per number of threads. */
#include "base/mem.h"
#include "base/pool.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "view/rooflineplot.h"
#include "work/cpuroof.h"
#include "tables/answer.h"

#define MILLISECONDS 60 /* per loop and round */

#define COLUMNS(C)                                                                                 \
    C(threads, NULL, COUNT)                                                                        \
    C(flops_per_s, "FP32 FMA", FLOPS)                                                              \
    C(bytes_per_s, "triad", RATE)                                                                  \
    C(ridge, "FLOP/B at the ridge", NUMBER)                                                        \
    C(instructions, NULL, TEXT)
NL_COLUMNS(COLUMNS);

static bool add_row(struct nl_result *table, unsigned threads, struct nl_err *err)
{
    struct nl_cpu_roof roof;
    if (!nl_cpu_roof_measure(threads, MILLISECONDS, &roof))
        return nl_fail(err, NL_ENVIRONMENT, "cannot start %u threads; end other programs first",
                       threads);
    struct nl_cell *cells = nl_result_row(table);
    cells[AT_threads] = nl_cell_i64(threads);
    cells[AT_flops_per_s] = nl_cell_f64(roof.flops_per_s);
    cells[AT_bytes_per_s] = nl_cell_f64(roof.bytes_per_s);
    cells[AT_ridge] = nl_cell_f64(roof.bytes_per_s > 0 ? roof.flops_per_s / roof.bytes_per_s : 0);
    cells[AT_instructions] = nl_cell_text(table, nl_str(roof.instructions));
    return true;
}

/* The roofs of one thread and of all. */
static void plot(const struct nl_output *output, const struct nl_result *table)
{
    struct nl_roofline_roof roofs[2] = {{.name = "1 thread"}, {.name = "all threads"}};
    struct nl_roofline_points none = {0};
    struct nl_plot_style style = {.width = output->width ? output->width : 100,
                                  .height = nl_view_plot_height(output->height),
                                  .ascii = output->ascii,
                                  .color = output->color};
    struct nl_buf text;
    for (size_t i = 0; i < 2; i++) {
        const struct nl_cell *cells = nl_result_cell(table, i ? table->rows - 1 : 0, 0);
        roofs[i].flops_per_s = cells[AT_flops_per_s].f64;
        roofs[i].bytes_per_s = cells[AT_bytes_per_s].f64;
        if (!(roofs[i].flops_per_s > 0) || !(roofs[i].bytes_per_s > 0))
            return;
    }
    nl_buf_init(&text, (size_t)1 << 20);
    nl_rooflineplot(&text, roofs, table->rows > 1 ? 2 : 1, &none, &style);
    fprintf(output->stream, "%.*s\n", (int)text.len, text.ptr);
    nl_buf_release(&text);
}

bool nl_cmd_roof(struct nl_call *call, struct nl_err *err)
{
    struct nl_output output;
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    struct nl_result *table = nl_result_new("roof", "Roofs of this machine's processors", columns,
                                            sizeof columns / sizeof columns[0]);
    unsigned most = nl_processors();
    bool done = true;
    for (unsigned threads = 1; done && threads < most; threads *= 2)
        done = add_row(table, threads, err);
    if (done)
        done = add_row(table, most, err);
    table->note = "best of three rounds; other programs that run now lower it";
    nl_progress_quiet(call->progress);
    if (done) {
        struct nl_view_options options = {.width = output.width, .color = output.color};
        if (output.view == &nl_view_text)
            plot(&output, table);
        done = output.view->render_result(output.stream, NULL, table, &options, err);
    }
    nl_result_free(table);
    return nl_output_close(&output, call, done, err);
}
