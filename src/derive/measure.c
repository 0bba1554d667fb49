/*
 * Metrics of kernels as columns: those of a joined report, and those that a profile has of its own
 * kernels. Runs last, because the order of launches decides which launch of the report is which of
 * the run.
 */
#include "derive/measure.h"

#include <string.h>

#include "base/mem.h"

struct nl_measurement_row *nl_measuring_row(struct nl_measuring *m)
{
    nl_grow(&m->rows, &m->cap, m->count + 1);
    m->rows[m->count] = nl_measurement_row();
    return &m->rows[m->count++];
}

static const struct {
    size_t column; /* in struct nl_measurement_row */
    struct nl_str metric;
    const char *unit;
    double divisor;
} facts[] = {
#define NL_MEASURED(column, metric, unit, divisor)                                                 \
    {offsetof(struct nl_measurement_row, column), {metric, sizeof metric - 1}, unit, divisor},
#include "derive/measured.def"
#undef NL_MEASURED
};

/* None is below 0. Shares may slightly exceed 1, because cycles are counted by other clocks; no
 * memory moves 10^18 bytes in a second. */
static bool possible(double value, const char *unit)
{
    return value >= 0 && value <= (unit && strcmp(unit, "bytes/s") == 0 ? 1e18 : 10);
}

bool nl_measured_fact(struct nl_measurement_row *row, struct nl_str metric, struct nl_str unit,
                      double value)
{
    bool found = false;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        if (!nl_str_eq(metric, facts[i].metric) ||
            (facts[i].unit && !nl_str_is(unit, facts[i].unit)) ||
            !possible(value / facts[i].divisor, facts[i].unit))
            continue;
        double *cell = (double *)(void *)((char *)row + facts[i].column);
        if (isnan(*cell))
            *cell = value / facts[i].divisor;
        found = true;
    }
    return found;
}

uint32_t nl_metric_kernel(const struct nl_trace *t, uint32_t row)
{
    uint32_t slice = t->metric.slice[row];
    if (slice == NL_NULL_ROW || t->slice.kind[slice] != NL_KIND_KERNEL ||
        t->slice.detail[slice] >= t->kernel.rows)
        return NL_NULL_ROW;
    return t->slice.detail[slice];
}

static void add_own(struct nl_measuring *m, uint32_t row, uint32_t kernel)
{
    struct nl_trace *t = m->trace;
    uint32_t *measurement = &t->kernel.measurement[kernel];
    struct nl_measurement_row fresh = nl_measurement_row();
    bool known = *measurement != NL_NULL_ROW;
    bool fact = nl_measured_fact(known ? &m->rows[*measurement - m->staged] : &fresh,
                                 nl_trace_name(t, t->metric.name[row]),
                                 nl_trace_name(t, t->metric.unit[row]), t->metric.value[row]);
    if (!fact || known)
        return;
    *measurement = m->staged + (uint32_t)m->count;
    fresh.slice = t->metric.slice[row];
    fresh.launches = fresh.measured = 1;
    *nl_measuring_row(m) = fresh;
}

/* Names that are metrics of measured.def: few of the many that a row of a profiler may have. */
static bool *fact_names(const struct nl_trace *trace)
{
    bool *is_fact = nl_zalloc(trace->names.count * sizeof *is_fact);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        uint32_t id = nl_dict_find(&trace->names, facts[i].metric);
        if (id < trace->names.count)
            is_fact[id] = true;
    }
    return is_fact;
}

/* Kernels that have metrics in the profile itself, as a report that is looked at alone has. What a
 * joined report says of a kernel stands before. */
static void measure_own(struct nl_measuring *m, uint32_t rows)
{
    struct nl_trace *t = m->trace;
    size_t joined = m->staged + m->count;
    bool *is_fact = fact_names(t);
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t kernel = is_fact[t->metric.name[row]] ? nl_metric_kernel(t, row) : NL_NULL_ROW;
        if (kernel != NL_NULL_ROW && (t->kernel.measurement[kernel] == NL_NULL_ROW ||
                                      t->kernel.measurement[kernel] >= joined))
            add_own(m, row, kernel);
    }
    nl_free(is_fact);
    for (uint32_t row = 0; row < rows && m->count > joined; row++) {
        uint32_t kernel = nl_metric_kernel(t, row);
        if (kernel != NL_NULL_ROW && t->kernel.measurement[kernel] >= joined)
            t->metric.measurement[row] = t->kernel.measurement[kernel];
    }
}

