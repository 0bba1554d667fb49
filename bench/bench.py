#!/usr/bin/env python3
"""Speed and memory beside yardsticks measured in the same run.

    make bench
    bench/bench.py [--json-mb 500] [--gz-mb 200] [--nsys-rows 2000000] [--profile FILE] [--only JOB]

Every row is ours, the yardstick's and their ratio, and the goal where there is one. Files are made
in build/bench and kept. All reading is warm: the page cache holds the input, as it does for a file
that was just written.
"""
import argparse
import glob
import gzip
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("NEUROLENS", os.path.join(ROOT, "build", "neurolens"))
FOLDER = os.path.join(ROOT, "build", "bench")
PEER_ROWS = 20000  # a peer that takes minutes for millions is asked for as many
FIXTURE = os.path.join(ROOT, "tests", "fixtures", "torch_cpu_train.json.gz")


class Run:
    """One command: wall seconds, peak memory, and what it said."""

    def __init__(self, command, out=subprocess.PIPE):
        start = time.monotonic()
        self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL)
        self.stdout = self.process.stdout.read() if self.process.stdout else b""
        self.stderr = self.process.stderr.read().decode("utf-8", "replace")
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.wall = time.monotonic() - start
        self.peak = usage.ru_maxrss * 1024
        self.cpu = usage.ru_utime + usage.ru_stime
        if self.process.returncode != 0:
            sys.exit("%s: exit %d\n%s" % (" ".join(command), self.process.returncode, self.stderr))


def best(make, times=3):
    runs = [make() for _ in range(times)]
    return min(runs, key=lambda run: run.wall)


def ours(*words):
    return Run([PROGRAM, *words, "-v", "--ledger", os.path.join(FOLDER, "ledger")])


def loaded(run):
    """Seconds of loading alone, as -v tells them."""
    return float(re.search(r"loaded .* in ([\d.]+) s", run.stderr).group(1))


def row(job, own, yardstick, ratio, goal=""):
    print("%-44s %-18s %-34s %-10s %s" % (job, own, yardstick, ratio, goal), flush=True)


def rate(size, seconds):
    return "%.2f GB/s" % (size / seconds / 1e9)


def make_json(megabytes, suffix=""):
    path = os.path.join(FOLDER, "train-%d.json%s" % (megabytes, suffix))
    if not os.path.exists(path):
        subprocess.run([sys.executable, os.path.join(ROOT, "tools", "scale_chrome.py"), FIXTURE,
                        path + ".part" + suffix, str(megabytes)], check=True,
                       stdout=subprocess.DEVNULL)
        os.rename(path + ".part" + suffix, path)
    return path


NSYS_TABLES = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
  eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,
  returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,
  launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL,
  gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
  blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,
  staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
  localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL,
  gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER,
  sharedMemoryLimitConfig INTEGER);
