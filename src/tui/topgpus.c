/* GPUs on the screen of `top`. */
#include "tui/topgpus.h"

#include <stdio.h>

#include "base/sum.h"
#include "base/units.h"

#define UNKNOWN "-"
#define LABEL   5u   /* columns before a plot */
#define TEXT    160u /* bytes of what stands in a column */

void top_alert_words(const struct alerts *alerts, char *out, size_t room)
{
    size_t at = 0;
    *out = '\0';
    for (unsigned i = 0; i < ALERT_ROWS; i++) {
        if (!(alerts->on >> i & 1u))
            continue;
        int put = snprintf(out + at, room - at, "%s%s", at ? ", " : "", alert_rows[i].word);
        if (put < 0 || (size_t)put >= room - at)
            return;
        at += (size_t)put;
    }
}

/* ---- columns ---- */

static bool has(const struct machine_gpu *gpu, enum gpu_metric metric)
{
    return gpu->latest.have & GPU_BIT(metric);
}

static void one_value(const struct machine_gpu *gpu, enum gpu_metric metric, const char *unit,
                      char out[TEXT])
{
    if (has(gpu, metric))
        (void)snprintf(out, TEXT, "%.0f%s", gpu->latest.value[metric], unit);
    else
        (void)snprintf(out, TEXT, UNKNOWN);
}

static void text_name(const struct machine_gpu *gpu, char out[TEXT])
{
    (void)snprintf(out, TEXT, "%.60s", *gpu->info.name ? gpu->info.name : UNKNOWN);
}

static void text_use(const struct machine_gpu *gpu, char out[TEXT])
{
    one_value(gpu, GPU_UTILISATION, "%", out);
}

static void text_memory_share(const struct machine_gpu *gpu, char out[TEXT])
{
    double total = gpu_latest(&gpu->latest, GPU_MEMORY_TOTAL);
    if (has(gpu, GPU_MEMORY_USED) && total > 0)
        (void)snprintf(out, TEXT, "%.0f%%", gpu->latest.value[GPU_MEMORY_USED] / total * 100);
    else
        (void)snprintf(out, TEXT, UNKNOWN);
}

static void text_memory(const struct machine_gpu *gpu, char out[TEXT])
{
    double gib = 1024.0 * 1024 * 1024;
    if (has(gpu, GPU_MEMORY_USED) && has(gpu, GPU_MEMORY_TOTAL))
        (void)snprintf(out, TEXT, "%.1f/%.1fG", gpu->latest.value[GPU_MEMORY_USED] / gib,
                       gpu->latest.value[GPU_MEMORY_TOTAL] / gib);
    else
        (void)snprintf(out, TEXT, UNKNOWN);
}

static void text_power(const struct machine_gpu *gpu, char out[TEXT])
{
    one_value(gpu, GPU_POWER, "W", out);
}

static void text_limit(const struct machine_gpu *gpu, char out[TEXT])
{
    one_value(gpu, GPU_POWER_LIMIT, "W", out);
}

static void text_temperature(const struct machine_gpu *gpu, char out[TEXT])
{
    one_value(gpu, GPU_TEMPERATURE, "C", out);
}

static void text_clock(const struct machine_gpu *gpu, char out[TEXT])
{
    one_value(gpu, GPU_CLOCK, "MHz", out);
}

static void text_memory_clock(const struct machine_gpu *gpu, char out[TEXT])
{
    one_value(gpu, GPU_MEMORY_CLOCK, "MHz", out);
}

static void text_sm(const struct machine_gpu *gpu, char out[TEXT])
{
    one_value(gpu, GPU_SM_ACTIVE, "%", out);
}

static void text_dram(const struct machine_gpu *gpu, char out[TEXT])
{
    one_value(gpu, GPU_DRAM_ACTIVE, "%", out);
}

/* What is wrong, and why the clocks are low. */
static void text_state(const struct machine_gpu *gpu, char out[TEXT])
{
    char words[TEXT / 2 - 1], reasons[TEXT / 2 - 1]; /* both, a blank and brackets fit */
    top_alert_words(&gpu->latest.alerts, words, sizeof words);
    uint64_t bits = nl_whole_u64(gpu_latest(&gpu->latest, GPU_THROTTLE));
    gpu_throttle_words(bits, reasons, sizeof reasons);
    const char *idle = bits & GPU_THROTTLE_IDLE ? "idle" : *words ? "" : "ok";
    if (!has(gpu, GPU_THROTTLE) && !*words)
        idle = UNKNOWN;
    if (*reasons)
        (void)snprintf(out, TEXT, "%s%s(%s)", words, *words ? " " : "", reasons);
    else
        (void)snprintf(out, TEXT, "%s", *words ? words : idle);
}

