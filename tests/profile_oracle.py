#!/usr/bin/env python3
"""`neurolens profile` beside ONNX Runtime's own Python package: the same models, the same release, one thread.

tools/test_frameworks.sh puts the packages into build/onnxruntime-python/VERSION, and the libraries of those
that hold none of their own into build/onnxruntime. Per release and model both are run in turns, ours first and
last by turns, each in a process of its own; a round gives the ratio of the two medians, of whole runs without
the profiler and of every node. What counts is the median of the rounds' ratios with its 95 % interval (order
statistics): it must lie within 2 % (runs) and 5 % (nodes). There are more rounds until the interval is on one side
of the limit, at most MAX_ROUNDS; then the median itself decides. A round in which one of the two processes had to
wait for a processor does not count; where too few are left, the quietest ones do, and a difference over the limit is no failure then but
said to be undecided.

    tests/profile_oracle.py              all releases
    tests/profile_oracle.py 1.14 1.31    the releases whose version begins so
"""
import glob
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time

import onnxmodel
from harness import ROOT, Tally, neurolens, scratch

tally = Tally("profile_oracle")
PACKAGES = os.path.join(ROOT, "build", "onnxruntime-python")
LIBRARIES = os.path.join(ROOT, "build", "onnxruntime")
TOTAL, NODE = 0.02, 0.05
MIN_NODE = 50000  # ns: the profiler counts whole us, so shorter medians cannot be told to 1 in 50
MIN_ROUNDS, MAX_ROUNDS = 6, 30
QUIET = 0.03  # share of its time that a process may have waited
MODELS = {"cnn": (onnxmodel.cnn, {"batch": 2, "height": 128, "width": 128}),
          "attention": (onnxmodel.attention, {"batch": 24, "seq": 128}),
          "product": (lambda: onnxmodel.product(512), {})}

REFERENCE = """
import json, statistics, sys, time
import numpy, onnxruntime as ort
path, dims, prefix = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
KINDS = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(bool)": numpy.bool_}
def session(profiled):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    if profiled:
        options.enable_profiling = True
        options.profile_file_prefix = prefix
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
def values(one):
    shape = [dims.get(size, size) for size in one.shape]
    if "float" in one.type:
        return numpy.random.rand(*shape).astype(numpy.float32)
    most = 2 if "bool" in one.type or "mask" in one.name else 100
    return numpy.random.randint(1 if "mask" in one.name else 0, most, shape).astype(KINDS[one.type])
def runner(made):
    # Outputs are made anew in every run, as they are for a caller of run(), but not copied to arrays.
    binding, clock, times = made.io_binding(), time.perf_counter_ns, []
    arrays = {one.name: values(one) for one in made.get_inputs()}
    for name, array in arrays.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
    call, inner = made._sess.run_with_iobinding, binding._iobinding  # without what Python adds: 1 us
    def run():
        binding.clear_binding_outputs()
        for one in made.get_outputs():
            binding.bind_output(one.name)
        before = clock()
        call(inner, None)
        times.append(clock() - before)
    run.arrays = arrays  # old releases do not keep them alive
    return run, times
run, times = runner(session(False))
end = time.monotonic() + 0.2
while time.monotonic() < end or len(times) < 5:
    run()
del times[:]
end = time.monotonic() + 1
while time.monotonic() < end or len(times) < 50:
    run()
profiled = session(True)
run, _ = runner(profiled)
for i in range(100):
    run()
nodes = {}
with open(profiled.end_profiling()) as file:
    for event in json.load(file):
        if event["name"].endswith("_kernel_time"):
            nodes.setdefault(event["name"][:-12], []).append(event["dur"] * 1000)
print(json.dumps({"version": ort.__version__, "run": statistics.median(times),
                  "nodes": {name: statistics.median(durs[20:]) for name, durs in nodes.items()}}))
"""


def packages():
    """{version: (python, library)}, the oldest first; a package without a library is used with that of npm."""
    found = {}
    for folder in glob.glob(os.path.join(PACKAGES, "*")):
        version = os.path.basename(folder)
        python = os.path.join(folder, "bin", "python")
        libraries = [path for root in (folder, os.path.join(LIBRARIES, version)) for path in
                     glob.glob(os.path.join(root, "**", "libonnxruntime.so." + version), recursive=True)]
        if os.access(python, os.X_OK) and libraries:
            found[version] = (python, libraries[0])
    return {version: found[version] for version in
            sorted(found, key=lambda text: [int(part) for part in text.split(".")])}


def model(name):
    path = os.path.join(scratch(), name + ".onnx")
    return path if os.path.exists(path) else onnxmodel.save(MODELS[name][0](), path)


