#!/usr/bin/env python3
"""Recording of GPU work without a GPU: tests/record/mock_cupti.c stands in for NVIDIA's libcupti, mock_app.c for a
program and its driver. The recording must be what the program wrote down of itself, nothing may be lost without being
counted, and the program must not notice, whatever libcupti does."""
import csv
import glob
import io
import json
import os
import re
import shutil
import subprocess
import time

import races
from harness import Noise, Tally, calmly, neurolens, scratch

tally = Tally("record_gpu")
MOCK = os.path.join(scratch(), "libmock_cupti.so")
APP = os.path.join(scratch(), "mock_app")
NVML = os.path.join(scratch(), "libmock_nvml.so")


# What is asserted here is the GPU's side. Samples of the CPU have coverage of their own, which the load decides.
ENERGY_KNOWN = 0.8  # share of the time in which power must have been read: src/compare/stepenergy.h
READINGS_FEW = 8  # readings of power in a recording; a calm machine makes 22 in a second
NO_SAMPLES = ["--sample-rate", "0", "--switches", "off"]


class Run:
    """One recorded run of the mock program; .truth is what it says it did: (pid, kind, values…)."""
    count = 0

    def __init__(self, words=(), mock="", threads=2, rounds=400, options=(), extra=None, library=MOCK):
        Run.count += 1
        self.path = os.path.join(scratch(), "g%d.nlt" % Run.count)
        truth = os.path.join(scratch(), "truth%d" % Run.count)
        environment = {"MOCK": mock, "NEUROLENS_CUPTI": library}
        environment.update(extra or {})
        begun = time.monotonic()
        self.done = neurolens(["run", "-o", self.path] + NO_SAMPLES + list(options) +
                              ["--", APP, MOCK, truth, str(threads), str(rounds)] + list(words),
                              extra=environment, timeout=120)
        self.seconds = time.monotonic() - begun
        self.truth = []
        for name in glob.glob(truth + ".*"):
            with open(name) as file:
                self.truth += [[int(name.rsplit(".", 1)[1])] + row for row in csv.reader(file)]
            os.unlink(name)

    def sql(self, query):
        done = neurolens(["sql", "--no-cache", "--absolute", "--format", "csv", self.path, query], timeout=60)
        if done.status != 0:
            raise AssertionError(done.describe())
        return list(csv.reader(io.StringIO(done.stdout)))[1:]

    def coverage(self):
        return {row[0]: int(row[1]) for row in self.sql("SELECT item, sum(count) FROM coverage GROUP BY item")}

    def made(self, kind):
        """The program's own rows of a kind, without the kind."""
        return [[str(row[0])] + row[2:] for row in self.truth if row[1] == kind]

    def remove(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        shutil.rmtree(self.path + ".parts", True)


def check(name, test):
    try:
        problem = calmly(test)
    except (AssertionError, IndexError, KeyError, ValueError, OSError, subprocess.SubprocessError) as wrong:
        problem = "%s: %s" % (type(wrong).__name__, wrong)
    tally.check(name, not problem, problem or "")


# ---- everything, exactly ----

QUERIES = {
    "kernel": "SELECT process, name, ts, ts + dur, device, context, stream, correlation, grid_x, grid_y, grid_z, block_x, "
              "block_y, block_z, registers, static_shared_bytes, dynamic_shared_bytes, coalesce(graph, 0), "
              "coalesce(graph_node, 0) FROM kernels",
    "copy": "SELECT process, kind, ts, ts + dur, device, context, stream, correlation, bytes, src_memory, dst_memory, "
            "src_device, dst_device FROM copies",
    "memset": "SELECT s.process, m.value, m.ts, m.ts + m.dur, m.device, l.context, m.stream, m.correlation, m.bytes "
              "FROM memsets m JOIN slices s ON s.id = m.slice JOIN lanes l ON l.id = s.lane",
    "sync": "SELECT process, kind, ts, ts + dur, device, stream, correlation FROM syncs",
    "memory": "SELECT l.pid, m.action, m.ts, m.address, m.bytes, m.device FROM memory m JOIN lanes l ON l.id = m.lane "
              "WHERE m.kind = 'device'",
    "graph": "SELECT l.pid, graph, g.ts, g.ts + g.dur, g.device, g.correlation FROM graph_launches g "
             "JOIN slices s ON s.id = g.slice JOIN lanes l ON l.id = s.lane",
    "call": "SELECT process, name, ts, ts + dur, thread, correlation FROM api",
}
# What is left out on purpose: a call that only asks, and all calls of the driver but launches.
LEFT_OUT = ("cudaGetDevice_v3020", "cuCtxGetCurrent")


def function(name):
    head, _, tail = name.rpartition("_")
    return head if head and (tail == "ptsz" or tail.startswith("v") and len(tail) > 4) else name


def wanted(run, kind):
    rows = run.made(kind)
    if kind == "call":
        rows = [[row[0], function(row[1])] + row[2:] for row in rows if row[1] not in LEFT_OUT]
    return sorted(rows)


def differs(run, status=0, kinds=tuple(QUERIES)):
    """The first difference between what was done and what was recorded, or None."""
    if run.done.status != status:
        return run.done.describe()
    for kind in kinds:
        want, got = wanted(run, kind), sorted(run.sql(QUERIES[kind]))
        if want != got:
            missing = [row for row in want if row not in got][:3]
            extra = [row for row in got if row not in want][:3]
            return "%s: %d, want %d; missing %s; extra %s\n%s" % (kind, len(got), len(want), missing, extra,
                                                                  run.done.describe())
    return None


def clean(run):
    """Nothing to be complained of."""
    items = run.coverage()
    return "coverage: %s" % items if items else None


def exact(words=(), mock="", **more):
    def test():
        run = Run(words, mock, **more)
        problem = differs(run) or clean(run)
        run.remove()
        return problem
    return test


def links():
    """Every kernel, copy and fill hangs from the call with its correlation id, in its own process."""
    run = Run(["gpus=2", "procs=2"], threads=4, rounds=100)
    wrong = run.sql("SELECT count(*) FROM (SELECT launch, correlation, process FROM kernels UNION ALL "
                    "SELECT launch, correlation, process FROM copies) w LEFT JOIN api a ON a.slice = w.launch "
                    "WHERE a.correlation IS NULL OR a.correlation <> w.correlation OR a.process <> w.process")
    run.remove()
    return None if wrong == [["0"]] else "%s kernels and copies without their call" % wrong


def devices():
    run = Run(["gpus=3"], threads=3, rounds=20)
    rows = run.sql("SELECT ordinal, name, sm_count, memory_bytes, bandwidth_bytes_per_s, clock_hz, compute_major, "
                   "max_warps_per_sm, warp_size, uuid FROM devices ORDER BY ordinal")
    pool = run.sql("SELECT action, total_reserved, kind FROM memory WHERE kind = 'memory pool'")
    rest = run.sql("SELECT s.name, l.kind FROM slices s JOIN lanes l ON l.id = s.lane WHERE s.kind = 'overhead'")
    run.remove()
    want = [[str(i), "Mock GPU", "132", str(141 << 30), "4800000000", "1980000000", "9", "64", "32",
             "GPU-010203%02x-0000-0000-0000-000000000000" % i] for i in range(3)]
    if rows != want or pool != [["pool_created", str(1 << 25), "memory pool"]]:
        return "%s %s" % (rows, pool)
    return None if rest == [["CUPTI: flushing a buffer", "overhead"]] else "overhead: %s" % rest


def paging():
    """Pages that moved are copies, what else happened to them slices of the device; without the option, nothing of it."""
    run = Run(["gpus=2"], options=["--unified-memory"], rounds=200)
    problem = differs(run, kinds=("kernel", "call")) or clean(run)
    for kind, query in (("migration", "SELECT process, kind, ts, ts + dur, device, bytes FROM copies WHERE kind LIKE 'UVM%'"),
                        ("paging", "SELECT s.process, s.name, s.ts, s.ts + s.dur, d.ordinal FROM slices s JOIN lanes l ON l.id = s.lane "
                                   "LEFT JOIN devices d ON d.id = l.device WHERE s.kind = 'overhead' AND l.kind = 'device'")):
        want, got = sorted(run.made(kind)), sorted(run.sql(query))
        if not problem and (want != got or not want):
            problem = "%s: %s, want %s" % (kind, got[:2], want[:2])
    run.remove()
    return problem


def no_paging():
    run = Run(mock="nounified", options=["--unified-memory"], rounds=20)
    items, problem = run.coverage(), differs(run)
    run.remove()
    return problem or (None if list(items) == ["unified memory not recorded"] else str(items))


def compiling():
    run = Run(["jit"], rounds=200)
    want = sorted(run.made("jit"))
    got = sorted(run.sql("SELECT process, name, ts, ts + dur FROM slices WHERE kind = 'compile'"))
    problem = differs(run) or clean(run)
    run.remove()
    return problem or (None if want == got and want else "%s, want %s" % (got[:2], want[:2]))


def names():
    """Names over 4,095 bytes are cut, and it is told."""
    run = Run(["huge"], rounds=30)
    items = run.coverage()
    lengths = run.sql("SELECT DISTINCT length(name) FROM kernels WHERE name LIKE 'hhh%'")
    count = run.sql("SELECT count(*) FROM kernels WHERE name LIKE 'hhh%'")
    run.remove()
    if list(items) != ["cut: names over 4,095 bytes"] or count != [["20"]]:
        return "%s %s" % (items, count)
    return None if lengths == [["4093"]] else "lengths %s" % lengths


def wall_clock():
    """A libcupti that takes no clock of ours: its times are moved to the recording's."""
    run = Run(mock="wall", rounds=200)
    want = sorted((row[1], int(row[8]), int(row[3]), int(row[4])) for row in
                  ([r[0]] + r for r in run.made("kernel")))
    got = sorted((name, int(c), int(ts), int(end)) for name, c, ts, end in
                 run.sql("SELECT name, correlation, ts, ts + dur FROM kernels"))
    shift = time.time_ns() - time.monotonic_ns()
    run.remove()
    worst = max((abs(w[2] - shift - g[2]) for w, g in zip(sorted(want, key=lambda r: r[1:3]),
                                                          sorted(got, key=lambda r: r[1:3]))), default=1 << 62)
    same = sorted(w[3] - w[2] for w in want) == sorted(g[3] - g[2] for g in got)
    if not same:
        return "other lengths"
    return None if worst < 5000000 else Noise("off by %d ns" % worst)


def clock_error():
    """Times moved from another clock say how far they may be off; those of ours say nothing of the kind."""
    problem = None
    for mock, told in (("wall", True), ("", False)):
        run = Run(mock=mock, rounds=50)
        rows = run.sql("SELECT CAST(value AS INTEGER) FROM metadata WHERE key = 'GPU clock error (ns)'")
        run.remove()
        if bool(rows) != told or any(int(row[0]) <= 0 for row in rows):
            problem = "%s: %s" % (mock or "ours", rows)
        elif any(int(row[0]) >= 5000000 for row in rows):
            problem = problem or Noise("%s: %s" % (mock, rows))
    return problem


def skewed():
    """A device clock that is 50 us behind, or even with ours: what contradicts the launches is told, in
    coverage, in the analysis and as a finding; no time is moved."""
    run = Run(["skew=-50000"], threads=1, rounds=100)
    problem = differs(run, kinds=("kernel", "copy"))
    items = run.coverage()
    done = neurolens(["analyze", "--no-cache", "--section", "clock", "--format", "json", run.path], timeout=60)
    row = json.loads(done.stdout)["result"]["clock"][0]
    early = int(run.sql("SELECT count(*) FROM (SELECT ts, launch FROM kernels UNION ALL SELECT ts, launch FROM copies UNION ALL "
                        "SELECT s.ts, s.link FROM memsets m JOIN slices s ON s.id = m.slice UNION ALL "
                        "SELECT s.ts, s.link FROM graph_launches g JOIN slices s ON s.id = g.slice) w "
                        "JOIN slices c ON c.id = w.launch WHERE w.ts < c.ts")[0][0])
    worst = int(run.sql("SELECT max(c.ts - w.ts) FROM kernels w JOIN slices c ON c.id = w.launch")[0][0])
    found = neurolens(["analyze", "--no-cache", "--section", "findings", run.path], timeout=60).stdout
    run.remove()
    if problem:
        return problem
    if not early or row["early"] != early or items.get("clock: device work before its launch") != early:
        return "%d early, told %s, %s" % (early, row, items)
    if row["worst_early_ns"] < worst or not 0 < row["shift_ns"] <= 50000 or row["least_ns"] != row["worst_early_ns"]:
        return "worst %d: %s" % (worst, row)
    return None if "contradict each other" in found else "no finding: %s" % found


# ---- the answers ----

def union(spans):
    total, behind = 0, 0
    for start, end in sorted(spans):
        if end > behind:
            total += end - max(start, behind)
            behind = end
    return total


def breakdown():
    """The breakdown against sums over the program's own account."""
    run = Run(["gpus=2"], threads=2, rounds=500)
    done = neurolens(["analyze", "--no-cache", "--section", "time_breakdown", "--format", "json", run.path], timeout=60)
    rows = {row["device"]: row for row in json.loads(done.stdout)["result"]["breakdown"]}
    problem = None if len(rows) == 2 else "%d devices" % len(rows)
    for device, row in rows.items():
        spans = {kind: [(int(r[2]), int(r[3])) for r in run.made(kind) if int(r[4]) == device]
                 for kind in ("kernel", "copy", "memset")}
        work = sum(spans.values(), [])
        begin, end = min(s for s, _ in work), max(e for _, e in work)
        busy, compute = union(work), union(spans["kernel"])
        want = (end - begin, compute, busy - compute, end - begin - busy, len(spans["kernel"]), len(spans["copy"]),
                len(spans["memset"]))
        got = tuple(row[key] for key in ("wall_ns", "compute_ns", "exposed_copy_ns", "idle_ns", "kernels", "copies",
                                         "memsets"))
        if want != got:
            problem = "device %d: %s, want %s" % (device, got, want)
    run.remove()
    return problem


# ---- losses are counted ----

def counted(mock, item, kinds=("kernel", "copy", "memset", "sync", "memory", "graph", "call"), words=(), **more):
    """Found and lost are what was made."""
    def test():
        run = Run(words, mock, **more)
        if run.done.status:
            return run.done.describe()
        made = sum(len(wanted(run, kind)) for kind in kinds)
        others = {"devices": 1, "contexts": 1, "streams": 1, "overheads": 1, "pools": 1}
        found = sum(int(run.sql("SELECT count(*) FROM (%s)" % QUERIES[kind])[0][0]) for kind in kinds)
        lost = run.coverage().get(item, 0)
        run.remove()
        # Those of the few that the account does not list may be among the lost.
        if not lost or not made <= found + lost <= made + len(others):
            return "%d found + %d lost of %d made" % (found, lost, made)
        return None
    return test


def strange():
    run = Run(mock="strange=7")
    items = run.coverage()
    problem = differs(run)
    run.remove()
    if list(items) != ["skipped: GPU records of unknown kinds"] or not items.popitem()[1] > 100:
        return str(items)
    return problem


def broken():
    run = Run(mock="broken=1,small=200")
    items = run.coverage()
    problem = differs(run)
    run.remove()
    if list(items) != ["skipped: GPU buffers damaged from some record on"] or not items.popitem()[1] > 10:
        return str(items)
    return problem


def window():
    """A window that never opens: the program's GPU work is not in the recording, and nothing is missing of it."""
    run = Run(rounds=50, options=["--paused"])
    rows = run.sql("SELECT (SELECT count(*) FROM kernels), (SELECT count(*) FROM api)")
    run.remove()
    return None if rows == [["0", "0"]] else str(rows)


# ---- what can go wrong ----

def cpu_only(reason, mock="", library=MOCK, status=0, words=(), extra=None):
    """The program runs as ever, the recording and the report say why there is no GPU work."""
    def test():
        run = Run(["exit=%d" % status] + list(words), mock, library=library, extra=extra, rounds=20)
        details = [row[0] for row in run.sql("SELECT detail FROM coverage WHERE item = 'GPU work not recorded'")]
        kernels = run.sql("SELECT count(*) FROM kernels")
        run.remove()
        if run.done.status != status or kernels != [["0"]]:
            return run.done.describe()
        if len(details) != 1 or reason not in details[0] or reason not in run.done.stderr:
            return "%s\n%s" % (details, run.done.describe())
        return None
    return test


def holder():
    """Who holds CUPTI is told by the libraries that are there."""
    library = os.path.join(scratch(), "libToolsInjection64.so")
    shutil.copy(MOCK, library)
    return cpu_only("in use by another tool: Nsight Systems", "held", library=library)()


def newer():
    run = Run(mock="version=150000", rounds=50)
    items = run.coverage()
    problem = differs(run)
    run.remove()
    return problem or (None if list(items) == ["GPU work recorded with a CUPTI newer than is known"] else str(items))


def cut_short(words, status):
    """Ends that give no chance to flush: what was handed over is there, and the rest is told of."""
    def test():
        run = Run(words, "small=100", rounds=300)
        items = run.coverage()
        kernels = int(run.sql("SELECT count(*) FROM kernels")[0][0])
        run.remove()
        if run.done.status != status or "GPU recording cut short" not in items:
            return "%s\n%s" % (items, run.done.describe())
        return None if 0 < kernels <= len(run.made("kernel")) else "%d kernels" % kernels
    return test


def hang():
    run = Run(["exit=4"], "hang,small=100", rounds=300)
    items = run.coverage()
    run.remove()
    if run.done.status != 4 or "GPU recording cut short" not in items or run.seconds <= 4.5:
        return "%.1f s, %s\n%s" % (run.seconds, items, run.done.describe())
    return None if run.seconds < 15 else Noise("%.1f s" % run.seconds)


def fatal():
    run = Run(["exit=5"], "fatal=500", rounds=300)
    items = run.coverage()
    run.remove()
    if run.done.status != 5 or "GPU recording ended by a fatal error of CUPTI" not in items:
        return "%s\n%s" % (items, run.done.describe())
    return None


def idle():
    """CUDA is begun and not used: nothing is flushed, which could wait for ever."""
    run = Run(["idle", "exit=6"], "hang")
    problem = run.done.describe() if run.done.status != 6 else clean(run)
    run.remove()
    return problem or (None if run.seconds <= 4 else Noise("%.1f s" % run.seconds))


def own_cost():
    """The report has the processor time of the thread that reads records, once per record of it."""
    run = Run()
    told = run.sql("SELECT value FROM metadata WHERE key = 'GPU records: processor time (ns)'")
    events = run.sql("SELECT sum(CAST(value AS INTEGER)) AS n FROM metadata WHERE key IN "
                     "('recorded events: GPU work', 'recorded events: GPU API calls')")
    line = re.search(r"overhead of GPU records: .* on a thread of its own \(.*\): ([\d,]+) ns a record", run.done.stderr)
    run.remove()
    each = int(told[0][0]) / int(events[0][0]) if len(told) == 1 else 0
    if line and 0 < int(told[0][0]) < run.seconds * 1e9 and abs(int(line[1].replace(",", "")) - each) <= 1:
        return None
    return "%s %s\n%s" % (told, events, run.done.stderr)


def other_tool():
    """Another tool's library stays in its variable, and it is said."""
    run = Run(rounds=5, extra={"CUDA_INJECTION64_PATH": "/nonexistent/tool.so"})
    run.remove()
    said = "CUDA_INJECTION64_PATH names another tool's library" in run.done.stderr
    return None if run.done.status == 0 and said else run.done.describe()


def without_recorder():
    truth = os.path.join(scratch(), "alone")
    done = subprocess.run([APP, MOCK, truth, "1", "10", "exit=7"], timeout=20)
    return None if done.returncode == 7 else "status %d" % done.returncode


def no_driver():
    run = Run(rounds=1)
    run.remove()
    there = any(os.path.exists(path) for path in ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg"))
    said = "not recorded: CUDA: no NVIDIA driver" in run.done.stderr
    return None if said != there else run.done.describe()


def energy_or_busy():
    """On a machine that is too busy to read power for most of the time again and again there is no energy, and that was held."""
    problem = calmly(energy)
    return None if isinstance(problem, Noise) else problem


def energy():
    """Power, energy and kernels of one recording: rank integrates what was read over the time compared, and prices it. The power
    is 612.5 W throughout, and the energy counter goes up accordingly. Pauses make the recordings a second long on any machine:
    power is read ten times a second."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "record", "nvmlmock.c")
    subprocess.run([races.compiler(), "-O1", "-shared", "-fPIC", "-o", NVML, source], check=True)
    runs = [Run(["pause=10000"], threads=1, rounds=rounds, extra={"NEUROLENS_NVML": NVML, "NVML_MOCK": mock})
            for mock, rounds in (("metered", 1600), ("metered", 1632), ("unsupported", 1600))]
    spans = [float(run.sql("SELECT max(ts + dur) - min(ts) FROM (SELECT ts, dur FROM kernels UNION ALL SELECT ts, dur FROM copies "
                           "UNION ALL SELECT ts, dur FROM memsets UNION ALL SELECT ts, dur FROM graph_launches)")[0][0]) for run in runs]
    done = neurolens(["rank", runs[0].path, runs[1].path, "--price", "mock=7.2", "--format", "json", "--quiet"], timeout=60)
    none = neurolens(["rank", runs[0].path, runs[2].path, "--quiet"], timeout=60)
    answer = json.loads(done.stdout)["result"]
    cost = {row["candidate"]: row for row in answer["cost"]}
    powers = [len(run.sql("SELECT DISTINCT ts FROM counters WHERE name IN ('GPU power', 'GPU energy')")) for run in runs]
    for run in runs:
        run.remove()
    if done.status or none.status or "energy (record power" not in " ".join(none.stdout.split()):
        return done.describe() + none.describe()
    for run, span, read in list(zip(runs, spans, powers))[:2]:
        row = cost[run.path]
        price = 7.2 * span / 3.6e12
        if not abs(row["price_usd"] - price) <= 1e-6 * price:
            return "price %s, not %g" % (row, price)
        known = row["energy_known_share"]
        if row["energy_j"] is None and (known is None and read < READINGS_FEW or known is not None and known < ENERGY_KNOWN):
            return Noise("power was read %d times, in %s of the time" % (read, known))
        if row["energy_j"] is None:
            return "no energy, though power was read %d times, in %s of the time" % (read, known)
        if not abs(row["power_w"] / 612.5 - 1) < 0.01 or not abs(row["energy_j"] / (612.5 * span / 1e9) - 1) < 0.01:
            return "%s, not 612.5 W over %g ns" % (row, span)
    least = min(cost.values(), key=lambda row: row["energy_j"])["candidate"]
    choice = {row["aim"]: row["choose"] for row in answer["recommendation"]}
    return None if choice["energy"] == least else "%s, not %s" % (choice, least)


def thread_sanitizer():
    return races.watch("mock_cupti.c", "mock_app.c", ["4", "2000", "gpus=2"], MOCK="small=100", NEUROLENS_CUPTI="{mock}")


def main():
    if not races.build(("mock_cupti.c", MOCK), ("mock_app.c", APP)):
        tally.skip("all", "no C compiler")
        tally.finish()
    for name, test in (
            ("everything, exactly", exact()), ("CUDA 11.8", exact(mock="version=18")),
            ("CUDA 12.5", exact(mock="version=23")), ("CUDA 13.0", exact(mock="version=130001")),
            ("records last first", exact(mock="reverse,small=500")),
            ("buffers of 40 records", exact(mock="small=40", rounds=100)),
            ("whole graphs", exact(options=["--graphs", "whole"])),
            ("16 threads, 8 GPUs", exact(["gpus=8"], threads=16, rounds=100)),
            ("5 processes, 2 GPUs", exact(["gpus=2", "procs=4"], threads=2, rounds=100)),
            ("begun twice", exact(["twice"], rounds=50)),
            ("a fork after CUDA began", exact(["fork"], rounds=100)),
            ("links", links), ("devices, pools, overhead", devices), ("unified memory", paging),
            ("unified memory that cannot be had", no_paging), ("compiling", compiling), ("huge names", names),
            ("the wall's clock", wall_clock), ("clock error", clock_error),
            ("a skewed device clock", skewed), ("breakdown", breakdown), ("energy and price", energy_or_busy),
            ("dropped by CUPTI", counted("droppy=10", "dropped: GPU records")),
            ("kernels without times", counted("", "skipped: GPU work without a time", kinds=("kernel",),
                                              words=["zero=5"])),
            ("no buffers left", counted("small=1", "dropped: GPU records", threads=8, rounds=4000)),
            ("unknown kinds", strange), ("damaged buffers", broken), ("a closed window", window),
            ("CUPTI is held by another", cpu_only("in use by another tool", "held", status=3)),
            ("the tool that holds CUPTI", holder),
            ("CUPTI names its holder", cpu_only("in use by another tool: CUPTI for another profiler", "held,named")),
            ("CUPTI cannot be used", cpu_only("error 999", "nodriver", status=2)),
            ("no libcupti", cpu_only("was not found", library="/nonexistent/libcupti.so", status=1)),
            ("no libcupti but another library", cpu_only("libcupti has no cuptiGetVersion", library="libm.so.6")),
            ("a CUPTI too old", cpu_only("version 17", "version=17")), ("a CUPTI too new", newer),
            ("_exit", cut_short(["_exit", "exit=9"], 9)), ("SIGKILL", cut_short(["kill"], -9)),
            ("a flush that hangs", hang), ("a fatal error", fatal), ("idle", idle), ("own cost", own_cost),
            ("another tool's injection", other_tool), ("without a recorder", without_recorder),
            ("no driver", no_driver)):
        check(name, test)
    if races.can_watch():
        check("no data race", thread_sanitizer)
    else:
        tally.skip("no data race", "no ThreadSanitizer")
    tally.finish()


main()
