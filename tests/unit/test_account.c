/*
 * The account of all time: planted traces whose rows can be worked out on paper; random ones
 * against a second implementation that asks every single nanosecond who has it; the same answer for
 * a trace that is moved in time, and for a window as for the events cut to it.
 */
#include "account/account.h"
#include "derive/derive.h"

#include "base/mem.h"
#include "check.h"
#include "devicetrace.h"
#include "gputrace.h"

static int64_t sum_part(const struct nl_account *account, size_t device, enum nl_account_part part)
{
    int64_t sum = 0;
    for (size_t i = 0; i < account->row_count; i++)
        if (account->rows[i].device == device && account->rows[i].part == part)
            sum += account->rows[i].ns;
    return sum;
}

static int64_t sum_comm(const struct nl_account *account, size_t device)
{
    return sum_part(account, device, NL_BOOKED_COMM) +
           sum_part(account, device, NL_BOOKED_COMM_WAIT) +
           sum_part(account, device, NL_BOOKED_COMM_TRANSFER);
}

/* ns of the rows whose phase, part and culprit are these; "" is any culprit. */
static int64_t booked(const struct nl_account *account, enum nl_phase phase,
                      enum nl_account_part part, const char *culprit)
{
    struct nl_buf text;
    int64_t sum = 0;
    nl_buf_init(&text, 4096);
    for (size_t i = 0; i < account->row_count; i++) {
        const struct nl_account_row *row = &account->rows[i];
        nl_buf_clear(&text);
        nl_account_culprit(account, row, &text);
        struct nl_str said = {text.ptr, text.len};
        if (row->phase == phase && row->part == part && (!*culprit || nl_str_is(said, culprit)))
            sum += row->ns;
    }
    nl_buf_release(&text);
    return sum;
}

/*
 * us:  cudaMalloc [0,100): start-up before the first work
 *      step 0 [100,200) step 1 [200,300) step 2 [300,400) step 3 [400,500), then range "save" [500,540)
 *      in each step s: operator [s,s+20), launch of gemm [s+10,s+20), gemm [s+20,s+60),
 *      upload [s+50,s+70) launched [s+20,s+25): 10 exposed; cudaStreamSynchronize [s+25,s+72);
 *      operator "loss" [s+75,s+95)
 */
static struct nl_trace *four_steps(int64_t shift)
{
    static const struct gputrace_copy upload = {NL_COPY_HTOD, NL_MEMORY_PAGEABLE, 1000, NULL};
    struct gputrace make;
    gputrace_open(&make);
    gputrace_call(&make, "cudaMalloc", shift, 100);
    for (int64_t s = shift + 100; s < shift + 500; s += 100) {
        gputrace_step(&make, s, 100);
        gputrace_op(&make, "aten::mm", s, 20);
        gputrace_kernel(&make, 7, "gemm", s + 10, 10, s + 20, 40);
        gputrace_copy(&make, 8, upload, s + 20, 5, s + 50, 20);
        gputrace_call(&make, "cudaStreamSynchronize", s + 25, 47);
        gputrace_op(&make, "loss", s + 75, 20);
    }
    gputrace_op(&make, "save", shift + 500, 40);
    return gputrace_close(&make);
}

