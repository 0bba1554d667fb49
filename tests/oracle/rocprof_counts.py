#!/usr/bin/env python3
"""ROCm profiles: counts and sums by Python's csv, json and sqlite3, against what `neurolens sql` has.

    tests/oracle/rocprof_counts.py [build/neurolens]

Every file of ../shared/samples/rocprof that is a profile, and the sound files of tests/corpus/rocprof.
"""
import csv
import glob
import gzip
import json
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


# The same of the Chrome export beside it, whose times are whole microseconds and whose ids are its own.
RPD_CHROME = [
    ("kernels", 'SELECT count(*), sum(("end" - start) / 1000 * 1000) FROM rocpd_op WHERE opType_id IN (%s)' % KERNELS,
     "SELECT count(*), sum(dur) FROM kernels"),
    ("copies", 'SELECT count(*), sum(("end" - start) / 1000 * 1000) FROM rocpd_op WHERE opType_id IN (%s)' % COPIES,
     "SELECT count(*), sum(dur) FROM copies"),
    ("calls", 'SELECT s.string, count(*) FROM rocpd_api a JOIN rocpd_string s ON s.id = a.apiName_id WHERE s.string <> '
     "'UserMarker' GROUP BY 1 ORDER BY 1", "SELECT name, count(*) FROM api GROUP BY 1 ORDER BY 1"),
    ("launches", "SELECT n.string, a.start / 1000 * 1000 - (SELECT min(start) / 1000 * 1000 FROM rocpd_api), count(*) FROM "
     "rocpd_api_ops l JOIN rocpd_api a ON a.id = l.api_id JOIN rocpd_op o ON o.id = l.op_id JOIN rocpd_string n ON "
     "n.id = a.apiName_id GROUP BY a.id ORDER BY 2, 1",
     "SELECT c.name, c.ts - (SELECT min(ts) FROM api), count(*) FROM slices w JOIN api c ON c.slice = w.link WHERE w.kind IN "
     "('kernel', 'memcpy', 'memset') GROUP BY c.slice ORDER BY 2, 1"),
]


def check_rpd_chrome(check, tool, path):
    """rpd2tracing's file of a database, by the database itself."""
    name = os.path.basename(path)
    db = sqlite3.connect("file:%s?mode=ro&immutable=1" % (path[:-len(".json")] + ".rpd"), uri=True)
    for what, theirs, ours in RPD_CHROME:
        check.equal("%s %s" % (name, what), [tuple(row) for row in db.execute(theirs)],
                    [tuple(row) for row in tool.sql(path, ours)])


ROCPD = [
    ("kernels", "rocpd_kernel_dispatch", "SELECT count(*), sum(max({end} - {start}, 0)), sum(group_segment_size)",
     "SELECT count(*), sum(dur), sum(static_shared_bytes) FROM kernels"),
    ("copies", "rocpd_memory_copy", "SELECT count(*), sum({end} - {start}), sum(size)",
     "SELECT count(*), sum(dur), sum(bytes) FROM copies"),
    ("regions", "rocpd_region", "SELECT count(*), sum({end} - {start})",
     "SELECT count(*), sum(dur) FROM slices WHERE kind IN ('api', 'library') OR kind = 'nvtx' AND dur > 0"),
    ("allocations", "rocpd_memory_allocate", "SELECT count(*)", "SELECT count(*) FROM memory"),
]


def rocpd_columns(db, table):
    return {r[1] for r in db.execute('PRAGMA table_info("%s")' % table)}


def rocpd_times(db, table, suffix):
    """How a table says its times: itself, or by rows of a table of times."""
    if "start" in rocpd_columns(db, table):
        return {"start": '"start"', "end": '"end"'}
    lookup = '(SELECT value FROM "rocpd_timestamp%s" WHERE id = %s_id)'
    return {"start": lookup % (suffix, "start"), "end": lookup % (suffix, "end")}


