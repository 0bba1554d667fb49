#!/usr/bin/env python3
"""One profile, one number: every command that tells the typical step, or what a step is made of, tells the same.

    agree.py

Made traces and files of the corpus, and samples where there are any. What is expected is worked out from the rows of
detected_steps; tests/oracle/diff.py works out where the devices ran the steps.
"""
import json
import os
import re
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Tally, forked as neurolens  # noqa: E402
from plantedsteps import Plant, write  # noqa: E402

SAMPLES = os.path.join(ROOT, "..", "shared", "samples")
RULES = ("step.p50", "step.mean", "step.count", "steps_per_s", "kernels.count", "compute.share", "exposed_comm.share",
         "exposed_copy.share", "idle.share", "memory.peak", "run.duration", "mean_step_ns", "kernels_per_step", "step_idle_share")
# what trend knows of them, too
SERIES = ("step.p50", "step.mean", "steps_per_s", "kernels.count", "compute.share", "exposed_comm.share",
          "exposed_copy.share", "idle.share", "memory.peak", "run.duration")
SAMPLE_NAMES = {"d3fb4076__worker0.pt.trace.json.gz": "a GPU that is behind its CPU",
                "brycelelbach+nsightful__tests__power_iteration__baseline.sqlite": "ranges of nsys",
                "merged_all_events.json.gz": "four ranks, and lanes of annotations that are no devices",
                "2737dae1__34.83.195.179_6003.xplane.pb": "steps that the devices mark themselves"}


def answer(*words):
    result = neurolens([*words, "--format", "json"], timeout=120)
    return json.loads(result.stdout)["result"] if result.stdout.startswith("{") else {}


def expected(profile):
    """Steady lengths; of several ranks the mean of their n-th."""
    result = neurolens(["sql", profile, "SELECT rank, dur FROM detected_steps WHERE phase = 'steady' AND dur > 0 "
                        "ORDER BY rank, ts", "--format", "json"])
    ranks = {}
    for row in json.loads(result.stdout)["result"]["rows"] if result.stdout.startswith("{") else []:
        rank, length = row.values() if isinstance(row, dict) else row
        ranks.setdefault(rank, []).append(length)
    most = max(map(len, ranks.values()), default=0)
    return len(ranks), [statistics.fmean(r[n] for r in ranks.values() if n < len(r)) for n in range(most)]


def close(a, b):
    return a == b or (a is not None and b is not None and abs(a - b) <= max(1, 1e-9 * abs(b)))


def close_share(a, b):
    return a == b or (a is not None and b is not None and abs(a - b) <= 1e-9)


def by_check(profile, rules=RULES):
    times = ("step.p50", "step.mean", "mean_step_ns", "profiled_step_ns", "wall_ns", "run.duration")
    words = [word for rule in rules for word in ("--fail-on", rule + (" < 1000000s" if rule in times else " < 900%" if rule.endswith(
        ("share", "mfu", "hfu")) else " < 100000000000000"))]
    return {row["metric"]: row["new"] for row in answer("check", profile, *words).get("rules", [])}


def whole_document(tally, folder, name, profile, known):
    """Every metric of the run document, and words of rules whether or not there are steps: run.json, check, show and trend have one number."""
    document = json.loads(neurolens(["export", profile, "--to", "run.json", "-o", "-"], timeout=120).stdout)
    metrics = {row["name"]: row["value"] for row in document["metrics"]}
    check = by_check(profile, tuple(metrics) + SERIES)
    book = by_ledger(folder, "document-" + name.replace(" ", "-"), profile, SERIES + ("peak_memory_bytes",))
    shown = {row["name"]: row["value"] for row in answer("show", "@", "--ledger", os.path.join(folder, "ledger-document-" + name.replace(" ", "-")))["metrics"]}
    wrong = {metric: (value, check.get(metric), shown.get(metric)) for metric, value in metrics.items()
             if not close_share(value, check.get(metric)) and not close(value, check.get(metric)) or shown.get(metric) != value}
    tally.check("%s: %d metrics of run.json are those of check and show" % (name, len(metrics)), not wrong and len(metrics) > 20, wrong)
    wrong = {metric: (book[metric], check[metric]) for metric in SERIES if not close_share(book[metric], check[metric]) and not close(book[metric], check[metric])}
    tally.check("%s: trend and check have the same %d numbers" % (name, len(SERIES)), not wrong and
                all(check[metric] is not None for metric in known) and book["peak_memory_bytes"] == check["memory.peak"], [wrong, check])


