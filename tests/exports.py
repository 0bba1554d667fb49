#!/usr/bin/env python3
"""Exports: what is written in other tools' formats, read back by parsers of their own.

Every format is held by a small independent parser in this file against what SQL answers of the same
profile, and by our own readers (export, import, the same answers). With the real consumers at hand
(build/venv-exports, which `make test-frameworks` makes) tests/exports_real.py asks them, too.

    tests/exports.py [WORD...]      parts whose name contains a WORD
"""
import collections
import csv
import functools
import gzip
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
from harness import (FIXTURES, PROGRAM, ROOT, Tally, environment, forked, has_terminal, neurolens,  # noqa: E402
                     scratch)  # noqa: E402
import arrowread  # noqa: E402
import parquetread  # noqa: E402
from protowire import double, fields, signed, varint  # noqa: E402

csv.field_size_limit(1 << 26)
ZSTD = parquetread.ZSTD is not None

tally = Tally("exports")
SHARED = os.path.join(os.path.dirname(ROOT), "shared", "samples")
TRAIN = os.path.join(FIXTURES, "torch_cpu_train.json.gz")
H100 = os.path.join(SHARED, "nsys", "GindaChen+nsys-ai__tests__fixtures__h100_2gpu_1s.sqlite")
KINETO = os.path.join(SHARED, "torch", "facebookresearch+HolisticTraceAnalysis", "tests", "data",
                      "df_index_resolver", "df_index_resolver.json.gz")


def made(name):
    return os.path.join(scratch(), name)


def sql_each(profile, queries, *options):
    """Rows of each of the queries as dictionaries of exact values; the profile is loaded once for them."""
    done = forked(["sql", profile, "--format", "json", *options], stdin=";\n".join(queries).encode())
    texts = done.stdout.split("\n}\n")[:-1]  # no other line is a bracket alone
    if done.status != 0 or len(texts) != len(queries):
        raise RuntimeError("%s: %s" % (queries, done.describe()))
    results = [json.loads(text + "}")["result"] for text in texts]
    return [[dict(zip([column["name"] for column in result["columns"]], row)) for row in result["rows"]] for result in results]


def sql(profile, query, *options):
    return sql_each(profile, [query], *options)[0]


EXPORTED = set()  # the formats that a part of this file read


def export(profile, form, name, *options, good=True):
    EXPORTED.add(form)
    path = made("out-" + name)
    done = neurolens(["export", profile, "--to", form, "-o", path, *options])
    if good and done.status != 0:
        raise RuntimeError("export --to %s %s: %s" % (form, profile, done.describe()))
    return path, done


def samples():
    """(name, path) of the profiles that every format is tried on."""
    found = [("train", TRAIN)]
    for name, path in (("h100", H100), ("kineto", KINETO)):
        if os.path.exists(path):
            found.append((name, path))
        else:
            tally.skip(name, "no ../shared")
    return found


HOSTILE = "hostile.json"
NASTY = ["</script><script>alert(1)</script>", "a,b\"c\nd", "x;y z", "=1+1", "\u202e\u0007", "é€😀", "",
         "a\u0000b", "<img src=x onerror=alert(1)>", "n" * 5000]


def hostile():
    """A profile whose names are what breaks careless writers; events overlap, end late, have no length."""
    path = made(HOSTILE)
    if os.path.exists(path):
        return path
    events = [{"ph": "M", "pid": 7, "name": "process_name", "args": {"name": NASTY[0]}},
              {"ph": "M", "pid": 7, "tid": 70, "name": "thread_name", "args": {"name": NASTY[1]}}]
    for i, name in enumerate(NASTY):
        events.append({"ph": "X", "pid": 7, "tid": 70, "cat": "cpu_op", "name": name or "none",
                       "ts": 1000 * i, "dur": 900, "args": {"External id": i}})
        events.append({"ph": "X", "pid": 7, "tid": 70, "cat": "custom", "name": name or "none",
                       "ts": 1000 * i + 10, "dur": 0, "args": {"key": name, "deep": {"list": [1, name]}}})
    for i in range(100):  # more than can be nested, all at once
        events.append({"ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": "k%d" % (i % 7),
                       "ts": 20000 + i, "dur": 1000 + 2 * i,
                       "args": {"device": 0, "stream": 7, "correlation": i + 1}})
        events.append({"ph": "X", "pid": 7, "tid": 71, "cat": "cuda_runtime", "name": "cudaLaunchKernel",
                       "ts": 19000 + 5 * i, "dur": 4, "args": {"correlation": i + 1}})
    events.append({"ph": "C", "pid": 7, "name": "c\"<&>", "ts": 5, "args": {"v": 1.5}})
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"traceEvents": events, "deviceProperties": [{"id": 0, "name": "GPU & \"co\""}]}))
    return path


# ---- Perfetto ----

def read_perfetto(path):
    """Tracks and slices of a trace: what any reader of the format has to find in it."""
    texts = collections.defaultdict(dict)
    tracks, events, flows, counters = {}, collections.defaultdict(list), {}, []
    with open(path, "rb") as file:
        data = file.read()
    for number, packet in fields(data):
        assert number == 1
        parts = dict(fields(packet))
        for field, value in fields(parts.get(12, b"")):
            entry = dict(fields(value))
            texts[field][entry[1]] = entry.get(2, b"").decode()
        if 60 in parts:
            track = dict(fields(parts[60]))
            tracks[track[1]] = {"name": track.get(2, b"").decode(), "parent": track.get(5, 0),
                                "process": dict(fields(track.get(3, b""))),
                                "thread": dict(fields(track.get(4, b""))), "counter": 8 in track}
        if 11 in parts:
            event = collections.defaultdict(list)
            for field, value in fields(parts[11]):
                event[field].append(value)
            events[event[11][0]].append((parts[8], event))
    slices = []
    for uuid, items in events.items():
        stack = []
        # A reader sorts by time and keeps the order of the file at equal times.
        for ts, event in sorted(items, key=lambda item: item[0]):
            kind = event[9][0]
            if kind == 4:
                counters.append((tracks[uuid]["name"], ts, struct.unpack("<d", struct.pack(
                    "<Q", event[44][0]))[0]))
                continue
            if kind == 2:
                slices.append((stack.pop(), ts))
                continue
            begun = (uuid, ts, event)
            if kind == 3:
                slices.append((begun, ts))
            else:
                stack.append(begun)
        slices += [(begun, None) for begun in stack]
    rows = []
    for (uuid, ts, event), end in slices:
        arguments = {}
        for value in event[4]:
            argument = dict(fields(value))
            name = texts[3][argument.pop(1)]
            (field, content), = argument.items()
            arguments[name] = texts[29][content] if field == 17 else content
        rows.append({"track": uuid, "ts": ts, "dur": None if end is None else end - ts,
                     "name": texts[2].get(event[10][0], "") if event[10] else None,
                     "category": texts[1][event[3][0]], "args": arguments, "instant": event[9][0] == 3})
        for field in (47, 48):
            for flow in event[field]:
                flows.setdefault(flow, [None, None])[field - 47] = rows[-1]
    return tracks, rows, flows, counters


def top_process(tracks, uuid):
    while uuid:
        track = tracks[uuid]
        owner = track["process"] or track["thread"]
        if owner:
            return owner[1]
        uuid = track["parent"]
    return None


