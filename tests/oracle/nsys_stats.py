#!/usr/bin/env python3
"""Nsight Systems: `nsys stats` reports against `neurolens analyze` and `neurolens sql`.

    tests/oracle/nsys_stats.py [build/neurolens]

Sums, counts, minima and maxima must be equal; means and medians to the digit that nsys prints;
standard deviations (of a sample, n - 1) likewise.
"""
import os
import re
import sys

from oracle import Checker, Neurolens, quantile, read_csv, shared_or_leave, stddev

PROFILES = {
    "h100_2gpu_1s": "GindaChen+nsys-ai__tests__fixtures__h100_2gpu_1s.sqlite",
    "nsightful_baseline": "brycelelbach+nsightful__tests__power_iteration__baseline.sqlite",
}
# nsys's word for a direction -> ours
COPIES = {"[CUDA memcpy Host-to-Device]": "HtoD", "[CUDA memcpy Device-to-Host]": "DtoH",
          "[CUDA memcpy Device-to-Device]": "DtoD", "[CUDA memcpy Peer-to-Peer]": "PtoP",
          "[CUDA memcpy Host-to-Host]": "HtoH"}
UNKNOWN = "[Unknown]"  # a record of another event class, without length, that nsys leaves out
STYLES = {"PushPop": "push_pop", "StartEnd": "start_end"}


def statistics(groups):
    """key -> durations  to  key -> the columns nsys prints."""
    return {key: {"total": sum(d), "count": len(d), "avg": sum(d) / len(d),
                  "med": quantile(d, .5), "min": min(d), "max": max(d), "std": stddev(d) or 0.0}
            for key, d in groups.items()}


def group(rows):
    groups = {}
    for *key, value in rows:
        groups.setdefault(key[0] if len(key) == 1 else tuple(key), []).append(value)
    return groups


def report_columns(row):
    """The columns by role, whatever the report calls them."""
    out = {}
    for head, value in row.items():
        role = head.split(" (")[0]
        role = {"Total Time": "total", "Total": "total", "Instances": "count", "Num Calls": "count",
                "Count": "count", "Avg": "avg", "Med": "med", "Min": "min", "Max": "max",
                "StdDev": "std"}.get(role)
        if role:
            out[role] = value
    return out


def agrees(printed, value):
    """Equal to the precision of the printed text."""
    digits = len(printed.split(".")[1]) if "." in printed else 0
    return abs(float(printed) - value) <= 0.5000001 * 10 ** -digits


def compare(check, name, report, got, key_of, scale=1.0):
    missing = set(got)
    wrong = 0
    for row in report:
        key = key_of(row)
        missing.discard(key)
        answer = got.get(key)
        columns = report_columns(row)
        for role, printed in columns.items():
            value = None if answer is None else answer[role] * (1 if role == "count" else scale)
            if value is None or not agrees(printed, value):
                wrong += 1
                if wrong <= 5:
                    check.fail("%s %s %s" % (name, str(key)[:80], role), printed, value)
    for key in list(missing)[:5]:
        check.fail("%s %s" % (name, str(key)[:80]), "no row", got[key])
    if not wrong and not missing:
        check.ok("%s (%d rows)" % (name, len(report)))


def named(rows):
    """What is exact in rows of an analysis: medians and deviations are whole ns there."""
    return {row["name"]: (row["count"], row["total_ns"], row["min_ns"], row["max_ns"])
            for row in rows}


def expected_named(report, key):
    out = {}
    for row in report:
        columns = report_columns(row)
        out[key(row)] = tuple(int(columns[role]) for role in ("count", "total", "min", "max"))
    return out


