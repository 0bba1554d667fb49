#!/usr/bin/env python3
"""Nsight Systems exports: rows per table, counted by SQLite, against what `neurolens sql` has.

    tests/oracle/nsys_counts.py [build/neurolens]

Every real export of ../shared/samples/nsys, and every database of tests/corpus/nsys that is sound.
Where sums say more than counts (times, bytes), they are compared too. Rows that are left out on
purpose must be counted in coverage.
"""
import collections
import glob
import os
import re
import sqlite3
import sys

from oracle import ROOT, SHARED, Checker, Neurolens

NVTX_TYPES = "eventType IN (34, 59, 60, 65, 70, 71)"
KERNEL, RUNTIME = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"
# (what, table of the export, SQL over it, SQL over ours); {end} and {start} as the table spells them
QUESTIONS = [
    ("kernels", KERNEL, 'SELECT count(*), sum("end" - start) FROM {t}',
     "SELECT count(*), sum(dur) FROM kernels"),
    ("kernel names", KERNEL, "SELECT count(DISTINCT demangledName) FROM {t}",
     "SELECT count(DISTINCT name) FROM kernels"),
    ("kernel correlation", KERNEL, "SELECT sum(correlationId), sum(gridX * blockX) FROM {t}",
     "SELECT sum(correlation), sum(grid_x * block_x) FROM kernels"),
    ("copies", "CUPTI_ACTIVITY_KIND_MEMCPY", 'SELECT count(*), sum("end" - start), sum(bytes) FROM {t}',
     "SELECT count(*), sum(dur), sum(bytes) FROM copies"),
    ("memsets", "CUPTI_ACTIVITY_KIND_MEMSET", 'SELECT count(*), sum("end" - start), sum(bytes) FROM {t}',
     "SELECT count(*), sum(dur), sum(bytes) FROM memsets"),
    ("syncs", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", 'SELECT count(*), sum("end" - start) FROM {t}',
     "SELECT count(*), sum(dur) FROM syncs"),
    ("api", RUNTIME, 'SELECT count(*), sum("end" - start), sum(correlationId) FROM {t}',
     "SELECT count(*), sum(dur), sum(correlation) FROM api"),
    ("nvtx", "NVTX_EVENTS", "SELECT count(*) FROM {t} WHERE " + NVTX_TYPES,
     "SELECT count(*) FROM nvtx"),
    ("nvtx time", "NVTX_EVENTS",
     'SELECT count(*), sum("end" - start) FROM {t} WHERE "end" IS NOT NULL AND eventType IN (59, 60)',
     "SELECT count(*), sum(n.dur) FROM nvtx n JOIN slices s ON s.id = n.slice "
     "WHERE s.flags & 1 = 0 AND n.style <> 'mark'"),
    ("osrt", "OSRT_API", 'SELECT count(*), sum("end" - start) FROM {t}',
     "SELECT count(*), sum(dur) FROM slices WHERE kind = 'osrt'"),
    ("graph launches", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", 'SELECT count(*), sum("end" - start) FROM {t}',
     "SELECT count(*), sum(dur) FROM graph_launches"),
    ("samples", "COMPOSITE_EVENTS", "SELECT count(*), sum(cpuCycles) FROM {t}",
     "SELECT count(*), sum(weight) FROM samples"),
    ("gpu metrics", "GPU_METRICS", "SELECT count(*), sum(value) FROM {t}",
     "SELECT count(*), cast(sum(value) AS INTEGER) FROM counters"),
    ("gpu memory", "CUDA_GPU_MEMORY_USAGE_EVENTS", "SELECT count(*), sum(bytes) FROM {t}",
     "SELECT count(*), sum(abs(bytes)) FROM memory"),
    ("mpi", "MPI_COLLECTIVES_EVENTS", "SELECT count(*), sum(size) FROM {t}",
     "SELECT count(*), sum(bytes) FROM collectives WHERE kind = 'collective'"),
]
OVERHEADS = ("CUPTI_ACTIVITY_KIND_OVERHEAD", "PROFILER_OVERHEAD")
# Tables whose rows are no events of their own, or are asked about above.
KNOWN = {q[1] for q in QUESTIONS} | set(OVERHEADS) | {
    "StringIds", "PROCESSES", "ThreadNames", "ProcessStreams", "EXPORT_META_DATA", "UnwindMethodType",
    "DIAGNOSTIC_EVENT", "SAMPLING_CALLCHAINS", "OSRT_CALLCHAINS", "CUDA_CALLCHAINS", "MPI_RANKS", "SCHED_EVENTS", "SystemInfo",
    "GPU_CONTEXT_SWITCH_EVENTS", "OSRT_FILE_ACCESS_DESCRIPTORS", "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUDA_GRAPH_EVENTS",
    "CUDA_GRAPH_NODE_EVENTS"}