def rocpd_kernels_by_pid(db, suffixes):
    """Kernels of a process, and how many have a call with their stack id among the HIP calls of their set."""
    found = {}
    for suffix in suffixes:
        table = "rocpd_kernel_dispatch" + suffix
        pid = "pid" if "pid" in rocpd_columns(db, table) else \
            '(SELECT pid FROM "rocpd_track%s" WHERE id = track_id)' % suffix
        categories = "rocpd_info_category" + suffix
        named = ("name", categories) if rocpd_columns(db, categories) else ("string", "rocpd_string" + suffix)
        calls = ('SELECT stack_id FROM "rocpd_region{0}" r JOIN "rocpd_event{0}" e ON e.id = r.event_id '
                 'JOIN "{2}" c ON c.id = e.category_id WHERE c.{1} LIKE \'HIP%\' OR c.{1} LIKE \'HSA%\''
                 ).format(suffix, *named)
        rows = db.execute(('SELECT p.pid, count(*), sum((SELECT stack_id FROM "rocpd_event{0}" WHERE id = event_id) '
                           'IN ({3})) FROM "{1}" k JOIN "rocpd_info_process{0}" p ON p.id = {2} '
                           'GROUP BY 1').format(suffix, table, "k." + pid if pid == "pid" else pid, calls))
        for number, count, linked in rows:
            before = found.get(number, (0, 0))
            found[number] = (before[0] + count, before[1] + linked)
    return found


def check_rocpd(check, tool, path):
    name = os.path.basename(path)
    db = sqlite3.connect("file:%s?mode=ro&immutable=1" % path, uri=True)
    tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    suffixes = [t[len("rocpd_string"):] for t in tables if t.startswith("rocpd_string")]
    for what, table, theirs, ours in ROCPD:
        sums = [db.execute('%s FROM "%s"' % (theirs.format(**rocpd_times(db, table + s, s)), table + s)).fetchone()
                for s in suffixes]
        check.equal("%s %s" % (name, what), tuple(sum(v) for v in zip(*sums)), one(tool, path, ours))
    rows = tool.sql(path, "SELECT process, count(*), count(launch) FROM kernels GROUP BY process")
    rows = [list(r.values()) if isinstance(r, dict) else r for r in rows]
    check.rows(name + " kernels of processes", rocpd_kernels_by_pid(db, suffixes),
               {r[0]: (r[1], r[2]) for r in rows})
    newest = max(int(db.execute('SELECT value FROM "rocpd_metadata%s" WHERE tag = \'schema_version\'' % s)
                     .fetchone()[0].split(".")[0]) for s in suffixes)
    said = one(tool, path, "SELECT count(*) FROM coverage WHERE item LIKE 'schema newer%'")
    check.equal(name + " tells a schema it does not know", (int(newest > 4),), said)
    if rocpd_columns(db, "rocpd_info_node" + suffixes[0]):
        check.equal(name + " sources", (sources_of(db, suffixes),), one(tool, path, "SELECT count(*) FROM sources"))


def check_graphs(check, tool, path):
    """Launches of graphs: by (graph, kernels) with the length of their call, which is the region of the same
    stack id where there is one; and the kernels that each launched."""
    db = sqlite3.connect("file:%s?mode=ro&immutable=1" % path, uri=True)
    suffix = [r[0] for r in db.execute("SELECT name FROM sqlite_master")
              if r[0].startswith("rocpd_graph_launch")][0][len("rocpd_graph_launch"):]

    def table(name):
        return '"rocpd_%s%s"' % (name, suffix)
    theirs = db.execute(
        "SELECT graph_exec_id, kernel_dispatch_count, coalesce((SELECT r.\"end\" - r.start FROM %s r JOIN %s f ON "
        "f.id = r.event_id WHERE f.stack_id = e.stack_id), max(g.\"end\" - g.start, 0)), (SELECT count(*) FROM %s k "
        "JOIN %s f ON f.id = k.event_id WHERE f.stack_id = e.stack_id) FROM %s g JOIN %s e ON e.id = g.event_id "
        "WHERE typeof(graph_exec_id) = 'integer' ORDER BY 1, 2, 3" % (
            table("region"), table("event"), table("kernel_dispatch"), table("event"), table("graph_launch"),
            table("event"))).fetchall()
    ours = tool.sql(path, "SELECT a.text ->> '$.graph_exec_id', a.text ->> '$.kernel_dispatch_count', s.dur, "
                          "(SELECT count(*) FROM kernels k WHERE k.launch = s.id) FROM args a JOIN slices s "
                          "ON s.id = a.slice ORDER BY 1, 2, 3")
    check.equal("graphs.db launches of graphs", [list(r) for r in theirs], [list(r) for r in ours])
    calls = db.execute("SELECT count(*) FROM %s" % table("region")).fetchone()[0]
    alone = db.execute("SELECT count(*) FROM %s g JOIN %s e ON e.id = g.event_id WHERE e.stack_id IS NULL OR "
                       "e.stack_id NOT IN (SELECT f.stack_id FROM %s r JOIN %s f ON f.id = r.event_id)" % (
                           table("graph_launch"), table("event"), table("region"), table("event"))).fetchone()[0]
    check.equal("graphs.db calls", (calls + alone,), one(tool, path, "SELECT count(*) FROM api"))


