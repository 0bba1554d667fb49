#!/usr/bin/env python3
"""Samples and stacks of V8 CPU profiles (.cpuprofile), against an independent reading.

The independent reading is Python's json module. Compared as multisets of (time, frames from the
outermost as (name, url, line)), over the profiles of tests/corpus and one made here by chance.
"""
import collections
import decimal
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import TESTS, Tally, neurolens, scratch  # noqa: E402

QUERY = """SELECT 'stack', id, parent, name, file, line FROM stacks
UNION ALL SELECT 'sample', ts, stack, NULL, NULL, weight FROM samples"""


def ns(value):
    return int((decimal.Decimal(value) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def expected(document):
    nodes = {node["id"]: node for node in document["nodes"]}
    parents = {child: node["id"] for node in document["nodes"]
               for child in node.get("children", [])}
    parents.update({node["id"]: node["parent"] for node in document["nodes"] if "parent" in node})
    now, rows = document["startTime"], collections.Counter()
    for node, delta in zip(document["samples"], document["timeDeltas"]):
        now += delta
        frames = []
        while node in nodes:
            call = nodes[node]["callFrame"]
            frames.append((call["functionName"] or "(anonymous)", call["url"] or None,
                           call["lineNumber"] + 1 if call["lineNumber"] >= 0 else None))
            node = parents.get(node)
        rows[ns(now), tuple(reversed(frames))] += 1
    return rows


def read(path):
    result = neurolens(["sql", path, "--no-cache", "--absolute", "--limit", "0", "--format", "json",
                        QUERY], timeout=60)
    if result.status != 0:
        return result.describe()
    answer = json.loads(result.stdout)["result"]["rows"]
    stacks = {row[1]: row[2:] for row in answer if row[0] == "stack"}
    rows = collections.Counter()
    for what, ts, stack, _, _, weight in answer:
        if what == "sample":
            frames = []
            while stack is not None:
                stack, *frame = stacks[stack]
                frames.append(tuple(frame))
            rows[ts, tuple(reversed(frames))] += weight
    return rows


def by_chance():
    """A profile of 3000 nodes and 20,000 samples."""
    chance = random.Random(7)
    nodes = [{"id": 1, "callFrame": {"functionName": "(root)", "scriptId": "0", "url": "",
                                     "lineNumber": -1, "columnNumber": -1}, "children": []}]
    for i in range(2, 3001):
        nodes.append({"id": i, "callFrame": {
            "functionName": chance.choice(["", "f%d" % (i % 700), "größer"]), "scriptId": "3",
            "url": "https://localhost/%d.js" % (i % 40), "lineNumber": i % 900, "columnNumber": 0},
            "children": []})
        nodes[chance.randrange(max(0, i - 40), i - 1)]["children"].append(i)
    samples = [chance.randrange(1, 3001) for _ in range(20000)]
    deltas = [chance.randrange(-2, 2000) for _ in samples]
    path = os.path.join(scratch(), "by_chance.cpuprofile")
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"nodes": nodes, "startTime": 77130021456, "endTime": 77160021456,
                   "samples": samples, "timeDeltas": deltas}))
    return path


def main():
    tally = Tally("v8_counts")
    folder = os.path.join(TESTS, "corpus", "v8profile")
    for path in [by_chance(), *(os.path.join(folder, name) for name in sorted(os.listdir(folder)))]:
        with open(path, encoding="utf-8") as file:
            try:
                document = json.load(file, parse_float=decimal.Decimal)
            except ValueError:
                continue  # cut: tests/corpus_expect/run.py has it
        if "circle" in path:
            continue  # has no right answer
        want, found = expected(document), read(path)
        tally.check("%s (%d samples)" % (os.path.basename(path), sum(want.values())),
                    found == want, found if isinstance(found, str) else
                    "only here: %s\nonly there: %s" % (list((found - want).items())[:3],
                                                       list((want - found).items())[:3]))
    tally.finish()


main()
