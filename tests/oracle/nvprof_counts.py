#!/usr/bin/env python3
"""nvprof exports: counts and sums by Python's sqlite3 against what `neurolens sql` has.

    tests/oracle/nvprof_counts.py [build/neurolens]

Every database of ../shared/samples/nvprof, and the sound ones of tests/corpus/nvprof.
"""
import glob
import os
import sqlite3
import sys

from oracle import ROOT, SHARED, Checker, Neurolens

SPAN = 'count(*), sum(max("end" - start, 0))'
QUESTIONS = [
    ("kernels", ("KERNEL", "CONCURRENT_KERNEL", "CDP_KERNEL"), SPAN + ", sum(gridX * blockX), sum(correlationId)",
     "SELECT count(*), sum(dur), sum(grid_x * block_x), sum(correlation) FROM kernels"),
    ("copies", ("MEMCPY", "MEMCPY2"), SPAN + ", sum(bytes)", "SELECT count(*), sum(dur), sum(bytes) FROM copies"),
    ("memsets", ("MEMSET",), SPAN + ", sum(bytes)", "SELECT count(*), sum(dur), sum(bytes) FROM memsets"),
    ("syncs", ("SYNCHRONIZATION",), SPAN, "SELECT count(*), sum(dur) FROM syncs"),
    ("api", ("RUNTIME", "DRIVER"), SPAN + ", sum(correlationId), sum(returnValue)",
     "SELECT count(*), sum(dur), sum(correlation), sum(result) FROM api"),
    ("overheads", ("OVERHEAD",), SPAN, "SELECT count(*), sum(dur) FROM slices WHERE kind = 'overhead'"),
    ("devices", ("DEVICE",), "count(*), sum(globalMemorySize)", "SELECT count(*), sum(memory_bytes) FROM devices"),
]


def one(tool, path, query):
    row = tool.sql(path, query)[0]
    return tuple(v or 0 for v in (row.values() if isinstance(row, dict) else row))


def check_profile(check, tool, path):
    name = os.path.basename(path)
    db = sqlite3.connect("file:%s?mode=ro&immutable=1" % path, uri=True)
    have = {r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for what, tables, theirs, ours in QUESTIONS:
        sums = [[v or 0 for v in db.execute("SELECT %s FROM CUPTI_ACTIVITY_KIND_%s" % (theirs, t)).fetchone()]
                for t in tables if "CUPTI_ACTIVITY_KIND_" + t in have]
        check.equal("%s %s" % (name, what), tuple(sum(v) for v in zip(*sums)), one(tool, path, ours))
    linked = db.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL k WHERE correlationId IN "
                        "(SELECT correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME)").fetchone()
    check.equal(name + " linked kernels", linked, one(tool, path, "SELECT count(launch) FROM kernels"))


# Logs are small and made by hand: the answers stand here. (file, query, expected)
LOGS = [
    ("gpu_trace.csv", "SELECT count(*), sum(dur), max(grid_x), max(static_shared_bytes) FROM kernels",
     (1, 100250, 10, 2048)),
    ("gpu_trace.csv", "SELECT count(*), sum(dur), sum(bytes) FROM copies", (1, 10500, 1572864)),
    ("gpu_trace.csv", "SELECT count(*), sum(dur), sum(bytes) FROM memsets", (1, 1500, 1024)),
    ("api_trace.csv", "SELECT count(*), sum(dur), sum(correlation) FROM api", (2, 8750, 107)),
    ("summary.csv", "SELECT count(*), sum(count), sum(total_ns) FROM calls", (2, 145, 602460000)),
    ("old_summary.csv", "SELECT count(*), sum(count), sum(total_ns) FROM calls", (2, 145, 542420100)),
    ("metrics.csv", "SELECT count(*), sum(value), count(text) FROM metrics", (3, 215, 1)),
    ("metrics_of_kernels.csv", "SELECT count(*), count(DISTINCT slice), sum(value) FROM metrics", (5, 3, 423)),
    ("metrics_of_kernels.csv", "SELECT count(*), count(DISTINCT name), sum(dur) FROM kernels", (3, 2, 0)),
    ("metrics_of_kernels.csv", "SELECT count FROM coverage WHERE item = 'not recorded: start times of kernels'", (3,)),
]


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    paths = sorted(glob.glob(os.path.join(SHARED, "samples", "nvprof", "**", "*.nvvp"), recursive=True))
    if not paths:
        print("skipped: no ../shared")
        check.skipped += 1
    paths += [p for p in sorted(glob.glob(os.path.join(ROOT, "tests", "corpus", "nvprof", "*.nvvp")))
              if "cut" not in os.path.basename(p)]
    for path in paths:
        check_profile(check, tool, path)
    for name, query, want in LOGS:
        path = os.path.join(ROOT, "tests", "corpus", "nvprofcsv", name)
        check.equal("%s %s" % (name, query), want, one(tool, path, query))
    check.finish()


main()
