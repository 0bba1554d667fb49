#!/usr/bin/env python3
"""GPU telemetry and NCCL logs of ../shared/samples, read with a few regular expressions, against
`neurolens sql`: values per column and device, calls, measurements.

    tests/oracle/telemetry_counts.py [build/neurolens]
"""
import collections
import glob
import math
import os
import re
import sys

from oracle import Checker, Neurolens, shared_or_leave

BYTES = [1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1]


def rows(tool, path, query):
    return [list(r.values()) if isinstance(r, dict) else list(r) for r in tool.sql(path, query)]


def check_query(check, tool, path):
    with open(path, encoding="utf-8") as file:
        lines = [[c.strip() for c in line.split(",")] for line in file if line.strip()]
    header = lines.pop(0) if not lines[0][0][0].isdigit() else None
    want = collections.defaultdict(list)
    for line in lines:
        for i, cell in enumerate(line):
            if re.fullmatch(r"-?\d+(\.\d+)?", cell) and i and not (header and header[i] == "gpu"):
                want[(int(line[header.index("gpu")]) if header else None,
                      header[i] if header else "column %d" % (i + 1))].append(float(cell))
    got = rows(tool, path, "SELECT d.ordinal, c.name, count(*), sum(c.value) FROM counters c JOIN lanes l "
                           "ON l.id = c.lane LEFT JOIN devices d ON d.id = l.device GROUP BY 1, 2")
    check.rows(os.path.basename(path), {k: (len(v), round(math.fsum(v), 6)) for k, v in want.items()},
               {(r[0], r[1]): (r[2], round(r[3], 6)) for r in got})


def check_exporter(check, tool, path):
    with open(path, encoding="utf-8") as file:
        found = re.findall(r'^(DCGM_FI_\w+)\{[^\n]*gpu="(\d+)"[^\n]*\} ([-\d.e+]+)', file.read(), re.M)
    want = collections.Counter((name, float(value)) for name, _, value in found)
    got = collections.Counter({(r[0], r[1]): r[2] for r in rows(
        tool, path, "SELECT name, value, count(*) FROM counters GROUP BY 1, 2")})
    check.equal("%s %d values" % (os.path.basename(path), len(found)), want, got)


def without_nccl(text):
    """The text as it were without NCCL_DEBUG: its lines taken out with their ends, so that a row which
    they were printed into closes up. A line begins with the host, which is told by lines of their own."""
    for host in set(re.findall(r"^(\w+):\d+:\d+ \[\d+\] NCCL ", text, re.M)):
        text = re.sub(r"%s:\d+:\d+ \[\d+\] NCCL [^\n]*\n" % host, "", text)
    # The second half of a row follows the first on a line of its own.
    return re.sub(r"(\n *\d+ +\d+ +[a-z]\w*(?: +\S+)*) *\n( +[\d.]+ +[\d.]+ +[\d.]+ +\S+ *\n)", r"\1 \2", text)


def check_log(check, tool, path):
    name = os.path.basename(path)
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    lines = text.splitlines()
    calls = [re.search(r"NCCL INFO (\w+): opCount (\w+) .* count (\d+) datatype (\d+) .*nranks=(\d+)", line)
             for line in lines]
    want = collections.Counter((m[1], int(m[2], 16), int(m[3]), int(m[3]) * BYTES[int(m[4])], int(m[5]))
                               for m in calls if m)
    got = collections.Counter({tuple(r[:5]): r[5] for r in rows(
        tool, path, "SELECT operation, sequence, in_elements, bytes, ranks, count(*) FROM collectives "
                    "WHERE sequence IS NOT NULL GROUP BY 1, 2, 3, 4, 5")})
    check.equal("%s calls (%d)" % (name, sum(want.values())), want, got)
    times, width = [], collections.Counter()
    columns = None
    for line in without_nccl(text).splitlines():
        words = line.split()
        if line.startswith("#") and words[1:3] == ["size", "count"]:
            columns = words[1:]
        elif columns and len(columns) - 1 <= len(words) <= len(columns) and words[0].isdigit():
            if len(words) < len(columns):  # no reduction, no word for it
                words.insert(columns.index("redop"), "")
            for i, column in enumerate(columns):
                if column == "time":
                    times.append((int(words[0]), round(float(words[i]) * 1000)))
                elif column in ("algbw", "busbw"):
                    width[column] += float(words[i])
    got = [tuple(r) for r in rows(tool, path, "SELECT bytes, dur FROM collectives WHERE sequence IS NULL ORDER BY ts")]
    check.equal("%s measurements (%d)" % (name, len(times)), sorted(times), sorted(got))
    sums = {r[0]: round(r[1] / 1e9, 6) for r in rows(tool, path, "SELECT name, sum(value) FROM metrics GROUP BY 1")}
    check.equal(name + " bandwidths", {k: round(v, 6) for k, v in width.items()}, sums)


def main():
    samples = shared_or_leave("samples")
    check, tool = Checker(), Neurolens(sys.argv)
    for path in sorted(glob.glob(os.path.join(samples, "gpu_telemetry", "**", "*smi.csv"), recursive=True)
                       + glob.glob(os.path.join(samples, "gpu_telemetry", "**", "*gpu_stats.csv"), recursive=True)):
        check_query(check, tool, path)
    for path in sorted(glob.glob(os.path.join(samples, "gpu_telemetry", "**", "*.md"), recursive=True)):
        check_exporter(check, tool, path)
    for path in sorted(glob.glob(os.path.join(samples, "nccl", "**", "nccl*.log"), recursive=True)):
        check_log(check, tool, path)
    check.finish()


main()
