#!/usr/bin/env python3
"""How time grows: every shape of file at 4n and, where that takes long, at 2n. Twice the input may cost about twice
the processor time; what grows with the square of a table fails here, whatever the machine.

    tests/growth.py [NAME...]      all shapes, or those whose name contains NAME
    GROWTH_SCALE=4                 that many times the n of every shape

Shapes of growthtables.OTHERS are given to the commands that stand there, the others to `analyze`. Measured is processor time of the child, the
least of two runs when the first says too much; a shape fails when 4n takes more than half a second, and more than 3.2 times
the time of 2n, which therefore need not be known of what is sooner done. Each table of a trace grows in one of them:
growthtables.py has those for tables that the shapes here leave small.
"""
import collections
import functools
import gc
import json
import marshal
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys

import growthtables
from harness import PROGRAM, ROOT, Tally, environment, neurolens, scratch

SCALE = float(os.environ.get("GROWTH_SCALE", "1"))
MIN_SECONDS = 0.5
MAX_RATIO = 3.2
K0 = (0x9e3779b97f4a7c15).to_bytes(8, "little")


def events(items, kineto=False):
    return '{%s"traceEvents":[%s]}' % ('"schemaVersion":1,' if kineto else "", ",".join(items))


@functools.lru_cache(maxsize=None)  # the same numbers are written again and again
def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def number(tag, value):
    return varint(tag << 3) + varint(value)


def pprof(names, stacks):
    n = len(names)
    out = field(1, number(1, 1) + number(2, 2))
    out += b"".join(field(2, field(1, b"".join(varint(i + 1) for i in stack)) + field(2, varint(1))) for stack in stacks)
    out += b"".join(field(4, number(1, i + 1) + field(4, number(1, i + 1))) for i in range(n))
    out += b"".join(field(5, number(1, i + 1) + number(2, i + 3)) for i in range(n))
    return out + b"".join(field(6, name) for name in [b"", b"cpu", b"ns"] + names)


def async_same_open(n):
    return events(['{"ph":"b","cat":"x","name":"c%d","id":1,"pid":1,"tid":1,"ts":%d}' % (i, i) for i in range(n)] +
                  ['{"ph":"e","cat":"x","name":"c%d","id":1,"pid":1,"tid":1,"ts":%d}' % (i, n + i) for i in range(n)])


def async_one_name(n):
    return events(['{"ph":"b","cat":"x","name":"c","id":1,"pid":1,"tid":1,"ts":%d}' % i for i in range(n)] +
                  ['{"ph":"e","cat":"x","name":"c","id":1,"pid":1,"tid":1,"ts":%d}' % (n + i) for i in range(n)])


def crossing(n):
    return events(['{"ph":"B","name":"c%d","pid":1,"tid":1,"ts":%d}' % (i, i) for i in range(n)] +
                  ['{"ph":"E","name":"c%d","pid":1,"tid":1,"ts":%d}' % (i, n + i) for i in range(n)])


def kernel(i, ts, pid=0, device=0, stream=7):
    return ('{"ph":"X","name":"k","cat":"kernel","pid":%d,"tid":%d,"ts":%d,"dur":1,"args":{"device":%d,"stream":%d,'
            '"correlation":%d}}' % (pid, stream, ts, device, stream, i))


def launch(i, ts, tid=1):
    return ('{"ph":"X","name":"cudaLaunchKernel","cat":"cuda_runtime","pid":1,"tid":%d,"ts":%d,"dur":1,"args":'
            '{"correlation":%d}}' % (tid, ts, i))


def nested(n, kind, work):
    ranges = ['{"ph":"X","name":"r%d","cat":"%s","pid":1,"tid":1,"ts":%d,"dur":%d}' % (i, kind, i, 8 * n - 2 * i)
              for i in range(n)]
    gpu = [part for i in range(work) for part in (kernel(i, 2 * n + 2 * i), launch(i, n + 2 * i))]
    return events(ranges + gpu, True)


def correlations(n, stride):
    return events([part for i in range(n) for part in (kernel(i * stride, 4 * i + 2), launch(i * stride, 4 * i))], True)


