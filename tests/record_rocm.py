#!/usr/bin/env python3
"""Recording of AMD GPUs without one: tests/record/mock_rocm.c stands in for librocprofiler-sdk, mock_rocm_app.c for a program and
its driver. The recording must be what the program wrote down of itself, nothing may be lost without being counted, and the
program must not notice, whatever the library does."""
import csv
import glob
import io
import os
import signal
import subprocess

import races
from harness import Noise, Tally, calmly, neurolens, scratch

tally = Tally("record_rocm")
MOCK = os.path.join(scratch(), "libmock_rocm.so")
APP = os.path.join(scratch(), "rocm_app")
AHEAD = 7000000000  # the library's clock, as mock_rocm.c has it; it is found to some microseconds
SLACK = 200000


# What is asserted here is the GPU's side. Samples of the CPU have coverage of their own, which the load decides.
NO_SAMPLES = ["--sample-rate", "0", "--switches", "off"]


class Run:
    """One recorded run of the mock program; .truth is what it says it did: (kind, values…)."""
    count = 0

    def __init__(self, words=(), mock="", threads=2, rounds=300, options=()):
        Run.count += 1
        self.path = os.path.join(scratch(), "r%d.nlt" % Run.count)
        truth = os.path.join(scratch(), "rocm_truth%d" % Run.count)
        self.done = neurolens(["run", "-o", self.path] + NO_SAMPLES + list(options) +
                              ["--", APP, MOCK, truth, str(threads), str(rounds)] + list(words),
                              extra={"MOCK": mock}, timeout=120)
        self.truth = []
        for name in glob.glob(truth + ".*"):
            with open(name) as file:
                self.truth += list(csv.reader(file))
            os.unlink(name)

    def sql(self, query):
        done = neurolens(["sql", "--no-cache", "--absolute", "--format", "csv", self.path, query], timeout=60)
        if done.status != 0:
            raise AssertionError(done.describe())
        return list(csv.reader(io.StringIO(done.stdout)))[1:]

    def coverage(self):
        return {row[0]: int(row[1]) for row in self.sql("SELECT item, sum(count) FROM coverage GROUP BY item")}

    def made(self, kind):
        return [row[1:] for row in self.truth if row[0] == kind]


# Columns of the program's rows beside ours; `times` are places of times, which are moved by the library's clock.
QUERIES = {
    "kernel": ("SELECT name, ts, ts + dur, device, correlation, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, "
               "static_shared_bytes, dynamic_shared_bytes FROM kernels", (1, 2)),
    "copy": ("SELECT kind, ts, ts + dur, device, correlation, bytes FROM copies", (1, 2)),
    "memory": ("SELECT action, ts, address, device FROM memory", (1,)),
    "call": ("SELECT name, ts, ts + dur, thread, correlation FROM api", (1, 2)),
}
LEFT_OUT = ("hipGetDevice",)
SOURCE_NAMES = {"_Z3addPf": "add(float*)", "_Z3mulPf": "mul(float*)"}  # of the mock's kernels


def compare(run, kind):
    """The first difference of a kind, or None. Everything but times is equal; times are equal to the clock's error."""
    query, times = QUERIES[kind]
    want = [[SOURCE_NAMES.get(row[0], row[0])] + row[1:] for row in run.made(kind) if row[0] not in LEFT_OUT]
    got = run.sql(query)
    for row in want:
        for at in times:
            row[at] = str(int(row[at]) - AHEAD)

    def key(row):
        return [value for at, value in enumerate(row) if at not in times]

    def order(row):
        return key(row), [int(row[at]) for at in times]
    want.sort(key=order)
    got.sort(key=order)
    if list(map(key, want)) != list(map(key, got)):
        return "%s: %d, want %d; first %s, want %s" % (kind, len(got), len(want), got[:1], want[:1])
    far = max((abs(int(a[at]) - int(b[at])) for a, b in zip(want, got) for at in times), default=0)
    return Noise("%s: a time is %d ns off" % (kind, far)) if far > SLACK else None


def differs(run, status=0, kinds=tuple(QUERIES)):
    if run.done.status != status:
        return run.done.describe()
    return next((problem for problem in (compare(run, kind) for kind in kinds) if problem), None)


def check(name, test):
    try:
        problem = calmly(test)
    except (AssertionError, IndexError, KeyError, ValueError, OSError, subprocess.SubprocessError) as wrong:
        problem = "%s: %s" % (type(wrong).__name__, wrong)
    tally.check(name, not problem, problem or "")


