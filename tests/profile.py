#!/usr/bin/env python3
"""`neurolens profile` with an ONNX Runtime that misbehaves (mock_onnxruntime.c, compiled here), and with
real ones of several releases (tools/test_frameworks.sh puts them into build/onnxruntime).

    tests/profile.py              all
    tests/profile.py WORD...      the tests whose name contains a WORD
"""
import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

import onnxmodel
from harness import ROOT, TESTS, Tally, catches, least, neurolens, one_line_error, scratch, wait_until

tally = Tally("profile")
PYTHON = os.path.join(ROOT, "build", "venv-frameworks", "bin", "python")
LIBRARIES = os.environ.get("NEUROLENS_TEST_ONNXRUNTIME",
                           os.path.join(ROOT, "build", "onnxruntime"))
ATTEMPTS = 6  # of a comparison of times: other work runs on the machine


def wanted(name):
    return len(sys.argv) < 2 or any(word in name for word in sys.argv[1:])


def models():
    folder = os.path.join(scratch(), "models")
    if not os.path.isdir(folder):
        os.makedirs(folder)
        for make in (onnxmodel.cnn, onnxmodel.attention, onnxmodel.several, onnxmodel.nameless,
                     onnxmodel.small_table, onnxmodel.unknown_operator, onnxmodel.unknown_domain,
                     onnxmodel.takes_sequence):
            onnxmodel.save(make(), os.path.join(folder, make.__name__ + ".onnx"))
        onnxmodel.save(onnxmodel.attention()[:9000], os.path.join(folder, "cut.onnx"))
        onnxmodel.save(b"PK\3\4 no model at all", os.path.join(folder, "other.onnx"))
        onnxmodel.save(b"", os.path.join(folder, "empty.onnx"))
    return folder


def model(name):
    return os.path.join(models(), name + ".onnx")


def ledger():
    return os.path.join(scratch(), "ledger")


def profile(name, *words, timeout=120, **extra):
    return neurolens(["profile", model(name), "--ledger", ledger(), *words], timeout=timeout,
                     extra=extra)


def left_behind():
    return glob.glob(os.path.join(scratch(), "neurolens-??????"))


# ---- the mock ----

def build_mock():
    path = os.path.join(scratch(), "libmock.so")
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    done = subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", path,
                           os.path.join(TESTS, "mock_onnxruntime.c")], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        tally.fail("the mock compiles", done.stdout.decode())
        tally.finish()
    return path


# What $MOCK does, exit status, what the message says.
FAULTS = (
    ("old", 5, "1.8.1 is too old: 1.14 or newer"),
    ("no version", 5, "does not report its version"),
    ("odd version", 5, "too old"),
    ("no table", 5, "does not offer API version 14"),
    ("holes", 5, "lacks functions"),
    ("no base", 5, "OrtGetApiBase returns nothing"),
    ("crash on open", 5, "crashed while loading the library (SIGILL)"),
    ("noisy crash", 5, "(SIGABRT); its last words: the ceiling fell down"),
    ("crash on load", 5, "crashed while loading the model (SIGSEGV)"),
    ("crash in run", 5, "crashed while warming up (SIGSEGV)"),
    ("exit in run", 5, "ended while warming up with status 0"),
    ("refuse", 4, "refuses the model: Could not find an implementation for"),
    ("no message", 4, "does not say why"),
    ("no session", 5, "cannot create a session"),
    ("many inputs", 4, "inputs"),
    ("no name", 5, "does not describe input 0"),
    ("no shape", 4, "is not a tensor"),
    ("odd type", 4, "element type 99"),
    ("high rank", 4, "5000 dimensions"),
    ("no tensor", 5, "cannot create a tensor for 'x'"),
    ("no data", 5, "cannot allocate input 'x'"),
    ("fail in run", 4, "indices element out of data bounds"),
    ("no profile", 4, "cannot open"),
    ("no profile name", 5, "does not say where its profile is"),
    ("profile is text", 4, "not a complete list of events"),
    ("profile is cut", 4, "not a complete list of events"),
)


