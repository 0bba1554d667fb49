#!/usr/bin/env python3
"""ONNX Runtime profiles: counts and sums by Python's json module against `neurolens sql`.

    tests/oracle/ort_counts.py [build/neurolens]

Every file of ../shared/samples/ort and of tests/corpus/ort that is sound JSON.
"""
import collections
import glob
import gzip
import json
import os
import sys

from oracle import ROOT, SHARED, Checker, Neurolens

SUFFIX = "_kernel_time"
FENCES = ("_fence_before", "_fence_after")


def read(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as file:
        try:
            return json.load(file)
        except ValueError:
            return None


def bare(event):
    name = event["name"]
    name = name[:-len(SUFFIX)] if name.endswith(SUFFIX) else name
    return name or event["args"].get("op_name")


def shapes(args, key):
    """What columns hold: dimensions and types of [{"float":[1,2]}, ...]."""
    if not isinstance(args.get(key), list):
        return None, None
    tensors = [next(iter(t.items())) for t in args[key]]
    return (json.dumps([dims for _, dims in tensors], separators=(",", ":")),
            json.dumps([name for name, _ in tensors], separators=(",", ":")))


def check_nodes(check, tool, path, name, nodes, first):
    number = lambda e, key: int(e["args"][key]) if key in e["args"] else None
    index = lambda e: number(e, "node_index" if "node_index" in e["args"] else "exec_plan_index")
    want = sorted(((e["ts"] * 1000, e["dur"] * 1000, bare(e), e["tid"], e["args"].get("op_name"),
                    e["args"].get("provider"), index(e), number(e, "parameter_size"),
                    number(e, "activation_size"), number(e, "output_size"))
                   + shapes(e["args"], "input_type_shape") + shapes(e["args"], "output_type_shape")
                   for e in nodes), key=str)
    rows = tool.sql(path, "SELECT n.ts, n.dur, n.name, l.tid, n.type, n.provider, n.\"index\", "
                          "n.parameter_bytes, n.activation_bytes, n.output_bytes, o.shapes, o.dtypes, "
                          "n.output_shapes, n.output_types FROM nodes n JOIN ops o ON o.slice = n.slice "
                          "JOIN slices s ON s.id = n.slice JOIN lanes l ON l.id = s.lane")
    got = sorted(((r[0] + first, *r[1:]) for r in rows), key=str)
    check.equal("%s %d nodes, every column" % (name, len(want)), want, got)


def check_sessions(check, tool, path, name, sessions, first):
    want = sorted((e["ts"] * 1000, e["dur"] * 1000, e["name"]) for e in sessions)
    got = sorted((r[0] + first, r[1], r[2]) for r in tool.sql(path, "SELECT ts, dur, name FROM nvtx"))
    check.equal("%s %d session ranges" % (name, len(want)), want, got)
    runs = [(i, e["ts"] * 1000, e["dur"] * 1000)
            for i, e in enumerate(e for e in sessions if e["name"] == "model_run")]
    got = [(r[0], r[1] + first, r[2]) for r in tool.sql(
        path, 'SELECT "index", ts, dur FROM steps ORDER BY "index"')]
    check.equal("%s %d runs" % (name, len(runs)), runs, got)


def check_gpu(check, tool, path, name, kernels):
    want = collections.Counter((e["name"], e["dur"] * 1000) for e in kernels)
    got = collections.Counter(tuple(r) for r in tool.sql(
        path, "SELECT name, dur FROM kernels UNION ALL SELECT name, dur FROM copies"))
    check.rows("%s GPU events" % name, dict(want), dict(got))


def check_profile(check, tool, path):
    name = os.path.basename(path)[:44]
    events = read(path)
    if events is None:
        return False
    first = tool.first_ns(path)
    nodes = [e for e in events if e["cat"] == "Node" and not e["name"].endswith(FENCES)]
    fences = sum(e["cat"] == "Node" and e["name"].endswith(FENCES) for e in events)
    check_nodes(check, tool, path, name, nodes, first)
    check_sessions(check, tool, path, name, [e for e in events if e["cat"] == "Session"], first)
    check_gpu(check, tool, path, name, [e for e in events if e["cat"] == "Kernel"])
    rows = tool.sql(path, "SELECT coalesce(sum(count), 0) FROM coverage WHERE item LIKE '%fence%'")
    check.equal("%s fences are told" % name, fences, rows[0][0])
    rows = tool.sql(path, "SELECT format FROM sources")
    check.equal("%s format" % name, [["onnxruntime"]], rows)
    return True


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    paths = sorted(glob.glob(os.path.join(SHARED, "samples", "ort", "*", "*.json")))
    if not paths:
        print("skipped: no ../shared")
        check.skipped += 1
    paths += sorted(glob.glob(os.path.join(ROOT, "tests", "corpus", "ort", "*.json*")))
    paths.append(os.path.join(ROOT, "tests", "fixtures", "ort_cpu_mlp.json.gz"))
    for path in paths:
        if not check_profile(check, tool, path):
            check.skip(os.path.basename(path), "no sound JSON")
    check.finish()


main()
