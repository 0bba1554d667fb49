#!/usr/bin/env python3
"""--memory holds: every reader, and the commands over them, from tiny to ample budgets.

Each answer is the one that ample memory gives, or the program ends with 4 or 5 and one line that
names the file and --memory. What it has in memory at any time is at most the budget and BASE. With
twice what it takes when there is plenty, it answers.

What is measured is RssAnon of /proc, as often as that can be read: the pages that no file has. A
mapped input counts nowhere, as its pages can be dropped and read again. Since short peaks may be
missed so, VmHWM, which the kernel keeps, must be at most that and the size of what is mapped.

    tests/membudget.py [--mb 4] [NAME ...]
"""
import argparse
import gzip
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from harness import PROGRAM, ROOT, Tally, environment, scratch

sys.path.insert(0, os.path.join(ROOT, "bench"))
import bench_readers  # noqa: E402

MIB = 1 << 20
BASE = 18 * MIB       # the program itself, and what is touched before the guard has looked
PROGRAM_FILES = 16 * MIB  # its own code and libraries, mapped
AMPLE = 4 << 30
PROGRAM_TAKES = 12 * MIB  # of its own, with SQLite and threads
BUDGETS = (1, 6)  # MiB: of files of 4 MB, some of which the first is too little for, and some the second
TWICE_AS_LARGE = ("pstats", "tensorrt", "rocpd")  # of less these have less in memory than BASE, whatever the budget
FOLDER_BUDGETS = (2, 5, 12, 20, 200)  # MiB: while it loads, while tables are written, ample
QUERY = ("SELECT kind, name, count(*), sum(dur), min(ts), max(ts) FROM slices "
         "GROUP BY kind, name ORDER BY kind, name LIMIT 2000")
COMMANDS = {
    "info": lambda path, out: ["info", path, "--format", "json"],
    "analyze": lambda path, out: ["analyze", path, "--all", "--format", "json"],
    "sql": lambda path, out: ["sql", path, QUERY, "--format", "csv"],
    "export": lambda path, out: ["export", path, "--to", "run.json", "-o", out],
}


