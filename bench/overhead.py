#!/usr/bin/env python3
"""What recording costs ten programs, as ratios to the same program without a recorder.

    make bench-overhead
    bench/overhead.py [--starts 6] [--seconds 10] [--python PYTHON] [--markdown] [WORKLOAD…]

Of every workload four processes are started: bare, bare again (how far equal programs differ here), under `neurolens run`
and under `neurolens run --python trace`. They take turns: a piece of work (some ten to hundreds of milliseconds) of each, in
an order that changes, again and again. A round's ratio compares pieces that ran within the same second, so what else the
machine does is in both. Measured is processor time of the program, its threads and its children, in the kernel and outside
of it; wall time is shown beside. All of that is repeated with fresh processes (--starts), since equal processes differ by how
their memory lies; the figure of a start is the median of its rounds, the result the median of the starts, with their range.

What the recorder takes beside the program, and how much longer the program's start takes, stand in columns of their own.
Needs numpy, scikit-learn, torch and onnxruntime (NEUROLENS_WITH_TORCH=1 NEUROLENS_WITH_SKLEARN=1 tools/test_frameworks.sh);
workloads whose modules are missing are left out.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("NEUROLENS", os.path.join(ROOT, "build", "neurolens"))
FOLDER = os.path.join(ROOT, "build", "bench")
PROGRAMS = os.path.join(ROOT, "bench", "workloads", "programs.py")
WORKLOADS = (("small_cnn", "small CNN, training (PyTorch)", "torch"), ("large_cnn", "ResNet-50, inference (PyTorch)", "torch"),
             ("prefill", "transformer, prompt of 256 tokens", "torch"), ("token_loop", "transformer, token by token", "torch"),
             ("trees", "gradient boosted trees (scikit-learn)", "sklearn"), ("arrays", "NumPy", "numpy"),
             ("threads", "C++, three threads, 30 µs a scope", None), ("data_loader", "DataLoader, two worker processes", "torch"),
             ("server", "asyncio server and eight clients", None), ("onnx", "ONNX Runtime, 9 µs a run", "onnxruntime"))
MODES = (("bare", None), ("again", None), ("default", []), ("full", ["--python", "trace"]))
REPORT = '{\n  "schema": "neurolens.recording/1"'
MIN_ROUNDS = 15
GOALS = {"default": 0.01, "full": 0.05}


def cpu_clock(pid):
    """The clock of another process's processor time (clock_getcpuclockid of Linux)."""
    return (~pid << 3) | 2


def children(pid):
    found = []
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/children" % (pid, thread)) as file:
            found += [int(word) for word in file.read().split()]
    return found


class Process:
    """A workload that waits for its next piece."""

    def __init__(self, words, options, folder, number):
        self.path = os.path.join(folder, "%d.nlt" % number)
        self.recorded = options is not None
        if self.recorded:
            words = [PROGRAM, "run", "--format", "json", "-o", self.path] + options + ["--"] + words
        environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", PYTHONHASHSEED="0")
        self.told = open(self.path + ".err", "w+")
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.told,
                                        env=environment, text=True, bufsize=1)

    def wait(self):
        word = self.process.stdout.readline()
        if word != "ready\n":
            self.told.seek(0)
            sys.exit("%s\n%s" % (word, self.told.read()))
        pid = self.process.pid
        if self.recorded:
            pid = children(pid)[0]
        self.clocks = [cpu_clock(one) for one in [pid] + children(pid)]
        self.start = self.cpu()

    def cpu(self):
        return sum(time.clock_gettime(clock) for clock in self.clocks)

    def piece(self):
        """(processor time, wall time) in seconds"""
        before = self.cpu()
        self.process.stdin.write("\n")
        took = int(self.process.stdout.readline())
        return self.cpu() - before, took / 1e9

    def end(self):
        """The report of the run."""
        self.process.stdin.close()
        status = self.process.wait()
        self.told.seek(0)
        said = self.told.read()
        self.told.close()
        if status != 0:
            sys.exit("status %d\n%s" % (status, said))
        return json.loads(said[said.rindex(REPORT):])["result"] if self.recorded else None


