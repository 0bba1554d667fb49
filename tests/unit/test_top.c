/* top: thresholds, and screens of every size, drawn into cells. */
#include "check.h"

#include "base/mem.h"
#include "capture/recorder/alerts.h"
#include "tui/terminal.h"
#include "tui/topscreen.h"

#define GIB       (UINT64_C(1) << 30)
#define SECOND_NS ((int64_t)1000000000)

static void thresholds_are_crossed_once(void)
{
    struct alerts alerts = {0};
    uint32_t hot = 1u << NL_ALERT_HOT;
    CHECK_INT(alerts_see(&alerts, ALERT_TEMPERATURE, 84.9), 0);
    CHECK_INT(alerts_see(&alerts, ALERT_TEMPERATURE, 85), hot);
    CHECK_INT(alerts_see(&alerts, ALERT_TEMPERATURE, 90), 0);
    CHECK_INT(alerts_see(&alerts, ALERT_TEMPERATURE, 82), 0); /* not left yet */
    CHECK_INT(alerts.on, hot);
    CHECK_INT(alerts_see(&alerts, ALERT_TEMPERATURE, 86), 0);
    CHECK_INT(alerts_see(&alerts, ALERT_TEMPERATURE, 79), 0);
    CHECK_INT(alerts.on, 0);
    CHECK_INT(alerts_see(&alerts, ALERT_TEMPERATURE, 85), hot);
    CHECK_INT(alerts_see(&alerts, ALERT_SLOWED, 1), 1u << NL_ALERT_SLOWED);
    CHECK_INT(alerts_see(&alerts, ALERT_SLOWED, 0), 0);
    CHECK_INT(alerts.on, hot);
}

static void growth_is_within_a_minute(void)
{
    struct alert_growth growth = {0};
    CHECK(alert_growth(&growth, 5 * SECOND_NS, 2 * GIB) == 0);
    CHECK(alert_growth(&growth, 6 * SECOND_NS, 3 * GIB - 1) == 0); /* less than 1 GiB */
    CHECK(alert_growth(&growth, 7 * SECOND_NS, 3 * GIB) == 1.5);
    CHECK(alert_growth(&growth, 40 * SECOND_NS, 3 * GIB) == 1.5);
    CHECK(alert_growth(&growth, 80 * SECOND_NS, 3 * GIB) == 0);  /* it has been so for a minute */
    CHECK(alert_growth(&growth, 900 * SECOND_NS, 9 * GIB) == 0); /* nobody looked in between */
    CHECK(alert_growth(&growth, 901 * SECOND_NS, GIB) == 0);     /* shrinks */
}

static void reasons_have_words(void)
{
    char text[128];
    gpu_throttle_words(0x44, text, sizeof text);
    CHECK_TEXT(text, "power cap, hardware thermal");
    gpu_throttle_words(0x1, text, sizeof text);
    CHECK_TEXT(text, "");
    gpu_throttle_words(0xff, text, 12); /* cut between words */
    CHECK(strlen(text) < 12);
    CHECK(!alert_is_slowed(0x4) && alert_is_slowed(0x40) && !alert_is_slowed(0x103));
    CHECK(alert_is_capped(0x4, 0, 0) && alert_is_capped(0, 699, 700) && !alert_is_capped(0, 9, 0));
}

static const char *row_of(const struct cells *cells, unsigned row, struct nl_buf *text)
{
    nl_buf_clear(text);
    nl_buf_text(text, "");
    cells_row_text(cells, row, text);
    return text->len ? text->ptr : "";
}

static void plots_have_eight_steps(void)
{
    static const float ring[12] = {0, 0.12f, 0.13f, 0.5f, 0.99f, 1, 7, -1, 0.25f};
    struct cells cells;
    struct nl_buf text;
    nl_buf_init(&text, 4096);
    cells_init(&cells, 1, 14, true);
    cells_plot(&cells, 0, 0, 14, STYLE_PLAIN, ring, 12, 9);
    CHECK_TEXT(row_of(&cells, 0, &text), "     __.=### -");
    cells_clear(&cells);
    cells_plot(&cells, 0, 10, 9, STYLE_PLAIN, ring, 12, 9); /* over the edge */
    CHECK_TEXT(row_of(&cells, 0, &text), "          __.=");
    cells_clear(&cells);
    CHECK_INT(cells_text(&cells, 0, 11, 9, STYLE_PLAIN, "a\x1b\xffz\xc3\xa9"), 5);
    CHECK_TEXT(row_of(&cells, 0, &text), "           a??");
    cells_release(&cells);
    nl_buf_release(&text);
}

