#!/usr/bin/env python3
"""Nsight Systems' reports that join NVTX ranges with device work, against neurolens, row by row:

    nvtx_gpu_proj_sum     analyze's nvtx_gpu, all columns
    nvtx_gpu_proj_trace   projections of single ranges, here from the rows of neurolens sql
    nvtx_kern_sum         kernels by range: every range around the launch counts them
    nvtx_sum              analyze's nvtx

    tests/oracle/nsys_projection.py [build/neurolens]
"""
import collections
import os
import sys

from oracle import Checker, Neurolens, quantile, read_csv, shared_or_leave, stddev

PROFILES = {
    "h100_2gpu_1s": "GindaChen+nsys-ai__tests__fixtures__h100_2gpu_1s.sqlite",
    "nsightful_baseline": "brycelelbach+nsightful__tests__power_iteration__baseline.sqlite",
}
STYLES = {"push_pop": "PushPop", "start_end": "StartEnd"}


def full_name(domain, name):
    """As nsys writes it: the domain in front, but for the default one."""
    return "%s:%s" % (domain, name) if domain else name or ""


def agrees(printed, value):
    digits = len(printed.split(".")[1]) if "." in printed else 0
    return abs(float(printed) - (value or 0)) <= 0.5000001 * 10 ** -digits


SUM = {"Total Proj Time (ns)": "projected_ns", "Total Range Time (ns)": "range_ns",
       "Range Instances": "instances", "Proj Avg (ns)": "mean_ns", "Proj Med (ns)": "median_ns",
       "Proj Min (ns)": "min_ns", "Proj Max (ns)": "max_ns", "Proj StdDev (ns)": "stddev_ns",
       "Total GPU Ops": "gpu_ops", "Avg GPU Ops": "gpu_ops_mean", "Avg Range Lvl": "level_mean",
       "Avg Num Child": "children_mean"}
NVTX_SUM = {"Total Time (ns)": "total_ns", "Instances": "count", "Med (ns)": "median_ns",
            "Min (ns)": "min_ns", "Max (ns)": "max_ns", "StdDev (ns)": "stddev_ns"}


def compare(check, name, report, got, columns, rounded=()):
    """nsys's rows against ours by (range, style): to the digits that nsys prints. In columns of
    `rounded` means between two ns may differ by the rounding of JSON to whole ns."""
    want = {(row["Range"], row["Style"]): row for row in report}
    wrong = sorted(set(want) ^ set(got))
    if wrong:
        check.fail(name + ": which ranges", len(want), "%d, such as %s" % (len(got), wrong[0]))
        return
    for key, row in want.items():
        for theirs, ours in columns.items():
            value = got[key][ours]
            near = ours in rounded and abs(float(row[theirs]) - (value or 0)) <= 0.55
            if not near and not agrees(row[theirs], value):
                check.fail("%s: %s %s" % (name, key, ours), row[theirs], value)
                return
    check.ok("%s (%d rows, %d columns)" % (name, len(want), len(columns)))


def ranges_and_calls(tool, path):
    """Ranges (start, end, name, style, pid, tid) and calls with their device work, by thread."""
    ranges, calls = collections.defaultdict(list), collections.defaultdict(dict)
    for row in tool.sql(path, "SELECT l.thread, n.ts, n.ts + n.dur, n.name, n.domain, n.style, n.process, "
                        "n.thread FROM nvtx n JOIN slices s ON s.id = n.slice JOIN lanes l ON l.id = "
                        "s.lane WHERE n.style IN ('push_pop', 'start_end')"):
        ranges[row[0]].append((row[1], row[2], full_name(row[4], row[3]), STYLES[row[5]], row[6],
                               row[7]))
    for thread, call, start, end, kind, name, ts, dur in tool.sql(
            path, "SELECT l.thread, c.id, c.ts, c.ts + c.dur, w.kind, w.name, w.ts, w.dur FROM slices w "
            "JOIN slices c ON c.id = w.link JOIN lanes l ON l.id = c.lane WHERE w.kind IN ('kernel', "
            "'memcpy', 'memset', 'graph_launch')"):
        calls[thread].setdefault((start, end, call), []).append((kind, name, ts, ts + dur))
    return ranges, calls


