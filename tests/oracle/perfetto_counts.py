#!/usr/bin/env python3
"""Perfetto traces: slices, switches and counters counted in Python against what `neurolens sql` has.

    tests/oracle/perfetto_counts.py [build/neurolens]

The binary traces of ../shared/samples/perfetto, and those of tests/corpus/perfetto. Packets are read
here a second time, without the reader's order, tables or pairing: a table of every interned text per
sequence first, then each kind of packet for itself.
"""
import collections
import glob
import os
import sys

from oracle import ROOT, SHARED, Checker, Neurolens
from protowire import double, fields, message, packed, signed


def one(part, number, default=0):
    return part.get(number, [default])[-1]


class Counts:
    def __init__(self):
        self.cpus, self.sched, self.sched_ns, self.ready, self.waits = {}, 0, 0, 0, 0
        self.open, self.marks, self.mark_ns = collections.defaultdict(list), 0, 0
        self.unfinished = self.counters = self.counter_sum = 0
        self.events = []

    def switch(self, cpu, ts, tid, state=None):
        since, before = self.cpus.get(cpu, (0, 0))
        if before and ts >= since:
            self.sched += 1
            self.sched_ns += ts - since
            self.ready += state is not None and state % 256 == 0
            self.waits += state is not None and state % 4 > 0
        self.cpus[cpu] = (ts, tid)

    def counter(self, value):
        self.counters += 1
        self.counter_sum += value

    def bundle(self, bundle):
        cpu = one(bundle, 1)
        for number, value in bundle["order"]:
            if number == 2:
                self.event(cpu, message(value))
            elif number == 4:
                self.compact(cpu, message(value))

    def compact(self, cpu, columns):
        ts = 0
        states = list(packed(columns.get(2, [])))
        for i, (delta, tid) in enumerate(zip(packed(columns.get(1, [])), packed(columns.get(3, [])))):
            ts += delta
            self.switch(cpu, ts, signed(tid), signed(states[i]) if i < len(states) else None)

    def event(self, cpu, event):
        ts, tid = one(event, 1), one(event, 2)
        if 4 in event:
            switch = message(one(event, 4))
            state = one(switch, 4, None)
            self.switch(cpu, ts, signed(one(switch, 6)), state if state is None else signed(state))
        elif 11 in event:
            self.counter(one(message(one(event, 11)), 1) * 1000)
        elif 3 in event:
            self.mark(ts, tid, one(message(one(event, 3)), 2, b""))

    def mark(self, ts, tid, data):
        parts = data.decode("utf-8", "replace").rstrip("\n\0").split("|")
        kind = parts[0]
        if kind == "C" and len(parts) > 3:
            self.counter(int(parts[3]))
        elif kind in ("B", "E"):
            self.events.append((ts, len(self.events), tid, kind))
        elif kind in ("S", "F") and len(parts) > 3:
            key = (parts[1], parts[2], parts[3])
            self.events.append((ts, len(self.events), key, "B" if kind == "S" else "E"))

    def finish(self):
        for ts, _, key, kind in sorted(self.events, key=lambda e: e[:2]):
            if kind == "B":
                self.open[key].append(ts)
            elif self.open[key]:
                self.marks += 1
                self.mark_ns += ts - self.open[key].pop()
        self.unfinished = sum(len(v) for v in self.open.values())


def count(path):
    counts = Counts()
    with open(path, "rb") as file:
        data = file.read()
    for number, packet in fields(data):
        for kind, value in fields(packet) if number == 1 else ():
            if kind == 1:
                bundle = message(value)
                bundle["order"] = list(fields(value))
                counts.bundle(bundle)
    counts.finish()
    return counts


