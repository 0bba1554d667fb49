#!/usr/bin/env python3
"""Holistic Trace Analysis: its answers on its own test traces, from rows that neurolens gives.

    tests/oracle/hta.py [build/neurolens]

HTA's definitions are written down here once more, in plain Python (see docs/analysis.md for where
neurolens deliberately defines otherwise), and applied to rows fetched with `neurolens sql`: so a
difference means that a time, a name, a stream or a correlation id was read wrongly. Its rounding
to whole microseconds and its rule that drops the last ProfilerStep are applied here, not in the
program. Then the program's own exact answers are compared with a second computation of the same.
"""
import itertools
import json
import math
import os
import re
import statistics
import sys

from oracle import (Checker, Neurolens, intersect, length, quantile, read_csv, shared_or_leave,
                    stddev, union)

SAMPLES = "samples/torch/facebookresearch+HolisticTraceAnalysis/tests/data"
FOLDERS = {"critical_path_cuda_event_sync": "critical_path/cuda_event_sync",
           "critical_path_simple_add": "critical_path/simple_add",
           "trace_compare_base": "trace_compare/base"}
# HTA takes every event with a stream other than -1 for a GPU event. Waits for a whole context have
# stream -1 in one file and 4294967295 in this; neurolens reads both as NULL.
CONTEXT_SYNC_HAS_STREAM = {"critical_path_simple_add"}
BASE_PERIOD_NS = 7889238 * 10**9  # Kineto's baseTimeNanoseconds is a multiple of it

COMMUNICATION = re.compile(r"(^nccl.*)|(^hip)|(^hccl)|(.*ncclKernel.*)")
MEMORY = re.compile(r"(^(hip)?Memcpy)|(^(hip)?Memset)|(^dma)")
NOT_COMPUTATION = re.compile(
    r"(^nccl)|(.*Memcpy)|(.*Memset)|(.*dma)|(^.*Sync)|(^Stream Wait Event)|(cuda.*LaunchKernel)|"
    r"(^runFunction)|(^hip)|(^job_exe)|(^packet)|(^pe_exe)|(^cpum_exe_subgraph)|(^hccl)|"
    r"(^collective_subgraph_execution)")
WITHIN_1_NS = 0.00101
LAUNCHES = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync"}
QUEUE_LAUNCHES = LAUNCHES | {
    "cuLaunchKernel", "cuLaunchKernelEx", "hipLaunchKernel", "hipExtModuleLaunchKernel",
    "hipMemcpyAsync", "hipMemsetAsync", "hipMemcpyWithStream"}
IDLE_KINDS = {"kernel", "memcpy", "memset"}


def kind_of(name):
    if COMMUNICATION.match(name):
        return "COMMUNICATION"
    if MEMORY.match(name):
        return "MEMORY"
    return "OTHER" if NOT_COMPUTATION.match(name) else "COMPUTATION"


class Event:
    __slots__ = ("ts", "dur", "name", "stream", "correlation", "kind", "exact_ts", "exact_end")

    def __init__(self, ts, dur, name, stream, correlation, kind):
        self.exact_ts, self.exact_end = ts, ts + dur
        self.name, self.stream, self.correlation, self.kind = name, stream, correlation, kind

    def round(self, base):
        """To whole microseconds inwards, in doubles, as HTA does when a trace has fractions."""
        start = (self.exact_ts - base) / 1000
        end = start + (self.exact_end - self.exact_ts) / 1000
        self.ts = math.ceil(start)
        self.dur = math.floor(end) - self.ts

    @property
    def end(self):
        return self.ts + self.dur


