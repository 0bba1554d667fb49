/* Breakdown and statistics against slow and plain recomputation. */
#include "check.h"
#include "devicetrace.h"

#include "base/mem.h"
#include "derive/derive.h"
#include "timeline/attribution.h"
#include "timeline/breakdown.h"
#include "timeline/groupstats.h"
#include "timeline/worksweep.h"
#include "timeline/quantile.h"

#define SPAN         3000
#define WORK_COMPUTE 1u
#define WORK_COMM    2u
#define WORK_COPY    4u
#define WORK_ALL     7u

/* Work of one device as a line: bit per class for each ns. */
static unsigned char line[SPAN * 2];

static unsigned work_bit(const struct nl_trace *trace, uint32_t row)
{
    unsigned kind = trace->slice.kind[row];
    struct nl_str name = nl_trace_name(trace, trace->slice.name[row]);
    if (kind == NL_KIND_MEMCPY || kind == NL_KIND_MEMSET)
        return WORK_COPY;
    if (kind == NL_KIND_GRAPH)
        return WORK_COMPUTE;
    if (kind != NL_KIND_KERNEL)
        return 0;
    return nl_str_starts(name, "nccl") ? WORK_COMM : WORK_COMPUTE;
}

/* Paints the device's work within [from, to); returns the wall time: from the window's start where
 * it worked before, to the window's end where it works later. */
static int64_t paint(const struct nl_trace *trace, uint32_t device, int64_t from, int64_t to)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    memset(line, 0, sizeof line);
    for (uint32_t row = 0; row < trace->slice.rows; row++) {
        unsigned bit = work_bit(trace, row);
        int64_t start = trace->slice.ts[row], end = nl_slice_end(trace, row);
        if (nl_slice_device(trace, row) != device || !bit)
            continue;
        first = start < from ? from : first;
        last = start >= to ? to : last;
        if (start >= to || end < from || (end == from && start != from))
            continue;
        start = start < from ? from : start;
        end = end > to ? to : end;
        first = start < first ? start : first;
        last = end > last ? end : last;
        for (int64_t t = start; t < end; t++)
            line[t] |= (unsigned char)bit;
    }
    return first == INT64_MAX || last == INT64_MIN ? 0 : last - first;
}

static int64_t count_where(unsigned mask, unsigned value)
{
    int64_t sum = 0;
    for (size_t t = 0; t < sizeof line; t++)
        sum += (line[t] & mask) == value;
    return sum;
}

static int64_t length_of_union(const struct nl_device_sets *sets, unsigned work)
{
    static const struct nl_intervals none;
    struct nl_intervals two, three;
    nl_intervals_init(&two);
    nl_intervals_init(&three);
    nl_intervals_union(work & WORK_COMPUTE ? &sets->compute : &none,
                       work & WORK_COMM ? &sets->comm : &none, &two);
    nl_intervals_union(&two, work & WORK_COPY ? &sets->copy : &none, &three);
    int64_t length = nl_intervals_length(&three);
    nl_intervals_release(&two);
    nl_intervals_release(&three);
    return length;
}

static void check_device(const struct nl_trace *trace, const struct nl_device_breakdown *row,
                         const struct nl_window *window)
{
    int64_t from = window ? window->start : 0, to = window ? window->end : SPAN * 2;
    struct nl_device_sets sets;
    CHECK_INT(row->wall_ns, paint(trace, row->device, from, to));
    CHECK_INT(row->compute_ns, count_where(WORK_COMPUTE, WORK_COMPUTE));
    CHECK_INT(row->exposed_comm_ns, count_where(WORK_COMPUTE | WORK_COMM, WORK_COMM));
    CHECK_INT(row->exposed_copy_ns, count_where(WORK_ALL, WORK_COPY));
    CHECK_INT(row->comm_ns, count_where(WORK_COMM, WORK_COMM));
    CHECK_INT(row->copy_ns, count_where(WORK_COPY, WORK_COPY));
    CHECK_INT(row->overlap_ns, count_where(3, 3));
    CHECK_INT(row->compute_ns + row->exposed_comm_ns + row->exposed_copy_ns + row->idle_ns,
              row->wall_ns);
    struct nl_work_lane *lanes;
    size_t lane_count = nl_work_lanes(trace, window, &lanes);
    nl_device_intervals_of(trace, window, lanes, lane_count, row->device, &sets);
    nl_free(lanes);
    for (unsigned work = 1; work <= WORK_ALL; work++) {
        int64_t want = 0;
        for (size_t t = 0; t < sizeof line; t++)
            want += (line[t] & work) != 0;
        CHECK_INT(length_of_union(&sets, work), want);
    }
    nl_device_sets_release(&sets);
}

