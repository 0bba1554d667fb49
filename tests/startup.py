#!/usr/bin/env python3
"""What a command costs before it has done anything: version, a cached profile, a small profile, one SQL answer.

Times are processor time beside programs measured in turn in the same run, the least of several; page faults hardly vary and
say more on a machine that is shared. Sanitizer builds are not judged."""
import gzip
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
    tally.finish()


main()