class Rank:
    """One file, filtered as HTA does."""

    def __init__(self, tool, path, min_ts, name):
        self.tool, self.path, self.first = tool, path, tool.first_ns(path)
        self.min_ts = min_ts
        self.gpu, self.api, self.steps = [], [], []
        for table, kind in (("kernels", "kernel"), ("copies", "memcpy"), ("memsets", "memset"),
                            ("syncs", "sync")):
            for ts, dur, text, stream, correlation, what in self.device_rows(table):
                if kind == "sync" and stream is None:
                    if name not in CONTEXT_SYNC_HAS_STREAM or what != "context":
                        continue
                    stream = 4294967295
                self.gpu.append(Event(ts, dur, text, stream, correlation, kind))
        for ts, dur, text, correlation in self.rows("SELECT ts, dur, name, correlation FROM api"):
            self.api.append(Event(ts, dur, text, None, correlation, "api"))
        for ts, dur, text in self.rows(
                "SELECT ts, dur, name FROM slices WHERE name LIKE '%ProfilerStep%'"):
            self.steps.append(Event(ts, dur, text, None, None, "step"))
        base = round((self.first - min_ts * 1000) / BASE_PERIOD_NS) * BASE_PERIOD_NS
        for event in self.gpu + self.api + self.steps:
            event.round(base)

    def rows(self, query):
        """Rows whose first column is a time, in the file's own clock."""
        return [[row[0] + self.first] + row[1:] for row in self.tool.sql(self.path, query)]

    def device_rows(self, table):
        what = "kind" if table == "syncs" else "NULL"
        return self.rows("SELECT ts, dur, name, stream, correlation, %s FROM %s" % (what, table))

    def drop_last_step(self):
        last = max(step.ts for step in self.steps)
        self.api = [event for event in self.api if event.ts < last]
        known = {event.correlation for event in self.api if event.correlation is not None}
        self.gpu = [event for event in self.gpu if event.correlation in known]

    def launches(self, names):
        """(call, device event) by correlation."""
        device = {}
        for event in self.gpu:
            device.setdefault(event.correlation, []).append(event)
        for call in self.api:
            if call.name in names and call.correlation is not None:
                for event in device.get(call.correlation, []):
                    yield call, event


def load(tool, folder, info, name):
    ranks = {}
    for rank, file in info["trace_files"].items():
        ranks[int(rank)] = Rank(tool, os.path.join(folder, file), info["min_ts"], name)
    steps = {step.name for rank in ranks.values() for step in rank.steps}
    if len(steps) > 1 and not info["include_last_profiler_step"]:
        for rank in ranks.values():
            rank.drop_last_step()
    return ranks


def spans(events, exact=False):
    if exact:
        return [(e.exact_ts, e.exact_end) for e in events]
    return [(e.ts, e.end) for e in events]


def temporal(rank, exact=False):
    """HTA's temporal breakdown: kernel time, idle, compute, rest."""
    everything = spans(rank.gpu, exact)
    busy = length(union(everything))
    wall = max(end for _, end in everything) - min(start for start, _ in everything)
    compute = length(union(spans(
        [e for e in rank.gpu if kind_of(e.name) == "COMPUTATION"], exact)))
    return wall, wall - busy, compute, wall - compute - (wall - busy)


def overlap(rank, exact=False):
    sets = [union(spans([e for e in rank.gpu if kind_of(e.name) == kind], exact))
            for kind in ("COMMUNICATION", "COMPUTATION")]
    return (length(sets[0]), length(intersect(*sets)))


def number(text):
    return None if text in ("", None) else float(text)


def check_temporal(check, name, folder, ranks):
    for row in read_csv(os.path.join(folder, "temporal_breakdown.csv")):
        rank = int(row["rank"])
        wall, idle, compute, rest = temporal(ranks[rank])
        expected = tuple(float(row[key]) for key in ("kernel_time(us)", "idle_time(us)",
                                                     "compute_time(us)", "non_compute_time(us)"))
        check.equal("%s temporal_breakdown rank %d" % (name, rank), expected,
                    (wall, idle, compute, rest))


def check_overlap(check, name, folder, ranks):
    for row in read_csv(os.path.join(folder, "comm_comp_overlap.csv")):
        rank = int(row["rank"])
        communication, hidden = overlap(ranks[rank])
        share = round(100 * hidden / communication, 2) if communication else None
        check.near("%s comm_comp_overlap rank %d" % (name, rank),
                   number(row["comp_comm_overlap_pctg"]), share, 0.006)