static void random_breakdowns(void)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct nl_err err;
        size_t count;
        struct nl_trace *trace = devicetrace(seed, 5 + (unsigned)seed * 2, SPAN, &err);
        REQUIRE(trace);
        struct nl_device_breakdown *rows = nl_time_breakdown(trace, NULL, &count);
        CHECK_INT(count, 2);
        for (size_t i = 0; i < count; i++) {
            CHECK_INT(rows[i].rank, i);
            CHECK_INT(rows[i].ordinal, i);
            check_device(trace, &rows[i], NULL);
        }
        nl_free(rows);
        int64_t middle = (int64_t)(seed * 37 % SPAN);
        struct nl_window window = {.has_time = true, .start = middle, .end = middle + 300};
        rows = nl_time_breakdown(trace, &window, &count);
        for (size_t i = 0; i < count; i++)
            check_device(trace, &rows[i], &window);
        nl_free(rows);
        window = (struct nl_window){.has_rank = true, .rank = 1};
        rows = nl_time_breakdown(trace, &window, &count);
        CHECK_INT(count, 1);
        CHECK_INT(rows[0].rank, 1);
        nl_free(rows);
        nl_trace_free(trace);
    }
}

/* Two kernels of a file that has `timeless` lengths without a start. */
static struct nl_trace *lengths(int64_t timeless, struct nl_err *err)
{
    struct devicetrace make = {.builder = nl_builder_new(NULL), .state = 1};
    make.stage = nl_stage_new(make.builder);
    make.source = nl_builder_source(make.builder, "made-up", "test");
    make.process = nl_builder_process(make.builder, make.source, 1);
    make.device = nl_builder_device(make.builder, make.source, 0, 0);
    nl_stage_begin(make.stage, make.source, 0);
    uint32_t lane = devicetrace_lane(&make, NL_LANE_STREAM, 7);
    devicetrace_kernel(&make, lane, 0, 10, 1);
    devicetrace_kernel(&make, lane, 25, 5, 2);
    if (timeless)
        nl_builder_coverage(make.builder, make.source, NL_COVERS_NO_STARTS, timeless, NULL);
    return nl_builder_finish(make.builder, err);
}

/* Whether nothing ran in between cannot be said of kernels that were laid one after another; a file
 * that has times of some, or that has no copies, says it. */
static void lengths_alone(void)
{
    for (int64_t timeless = 0; timeless <= 2; timeless++) {
        struct nl_err err;
        size_t count;
        struct nl_trace *trace = lengths(timeless, &err);
        REQUIRE(trace);
        struct nl_device_breakdown *rows = nl_time_breakdown(trace, NULL, &count);
        REQUIRE(count == 1);
        struct nl_device_breakdown shown = nl_breakdown_shown(&rows[0]);
        bool told = timeless < 2;
        CHECK(rows[0].starts_unknown == !told);
        CHECK_INT(shown.wall_ns, told ? 30 : NL_NULL_I64);
        CHECK_INT(shown.idle_ns, told ? 15 : NL_NULL_I64);
        CHECK_INT(shown.exposed_copy_ns, told ? 0 : NL_NULL_I64);
        CHECK_INT(shown.compute_ns + shown.comm_ns, 15);
        CHECK_INT(shown.kernels, 2);
        nl_free(rows);
        nl_trace_free(trace);
    }
}

static int by_value(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* numpy's default quantile, on sorted values. */
static double quantile(const int64_t *sorted, size_t count, double p)
{
    double position = p * (double)(count - 1);
    size_t rank = (size_t)(position + 1e-9);
    double fraction = position - (double)rank;
    if (rank + 1 >= count || fraction < 1e-9)
        return (double)sorted[rank];
    return (double)sorted[rank] + fraction * (double)(sorted[rank + 1] - sorted[rank]);
}

static void check_stats(const struct nl_group_stats *stats, int64_t *values, size_t count)
{
    double sum = 0, squares = 0;
    qsort(values, count, sizeof *values, by_value);
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i];
    for (size_t i = 0; i < count; i++)
        squares +=
            ((double)values[i] - sum / (double)count) * ((double)values[i] - sum / (double)count);
    CHECK_INT(stats->count, count);
    CHECK_INT(stats->min_ns, values[0]);
    CHECK_INT(stats->max_ns, values[count - 1]);
    CHECK_NEAR((double)stats->total_ns, sum, 1e-6 * fabs(sum));
    CHECK_NEAR(stats->median_ns, quantile(values, count, 0.5), 1e-6);
    double p95 = quantile(values, count, 0.95);
    CHECK_NEAR(stats->p95_ns, p95, 1e-9 * fabs(p95));
    if (count < 2) {
        CHECK(isnan(stats->stddev_ns));
        return;
    }
    double spread = sqrt(squares / (double)(count - 1));
    CHECK_NEAR(stats->stddev_ns, spread, 1e-6 * spread + 1e-9);
}

