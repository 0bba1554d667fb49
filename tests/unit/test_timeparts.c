/* Where a device's time went (answer/timeparts.c): each kind of thing that the CPU can do while the
 * device is idle, in short pieces and in long ones, before the first work and after the last; by
 * hand. Times in us. */
#include "answer/timeparts.h"
#include "hostdoing.h"
#include "judging.h"

#define PERIOD 10000

/* Kernels every 10 ms, each launched as it begins; before each but the first a gap. */
static void gaps(struct gputrace *make, const char *what, int count, int64_t gap)
{
    for (int64_t i = 0; i <= count; i++) {
        int64_t at = i * PERIOD, call = *what == 'u' ? -1 : at;
        if (i) {
            if (*what == 'q')
                call = at - gap - 10;
            else if (*what != 'u')
                hostdoing(make, what, at - gap, gap);
        }
        gputrace_kernel(make, 7, "gemm", call, 1, at, i < count ? PERIOD - gap : PERIOD);
    }
}

struct found {
    struct nl_trace *trace;
    struct nl_report report;
    struct nl_analyze_options options;
    struct nl_judged judged;
    struct nl_time_parts parts;
    bool is;
};

static void find(struct found *found, struct gputrace *make)
{
    static const struct nl_window whole;
    *found = (struct found){.trace = gputrace_close(make)};
    REQUIRE(found->trace);
    nl_arena_init(&found->report.arena);
    found->options.memo = nl_memo_new(found->trace, &whole);
    found->judged = (struct nl_judged){
        .report = &found->report, .trace = found->trace, .options = &found->options};
    found->is = nl_time_parts(&found->judged, NL_TIME_BUSIEST, &found->parts);
}

static void release(struct found *found)
{
    nl_arena_free(&found->report.arena);
    nl_memo_free(found->options.memo);
    nl_trace_free(found->trace);
}

static int64_t us_of(const struct found *found, enum nl_time_what what)
{
    return found->parts.parts[what].ns / 1000;
}