static void books_steps(void)
{
    for (int64_t shift = 0; shift < 2000000; shift += 999999) {
        struct nl_trace *trace = four_steps(shift);
        REQUIRE(trace);
        struct nl_account *account = nl_account_new(trace, NULL);
        REQUIRE(account->device_count == 1);
        const struct nl_account_device *device = &account->devices[0];
        CHECK_INT(device->end - device->start, 540000);
        CHECK_INT(nl_account_total(device), 540000);
        CHECK_INT(device->wall_ns, 350000);
        CHECK_INT(device->steps[NL_STEADY], 4);
        CHECK_INT(device->phase_ns[NL_STARTUP], 100000);
        CHECK_INT(device->phase_ns[NL_STEADY], 400000);
        CHECK_INT(device->phase_ns[NL_TAIL], 40000);
        CHECK_INT(booked(account, NL_STARTUP, NL_BOOKED_BEFORE, "cudaMalloc"), 100000);
        CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_BEFORE, "aten::mm"), 10000);
        CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_BEFORE, "cudaLaunchKernel"), 10000);
        CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_COMPUTE, "gemm"), 160000);
        CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_COPY, "HtoD (pageable)"), 40000);
        CHECK_INT(booked(account, NL_TAIL, NL_BOOKED_AFTER, "save"), 40000);
        CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_AFTER, "loss"), 20000);
        /* Of each of three gaps of 50: the wait still sits there for 2; then what the CPU does. */
        CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_IDLE, "cudaStreamSynchronize"), 6000);
        CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_IDLE, "loss"), 60000);
        CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_IDLE, "aten::mm"), 30000);
        CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_IDLE, "cudaLaunchKernel"), 30000);
        CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_IDLE, "nothing recorded"), 24000);
        /* The device worked for 45 of the wait: so much of the 48 after it
         * running ahead had hidden. */
        int64_t hidden = 0;
        for (size_t i = 0; i < account->row_count; i++)
            if (account->rows[i].wait != NL_NO_NAME)
                hidden += account->rows[i].ns;
        CHECK_INT(hidden, 3 * 45000);
        nl_account_free(account);
        nl_trace_free(trace);
    }
}

/* ---- Every nanosecond asked by itself ---- */

struct single {
    uint8_t class;  /* enum nl_work_class, copies and memsets apart: 4 */
    uint32_t slice; /* who began first of those of that class */
};

static uint8_t class_of(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t detail = trace->slice.detail[slice];
    switch (trace->slice.kind[slice]) {
    case NL_KIND_KERNEL: return trace->kernel.class[detail] == NL_CLASS_COMMUNICATION ? 2 : 1;
    case NL_KIND_GRAPH: return 1;
    case NL_KIND_MEMCPY: return 3;
    case NL_KIND_MEMSET: return 4;
    default: return 0;
    }
}

/* Books `slice` into the array of single nanoseconds of its device from `from` on. */
static void paint(const struct nl_trace *trace, uint32_t slice, struct single *singles,
                  int64_t from, int64_t to)
{
    uint8_t class = class_of(trace, slice);
    if (!class || trace->slice.dur[slice] == NL_NULL_I64)
        return;
    for (int64_t ts = trace->slice.ts[slice]; ts < nl_slice_end(trace, slice); ts++) {
        if (ts < from || ts >= to)
            continue;
        struct single *it = &singles[ts - from];
        bool earlier = it->class == class && trace->slice.ts[slice] < trace->slice.ts[it->slice];
        if (!it->class || class < it->class || earlier)
            *it = (struct single){class, slice};
    }
}

static bool starts_differ(const struct nl_trace *trace, uint32_t device)
{
    for (uint32_t a = 0; a < trace->slice.rows; a++)
        for (uint32_t b = a + 1; b < trace->slice.rows; b++)
            if (trace->slice.ts[a] == trace->slice.ts[b] && nl_slice_device(trace, a) == device &&
                nl_slice_device(trace, b) == device && class_of(trace, a) && class_of(trace, b))
                return false;
    return true;
}

static void compare_names(const struct nl_trace *trace, const struct nl_account *account,
                          size_t device, const struct single *singles, int64_t length)
{
    for (uint32_t name = 0; name < trace->names.count; name++)
        for (uint8_t class = 1; class <= 4; class ++) {
            static const uint8_t parts[] = {0, NL_BOOKED_COMPUTE, NL_BOOKED_COMM, NL_BOOKED_COPY,
                                            NL_BOOKED_MEMSET};
            int64_t want = 0, got = 0;
            if (class == 2) /* collectives are named by their operations */
                continue;
            for (int64_t i = 0; i < length; i++)
                want += singles[i].class == class && trace->slice.name[singles[i].slice] == name;
            for (size_t i = 0; i < account->row_count; i++)
                if (account->rows[i].device == device && account->rows[i].part == parts[class] &&
                    account->rows[i].name == name)
                    got += account->rows[i].ns;
            CHECK_INT(got, want);
        }
}