def check_types(check, name, folder, ranks):
    """The sweep over types: time by the set of types that run at once."""
    order = ("COMPUTATION", "COMMUNICATION", "MEMORY")
    sums = {}
    for rank in ranks.values():
        changes = []
        for bit, kind in enumerate(order):
            for start, end in union(spans([e for e in rank.gpu if kind_of(e.name) == kind])):
                changes += [(start, 1 << bit), (end, -(1 << bit))]
        running, last = 0, 0
        for at, change in sorted(changes):
            if running and at > last:
                names = [kind for bit, kind in enumerate(order) if running >> bit & 1]
                label = " overlapping ".join(names)
                sums[label] = sums.get(label, 0) + at - last
            running, last = running + change, at
    expected = {row["kernel_type"]: float(row["sum"]) for row in
                read_csv(os.path.join(folder, "kernel_type_breakdown.csv"))
                if float(row["sum"])}
    check.rows("%s kernel_type_breakdown" % name, expected, sums)


def check_kernels(check, name, folder, ranks):
    got = {}
    for rank, data in ranks.items():
        for event in data.gpu:
            if kind_of(event.name) != "OTHER":
                total, most = got.get((rank, event.name), (0, 0))
                got[rank, event.name] = (total + event.dur, max(most, event.dur))
    expected = {(int(row["rank"]), row["name"]): (float(row["sum (us)"]), float(row["max (us)"]))
                for row in read_csv(os.path.join(folder, "kernel_breakdown_full.csv"))}
    check.rows("%s kernel_breakdown_full" % name, expected, got)


def check_launches(check, name, folder, ranks):
    for row in read_csv(os.path.join(folder, "launch_stats_summary.csv")):
        rank = int(row["rank"])
        rows = [(call.dur, event.dur, max(0, event.ts - call.ts - call.dur))
                for call, event in ranks[rank].launches(LAUNCHES)]
        delays = [delay for _, _, delay in rows]
        got = {"n": len(rows), "short_gpu_kernels": sum(c <= 50 and g < c for c, g, _ in rows),
               "runtime_outliers_gt50us": sum(c > 50 for c, _, _ in rows),
               "launch_delay_outliers_gt100us": sum(d > 100 for d in delays),
               "sum_cpu_us": sum(c for c, _, _ in rows), "sum_gpu_us": sum(g for _, g, _ in rows),
               "sum_launch_delay_us": sum(delays)}
        label = "%s launch_stats_summary rank %d" % (name, rank)
        check.equal(label, {key: float(row[key]) for key in got}, got)
        if rows:
            for key, value in (("mean_launch_delay", sum(delays) / len(rows)),
                               ("p50", quantile(delays, .5)), ("p99", quantile(delays, .99))):
                expected = float(row[key])
                check.near("%s %s" % (label, key), expected, value, 1e-8 * abs(expected) + 0.01)


def queue_points(rank):
    """stream -> (time, +1 or -1) of every launch and start."""
    points = {}
    for call, event in rank.launches(QUEUE_LAUNCHES):
        points.setdefault(event.stream, []).extend([(call.ts, 1), (event.ts, -1)])
    return points


def queue_lengths(points, starts_first):
    points = sorted(points, key=lambda point: (point[0], point[1] if starts_first else -point[1]))
    return list(itertools.accumulate(change for _, change in points))


def check_queue(check, name, folder, ranks):
    """HTA orders a launch and a start of the same microsecond by an unstable sort. So: its mean lies
    between the two possible orders, and after every microsecond its length is ours."""
    points = {rank: queue_points(data) for rank, data in ranks.items()}
    for row in read_csv(os.path.join(folder, "queue_length_summary.csv")):
        rank, stream = int(row["rank"]), int(row["stream"])
        ours = points[rank].get(stream, [])
        label = "%s queue_length_summary rank %d stream %d" % (name, rank, stream)
        check.equal(label + " count", float(row["queue_length_count"]), len(ours))
        low, high = (statistics.fmean(queue_lengths(ours, first)) for first in (True, False))
        mean = float(row["queue_length_mean"])
        check.near("%s mean" % label, mean, min(max(mean, low), high), 1e-8 * high)
    for rank, data in ranks.items():
        path = os.path.join(folder, "queue_length_series_rank%d.csv" % rank)
        expected = {} if not os.path.exists(path) else {
            (int(row["stream"]), int(row["ts"])): int(row["queue_length"])
            for row in read_csv(path)}
        got = {}
        for stream, ours in points[rank].items():
            lengths = queue_lengths(ours, False)
            for (ts, _), now in zip(sorted(ours, key=lambda p: (p[0], -p[1])), lengths):
                got[stream, ts - data.min_ts] = now
        check.rows("%s queue_length_series rank %d" % (name, rank), expected, got)


