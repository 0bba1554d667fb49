#!/usr/bin/env python3
"""Changes of a known kind must be told in the first five lines of `neurolens diff`."""
import json
import os
import random
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Tally, forked as neurolens  # noqa: E402
from plantedsteps import Plant, write  # noqa: E402

FUSED = (("gelu_kernel", "bias_add"), ("triton_fused_gelu_add", 110))
SPLIT = ("flash_fwd", [("softmax_kernel", 140), ("bmm_kernel", 130)])

# what, what B is made of, what the first five lines must say (all), what they must not (any), status
CASES = [
    ("nothing", {}, ["No significant change|Inconclusive: [-+]0"], ["Slower|Faster|Reordered"], 0),
    ("a kernel is renamed", {"names": {"flash_fwd": "flash_fwd_v3"}},
     ["No significant change|Inconclusive: [-+]0", "Renamed.*flash_fwd → flash_fwd_v3"],
     ["Slower|Faster", "added|removed"], 0),
    ("one operator is 10 % slower", {"scale": {"sgemm_qkv": 1.1}},
     ["Slower by 3", r"sgemm_qkv \+1[678].\.. (us|µs).*a call .*\+(9\.9|10\.[01])"], [], 0),
    ("the GPU is steps behind, and one operator is 10 % slower", {"ahead": True, "scale": {"sgemm_qkv": 1.1}},
     ["Slower by 3", r"sgemm_qkv \+1[678].\.. (us|µs).*a call .*\+(9\.[6-9]|10\.[0-4])"], ["Hidden"], 0),
    ("two kernels are fused", {"fuse": FUSED},
     ["Faster by 7", r"triton_fused_gelu_add \(fused\) -42", "was .*gelu_kernel"],
     ["added", "removed"], 0),
    ("a kernel is split", {"split": SPLIT},
     ["Slower", r"softmax_kernel.*\(split\).*\+41|\(split\) \+4[12]", "was flash_fwd"], ["added", "removed"], 0),
    ("two operators are reordered", {"order": ("gelu_kernel", "bias_add")},
     ["No significant change|Inconclusive: [-+]0", r"Reordered: bias_add runs before gelu_kernel now \(12 of 32 places differ\)"],
     ["Slower|Faster", "added|removed|renamed|Renamed|replaced"], 0),
    ("calls synchronise", {"sync": 6}, ["Slower", "idle, host-bound: cudaDeviceSynchronize"], [], 0),
    ("data comes late", {"loader": 900}, ["Slower by 1", r"host-bound: enumerate\(DataLoader\)"], [],
     0),
    ("another batch", {"batch": 64, "scale": {"sgemm_qkv": 2, "sgemm_out": 2, "flash_fwd": 2}},
     [r"Cannot compare: batch.*A has 32, B has 64"], ["Slower", "clocks"], 3),
    ("another GPU", {"device": "NVIDIA H100 80GB HBM3", "clock": 0.5},
     ["Cannot compare: device model: A has NVIDIA A100.*B has NVIDIA H100"], ["Faster", "clocks"], 3),
    ("one step fewer", {"steps": 19}, ["No significant change|Inconclusive: [-+]0"],
     ["Slower|Faster"], 0),
    ("clocks are 5 % lower", {"clock": 1.05}, ["Slower by [45]", "Every kernel takes 5.*clocks"], [], 0),
    ("a hidden all-reduce is 80 % slower", {"reduce": 1.8},
     ["Hidden behind other work: ncclDevKernel.*a call 250.* → 450"], [], 0),
    ("every tenth step is 50 % slower", {"slow_steps": {9: 1.5, 19: 1.5, 29: 1.5, 39: 1.5, 49: 1.5, 59: 1.5},
                                         "steps": 60},
     ["on average", "steps in B|in B take over 1.1"], ["No significant", "clocks"], 0),
    ("two of five steps are 20 % slower", {"slow_steps": {i: 1.2 for i in range(60) if i % 5 < 2},
                                           "steps": 60}, ["Slower by [678].* on average|Slower"], ["No significant", "clocks"], 0),
]


# of the same pairs, what the first five lines of `check` must say, and its status
CHECKS = {"nothing": ("^Pass", 0), "a kernel is renamed": ("^Pass.*Renamed.*flash_fwd → flash_fwd_v3", 0),
          "one operator is 10 % slower": ("^Regression: step.p50.*sgemm_qkv .*a call .*[+](9.9|10.[01])", 1),
          "two kernels are fused": (r"^Pass: step.p50 -[78].*triton_fused_gelu_add \(fused\).*was .*gelu_kernel", 0),
          "a kernel is split": (r"^Regression.*\(split\).*was flash_fwd", 1),
          "calls synchronise": ("idle, host-bound: cudaDeviceSynchronize", None),
          "another batch": ("^Cannot compare: batch", 3), "another GPU": ("^Cannot compare: device model", 3),
          "one step fewer": ("^Pass", 0), "clocks are 5 % lower": ("^Regression.*Every kernel takes 5.*clocks", 1),
          "two of five steps are 20 % slower": ("^Pass.*But the mean step takes [678].*step.mean", 0)}