static void compare_device(const struct nl_trace *trace, const struct nl_account *account,
                           size_t index, int64_t from, int64_t to, bool *named)
{
    const struct nl_account_device *device = &account->devices[index];
    struct single *singles = nl_zalloc((size_t)(to - from) * sizeof *singles);
    int64_t first = -1, last = -1, by_class[5] = {0};
    for (uint32_t row = 0; row < trace->slice.rows; row++)
        if (nl_slice_device(trace, row) == device->device)
            paint(trace, row, singles, from, to);
    for (int64_t i = 0; i < to - from; i++) {
        by_class[singles[i].class]++;
        first = first < 0 && singles[i].class ? i : first;
        last = singles[i].class ? i : last;
    }
    int64_t idle = last - first + 1 - by_class[1] - by_class[2] - by_class[3] - by_class[4];
    CHECK_INT(sum_part(account, index, NL_BOOKED_COMPUTE), by_class[1]);
    CHECK_INT(sum_comm(account, index), by_class[2]);
    CHECK_INT(sum_part(account, index, NL_BOOKED_COPY), by_class[3]);
    CHECK_INT(sum_part(account, index, NL_BOOKED_MEMSET), by_class[4]);
    /* Work of no length at the ends stretches the wall. */
    CHECK(sum_part(account, index, NL_BOOKED_IDLE) >= idle);
    if (starts_differ(trace, device->device)) {
        compare_names(trace, account, index, singles, to - from);
        *named = true;
    }
    nl_free(singles);
}

static const struct nl_idle_device *idle_of(const struct nl_idle *idle, uint32_t device,
                                            int64_t rank)
{
    for (size_t i = 0; i < idle->device_count; i++)
        if (idle->devices[i].device == device && idle->devices[i].rank == rank)
            return &idle->devices[i];
    return NULL;
}

/* A gap has one class and one activity everywhere: the account, the sums by cause,
 * and the gaps themselves. */
static void check_classes(const struct nl_trace *trace, const struct nl_account *account,
                          const struct nl_window *window)
{
    struct nl_idle *idle = nl_idle_new(trace, window);
    for (size_t i = 0; i < account->device_count; i++) {
        int64_t booked[NL_IDLE_CLASSES][NL_ACTIVITY_COUNT] = {{0}}, gaps[NL_IDLE_CLASSES] = {0};
        const struct nl_account_device *device = &account->devices[i];
        const struct nl_idle_device *same = idle_of(idle, device->device, device->rank);
        if (device->device == NL_NULL_ROW || !same)
            continue;
        for (size_t j = 0; j < device->rows; j++) {
            const struct nl_account_row *row = &account->rows[device->first_row + j];
            if (row->part == NL_BOOKED_IDLE)
                booked[row->class][row->activity] += row->ns;
            CHECK(row->long_ns >= 0 && row->long_ns <= row->ns);
            CHECK(row->long_ns >= (int64_t)row->long_count * NL_ACCOUNT_LONG_NS);
        }
        for (size_t j = 0; j < same->gaps; j++) {
            const struct nl_idle_gap *gap = &idle->gaps[same->first_gap + j];
            gaps[gap->class] += gap->end - gap->start;
        }
        for (size_t j = 0; j < same->sums; j++) {
            const struct nl_idle_sum *sum = &idle->sums[same->first_sum + j];
            booked[sum->class][sum->activity] -= sum->total_ns;
        }
        for (unsigned class = 0; class < NL_IDLE_CLASSES; class ++) {
            if (class != NL_IDLE_SHORT)
                CHECK_INT(gaps[class], same->class_ns[class]);
            for (unsigned activity = 0; activity < NL_ACTIVITY_COUNT; activity++)
                CHECK_INT(booked[class][activity], 0);
        }
    }
    nl_idle_free(idle);
}

