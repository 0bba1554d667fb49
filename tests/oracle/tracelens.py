#!/usr/bin/env python3
"""TraceLens' definitions of the GPU timeline and of kernel launchers, computed once more in plain
Python from the files' own JSON, beside what neurolens answers; and TraceLens' own answers where they
lie beside a sample.

    tests/oracle/tracelens.py [build/neurolens] [FOLDER]

GPU timeline, per device: computation = |COMP|, exposed communication = |COMM \\ COMP|, exposed copies
= |MEMCPY \\ (COMP u COMM)|, busy = |all|, idle = total - busy; COMM by name (nccl, rccl), MEMCPY by
category, everything else COMP. It counts memsets and kernels that copy or fill as computation,
neurolens as copies: there total, busy and idle are compared, and the parts added up. Kernel launchers:
the time of what an operator launched with no operator inside, per name.

With FOLDER, which holds NAME/gpu_timeline.csv and NAME/ops_summary.csv that TraceLens itself wrote for
the file named in NAME/trace.txt, those are compared as well (tools/test_frameworks.sh makes one when
NEUROLENS_WITH_TRACELENS says where TraceLens can be installed from).
Old files whose categories are "Kernel" and "Memcpy" hold no GPU events for TraceLens and are left out.
It keeps times as floats of microseconds since boot or 1970, so tolerances are what that loses.
"""
import decimal
import glob
import gzip
import json
import math
import os
import re
import sys

from oracle import Checker, Neurolens, read_csv, shared_or_leave

SMALL = 3 << 20
COMM = re.compile(r"nccl|rccl", re.I)
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")
DECODE = "AMD-AGI+TraceLens/tests/traces/inference/vllm_decode_full"


