/* roof: measure what this machine's processors and GPUs can do at most, and keep it
 * for profiles of this host. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/pool.h"
#include "cli/hostfacts.h"
#include "cli/ledgercall.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "ledger/roofkeep.h"
#include "view/rooflineplot.h"
#include "work/cpuroof.h"
#include "work/gpuroof.h"
#include "tables/resultcells.h"

enum roof_only { ROOF_ONLY_NONE, ROOF_ONLY_CPU, ROOF_ONLY_GPU };

struct roof_options {
    bool no_keep, replace;
    int only; /* enum roof_only */
};

static const struct roof_options *roof_own(const struct nl_call *call)
{
    return call->own;
}

#define MILLISECONDS 40 /* per loop and round */
#define MAX_ROWS     1024

static const char *const only_names[] = {"all", "cpu", "gpu", NULL}; /* enum roof_only */
static const struct nl_option roof_options[] = {
    {"only", 0, NL_OPTION_CHOICE, NL_OWN(roof_options, only), "WHAT",
     "what to measure (default: all)", only_names},
    {"no-keep", 0, NL_OPTION_FLAG, NL_OWN(roof_options, no_keep), NULL,
     "do not store the result in the ledger", NULL},
    {"replace", 0, NL_OPTION_FLAG, NL_OWN(roof_options, replace), NULL,
     "discard earlier measurements of this host", NULL},
    NL_OPTIONS_END,
};

#define COLUMNS(C)                                                                                 \
    C(device, NULL, TEXT)                                                                          \
    C(type, NULL, TEXT)                                                                            \
    C(threads, NULL, COUNT)                                                                        \
    C(flops_per_s, "FLOP/s", FLOPS)                                                                \
    C(bytes_per_s, "memory", RATE)                                                                 \
    C(ridge, "FLOP/B at the ridge", NUMBER)                                                        \
    C(fp64_flops_per_s, "in FP64", FLOPS)                                                          \
    C(instructions, "with", TEXT)
NL_COLUMNS(COLUMNS);

struct measuring {
    struct nl_result *table;
    struct nl_host_roofs *roofs; /* with room for MAX_ROWS */
    const struct nl_call *call;
    size_t cpu_rows;
    char line[256]; /* of a GPU, the last one, not yet printed: it may become the error */
};

static void add_roof(struct measuring *measuring, const struct nl_host_roof *roof)
{
    if (measuring->roofs->count == MAX_ROWS)
        return;
    struct nl_host_roof *item = &measuring->roofs->items[measuring->roofs->count++];
    *item = *roof;
    item->measured_ns = nl_calendar_ns();
}

static bool add_measured_row(struct measuring *measuring, unsigned threads, struct nl_err *err)
{
    struct nl_cpu_roof roof;
    if (!nl_cpu_roof_measure(threads, MILLISECONDS, &roof))
        return nl_fail(err, NL_ENVIRONMENT, "cannot start %u threads; end other programs first",
                       threads);
    struct nl_cell *cells = nl_result_row(measuring->table);
    cells[AT_type] = nl_cell_text(measuring->table, nl_str("fp32"));
    cells[AT_threads] = nl_cell_i64(threads);
    cells[AT_flops_per_s] = nl_cell_f64(roof.flops_per_s);
    cells[AT_fp64_flops_per_s] = nl_cell_f64(roof.fp64_flops_per_s);
    cells[AT_bytes_per_s] = nl_cell_f64(roof.bytes_per_s);
    cells[AT_ridge] = nl_cell_f64(roof.bytes_per_s > 0 ? roof.flops_per_s / roof.bytes_per_s : 0);
    cells[AT_instructions] = nl_cell_text(measuring->table, nl_str(roof.instructions));
    struct nl_host_roof single = {.type = "fp32",
                                  .threads = threads,
                                  .flops_per_s = roof.flops_per_s,
                                  .bytes_per_s = roof.bytes_per_s},
                        twice = {.type = "fp64",
                                 .threads = threads,
                                 .flops_per_s = roof.fp64_flops_per_s,
                                 .bytes_per_s = NL_NULL_F64};
    snprintf(single.with, sizeof single.with, "%s", roof.instructions);
    snprintf(twice.with, sizeof twice.with, "%s", roof.instructions);
    add_roof(measuring, &single);
    add_roof(measuring, &twice);
    measuring->cpu_rows++;
    return true;
}

