#!/usr/bin/env python3
"""`--join`: metrics of Nsight Compute's pages at the kernels of a run, against a join written anew.

    tests/oracle/ncu_join.py [build/neurolens]

Runs (traces with launches, several streams and threads) and raw pages (parts of the launches, other
spellings of names, other kernels, repeated reports) are made up from seeds. Every kernel's
measurement, every mean of a metric, the columns that follow and the coverage must be what this
script works out. Real reports joined to a run made of their own kernels must come back unchanged.
"""
import glob
import json
import os
import random
import sys
import tempfile

from oracle import SHARED, Checker, Neurolens

# In the run, and as Nsight Compute and others spell it: (text, does it hold the template arguments?)
NAMES = [
    ("void at::native::fill<4, float>(float*, int)",
     [("void at::native::fill<4, float>(float*, int)", True), ("void fill<(int)4, float>(T2 *, int)", True),
      ("fill", False)]),
    ("void at::native::fill<8, float>(float*, int)",
     [("void fill<(int)8, float>(T2 *, int)", True), ("fill", False)]),
    ("ampere_sgemm_128x64_nn", [("ampere_sgemm_128x64_nn", False)]),
    ("void (anonymous namespace)::reduce<true, 2ul>(unsigned int const*)",
     [("void <unnamed>::reduce<(bool)1, (unsigned long)2>(const unsigned int *)", True)]),
    ("scale(float*, unsigned int)", [("scale(float *, unsigned int)", False), ("_Z5scalePfj", False)]),
]
STRANGER = "nothing_of_the_run(int)"
METRICS = [("gpu__time_duration.sum", "nsecond", 1.0, None),
           ("sm__warps_active.avg.pct_of_peak_sustained_active", "%", 1.0, ("achieved_occupancy", 100)),
           ("lts__t_sector_hit_rate.pct", "%", 1.0, ("l2_hit_rate", 100)),
           ("smsp__thread_inst_executed_per_inst_executed.ratio", "", 1.0, ("warp_efficiency", 32)),
           ("dram__bytes.sum.per_second", "Gbyte/second", 1e9, ("dram_bytes_per_s", 1))]


def make_run(rng):
    kernels, clock = [], 1000
    streams, threads = rng.choice([(1, 1), (2, 1), (2, 2)])
    for i in range(rng.randrange(1, 30)):
        clock += rng.randrange(20, 40)
        kernels.append(dict(name=rng.randrange(len(NAMES)), grid=rng.choice([4, 8]), block=128, launch=clock,
                            ts=clock + rng.randrange(5, 400), dur=rng.randrange(1, 9),
                            stream=7 + rng.randrange(streams), thread=50 + rng.randrange(threads),
                            correlation=i + 1, launched=rng.random() < 0.95))
    ends = {}
    for k in kernels:  # a stream does one thing after the other
        k["ts"] = max(k["ts"], ends.get(k["stream"], 0) + 1)
        ends[k["stream"]] = k["ts"] + k["dur"]
    return kernels


def write_run(kernels, path):
    events = []
    for k in kernels:
        events.append({"ph": "X", "cat": "kernel", "name": NAMES[k["name"]][0], "pid": 0, "tid": k["stream"],
                       "ts": k["ts"], "dur": k["dur"],
                       "args": {"device": 0, "context": 1, "stream": k["stream"],
                                "correlation": k["correlation"], "grid": [k["grid"], 1, 1],
                                "block": [k["block"], 1, 1]}})
        if k["launched"]:
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1,
                           "tid": k["thread"], "ts": k["launch"], "dur": 2,
                           "args": {"correlation": k["correlation"]}})
    with open(path, "w") as out:
        out.write(json.dumps({"schemaVersion": 1, "traceEvents": events,
                   "deviceProperties": [{"id": 0, "name": "Made-up GPU"}]}))


def make_report(rng, kernels):
    """Rows in order of launch: all of them, or some; one spelling per kernel name."""
    spelling = {n: rng.choice(NAMES[n][1]) for n in range(len(NAMES))}
    part = rng.random() < 0.5
    rows = []
    for k in sorted(kernels, key=lambda k: k["launch"]):
        if part and rng.random() < 0.4:
            continue
        values = [None if rng.random() < 0.1 else round(rng.uniform(1, 90), 2) for _ in METRICS]
        rows.append(dict(name=spelling[k["name"]][0], grid=k["grid"], block=k["block"], values=values))
    if rng.random() < 0.3:
        rows.append(dict(name=STRANGER, grid=4, block=128, values=[1.0] * len(METRICS)))
    return rows