class Packets:
    """Samples, heap sums, states and GPU counters of a trace whose sequences are never reset within it."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.packets = [message(v) for n, v in fields(data) if n == 1]
        self.tables = collections.defaultdict(dict)  # (sequence, kind) -> iid -> message
        self.state_tracks = set()
        for packet in self.packets:
            for kind, entries in message(one(packet, 12, b"")).items():
                self.add(packet, kind, entries)
            for profile in map(message, packet.get(37, [])):
                for field, kind in ((1, 5), (1, 17), (4, 19), (2, 6), (3, 7)):
                    self.add(packet, kind, profile.get(field, []))
            track = message(one(packet, 60, b""))
            if 18 in track:
                self.state_tracks.add(one(track, 1))

    def add(self, packet, kind, entries):
        for entry in map(message, (e for e in entries if isinstance(e, bytes))):
            self.tables[one(packet, 10), kind][one(entry, 1)] = entry

    def text(self, packet, kind, iid):
        return one(self.tables[one(packet, 10), kind].get(iid, {}), 2, b"").decode()

    def stack(self, packet, iid):
        """Functions, outermost first."""
        names = []
        for frame in packed(self.tables[one(packet, 10), 7].get(iid, {}).get(2, [])):
            names.append(self.text(packet, 5, one(self.tables[one(packet, 10), 6].get(frame, {}), 2)))
        return ";".join(names)

    def samples(self):
        """Call stacks of perf samples and of Chrome's profiler -> how many."""
        found = collections.Counter()
        for packet in self.packets:
            for sample in map(message, packet.get(66, [])):
                if 18 not in sample and 19 not in sample:
                    found[self.stack(packet, one(sample, 4))] += 1
            for stream in map(message, packet.get(54, [])):
                for iid in stream.get(1, []):
                    found[self.stack(packet, iid)] += 1
        return found

    def heaps(self):
        """Sums of the last dump of each (process, heap, stack): (allocated, in use, calls)."""
        last = {}
        for packet in self.packets:
            for profile in map(message, packet.get(37, [])):
                for dump in map(message, profile.get(5, [])):
                    for heap in map(message, dump.get(2, [])):
                        last[one(dump, 1), one(dump, 11), one(heap, 1)] = (
                            one(heap, 2), one(heap, 2) - one(heap, 3), one(heap, 5))
        return tuple(sum(v[i] for v in last.values()) for i in range(3))

    def states(self):
        """(name, length) of states that another one ended."""
        now, found = {}, []
        events = [(one(p, 8), i, message(p[11][0])) for i, p in enumerate(self.packets) if 11 in p]
        for ts, _, event in sorted(events, key=lambda e: e[:2]):
            if one(event, 9) != 5:
                continue
            since, name = now.get(one(event, 11), (0, b""))
            if name:
                found.append((name.decode(), ts - since))
            now[one(event, 11)] = (ts, one(event, 23, b""))
        return sorted(found)

    def correlated(self):
        """Launches by id: (name of the kernel, length of the call that names it), and ids of other slices."""
        calls, kernels, others = {}, [], []
        for packet in self.packets:
            event = message(packet[11][0]) if 11 in packet else {}
            if one(event, 9) != 1:
                continue
            text = (one(event, 53, b"").decode() or self.text(packet, 43, one(event, 54))
                    if 52 not in event else str(one(event, 52)))
            category = one(event, 22, b"")
            if category == b"hip_api":
                calls[text] = one(packet, 8)
            elif category == b"kernel_dispatch":
                kernels.append((one(event, 23).decode(), text))
            elif text:
                others.append(text)
        return sorted([name, calls[text]] for name, text in kernels if text in calls), sorted(others)

    def gpu_counters(self):
        """Sums of values per name."""
        found, names = collections.Counter(), {}
        for packet in self.packets:
            for event in map(message, packet.get(52, [])):
                entry = self.tables[one(packet, 10), 47].get(one(event, 4), {})
                for spec in map(message, message(one(event, 1, one(entry, 2, b""))).get(1, [])):
                    names[one(event, 3), one(event, 4), one(spec, 1)] = one(spec, 2, b"").decode()
                for value in map(message, event.get(2, [])):
                    name = names.get((one(event, 3), one(event, 4), one(value, 1)), "")
                    found[name] += signed(one(value, 2)) if 2 in value else double(one(value, 3))
        return found


PATHS = """WITH RECURSIVE paths(id, path) AS (SELECT id, name FROM stacks WHERE parent IS NULL UNION ALL
SELECT s.id, p.path || ';' || s.name FROM stacks s JOIN paths p ON s.parent = p.id)
SELECT coalesce(path, ''), count(*) FROM samples LEFT JOIN paths ON paths.id = stack
WHERE event IS NULL OR event NOT GLOB '*_*s*' GROUP BY 1"""


