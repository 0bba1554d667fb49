/* The work of streams in order of start (tables/streamwork.h): random kernels, copies, fills and
 * graphs that overlap on the streams of two devices, in random windows, held against a list that is
 * sorted by hand. */
#include "base/mem.h"
#include "check.h"
#include "gputrace.h"
#include "tables/streamwork.h"

#define MOST 30

static uint64_t seed = 88172645463325252u;

static int64_t below(int64_t bound)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)((seed >> 33) % (uint64_t)bound);
}

struct work {
    int64_t device, stream, start, end; /* us */
};

/* Streams are in the order of devices and their numbers. */
static int in_order(const void *left, const void *right)
{
    const struct work *a = left, *b = right;
    const int64_t x[] = {a->device, a->stream, a->start, a->end},
                  y[] = {b->device, b->stream, b->start, b->end};
    for (size_t i = 0; i < 4; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static void add_work(struct gputrace *make, int kind, const struct work *work)
{
    uint32_t lane = gputrace_lane(make, NL_LANE_STREAM, work->stream);
    int64_t length = work->end - work->start;
    if (kind == 0) {
        gputrace_kernel(make, work->stream, "gemm", -1, 0, work->start, length);
    } else if (kind == 1) {
        struct nl_copy_row row = nl_copy_row();
        row.slice = gputrace_slice(make, NL_KIND_MEMCPY, lane, "copy", work->start, length);
        nl_stage_copy(make->stage, &row);
    } else if (kind == 2) {
        struct nl_memset_row row = nl_memset_row();
        row.slice = gputrace_slice(make, NL_KIND_MEMSET, lane, "fill", work->start, length);
        nl_stage_memset(make->stage, &row);
    } else {
        struct nl_graph_row row = nl_graph_row();
        row.slice = gputrace_slice(make, NL_KIND_GRAPH, lane, "graph", work->start, length);
        nl_stage_graph(make->stage, &row);
    }
}

/* What is in [start, end), cut to it, of one device or of all; in order. Returns how many. */
static size_t cut(const struct work *works, size_t count, const struct nl_window *window,
                  struct work *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct work work = works[i];
        int64_t start = window->start / 1000, end = window->end / 1000;
        if (window->has_device && work.device != window->device)
            continue;
        if (window->has_time && (work.start >= end || work.end <= start))
            continue;
        if (window->has_time && work.start < start)
            work.start = start;
        if (window->has_time && work.end > end)
            work.end = end;
        out[kept++] = work;
    }
    qsort(out, kept, sizeof *out, in_order);
    return kept;
}

static void check_work(const struct nl_trace *trace, const struct work *works, size_t count,
                       const struct nl_window *window)
{
    struct work expected[MOST];
    struct nl_places places;
    struct nl_scope scope;
    struct nl_streamwork work;
    size_t kept = cut(works, count, window, expected);
    nl_places_init(&places, trace);
    nl_scope_init(&scope, trace, window);
    nl_streamwork_init(&work, &places, &scope);
    CHECK_INT(work.count, kept);
    CHECK_INT(work.first[places.stream_count], kept);
    for (size_t i = 0; i < kept && i < work.count; i++) {
        const struct nl_streamwork_item *item = &work.items[i];
        REQUIRE(item->stream < places.stream_count);
        CHECK_INT(item->start, 1000 * expected[i].start);
        CHECK_INT(item->end, 1000 * expected[i].end);
        CHECK_INT(places.streams[item->stream].stream, expected[i].stream);
        CHECK_INT(places.items[places.streams[item->stream].place].ordinal, expected[i].device);
        CHECK(i >= work.first[item->stream] && i < work.first[item->stream + 1]);
        bool same = i && item->stream == item[-1].stream && item->start == item[-1].start &&
                    item->end == item[-1].end;
        CHECK(!same || item->slice > item[-1].slice);
        CHECK_INT(places.lane_stream[trace->slice.lane[item->slice]], item->stream);
    }
    nl_streamwork_release(&work);
    CHECK(!work.items && !work.first && !work.count);
    nl_scope_release(&scope);
    nl_places_release(&places);
}

static void random_work(void)
{
    int draws = check_draws(200);
    for (int draw = 0; draw < draws; draw++) {
        struct work works[MOST];
        struct gputrace make;
        size_t count = (size_t)below(MOST + 1);
        char label[32];
        snprintf(label, sizeof label, "draw %d", draw);
        check_case(label);
        gputrace_open(&make);
        for (size_t i = 0; i < count; i++) {
            struct work *work = &works[i];
            if (i == count / 2)
                make.device = nl_builder_device(make.builder, make.source, 1, 1);
            work->device = i >= count / 2;
            work->stream = 7 + below(3);
            work->start = below(20);
            work->end = work->start + 1 + below(8);
            add_work(&make, (int)below(4), work);
        }
        struct nl_trace *trace = gputrace_close(&make);
        REQUIRE(trace);
        struct nl_window window = {0};
        check_work(trace, works, count, &window);
        window = (struct nl_window){.has_device = true, .device = 1};
        if (count > 1)
            check_work(trace, works, count, &window);
        window = (struct nl_window){.has_time = true, .start = 1000 * below(15)};
        window.end = window.start + 1000 * (1 + below(8));
        check_work(trace, works, count, &window);
        nl_trace_free(trace);
    }
}

CHECK_MAIN("streamwork", {"random work", random_work})
