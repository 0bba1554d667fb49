#!/usr/bin/env python3
"""Collapsed stacks: samples, weights, frames and stacks of an independent reader against `neurolens sql`.

    tests/oracle/collapsed_counts.py [build/neurolens]
"""
import glob
import os
import re
import sys
from decimal import Decimal

from oracle import ROOT, SHARED, Checker, Neurolens


def lines_of(path):
    data = open(path, "rb").read()
    for mark, name in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"),
                       (b"\xef\xbb\xbf", "utf-8")):
        if data.startswith(mark):
            return data[len(mark):].decode(name).split("\n")
    return data.decode("utf-8", "surrogateescape").split("\n")


def read(path):
    """(stack, weights) of every line that has both."""
    lines = [line.strip(" \t\r") for line in lines_of(path)]
    lines = [line for line in lines if line and not line.startswith(("#", "//"))]
    number = r"[ \t]+(\d+\.?\d*|\.\d+)"
    two = [re.fullmatch(r"(.*\S)" + number + number, line) for line in lines]
    one = [re.fullmatch(r"(.*\S)" + number, line) for line in lines]
    double = sum(map(bool, two)) == sum(map(bool, one)) > 0
    return [(m[1], [Decimal(w) for w in m.groups()[1:]]) for m in (two if double else one) if m]


def check_file(check, tool, path):
    name = os.path.basename(path)
    rows = read(path)
    weights = [w for _, pair in rows for w in pair]
    paths = set()
    for stack, _ in rows:
        frames = [f for f in stack.split(";") if f]
        paths.update(tuple(frames[:i + 1]) for i in range(len(frames)))
    scale = 10 ** 6 if any(w != int(w) for w in weights) else 1
    austin = any(line.startswith("# austin") for line in lines_of(path))
    known = [w for w in weights if w * scale < 2 ** 63]
    total = sum(int((w * scale).to_integral_value("ROUND_HALF_UP")) for w in known)
    got = tool.sql(path, "SELECT count(*), sum(weight), count(weight) FROM samples")[0]
    want = [len(weights), total * (1000 if austin else 1), len(known)]
    check.equal(name + " samples and weights", want, list(got))
    if not austin:
        got = tool.sql(path, "SELECT count(*) FROM stacks")[0][0]
        check.equal(name + " stacks", len(paths), got)
    leaves = {}
    for stack, pair in rows:
        leaf = [f for f in stack.split(";") if f][-1:] or [None]
        leaf = leaf[0] and re.sub(r"^.*:(.*):-?\d+$" if austin else r" \([^()]*:\d+\)$",
                                  r"\1" if austin else "", leaf[0])
        leaves[leaf] = leaves.get(leaf, 0) + len(pair)
    got = tool.sql(path, "SELECT k.name, count(*) FROM samples s LEFT JOIN stacks k ON k.id = s.stack "
                         "GROUP BY 1")
    check.rows(name + " innermost frames", {k: v for k, v in leaves.items()},
               {row[0]: row[1] for row in got})


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    paths = [p for p in sorted(glob.glob(os.path.join(SHARED, "samples", "collapsed", "**", "*"),
                                         recursive=True))
             if os.path.isfile(p) and os.path.getsize(p)]
    if not paths:
        print("skipped: no ../shared")
        check.skipped += 1
    paths += sorted(glob.glob(os.path.join(ROOT, "tests", "corpus", "collapsed", "*.folded")))
    for path in paths:
        check_file(check, tool, path)
    check.finish()


main()
