#!/usr/bin/env python3
"""Reports that were kept in a file look exactly like computed ones: over all fixtures, the corpus and,
where they are, the samples in ../shared, under windows and with few and all rows (tests/unit/reopen.c)."""
import os
import subprocess

from harness import FIXTURES, PROGRAM, ROOT, TESTS, Tally, environment, scratch

SAMPLES = os.path.join(ROOT, "..", "shared", "samples")
REOPEN = os.path.join(os.path.dirname(PROGRAM), "tests", "unit", "reopen")
LARGEST = 1 << 20  # of samples: larger ones hold more of the same


def files(folder, largest):
    for path, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            file = os.path.join(path, name)
            if os.path.getsize(file) <= largest and not name.endswith((".py", ".md")):
                yield file


def main():
    tally = Tally("reopen")
    for name, folder in (("fixtures", FIXTURES), ("corpus", os.path.join(TESTS, "corpus")),
                         ("samples", SAMPLES)):
        if not os.path.isdir(folder):
            tally.skip(name, "no ../shared")
            continue
        done = subprocess.run([REOPEN, scratch(), *files(folder, LARGEST)], timeout=500,
                              env=environment(scratch()), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        said = done.stdout.decode("utf-8", "replace")
        summary = [line for line in said.splitlines() if line.startswith("ok reopen: ")]
        count = int(summary[0].split()[2]) if summary else 0
        tally.check("%s: %s" % (name, summary[0][len("ok reopen: "):] if summary else "nothing"),
                    done.returncode == 0 and count > 0, said[-4000:])
    tally.finish()


main()