def nsys_names(n, evil):
    path = os.path.join(scratch(), "growth.sqlite")
    shutil.copy(os.path.join(ROOT, "tests/corpus/nsys/era-3.25-all.sqlite"), path)
    db = sqlite3.connect(path)
    names = [b"%016d" % i + (K0 if evil else b"abcdefgh") + b"12345678" for i in range(n)]
    db.executemany("INSERT INTO StringIds(id, value) VALUES(?, CAST(? AS TEXT))",
                   [(100000 + i, name) for i, name in enumerate(names)])
    columns = [row[1] for row in db.execute("PRAGMA table_info(CUPTI_ACTIVITY_KIND_KERNEL)")]
    row = list(db.execute("SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1").fetchone())
    rows = []
    for i in range(n):
        for column in ("demangledName", "shortName", "mangledName"):
            if column in columns:
                row[columns.index(column)] = 100000 + i
        row[columns.index("start")] += 10
        row[columns.index("end")] += 10
        rows.append(tuple(row))
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(%s)" % ",".join("?" * len(columns)), rows)
    db.commit()
    db.close()
    with open(path, "rb") as file:
        return file.read()


def speedscope(n):
    return json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json",
                       "shared": {"frames": [{"name": "f%d" % i} for i in range(n)]},
                       "profiles": [{"type": "evented", "name": "x", "unit": "nanoseconds", "startValue": 0, "endValue": 3 * n,
                                     "events": [{"type": "O", "frame": i, "at": i} for i in range(n)] +
                                               [{"type": "C", "frame": n - 1 - i, "at": n + i} for i in range(n)]}]})


def v8(n):
    def node(i, children):
        return {"id": i, "callFrame": {"functionName": "f%d" % i, "scriptId": "0", "url": "", "lineNumber": 1,
                                       "columnNumber": 1}, "children": children}
    return json.dumps({"nodes": [node(1, list(range(2, n)))] + [node(i, []) for i in range(2, n)], "startTime": 1,
                       "endTime": n, "samples": list(range(1, n)), "timeDeltas": [1] * (n - 1)})


def pstats(n):
    return marshal.dumps({("f.py", i, "fn%d" % i): (1, 1, 0.1, 0.1, {("f.py", (i + 1) % n, "fn%d" % ((i + 1) % n)):
                                                                     (1, 1, 0.1, 0.1)}) for i in range(n)})


