#!/usr/bin/env python3
"""`neurolens rank` on candidates whose truth is known."""
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Tally, neurolens  # noqa: E402
from plantedsteps import Plant, write  # noqa: E402


def candidate(folder, name, count=3, **changes):
    rng, mean = random.Random(name), 0
    for i in range(count):
        mean += write(os.path.join(folder, "%s%d.json" % (name, i)),
                      Plant(**dict(changes, capture=rng.gauss(0, 0.004), seed=rng.random()))) / count
    return ",".join("%s%d.json" % (name, i) for i in range(count)), mean


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
        pair = neurolens(["rank", fast, slow, "--quiet"], cwd=folder).stdout.splitlines()
        text = " ".join(pair[:9])
        tally.check("the sentences", text.startswith("Fastest: " + fast) and "(NVIDIA H100" in text and
                    "Recommendation: " + fast in text and "takes 1.6" in text, text)
        batch, _ = candidate(folder, "batch", batch=64)
        result = neurolens(["rank", slow, batch, "--quiet"], cwd=folder)
        tally.check("another batch is no ranking", result.status == 3 and "Not the same workload" in result.stdout,
                    result.stdout[:200])
        result = neurolens(["rank", "slow0.json", "nothing.json"], cwd=folder)
        tally.check("a file that is not there", result.status == 4, result.describe())
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