def project(ranges, calls):
    """(range, level, work) of the ranges of one thread that launched something, and work that no
    range launched. A range has the work of calls that lie inside it."""
    events = sorted([(r[0], 0, -r[1], i) for i, r in enumerate(ranges)] +
                    [(c[0], 1, 0, i) for i, c in enumerate(calls)])
    keys, open_now, level, work, outside = list(calls), [], {}, collections.defaultdict(list), []
    for ts, is_call, _, i in events:
        end = keys[i][1] if is_call else ranges[i][1]
        open_now = [r for r in open_now if ranges[r][1] >= (ts if is_call else end)]
        if not is_call:
            level[i] = len(open_now)
            open_now.append(i)
            continue
        around = [r for r in open_now if ranges[r][1] >= end]
        for r in around:
            work[r] += calls[keys[i]]
        outside += [] if around else calls[keys[i]]
    return [(ranges[r], level[r], work[r]) for r in sorted(work)], outside


def traces(tool, path):
    """Rows of nvtx_gpu_proj_trace, without its numbering of ranges."""
    first = tool.first_ns(path)
    ranges, calls = ranges_and_calls(tool, path)
    rows = collections.Counter()
    for thread in calls:
        for one, level, work in project(ranges[thread], calls[thread])[0]:
            start, end = min(w[2] for w in work), max(w[3] for w in work)
            rows[one[2], start + first, end - start, one[0] + first, one[1] - one[0], one[3], one[4],
                 one[5], len(work), level] += 1
    return rows


def trace_report(report):
    return collections.Counter(
        (row["Name"], *(int(row[c]) for c in (
            "Projected Start (ns)", "Projected Duration (ns)", "Orig Start (ns)",
            "Orig Duration (ns)")), row["Style"], *(int(row[c]) for c in (
                "PID", "TID", "NumGPUOps", "Lvl")))
        for row in report if row["Style"])


def kernel_sums(tool, path):
    """(range, style, kernel) -> instances of ranges, kernels, total, median, min, max, deviation."""
    ranges, calls = ranges_and_calls(tool, path)
    lengths, instances = collections.defaultdict(list), collections.Counter()
    for thread in calls:
        inside, outside = project(ranges[thread], calls[thread])
        for one, _, work in inside:
            kernels = [w for w in work if w[0] == "kernel"]
            for name in {w[1] for w in kernels}:
                instances[one[2], one[3], name] += 1
            for _, name, start, end in kernels:
                lengths[one[2], one[3], name].append(end - start)
        for kind, name, start, end in outside:
            if kind == "kernel":
                lengths["", "", name].append(end - start)
    return {key: (instances[key], len(d), sum(d), quantile(d, .5), min(d), max(d),
                  round(stddev(d) or 0.0, 1)) for key, d in lengths.items()}


def kernel_report(report):
    return {(row["NVTX Range"], row["Style"], row["Kernel Name"]):
            (int(row["NVTX Inst"]), int(row["Kern Inst"]), int(row["Total Time (ns)"]),
             float(row["Med (ns)"]), int(row["Min (ns)"]), int(row["Max (ns)"]),
             float(row["StdDev (ns)"])) for row in report}


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    for oracle, sample in PROFILES.items():
        path = shared_or_leave("samples", "nsys", sample)
        folder = shared_or_leave("oracles", "nsys", oracle)
        answer = tool.analyze(path)
        for report, key, columns in (("nvtx_gpu_proj_sum", "nvtx_gpu", SUM),
                                     ("nvtx_sum", "nvtx", NVTX_SUM)):
            file = os.path.join(folder, report + ".csv")
            if os.path.exists(file):
                got = {(full_name(row["domain"], row["name"]), STYLES[row["style"]]): row
                       for row in answer[key] if row["style"] in STYLES}
                compare(check, "%s %s" % (oracle, report), read_csv(file), got, columns,
                        ("mean_ns", "median_ns", "stddev_ns"))
        for report, mine, theirs in (("nvtx_gpu_proj_trace", traces, trace_report),
                                     ("nvtx_kern_sum", kernel_sums, kernel_report)):
            file = os.path.join(folder, report + ".csv")
            if os.path.exists(file):
                check.rows("%s %s" % (oracle, report), theirs(read_csv(file)), mine(tool, path))
    check.finish()


main()
