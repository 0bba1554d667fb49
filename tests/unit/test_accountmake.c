/* How an account is put together (account/accountmake.c): devices and rows in order, what of the
 * time around the device's work is the program's, which operator and range a call was in. */
#include "account/account.h"
#include "base/mem.h"
#include "check.h"
#include "gpuranks.h"

static uint64_t seed = 88172645463325252u;

static uint32_t below(uint32_t bound)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % bound;
}

/* ns of a part under a name ("" none recorded), that are the program's or not. */
static int64_t booked(const struct nl_account *account, enum nl_account_part part, const char *name,
                      bool not_program)
{
    int64_t sum = 0;
    for (size_t i = 0; i < account->row_count; i++) {
        const struct nl_account_row *row = &account->rows[i];
        if (row->part == part && row->not_program == not_program &&
            nl_str_is(nl_account_name(account, row->name), name))
            sum += row->ns;
    }
    return sum;
}

/* ---- order ---- */

/* By rank, then by the number of the device; a process without device work comes last. */
static void devices_in_order(void)
{
    static const int64_t expected[][2] = {{0, 0},           {0, 1}, {0, NL_NULL_I64},
                                          {0, NL_NULL_I64}, {1, 1}, {2, 2}};
    struct gputrace make;
    gputrace_open(&make);
    uint32_t first = make.device, process = make.process;
    make.device = nl_builder_device(make.builder, make.source, 1, 1);
    gputrace_kernel(&make, 7, "gemm", 10, 2, 20, 10);
    make.device = first;
    gputrace_kernel(&make, 7, "gemm", 12, 2, 20, 10);
    for (int64_t pid = 99; pid > 97; pid--) {
        make.process = nl_builder_process(make.builder, make.source, pid);
        make.thread = nl_builder_thread(make.builder, make.process, 10 * pid);
        gputrace_slice(&make, NL_KIND_OP, gputrace_lane(&make, NL_LANE_THREAD, -1), "load", 0, 50);
    }
    make.process = process;
    for (int64_t rank = 2; rank > 0; rank--) {
        gputrace_rank(&make, rank);
        gputrace_kernel(&make, 7, "gemm", 10, 2, 20, 10);
    }
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_account *account = nl_account_new(trace, NULL);
    CHECK_INT(account->device_count, CHECK_LENGTH(expected));
    for (size_t i = 0; i < account->device_count && i < CHECK_LENGTH(expected); i++) {
        CHECK_INT(account->devices[i].rank, expected[i][0]);
        CHECK_INT(account->devices[i].ordinal, expected[i][1]);
        CHECK_INT(account->devices[i].device == NL_NULL_ROW, expected[i][1] == NL_NULL_I64);
        if (i && expected[i][1] == NL_NULL_I64)
            CHECK(account->devices[i].process > account->devices[i - 1].process);
    }
    nl_account_free(account);
    nl_trace_free(trace);
}