/* Against the breakdown, the table of idle time, and the span. */
static void check_identities(const struct nl_trace *trace, const struct nl_account *account,
                             const struct nl_window *window)
{
    size_t count;
    struct nl_device_breakdown *parts = nl_time_breakdown(trace, window, &count);
    REQUIRE(account->device_count >= count);
    for (size_t i = 0; i < count; i++) {
        int64_t inside = 0, all = 0;
        for (size_t j = 0; j < account->row_count; j++) {
            const struct nl_account_row *row = &account->rows[j];
            CHECK(row->ns > 0);
            all += row->device == i ? row->ns : 0;
            inside += row->device == i && row->inside ? row->ns : 0;
        }
        CHECK(account->devices[i].device == parts[i].device);
        CHECK_INT(inside, parts[i].wall_ns);
        CHECK_INT(account->devices[i].wall_ns, parts[i].wall_ns);
        CHECK_INT(sum_part(account, i, NL_BOOKED_COMPUTE), parts[i].compute_ns);
        CHECK_INT(sum_comm(account, i), parts[i].exposed_comm_ns);
        CHECK_INT(sum_part(account, i, NL_BOOKED_IDLE), parts[i].idle_ns);
        CHECK_INT(all, nl_account_total(&account->devices[i]));
    }
    nl_free(parts);
    check_classes(trace, account, window);
}

static void agrees_with_single_nanoseconds(void)
{
    unsigned named = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct nl_err err = {0};
        struct nl_trace *trace = devicetrace(seed, seed % 2 ? 120 : 25, 20000, &err);
        REQUIRE(trace);
        struct nl_window window = {.has_time = seed % 3 == 0, .start = 3000, .end = 16000};
        struct nl_account *account = nl_account_new(trace, &window);
        int64_t from = window.has_time ? window.start : trace->first_ts;
        int64_t to = window.has_time ? window.end : trace->last_ts;
        check_identities(trace, account, &window);
        for (size_t i = 0; i < account->device_count; i++) {
            bool by_name = false;
            if (account->devices[i].device != NL_NULL_ROW)
                compare_device(trace, account, i, from, to, &by_name);
            named += by_name;
        }
        nl_account_free(account);
        nl_trace_free(trace);
    }
    CHECK(named >= 5);
}

static void adds_up(void)
{
    for (uint64_t seed = 100; seed <= 140; seed++) {
        struct nl_err err = {0};
        struct nl_trace *trace = devicetrace(seed, 300, seed % 3 ? 5000000 : 60000, &err);
        REQUIRE(trace);
        struct nl_window window = {.has_time = seed % 2 == 0,
                                   .start = trace->first_ts + 5000,
                                   .end = trace->last_ts - 7000,
                                   .has_rank = seed % 5 == 0,
                                   .rank = 1};
        struct nl_account *account = nl_account_new(trace, &window);
        check_identities(trace, account, &window);
        nl_account_free(account);
        nl_trace_free(trace);
    }
}

/* ---- Without device work ---- */

static void books_threads(void)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t s = 0; s < 400; s += 100) {
        gputrace_step(&make, s, 100);
        gputrace_op(&make, "aten::mm", s, 60);
        gputrace_op(&make, "aten::relu", s + 60, 30);
    }
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_account *account = nl_account_new(trace, NULL);
    REQUIRE(account->device_count == 1);
    CHECK(account->devices[0].device == NL_NULL_ROW);
    CHECK_INT(nl_account_total(&account->devices[0]), 390000);
    CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_COMPUTE, "aten::mm"), 240000);
    CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_COMPUTE, "aten::relu"), 120000);
    CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_IDLE, "nothing recorded"), 30000);
    nl_account_free(account);
    nl_trace_free(trace);
}

/* ---- Waits among kernels ---- */

static void ignores_waiting_kernels(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "fc", 0, 5, 10, 20);
    gputrace_kernel(&make, 8, "event_wait-dtype_Float", 6, 2, 20, 60);
    gputrace_kernel(&make, 7, "fc", 70, 5, 80, 20);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_account *account = nl_account_new(trace, NULL);
    REQUIRE(account->device_count == 1);
    check_identities(trace, account, &(struct nl_window){0});
    CHECK_INT(sum_part(account, 0, NL_BOOKED_COMPUTE), 40000);
    CHECK_INT(sum_part(account, 0, NL_BOOKED_IDLE), 50000);
    nl_account_free(account);
    nl_trace_free(trace);
}

/* ---- Several ranks ---- */

/* All-reduces, to each of which rank 1 comes 30 us late; the compute kernel
 * hides nothing of them. */
