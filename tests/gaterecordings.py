#!/usr/bin/env python3
"""The gate on real captures: one CPU program, recorded 20 times on this machine, noisy as it is. Hardly an alarm in 50
random splits at 5 %; a layer that takes 40 % longer is found and named."""
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import PROGRAM as NEUROLENS, Tally, neurolens  # noqa: E402

PROGRAM = """
import sys, time
sys.path.insert(0, %r)
import nlens

def work(ms):
    end = time.process_time_ns() + int(ms * 1e6)
    while time.process_time_ns() < end:
        pass

slow = float(sys.argv[1])
for i in range(15):
    with nlens.step(i):
        with nlens.layer("embedding"):
            work(0.4)
        with nlens.layer("attention"):
            work(2.0 * slow)
        with nlens.layer("head"):
            work(0.6)
"""


def record(folder, program, name, slow):
    path = os.path.join(folder, name + ".nlt")
    result = neurolens(["run", "-o", path, "--native", "off", "--python", "off", "--quiet", "--", sys.executable, program,
                        str(slow)], timeout=120, cwd=folder)
    return path if result.status == 0 and os.path.exists(path) else result


def check(folder, new, old, *words):
    return neurolens(["check", ",".join(new), "-b", ",".join(old), "--quiet", *words], cwd=folder, timeout=120)


def spread_of(captures):
    """Half the distance of the quartiles of the captures' median steps, as a share of their median."""
    medians = []
    for path in captures:
        result = neurolens(["sql", "--no-cache", "--format", "csv", path, "SELECT dur FROM steps ORDER BY 1"])
        steps = [int(line) for line in result.stdout.split()[1:]]
        medians.append(steps[len(steps) // 2])
    medians.sort()
    return (medians[3 * len(medians) // 4] - medians[len(medians) // 4]) / 2 / medians[len(medians) // 2]


def main():
    tally = Tally("gaterecordings")
    with tempfile.TemporaryDirectory(prefix="neurolens-gate-") as folder:
        program = os.path.join(folder, "program.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(PROGRAM % os.path.join(os.path.dirname(NEUROLENS), "python"))
        captures = [record(folder, program, "same%d" % i, 1.0) for i in range(20)]
        bad = [c for c in captures if not isinstance(c, str)]
        if bad:
            tally.skip("real captures", "the program could not be recorded: " + bad[0].stderr.strip()[-200:])
            return tally.finish()
        rng, alarms, unsure = random.Random(7), [], 0
        for _ in range(50):
            rng.shuffle(captures)
            result = check(folder, captures[:10], captures[10:], "--fail-on", "step.p50 > +5%")
            alarms += [result.stdout.splitlines()[0]] if result.status == 1 else []
            unsure += result.status == 3
        # The gate promises at most 1 % of false alarms a comparison. Fifty splits of the same captures depend on each
        # other: one that is off by chance is off in several, so up to three are chance, more are a fault.
        tally.check("50 splits of 20 captures: %d alarms (%d inconclusive)" % (len(alarms), unsure), len(alarms) <= 3,
                    "\n    ".join(alarms))
        spread = spread_of(captures)
        if spread > 0.1:
            tally.skip("a layer that takes 40 % longer", "steps of the same program differ by %.0f %% here: too busy a machine" % (100 * spread))
            return tally.finish()
        slow = [record(folder, program, "slow%d" % i, 1.4) for i in range(6)]
        result = neurolens(["diff", ",".join(captures[:6]), ":", ",".join(slow), "--quiet"], cwd=folder, timeout=120)
        lines = " ".join(result.stdout.splitlines()[:5])
        tally.check("a layer that takes 40 % longer is named", lines.startswith("Slower by") and "attention" in lines, lines)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