DESCRIBING = ("ENUM_", "TARGET_INFO_", "META_DATA_", "ANALYSIS_", "NVTX_PAYLOAD_")


def one(tool, path, query):
    rows = tool.sql(path, query)
    row = rows[0] if rows else []
    return tuple(row.values()) if isinstance(row, dict) else tuple(row)


def without_none(values):
    """A sum over nothing is NULL in SQL; ours and SQLite's agree on that only when both are."""
    return tuple(0 if v is None else v for v in values)


def check_overheads(check, tool, name, db, path, tables):
    count = sum(db.execute('SELECT count(*) FROM "%s"' % t).fetchone()[0]
                for t in OVERHEADS if t in tables)
    got = one(tool, path, "SELECT count(*) FROM slices WHERE kind = 'overhead'")[0]
    check.equal(name + " overheads", count, got)


def check_sched(check, tool, name, db, path, tables):
    """A slice per switch in; what has no counterpart is in coverage."""
    if "SCHED_EVENTS" not in tables:
        return
    count = db.execute("SELECT count(*) FROM SCHED_EVENTS WHERE isSchedIn = 1").fetchone()[0]
    got = one(tool, path, "SELECT count(*) FROM slices WHERE kind = 'sched'")[0]
    check.equal(name + " sched", count, got)


def check_contexts(check, tool, name, db, path, tables):
    """Which context had a GPU from when to when: a restore (8) or a start (9) without one opens, a save
    (7), a reset (11) and another restore close."""
    if "GPU_CONTEXT_SWITCH_EVENTS" not in tables:
        return
    since, holds = {}, []
    for tag, gpu, context, process, time in db.execute(
            "SELECT tag, gpuId, contextId, globalPid, timestamp FROM GPU_CONTEXT_SWITCH_EVENTS "
            "WHERE tag IN (7, 8, 9, 11) ORDER BY timestamp, seqNo"):
        if tag in (7, 8, 11) and (gpu, context) in since:
            holds.append((context, *since[gpu, context], time))
            del since[gpu, context]
        if tag in (8, 9) and (gpu, context) not in since:
            since[gpu, context] = (process, time)
    want = collections.Counter()
    for context, process, start, end in holds:
        pid = process if process is None else process >> 24 & 0xffffff
        want["GPU context %d" % context, pid, "closed"] += 1
        want["GPU context %d" % context, pid, "ns"] += end - start
    for (gpu, context), (process, start) in since.items():
        pid = process if process is None else process >> 24 & 0xffffff
        want["GPU context %d" % context, pid, "open"] += 1
    got = collections.Counter()
    for row in tool.sql(path, "SELECT s.name, s.process, s.flags & 1, count(*), sum(s.dur) FROM slices s "
                              "JOIN lanes l ON l.id = s.lane WHERE l.domain = 'GPU contexts' AND "
                              "s.kind = 'device' GROUP BY 1, 2, 3"):
        context, pid, clamped, count, ns = tuple(row.values()) if isinstance(row, dict) else tuple(row)
        got[context, pid, "open" if clamped else "closed"] += count
        if not clamped:
            got[context, pid, "ns"] += ns
    check.rows(name + " GPU contexts", dict(want), dict(got))
    resets = db.execute("SELECT count(*) FROM GPU_CONTEXT_SWITCH_EVENTS WHERE tag = 11").fetchone()[0]
    check.equal(name + " GPU resets", resets, one(
        tool, path, "SELECT count(*) FROM slices WHERE name = 'GPU engine reset'")[0])