def write_report(rows, path):
    fixed = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size",
             "Grid Size", "Device", "CC"]
    lines = [fixed + [m[0] for m in METRICS], [""] * len(fixed) + [m[1] for m in METRICS]]
    for i, row in enumerate(rows):
        lines.append([str(i), "5", "a.out", "host", row["name"], "1", "7", "(%d, 1, 1)" % row["block"],
                      "(%d, 1, 1)" % row["grid"], "0", "8.0"] +
                     ["n/a" if v is None else repr(v) for v in row["values"]])
    with open(path, "w") as out:
        for line in lines:
            out.write(",".join('"%s"' % cell for cell in line) + "\n")


def partner(name, grid, block, kernels, rows):
    """The run's name that a row of a report means: a number, "ambiguous" or None. By the table of
    spellings, not by parsing."""
    there = {k["name"] for k in kernels if (k["grid"], k["block"]) == (grid, block)}
    same = {r["name"] for r in rows if (r["grid"], r["block"]) == (grid, block)}
    meant = {n for n in there if NAMES[n][0] == name}
    if meant:
        return meant.pop()
    meant = {n for n in there if any(text == name and full for text, full in NAMES[n][1])}
    if meant:
        return meant.pop()
    base = {n for n in there if any(text == name for text, _ in NAMES[n][1])}
    rivals = {text for text in same for n in base if any(text == t for t, _ in NAMES[n][1])}
    if len(base) == 1 and len(rivals) == 1:
        return base.pop()
    return "ambiguous" if base else None


def ordered(members):
    """The launches in a certain order, or None."""
    if len({k["stream"] for k in members}) == 1:
        return sorted(members, key=lambda k: k["ts"])
    if all(k["launched"] for k in members) and len({k["thread"] for k in members}) == 1:
        return sorted(members, key=lambda k: k["launch"])
    return None


def mean(values):
    known = [v for v in values if v is not None]
    return (sum(known) / len(known), len(known)) if known else (None, 0)


def expect(kernels, reports):
    """correlation → (launches, measured, {metric: (mean, n)}); and the counts of coverage."""
    found, cover = {}, {}

    def add(item, n):
        if n:
            cover[item] = cover.get(item, 0) + n

    joined = {}  # (name, grid, block) → per report its rows
    for number, rows in enumerate(reports):
        for key in sorted({(r["name"], r["grid"], r["block"]) for r in rows}):
            mine = [r for r in rows if (r["name"], r["grid"], r["block"]) == key]
            meant = partner(*key, kernels, rows)
            if meant is None:
                add("not joined: measured launches", len(mine))
            elif meant == "ambiguous":
                add("not joined: measured launches that could be several kernels", len(mine))
            else:
                add("joined: measured launches", len(mine))
                joined.setdefault((meant,) + key[1:], []).append(mine)
    for key in sorted({(k["name"], k["grid"], k["block"]) for k in kernels}):
        members = [k for k in kernels if (k["name"], k["grid"], k["block"]) == key]
        parts = joined.get(key)
        if not parts:
            add("not joined: kernels", len(members))
            continue
        add("joined: kernels with a measurement", len(members))
        order = ordered(members)
        exact = order is not None and all(len(p) == len(members) for p in parts)
        if not exact:
            add("joined: kernels that share a mean", len(members))
        for i, k in enumerate(order if exact else members):
            rows = [p[i] for p in parts] if exact else [r for p in parts for r in p]
            values = {m[0]: mean([None if r["values"][c] is None else r["values"][c] * m[2] for r in rows])
                      for c, m in enumerate(METRICS)}
            found[k["correlation"]] = (1 if exact else len(members),
                                       1 if exact else max(len(p) for p in parts), values)
    return found, cover


def shown(value):
    """Ten digits: sums of a few doubles differ by their order only far behind."""
    return None if value is None else float("%.10g" % value)


def ask(tool, profile, query, options):
    """Rows as dictionaries."""
    answer = tool.run("sql", profile, query, "--format", "json", *options)["result"]
    names = [column["name"] for column in answer["columns"]]
    return [dict(zip(names, row)) for row in answer["rows"]]


