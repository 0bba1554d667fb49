#!/usr/bin/env python3
"""cProfile statistics: functions, calls and times as Python's own marshal reads them, against
`neurolens sql`.

    tests/oracle/pstats_counts.py [build/neurolens]
"""
import glob
import marshal
import math
import os
import re
import sys

from oracle import ROOT, SHARED, Checker, Neurolens


def ns(seconds):
    """Half away from zero, as C's llround."""
    value = float(seconds) * 1e9
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def place(function):
    path, line, name = function
    return (None, None, name) if path == "~" else (path, line, name)


def is_profiler(function):
    """What switches cProfile on or off is none of the program's calls."""
    return function[0] == "~" and re.fullmatch(r"<method '(en|dis)able' of '_lsprof.Profiler' objects>", function[2])


def check_file(check, tool, path):
    name = os.path.basename(path)
    with open(path, "rb") as file:
        stats = marshal.load(file)
    want, edges, profiler = {}, {}, 0
    for function, (primitive, calls, own, total, callers) in stats.items():
        if is_profiler(function):
            profiler += calls
            continue
        want[place(function)] = (calls, primitive, ns(own), ns(total))
        for caller, numbers in callers.items():
            if is_profiler(caller):
                continue
            numbers = numbers if isinstance(numbers, tuple) else (numbers, None, None, None)
            edges[(place(caller), place(function))] = (
                numbers[0], numbers[1]) + tuple(None if n is None else ns(n) for n in numbers[2:])
    columns = "%s.file, %s.line, %s.name"
    numbers = "c.count, c.primitive, c.self_ns, c.total_ns"
    rows = tool.sql(path, "SELECT %s, %s FROM calls c JOIN stacks s ON s.id = c.stack WHERE c.caller "
                          "IS NULL" % (columns % ("s", "s", "s"), numbers))
    check.rows(name + " functions", want, {tuple(row[:3]): tuple(row[3:]) for row in rows})
    rows = tool.sql(path, "SELECT %s, %s, %s FROM calls c JOIN stacks s ON s.id = c.stack JOIN stacks p ON "
                          "p.id = c.caller" % (columns % ("p", "p", "p"), columns % ("s", "s", "s"), numbers))
    check.rows(name + " callers", edges,
               {(tuple(row[:3]), tuple(row[3:6])): tuple(row[6:]) for row in rows})
    got = tool.sql(path, "SELECT count(*), sum(weight) FROM samples")[0]
    told = tool.sql(path, "SELECT sum(count) FROM coverage WHERE item = 'calls of the profiler itself'")[0][0]
    check.equal(name + " calls of the profiler", profiler, told or 0)
    check.equal(name + " self times", [len(want), sum(w[2] for w in want.values())], list(got))


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    paths = [p for p in sorted(glob.glob(os.path.join(SHARED, "samples", "pstats", "**", "*"),
                                         recursive=True))
             if os.path.isfile(p) and os.path.getsize(p)]
    if not paths:
        check.skip("samples", "no ../shared")
    paths += sorted(glob.glob(os.path.join(ROOT, "tests", "corpus", "pstats", "version*.prof")))
    paths += [os.path.join(ROOT, "tests", "corpus", "pstats", name)
              for name in ("profile-py.prof", "shared-numbers.prof", "own-calls.prof")]
    for path in paths:
        check_file(check, tool, path)
    check.finish()


main()
