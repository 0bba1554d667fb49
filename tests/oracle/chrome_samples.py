#!/usr/bin/env python3
"""Samples, stacks and objects of every Chrome sample, against an independent reading.

The independent reading is Python's json module: the lists `samples` and `stackFrames`, V8's profiles
(Profile, ProfileChunk, CpuProfile), and stacks of slices. Compared as multisets of (time, names of
the frames from the outermost). Needs the folder ../shared/samples; skipped without it.
"""
import collections
import decimal
import gzip
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import ROOT, Tally, by_source, neurolens  # noqa: E402

SAMPLES = os.path.join(ROOT, "..", "shared", "samples", "chrome")


def read(path):
    raw = open(path, "rb").read()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    try:
        data = json.loads(raw, parse_float=decimal.Decimal)
    except ValueError:
        return None  # chrome_counts.py has what is damaged
    return data if isinstance(data, dict) else {"traceEvents": data}


def ns(value):
    return int((decimal.Decimal(value) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def sampled(data):
    """`samples` with their stacks."""
    frames = data.get("stackFrames", {})
    for sample in data.get("samples", []):
        names, frame = [], frames.get(str(sample["sf"]))
        while frame:
            names.append(frame["name"])
            frame = frames.get(str(frame.get("parent")))
        yield ns(sample["ts"]), tuple(reversed(names))


def whole_profile(tree, deltas, start, names, parents):
    """Samples of a piece of a V8 profile; `names` and `parents` grow. The time it ends at is last."""
    for node in tree.get("nodes", []):
        names[node["id"]] = node["callFrame"]["functionName"] or "(anonymous)"
        if "parent" in node:
            parents[node["id"]] = node["parent"]
        for child in node.get("children", []):
            parents[child] = node["id"]
    rows = []
    for node, delta in zip(tree.get("samples", []), deltas):
        start += delta
        stack = []
        while node in names:
            stack.append(names[node])
            node = parents.get(node)
        rows.append((ns(start), tuple(reversed(stack))))
    return rows, start


def profiles(events):
    open_ones = {}
    for event in events:
        inside = event.get("args", {}).get("data", {}) if event.get("ph") in ("P", "I") else {}
        tree = inside.get("cpuProfile", {})
        if event.get("name") == "Profile" and event["ph"] == "P":
            open_ones[event["pid"], event["id"]] = [inside["startTime"], {}, {}]
        elif event.get("name") == "ProfileChunk" and event["ph"] == "P":
            state = open_ones[event["pid"], event["id"]]
            state[0] = state[0] or tree.get("startTime", 0)
            rows, state[0] = whole_profile(tree, inside.get("timeDeltas", []), *state)
            yield from rows
        elif event.get("name") == "CpuProfile":
            yield from whole_profile(tree, tree["timeDeltas"], tree["startTime"], {}, {})[0]


QUERY = """SELECT 'stack', stack.id, stack.parent, stack.name FROM stacks AS stack
UNION ALL SELECT 'sample', ts, stack, NULL FROM samples"""


def compare(tally, path):
    name = os.path.relpath(path, SAMPLES)
    data = read(path)
    if data is None:
        return
    told = collections.Counter(sampled(data))
    told.update(profiles(data["traceEvents"]))
    names, expected = by_source({frame for _, stack in told for frame in stack}), collections.Counter()
    for (ts, stack), count in told.items():
        expected[ts, tuple(names[frame] for frame in stack)] += count
    result = neurolens(["sql", path, "--no-cache", "--format", "json", QUERY], timeout=120)
    if result.status != 0:
        tally.fail(name, result.describe())
        return
    document = json.loads(result.stdout)
    first = document["profile"]["first_ns"]
    rows = document["result"]["rows"]
    stacks = {row[1]: (row[2], row[3]) for row in rows if row[0] == "stack"}
    found = collections.Counter()
    for what, ts, stack, _ in rows:
        if what == "sample":
            names = []
            while stack is not None:
                stack, frame = stacks[stack]
                names.append(frame)
            found[ts + first, tuple(reversed(names))] += 1
    tally.check("%s (%d samples)" % (name, sum(expected.values())), found == expected,
                "only here: %s\nonly there: %s" % (list((found - expected).items())[:3],
                                                   list((expected - found).items())[:3]))


def main():
    tally = Tally("chrome_samples")
    if not os.path.isdir(SAMPLES):
        tally.skip("all", "no ../shared")
        tally.finish()
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for base, _, names in sorted(os.walk(SAMPLES)):
        for name in sorted(names):
            if wanted in name and name.endswith((".json", ".gz")):
                compare(tally, os.path.join(base, name))
    tally.finish()


main()
