#!/usr/bin/env python3
"""Speed and memory of every reader on its largest sample, beside a yardstick of the same run.

    make bench-readers
    bench/bench_readers.py [--mb 32] [FORMAT ...]

Samples below --mb are made larger by repeating their records (enlarge.py) and kept in build/bench.
MB are 10^6 bytes of the file, decompressed. Time is what one core computed, user and system, for the
whole command with one thread and no cache, start-up and exit included; the least of five runs.
The yardstick reads the same bytes: Python's json, pickle, marshal or SQLite where the format is
one of those, else `wc` (lines, words, bytes).
"""
import argparse
import glob
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("NEUROLENS", os.path.join(ROOT, "build", "neurolens"))
FOLDER = os.path.join(ROOT, "build", "bench")
SAMPLES = os.path.join(ROOT, "..", "shared", "samples")
CORPUS = os.path.join(ROOT, "tests", "corpus")
GOALS = {"text": 150, "binary": 300}
MEMORY_GOAL, MEMORY_BASE = 0.5, 16e6

# format, sample below ../shared/samples or tests/corpus, how it is made larger, kind, yardstick
READERS = [
    ("nsys", "nsys/*mfu_2gpu_before.sqlite", "sqlite", "binary", "sqlite"),
    ("xplane", "xplane/*/*/*/*/GPU-multi-worker/*6003.xplane.pb", "xplane", "binary", "wc"),
    ("onnxruntime", "ort/*/py1.23_cpu_ultraface_2026*.json", "ort", "text", "json"),
    ("tensorrt", "tensorrt/*/*/*/*/*/*/*mobilenet.qat.onnx.engine.timing.json", "tensorrt",
     "text", "json"),
    ("pstats", "pstats/Wedsonlin*/*.prof", "pstats", "binary", "marshal"),
    ("scalene", "scalene/zhiihan*/*.json", "scalene", "text", "json"),
    ("kineto", "torch/CodingPlatelets*/*/*.json", "chrome", "text", "json"),
    ("viztracer", "viztracer/H00Hong*/*.json", "chrome", "text", "json"),
    ("ncu", "ncu/eschnett*/*.ncu-rep", "ncurep", "binary", "wc"),
    ("ncu-csv raw", "ncu/*/MgMap*.raw.csv", "table", "text", "wc"),
    ("ncu-csv details", "ncu/*/MgMap*.details.csv", "table", "text", "wc"),
    ("speedscope", "speedscope/yuntongf*/*.json", "speedscope", "text", "json"),
    ("pyinstrument", "pyinstrument/*/*/*/sympy_calculation.json", "pyinstrument", "text",
     "json"),
    ("v8-profile", "v8profile/node.cpuprofile", "v8profile", "text", "json"),
    ("perf", "perf/*/*/*/xwax.perf", "lines", "text", "wc"),
    ("collapsed", "collapsed/*/*/*/*/*/example-perf-stacks-collapsed.txt", "lines", "text",
     "wc"),
    ("nvprof", "nvprof/*/*/*citeseer.nvvp", "sqlite", "binary", "sqlite"),
    ("rocpd", "rocpd/one_process.db", "sqlite", "binary", "sqlite"),
    ("rpd", "rocprof/*/*/*/*/matmul_result_large.rpd", "sqlite", "binary", "sqlite"),
    ("rocprofv3", "rocprof/AMD*/*/*/908_results.json.gz", "rocjson", "text", "json"),
    ("rocprof wide", "rocprof/*/*/*/*/*/*pmc_perf.csv", "table", "text", "wc"),
    ("rocprof counters", "rocprof/*/*/*/prefill_stall_counter_collection.csv", "table",
     "text", "wc"),
    ("nvprof-csv", "nvprofcsv/gpu_trace.csv", "table", "text", "wc"),
    ("pprof", "pprof/modern.pb", "pprof", "binary", "wc"),
    ("flight-recorder", "flight_recorder/*/*/*/*/*/gpu_error_1st/_dump_14", "flightrec", "binary",
     "pickle"),
    ("torch-memory", "torch_mem/Wedsonlin*/*/medium_128_training*.pickle", "torchmem",
     "binary", "pickle"),
    ("execution-trace", "torch_et/*/*/*/*/resnet_et.json.gz", "torchet", "text", "json"),
    ("perfetto", "perfetto/Gracker*/*/*/*api32_startup_warm.perfetto-trace", "perfetto",
     "binary", "wc"),
    ("gpu-telemetry", "gputelemetry/query.csv", "table", "text", "wc"),
    ("gpu-telemetry, no header", "gpu_telemetry/dst915*/*gpu_stats.csv", "lines", "text",
     "wc"),
    ("nccl-log", "nccl/Timez-zx*/nccl.log", "lines", "text", "wc"),
]


