#!/usr/bin/env python3
"""Counts, extents and sums of every Chrome/Kineto sample, against an independent reading.

The independent reading is Python's json module and exact decimal arithmetic on the text of the
numbers. Compared per kind of slice: count, sum of lengths, earliest start, latest end; besides:
kernels' launch shapes, bytes of copies, operators' shapes, memory events, counter values, arrows,
steps. Needs the folder ../shared/samples; skipped without it.
"""
import collections
import decimal
import gzip
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import ROOT, Tally, neurolens  # noqa: E402

SAMPLES = os.path.join(ROOT, "..", "shared", "samples")
FOLDERS = ("torch", "chrome", "viztracer")
NO_TRACE = ("mi300.json", "event_replay_ir.json")  # JSON, but no events in them
CLOSE = ("", "]", "{}]", "]}")

KINDS = {
    "cpu_op": "op", "hpu_op": "op", "user_annotation": "nvtx", "cuda_runtime": "api",
    "cuda_driver": "api", "mtia_runtime": "api", "xpu_runtime": "api", "kernel": "kernel",
    "gpu_memcpy": "memcpy", "gpu_memset": "memset", "cuda_sync": "sync",
    "gpu_user_annotation": "gpu_annotation", "overhead": "overhead", "Trace": "mark",
    "cuda_profiler_range": "device",
    "FEE": "python", "fee": "python",  # VizTracer's function entry and exit
}
EARLY = {"Operator": ("op", "External id"), "Runtime": ("api", "correlation"),
         "Kernel": ("kernel", "correlation"), "Memcpy": ("memcpy", "correlation"),
         "Memset": ("memset", "correlation")}


def read(path):
    """The events of a file; files without their end are closed in the usual ways."""
    raw = open(path, "rb").read()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    text = raw.decode("utf-8", "replace").strip()
    for close in CLOSE:
        try:
            data = json.loads(text + close, parse_float=lambda number: number, strict=False)
            break
        except ValueError:
            continue
    else:
        return None
    return data if isinstance(data, list) else data.get("traceEvents")


def ns(value):
    """Microseconds as int or text → ns, exactly (half away from zero)."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return value * 1000
    return int((decimal.Decimal(value) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def kind_of(event, args):
    cat = event.get("cat")
    if cat == "python_function":
        return "layer" if event["name"].startswith("nn.Module: ") else "python"
    if cat == "mtia_ccp_events":
        return "memcpy" if "direction" in args else "kernel"
    if cat in EARLY and EARLY[cat][1] in args:
        kind = EARLY[cat][0]
        # In 2021 a step of the profiler was an operator; it is a range around operators.
        return "nvtx" if kind == "op" and event["name"].startswith("ProfilerStep#") else kind
    return KINDS.get(cat, "generic") if isinstance(cat, str) else "generic"


def integer(value):
    try:
        return int(str(value), 0)
    except ValueError:
        return None


class Expected:
    def __init__(self):
        self.kinds = collections.defaultdict(lambda: [0, 0, None, None])
        self.sums = collections.Counter()
        self.begins = self.steps = 0  # become slices, and marks, wherever their ends are

    def slice(self, kind, ts, dur):
        row = self.kinds[kind]
        row[0] += 1
        row[1] += dur
        row[2] = ts if row[2] is None else min(row[2], ts)
        row[3] = ts + dur if row[3] is None else max(row[3], ts + dur)

    def complete(self, event, args):
        kind = kind_of(event, args)
        self.slice(kind, ns(event["ts"]), max(0, ns(event.get("dur", 0)) or 0))
        if kind == "kernel":
            grid = args.get("grid") or [0, 0, 0]
            self.sums["grid"] += grid[0] * grid[1] * grid[2]
            self.sums["registers"] += args.get("registers per thread", 0)
        if kind in ("kernel", "memcpy", "memset"):
            self.sums["correlation"] += max(0, integer(args.get("correlation", 0)))
        if kind == "memcpy":
            size = args.get("size") if "direction" in args else args.get("bytes")
            self.sums["copied"] += integer(size or 0)
        if kind == "op":
            self.sums["shapes"] += "Input Dims" in args or "Input dims" in args
            self.sums["sequence"] += args.get("Sequence number", 0)
        if event.get("name", "").startswith("ProfilerStep#") and kind in ("op", "nvtx"):
            self.sums["steps"] += 1

    def add(self, event):
        phase = event.get("ph")
        args = event.get("args") if isinstance(event.get("args"), dict) else {}
        if phase == "X":
            self.complete(event, args)
        elif phase in ("i", "I", "R"):
            if event.get("name") == "CpuProfile":  # samples: chrome_samples.py
                return
            if event.get("name") == "[memory]" and "Bytes" in args:
                self.sums["memory"] += 1
                self.sums["allocated"] += args["Bytes"]
            else:
                self.slice("mark", ns(event["ts"]), 0)
        elif phase in ("B", "b", "S", "N"):
            self.begins += 1
        elif phase in ("n", "T", "p", "O"):
            self.steps += 1
        elif phase == "C":
            self.sums["counters"] += sum(1 for value in args.values() if number(value))
        elif phase == "s" and event.get("cat") == "fwdbwd":
            self.sums["backward"] += 1


def number(value):
    if isinstance(value, bool) or value is None or isinstance(value, (list, dict)):
        return False
    try:
        float(value)
        return True
    except ValueError:
        return False


QUERY = """
SELECT 'kind ' || kind AS what, count(*), sum(dur), min(ts), max(ts + dur) FROM slices
  GROUP BY kind