def tell_kernel(want, metrics, mine):
    """Measurement, metrics and columns of a kernel, as they should be and as they are."""
    launches, measured, values = want
    theirs, ours = [launches, measured], [mine["launches"], mine["measured"]]
    for name, _, _, column in METRICS:
        value, count = values[name]
        row = metrics.get((mine["measurement"], name), {"value": "no row", "measured": None, "slice": None})
        theirs += [name, shown(value), count, mine["slice"] if launches == 1 else None]
        ours += [name, shown(row["value"]), row["measured"], row["slice"]]
        if column:
            theirs.append(shown(None if value is None else value / column[1]))
            ours.append(shown(mine[column[0]]))
    return theirs, ours


def check_case(check, tool, seed, folder):
    rng = random.Random(seed)
    kernels = make_run(rng)
    run = os.path.join(folder, "run-%d.json" % seed)
    write_run(kernels, run)
    reports, options = [], []
    for i in range(rng.choice([1, 1, 2])):
        rows = make_report(rng, kernels)
        if rows:
            reports.append(rows)
            options += ["--join", os.path.join(folder, "report-%d-%d.csv" % (seed, i))]
            write_report(rows, options[-1])
    if not reports:
        return
    want, cover = expect(kernels, reports)
    got = ask(tool, run, "SELECT k.correlation, k.achieved_occupancy, k.warp_efficiency, k.l2_hit_rate, "
              "k.dram_bytes_per_s, m.launches, m.measured, k.measurement, k.slice FROM kernels k "
              "LEFT JOIN kernel_measurements m ON m.id = k.measurement", options)
    metrics = {(row["measurement"], row["name"]): row for row in ask(
        tool, run, "SELECT measurement, name, value, measured, slice FROM metrics", options)}
    theirs, ours = {}, {}
    for mine in got:
        key = mine["correlation"]
        if key in want:
            theirs[key], ours[key] = tell_kernel(want[key], metrics, mine)
        else:
            theirs[key], ours[key] = None, mine["measurement"]
    check.rows("seed %d kernels" % seed, theirs, ours)
    told = {row["item"]: row["count"] for row in ask(
        tool, run, "SELECT item, count FROM coverage WHERE item LIKE '%joined:%'", options)}
    check.rows("seed %d coverage" % seed, cover, told)


def check_report(check, tool, path, folder):
    """A run made of the kernels of a real report: every launch gets what was measured of it."""
    kernels = ask(tool, path, "SELECT slice, name, grid_x, grid_y, grid_z, block_x, block_y, block_z "
                  "FROM kernels ORDER BY rowid", [])
    run = os.path.join(folder, "real.json")
    with open(run, "w") as out:
        out.write(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Made-up GPU"}], "traceEvents": [
            {"ph": "X", "cat": "kernel", "name": k["name"], "pid": 0, "tid": 7, "ts": 10 * i, "dur": 5,
             "args": {"device": 0, "context": 1, "stream": 7, "correlation": i + 1,
                      "grid": [k["grid_" + d] for d in "xyz"], "block": [k["block_" + d] for d in "xyz"]}}
            for i, k in enumerate(kernels)]}))
    question = ("SELECT k.correlation AS at, m.slice, m.name, m.value, m.unit, m.section, m.text FROM metrics m "
                "JOIN kernels k ON k.slice = m.slice")

    def rows(profile, place, options):
        every = sorted(repr([place(row), row["name"], row["value"], row["unit"], row["section"], row["text"]])
                       for row in ask(tool, profile, question, options))
        return dict(enumerate(every))
    numbers = {k["slice"]: i + 1 for i, k in enumerate(kernels)}
    check.rows("%s joined" % os.path.basename(path), rows(path, lambda row: numbers[row["slice"]], []),
               rows(run, lambda row: row["at"], ["--join", path]))


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    with tempfile.TemporaryDirectory(prefix="neurolens-join-") as folder:
        for seed in range(60):
            check_case(check, tool, seed, folder)
        real = sorted(glob.glob(os.path.join(SHARED, "samples", "ncu", "**", "*.ncu-rep"), recursive=True))
        for path in real:
            check_report(check, tool, path, folder)
        if not real:
            check.skip("real reports", "no ../shared")
    check.finish()


main()