def faults(mock):
    for fault, status, text in FAULTS:
        result = profile("several", "--library", mock, MOCK=fault)
        good = result.status == status and text in result.stderr and one_line_error(result)
        tally.check("library with fault '%s'" % fault, good and not left_behind(),
                    result.describe() + "\nleft: %s" % left_behind())


def endless(mock):
    results = []

    def took():
        started = time.monotonic()
        results.append(profile("several", "--library", mock, "--timeout", "1s", MOCK="endless"))
        return time.monotonic() - started
    soonest = least(took, 5)
    tally.check("an endless run is ended", all(result.status == 5 and "was not done in 1 s, while warming up; --timeout" in result.stderr
                                               for result in results) and soonest < 5 and not left_behind(),
                "%.1f s\n%s" % (soonest, results[-1].describe()))


def interrupt(mock):
    statuses = []

    def took():
        process = subprocess.Popen([os.environ.get("NEUROLENS", os.path.join(ROOT, "build/neurolens")),
                                    "profile", model("several"), "--library", mock, "--ledger", ledger()],
                                   env=dict(os.environ, MOCK="endless", TMPDIR=scratch()),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: catches(process.pid, signal.SIGTERM) or process.poll() is not None)
        time.sleep(0.3)
        process.terminate()
        started = time.monotonic()
        process.communicate(timeout=20)
        statuses.append(process.returncode)
        return time.monotonic() - started
    soonest = least(took, 0.4)
    tally.check("a signal ends it within 0.2 s", all(status in (130, 143) for status in statuses) and soonest < 0.4 and
                not left_behind(), "%s after %.2f s, left %s" % (statuses, soonest, left_behind()))


def rows(result, table):
    return json.loads(result.stdout)["result"][table]


def numbers(mock):
    """The mock's lengths are known: only counted runs are in the medians, and the run is in the ledger."""
    result = profile("several", "--library", mock, "--format", "json", "--profiled-runs", "20",
                     MOCK="fine")
    if not tally.check("the mock runs", result.status == 0, result.describe()):
        return
    operators = {row["node"]: row for row in rows(result, "operators")}
    tally.check("only runs after the warm-up count",
                operators["a"]["median_ns"] == operators["a"]["mean_ns"] == 7000 and
                operators["b"]["median_ns"] == operators["b"]["mean_ns"] == 11000 and
                operators["a"]["count"] == operators["b"]["count"] == 20, operators)
    latency = rows(result, "latency")
    plain, profiled = latency[0], latency[1]
    tally.check("median of the plain runs", 200000 <= plain["median_ns"] < 260000 and
                plain["median_low_ns"] <= plain["median_ns"] <= plain["median_high_ns"] and
                profiled["count"] == 20, latency)
    tally.check("operators of a run", latency[3]["median_ns"] == 18000 and
                latency[3]["count"] == 20, latency)
    tally.check("the difference is that of the medians", latency[2]["median_ns"] ==
                profiled["median_ns"] - plain["median_ns"], latency)
    facts = {row["fact"]: row["value"] for row in rows(result, "setup")}
    run = facts["run"]
    budget = neurolens(["check", run, "--ledger", ledger(), "--format", "json", "--fail-on", "latency.p50 > 10s",
                        "--fail-on", "throughput < 0.001", "--fail-on", "step.p50 > 10s"])
    rules = {row["metric"]: row for row in json.loads(budget.stdout)["result"]["rules"]}
    value = [next(v for k, v in rules[name].items() if k == "new") for name in ("latency.p50", "step.p50")]
    tally.check("rules on latency and steps judge the runs without the profiler", budget.status == 0 and
                abs(value[0] - plain["median_ns"]) <= 1 and value[1] == value[0] and
                abs(value[0] - profiled["median_ns"]) > 1, (value, rules))
    found = neurolens(["sql", run, "--ledger", ledger(), "--format", "json",
                       "SELECT dur FROM nvtx WHERE name = 'unprofiled run' ORDER BY dur"])
    durs = [row[0] for row in json.loads(found.stdout)["result"]["rows"]]
    tally.check("the plain runs are ranges of the run in the ledger", len(durs) == plain["count"] and
                abs(statistics.median(durs) - plain["median_ns"]) <= 1, found.describe()[:1000])
    check_document(run, "mock", {"backend": "onnxruntime", "backend_version": "1.99.0"})


