#!/usr/bin/env python3
"""GPU telemetry and NCCL logs of ../shared/samples, read with a few regular expressions, against
`neurolens sql`: values per column and device, calls, measurements.

    tests/oracle/telemetry_counts.py [build/neurolens]
"""
import collections
import csv
import decimal
import glob
import gzip
import json
import math
import os
import re
import sys

from oracle import ROOT, SHARED, Checker, Neurolens, harness, shared_or_leave

BYTES = [1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1]


def rows(tool, path, query):
    return [list(r.values()) if isinstance(r, dict) else list(r) for r in tool.sql(path, query)]


def check_query(check, tool, path):
    with open(path, encoding="utf-8") as file:
        lines = [[c.strip() for c in line.split(",")] for line in file if line.strip()]
    header = lines.pop(0) if not lines[0][0][0].isdigit() else None
    want = collections.defaultdict(list)
    for line in lines:
        for i, cell in enumerate(line):
            if re.fullmatch(r"-?\d+(\.\d+)?", cell) and i and not (header and header[i] == "gpu"):
                want[(int(line[header.index("gpu")]) if header else None,
                      header[i] if header else "column %d" % (i + 1))].append(float(cell))
    got = rows(tool, path, "SELECT d.ordinal, c.name, count(*), sum(c.value) FROM counters c JOIN lanes l "
                           "ON l.id = c.lane LEFT JOIN devices d ON d.id = l.device GROUP BY 1, 2")
    check.rows(os.path.basename(path), {k: (len(v), round(math.fsum(v), 6)) for k, v in want.items()},
               {(r[0], r[1]): (r[2], round(r[3], 6)) for r in got})


def check_exporter(check, tool, path):
    with open(path, encoding="utf-8") as file:
        found = re.findall(r'^(DCGM_FI_\w+)\{[^\n]*gpu="(\d+)"[^\n]*\} ([-\d.e+]+)', file.read(), re.M)
    want = collections.Counter((name, float(value)) for name, _, value in found)
    got = collections.Counter({(r[0], r[1]): r[2] for r in rows(
        tool, path, "SELECT name, value, count(*) FROM counters GROUP BY 1, 2")})
    check.equal("%s %d values" % (os.path.basename(path), len(found)), want, got)


def without_nccl(text):
    """The text as it were without NCCL_DEBUG: its lines taken out with their ends, so that a row which
    they were printed into closes up. A line begins with the host, which is told by lines of their own."""
    for host in set(re.findall(r"^(\w+):\d+:\d+ \[\d+\] NCCL ", text, re.M)):
        text = re.sub(r"%s:\d+:\d+ \[\d+\] NCCL [^\n]*\n" % host, "", text)
    # The second half of a row follows the first on a line of its own.
    return re.sub(r"(\n *\d+ +\d+ +[a-z]\w*(?: +\S+)*) *\n( +[\d.]+ +[\d.]+ +[\d.]+ +\S+ *\n)", r"\1 \2", text)


def check_log(check, tool, path):
    name = os.path.basename(path)
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    lines = text.splitlines()
    calls = [re.search(r"NCCL INFO (\w+): opCount (\w+) .* count (\d+) datatype (\d+) .*nranks=(\d+)", line)
             for line in lines]
    want = collections.Counter((m[1], int(m[2], 16), int(m[3]), int(m[3]) * BYTES[int(m[4])], int(m[5]))
                               for m in calls if m)
    got = collections.Counter({tuple(r[:5]): r[5] for r in rows(
        tool, path, "SELECT operation, sequence, in_elements, bytes, ranks, count(*) FROM collectives "
                    "WHERE sequence IS NOT NULL GROUP BY 1, 2, 3, 4, 5")})
    check.equal("%s calls (%d)" % (name, sum(want.values())), want, got)
    times, width = [], collections.Counter()
    columns = None
    for line in without_nccl(text).splitlines():
        words = line.split()
        if line.startswith("#") and words[1:3] == ["size", "count"]:
            columns = words[1:]
        elif columns and len(columns) - 1 <= len(words) <= len(columns) and words[0].isdigit():
            if len(words) < len(columns):  # no reduction, no word for it
                words.insert(columns.index("redop"), "")
            for i, column in enumerate(columns):
                if column == "time":
                    times.append((int(words[0]), round(float(words[i]) * 1000)))
                elif column in ("algbw", "busbw"):
                    width[column] += float(words[i])
    got = [tuple(r) for r in rows(tool, path, "SELECT bytes, dur FROM collectives WHERE sequence IS NULL ORDER BY ts")]
    check.equal("%s measurements (%d)" % (name, len(times)), sorted(times), sorted(got))
    sums = {r[0]: round(r[1] / 1e9, 6) for r in rows(tool, path, "SELECT name, sum(value) FROM metrics GROUP BY 1")}
    check.equal(name + " bandwidths", {k: round(v, 6) for k, v in width.items()}, sums)