def theirs(python, name):
    done = subprocess.run([python, "-c", REFERENCE, model(name), json.dumps(MODELS[name][1]),
                           os.path.join(scratch(), "reference")], stdout=subprocess.PIPE, timeout=120)
    for path in glob.glob(os.path.join(scratch(), "reference*")):
        os.remove(path)
    return json.loads(done.stdout) if done.returncode == 0 else None


def ours(library, name):
    words = [word for key, size in MODELS[name][1].items() for word in ("--dim", "%s=%d" % (key, size))]
    result = neurolens(["profile", model(name), *words, "--library", library, "--threads", "1", "--no-add",
                        "--max-time", "2s", "--format", "json"])
    if result.status:
        tally.fail("profile of %s" % name, result.describe())
        tally.finish()
    tables = json.loads(result.stdout)["result"]
    return {"run": tables["latency"][0]["median_ns"],
            "nodes": {row["node"]: row["median_ns"] for row in tables["operators"]}}


def interval(values):
    """Median, and the order statistics around it that hold the true one with 95 %."""
    values, count = sorted(values), len(values)
    below, rank = 0.0, 0
    while rank < count // 2:
        below += math.comb(count, rank) / 2 ** count
        if 2 * below > 0.05:
            break
        rank += 1
    return (statistics.median(values), values[rank - 1] if rank else -math.inf,
            values[count - rank] if rank else math.inf)


def decided(ratios, limit):
    _, low, high = interval(ratios)
    within = 1 - limit <= low and high <= 1 + limit
    return within or high < 1 - limit or low > 1 + limit


def waited(work, *arguments):
    """What work returns, and the share of the time in which its processes (one thread each) did not run."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    answer = work(*arguments)
    after, took = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return answer, max(0.0, 1 - used / took)


def quiet(rounds):
    """Those that count, [(share waited, ours, theirs)], the quietest first."""
    rounds = sorted(rounds, key=lambda one: one[0])
    return rounds[:max(MIN_ROUNDS, sum(one[0] <= QUIET for one in rounds))]


def pairs_of(rounds):
    """{what: (ratios, median of theirs in ns, limit)} of whole runs and of the nodes that are long enough."""
    seen = {}
    for _, mine, other in rounds:
        rows = [("whole run", mine["run"], other["run"])]
        rows += [(node, mine["nodes"].get(node, 0), length) for node, length in other["nodes"].items()]
        for what, first, second in rows:
            seen.setdefault(what, []).append((first / second if second else math.nan, second))
    told = {what: ([ratio for ratio, _ in pairs], statistics.median(length for _, length in pairs),
                   TOTAL if what == "whole run" else NODE) for what, pairs in seen.items()}
    return {what: row for what, row in told.items() if what == "whole run" or row[1] >= MIN_NODE}


def compare(python, library, name):
    """Rounds until all is decided; None when the package does not run."""
    rounds = []
    while len(rounds) < MAX_ROUNDS:
        pair = {}
        for who in ("ours", "theirs") if len(rounds) % 2 else ("theirs", "ours"):
            pair[who] = waited(ours, library, name) if who == "ours" else waited(theirs, python, name)
        if not pair["theirs"][0]:
            return None
        rounds.append((max(pair["ours"][1], pair["theirs"][1]), pair["ours"][0], pair["theirs"][0]))
        calm = [one for one in rounds if one[0] <= QUIET]
        if len(calm) >= MIN_ROUNDS and all(decided(ratios, limit)
                                             for ratios, _, limit in pairs_of(calm).values()):
            break
    return rounds


def judge(version, name, rounds):
    counted = quiet(rounds)
    for what, (ratios, length, limit) in pairs_of(counted).items():
        median, low, high = interval(ratios)
        print("    %-8s %-10s %-22s %9.1f us  %+6.2f %%  (%+.2f to %+.2f; %d of %d rounds, waited %.0f %%)"
              % (version, name, what, length / 1000, (median - 1) * 100, (low - 1) * 100, (high - 1) * 100,
                 len(counted), len(rounds), 100 * counted[-1][0]))
        label, waiting = "%s: %s: %s within %d %%" % (version, name, what, limit * 100), counted[-1][0]
        if abs(median - 1) > limit and waiting > QUIET:
            tally.skip(label, "a process had to wait %.0f %% of its time in the quietest rounds; try again on a "
                       "machine with an idle processor" % (waiting * 100))
        else:
            tally.check(label, abs(median - 1) <= limit)


def main():
    found = packages()
    if not found:
        tally.skip("all", "no packages in build/onnxruntime-python; tools/test_frameworks.sh gets some")
        tally.finish()
    for version, (python, library) in found.items():
        if len(sys.argv) > 1 and not version.startswith(tuple(sys.argv[1:])):
            continue
        for name in MODELS:
            rounds = compare(python, library, name)
            if rounds is None:
                tally.fail("%s: %s under the package" % (version, name))
            else:
                judge(version, name, rounds)
    tally.finish()


main()
