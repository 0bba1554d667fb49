#!/usr/bin/env python3
"""What a command costs before it has done anything: version, a cached profile, a small profile, one SQL answer; and what
recording costs a process that is started and records nothing.

Times are processor time beside programs measured in turn in the same run, the least of several; page faults hardly vary and
say more on a machine that is shared. Sanitizer builds are not judged."""
import gzip
import json
import os
import shutil
import subprocess
import sys

from harness import FIXTURES, PROGRAM, Tally, environment, scratch

ROUNDS = 12
SMALL = os.path.join(FIXTURES, "made_gpu_train.json.gz")


def cost(command, env):
    """Processor seconds and minor page faults of one run."""
    child = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit("%s: exit %d" % (" ".join(command), child.returncode))
    return usage.ru_utime + usage.ru_stime, usage.ru_minflt


def least(commands, env):
    """Name -> (seconds, faults), measured in turn."""
    best = {}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            seconds, faults = cost(command, env)
            old = best.get(name, (seconds, faults))
            best[name] = (min(old[0], seconds), min(old[1], faults))
    return best


STARTS = """
import json, os, statistics, sys
bare = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("NEUROLENS")}
times, faults = ([], []), ([], [])
for turn in range(2 * %d):
    _, status, usage = os.wait4(os.posix_spawn(sys.argv[1], [sys.argv[1]], [bare, dict(os.environ)][turn %% 2]), 0)
    assert status == 0
    times[turn %% 2].append(usage.ru_utime + usage.ru_stime)
    faults[turn %% 2].append(usage.ru_minflt)
print(json.dumps([[1000 * statistics.median(one) for one in times], [statistics.median(one) for one in faults]]))
"""
SPAWNED = 150
MAX_FAULTS, MAX_CALLS = 11, 18  # beside the program alone; 7 calls are the dynamic linker's, to map one library


def record(words, folder, env):
    done = subprocess.run([PROGRAM, "run", "-q", "--python", "off", "-o", os.path.join(folder, "starts.nlt"), "--", *words],
                          env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    return done.stdout.decode()


def system_calls(true, folder, env, recorded):
    """Of one started program; None without strace."""
    path, words = os.path.join(folder, "calls"), ["strace", "-f", "-o", os.path.join(folder, "calls"), true]
    if not shutil.which("strace"):
        return None
    if recorded:
        # The program is traced alone, with what the recorder gave it.
        record([sys.executable, "-c", "import os, subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))", *words], folder, env)
    else:
        subprocess.run(words, env=env, check=True)
    with open(path, encoding="utf-8") as file:
        lines = [line.split(None, 1)[1] for line in file]
    begins = max(i for i, line in enumerate(lines) if line.startswith("execve(") and '"%s"' % true in line)
    return sum(line[0].isalpha() and not line.startswith("exit") for line in lines[begins:])


def starts(tally, true, env):
    """By counts, which hardly vary; and by processor time, in turns within one recorded program."""
    times, faults = json.loads(record([sys.executable, "-c", STARTS % SPAWNED, true], scratch(), env))
    told = "%s: %.3f ms and %d faults, recorded %.3f ms and %d" % (true, times[0], faults[0], times[1], faults[1])
    print("# " + told)
    tally.check("a process that records nothing costs at most %d page faults" % MAX_FAULTS,
                faults[1] - faults[0] <= MAX_FAULTS, told)
    tally.check("and less than a quarter of the least program's own time", times[1] - times[0] < times[0] / 4, told)
    calls = [system_calls(true, scratch(), env, recorded) for recorded in (False, True)]
    if None in calls:
        tally.skip("system calls of a process that records nothing", "no strace here")
    else:
        tally.check("and at most %d system calls" % MAX_CALLS, 0 < calls[1] - calls[0] <= MAX_CALLS, calls)


def main():
    tally = Tally("startup")
    with open(PROGRAM, "rb") as file:
        program = file.read()
    if b"__asan_init" in program or b"__tsan_init" in program:
        tally.skip("start-up", "built with a sanitizer")
        tally.finish()
    true = shutil.which("true")
    profile = os.path.join(scratch(), "profile.json")
    with gzip.open(SMALL) as packed, open(profile, "wb") as file:
        shutil.copyfileobj(packed, file)
    env = dict(environment(scratch()), NEUROLENS_LEDGER=os.path.join(scratch(), "ledger"))
    subprocess.run([PROGRAM, "info", profile], env=env, check=True, stdout=subprocess.DEVNULL)
    best = least({"true": [true], "python": [sys.executable, "-S", "-E", "-c", "pass"], "version": [PROGRAM, "version"],
                  "cached info": [PROGRAM, "info", profile], "sql": [PROGRAM, "sql", profile, "SELECT 1"],
                  "analyze": [PROGRAM, "analyze", "--no-cache", profile]}, env)
    told = ", ".join("%s %.1f ms %d faults" % (name, 1e3 * seconds, faults) for name, (seconds, faults) in best.items())
    print("# " + told)
    base = best["true"]
    # Before libcrypto and libstdc++ were linked statically: 442 faults beside 75, and 5 ms beside 0.6.
    tally.check("version takes few page faults", best["version"][1] < base[1] + 280, told)
    tally.check("version costs less than Python's start", best["version"][0] < best["python"][0], told)
    for name, most in (("cached info", 5), ("sql", 5), ("analyze", 20)):
        tally.check("%s costs at most %d starts of Python" % (name, most), best[name][0] < most * best["python"][0], told)
    starts(tally, true, env)
    tally.finish()


main()