def check_document(run, name, software):
    path = os.path.join(scratch(), "run.json")
    done = neurolens(["export", run, "--to", "run.json", "--ledger", ledger(), "-o", path])
    valid = neurolens(["validate", path])
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    good = all(document["software"][key] == value for key, value in software.items())
    tally.check("%s: run.json in the ledger is valid and knows the backend" % name,
                done.status == 0 and valid.status == 0 and good and
                document["workload"]["phase"] == "inference" and
                document["run"]["start_epoch_ns"] is not None and
                document["hardware"]["cpu_count"] == os.cpu_count(),
                valid.describe() + str(document["software"]))


def limits(mock):
    result = profile("several", "--library", mock, "--format", "json", "--max-runs", "3",
                     "--profiled-runs", "2", "--no-add", MOCK="slow")
    latency = rows(result, "latency") if result.status == 0 else []
    tally.check("three runs have no interval", latency and latency[0]["count"] == 3 and
                latency[0]["median_low_ns"] is None and latency[1]["count"] == 2 and
                "--max-runs was reached" in result.stdout and
                [row for row in rows(result, "setup") if row["fact"] == "run"][0]["value"] is None,
                result.describe())
    result = profile("several", "--library", mock, "--format", "json", "--max-time", "1ms",
                     MOCK="slow")
    latency = rows(result, "latency") if result.status == 0 else []
    tally.check("one run of each kind is always made", latency and latency[0]["count"] == 1 and
                latency[1]["count"] == 1 and "--max-time was reached" in result.stdout,
                result.describe())
    for fault in ("no epoch", "no providers"):
        result = profile("several", "--library", mock, "--no-add", "--max-time", "100ms", MOCK=fault)
        tally.check("a library with '%s' still serves" % fault, result.status == 0, result.describe())


def words(mock):
    for arguments, text in (
            (["--input", "x"], "is not NAME=SHAPE"),
            (["--input", "x=2x"], "is not NAME=SHAPE"),
            (["--input", "x=f32x2"], "is not NAME=SHAPE"),
            (["--input", "x=-2x4"], "is not NAME=SHAPE"),
            (["--input", "x=1x4i"], "is not NAME=SHAPE"),
            (["--input", "x=" + "1x" * 40 + "1"], "is not NAME=SHAPE"),
            (["--input", "x=1x4f32:9..1"], "is not NAME=SHAPE"),
            (["--input", "x=1x4", "--input", "x=1x4"], "is given twice"),
            (["--input", "x=1x4:0..9"], "a range is for whole numbers; inputs: x: f32[n, 4]"),
            (["--input", "x=1x5"], "another fixed size; inputs: x: f32[n, 4]"),
            (["--input", "x=4"], "another number of dimensions; inputs: x: f32[n, 4]"),
            (["--input", "x=1x4xi64"], "another element type; inputs: x: f32[n, 4]"),
            (["--input", "y=1x4"], "no such input; inputs: x: f32[n, 4]"),
            (["--input", "x=99999999999x4"], "2^36 elements"),
            (["--dim", "n"], "is not NAME=N"), (["--dim", "n=0"], "is not NAME=N"),
            (["--dim", "n=3", "--dim", "n=4"], "is given twice"),
            (["--dim", "m=3"], "no input has a dimension of that name; inputs: x: f32[n, 4]"),
            (["--max-runs", "100001"], "at most 100000"),
            (["--set", "batch=3"], "nothing to set is called")):
        result = profile("several", "--library", mock, *arguments, MOCK="fine")
        tally.check("words %s" % " ".join(arguments)[:40], result.status == 2 and text in result.stderr
                    and one_line_error(result), result.describe())
    result = profile("several", "--library", mock, "--provider", "nonsense", MOCK="fine")
    tally.check("a provider that is not there", result.status == 5 and
                "provider nonsense: Unknown provider name" in result.stderr, result.describe())