def perfetto(name, profile):
    path, _ = export(profile, "perfetto", name + ".pftrace")
    tracks, rows, flows, counters = read_perfetto(path)
    first = min(row["ts"] for row in rows)
    wanted = sql(profile, "SELECT ts, dur, name, kind, flags FROM slices")
    # What was never ended has no end in the file.
    ours = collections.Counter((r["ts"], None if r["flags"] & 1 else r["dur"], r["name"]) for r in wanted)
    last = max(r["ts"] + r["dur"] for r in wanted)
    theirs = collections.Counter((r["ts"] - first, r["dur"], r["name"]) for r in rows)
    for key in list(ours):
        if key[1] is None and theirs[key] < ours[key]:  # ended for its parent's sake
            ours[(key[0], last - key[0], key[2])] += ours[key] - theirs[key]
            ours[key] = theirs[key]
    tally.check("perfetto %s: %d slices, their times and names" % (name, len(rows)), +ours == +theirs,
                "ours less theirs: %s\ntheirs less ours: %s" % (list((ours - theirs).items())[:5],
                                                              list((theirs - ours).items())[:5]))
    links = sql(profile, "SELECT l.ts AS src, s.ts AS dst FROM slices s JOIN slices l ON l.id = s.link "
                         "JOIN lanes d ON d.id = s.lane WHERE d.device IS NOT NULL AND l.ts < s.ts")
    drawn = collections.Counter((a["ts"] - first, b["ts"] - first) for a, b in flows.values() if a and b)
    missing = collections.Counter((r["src"], r["dst"]) for r in links) - drawn
    tally.check("perfetto %s: %d flows, each with two ends" % (name, len(flows)),
                not missing and all(a and b for a, b in flows.values()), str(list(missing.items())[:5]))
    kernels = sql(profile, "SELECT k.ts, correlation, grid_x, registers, stream FROM kernels k")
    told = {(r["ts"] - first, r["args"].get("correlation"), r["args"].get("grid_x"),
             r["args"].get("registers")) for r in rows if r["category"] == "kernel"}
    tally.check("perfetto %s: correlation, grid and registers of kernels" % name,
                all((k["ts"], k["correlation"], k["grid_x"], k["registers"]) in told for k in kernels))
    streams = {tracks[r["track"]]["name"] for r in rows if r["category"] == "kernel"}
    tally.check("perfetto %s: kernels lie on tracks named by stream" % name,
                all(k["stream"] is None or "stream %d" % k["stream"] in {s.split(" (")[0] for s in streams}
                    for k in kernels), str(streams))
    pids = [t["process"][1] for t in tracks.values() if t["process"]]
    tally.check("perfetto %s: every process has a pid of its own" % name, len(pids) == len(set(pids)))
    series = sql(profile, "SELECT count(*) AS n, sum(value) AS total FROM counters")[0]
    memory = sum(1 for c in counters if c[0].startswith("memory "))
    tally.check("perfetto %s: %d values of counters" % (name, len(counters)),
                len(counters) - memory == series["n"])
    same_answers("perfetto " + name, profile, path)


# ---- Chrome's JSON ----

def chrome(name, profile):
    path, _ = export(profile, "chrome", name + ".json")
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    slices = [e for e in events if e["ph"] in "Xi" and e["name"] != "[memory]"]
    wanted = sql(profile, "SELECT ts, dur, name FROM slices")
    ours = collections.Counter((r["ts"], r["dur"], r["name"]) for r in wanted)
    theirs = collections.Counter((round(e["ts"] * 1000), round(e.get("dur", 0) * 1000), e["name"])
                                 for e in slices)
    tally.check("chrome %s: %d slices, their times and names" % (name, len(slices)), ours == theirs,
                "%s\n%s" % (list((ours - theirs).items())[:5], list((theirs - ours).items())[:5]))
    ends = collections.defaultdict(list)
    for e in slices:
        ends[e["pid"], e["tid"]].append((e["ts"], -e.get("dur", 0), e))
    crossing = 0
    for lane in ends.values():
        stack = []
        for ts, negative, e in sorted(lane, key=lambda item: item[:2]):
            while stack and stack[-1] <= round(ts * 1000):
                stack.pop()
            end = round(ts * 1000) - round(negative * 1000)
            crossing += bool(stack) and end > stack[-1]
            stack.append(end)
    tally.check("chrome %s: no two slices of a thread cross" % name, crossing == 0, str(crossing))
    begun = collections.Counter(e["id"] for e in events if e["ph"] == "s")
    ended = collections.Counter(e["id"] for e in events if e["ph"] == "f")
    tally.check("chrome %s: %d flows, each with two ends" % (name, len(begun)),
                begun == ended and all(n == 1 for n in begun.values()))
    questions = [q for q in QUESTIONS if "shared" not in q]
    same_answers("chrome " + name, profile, path, questions + [
        "SELECT sum(grid_x), sum(block_x), sum(registers), "
        "sum(coalesce(static_shared_bytes, 0) + coalesce(dynamic_shared_bytes, 0)) AS shared FROM kernels",
        "SELECT shapes, dtypes, count(*) FROM ops GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT bytes, total_allocated, count(*) FROM memory GROUP BY 1, 2 ORDER BY 1, 2"])


def device_ranges():
    """Ranges on a device are no device work: readers such as HTA take what has a `stream` for work."""
    profile = made("ranges.json")
    place = {"device": 1, "stream": 7, "context": 1, "correlation": 3}
    with open(profile, "w", encoding="utf-8") as file:
        file.write(json.dumps({"traceEvents": [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4, "tid": 5, "ts": 1, "dur": 2,
             "args": {"correlation": 3}},
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 1, "tid": 7, "ts": 10, "dur": 5, "args": place},
            {"ph": "X", "cat": "gpu_user_annotation", "name": "forward", "pid": 1, "tid": 7, "ts": 9, "dur": 8, "args": {}},
        ]}))
    path, _ = export(profile, "chrome", "ranges-chrome.json")
    with open(path, encoding="utf-8") as file:
        found = {e.get("cat"): e["args"] for e in json.load(file)["traceEvents"] if e["ph"] == "X"}
    tally.check("chrome: ranges on devices have no argument `stream`, kernels have",
                "stream" not in found["gpu_user_annotation"] and found["kernel"]["stream"] == 7, str(found))
    same_answers("chrome ranges", profile, path, [
        "SELECT s.kind, s.name, l.kind AS lane, l.stream, d.ordinal FROM slices s JOIN lanes l ON l.id = s.lane "
        "LEFT JOIN devices d ON d.id = l.device ORDER BY s.ts"])


# ---- tables ----

def cell(text):
    return None if text == "" else text