UNION ALL SELECT 'grid', sum(grid_x * grid_y * grid_z), 0, 0, 0 FROM kernels
UNION ALL SELECT 'registers', sum(registers), 0, 0, 0 FROM kernels
UNION ALL SELECT 'correlation', (SELECT ifnull(sum(correlation), 0) FROM kernels) +
  (SELECT ifnull(sum(correlation), 0) FROM copies) +
  (SELECT ifnull(sum(correlation), 0) FROM memsets), 0, 0, 0
UNION ALL SELECT 'copied', sum(bytes), 0, 0, 0 FROM copies
UNION ALL SELECT 'shapes', count(shapes), 0, 0, 0 FROM ops
UNION ALL SELECT 'sequence', sum(sequence), 0, 0, 0 FROM ops
UNION ALL SELECT 'steps', count(*), 0, 0, 0 FROM steps
UNION ALL SELECT 'memory', count(*), 0, 0, 0 FROM memory
UNION ALL SELECT 'allocated', sum(bytes), 0, 0, 0 FROM memory
UNION ALL SELECT 'counters', count(*), 0, 0, 0 FROM counters
UNION ALL SELECT 'backward', count(*), 0, 0, 0 FROM flows WHERE kind = 'forward_backward'
"""


def compare(tally, path):
    name = os.path.relpath(path, SAMPLES)
    events = read(path)
    if events is None or not isinstance(events, list):
        tally.skip(name, "Python cannot read it either")
        return
    expected = Expected()
    phases = collections.Counter(event.get("ph") for event in events)
    for event in events:
        expected.add(event)
    if expected.begins:
        expected.kinds["generic"]
    if expected.steps:
        expected.kinds["mark"]
    paired = any(phases[ph] for ph in "BEbneSTpFNO")
    result = neurolens(["sql", path, "--no-cache", "--format", "json",
                        QUERY],
                       timeout=120)
    if result.status != 0:
        tally.fail(name, result.describe())
        return
    wrong = []
    document = json.loads(result.stdout)
    first = document["profile"]["first_ns"]
    found = {}
    for what, count, total, start, end in document["result"]["rows"]:
        found[what] = [count, total, start + first, end + first]
    for kind, row in expected.kinds.items():
        if paired and kind in ("generic", "mark"):
            row[0] += expected.begins if kind == "generic" else expected.steps
            if found.pop("kind " + kind, [0])[0] != row[0]:  # their lengths depend on pairing
                wrong.append("%s: %s" % (kind, row[0]))
        elif found.pop("kind " + kind, None) != row:
            wrong.append("%s: %s" % (kind, row))
    wrong += [what for what in found if what.startswith("kind ")]
    for what, value in found.items():
        if not what.startswith("kind ") and (value[0] or 0) != expected.sums[what]:
            wrong.append("%s: %s, expected %s" % (what, value[0], expected.sums[what]))
    tally.check("%s (%d events)" % (name, len(events)), not wrong,
                "\n".join(wrong) + "\nfound: %s" % found)


def main():
    tally = Tally("chrome_counts")
    if not os.path.isdir(SAMPLES):
        tally.skip("all", "no ../shared")
        tally.finish()
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for folder in FOLDERS:
        for base, _, names in sorted(os.walk(os.path.join(SAMPLES, folder))):
            for name in sorted(names):
                path = os.path.join(base, name)
                if wanted in path and not name.endswith(NO_TRACE) and "expected" not in name:
                    compare(tally, path)
    tally.finish()


main()
