#!/usr/bin/env python3
"""pprof profiles: rows and sums per event, counted in Python against `neurolens sql`.

    tests/oracle/pprof_counts.py [build/neurolens]

Every profile of ../shared/samples/pprof and of tests/corpus/pprof that is whole.
"""
import collections
import glob
import gzip
import math
import os
import re
import struct
import sys

from oracle import ROOT, SHARED, Checker, Neurolens
from protowire import message, packed, signed

UNITS = {"nanoseconds": ("ns", 1), "microseconds": ("ns", 1000), "milliseconds": ("ns", 10 ** 6),
         "seconds": ("ns", 10 ** 9), "": (None, 1)}  # that a profile gives no unit is not a unit without a name


def modern(data):
    """{(event, unit): [rows, sum]}"""
    top = message(data)
    text = [s.decode() for s in top[6]]
    types = [(text[t.get(1, [0])[-1]], text[t.get(2, [0])[-1]]) for t in map(message, top[1])]
    out = collections.defaultdict(lambda: [0, 0])
    for sample in map(message, top.get(2, [])):
        for (event, unit), value in zip(types, packed(sample.get(2, []))):
            value = signed(value)
            name, factor = UNITS.get(unit, (unit, 1))
            if event == "samples" and unit == "count":
                name = "samples"
            out[event, name][0] += value != 0
            if abs(value * factor) < 1 << 63:  # else the row is there, but its weight is NULL
                out[event, name][1] += value * factor
    return out


def leaves(data):
    """{(name of the innermost function, frames): samples} of the first type; None: no such name."""
    top = message(data)
    text = [s.decode() for s in top[6]]
    names = {f[1][0]: text[f.get(2, [0])[0]] or text[f.get(3, [0])[0]]
             for f in map(message, top.get(5, []))}
    places = {}
    for place in map(message, top.get(4, [])):
        lines = [names.get(message(line).get(1, [0])[0]) or None for line in place.get(4, [])]
        places[place[1][0]] = lines or ["0x%x" % place.get(3, [0])[0]]
    out = collections.Counter()
    for sample in map(message, top.get(2, [])):
        frames = [name for number in packed(sample.get(1, [])) for name in places.get(number, [])]
        value = next(packed(sample.get(2, [])), 0)
        if value:
            out[frames[0] if frames else None, len(frames)] += value
    return dict(out)


LEAVES = """WITH RECURSIVE walk(id, up, depth) AS (
  SELECT id, parent, 1 FROM stacks UNION ALL
  SELECT walk.id, s.parent, depth + 1 FROM walk JOIN stacks s ON s.id = walk.up)
SELECT k.name, coalesce((SELECT max(depth) FROM walk WHERE walk.id = s.stack), 0) AS frames,
  sum(weight) AS weight
FROM samples s LEFT JOIN stacks k ON k.id = s.stack WHERE s.event = 'samples' GROUP BY 1, 2"""


def binary(data):
    for code, size in (("<Q", 8), ("<I", 4), (">Q", 8), (">I", 4)):
        words = struct.unpack_from(code[0] + "5" + code[1], data)
        if words[0] == 0 and words[1] == 3 and words[2] in (0, 1) and 0 < words[3] < 10 ** 8:
            break
    else:
        return None
    out = collections.defaultdict(lambda: [0, 0])
    at, period = 5 * size, words[3] * 1000

    def take():
        nonlocal at
        at += size
        return struct.unpack_from(code, data, at - size)[0]
    while True:
        count, depth = take(), take()
        stack = [take() for _ in range(depth)]
        if count == 0 and stack == [0]:
            return out
        for key, weight in ((("samples", "samples"), count), (("cpu", "ns"), count * period)):
            out[key][0] += weight != 0
            out[key][1] += weight


def scaled(head, count, size):
    """A sampled heap's objects and bytes as pprof estimates them (profile/legacy_profile.go: scaleHeapSample)."""
    kind = re.search(r"@ (heap_v2|heapz_v2|heap)/(\d+)", head)
    rate = int(kind[2]) // (2 if kind[1] == "heap" else 1) if kind else 0
    if rate <= 1 or not count or not size:
        return [count, size]
    scale = 1 / (1 - math.exp(-(size / count) / rate))
    return [int(count * scale), int(size * scale)]


def text(data):
    out = collections.defaultdict(lambda: [0, 0])
    heap = data.startswith(b"heap")
    count = next((k.decode() for k in (b"goroutine", b"threadcreate") if data.startswith(k + b" profile")), None)
    lines = data.decode("utf-8", "replace").splitlines()
    for line in lines[1:]:
        numbers = [int(n) for n in re.findall(r"\d+", line.split("@")[0])]
        if "@" not in line or line.startswith("#") or len(numbers) != (4 if heap else 1 if count else 2):
            continue
        if heap:
            numbers = scaled(lines[0], *numbers[:2]) + scaled(lines[0], *numbers[2:])
        keys = ((("inuse_objects", "count"), ("inuse_space", "bytes"), ("alloc_objects", "count"),
                 ("alloc_space", "bytes")) if heap else
                ((count, "count"),) if count else (("delay", "cycles"), ("contentions", "count")))
        for key, value in zip(keys, numbers):
            if value:
                out[key][0] += 1
                out[key][1] += value
    return out


