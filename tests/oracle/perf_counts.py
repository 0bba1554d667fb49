#!/usr/bin/env python3
"""perf script text: samples, periods, times, threads and frames by regular expressions against
`neurolens sql`.

    tests/oracle/perf_counts.py [build/neurolens]
"""
import glob
import gzip
import os
import re
import sys
from decimal import Decimal

from oracle import ROOT, SHARED, Checker, Neurolens, harness

HEADER = re.compile(r"^\s*(\S.*?)\s+(\d+)(?:/(\d+))?\s+(?:\[(\d+)\]\s+)?(?:(\d+\.\d+):\s+)?"
                    r"(?:(\d+)\s+)?([^\s\d]\S*):(?:\s+(.*))?$")
BRANCH = re.compile(r"^\s*(\S.*?)\s+(\d+)/(\d+)\s+\[(\d+)\]\s+(\d+\.\d+):\s+(\S.*?)\s{2,}(\S.*?)\s{2,}"
                    r"([0-9a-f]+) (.*) \((.*)\)\s*$")
FRAME = re.compile(r"^\s*([0-9a-fA-F]{1,16})\s+(\S.*)$")


def frame_of(text):
    """(symbol, module) of what follows the address."""
    symbol, module = text, None
    end = len(text) - len(" (deleted))") if text.endswith(" (deleted))") else len(text)
    at = (" " + text).rfind(" (", 0, end + 1)
    if text.endswith(")") and at >= 0:
        symbol, module = text[:at].rstrip(), text[at + 1:-1]
        if module == "inlined":  # perf writes that in the place of a module
            module = None
    return re.sub(r"\+0x[0-9a-f]+$", "", symbol) or None, module or None


def read(path):
    data = open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    samples, frames = [], None
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        line = line.rstrip("\r")
        if not line.strip():
            frames = None
            continue
        if line.startswith("#") or "instruction trace error" in line:
            continue
        frame = FRAME.match(line) if line[0] in " \t" else None
        if frames is not None and frame:
            frames.append(frame_of(frame[2].rstrip()))
            continue
        match, branch = HEADER.match(line), BRANCH.match(line)
        if branch:
            samples.append((branch[5], 1, branch[3], [frame_of("%s (%s)" % (branch[9], branch[10]))]))
        elif match:
            frames = []
            samples.append((match[5], int(match[6] or 1), match[3] or match[2], frames))
            if match[8] and FRAME.match(match[8]):
                frames.append(frame_of(FRAME.match(match[8])[2]))
                frames = None
    return samples


def check_file(check, tool, path):
    name = os.path.basename(path)
    samples = read(path)
    times = [int(Decimal(s[0]) * 10 ** 9) for s in samples if s[0]]
    want = [len(samples), sum(s[1] for s in samples) if samples else None, sum(times) if times else None,
            len({s[2] for s in samples})]
    query = "SELECT count(*), sum(weight), sum(s.ts), count(DISTINCT l.tid) FROM samples s " \
            "LEFT JOIN lanes l ON l.id = s.lane"
    got = list(tool.run("sql", path, query, "--absolute", "--format", "json")["result"]["rows"][0])
    check.equal(name + " samples, weights, times, threads", want, got)
    paths, leaves = set(), {}
    names = harness.by_source({frame[0] for sample in samples for frame in sample[3]})
    for sample in samples:
        stack = tuple(reversed(sample[3]))
        paths.update(stack[:i + 1] for i in range(len(stack)))
        key = (names[stack[-1][0]],) + tuple(stack[-1][1:]) if stack else (None, None)
        leaves[key] = leaves.get(key, 0) + sample[1]
    check.equal(name + " stacks", len(paths), tool.sql(path, "SELECT count(*) FROM stacks")[0][0])
    got = tool.sql(path, "SELECT k.name, k.module, sum(weight) FROM samples s LEFT JOIN stacks k "
                         "ON k.id = s.stack GROUP BY 1, 2")
    check.rows(name + " innermost frames", leaves, {(row[0], row[1]): row[2] for row in got})


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    paths = [p for p in sorted(glob.glob(os.path.join(SHARED, "samples", "perf", "**", "*"),
                                         recursive=True))
             if os.path.isfile(p) and os.path.getsize(p)]
    if not paths:
        print("skipped: no ../shared")
        check.skipped += 1
    paths += sorted(glob.glob(os.path.join(ROOT, "tests", "corpus", "perf", "*.txt")))
    for path in paths:
        check_file(check, tool, path)
    check.finish()


main()