static struct nl_trace *two_ranks(bool numbered, int64_t rounds)
{
    struct nl_builder *builder = nl_builder_new(NULL);
    struct nl_stage *stage = nl_stage_new(builder);
    for (int64_t rank = 0; rank < 2; rank++) {
        uint32_t source = nl_builder_source(builder, rank ? "rank1.json" : "rank0.json", "made up");
        nl_builder_rank(builder, source, rank);
        nl_builder_clock(builder, source, "made up", 0);
        struct gputrace make = {.builder = builder, .stage = stage, .source = source};
        make.process = nl_builder_process(builder, source, 100 + rank);
        make.thread = nl_builder_thread(builder, make.process, 7);
        make.device = nl_builder_device(builder, source, 0, rank);
        nl_stage_begin(stage, source, 0);
        make.calls = gputrace_lane(&make, NL_LANE_THREAD, -1);
        gputrace_kernel(&make, 7, "gemm", 0, 5, 10, rank ? 80 : 50);
        for (int64_t i = 0; i < rounds; i++) {
            struct nl_collective_row row = nl_collective_row();
            int64_t start = 60 + 60 * i + 30 * rank;
            row.slice = gputrace_kernel(&make, 9, "ncclDevKernel_AllReduce", 6 + i, 1, start,
                                        110 + 60 * i - start);
            row.operation = nl_stage_name(stage, nl_str("all_reduce"));
            row.group_name = nl_stage_name(stage, nl_str("dp"));
            row.sequence = numbered ? 40 + i : NL_NULL_I64;
            nl_stage_collective(stage, &row);
        }
    }
    struct nl_err err = {0};
    return nl_builder_finish(builder, &err);
}

static void splits_collectives(void)
{
    for (int numbered = 0; numbered < 2; numbered++) {
        struct nl_trace *trace = two_ranks(numbered, 2);
        REQUIRE(trace);
        struct nl_account *account = nl_account_new(trace, NULL);
        REQUIRE(account->device_count == 2);
        check_identities(trace, account, &(struct nl_window){0});
        /* Kernels of 50 and 20 us each time: 20 are the transfer. */
        CHECK_INT(sum_part(account, 0, NL_BOOKED_COMM_WAIT), 60000);
        CHECK_INT(sum_part(account, 0, NL_BOOKED_COMM_TRANSFER), 40000);
        CHECK_INT(sum_part(account, 1, NL_BOOKED_COMM_WAIT), 0);
        CHECK_INT(sum_part(account, 1, NL_BOOKED_COMM_TRANSFER), 40000);
        CHECK_INT(sum_part(account, 0, NL_BOOKED_COMM), 0);
        CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_COMM_WAIT,
                         "all_reduce, group dp, waiting for rank 1"),
                  60000);
        nl_account_free(account);
        nl_trace_free(trace);
    }
}

/* More collectives on a lane than fit into eight bits. */
static void splits_many_collectives(void)
{
    enum { ROUNDS = 20000 };
    struct nl_trace *trace = two_ranks(true, ROUNDS);
    REQUIRE(trace);
    struct nl_account *account = nl_account_new(trace, NULL);
    REQUIRE(account->device_count == 2);
    CHECK_INT(sum_part(account, 0, NL_BOOKED_COMM_WAIT), ROUNDS * INT64_C(30000));
    CHECK_INT(sum_part(account, 1, NL_BOOKED_COMM_TRANSFER), ROUNDS * INT64_C(20000));
    nl_account_free(account);
    nl_trace_free(trace);
}

/* ---- Phases ---- */

static void tells_phases(void)
{
    struct gputrace make;
    gputrace_open(&make);
    int64_t at = 1000;
    for (int i = 0; i < 12; i++) {
        int64_t length = i == 0 ? 900 : i == 7 ? 700 : 100;
        gputrace_step(&make, at, length);
        gputrace_kernel(&make, 7, "gemm", at, 5, at + 10, length - 20);
        at += length;
    }
    gputrace_op(&make, "import", 0, 1000);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_account *account = nl_account_new(trace, NULL);
    REQUIRE(account->device_count == 1);
    const struct nl_account_device *device = &account->devices[0];
    CHECK_INT(device->phase_ns[NL_STARTUP], 1000000);
    CHECK_INT(device->phase_ns[NL_WARMUP], 900000);
    CHECK_INT(device->phase_ns[NL_OUTLIER], 700000);
    CHECK_INT(device->steps[NL_OUTLIER], 1);
    CHECK_INT(device->steps[NL_STEADY], 10);
    CHECK_INT(booked(account, NL_OUTLIER, NL_BOOKED_COMPUTE, "gemm"), 680000);
    nl_account_free(account);
    nl_trace_free(trace);
}

