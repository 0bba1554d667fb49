#!/usr/bin/env python3
"""`neurolens profile --backend tensorrt` with a program in trtexec's place that checks its command line,
writes hand-made exports, and misbehaves in the ways $MOCK names. No TensorRT is needed or used.

    tests/profile_tensorrt.py              all
    tests/profile_tensorrt.py WORD...      the tests whose name contains a WORD
"""
import glob
import json
import os
import signal
import statistics
import subprocess
import sys
import time

import onnxmodel
from harness import PROGRAM, Tally, environment, neurolens, one_line_error, scratch

tally = Tally("profile tensorrt")

MOCK = r'''#!%s
import json, os, signal, sys, time
mode = os.environ.get("MOCK", "fine")
words = dict(word.partition("=")[::2] for word in sys.argv[1:])
with open(os.environ["MOCK_WORDS"], "w") as file:
    json.dump(sys.argv[1:], file)
print("&&&& RUNNING TensorRT.trtexec [TensorRT v%%s] # trtexec" %% os.environ.get("MOCK_VERSION", "8502"))
print("[11/20/2026-10:00:00] [I] === Model Options ===", flush=True)
if mode == "refuse":
    print("[11/20/2026-10:00:01] [E] Failed to parse onnx file")
    print("[11/20/2026-10:00:01] [I] Finished parsing network model.")
    print("&&&& FAILED TensorRT.trtexec [TensorRT v8502] # trtexec", flush=True)
    sys.exit(1)
if mode == "unmarked":
    print("the library has no such symbol", flush=True)
    sys.exit(127)
if mode == "silent":
    sys.stdout = open(os.devnull, "w")
    os._exit(3)
if mode == "hang":
    with open(os.environ["MOCK_WORDS"] + ".pid", "w") as file:
        file.write(str(os.getpid()))
    time.sleep(60)
if mode == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
def save(flag, document, cut=None):
    with open(words[flag], "w") as file:
        file.write(json.dumps(document)[:cut])
warm = float(words["--warmUp"])
rows, start = [], 1.0 if mode == "old" else warm + 1
if mode == "all warming":
    start = 0.5
for i in range(40):
    dur = 0.5 + 0.01 * (i %% 7)
    rows.append({"startEnqMs": start, "endEnqMs": start + 0.01, "startH2dMs": start, "endH2dMs": start + 0.1,
                 "startComputeMs": start + 0.1, "endComputeMs": start + 0.1 + dur,
                 "startD2hMs": start + 0.1 + dur, "endD2hMs": start + 0.1 + dur, "h2dMs": 0.1,
                 "computeMs": dur, "d2hMs": 0, "latencyMs": round(dur + 0.1, 6)})
    start += 10 if mode == "old" else 0.01 if mode == "all warming" else 1
if mode not in ("no times", "nothing"):
    save("--exportTimes", rows, {"cut times": 4000, "empty times": 0}.get(mode))
if mode not in ("no layers", "nothing"):
    save("--exportProfile", [{"count": 20}, {"name": "conv + relu", "timeMs": 8, "averageMs": 0.4,
         "medianMs": 0.39, "percentage": 80}, {"name": "softmax", "timeMs": 2, "averageMs": 0.1,
         "medianMs": 0.11, "percentage": 20}], {"cut layers": 120}.get(mode))
    save("--exportLayerInfo", {"Layers": [{"Name": "conv + relu", "LayerType": "CaskConvolution",
         "Inputs": [], "Outputs": [], "TacticName": "mma_fast", "Weights": {"Type": "Half", "Count": 10}},
         {"Name": "softmax", "LayerType": "SoftMax", "Inputs": [], "Outputs": []}], "Bindings": ["x"]})
print("&&&& PASSED TensorRT.trtexec [TensorRT v8502] # trtexec")
''' % sys.executable


def wanted(name):
    return len(sys.argv) < 2 or any(word in name for word in sys.argv[1:])


def in_scratch(name):
    return os.path.join(scratch(), name)


def set_up():
    with open(in_scratch("mock"), "w", encoding="utf-8") as file:
        file.write(MOCK)
    os.chmod(in_scratch("mock"), 0o755)
    onnxmodel.save(onnxmodel.several(), in_scratch("net.onnx"))
    onnxmodel.save(onnxmodel.several(), in_scratch("onnx_by_content"))
    onnxmodel.save(onnxmodel.several()[:-1], in_scratch("cut_short"))
    onnxmodel.save(b"ptrt\0\0\0\0 an engine", in_scratch("net.plan"))


def extra(mode, **more):
    return dict({"MOCK": mode, "MOCK_WORDS": in_scratch("words")}, **more)


def profile(model, mode, *words, trtexec=True, **more):
    if trtexec:
        words = ("--trtexec", in_scratch("mock")) + words
    return neurolens(["profile", in_scratch(model), "--backend", "tensorrt", "--ledger",
                      in_scratch("ledger"), *words], extra=extra(mode, **more))


