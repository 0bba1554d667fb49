/* The recording agent, run in this very process; the recorder's side, with
 * a source made up for it. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "capture/agent/pythonhere.h"
#include "capture/agent/agent.h"
#include "capture/recorder/recorder.h"
#include "capture/shared/ticks.h"
#include "nlrec/recpython.h"
#include "ingest/ingest.h"
#include "capture/recorder/partvalues.h"

#define THREADS 4
#define ROUNDS  30000

/* ThreadSanitizer does not see what the recorder orders: it reaches the blocks through another
 * mapping. With it the threads order everything among themselves, by overwriting. */
#if defined(__SANITIZE_THREAD__)
#define POLICY NL_REC_WRAP
#define CAP    ((uint64_t)2 << 20)
#else
#define POLICY NL_REC_SPILL
#define CAP    ((uint64_t)64 << 20)
#endif
#define EVENTS ((uint64_t)THREADS * ROUNDS * 5)

static char folder[64];
static atomic_uint busy;

static struct nl_trace *read_parts(const char *parts)
{
    struct nl_err err;
    struct nl_job job = {.threads = 1, .memory_bytes = (uint64_t)1 << 30};
    struct nl_ingest_options options = {.rank = NL_NULL_I64};
    nl_err_clear(&err);
    struct nl_trace *trace = nl_ingest(&parts, 1, &options, &job, &err);
    if (!trace)
        printf("    %s\n", err.text);
    return trace;
}

static uint32_t count_name(const struct nl_trace *trace, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->slice.rows; i++)
        count += nl_str_is(nl_trace_name(trace, trace->slice.name[i]), name);
    return count;
}

static void *write_scopes(void *context)
{
    uint32_t outer = agent_name("outer", 5), inner = agent_name("inner", 5);
    for (int i = 0; i < ROUNDS; i++) {
        char text[16];
        int len = snprintf(text, sizeof text, "n%d", i % 100);
        uint64_t one = agent_scope_begin(outer, NL_REC_CLASS_SCOPE);
        uint64_t two = agent_scope_begin(inner, NL_REC_CLASS_SCOPE);
        agent_scope_end(two);
        (void)agent_event(NL_REC_MARK, agent_name(text, (size_t)len), NULL, 0);
        agent_scope_end(one);
    }
    atomic_fetch_sub(&busy, 1);
    return context;
}

static uint64_t recorded_events(const struct nl_trace *trace)
{
    int64_t value = 0;
    for (uint32_t i = 0; i < trace->meta.rows; i++)
        if (nl_str_is(nl_trace_name(trace, trace->meta.key[i]), "recorded events"))
            (void)nl_parse_i64(nl_trace_name(trace, trace->meta.value[i]), &value);
    return (uint64_t)value;
}

/* Nothing is lost but what is counted. */
static void check_counts(const struct nl_trace *trace, const struct parts_sums *sums)
{
    uint64_t lost = 0;
    for (unsigned i = 0; i < NL_REC_DROPS; i++)
        lost += sums->drops[i];
    CHECK_INT(recorded_events(trace) + lost, EVENTS);
    CHECK_INT(lost > 0, POLICY == NL_REC_WRAP);
    if (lost)
        return;
    CHECK(sums->spilled_blocks > 0);
    CHECK_INT(count_name(trace, "outer"), THREADS * ROUNDS);
    CHECK_INT(count_name(trace, "inner"), THREADS * ROUNDS);
    CHECK_INT(count_name(trace, "n42"), THREADS * ROUNDS / 100);
    for (uint32_t i = 0; i < trace->coverage.rows; i++)
        CHECK_STR(nl_trace_name(trace, trace->coverage.item[i]), "nothing is missing");
}

