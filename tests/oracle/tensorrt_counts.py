#!/usr/bin/env python3
"""TensorRT exports: counts and sums by Python's json module against `neurolens sql`.

    tests/oracle/tensorrt_counts.py [build/neurolens]

Every JSON file of ../shared/samples/tensorrt and of tests/corpus/tensorrt, each alone; and every
folder that holds times and details of layers of one engine, together.
"""
import glob
import json
import os
import sys
from decimal import ROUND_HALF_UP, Decimal

from oracle import ROOT, SHARED, Checker, Neurolens


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        try:
            return json.load(file, parse_float=Decimal)
        except ValueError:
            return None


def ns(ms):
    return None if ms is None else int((Decimal(ms) * 1000000).to_integral_value(ROUND_HALF_UP))


def kind_of(data):
    if isinstance(data, dict):
        return "layers" if "Layers" in data else "facts"
    if data and "startEnqMs" in data[0]:
        return "times"
    return "profile" if data and "count" in data[0] else "facts"


def check_times(check, tool, name, path, data):
    first = tool.first_ns(path)
    want = [(ns(r["startComputeMs"]), ns(r["computeMs"])) for r in data]
    got = [(r[0] + first, r[1]) for r in tool.sql(
        path, "SELECT ts, dur FROM graph_launches ORDER BY ts, dur")]
    check.equal("%s %d inferences" % (name, len(want)), sorted(want), sorted(got))
    want = [(i, ns(r["startH2dMs"]), ns(r["latencyMs"])) for i, r in enumerate(data)]
    got = [(r[0], r[1] + first, r[2]) for r in tool.sql(
        path, 'SELECT "index", ts, dur FROM steps ORDER BY "index"')]
    check.equal("%s latencies" % name, want, got)
    want = sum(ns(r["endEnqMs"]) - ns(r["startEnqMs"]) for r in data)
    check.equal("%s enqueue" % name, [[len(data), want]],
                tool.sql(path, "SELECT count(*), sum(dur) FROM api"))
    copies = [ns(r[k]) for r in data for k in ("h2dMs", "d2hMs") if r[k] != 0]
    check.equal("%s copies" % name, [[len(copies), sum(copies)]],
                tool.sql(path, "SELECT count(*), coalesce(sum(dur), 0) FROM copies"))
    told = tool.sql(path, "SELECT coalesce(sum(count), 0) FROM coverage WHERE item LIKE '%copies%'")
    check.equal("%s copies without length are told" % name, 2 * len(data) - len(copies), told[0][0])


def profile_rows(data):
    return [(r["name"], data[0]["count"], ns(r["timeMs"]), ns(r["averageMs"]), ns(r.get("medianMs")))
            for r in data[1:]]


def layer_rows(data):
    rows = []
    for layer in data["Layers"]:
        if isinstance(layer, str):
            rows.append((layer, None, None, None, None))
            continue
        shapes = [json.dumps([t.get("Dimensions") for t in layer[k]], separators=(",", ":"))
                  for k in ("Inputs", "Outputs")]
        rows.append((layer["Name"], layer["LayerType"],
                     layer.get("TacticName") or layer.get("TacticValue"), *shapes))
    return rows


PROFILE = "SELECT name, count, total_ns, mean_ns, median_ns FROM nodes"
LAYERS = "SELECT name, type, tactic, input_shapes, output_shapes FROM nodes"


def same_rows(check, name, want, got):
    """Spaces inside shapes are as recorded, so they are left out on both sides."""
    clean = lambda rows: sorted((tuple(str(c).replace(" ", "") for c in r) for r in rows))
    check.equal("%s (%d rows)" % (name, len(want)), clean(want), clean(got))


def check_file(check, tool, path):
    name = os.path.basename(path)[:40]
    data = read(path)
    if data is None:
        check.skip(name, "no sound JSON")
        return
    kind = kind_of(data)
    if kind == "times":
        check_times(check, tool, name, path, data)
    elif kind == "profile":
        same_rows(check, name + " layer times", profile_rows(data), tool.sql(path, PROFILE))
    elif kind == "layers":
        same_rows(check, name + " layers", layer_rows(data), tool.sql(path, LAYERS))
    else:
        rows = tool.sql(path, "SELECT count(*) FROM metadata")
        check.equal("%s has facts or says why not" % name, True, rows[0][0] > 0 or
                    tool.sql(path, "SELECT count(*) FROM coverage")[0][0] > 0)


def check_folder(check, tool, folder):
    files = {p: read(p) for p in sorted(glob.glob(os.path.join(folder, "*.json")))}
    by_kind = {}
    for path, data in files.items():
        if data is None:
            return  # Python cannot read it, the program in part: what the folder holds is not known here
        by_kind.setdefault(kind_of(data), []).append((path, data))
    if len(by_kind.get("profile", [])) != 1 or len(by_kind.get("layers", [])) != 1:
        return
    profile, layers = by_kind["profile"][0][1], by_kind["layers"][0][1]
    times = {r[0]: r for r in profile_rows(profile)}
    details = {r[0]: r for r in layer_rows(layers)}
    if len(times) < len(profile) - 1 or len(details) < len(layers["Layers"]):
        return  # names that repeat
    want = [(n, *(times[n][1:] if n in times else (None,) * 4),
             *(details[n][1:] if n in details else (None,) * 4)) for n in {*times, *details}]
    got = tool.sql(folder, "SELECT name, count, total_ns, mean_ns, median_ns, type, tactic, "
                           "input_shapes, output_shapes FROM nodes")
    same_rows(check, "%s: layers with times and details" % os.path.relpath(folder, ROOT)[-50:],
              want, got)


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    root = os.path.join(SHARED, "samples", "tensorrt")
    paths = sorted(glob.glob(os.path.join(root, "**", "*.json"), recursive=True))
    if not paths:
        print("skipped: no ../shared")
        check.skipped += 1
    paths += sorted(glob.glob(os.path.join(ROOT, "tests", "corpus", "tensorrt", "**", "*.json"),
                              recursive=True))
    for path in paths:
        check_file(check, tool, path)
    for folder in sorted({os.path.dirname(p) for p in paths}):
        check_folder(check, tool, folder)
    check.finish()


main()