/* A machine with `gpus` GPUs, of which the first is hot, and 50 processes. */
static struct machine made_up(unsigned gpus)
{
    struct machine machine = {.gpu_count = gpus, .refreshes = 700};
    machine.gpu_state.opened = true;
    machine.gpu_state.devices = gpus;
    machine.gpus = nl_zalloc((gpus + 1) * sizeof *machine.gpus);
    for (unsigned i = 0; i < gpus; i++) {
        (void)gpu_latest_see(&machine.gpus[i].latest, GPU_TEMPERATURE, i ? 40 : 99);
        (void)gpu_latest_see(&machine.gpus[i].latest, GPU_UTILISATION, 100);
    }
    machine.process_count = 50;
    machine.processes = nl_zalloc(50 * sizeof *machine.processes);
    for (unsigned i = 0; i < 50; i++) {
        struct machine_process *process = &machine.processes[i];
        process->pid = 1000 + (int64_t)i;
        process->processors = i == 33 ? 2 : -1;
        process->gpus = i == 7 ? 0x8d : 0;
        process->gpu_bytes = i == 7 ? GIB : 0;
        if (i == 33)
            process->recording = (struct machine_recording){.there = true,
                                                            .spent_ns = 5 * SECOND_NS,
                                                            .bytes = 3 << 20,
                                                            .dropped = 7,
                                                            .steps = 40,
                                                            .step = 41,
                                                            .step_s = 0.52};
        (void)snprintf(process->command, sizeof process->command, "program %u", i);
    }
    return machine;
}

static void release(struct machine *machine)
{
    nl_free(machine->gpus);
    nl_free(machine->processes);
}

static bool shows(const struct cells *cells, const char *word)
{
    struct nl_buf text;
    bool found = false;
    nl_buf_init(&text, 4096);
    for (unsigned row = 0; row < cells->rows && !found; row++)
        found = strstr(row_of(cells, row, &text), word) != NULL;
    nl_buf_release(&text);
    return found;
}

/* On 40 × 10 and more there are the alert, the busiest process and the keys,
 * however many GPUs there are. */
static void screens_of_all_sizes(void)
{
    static const unsigned rows[] = {1, 2, 3, 4, 5, 7, 10, 11, 16, 24, 50, 100};
    static const unsigned columns[] = {1, 5, 19, 20, 39, 40, 59, 60, 80, 119, 120, 300};
    static const unsigned gpus[] = {0, 1, 2, 8, 64};
    for (size_t g = 0; g < CHECK_LENGTH(gpus); g++) {
        struct machine machine = made_up(gpus[g]);
        for (size_t r = 0; r < CHECK_LENGTH(rows); r++)
            for (size_t c = 0; c < CHECK_LENGTH(columns); c++) {
                struct cells cells;
                struct top_view view = {.sort = TOP_BY_CPU, .offset = 0};
                cells_init(&cells, rows[r], columns[c], c % 2);
                top_draw(&cells, &machine, &view);
                if (rows[r] >= 10 && columns[c] >= 40) {
                    CHECK(!gpus[g] || shows(&cells, "ALERT GPU 0 HOT"));
                    CHECK(shows(&cells, "   1033   2.00"));
                    CHECK(shows(&cells, "q quit"));
                    const char *wanted =
                        columns[c] >= 160   ? "recorded, step 41 (520.0 ms), 3.000 MiB in 5.000 s, "
                                              "7 events dropped program 33"
                        : columns[c] >= 120 ? "recorded, step 41, 3.000 MiB, 7 events dropped prog"
                        : columns[c] >= 60  ? "recorded, step 41 "
                                            : "recorded ";
                    CHECK(shows(&cells, wanted));
                    CHECK(gpus[g] < 64 || rows[r] > 80 || shows(&cells, "more GPUs"));
                }
                view.help = true;
                top_draw(&cells, &machine, &view);
                cells_release(&cells);
            }
        release(&machine);
    }
}

static void keys_move_and_sort(void)
{
    struct machine machine = made_up(1);
    struct top_view view = {.sort = TOP_BY_CPU};
    struct cells cells;
    cells_init(&cells, 24, 80, false);
    top_draw(&cells, &machine, &view);
    for (unsigned i = 0; i < 9; i++)
        CHECK(top_key(&view, KEY_PAGE_DOWN));
    top_draw(&cells, &machine, &view);
    CHECK_INT((int64_t)(view.offset + view.page), 50); /* held to what there is */
    CHECK(top_key(&view, KEY_PAGE_UP) && top_key(&view, KEY_GO_UP) && top_key(&view, 'g'));
    CHECK_INT((int64_t)view.offset, 0);
    top_draw(&cells, &machine, &view);
    CHECK(shows(&cells, "1.000 GiB 0,2-3"));
    const struct machine_process **order = top_order(&machine, TOP_BY_GPU);
    CHECK_INT(order[0]->pid, 1007);
    nl_free(order);
    CHECK(top_key(&view, 'p') && view.paused && top_key(&view, ' ') && !view.paused);
    CHECK(top_key(&view, '?') && view.help && top_key(&view, 27) && !view.help);
    CHECK(!top_key(&view, 'q'));
    cells_release(&cells);
    release(&machine);
}

CHECK_MAIN("top", {"thresholds are crossed once", thresholds_are_crossed_once},
           {"growth is within a minute", growth_is_within_a_minute},
           {"reasons have words", reasons_have_words},
           {"plots have eight steps", plots_have_eight_steps},
           {"screens of all sizes", screens_of_all_sizes},
           {"keys move and sort", keys_move_and_sort})
