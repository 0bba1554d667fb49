#!/usr/bin/env python3
"""Profiles that do not fit in --memory are loaded by way of a disk, with the same answers.

A Kineto trace and an Nsight Systems export that need more than the budget: the trace that is kept is that of
ample memory, byte for byte, and so are the answers of `info` and, from the profile and from the trace that is kept, of `analyze`; what no file has stays within the budget, and what is resident
in all within the budget and the program's own files, as the kernel counts it. Nothing is left in the folder.
Where a limit of file sizes forbids it, the command says so in one line and ends with 5.
"""
import glob
import os
import resource
import sqlite3
import subprocess
import tempfile

from harness import PROGRAM, Tally, environment, scratch

MIB = 1 << 20
BUDGET = 24 * MIB
BASE = 24 * MIB           # the program itself, and what is touched before the guard has looked
PROGRAM_FILES = 16 * MIB  # its own code and libraries, mapped
PAIRS = 150000            # launches and kernels


def kineto(path):
    event = ('{"ph":"X","cat":"%s","name":"%s%d","pid":%d,"tid":%d,"ts":%d,"dur":%d,'
             '"args":{"correlation":%d,"External id":%d,"stream":7,"device":0,"grid":[%d,1,1],"block":[256,1,1],'
             '"registers per thread":32}}')
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"traceEvents":[\n')
        file.write(",\n".join(
            event % ("cuda_runtime", "cudaLaunchKernel", 0, 1, 1, 10 * i, 4, i + 1, i, 0) + ",\n" +
            event % ("kernel", "gemm", i % 40, 0, 7, 10 * i + 5, 8, i + 1, i, i % 64) for i in range(PAIRS)))
        file.write("\n]}")


def nsys(path):
    data = sqlite3.connect(path, isolation_level=None)
    data.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;"
                       "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
                       "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER,"
                       " color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);"
                       "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,"
                       " correlationId INTEGER, nameId INTEGER, returnValue INTEGER);"
                       "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,"
                       " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,"
                       " gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,"
                       " registersPerThread INTEGER);")
    data.executemany("INSERT INTO StringIds VALUES (?, ?)", [(1, "cudaLaunchKernel_v7000")] + [(i + 2, "gemm_%d" % i) for i in range(60)])
    rows = "WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k < %d) INSERT INTO " % (PAIRS - 1)
    thread = 0x1000001000001
    data.execute(rows + "NVTX_EVENTS SELECT 10*k, 10*k+9, 59, NULL, NULL, NULL, NULL, %d, NULL, k %% 60 + 2, 0 FROM n" % thread)
    data.execute(rows + "CUPTI_ACTIVITY_KIND_RUNTIME SELECT 10*k+1, 10*k+5, 0, %d, k+1, 1, 0 FROM n" % thread)
    data.execute(rows + "CUPTI_ACTIVITY_KIND_KERNEL SELECT 10*k+6, 10*k+15, 0, 1, 7, k+1, %d, k %% 60 + 2, k %% 60 + 2, k %% 64, 1, 1, 256, 1, 1,"
                 " 32 FROM n" % (thread & ~0xffffff))
    data.execute("COMMIT")
    data.close()


def run(path, home, budget=None, limit=None, question="info"):
    """(status, answer, what it said, RssAnon and VmHWM at the most that were seen, the trace that is kept)."""
    most = [0, 0]
    ledger = os.path.join(home, "ledger")
    os.makedirs(os.path.join(home, "tmp"), exist_ok=True)
    command = [PROGRAM, question, path, "--ledger", ledger, "--format", "json"] + (["--memory", str(budget)] if budget else []) + \
        ([] if limit is None else ["--no-cache"])
    said = [tempfile.TemporaryFile(dir=home) for _ in range(2)]
    process = subprocess.Popen(command, cwd=home, stdin=subprocess.DEVNULL, stdout=said[0], stderr=said[1],
                               env=dict(environment(home), TMPDIR=os.path.join(home, "tmp"), NEUROLENS_CACHE_WRITE="foreground"),
                               preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) if limit else None)
    with open("/proc/%d/status" % process.pid, "rb", buffering=0) as file:
        while process.poll() is None:
            file.seek(0)
            facts = dict(line.split(b":", 1) for line in file.read().splitlines())
            for at, name in enumerate((b"RssAnon", b"VmHWM")):
                if name in facts:
                    most[at] = max(most[at], 1024 * int(facts[name].split()[0]))
            try:
                process.wait(0.0005)
            except subprocess.TimeoutExpired:
                pass
    for file in said:
        file.seek(0)
    answer, said = (file.read() for file in said)
    kept = [os.path.join(folder, name) for folder, _, names in os.walk(ledger) for name in names if name.endswith(".nlt")]
    left = os.listdir(os.path.join(home, "tmp"))
    return process.returncode, answer, said.decode("utf-8", "replace"), most, kept, left


def same(one, other):
    with open(one, "rb") as first, open(other, "rb") as second:
        return first.read() == second.read()


def on_disk(folder):
    kind = subprocess.run(["stat", "-f", "-c", "%T", folder], stdout=subprocess.PIPE, text=True).stdout.strip()
    return kind not in ("tmpfs", "ramfs")


def check(tally, name, make):
    home = os.path.join(scratch(), name)
    path = os.path.join(scratch(), "profile." + name)
    make(path)
    expected = run(path, os.path.join(home, "ample"))
    got = run(path, os.path.join(home, "budget"), BUDGET)
    refused = run(path, os.path.join(home, "refused"), BUDGET, limit=64 << 10)
    if tally.check("%s: loads with and without" % name, expected[0] == 0 and got[0] == 0 and len(expected[4]) == len(got[4]) == 1,
                   got[2] + expected[2]):
        tally.check("%s: the same answer and trace" % name, got[1] == expected[1] and same(got[4][0], expected[4][0]))
        tally.check("%s: more than the budget without it" % name, os.path.getsize(expected[4][0]) > BUDGET)
        tally.check("%s: within the budget" % name,
                    0 < got[3][0] <= BUDGET + BASE and got[3][1] <= BUDGET + BASE + PROGRAM_FILES, str(got[3]))
    whole = run(path, os.path.join(home, "ample"), question="analyze")
    for report in glob.glob(os.path.join(home, "ample", "ledger", "cache", "*.nla")):
        os.remove(report)  # else it were not made anew
    for what, place in (("the profile", "analyze"), ("a kept trace", "ample")):
        few = run(path, os.path.join(home, place), BUDGET, question="analyze")
        tally.check("%s: the same report within the budget, from %s" % (name, what),
                    whole[0] == few[0] == 0 and few[1] == whole[1] and len(whole[1]) > 10000 and not few[5], few[2] + whole[2])
        tally.check("%s: a report within the budget, from %s" % (name, what),
                    0 < few[3][0] <= BUDGET + BASE, str(few[3]))
    lines = refused[2].splitlines()
    tally.check("%s: a limit of file sizes" % name, refused[0] == 5 and len(lines) == 1 and
                "a limit of file sizes (ulimit -f) forbids temporary files" in lines[0] and "--memory" in lines[0],
                "%d: %s" % (refused[0], refused[2]))
    tally.check("%s: nothing is left behind" % name, not got[5] and not refused[5] and not refused[4], str((got[5], refused[5])))


def main():
    tally = Tally("spill")
    if on_disk(scratch()) or on_disk("/var/tmp"):
        check(tally, "json", kineto)
        check(tally, "sqlite", nsys)
    else:
        tally.skip("all", "no folder for temporary files is on a disk")
    tally.finish()


main()