/* ---- GPUs ---- */

static void add_gpu(void *context, const struct nl_gpu_roof *roof)
{
    struct measuring *measuring = context;
    struct nl_cell *cells = nl_result_row(measuring->table);
    struct nl_host_roof item = {.flops_per_s = roof->flops_per_s, .bytes_per_s = roof->bytes_per_s};
    snprintf(item.device, sizeof item.device, "%s", roof->device);
    snprintf(item.type, sizeof item.type, "%s", roof->type ? roof->type : "");
    snprintf(item.with, sizeof item.with, "%s", roof->library);
    add_roof(measuring, &item);
    cells[AT_device] = nl_cell_text(measuring->table, nl_str(roof->device));
    if (roof->type)
        cells[AT_type] = nl_cell_text(measuring->table, nl_str(roof->type));
    cells[AT_flops_per_s] = nl_cell_f64(roof->flops_per_s);
    cells[AT_bytes_per_s] = nl_cell_f64(roof->bytes_per_s);
    cells[AT_instructions] = nl_cell_text(measuring->table, nl_str(roof->library));
}

static void print_line(struct measuring *measuring)
{
    if (measuring->line[0])
        nl_message_note(measuring->call, "%s", measuring->line);
    measuring->line[0] = '\0';
}

static void say_gpu(void *context, const char *line)
{
    struct measuring *measuring = context;
    print_line(measuring);
    snprintf(measuring->line, sizeof measuring->line, "%s", line);
}

static bool stop_gpu(void *context)
{
    const struct measuring *measuring = context;
    return nl_job_cancelled(measuring->call->job);
}

/* The roofs of one thread and of all. */
static void plot(const struct nl_output *output, const struct nl_result *table, size_t rows)
{
    struct nl_roofline_roof roofs[2] = {{.name = "1 thread"}, {.name = "all threads"}};
    struct nl_roofline_points none = {0};
    struct nl_plot_style style = {.width = output->width ? output->width : 100,
                                  .height = nl_view_plot_height(output->height),
                                  .ascii = output->ascii,
                                  .color = output->color};
    struct nl_buf text;
    for (size_t i = 0; i < 2; i++) {
        if (!rows)
            return;
        const struct nl_cell *cells = nl_result_cell(table, i ? rows - 1 : 0, 0);
        roofs[i].flops_per_s = cells[AT_flops_per_s].f64;
        roofs[i].bytes_per_s = cells[AT_bytes_per_s].f64;
        if (!(roofs[i].flops_per_s > 0) || !(roofs[i].bytes_per_s > 0))
            return;
    }
    nl_buf_init(&text, (size_t)1 << 20);
    nl_rooflineplot(&text, roofs, rows > 1 ? 2 : 1, &none, &style);
    fprintf(output->stream, "%.*s\n", (int)text.len, text.ptr);
    nl_buf_release(&text);
}

/* This machine, by the facts that recordings made here carry. */
static void name_host(struct nl_host_roofs *roofs)
{
    struct nl_rundoc_setting facts[NL_HOST_FACTS];
    struct nl_arena arena;
    nl_arena_init(&arena);
    size_t count = nl_host_facts(facts, &arena);
    if (gethostname(roofs->host, sizeof roofs->host - 1) != 0)
        roofs->host[0] = '\0';
    for (size_t i = 0; i < count; i++)
        if (strcmp(facts[i].key, "hardware.cpu_model") == 0)
            snprintf(roofs->cpu, sizeof roofs->cpu, "%s", facts[i].value);
        else if (strcmp(facts[i].key, "hardware.cpu_count") == 0)
            roofs->processors = (uint32_t)strtoul(facts[i].value, NULL, 10);
    nl_arena_free(&arena);
}

/* Into the ledger. One that was named must take it; else a note is enough,
 * for the figures are shown. */
