#!/usr/bin/env python3
"""The parts of a diff, worked out a second time from the slices alone, on real profiles.

    diff.py [NEUROLENS]

Every device's time is cut at every moment at which anything begins, ends, or a step does; pieces
between them go to what ran, by the rule of docs/diff.md. Nothing of the program's own sums is used.
"""
import os
import sys
from collections import defaultdict
from fractions import Fraction

import oracle

COMPUTE, COMM, COPY = 0, 1, 2
PARTS = {COMPUTE: "compute", COMM: "exposed communication", COPY: "exposed copies"}
CLASSES = {"communication": COMM, "copy": COPY, "memset": COPY}
SHARERS = 64
MAX_WORKS = 120000

# rank of a lane, then what ran on it
LANES = ("SELECT l.id, l.device, l.process, coalesce(p.rank, d.rank) FROM lanes l "
         "LEFT JOIN processes p ON p.id = l.process LEFT JOIN devices d ON d.id = l.device")
WORK = {
    "kernel": "SELECT s.lane, s.ts, s.dur, s.name, k.class FROM kernels k JOIN slices s ON s.id = k.slice",
    "graph": "SELECT s.lane, s.ts, s.dur, s.name, NULL FROM slices s WHERE s.kind = 'graph_launch'",
    "copy": "SELECT s.lane, s.ts, s.dur, c.kind, 'copy' FROM copies c JOIN slices s ON s.id = c.slice",
    "fill": "SELECT s.lane, s.ts, s.dur, NULL, 'memset' FROM memsets m JOIN slices s ON s.id = m.slice",
}


class TooMuch(Exception):
    pass


# ---- what ran, and what of it is compared ----

def work_of(program, path):
    """(device, process) -> (rank, [(start, end, class, name)])"""
    lanes = {row[0]: row[1:] for row in program.sql(path, LANES)}
    devices = {}
    for kind, query in WORK.items():
        for lane, start, dur, name, group in program.sql(path, query):
            if dur is None:
                continue
            device, process, rank = lanes[lane]
            key = (device, None) if device is not None else (None, process)
            text = ("copy %s" % (name or "(kind not recorded)") if kind == "copy"
                    else "fill" if kind == "fill" else name or "(no name)")
            devices.setdefault(key, (rank, []))[1].append(
                (start, start + max(dur, 0), CLASSES.get(group, COMPUTE), text))
    return devices


# ---- steps as the devices ran them ----

OUTERMOST = ("SELECT s.lane, s.ts, s.dur, s.depth, a.ts FROM slices s "
             "LEFT JOIN slices a ON a.id = s.link AND a.kind = 'api' WHERE s.lane IN (%s) ORDER BY s.lane, s.id")


def lanes_of_ranks(program, path):
    """rank -> lanes that ran something as [(launch or that of the next known one, start, end)]"""
    lanes = {row[0]: row[1:] for row in program.sql(path, LANES)}
    busy = {row[0] for query in WORK.values() for row in program.sql(path, query)}
    runs = defaultdict(list)
    for lane, start, dur, depth, launch in program.sql(path, OUTERMOST % ",".join(map(str, busy))):
        if not runs[lane] or runs[lane][-1] is not None:
            runs[lane].append((launch, start, start + max(dur or 0, 0)) if depth == 0 else None)
    ranks = defaultdict(list)
    for lane, works in runs.items():
        works, known, out = [w for w in works if w], None, []
        for launch, start, end in reversed(works):
            known = launch if launch is not None else known
            out.append((known, start, end))
        out.reverse()
        order = [w[0] for w in out if w[0] is not None]
        if order != sorted(order):
            raise TooMuch("work that was not launched in order")
        if order:
            ranks[lanes[lane][2]].append(out)
    return ranks


def moved_to(lanes, moment):
    """Where the step's work begins when the device is behind at that moment."""
    first, before = float("inf"), float("-inf")
    for works in lanes:
        at = next((i for i, w in enumerate(works) if w[0] is None or w[0] >= moment), len(works))
        first = min(first, works[at][1]) if at < len(works) else first
        before = max(before, works[at - 1][2]) if at else before
    return moment if before <= moment else max(moment, min(first, before))


