#!/usr/bin/env python3
"""Files of other versions of a format than the corpus holds, made here: Chakra's metadata, times with a
fraction; and what people see of SQL.

    tests/versions.py              all
    tests/versions.py WORD...      the tests whose name contains a WORD
"""
import os
import shutil
import sys

from harness import FIXTURES, Tally, forked as neurolens, scratch

tally = Tally("versions")


def place(name):
    path = os.path.join(scratch(), name)
    shutil.rmtree(path, True)
    os.makedirs(path)
    return path


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def text(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(body):
    return varint(len(body)) + body


def node(number):
    return message(b"\x08" + varint(number) + text(2, b"node %d" % number) + b"\x18\x04" +
                   b"\x30" + varint(100 * number) + b"\x38" + varint(50))


def chakra():
    schema = text(1, b"schema") + varint(29 << 3 | 2) + varint(18) + b"1.1.0-chakra.0.0.4"
    heads = {"version alone": text(1, b"0.0.4"),
             "version and schema": text(1, b"0.0.4") + text(2, schema),
             "schema first": text(2, schema) + text(1, b"0.0.4"),
             "a longer version": text(1, b"1.1.0-chakra.0.0.4")}
    for what, head in heads.items():
        for count in (1, 3):
            path = os.path.join(place("chakra"), "trace.et")
            with open(path, "wb") as file:
                file.write(message(head) + b"".join(node(i) for i in range(1, count + 1)))
            done = neurolens(["sql", path, "SELECT count(*) FROM nodes", "--format", "csv"])
            tally.check("Chakra: %s, %d nodes" % (what, count),
                        done.stdout.split()[-1:] == [str(count)], done.describe())
    path = os.path.join(place("chakra"), "trace.et")
    with open(path, "wb") as file:
        file.write(message(text(1, b"not a version")) + node(1))
    tally.check("another protobuf stream is none", neurolens(["info", path]).status == 4)


PMC = """Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,wave_size,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID,Kernel_ID,SQ_WAVES
0,0,0,1,1,1048576,256,0,0,8,0,16,64,"kern(int)",%s,%s,0,1,16384.0
1,0,0,1,1,1048576,256,0,0,8,0,16,64,"kern(int)",%s,%s,0,1,16384.0
"""


def fractions():
    times = {"a fraction": ("1700000000000000001.0", "1700000000000000101.5",
                            "1700000000000000200.4", "1700000000000000300.0"),
             "an exponent": ("1.7e+3", "1.801e3", "1900", "2.0e3")}
    wanted = {"a fraction": "101,100", "an exponent": "101,100"}
    for what, values in times.items():
        path = os.path.join(place("pmc"), "pmc_perf.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PMC % values)
        done = neurolens(["sql", path, "--format", "csv",
                          "SELECT max(dur), min(dur) FROM kernels"])
        tally.check("pmc_perf.csv: times with %s" % what, done.stdout.split()[-1] == wanted[what],
                    done.describe())


def columns():
    profile = os.path.join(FIXTURES, "ort_cpu_mlp.json.gz")
    done = neurolens(["sql", profile, "SELECT NULL AS op, count(*) AS n FROM slices"])
    tally.check("sql shows a column without a value", done.stdout.split()[:2] == ["op", "n"],
                done.stdout)
    wide = ", ".join("name AS column_number_%d" % i for i in range(20))
    done = neurolens(["sql", profile, "SELECT %s FROM slices LIMIT 1" % wide])
    tally.check("sql shows every column, however many",
                len(done.stdout.splitlines()[0].split()) == 20, done.stdout[:300])


TESTS = [chakra, fractions, columns]

for test in TESTS:
    if len(sys.argv) < 2 or any(word in test.__name__ for word in sys.argv[1:]):
        test()
tally.finish()