/* The CPU marks steps of 10 us each and is done before the device has begun the second. */
static void follows_the_device(void)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i < 5; i++) {
        gputrace_step(&make, 100 + 10 * i, 10);
        gputrace_kernel(&make, 7, "gemm", 101 + 10 * i, 5, 110 + 200 * i, 200);
    }
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_account *account = nl_account_new(trace, NULL);
    REQUIRE(account->device_count == 1);
    const struct nl_account_device *device = &account->devices[0];
    CHECK_INT(device->steps[NL_STEADY], 5);
    CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_COMPUTE, "gemm"), 1000000);
    CHECK_INT(device->phase_ns[NL_TAIL], 0);
    nl_account_free(account);
    nl_trace_free(trace);
}

/* Without steps: uploads, a long pause on the CPU, then kernels. */
static void starts_up_without_steps(void)
{
    static const struct gputrace_copy upload = {NL_COPY_HTOD, NL_MEMORY_PAGEABLE, 1000, NULL};
    struct gputrace make;
    gputrace_open(&make);
    gputrace_copy(&make, 7, upload, 0, 50, 10, 40);
    gputrace_op(&make, "import", 50, 900);
    for (int64_t i = 0; i < 3; i++)
        gputrace_kernel(&make, 7, i ? "relu" : "gemm", 960 + 10 * i, 5, 1000 + 100 * i, 80);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_account *account = nl_account_new(trace, NULL);
    REQUIRE(account->device_count == 1);
    CHECK_INT(account->devices[0].phase_ns[NL_STARTUP], 1000000);
    CHECK_INT(booked(account, NL_STARTUP, NL_BOOKED_IDLE, "import"), 900000);
    CHECK_INT(booked(account, NL_STEADY, NL_BOOKED_COMPUTE, ""), 240000);
    nl_account_free(account);
    nl_trace_free(trace);
}

/* us: kernel i of 200 runs [10 i, 10 i + 15) on one of two streams, so that one that began
 * first is always still there; the first holds 15, each other one 10. Named in turn "a" (67),
 * "b" (67) and "c" (66 of them). */
static void books_many_in_a_row(void)
{
    static const struct {
        const char *name;
        int64_t ns;
        uint64_t count;
    } cases[] = {{"a", 675000, 67}, {"b", 670000, 67}, {"c", 660000, 66}};
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i < 200; i++)
        gputrace_kernel(&make, 7 + i % 2, cases[i % 3].name, -1, 0, 10 * i, 15);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_account *account = nl_account_new(trace, NULL);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        int64_t ns = 0;
        uint64_t count = 0;
        for (size_t r = 0; r < account->row_count; r++) {
            const struct nl_account_row *row = &account->rows[r];
            bool its = row->part == NL_BOOKED_COMPUTE &&
                       nl_str_is(nl_trace_name(trace, row->name), cases[i].name);
            ns += its ? row->ns : 0;
            count += its ? row->count : 0;
        }
        check_case(cases[i].name);
        CHECK_INT(ns, cases[i].ns);
        CHECK_INT(count, cases[i].count);
    }
    nl_account_free(account);
    nl_trace_free(trace);
}

CHECK_MAIN("account", {"books steps", books_steps},
           {"agrees with single nanoseconds", agrees_with_single_nanoseconds}, {"adds up", adds_up},
           {"books threads", books_threads}, {"ignores waiting kernels", ignores_waiting_kernels},
           {"splits collectives", splits_collectives},
           {"splits many collectives", splits_many_collectives}, {"tells phases", tells_phases},
           {"follows the device", follows_the_device},
           {"starts up without steps", starts_up_without_steps},
           {"books many in a row", books_many_in_a_row})
