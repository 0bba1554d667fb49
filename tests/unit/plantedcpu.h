/*
 * plantedcpu — made-up profiles without device work, with one thing wrong, or with something that
 * only looks like it. For test_findings; times in microseconds.
 */
#ifndef PLANTEDCPU_H
#define PLANTEDCPU_H

#include "planted.h"

static inline void cpu_python(struct gputrace *make, const char *name, int64_t us, int64_t dur_us)
{
    struct nl_python_row row = nl_python_row();
    if (make->without == GPUTRACE_NO_NAMES)
        return;
    row.slice = gputrace_slice(make, NL_KIND_PYTHON, gputrace_lane(make, NL_LANE_PYTHON, -1), name,
                               us, dur_us);
    nl_stage_python(make->stage, &row);
}

static inline void cpu_range(struct gputrace *make, const char *name, int64_t us, int64_t dur_us)
{
    struct nl_nvtx_row row = nl_nvtx_row();
    if (make->without == GPUTRACE_NO_NAMES)
        return;
    row.slice =
        gputrace_slice(make, NL_KIND_NVTX, gputrace_lane(make, NL_LANE_NVTX, -1), name, us, dur_us);
    nl_stage_nvtx(make->stage, &row);
}

/* Per round two functions beside each other: `name` for `us` of 1000, the
 * rest in several others. */
static inline void cpu_rounds(struct gputrace *make, const char *name, int64_t us)
{
    static const char *const others[] = {"forward", "backward", "update", "log"};
    for (int64_t i = 0; i < ROUNDS; i++) {
        cpu_python(make, name, i * 1000, us);
        for (int64_t k = 0; k < 4; k++)
            cpu_python(make, others[k], i * 1000 + us + k * (1000 - us) / 4, (1000 - us) / 4);
    }
}

static inline void cpu_loads(struct gputrace *make)
{
    cpu_rounds(make, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 300);
}
static inline void cpu_loads_little(struct gputrace *make)
{
    cpu_rounds(make, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 60);
}
static inline void cpu_even(struct gputrace *make)
{
    cpu_rounds(make, "tokenize", 200);
}
static inline void cpu_hot(struct gputrace *make)
{
    cpu_rounds(make, "tokenize", 700);
}
static inline void cpu_locks(struct gputrace *make)
{
    cpu_rounds(make, "_thread.lock.acquire", 300);
}
static inline void cpu_sleeps(struct gputrace *make)
{
    cpu_rounds(make, "time.sleep", 300);
}
static inline void cpu_reads(struct gputrace *make)
{
    cpu_rounds(make, "<method 'read' of '_io.BufferedReader' objects>", 300);
}
/* A function of Python with that name; with what it calls in C, or without. */
static inline void cpu_reads_itself(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        cpu_python(make, "read (codec.py:65)", i * 1000, 300);
        cpu_python(make, "<built-in method _struct.unpack>", i * 1000 + 300, 100);
        cpu_python(make, "update", i * 1000 + 400, 600);
    }
}
static inline void cpu_reads_unseen(struct gputrace *make)
{
    cpu_rounds(make, "read (codec.py:65)", 300);
}
static inline void cpu_parses(struct gputrace *make)
{
    cpu_rounds(make, "pandas.read_csv", 300);
}
static inline void cpu_collects(struct gputrace *make)
{
    cpu_rounds(make, "gc.collect", 100);
}
static inline void cpu_collects_results(struct gputrace *make)
{
    cpu_rounds(make, "collect_results", 100);
}

/* Loading by a worker beside the work. */
static inline void cpu_loads_beside(struct gputrace *make)
{
    cpu_rounds(make, "tokenize", 200);
    uint32_t main_thread = make->thread;
    make->thread = nl_builder_thread(make->builder, make->process, 11);
    for (int64_t i = 0; i < ROUNDS / 2; i++)
        cpu_python(make, "DataLoader worker", i * 1000, 300);
    make->thread = main_thread;
}

/* ---- steps ---- */

static inline void cpu_steps(struct gputrace *make, int64_t every, const char *what)
{
    int64_t at = 0;
    for (int64_t i = 0; i < 40; i++) {
        bool slow = every && i % every == every - 1;
        gputrace_step(make, at, slow ? 3000 : 1000);
        cpu_python(make, "forward", at, 900);
        if (slow)
            cpu_python(make, what, at + 900, 2000);
        at += slow ? 3000 : 1000;
    }
}

static inline void cpu_checkpoints(struct gputrace *make)
{
    cpu_steps(make, 10, "torch.save");
}
static inline void cpu_equal_steps(struct gputrace *make)
{
    cpu_steps(make, 0, "");
}
static inline void cpu_accumulates(struct gputrace *make)
{
    cpu_steps(make, 2, "optimizer.step");
}

/* ---- compilation ---- */

static inline void cpu_compiles(struct gputrace *make, int64_t first, int64_t count,
                                const char *name)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        bool again = i >= first && i < first + count;
        cpu_python(make, again ? name : "forward", i * 1000, 990);
    }
}
static inline void cpu_recompiles(struct gputrace *make)
{
    cpu_compiles(make, 30, 8, "torch/_inductor/compile_fx.py(10): compile_fx");
}
static inline void cpu_compiles_first(struct gputrace *make)
{
    cpu_compiles(make, 0, 8, "torch/_inductor/compile_fx.py(10): compile_fx");
}
static inline void cpu_compiles_once(struct gputrace *make)
{
    cpu_compiles(make, 30, 1, "torch/_inductor/compile_fx.py(10): compile_fx");
}

/* ---- the scheduler ---- */

static inline void cpu_switches(struct gputrace *make, unsigned flags)
{
    uint32_t lane = gputrace_lane(make, NL_LANE_SCHED, -1);
    for (int64_t i = 0; i < ROUNDS; i++) {
        struct nl_slice_row row = nl_slice_row();
        cpu_python(make, "work", i * 1000, 1000);
        row.kind = NL_KIND_SCHED;
        row.lane = lane;
        row.flags = (uint8_t)flags;
        row.name = nl_stage_name(make->stage, nl_str("running"));
        row.ts = gputrace_ns(make, i * 1000);
        row.dur = gputrace_ns(make, i * 1000 + 700) - row.ts;
        nl_stage_slice(make->stage, &row);
    }
}
static inline void cpu_is_pushed_off(struct gputrace *make)
{
    cpu_switches(make, 8);
}
static inline void cpu_waits_off(struct gputrace *make)
{
    cpu_switches(make, 16);
}

#endif