static void idle_time(void)
{
    static const struct {
        const char *what;
        enum nl_time_what brief, lasting;
        const char *name;
    } cases[] = {
        {"-", NL_TIME_DISPATCH, NL_TIME_NOTHING, NULL},
        {"o aten::add", NL_TIME_DISPATCH, NL_TIME_HOST, "aten::add"},
        {"p forward", NL_TIME_DISPATCH, NL_TIME_HOST, "forward"},
        {"l Linear", NL_TIME_DISPATCH, NL_TIME_HOST, "Linear"},
        {"n range", NL_TIME_DISPATCH, NL_TIME_HOST, "range"},
        {"x whatever", NL_TIME_DISPATCH, NL_TIME_HOST, "whatever"},
        {"a cudaLaunchKernel", NL_TIME_DISPATCH, NL_TIME_FIRST, "cudaLaunchKernel"},
        {"a cudaGraphLaunch", NL_TIME_DISPATCH, NL_TIME_FIRST, "cudaGraphLaunch"},
        {"a cudaMemset", NL_TIME_DISPATCH, NL_TIME_FIRST, "cudaMemset"},
        {"a cudaMemcpy", NL_TIME_DISPATCH, NL_TIME_FIRST, "cudaMemcpy"},
        {"a cudaGetDevice", NL_TIME_DISPATCH, NL_TIME_FIRST, "cudaGetDevice"},
        {"a cudaStreamWaitEvent", NL_TIME_DISPATCH, NL_TIME_FIRST, "cudaStreamWaitEvent"},
        {"v profiler", NL_TIME_DISPATCH, NL_TIME_FIRST, "profiler"},
        {"a cudaMalloc", NL_TIME_DISPATCH, NL_TIME_FIRST, "cudaMalloc"},
        {"a cudaMallocHost", NL_TIME_DISPATCH, NL_TIME_FIRST, "cudaMallocHost"},
        {"a cuModuleLoadData", NL_TIME_FIRST, NL_TIME_FIRST, "cuModuleLoadData"},
        {"a cudaGraphInstantiate", NL_TIME_FIRST, NL_TIME_FIRST, "cudaGraphInstantiate"},
        {"c compile_fx", NL_TIME_FIRST, NL_TIME_FIRST, "compile_fx"},
        {"a cudaDeviceSynchronize", NL_TIME_SYNC, NL_TIME_SYNC, "cudaDeviceSynchronize"},
        {"q", NL_TIME_QUEUED, NL_TIME_HELD, NULL},
        {"u", NL_TIME_UNKNOWN, NL_TIME_UNKNOWN, NULL},
        {"s read", NL_TIME_HOST, NL_TIME_HOST, "read"},
        {"g collect", NL_TIME_HOST, NL_TIME_HOST, "collect"},
        {"o DataLoader.fetch", NL_TIME_INPUT, NL_TIME_INPUT, "DataLoader.fetch"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        for (int64_t gap = 999; gap <= 1000; gap++) {
            struct gputrace make;
            struct found it;
            enum nl_time_what want = gap < 1000 ? cases[i].brief : cases[i].lasting;
            bool copies = strstr(cases[i].what, "Memcpy"), nothing = *cases[i].what == '-';
            check_case(cases[i].what);
            gputrace_open(&make);
            gaps(&make, cases[i].what, 20, gap);
            find(&it, &make);
            REQUIRE(it.is);
            for (int what = 0; what < NL_TIMES; what++) {
                int64_t compute = 21 * PERIOD - 20 * gap;
                CHECK_INT(us_of(&it, (enum nl_time_what)what), what == NL_TIME_COMPUTE ? compute
                                                               : what == (int)want     ? 20 * gap
                                                                                       : 0);
            }
            CHECK_INT(it.parts.total, 21 * PERIOD * 1000);
            CHECK_INT(it.parts.idle, 20000 * gap);
            CHECK_INT(it.parts.idle_copying, copies ? 20000 * gap : 0);
            CHECK_INT(it.parts.nothing_long, nothing && gap == 1000 ? 20000 * gap : 0);
            CHECK_INT(it.parts.before + it.parts.after + it.parts.ending, 0);
            const struct nl_time_name *name = &it.parts.parts[want].names[0];
            CHECK_TEXT(name->name ? name->name : "-", cases[i].name ? cases[i].name : "-");
            if (cases[i].name) {
                CHECK_INT(name->ns, 20000 * gap);
                CHECK_INT(name->count, 20);
            }
            CHECK_INT(it.parts.longest_gap, 1000 * gap);
            CHECK_INT(it.parts.largest_nothing, nothing && gap == 1000 ? 1000 * gap : 0);
            CHECK_TEXT(it.parts.gap_before, "gemm");
            release(&it);
        }
    check_case(NULL);
}

/* Each mark of a name of what fetches or prepares input. */
static void fetching(void)
{
    static const struct {
        const char *name;
        bool fetches;
    } cases[] = {{"DataLoader", true},
                 {"my_dataloader", true},
                 {"data_load", true},
                 {"_next_data", true},
                 {"next_batch", true},
                 {"fetch_batch", true},
                 {"get_batch", true},
                 {"IteratorGetNext", true},
                 {"x/image_transforms.py(1): f", true},
                 {"x/image_processing.py(1): f", true},
                 {"x/feature_extraction.py(1): f", true},
                 {"torchvision/transforms/a.py(1): f", true},
                 {"albumentations/a.py(1): f", true},
                 {"collate_fn", true},
                 {"x/collate.py(1): f", true},
                 {"read_video", true},
                 {"cv2.imread", true},
                 {"a.py(12): preprocess", true},
                 {"preprocess", false},
                 {"collate", false},
                 {"next", false},
                 {"DATALOADER", false}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        struct found it;
        char what[80];
        snprintf(what, sizeof what, "p %s", cases[i].name);
        check_case(cases[i].name);
        gputrace_open(&make);
        gaps(&make, what, 20, 500);
        find(&it, &make);
        REQUIRE(it.is);
        CHECK_INT(us_of(&it, NL_TIME_INPUT), cases[i].fetches ? 10000 : 0);
        CHECK_INT(us_of(&it, NL_TIME_DISPATCH), cases[i].fetches ? 0 : 10000);
        release(&it);
    }
    check_case(NULL);
}

/* 4 ms before the first work, and 4 ms after the last. */
static void outside(void)
{
    static const struct {
        const char *what;
        enum nl_time_what before; /* NL_TIMES: that is not the program */
        bool program, after, ending;
    } cases[] = {
        {"o aten::add", NL_TIME_FIRST, true, true, false},
        {"p main", NL_TIME_FIRST, true, true, false},
        {"n range", NL_TIME_FIRST, true, true, false},
        {"l Linear", NL_TIME_FIRST, true, true, false},
        {"x whatever", NL_TIME_FIRST, true, true, false},
        {"g collect", NL_TIME_FIRST, true, true, false},
        {"s read", NL_TIMES, false, true, false},
        {"c compile_fx", NL_TIME_FIRST, false, true, false},
        {"a cudaGetDevice", NL_TIME_FIRST, false, true, false},
        {"a cudaDeviceSynchronize", NL_TIME_FIRST, false, true, false},
        {"a cudaFree", NL_TIME_FIRST, false, false, true},
        {"a cuModuleUnload", NL_TIME_FIRST, false, false, true},
        {"v profiler", NL_TIMES, false, false, true},
        {"o DataLoader", NL_TIME_INPUT, false, true, false},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        for (int after = 0; after < 2; after++) {
            struct gputrace make;
            struct found it;
            int64_t end = 4000 + 11 * PERIOD;
            check_case(cases[i].what);
            gputrace_open(&make);
            for (int64_t k = 0; k <= 10; k++)
                gputrace_kernel(&make, 7, "gemm", 4000 + k * PERIOD, 1, 4000 + k * PERIOD, PERIOD);
            hostdoing(&make, cases[i].what, after ? end : 0, 4000);
            find(&it, &make);
            REQUIRE(it.is);
            bool input = !after && cases[i].before == NL_TIME_INPUT;
            for (int what = 0; what < NL_TIMES; what++) {
                int want = after ? cases[i].after ? NL_TIME_HOST : NL_TIMES : (int)cases[i].before;
                CHECK_INT(us_of(&it, (enum nl_time_what)what), what == NL_TIME_COMPUTE ? 11 * PERIOD
                                                               : what == want          ? 4000
                                                                                       : 0);
            }
            CHECK_INT(it.parts.before, after || cases[i].before == NL_TIMES ? 0 : 4000000);
            CHECK_INT(it.parts.after, after && cases[i].after ? 4000000 : 0);
            CHECK_INT(it.parts.ending, after && cases[i].ending ? 4000000 : 0);
            CHECK_TEXT(it.parts.ending_in ? it.parts.ending_in : "-",
                       after && cases[i].ending ? cases[i].what + 2 : "-");
            CHECK_INT(it.parts.work_before, !after && cases[i].program ? 4000000 : 0);
            CHECK_INT(it.parts.input_early, input ? 4000000 : 0);
            CHECK_INT(it.parts.input_before, input ? 4000000 : 0);
            CHECK_INT(it.parts.before_own, input ? 4000000 : 0);
            CHECK_INT(it.parts.nothing_before, 0);
            CHECK_INT(it.parts.idle, 0);
            CHECK_INT(it.parts.longest_gap, 0);
            release(&it);
        }
    check_case(NULL);
}

/* 2 ms of an operator and 2 ms in which nothing is recorded, before or after the work. */
static void nothing_outside(void)
{
    for (int after = 0; after < 2; after++) {
        struct gputrace make;
        struct found it;
        int64_t end = 4000 + 11 * PERIOD;
        gputrace_open(&make);
        for (int64_t k = 0; k <= 10; k++)
            gputrace_kernel(&make, 7, "gemm", 4000 + k * PERIOD, 1, 4000 + k * PERIOD, PERIOD);
        hostdoing(&make, "o aten::add", after ? end + 2000 : 0, 2000);
        find(&it, &make);
        REQUIRE(it.is);
        CHECK_INT(us_of(&it, NL_TIME_FIRST), after ? 0 : 2000);
        CHECK_INT(us_of(&it, NL_TIME_HOST), after ? 2000 : 0);
        CHECK_INT(us_of(&it, NL_TIME_NOTHING), after ? 0 : 2000);
        CHECK_INT(it.parts.before, after ? 0 : 4000000);
        CHECK_INT(it.parts.after, after ? 2000000 : 0);
        CHECK_INT(it.parts.nothing_before, after ? 0 : 2000000);
        CHECK_INT(it.parts.work_before, after ? 0 : 2000000);
        CHECK_INT(it.parts.total, 1000 * (11 * PERIOD + (after ? 2000 : 4000)));
        release(&it);
    }
}

/* Numbers at the end of a name, and the sign before them, say nothing; a colon stays. */
static void numbers_of_names(void)
{
    static const struct {
        const char *name, *said;
    } cases[] = {{"nn.Module: Linear_12", "nn.Module: Linear"},
                 {"IO 3", "IO"},
                 {"Conv#7", "Conv"},
                 {"step: 12", "step: *"},
                 {"Linear12", "Linear12"},
                 {"aten::add_", "aten::add_"}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        struct found it;
        char what[80];
        snprintf(what, sizeof what, "n %s", cases[i].name);
        gputrace_open(&make);
        gaps(&make, what, 20, 2000);
        find(&it, &make);
        REQUIRE(it.is);
        CHECK_TEXT(it.parts.parts[NL_TIME_HOST].names[0].name, cases[i].said);
        release(&it);
    }
}

/* Three names of each kind of time, the longest first; of each the range around most of it. */
static void names(void)
{
    static const struct {
        const char *what, *around;
        int64_t us;
    } does_it[] = {{"o aten::a", "one", 1500},   {"o aten::b", "one", 2000},
                   {"o aten::c", "two", 1200},   {"o aten::d", NULL, 1100},
                   {"o aten::a", "three", 1600}, {"a cudaMalloc", "one", 3000}};
    struct gputrace make;
    struct found it;
    gputrace_open(&make);
    uint32_t ranges = gputrace_lane(&make, NL_LANE_NVTX, -1);
    for (int64_t i = 0; i < (int64_t)CHECK_LENGTH(does_it); i++) {
        int64_t at = i * PERIOD, gap = at + PERIOD - does_it[i].us;
        gputrace_kernel(&make, 7, "gemm", at, 1, at, PERIOD - does_it[i].us);
        hostdoing(&make, does_it[i].what, gap, does_it[i].us);
        if (does_it[i].around) {
            struct nl_nvtx_row row = nl_nvtx_row();
            row.slice = gputrace_slice(&make, NL_KIND_NVTX, ranges, does_it[i].around, gap - 10,
                                       does_it[i].us + 20);
            nl_stage_nvtx(make.stage, &row);
        }
    }
    gputrace_kernel(&make, 7, "gemm", 6 * PERIOD, 1, 6 * PERIOD, 100);
    find(&it, &make);
    REQUIRE(it.is);
    static const struct {
        const char *name, *inside;
        int64_t us, inside_us;
        uint64_t count;
    } host[] = {{"aten::a", "three", 3100, 1600, 2},
                {"aten::b", "one", 2000, 2000, 1},
                {"aten::c", "two", 1200, 1200, 1}};
    for (size_t i = 0; i < 3; i++) {
        const struct nl_time_name *name = &it.parts.parts[NL_TIME_HOST].names[i];
        CHECK_TEXT(name->name, host[i].name);
        CHECK_TEXT(name->inside, host[i].inside);
        CHECK_INT(name->ns, 1000 * host[i].us);
        CHECK_INT(name->inside_ns, 1000 * host[i].inside_us);
        CHECK_INT(name->count, host[i].count);
    }
    const struct nl_time_name *first = &it.parts.parts[NL_TIME_FIRST].names[0];
    CHECK_TEXT(first->name, "cudaMalloc");
    CHECK_INT(it.parts.parts[NL_TIME_FIRST].names[1].ns, 0);
    CHECK_TEXT(it.parts.parts[NL_TIME_COMPUTE].names[0].name, "gemm");
    CHECK_INT(it.parts.longest_gap, 3000000);
    CHECK_INT(it.parts.longest_start - it.trace->first_ts, 1000 * (6 * PERIOD - 3000));
    release(&it);
}

/* The longest gap is early where less than a tenth of the kernels begin before it. */
static void early(void)
{
    static const struct {
        int before, all;
        bool early;
    } cases[] = {{1, 20, true},  {1, 19, false}, {2, 20, false},
                 {2, 29, false}, {2, 30, true},  {1, 10, false}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        struct found it;
        gputrace_open(&make);
        uint32_t device = make.device; /* the other has less, and all of it before */
        make.device = nl_builder_device(make.builder, make.source, 1, 1);
        for (int64_t k = 0; k < 100; k++)
            gputrace_kernel(&make, 7, "gemm", 0, 1, k * 10, 5);
        make.device = device;
        for (int64_t k = 0; k < cases[i].all; k++) {
            int64_t at = k * 1000 + (k < cases[i].before ? 0 : 3000);
            gputrace_kernel(&make, 7, "gemm", at, 1, at, 900);
        }
        find(&it, &make);
        REQUIRE(it.is);
        CHECK_INT(it.parts.longest_gap, 3100000);
        CHECK(it.parts.early_nothing == cases[i].early);
        release(&it);
    }
}

CHECK_MAIN("timeparts", {"idle time", idle_time}, {"fetching", fetching},
           {"before and after the work", outside}, {"nothing before and after", nothing_outside},
           {"numbers of names", numbers_of_names}, {"names", names}, {"early", early})
