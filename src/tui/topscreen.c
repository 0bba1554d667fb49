/* The screen of `top`: the system, alerts, processes, keys. GPUs are in topgpus.c. */
#include "tui/topscreen.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"
#include "base/units.h"
#include "tui/terminal.h"
#include "tui/topgpus.h"

#define PROCESS_ROWS 4u /* that GPUs leave at least, with their head */

/* ---- order ---- */

static double gpu_bytes(const struct machine_process *process)
{
    return process->gpu_bytes != UINT64_MAX ? (double)process->gpu_bytes : 0;
}

static int compare_processes(double one, double other, const struct machine_process *a,
                             const struct machine_process *b)
{
    if (one != other)
        return one > other ? -1 : 1;
    if (a->resident != b->resident)
        return a->resident > b->resident ? -1 : 1;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int by_cpu(const void *a, const void *b)
{
    const struct machine_process *one = *(void *const *)a, *other = *(void *const *)b;
    return compare_processes(one->processors, other->processors, one, other);
}

static int by_memory(const void *a, const void *b)
{
    const struct machine_process *one = *(void *const *)a, *other = *(void *const *)b;
    return compare_processes((double)one->resident, (double)other->resident, one, other);
}

static int by_gpu(const void *a, const void *b)
{
    const struct machine_process *one = *(void *const *)a, *other = *(void *const *)b;
    if (!one->gpus != !other->gpus)
        return one->gpus ? -1 : 1;
    return compare_processes(gpu_bytes(one), gpu_bytes(other), one, other);
}

static const struct order {
    int key;
    const char *name;
    int (*compare)(const void *, const void *); /* NULL: as they are, by pid */
} orders[] = {
    [TOP_BY_CPU] = {'c', "CPU", by_cpu},
    [TOP_BY_MEMORY] = {'m', "MEMORY", by_memory},
    [TOP_BY_GPU] = {'g', "GPU MEMORY", by_gpu},
    [TOP_BY_PID] = {'i', "PID", NULL},
};
#define ORDERS (sizeof orders / sizeof orders[0])

const struct machine_process **top_order(const struct machine *machine, enum top_sort sort)
{
    const struct machine_process **order = nl_alloc((machine->process_count + 1) * sizeof *order);
    for (size_t i = 0; i < machine->process_count; i++)
        order[i] = &machine->processes[i];
    if (orders[sort].compare && machine->process_count)
        qsort(order, machine->process_count, sizeof *order, orders[sort].compare);
    return order;
}

/* ---- the bars ---- */

static void draw_title(struct cells *cells, const struct machine *machine,
                       const struct top_view *view)
{
    const struct machine_system *system = &machine->system;
    char text[256], busy[32] = "-", load[32] = "-", used[NL_UNIT_TEXT] = "-",
                    total[NL_UNIT_TEXT] = "-";
    if (system->busy >= 0)
        (void)snprintf(busy, sizeof busy, "%.1f", system->busy);
    if (system->load >= 0)
        (void)snprintf(load, sizeof load, "%.2f", system->load);
    if (system->memory_total && system->memory_free <= system->memory_total) {
        (void)nl_format_bytes(used, system->memory_total - system->memory_free);
        (void)nl_format_bytes(total, system->memory_total);
    }
    (void)snprintf(text, sizeof text, "%sCPU %s of %.0f  memory %s of %s  load %s  %zu processes%s",
                   view->paused ? "PAUSED  " : "", busy, system->processors, used, total, load,
                   machine->process_count, machine->unseen ? " and more" : "");
    cells_bar(cells, 0, STYLE_TITLE);
    (void)cells_text(cells, 0, 0, cells->columns, STYLE_TITLE, text);
}

static void draw_keys(struct cells *cells, const struct top_view *view)
{
    char text[256];
    (void)snprintf(text, sizeof text,
                   "q quit  h help  p %s  by %s: c CPU  m memory  g GPU memory  i PID",
                   view->paused ? "go on" : "pause", orders[view->sort].name);
    cells_bar(cells, cells->rows - 1, STYLE_TITLE);
    (void)cells_text(cells, cells->rows - 1, 0, cells->columns, STYLE_TITLE, text);
}

static void add_alert(char *text, size_t room, const char *subject, const struct alerts *alerts)
{
    char words[96];
    size_t at = strlen(text);
    top_alert_words(alerts, words, sizeof words);
    (void)snprintf(text + at, room - at, "%s%s %s", at ? "; " : "", subject, words);
}

/* Returns the rows it took. */
static unsigned draw_alerts(struct cells *cells, const struct machine *machine, unsigned row)
{
    char text[1024] = "", subject[48];
    for (unsigned i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].latest.alerts.on) {
            (void)snprintf(subject, sizeof subject, "GPU %u", i);
            add_alert(text, sizeof text, subject, &machine->gpus[i].latest.alerts);
        }
    for (size_t i = 0; i < machine->process_count; i++)
        if (machine->processes[i].alerts.on) {
            (void)snprintf(subject, sizeof subject, "process %lld",
                           (long long)machine->processes[i].pid);
            add_alert(text, sizeof text, subject, &machine->processes[i].alerts);
        }
    if (!*text)
        return 0;
    unsigned at = cells_text(cells, row, 0, cells->columns, STYLE_ALERT, "ALERT ");
    (void)cells_text(cells, row, at, cells->columns - at, STYLE_ALERT, text);
    return 1;
}

