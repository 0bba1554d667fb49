#!/usr/bin/env python3
"""`neurolens rank` on candidates whose truth is known."""
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Tally, forked as neurolens  # noqa: E402
from plantedsteps import KERNELS, Plant, write  # noqa: E402


def candidate(folder, name, count=3, **changes):
    rng, mean = random.Random(name), 0
    for i in range(count):
        mean += write(os.path.join(folder, "%s%d.json" % (name, i)),
                      Plant(**dict(changes, capture=rng.gauss(0, 0.004), seed=rng.random()))) / count
    return ",".join("%s%d.json" % (name, i) for i in range(count)), mean


def other_work(tally, folder, fast):
    """What a diff refuses a ranking refuses, too; another backend may fuse, and name what it does as it likes."""
    mask = [name for name, _, _ in KERNELS]
    fused, _ = candidate(folder, "fused", fuse=(tuple(mask), ("all_in_one", 3000)), clock=0.6)
    named, _ = candidate(folder, "named", names={name: "other_" + name for name in mask}, ops="other::")
    for name, other in (("operations in a step: 33 against 3", fused), ("no name of an operator in common", named)):
        result = neurolens(["rank", fast, other, "--quiet"], cwd=folder)
        said = " ".join(result.stdout.split())
        diff = neurolens(["diff", fast, other, "--format", "json", "--quiet"], cwd=folder)
        facts = json.loads(diff.stdout)["result"]["comparability"]
        against = {row["fact"] for row in facts if row["decides"] == "yes" and row["agrees"] == "no"} - {"device model"}
        tally.check("%s: no ranking, as diff says" % name, result.status == 3 and said.startswith("Not the same workload; by time alone") and
                    "Recommendation: none" in said and against, (said[:200], against))
    corpus = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "ort")
    result = neurolens(["rank", os.path.join(corpus, "cuda.json"), os.path.join(corpus, "tensorrt_fused.json"), "--quiet"])
    tally.check("other execution providers are ranked", result.status == 0 and result.stdout.startswith("Fastest: "), result.stdout[:200])
    samples = os.path.join(ROOT, "..", "shared", "samples")
    if not os.path.isdir(samples):
        return tally.skip("samples that do other work", "no ../shared")
    healthy = os.path.join(samples, "nsys", "GindaChen+nsys-ai__tests__fixtures__healthy_")
    sync = os.path.join(samples, "torch/facebookresearch+HolisticTraceAnalysis/tests/data/critical_path/cuda_event_sync")
    for what, pair, fact in (("400 GPU operations against 20", (healthy + "1pct.sqlite", healthy + "judged_1pct.sqlite"), "GPU operations"),
                             ("other operators", (sync, sync + "_multi_stream"), "names of operators")):
        result = neurolens(["rank", *pair, "--format", "json", "--quiet"])
        rows = json.loads(result.stdout)["result"]["conditions"]
        tally.check("a sample: " + what, result.status == 3 and fact in {row["fact"] for row in rows if row["decides"] == "yes" and row["agrees"] == "no"}, rows)


def same_times(tally, folder):
    """Two captures of which nothing shows how they vary, and nothing differs: no interval is made up."""
    write(os.path.join(folder, "short.json"), Plant(steps=3, seed=1))
    write(os.path.join(folder, "again.json"), Plant(steps=3, seed=1))
    result = neurolens(["rank", "short.json", "again.json", "--format", "json", "--quiet"], cwd=folder)
    answer = json.loads(result.stdout)["result"]
    row = answer["rank"][1]
    tally.check("identical captures take the same time, without an interval", result.status == 0 and row["ratio"] == 1 and row["ratio_low"] is None and
                row["ratio_high"] is None and row["tie"] == "yes" and "; again.json takes the same time" in answer["headline"][0] and
                "a tie" in " ".join(answer["headline"]), answer["headline"])