def told():
    """The words of trtexec's last command line; those of files only by their flag."""
    with open(in_scratch("words"), encoding="utf-8") as file:
        words = json.load(file)
    return [word.partition("=")[0] if word.startswith("--export") else word for word in words]


def left_behind():
    return glob.glob(in_scratch("neurolens-??????"))


EXPORTS = ["--separateProfileRun", "--profilingVerbosity=detailed", "--exportTimes",
           "--exportProfile", "--exportLayerInfo"]


def command_line():
    onnx, engine = "--onnx=" + in_scratch("net.onnx"), "--loadEngine=" + in_scratch("net.plan")
    for model, words, expected in (
            ("net.onnx", [], [onnx, "--warmUp=200"]),
            ("net.plan", [], [engine, "--warmUp=200"]),
            ("onnx_by_content", [], ["--onnx=" + in_scratch("onnx_by_content"), "--warmUp=200"]),
            ("cut_short", [], ["--loadEngine=" + in_scratch("cut_short"), "--warmUp=200"]),
            ("net.onnx", ["--input", "x=2x3", "--input", "a:0=4"],
             [onnx, "--shapes=x:2x3,'a:0':4", "--warmUp=200"]),
            ("net.onnx", ["--max-runs", "70", "--warmup", "5"],
             [onnx, "--warmUp=5", "--iterations=70", "--duration=0"]),
            ("net.onnx", ["--max-time", "1500ms"], [onnx, "--warmUp=200", "--duration=1.5"])):
        result = profile(model, "fine", "--no-add", *words)
        tally.check("command line: %s %s" % (model, " ".join(words)), result.status == 0 and
                    told() == expected + EXPORTS, "%s\n%s" % (told(), result.describe()))


def rows(result, table):
    return json.loads(result.stdout)["result"][table]


def latencies(count):
    return [600000 + 10000 * (i % 7) for i in range(count)]


def numbers():
    result = profile("net.onnx", "fine", "--format", "json", "--set", "precision=fp16")
    if not tally.check("the numbers come", result.status == 0, result.describe()):
        return
    latency = rows(result, "latency")
    durs = latencies(40)
    tally.check("median, interval and range of the exported runs", len(latency) == 1 and
                latency[0]["count"] == 40 and latency[0]["median_ns"] == statistics.median(durs) and
                latency[0]["median_low_ns"] == sorted(durs)[13] and
                latency[0]["median_high_ns"] == sorted(durs)[26] and
                latency[0]["min_ns"] == 600000 and latency[0]["max_ns"] == 660000, latency)
    layers = rows(result, "model_layers")
    tally.check("layers with their kinds and times",
                [(row["layer"], row["type"], row["total_ns"], row["share"], row["median_ns"],
                  row["tactic"]) for row in layers] ==
                [("conv + relu", "CaskConvolution", 8000000, 0.8, 390000, "mma_fast"),
                 ("softmax", "SoftMax", 2000000, 0.2, 110000, None)], layers)
    facts = {row["fact"]: row["value"] for row in rows(result, "setup")}
    tally.check("the setup", facts["backend"] == "tensorrt" and facts["backend version"] == "8.5.2" and
                facts["runs of the warm-up, not counted"] == "0", facts)
    check_document(facts["run"])
    result = profile("net.onnx", "fine", "--no-add", "--format", "csv")
    tally.check("CSV has the layers", result.status == 0 and
                result.stdout.startswith("layer,type,") and len(result.stdout.splitlines()) == 3 and
                not left_behind(), result.describe())


def check_document(run):
    path = in_scratch("run.json")
    done = neurolens(["export", run, "--to", "run.json", "--ledger", in_scratch("ledger"), "-o", path])
    valid = neurolens(["validate", path])
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    tally.check("run.json in the ledger is valid and knows the backend", done.status == 0 and
                valid.status == 0 and document["software"]["backend"] == "tensorrt" and
                document["software"]["backend_version"] == "8.5.2" and
                document["workload"]["model"] == "net" and
                document["workload"]["phase"] == "inference" and
                document["workload"]["precision"] == "fp16" and
                document["hardware"]["cpu_count"] == os.cpu_count(),
                valid.describe() + json.dumps(document)[:3000])
    analyze = neurolens(["analyze", run, "--full", "--ledger", in_scratch("ledger")])
    tally.check("the run can be analysed", analyze.status == 0 and "conv + relu" in analyze.stdout,
                analyze.describe())


def releases():
    """Version numbers of both kinds; the warm-up that old releases export does not count."""
    for number, version in (("100300", "10.3.0"), ("8601", "8.6.1"), ("77", None), ("none", None)):
        result = profile("net.plan", "fine", "--no-add", "--format", "json", MOCK_VERSION=number)
        facts = {row["fact"]: row["value"] for row in rows(result, "setup")}
        tally.check("version %s" % number, facts["backend version"] == version, facts)
    result = profile("net.plan", "old", "--no-add", "--format", "json")
    facts = {row["fact"]: row["value"] for row in rows(result, "setup")}
    latency = rows(result, "latency")[0]
    tally.check("exported runs of the warm-up do not count", latency["count"] == 20 and
                latency["median_ns"] == statistics.median(latencies(40)[20:]) and
                facts["runs of the warm-up, not counted"] == "20", "%s %s" % (latency, facts))


