#!/usr/bin/env python3
"""Kernels of graph replays joined to the capture of their graph: only where it is certain, and without its time.

    tests/graphjoin.py [WORD...]      the parts whose name contains a WORD

The real sample is worked out a second time here, from the JSON of both files.
"""
import glob
import gzip
import json
import os
import sys
import tempfile

from harness import ROOT, Tally, by_source, forked as neurolens

tally = Tally("graphjoin")

DECODE = os.path.join(ROOT, "..", "shared", "samples", "torch", "AMD-AGI+TraceLens", "tests", "traces", "inference", "vllm_decode_full")
GRAPH = "graph replays: kernels "
JOINED, UNKNOWN = GRAPH + "joined to their launch in the capture", GRAPH + "without their capture"
SEVERAL, UNORDERED = GRAPH + "that several captures fit", GRAPH + "whose place in the capture is not certain"
UNUSABLE = "graph captures that cannot be joined"

LAYER = [("aten::mm", [[8, 16], [16, 32]], "gemm"), ("aten::add", [[8, 32], [8, 32]], "add"),
         ("aten::mm", [[8, 32], [32, 16]], "gemm")]
FLOPS = 2 * 8 * 16 * 32 + 2 * 8 * 32 * 16


def asked(*words):
    done = neurolens([*words, "--format", "json", "--no-cache"], timeout=120)
    if done.status:
        raise AssertionError(done.describe())
    return json.loads(done.stdout)["result"]


def rows(path, query, *words):
    return asked("sql", path, query, *words)["rows"]


def coverage(path, *words):
    return dict(rows(path, "SELECT item, count FROM coverage WHERE item LIKE 'graph %'", *words))


class Trace:
    """Events of one process in order of time; `rank` names it."""

    def __init__(self, rank=0):
        self.events, self.now, self.correlation = [], 1000, 0
        self.rank = rank

    def add(self, cat, name, ts, dur, pid=1, tid=1, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args})

    def call(self, name, dur=2, **args):
        self.correlation += 1
        self.add("cuda_runtime", name, self.now, dur, correlation=self.correlation, **args)
        self.now += dur + 1
        return self.correlation

    def capture(self, layer, module=None, named=True, fork=False, end=True, tid=1, before_end=None, result=0):
        self.call("hipStreamBeginCapture")
        start = self.now
        for name, dims, kernel in layer:
            self.add("cpu_op", name, self.now, 8, tid=tid, **{"Input Dims": dims, "Input type": ["float"] * len(dims)})
            self.now += 2
            self.call("hipLaunchKernel", **({"kernel": kernel} if named else {}))
            self.now += 10
        if fork:
            self.call("hipStreamWaitEvent")
        if before_end:
            self.call(before_end)
        if module:
            self.add("python_function", "nn.Module: " + module, start - 1, self.now - start, tid=tid)
        if end:
            self.call("hipStreamEndCapture", result=result)
        self.now += 10

    def replay(self, kernels, streams=None, together=False):
        correlation = self.call("hipGraphLaunch", dur=5)
        for i, kernel in enumerate(kernels):
            self.add("kernel", kernel, self.now, 20, pid=0, tid=(streams or [7] * len(kernels))[i], device=0,
                     stream=(streams or [7] * len(kernels))[i], correlation=correlation)
            self.now += 5 if together else 21
        self.now += 30

    def write(self, folder, name="trace.json"):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps({"schemaVersion": 1, "record_shapes": 1, "with_stack": 1,
                       "distributedInfo": {"rank": self.rank, "world_size": 2},
                       "deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X", "computeMajor": 9, "computeMinor": 4}],
                       "traceEvents": self.events}))
        return path


NAMES = [kernel for _, _, kernel in LAYER]
WORK = ("SELECT s.name, w.flops FROM op_work w JOIN slices s ON s.id = w.op WHERE s.kind IN ('op', 'captured') "
        "AND w.kernel_ns > 0 ORDER BY w.op, w.kernel_ns")


