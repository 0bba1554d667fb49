#!/usr/bin/env python3
"""Damaged inputs: cut at every KiB, and with random bits flipped.

Whatever is done to a file, the program ends with 0 (it loaded what is whole and says so) or 4 (it
cannot be read), within five seconds and never by a signal. --flips N sets how many flips per file
(200), --cuts N how many KiB apart the cuts are (1).
"""
import argparse
import gzip
import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from harness import FIXTURES, ROOT, TESTS, Tally, forked as neurolens, scratch

LIMIT_S = float(os.environ.get("ROBUST_LIMIT_S", "5"))


def generated_nsys():
    """A small nsys-shaped database, or None when the generator is not there."""
    for place in (os.path.join(ROOT, "tools", "make_nsys.py"),
                  os.path.join(TESTS, "fixtures", "make_nsys.py")):
        if os.path.exists(place):
            path = os.path.join(scratch(), "generated.sqlite")
            done = subprocess.run([sys.executable, place, path], stdout=subprocess.DEVNULL)
            if done.returncode == 0:
                return path
    return None


def cached_trace():
    """A trace file, as the cache keeps it."""
    folder = os.path.join(scratch(), "cached")
    os.makedirs(folder, exist_ok=True)
    profile = os.path.join(folder, "train.json")
    with gzip.open(os.path.join(FIXTURES, "torch_cpu_ddp_rank0.json.gz")) as packed:
        with open(profile, "wb") as file:
            file.write(packed.read())
    neurolens(["info", "--ledger", folder, profile])
    found = [os.path.join(p, n) for p, _, names in os.walk(folder) for n in names
             if n.endswith(".nlt")]
    return found[0] if found else None


def inputs():
    """(name, bytes) of what is damaged."""
    with gzip.open(os.path.join(FIXTURES, "ort_cpu_mlp.json.gz")) as file:
        yield "ort_cpu_mlp.json", file.read()
    with open(os.path.join(FIXTURES, "torch_cpu_ddp_rank0.json.gz"), "rb") as file:
        yield "torch_cpu_ddp_rank0.json.gz", file.read()
    for name, path in (("cached.nlt", cached_trace()), ("generated.sqlite", generated_nsys())):
        if path:
            with open(path, "rb") as file:
                yield name, file.read()


def attempt(job):
    label, name, data = job
    folder = os.path.join(scratch(), "robust-%s" % label.replace(" ", "-"))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    result = neurolens(["analyze", "--no-cache", "--format", "json", path], timeout=LIMIT_S)
    shutil.rmtree(folder, True)
    good = result.status in (0, 4)
    return None if good else "%s: %s" % (label, result.describe())


def many(tally, title, jobs, threads):
    jobs = list(jobs)
    with ThreadPoolExecutor(threads) as pool:
        bad = [answer for answer in pool.map(attempt, jobs) if answer]
    tally.check("%s (%d files)" % (title, len(jobs)), not bad, "\n".join(bad[:5]))


def cuts(name, data, step):
    for end in range(0, len(data), step * 1024):
        yield "%s cut %d" % (name, end), name, data[:end]


def flips(name, data, count):
    chance = random.Random("neurolens " + name)
    for i in range(count):
        damaged = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 8))):
            # Half of the flips near the front, where the structure is.
            end = len(data) if chance.random() < 0.5 else min(len(data), 4096)
            damaged[chance.randrange(end)] ^= 1 << chance.randrange(8)
        yield "%s flip %d" % (name, i), name, bytes(damaged)


def cut_packed(tally):
    """A file of every format, compressed and cut: what is loaded of it says that it was cut."""
    silent, loaded = [], 0
    corpus = os.path.join(TESTS, "corpus")
    for family in sorted(os.listdir(corpus)):
        files = sorted(os.path.join(corpus, family, n) for n in os.listdir(os.path.join(corpus, family)))
        files = [f for f in files if os.path.isfile(f) and os.path.getsize(f) > 400 and not f.endswith((".py", ".md", ".gz", ".zst"))]
        if not files:
            continue
        with open(files[0], "rb") as file:
            packed = gzip.compress(file.read())
        path = os.path.join(scratch(), os.path.basename(files[0]) + ".gz")
        with open(path, "wb") as file:
            file.write(packed[:len(packed) * 9 // 10])
        result = neurolens(["sql", "--no-cache", "--format", "csv", path, "SELECT item FROM coverage"], timeout=LIMIT_S)
        loaded += result.status == 0
        if result.status not in (0, 4) or (result.status == 0 and not any(word in result.stdout for word in ("cut", "truncated"))):
            silent.append("%s: %s %s" % (files[0], result.describe(), result.stdout[:300]))
    tally.check("a cut compressed file of every format says so (%d load)" % loaded, not silent and loaded >= 10, "\n".join(silent))


def together(tally):
    """A file of every format with a report joined, compared with the one before, and among the runs of a ledger: most have no
    kernels, no steps, and no fingerprint."""
    corpus, bad, before = os.path.join(TESTS, "corpus"), [], None
    ledger = os.path.join(scratch(), "together")
    report = os.path.join(corpus, "ncu", "raw.csv")
    for family in sorted(os.listdir(corpus)):
        names = sorted(os.listdir(os.path.join(corpus, family)))
        names = [name for name in names if not name.endswith((".py", ".md"))]
        path = os.path.join(corpus, family, names[len(names) // 2])
        for words in (["analyze", path, "--join", report], ["diff", path, before or path], ["add", path, "--ledger", ledger],
                      ["similar", path, "--ledger", ledger]):
            result = neurolens(words + ["-q"], timeout=LIMIT_S)
            refused = result.status == 2 and "the profile is itself a report" in result.stderr
            if not refused and (result.status not in (0, 3, 4) or (result.status == 4 and not result.stderr.startswith("neurolens: "))):
                bad.append(result.describe())
        before = path
    tally.check("a file of every format joined, compared, kept and likened", not bad, "\n".join(bad[:5]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--flips", type=int, default=200)
    parser.add_argument("--cuts", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    wanted = parser.parse_args()
    tally = Tally("robust")
    seen = set()
    for name, data in inputs():
        seen.add(name)
        many(tally, "%s cut at every %d KiB" % (name, wanted.cuts), cuts(name, data, wanted.cuts),
             wanted.threads)
        many(tally, "%s with bits flipped" % name, flips(name, data, wanted.flips), wanted.threads)
    cut_packed(tally)
    together(tally)
    for name in ("cached.nlt", "generated.sqlite"):
        if name not in seen:
            tally.skip(name, "could not be made")
    tally.finish()


main()
