#!/usr/bin/env python3
"""Memory dumps of Chrome traces (phase v), against an independent reading.

The independent reading is Python's json module: totals of processes that end in _bytes, and scalar
attributes of allocators down to two levels. Compared as multisets of (process, time, name, unit,
value), over tests/corpus and the traces of ../shared/samples/chrome that have any.
"""
import collections
import gzip
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import ROOT, TESTS, Tally, neurolens  # noqa: E402

QUERY = """SELECT p.pid, c.ts, c.name, c.unit, c.value FROM counters c JOIN lanes l ON l.id = c.lane
JOIN processes p ON p.id = l.process"""


def number(value):
    if not isinstance(value, str):
        return float(value)
    try:
        return float(int(value, 16))
    except ValueError:
        return None


def expected(events):
    for event in events:
        if event.get("ph") != "v":
            continue
        dumps = event.get("args", {}).get("dumps", {})
        values = [(name, "bytes", value) for name, value in dumps.get("process_totals", {}).items()
                  if name.endswith("_bytes")]
        allocators = dumps.get("allocators", {})
        for name, allocator in allocators.items() if isinstance(allocators, dict) else ():
            if name.count("/") < 2:
                values += [("%s: %s" % (name, key), one["units"] or None, one["value"])
                           for key, one in allocator["attrs"].items() if one["type"] == "scalar"]
        for name, unit, value in values:
            if number(value) is not None:
                yield event["pid"], round(event["ts"] * 1000), name, unit, number(value)


def traces():
    yield os.path.join(TESTS, "corpus", "chrome", "memory_dumps.json")
    for base, _, names in sorted(os.walk(os.path.join(ROOT, "..", "shared", "samples", "chrome"))):
        for name in sorted(names):
            if name.endswith((".json", ".gz")):
                yield os.path.join(base, name)


def main():
    tally = Tally("chrome_memory")
    for path in traces():
        with open(path, "rb") as file:
            raw = file.read()
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        if b'"dumps"' not in raw:
            continue
        document = json.loads(raw)
        events = document["traceEvents"] if isinstance(document, dict) else document
        want = collections.Counter(expected(events))
        result = neurolens(["sql", path, "--no-cache", "--absolute", "--limit", "0", "--format", "json",
                            QUERY], timeout=60)
        rows = json.loads(result.stdout)["result"]["rows"] if result.status == 0 else []
        found = collections.Counter((pid, ts, name, unit or None, float(value))
                                    for pid, ts, name, unit, value in rows)
        tally.check("%s (%d values)" % (os.path.basename(path), sum(want.values())), want == found,
                    result.describe() if result.status else "only here: %s\nonly there: %s" % (
                        list((found - want).items())[:3], list((want - found).items())[:3]))
    tally.finish()


main()