class Proc:
    """A file of /proc, opened once: watching must not take the processor's time from what is watched. Empty where there is none, as
    that of children without CONFIG_PROC_CHILDREN, or when the process is gone."""

    def __init__(self, pid, name):
        try:
            self.file = os.open("/proc/%d/%s" % (pid, name), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self.file = -1

    def read(self):
        try:
            return os.pread(self.file, 8192, 0) if self.file >= 0 else b""
        except OSError:
            return b""

    def close(self):
        if self.file >= 0:
            os.close(self.file)


OWN = re.compile(rb"\nVmHWM:\s*(\d+).*?\nRssAnon:\s*(\d+)", re.S)


class Run:
    """One run of the program, watched."""

    def __init__(self, words, budget, home):
        self.anonymous = self.resident = 0
        command = [PROGRAM, words[0], "--no-cache", "--memory", str(budget), *words[1:]]
        self.process = subprocess.Popen(command, cwd=home, env=environment(home),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        watcher = threading.Thread(target=self.watch)
        watcher.start()
        try:
            self.stdout, self.stderr = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.stdout, self.stderr = self.process.communicate()
            self.stderr += b" (hangs)"
        watcher.join()
        self.status = self.process.returncode

    def watch(self):
        """Until the process has no memory any more. Risky files are read in a child: what both have counts."""
        pid = self.process.pid
        status, children = Proc(pid, "status"), Proc(pid, "task/%d/children" % pid)
        while True:
            anonymous = self.look(status)
            if anonymous is None:
                break
            for child in children.read().split():
                own = Proc(int(child), "status")
                anonymous += self.look(own) or 0
                own.close()
            self.anonymous = max(self.anonymous, anonymous)
            time.sleep(0.0005)
        status.close()
        children.close()

    def look(self, status):
        """Bytes of its own of the process whose status that is; None when it has ended."""
        found = OWN.search(status.read())
        if not found:
            return None
        self.resident = max(self.resident, 1024 * int(found[1]))
        return 1024 * int(found[2])


def attempt(words, output, budget, home):
    """(status, what it answered, what it said, its run)"""
    run = Run(words, budget, home)
    answer = run.stdout
    if output and os.path.exists(output):
        with open(output, "rb") as file:
            answer = file.read()
        os.remove(output)
    return run.status, answer, run.stderr.decode("utf-8", "replace"), run


def fault(path, budget, expected, got):
    """What is wrong with a run, or None."""
    status, answer, said, run = got
    lines = said.splitlines()
    if run.anonymous > budget + BASE:
        return "%.1f MiB of its own" % (run.anonymous / MIB)
    if run.resident > budget + BASE + PROGRAM_FILES + os.path.getsize(path):
        return "%.1f MiB resident" % (run.resident / MIB)
    if status == 0:
        return None if answer == expected else "another answer than with ample memory"
    if status not in (4, 5) or len(lines) != 1 or not lines[0].startswith("neurolens: "):
        return "status %s: %s" % (status, said[-500:])
    if os.path.basename(path) not in lines[0] or "--memory" not in lines[0]:
        return "says " + lines[0]
    return None


TABLES = ("slices", "samples", "counters", "memory", "calls", "nodes", "metrics")


def estimated(path, home, anonymous):
    """What `info --estimate` says of a file, against its rows and the memory that loading it took. Loading may
    take less: short peaks are missed, and small files are packed into what there is."""
    def ask(*words):
        return subprocess.run([PROGRAM, *words], cwd=home, env=environment(home), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
    done = ask("info", "--estimate", path, "--format", "json")
    if done.returncode:
        return "no estimate: " + done.stderr
    told = json.loads(done.stdout)["result"][0]
    query = "SELECT " + " + ".join("(SELECT count(*) FROM %s)" % table for table in TABLES)
    rows = int(ask("sql", "--no-cache", path, query, "--format", "csv").stdout.split()[-1])
    if not told["rows_low"] <= rows <= told["rows_high"]:
        return "estimates %d to %d rows of %d (%s)" % (told["rows_low"], told["rows_high"], rows, told["estimated_from"])
    if anonymous - PROGRAM_TAKES > told["memory_high_bytes"]:
        return "estimates at most %.1f MiB of %.1f" % (told["memory_high_bytes"] / MIB, anonymous / MIB)
    if told["estimated_from"] != "its size alone" and told["memory_low_bytes"] > anonymous:
        return "estimates at least %.1f MiB of %.1f" % (told["memory_low_bytes"] / MIB, anonymous / MIB)
    return None


def check_many(tally):
    """Of many files eight are looked at, one of each ending among them; the rest is like them."""
    home = os.path.join(scratch(), "many")
    folder = os.path.join(home, "ranks")
    os.makedirs(folder)
    rows = 0
    for i in range(40):
        count = 300 + 40 * (i % 5)
        rows += count
        with open(os.path.join(folder, "rank%d.json" % i), "wb") as file:
            file.write(events(count, lambda at: {"ph": "X", "name": "k%d" % (at % 9), "pid": 1, "tid": 1, "ts": 9 * at, "dur": 5}))
    with open(os.path.join(folder, "stacks.folded"), "wb") as file:
        file.write(b"".join(b"main;f%d 3\n" % i for i in range(50)))
    done = subprocess.run([PROGRAM, "info", "--estimate", "--format", "json", folder], cwd=home, env=environment(home),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    told = json.loads(done.stdout)["result"] if done.returncode == 0 else []
    like = [row for row in told if row["estimated_from"] == "files like it"]
    other = [row for row in told if row["file"] == "stacks.folded"]
    tally.check("many files: eight are looked at", len(told) == 42 and len(like) == 33 and {row["format"] for row in like} == {"kineto"}
                and other and other[0]["format"] == "collapsed" and other[0]["estimated_from"] == "counted"
                and told[-1]["rows_low"] <= rows + 50 <= told[-1]["rows_high"] and abs(told[-1]["rows"] - rows) < rows / 5,
                done.stderr + str(told[-3:]))


def check(job):
    """Faults of one profile under all commands and budgets, and how many runs answered."""
    name, path, budgets = job
    home = os.path.join(scratch(), name.replace(" ", "-").replace(",", ""))
    os.makedirs(home, exist_ok=True)
    faults, answered, runs = [], 0, 0
    for command, make in COMMANDS.items():
        output = os.path.join(home, "out.json") if command == "export" else None
        words = make(path, output)
        status, expected, said, run = attempt(words, output, AMPLE, home)
        if status != 0:
            faults.append("%s with ample memory: %d: %s" % (command, status, said[-300:]))
        if command == "info" and budgets is BUDGETS:  # not of files that were made to mislead
            wrong = estimated(path, home, run.anonymous)
            for _ in range(12):  # a peak that was missed is no less than estimated: look again
                if not wrong or not wrong.startswith("estimates at least"):
                    break
                run.anonymous = max(run.anonymous, attempt(words, output, AMPLE, home)[3].anonymous)
                wrong = estimated(path, home, run.anonymous)
            faults += [wrong] if wrong else []
        enough = max(16, 2 * run.anonymous // MIB)
        for budget in (*budgets, enough):
            got = attempt(words, output, budget * MIB, home)
            if budget == enough and got[0] != 0:  # its short peak may have been missed: look again
                for _ in range(12):
                    run.anonymous = max(run.anonymous, attempt(words, output, AMPLE, home)[3].anonymous)
                budget = enough = max(16, 2 * run.anonymous // MIB)
                got = attempt(words, output, budget * MIB, home)
            runs += 1
            answered += got[0] == 0
            wrong = fault(path, budget * MIB, expected, got)
            if not wrong and budget == enough and got[0] != 0:
                wrong = "refused, although %.1f MiB suffice" % (run.anonymous / MIB)
            if wrong:
                faults.append("%s --memory %dMiB: %s" % (command, budget, wrong))
    left = [one for folder, _, names in os.walk(home) for one in names]
    if left:
        faults.append("left behind: %s" % left)
    return name, faults, answered, runs


# ---- files that need much memory for their size ----

def events(count, event):
    return json.dumps({"traceEvents": [event(i) for i in range(count)]}).encode()


def hostile(count):
    """(name, bytes): what readers keep beside rows."""
    number = random.Random(3).random
    yield "distinct names.json", events(count, lambda i: {
        "ph": "X", "name": "kernel %d %.17f" % (i, number()), "pid": 1, "tid": 1, "ts": i,
        "dur": 1})
    yield "never closed.json", events(count, lambda i: {
        "ph": "B", "name": "f", "pid": 1, "tid": i % 1000, "ts": i})
    yield "arrows without ends.json", events(count, lambda i: {
        "ph": "s", "name": "f", "cat": "c", "id": i, "pid": 1, "tid": 1, "ts": i})
    yield "a thread each.json", events(count, lambda i: {
        "ph": "X", "name": "f", "pid": i % 5000, "tid": i, "ts": i, "dur": 1})
    yield "distinct arguments.json", events(count // 2, lambda i: {
        "ph": "X", "name": "f", "cat": "x", "pid": 1, "tid": 1, "ts": i, "dur": 1,
        "args": {"text": "%d %.17f" % (i, number()) * 4}})
    yield "distinct stacks.txt", b"".join(
        b"main;%s %d\n" % (b";".join(b"f%d" % int(number() * 1e6) for _ in range(8)), i + 1)
        for i in range(count // 2))
    yield "packed.json.gz", gzip.compress(events(count, lambda i: {
        "ph": "X", "name": "f", "pid": 1, "tid": 1, "ts": i * 10, "dur": 1}), 1)


# Queries whose cost has nothing to do with the profile's size: each needs more than the largest budget, or disk. Where SQLite sorts
# each row into its place, rows are few and long: that takes memory, too, and less time.
NUMBERS = "(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT %d) SELECT x FROM c)"
MANY, FEW = NUMBERS % 1000000, NUMBERS % 150000
LONG = "'a text that is longer than the number, and so long that few of them take much memory: '"
QUERIES = ["SELECT * FROM " + MANY,
           "SELECT group_concat(x || 'some text') FROM " + MANY,
           "SELECT median(x) FROM " + MANY,
           "SELECT count(DISTINCT %s || x || %s) FROM %s" % (LONG, LONG, FEW),
           "SELECT x FROM %s ORDER BY x %% 1000 || %s || %s || -x LIMIT 1 OFFSET 100000" % (FEW, LONG, LONG)]


def check_queries(tally):
    """Over a profile so small that the least budget is enough to load it."""
    home, path = os.path.join(scratch(), "queries"), os.path.join(scratch(), "small.json")
    os.makedirs(home, exist_ok=True)
    with open(path, "wb") as file:
        file.write(dict(hostile(100))["never closed.json"])
    faults = []
    for query in QUERIES:
        words = ["sql", path, query, "--limit", "0", "--format", "csv"]
        _, expected, _, _ = attempt(words, None, AMPLE, home)
        for budget in (4, 12):
            wrong = fault(path, budget * MIB, expected, attempt(words, None, budget * MIB, home))
            if wrong:
                faults.append("%s --memory %dMiB: %s" % (query, budget, wrong))
    tally.check("queries larger than the profile", not faults, "\n".join(faults))


def check_cache(tally, path):
    """A run that fails for memory leaves nothing in the cache."""
    home = os.path.join(scratch(), "with-cache")
    os.makedirs(home, exist_ok=True)
    done = subprocess.run([PROGRAM, "info", "--memory", "1MiB", "--ledger", home, path],
                          env=environment(home), stdin=subprocess.DEVNULL, capture_output=True)
    left = [name for folder, _, names in os.walk(home) for name in names]
    tally.check("no leftovers in the cache", done.returncode == 5 and not left,
                "status %d, left %s" % (done.returncode, left))


def check_folder(tally):
    """A folder of tables that memory runs out over leaves nothing, whichever of its threads was writing."""
    home, path = os.path.join(scratch(), "folder"), os.path.join(scratch(), "names.json")
    with open(path, "wb") as file:
        file.write(dict(hostile(30000))["distinct names.json"])
    faults = []
    for budget in FOLDER_BUDGETS:
        os.makedirs(home)
        done = subprocess.run([PROGRAM, "export", "-q", "--no-cache", "--memory", "%dMiB" % budget, path, "--to", "parquet",
                               "-o", os.path.join(home, "OUT")], env=environment(scratch()), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        left = os.listdir(home)
        if done.returncode not in (0, 5) or left != ["OUT"] * (done.returncode == 0):
            faults.append("%d MiB: %d, left %s: %s" % (budget, done.returncode, left, done.stderr))
        shutil.rmtree(home)
    tally.check("no leftovers of a folder of tables", not faults, "\n".join(faults))


def check_limit(tally, path):
    """Without --memory, a limit of the system on addresses is the budget's."""
    home = os.path.join(scratch(), "limit")
    os.makedirs(home, exist_ok=True)
    faults = []
    for mib in (40, 60, 90, 200):
        limit = mib * MIB
        done = subprocess.run([PROGRAM, "info", "--no-cache", "-j1", path], env=environment(home),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
                                                                    (limit, limit)))
        lines = done.stderr.splitlines()
        if done.returncode != 0 and (done.returncode not in (4, 5) or len(lines) != 1):
            faults.append("%d MiB: %d: %s" % (mib, done.returncode, done.stderr))
    tally.check("little address space", not faults, "\n".join(faults))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mb", type=int, default=4)
    parser.add_argument("names", nargs="*")
    wanted = parser.parse_args()
    tally = Tally("membudget")
    os.makedirs(bench_readers.FOLDER, exist_ok=True)
    jobs = []
    for name, pattern, make, _, _ in bench_readers.READERS:
        source = bench_readers.sample(pattern)
        if not source:
            tally.skip(name, "no ../shared")
        elif not wanted.names or name in wanted.names:
            path = bench_readers.large(name, source, make, wanted.mb * (1 + (name in TWICE_AS_LARGE)) * 10**6)
            jobs.append((name, path, BUDGETS))
    folder = os.path.join(scratch(), "hostile files")
    os.makedirs(folder)
    for name, data in hostile(15000 * wanted.mb):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        if not wanted.names or name in wanted.names:
            jobs.append((name, path, (1, 8)))
    with ThreadPoolExecutor(2) as pool:
        for name, faults, answered, runs in pool.map(check, jobs):
            tally.check("%s (%d of %d runs fit)" % (name, answered, runs), not faults,
                        "\n".join(faults))
    small = os.path.join(folder, "never closed.json")
    check_queries(tally)
    check_cache(tally, small)
    check_folder(tally)
    check_limit(tally, small)
    check_many(tally)
    tally.finish()


main()