def launched(path, *words):
    """Innermost operator, its inputs and module per kernel, in order of time."""
    return rows(path, "SELECT k.name, s.name, c.shapes FROM kernels k LEFT JOIN slices s ON s.id = k.captured "
                "LEFT JOIN captured_ranges c ON c.slice = k.captured ORDER BY k.ts", *words)


def same_file():
    """Three replays: operators, shapes and FLOPs of each; the host's operators are counted once, as they ran."""
    trace = Trace()
    trace.capture(LAYER)
    for _ in range(3):
        trace.replay(NAMES)
    with tempfile.TemporaryDirectory() as folder:
        path = trace.write(folder)
        expected = [[kernel, name, json.dumps(dims).replace(" ", "")] for name, dims, kernel in LAYER] * 3
        found = [[kernel, name, shapes and shapes.replace(" ", "")] for kernel, name, shapes in launched(path)]
        tally.check("kernels of three replays have operators and shapes", found == expected, found)
        tally.check("coverage counts them", coverage(path) == {JOINED: 9}, coverage(path))
        work = rows(path, "SELECT sum(flops), sum(kernel_ns) FROM op_work")
        # Three matrix products per replay would be wrong: two, and the addition's 8*32.
        tally.check("FLOPs of each replay count", work == [[3 * (FLOPS + 8 * 32), 9 * 20000]], work)
        host = rows(path, "SELECT count(*) FROM ops")
        tally.check("operators of the host are those of the capture", host == [[3]], host)
        done = neurolens(["fingerprint", path, "--format", "csv", "--section", "op_device", "--no-cache"])
        prints = [line.rsplit('",', 1)[1].split(",")[1:5:1] for line in done.stdout.splitlines()[1:]]
        tally.check("fingerprints count each replay as a call", [(row[0], row[1], row[3]) for row in prints] == [("3", "60000", "20000")] * 3,
                    done.describe())
        gpu = {row["name"]: row for row in asked("analyze", path, "--section", "op_gpu")["op_gpu"]}
        tally.check("time of operators on the GPU", gpu["aten::mm"]["gpu_ns"] == 6 * 20000 and
                    gpu["aten::add"]["gpu_ns"] == 3 * 20000 and gpu["aten::mm"]["count"] == 2, gpu)


def joined_file():
    """The capture in a file of its own gives the same, and no time."""
    capture, replays = Trace(), Trace()
    capture.capture(LAYER, module="Block_0")
    for _ in range(2):
        replays.replay(NAMES)
    with tempfile.TemporaryDirectory() as folder:
        path, other = replays.write(folder), capture.write(folder, "capture.json")
        for section in ("time_breakdown", "ops", "threads", "kernels", "launches", "python"):
            alone = neurolens(["analyze", path, "--section", section, "--no-cache"]).stdout.splitlines()[1:]
            both = neurolens(["analyze", path, "--join", other, "--section", section, "--no-cache"]).stdout.splitlines()[1:]
            tally.check("the capture's time does not count: " + section, alone == both, "\n".join(alone + ["--"] + both))
        tally.check("operators of the joined file", [row[1] for row in launched(path, "--join", other)] ==
                    [name for name, _, _ in LAYER] * 2, launched(path, "--join", other))
        work = rows(path, "SELECT sum(flops) FROM op_work", "--join", other)
        tally.check("FLOPs by its shapes", work == [[2 * (FLOPS + 8 * 32)]], work)
        layers = asked("analyze", path, "--join", other, "--section", "layer_gpu")["layer_gpu"]
        tally.check("modules of the joined file", [(row["name"], row["gpu_ns"]) for row in layers] ==
                    [("nn.Module: Block_0", 120000)], layers)
        span = rows(path, "SELECT max(ts + dur) FROM slices")
        tally.check("the profile is not longer", span == rows(path, "SELECT max(ts + dur) FROM slices", "--join", other), span)
        nothing = Trace()
        nothing.replay(NAMES)
        done = neurolens(["info", path, "--join", nothing.write(folder, "n.json")])
        tally.check("a file without captures is refused", done.status == 2 and "no captured graph" in done.stderr, done.describe())