/* ---- processes ---- */

static void text_pid(const struct machine_process *process, char out[64])
{
    (void)snprintf(out, 64, "%lld", (long long)process->pid);
}

static void text_cpu(const struct machine_process *process, char out[64])
{
    if (process->processors < 0)
        (void)snprintf(out, 64, "-");
    else
        (void)snprintf(out, 64, "%.2f", process->processors);
}

static void text_resident(const struct machine_process *process, char out[64])
{
    char bytes[NL_UNIT_TEXT];
    (void)snprintf(out, 64, "%s", nl_format_bytes(bytes, process->resident));
}

static void text_gpu(const struct machine_process *process, char out[64])
{
    char bytes[NL_UNIT_TEXT];
    if (!process->gpus)
        *out = '\0';
    else
        (void)snprintf(
            out, 64, "%s",
            process->gpu_bytes == UINT64_MAX ? "-" : nl_format_bytes(bytes, process->gpu_bytes));
}

/* "0", "0,3", "0-7" as far as they fit. */
static void text_gpus(const struct machine_process *process, char out[64])
{
    size_t at = 0;
    *out = '\0';
    for (unsigned i = 0; i < GPU_MAX_DEVICES && at < 50; i++) {
        unsigned last = i;
        if (!(process->gpus >> i & 1u))
            continue;
        while (last + 1 < GPU_MAX_DEVICES && process->gpus >> (last + 1) & 1u)
            last++;
        at += (size_t)snprintf(out + at, 64 - at, last > i ? "%s%u-%u" : "%s%u", at ? "," : "", i,
                               last);
        i = last;
    }
}

static void text_threads(const struct machine_process *process, char out[64])
{
    (void)snprintf(out, 64, "%llu", (unsigned long long)process->threads);
}

/* "recorded, step 41 (520.0 ms), 3.000 MiB in 5.000 s, 7 events dropped" as far as a
 * screen of that width has room. */
static void text_recorded(const struct machine_recording *recording, unsigned width,
                          struct nl_buf *buf)
{
    char text[NL_UNIT_TEXT];
    nl_buf_text(buf, "recorded");
    if (recording->steps && width >= 60)
        nl_buf_format(buf, ", step %lld", (long long)recording->step);
    if (recording->step_s > 0 && width >= 160)
        nl_buf_format(buf, " (%s)", nl_format_ns(text, nl_sum_near(recording->step_s * 1e9)));
    if (width >= 120)
        nl_buf_format(buf, ", %s", nl_format_bytes(text, recording->bytes));
    if (recording->spent_ns >= 0 && width >= 160)
        nl_buf_format(buf, " in %s", nl_format_ns(text, recording->spent_ns));
    if (recording->dropped && width >= 120)
        nl_buf_format(buf, ", %llu events dropped", (unsigned long long)recording->dropped);
}

static const struct {
    const char *title;
    unsigned width, from;
    void (*text)(const struct machine_process *process, char out[64]);
} columns[] = {
    {"PID", 7, 0, text_pid},      {"CPU", 6, 0, text_cpu},    {"MEMORY", 9, 0, text_resident},
    {"GPU MEM", 9, 60, text_gpu}, {"GPUS", 5, 80, text_gpus}, {"THREADS", 7, 100, text_threads},
};
#define COLUMNS (sizeof columns / sizeof columns[0])

static void draw_process_head(struct cells *cells, unsigned row)
{
    unsigned at = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        if (cells->columns < columns[i].from)
            continue;
        cells_right(cells, row, at, columns[i].width, STYLE_HEAD, columns[i].title);
        at += columns[i].width + 1;
    }
    (void)cells_text(cells, row, at, 7, STYLE_HEAD, "COMMAND");
}

