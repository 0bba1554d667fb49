#!/usr/bin/env python3
"""Exports: what is written in other tools' formats, read back by parsers of their own.

Every format is held by a small independent parser in this file against what SQL answers of the same
profile, and by our own readers (export, import, the same answers). With the real consumers at hand
(build/venv-exports, which `make test-frameworks` makes) tests/exports_real.py asks them, too.

    tests/exports.py [WORD...]      parts whose name contains a WORD
"""
import collections
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
from harness import FIXTURES, ROOT, Tally, neurolens, scratch  # noqa: E402
from protowire import fields  # noqa: E402

tally = Tally("exports")
SHARED = os.path.join(os.path.dirname(ROOT), "shared", "samples")
TRAIN = os.path.join(FIXTURES, "torch_cpu_train.json.gz")
H100 = os.path.join(SHARED, "nsys", "GindaChen+nsys-ai__tests__fixtures__h100_2gpu_1s.sqlite")
KINETO = os.path.join(SHARED, "torch", "facebookresearch+HolisticTraceAnalysis", "tests", "data",
                      "df_index_resolver", "df_index_resolver.json.gz")


def made(name):
    return os.path.join(scratch(), name)


def sql(profile, query, *options):
    """Rows as dictionaries of exact values."""
    done = neurolens(["sql", profile, query, "--format", "json", *options])
    if done.status != 0:
        raise RuntimeError("%s: %s" % (query, done.describe()))
    result = json.loads(done.stdout)["result"]
    names = [column["name"] for column in result["columns"]]
    return [dict(zip(names, row)) for row in result["rows"]]


def export(profile, form, name, *options, good=True):
    path = made(name)
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
        json.dump({"traceEvents": events, "deviceProperties": [{"id": 0, "name": "GPU & \"co\""}]}, file)
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
    for query in questions or QUESTIONS:
        ours, theirs = sql(before, query), sql(after, query)
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


def main():
    parts = []
    for name, path in samples() + [("hostile", hostile())]:
        parts.append(("perfetto " + name, perfetto, (name, path)))
    parts += [("windows", windows, ()), ("outputs", outputs, ())]
    for name, run, arguments in parts:
        if len(sys.argv) > 1 and not any(word in name for word in sys.argv[1:]):
            continue
        try:
            run(*arguments)
        except Exception as error:  # a broken file is a failure of this part, not of the rest
            tally.fail(name, "%s: %s" % (type(error).__name__, error))
    tally.finish()


main()