# ---- real libraries ----

def libraries():
    """{version: path}, the oldest first."""
    found = {}
    for path in glob.glob(os.path.join(LIBRARIES, "**", "libonnxruntime.so.*"), recursive=True):
        match = re.search(r"\.so\.(\d+)\.(\d+)\.(\d+)$", path)
        if match:
            found[tuple(map(int, match.groups()))] = path
    return {".".join(map(str, key)): found[key] for key in sorted(found)}


SHAPES = {"cnn": ["--dim", "height=128", "--dim", "width=128", "--dim", "batch=2"],
          "attention": ["--dim", "seq=64"], "several": []}
NODES = {"attention": {"query", "key", "softmax", "context"}, "several": {"add", "where"},
         "cnn": {"softmax"}}


def every_model(version, library):
    for name, shape in SHAPES.items():
        result = profile(name, *shape, "--library", library, "--threads", "1", "--format", "json")
        label = "%s: %s" % (version, name)
        if not tally.check(label, result.status == 0, result.describe()):
            continue
        latency, operators = rows(result, "latency"), rows(result, "operators")
        facts = {row["fact"]: row["value"] for row in rows(result, "setup")}
        names = {row["node"] for row in operators}
        tally.check(label + ": nodes, counts, version", NODES[name] <= names and
                    latency[1]["count"] == 50 and facts["backend version"] == version and
                    all(row["count"] == 50 for row in operators if row["node"] in NODES[name]) and
                    abs(sum(row["share"] for row in operators) - 1) < 1e-9 and
                    all(abs(row["share"] * sum(o["median_ns"] * o["count"] for o in operators) - row["median_ns"] * row["count"]) <
                        1e-6 * sum(o["median_ns"] * o["count"] for o in operators) for row in operators),
                    "%s %s" % (operators, facts))
        check_document(facts["run"], label, {"backend": "onnxruntime", "backend_version": version})


def refusals(version, library):
    for name, arguments, status, text in (
            ("cnn", [], 2, "leaves 'height' open; give it with --dim height=N; inputs: image: f32"),
            ("nameless", [], 2, "leaves dimension 1 of 'x' open; give its whole shape with --input"),
            ("small_table", ["--dim", "n=50"], 4, "--input NAME=SHAPE:LOW..HIGH bounds"),
            ("unknown_operator", [], 4, "Frobnicate"),
            ("unknown_domain", [], 4, "com.example"),
            ("takes_sequence", [], 4, "'xs' is not a tensor"),
            ("cut", [], 4, "refuses the model"),
            ("other", [], 4, "refuses the model"),
            ("empty", [], 4, "the file is empty"),
            ("missing", [], 4, "No such file"),
            ("several", ["--provider", "cuda"], 5, "provider cuda")):
        result = profile(name, *arguments, "--library", library)
        tally.check("%s refuses %s" % (version, name), result.status == status and
                    text in result.stderr and one_line_error(result) and not left_behind(),
                    result.describe())
    result = profile("small_table", "--input", "ids=50xi64:0..9", "--library", library, "--no-add")
    tally.check("%s: a range for indices" % version, result.status == 0, result.describe())
    result = profile("nameless", "--input", "x=2x100xf32", "--library", library, "--no-add")
    tally.check("%s: a whole shape" % version, result.status == 0, result.describe())


REFERENCE = """
import json, os, sys, time, statistics
import numpy, onnxruntime as ort
model, runs = sys.argv[1], int(sys.argv[2])
def session(profiled):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    if profiled:
        options.enable_profiling = True
        options.profile_file_prefix = sys.argv[3]
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
x = {"image": numpy.random.rand(2, 3, 128, 128).astype(numpy.float32)}
plain, times = session(False), []
for i in range(runs):
    before = time.perf_counter_ns()
    plain.run(None, x)
    times.append(time.perf_counter_ns() - before)
profiled = session(True)
for i in range(50):
    profiled.run(None, x)
nodes = {}
with open(profiled.end_profiling()) as file:
    for event in json.load(file):
        if event["name"].endswith("_kernel_time"):
            nodes.setdefault(event["name"][:-12], []).append(event["dur"] * 1000)
print(json.dumps({"version": ort.__version__, "median": statistics.median(times),
                  "nodes": {name: statistics.median(durs) for name, durs in nodes.items()}}))
"""