def start(name, python, seconds, folder, chance):
    """One start of all modes: {mode: (cpu ratio, wall ratio, start-up in s, recorder's share, bytes)}"""
    words = [os.path.join(FOLDER, "threads")] if name == "threads" else [python, PROGRAMS, name]
    processes = {mode: Process(words, options, folder, number) for number, (mode, options) in enumerate(MODES)}
    for process in processes.values():
        process.wait()
    ends, rounds = time.monotonic() + seconds, []
    modes = list(processes)
    while time.monotonic() < ends or len(rounds) < MIN_ROUNDS:
        chance.shuffle(modes)
        rounds.append({mode: processes[mode].piece() for mode in modes})
    result = {}
    for mode, process in processes.items():
        ratios = [statistics.median(one[mode][which] / one["bare"][which] for one in rounds) for which in (0, 1)]
        report = process.end()
        beside = report["recorder_cpu_ns"] / report["wall_ns"] if report else None
        result[mode] = ratios + [process.start - processes["bare"].start, beside,
                                 os.path.getsize(process.path) if report else 0]
    result["piece"] = statistics.median(one["bare"][1] for one in rounds)
    result["rounds"] = len(rounds)
    return result


def has(python, module):
    return module is None or subprocess.run([python, "-c", "import " + module], stderr=subprocess.DEVNULL).returncode == 0


def percent(value):
    return "%+.1f %%" % (100 * (value - 1))


def column(starts, mode, which=0):
    values = [one[mode][which] for one in starts]
    return "%s (%s to %s)" % (percent(statistics.median(values)), percent(min(values)).rstrip(" %"), percent(max(values)).rstrip(" %"))


def over(starts, mode):
    return statistics.median(one[mode][0] for one in starts) - 1 > GOALS[mode]


def row(title, starts):
    median = lambda mode, which: statistics.median(one[mode][which] for one in starts)  # noqa: E731
    return [title, "%.0f ms" % (1000 * statistics.median(one["piece"] for one in starts)), column(starts, "again"),
            column(starts, "default"), column(starts, "full"), percent(median("default", 1)), percent(median("full", 1)),
            "%.0f, %.0f ms" % (1000 * median("default", 2), 1000 * median("full", 2)),
            "%.1f, %.1f %%" % (100 * median("default", 3), 100 * median("full", 3))]


HEAD = ["workload", "a piece", "bare again", "default", "full", "default, wall", "full, wall", "start-up", "recorder"]


def build_threads():
    os.makedirs(FOLDER, exist_ok=True)
    subprocess.run(["c++", "-O2", "-pthread", "-I" + os.path.join(ROOT, "include"),
                    os.path.join(ROOT, "bench", "workloads", "threads.cpp"), "-o", os.path.join(FOLDER, "threads")], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--starts", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--python")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    own = os.path.join(ROOT, "build", "venv-frameworks", "bin", "python")
    python = options.python or (own if os.path.exists(own) else sys.executable)
    unknown = set(options.workloads) - {name for name, _, _ in WORKLOADS}
    if unknown:
        parser.error("no workload %s; there are %s" % (unknown.pop(), ", ".join(name for name, _, _ in WORKLOADS)))
    build_threads()
    chance, rows, medians = random.Random(1), [], {"default": [], "full": []}
    line = "| %s |" if options.markdown else "%-40s %8s  %-22s %-22s %-22s %-14s %-10s %-12s %s"
    show = (lambda cells: print("| " + " | ".join(cells) + " |", flush=True)) if options.markdown else \
        (lambda cells: print(line % tuple(cells), flush=True))
    show(HEAD)
    if options.markdown:
        print("|---" * len(HEAD) + "|")
    for name, title, module in WORKLOADS:
        if options.workloads and name not in options.workloads:
            continue
        if not has(python, module):
            print("skipped: %s: no %s in %s" % (name, module, python))
            continue
        starts = []
        for _ in range(options.starts):
            folder = tempfile.mkdtemp(prefix="overhead-", dir=FOLDER)
            try:
                starts.append(start(name, python, options.seconds, folder, chance))
            finally:
                shutil.rmtree(folder, True)
        rows.append((name, starts))
        for mode in medians:
            medians[mode].append(statistics.median(one[mode][0] for one in starts))
        show(row(title, starts))
    for mode, values in medians.items():
        if values:
            print("%s: median of %d workloads %s, goal at most %+.0f %%; above it: %s" % (
                mode, len(values), percent(statistics.median(values)), 100 * GOALS[mode],
                ", ".join(name for name, starts in rows if over(starts, mode)) or "none"))


if __name__ == "__main__":
    main()