/* Shown on screens of `from` columns and more. */
static const struct column {
    const char *title;
    unsigned width, from;
    bool left;
    void (*text)(const struct machine_gpu *gpu, char out[TEXT]);
} columns[] = {
    {"NAME", 20, 90, true, text_name},
    {"USE", 5, 0, false, text_use},
    {"SM", 5, 130, false, text_sm},
    {"DRAM", 5, 130, false, text_dram},
    {"MEM", 5, 0, false, text_memory_share},
    {"MEMORY", 12, 70, false, text_memory},
    {"POWER", 6, 0, false, text_power},
    {"LIMIT", 6, 100, false, text_limit},
    {"TEMP", 5, 0, false, text_temperature},
    {"CLOCK", 8, 60, false, text_clock},
    {"MEMCLOCK", 9, 120, false, text_memory_clock},
};
#define COLUMNS (sizeof columns / sizeof columns[0])

static void draw_line(struct cells *cells, const struct machine *machine, unsigned number,
                      unsigned row)
{
    char text[TEXT];
    const struct machine_gpu *gpu = &machine->gpus[number];
    bool alarmed = gpu->latest.alerts.on;
    (void)snprintf(text, sizeof text, "%u", number);
    cells_right(cells, row, 0, 3, STYLE_PLAIN, text);
    unsigned at = 4;
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct column *column = &columns[i];
        if (cells->columns < column->from)
            continue;
        column->text(gpu, text);
        if (column->left)
            (void)cells_text(cells, row, at, column->width, STYLE_PLAIN, text);
        else
            cells_right(cells, row, at, column->width, STYLE_PLAIN, text);
        at += column->width + 1;
    }
    text_state(gpu, text);
    (void)cells_text(cells, row, at, cells->columns > at ? cells->columns - at : 0,
                     alarmed ? STYLE_ALERT : STYLE_GOOD, text);
}

static void draw_head(struct cells *cells, unsigned row)
{
    unsigned at = 4;
    cells_right(cells, row, 0, 3, STYLE_HEAD, "GPU");
    for (size_t i = 0; i < COLUMNS; i++) {
        if (cells->columns < columns[i].from)
            continue;
        if (columns[i].left)
            (void)cells_text(cells, row, at, columns[i].width, STYLE_HEAD, columns[i].title);
        else
            cells_right(cells, row, at, columns[i].width, STYLE_HEAD, columns[i].title);
        at += columns[i].width + 1;
    }
    (void)cells_text(cells, row, at, 5, STYLE_HEAD, "STATE");
}

/* Three plots next to each other, with their names. */
static void draw_plots(struct cells *cells, const struct machine *machine, unsigned number,
                       unsigned row)
{
    static const char *const names[MACHINE_PLOTS] = {"use", "mem", "pow"};
    unsigned each = (cells->columns - 4) / MACHINE_PLOTS;
    for (unsigned i = 0; i < MACHINE_PLOTS && each > LABEL + 1; i++) {
        unsigned at = 4 + i * each;
        (void)cells_text(cells, row, at, LABEL, STYLE_FAINT, names[i]);
        cells_plot(cells, row, at + LABEL, each - LABEL - 1, STYLE_BUSY,
                   machine->gpus[number].history[i], MACHINE_HISTORY, machine->refreshes);
    }
}

unsigned top_draw_gpus(struct cells *cells, const struct machine *machine, unsigned row,
                       unsigned room, bool plots)
{
    unsigned count = machine->gpu_count, used = 1;
    if (!room)
        return 0;
    if (!machine->gpu_state.opened || !count) {
        char text[GPU_WHY + 16];
        (void)snprintf(text, sizeof text, "%s%s", machine->gpu_state.opened ? "no GPU: " : "",
                       machine->gpu_state.opened ? machine->gpu_state.why
                                                 : "waiting for the driver of the GPUs");
        (void)cells_text(cells, row, 0, cells->columns, STYLE_FAINT, text);
        return 1;
    }
    plots = plots && room >= 1 + count * 2;
    unsigned shown = room - 1 >= count ? count : room > 2 ? room - 2 : 0;
    draw_head(cells, row);
    for (unsigned i = 0; i < shown; i++) {
        draw_line(cells, machine, i, row + used++);
        if (plots)
            draw_plots(cells, machine, i, row + used++);
    }
    if (shown < count && used < room) {
        char text[64];
        (void)snprintf(text, sizeof text, "%u more GPUs: hidden at this height", count - shown);
        (void)cells_text(cells, row + used++, 4, cells->columns - 4, STYLE_FAINT, text);
    }
    return used;
}