def captures(folder, name, changes, count, rng):
    paths = []
    for i in range(count):
        path = os.path.join(folder, "%s%d.json" % (name, i))
        write(path, Plant(**dict(changes, capture=rng.gauss(0, 0.004), seed=rng.random())))
        paths.append(os.path.basename(path))
    return ",".join(paths)


def check(tally, folder, case, count):
    what, changes, must, never, status = case
    rng = random.Random(what)
    steps = {"steps": changes["steps"]} if changes.get("steps", 20) > 20 else {}
    steps.update({"ahead": True} if changes.get("ahead") else {})
    a = captures(folder, "a", steps, count, rng)
    b = captures(folder, "b", changes, count, rng)
    result = neurolens(["diff", a, ":", b, "--no-cache", "--quiet"], cwd=folder)
    lines = " ".join(line.strip() for line in result.stdout.splitlines()[:5])
    wrong = ["not told: " + m for m in must if not re.search(m, lines)]
    wrong += ["told: " + m for m in never if re.search(m, lines)]
    if result.status != status:
        wrong.append("status %d: %s" % (result.status, result.stderr))
    if what in CHECKS:
        said, exits = CHECKS[what]
        gate = neurolens(["check", b, "--baseline", a, "--no-cache", "--quiet"], cwd=folder)
        five = " ".join(line.strip() for line in gate.stdout.splitlines()[:5])
        if not re.search(said, five) or gate.status != exits and exits is not None:
            wrong.append("check, status %d: %s" % (gate.status, five))
    tally.check("%s, %d captures a side" % (what, count), not wrong,
                "\n    ".join(wrong + result.stdout.splitlines()[:8]))


def rows_of(folder, a, b, section):
    result = neurolens(["diff", a, ":", b, "--no-cache", "--quiet", "--format", "json"], cwd=folder)
    return json.loads(result.stdout)["result"]


def invariants(tally, folder):
    """Several captures a side: parts add up to the change in whole ns, the other way round is the negative, and a side
    beside itself is nothing."""
    rng = random.Random(5)
    a = captures(folder, "a", {"steps": 7}, 3, rng)
    b = captures(folder, "b", {"fuse": FUSED, "scale": {"sgemm_qkv": 1.07}, "steps": 9}, 2, rng)
    there, back, same = (rows_of(folder, *pair, None) for pair in ((a, b), (b, a), (a, a)))
    verdict = there["verdict"][0]
    for section in "parts", "attribution", "operators":
        for what in "base_ns", "new_ns", "change_ns":
            total = sum(row[what] for row in there[section])
            tally.check("%s of %s add up" % (what, section), total == verdict[what], (total, verdict[what]))
    mirror = sorted((row["part"], row["base_name"] or row["name"], row["new_ns"], row["base_ns"])
                    for row in there["attribution"])
    plain = sorted((row["part"], row["name"], row["base_ns"], row["new_ns"]) for row in back["attribution"])
    tally.check("the other way round is the negative", mirror == plain and
                {verdict["verdict"], back["verdict"][0]["verdict"]} in ({"slower", "faster"}, {"no change"},
                                                                          {"inconclusive"}),
                [x for x in mirror if x not in plain][:3])
    tally.check("a side beside itself is nothing", all(row["change_ns"] == 0 for row in same["attribution"]) and
                same["verdict"][0]["verdict"] == "no change" and same["headline"][0].startswith("No difference"),
                same["headline"][0])


def repeated(tally, folder):
    """Files of one rank in a folder are captures; the parts are those of the files."""
    place = os.path.join(folder, "cycles")
    os.mkdir(place)
    for i in range(2):
        write(os.path.join(place, "c%d.json" % i), Plant(seed=i, steps=8))
    whole = rows_of(folder, "cycles", "cycles/c0.json,cycles/c1.json", None)
    verdict = whole["verdict"][0]
    tally.check("a folder of repeats is several captures", verdict["base_captures"] == 2 and verdict["change_ns"] == 0 and
                all(row["change_ns"] == 0 for row in whole["parts"]), verdict)


def main():
    tally = Tally("planted")
    with tempfile.TemporaryDirectory(prefix="neurolens-planted-") as folder:
        for case in CASES:
            check(tally, folder, case, 3)
        invariants(tally, folder)
        repeated(tally, folder)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