def raw(data):
    """What `pprof -raw` printed: the lines between "Samples:" and "Locations" that end their values in a colon."""
    lines = data.decode().split("Samples:\n", 1)[1].split("\nLocations", 1)[0].splitlines()
    types = [t.replace("[dflt]", "").rsplit("/", 1) for t in lines[0].split()]
    out = collections.defaultdict(lambda: [0, 0])
    for line in lines[1:]:
        values = re.match(r"\s*((?:-?\d+\s+)*-?\d+):", line)
        for (event, unit), value in zip(types, map(int, values[1].split())) if values else ():
            name, factor = UNITS.get(unit, (unit, 1))
            if event == "samples" and unit == "count":
                name = "samples"
            if value:
                out[event, name][0] += 1
                out[event, name][1] += value * factor
    return out


def paths_of(data):
    """Call paths of a raw text or a Go text, outermost first, with what they weigh in its first event."""
    text_of, found = data.decode("utf-8", "replace"), collections.Counter()
    if "\nSamples:\n" in text_of:
        names, last = {}, None
        for line in text_of.split("\nLocations\n", 1)[1].split("\nMappings")[0].splitlines():
            head = re.match(r"\s*(\d+): (0x[0-9a-f]+) (?:M=\d+ )?(?:\[F\] )?(.*)", line)
            last = head[1] if head else last
            call = re.sub(r" \S+:\d+(:\d+)? s=.*", "", (head[3] if head else line).strip())
            names.setdefault(last, []).append(call or head[2])
        for line in text_of.split("\nSamples:\n", 1)[1].split("\nLocations", 1)[0].splitlines()[1:]:
            sample = re.match(r"\s*(-?\d+)(?:\s+-?\d+)*: (.*)", line)
            if sample and int(sample[1]):
                frames = [n for i in sample[2].split() for n in names[i]]
                found[";".join(reversed(frames))] += int(sample[1])
        return found
    names = {}
    for block in re.findall(r"(?:^#\t0x.*\n?)+", text_of, re.M):
        here = collections.defaultdict(list)
        for address, call in re.findall(r"^#\t(0x[0-9a-f]+)\t([^\t]*)", block, re.M):
            here[address].append(call.split("+0x")[0])
        for address, calls in here.items():
            names.setdefault(address, calls)
            names.setdefault(hex(int(address, 16) + 1), calls)  # the stack has where the call returns to
    for weight, size, stack in re.findall(r"^\s*(\d+)(?:: (\d+) \[\d+: \d+\])? @ (.*)", text_of, re.M):
        frames = [n for a in stack.split() for n in names.get(a, [a])]
        found[";".join(reversed(frames))] += scaled(text_of.split("\n")[0], int(weight), int(size or 0))[0]
    return found


PATHS = """WITH RECURSIVE paths(id, path) AS (SELECT id, name FROM stacks WHERE parent IS NULL UNION ALL
SELECT s.id, p.path || ';' || s.name FROM stacks s JOIN paths p ON s.parent = p.id)
SELECT path, sum(weight) FROM samples JOIN paths ON paths.id = stack WHERE event = '%s' GROUP BY 1"""


def expected(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data.startswith((b"PeriodType", b"Comment")):
        return raw(data)
    if data.startswith((b"heap profile", b"---", b"goroutine", b"threadcreate")):
        return text(data)
    return binary(data) or modern(data)


# text profiles with symbols, and their first event
EVENTS = {"go.goroutine": "goroutine", "go.heap": "inuse_objects", "raw.txt": "samples",
          "cppbench.contention.string": "contentions"}


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    paths = [p for p in sorted(glob.glob(os.path.join(SHARED, "samples", "pprof", "**", "*"),
                                         recursive=True))
             if os.path.isfile(p) and not p.endswith(".md")]
    if not paths:
        print("skipped: no ../shared")
        check.skipped += 1
    corpus = os.path.join(ROOT, "tests", "corpus", "pprof")
    paths += [os.path.join(corpus, n) for n in sorted(os.listdir(corpus))
              if not n.endswith(".py") and not n.startswith("cut")]
    for path in paths:
        rows = tool.sql(path, "SELECT event, unit, count(*) AS n, sum(weight) AS w FROM samples "
                              "GROUP BY 1, 2")
        rows = [tuple(r.values()) if isinstance(r, dict) else tuple(r) for r in rows]
        check.rows(os.path.basename(path), {k: tuple(v) for k, v in expected(path).items()},
                   {(e, u): (n, w) for e, u, n, w in rows})
        if os.path.basename(path) in EVENTS:
            with open(path, "rb") as file:
                want = dict(paths_of(file.read()))
            check.rows(os.path.basename(path) + " call paths", want,
                       dict(tool.sql(path, PATHS % EVENTS[os.path.basename(path)])))
    for path in paths:  # what pprof itself made of a heap that was sampled
        if path.endswith("cppbench.heap"):
            want = expected(path + ".string")
            check.rows("cppbench.heap, by pprof", {k: tuple(want[k, u]) for k, u in (("objects", "count"), ("space", "bytes"))},
                       {e[6:]: (n, w) for e, n, w in tool.sql(path, "SELECT event, count(*), sum(weight) FROM samples "
                                                              "WHERE event LIKE 'inuse%' GROUP BY 1")})
    for name in ("modern.pb", "repeated.pb"):
        path = os.path.join(corpus, name)
        with open(path, "rb") as file:
            check.rows(name + ": stacks", leaves(file.read()),
                       {(leaf, frames): weight for leaf, frames, weight in tool.sql(path, LEAVES)})
    check.finish()


main()