def exact(words=(), mock="", **more):
    def test():
        run = Run(words, mock, **more)
        # Of the CPU's samples, not of the GPU: one that met the loader may be cut.
        items = run.coverage()
        return differs(run) or ("coverage: %s" % items if items else None)
    return test


def devices():
    run = Run()
    got = run.sql("SELECT ordinal, vendor, name, sm_count, memory_bytes, compute_major, compute_minor, warp_size FROM devices "
                  "ORDER BY ordinal")
    want = [["0", "amd", "AMD Instinct MI300X", "304", str(1 << 36), "9", "4", "64"], ["1", "amd", "gfx942", "304", "", "9", "4", "64"]]
    linked = int(run.sql("SELECT count(*) FROM kernels k JOIN api a ON a.correlation = k.correlation "
                         "WHERE a.name = 'hipLaunchKernel' AND a.ts <= k.ts")[0][0])
    if linked != len(run.made("kernel")):
        return "%d kernels follow their launch, of %d" % (linked, len(run.made("kernel")))
    return None if got == want else "devices: %s" % got


def markers():
    run = Run(threads=2, rounds=50)
    got = dict((tuple(row[:2]), int(row[2])) for row in run.sql("SELECT name, style, count(*) FROM nvtx GROUP BY 1, 2"))
    want = {("a round", "push_pop"): 100, ("a round", "mark"): 100, ("all rounds", "start_end"): 2}
    return None if got == want else "roctx: %s" % got


def names_are_kept():
    run = Run(("huge",), rounds=9)
    lengths = sorted({len(row[0].encode()) for row in run.sql("SELECT DISTINCT name FROM kernels")})
    return None if lengths[-1] >= 4000 and run.coverage().get("cut: names over 4,095 bytes") else "%s" % lengths


def odd_records():
    run = Run(("unknown",), rounds=100)
    found = run.coverage().get("skipped: GPU records of unknown kinds")
    return differs(run) or (None if found == 2 * 2 * 100 else "unknown kinds: %s" % found)


def without_times():
    run = Run(("zero=10",), rounds=100)
    found = run.coverage().get("skipped: GPU work without a time")
    return differs(run, kinds=("copy", "memory", "call")) or (None if found == 20 else "without a time: %s" % found)


def dropped():
    """A buffer of 64 KiB that is emptied twice a second: recorded + dropped = made."""
    run = Run(mock="room=65536", rounds=2000)
    lost = run.coverage().get("dropped: GPU records", 0)
    there = sum(int(run.sql("SELECT count(*) FROM " + table)[0][0]) for table in ("kernels", "copies", "memory", "api"))
    made = sum(len([row for row in run.made(kind) if row[0] not in LEFT_OUT]) for kind in QUERIES)
    if run.done.status != 0 or not lost:
        return "nothing dropped; " + run.done.describe()
    return None if there + lost == made else "%d recorded + %d dropped, %d made" % (there, lost, made)


def clock_error():
    """The error of moved times is a fact: small, or as much as the library's clock jumps."""
    for mock, least, most in (("", 1, SLACK), ("jump=5000000", 5000000, 5000000 + SLACK)):
        run = Run(("pause=20000",), mock, rounds=50)
        error = [int(row[0]) for row in run.sql("SELECT value FROM metadata WHERE key = 'GPU clock error (ns)'")]
        if run.done.status != 0 or len(error) != 1 or error[0] < least:
            return "%s: %s; %s" % (mock, error, run.done.describe())
        if error[0] > most:
            return Noise("%s: %s" % (mock, error))
    return None


def no_clock():
    """Times that cannot be moved to our clock are no times: counted."""
    run = Run(mock="noclock", rounds=50)
    made = sum(len([row for row in run.made(kind) if row[0] not in LEFT_OUT]) for kind in QUERIES)
    lost = run.coverage().get("dropped: GPU records without a clock")
    rows = sum(int(run.sql("SELECT count(*) FROM " + table)[0][0]) for table in ("kernels", "copies", "api"))
    return None if run.done.status == 0 and not rows and lost == made else "%d rows, %s of %d lost" % (rows, lost, made)