def middle(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def warm_up_steps(lengths):
    """Steps at the beginning with a robust z over 3.5; the usual is what the rest is."""
    if len(lengths) < 4:
        return 0
    usual = middle(lengths)
    spread = max(1.4826 * middle([int(abs(n - usual)) for n in lengths]), 0.01 * usual)
    count = 0
    while count < len(lengths) // 2 and int(abs(lengths[count] - usual)) > 3.5 * spread:
        count += 1
    return count


def as_run(program, path, report):
    """The report's steps as the devices ran them, worked out from the marks; the report must have the same."""
    lanes, out = lanes_of_ranks(program, path), []
    by_device = program.sql(path, "SELECT count(*) FROM steps s JOIN lanes l ON l.id = s.lane WHERE l.device IS NOT NULL")
    for rank in sorted({s["rank"] for s in report["steps"]}, key=str):
        steps = [dict(s) for s in report["steps"] if s["rank"] == rank]
        if steps[0]["method"] == "launches" or rank not in lanes or (steps[0]["method"] == "marked" and by_device[0][0]):
            out += steps
            continue
        said = [dict(s) for s in steps]
        for step in steps:
            step.update(start_ns=step["marked_start_ns"], dur_ns=step["marked_dur_ns"])
        ends, last = [], float("-inf")
        for step in steps:
            start = max(moved_to(lanes[rank], step["start_ns"]), last)
            ends.append((start, max(moved_to(lanes[rank], step["start_ns"] + step["dur_ns"]), start)))
            last = start
        ends = [(a, min(b, ends[i + 1][0]) if i + 1 < len(ends) else b) for i, (a, b) in enumerate(ends)]
        if ends != [(s["start_ns"], s["start_ns"] + s["dur_ns"]) for s in steps]:
            if any(s["phase"] == "compile" for s in steps):
                raise TooMuch("steps that compile ran later")
            warm = warm_up_steps([b - a for a, b in ends])
            for i, (step, (a, b)) in enumerate(zip(steps, ends)):
                step.update(start_ns=a, dur_ns=b - a, phase="warm-up" if i < warm else "steady")
        if said != steps:
            raise AssertionError("%s rank %s: analyze has other steps: %s, %s" % (path, rank, said, steps))
        out += steps
    return {"steps": out}


def spans_of(report, unit, devices):
    """device -> its spans, in order"""
    if unit == "wall":
        return {key: [(min(w[0] for w in work), max(w[1] for w in work))]
                for key, (_, work) in devices.items()}
    steady, last = defaultdict(list), {}
    for step in report["steps"]:
        last[step["rank"]] = step["start_ns"]
    alone = {rank for rank in last if sum(s["rank"] == rank for s in report["steps"]) == 1}
    for step in report["steps"]:
        # where the last period of launches ends is not known
        cut = step["method"] == "launches" and step["start_ns"] == last[step["rank"]]
        if step["phase"] == "steady" and step["dur_ns"] > 0 and (not cut or step["rank"] in alone):
            steady[step["rank"]].append((step["start_ns"], step["start_ns"] + step["dur_ns"]))
    return {key: steady[rank] for key, (rank, _) in devices.items() if steady[rank]}


# ---- who gets which ns ----

def pieces(work, spans):
    """(length, class, sharers) of every stretch inside the spans; class None is idle time."""
    starts = {w[0] for w in work}
    cuts = sorted(starts | {w[1] for w in work} | {t for span in spans for t in span})
    order = sorted((w for w in work if w[1] > w[0]), key=lambda w: (w[0], w[3].encode()))
    edges = {t for span in spans for t in span}
    running, at, last = [], 0, None
    spans = iter(spans)
    span = next(spans)
    for begin, end in zip(cuts, cuts[1:]):
        while at < len(order) and order[at][0] <= begin:
            running.append(order[at])
            at += 1
        running = [w for w in running if w[1] > begin]
        while span and span[1] <= begin:
            span = next(spans, None)
        if not span:
            break
        if begin < span[0]:
            continue
        top = min((w[2] for w in running), default=None)
        sharers = [w for w in running if w[2] == top]
        if len(sharers) > SHARERS:
            raise TooMuch("more than %d at once" % SHARERS)
        joined = last and begin not in starts and begin not in edges and last[1:] == [top, sharers]
        if joined:
            last[0] += end - begin
        else:
            if last:
                yield last
            last = [end - begin, top, sharers]
    if last:
        yield last


def inside(spans, moment):
    return any(start <= moment < end for start, end in spans)


def sums_of(devices, spans):
    """(part, name) -> [ns, count] over all devices; idle time is one."""
    sums = defaultdict(lambda: [0, 0])
    for key, (_, work) in devices.items():
        if key not in spans:
            continue
        for length, top, sharers in pieces(work, spans[key]):
            if top is None:
                sums["idle", ""][0] += length
                continue
            each, rest = divmod(length, len(sharers))
            for i, (_, _, _, name) in enumerate(sharers):
                sums[PARTS[top], name][0] += each + (i < rest)
        heads = sorted(spans[key])
        for start, _, group, name in work:
            sums[PARTS[group], name][1] += inside_sorted(heads, start)
    return sums


def inside_sorted(spans, moment):
    low, high = 0, len(spans)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if spans[middle][0] <= moment else (low, middle)
    return low > 0 and moment < spans[low - 1][1]


# ---- means ----

def half_up(value):
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def half_away(value):
    return half_up(value) if value >= 0 else -half_up(-value)


def split(a, a_count, a_units, b, b_count, b_units):
    """The change by count, of ns and calls per unit."""
    if not a_count or not b_count:
        return 0 if a_count == b_count else b - a
    more = Fraction(b_count, b_units) - Fraction(a_count, a_units)
    return (half_away(more * a / Fraction(a_count, a_units) / 2) +
            half_away(more * b / Fraction(b_count, b_units) / 2))


class Side:
    def __init__(self, program, path, unit):
        devices = work_of(program, path)
        if sum(len(work) for _, work in devices.values()) > MAX_WORKS:
            raise TooMuch("more than %d pieces of work" % MAX_WORKS)
        report = as_run(program, path, program.analyze(path)) if unit == "step" else None
        spans = spans_of(report, unit, devices)
        self.by_launches = report is not None and any(s["method"] == "launches"
                                                      for s in report["steps"])
        self.sums = sums_of(devices, spans)
        self.devices, self.spans, self.path = devices, spans, path
        self.units = sum(len(s) for s in spans.values())
        self.time = half_up(Fraction(sum(ns for ns, _ in self.sums.values()), self.units))


def check_rows(check, name, answer, base, changed):
    """Rows of one name on both sides: what each is, and how it is split."""
    wrong = []
    for row in answer["attribution"]:
        if row["part"] == "idle" or row["match"] not in ("same", "added", "removed"):
            continue
        key = row["part"], row["name"]
        a, b = base.sums.get(key, [0, 0]), changed.sums.get(key, [0, 0])
        got = (row["base_count"] or 0, row["new_count"] or 0)
        near = (abs(row["base_ns"] - Fraction(a[0], base.units)) < 1 and
                abs(row["new_ns"] - Fraction(b[0], changed.units)) < 1)
        by_count = split(row["base_ns"], a[1], base.units, row["new_ns"], b[1], changed.units)
        if not near or got != (a[1], b[1]) or by_count != row["by_count_ns"] or \
                by_count + row["by_time_ns"] != row["change_ns"]:
            wrong.append((key, a, b, by_count, row))
    check.equal("%s: %d rows" % (name, len(answer["attribution"])), [], wrong[:2])


def check_means(check, name, answer, side, column):
    """Largest remainders: every mean of one side, to the ns. Idle time is only known as a whole."""
    left = side.time
    order = []
    for row in answer["attribution"]:
        ns = Fraction(side.sums.get((row["part"], row["name"]), [0])[0], side.units)
        if row["part"] != "idle":
            order.append((row[column], ns))
    idle = sum(row[column] for row in answer["attribution"] if row["part"] == "idle")
    real = Fraction(side.sums.get(("idle", ""), [0])[0], side.units)
    left -= idle + sum(got for got, _ in order)
    check.equal("%s: nothing left over" % name, 0, left)
    up = [ns - ns.__floor__() for got, ns in order if got > ns]
    down = [ns - ns.__floor__() for got, ns in order if got < ns]
    check.equal("%s: larger remainders go up" % name, True,
                not up or not down or min(up) >= max(down))
    causes = max(1, sum(row["part"] == "idle" for row in answer["attribution"]))
    check.equal("%s: idle" % name, True, abs(idle - real) < causes)


BOOKED = {"compute": "compute", "exposed_comm": "exposed communication", "exposed_comm_wait": "exposed communication",
          "exposed_comm_transfer": "exposed communication", "exposed_copy": "exposed copies",
          "exposed_memset": "exposed copies", "migration": "exposed copies"}


def booked_in(work, start, end):
    """part -> ns of a span, between the first and the last work of the device"""
    start, end = max(start, min(w[0] for w in work)), min(end, max(w[1] for w in work))
    out = dict.fromkeys(set(BOOKED.values()) | {"idle"}, 0)
    if start < end:
        for length, top, _ in pieces(work, [(start, end)]):
            out["idle" if top is None else PARTS[top]] += length
    return out


def check_account(check, program, side, unit):
    """The account of a span books what the diff does: of the wall, or of a step in the middle (of all, on all
    devices, with NEUROLENS_WHOLE=1). Before the first and after the last work of all a diff has idle time, the account none."""
    name, whole = os.path.basename(side.path)[-40:], os.environ.get("NEUROLENS_WHOLE") == "1"
    for key, spans in list(side.spans.items())[:None if whole else 1]:
        rank, work = side.devices[key]
        if key[0] is None:
            check.skip("%s: account" % name, "devices without a number")
            continue
        for start, end in spans if whole else [spans[len(spans) // 2]]:
            window = "[%dns:%dns]" % (start, end) if unit == "step" else ""
            rows = program.run("analyze", side.path + window, "--section", "account", "--all",
                               "--format", "json")["result"]["account"]
            ordinal = program.sql(side.path, "SELECT ordinal FROM devices WHERE id = %d" % key[0])[0][0]
            got = dict.fromkeys(set(BOOKED.values()) | {"idle"}, 0)
            for row in rows:
                if row["inside"] and row["device"] == ordinal and row["rank"] == rank:
                    got[BOOKED.get(row["part"], row["part"])] += row["ns"]
            check.equal("%s: account of %s %d" % (name, unit, start), booked_in(work, start, end), got)


def diff(program, a, b):
    return program.run("diff", a, b, "--format", "json", statuses=(0, 3))["result"]


def check_pair(check, program, a, b, sides):
    name = "%s | %s" % (os.path.basename(a)[-40:], os.path.basename(b)[-40:])
    answer = diff(program, a, b)
    unit = answer["verdict"][0]["unit"]
    if unit not in ("step", "wall"):
        check.skip(name, "compared by %s" % unit if unit else "nothing in common")
        return
    try:
        for path in (a, b):
            if (path, unit) not in sides:
                sides[path, unit] = Side(program, path, unit)
    except TooMuch as reason:
        check.skip(name, reason)
        return
    base, changed = sides[a, unit], sides[b, unit]
    if base.by_launches != changed.by_launches:
        check.skip(name, "steps of one are looked for anew")
        return
    verdict = answer["verdict"][0]
    check.equal("%s: time by %s" % (name, unit), (base.time, changed.time),
                (verdict["base_ns"], verdict["new_ns"]))
    check_rows(check, name, answer, base, changed)
    if a == b:
        check_account(check, program, base, unit)
        check_means(check, name, answer, base, "base_ns")


def samples():
    """Neighbours in a folder are likelier to be alike than any two."""
    for kind in ("torch", "nsys", "rocprof", "xplane", "ort"):
        top = oracle.shared_or_leave("samples", kind)
        for path, _, names in sorted(os.walk(top)):
            yield [os.path.join(path, n) for n in sorted(names)
                   if n.endswith((".json", ".json.gz", ".sqlite", ".db", ".pb"))
                   and os.path.getsize(os.path.join(path, n)) < 12e6]


def is_profile(program, path):
    """Folders hold answers of other tools, too."""
    try:
        program.sql(path, "SELECT 1")
    except RuntimeError:
        return False
    return True


def main(argv):
    program, check = oracle.Neurolens(argv), oracle.Checker()
    sides = {}
    for paths in samples():
        paths = [path for path in paths if is_profile(program, path)]
        for a, b in list(zip(paths, paths)) + list(zip(paths, paths[1:])):
            check_pair(check, program, a, b, sides)
    check.finish()


if __name__ == "__main__":
    main(sys.argv)