def by_ledger(folder, name, profile, series):
    ledger = os.path.join(folder, "ledger-" + name)
    neurolens(["add", profile, "--ledger", ledger], timeout=120)
    values = {}
    for metric in series:
        points = answer("trend", metric, "--ledger", ledger).get("series", [])
        values[metric] = points[0]["value"] if points else None
    listed = answer("ls", "--ledger", ledger)
    rows = listed if isinstance(listed, list) else listed.get("runs", [])
    values["ls"] = rows[0]["metrics.mean_step_ns"] if rows else None
    shown = {row["name"]: row["value"] for row in answer("show", "@", "--ledger", ledger).get("metrics", [])}
    values["show"] = shown.get("mean_step_ns")
    return values


def ask(tally, folder, name, profile, series=SERIES):
    ranks, lengths = expected(profile)
    if not lengths:
        return tally.fail("%s: has steady steps" % name, profile)
    typical, mean = statistics.median(lengths), statistics.fmean(lengths)
    check, book = by_check(profile), by_ledger(folder, name.replace(" ", "-"), profile, series)
    said = {"check step.p50": (check["step.p50"], typical), "check step.mean": (check["step.mean"], mean),
            "check step.count": (check["step.count"], len(lengths)), "check mean_step_ns": (check["mean_step_ns"], mean),
            "trend step.p50": (book["step.p50"], typical), "trend step.mean": (book.get("step.mean", mean), mean),
            "ls": (book["ls"], mean), "show": (book["show"], mean)}
    verdict = answer("diff", profile, profile).get("verdict", [{}])[0]
    if verdict.get("unit") == "step":
        said["diff"] = (verdict["base_ns"], mean)
    ranked = answer("rank", profile, profile)
    if verdict.get("unit") == "step" and ranks == 1:
        said["rank"] = (ranked["rank"][0]["time_ns"], typical)
    headline = " ".join(ranked.get("headline", []))
    tally.check("%s: rank speaks of the time of a step where it compares steps alone" % name,
                ("a step takes" in headline) == (verdict.get("unit") == "step"), headline[:200])
    report = answer("analyze", profile, "--section", "step_summary")
    rows = report.get("step_summary", [])
    if ranks == 1:
        said["analyze p50"] = (rows[0]["p50_ns"], typical)
        said["analyze mean"] = (rows[0]["mean_ns"], mean)
        said["analyze count"] = (rows[0]["count"], len(lengths))
    else:
        text = " ".join(neurolens(["analyze", profile, "--section", "step_summary"], timeout=120).stdout.split())
        told = text.split("a step being the mean of their n-th: ", 1)[-1].split("(", 1)[-1].split(" ns", 1)[0]
        said["analyze, of all ranks"] = (int(told) if told.isdigit() else None, typical)
    wrong = {who: pair for who, pair in said.items() if not close(*pair)}
    tally.check("%s: %d commands have one typical step, %.6g ms" % (name, len(said), typical / 1e6), not wrong, wrong)
    pairs = {metric: (book[metric], check[metric]) for metric in series[1:] if metric != "step.mean"}
    pairs["kernels_per_step"] = (check["kernels_per_step"], check["kernels.count"] if check["kernels_per_step"] is not None else None)
    wrong = {metric: pair for metric, pair in pairs.items() if not close_share(*pair)}
    tally.check("%s: what a step is made of: trend and check have the same %d numbers" % (name, len(pairs)), not wrong, wrong)


