#!/usr/bin/env python3
"""No share is over 1, and none is below 0, in any answer about any profile without that being said: every number
of `analyze --all` and `fingerprint` whose name says that it is a share. Of a roof more than all can be reached
(a cache had the data, a peak is wrong): the note below the table says so.

    tests/shares.py          the small profiles of the repository and some of ../shared
    tests/shares.py --all    everything in ../shared, too (`make shares`)
"""
import json
import os
import re
import sys

from harness import TESTS, Tally, forked as neurolens

SHARED = os.path.join(TESTS, "..", "..", "shared", "samples")
SHARE = re.compile(r"(^|_)share$|^(mfu|hfu)$")
SLACK = 1e-9       # of sums of fractions
SOME = 24          # profiles of ../shared in a usual run, those of the smallest numbers by the hash of their path
LARGEST = 1 << 20  # bytes of them
QUESTIONS = (["analyze", "--all"], ["fingerprint"])
tally = Tally("shares")


def wrong(node, path=""):
    """Places of numbers that are called shares and are none."""
    if isinstance(node, dict):
        for key, value in node.items():
            here = path + "." + key
            if node.get("what") == "over the roof":
                continue
            if isinstance(value, (int, float)) and not isinstance(value, bool) and SHARE.search(key):
                if not -SLACK <= value <= 1 + SLACK:
                    yield "%s = %r" % (here, value)
            else:
                yield from wrong(value, here)
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from wrong(value, "%s[%d]" % (path, i))


def is_said(path, place):
    """Does the table tell that its shares of a roof are over 1?"""
    table, key = re.match(r"\.result\.(\w+)\[\d+\]\.(\w+) = ", place).groups()
    if key not in ("roof_share", "hfu", "mfu"):
        return False
    text = neurolens(["analyze", path, "--section", table, "--no-cache", "-j", "1"]).stdout
    return "over 100 % of the" in " ".join(text.split())


def of_repository():
    for folder in ("fixtures", "corpus"):
        for here, _, names in os.walk(os.path.join(TESTS, folder)):
            for name in names:
                yield os.path.join(here, name)


def of_shared(all_of_them):
    found = []
    for here, _, names in os.walk(SHARED):
        found += [os.path.join(here, name) for name in names]
    found.sort()
    if all_of_them:
        return found
    small = [path for path in found if 20000 < os.path.getsize(path) < LARGEST]
    return small[::max(1, len(small) // SOME)][:SOME]


def judge(path):
    """The number of answers that there were, and what is wrong in them."""
    answers, faults = 0, []
    for words in QUESTIONS:
        done = neurolens([*words, path, "--format", "json", "--no-cache", "-j", "1"], timeout=120)
        if done.status == 0:
            answers += 1
            found = list(wrong(json.loads(done.stdout)))
            said = {}
            for fault in found:
                table = re.split(r"\[", fault)[0] + fault.split(" = ")[0].split(".")[-1]
                if table not in said:
                    said[table] = words[0] == "analyze" and "[" in fault and is_said(path, fault)
                if not said[table]:
                    faults.append("%s: %s" % (words[0], fault))
    return answers, faults


def main():
    every = "--all" in sys.argv
    paths = sorted(of_repository()) if every else sorted(of_repository())[::6]
    if os.path.isdir(SHARED):
        paths += of_shared(every)
    else:
        tally.skip("profiles of ../shared", "no ../shared")
    read, faults = 0, {}
    for path in paths:
        answers, wrong_here = judge(path)
        read += answers > 0
        if wrong_here:
            faults[path] = wrong_here
    for path, places in faults.items():
        print("    %s: %d, such as %s" % (os.path.relpath(path, TESTS), len(places), "; ".join(places[:4])))
    tally.check("no share is over 1 in the answers about %d of %d files" % (read, len(paths)), not faults)
    tally.check("and there were answers", read > len(paths) // 3, read)
    tally.finish()


main()