def main():
    tally = Tally("rank")
    with tempfile.TemporaryDirectory(prefix="neurolens-rank-") as folder:
        slow, slow_us = candidate(folder, "slow")
        fast, fast_us = candidate(folder, "fast", clock=0.6, device="NVIDIA H100 80GB HBM3")
        tied, _ = candidate(folder, "tied", clock=0.6, device="NVIDIA H200")
        odd, _ = candidate(folder, "odd", clock=0.7, scale={"flash_fwd": 0.3})
        result = neurolens(["rank", slow, fast, tied, odd, "--format", "json", "--quiet"], cwd=folder)
        answer = json.loads(result.stdout)["result"]
        rows = {row["candidate"]: row for row in answer["rank"]}
        last = answer["rank"][-1]
        tally.check("the order", result.status == 0 and last["candidate"] == slow and
                    {answer["rank"][0]["candidate"], answer["rank"][1]["candidate"]} <= {fast, tied, odd}, answer["rank"])
        best = answer["rank"][0]["time_ns"]
        tally.check("ratios with intervals", abs(last["ratio"] - slow_us * 1000 / best) < 0.05 and
                    last["ratio_low"] < last["ratio"] < last["ratio_high"] and last["tie"] == "no", last)
        fast_places = abs(rows[fast]["place"] - rows[tied]["place"])
        tally.check("the tie", fast_places == 1 and abs(rows[fast]["time_ns"] - rows[tied]["time_ns"]) < 0.02 * best,
                    answer["rank"])
        operators = {row["name"]: row for row in answer["operators"]}
        tally.check("who is fastest where", operators["aten::attention"]["fastest"] == odd and
                    operators["aten::mm"]["fastest"] in (fast, tied), operators.get("aten::attention"))
        kernel = operators["aten::attention"]
        slow_ns, odd_ns = (kernel["time_%d_ns" % rows[one]["place"]] for one in (slow, odd))
        tally.check("through which kernel, and how surely", "flash_fwd" in kernel["because"] and kernel["tie"] == "no" and
                    kernel["speedup_low"] < 1 / 0.3 / 0.7 < kernel["speedup_high"] and
                    abs(slow_ns / odd_ns * 0.3 * 0.7 - 1) < 0.02, kernel)
        speedups = {(row["level"], row["name"], row["candidate"]): row for row in answer["speedups"]}
        alike = speedups["operators", "aten::mm", tied], speedups["operators", "aten::mm", fast]
        tally.check("of every candidate", sorted(row["tie"] or "" for row in alike) == ["", "yes"] and
                    speedups["kernels", "flash_fwd", odd]["ratio"] == 1, alike)
        sums = {}
        for level in "operators", "ranges", "kernels":
            for n in range(1, 5):
                sums.setdefault(n, set()).add(sum(row["time_%d_ns" % n] or 0 for row in answer[level]))
        tally.check("every level adds up to the same", all(len(values) == 1 for values in sums.values()), sums)
        priced = neurolens(["rank", fast, odd, "--price", "h100=5", "--price", odd + "=1", "--format", "json", "--quiet"], cwd=folder)
        answer = json.loads(priced.stdout)["result"]
        cost = {row["candidate"]: row for row in answer["cost"]}
        choice = {row["aim"]: row for row in answer["recommendation"]}
        tally.check("prices", all(abs(cost[one]["price_usd"] - usd * rows[one]["time_ns"] / 3.6e12) < 1e-12 for one, usd in ((fast, 5), (odd, 1)))
                    and choice["price"]["choose"] == odd and choice["time"]["choose"] == answer["rank"][0]["candidate"] and
                    choice["energy"]["choose"] is None and "batch size" in choice["time"]["not_known"], (answer["cost"], choice))
        for price in "H100", "=2", "H100=much", "H100=-1", "H100=inf", "MI300=2":
            wrong = neurolens(["rank", fast, slow, "--price", price, "--quiet"], cwd=folder)
            tally.check("--price %s" % price, wrong.status == 2 and "--price" in wrong.stderr, wrong.describe())
        wrong = neurolens(["rank", fast, slow, "--section", "module"], cwd=folder)
        tally.check("--section module", wrong.status == 2 and "did you mean modules" in wrong.stderr, wrong.describe())
        pair = neurolens(["rank", fast, slow, "--quiet"], cwd=folder).stdout.splitlines()
        text = " ".join(pair[:9])
        tally.check("the sentences", text.startswith("Fastest: " + fast) and "(NVIDIA H100" in text and
                    "Recommendation: " + fast in text and "takes 1.6" in text, text)
        batch, _ = candidate(folder, "batch", batch=64)
        result = neurolens(["rank", slow, batch, "--quiet"], cwd=folder)
        tally.check("another batch is no ranking", result.status == 3 and "Not the same workload" in result.stdout,
                    result.stdout[:200])
        bare, _ = candidate(folder, "bare", mark=None)
        result = neurolens(["rank", slow, fast, bare, "--format", "json", "--quiet"], cwd=folder)
        answer = json.loads(result.stdout)["result"]
        steps = [row for row in answer["conditions"] if row["fact"] == "steps"]
        times = {row["candidate"]: row["time_ns"] for row in answer["rank"]}
        tally.check("steps of three are found in one way", len(steps) == 2 and
                    {row[side] for row in steps for side in ("fastest", "other")} == {"periods of launches"} and
                    abs(times[bare] / times[slow] - 1) < 0.01, (steps, times))
        other, _ = candidate(folder, "other", mark="iteration %d")
        result = neurolens(["rank", fast, other, "--quiet"], cwd=folder)
        text = " ".join(result.stdout.split())
        tally.check("steps of different marks are said first", result.status == 0 and
                    text.startswith('Steps were found in different ways (marked in %s, ranges "iteration #" in %s). Fastest: %s'
                                    % (fast, other, fast)), text[:300])
        strange, _ = candidate(folder, "strange", mark="iteration %d", names={name: "other_" + name for name, _, _ in KERNELS},
                               ops="other::")
        result = neurolens(["rank", fast, strange, "--quiet"], cwd=folder)
        text = " ".join(result.stdout.split())
        tally.check("different marks and nothing in common are no ranking", result.status == 3 and
                    text.startswith("Not known to be the same work: no name is in two of them") and
                    "Recommendation: none" in text, text[:300])
        nodes = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "ort", name) for name in ("cuda.json", "tensorrt_fused.json")]
        answer = json.loads(neurolens(["rank"] + nodes + ["--format", "json", "--quiet"]).stdout)["result"]
        types = {row["name"]: row for row in answer["types"]}
        tally.check("kinds of nodes, and what one alone has", types["Conv"]["time_1_ns"] == 28000 and types["Conv"]["fastest"] is None and
                    sum(row["time_2_ns"] or 0 for row in answer["types"]) == 4000000 and
                    " has TRTKernel_graph_main_graph_123_0 (4.000 ms)" in " ".join(answer["headline"]) and
                    "only %s has Conv" % nodes[0] in " ".join(answer["headline"]), answer)
        other_work(tally, folder, fast)
        same_times(tally, folder)
        result = neurolens(["rank", "slow0.json", "nothing.json"], cwd=folder)
        tally.check("a file that is not there", result.status == 4, result.describe())
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