def tables(name, profile):
    """CSV and Parquet hold every table, every cell."""
    folder, _ = export(profile, "csv", name + "-csv")
    parquet, _ = export(profile, "parquet", name + "-parquet")
    arrow, _ = export(profile, "arrow", name + "-arrow")
    files = sorted(f[:-4] for f in os.listdir(folder))
    tally.check("tables %s: the same in all formats, all that have rows" % name,
                sorted(f[:-8] for f in os.listdir(parquet)) == files and "slices" in files and
                sorted(f[:-6] for f in os.listdir(arrow)) == files, str(files))
    for table in files:
        with open(os.path.join(folder, table + ".csv"), newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        from_csv = [[number(v) for v in row] for row in rows[1:]]
        names, cells, pairs = arrowread.read(os.path.join(arrow, table + ".arrow"))
        as_text = [["" if v is None else v if isinstance(v, str) else repr(v) for v in row] for row in cells]
        tally.check("tables %s: %s, %d rows: arrow is csv" % (name, table, len(cells)),
                    names == rows[0] and [[number(v) for v in row] for row in as_text] == from_csv and
                    pairs["neurolens.table"] == table,
                    next((str(p) for p in zip(as_text, rows[1:]) if p[0] != p[1]), ""))
        if ZSTD:
            names, cells, pairs = parquetread.read(os.path.join(parquet, table + ".parquet"))
            as_text = [["" if v is None else v if isinstance(v, str) else repr(v) for v in row] for row in cells]
            tally.check("tables %s: %s, %d rows: parquet is csv" % (name, table, len(cells)),
                        names == rows[0] and [[number(v) for v in row] for row in as_text] == from_csv and
                        pairs["neurolens.table"] == table,
                        next((str(p) for p in zip(as_text, rows[1:]) if p[0] != p[1]), ""))
        if table in ("time_breakdown", "kernel_summary", "account"):
            continue  # analyses, whose columns are not SQL's
        wanted = sql(profile, "SELECT * FROM " + table)
        told = [[number("" if v is None else v if isinstance(v, str) else repr(v)) for v in row.values()]
                for row in wanted]
        tally.check("tables %s: %s is what SQL says" % (name, table),
                    list(wanted[0]) == rows[0] and from_csv == told,
                    next((str(p) for p in zip(rows[1:], told) if [number(v) for v in p[0]] != p[1]), ""))
    total = sql(profile, "SELECT sum(total_ns) AS t FROM kernel_summary")[0]["t"]
    if "kernel_summary" in files:
        with open(os.path.join(folder, "kernel_summary.csv"), newline="", encoding="utf-8") as file:
            told = sum(int(row["total_ns"]) for row in csv.DictReader(file))
        tally.check("tables %s: kernel_summary adds up to %d ns" % (name, told), told == total)


@functools.lru_cache(maxsize=None)  # cells repeat
def number(text):
    try:
        return float(text) if any(c in text for c in ".einf") else int(text)
    except ValueError:
        return text


def one_table(name, profile):
    path, _ = export(profile, "csv", name + "-one.csv", "--table", "slices")
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    count = sql(profile, "SELECT count(*) AS n FROM slices")[0]["n"]
    tally.check("table %s: slices alone" % name, len(rows) == count + 1)
    done = neurolens(["export", profile, "--to", "csv", "--table", "slice", "-o", made("x.csv")])
    tally.check("table %s: a mistyped table is answered with the nearest" % name,
                done.status == 2 and "did you mean slices?" in done.stderr and
                not os.path.exists(made("x.csv")), done.describe())


def folders():
    done = neurolens(["export", TRAIN, "--to", "csv"])
    tally.check("tables need -o", done.status == 2 and "-o FOLDER" in done.stderr, done.stderr)
    full = made("full")
    os.makedirs(os.path.join(full, "kept"))
    done = neurolens(["export", TRAIN, "--to", "csv", "-o", full])
    tally.check("a folder with something in it is left alone",
                done.status == 5 and os.listdir(full) == ["kept"], done.describe())
    ranks = [os.path.join(FIXTURES, "torch_cpu_ddp_rank%d.json.gz" % r) for r in (0, 1)]
    out = made("ranks")
    done = neurolens(["export", *ranks, "--to", "csv", "-o", out])
    tally.check("several ranks: a folder each", sorted(os.listdir(os.path.join(out, "ops"))) ==
                ["rank=0", "rank=1"] and os.path.exists(os.path.join(out, "lanes", "rank=0", "part.csv")),
                done.describe())


# ---- stacks ----

def read_pprof(path):
    with gzip.open(path) as file:
        data = file.read()
    parts = collections.defaultdict(list)
    for number_, value in fields(data):
        parts[number_].append(value)
    texts = [t.decode() for t in parts[6]]
    assert texts[0] == ""
    functions = {f[1]: texts[f[2]] for f in (dict(fields(v)) for v in parts[5])}
    locations = {}
    for value in parts[4]:
        location = dict(fields(value))
        locations[location[1]] = functions[dict(fields(location[4]))[1]]
    types = [texts[dict(fields(v))[1]] for v in parts[1]]
    samples = []
    for value in parts[2]:
        sample = dict(fields(value))
        samples.append(([locations[i] for i in packed_numbers(sample[1])][::-1], packed_numbers(sample[2])))
    return types, samples


def packed_numbers(data):
    out, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        out.append(value - (1 << 64) if value >> 63 else value)
    return out


def clean(frame):
    return "".join(" " if c < " " else c for c in frame.replace(";", ":"))


def stacks(name, profile, event=None):
    options = ["--of", event] if event else []
    path, _ = export(profile, "folded", name + ".folded", *options)
    folded = collections.Counter()
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            stack, weight = line.rstrip("\n").rsplit(" ", 1)
            folded[stack] += int(weight)
    types, samples = read_pprof(export(profile, "pprof", name + ".pb.gz")[0])
    which = next((i for i, t in enumerate(types) if event and event in t), 0)
    from_pprof = collections.Counter()
    for frames, values in samples:
        if values[which]:
            from_pprof[";".join(map(clean, frames))] += values[which]
    tally.check("stacks %s: %d in folded, the same in pprof" % (name, len(folded)), folded == from_pprof,
                "%s\n%s" % (list((folded - from_pprof).items())[:3], list((from_pprof - folded).items())[:3]))
    with open(export(profile, "speedscope", name + ".speedscope.json")[0], encoding="utf-8") as file:
        scope = json.load(file)
    frames = [f["name"] for f in scope["shared"]["frames"]]
    sampled = [p for p in scope["profiles"] if p["type"] == "sampled"]
    told = collections.Counter()
    for stack, weight in zip(sampled[which]["samples"], sampled[which]["weights"]):
        told[";".join(clean(frames[i]) for i in stack)] += weight
    tally.check("stacks %s: the same in speedscope" % name, told == folded and
                sampled[which]["endValue"] == sum(told.values()))
    lanes = [p for p in scope["profiles"] if p["type"] == "evented"]
    good, opened = True, collections.Counter()
    for lane in lanes:
        stack, last = [], lane["startValue"]
        for e in lane["events"]:
            good &= last <= e["at"] <= lane["endValue"]
            last = e["at"]
            if e["type"] == "O":
                stack.append(e["frame"])
                opened[frames[e["frame"]]] += 1
            else:
                good &= bool(stack) and stack.pop() == e["frame"]
        good &= not stack
    wanted = collections.Counter({r["name"] or "(no name)": r["n"] for r in
                                  sql(profile, "SELECT name, count(*) AS n FROM slices GROUP BY name")})
    tally.check("stacks %s: lanes of speedscope open and close in order, %d slices" %
                (name, sum(opened.values())), good and opened == wanted)
    return folded


def device_stacks(name, profile):
    folded = stacks(name, profile, "device time")
    total = sql(profile, "SELECT sum(dur) AS t FROM slices WHERE kind IN ('kernel', 'memcpy', 'memset')")
    tally.check("stacks %s: device time adds up to %d ns" % (name, sum(folded.values())),
                sum(folded.values()) == total[0]["t"])


def sampled_stacks():
    source = os.path.join(os.path.dirname(FIXTURES), "corpus", "collapsed", "plain.folded")
    folded = stacks("plain", source)
    with open(source) as file:
        lines = collections.Counter()
        for line in file:
            if line.strip() and line[0] not in "#/":
                stack, weight = line.rstrip("\n").rsplit(" ", 1)
                lines[stack] += int(weight)
    tally.check("stacks plain: collapsed stacks come out as they went in", folded == lines,
                "%s\n%s" % (folded, lines))
    done = neurolens(["export", os.path.join(os.path.dirname(FIXTURES), "corpus", "gputelemetry", "dmon.txt"), "--to", "folded"])
    tally.check("stacks: a profile without any says so", done.status == 3 and "no stacks" in done.stderr, done.describe())


def read_folded(lines):
    """Weights of stacks; of frames what both writers have: `flame` takes out the middle of very long ones."""
    weights = collections.Counter()
    for line in lines:
        stack, weight = line.rstrip("\n").rsplit(" ", 1)
        weights[tuple(frame[:100] for frame in stack.split(";"))] += int(weight)
    return weights


def host_stacks():
    """What `flame` draws of threads and allocations: two implementations, the same stacks."""
    snapshots = os.path.join(SHARED, "torch_mem", "silmont2000+assignment2-systems", "769df2d4__memory_forward_fp32_128.pickle")
    kinds = os.path.join(ROOT, "tests", "corpus", "perf", "branches.txt")
    result = neurolens(["export", kinds, "--to", "folded", "--of", "WRONG"])
    named = [line.split("; there are ", 1)[1].strip().split(", ") for line in result.stderr.splitlines() if "; there are " in line]
    tally.check("--of WRONG names every kind of stacks", result.status == 2 and named and len(named[0]) > 1 and
                all(neurolens(["export", kinds, "--to", "folded", "--of", kind]).status == 0 for kind in named[0]), result.describe())
    for name, profile, by, of in (("cpu", TRAIN, "host", "thread time"), ("ranks", os.path.join(FIXTURES, "made_gpu_train.json.gz"), "host", "thread time"),
                                  ("snapshot", snapshots, "memory", "allocated")):
        if not os.path.exists(profile):
            tally.skip("stacks " + name, "no ../shared")
            continue
        with open(export(profile, "folded", name + ".of", "--of", of)[0], encoding="utf-8") as file:
            written = read_folded(file)
        drawn = read_folded(neurolens(["flame", profile, "--by", by]).stdout.splitlines())
        tally.check("stacks %s: %d stacks of %s as flame draws them" % (name, len(written), of), written == drawn and len(written) > 10,
                    ("%s\n%s" % (list((written - drawn).items())[:3], list((drawn - written).items())[:3]))[:2000])
        types, samples = read_pprof(export(profile, "pprof", name + ".of.pb.gz", "--quiet")[0])
        which = types.index(of)
        tally.check("stacks %s: their sum in pprof" % name, sum(values[which] for _, values in samples) == sum(written.values()))


# ---- sums for others ----

def callgrind(name, profile):
    path, _ = export(profile, "callgrind", name + ".callgrind", "--of", "device time")
    names, own, inclusive, fn, callee = {}, collections.Counter(), collections.Counter(), None, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            for word in ("fn=", "cfn="):
                if line.startswith(word):
                    number_, _, text = line[len(word):].partition(" ")
                    names.setdefault(number_, text)
                    fn, callee = (names[number_], None) if word == "fn=" else (fn, names[number_])
            if line.startswith("0 "):
                cost = int(line[2:])
                if callee is None:
                    own[fn] += cost
                else:
                    inclusive[fn, callee] += cost
    types, samples = read_pprof(export(profile, "pprof", name + ".grind.pb.gz", "--quiet")[0])
    which = types.index("device time")
    wanted = collections.Counter()
    for frames, values in samples:
        wanted["".join(" " if c < " " else c for c in frames[-1])] += values[which]
    tally.check("callgrind %s: what %d functions cost themselves" % (name, len(own)), own == +wanted,
                "%s" % list((own - wanted).items())[:3])


def openmetrics(name, profile):
    path, _ = export(profile, "openmetrics", name + ".prom")
    values, types = {}, {}
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            types[line.split()[2]] = line.split()[3]
        elif not line.startswith("#"):
            sample, value = line.rsplit(" ", 1)
            assert sample not in values
            values[sample] = value
    tally.check("openmetrics %s: ends as it must" % name, lines[-2:] == ["# EOF", ""])
    rows = sql(profile, "SELECT rank, device, wall_ns, idle_ns FROM time_breakdown")
    good = all(values['neurolens_device_%s_seconds{rank="%s",device="%s"}' % (
        what, "" if r["rank"] is None else r["rank"], "" if r["device"] is None else r["device"])] ==
        "%d.%09d" % divmod(r[what + "_ns"], 10 ** 9) for r in rows for what in ("wall", "idle")
        if r[what + "_ns"] is not None)
    tally.check("openmetrics %s: wall and idle of %d devices, to the ns" % (name, len(rows)), good, str(rows))
    kernels = sql(profile, "SELECT name, count, total_ns FROM kernel_summary ORDER BY total_ns DESC LIMIT 3")
    escaped = [k["name"].replace("\\", "\\\\").replace('"', '\\"') for k in kernels]
    tally.check("openmetrics %s: kernels" % name, all(
        values['neurolens_kernel_seconds_sum{kernel="%s"}' % e] == "%d.%09d" % divmod(k["total_ns"], 10 ** 9)
        for e, k in zip(escaped, kernels)))
    buckets = [int(v) for k, v in values.items() if k.startswith("neurolens_step_seconds_bucket")]
    tally.check("openmetrics %s: buckets never fall" % name, buckets == sorted(buckets) and
                (not buckets or buckets[-1] == int(values["neurolens_step_seconds_count"])))


def longest_steps():
    """Steps that no 64-bit number holds together: their sum stays at the largest, and never turns negative."""
    ranks = []  # steps of one rank do not overlap, and no rank is longer than time is: their sum is
    for rank in range(6):
        ranks.append(os.path.join(scratch(), "longest%d.json" % rank))
        with open(ranks[-1], "w", encoding="utf-8") as file:
            file.write(json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 6}, "traceEvents": [
                {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 1, "tid": 1, "ts": step * 1100000000000000,
                 "dur": 1099999999999999} for step in range(2)]}))
    path = os.path.join(scratch(), "longest.prom")
    done = neurolens(["export", *ranks, "--to", "openmetrics", "-q", "-o", path])
    if done.status != 0:
        tally.fail("openmetrics of the longest steps", done.describe())
        return
    with open(path, encoding="utf-8") as file:
        sums = [line.split()[1] for line in file if line.startswith("neurolens_step_seconds_sum ")]
    tally.check("openmetrics: the sum of steps of 70 years each stays at the largest number", sums == ["9223372036.854775807"], str(sums))


