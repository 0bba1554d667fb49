/*
 * Runs of a compiled model beside a second implementation that takes each definition of modelruns.h
 * word for word, over many small programs in which lengths meet the limits exactly: three times the
 * median, a tenth of a run, a tenth of all runs, three calls.
 */
#include "answer/modelruns.h"
#include "check.h"
#include "gputrace.h"

#define PROGRAMS  1500
#define MAX_CALLS 256
#define MAX_RUNS  16

struct call {
    int name, shapes, run; /* shapes: 0 none */
    int64_t start, ns;
};

struct program {
    struct call calls[MAX_CALLS];
    size_t count;
    int64_t start[MAX_RUNS], end[MAX_RUNS];
    int runs;
    uint64_t dice;
};

static int64_t roll(struct program *it, int64_t most)
{
    it->dice = it->dice * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((it->dice >> 33) % (uint64_t)most);
}

/* Runs of up to four operators, in which one call in `rare` is of another length. */
static void draw(struct program *it)
{
    static const int64_t lengths[] = {1, 2, 4, 10, 11, 20, 29, 30, 31, 33, 60, 101, 300};
    int operators = 1 + (int)roll(it, 12), shapes = (int)roll(it, 3);
    int64_t usual[12], now = 5, rare = 2 + roll(it, 12), space = roll(it, 3), between = roll(it, 3);
    it->runs = 1 + (int)roll(it, MAX_RUNS - 1);
    for (int i = 0; i < operators; i++)
        usual[i] = lengths[roll(it, 6)];
    for (int run = 0; run < it->runs; run++) {
        bool bare = roll(it, 9) == 0, slow = roll(it, 5) == 0;
        it->start[run] = now;
        now += roll(it, space + 1);
        for (int i = 0; i < operators && !bare && it->count < MAX_CALLS; i++) {
            int64_t ns = roll(it, rare) == 0 ? lengths[roll(it, 13)] : usual[i] * (slow ? 4 : 1);
            it->calls[it->count++] =
                (struct call){i, shapes ? 1 + (int)roll(it, shapes) : 0, run, now, ns};
            now += ns + roll(it, space + 1);
        }
        now += bare;
        it->end[run] = now;
        now += 1 + between;
    }
}

static struct nl_trace *build(const struct program *it)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    static const char *const shapes[] = {"", "[1]", "[2]", "[3]"};
    struct gputrace make;
    gputrace_open(&make);
    for (int run = 0; run < it->runs; run++)
        gputrace_step(&make, it->start[run], it->end[run] - it->start[run]);
    for (size_t i = 0; i < it->count; i++) {
        const struct call *call = &it->calls[i];
        struct nl_node_row row = nl_node_row();
        row.slice =
            gputrace_slice(&make, NL_KIND_OP, make.calls, names[call->name], call->start, call->ns);
        row.type = nl_stage_name(make.stage, nl_str(call->name % 2 ? "MatMul" : "Add"));
        if (call->shapes)
            row.input_shapes = nl_stage_name(make.stage, nl_str(shapes[call->shapes]));
        nl_stage_node(make.stage, &row);
    }
    return gputrace_close(&make);
}

/* The lower median of an operator with the same shapes, and how many calls it has. */
static int64_t median_of(const struct program *it, const struct call *of, size_t *count)
{
    int64_t best = -1;
    *count = 0;
    for (size_t i = 0; i < it->count; i++)
        *count += it->calls[i].name == of->name && it->calls[i].shapes == of->shapes;
    for (size_t i = 0; i < it->count; i++) {
        size_t below = 0, most = 0;
        if (it->calls[i].name != of->name || it->calls[i].shapes != of->shapes)
            continue;
        for (size_t k = 0; k < it->count; k++)
            if (it->calls[k].name == of->name && it->calls[k].shapes == of->shapes) {
                below += it->calls[k].ns < it->calls[i].ns;
                most += it->calls[k].ns <= it->calls[i].ns;
            }
        if (below <= (*count - 1) / 2 && most > (*count - 1) / 2)
            best = it->calls[i].ns;
    }
    return best;
}

struct sums {
    int64_t runs, bare, run_ns, median, between, operators, lead, inner, end;
    int64_t stall, stalls, names, stalled_runs, slow_runs, slow, worst;
    bool first, none, changing, shapes;
};

static void walk_runs(const struct program *it, struct sums *sums)
{
    int64_t lengths[MAX_RUNS];
    for (int run = 0; run < it->runs; run++) {
        int64_t done = it->start[run];
        bool any = false;
        if (run)
            sums->between += it->start[run] - it->end[run - 1];
        for (size_t i = 0; i < it->count; i++)
            if (it->calls[i].run == run) {
                *(any ? &sums->inner : &sums->lead) += it->calls[i].start - done;
                done = it->calls[i].start + it->calls[i].ns;
                any = true;
            }
        sums->bare += !any;
        if (!any)
            continue;
        sums->end += it->end[run] - done;
        sums->run_ns += lengths[sums->runs++] = it->end[run] - it->start[run];
    }
    for (int64_t i = 0; i < sums->runs; i++)
        for (int64_t k = i + 1; k < sums->runs; k++)
            if (lengths[k] < lengths[i]) {
                int64_t swap = lengths[i];
                lengths[i] = lengths[k];
                lengths[k] = swap;
            }
    if (sums->runs)
        sums->median = (lengths[(sums->runs - 1) / 2] + lengths[sums->runs / 2]) * 1000 / 2;
}