def check_profile(check, tool, name, folder, profile):
    def report(which):
        path = os.path.join(folder, which + ".csv")
        return read_csv(path) if os.path.exists(path) else []

    def sql(query):
        return tool.sql(profile, query)

    analysis = tool.analyze(profile)
    kernels = statistics(group(sql("SELECT name, dur FROM kernels")))
    copies = statistics(group(sql("SELECT kind, dur FROM copies")))
    sets = statistics(group(sql("SELECT 'Memset', dur FROM memsets")))
    compare(check, name + " cuda_gpu_kern_sum", report("cuda_gpu_kern_sum"), kernels,
            lambda row: row["Name"])
    compare(check, name + " cuda_api_sum", report("cuda_api_sum"),
            statistics(group(sql("SELECT name, dur FROM api"))), call_name)
    memory = dict(copies)
    if sets:
        memory["Memset"] = sets["Memset"]

    def operation(row):
        text = row["Operation"]
        return COPIES.get(text, "Memset" if text.startswith("[CUDA memset]") else text)

    compare(check, name + " cuda_gpu_mem_time_sum", report("cuda_gpu_mem_time_sum"), memory,
            operation)
    sizes = statistics(group(sql("SELECT kind, bytes FROM copies")
                             + sql("SELECT 'Memset', bytes FROM memsets")))
    compare(check, name + " cuda_gpu_mem_size_sum", report("cuda_gpu_mem_size_sum"), sizes,
            operation, scale=1e-6)
    everything = dict(kernels)
    everything.update(memory)
    compare(check, name + " cuda_gpu_sum", report("cuda_gpu_sum"), everything, operation)
    ranges = "SELECT style, CASE WHEN domain IS NULL OR domain = '' OR domain = 'default' " \
             "THEN '' ELSE domain || ':' END || coalesce(name, ''), dur FROM nvtx " \
             "WHERE style IN ('push_pop', 'start_end') AND dur IS NOT NULL"
    nvtx = statistics(group(sql(ranges)))
    if report("nvtx_sum"):
        compare(check, name + " nvtx_sum", report("nvtx_sum"), nvtx,
                lambda row: (STYLES.get(row["Style"], row["Style"]), plain(row["Range"])))
        compare(check, name + " nvtx_pushpop_sum", report("nvtx_pushpop_sum"),
                {key[1]: value for key, value in nvtx.items() if key[0] == "push_pop"},
                lambda row: plain(row["Range"]))
    if report("osrt_sum"):
        compare(check, name + " osrt_sum", report("osrt_sum"), statistics(group(
            sql("SELECT name, dur FROM slices WHERE kind = 'osrt' AND name <> '%s'" % UNKNOWN))),
                lambda row: row["Name"])
    # the same through analyze
    check.rows(name + " analyze kernels", expected_named(report("cuda_gpu_kern_sum"),
               lambda row: row["Name"]), named(analysis["kernels"]))
    check.rows(name + " analyze api", expected_named(report("cuda_api_sum"), call_name),
               named(analysis["api"]))
    if report("osrt_sum"):
        check.rows(name + " analyze osrt", expected_named(report("osrt_sum"),
                   lambda row: row["Name"]),
                   named(row for row in analysis["osrt"] if row["name"] != UNKNOWN))
    moved = {}
    for row in analysis["copies"]:
        count, total, size = moved.get(row["kind"], (0, 0, 0))
        moved[row["kind"]] = (count + row["count"], total + row["total_ns"], size + row["bytes"])
    expected = {}
    for row in report("cuda_gpu_mem_time_sum"):
        if operation(row) != "Memset":
            columns = report_columns(row)
            expected[operation(row)] = (int(columns["count"]), int(columns["total"]),
                                        sizes[operation(row)]["total"])
    check.rows(name + " analyze copies", expected, moved)


def call_name(row):
    """nsys 2023.4 does not know the ABI suffix of newer functions (_v11060); we drop them all."""
    return re.sub(r"_v\d{4,}$", "", row["Name"])


def plain(text):
    """nsys marks a domain as "domain:text" and the default one as ":text" in some versions."""
    return text[1:] if text.startswith(":") else text


def main():
    oracles = shared_or_leave("oracles", "nsys")
    samples = shared_or_leave("samples", "nsys")
    tool, check = Neurolens(sys.argv), Checker()
    for name, file in PROFILES.items():
        try:
            check_profile(check, tool, name, os.path.join(oracles, name),
                          os.path.join(samples, file))
        except RuntimeError as error:
            check.fail(name, "an answer", error)
    check.finish()


if __name__ == "__main__":
    main()