def events_of(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as file:
        data = json.load(file, parse_float=decimal.Decimal)
    return data["traceEvents"] if isinstance(data, dict) else data


def ns(event):
    """Start and end; a length is cut to whole nanoseconds as a start is."""
    start, dur = event["ts"], event.get("dur", 0)
    return round(start * 1000), round(start * 1000) + round(dur * 1000)


def merge(intervals):
    out = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def length(intervals):
    return sum(end - start for start, end in intervals)


def union(*groups):
    return length(merge([part for group in groups for part in group]))


def timeline(events):
    """Per device: total, computation, exposed communication, exposed copies, idle; in ns."""
    devices = {}
    for event in events:
        groups = devices.setdefault(event["args"].get("device"), {"comm": [], "copy": [], "comp": []})
        kind = "copy" if event["cat"] == "gpu_memcpy" else \
            "comm" if COMM.search(event["name"]) else "comp"
        groups[kind].append(ns(event))
    out = {}
    for device, g in devices.items():
        parts = [part for group in g.values() for part in group]
        total = max(end for _, end in parts) - min(start for start, _ in parts)
        comp = union(g["comp"])
        comm = union(g["comp"], g["comm"]) - comp
        busy = union(parts)
        out[device] = (total, comp, comm, busy - comp - comm, total - busy)
    return out


def launchers(events, gpu):
    """Operator -> (pieces of work, ns) that it launched directly: by correlation to the call, by time
    to the innermost operator of the call's thread."""
    ops, calls, out = {}, {}, {}
    for event in events:
        category = event.get("cat", "")
        if category == "cpu_op":
            ops.setdefault((event["pid"], event["tid"]), []).append(ns(event) + (event["name"],))
        elif category in CALLS and event.get("args", {}).get("correlation") is not None:
            calls[event["args"]["correlation"]] = event
    for run in ops.values():
        run.sort(key=lambda op: (op[0], -op[1]))
    wanted = {}
    for work in gpu:
        call = calls.get(work["args"].get("correlation"))
        if call:
            wanted.setdefault((call["pid"], call["tid"]), []).append((ns(call)[0], ns(work)))
    for thread, moments in wanted.items():
        run, at, stack = ops.get(thread, []), 0, []
        for moment, (start, end) in sorted(moments):
            while at < len(run) and run[at][0] <= moment:
                stack.append(run[at])
                at += 1
            stack = [op for op in stack if op[1] > moment]
            if stack:
                count, spent = out.get(stack[-1][2], (0, 0))
                out[stack[-1][2]] = (count + 1, spent + end - start)
    return out


def copy_like(tool, path):
    """Devices with memsets, or kernels that copy or fill: defined otherwise there."""
    return {row[0] for row in tool.sql(
        path, "SELECT DISTINCT device FROM (SELECT device FROM memsets UNION ALL SELECT device FROM "
              "kernels WHERE class = 'copy')")}


def check_timeline(check, tool, path, name, want):
    rows = tool.sql(path, "SELECT d.ordinal, b.wall_ns, b.compute_ns, b.exposed_comm_ns, b.exposed_copy_ns, "
                          "b.idle_ns FROM time_breakdown b JOIN devices d ON d.id = b.device_id")
    got = {row[0]: tuple(row[1:]) for row in rows}
    odd = copy_like(tool, path)
    unlike = {row[0] for row in tool.sql(path, "SELECT DISTINCT name FROM kernels WHERE (class = "
                                               "'communication') <> (name LIKE '%nccl%' OR name LIKE "
                                               "'%rccl%')")}
    if len(rows) != len(got):
        return check.skip(name + " timeline", "several processes on a device")
    if unlike:
        return check.skip(name + " timeline", "communication by another name: %s" % sorted(unlike)[0][:40])
    for device in odd:
        for side in (want, got):
            if device in side:
                total, comp, comm, copy, idle = side[device]
                side[device] = (total, comp + comm + copy, None, None, idle)
    check.rows(name + " timeline", want, got)


def check_launchers(check, tool, path, name, want):
    rows = tool.analyze_section(path, "op_gpu")
    got = {}
    for row in rows:
        if row["gpu_ops"] and row["count"] is not None:
            got[row["name"]] = (row["gpu_ops"], row["gpu_ns"])
    check.rows(name + " launchers", want, got)


def check_file(check, tool, path, name):
    events = events_of(path)
    whole = [e for e in events if isinstance(e, dict) and e.get("ph") == "X" and "ts" in e]
    gpu = [e for e in whole if e.get("cat", "") in GPU and e.get("args")]
    if not gpu or any(isinstance(e["ts"], str) for e in whole):
        return
    check_timeline(check, tool, path, name, timeline(gpu))
    if any(e.get("cat", "") == "cpu_op" for e in whole):
        check_launchers(check, tool, path, name, launchers(whole, gpu))


def near(check, name, want, got, within):
    """want: dict of floats; got: the same keys. One line."""
    wrong = ["%s: %r, here %r" % (k, want[k], got.get(k)) for k in want
             if got.get(k) is None or math.isnan(want[k]) or abs(want[k] - got[k]) > within(want[k])]
    if wrong:
        check.fail(name, "TraceLens' numbers", "; ".join(wrong[:4]))
    else:
        check.ok("%s (%d numbers)" % (name, len(want)))


def check_own_answers(check, tool, path, folder, name, by_capture):
    """TraceLens' CSV files for this file; ms and us as floats."""
    if copy_like(tool, path):
        return check.skip(name + " as TraceLens", "memsets, or kernels that copy")
    want = {row["type"]: float(row["time ms"]) * 1e6
            for row in read_csv(os.path.join(folder, "gpu_timeline.csv"))}
    wall, comp, comm, copy, idle = tool.sql(
        path, "SELECT wall_ns, compute_ns, exposed_comm_ns, exposed_copy_ns, idle_ns FROM "
              "time_breakdown")[0]
    got = {"total_time": wall, "idle_time": idle, "busy_time": wall - idle, "computation_time": comp,
           "exposed_comm_time": comm, "exposed_memcpy_time": copy}
    near(check, name + " timeline as TraceLens'", {k: v for k, v in want.items() if k in got}, got,
         lambda _: 600)
    table = os.path.join(folder, "ops_summary.csv")
    sums = {row["name"]: float(row["total_direct_kernel_time_sum"]) * 1000 for row in read_csv(table)}
    ours = {row["name"]: row["gpu_ns"] for row in tool.analyze_section(path, "op_gpu") if row["gpu_ops"]}
    if by_capture:  # work of a graph has the operators of its capture there, the launch of the graph here
        sums = {op: sums[op] for op in sums if op in ours}
    near(check, name + " kernel time per operator as TraceLens'", sums, ours,
         lambda value: 10 + 1e-3 * value)


def main():
    folder = sys.argv[2] if len(sys.argv) > 2 else None
    root = shared_or_leave("samples")
    check, tool = Checker(), Neurolens(sys.argv)
    for path in sorted(glob.glob(os.path.join(root, "torch", "**", "*.json*"), recursive=True)):
        if os.path.getsize(path) > SMALL:
            continue
        try:
            tool.sql(path, "SELECT 1")
            check_file(check, tool, path, os.path.relpath(path, root)[-60:])
        except (RuntimeError, ValueError, KeyError):
            continue  # not a profile, or not one JSON document: other tests hold that this is said well
    answers = os.path.join(root, "torch_oracle", DECODE, "perf_csvs")
    trace = os.path.join(root, "torch", DECODE, "graph_execution.json.gz")
    if os.path.isdir(answers) and os.path.exists(trace):
        check_own_answers(check, tool, trace, answers, "vllm_decode_full", True)
    for name in sorted(os.listdir(folder)) if folder else []:
        with open(os.path.join(folder, name, "trace.txt"), encoding="utf-8") as file:
            check_own_answers(check, tool, file.read().strip(), os.path.join(folder, name), name, False)
    check.finish()


if __name__ == "__main__":
    main()