def idle_of(events, launch_of):
    sums = {"host_wait": 0, "kernel_wait": 0, "other": 0}
    events = sorted(events, key=lambda event: event.ts)
    for before, event in zip(events, events[1:]):
        gap = event.ts - before.end
        launch = launch_of.get(event.correlation)
        if launch is not None and launch > before.end:
            sums["host_wait"] += gap
        elif gap < 30:
            sums["kernel_wait"] += gap
        else:
            sums["other"] += gap
    return sums


def check_idle(check, name, folder, ranks):
    got = {}
    for rank, data in ranks.items():
        launch_of = {call.correlation: call.ts for call in data.api}
        streams = {}
        for event in data.gpu:
            if event.kind in IDLE_KINDS:
                streams.setdefault(event.stream, []).append(event)
        for stream, events in streams.items():
            for category, value in idle_of(events, launch_of).items():
                got[rank, stream, category] = value
    expected = {(int(row["rank"]), int(row["stream"]), row["idle_category"]):
                float(row["idle_time"])
                for row in read_csv(os.path.join(folder, "idle_time_breakdown.csv"))}
    present = {key: got.get(key, 0) for key in expected}
    check.rows("%s idle_time_breakdown" % name, expected, present)


def check_exact(check, name, ranks, exact):
    """The same without rounding, as a tool with ns should give."""
    for rank, data in ranks.items():
        row = exact.get(os.path.basename(data.path))
        if row is None:
            continue
        label = "%s exact_ns rank %d" % (name, rank)
        wall, idle, compute, rest = temporal(data, exact=True)
        # The reference computed in doubles, good to 1 ns at nccl_data's 4.5e12 us: the file itself
        # (decimal arithmetic) gives 435587.561 there, as we do.
        for key, value in (("kernel_time", wall), ("idle", idle), ("compute", compute),
                           ("non_compute", rest)):
            check.near("%s %s" % (label, key), row[key], value / 1000, WITHIN_1_NS)
        communication, hidden = overlap(data, exact=True)
        check.near("%s comm" % label, row["comm"], communication / 1000, WITHIN_1_NS)
        if row["overlap_pct"] is not None:
            check.near("%s overlap" % label, row["overlap_pct"], 100 * hidden / communication, 6e-5)


# ---- The program's own answers, against a second computation from its rows ----

def own_rows(tool, path):
    rows = []
    for table, kind in (("kernels", "class"), ("copies", "'copy'"), ("memsets", "'copy'"),
                        ("graph_launches", "'compute'")):
        rows += [tuple(row) for row in tool.sql(
            path, "SELECT rank, device, ts, ts + dur, %s FROM %s" % (kind, table))]
    return rows


def own_breakdown(rows):
    """(rank, device) -> wall, compute, exposed communication, exposed copies, idle."""
    answers = {}
    for place in {row[:2] for row in rows}:
        sets = {"compute": [], "communication": [], "copy": []}
        for row in rows:
            if row[:2] == place:
                kind = "copy" if row[4] == "memset" else row[4] or "compute"
                sets[kind].append(row[2:4])
        everything = [span for spans_ in sets.values() for span in spans_]
        start = min(s for s, _ in everything)
        wall = max(e for _, e in everything) - start
        compute = union(sets["compute"])
        with_comm = union(sets["compute"] + sets["communication"])
        busy = union(everything)
        comm = union(sets["communication"])
        answers[place] = (start, wall, length(compute), length(with_comm) - length(compute),
                          length(busy) - length(with_comm), wall - length(busy),
                          length(comm), length(intersect(comm, compute)))
    return answers