/* Distributions that are hard on the selection: constant, two values, outliers, wide. */
static int64_t shaped(unsigned shape, uint64_t random)
{
    switch (shape) {
    case 0: return 5000;
    case 1: return random % 2 ? 17 : 4000000000;
    case 2: return random % 1000 ? (int64_t)(5000 + random % 30) : (int64_t)(random % 4000000000u);
    case 3: return (int64_t)(random % 100000);
    case 4: return (int64_t)(random % 4294967294u);
    case 5: return (int64_t)(random % ((uint64_t)1 << 40));
    default: return (int64_t)((uint64_t)1 << (random % 31));
    }
}

static void stats_of_shapes(void)
{
    static const size_t counts[] = {1, 2, 3, 20, 21, 255, 256, 257, 1001, 20000, 50001};
    struct devicetrace make = {.state = 77};
    int64_t *values = malloc(50001 * sizeof *values);
    int64_t *copy = malloc(50001 * sizeof *copy);
    for (unsigned shape = 0; shape <= 6; shape++)
        for (size_t c = 0; c < CHECK_LENGTH(counts); c++) {
            for (size_t i = 0; i < counts[c]; i++)
                values[i] = copy[i] = shaped(shape, devicetrace_random(&make, UINT64_MAX >> 12));
            struct nl_group_stats stats = nl_stats_of(values, counts[c]);
            check_stats(&stats, copy, counts[c]);
        }
    for (unsigned shape = 0; shape <= 6; shape++)
        for (size_t c = 0; c < CHECK_LENGTH(counts); c++) {
            for (size_t i = 0; i < counts[c]; i++)
                values[i] = copy[i] =
                    shaped(shape, devicetrace_random(&make, UINT64_MAX >> 12)) - 99;
            double median = nl_quantile_i64(values, counts[c], nl_quantile_at(counts[c], 50));
            qsort(copy, counts[c], sizeof *copy, by_value);
            CHECK_NEAR(median, quantile(copy, counts[c], 0.5), 1e-6);
        }
    struct nl_group_stats none = nl_stats_of(values, 0);
    CHECK_INT(none.count, 0);
    CHECK(isnan(none.median_ns));
    free(values);
    free(copy);
}

static void stats_by_name(void)
{
    struct nl_err err;
    size_t count, seen = 0, kernels = 0;
    struct nl_trace *trace = devicetrace(9, 900, 100000, &err);
    REQUIRE(trace);
    struct nl_group_stats *rows = nl_name_stats(trace, NULL, NL_KIND_KERNEL, &count);
    int64_t *values = malloc((trace->slice.rows + 1) * sizeof *values), before = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t n = 0;
        for (uint32_t row = 0; row < trace->slice.rows; row++)
            if (trace->slice.kind[row] == NL_KIND_KERNEL && trace->slice.name[row] == rows[i].name)
                values[n++] = trace->slice.dur[row];
        REQUIRE(n > 0);
        check_stats(&rows[i], values, n);
        CHECK(rows[i].total_ns <= before);
        before = rows[i].total_ns;
        seen += n;
    }
    for (uint32_t row = 0; row < trace->slice.rows; row++)
        kernels += trace->slice.kind[row] == NL_KIND_KERNEL;
    CHECK_INT(seen, kernels);
    nl_free(rows);
    free(values);
    /* Windows that tile the time see every slice once. */
    seen = 0;
    for (int64_t start = 0; start < 100000; start += 10000) {
        struct nl_window window = {.has_time = true, .start = start, .end = start + 10000};
        rows = nl_name_stats(trace, &window, NL_KIND_KERNEL, &count);
        for (size_t i = 0; i < count; i++)
            seen += rows[i].count;
        nl_free(rows);
    }
    CHECK_INT(seen, kernels);
    nl_trace_free(trace);
}