def crc32c(data):
    value = 0xffffffff
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
    value ^= 0xffffffff
    return ((value >> 15 | value << 17) + 0xa282ead8) & 0xffffffff


def read_events(path):
    """Scalars by tag and step, the report, and the first event of TensorBoard's file."""
    with open(path, "rb") as file:
        data = file.read()
    at, events = 0, []
    while at < len(data):
        size, check = struct.unpack_from("<QI", data, at)
        body = data[at + 12:at + 12 + size]
        after, = struct.unpack_from("<I", data, at + 12 + size)
        assert check == crc32c(data[at:at + 8])
        assert size > 4096 or after == crc32c(body)
        events.append(dict(fields(body)))
        at += 16 + size
    scalars, text = {}, None
    for event in events[1:]:
        value = dict(fields(dict(fields(event[5]))[1]))
        tensor = dict(fields(value[8]))
        if 5 in tensor:
            scalars[value[1].decode(), event.get(2, 0)] = struct.unpack("<f", tensor[5])[0]
        else:
            text = tensor[8].decode()
    return scalars, text, events[0]


def tensorboard(name, profile):
    scalars, text, head = read_events(export(profile, "tensorboard", name + ".tfevents")[0])
    steps = sql(profile, 'SELECT "index" AS i, dur, rank FROM steps')
    told = [v for (tag, _), v in scalars.items() if tag.startswith("step_time_ms")]
    tally.check("tensorboard %s: %d scalars, lengths of marked steps among them" % (name, len(scalars)),
                head[3] == b"brain.Event:2" and
                all(any(abs(v - r["dur"] / 1e6) < 1e-3 for v in told) for r in steps), str(told[:5]))
    tally.check("tensorboard %s: the report is Markdown" % name, text is not None and text.startswith("#") and
                "|" in text, str(text)[:200])