def hangs():
    """A flush that never comes back holds up the end of the program for some seconds, no more."""
    run = Run(("linger", "exit=4"), "hangflush", rounds=20)
    said = run.coverage().get("GPU recording cut short")
    return None if run.done.status == 4 and said else "%s; %s" % (run.coverage(), run.done.describe())


def many_queues():
    run = Run(("queues",), rounds=2100)
    said = run.coverage().get("kernels of which the queue is not known")
    streams = int(run.sql("SELECT count(DISTINCT stream) FROM kernels")[0][0])
    return None if differs(run) is None and said == 104 and streams == 4096 else "%s queues, %s" % (streams, run.coverage())


def killed():
    run = Run(("linger", "kill"), rounds=100)
    return differs(run, -signal.SIGKILL) or (None if run.coverage().get("GPU recording cut short") == 1 else "not said to be cut short")


def refused(mock, words, status=0):
    """The CPU's side is recorded, and coverage says why the GPU's is not."""
    def test():
        run = Run(("exit=%d" % status,) if status else (), mock, rounds=20)
        detail = run.sql("SELECT detail FROM coverage WHERE item = 'GPU work not recorded'")
        if run.done.status != status or not detail or words not in detail[0][0]:
            return "%s; %s" % (detail, run.done.describe())
        return None if not run.sql("SELECT 1 FROM kernels") else "kernels from nowhere"
    return test


def in_part():
    run = Run(mock="refuse=10", rounds=20)
    return differs(run, kinds=("kernel", "memory", "call")) or \
        (None if run.coverage().get("GPU work recorded in part") == 1 else "not said: %s" % run.coverage())


def newer():
    run = Run(mock="version=20100", rounds=20)
    said = run.coverage().get("GPU work recorded with a rocprofiler newer than is known")
    return differs(run) or (None if said == 1 else "not said: %s" % run.coverage())


def own_threads():
    """Handed over in threads that are recorded themselves: they cannot write as the driver does, and it is counted."""
    run = Run(mock="own", rounds=20)
    said = run.coverage().get("dropped: GPU buffers handed over in a thread of the program", 0)
    return None if run.done.status == 0 and said else "%s; %s" % (run.coverage(), run.done.describe())


def forks():
    run = Run(("fork", "exit=5"), rounds=50)
    return differs(run, 5)


def paused():
    run = Run(options=("--paused",), rounds=50)
    rows = sum(int(run.sql("SELECT count(*) FROM " + table)[0][0]) for table in ("kernels", "copies", "api"))
    return None if run.done.status == 0 and not rows else "%d rows while paused" % rows


def not_ours():
    """Without a recorder the library is told that nobody wants anything: nothing of ours is in the process."""
    truth = os.path.join(scratch(), "rocm_bare")
    done = subprocess.run([APP, MOCK, truth, "1", "5"], timeout=60, check=False)
    return None if done.returncode == 0 else "status %d" % done.returncode


if not races.build(("mock_rocm.c", MOCK), ("mock_rocm_app.c", APP)):
    tally.skip("everything", "no C compiler")
else:
    check("all kinds, exactly", exact())
    check("eight threads", exact(threads=8))
    check("a thousand rounds", exact(rounds=1000, threads=4))
    check("a clock far ahead", exact(mock="ahead=%d" % AHEAD))
    check("devices, launches before kernels", devices)
    check("roctx ranges and marks", markers)
    check("names of 9,000 bytes", names_are_kept)
    check("unknown and short records", odd_records)
    check("kernels without times", without_times)
    check("a small buffer: losses counted", dropped)
    check("clock error", clock_error)
    check("no clock", no_clock)
    check("a flush that hangs", hangs)
    check("4,200 queues", many_queues)
    check("killed", killed)
    check("version 0.5", refused("version=500", "1.0 (ROCm 7) or newer"))
    check("no start, exit status kept", refused("nostart", "does not start", 7))
    check("no devices", refused("noagents", "does not tell its devices"))
    check("a kind refused", in_part)
    check("version 2.1", newer)
    check("buffers in the program's threads", own_threads)
    check("a forked child", forks)
    check("paused", paused)
    check("without a recorder", not_ours)
    if races.can_watch():
        # Many rounds: blocks come back from the recorder and are filled by other threads.
        check("no data race", lambda: races.watch("mock_rocm.c", "mock_rocm_app.c", ["4", "20000"], MOCK="room=262144"))
    else:
        tally.skip("no data race", "no ThreadSanitizer")
tally.finish()