def sources_of(db, suffixes):
    """Sets of one machine are one source, unless a process of this number was there before."""
    seen, count = set(), 0
    for suffix in suffixes:
        machine = db.execute('SELECT hash FROM "rocpd_info_node%s"' % suffix).fetchone()[0]
        pid = db.execute('SELECT pid FROM "rocpd_info_process%s"' % suffix).fetchone()[0]
        count += machine not in {m for m, _ in seen} or (machine, pid) in seen
        seen.add((machine, pid))
    return count


def check_json(check, tool, path):
    """Results of rocprofv3: dispatches by name and agent, copies, calls."""
    name = os.path.basename(path)
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        document = json.load(file)
    if not isinstance(document, dict) or "rocprofiler-sdk-tool" not in document:
        return
    kernels, copies, calls = {}, [], []
    for process in document["rocprofiler-sdk-tool"]:
        symbols = {s["kernel_id"]: clean(s["formatted_kernel_name"]) for s in process["kernel_symbols"]
                   if s["kernel_id"]}
        records = process["buffer_records"]
        for r in records["kernel_dispatch"]:
            key = symbols.get(r["dispatch_info"]["kernel_id"])
            count, total = kernels.get(key, (0, 0))
            kernels[key] = (count + 1, total + r["end_timestamp"] - r["start_timestamp"])
        copies += [(r["end_timestamp"] - r["start_timestamp"], r["bytes"]) for r in records["memory_copy"]]
        calls += [r["end_timestamp"] - r["start_timestamp"] for r in records["hip_api"] + records["hsa_api"]]
    rows = tool.sql(path, "SELECT name, count(*), sum(dur) FROM kernels GROUP BY name")
    rows = [list(r.values()) if isinstance(r, dict) else r for r in rows]
    check.rows(name + " kernels", kernels, {r[0]: (r[1], r[2]) for r in rows})
    check.equal(name + " copies", (len(copies), sum(c[0] for c in copies), sum(c[1] for c in copies)),
                tuple(v or 0 for v in one(tool, path, "SELECT count(*), sum(dur), sum(bytes) FROM copies")))
    check.equal(name + " api", (len(calls), sum(calls)),
                tuple(v or 0 for v in one(tool, path, "SELECT count(*), sum(dur) FROM api")))


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    folder = os.path.join(SHARED, "samples", "rocprof")
    if not os.path.isdir(folder):
        print("skipped: no ../shared")
        check.skipped += 1
    paths = glob.glob(os.path.join(folder, "**", "*"), recursive=True)
    for mine in ("rocprof", "rpd", "rocpd", "rocjson"):
        paths += [p for p in glob.glob(os.path.join(ROOT, "tests", "corpus", mine, "*"))
                  if "cut" not in os.path.basename(p) and os.path.basename(p) != "only_calls.rpd"]
    for path in sorted(paths):
        if path.endswith(".csv"):
            check_csv(check, tool, path)
        elif path.endswith(".rpd"):
            check_rpd(check, tool, path)
        elif path.endswith("graphs.db"):
            check_graphs(check, tool, path)
        elif path.endswith(".db"):
            check_rocpd(check, tool, path)
        elif path.endswith(".json") and os.path.exists(path[:-len(".json")] + ".rpd"):
            check_rpd_chrome(check, tool, path)
        elif path.endswith((".json", ".json.gz")):
            check_json(check, tool, path)
    check.finish()


main()