/* By how many ns a call exceeds the median, where that is a stall; else 0. */
static int64_t stall_of(const struct program *it, const struct sums *sums, const struct call *call)
{
    size_t count;
    int64_t median = median_of(it, call, &count);
    bool far = count >= 3 && call->ns > 3 * median && (call->ns - median) * 10000 > sums->median;
    return far && !sums->none ? call->ns - median : 0;
}

static void walk_stalls(const struct program *it, struct sums *sums)
{
    int64_t stalled[MAX_RUNS] = {0}, calls[MAX_RUNS] = {0}, by[MAX_RUNS] = {0};
    bool named[12] = {0};
    sums->shapes = true;
    for (size_t i = 0; i < it->count; i++) {
        const struct call *call = &it->calls[i];
        int64_t beyond = stall_of(it, sums, call);
        sums->operators += call->ns;
        sums->shapes = sums->shapes && call->shapes;
        calls[call->run]++;
        if (!beyond)
            continue;
        sums->stalls++;
        sums->stall += beyond;
        stalled[call->run]++;
        by[call->run] += beyond;
        named[call->name] = true;
        sums->worst = call->ns > sums->worst ? call->ns : sums->worst;
    }
    for (int i = 0; i < 12; i++)
        sums->names += named[i];
    for (int run = 0; run < it->runs; run++) {
        sums->stalled_runs += stalled[run] > 0;
        bool few = stalled[run] * 10 <= calls[run] || (stalled[run] == 1 && calls[run] >= 4);
        sums->slow_runs += !few;
        sums->slow += few ? 0 : by[run];
    }
    sums->first = stalled[0] > 0;
    sums->changing = sums->names > 1 && sums->stalls <= sums->stalled_runs * sums->names / 2;
}

static struct sums judge(const struct program *it)
{
    struct sums sums = {0}, all;
    walk_runs(it, &sums);
    all = sums;
    walk_stalls(it, &all);
    sums.none =
        all.stall * 10 <= sums.run_ns; /* a tenth of the runs at most is too small to tell */
    walk_stalls(it, &sums);
    return sums;
}

static void compare(const struct program *it, const struct nl_model_runs *got)
{
    struct sums want = judge(it);
    CHECK_INT(got->runs, want.runs);
    CHECK_INT(got->bare_runs, want.bare);
    CHECK_INT(got->run_ns, want.run_ns * 1000);
    CHECK_INT(got->median_ns, want.median);
    CHECK_INT(got->between_ns, want.between * 1000);
    CHECK_INT(got->operator_ns, want.operators * 1000);
    CHECK_INT(got->lead_ns, want.lead * 1000);
    CHECK_INT(got->inner_ns, want.inner * 1000);
    CHECK_INT(got->end_ns, want.end * 1000);
    CHECK_INT(got->none_ns, (want.lead + want.inner + want.end) * 1000);
    CHECK_INT(got->no_stalls, want.none);
    CHECK_INT(got->stall_ns, want.stall * 1000);
    CHECK_INT(got->stalls, want.stalls);
    CHECK_INT(got->stalled_names, want.names);
    CHECK_INT(got->stalled_runs, want.stalled_runs);
    CHECK_INT(got->first_stalled, want.first);
    CHECK_INT(got->slow_runs, want.slow_runs);
    CHECK_INT(got->slow_ns, want.slow * 1000);
    CHECK_INT(got->changing, want.changing);
    CHECK_INT(got->same_shapes, want.shapes);
    CHECK_INT(got->worst_ns, want.worst * 1000);
    int64_t usual = 0, calls = 0;
    for (size_t i = 0; i < got->name_count; i++) {
        usual += got->names[i].usual_ns;
        calls += (int64_t)got->names[i].calls;
        CHECK(!i || got->names[i].usual_ns <= got->names[i - 1].usual_ns);
    }
    CHECK_INT(usual, (want.operators - want.stall) * 1000);
    CHECK_INT(calls, it->count);
    for (size_t i = 0; i < got->type_count; i++)
        usual -= got->types[i].usual_ns;
    CHECK_INT(usual, 0);
    CHECK(got->type_count <= 2);
}

static void as_defined(void)
{
    int with_stalls = 0, slow = 0, programs = check_draws(PROGRAMS);
    for (unsigned i = 0; i < (unsigned)programs && !check_state.failures; i++) {
        struct program program = {.dice = i * 7919u + 1};
        struct nl_model_runs runs;
        char label[32];
        snprintf(label, sizeof label, "program %u", i);
        check_case(label);
        draw(&program);
        struct nl_trace *trace = build(&program);
        REQUIRE(trace);
        bool found = nl_model_runs_init(&runs, trace);
        CHECK_INT(found, program.count > 0);
        if (found) {
            compare(&program, &runs);
            with_stalls += runs.stalls > 0;
            slow += runs.slow_runs > 0;
            nl_model_runs_release(&runs);
        }
        nl_trace_free(trace);
    }
    CHECK(with_stalls > programs / 5 && slow > programs / 20);
}

CHECK_MAIN("modelruns", {"runs are as they are defined", as_defined})
