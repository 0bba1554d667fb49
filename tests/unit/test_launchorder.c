/* Launches in order of start, whatever lanes and depths they lie in,
 * against a sort of all of them. */
#include "check.h"

#include <stdlib.h>

#include "base/mem.h"
#include "derive/derive.h"
#include "timeline/launchorder.h"

#include "fabricate.h"

struct launch {
    int64_t start, end;
    uint32_t row;
};

static int by_time(const void *left, const void *right)
{
    const struct launch *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Streams of two devices with kernels, graphs and copies; times are coarse,
 * so that many are equal. */
static struct nl_trace *make_streams(uint64_t seed, unsigned streams, int64_t grain)
{
    struct nl_builder *b = nl_builder_new(NULL);
    uint32_t source = nl_builder_source(b, "test", "test");
    uint32_t process = nl_builder_process(b, source, 1);
    struct nl_stage *stage = nl_stage_new(b);
    nl_stage_begin(stage, source, 0);
    for (uint32_t i = 0; i < 4000; i++) {
        uint64_t any = fabricate_random(&seed);
        char name[16];
        int64_t device = any % 8 == 0;
        struct nl_lane_key key = {.kind = NL_LANE_STREAM,
                                  .process = process,
                                  .thread = NL_NULL_ROW,
                                  .device = nl_builder_device(b, source, device, device),
                                  .context = NL_NULL_I64,
                                  .stream = (int64_t)(any / 8 % streams)};
        struct nl_slice_row row = nl_slice_row();
        snprintf(name, sizeof name, "%u", (unsigned)(any / 1024 % 30));
        row.lane = nl_builder_lane(b, &key);
        row.name = nl_stage_name(stage, nl_str(name));
        row.kind = any % 5 == 0 ? NL_KIND_MEMCPY : any % 7 == 0 ? NL_KIND_GRAPH : NL_KIND_KERNEL;
        row.ts = (int64_t)(fabricate_random(&seed) % 100000) / grain * grain;
        row.dur = (int64_t)(fabricate_random(&seed) % 300) / grain * grain;
        (void)nl_stage_slice(stage, &row);
    }
    return nl_builder_finish(b, NULL);
}

static void check_order(const struct nl_trace *t, uint32_t device)
{
    struct launch *launches = nl_alloc(t->slice.rows * sizeof *launches);
    struct nl_launch_order order;
    size_t count = 0, wrong = 0;
    nl_launch_order_init(&order, t, NL_NULL_I64, device);
    uint32_t *first_of = nl_alloc((order.name_count + 1) * sizeof *first_of);
    double *idle = nl_zalloc((order.name_count + 1) * sizeof *idle);
    memset(first_of, 0xff, (order.name_count + 1) * sizeof *first_of);
    for (uint32_t row = 0; row < t->slice.rows; row++)
        if (t->lane.device[t->slice.lane[row]] == device && t->slice.kind[row] != NL_KIND_MEMCPY)
            launches[count++] = (struct launch){t->slice.ts[row], nl_slice_end(t, row), row};
    qsort(launches, count, sizeof *launches, by_time);
    REQUIRE(order.count == count);
    int64_t busy_until = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        uint32_t number = order.names[i], row = order.slices[i];
        wrong += row != launches[i].row || order.name_ids[number] != t->slice.name[row];
        first_of[number] = row < first_of[number] ? row : first_of[number];
        if (launches[i].start > busy_until)
            idle[number] += (double)(launches[i].start - busy_until);
        busy_until = i && launches[i].end < busy_until ? busy_until : launches[i].end;
    }
    for (uint32_t n = 0; n < order.name_count; n++) /* numbered as they are met, lane after lane */
        wrong += (n && first_of[n] <= first_of[n - 1]) || order.idle[n] < idle[n] ||
                 order.idle[n] > idle[n];
    CHECK_INT(wrong, 0);
    nl_launch_order_release(&order);
    nl_free(first_of);
    nl_free(idle);
    nl_free(launches);
}

static void is_as_sorted(void)
{
    static const unsigned streams[] = {1, 2, 7, 300};
    for (size_t s = 0; s < CHECK_LENGTH(streams); s++)
        for (int64_t grain = 1; grain <= 1000; grain *= 10) {
            struct nl_trace *t = make_streams(77 + s, streams[s], grain);
            REQUIRE(t != NULL && t->device.rows == 2);
            check_order(t, 0);
            check_order(t, 1);
            nl_trace_free(t);
        }
}

static void nothing_is_no_order(void)
{
    struct nl_trace *t = make_streams(5, 2, 1);
    struct nl_launch_order order;
    nl_launch_order_init(&order, t, 3, 0); /* there is no such rank */
    CHECK(order.count == 0 && order.name_count == 0);
    nl_launch_order_release(&order);
    nl_trace_free(t);
}

CHECK_MAIN("launchorder", {"is as sorted", is_as_sorted},
           {"nothing is no order", nothing_is_no_order})
