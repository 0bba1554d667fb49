#!/usr/bin/env python3
"""ROCm profiles: counts and sums by Python's csv, json and sqlite3, against what `neurolens sql` has.

    tests/oracle/rocprof_counts.py [build/neurolens]

Every file of ../shared/samples/rocprof that is a profile, and the sound files of tests/corpus/rocprof.
"""
import csv
import glob
import os
import sqlite3
import sys

from oracle import ROOT, SHARED, Checker, Neurolens


def one(tool, path, query):
    row = tool.sql(path, query)[0]
    return tuple(row.values()) if isinstance(row, dict) else tuple(row)


def column(row, *names):
    for name in names:
        if row.get(name) not in (None, ""):
            return row[name]
    return None


def clean(name):
    for ending in (" [clone .kd]", " (.kd)", ".kd"):
        if name.endswith(ending):
            return name[:-len(ending)]
    return name


def times(row):
    return (int(column(row, "Start_Timestamp", "BeginNs")), int(column(row, "End_Timestamp", "EndNs")))


def check_kernels(check, tool, name, path, rows):
    """A row is a dispatch."""
    spans = [times(r) for r in rows]
    total = sum(max(0, e - s) for s, e in spans)
    check.equal(name + " kernels", (len(rows), total),
                one(tool, path, "SELECT count(*), sum(dur) FROM kernels"))
    names = {clean(column(r, "Kernel_Name", "KernelName")) for r in rows}
    check.equal(name + " kernel names", (len(names),),
                one(tool, path, "SELECT count(DISTINCT name) FROM kernels"))
    first = min(s for s, _ in spans)
    check.equal(name + " first time", first, tool.first_ns(path))


def check_wide_counters(check, tool, name, path, rows):
    counters = [c for c in rows[0] if c.startswith(("SQ", "TC", "TA", "TD", "GRBM", "CPC", "CPF", "SPI"))]
    total = {c: sum(float(r[c]) for r in rows if r[c]) for c in counters}
    got = {tuple(r.values())[0] if isinstance(r, dict) else r[0]: list(r.values() if isinstance(r, dict) else r)[1]
           for r in tool.sql(path, "SELECT name, sum(value) FROM metrics GROUP BY name")}
    check.rows(name + " counters", {c: round(v, 3) for c, v in total.items()},
               {c: round(v, 3) for c, v in got.items()})


def check_long_counters(check, tool, name, path, rows):
    dispatches = {(r["Process_Id"], r["Agent_Id"], r["Dispatch_Id"]): r for r in rows}
    total = sum(times(r)[1] - times(r)[0] for r in dispatches.values())
    check.equal(name + " dispatches", (len(dispatches), total),
                one(tool, path, "SELECT count(*), sum(dur) FROM kernels"))
    values = [float(r["Counter_Value"]) for r in rows if r["Counter_Value"]]
    got = one(tool, path, "SELECT count(*), sum(value) FROM metrics")
    check.equal(name + " counter values", len(values), got[0])
    check.near(name + " counter sum", sum(values), got[1], abs(sum(values)) * 1e-12)


def check_csv(check, tool, path):
    name = os.path.basename(path)
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    head = rows[0] if rows else {}
    if "Counter_Name" in head:
        check_long_counters(check, tool, name, path, rows)
    elif ("Kernel_Name" in head or "KernelName" in head) and column(head, "Start_Timestamp", "BeginNs"):
        check_kernels(check, tool, name, path, rows)
        if any(c.startswith("SQ_") for c in head):
            check_wide_counters(check, tool, name, path, rows)
    elif "TotalDurationNs" in head:
        check.equal(name + " calls", (len(rows), sum(int(r["Calls"]) for r in rows),
                                      sum(int(r["TotalDurationNs"]) for r in rows)),
                    one(tool, path, "SELECT count(*), sum(count), sum(total_ns) FROM calls"))
    elif head.get("Domain", "").startswith("HIP"):
        mine = [r for r in rows if r["Domain"].startswith(("HIP", "HSA"))]
        check.equal(name + " api", (len(mine), sum(times(r)[1] - times(r)[0] for r in mine),
                                    sum(int(r["Correlation_Id"]) for r in mine)),
                    one(tool, path, "SELECT count(*), sum(dur), sum(correlation) FROM api"))
    elif "Direction" in head:
        check.equal(name + " copies", (len(rows), sum(times(r)[1] - times(r)[0] for r in rows)),
                    one(tool, path, "SELECT count(*), sum(dur) FROM copies"))


# (what, SQL over an RPD database, SQL over ours)
KERNELS = "SELECT id FROM rocpd_string WHERE string = 'KernelExecution'"
COPIES = "SELECT id FROM rocpd_string WHERE string LIKE 'Copy%'"
RPD = [
    ("kernels", 'SELECT count(*), sum("end" - start) FROM rocpd_op WHERE opType_id IN (%s)' % KERNELS,
     "SELECT count(*), sum(dur) FROM kernels"),
    ("copies", 'SELECT count(*), sum("end" - start) FROM rocpd_op WHERE opType_id IN (%s)' % COPIES,
     "SELECT count(*), sum(dur) FROM copies"),
    ("api", 'SELECT count(*), sum(a."end" - a.start), sum(a.id) FROM rocpd_api a JOIN rocpd_string s '
     "ON s.id = a.apiName_id WHERE s.string <> 'UserMarker'",
     "SELECT count(*), sum(dur), sum(correlation) FROM api"),
    ("linked", "SELECT count(*) FROM rocpd_op WHERE id IN (SELECT op_id FROM rocpd_api_ops) "
     "AND opType_id IN (%s)" % KERNELS, "SELECT count(launch) FROM kernels"),
    ("operations", "SELECT count(*) FROM rocpd_op",
     "SELECT count(*) FROM slices WHERE kind IN ('kernel', 'memcpy', 'memset', 'device')"),
    ("bytes", "SELECT sum(c.size) FROM rocpd_op o JOIN rocpd_api_ops l ON l.op_id = o.id "
     "JOIN rocpd_copyapi c ON c.api_ptr_id = l.api_id WHERE typeof(c.size) = 'integer' "
     "AND o.opType_id IN (%s)" % COPIES, "SELECT sum(bytes) FROM copies"),
]


def check_rpd(check, tool, path):
    name = os.path.basename(path)
    db = sqlite3.connect("file:%s?mode=ro&immutable=1" % path, uri=True)
    for what, theirs, ours in RPD:
        check.equal("%s %s" % (name, what), db.execute(theirs).fetchone(), one(tool, path, ours))


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    folder = os.path.join(SHARED, "samples", "rocprof")
    if not os.path.isdir(folder):
        print("skipped: no ../shared")
        check.skipped += 1
    paths = glob.glob(os.path.join(folder, "**", "*"), recursive=True)
    for mine in ("rocprof", "rpd"):
        paths += [p for p in glob.glob(os.path.join(ROOT, "tests", "corpus", mine, "*"))
                  if os.path.basename(p) in ("every_table.rpd",) or mine == "rocprof"
                  and os.path.basename(p) != "cut.csv"]
    for path in sorted(paths):
        if path.endswith(".csv"):
            check_csv(check, tool, path)
        elif path.endswith(".rpd"):
            check_rpd(check, tool, path)
    check.finish()


main()