def none(name, make, expected, operators=0, other=None):
    """`make` fills the trace (and the one to be joined); coverage as expected."""
    trace, joined = Trace(), Trace(rank=other) if other is not None else None
    make(trace, joined) if joined else make(trace)
    with tempfile.TemporaryDirectory() as folder:
        path = trace.write(folder)
        words = ["--join", joined.write(folder, "capture.json")] if joined else []
        found = coverage(path, *words)
        given = sum(row[1] is not None for row in launched(path, *words))
        tally.check(name, found == expected and given == operators, (found, given))


def ambiguous():
    other = [("aten::mm", [[64, 16], [16, 32]], "gemm"), *LAYER[1:]]

    def two_shapes(trace):
        trace.capture(LAYER)
        trace.capture(other)
        trace.replay(NAMES)
    none("captures of other shapes: none", two_shapes, {SEVERAL: 3})

    def twice(trace):
        trace.capture(LAYER)
        trace.capture(LAYER)
        trace.replay(NAMES)
    none("captures that say the same: either", twice, {JOINED: 3}, 3)

    def modules(trace):
        trace.capture(LAYER, module="Block_0")
        trace.capture(LAYER, module="Block_1")
        trace.replay(NAMES)
    none("captures of equal layers: their operators", modules, {JOINED: 3}, 3)
    trace = Trace()
    modules(trace)
    with tempfile.TemporaryDirectory() as folder:
        path = trace.write(folder)
        kinds = rows(path, "SELECT DISTINCT kind FROM captured_ranges")
        tally.check("but none of their modules", kinds == [["op"]], kinds)

    def shorter(trace):
        trace.capture(LAYER)
        trace.replay(NAMES[:2])
    none("a replay of fewer kernels: none", shorter, {UNKNOWN: 2})

    def lost(trace, kept=59, more=()):
        trace.capture(LAYER * 20)
        for extra in more:
            trace.capture(extra)
        trace.replay((NAMES * 20)[:kept])
    none("a long replay without its last kernel", lost, {JOINED: 59}, 59)
    none("a long replay without its last ten kernels: none", lambda trace: lost(trace, 50), {UNKNOWN: 50})
    none("its end may be that of two captures", lambda trace: lost(trace, 59, [LAYER * 19 + LAYER[:2] + [("aten::mm", [[9, 9], [9, 9]], "other")]]),
         {SEVERAL: 59})
    none("a capture that fits as a whole comes first", lambda trace: lost(trace, 59, [(LAYER * 20)[:59]]), {JOINED: 59}, 59)

    def swapped(trace):
        trace.capture(LAYER)
        trace.replay(["gemm", "gemm", "add"])
    none("another order: none", swapped, {UNKNOWN: 3})

    def forked(trace):
        trace.capture(LAYER, fork=True)
        trace.replay(NAMES)
    none("captured from several streams: what occurs once", forked, {JOINED: 1, UNORDERED: 2}, 1)

    def parallel(trace):
        trace.capture(LAYER)
        trace.replay(["gemm", "gemm", "add"], streams=[7, 8, 7], together=True)
    none("kernels that ran together: what occurs once", parallel, {JOINED: 1, UNORDERED: 2}, 1)

    def unnamed(trace):
        trace.capture(LAYER, named=False)
        trace.replay(NAMES)
    none("launches that do not name their kernels", unnamed, {UNKNOWN: 3, UNUSABLE: 1})

    def beside_unnamed(trace):
        trace.capture(other, named=False)
        trace.capture(LAYER)
        trace.replay(NAMES)
    none("a replay that may be of a capture without names: none", beside_unnamed, {SEVERAL: 3, UNUSABLE: 1})

    def early(trace):
        trace.replay(NAMES)
        trace.capture(LAYER)
    none("a replay before the capture: none", early, {UNKNOWN: 3})

    def nested(trace):
        trace.call("hipStreamBeginCapture")
        trace.capture(LAYER)
        trace.call("hipStreamEndCapture")
        trace.replay(NAMES)
    none("captures that overlap: none", nested, {UNKNOWN: 3, UNUSABLE: 1})

    def unfinished(trace):
        trace.call("hipStreamEndCapture")
        trace.capture(LAYER, end=False)
        trace.replay(NAMES)
    none("a capture that does not end", unfinished, {UNKNOWN: 3, UNUSABLE: 2})

    def failed(trace):
        trace.capture(LAYER, result=901)
        trace.replay(NAMES)
    none("a capture that failed made no graph", failed, {})

    def failed_once(trace):
        trace.capture(other, result=901)
        trace.capture(LAYER)
        trace.replay(NAMES)
    none("a capture that failed is not in doubt with the one that did not", failed_once, {JOINED: 3}, 3)

    def cut(trace):
        trace.call("hipStreamEndCapture")
        trace.capture(LAYER)
        trace.replay(NAMES)
    none("beside a capture that began before the profile: none", cut, {SEVERAL: 3, UNUSABLE: 1})

    def older(trace):
        trace.replay(NAMES)
        trace.capture(LAYER)
        trace.replay(NAMES)
    none("the same kernels were replayed before the capture: none", older, {UNKNOWN: 3, SEVERAL: 3})

    def changed(trace):
        trace.capture(LAYER)
        trace.call("hipGraphExecKernelNodeSetParams")
        trace.replay(NAMES)
    none("nodes were set after the capture: none", changed, {SEVERAL: 3, UNUSABLE: 1})

    def executed(trace):
        trace.call("hipStreamBeginCapture")
        for name, dims, kernel in LAYER:
            trace.add("kernel", kernel, trace.now + 3, 2, pid=0, tid=7, device=0, stream=7,
                      correlation=trace.call("hipLaunchKernel", kernel=kernel))
        trace.call("hipStreamEndCapture")
        trace.replay(NAMES)
    none("launches that ran at once are not captured", executed, {})

    def event(trace):
        trace.capture(LAYER, before_end="hipEventRecord")
        trace.replay(NAMES)
    none("an event that nobody waits for keeps the order", event, {JOINED: 3}, 3)

    def of_rank(trace, joined):
        joined.capture(LAYER)
        trace.replay(NAMES)
    none("the capture of another rank: none", of_rank, {UNKNOWN: 3}, 0, other=1)
    none("the capture of this rank", of_rank, {JOINED: 3}, 3, other=0)


