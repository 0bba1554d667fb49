/*
 * Metrics of the kernels of a report → metrics of measurements. A metric is known by name, unit and
 * section, and by its number where a kernel has several of them (advice of one rule).
 */
#include "base/mem.h"
#include "derive/measure.h"

/* One metric, over all measurements. */
struct metric_kind {
    uint32_t name, unit, section; /* final names */
    uint32_t row;    /* + 1: where the measurement in hand has it in m->metrics, 0 = nowhere yet */
    uint32_t kernel; /* + 1: the kernel that had it last, */
    uint32_t again;  /* and how many more of them it had */
};

/* Beside a row of m->metrics while launches are added. */
struct tally {
    uint32_t numbers, texts;
    bool differs;
};

struct rows {
    struct nl_measuring *m;
    const struct nl_trace *report;
    struct nl_dict keys;
    struct metric_kind *kinds; /* by key */
    size_t cap;
    uint32_t *name;    /* of the report → final, 0 = not met yet */
    uint32_t *starts;  /* per kernel of the report: its metrics in `listed` */
    uint32_t *listed;  /* rows of its table metrics */
    uint32_t *touched; /* keys that the measurement in hand has */
    size_t touched_count, touched_cap;
    struct tally *tallies;
    size_t tally_cap;
    size_t first; /* row of the measurement in hand */
    int64_t dropped;
};

static uint32_t final_name(struct rows *rows, uint32_t id)
{
    if (id != NL_NO_NAME && !rows->name[id])
        rows->name[id] = nl_dict_add(&rows->m->trace->names, nl_trace_name(rows->report, id));
    return id == NL_NO_NAME ? NL_NO_NAME : rows->name[id];
}

static void list_metrics(struct rows *rows)
{
    const struct nl_trace *report = rows->report;
    uint32_t kernels = report->kernel.rows;
    rows->starts = nl_zalloc(((size_t)kernels + 2) * sizeof *rows->starts);
    rows->listed = nl_alloc(((size_t)report->metric.rows + 1) * sizeof *rows->listed);
    for (uint32_t row = 0; row < report->metric.rows; row++) {
        uint32_t kernel = nl_metric_kernel(report, row);
        if (kernel != NL_NULL_ROW)
            rows->starts[kernel + 2]++;
    }
    for (uint32_t kernel = 0; kernel < kernels; kernel++)
        rows->starts[kernel + 2] += rows->starts[kernel + 1];
    for (uint32_t row = 0; row < report->metric.rows; row++) {
        uint32_t kernel = nl_metric_kernel(report, row);
        if (kernel != NL_NULL_ROW)
            rows->listed[rows->starts[kernel + 1]++] = row;
    }
}

static uint32_t find_kind(struct rows *rows, uint32_t metric, uint32_t number)
{
    const struct nl_metric_table *table = &rows->report->metric;
    const uint32_t key[4] = {table->name[metric], table->unit[metric], table->section[metric],
                             number};
    uint32_t id = nl_dict_add(&rows->keys, (struct nl_str){(const char *)key, sizeof key});
    size_t old = rows->cap;
    nl_grow(&rows->kinds, &rows->cap, (size_t)id + 1);
    if (rows->cap > old)
        memset(&rows->kinds[old], 0, (rows->cap - old) * sizeof *rows->kinds);
    rows->kinds[id].name = final_name(rows, key[0]);
    rows->kinds[id].unit = final_name(rows, key[1]);
    rows->kinds[id].section = final_name(rows, key[2]);
    return id;
}

/* The row of m->metrics that holds this metric of the measurement in hand. */
static size_t row_of(struct rows *rows, uint32_t metric, uint32_t kernel)
{
    struct nl_measuring *m = rows->m;
    uint32_t id = find_kind(rows, metric, 0);
    struct metric_kind *kind = &rows->kinds[id];
    kind->again = kind->kernel == kernel + 1 ? kind->again + 1 : 0;
    kind->kernel = kernel + 1;
    if (kind->again)
        id = find_kind(rows, metric, kind->again);
    kind = &rows->kinds[id];
    if (kind->row)
        return kind->row - 1;
    nl_grow(&m->metrics, &m->metric_cap, m->metric_count + 1);
    nl_grow(&rows->touched, &rows->touched_cap, rows->touched_count + 1);
    nl_grow(&rows->tallies, &rows->tally_cap, m->metric_count - rows->first + 1);
    rows->touched[rows->touched_count++] = id;
    rows->tallies[m->metric_count - rows->first] = (struct tally){0};
    m->metrics[m->metric_count] = nl_metric_row();
    m->metrics[m->metric_count].name = kind->name;
    m->metrics[m->metric_count].unit = kind->unit;
    m->metrics[m->metric_count].section = kind->section;
    kind->row = (uint32_t)++m->metric_count;
    return kind->row - 1;
}