/* What distinguishes rows, most important first. */
static int in_order(const struct nl_account_row *a, const struct nl_account_row *b)
{
    const int64_t x[] = {
        a->device,           -a->ns,       a->phase, a->part,        a->class, a->activity,
        a->category_or_copy, a->elsewhere, a->late,  a->not_program, a->name,  a->op,
        a->module_or_range,  a->wait,      a->group};
    const int64_t y[] = {
        b->device,           -b->ns,       b->phase, b->part,        b->class, b->activity,
        b->category_or_copy, b->elsewhere, b->late,  b->not_program, b->name,  b->op,
        b->module_or_range,  b->wait,      b->group};
    for (size_t i = 0; i < CHECK_LENGTH(x); i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Random operators, ranges, calls and kernels of few lengths, so that many rows are equally long:
 * most of a device first, and each row once. Those of a device add up to its span, those of a phase
 * to the phase. */
static void rows_in_order(void)
{
    static const char *const names[] = {"aten::mm", "aten::add", "cudaMalloc",
                                        "forward",  "gemm_a",    "gemm_b"};
    int draws = check_draws(60);
    for (int draw = 0; draw < draws; draw++) {
        struct gputrace make;
        char label[32];
        snprintf(label, sizeof label, "draw %d", draw);
        check_case(label);
        gputrace_open(&make);
        for (int64_t rank = 0; rank < 2; rank++) {
            if (rank)
                gputrace_rank(&make, 1);
            for (int64_t i = 0; i < 40; i++) {
                int64_t at = 10 * i;
                uint32_t what = below(6);
                if (draw % 2 && i % 8 == 0)
                    gputrace_step(&make, at, 80);
                if (what < 2)
                    gputrace_op(&make, names[what], at, 4);
                else if (what == 2)
                    gputrace_call(&make, names[what], at, 4);
                else if (what == 3)
                    gputrace_slice(&make, NL_KIND_NVTX, make.calls, names[what], at, 4);
                else if (i > 5 && i < 35)
                    gputrace_kernel(&make, 7, names[what], at, 1, at + 2, 4);
            }
            gputrace_kernel(&make, 7, "gemm_a", 200, 1, 205, 3);
        }
        struct nl_trace *trace = gputrace_close(&make);
        REQUIRE(trace);
        struct nl_account *account = nl_account_new(trace, NULL);
        REQUIRE(account->device_count == 2);
        for (size_t i = 1; i < account->row_count; i++)
            CHECK(in_order(&account->rows[i - 1], &account->rows[i]) < 0);
        size_t next = 0;
        for (size_t i = 0; i < 2; i++) {
            const struct nl_account_device *device = &account->devices[i];
            int64_t phases[NL_PHASES] = {0};
            CHECK_INT(device->first_row, next);
            next += device->rows;
            for (size_t k = device->first_row; k < next; k++) {
                const struct nl_account_row *row = &account->rows[k];
                CHECK_INT(row->device, i);
                phases[row->phase] += row->ns;
                uint64_t steps = device->steps[row->phase];
                CHECK_INT(nl_account_per_step(account, row),
                          steps ? row->ns / (int64_t)steps : NL_NULL_I64);
            }
            for (size_t phase = 0; phase < NL_PHASES; phase++)
                CHECK_INT(phases[phase], device->phase_ns[phase]);
            CHECK_INT(nl_account_total(device), device->end - device->start);
        }
        CHECK_INT(next, account->row_count);
        nl_account_free(account);
        nl_trace_free(trace);
    }
}

/* ---- what is the program's ---- */

/* us: another thread was seen from 0 on, the one that feeds the device at 100 with what `first` is;
 * it launches at 300 what runs until 360, and stops the profiler from 400 to 500. */
static void before_and_after(void)
{
    static const struct {
        const char *first;
        enum nl_kind kind;
        bool begins;
    } cases[] = {{"aten::load", NL_KIND_OP, true},
                 {"forward", NL_KIND_NVTX, true},
                 {"cudaMalloc", NL_KIND_API, true},
                 {"cudaProfilerStart", NL_KIND_API, false},
                 {"CUPTI", NL_KIND_OVERHEAD, false}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        gputrace_open(&make);
        check_case(cases[i].first);
        uint32_t thread = make.thread;
        make.thread = nl_builder_thread(make.builder, make.process, 11);
        gputrace_slice(&make, NL_KIND_OP, gputrace_lane(&make, NL_LANE_THREAD, -1), "other", 0, 50);
        make.thread = thread;
        if (cases[i].kind == NL_KIND_API)
            gputrace_call(&make, cases[i].first, 100, 100);
        else if (cases[i].kind == NL_KIND_OP)
            gputrace_op(&make, cases[i].first, 100, 100);
        else
            gputrace_slice(&make, cases[i].kind, make.calls, cases[i].first, 100, 100);
        gputrace_kernel(&make, 7, "gemm", 300, 5, 310, 50);
        gputrace_call(&make, "cudaProfilerStop", 400, 100);
        struct nl_trace *trace = gputrace_close(&make);
        REQUIRE(trace);
        struct nl_account *account = nl_account_new(trace, NULL);
        REQUIRE(account->device_count == 1);
        bool begins = cases[i].begins;
        CHECK_INT(account->devices[0].start, 0);
        CHECK_INT(account->devices[0].end, 500000);
        CHECK_INT(booked(account, NL_BOOKED_BEFORE, cases[i].first, !begins), 100000);
        CHECK_INT(booked(account, NL_BOOKED_BEFORE, cases[i].first, begins), 0);
        CHECK_INT(booked(account, NL_BOOKED_BEFORE, "", true), begins ? 100000 : 200000);
        /* and from 305 to 310, when the launch had returned */
        CHECK_INT(booked(account, NL_BOOKED_BEFORE, "", false), begins ? 105000 : 5000);
        CHECK_INT(booked(account, NL_BOOKED_AFTER, "", false), 40000);
        CHECK_INT(booked(account, NL_BOOKED_AFTER, "cudaProfilerStop", true), 100000);
        CHECK_INT(booked(account, NL_BOOKED_AFTER, "cudaProfilerStop", false), 0);
        nl_account_free(account);
        nl_trace_free(trace);
    }
}

/* What is called while the profiler is being switched on or off is not the program's either. */
static void within_the_profiler(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_call(&make, "cudaProfilerStart", 0, 100);
    gputrace_call(&make, "cudaMalloc", 20, 50);
    gputrace_kernel(&make, 7, "gemm", 200, 5, 210, 50);
    gputrace_call(&make, "cudaProfilerStop", 400, 100);
    gputrace_call(&make, "cudaFree", 420, 50);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_account *account = nl_account_new(trace, NULL);
    CHECK_INT(booked(account, NL_BOOKED_BEFORE, "cudaProfilerStart", true), 50000);
    CHECK_INT(booked(account, NL_BOOKED_BEFORE, "cudaMalloc", true), 50000);
    CHECK_INT(booked(account, NL_BOOKED_BEFORE, "", true), 100000);
    CHECK_INT(booked(account, NL_BOOKED_AFTER, "cudaFree", true), 50000);
    CHECK_INT(booked(account, NL_BOOKED_AFTER, "cudaProfilerStop", true), 50000);
    nl_account_free(account);
    nl_trace_free(trace);
}

/* ---- where a call was ---- */

/* The row of a name before the device's first work; NULL: none. */
static const struct nl_account_row *before(const struct nl_account *account, const char *name)
{
    for (size_t i = 0; i < account->row_count; i++)
        if (account->rows[i].part == NL_BOOKED_BEFORE &&
            nl_str_is(nl_account_name(account, account->rows[i].name), name))
            return &account->rows[i];
    return NULL;
}

/* A call of the device's API has the operator around it, up to 64 slices out. */
static void operator_around_a_call(void)
{
    static const int64_t counts[] = {0, 1, 30, 62, 63, 64, 65};
    for (size_t n = 0; n < CHECK_LENGTH(counts); n++) {
        int64_t ranges = counts[n];
        struct gputrace make;
        gputrace_open(&make);
        gputrace_op(&make, "aten::empty", 0, 400);
        for (int64_t i = 1; i <= ranges; i++)
            gputrace_slice(&make, NL_KIND_NVTX, make.calls, "range", i, 400 - 2 * i);
        gputrace_call(&make, "cudaMalloc", 100, 50);
        gputrace_kernel(&make, 7, "gemm", 500, 2, 510, 50);
        struct nl_trace *trace = gputrace_close(&make);
        char label[32];
        snprintf(label, sizeof label, "%d ranges", (int)ranges);
        check_case(label);
        REQUIRE(trace);
        struct nl_account *account = nl_account_new(trace, NULL);
        const struct nl_account_row *row = before(account, "cudaMalloc");
        REQUIRE(row);
        CHECK_STR(nl_account_name(account, row->op), ranges < 64 ? "aten::empty" : "");
        CHECK_STR(nl_account_name(account, row->module_or_range), ranges ? "range" : "");
        CHECK_INT(row->ns, 50000);
        row = ranges ? NULL : before(account, "aten::empty"); /* names itself */
        if (row)
            CHECK_INT(row->op, NL_NO_NAME);
        nl_account_free(account);
        nl_trace_free(trace);
    }
}

/* Ranges that differ in a number are one; a step and the very range say nothing. */
static void ranges_around(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_slice(&make, NL_KIND_NVTX, make.calls, "layers.1.load", 0, 50);
    gputrace_op(&make, "aten::load", 10, 20);
    gputrace_slice(&make, NL_KIND_NVTX, make.calls, "layers.2.load", 50, 50);
    gputrace_op(&make, "aten::load", 60, 30);
    gputrace_slice(&make, NL_KIND_NVTX, make.calls, "step", 100, 60);
    gputrace_op(&make, "aten::save", 110, 30);
    gputrace_kernel(&make, 7, "gemm", 200, 2, 210, 50);
    gputrace_step(&make, 100, 200);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_account *account = nl_account_new(trace, NULL);
    const struct nl_account_row *load = before(account, "aten::load"),
                                *save = before(account, "aten::save"),
                                *range = before(account, "layers.*.load");
    REQUIRE(load && save && range);
    CHECK_INT(load->ns, 50000);
    CHECK_INT(load->count, 2);
    CHECK_STR(nl_account_name(account, load->module_or_range), "layers.*.load");
    CHECK_INT(load->op, NL_NO_NAME);
    CHECK_INT(range->ns, 50000);
    CHECK_INT(range->module_or_range, NL_NO_NAME);
    CHECK_INT(save->module_or_range, NL_NO_NAME);
    nl_account_free(account);
    nl_trace_free(trace);
}

/* A kernel has the operator that launched it, and the module around it, else the range. */
static void owners_of_kernels(void)
{
    for (int with = 0; with < 8; with++) {
        struct gputrace make;
        gputrace_open(&make);
        if (with & 1)
            gputrace_slice(&make, NL_KIND_NVTX, make.calls, "forward", 0, 90);
        if (with & 2) {
            struct nl_layer_row row = nl_layer_row();
            row.slice = gputrace_slice(&make, NL_KIND_LAYER, make.calls, "block", 1, 80);
            nl_stage_layer(make.stage, &row);
        }
        if (with & 4)
            gputrace_op(&make, "aten::mm", 2, 70);
        gputrace_kernel(&make, 7, "gemm", 10, 2, 20, 30);
        struct nl_trace *trace = gputrace_close(&make);
        char label[16];
        snprintf(label, sizeof label, "with %d", with);
        check_case(label);
        REQUIRE(trace);
        struct nl_account *account = nl_account_new(trace, NULL);
        const struct nl_account_row *row = NULL;
        for (size_t i = 0; i < account->row_count; i++)
            if (account->rows[i].part == NL_BOOKED_COMPUTE)
                row = &account->rows[i];
        REQUIRE(row);
        CHECK_INT(row->ns, 30000);
        CHECK_STR(nl_account_name(account, row->op), with & 4 ? "aten::mm" : "");
        CHECK_STR(nl_account_name(account, row->module_or_range), with & 2   ? "block"
                                                                  : with & 1 ? "forward"
                                                                             : "");
        nl_account_free(account);
        nl_trace_free(trace);
    }
}

/* Where a file says that no kernel of it has a start time, its device says so; of fewer than it has
 * that says nothing. */
static void starts_that_are_unknown(void)
{
    for (int said = 0; said < 4; said++)
        for (int64_t missing = 0; missing < 2; missing++) {
            struct gputrace make;
            gputrace_open(&make);
            for (int64_t rank = 0; rank < 2; rank++) {
                if (rank)
                    gputrace_rank(&make, rank);
                gputrace_kernel(&make, 7, "gemm", 10, 2, 20, 10);
                gputrace_kernel(&make, 7, "gemm", 15, 2, 30, 10);
                if (said & 1 << rank)
                    nl_builder_coverage(make.builder, make.source, NL_COVERS_NO_STARTS, 2 - missing,
                                        "");
            }
            struct nl_trace *trace = gputrace_close(&make);
            REQUIRE(trace);
            struct nl_account *account = nl_account_new(trace, NULL);
            REQUIRE(account->device_count == 2);
            for (int rank = 0; rank < 2; rank++)
                CHECK_INT(account->devices[rank].starts_unknown, !missing && said & 1 << rank);
            nl_account_free(account);
            nl_trace_free(trace);
        }
}

CHECK_MAIN("accountmake", {"devices in order", devices_in_order}, {"rows in order", rows_in_order},
           {"before and after", before_and_after}, {"within the profiler", within_the_profiler},
           {"operator around a call", operator_around_a_call}, {"ranges around", ranges_around},
           {"owners of kernels", owners_of_kernels},
           {"starts that are unknown", starts_that_are_unknown})
