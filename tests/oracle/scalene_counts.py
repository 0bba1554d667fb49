#!/usr/bin/env python3
"""Scalene: shares of CPU time per line as exact decimals, against `neurolens sql`.

    tests/oracle/scalene_counts.py [build/neurolens]
"""
import glob
import json
import os
import sys
from decimal import Decimal

from oracle import ROOT, SHARED, Checker, Neurolens

PARTS = {"n_cpu_percent_python": None, "n_cpu_percent_c": "[native]", "n_sys_percent": "[system]"}


def check_file(check, tool, path):
    name = os.path.basename(path)
    with open(path, encoding="utf-8") as file:
        document = json.load(file, parse_float=Decimal)
    want = {}
    for source, facts in document["files"].items():
        for line in facts["lines"]:
            for key, part in PARTS.items():
                share = Decimal(line.get(key, 0)) / 100
                if share > 0:
                    frame = part or "%s:%d" % (os.path.basename(source), line["lineno"])
                    weight = (share * Decimal(document["elapsed_time_sec"]) * 10 ** 9)
                    want[(source, line["lineno"], frame)] = weight
    got = {tuple(row[:3]): row[3] for row in tool.sql(
        path, "SELECT k.file, k.line, k.name, sum(weight) FROM samples s JOIN stacks k ON k.id = s.stack "
              "GROUP BY 1, 2, 3")}
    near = {key for key in want if key in got and abs(got[key] - want[key]) <= Decimal("1.01")}
    check.equal(name + " lines", (len(want), len(want)), (len(got), len(near)))
    footprint = [s for s in document.get("samples", []) if isinstance(s, list)
                 and not isinstance(s[0], str)]
    count, last = tool.sql(path, "SELECT count(*), max(ts) - min(ts) FROM counters")[0]
    span = max(s[0] for s in footprint) - min(s[0] for s in footprint) if footprint else None
    check.equal(name + " footprint", (len(footprint), span and round(span)), (count, last))


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    paths = sorted(glob.glob(os.path.join(SHARED, "samples", "scalene", "**", "*.json"), recursive=True))
    if not paths:
        check.skip("samples", "no ../shared")
    paths += [os.path.join(ROOT, "tests", "corpus", "scalene", name)
              for name in ("plain.json", "older-order.json")]
    for path in paths:
        check_file(check, tool, path)
    check.finish()


main()