PATHS = """WITH RECURSIVE paths(id, path) AS (SELECT id, name FROM stacks WHERE parent IS NULL UNION ALL
SELECT s.id, s.name || '<' || p.path FROM stacks s JOIN paths p ON s.parent = p.id)
SELECT t.name, path, count(*) FROM slice_stacks t JOIN slices s ON s.id = t.slice JOIN paths ON paths.id = t.stack
WHERE s.kind = '%s' GROUP BY 1, 2"""


def check_chains(check, tool, name, db, path, tables):
    """Calls with their stacks, innermost function first."""
    for table, chains, kind in (("OSRT_API", "OSRT_CALLCHAINS", "osrt"), (RUNTIME, "CUDA_CALLCHAINS", "api")):
        if chains not in tables or table not in tables:
            continue
        text = dict(db.execute("SELECT id, value FROM StringIds"))
        frames = {}
        for number, symbol in db.execute("SELECT id, symbol FROM %s ORDER BY id, stackDepth" % chains):
            frames.setdefault(number, []).append(text[symbol])
        want = collections.Counter()
        for number, call in db.execute("SELECT callchainId, nameId FROM %s WHERE callchainId <> 0" % table):
            if number in frames:
                want[re.sub(r"_v\d+$", "", text[call]), "<".join(frames[number])] += 1
        rows = [tuple(r.values()) if isinstance(r, dict) else tuple(r) for r in tool.sql(path, PATHS % kind)]
        check.rows("%s stacks of %s" % (name, table), dict(want), {(c, p): n for c, p, n in rows})


def check_rest(check, tool, name, db, path, tables):
    """Every other table that has rows: as many slices of its name, or a line of coverage."""
    for table in sorted(tables - KNOWN):
        if table.startswith(DESCRIBING):
            continue
        count = db.execute('SELECT count(*) FROM "%s"' % table).fetchone()[0]
        if count == 0:
            continue
        got = one(tool, path, "SELECT coalesce(max(count), 0) FROM coverage WHERE item = "
                              "'not loaded: %s'" % table)[0]
        if got == 0:
            got = one(tool, path, "SELECT count(*) FROM slices s JOIN lanes l ON l.id = s.lane "
                                  "WHERE l.domain = '%s'" % table)[0]
        check.equal("%s %s is loaded or told" % (name, table), count, got)


def check_profile(check, tool, path):
    name = os.path.basename(path)[:44]
    db = sqlite3.connect("file:%s?mode=ro&immutable=1" % path, uri=True)
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for what, table, theirs, ours in QUESTIONS:
        if table not in tables:
            continue
        want = db.execute(theirs.format(t='"%s"' % table)).fetchone()
        check.equal("%s %s" % (name, what), without_none(want), without_none(one(tool, path, ours)))
    check_overheads(check, tool, name, db, path, tables)
    check_sched(check, tool, name, db, path, tables)
    check_contexts(check, tool, name, db, path, tables)
    check_chains(check, tool, name, db, path, tables)
    check_rest(check, tool, name, db, path, tables)


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    paths = sorted(glob.glob(os.path.join(SHARED, "samples", "nsys", "*.sqlite")))
    if not paths:
        print("skipped: no ../shared")
        check.skipped += 1
    # rare-tables holds a row of each kind that cannot be (ends before it starts, no start, a size below 0), which are
    # repaired or left out with coverage: its golden rows are in tests/corpus_expect.
    damaged = ("circle.sqlite", "cut-in-half.sqlite", "rare-tables.sqlite")
    paths += [p for p in sorted(glob.glob(os.path.join(ROOT, "tests", "corpus", "nsys", "*.sqlite")))
              if os.path.basename(p) not in damaged]
    for path in paths:
        check_profile(check, tool, path)
    check.finish()


main()
