#!/usr/bin/env python3
"""Exports of a window: every format holds what SQL finds in it, no more and no less.

Two ranks with two GPUs each, limited by time, steps, a range, a rank, a device and by several of them at once. What a
format writes is read by the parsers of tests/exports.py and compared with the slices that overlap the window; what
an analysis answers (breakdown, steps) with `analyze` of the same window.

    tests/exportwindows.py [WORD...]      formats whose name contains a WORD
"""
import collections
import csv
import json
import os
import re
import sqlite3
import sys

from harness import Tally, forked as neurolens, scratch
import arrowread
import exports
import parquetread

tally = Tally("exportwindows")
FOLDER = os.path.join(scratch(), "ranks")
STEPS, WORK = 4, 10  # steps of a rank, pieces of device work of a step


def rank_events(rank):
    """What the profiler of a rank would write: ops that launch kernels and copies, ranges, memory, a counter."""
    pid = 100 + rank
    events, link = [{"ph": "M", "pid": pid, "name": "process_name", "args": {"name": "python"}}], 0

    def slice_(cat, name, ts, dur, **more):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": pid, "ts": ts, "dur": dur, **more})
    for step in range(STEPS):
        begin = step * 1000 + rank * 7
        slice_("user_annotation", "ProfilerStep#%d" % (step + 5), begin, 990)
        slice_("user_annotation", "forward", begin + 100, 300)
        slice_("user_annotation", "backward", begin + 500, 400)
        slice_("python_function", "train.py(%d): step" % step, begin + 20, 900)
        events.append({"ph": "C", "name": "queue", "pid": pid, "ts": begin + 300, "args": {"depth": step}})
        for i in range(WORK):
            at, link = begin + 50 + 90 * i, link + 1
            slice_("cpu_op", "aten::mm" if i % 2 else "aten::copy_", at, 60, args={"External id": link, "Input Dims": [[8, 8]]})
            slice_("cuda_runtime", "cudaLaunchKernel" if i % 2 else "cudaMemcpyAsync", at + 10, 20,
                   args={"correlation": link, "External id": link})
            place = {"device": i // 2 % 2, "stream": 7, "correlation": link, "External id": link}
            device = {"pid": i // 2 % 2, "tid": 7}
            if i % 2:
                slice_("kernel", "gemm_%d" % (i % 3), at + 40, 70, args=dict(place, grid=[4, 1, 1], block=[128, 1, 1]), **device)
            else:
                slice_("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 40, 55, args=dict(place, bytes=4096 * (i + 1)), **device)
            events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": pid, "tid": pid, "ts": at + 5,
                           "args": {"Device Type": 1, "Device Id": 0, "Addr": 4096 * link, "Bytes": 512, "Total Allocated": 512 * link,
                                    "Total Reserved": 1 << 20}})
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
            "deviceProperties": [{"id": i, "name": "NVIDIA A100"} for i in (0, 1)], "traceEvents": events}


# Words in brackets, and the same in SQL: what overlaps, and whose lanes.
EVERY = "1 = 1"
WINDOWS = [
    ("1.2ms:2.3ms", (1200000, 2300000), EVERY),
    ("step=6:8,rank=1", "SELECT min(ts), max(ts + dur) FROM steps WHERE \"index\" IN (6, 7) AND rank = 1", "rank = 1"),
    ("nvtx=\"back*\",gpu=1", "SELECT min(ts), max(ts + dur) FROM nvtx WHERE name = 'backward'", "device IS NULL OR device = 1"),
    ("rank=0", (-1, 1 << 62), "rank = 0"),
]


class Window:
    """A window in words, and what SQL finds in it."""

    def __init__(self, words, times, lanes):
        self.words, self.profile = words, "%s[%s]" % (FOLDER, words)
        self.name = re.sub(r"\W+", "-", words)
        self.start, self.end = times if isinstance(times, tuple) else exports.sql(FOLDER, times)[0].values()
        self.lanes = ("SELECT id FROM (SELECT l.id AS id, l.rank AS rank, d.ordinal AS device FROM lanes l "
                      "LEFT JOIN devices d ON d.id = l.device) WHERE " + lanes)
        self.slices = self.sql("SELECT id, ts, dur, name, kind, lane, parent FROM slices WHERE %s" % self.overlaps())

    def overlaps(self, lane="lane"):
        return "ts < %d AND (ts + dur > %d OR dur = 0 AND ts = %d) AND %s IN (%s)" % (
            self.end, self.start, self.start, lane, self.lanes)

    def moment(self, lane="lane"):
        return "ts >= %d AND ts < %d AND %s IN (%s)" % (self.start, self.end, lane, self.lanes)

    def sql(self, query):
        return exports.sql(FOLDER, query)

    def export(self, form, ending, *options):
        return exports.export(self.profile, form, self.name + ending, *options)[0]

    def analysis(self):
        done = neurolens(["analyze", self.profile, "--format", "json", "-q"])
        return json.loads(done.stdout)["result"]

    def check(self, form, what, found, wanted):
        tally.check("%s [%s]: %s" % (form, self.words, what), found == wanted and (wanted or "none" in what),
                    "found  %s\nwanted %s" % (str(found)[:1500], str(wanted)[:1500]))