"""


def make_nsys(rows):
    path = os.path.join(FOLDER, "nsys-%d.sqlite" % rows)
    if os.path.exists(path):
        return path
    chance = random.Random(1)
    partial = path + ".part"
    if os.path.exists(partial):
        os.unlink(partial)
    db = sqlite3.connect(partial)
    db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + NSYS_TABLES)
    db.executemany("INSERT INTO META_DATA_EXPORT VALUES (?, ?)",
                   [("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
                    ("EXPORT_PRODUCT_VERSION", "2025.1.3.140"),
                    ("EXPORT_SCHEMA_VERSION", "3.17.2")])
    db.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'made up')")
    db.executemany("INSERT INTO StringIds VALUES (?, ?)",
                   [(i, "kernel_%d<float, %d>" % (i, i)) for i in range(1, 400)] +
                   [(400, "cudaLaunchKernel_v7000")])
    pid = 1234 << 24
    half = rows // 2
    starts = [1000 * i + chance.randrange(500) for i in range(half)]
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,0,?,?,400,0,NULL)",
                   ((t, t + 400, pid + 1234, i + 1) for i, t in enumerate(starts)))
    db.executemany(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
        "(?,?,0,1,NULL,7,?,?,?,?,NULL,0,0,32,128,1,1,256,1,1,0,16384,0,0,?,NULL,NULL,0)",
        ((t + 600, t + 1400, i + 1, pid, 1 + i % 399, 1 + i % 399, i) for i, t in
         enumerate(starts)))
    db.commit()
    db.close()
    os.rename(partial, path)
    return path


def bench_json(path):
    size = os.path.getsize(path)
    one = best(lambda: ours("info", "--no-cache", "-j1", path))
    two = best(lambda: ours("info", "--no-cache", path))
    words = best(lambda: Run(["wc", "-l", path]))
    row("JSON to store, one thread", rate(size, loaded(one)), "wc -l " + rate(size, words.wall),
        "%.2f x" % (words.wall / loaded(one)), "goal >= 2.0 GB/s")
    row("JSON to store, all threads", rate(size, loaded(two)),
        "one thread " + rate(size, loaded(one)), "%.2f x" % (loaded(one) / loaded(two)),
        "goal >= 3.2 GB/s on two cores")
    row("  peak memory / size of the JSON", "%.0f MB" % (two.peak / 1e6), "%.0f MB" % (size / 1e6),
        "%.2f x" % (two.peak / size), "goal <= 0.25 x")
    simdjson(path, size, loaded(one))
    slice_of_python(path, size, loaded(one))


def simdjson(path, size, own):
    program = os.path.join(FOLDER, "yardstick_simdjson")
    if not shutil.which("c++") or subprocess.run(["pkg-config", "--exists", "simdjson"]).returncode:
        row("  simdjson", "", "not installed (libsimdjson-dev)", "")
        return
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "simdjson"],
                           stdout=subprocess.PIPE).stdout.decode().split()
    built = subprocess.run(["c++", "-O3", "-std=c++17", os.path.join(
        ROOT, "bench", "yardstick_simdjson.cpp"), "-o", program, *flags])
    if built.returncode == 0:
        took = min(float(Run([program, path]).stdout.split()[0]) for _ in range(3))
        row("  the same beside simdjson (parses only)", rate(size, own), rate(size, took),
            "%.2f x" % (took / own))


def slice_of_python(path, size, own):
    with open(make_json(20)) as file:
        text = file.read()
    start = time.monotonic()
    json.loads(text)
    took = time.monotonic() - start
    row("  the same beside Python's json (20 MB)", rate(size, own), rate(len(text), took),
        "%.1f x" % ((took / len(text)) / (own / size)))


def bench_gz(path, megabytes):
    with gzip.open(path) as file:
        size = 0
        while True:
            part = file.read(1 << 24)
            if not part:
                break
            size += len(part)
    run = best(lambda: ours("info", "--no-cache", path))
    unpack = best(lambda: Run(["gzip", "-dc", path], out=subprocess.DEVNULL))
    row("JSON.gz to store (of JSON)", rate(size, loaded(run)), "gzip -dc " +
        rate(size, unpack.wall), "%.2f x" % (unpack.wall / loaded(run)), "goal >= 1.5 GB/s")


def bench_nsys(path, rows):
    run = best(lambda: ours("info", "--no-cache", path))
    program = os.path.join(ROOT, "build", "bench", "yardstick_sqlite")
    took = min(float(Run([program, path]).stdout.split()[0]) for _ in range(3))
    row("nsys SQLite to store", "%.1f M rows/s" % (rows / loaded(run) / 1e6),
        "sqlite3_step %.1f M rows/s" % (rows / took / 1e6), "%.2f x" % (took / loaded(run)),
        "goal >= 15 M rows/s")


def analyze_anew(path):
    """The trace may be cached, the report may not."""
    for kept in glob.glob(os.path.join(FOLDER, "ledger", "cache", "*.nla")):
        os.unlink(kept)
    return ours("analyze", path)


def bench_report(path):
    size = os.path.getsize(path)
    cold = best(lambda: ours("analyze", "--no-cache", path))
    row("analyze, JSON to report", "%.2f s" % cold.wall, "%.0f MB of JSON" % (size / 1e6),
        rate(size, cold.wall), "goal <= 3 s for 3 GB")
    anew = best(lambda: analyze_anew(path), 5)
    row("the same of a cached trace", "%.0f ms" % (anew.wall * 1e3),
        "the first time %.0f ms" % (cold.wall * 1e3), "%.1f x" % (cold.wall / anew.wall))
    again = best(lambda: ours("analyze", path), 5)
    row("analyze again, from the cache", "%.0f ms" % (again.wall * 1e3),
        "computed %.0f ms" % (anew.wall * 1e3), "%.1f x" % (anew.wall / again.wall),
        "goal <= 0.3 s for 10 M events")
    warm = best(lambda: ours("info", path), 5)
    row("re-open an imported profile", "%.0f ms" % (loaded(warm) * 1e3),
        "import %.0f ms" % (loaded(cold) * 1e3), "%.0f x" % (loaded(cold) / loaded(warm)),
        "goal <= 50 ms")
    query = "SELECT name, count(*), sum(dur) FROM slices GROUP BY name ORDER BY 3 DESC LIMIT 5"
    asked = best(lambda: ours("sql", path, query))
    row("  sql: group all slices by name", "%.0f ms" % (asked.wall * 1e3), "", "")


def python_export(path, events):
    """What a script does for the same: rows of the database as Chrome events through Python's json; events a second."""
    out = os.path.join(FOLDER, "python-export.json")
    start = time.monotonic()
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    names = dict(db.execute("SELECT id, value FROM StringIds"))
    query = "SELECT start, end, shortName, streamId, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT %d" % events
    made = [{"ph": "X", "cat": "kernel", "name": names[name], "pid": 0, "tid": stream, "ts": begin / 1e3,
             "dur": (end - begin) / 1e3, "args": {"correlation": correlation}}
            for begin, end, name, stream, correlation in db.execute(query)]
    with open(out, "w") as file:
        json.dump({"traceEvents": made}, file)
    os.unlink(out)
    return len(made) / (time.monotonic() - start)