static void draw_process(struct cells *cells, const struct machine_process *process, unsigned row)
{
    char text[64];
    unsigned at = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        if (cells->columns < columns[i].from)
            continue;
        columns[i].text(process, text);
        cells_right(cells, row, at, columns[i].width, STYLE_PLAIN, text);
        at += columns[i].width + 1;
    }
    if (process->alerts.on) {
        top_alert_words(&process->alerts, text, sizeof text);
        at += cells_text(cells, row, at, cells->columns - at, STYLE_ALERT, text) + 1;
    }
    if (process->recording.there && at < cells->columns) {
        struct nl_buf words;
        nl_buf_init(&words, 256);
        text_recorded(&process->recording, cells->columns, &words);
        nl_buf_char(&words, '\0');
        at += cells_text(cells, row, at, cells->columns - at, STYLE_BUSY, words.ptr) + 1;
        nl_buf_release(&words);
    }
    if (at < cells->columns)
        (void)cells_text(cells, row, at, cells->columns - at, STYLE_PLAIN, process->command);
}

static void draw_processes(struct cells *cells, const struct machine *machine,
                           struct top_view *view, unsigned row, unsigned room)
{
    view->page = room > 1 ? room - 1 : 0;
    if (!room)
        return;
    draw_process_head(cells, row);
    size_t most = machine->process_count > view->page ? machine->process_count - view->page : 0;
    view->offset = view->offset < most ? view->offset : most;
    const struct machine_process **order = top_order(machine, view->sort);
    for (size_t i = 0; i < view->page && view->offset + i < machine->process_count; i++)
        draw_process(cells, order[view->offset + i], row + 1 + (unsigned)i);
    nl_free(order);
}

/* ---- help ---- */

static const char *const help[] = {
    "q quit   h help   p pause and go on   up, down, page keys: other processes",
    "c sort by CPU   m by memory   g by GPU memory   i by PID",
    "",
    "USE    share of time in which at least one kernel ran, as the driver tells",
    "SM     share of time in which multiprocessors had work; DRAM  of memory bandwidth",
    "MEM    device memory in use; POWER and LIMIT in watts; TEMP of the chip",
    "STATE  alerts and why clocks are low: HOT from 85 C, MEMORY HOT from 95 C,",
    "       MEMORY FULL over 95 %, SLOWED by heat or hardware, POWER CAP at the limit",
    "CPU    processors in use: 1.00 is one of them all the time",
    "GROWING  memory grew by half and 1 GiB within a minute",
    "recorded  by neurolens run: step (length of the one before), room taken, time",
    "plots  use, memory, power, each from 0 to its most; the newest at the right",
    "-      is unknown, never zero",
};

static void draw_help(struct cells *cells, unsigned row, unsigned room)
{
    for (unsigned i = 0; i < room && i < sizeof help / sizeof help[0]; i++)
        (void)cells_text(cells, row + i, 1, cells->columns - 1, STYLE_PLAIN, help[i]);
}

/* ---- the whole ---- */

static unsigned draw_busy(struct cells *cells, const struct machine *machine, unsigned row)
{
    (void)cells_text(cells, row, 0, 4, STYLE_FAINT, "CPU");
    if (cells->columns > 4)
        cells_plot(cells, row, 4, cells->columns - 4, STYLE_BUSY, machine->busy_history,
                   MACHINE_HISTORY, machine->refreshes);
    return 1;
}

void top_draw(struct cells *cells, const struct machine *machine, struct top_view *view)
{
    cells_clear(cells);
    view->page = 0;
    if (cells->rows < 3 || cells->columns < 20) {
        (void)cells_text(cells, 0, 0, cells->columns, STYLE_PLAIN, "too small: q quits");
        return;
    }
    draw_title(cells, machine, view);
    draw_keys(cells, view);
    unsigned row = 1, end = cells->rows - 1;
    if (view->help) {
        draw_help(cells, row, end - row);
        return;
    }
    if (end - row > PROCESS_ROWS)
        row += draw_alerts(cells, machine, row);
    if (!view->still && end - row > PROCESS_ROWS + 8)
        row += draw_busy(cells, machine, row);
    unsigned left = end - row;
    row += top_draw_gpus(cells, machine, row, left > PROCESS_ROWS ? left - PROCESS_ROWS : left / 2,
                         !view->still);
    draw_processes(cells, machine, view, row, end - row);
}

static size_t back(size_t from, size_t by)
{
    return from > by ? from - by : 0;
}

bool top_key(struct top_view *view, int key)
{
    for (size_t i = 0; i < ORDERS; i++)
        if (key == orders[i].key) {
            view->sort = (enum top_sort)i;
            view->offset = 0;
        }
    switch (key) {
    case 'q': return false;
    case 'p':
    case ' ': view->paused = !view->paused; break;
    case 'h':
    case '?': view->help = !view->help; break;
    case 27: view->help = false; break;
    case KEY_GO_UP: view->offset = back(view->offset, 1); break;
    case KEY_GO_DOWN: view->offset++; break; /* drawing holds it to what there is */
    case KEY_PAGE_UP: view->offset = back(view->offset, view->page); break;
    case KEY_PAGE_DOWN: view->offset += view->page; break;
    default: break;
    }
    return true;
}