/* Adds what one launch has of a metric; values are sums until finish_measurement. */
static void add_metric(struct rows *rows, uint32_t metric, uint32_t kernel)
{
    const struct nl_metric_table *table = &rows->report->metric;
    size_t at = row_of(rows, metric, kernel);
    struct nl_metric_row *row = &rows->m->metrics[at];
    struct tally *tally = &rows->tallies[at - rows->first];
    uint32_t text = final_name(rows, table->text[metric]);
    double value = table->value[metric];
    if (!isnan(value))
        row->value = tally->numbers++ ? row->value + value : value;
    if (text == NL_NO_NAME)
        return;
    tally->differs |= tally->texts > 0 && row->text != text;
    row->text = text;
    tally->texts++;
}

/* Sums become means. A text stays when all launches have it. */
static void finish_measurement(struct rows *rows, uint32_t number)
{
    struct nl_measuring *m = rows->m;
    struct nl_measurement_row *measurement = &m->rows[number];
    for (size_t at = rows->first; at < m->metric_count; at++) {
        struct nl_metric_row *row = &m->metrics[at];
        const struct tally *tally = &rows->tallies[at - rows->first];
        if (tally->numbers)
            row->value /= tally->numbers;
        if (tally->differs || (tally->texts && tally->texts < tally->numbers)) {
            row->text = NL_NO_NAME;
            rows->dropped++;
        }
        row->measurement = number;
        row->measured = tally->numbers ? tally->numbers : tally->texts;
        row->slice = measurement->launches == 1 ? measurement->slice : NL_NULL_ROW;
        (void)nl_measured_fact(measurement, nl_trace_name(m->trace, row->name),
                               nl_trace_name(m->trace, row->unit), row->value);
    }
    for (size_t i = 0; i < rows->touched_count; i++)
        rows->kinds[rows->touched[i]].row = 0;
    rows->touched_count = 0;
}

/* Lengths of the launches; unknown ones are marks. */
static void add_length(const struct rows *rows, struct nl_measurement_row *row, uint32_t kernel,
                       uint32_t *lengths)
{
    const struct nl_trace *report = rows->report;
    uint32_t slice = report->kernel.slice[kernel];
    if (report->slice.flags[slice] & (NL_SLICE_INSTANT | NL_SLICE_CLAMPED))
        return;
    double dur = (double)report->slice.dur[slice];
    row->measured_ns = (*lengths)++ ? row->measured_ns + dur : dur;
}

static void measure_one(struct rows *rows, uint32_t number, const uint32_t *kernels, uint32_t count)
{
    uint32_t lengths = 0;
    rows->first = rows->m->metric_count;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t at = rows->starts[kernels[i]]; at < rows->starts[kernels[i] + 1]; at++)
            add_metric(rows, rows->listed[at], kernels[i]);
        add_length(rows, &rows->m->rows[number], kernels[i], &lengths);
    }
    if (lengths)
        rows->m->rows[number].measured_ns /= lengths;
    finish_measurement(rows, number);
}

int64_t nl_measure_rows(struct nl_measuring *m, const struct nl_trace *report, const uint32_t *of)
{
    struct rows rows = {.m = m, .report = report};
    uint32_t kernels = report->kernel.rows;
    uint32_t *starts = nl_zalloc((m->count + 2) * sizeof *starts);
    uint32_t *sorted = nl_alloc(((size_t)kernels + 1) * sizeof *sorted);
    nl_dict_init(&rows.keys);
    rows.name = nl_zalloc(((size_t)report->names.count + 1) * sizeof *rows.name);
    list_metrics(&rows);
    for (uint32_t kernel = 0; kernel < kernels; kernel++)
        if (of[kernel] != NL_NULL_ROW)
            starts[of[kernel] + 2]++;
    for (size_t i = 0; i < m->count; i++)
        starts[i + 2] += starts[i + 1];
    for (uint32_t kernel = 0; kernel < kernels; kernel++)
        if (of[kernel] != NL_NULL_ROW)
            sorted[starts[of[kernel] + 1]++] = kernel;
    for (size_t i = 0; i < m->count; i++)
        measure_one(&rows, (uint32_t)i, sorted + starts[i], starts[i + 1] - starts[i]);
    nl_dict_release(&rows.keys);
    void *owned[] = {rows.kinds,   rows.name,    rows.starts, rows.listed,
                     rows.touched, rows.tallies, starts,      sorted};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        nl_free(owned[i]);
    return rows.dropped;
}
