#!/usr/bin/env python3
"""Perfetto traces: slices, switches and counters counted in Python against what `neurolens sql` has.

    tests/oracle/perfetto_counts.py [build/neurolens]

The binary traces of ../shared/samples/perfetto, and tests/corpus/perfetto/kernel.pftrace.
"""
import collections
import glob
import os
import sys

from oracle import ROOT, SHARED, Checker, Neurolens
from protowire import fields, message, packed, signed


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
    check.finish()


main()