# What $MOCK does, exit status, what the message says.
FAULTS = (
    ("refuse", 5, "net.onnx: trtexec ended with status 1; its last words: Failed to parse onnx file\n"),
    ("unmarked", 5, "with status 127; its last words: the library has no such symbol\n"),
    ("silent", 5, "trtexec ended with status 3"),
    ("killed", 5, "trtexec crashed (SIGKILL)"),
    ("no times", 4, "trtexec succeeded but wrote no times of runs"),
    ("empty times", 4, "trtexec succeeded but wrote no times of runs"),
    ("nothing", 4, "trtexec succeeded but wrote no times of runs"),
    ("all warming", 4, "no run that began after the warm-up of 200 ms"),
)


def faults():
    for fault, status, text in FAULTS:
        result = profile("net.onnx", fault)
        tally.check("trtexec with fault '%s'" % fault, result.status == status and
                    text in result.stderr and one_line_error(result) and not left_behind(),
                    result.describe())
    for fault, text, count in (("no layers", "wrote no times of layers", 40),
                               ("cut times", "truncated: the file", None),
                               ("cut layers", "truncated: the file", 40)):
        result = profile("net.onnx", fault, "--format", "json", "--no-add")
        latency = rows(result, "latency")[0] if result.status == 0 else {"count": 0}
        tally.check("trtexec with fault '%s' still serves and it is told" % fault,
                    text in result.stderr and not left_behind() and
                    (latency["count"] == count if count else 0 < latency["count"] < 40),
                    result.describe())


def is_gone(pid):
    """It is a child of ours no more, so its number is free or it waits for init to bury it."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def mock_pid():
    with open(in_scratch("words.pid"), encoding="ascii") as file:
        return int(file.read())


def hanging():
    for seconds in (1, 4, 16):  # on a busy machine the stand-in may need more than one to begin
        started = time.monotonic()
        result = profile("net.onnx", "hang", "--timeout", "%ds" % seconds)
        took = time.monotonic() - started
        if os.path.exists(in_scratch("words.pid")) and took < seconds + 9:
            break
    tally.check("a hanging trtexec is ended", result.status == 5 and took < seconds + 9 and
                "trtexec was not done in %d s; --timeout" % seconds in result.stderr and is_gone(mock_pid()) and
                not left_behind(), "%.1f s\n%s" % (took, result.describe()))
    for number in (signal.SIGTERM, signal.SIGKILL):
        os.remove(in_scratch("words.pid"))
        process = subprocess.Popen(
            [PROGRAM, "profile", in_scratch("net.onnx"), "--backend", "tensorrt", "--trtexec",
             in_scratch("mock"), "--no-add"], env=dict(environment(scratch()), **extra("hang")),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        end = time.monotonic() + 20
        while time.monotonic() < end and not (os.path.exists(in_scratch("words.pid")) and
                                              os.path.getsize(in_scratch("words.pid"))):
            time.sleep(0.02)
        process.send_signal(number)
        process.communicate(timeout=20)
        while time.monotonic() < end and not is_gone(mock_pid()):
            time.sleep(0.02)
        tally.check("trtexec dies with us (%s)" % number.name, is_gone(mock_pid()) and
                    (number == signal.SIGKILL or not left_behind()), process.returncode)
    for folder in left_behind():  # of the program that was killed
        for root, folders, files in os.walk(folder, topdown=False):
            for name in files:
                os.remove(os.path.join(root, name))
            for name in folders:
                os.rmdir(os.path.join(root, name))
        os.rmdir(folder)


def finding():
    folder = in_scratch("bin")
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists("/usr/src/tensorrt/bin/trtexec"):
        result = profile("net.onnx", "fine", trtexec=False, PATH=folder)
        tally.check("no trtexec: what is missing, and where it is from", result.status == 5 and
                    "no trtexec found on PATH" in result.stderr and
                    "comes with TensorRT" in result.stderr and one_line_error(result),
                    result.describe())
    os.symlink(in_scratch("mock"), os.path.join(folder, "trtexec"))
    result = profile("net.onnx", "fine", "--no-add", trtexec=False, PATH="/nowhere:" + folder)
    tally.check("found on PATH", result.status == 0, result.describe())
    with open(in_scratch("no_program"), "wb") as file:
        file.write(b"\x7fELF of another machine")
    os.chmod(in_scratch("no_program"), 0o755)
    result = profile("net.onnx", "fine", "--trtexec", in_scratch("no_program"), trtexec=False)
    tally.check("a program that does not start", result.status == 5 and
                "no_program: Exec format error" in result.stderr and one_line_error(result) and
                not left_behind(), result.describe())


def main():
    set_up()
    for test in (command_line, numbers, releases, faults, hanging, finding):
        if wanted(test.__name__):
            test()
    tally.finish()


main()