PROTOBUF = """
import sqlite3, sys, time
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema
start, trace = time.monotonic(), schema.Trace()
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
names, count = dict(db.execute("SELECT id, value FROM StringIds")), 0
for begin, end, name, stream, correlation in db.execute(
        "SELECT start, end, shortName, streamId, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT %s" % sys.argv[2]):
    for at, kind in ((begin, 1), (end, 2)):
        packet = trace.packet.add()
        packet.timestamp, packet.trusted_packet_sequence_id = at, 1
        packet.track_event.type, packet.track_event.track_uuid = kind, stream
        if kind == 1:
            packet.track_event.name = names[name]
            note = packet.track_event.debug_annotations.add()
            note.name, note.int_value = "correlation", correlation
    count += 1
trace.SerializeToString()
print(count / (time.monotonic() - start))
"""


def protobuf_export(path, events):
    """The same trace by Google's protobuf for Python, where `make test-frameworks` put Perfetto's schema; else None."""
    python = os.path.join(ROOT, "build", "venv-exports", "bin", "python")
    if not os.path.exists(python):
        return None
    return float(Run([python, "-c", PROTOBUF, path, str(events)]).stdout)


def peer_export(path, rows):
    """nsys-ai's own export to Perfetto's JSON (kernels and ranges), where it is installed: rows a second of CPU time."""
    peer = shutil.which("nsys-ai") or os.path.join(ROOT, "build", "venv-peer", "bin", "nsys-ai")
    if not os.path.exists(peer):
        return None
    copy, out = os.path.join(FOLDER, "peer.sqlite"), os.path.join(FOLDER, "peer-export")
    shutil.copyfile(path, copy)  # it writes beside its input
    run = Run([peer, "export", copy, "--trim", "0", "1000000", "-o", out])
    shutil.rmtree(out, ignore_errors=True)
    for left in glob.glob(os.path.join(FOLDER, "peer.*")):
        shutil.rmtree(left) if os.path.isdir(left) else os.unlink(left)
    return rows / run.cpu


def bench_export(path):
    """Perfetto traces and pages of an imported profile, and of the file itself."""
    out, page = os.path.join(FOLDER, "export.pftrace"), os.path.join(FOLDER, "report.html")
    count = int(Run([PROGRAM, "sql", path, "SELECT count(*) FROM slices", "--format", "csv", "--ledger",
                     os.path.join(FOLDER, "ledger")]).stdout.split()[-1])
    theirs = python_export(path, 200000)
    for name, words in (("export to Perfetto, imported profile", ()), ("  the same from the file", ("--no-cache",))):
        run = best(lambda: ours("export", path, "--to", "perfetto", "-o", out, *words))
        row(name, "%.2f s, %.2f M/s" % (run.wall, count / run.wall / 1e6), "Python's json %.2f M events/s" % (theirs / 1e6),
            "%.0f x" % (count / run.wall / theirs), "goal >= 2 M events/s (10 M in 5 s)")
    for name, rate_ in (("Python's protobuf", protobuf_export(path, 100000)), ("nsys-ai export", peer_export(make_nsys(PEER_ROWS), PEER_ROWS))):
        row("  beside " + name, "%.2f M/s of CPU time" % (count / run.cpu / 1e6),
            "%.3f M events/s" % (rate_ / 1e6) if rate_ else "not installed", "%.0f x" % (count / run.cpu / rate_) if rate_ else "")
    size = os.path.getsize(out)
    row("  peak memory / size of the trace", "%.0f MB" % (run.peak / 1e6), "%.0f MB" % (size / 1e6), "%.2f x" % (run.peak / size))
    made = best(lambda: ours("report", path, "-o", page))
    row("page of the report", "%.2f MB in %.2f s" % (os.path.getsize(page) / 1e6, made.wall),
        "export to Perfetto %.2f s" % run.wall, "%.1f x" % (run.wall / made.wall), "goal <= 3 MB")
    os.unlink(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json-mb", type=int, default=500)
    parser.add_argument("--gz-mb", type=int, default=200)
    parser.add_argument("--nsys-rows", type=int, default=2000000)
    parser.add_argument("--profile", help="a Kineto JSON to use instead of the made one")
    parser.add_argument("--only", choices=("json", "gz", "nsys", "export", "report"), help="this job alone")
    wanted = parser.parse_args()
    os.makedirs(FOLDER, exist_ok=True)
    print("%s, %d processors" % (PROGRAM, len(os.sched_getaffinity(0))))
    row("job", "ours", "yardstick", "ratio", "")
    jobs = {"json": lambda: bench_json(wanted.profile or make_json(wanted.json_mb)),
            "gz": lambda: bench_gz(make_json(wanted.gz_mb, ".gz"), wanted.gz_mb),
            "nsys": lambda: bench_nsys(make_nsys(wanted.nsys_rows), wanted.nsys_rows),
            "export": lambda: bench_export(make_nsys(wanted.nsys_rows)),
            "report": lambda: bench_report(wanted.profile or make_json(wanted.json_mb))}
    for name, job in jobs.items():
        if wanted.only in (None, name):
            job()


main()