def times_of(rows):
    return collections.Counter((r["ts"], r["dur"], r["name"]) for r in rows)


def perfetto(window):
    _, rows, _, counters = exports.read_perfetto(window.export("perfetto", ".pftrace"))
    first = exports.sql(FOLDER, "SELECT min(ts) AS t FROM slices", "--absolute")[0]["t"]
    window.check("perfetto", "%d slices" % len(rows), times_of([dict(r, ts=r["ts"] - first) for r in rows]), times_of(window.slices))
    wanted = window.sql("SELECT c.ts, value FROM counters c JOIN lanes l ON l.id = c.lane WHERE " + window.moment("c.lane"))
    window.check("perfetto", "values of counters", sorted((ts - first, value) for name, ts, value in counters if not name.startswith("memory ")),
                 sorted((r["ts"], r["value"]) for r in wanted))


def chrome(window):
    with open(window.export("chrome", ".json"), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    rows = [{"ts": round(e["ts"] * 1000), "dur": round(e.get("dur", 0) * 1000), "name": e["name"]} for e in events
            if e["ph"] in "Xi" and e["name"] != "[memory]"]
    window.check("chrome", "%d slices" % len(rows), times_of(rows), times_of(window.slices))
    wanted = window.sql("SELECT count(*) AS n FROM memory WHERE " + window.moment())[0]["n"]
    window.check("chrome", "%d values of memory" % wanted, sum(e["name"] == "[memory]" for e in events), wanted)


MOMENTS = {"memory": "lane", "counters": "lane"}
ANALYSES = {"time_breakdown", "kernel_summary", "account"}
READERS = {"csv": None, "parquet": parquetread.read if exports.ZSTD else None, "arrow": arrowread.read}


def table_files(folder, form):
    """Files of a table, those of ranks beside each other."""
    found = collections.defaultdict(list)
    for path, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            table = name[:-len(form) - 1] if path == folder else os.path.relpath(path, folder).split(os.sep)[0]
            found[table].append(os.path.join(path, name))
    return found


def read_rows(path, form):
    if form != "csv":
        names, rows, _ = READERS[form](path)
        return [dict(zip(names, row)) for row in rows]
    with open(path, newline="", encoding="utf-8") as file:
        return [{k: exports.number(v) for k, v in row.items()} for row in csv.DictReader(file)]


def tables(form, window):
    """Rows with a slice or a length overlap the window, moments lie in it; tables without times stay whole."""
    files = table_files(window.export(form, "." + form), form)
    faults, seen = [], 0
    for table, paths in files.items():
        rows = [row for path in paths for row in read_rows(path, form)]
        seen += 1
        columns = set(rows[0]) if rows else set()
        if table in ANALYSES:
            continue
        if table == "slices" or table == "steps":
            wanted = window.sql("SELECT ts, dur FROM %s WHERE %s" % (table, window.overlaps()))
        elif table in MOMENTS:
            wanted = window.sql("SELECT ts FROM %s WHERE %s" % (table, window.moment(MOMENTS[table])))
        elif table == "flows":
            wanted = window.sql("SELECT src_ts, dst_ts FROM flows WHERE %s OR %s" % (
                window.moment("src_lane").replace("ts ", "src_ts "), window.moment("dst_lane").replace("ts ", "dst_ts ")))
        elif "slice" in columns:
            wanted = window.sql("SELECT slice FROM %s WHERE slice IN (SELECT id FROM slices WHERE %s)" % (table, window.overlaps()))
        else:
            wanted = window.sql("SELECT count(*) AS n FROM " + table)
            rows = [{"n": len(rows)}]
        keys = list(wanted[0]) if wanted else []
        if sorted(tuple(r[k] for k in keys) for r in rows) != sorted(tuple(r.values()) for r in wanted):
            faults.append("%s: %d rows, wanted %d" % (table, len(rows), len(wanted)))
    tally.check("%s [%s]: %d tables" % (form, window.words, seen), not faults and seen > 8, "\n".join(faults))
    told = sum(r["wall_ns"] for path in files["time_breakdown"] for r in read_rows(path, form))
    window.check(form, "the breakdown is that of the window", told, sum(r["wall_ns"] for r in window.analysis()["breakdown"]))


def speedscope(window):
    with open(window.export("speedscope", ".speedscope.json"), encoding="utf-8") as file:
        scope = json.load(file)
    frames = [f["name"] for f in scope["shared"]["frames"]]
    opened = collections.Counter(frames[e["frame"]] for p in scope["profiles"] if p["type"] == "evented"
                                 for e in p["events"] if e["type"] == "O")
    window.check("speedscope", "%d slices" % sum(opened.values()), opened, collections.Counter(r["name"] for r in window.slices))
    weights = sum(sum(p["weights"]) for p in scope["profiles"] if p["type"] == "sampled")
    window.check("speedscope", "device time", weights, device_time(window))


def device_time(window):
    return sum(r["dur"] for r in window.slices if r["kind"] in ("kernel", "memcpy", "memset"))


def thread_time(window):
    """Of outermost slices: what is inside them is part of their time."""
    host = {r["id"] for r in exports.sql(FOLDER, "SELECT id FROM lanes WHERE device IS NULL AND kind IN "
                                         "('thread', 'annotation', 'python', 'nvtx', 'process', 'generic')")}
    return sum(r["dur"] for r in window.slices if r["lane"] in host and r["parent"] is None)


def folded(window):
    with open(window.export("folded", ".folded"), encoding="utf-8") as file:
        found = sum(int(line.rsplit(" ", 1)[1]) for line in file)
    window.check("folded", "device time", found, device_time(window))
    if not thread_time(window):
        return
    with open(window.export("folded", ".threads", "--of", "thread time"), encoding="utf-8") as file:
        found = sum(int(line.rsplit(" ", 1)[1]) for line in file)
    window.check("folded", "thread time", found, thread_time(window))


def pprof(window):
    types, samples = exports.read_pprof(window.export("pprof", ".pb.gz"))
    sums = {kind: sum(values[at] for _, values in samples) for at, kind in enumerate(types)}
    window.check("pprof", "device and thread time", sums, {kind: total for kind, total in (
        ("device time", device_time(window)), ("thread time", thread_time(window))) if total})


def callgrind(window):
    with open(window.export("callgrind", ".callgrind"), encoding="utf-8") as file:
        lines = file.read().split("\n")
    own = sum(int(line[2:]) for before, line in zip([""] + lines, lines) if line.startswith("0 ") and not before.startswith("calls="))
    window.check("callgrind", "device time", own, device_time(window))


def openmetrics(window):
    with open(window.export("openmetrics", ".prom"), encoding="utf-8") as file:
        lines = [line.rsplit(" ", 1) for line in file if not line.startswith("#")]
    walls = sorted(round(float(value) * 1e9) for name, value in lines if name.startswith("neurolens_device_wall_seconds"))
    result = window.analysis()
    window.check("openmetrics", "wall of each device", walls, sorted(r["wall_ns"] for r in result["breakdown"]))
    steps = [int(value) for name, value in lines if name == "neurolens_step_seconds_count"]
    window.check("openmetrics", "steps", steps, [len(result["steps"])])


def tensorboard(window):
    scalars, _, _ = exports.read_events(window.export("tensorboard", ".tfevents"))
    result = window.analysis()
    told = [value for (tag, _), value in scalars.items() if tag.startswith("step_time_ms")]
    window.check("tensorboard", "lengths of steps", sorted(round(v * 1000) for v in told), sorted(round(r["dur_ns"] / 1000) for r in result["steps"]))


def otlp(window):
    spans = exports.read_spans(window.export("otlp-traces", ".spans.pb"))
    from_json, metrics = exports.read_spans_json(window.export("otlp", ".jsonl"))
    found = collections.Counter((s["end"] - s["start"], s["name"]) for s in spans[1:])
    window.check("otlp-traces", "%d spans" % len(found), found, collections.Counter((r["dur"], r["name"]) for r in window.slices))
    window.check("otlp", "the same spans", from_json == spans, True)
    walls = sorted(int(p["asInt"]) for m in metrics if m["name"] == "neurolens.device.wall" for p in m["gauge"]["dataPoints"])
    window.check("otlp", "wall of each device", walls, sorted(r["wall_ns"] for r in window.analysis()["breakdown"]))


def nsys(window):
    database = sqlite3.connect(window.export("nsys-sqlite", ".sqlite"))
    for table, kind in (("CUPTI_ACTIVITY_KIND_KERNEL", "kernel"), ("CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy"), ("CUPTI_ACTIVITY_KIND_RUNTIME", "api")):
        found = sorted(row[0] for row in database.execute("SELECT end - start FROM " + table))
        window.check("nsys-sqlite", "%d of kind %s" % (len(found), kind), found, sorted(r["dur"] for r in window.slices if r["kind"] == kind))
    ranges = database.execute("SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (34, 59, 60)").fetchone()[0]
    window.check("nsys-sqlite", "%d ranges" % ranges, ranges, sum(r["kind"] in ("op", "nvtx", "python") for r in window.slices))
    database.close()


def html(window):
    with open(window.export("html", ".html"), encoding="utf-8") as file:
        answer = json.loads(re.search(r'<script type="application/json" id="answer">(.*?)</script>', file.read(), re.S)[1])
    result = window.analysis()
    window.check("html", "the answer of the window", [answer["result"][k] for k in ("headline", "breakdown", "steps", "kernels")],
                 [result[k] for k in ("headline", "breakdown", "steps", "kernels")])


# What a format has no place for, by the words that say so; how SQL counts it in a window.
ABSENT = {"values of counters": "FROM counters c JOIN lanes l ON l.id = c.lane WHERE {moment:c.lane}",
          "allocations": "FROM memory WHERE {moment:lane}",
          "slices one by one": "FROM slices WHERE {overlaps}",
          "shapes and types of operators": "FROM ops WHERE slice IN (SELECT id FROM slices WHERE {overlaps})",
          "links from launches": "FROM slices WHERE link IS NOT NULL AND lane IN (SELECT id FROM lanes WHERE device IS NOT NULL) AND {overlaps}"}
LISTED = {"perfetto": [], "speedscope": ["values of counters", "allocations", "links from launches"],
          "pprof": ["values of counters", "allocations"],
          "tensorboard": ["values of counters", "allocations", "slices one by one"], "otlp-traces": ["values of counters", "allocations"],
          "nsys-sqlite": ["values of counters", "allocations", "shapes and types of operators"]}


def listed(window):
    for form, whats in LISTED.items():
        told = neurolens(["export", window.profile, "--to", form, "-o", os.path.join(scratch(), "listed")]).stderr
        found = {what: int(m[1].replace(",", "")) for what in ABSENT
                 for m in [re.search(r"not in %s: ([\d,]+) %s" % (form, what), told)] if m}
        wanted = {what: window.sql("SELECT count(*) AS n " + ABSENT[what].format(
            overlaps=window.overlaps(), **{"moment": Moment(window)}))[0]["n"] for what in whats}
        tally.check("%s [%s]: what it cannot hold is counted" % (form, window.words), found == wanted, "%s\n%s\n%s" % (found, wanted, told))


class Moment:
    """{moment:LANE} in a format string."""

    def __init__(self, window):
        self.window = window

    def __format__(self, lane):
        return self.window.moment(lane)


def run_json(window):
    done = neurolens(["export", window.profile, "--to", "run.json", "-o", os.path.join(scratch(), "no.json")])
    tally.check("run.json [%s]: refused, as it describes a whole run" % window.words, done.status == 2 and
                "whole profile" in done.stderr and not os.path.exists(os.path.join(scratch(), "no.json")), done.describe())


def table_form(form):
    def check(window):
        tables(form, window)
    check.__name__ = form
    return check


def samples():
    """CPU samples of a time window, in the formats of stacks."""
    source = os.path.join(os.path.dirname(exports.FIXTURES), "corpus", "perf", "plain.txt")
    first, last, count = exports.sql(source, "SELECT min(ts) AS a, max(ts) AS b, count(*) AS n FROM samples")[0].values()
    part = "%s[0:%dns]" % (source, last)  # all but the last
    wanted = exports.sql(source, "SELECT sum(coalesce(weight, 1)) AS n FROM samples WHERE ts < %d" % last)[0]["n"]
    with open(exports.export(part, "folded", "samples.folded")[0], encoding="utf-8") as file:
        found = sum(int(line.rsplit(" ", 1)[1]) for line in file)
    tally.check("folded: samples of a window", found == wanted and last > first and count > 1, "%s %s" % (found, wanted))


def main():
    words = sys.argv[1:]
    os.makedirs(FOLDER)
    for rank in (0, 1):
        with open(os.path.join(FOLDER, "rank%d.json" % rank), "w", encoding="utf-8") as file:
            file.write(json.dumps(rank_events(rank)))
    for given in WINDOWS:
        window = Window(*given)
        for form in (perfetto, chrome, table_form("csv"), table_form("parquet"), table_form("arrow"), speedscope, folded, pprof, callgrind,
                     openmetrics, tensorboard, otlp, nsys, html, run_json) + ((listed,) if given is WINDOWS[1] else ()):
            if words and not any(word in form.__name__ for word in words):
                continue
            if form.__name__ == "parquet" and not exports.ZSTD:
                tally.skip("parquet", "no libzstd")
                continue
            try:
                form(window)
            except Exception as error:  # one format's failure is not the others'
                tally.fail("%s [%s]" % (form.__name__, window.words), "%s: %s" % (type(error).__name__, error))
    samples()
    tally.finish()


main()