EVENT_PATHS = PATHS.split("SELECT coalesce")[0] + "SELECT path FROM slice_stacks t JOIN paths ON paths.id = t.stack"


def check_packets(check, tool, path):
    name, want = os.path.basename(path)[:40], Packets(path)
    check.rows(name + " stacks of samples", dict(want.samples()), dict(tool.sql(path, PATHS)))
    check.equal(name + " heap sums", want.heaps(), tuple(
        tool.sql(path, "SELECT coalesce(sum(weight), 0) FROM samples WHERE event = '%s'" % event)[0][0]
        for event in ("alloc_space", "inuse_space", "alloc_objects")))
    if want.state_tracks:
        got = tool.sql(path, "SELECT name, dur FROM slices WHERE lane_name IN ('phase', 'power') "
                             "AND flags = 0 ORDER BY 1, 2")
        check.equal(name + " states", [list(s) for s in want.states()], got)
    stacks = [";".join(one(f, 1, b"").decode() for f in map(message, message(e).get(1, [])))
              for p in want.packets if 11 in p for e in message(p[11][0]).get(55, [])]
    check.equal(name + " stacks of events", sorted(stacks), sorted(r[0] for r in tool.sql(path, EVENT_PATHS)))
    gpu = want.gpu_counters()
    if gpu:
        got = tool.sql(path, "SELECT coalesce(c.name, ''), sum(c.value) FROM counters c JOIN lanes l ON l.id = c.lane "
                             "WHERE l.device IS NOT NULL GROUP BY 1")
        check.rows(name + " GPU counters", dict(gpu), dict(got))


def row(tool, path, query):
    first = tool.sql(path, query)[0]
    values = first.values() if isinstance(first, dict) else first
    return tuple(v or 0 for v in values)


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    paths = sorted(glob.glob(os.path.join(SHARED, "samples", "perfetto", "**", "*.perfetto-trace"),
                             recursive=True))
    if not paths:
        print("skipped: no ../shared")
        check.skipped += 1
    paths.append(os.path.join(ROOT, "tests", "corpus", "perfetto", "kernel.pftrace"))
    for path in paths:
        name, want = os.path.basename(path)[:40], count(path)
        check.equal(name + " switches", (want.sched, want.sched_ns),
                    row(tool, path, "SELECT count(*), sum(dur) FROM slices WHERE kind = 'sched'"))
        check.equal(name + " threads left ready and waiting", (want.ready, want.waits),
                    row(tool, path, "SELECT sum(flags & 8 > 0), sum(flags & 16 > 0) FROM slices WHERE "
                                    "kind = 'sched'"))
        check.equal(name + " atrace slices", (want.marks, want.mark_ns),
                    row(tool, path, "SELECT count(*), sum(dur) FROM slices WHERE kind = 'generic' "
                                    "AND flags & 1 = 0"))
        check.equal(name + " open slices", (want.unfinished,),
                    row(tool, path, "SELECT count(*) FROM slices WHERE flags & 1 = 1"))
        got = row(tool, path, "SELECT count(*), sum(value) FROM counters")
        check.equal(name + " counters", want.counters, got[0])
        check.near(name + " sum of counters", want.counter_sum, got[1],
                   abs(want.counter_sum) * 1e-12)  # values are doubles
    own = os.path.join(ROOT, "tests", "corpus", "perfetto")
    for made in ("samples", "states", "counters", "rocm", "gpu", "tracks"):
        check_packets(check, tool, os.path.join(own, made + ".pftrace"))
    path = os.path.join(own, "correlated.pftrace")
    kernels, others = Packets(path).correlated()
    check.equal("kernels joined by correlation ids", kernels, [list(r) for r in tool.sql(
        path, "SELECT k.name, l.ts + 2000 FROM kernels k JOIN slices l "
              "ON l.id = k.launch ORDER BY 1")])
    check.equal("correlation ids of other slices", others, sorted(r[0] for r in tool.sql(
        path, "SELECT CAST(a.text ->> '$.correlation_id' AS TEXT) FROM args a JOIN slices s ON s.id = a.slice "
              "WHERE s.name = 'handle' AND a.text ->> '$.correlation_id' IS NOT NULL")))
    check.finish()


main()