def sample(pattern):
    for folder in (SAMPLES, CORPUS):
        found = sorted(glob.glob(os.path.join(folder, pattern)), key=os.path.getsize)
        if found:
            return found[-1]
    return None


def large(name, source, make, size):
    """The sample itself when it is large enough, else one made of it."""
    if os.path.getsize(source) >= size:
        return source
    end = "".join(os.path.splitext(source.removesuffix(".gz"))[1:])
    plain = name.replace(",", "").replace(" ", "-")
    path = os.path.join(FOLDER, "%s-%d%s" % (plain, size // 10**6, end))
    if not os.path.exists(path):
        part = os.path.join(FOLDER, "part" + end)
        subprocess.run([sys.executable, os.path.join(ROOT, "bench", "enlarge.py"), make, source,
                        part, str(size)], check=True)
        os.rename(part, path)
    return path


def cost(command):
    """(seconds of one core, peak memory in bytes) of a command. The peak is never told as less than
    that of this process, which therefore holds nothing large."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit("%s: exit %d\n%s" % (" ".join(command), process.returncode, said.decode()))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


STEP_ALL = """
import sqlite3, sys
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
for name, in list(db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")):
    for _ in db.execute('SELECT * FROM "%s"' % name): pass
"""
LOAD = "import {0}, sys; {0}.load(open(sys.argv[1], 'rb'))"


def yardstick(kind, path):
    program = STEP_ALL if kind == "sqlite" else LOAD.format(kind)
    command = ["wc", path] if kind == "wc" else [sys.executable, "-c", program, path]
    return min(cost(command)[0] for _ in range(2))


def measure(name, path, kind, beside):
    size = os.path.getsize(path)
    command = [PROGRAM, "info", "--no-cache", "-j1", "--ledger", os.path.join(FOLDER, "ledger"),
               path]
    runs = [cost(command) for _ in range(5)]
    own, peak = min(seconds for seconds, _ in runs), min(memory for _, memory in runs)
    other = yardstick(beside, path)
    rate, goal = size / own / 1e6, GOALS[kind]
    fits = peak <= MEMORY_GOAL * size + MEMORY_BASE
    fast = rate >= goal
    verdict = ("OK" if fast else "below") + ("" if fits else ", memory over %.1f x" % MEMORY_GOAL)
    print("%-25s %5.0f MB %6.0f MB/s %-8s %6.0f MB/s %6.1f x  >= %3d  %.2f x  %s" % (
        name, size / 1e6, rate, beside, size / other / 1e6, other / own, goal, peak / size,
        verdict), flush=True)
    return fast, fits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mb", type=int, default=32)
    parser.add_argument("formats", nargs="*")
    wanted = parser.parse_args()
    os.makedirs(FOLDER, exist_ok=True)
    print("reader                      size        ours beside     that       ratio    goal  "
          "peak/size")
    results = []
    for name, pattern, make, kind, beside in READERS:
        if wanted.formats and name.split(" ")[0].strip(",") not in wanted.formats:
            continue
        source = sample(pattern)
        if not source:
            print("%-25s skipped: no ../shared" % name)
            continue
        results.append(measure(name, large(name, source, make, wanted.mb * 10**6), kind, beside))
    print("of %d readers, %d reach the goal of speed and %d that of memory" % (
        len(results), sum(fast for fast, _ in results), sum(fits for _, fits in results)))


if __name__ == "__main__":
    main()