NCCL_BYTES = {"ncclFloat32": 4, "ncclBfloat16": 2, "ncclFloat16": 2, "ncclInt64": 8}


def json_lines(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                yield json.loads(line, parse_float=decimal.Decimal)
            except ValueError:
                pass


def check_nccl_lines(check, tool, path):
    """Events by type, collectives, kernels with their launches; or the inspector's lines."""
    name, lines = os.path.basename(path)[:40], list(json_lines(path))
    ns = lambda event: max(round((event["stop"]["ts"] - event["start"]["ts"]) * 1000), 0)
    own = ("ncclProfileColl", "ncclProfileP2p")
    want, calls, kernels = collections.defaultdict(lambda: [0, 0]), [], []
    launches = {e["extCorrId"] for e in lines if e.get("type") == "ncclProfileKernelLaunch"}
    ranks = {e["commId"]: e["details"]["nranks"] for e in lines
             if e.get("type") == "ProfilerLifecycle" and "nranks" in e["details"]}
    for event in lines:
        details = event.get("details", {})
        if event.get("recordType") == "event":
            key = details["func"] if event["type"] in own else event["type"]
            want[key][0] += 1
            want[key][1] += ns(event)
            if event["type"] in own:
                size = NCCL_BYTES.get(details["dtype"])
                calls.append((str(event["commId"]), details.get("seq"), details["count"],
                              size and details["count"] * size, ranks.get(event["commId"])))
        elif event.get("type") == "KERNEL":
            kernels.append((event["name"], ns(event), event["deviceId"], int(event["stream"], 16),
                            event["extCorrId"] in launches))
    names = harness.by_source({kernel[0] for kernel in kernels})
    kernels = [(names[kernel[0]],) + kernel[1:] for kernel in kernels]
    got = rows(tool, path, "SELECT name, count(*), sum(dur) FROM slices WHERE kind <> 'kernel' GROUP BY 1")
    if "coll_perf" not in lines[0]:
        check.rows(name + " events", {k: tuple(v) for k, v in want.items()}, {r[0]: tuple(r[1:]) for r in got})
        check.equal(name + " kernels", sorted(kernels), sorted(tuple(r[:4]) + (bool(r[4]),) for r in rows(
            tool, path, "SELECT name, dur, device, stream, launch IS NOT NULL FROM kernels")))
    else:
        calls = [(e["header"]["id"], e["coll_perf"]["coll_sn"], None, e["coll_perf"]["coll_msg_size_bytes"],
                  e["header"]["n_ranks"]) for e in lines]
        check.equal(name + " lengths", [e["coll_perf"]["coll_exec_time_us"] * 1000 for e in lines],
                    [r[0] for r in rows(tool, path, "SELECT dur FROM collectives ORDER BY sequence")])
        check.near(name + " bus bandwidth", float(sum(e["coll_perf"]["coll_busbw_gbs"] for e in lines)) * 1e9,
                   rows(tool, path, "SELECT sum(value) FROM metrics WHERE name = 'busbw'")[0][0], 1)
    got = [tuple(r) for r in rows(tool, path, "SELECT group_name, sequence, in_elements, bytes, ranks FROM collectives "
                                              "WHERE kind IN ('collective', 'library')")]
    check.equal(name + " collectives (%d)" % len(calls), sorted(calls, key=str), sorted(got, key=str))


def check_timeline(check, tool, path):
    """Entries of a memory timeline by action, and what was allocated at the end."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        entries = [e for e in json.load(file) if 1 <= e[1] <= 4]
    names = (None, "preexisting", "create", "increment_version", "destroy")
    want = collections.defaultdict(lambda: [0, 0])
    for _, action, size, category in entries:
        want[names[action], category][0] += 1
        want[names[action], category][1] += size
    kinds = ("PARAMETER", "OPTIMIZER_STATE", "INPUT", "TEMPORARY", "ACTIVATION", "GRADIENT", "AUTOGRAD_DETAIL",
             "unknown")
    got = rows(tool, path, "SELECT action, kind, count(*), sum(bytes) FROM memory GROUP BY 1, 2")
    check.rows(os.path.basename(path), {k: tuple(v) for k, v in want.items()},
               {(r[0], kinds.index(r[1])): (r[2], r[3]) for r in got})
    total = peak = 0
    for entry in entries:
        total += entry[2]
        peak = max(peak, total)
    check.equal(os.path.basename(path) + " peak", [[peak]], rows(tool, path, "SELECT max(total_allocated) FROM memory"))


def check_zeus(check, tool, path):
    """Windows with their times, and the energy of each GPU over all."""
    windows, energies = [], collections.defaultdict(list)
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            try:
                start, length = decimal.Decimal(row["start_time"]), decimal.Decimal(row["elapsed_time"])
            except decimal.InvalidOperation:
                continue
            exact = [v.scaleb(9).to_integral_value(decimal.ROUND_HALF_UP) for v in (start, length)]
            windows.append((row["window_name"], int(exact[0]), int(exact[1])))
            for key, value in row.items():
                if key.startswith("gpu") and re.fullmatch(r"[-+.\deE]+", value or ""):
                    energies[key].append(float(value))
    first = tool.first_ns(path)
    got = rows(tool, path, "SELECT name, ts, dur FROM nvtx ORDER BY ts")
    check.equal("%s windows (%d)" % (os.path.basename(path), len(windows)), sorted(windows, key=lambda w: w[1]),
                [(r[0], r[1] + first, r[2]) for r in got])
    check.rows(os.path.basename(path) + " energies", {k: round(math.fsum(v), 6) for k, v in energies.items()},
               {r[0]: round(r[1], 6) for r in rows(tool, path, "SELECT name, sum(value) FROM metrics GROUP BY 1")})


def check_lines(check, tool):
    """Files made for the tests, and those of ../shared where it is."""
    corpus = os.path.join(ROOT, "tests", "corpus")
    for path in (sorted(glob.glob(os.path.join(SHARED, "samples", "gpu_telemetry", "ml-energy+zeus", "tests", "**",
                                               "*.csv"), recursive=True)) + [os.path.join(corpus, "zeus", "windows.csv")]):
        check_zeus(check, tool, path)
    for path in (sorted(glob.glob(os.path.join(SHARED, "samples", "nccl", "**", "*.jsonl"), recursive=True))
                 + [os.path.join(corpus, "nccljson", n) for n in ("plugin.jsonl", "inspector.jsonl")]):
        check_nccl_lines(check, tool, path)
    for path in (sorted(glob.glob(os.path.join(SHARED, "samples", "torch_mem", "**", "*.raw.gz"), recursive=True))
                 + [os.path.join(corpus, "torchtimeline", n) for n in ("timeline.raw.json", "only_before.raw.json")]):
        check_timeline(check, tool, path)


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    check_lines(check, tool)
    if not os.path.isdir(os.path.join(SHARED, "samples")):
        print("skipped: no ../shared")
        check.skipped += 1
        check.finish()
    samples = shared_or_leave("samples")
    for path in sorted(glob.glob(os.path.join(samples, "gpu_telemetry", "**", "*smi.csv"), recursive=True)
                       + glob.glob(os.path.join(samples, "gpu_telemetry", "**", "*gpu_stats.csv"), recursive=True)):
        check_query(check, tool, path)
    for path in sorted(glob.glob(os.path.join(samples, "gpu_telemetry", "**", "*.md"), recursive=True)):
        check_exporter(check, tool, path)
    for path in sorted(glob.glob(os.path.join(samples, "nccl", "**", "nccl*.log"), recursive=True)):
        check_log(check, tool, path)
    check.finish()


main()
