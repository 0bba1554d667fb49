#!/usr/bin/env python3
"""speedscope and pyinstrument: samples, exact weights, stacks and calls by Python's json against
`neurolens sql`.

    tests/oracle/pytrees_counts.py [build/neurolens]
"""
import glob
import json
import os
import sys
from decimal import Decimal

from oracle import ROOT, SHARED, Checker, Neurolens

SCALE = {"seconds": 9, "milliseconds": 6, "microseconds": 3, "nanoseconds": 0}


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_float=Decimal, parse_int=Decimal)


def whole(value):
    return int(value.to_integral_value("ROUND_HALF_UP"))


def speedscope(document):
    """(samples [(stack, weight)], calls [(name, ns)]) of a sound file."""
    frames = [(f.get("name"), f.get("file"), f.get("line")) for f in document["shared"]["frames"]]
    samples, calls = [], []
    for profile in document["profiles"]:
        scale = Decimal(10) ** SCALE.get(profile["unit"], 0)
        if profile["type"] == "sampled":
            for stack, weight in zip(profile["samples"], profile["weights"]):
                samples.append((tuple(frames[int(f)] for f in stack), whole(weight * scale)))
            continue
        stack, last = [], None
        for event in profile["events"]:
            at = whole(event["at"] * scale)
            if profile["unit"] not in SCALE and stack and at > last:
                samples.append((tuple(frames[f] for f, _ in stack), at - last))
            last = at
            if event["type"] == "O":
                stack.append((int(event["frame"]), at))
            else:
                frame, start = stack.pop()
                if profile["unit"] in SCALE:
                    calls.append(at - start)
    return samples, calls


def pyinstrument(document):
    samples = []
    todo = [(document.get("frame_tree") or document["root_frame"], ())]
    while todo:
        frame, stack = todo.pop()
        parts = frame["identifier"].split("\0") if "identifier" in frame else [
            frame["function"], frame.get("file_path") or frame["file_path_short"], frame["line_no"]]
        thread = parts[1] == "<thread>"
        if not thread:
            line = parts[2] if len(parts) > 2 else None
            stack += ((parts[0], parts[1] or None, int(str(line).split("\1")[0]) if line else None),)
        own = whole(frame["time"] * 10 ** 9)
        for child in frame["children"]:
            if child.get("identifier", "").split("\0")[0] == "[self]":
                continue
            own -= whole(child["time"] * 10 ** 9)
            todo.append((child, stack))
        if own > 0 and not thread:
            samples.append((stack, own))
    return samples, []


def check_file(check, tool, path, read):
    name = os.path.basename(path)
    samples, calls = read(load(path))
    got = tool.sql(path, "SELECT count(*), coalesce(sum(weight), 0) FROM samples")[0]
    check.equal(name + " samples", [len(samples), sum(w for _, w in samples)], list(got))
    got = tool.sql(path, "SELECT count(*), coalesce(sum(dur), 0) FROM slices")[0]
    check.equal(name + " calls", [len(calls), sum(calls)], list(got))
    leaves = {}
    for stack, weight in samples:
        key = stack[-1] if stack else (None, None, None)
        leaves[key] = leaves.get(key, 0) + weight
    got = tool.sql(path, "SELECT k.name, k.file, k.line, sum(weight) FROM samples s LEFT JOIN stacks k "
                         "ON k.id = s.stack GROUP BY 1, 2, 3")
    check.rows(name + " innermost frames", leaves, {tuple(row[:3]): row[3] for row in got})


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    sound = {"speedscope": ("evented.json", "bytes.json"), "pyinstrument": ("session.json", "older.json")}
    found = 0
    for folder, read in (("speedscope", speedscope), ("pyinstrument", pyinstrument)):
        paths = sorted(glob.glob(os.path.join(SHARED, "samples", folder, "**", "*.json"), recursive=True))
        paths = [p for p in paths if "/invalid/" not in p]
        found += len(paths)
        paths += [os.path.join(ROOT, "tests", "corpus", folder, name) for name in sound[folder]]
        for path in paths:
            check_file(check, tool, path, read)
    if not found:
        check.skip("samples", "no ../shared")
    check.finish()


main()