/* Rows with final names and references → columns, from row `at` of a table on. */
static void put_rows(struct nl_trace *trace, enum nl_table_id table, size_t at, const void *rows,
                     size_t count)
{
    const struct nl_table_def *def = &nl_tables[table];
    for (unsigned c = def->first; c < def->first + def->count; c++) {
        const struct nl_column_def *column = &nl_columns[c];
        if (column->hop != NL_HOP_NONE)
            continue;
        char *cells = (char *)(uintptr_t)nl_trace_column(trace, column);
        for (size_t i = 0; i < count; i++)
            memcpy(cells + (at + i) * column->size,
                   (const char *)rows + i * def->row_size + column->field, column->size);
    }
}

/* Rows that a reader has staged. */
static uint32_t staged_rows(struct nl_finish *f, enum nl_table_id table)
{
    size_t count;
    uint64_t rows;
    nl_free(nl_gather_segments(f->b, table, &count, &rows));
    return (uint32_t)rows;
}

/* Measurements of the join are numbered from 0 while it works; they go after the staged ones, and
 * win if a kernel has both. */
static void join_measurements(struct nl_measuring *m)
{
    const struct nl_kernel_table *kernel = &m->trace->kernel;
    size_t bytes = kernel->rows * sizeof *kernel->measurement;
    m->before = nl_alloc(bytes + 1);
    if (bytes) { /* a profile without kernels has no column */
        memcpy(m->before, kernel->measurement, bytes);
        memset(kernel->measurement, 0xff, bytes);
    }
    nl_join_report(m, m->f->b->report, m->f->b->report_source);
    for (uint32_t row = 0; row < kernel->rows; row++)
        kernel->measurement[row] = kernel->measurement[row] == NL_NULL_ROW
                                       ? m->before[row]
                                       : m->staged + kernel->measurement[row];
    for (size_t i = 0; i < m->metric_count; i++)
        m->metrics[i].measurement += m->staged;
}

/* A reader does not know the kernel that a staged measurement is of: the
 * first that refers to it. */
static void place_staged(const struct nl_measuring *m)
{
    struct nl_trace *trace = m->trace;
    struct nl_measurement_table *table = &trace->measurement;
    const uint32_t *refers = m->before ? m->before : trace->kernel.measurement;
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t of = refers[row];
        if (of < m->staged && table->slice[of] == NL_NULL_ROW)
            table->slice[of] = trace->kernel.slice[row];
    }
    for (uint32_t row = 0; row < trace->metric.rows && m->staged; row++) {
        uint32_t of = trace->metric.measurement[row];
        if (of < m->staged && table->launches[of] == 1)
            trace->metric.slice[row] = table->slice[of];
    }
}

/* Shares and rates that no hardware has are unknown. What is unknown already is not written: a
 * column of such cells is a few pages many times. */
static void drop_impossible(double *cells, uint32_t rows, const char *unit)
{
    uint64_t bits, unknown = nl_unknown_cells(NL_TYPE_F64);
    for (uint32_t row = 0; row < rows; row++) {
        memcpy(&bits, &cells[row], sizeof bits);
        if (bits != unknown && !possible(cells[row], unit))
            cells[row] = NL_NULL_F64;
    }
}

/* What readers staged themselves: all of the kernels' estimates, the first measurements. */
static void check_staged(const struct nl_trace *trace, uint32_t staged)
{
    drop_impossible(trace->kernel.occupancy, trace->kernel.rows, "%");
#define NL_MEASURED(column, metric, unit, divisor)                                                 \
    drop_impossible(trace->measurement.column, staged, unit);
#include "derive/measured.def"
#undef NL_MEASURED
}

bool nl_measure(struct nl_finish *f, struct nl_err *err)
{
    struct nl_measuring m = {.f = f, .trace = f->trace};
    m.staged = staged_rows(f, NL_T_measurement);
    if (f->b->report)
        join_measurements(&m);
    bool done = nl_build_table(f, NL_T_metric, m.metric_count, err);
    if (done) {
        uint32_t staged = f->trace->metric.rows - (uint32_t)m.metric_count;
        put_rows(f->trace, NL_T_metric, staged, m.metrics, m.metric_count);
        measure_own(&m, staged);
        done = nl_build_table(f, NL_T_measurement, m.count, err);
    }
    if (done) {
        put_rows(f->trace, NL_T_measurement, m.staged, m.rows, m.count);
        place_staged(&m);
        check_staged(f->trace, m.staged);
    }
    nl_free(m.before);
    nl_free(m.rows);
    nl_free(m.metrics);
    return done;
}