def states(folder):
    """Two functions of a thread, waits of a helper, asynchronous requests and overhead: of 230 ms of self time a thread works in 81."""
    def slice_of(name, ts, dur, tid, **more):
        return {"ph": "X", "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, **more}
    events = [slice_of("prepare" if i % 4 else "decode", i * 2000, 2000, 1) for i in range(40)]
    events += [slice_of("wait (threading.py:589)", 0, 50_000, 2), slice_of("buffer flush", 80_000, 1000, 1, cat="overhead")]
    events += [{"ph": ph, "cat": "requests", "name": "request", "id": 7, "pid": 1, "tid": 3, "ts": ts} for ph, ts in (("b", 0), ("e", 99_000))]
    path = os.path.join(folder, "states.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)
    return path


def shares(tally, name, profile, least=0.0):
    """The first sentence and the table that it is about have the same shares, and these add up to 1."""
    result = answer("analyze", profile, "--no-cache")
    sentence = result["answer"]["sentence"]
    said = [float(text) for text in re.findall(r"\(([\d.]+) %, [\d,]+ calls?\)", sentence)]
    table = {"ranges": "nvtx", "slices": "others", "operators": "ops", "Python functions": "python", "layers": "layers"}
    kind = re.search(r"of the self time of (.*?)(?: in which a thread works)?: ", sentence)
    rows = result.get(table.get(kind.group(1)), []) if kind else []
    work = sorted((row for row in rows if row["share"] is not None), key=lambda row: -row["self_ns"])
    top = [100 * row["share"] for row in work if row.get("kind") != "overhead"][:3]
    tally.check("%s: the first sentence and the table have the same shares" % name, len(said) == len(top) > 0 and
                all(abs(a - b) <= (0.5 if a >= 10 else 0.05) for a, b in zip(said, top)), [sentence, top])
    tally.check("%s: shares are of what has one, and said so where something has none" % name,
                abs(sum(row["share"] for row in work) - 1) < 1e-9 and sum(row["self_ns"] for row in rows if row["share"] is None) >= least and
                ("in which a thread works" in sentence) == any(row["share"] is None and row["self_ns"] for row in rows), [sentence, rows[:9]])


def main():
    tally = Tally("agree")
    with tempfile.TemporaryDirectory() as folder:
        made = {"marked": Plant(steps=10, seed=1), "a CPU that runs ahead": Plant(steps=10, ahead=True, seed=2),
                "no marks": Plant(steps=10, mark=None, seed=3)}
        for name, plant in made.items():
            path = os.path.join(folder, name.replace(" ", "-") + ".json")
            write(path, plant)
            ask(tally, folder, name, path)
        here = os.path.dirname(os.path.abspath(__file__))
        ask(tally, folder, "steps that the device marks", os.path.join(here, "corpus/xplane/gpu.xplane.pb"))
        ask(tally, folder, "no device", os.path.join(here, "fixtures/torch_cpu_ddp_rank0.json.gz"))
        whole_document(tally, folder, "no device, memory of the host", os.path.join(here, "fixtures/torch_cpu_train.json.gz"), ["memory.peak", "run.duration"])
        path = os.path.join(folder, "no-steps.json")  # one launch a kernel, none a period
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k%d" % i, "pid": 0, "tid": 7, "ts": 100 + i * i * 10, "dur": 5 + i,
                                        "args": {"device": 0, "stream": 7}} for i in range(9)]}))
        whole_document(tally, folder, "no steps", path, ["kernels.count", "compute.share", "idle.share"])
        shares(tally, "states, waits and overhead", states(folder), 149e6)
        if not os.path.isdir(SAMPLES):
            tally.skip("samples", "no ../shared")
        else:
            paths = {name: os.path.join(at, name) for at, _, names in os.walk(SAMPLES) for name in names if name in SAMPLE_NAMES}
            for name, path in sorted(paths.items()):
                ask(tally, folder, SAMPLE_NAMES[name], path, ("step.p50", "kernels.count", "idle.share"))
            shares(tally, "ranges of several domains", os.path.join(SAMPLES, "nsys", "YoonKyonghwan+EfficientCenterFormer__poolformer.sqlite"), 2e9)
    tally.finish()


if __name__ == "__main__":
    main()
