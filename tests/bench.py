#!/usr/bin/env python3
"""`neurolens bench`: captures of one command, of two in turn, and of two commits; when it ends, and what it says of what goes
wrong."""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import PROGRAM as NEUROLENS, Tally, environment, neurolens, one_line_error  # noqa: E402

PROGRAM = """
import sys, time
sys.path.insert(0, %r)
import nlens

def work(ms):
    end = time.process_time_ns() + int(ms * 1e6)
    while time.process_time_ns() < end:
        pass

slow = float(sys.argv[1])
for i in range(12):
    before = time.process_time_ns()
    with nlens.step(i):
        with nlens.layer("encoder"):
            work(1.0)
        with nlens.layer("decoder"):
            work(1.0 * slow)
    print("step", time.process_time_ns() - before)
print("done", slow)
"""


def typical_of(place, side):
    """The typical step's processor time in ns, as the program itself saw it."""
    with open(os.path.join(place, side + ".log"), encoding="utf-8") as file:
        return statistics.median(int(line.split()[1]) for line in file if line.startswith("step "))


def truly_slower(place):
    """By how many per cent the programs themselves saw B's typical step take longer than A's: a busy host makes it another
    one than what was asked for."""
    return 100 * (typical_of(place, "B") / typical_of(place, "A") - 1)


def bench(folder, *words, timeout=240):
    return neurolens(["bench", *words], cwd=folder, timeout=timeout)


def one(tally, folder, program):
    result = bench(folder, "-o", "one", "--max-captures", "8", "--format", "json", "--", sys.executable, program, "1")
    if result.status != 0 and "nothing was recorded" in result.stderr:
        return tally.skip("all of it", result.stderr.strip()[-200:]) or False
    row = json.loads(result.stdout)["result"][0] if result.status == 0 else {}
    tally.check("one command: what it takes, and how surely", result.status == 0 and row["metric"] == "step.p50" and
                3 <= row["captures"] <= 8 and row["low_ns"] <= row["typical_ns"] <= row["high_ns"] and
                0.95 < row["typical_ns"] / typical_of(os.path.join(folder, "one"), "A") < 2, result.describe())
    files = sorted(os.listdir(os.path.join(folder, "one")))
    tally.check("one command: a capture a run, and what it printed", row and
                files == ["A.log"] + ["A%d.nlt" % (i + 1) for i in range(row["captures"])], files)
    with open(os.path.join(folder, "one", "A.log"), encoding="utf-8") as file:
        tally.check("one command: its output is kept", file.read().count("done 1.0") == row.get("captures"))
    text = bench(folder, "-o", "text", "--min-captures", "2", "--max-captures", "2", "--quiet", "--", sys.executable, program, "1").stdout
    tally.check("one command: in words", re.match(r"step\.p50 \d+\.\d+ ms ± [0-9.]+ % \(95 %\), 2 captures that differ by ", text), text)
    return True


def two(tally, folder, program):
    result = bench(folder, "-o", "two", "--precision", "2%", "--max-captures", "10", "--quiet", "--", sys.executable, program, "1", ":",
                   sys.executable, program, "1.2")
    first = " ".join(" ".join(result.stdout.splitlines()[:4]).split())
    told = re.match(r"Slower by ([0-9.]+) %.*Most: decoder \+", first)
    truth = truly_slower(os.path.join(folder, "two"))
    tally.check("two commands: slower, by how much, because of what", result.status == 0 and told and
                abs(float(told.group(1)) - truth) < 2, ("truth", truth, result.describe()))
    names = os.listdir(os.path.join(folder, "two"))
    tally.check("two commands: as many captures of both", len([n for n in names if n.startswith("A")]) ==
                len([n for n in names if n.startswith("B")]) >= 4, names)


def commits(tally, folder, program):
    place = os.path.join(folder, "repo")
    os.mkdir(place)

    def git(*words):
        done = subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], cwd=place,
                              env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode == 0

    def commit(slow):
        with open(os.path.join(place, "slow.in"), "w", encoding="utf-8") as file:
            file.write("%s\n" % slow)
        return git("add", ".") and git("commit", "-q", "-m", "slow %s" % slow)

    shutil.copy(program, os.path.join(place, "program.py"))
    if not (git("init", "-q") and commit("1") and commit("1.3")):
        tally.skip("two commits", "no git here")
        return
    words = ["--commit", "HEAD~1", "--commit", "HEAD", "--build", "cp slow.in slow.txt", "-o", "commits", "--precision", "3%", "--max-captures", "8",
             "--quiet", "--", "sh", "-c", "%s program.py $(cat slow.txt)" % sys.executable]
    result = bench(place, *words)
    first = result.stdout.splitlines()[0] if result.stdout else ""
    told = re.match(r"Slower by ([0-9.]+) %", first)
    truth = truly_slower(os.path.join(place, "commits"))
    tally.check("two commits: each built and run in a checkout of its own", result.status == 0 and told and
                abs(float(told.group(1)) - truth) < 3, ("truth", truth, result.describe()))
    left = [n for n in os.listdir(os.path.join(place, "commits")) if "checkout" in n]
    worktrees = subprocess.run(["git", "worktree", "list"], cwd=place, env=environment(folder), stdout=subprocess.PIPE).stdout
    tally.check("two commits: the checkouts are gone", not left and worktrees.count(b"\n") == 1, (left, worktrees))
    result = bench(place, "--commit", "nowhere", "-o", "bad", "--", "true")
    tally.check("a commit that is not there", result.status == 5 and "nowhere" in result.stderr and one_line_error(result), result.describe())
    result = bench(place, "--commit", "HEAD", "--build", "exit 7", "-o", "bad2", "--", "true")
    tally.check("a build that fails", result.status == 5 and "--build at HEAD ended with status 7" in result.stderr, result.describe())
    left = subprocess.run(["git", "worktree", "list"], cwd=place, env=environment(folder), stdout=subprocess.PIPE).stdout
    tally.check("a build that fails leaves no checkout", left.count(b"\n") == 1, left)


WRONG = [
    (["--precision", "fast", "--", "true"], "--precision: 'fast' is not a share such as 1%"),
    (["--within", "fast", "--least", "1", "--most", "9", "--", "true"], "--precision: 'fast' is not a share such as 1%"),  # former names
    (["--min-captures", "9", "--max-captures", "4", "--", "true"], "--min-captures and --max-captures"),
    (["--", "true", ":"], "give a command on each side of :"),
    (["--build", "make", "--", "true"], "--build builds the checkouts of --commit"),
    (["--commit", "a", "--commit", "b", "--", "true", ":", "false"], "give two commands"),
    (["-o", "one", "--", "true"], "already exists"),
]


def wrong(tally, folder, program):
    for words, says in WRONG:
        result = bench(folder, *words)
        tally.check("wrong: %s" % " ".join(words), result.status == 2 and says in result.stderr and one_line_error(result),
                    result.describe())
    result = bench(folder, "-o", "fails", "--", "sh", "-c", "echo no luck; exit 3")
    tally.check("a command that fails ends it, with its last words", result.status == 5 and one_line_error(result) and
                "ended with status 3" in result.stderr and "no luck" in result.stderr, result.describe())


def main():
    tally = Tally("bench")
    with tempfile.TemporaryDirectory(prefix="neurolens-bench-") as folder:
        program = os.path.join(folder, "program.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(PROGRAM % os.path.join(os.path.dirname(NEUROLENS), "python"))
        if one(tally, folder, program):
            two(tally, folder, program)
            commits(tally, folder, program)
            wrong(tally, folder, program)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
