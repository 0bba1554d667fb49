#!/usr/bin/env python3
"""XPlane files: events and times counted in Python against what `neurolens sql` has.

    tests/oracle/xplane_counts.py [build/neurolens]

Every readable XSpace of ../shared/samples/xplane, and those of tests/corpus/xplane. What the device
did must be counted once although the file holds it several times (modules, scopes, steps).
"""
import glob
import os
import re
import sys

from oracle import ROOT, SHARED, Checker, Neurolens
from protowire import Damaged, fields, message, signed

MEMORY = ("MemoryAllocation", "MemoryDeallocation")
OP = re.compile(r"^[^$][^ ]*?[^:]:[A-Z_][^: ]*$|^[^:$]*[^:]:[A-Z_][^: ]*$")


def text(data):
    return data.decode("utf-8", "surrogateescape")


class Plane:
    def __init__(self, data):
        parts = message(data)
        self.name = text(parts.get(2, [b""])[-1])
        self.lines = parts.get(3, [])
        self.metas, self.stat_names = {}, {}
        for entry in map(message, parts.get(4, [])):
            body = message(entry[2][-1])
            self.metas[signed(entry.get(1, [0])[-1])] = body
        for entry in map(message, parts.get(5, [])):
            self.stat_names[entry.get(1, [0])[-1]] = text(message(entry[2][-1]).get(2, [b""])[-1])

    def stats(self, many):
        out = {}
        for stat in map(message, many):
            name = self.stat_names.get(stat.get(1, [0])[-1])
            for number, values in stat.items():
                if number == 7:
                    out[name] = self.stat_names.get(values[-1], "")
                elif number in (5, 6):
                    out[name] = text(values[-1])
                elif number > 1:
                    out[name] = values[-1]
        return out

    def events(self):
        """(line, name, start ps, end ps, stats, stats of the name), in the file's ps."""
        for line in map(message, self.lines):
            label = text(line.get(2, [b""])[-1])
            base = signed(line.get(3, [0])[-1]) * 1000
            for event in map(message, line.get(4, [])):
                if 5 in event:
                    continue
                start = base + signed(event.get(2, [0])[-1])
                dur = signed(event.get(3, [0])[-1])
                if not -(1 << 63) < start // 1000 < 1 << 63 or (start - base + dur) >> 63 > 0:
                    continue
                meta = self.metas.get(signed(event.get(1, [0])[-1]), {})
                yield (label, text(meta.get(2, [b""])[-1]), start, start + dur,
                       self.stats(event.get(4, [])), self.stats(meta.get(5, [])))


def length(start, end):
    return end // 1000 - start // 1000


def count(path):
    with open(path, "rb") as file:
        data = file.read()
    n = {k: 0 for k in ("kernels", "kernel_ns", "correlation", "copies", "copy_ns", "copy_bytes",
                        "memsets", "api", "api_ns", "ops", "python", "python_ns", "memory",
                        "memory_bytes", "annotations", "annotation_ns", "devices", "host_other")}
    for number, value in fields(data):
        if number != 1:
            continue
        plane = Plane(value)
        device = plane.name.startswith("/device:")
        n["devices"] += device
        for event in plane.events():
            (device_event if device else host_event)(n, plane.name, event)
    return n


def device_event(n, plane, event):
    line, name, start, end, stats, about = event
    gpu, tpu = plane.startswith("/device:GPU:"), plane.startswith("/device:TPU:")
    copy = "memcpy_details" in stats or name.startswith("Memcpy")
    if tpu and line == "Async XLA Ops":
        if about.get("hlo_category") != "copy-start":
            return
        n["copy_bytes"] += about.get("bytes_accessed", 0)
        copy = True
    elif tpu and line == "XLA Ops":
        copy = False
    elif gpu and line.startswith("Stream #"):
        if "memset_details" in stats or name.lower().startswith("memset"):
            n["memsets"] += 1
            return
        if copy:
            found = re.search(r"(?:^| )(?:size|num_bytes):(\d+)", stats.get("memcpy_details", ""))
            n["copy_bytes"] += int(found.group(1)) if found else 0
    elif (gpu or tpu) and line != "XLA TraceMe":
        n["annotations"] += 1
        n["annotation_ns"] += length(start, end)
        return
    else:
        return
    if copy:
        n["copies"] += 1
        n["copy_ns"] += length(start, end)
        return
    n["kernels"] += 1
    n["kernel_ns"] += length(start, end)
    n["correlation"] += stats.get("correlation_id", 0)