static void writes_while_relieved(void)
{
    struct nl_err err;
    struct parts_sums sums;
    pthread_t threads[THREADS];
    snprintf(folder, sizeof folder, "/tmp/nl-capture-%d", (int)getpid());
    struct parts *parts = parts_make(folder, &err);
    REQUIRE(parts != NULL);
    struct nl_control *control = parts_control(parts);
    control->clock = ticks_choose();
    control->policy = POLICY;
    control->cap_bytes = CAP;
    control->first_step = control->last_step = NL_REC_UNKNOWN;
    control->gate = 1;
    __atomic_store_n(&control->magic, NL_CONTROL_MAGIC, __ATOMIC_RELEASE);
    setenv(NL_CONTROL_VARIABLE, folder, 1);
    agent_start(NULL);
    CHECK(agent_ready());
    CHECK(control->event_ps > 100);
    atomic_store(&busy, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, write_scopes, NULL);
    while (atomic_load(&busy)) {
        parts_poll(parts);
        parts_clock(parts);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    agent_finish();
    parts_finish(parts, &sums);
    CHECK_INT(sums.processes, 1);
    CHECK_INT(sums.threads, THREADS);
    struct nl_trace *trace = read_parts(folder);
    REQUIRE(trace != NULL);
    check_counts(trace, &sums);
    nl_trace_free(trace);
    parts_free(parts);
    parts_remove(folder);
    CHECK(access(folder, F_OK) != 0);
}

/* ---- a source ---- */

#define DEEP  1200 /* frames; a cell holds 1,008 */
#define BURST 3000 /* samples: more than a block of cells */

static void take_samples(struct parts *parts, struct part *part)
{
    static const char *const python[] = {"leaf\ta.py\t3", "main\ta.py\t9"};
    static const char *const native[] = {"@/lib/libm.so.6\tabcd\t0x10", "main\ta.py\t9"};
    const char *deep[DEEP];
    uint64_t now = ticks_now(parts_control(parts)->clock);
    for (size_t i = 0; i < DEEP; i++)
        deep[i] = i % 2 ? "ping" : "pong\t\t";
    struct part_sample sample = {.thread = 77, .cpu = 1, .event = "cpu", .unit = "ns", .weight = 5};
    sample.frames = python;
    sample.frame_count = 2;
    for (sample.ns = 1000; sample.ns < 1000 + BURST; sample.ns++)
        part_sample(part, now, &sample);
    sample.frames = native;
    sample.cpu = NL_REC_NO_CPU;
    part_sample(part, now, &sample);
    sample.frames = deep;
    sample.frame_count = DEEP;
    part_sample(part, now, &sample);
    sample.frame_count = 0;
    part_sample(part, now, &sample);
}

static void check_samples(const struct nl_trace *trace)
{
    const uint32_t *parent = trace->stack.parent, *name = trace->stack.name;
    REQUIRE(trace->sample.rows == BURST + 3);
    uint32_t leaf = NL_NULL_ROW, machine = NL_NULL_ROW, depth = 0, burst = 0, unknown = 0;
    for (uint32_t i = 0; i < trace->sample.rows; i++) {
        uint32_t stack = trace->sample.stack[i], frames = 0;
        bool in_burst = trace->sample.cpu[i] == 1;
        burst += in_burst;
        unknown += stack == NL_NULL_ROW;
        leaf = in_burst ? stack : leaf;
        for (uint32_t at = stack; at != NL_NULL_ROW; at = parent[at])
            frames++;
        depth = frames > depth ? frames : depth;
        if (frames == 2 && !in_burst)
            machine = stack;
        CHECK_INT(trace->sample.weight[i], 5);
    }
    CHECK_INT(burst, BURST);
    CHECK_INT(unknown, 1);
    CHECK_INT(depth, 1008);
    REQUIRE(leaf != NL_NULL_ROW && machine != NL_NULL_ROW);
    CHECK_STR(nl_trace_name(trace, name[leaf]), "leaf");
    CHECK_STR(nl_trace_name(trace, trace->stack.file[leaf]), "a.py");
    CHECK_INT(trace->stack.line[leaf], 3);
    CHECK_STR(nl_trace_name(trace, name[machine]), "libm.so.6+0x10");
    CHECK_STR(nl_trace_name(trace, trace->stack.module[machine]), "/lib/libm.so.6");
    CHECK_INT(parent[leaf], parent[machine]);
}

static bool fake_start(struct source_run *run)
{
    run->state = nl_zalloc(sizeof(int));
    return true;
}

static void fake_poll(struct source_run *run)
{
    size_t count;
    struct part *part = parts_first(run->parts, &count);
    int *polls = run->state;
    for (++*polls; count; count--, part++) {
        if (!part->private[run->place]) {
            part->private[run->place] = nl_zalloc(1);
            take_samples(run->parts, part);
        }
        part_counter(run->parts, part, 0, "made up", "apples", *polls);
    }
}

static void fake_stop(struct source_run *run)
{
    nl_free(run->state);
}

static bool absent_start(struct source_run *run)
{
    snprintf(run->why, sizeof run->why, "there is none");
    return false;
}

static const struct nl_source fake = {.name = "fake",
                                      .doc = "made up",
                                      .period_ns = 1000000,
                                      .start = fake_start,
                                      .poll = fake_poll,
                                      .stop = fake_stop};
static const struct nl_source absent = {.name = "absent", .doc = "never", .start = absent_start};

static bool library_path(char *path, size_t room)
{
    ssize_t len = readlink("/proc/self/exe", path, room - 1);
    path[len > 0 ? len : 0] = '\0';
    char *at = strstr(path, "/tests/unit/");
    if (!at || (size_t)(at - path) + 64 > room)
        return false;
    strcpy(at, "/src/capture/libneurolens-capture.so");
    return access(path, R_OK) == 0;
}

static void sources_are_polled(void)
{
    char library[4096];
    struct nl_err err;
    int failure;
    const struct nl_source *const sources[] = {&fake, &absent, NULL};
    char *words[] = {"sleep", "0.2", NULL};
    if (!library_path(library, sizeof library)) {
        check_skip("the recording library is not beside this test");
        return;
    }
    snprintf(folder, sizeof folder, "/tmp/nl-source-%d", (int)getpid());
    struct nl_recorder_options options = {.folder = folder,
                                          .library = library,
                                          .sources = sources,
                                          .cap_bytes = 1 << 20,
                                          .first_step = NL_REC_UNKNOWN,
                                          .last_step = NL_REC_UNKNOWN};
    struct nl_recorder_report report;
    struct nl_recorder *recorder = nl_recorder_new(&options, &err);
    REQUIRE(recorder != NULL);
    REQUIRE(nl_recorder_spawn(recorder, words, &failure, &err));
    while (nl_recorder_wait(recorder, -1))
        ;
    nl_recorder_finish(recorder, &report);
    nl_recorder_free(recorder);
    CHECK_INT(report.wait_status, 0);
    CHECK_INT(report.source_count, 2);
    CHECK(report.sources[0].available);
    CHECK(!report.sources[1].available);
    CHECK_TEXT(report.sources[1].why, "there is none");
    struct nl_trace *trace = read_parts(folder);
    REQUIRE(trace != NULL);
    CHECK(trace->counter.rows >= 3);
    CHECK_INT(trace->series.rows, 1);
    CHECK_STR(nl_trace_name(trace, trace->series.unit[0]), "apples");
    check_samples(trace);
    nl_trace_free(trace);
    parts_remove(folder);
}

static void refuses_what_cannot_be(void)
{
    bool near = true;
    struct nl_err err;
    struct nl_recorder_options options = {.folder = "/nonexistent/folder", .library = "/dev/null"};
    CHECK(nl_recorder_new(&options, &err) == NULL);
    CHECK_INT(err.code, NL_WRITE);
    options.library = "/nonexistent/library.so";
    CHECK(nl_recorder_new(&options, &err) == NULL);
    CHECK_INT(err.code, NL_ENVIRONMENT);
    CHECK(control_find("/nonexistent", &near) == NULL);
    CHECK(!near);
}

/* Whether the window was open then, for work that is told later. */
static void windows_of_the_past(void)
{
    struct nl_control control = {.gate = 1, .begins_open = 1};
    CHECK(control_was_open(&control, 1) && control_was_open(&control, INT64_MAX));
    CHECK(control_gate(&control, 0) && control_gate(&control, 1) && !control_gate(&control, 1));
    int64_t *moves = control.moves_ns;
    CHECK_INT(control.gate_changes, 2);
    CHECK(moves[0] > 0 && moves[0] <= moves[1]);
    moves[0] = 100;
    moves[1] = 200;
    CHECK(control_was_open(&control, 99) && !control_was_open(&control, 100));
    CHECK(!control_was_open(&control, 199) && control_was_open(&control, 200));
    control.begins_open = 0;
    CHECK(!control_was_open(&control, 50) && control_was_open(&control, 150));
    for (unsigned i = 2; i <= NL_CONTROL_MOVES; i++)
        CHECK(control_gate(&control, i % 2));
    CHECK(control_was_open(&control, INT64_MAX) == (control.gate != 0));
}

/* What of a command line keeps Python's hooks off. */
static void options_of_python(void)
{
#define OPTIONS(words) pythonhere_options(words, sizeof words)
    CHECK_INT(OPTIONS("python3\0-c\0-I"), 0);
    CHECK_INT(OPTIONS("python3\0-I\0-c\0pass"), NL_REC_PYTHON_ISOLATED);
    CHECK_INT(OPTIONS("python3\0-uSE\0x.py\0-I"), NL_REC_PYTHON_NO_SITE | NL_REC_PYTHON_NO_ENV);
    CHECK_INT(OPTIONS("python3\0-W\0-I\0-X\0-S\0x.py"), 0);
    CHECK_INT(OPTIONS("python3\0-Wignore\0-BI\0x.py"), NL_REC_PYTHON_ISOLATED);
    CHECK_INT(OPTIONS("python3\0-mtimeit\0-S"), 0);
    CHECK_INT(OPTIONS("python3\0-Im\0timeit"), NL_REC_PYTHON_ISOLATED);
    CHECK_INT(OPTIONS("python3\0--check-hash-based-pycs\0always\0-E\0x.py"), NL_REC_PYTHON_NO_ENV);
    CHECK_INT(OPTIONS("python3\0--version"), NL_REC_PYTHON_RUNS_NONE);
    CHECK_INT(OPTIONS("python3\0-VV"), NL_REC_PYTHON_RUNS_NONE);
    CHECK_INT(OPTIONS("python3\0-\0-I"), 0);
    CHECK_INT(OPTIONS(""), 0);
#undef OPTIONS
}

CHECK_MAIN("capture", {"options of Python", options_of_python},
           {"writes while it is relieved", writes_while_relieved},
           {"sources are polled", sources_are_polled},
           {"refuses what cannot be", refuses_what_cannot_be},
           {"windows of the past", windows_of_the_past})