SHAPES = {
    "counters": (20000, lambda n: events('{"ph":"C","name":"c%d","pid":1,"tid":1,"ts":%d,"args":{"v":1}}' % (i, i)
                                         for i in range(n))),
    "async ids": (30000, lambda n: events('{"ph":"b","cat":"x","name":"c","id":%d,"pid":1,"tid":1,"ts":%d}' % (i, i)
                                          for i in range(n))),
    "async of one id": (30000, async_same_open),
    "async of one id and name": (30000, async_one_name),
    "crossing B and E": (30000, crossing),
    "overlapping slices": (30000, lambda n: events(
        '{"ph":"X","name":"c","cat":"cpu_op","pid":1,"tid":1,"ts":%d,"dur":%d}' % (i * 10, n * 5) for i in range(n))),
    "processes": (50000, lambda n: events('{"ph":"X","name":"c","pid":%d,"tid":1,"ts":%d,"dur":1}' % (i, i)
                                          for i in range(n))),
    "threads": (30000, lambda n: events('{"ph":"X","name":"c","pid":1,"tid":%d,"ts":%d,"dur":1}' % (i, i)
                                        for i in range(n))),
    "streams": (10000, lambda n: events((kernel(i, i, stream=i) for i in range(n)), True)),
    "devices": (10000, lambda n: events((kernel(i, i, pid=i, device=i) for i in range(n)), True)),
    "steps": (20000, lambda n: events('{"ph":"X","name":"ProfilerStep#%d","cat":"user_annotation","pid":1,"tid":1,"ts":%d,'
                                      '"dur":1}' % (i, i * 2) for i in range(n))),
    "kernel names": (30000, lambda n: events((kernel(i, 2 * i).replace('"k"', '"void k%d<float, %d>(int)"' % (i, i))
                                              for i in range(n)), True)),
    "ranges in ranges": (10000, lambda n: nested(n, "user_annotation", n // 2)),
    "operators in operators": (10000, lambda n: nested(n, "cpu_op", n // 2)),
    "Python calls in calls": (20000, lambda n: nested(n, "python_function", 10)),
    "correlation ids with a stride": (20000, lambda n: correlations(n, 1 << 40)),
    "pprof functions": (30000, lambda n: pprof([b"fn%d" % i for i in range(n)], [[i] for i in range(n)])),
    "pprof names that collide": (30000, lambda n: pprof([b"%016d" % i + K0 + b"12345678" for i in range(n)],
                                                        [[i] for i in range(n)])),
    "nsys names that collide": (10000, lambda n: nsys_names(n, True)),
    "pstats": (20000, pstats),
    "speedscope": (30000, speedscope),
    "V8 nodes": (30000, v8),
    "collapsed": (40000, lambda n: "".join("a%d;b%d;c%d 1\n" % (i, i, i) for i in range(n))),
    "perf threads": (20000, lambda n: "".join("py %d %d.%06d: 1000 cycles: \n\t    7f00 fn%d (/bin/x)\n\n" %
                                              (i + 1, i // 1000000, i % 1000000, i) for i in range(n))),
}
tally = Tally("growth")


def seconds(path, words):
    """Processor time of one run, and how it ended."""
    words = [path if word is None else word for word in words]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        status = subprocess.run([PROGRAM] + words + ["-q", "--no-cache"], env=environment(scratch()),
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120).returncode
    except subprocess.TimeoutExpired:
        status = "timed out"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, status


def shapes():
    return dict(SHAPES, **growthtables.SHAPES, **growthtables.OTHERS)


@functools.lru_cache(maxsize=None)
def asked_again():
    """The makers of what several commands are asked about: their files are made once and stay."""
    times = collections.Counter((make, n) for n, make, *_ in shapes().values())
    return {make for (make, _), count in times.items() if count > 1}


def measure(n, make):
    """The path of a file of a shape."""
    kept = "-%s-%d" % (make.__name__, n) if make in asked_again() else ""
    path = os.path.join(scratch(), "growth%s.data" % kept)
    if kept and os.path.exists(path):
        return path
    if make is growthtables.folder_of:
        make(path + "s", int(n * SCALE))
        return path + "s"
    data = make(int(n * SCALE))
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    return path


def tables_of_a_trace():
    with open(os.path.join(ROOT, "src", "store", "schema.def"), encoding="utf-8") as file:
        return set(re.findall(r'^NL_TABLE\(\w+, "(\w+)"', file.read(), re.M))


def filled(path, tables, n):
    """Those of the tables that have about a row for each of the n things."""
    counts = neurolens(["sql", "-q", "--no-cache", "--format", "csv", path,
                        " UNION ALL ".join("SELECT '%s', count(*) FROM %s" % (table, table) for table in sorted(tables))], timeout=60)
    rows = [line.split(",") for line in counts.stdout.splitlines()[1:]]
    return {table for table, count in rows if int(count) >= n / 2}


def main():
    gc.disable()  # nothing here refers to itself, and there is much of it
    wanted = sys.argv[1:]
    tables, grown = tables_of_a_trace(), set(growthtables.BOUNDED)
    for name, (n, make, *command) in shapes().items():
        if wanted and not any(word in name for word in wanted):
            continue
        words = command[0] if command else ["analyze", None]
        path = measure(4 * n, make)
        if not command and tables - grown:
            grown |= filled(path, tables, 4 * n * SCALE)
        spent, status = seconds(path, words)
        good, told = status in (0, 1, 3, 4, 5), "%.2f s" % spent
        if good and spent > MIN_SECONDS:
            path = measure(2 * n, make)
            half, status = seconds(path, words)
            if spent > MAX_RATIO * half:
                spent = min(spent, seconds(measure(4 * n, make), words)[0])
            good, told = status in (0, 1, 3, 4, 5) and not (spent > MIN_SECONDS and spent > MAX_RATIO * half), "%.2f, %.2f s" % (half, spent)
        tally.check("%s: %s" % (name, told), good, "status %s" % status)
    if not wanted:
        small = tables - grown
        tally.check("each of the %d tables grew, or has a bound" % len(tables), len(tables) > 30 and not small, sorted(small))
    tally.finish()


if __name__ == "__main__":
    main()