def check_own(check, name, tool, path):
    result = tool.analyze(path)
    expected = own_breakdown(own_rows(tool, path))
    got = {}
    overlaps = {(row["rank"], row["device"]): row for row in result["overlap"]}
    for row in result["breakdown"]:
        place = (row["rank"], row["device"])
        got[place] = (row["start_ns"], row["wall_ns"], row["compute_ns"], row["exposed_comm_ns"],
                      row["exposed_copy_ns"], row["idle_ns"], overlaps[place]["comm_ns"],
                      overlaps[place]["overlap_ns"])
        check.equal("%s identity %s" % (name, place), row["wall_ns"], row["compute_ns"]
                    + row["exposed_comm_ns"] + row["exposed_copy_ns"] + row["idle_ns"])
    check.rows("%s own breakdown" % name, expected, got)
    durations = {}
    for text, dur in tool.sql(path, "SELECT name, dur FROM kernels"):
        durations.setdefault(text, []).append(dur)
    expected = {text: (len(d), sum(d), min(d), round_half(quantile(d, .5)),
                       round_half(quantile(d, .95)), max(d), None if len(d) < 2 else
                       round_half(stddev(d))) for text, d in durations.items()}
    got = {row["name"]: tuple(row[key] for key in ("count", "total_ns", "min_ns", "median_ns",
                                                   "p95_ns", "max_ns", "stddev_ns"))
           for row in result["kernels"]}
    check.rows("%s own kernels" % name, expected, got)
    check_own_launches(check, name, tool, path, result["launches"])


def round_half(value):
    return math.floor(value + 0.5)


def check_own_launches(check, name, tool, path, launches):
    """HTA's launch definitions over every call that launched something, exact in ns."""
    calls = {}
    for rank, correlation, ts, dur in tool.sql(
            path, "SELECT rank, correlation, ts, dur FROM api WHERE correlation IS NOT NULL"):
        calls.setdefault((rank, correlation), (ts, dur))
    work = {}
    for table in ("kernels", "copies", "memsets"):
        for rank, device, stream, correlation, ts, dur in tool.sql(
                path, "SELECT rank, device, stream, correlation, ts, dur FROM " + table):
            work.setdefault((rank, device, stream), []).append((correlation, ts, dur))
    expected = {}
    for place, events in work.items():
        seen, delays, cpu, unlinked, shorter = set(), [], 0, 0, 0
        for correlation, ts, dur in sorted(events, key=lambda event: event[1]):
            call = calls.get((place[0], correlation))
            if call is None:
                unlinked += 1
                continue
            shorter += dur < call[1]
            if correlation not in seen:
                seen.add(correlation)
                cpu += call[1]
                delays.append(max(0, ts - call[0] - call[1]))
        tail = (cpu, round_half(quantile(delays, .5)), round_half(quantile(delays, .99)),
                shorter) if delays else (None, None, None, None)
        expected[place] = (len(events), len(delays), unlinked, sum(e[2] for e in events)) + tail
    got = {(row["rank"], row["device"], row["stream"]): (
        row["events"], row["launches"], row["unlinked"], row["gpu_ns"], row["cpu_ns"],
        row["delay_p50_ns"], row["delay_p99_ns"], row["short"]) for row in launches}
    check.rows("%s own launches" % name, expected, got)


def main():
    oracles = shared_or_leave("oracles", "hta")
    samples = shared_or_leave(*SAMPLES.split("/"))
    tool, check = Neurolens(sys.argv), Checker()
    with open(os.path.join(oracles, "exact_ns.jsonl"), encoding="utf-8") as file:
        exact = {os.path.basename(row["file"]): row for row in map(json.loads, file)}
    for name in sorted(os.listdir(oracles)):
        folder = os.path.join(oracles, name)
        if not os.path.isdir(folder):
            continue
        with open(os.path.join(folder, "info.json"), encoding="utf-8") as file:
            info = json.load(file)
        plain = name.replace("__last", "")
        try:
            ranks = load(tool, os.path.join(samples, FOLDERS.get(plain, plain)), info, plain)
        except RuntimeError as error:
            check.fail(name, "a readable profile", error)
            continue
        check.equal("%s gpu events" % name,
                    {int(k): v for k, v in info["gpu_events(stream!=-1)"].items()},
                    {rank: len(data.gpu) for rank, data in ranks.items()})
        for compare in (check_temporal, check_overlap, check_types, check_kernels, check_launches,
                        check_queue, check_idle):
            compare(check, name, folder, ranks)
        if name == plain:
            check_exact(check, name, ranks, exact)
            for data in ranks.values():
                check_own(check, "%s %s" % (name, os.path.basename(data.path)), tool, data.path)
    check.finish()


if __name__ == "__main__":
    main()