static bool store(const struct nl_call *call, const struct nl_host_roofs *roofs, const char **says,
                  struct nl_arena *arena, struct nl_err *err)
{
    struct nl_err why;
    nl_err_clear(&why);
    *says = NULL;
    if (!roofs->host[0]) {
        nl_message_note(call, "not kept: this machine has no name");
        return true;
    }
    struct nl_ledger *ledger = nl_ledgercall_open(call, NL_LEDGER_WRITE, &why);
    bool done = ledger && nl_roofkeep_put(ledger, roofs, roof_own(call)->replace, &why);
    nl_ledger_close(ledger);
    if (done)
        *says = nl_arena_format(arena, "kept for profiles of host %s", roofs->host);
    else if (call->settings.ledger)
        *err = why;
    else
        nl_message_note(call, "not kept: %s", why.text);
    return done || !call->settings.ledger;
}

static bool measure_processors(struct measuring *measuring, struct nl_err *err)
{
    unsigned most = nl_processors();
    bool done = true;
    for (unsigned threads = 1; done && threads < most; threads *= 2)
        done = add_measured_row(measuring, threads, err);
    return done && add_measured_row(measuring, most, err);
}

static bool measure_roofs(struct measuring *measuring, const struct nl_call *call,
                          struct nl_err *err)
{
    int only = roof_own(call)->only;
    bool done = only == ROOF_ONLY_GPU || measure_processors(measuring, err);
    nl_progress_quiet(call->progress);
    struct nl_gpu_roof_sink sink = {measuring, add_gpu, say_gpu, stop_gpu};
    if (done && only != ROOF_ONLY_CPU)
        nl_gpu_roofs_measure(&sink);
    if (done && nl_job_cancelled(call->job))
        done = nl_fail(err, NL_INTERRUPTED, "stopped on request; nothing was kept");
    if (done && !measuring->roofs->count)
        return nl_fail(err, NL_ENVIRONMENT,
                       "%s; run it on a machine with a GPU and its driver, or measure the "
                       "processors: `neurolens roof --only cpu`",
                       measuring->line[0] ? measuring->line : "no GPU was measured");
    print_line(measuring);
    return done;
}

static bool show_roofs(struct nl_call *call, const struct measuring *measuring, struct nl_err *err)
{
    const struct nl_result *table = measuring->table;
    struct nl_output output;
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    struct nl_view_options options = {.width = output.width, .color = output.color};
    if (output.view == &nl_view_text)
        plot(&output, table, measuring->cpu_rows);
    bool done = output.view->render_result(output.stream, NULL, table, &options, err);
    return nl_output_close(&output, call, done, err);
}

static bool roof_run(struct nl_call *call, struct nl_err *err)
{
    const char *kept = NULL;
    struct measuring measuring = {
        .table = nl_result_new("roof", "Roofs of this machine", columns,
                               sizeof columns / sizeof columns[0]),
        .roofs = nl_zalloc(sizeof *measuring.roofs + MAX_ROWS * sizeof *measuring.roofs->items),
        .call = call};
    name_host(measuring.roofs);
    bool done = measure_roofs(&measuring, call, err);
    if (done && !roof_own(call)->no_keep)
        done = store(call, measuring.roofs, &kept, &measuring.table->arena, err);
    measuring.table->note = nl_arena_format(
        &measuring.table->arena, "best of three rounds; other programs that run now lower it%s%s",
        kept ? "; " : "", kept ? kept : "");
    done = done && show_roofs(call, &measuring, err);
    nl_free(measuring.roofs);
    nl_result_free(measuring.table);
    return done;
}

const struct nl_command nl_command_roof = {
    .name = "roof",
    .group = "Tools",
    .summary = "measure the roofline of this machine",
    .usage = "",
    .least = 0,
    .most = 0,
    NL_DEFAULTS(roof_options, 0),
    .tables = NL_TABLES(roof_options, nl_common_options),
    .help =
        "Measures multiply-add throughput (FP32, FP64) and memory bandwidth (triad) of the CPU "
        "with\n"
        "1, 2, 4, … threads, half a second each, and plots the roofline. On GPUs it measures "
        "matrix\n"
        "products per element type through cuBLAS, cuBLASLt or rocBLAS, and copies in device "
        "memory;\n"
        "it loads these libraries if they are installed, and reports what is missing. The ledger\n"
        "keeps the results per host, and profiles recorded on this host are judged against them. "
        "Of\n"
        "several measurements the highest counts.",
    .examples = "neurolens roof\n"
                "neurolens analyze trace.json --host \"$(hostname)\" --section roofline",
    .run = roof_run,
};