def told():
    """What other answers say of joined replays: regions, what is missing, exports."""
    region = "Torch-Compiled Region: 0/0"
    trace = Trace()
    trace.capture(LAYER)
    start = trace.now
    trace.replay(NAMES)
    trace.add("cpu_op", region, start - 1, 10)
    trace.capture(LAYER[:1])
    with tempfile.TemporaryDirectory() as folder:
        path = trace.write(folder)
        found = [(row["region"], row["gpu_ops"], row["gpu_ns"]) for row in asked("analyze", path, "--section", "compiled_regions")["compiled_regions"]]
        tally.check("replays stay in the compiled region that launched them", found == [(region, 3, 60000)], found)
        out = os.path.join(folder, "out.json")
        done = neurolens(["export", path, "--to", "chrome", "-o", out])
        with open(out, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        kernels = [event["args"].get("kernel") for event in events if event.get("cat") == "cuda_runtime" and event["name"] == "hipLaunchKernel"]
        tally.check("the Chrome export keeps the kernels' names of calls", kernels == [*NAMES, NAMES[0]], (done.describe(), kernels))
        tally.check("so it can be joined again", coverage(out) == coverage(path) and coverage(path)[JOINED] == 3, coverage(out))

        alone, capture = Trace(), Trace()
        alone.replay(NAMES)
        capture.capture(LAYER, module="Block_0")
        path, other = alone.write(folder, "alone.json"), capture.write(folder, "capture.json")

        def missing(*words):
            said = asked("info", path, *words)
            return {row["missing"] for row in said["missing"]}
        tally.check("operators and modules are missing in the profile itself", {"ops", "layers"} <= missing(), missing())
        tally.check("joined ones are not called missing", not {"ops", "layers"} & missing("--join", other), missing("--join", other))
        gpu = {row["name"]: row["gpu_ns"] for row in asked("analyze", path, "--join", other, "--section", "op_gpu")["op_gpu"]}
        tally.check("and their time on the device is answered", gpu == {"aten::mm": 40000, "aten::add": 20000}, gpu)


def read(path):
    with gzip.open(path) as file:
        return json.load(file)["traceEvents"]


def sample_by_hand(capture, replays):
    """(kernel, innermost operator, its shapes) in order of time: by external ids, not by containment."""
    begin = next(e["ts"] for e in capture if e["name"] == "hipStreamBeginCapture")
    end = next(e["ts"] for e in capture if e["name"] == "hipStreamEndCapture")
    ops = {e["args"]["External id"]: e for e in capture if e.get("cat") == "cpu_op"}
    launches = sorted((e for e in capture if "kernel" in e.get("args", {}) and begin < e["ts"] < end), key=lambda e: e["ts"])
    launch = next(e["args"]["correlation"] for e in replays if e["name"] == "hipGraphLaunch")
    kernels = sorted((e for e in replays if e.get("cat") == "kernel" and e["args"]["correlation"] == launch),
                     key=lambda e: e["ts"])
    assert [e["args"]["kernel"] for e in launches] == [e["name"] for e in kernels]
    found, names = [], by_source({kernel["name"] for kernel in kernels})
    for call, kernel in zip(launches, kernels):
        op = ops[call["args"]["External id"]]
        found.append([names[kernel["name"]], op["name"], json.dumps(op["args"].get("Input Dims")).replace(" ", "")])
    return found


def sample():
    """vLLM decoding: 421 kernels of one replay, with the capture that vLLM's profile of its start holds."""
    path = os.path.join(DECODE, "graph_execution.json.gz")
    capture = (glob.glob(os.path.join(DECODE, "capture_traces", "*.json.gz")) or [None])[0]
    if not capture:
        tally.skip("vllm_decode_full", "no ../shared")
        return
    expected = sample_by_hand(read(capture), read(path))
    query = ("WITH RECURSIVE up(kernel, ts, at) AS (SELECT name, ts, captured FROM kernels WHERE captured IS NOT NULL UNION ALL "
             "SELECT up.kernel, up.ts, c.parent FROM up JOIN captured_ranges c ON c.slice = up.at WHERE c.kind <> 'op') "
             "SELECT up.kernel, s.name, c.shapes FROM up JOIN captured_ranges c ON c.slice = up.at JOIN slices s ON s.id = up.at "
             "WHERE c.kind = 'op' ORDER BY up.ts")
    found = [[kernel, name, (shapes or "null").replace(" ", "")] for kernel, name, shapes in rows(path, query, "--join", capture)]
    wrong = next((pair for pair in zip(found, expected) if pair[0] != pair[1]), None)
    tally.check("421 of 421 kernels have the operator that the capture names", len(found) == 421 and not wrong,
                (len(found), wrong))
    times = "SELECT rank, device, wall_ns, compute_ns, exposed_comm_ns, exposed_copy_ns, idle_ns FROM time_breakdown"
    tally.check("the time is that of the replay alone", rows(path, times) == rows(path, times, "--join", capture))
    host = "SELECT count(*), sum(dur) FROM ops"
    tally.check("so are the operators of the host", rows(path, host) == rows(path, host, "--join", capture))
    products = rows(path, "SELECT s.name, count(*), sum(w.kernel_ns), sum(w.flops) FROM op_work w JOIN slices s ON s.id = w.op "
                    "WHERE w.model = 'gemm' GROUP BY 1 ORDER BY 1", "--join", capture)
    # Of TraceLens' GEMM.csv: 24 calls each of N x K = 5120 x 2880, 2880 x 4096 and 32 x 2880 with 32 rows, 387.01,
    # 366.21 and 200.65 us; and the product of the logits outside the graph.
    flops = 24 * 2 * 32 * (5120 * 2880 + 2880 * 4096 + 32 * 2880)
    addmm = next((row for row in products if row[0] == "aten::addmm"), [None] * 4)
    tally.check("FLOPs and time of products are TraceLens'", addmm[1] == 72 and addmm[3] == flops and
                abs(addmm[2] - (387.01171875 + 366.2138671875 + 200.65234375) * 1000) < 100, products)


def experts_by_hand(capture):
    """FLOPs of every vllm::moe_forward: tokens times k times the elements of the MXFP4 weights that its Triton kernels view."""
    ops = [e for e in capture if e.get("cat") == "cpu_op"]
    found = []
    for around in (e for e in ops if e["name"] == "vllm::moe_forward"):
        inside = [e for e in ops if e["tid"] == around["tid"] and around["ts"] < e["ts"] < around["ts"] + around["dur"]]
        topk = next(e for e in inside if e["name"] == "TopK")
        views = [e["args"]["Input Dims"][0] for e in inside if e["name"] == "aten::view" and e["args"]["Input type"][0] == "unsigned char"]
        elements = sum(rows * 2 * columns for _, rows, columns in views)  # two values in a byte
        found.append(2 * topk["args"]["Input Dims"][0][0] * int(topk["args"]["Concrete Inputs"][1]) * elements)
    return found


def paged():
    """Attention over vLLM's paged cache: lengths by the name of the step; layers with a window take half as long or less."""
    path = os.path.join(DECODE, "graph_execution.json.gz")
    capture = (glob.glob(os.path.join(DECODE, "capture_traces", "*.json.gz")) or [None])[0]
    if not capture:
        tally.skip("vllm_decode_full", "no ../shared")
        return
    found = rows(path, "SELECT kernels, count(*), min(flops), max(flops), max(bytes), max(estimated) FROM op_work WHERE "
                 "name = 'vllm::unified_attention_with_output' GROUP BY 1 ORDER BY 1", "--join", capture)
    # TraceLens: 0.902529024 GFLOPs and 108.08984375 MiB, also for the layers with a window of 128, whose kernel
    # (kernel_unified_attention_2d) runs alone; the other one (3d) is followed by reduce_segments.
    tally.check("paged attention as TraceLens, layers with a window unknown", found == [
        [1, 12, None, None, None, 0], [2, 12, 902529024, 902529024, int(108.08984375 * 2**20), 1]], found)


def experts():
    """gpt-oss' experts, whose operator shows tokens and scores alone."""
    path = os.path.join(DECODE, "graph_execution.json.gz")
    capture = (glob.glob(os.path.join(DECODE, "capture_traces", "*.json.gz")) or [None])[0]
    if not capture:
        tally.skip("vllm_decode_full", "no ../shared")
        return
    expected = experts_by_hand(read(capture))
    found = [row[0] for row in rows(path, "SELECT flops FROM op_work WHERE name = 'vllm::moe_forward'", "--join", capture)]
    tally.check("24 mixtures of experts, equal to a second implementation", len(found) == 24 and found == expected, (found, expected))
    # TraceLens takes both sizes for the padded width of the hidden state, 3072; the weights are 2944 deep.
    tracelens = (4.831838208 + 2.415919104) * 1e9
    tally.check("TraceLens' FLOPs but for its 3072/2944", abs(found[0] * 3072 / 2944 - tracelens) < 1e3, found[0])
    time = rows(path, "SELECT sum(k.dur) FROM kernels k WHERE k.name LIKE '_matmul_ogs%' OR k.name LIKE '_finalize_matmul%'")
    work = rows(path, "SELECT sum(kernel_ns), sum(kernels) FROM op_work WHERE name = 'vllm::moe_forward'", "--join", capture)
    tally.check("their kernels' time, once", work == [[time[0][0], 72]], (work, time))


def main():
    for part in (same_file, joined_file, ambiguous, told, sample, experts, paged):
        if len(sys.argv) < 2 or any(word in part.__name__ for word in sys.argv[1:]):
            part()
    tally.finish()


if __name__ == "__main__":
    main()
