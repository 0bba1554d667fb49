#!/usr/bin/env python3
"""Runs that `profile` timed without the profiler: what every command says a run takes. Recordings as profile keeps them,
where B takes longer without the profiler and less long under it, so that a command that takes the wrong ones says the
contrary. Means and medians are those of the lists below."""
import json
import os
import re
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Tally, forked as neurolens  # noqa: E402

tally = Tally("plainruns")
PLAIN = {"a": [100 + i % 3 for i in range(40)], "b": [130 + i % 3 for i in range(40)],
         "few_a": [100 + i % 3 for i in range(40)], "few_b": [130 + i % 3 for i in range(40)]}  # us
NODES = {"a": (60, 140), "b": (60, 90), "few_a": (60, 140), "few_b": (60, 90)}  # us under the profiler, of a run
BLOCKS = {"a": 8, "b": 8, "few_a": 1, "few_b": 2}  # profiled runs; of the last two nothing marks them as steps


def write(folder, name):
    at, events, plain = 1000.0, [], list(PLAIN[name])
    profiled, blocks = sum(NODES[name]) + 10, BLOCKS[name]

    def put(category, what, ts, dur, **args):
        events.append({"cat": category, "pid": 7, "tid": 7, "ts": ts, "dur": dur, "ph": "X", "name": what, "args": args})
    put("Session", "session_initialization", 1, 500)
    for block in range(blocks):
        for dur in plain[block * len(plain) // blocks:(block + 1) * len(plain) // blocks]:
            put("Session", "unprofiled run", at, dur)
            at += dur + 5
        begin = at
        for node, dur in zip(("conv", "gemm"), NODES[name]):
            put("Node", node + "_kernel_time", at + 2, dur, op_name=node.capitalize(), provider="CPUExecutionProvider",
                node_index="0" if node == "conv" else "1")
            at += dur + 2
        if not name.startswith("few"):
            put("Session", "model_run", begin, profiled)
        at = begin + profiled + 5
    path = os.path.join(folder, name + ".json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(events))
    return path


def result_of(words, folder, table=None):
    done = neurolens([*words, "--format", "json"], cwd=folder, timeout=60)
    if done.status not in (0, 1, 3):
        tally.fail(" ".join(words[:2]), done.describe())
        return {}
    result = json.loads(done.stdout)["result"]
    return result[table] if table else result


def sentences(words, folder):
    """The sentences on top, each in a line."""
    head = neurolens(words, cwd=folder, timeout=60).stdout.split("A (before)")[0]
    return head.replace("\n  ", " ").splitlines() + ["", "", ""]


def mean_ns(name):
    return statistics.mean(PLAIN[name]) * 1000


def kept(folder, ledger):
    """ls, show, run.json and trend."""
    for name in ("a", "b"):
        done = neurolens(["add", name + ".json", "--ledger", ledger], cwd=folder)
        tally.check("add " + name, done.status == 0, done.describe())
    rows = result_of(["ls", "--ledger", ledger], folder)
    listed = sorted(next(v for k, v in row.items() if "mean_step_ns" in k) for row in rows)
    want = [mean_ns("a"), mean_ns("b")]
    tally.check("ls has the mean run without the profiler", max(abs(x - y) for x, y in zip(listed, want)) < 1, (listed, want))
    metrics = {row["name"]: row["value"] for row in result_of(["show", "@", "--ledger", ledger], folder, "metrics")}
    tally.check("show has it, and the steps under the profiler beside it", abs(metrics["mean_step_ns"] - want[1]) < 1 and
                abs(metrics["profiled_step_ns"] - 160000) < 1 and
                abs(metrics["steps_per_s"] - 1e9 / want[1]) < 1, metrics)
    neurolens(["export", "@", "--to", "run.json", "--ledger", ledger, "-o", "run.json"], cwd=folder)
    valid = neurolens(["validate", "run.json"], cwd=folder)
    with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
        steps = json.load(file)["steps"]
    found = {group["method"]: group for group in steps}
    tally.check("run.json: runs without the profiler are the steady steps, the others are profiled", valid.status == 0 and
                [item["dur_ns"] for item in found["unprofiled"]["items"]] == [us * 1000 for us in PLAIN["b"]] and
                {item["phase"] for item in found["unprofiled"]["items"]} == {"steady"} and
                not any(item["phase"] == "steady" for group in steps if group["method"] != "unprofiled"
                        for item in group["items"]), valid.describe() + str(steps)[:2000])
    again = {row["name"]: row["value"] for row in json.loads(neurolens(
        ["export", "run.json", "--to", "run.json", "-o", "-"], cwd=folder).stdout)["metrics"]}
    tally.check("run.json read again has the same", abs(again["mean_step_ns"] - want[1]) < 1 and
                abs(again["profiled_step_ns"] - 160000) < 1, again)
    for metric, values in (("mean_step_ns", want), ("step.p50", [statistics.median(PLAIN[n]) * 1000 for n in "ab"]),
                           ("latency.p50", [statistics.median(PLAIN[n]) * 1000 for n in "ab"]),
                           ("profiled_step_ns", [210000, 160000])):
        done = neurolens(["trend", metric, "--ledger", ledger, "--format", "json"], cwd=folder)
        text = re.sub(r"\s", "", done.stdout)
        told = [float(v) for v in re.findall(r'"(?:value|value_ns|%s)":([0-9.]+)' % re.escape(metric), text)]
        tally.check("trend " + metric, done.status == 0 and sorted(told)[:2] == sorted(values) or
                    all(any(abs(v - t) < 1 for t in told) for v in values), done.describe()[:1500])


def judged(folder):
    """check, diff and rank."""
    rules = ["--fail-on", "step.p50 > +10%", "--fail-on", "latency.p50 > +10%", "--fail-on", "profiled_step_ns > +10%"]
    rows = {row["metric"]: row for row in result_of(["check", "b.json", "-b", "a.json", *rules], folder, "rules")}
    value = {name: (row["base"], row["new"]) for name, row in rows.items()}
    want = tuple(statistics.median(PLAIN[n]) * 1000 for n in "ab")
    tally.check("check judges the runs without the profiler", value["step.p50"] == value["latency.p50"] == want and
                max(abs(x - y) for x, y in zip(value["profiled_step_ns"], (210000, 160000))) < 1, value)
    result = result_of(["diff", "a.json", "b.json"], folder)
    run, profiled = result["verdict"]
    tally.check("diff judges them", run["verdict"] == "slower" and run["unit"] == "run" and
                (run["base_ns"], run["new_ns"]) == want and
                run["base_samples"] == run["new_samples"] == 40 and abs(run["ratio"] - want[1] / want[0]) < 1e-9 and
                abs(run["median_ratio"] - want[1] / want[0]) < 1e-9, run)
    rows = result["attribution"]
    tally.check("and has a row of what its parts add up to", profiled["verdict"] is None and profiled["ratio"] is None and
                profiled["base_samples"] == 8 and profiled["change_ns"] == sum(row["change_ns"] for row in rows) < 0,
                (profiled, rows))
    lines = sentences(["diff", "a.json", "b.json"], folder)[:3]
    tally.check("its sentences tell the two apart", lines[0].startswith("Slower by 29.7 %") and
                "typical run without the profiler 101.0 µs → 131.0 µs" in lines[0] and "profiler: " in lines[1] and
                lines[1].startswith("Parts are of what ran under the profiler: ") and "200.0 µs → 150.0 µs" in lines[1], lines)
    back = result_of(["diff", "b.json", "a.json"], folder, "verdict")[0]
    tally.check("the other way round is faster", back["verdict"] == "faster" and
                abs(back["ratio"] * run["ratio"] - 1) < 1e-9, back)
    same = neurolens(["diff", "a.json", "a.json"], cwd=folder)
    tally.check("one recording twice is no difference", same.stdout.startswith("No difference: "), same.stdout[:300])
    ranked = result_of(["rank", "a.json", "b.json"], folder, "rank")
    tally.check("rank goes by them", [row["candidate"] for row in ranked] == ["a.json", "b.json"] and
                [row["time_ns"] for row in ranked] == [int(x) for x in want] and
                [row["steps"] for row in ranked] == [40, 40], ranked)


def stepless(folder):
    """Too few profiled runs for a steady step, and not the same number of them."""
    result = result_of(["diff", "few_a.json", "few_b.json"], folder)
    run, profiled = result["verdict"]
    tally.check("without a steady step: the verdict is of the runs without the profiler", run["verdict"] == "slower" and
                run["unit"] == "run" and run["base_samples"] == 40 and run["base_ns"] == statistics.median(PLAIN["few_a"]) * 1000 and
                profiled["base_samples"] is None, result["verdict"])
    lines = sentences(["diff", "few_a.json", "few_b.json"], folder)[:2]
    tally.check("no sentence has both", "101.0 µs → 131.0 µs" in lines[0] and "200" not in lines[0] and
                "101.0" not in lines[1] and lines[1].startswith("Parts are of what ran under the profiler: ") and
                lines[1].endswith("200.0 µs → 300.0 µs (+50.0 %)."), lines)


def one_sided(folder):
    """Only one side has such runs: then steps are compared."""
    with open(os.path.join(folder, "a.json"), encoding="utf-8") as file:
        events = [event for event in json.load(file) if event["name"] != "unprofiled run"]
    with open(os.path.join(folder, "alone.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(events))
    rows = result_of(["diff", "alone.json", "b.json"], folder, "verdict")
    tally.check("where one side has none, both are judged by their steps", len(rows) == 1 and rows[0]["unit"] != "run" and
                rows[0]["verdict"] == "faster", rows)


def main():
    with tempfile.TemporaryDirectory(prefix="neurolens-plainruns-") as folder:
        for name in PLAIN:
            write(folder, name)
        kept(folder, os.path.join(folder, "ledger"))
        judged(folder)
        stepless(folder)
        one_sided(folder)
    tally.finish()


if __name__ == "__main__":
    main()
