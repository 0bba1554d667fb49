#!/usr/bin/env python3
"""Exports: what is written in other tools' formats, read back by parsers of their own.

Every format is held by a small independent parser in this file against what SQL answers of the same
profile, and by our own readers (export, import, the same answers). With the real consumers at hand
(build/venv-exports, which `make test-frameworks` makes) tests/exports_real.py asks them, too.

    tests/exports.py [WORD...]      parts whose name contains a WORD
"""
import collections
import csv
import gzip
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
from harness import FIXTURES, ROOT, Tally, neurolens, scratch  # noqa: E402
import parquetread  # noqa: E402
from protowire import fields, varint  # noqa: E402

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


def sql(profile, query, *options):
    """Rows as dictionaries of exact values."""
    done = neurolens(["sql", profile, query, "--format", "json", *options])
    if done.status != 0:
        raise RuntimeError("%s: %s" % (query, done.describe()))
    result = json.loads(done.stdout)["result"]
    names = [column["name"] for column in result["columns"]]
    return [dict(zip(names, row)) for row in result["rows"]]


def export(profile, form, name, *options, good=True):
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


# ---- tables ----

def cell(text):
    return None if text == "" else text


def tables(name, profile):
    """CSV and Parquet hold every table, every cell."""
    folder, _ = export(profile, "csv", name + "-csv")
    parquet, _ = export(profile, "parquet", name + "-parquet")
    files = sorted(f[:-4] for f in os.listdir(folder))
    tally.check("tables %s: the same in both formats, all that have rows" % name,
                sorted(f[:-8] for f in os.listdir(parquet)) == files and "slices" in files, str(files))
    for table in files:
        with open(os.path.join(folder, table + ".csv"), newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        if ZSTD:
            names, cells, pairs = parquetread.read(os.path.join(parquet, table + ".parquet"))
            as_text = [["" if v is None else v if isinstance(v, str) else repr(v) for v in row] for row in cells]
            from_csv = [[number(v) for v in row] for row in rows[1:]]
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
                    list(wanted[0]) == rows[0] and [[number(v) for v in row] for row in rows[1:]] == told,
                    next((str(p) for p in zip(rows[1:], told) if [number(v) for v in p[0]] != p[1]), ""))
    total = sql(profile, "SELECT sum(total_ns) AS t FROM kernel_summary")[0]["t"]
    if "kernel_summary" in files:
        with open(os.path.join(folder, "kernel_summary.csv"), newline="", encoding="utf-8") as file:
            told = sum(int(row["total_ns"]) for row in csv.DictReader(file))
        tally.check("tables %s: kernel_summary adds up to %d ns" % (name, told), told == total)


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
    done = neurolens(["export", TRAIN, "--to", "folded"])
    tally.check("stacks: a profile without any says so", done.status == 3 and "record" in done.stderr,
                done.describe())


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
        parts.append(("chrome " + name, chrome, (name, path)))
        if name != "kineto":
            parts.append(("tables " + name, tables, (name, path)))
        if name not in ("train",):
            parts.append(("stacks " + name, device_stacks, (name, path)))
    parts += [("windows", windows, ()), ("outputs", outputs, ()), ("folders", folders, ()),
              ("one table", one_table, ("train", TRAIN)), ("stacks plain", sampled_stacks, ())]
    if not ZSTD:
        tally.skip("parquet", "no libzstd")
    for name, run, arguments in parts:
        if len(sys.argv) > 1 and not any(word in name for word in sys.argv[1:]):
            continue
        try:
            run(*arguments)
        except Exception as error:  # a broken file is a failure of this part, not of the rest
            tally.fail(name, "%s: %s" % (type(error).__name__, error))
    tally.finish()


main()