def host_event(n, plane, event):
    _, name, start, end, stats, _ = event
    if name.startswith("$"):
        n["python"] += 1
        n["python_ns"] += length(start, end)
    elif name in MEMORY and "addr" in stats:
        n["memory"] += 1
        n["memory_bytes"] += stats.get("allocation_bytes", 0)
    elif "correlation_id" in stats:
        n["api"] += 1
        n["api_ns"] += length(start, end)
    elif "step_num" in stats:
        return
    elif "hlo_op" in stats or OP.match(name):
        n["ops"] += 1
    else:
        n["host_other"] += 1


def flows(path):
    """{kind: (arrows, ns from start to start)}: consumers joined to the last producer before them."""
    with open(path, "rb") as file:
        data = file.read()
    made, wanted = {}, []
    for number, value in fields(data):
        plane = Plane(value) if number == 1 else None
        device = plane and plane.name.startswith("/device:")
        for _, name, start, _, stats, _ in plane.events() if plane else ():
            if not device and name.startswith("Memory") and "addr" in stats:
                continue
            for out, inn in (("_p", "_pt"), ("_c", "_ct")):
                if stats.get(out, (1 << 64) - 1) == (1 << 64) - 1:
                    continue
                key = stats.get(inn, 0), stats[out]
                if out == "_p":
                    made.setdefault(key, []).append((start // 1000, device))
                else:
                    wanted.append((key, start // 1000, device))
    out = {}
    for key, start, device in wanted:
        before = [one for one in made.get(key, []) if one[0] <= start]
        if key in made:
            source = max(before, default=min(made[key]))
            kind = "launch" if device and not source[1] else "generic"
            count, ns = out.get(kind, (0, 0))
            out[kind] = count + 1, ns + start - source[0]
    return out


QUERIES = [
    ("kernels", "SELECT count(*), sum(dur), sum(correlation) FROM kernels",
     ("kernels", "kernel_ns", "correlation")),
    ("copies", "SELECT count(*), sum(dur), sum(bytes) FROM copies",
     ("copies", "copy_ns", "copy_bytes")),
    ("memsets", "SELECT count(*) FROM memsets", ("memsets",)),
    ("api", "SELECT count(*), sum(dur) FROM api", ("api", "api_ns")),
    ("ops", "SELECT count(*) FROM ops", ("ops",)),
    ("python", "SELECT count(*), sum(dur) FROM python", ("python", "python_ns")),
    ("memory", "SELECT count(*), sum(abs(bytes)) FROM memory", ("memory", "memory_bytes")),
    ("annotations", "SELECT count(*), sum(dur) FROM slices WHERE kind = 'gpu_annotation'",
     ("annotations", "annotation_ns")),
    ("devices", "SELECT count(*) FROM devices", ("devices",)),
    ("other host events", "SELECT count(*) FROM slices WHERE kind = 'generic'", ("host_other",)),
]


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    paths = sorted(glob.glob(os.path.join(SHARED, "samples", "xplane", "**", "*.xplane.pb"),
                             recursive=True))
    if not paths:
        print("skipped: no ../shared")
        check.skipped += 1
    corpus = os.path.join(ROOT, "tests", "corpus", "xplane")
    paths += [os.path.join(corpus, name) for name in ("gpu.xplane.pb", "tpu.xplane.pb",
                                                   "links.xplane.pb")]
    for path in paths:
        name = os.path.basename(path)[:40]
        try:
            want = count(path)
        except Damaged:
            check.skip(name, "no XSpace")
            continue
        for what, query, keys in QUERIES:
            row = tool.sql(path, query)[0]
            got = tuple(v or 0 for v in (row.values() if isinstance(row, dict) else row))
            check.equal("%s %s" % (name, what), tuple(want[k] for k in keys), got)
        arrows = tool.sql(path, "SELECT kind, count(*), sum(dst_ts - src_ts) FROM flows GROUP BY 1")
        check.rows(name + " flows", flows(path),
                   {kind: (count, ns) for kind, count, ns in arrows})
    check.finish()


if __name__ == "__main__":
    main()
