#!/usr/bin/env python3
"""Nsight Systems' cuda_kern_exec_sum: launch call, time in the queue and kernel, per call and kernel.

    tests/oracle/nsys_exec.py [build/neurolens]

One SQL join (kernels.launch is the slice of the launching call) gives every execution; sums over
(process, thread, device, call, kernel) must be what `nsys stats` prints: counts, minima and maxima
exactly, means, medians and deviations to its digit. T = call's start to the later end of both, A = the call,
Q = end of the call to start of the kernel where that is later, K = the kernel.
"""
import os
import re
import sys

from oracle import Checker, Neurolens, quantile, read_csv, shared_or_leave, stddev

PROFILES = {
    "h100_2gpu_1s": "GindaChen+nsys-ai__tests__fixtures__h100_2gpu_1s.sqlite",
    "nsightful_baseline": "brycelelbach+nsightful__tests__power_iteration__baseline.sqlite",
}
QUERY = """SELECT a.process, a.thread, k.device, a.name, k.name, a.ts, a.dur, k.ts, k.dur
           FROM kernels k JOIN api a ON a.slice = k.launch"""


def plain(name):
    return re.sub(r"(_ptsz|_ptds)?_v\d+$", "", name)


def executions(rows):
    """(process, thread, device, call, kernel) -> lists of T, A, Q, K."""
    groups = {}
    for process, thread, device, call, kernel, start, length, begin, run in rows:
        group = groups.setdefault((process, thread, device, plain(call), kernel),
                                  {"T": [], "A": [], "Q": [], "K": []})
        group["T"].append(max(begin + run, start + length) - start)
        group["A"].append(length)
        group["K"].append(run)
        if begin > start + length:
            group["Q"].append(begin - start - length)
    return groups


def printed(text, value):
    digits = len(text.split(".")[1]) if "." in text else 0
    return abs(float(text) - value) <= 0.5 * 10 ** -digits + 1e-14 * abs(value)


def same(row, group):
    if int(row["Count"]) != len(group["T"]) or int(row["QCount"] or 0) != len(group["Q"]):
        return False
    for letter, values in group.items():
        if not values:
            continue
        wanted = {"Avg": sum(values) / len(values), "Med": quantile(values, .5),
                  "Min": min(values), "Max": max(values), "StdDev": stddev(values) or 0.0}
        for word, value in wanted.items():
            if not printed(row["%s%s (ns)" % (letter, word)], value):
                return False
    return True


def main():
    folder = shared_or_leave("oracles", "nsys")
    check = Checker()
    program = Neurolens(sys.argv)
    for name, file in PROFILES.items():
        profile = os.path.join(shared_or_leave("samples", "nsys"), file)
        groups = executions(program.sql(profile, QUERY))
        rows = read_csv(os.path.join(folder, name, "cuda_kern_exec_sum.csv"))
        wrong = []
        for row in rows:
            key = (int(row["PID"]), int(row["TID"]), int(row["DevId"]), plain(row["API Name"]),
                   row["Kernel Name"])
            if key not in groups or not same(row, groups[key]):
                wrong.append((key, groups.get(key, {}).get("T")))
        check.equal("%s: %d rows as printed" % (name, len(rows)), [], wrong[:3])
        check.equal("%s: no other rows" % name, len(rows), len(groups))
    check.finish()


if __name__ == "__main__":
    main()