# ---- OpenTelemetry ----

def attributes_of(items):
    """Attributes of a protobuf message as a dictionary."""
    out = {}
    for item in items:
        pair = dict(fields(item))
        (kind, value), = fields(pair[2])
        out[pair[1].decode()] = value.decode() if kind == 1 else signed(value) if kind == 3 else \
            double(value) if kind == 4 else value
    return out


def parts_of(data):
    out = collections.defaultdict(list)
    for number_, value in fields(data):
        out[number_].append(value)
    return out


def read_spans(path):
    with open(path, "rb") as file:
        data = file.read()
    spans = []
    for _, group in fields(data):
        group = parts_of(group)
        resource = attributes_of(parts_of(group[1][0])[1])
        for scope in group[2]:
            for span in parts_of(scope)[2]:
                span = parts_of(span)
                spans.append({"trace": span[1][0].hex(), "id": span[2][0].hex(), "parent": (span[4] or [b""])[0].hex(),
                              "name": span[5][0].decode(), "start": span[7][0], "end": span[8][0],
                              "attributes": attributes_of(span[9]), "resource": resource})
    return spans


def json_value(value):
    (kind, content), = value.items()
    return int(content) if kind == "intValue" else content


def read_spans_json(path):
    spans, metrics = [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            for group in entry.get("resourceMetrics", ()):
                metrics += [m for scope in group["scopeMetrics"] for m in scope["metrics"]]
            for group in entry.get("resourceSpans", ()):
                resource = {a["key"]: json_value(a["value"]) for a in group["resource"]["attributes"]}
                for scope in group["scopeSpans"]:
                    for span in scope["spans"]:
                        spans.append({"trace": span["traceId"], "id": span["spanId"],
                                      "parent": span.get("parentSpanId", ""), "name": span["name"],
                                      "start": int(span["startTimeUnixNano"]), "end": int(span["endTimeUnixNano"]),
                                      "attributes": {a["key"]: json_value(a["value"])
                                                     for a in span.get("attributes", ())}, "resource": resource})
    return spans, metrics


def read_metrics(path):
    """(metric, values of a point) of protobuf, by the numbers of opentelemetry-proto's metrics.proto."""
    points = collections.Counter()
    with open(path, "rb") as file:
        groups = parts_of(file.read())[1]
    for metric in (parts_of(metric) for group in groups for scope in parts_of(group)[2] for metric in parts_of(scope)[2]):
        name = metric[1][0].decode()
        for point in (parts_of(point) for gauge in metric[5] for point in parts_of(gauge)[1]):
            points[name, double(point[4][0]) if point[4] else signed(point[6][0])] += 1
        for point in (parts_of(point) for summary in metric[11] for point in parts_of(summary)[1]):
            points[name, point[4][0], double(point[5][0])] += 1
        for point in (parts_of(point) for histogram in metric[9] for point in parts_of(histogram)[1]):
            counts = [count for packed in point[6] for count in struct.unpack("<%dQ" % (len(packed) // 8), packed)]
            points[name, point[4][0], tuple(counts)] += 1
    return points


def points_of_json(metrics):
    points = collections.Counter()
    for metric in metrics:
        for point in metric.get("gauge", {}).get("dataPoints", ()):
            points[metric["name"], point["asDouble"] if "asDouble" in point else int(point["asInt"])] += 1
        for point in metric.get("summary", {}).get("dataPoints", ()):
            points[metric["name"], int(point["count"]), float(point["sum"])] += 1
        for point in metric.get("histogram", {}).get("dataPoints", ()):
            points[metric["name"], int(point["count"]), tuple(map(int, point["bucketCounts"]))] += 1
    return points


def otlp(name, profile):
    spans = read_spans(export(profile, "otlp-traces", name + ".traces.pb")[0])
    root, rest = spans[0], spans[1:]
    wanted = sql(profile, "SELECT ts, dur, name, kind FROM slices")
    ours = collections.Counter((r["ts"], r["dur"] or 0, r["name"] or "", r["kind"]) for r in wanted)
    theirs = collections.Counter((s["start"] - root["start"], s["end"] - s["start"], s["name"],
                                  s["attributes"]["neurolens.slice_kind"]) for s in rest)
    tally.check("otlp %s: %d slices are spans, their times and names" % (name, len(rest)), ours == theirs,
                "%s\n%s" % (list((ours - theirs).items())[:5], list((theirs - ours).items())[:5]))
    ids = {s["id"]: s for s in spans}
    tally.check("otlp %s: one trace, ids that differ, parents that are there" % name, len(ids) == len(spans) and
                {s["trace"] for s in spans} == {root["trace"]} and not root["parent"] and
                all(s["parent"] in ids for s in rest) and len(root["trace"]) == 32 and len(root["id"]) == 16)
    links = sql(profile, "SELECT s.ts, s.name, l.ts AS launch FROM slices s JOIN slices l ON l.id = s.link "
                         "JOIN lanes d ON d.id = s.lane WHERE d.device IS NOT NULL")
    told = collections.Counter((s["start"] - root["start"], s["name"], ids[s["parent"]]["start"] - root["start"])
                               for s in rest)
    missing = collections.Counter((r["ts"], r["name"], r["launch"]) for r in links) - told
    tally.check("otlp %s: %d launches are parents of their work" % (name, len(links)), not missing,
                str(list(missing.items())[:5]))
    kernels = sql(profile, "SELECT sum(correlation) AS c, sum(grid_x) AS g, count(*) AS n FROM kernels")[0]
    mine = [s["attributes"] for s in rest if s["attributes"]["neurolens.slice_kind"] == "kernel"]
    tally.check("otlp %s: correlation and grid of kernels" % name,
                len(mine) == kernels["n"] and
                sum(a.get("neurolens.correlation", 0) for a in mine) == (kernels["c"] or 0) and
                sum(a.get("neurolens.grid_x", 0) for a in mine) == (kernels["g"] or 0))
    from_json, metrics = read_spans_json(export(profile, "otlp", name + ".jsonl")[0])
    tally.check("otlp %s: JSON and protobuf say the same" % name, from_json == spans,
                next((str(p) for p in zip(from_json, spans) if p[0] != p[1]), str((len(from_json), len(spans)))))
    otlp_metrics(name, profile, metrics)


def otlp_metrics(name, profile, metrics):
    binary, plain = read_metrics(export(profile, "otlp-metrics", name + ".metrics.pb")[0]), points_of_json(metrics)
    tally.check("otlp %s: protobuf and JSON have the same %d points" % (name, sum(plain.values())), binary == plain and
                plain, "%s\n%s" % (list((plain - binary).items())[:5], list((binary - plain).items())[:5]))
    wall = [m for m in metrics if m["name"] == "neurolens.device.wall"]
    rows = sql(profile, "SELECT wall_ns FROM time_breakdown")
    told = sorted(int(p["asInt"]) for m in wall for p in m["gauge"]["dataPoints"])
    tally.check("otlp %s: wall of %d devices, to the ns" % (name, len(told)),
                told == sorted(r["wall_ns"] for r in rows), str(told))
    kernels = sql(profile, "SELECT sum(count) AS n, sum(total_ns) AS t FROM kernel_summary")[0]
    points = [p for m in metrics if m["name"] == "neurolens.kernel.duration" for p in m["summary"]["dataPoints"]]
    tally.check("otlp %s: kernels" % name, sum(int(p["count"]) for p in points) == (kernels["n"] or 0) and
                sum(p["sum"] for p in points) == (kernels["t"] or 0))
    steps = [p for m in metrics if m["name"] == "neurolens.step.duration" for p in m["histogram"]["dataPoints"]]
    tally.check("otlp %s: buckets of steps add up" % name, all(
        sum(map(int, p["bucketCounts"])) == int(p["count"]) and
        len(p["bucketCounts"]) == len(p["explicitBounds"]) + 1 for p in steps))
    counters = sql(profile, "SELECT count(*) AS n, sum(value) AS v FROM counters WHERE ts IS NOT NULL")[0]
    values = [p["asDouble"] for m in metrics if not m["name"].startswith("neurolens.")
              for p in m["gauge"]["dataPoints"]]
    tally.check("otlp %s: %d values of counters" % (name, len(values)), len(values) == counters["n"] and
                abs(sum(values) - (counters["v"] or 0)) <= 1e-6 * abs(counters["v"] or 1))


def otlp_limit():
    """A profile with more slices than spans: whole kinds first, the rest listed."""
    path = made("many.json")
    events = [{"ph": "X", "pid": 1, "tid": 1, "cat": "cpu_op", "name": "op%d" % (i % 9), "ts": 10 * i, "dur": 9}
              for i in range(150000)]
    events += [{"ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": "k", "ts": 10 * i, "dur": 5,
                "args": {"device": 0, "stream": 7}} for i in range(60000)]
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(events))  # json.dump is far slower
    for window, wanted in (("", {"op": 150000, "kernel": 0}), ("[0:1s]", {"op": 100000, "kernel": 60000})):
        out, done = export(path + window, "otlp", "many.jsonl")
        with open(out, encoding="utf-8") as file:
            text = file.read()
        told = {kind: text.count('"neurolens.slice_kind","value":{"stringValue":"%s"}' % kind) for kind in wanted}
        listed = "60,000 GPU operations beyond 200000 spans" in done.stderr
        tally.check("otlp: %s" % ("a window makes room" if window else "beyond 200,000 spans kernels are left out, "
                                  "and listed"), told == wanted and listed == (not window),
                    "%s\n%s" % (told, done.stderr))


# ---- Nsight Systems' tables ----

# As scripts for `nsys export` ask; the second is nsys' own cuda_gpu_kern_sum, shortened.
SCRIPTS = [
    ("SELECT count(*), sum(end - start), min(start), max(end) FROM CUPTI_ACTIVITY_KIND_KERNEL",
     "SELECT count(*), sum(dur), min(ts), max(ts + dur) FROM kernels"),
    ("SELECT s.value, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s "
     "ON s.id = coalesce(k.demangledName, k.shortName) GROUP BY 1 ORDER BY 1",
     "SELECT name, count(*), sum(dur) FROM kernels GROUP BY name ORDER BY name"),
    ("SELECT o.label, sum(m.bytes), count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY m JOIN ENUM_CUDA_MEMCPY_OPER o "
     "ON o.id = m.copyKind GROUP BY m.copyKind ORDER BY m.copyKind",
     "SELECT replace(replace(replace(replace(kind, 'HtoD', 'Host-to-Device'), 'DtoH', 'Device-to-Host'), 'DtoD', "
     "'Device-to-Device'), 'PtoP', 'Peer-to-Peer'), sum(bytes), count(*) FROM copies GROUP BY kind ORDER BY CASE kind "
     "WHEN 'HtoD' THEN 1 WHEN 'DtoH' THEN 2 WHEN 'DtoD' THEN 8 ELSE 10 END"),
    ("SELECT k.start - r.start FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON "
     "k.correlationId = r.correlationId AND k.globalPid / 0x1000000 = r.globalTid / 0x1000000 ORDER BY 1",
     "SELECT k.ts - s.ts FROM kernels k JOIN slices s ON s.id = k.launch ORDER BY 1"),
    ("SELECT coalesce(n.text, s.value), count(*) FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId "
     "WHERE eventType IN (34, 59, 60) AND coalesce(n.domainId, -1) NOT IN (SELECT domainId FROM NVTX_EVENTS WHERE "
     "eventType = 75 AND text IN ('op', 'layer', 'python', 'generic', 'library')) GROUP BY 1",
     "SELECT name, count(*) FROM nvtx GROUP BY name ORDER BY name"),
    ("SELECT id, name, smCount FROM TARGET_INFO_GPU ORDER BY id",
     "SELECT ordinal, name, sm_count FROM devices ORDER BY ordinal"),
]


def nsys(name, profile):
    path, _ = export(profile, "nsys-sqlite", name + ".sqlite")
    database = sqlite3.connect(path)
    tally.check("nsys %s: the database is sound" % name,
                database.execute("PRAGMA integrity_check").fetchall() == [("ok",)])
    for script, question in SCRIPTS:
        theirs = [list(row) for row in database.execute(script)]
        ours = [list(row.values()) for row in sql(profile, question, "--absolute")]
        tally.check("nsys %s: %s" % (name, script[:60]), ours == theirs,
                    "%s\n%s" % (ours[:4], theirs[:4]))
    database.close()
    questions = [q for q in QUESTIONS if "FROM slices" not in q] + [
        "SELECT kind, count(*), sum(dur), count(DISTINCT name), sum(link IS NOT NULL) FROM slices WHERE kind IN "
        "('kernel', 'memset', 'sync', 'api') GROUP BY kind",
        "SELECT name, domain, category, thread, count(*), sum(dur) FROM nvtx WHERE coalesce(domain, '') NOT IN "
        "('op', 'layer', 'python', 'generic', 'library') GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
        "SELECT count(*), sum(dur) FROM slices WHERE kind IN ('nvtx', 'op', 'layer', 'python')"]
    same_answers("nsys " + name, profile, path, questions)


def page(name, profile):
    path, _ = export(profile, "html", name + ".page")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    answer = json.loads(re.search(r'<script type="application/json" id="answer">(.*?)</script>', text, re.S)[1])
    wanted = sql(profile, "SELECT wall_ns, idle_ns FROM time_breakdown")
    told = [[row["wall_ns"], row["idle_ns"]] for row in answer["result"]["breakdown"]]
    tally.check("html %s: the report, with the same breakdown" % name, text.startswith("<!doctype html>") and
                told == [list(r.values()) for r in wanted], "%s\n%s" % (told, wanted))


# ---- open --perfetto ----

def ask(address, path, host=None, method="GET"):
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.putrequest(method, path, skip_host=host is not None)
    if host is not None:
        connection.putheader("Host", host)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


def open_perfetto():
    name = "<img src=x onerror=alert(1)>&'.json.gz"
    profile = made(name.replace("/", ""))
    with open(TRAIN, "rb") as source, open(profile, "wb") as copy:
        copy.write(source.read())
    program = subprocess.Popen([PROGRAM, "open", profile, "--perfetto", "--no-browser"], cwd=scratch(),
                               env=environment(scratch()), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    try:
        url = program.stdout.readline().decode().strip()
        match = re.fullmatch(r"http://(127\.0\.0\.1:(\d+))(/[0-9a-f]{32}/)", url)
        if not tally.check("open --perfetto: prints an address on loopback with a token", match is not None, url):
            return
        address, port, base = match.groups()
        status, headers, page = ask(address, base)
        text = page.decode()
        tally.check("open --perfetto: the page's policy lets one script run, and no other site in",
                    status == 200 and "default-src 'none'" in headers["Content-Security-Policy"] and
                    "nonce-" in headers["Content-Security-Policy"] and headers["Referrer-Policy"] == "no-referrer"
                    and "Cross-Origin-Opener-Policy" not in headers and headers["Cache-Control"] == "no-store",
                    str(headers))
        tally.check("open --perfetto: a profile's name cannot become HTML", "<img" not in text and
                    "&lt;img src=x onerror=alert(1)&gt;&amp;&#39;" in text and "{{" not in text)
        status, headers, trace = ask(address, base + "trace")
        wanted, _ = export(profile, "perfetto", "served.pftrace")
        with open(wanted, "rb") as file:
            tally.check("open --perfetto: serves what export writes", status == 200 and trace == file.read())
        refused = [ask(address, "/")[0], ask(address, "/" + "0" * 32 + "/")[0], ask(address, base[:-2] + "/")[0],
                   ask(address, base, "evil.example:" + port)[0], ask(address, base + "..%2f..%2fetc/passwd")[0]]
        tally.check("open --perfetto: everything else is refused", refused == [404] * 5, str(refused))
        silent = socket.create_connection(("127.0.0.1", int(port)))  # must not hold up the others
        noisy = socket.create_connection(("127.0.0.1", int(port)))
        noisy.sendall(b"G" * 20000)
        tally.check("open --perfetto: connections that say nothing, or too much, harm nobody",
                    ask(address, base + "trace", method="HEAD")[0] == 200)
        silent.close()
        noisy.close()
        tally.check("open --perfetto: ends when the trace was handed over",
                    ask(address, base + "done", method="POST")[0] == 200 and program.wait(20) == 0)
        tally.check("open --perfetto: says how to reach it from elsewhere",
                    "ssh -L %s:127.0.0.1:%s " % (port, port) in program.stderr.read().decode())
    finally:
        program.kill()
        program.wait()


def open_page():
    program = subprocess.Popen([PROGRAM, "open", TRAIN, "--page", "--no-browser"], cwd=scratch(),
                               env=environment(scratch()), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    try:
        match = re.fullmatch(r"http://(127\.0\.0\.1:\d+)(/[0-9a-f]{32}/)", program.stdout.readline().decode().strip())
        if not tally.check("open --page: prints an address on loopback with a token", match is not None):
            return
        address, base = match.groups()
        status, headers, text = ask(address, base)
        answer = re.search(rb'<script type="application/json" id="answer">(.*?)</script>', text, re.S)
        told = json.loads(neurolens(["analyze", TRAIN, "--format", "json"]).stdout)
        tally.check("open --page: serves the report, with the answer of analyze", status == 200 and answer is not None and
                    json.loads(answer[1])["result"]["answer"] == told["result"]["answer"] and
                    b"script-src 'sha256-" in text, str(headers))
        tally.check("open --page: is framed and kept by nobody, and refuses other paths and hosts",
                    "frame-ancestors 'none'" in headers["Content-Security-Policy"] and
                    headers["Cache-Control"] == "no-store" and
                    [ask(address, "/")[0], ask(address, base, "evil.example")[0]] == [404, 404], str(headers))
        program.send_signal(signal.SIGINT)
        tally.check("open --page: ends with Ctrl-C", program.wait(20) == 130, str(program.returncode))
    finally:
        program.kill()
        program.wait()
    done = neurolens(["open", TRAIN, "--page", "--perfetto"])
    tally.check("open: two viewers at once are refused", done.status == 2 and "give one" in done.stderr, done.describe())


def open_nsight_report():
    """A .nsys-rep goes through `nsys export`; here a stand-in of that name, which copies what it is told to."""
    tools, database = os.path.join(scratch(), "tools"), os.path.join(scratch(), "made.sqlite")
    os.makedirs(tools, exist_ok=True)
    done = neurolens(["export", TRAIN, "--to", "nsys-sqlite", "-o", database])
    tally.check("open FILE.nsys-rep: a database to hand out", done.status == 0, done.describe())
    said = os.path.join(scratch(), "nsys.words")
    with open(os.path.join(tools, "nsys"), "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nprintf "%%s\\n" "$@" > "%s"\nwhile [ "$1" != --output ]; do shift; done\ncp "%s" "$2"\n' % (said, database))
    os.chmod(file.name, 0o755)
    report = os.path.join(scratch(), "a report.nsys-rep")
    with open(report, "wb") as file:
        file.write(b"NVIDIA Tegra Profiler Report\0" + bytes(4000))
    program = subprocess.Popen([PROGRAM, "open", report, "--page", "--no-browser"], cwd=scratch(), stdin=subprocess.DEVNULL,
                               env=dict(environment(scratch()), PATH=tools + ":" + os.environ["PATH"]),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        match = re.fullmatch(r"http://(127\.0\.0\.1:\d+)(/[0-9a-f]{32}/)", program.stdout.readline().decode().strip())
        answer = match and re.search(rb'<script type="application/json" id="answer">(.*?)</script>', ask(*match.groups())[2], re.S)
        told = answer and json.loads(answer[1])
        count = sql(TRAIN, "SELECT count(*) AS n FROM ops")[0]["n"]
        with open(said, encoding="utf-8") as file:
            words = file.read().split("\n")
        tally.check("open FILE.nsys-rep: `nsys export` turns it into what is shown, %d ranges" % count, bool(told) and
                    told["profile"]["formats"] == ["nsys-rep"] and told["profile"]["events"]["nvtx"] >= count and
                    words[:3] == ["export", "--type", "sqlite"] and report in words, str(told and told["profile"]))
    finally:
        program.send_signal(signal.SIGINT)
        program.wait(20)
    alone = os.path.join(scratch(), "no-tools")
    os.makedirs(alone, exist_ok=True)
    without = neurolens(["open", report, "--page", "--no-browser"], extra={"PATH": alone})
    tally.check("open FILE.nsys-rep: without nsys, the command that makes what can be read", without.status == 5 and
                "nsys export --type sqlite -o out.sqlite '%s'" % report in without.stderr, without.describe())
    with open(os.path.join(tools, "nsys"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexit 3\n")
    failed = neurolens(["open", report, "--page", "--no-browser"], extra={"PATH": tools})
    tally.check("open FILE.nsys-rep: an nsys that fails", failed.status == 5 and "nsys export failed" in failed.stderr,
                failed.describe())


def words_alone():
    """A profile alone: open on a terminal, info in a pipe."""
    piped = neurolens([TRAIN])
    tally.check("a profile alone in a pipe: info", piped.stdout == neurolens(["info", TRAIN]).stdout)
    if not has_terminal():
        tally.skip("a profile alone on a terminal", "no pseudo-terminal")
        return
    main_, side = os.openpty()
    program = subprocess.Popen([PROGRAM, TRAIN], cwd=scratch(), env=dict(environment(scratch()), PAGER="cat"),
                               stdin=side, stdout=side,
                               stderr=subprocess.DEVNULL)
    os.close(side)
    text = b""
    try:
        while chunk := os.read(main_, 65536):
            text += chunk
    except OSError:
        pass  # the other side has ended
    program.wait(30)
    os.close(main_)
    shown = neurolens(["open", TRAIN]).stdout.split("\n")
    tally.check("a profile alone on a terminal: open", shown[0].encode() in text and
                shown[0] != piped.stdout.split("\n")[0], text[:300])
    on_a_desktop()


def on_a_desktop():
    """One word on a terminal of a desktop: its browser, here a stand-in that notes the address, gets the page."""
    tools, said = os.path.join(scratch(), "desktop"), os.path.join(scratch(), "browser.words")
    os.makedirs(tools, exist_ok=True)
    with open(os.path.join(tools, "xdg-open"), "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nprintf "%%s" "$1" > "%s"\n' % said)
    os.chmod(file.name, 0o755)
    main_, side = os.openpty()
    program = subprocess.Popen([PROGRAM, TRAIN], cwd=scratch(), stdin=side, stdout=side, stderr=subprocess.DEVNULL,
                               env=dict(environment(scratch()), DISPLAY=":99", PATH=tools + ":" + os.environ["PATH"]))
    os.close(side)
    try:
        text = b""
        while b"\n" not in text:
            text += os.read(main_, 65536)
        url = text.decode().split()[0]
        for _ in range(2000):  # the browser is started after the address is printed
            if os.path.exists(said) and os.path.getsize(said):
                break
            time.sleep(0.01)
        with open(said, encoding="utf-8") as file:
            address = file.read()
        match = re.fullmatch(r"http://(127\.0\.0\.1:\d+)(/[0-9a-f]{32}/)", url)
        tally.check("a profile alone on a desktop: the browser gets the page", match is not None and address == url and
                    b'id="answer"' in ask(*match.groups())[2], "%s %s" % (url, address))
    finally:
        program.send_signal(signal.SIGINT)
        program.wait(20)
        os.close(main_)


# ---- through our own readers ----

QUESTIONS = [
    "SELECT wall_ns, compute_ns, exposed_comm_ns, exposed_copy_ns, idle_ns FROM time_breakdown",
    "SELECT * FROM kernel_summary ORDER BY name",
    "SELECT kind, count(*), sum(dur), count(DISTINCT name), sum(link IS NOT NULL) FROM slices GROUP BY kind",
    "SELECT kind, sum(bytes), count(*), sum(dur) FROM copies GROUP BY kind",
    "SELECT sum(grid_x), sum(block_x), sum(registers), sum(static_shared_bytes) FROM kernels",
    "SELECT rank, device, stream, count(*), sum(dur) FROM kernels GROUP BY 1, 2, 3",
]


def same_answers(what, before, after, questions=None):
    questions = questions or QUESTIONS
    for query, ours, theirs in zip(questions, sql_each(before, questions), sql_each(after, questions)):
        tally.check("%s, read again: %s" % (what, query[7:47]), ours == theirs,
                    "%s\n%s" % (str(ours)[:600], str(theirs)[:600]))


# ---- what all formats have in common ----

def windows():
    whole, _ = export(TRAIN, "perfetto", "whole.pftrace")
    part, _ = export(TRAIN + "[5ms:9ms]", "perfetto", "part.pftrace")
    first = min(r["ts"] for r in read_perfetto(whole)[1])
    rows = read_perfetto(part)[1]
    wanted = sql(TRAIN, "SELECT ts, dur, name FROM slices WHERE ts < 9000000 AND "
                        "(ts + dur > 5000000 OR (dur = 0 AND ts = 5000000))")
    ours = collections.Counter((r["ts"], r["name"]) for r in wanted)
    theirs = collections.Counter((r["ts"] - first, r["name"]) for r in rows)
    tally.check("window: %d slices overlap it, whole" % len(rows), ours == theirs and len(rows) > 10,
                "%s\n%s" % (list((ours - theirs).items())[:5], list((theirs - ours).items())[:5]))


def outputs():
    path = made("kept.pftrace")
    with open(path, "w") as file:
        file.write("before")
    done = neurolens(["export", TRAIN + "[9h:10h]", "--to", "perfetto", "-o", path])
    with open(path) as file:
        tally.check("a failed export leaves the file as it was", done.status == 2 and file.read() == "before")
    threads = [export(TRAIN, "perfetto", "t%d.pftrace" % n, "--threads", str(n))[0] for n in (1, 3)]
    with open(threads[0], "rb") as one, open(threads[1], "rb") as three:
        tally.check("equal bytes with 1 and 3 threads", one.read() == three.read())
    done = neurolens(["export", TRAIN, "--to", "perfeto"])
    tally.check("a mistyped format is answered with the nearest", done.status == 2 and
                "did you mean perfetto?" in done.stderr, done.stderr)


def formats():
    """Every format is read by a part of this file, and stands in docs/export.md."""
    done = neurolens(["export", TRAIN])
    names = set(done.stderr.split("formats are ")[1].split("; ")[0].strip().split(", ")) - {"run.json"}
    with open(os.path.join(ROOT, "docs", "export.md")) as file:
        described = set(re.findall(r"`([\w.-]+)`", "".join(line for line in file if line.startswith("|"))))
    tally.check("each of the %d formats is read by a part of tests/exports.py" % len(names),
                len(names) > 10 and not names - EXPORTED, "write a part with a reader of its own: %s" % sorted(names - EXPORTED))
    tally.check("each has a row in docs/export.md", not names - described, sorted(names - described))


def main():
    parts = []
    for name, path in samples() + [("hostile", hostile())]:
        parts.append(("perfetto " + name, perfetto, (name, path)))
        parts.append(("chrome " + name, chrome, (name, path)))
        if name != "kineto":
            parts.append(("tables " + name, tables, (name, path)))
        if name not in ("train",):
            parts.append(("stacks " + name, device_stacks, (name, path)))
            parts.append(("callgrind " + name, callgrind, (name, path)))
        parts.append(("openmetrics " + name, openmetrics, (name, path)))
        if name in ("train", "hostile"):
            parts.append(("otlp " + name, otlp, (name, path)))
        if name in ("train", "h100"):
            parts.append(("nsys " + name, nsys, (name, path)))
        if name == "train":
            parts.append(("html " + name, page, (name, path)))
        if name != "kineto":
            parts.append(("tensorboard " + name, tensorboard, (name, path)))
    parts += [("windows", windows, ()), ("outputs", outputs, ()), ("folders", folders, ()),
              ("open", open_perfetto, ()), ("open page", open_page, ()), ("words alone", words_alone, ()),
              ("open nsight report", open_nsight_report, ()),
              ("one table", one_table, ("train", TRAIN)), ("stacks plain", sampled_stacks, ()), ("stacks of threads", host_stacks, ()),
              ("otlp limit", otlp_limit, ()), ("chrome ranges", device_ranges, ()),
              ("openmetrics longest", longest_steps, ())]
    if not ZSTD:
        tally.skip("parquet", "no libzstd")
    for name, run, arguments in parts:
        if len(sys.argv) > 1 and not any(word in name for word in sys.argv[1:]):
            continue
        try:
            run(*arguments)
        except Exception as error:  # a broken file is a failure of this part, not of the rest
            tally.fail(name, "%s: %s" % (type(error).__name__, error))
    if len(sys.argv) == 1:
        formats()
    tally.finish()


if __name__ == "__main__":
    main()