def reference():
    done = subprocess.run([PYTHON, "-c", REFERENCE, model("cnn"), "600",
                           os.path.join(scratch(), "reference")], stdout=subprocess.PIPE)
    return json.loads(done.stdout) if done.returncode == 0 else None


def against_python(found):
    """The same model under the Python package: medians of runs within 2 %, of nodes of 100 us and more
    within 5 %. What both saw in one quiet moment counts, so it is tried a few times."""
    told = reference()
    if not told or told["version"] not in found:
        tally.skip("medians as the Python package's", "no onnxruntime in build/venv-frameworks of a "
                   "version in build/onnxruntime")
        return
    best = worst = None
    for _ in range(ATTEMPTS):
        told = reference()
        result = profile("cnn", *SHAPES["cnn"], "--library", found[told["version"]], "--threads", "1",
                         "--format", "json", "--no-add")
        latency = rows(result, "latency")[0]["median_ns"]
        total = abs(latency / told["median"] - 1)
        ours = {row["node"]: row["median_ns"] for row in rows(result, "operators")}
        nodes = max(abs(ours.get(name, 0) / time_ - 1) for name, time_ in told["nodes"].items()
                    if time_ >= 100000)
        best = total if best is None else min(best, total)
        worst = nodes if worst is None else min(worst, nodes)
        if best <= 0.02 and worst <= 0.05:
            break
    tally.check("%s: total within 2 %% of the Python package's (%.2f %%)"
                % (told["version"], best * 100), best <= 0.02)
    tally.check("%s: nodes within 5 %% of the runtime's own profile (%.2f %%)"
                % (told["version"], worst * 100), worst <= 0.05)


def finding(version, library):
    """Found on the library path, and as Python and npm packages lie."""
    folder = os.path.join(scratch(), "found")
    python = os.path.join(folder, "venv", "lib", "python3.11", "site-packages", "onnxruntime", "capi")
    npm = os.path.join(folder, "node", "node_modules", "onnxruntime-node", "bin", "napi-v6", "linux",
                       "arm64" if os.uname().machine == "aarch64" else "x64")
    plain = os.path.join(folder, "lib")
    for place in (python, npm, plain):
        os.makedirs(place, exist_ok=True)
        os.symlink(library, os.path.join(place, "libonnxruntime.so.1"))
    cases = (("library path", {"LD_LIBRARY_PATH": plain}, None),
             ("virtual environment", {"VIRTUAL_ENV": os.path.join(folder, "venv")}, None),
             ("npm package", {}, os.path.join(folder, "node")),
             ("environment variable", {"NEUROLENS_ONNXRUNTIME": library}, None))
    for name, extra, folder in cases:
        result = neurolens(["profile", model("several"), "--no-add", "--max-time", "100ms"],
                           cwd=folder, extra=extra)
        doctor = neurolens(["doctor", "--format", "csv"], cwd=folder, extra=extra)
        tally.check("%s found by %s" % (version, name), result.status == 0 and
                    doctor.status == 0 and "ONNX Runtime,ok," in doctor.stdout and
                    version in doctor.stdout, result.describe() + doctor.stdout)


def main():
    mock = build_mock()
    for test in (faults, endless, interrupt, numbers, limits, words):
        if wanted(test.__name__):
            test(mock)
    found = libraries()
    if not found:
        tally.skip("real libraries", "no ONNX Runtime in build/onnxruntime; tools/test_frameworks.sh "
                   "gets some")
        tally.finish()
    for version, library in found.items():
        for test in (every_model, refusals):
            if wanted(test.__name__):
                test(version, library)
    if wanted("finding"):
        finding(*list(found.items())[-1])
    if wanted("against_python"):
        against_python(found)
    tally.finish()


main()