/* A list in any order, with and without a window and lanes: each name's slices that are in it. */
static void stats_of_list(void)
{
    struct nl_err err;
    size_t count, listed = 0, with_window = 0;
    struct nl_trace *trace = devicetrace(11, 900, 100000, &err);
    REQUIRE(trace);
    uint32_t *slices = malloc((trace->slice.rows + 1) * sizeof *slices);
    uint8_t *lanes = malloc(trace->lane.rows);
    int64_t *values = malloc((trace->slice.rows + 1) * sizeof *values);
    for (uint32_t row = trace->slice.rows; row-- > 0;)
        if (row % 3)
            slices[listed++] = row;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        lanes[lane] = lane % 2;
    for (int windowed = 0; windowed < 2; windowed++) {
        struct nl_slice_list list = {slices, (uint32_t)listed, 20000, 70000, lanes, !windowed};
        struct nl_group_stats *rows = nl_list_stats(trace, &list, &count);
        size_t seen = 0;
        for (size_t i = 0; i < count; i++) {
            size_t n = 0;
            for (size_t k = 0; k < listed; k++) {
                int64_t ts = trace->slice.ts[slices[k]];
                bool inside =
                    !windowed || (ts >= 20000 && ts < 70000 && trace->slice.lane[slices[k]] % 2);
                if (inside && trace->slice.name[slices[k]] == rows[i].name)
                    values[n++] = trace->slice.dur[slices[k]];
            }
            REQUIRE(n > 0);
            check_stats(&rows[i], values, n);
            seen += n;
        }
        nl_free(rows);
        if (windowed)
            with_window = seen;
        else
            CHECK_INT(seen, listed);
    }
    CHECK(with_window > 0 && with_window < listed);
    free(values);
    free(lanes);
    free(slices);
    nl_trace_free(trace);
}

static void self_times(void)
{
    struct nl_err err;
    struct nl_trace *trace = devicetrace(4, 300, 20000, &err);
    REQUIRE(trace);
    int64_t *self = nl_self_times(trace, 0, trace->slice.rows);
    for (uint32_t row = 0; row < trace->slice.rows; row++) {
        int64_t children = 0;
        for (uint32_t child = 0; child < trace->slice.rows; child++)
            if (trace->slice.parent[child] == row)
                children += trace->slice.dur[child];
        CHECK_INT(self[row], trace->slice.dur[row] - children);
    }
    nl_free(self);
    nl_trace_free(trace);
}

/* The innermost open range, found by looking at every slice. */
static uint32_t range_around(const struct nl_trace *trace, uint32_t launch, unsigned kind)
{
    uint32_t best = NL_NULL_ROW, thread = trace->lane.thread[trace->slice.lane[launch]];
    int64_t ts = trace->slice.ts[launch];
    for (uint32_t row = 0; row < trace->slice.rows; row++) {
        bool open = trace->slice.kind[row] == kind && trace->slice.ts[row] <= ts &&
                    nl_slice_end(trace, row) > ts &&
                    trace->lane.thread[trace->slice.lane[row]] == thread;
        if (open && (best == NL_NULL_ROW || trace->slice.ts[row] > trace->slice.ts[best]))
            best = row;
    }
    return best;
}

static void launch_ranges(void)
{
    struct nl_err err;
    size_t count, found = 0, work = 0;
    struct nl_trace *trace = devicetrace(5, 300, 20000, &err);
    REQUIRE(trace);
    struct nl_launch_range *rows = nl_launch_ranges(trace, NL_KIND_NVTX, &count);
    for (size_t i = 0; i < count; i++) {
        uint32_t launch = trace->slice.link[rows[i].slice];
        uint32_t want =
            launch == NL_NULL_ROW ? NL_NULL_ROW : range_around(trace, launch, NL_KIND_NVTX);
        if (want != NL_NULL_ROW && rows[i].range != NL_NULL_ROW)
            CHECK_INT(trace->slice.ts[rows[i].range], trace->slice.ts[want]);
        else
            CHECK_INT(rows[i].range, want);
        found += want != NL_NULL_ROW;
    }
    for (uint32_t row = 0; row < trace->slice.rows; row++)
        work += work_bit(trace, row) != 0;
    CHECK_INT(count, work);
    CHECK(found > 20);
    nl_free(rows);
    nl_trace_free(trace);
}

CHECK_MAIN("breakdown", {"random devices against a line of ns", random_breakdowns},
           {"lengths of kernels alone", lengths_alone},
           {"statistics of hard shapes", stats_of_shapes}, {"statistics by name", stats_by_name},
           {"statistics of a list", stats_of_list}, {"self times", self_times},
           {"launch ranges", launch_ranges})
