/* What a thread did at a moment (timeline/hostdid.c): each kind of slice and each role of a call,
 * on the processors and off them; by hand. */
#include "timeline/hostdid.h"
#include "check.h"
#include "hostdoing.h"

static const struct {
    const char *what; /* hostdoing.h */
    const char *did;
    bool gives_way;       /* off the processors says more */
    const char *as_it_is; /* where nothing is known of processors */
} cases[] = {
    {"-", "nothing recorded", true, NULL},
    {"o aten::add", "operator", true, NULL},
    {"p forward", "python", true, NULL},
    {"l Linear", "layer", true, NULL},
    {"n range", "range", true, NULL},
    {"x whatever", "other", true, NULL},
    {"s read", "system call", true, NULL},
    {"g collect", "garbage collection", false, NULL},
    {"c compile_fx", "compilation", false, NULL},
    {"v profiler", "overhead", false, NULL},
    {"a cudaLaunchKernel", "launch call", false, NULL},
    {"a cudaGraphLaunch", "launch call", false, NULL},
    {"a cudaGraphInstantiate", "graph capture", false, NULL},
    {"a cudaMemcpyAsync", "copy call", false, NULL},
    {"a cudaMemsetAsync", "launch call", false, NULL},
    {"a cudaDeviceSynchronize", "synchronisation", false, NULL},
    {"a cudaStreamWaitEvent", "other call", false, NULL},
    {"a cudaMalloc", "allocator call", false, NULL},
    {"a cudaMallocHost", "allocator call", false, NULL},
    {"a cuModuleLoadData", "module loading", false, NULL},
    {"a cudaGetDevice", "other call", false, NULL},
    {"p time.sleep", "python", true, "off-CPU (waiting)"},
    {"x time.sleep", "other", true, "off-CPU (waiting)"},
    {"s pthread_cond_wait", "system call", true, "off-CPU (waiting)"},
    {"o time.sleep", "operator", true, NULL},
};

/* The slice from 1000 to 2000. A thread that runs until 1500 and from 1900 on, in a state of
 * `flags` between; with none it is not known. */
static struct nl_trace *made(const char *what, bool scheduled, uint8_t flags)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_op(&make, "before", 0, 500);
    hostdoing(&make, what, 1000, 1000);
    for (int64_t i = 0; scheduled && i < 2; i++) {
        struct nl_slice_row row = nl_slice_row();
        row.kind = NL_KIND_SCHED;
        row.lane = gputrace_lane(&make, NL_LANE_SCHED, -1);
        row.name = nl_stage_name(make.stage, nl_str("running"));
        row.ts = i ? 1900000 : 100000;
        row.dur = i ? 600000 : 1400000;
        row.flags = flags;
        nl_stage_slice(make.stage, &row);
    }
    gputrace_op(&make, "after", 2500, 500);
    return gputrace_close(&make);
}

static const char *did_at(struct nl_trace *trace, int64_t us, int64_t until_us)
{
    struct nl_api_roles roles;
    struct nl_hostdid host;
    int64_t until = INT64_MAX, first = trace->first_ts;
    nl_api_roles_init(&roles, trace);
    nl_hostdid_init(&host, trace, &roles);
    struct nl_did did = nl_hostdid_at(&host, 0, first + us * 1000, &until);
    CHECK_INT((until - first) / 1000, until_us);
    CHECK(!did.elsewhere);
    nl_hostdid_release(&host);
    nl_api_roles_release(&roles);
    return nl_activity_name(did.activity);
}

static void activities(void)
{
    static const struct {
        uint8_t flags;
        const char *off;
    } states[] = {{0, "off-CPU"},
                  {NL_SLICE_WAITS, "off-CPU (waiting)"},
                  {NL_SLICE_READY, "off-CPU (ready to run)"}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        bool nothing = *cases[i].what == '-';
        struct nl_trace *trace = made(cases[i].what, false, 0);
        REQUIRE(trace);
        check_case(cases[i].what);
        CHECK_TEXT(did_at(trace, 1200, nothing ? 2500 : 2000),
                   cases[i].as_it_is ? cases[i].as_it_is : cases[i].did);
        nl_trace_free(trace);
        for (size_t s = 0; s < CHECK_LENGTH(states); s++) {
            bool off = cases[i].gives_way || states[s].flags == NL_SLICE_READY;
            trace = made(cases[i].what, true, states[s].flags);
            REQUIRE(trace);
            CHECK_TEXT(did_at(trace, 1200, 1500), cases[i].did);
            CHECK_TEXT(did_at(trace, 1600, 1900), off ? states[s].off : cases[i].did);
            CHECK_TEXT(did_at(trace, 1950, nothing ? 2500 : 2000), cases[i].did);
            nl_trace_free(trace);
        }
    }
    check_case(NULL);
}

CHECK_MAIN("hostdid", {"activities", activities})
