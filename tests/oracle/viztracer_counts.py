#!/usr/bin/env python3
"""VizTracer: calls, exact times and arguments by Python's json, against `neurolens sql`.

    tests/oracle/viztracer_counts.py [build/neurolens]
"""
import glob
import json
import os
import sys
from decimal import Decimal

from oracle import ROOT, SHARED, Checker, Neurolens


def ns(value):
    return int((Decimal(value) * 1000).to_integral_value("ROUND_HALF_UP"))


def check_file(check, tool, path):
    name = os.path.basename(path)
    with open(path, encoding="utf-8") as file:
        document = json.load(file, parse_float=Decimal)
    calls = [e for e in document["traceEvents"] if e.get("cat", "").lower() == "fee"]
    want = [len(calls), sum(ns(e["dur"]) for e in calls), len({(e["pid"], e["tid"]) for e in calls}),
            sum(bool(e.get("args")) for e in calls)]
    got = tool.sql(path, "SELECT count(*), sum(p.dur), count(DISTINCT l.pid * 1000000 + l.tid), "
                         "(SELECT count(*) FROM args a JOIN python q ON q.slice = a.slice) FROM python p JOIN slices s ON s.id = p.slice JOIN "
                         "lanes l ON l.id = s.lane")[0]
    check.equal(name + " calls", want, list(got))
    names = {}
    for event in calls:
        names[event["name"]] = names.get(event["name"], 0) + 1
    got = tool.sql(path, "SELECT name, count(*) FROM python GROUP BY 1")
    check.rows(name + " functions", names, {row[0]: row[1] for row in got})
    version = document["viztracer_metadata"]["version"]
    tool_name, epoch = tool.sql(path, "SELECT tool, epoch_ns FROM sources")[0]
    base = document["viztracer_metadata"].get("baseTimeNanoseconds")
    check.equal(name + " tool and base", ("viztracer " + version, base), (tool_name, epoch))


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    paths = sorted(glob.glob(os.path.join(SHARED, "samples", "viztracer", "**", "*.json"), recursive=True))
    if not paths:
        check.skip("samples", "no ../shared")
    paths += sorted(glob.glob(os.path.join(ROOT, "tests", "corpus", "viztracer", "*.json")))
    for path in paths:
        check_file(check, tool, path)
    check.finish()


main()
