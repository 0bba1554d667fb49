#!/usr/bin/env python3
"""The cache of imported profiles: the same answers with and without it, two imports at once, an
import killed at any moment, a damaged cache file, a bounded size."""
import gzip
import os
import random
import signal
import subprocess
import time

from harness import FIXTURES, PROGRAM, Tally, environment, neurolens, scratch

tally = Tally("cache")
QUESTION = "SELECT count(*), sum(dur), min(ts), count(DISTINCT name) FROM slices"


def unpacked():
    """A profile large enough to be cached, as its own file."""
    path = os.path.join(scratch(), "profile.json")
    with gzip.open(os.path.join(FIXTURES, "torch_cpu_train.json.gz")) as packed:
        text = packed.read()
    with open(path, "wb") as file:
        file.write(text)
    return path


def ledger(name):
    path = os.path.join(scratch(), name)
    os.makedirs(path, exist_ok=True)
    return path


def cached(folder):
    cache = os.path.join(folder, "cache")
    return sorted(os.listdir(cache)) if os.path.isdir(cache) else []


def ask(profile, folder, *options):
    return neurolens(["sql", profile, QUESTION, "--format", "csv", "--ledger", folder, *options])


def start(profile, folder):
    env = environment(scratch())
    return subprocess.Popen([PROGRAM, "sql", profile, QUESTION, "--format", "csv",
                             "--ledger", folder], env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)


def same_answers(profile, truth):
    folder = ledger("same")
    first, second = ask(profile, folder), ask(profile, folder)
    tally.check("first and second look agree",
                first.stdout == truth and second.stdout == truth, first.describe())
    tally.check("one file is kept", len(cached(folder)) == 1, cached(folder))
    os.utime(profile)
    tally.check("a changed file is read again",
                ask(profile, folder).stdout == truth and len(cached(folder)) == 2, cached(folder))


def at_once(profile, truth):
    folder = ledger("race")
    for round_ in range(5):
        runs = [start(profile, folder) for _ in range(4)]
        answers = [run.communicate(timeout=60)[0].decode() for run in runs]
        if not tally.check("four imports at once, round %d" % round_,
                           answers == [truth] * 4 and len(cached(folder)) == 1,
                           "%r %r" % (answers, cached(folder))):
            return
        for name in cached(folder):
            os.unlink(os.path.join(folder, "cache", name))


def killed(profile, truth):
    folder = ledger("killed")
    rng = random.Random(7)
    for _ in range(40):
        run = start(profile, folder)
        time.sleep(rng.uniform(0, 0.06))
        run.send_signal(signal.SIGKILL)
        run.communicate()
    whole = [name for name in cached(folder) if name.endswith(".nlt")]
    result = ask(profile, folder)
    tally.check("40 imports killed at random moments leave no wrong answer",
                result.stdout == truth and len(whole) <= 1, result.describe())


def damaged(profile, truth):
    folder = ledger("damaged")
    ask(profile, folder)
    path = os.path.join(folder, "cache", cached(folder)[0])
    with open(path, "rb") as file:
        good = file.read()
    for name, bad in (("cut in the middle", good[:len(good) // 2]), ("empty", b""),
                      ("of another version", good[:8] + b"\xff" + good[9:]),
                      ("no trace file", b"x" * len(good))):
        with open(path, "wb") as file:
            file.write(bad)
        result = ask(profile, folder)
        tally.check("a cache file that is %s is made again" % name,
                    result.stdout == truth and os.path.getsize(path) == len(good),
                    result.describe())


def bounded(profile):
    folder = ledger("bounded")
    for second in range(6):
        os.utime(profile, (1_700_000_000 + second,) * 2)
        ask(profile, folder)
    size = os.path.getsize(os.path.join(folder, "cache", cached(folder)[0]))
    before = len(cached(folder))
    result = neurolens(["gc", "--ledger", folder, "--max", str(size * 2 + 100)])
    tally.check("gc keeps what fits, the newest", before == 6 and len(cached(folder)) == 2,
                result.describe())


def main():
    profile = unpacked()
    truth = ask(profile, ledger("none"), "--no-cache").stdout
    same_answers(profile, truth)
    at_once(profile, truth)
    killed(profile, truth)
    damaged(profile, truth)
    bounded(profile)
    tally.finish()


main()
