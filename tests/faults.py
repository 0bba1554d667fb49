#!/usr/bin/env python3
"""The n-th call of the system fails, for commands that read, keep, compare, export and record.

    tests/faults.py [--seed N] [COMMAND...]               a sample of n; all commands, or those named
    tests/faults.py --places [--sticky] [COMMAND...]      one n of every place: functions that called each other down to the call
    tests/faults.py --all [--minutes M] [COMMAND...]      every n, one of every place first, the others in any order
    … --resume FILE                                       goes on where the last with that FILE ended, however it ended

--sticky: the calls after the n-th fail as well. Kinds of calls: memory, open, read, write, mmap, fsync, rename, threads, folders made,
files removed, what is asked of files, zstd (tests/faultshim.c). Whatever fails:
  - the command ends by itself with 0, 4 or 5 (or as without a fault), never by a signal or with 70;
  - with 0 its answer is the one it gives without a fault; else it says why;
  - an output is there whole or not at all, and nothing is left in folders for temporary files;
  - a ledger is sound, and the command works when it is repeated.
"""
import argparse
import hashlib
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import time

from harness import PROGRAM, ROOT, Tally, environment, neurolens, scratch

SHIM = os.path.join(os.path.dirname(PROGRAM), "tests", "unit", "libfaultshim.so")
KINETO = os.path.join(ROOT, "tests", "corpus", "chrome", "kineto.json")
NSYS = os.path.join(ROOT, "tests", "corpus", "nsys", "era-3.25-all.sqlite")
PACKED = os.path.join(ROOT, "tests", "fixtures", "torch_cpu_train.json.gz")
KINDS = ["malloc", "open", "read", "write", "mmap", "fsync", "rename", "thread", "folder", "remove", "stat", "codec"]  # as in the shim
RARE = {"folder": 1, "remove": 1, "stat": 2}  # so many of them in a sample
WHOLE = {("document", "stat"), ("analyze", "stat")}  # all of them always: sizes and digests of inputs hang on them
ENOSPC, EIO = 28, 5
# name: words; OUT stands for the file that is written, LEDGER for a ledger with a run in it
COMMANDS = {
    "info": ["info", "-q", NSYS],
    "analyze": ["analyze", "-q", PACKED, "--format", "json"],
    "sql": ["sql", "-q", NSYS, "select count(*), sum(dur), max(name) from slices", "--format", "csv"],
    "diff": ["diff", "-q", "@", KINETO, "--format", "json"],
    "export": ["export", "-q", PACKED, "--to", "perfetto", "-o", "OUT"],
    "document": ["export", "-q", KINETO, "--to", "run.json", "-o", "OUT"],
    "parquet": ["export", "-q", KINETO, "--to", "parquet", "-o", "OUT"],
    "add": ["add", "-q", NSYS, "--keep-source"],
    "run": ["run", "-q", "-o", "OUT", "--", "/bin/true"],
}
ONLY = {"parquet": ["codec"]}  # of the others' kinds it has nothing new
WORKS = {"add", "diff"}  # need a ledger
# A run records what happens, so no two are the same; a document has the time it was made.
VARIES = {"run"}
SAMPLE = 4
tally = Tally("faults")


def state(folder):
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(base, name), "rb") as file:
                found[os.path.relpath(os.path.join(base, name), folder)] = hashlib.sha1(file.read()).digest()
    return found


class Place:
    """A folder with TMPDIR, OUT and a copy of a ledger; made anew for each fault."""

    def __init__(self, name):
        self.path = os.path.join(scratch(), "faults-" + name)
        self.out = os.path.join(self.path, "out", "answer")
        self.ledger = os.path.join(self.path, "ledger")
        self.tmp = os.path.join(self.path, "tmp")
        self.model = os.path.join(scratch(), "model-ledger")
        if not os.path.exists(self.model):
            made = neurolens(["add", "-q", KINETO, "--ledger", self.model])
            assert made.status == 0, made.describe()

    def fresh(self):
        shutil.rmtree(self.path, True)
        os.makedirs(os.path.dirname(self.out))
        os.makedirs(self.tmp)
        shutil.copytree(self.model, self.ledger)

    def changed(self):
        """Is any byte of the ledger other than in its model?"""
        return state(self.ledger) != state(self.model)

    def leftovers(self):
        """What an ended command left where it should not."""
        found = [os.path.join(base, name) for folder in (self.tmp, os.path.dirname(self.out))
                 for base, folders, names in os.walk(folder) for name in names + folders]
        return [path for path in found if path != self.out and not path.startswith(self.out + "/")]


def execute(place, words, shim=None):
    """(status, stdout, stderr); status None when it hung. `shim` is what faultshim.c is told, without FAULT_."""
    words = [place.out if word == "OUT" else word for word in words]
    end = words.index("--") if "--" in words else len(words)
    env = environment(place.path)
    env["TMPDIR"] = place.tmp
    if shim:
        env.update({"FAULT_" + key: str(value) for key, value in shim.items()}, LD_PRELOAD=SHIM)
    command = [PROGRAM] + words[:end] + ["--ledger", place.ledger] + words[end:]
    try:
        done = subprocess.run(command, cwd=place.path, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60)
    except subprocess.TimeoutExpired:
        return None, "", ""
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def counted(place, words):
    """{kind: number of calls}"""
    path = os.path.join(scratch(), "count")
    with open(path, "wb") as file:
        file.write(bytes(8 * len(KINDS)))
    place.fresh()
    execute(place, words, dict(KIND="all", COUNT=path))
    with open(path, "rb") as file:
        return dict(zip(KINDS, struct.unpack("<%dQ" % len(KINDS), file.read())))


def first_of_places(place, words, kind, count):
    """For each stack of functions from which the call is made, the number of one such call."""
    path = os.path.join(scratch(), "stacks")
    with open(path, "wb") as file:
        file.write(bytes(8 * count))
    place.fresh()
    execute(place, words, dict(KIND=kind, STACKS=path))
    with open(path, "rb") as file:
        stacks = struct.unpack("<%dQ" % count, file.read())
    return sorted({stack: number + 1 for number, stack in reversed(list(enumerate(stacks)))}.values())


def answer(place, stdout):
    """What the command gave, without what differs between two sound runs of it."""
    text = stdout
    if os.path.isdir(place.out):
        text += str(sorted((name, digest.hex()) for name, digest in state(place.out).items()))
    elif os.path.exists(place.out):
        with open(place.out, "rb") as file:
            text += file.read().decode("latin-1")
    return re.sub(r'"(made|created|added)[a-z_]*": *("[^"]*"|\d+)', "", text)


def judge(name, place, words, want, got, kind):
    """What is wrong with how a command took its fault, or None."""
    status, stdout, stderr = got
    if status is None:
        return "it hangs"
    if status not in (0, 4, 5, want[0]):
        return "exit %s: %s" % (status, stderr[-400:])
    if status not in (0, want[0]) and "neurolens: " not in stderr and "cannot" not in stderr:
        return "exit %s without a message" % status
    if status == want[0] and name not in VARIES and answer(place, stdout) != want[1]:
        return "exit %s with another answer: %s" % (status, answer(place, stdout)[:200])
    if status not in (0, 1, 3) and os.path.exists(place.out) and name not in VARIES:
        return "exit %s, but an output is there" % status
    if kind != "remove" and place.leftovers() and name not in VARIES:
        return "left behind: %s" % place.leftovers()[:3]
    damage = unsound(place, words, want) if name == "add" and place.changed() else None
    return "exit %s, then %s" % (status, damage) if damage else None


def unsound(place, words, want):
    """What is wrong with a ledger after a fault. A card that could not be written is allowed: the rows are there,
    `ledger check` says so and `ledger rebuild` writes it."""
    again = execute(place, words)
    if again[0] != want[0]:
        return "the command fails when it is repeated: %s" % again[2][-300:]
    for _ in range(2):
        checked = neurolens(["ledger", "check", "--ledger", place.ledger])
        if checked.status == 0:
            return None
        if any(line and not line.startswith(("card: ", "  ")) and "not all is well" not in line
               for line in checked.stdout.splitlines()):
            break
        neurolens(["ledger", "rebuild", "--ledger", place.ledger])
    return "the ledger is damaged: %s" % checked.stdout[-300:]


def sample(dice, kind, count):
    """The first and last calls, and some between."""
    most = RARE.get(kind, SAMPLE)
    if count <= most:
        return list(range(1, count + 1))
    if most == 1:
        return [dice.randint(1, count)]
    return sorted({1, count} | set(dice.sample(range(2, count), most - 2)))


def faults_of(name, place, dice, options):
    """[(kind, n)]: what is to fail; the places first."""
    words = COMMANDS[name]
    counts, places, others = counted(place, words), [], []
    for kind in ONLY.get(name, counts):
        count = counts[kind]
        if options.all or options.places:
            first = first_of_places(place, words, kind, count) if count else []
            places += [(kind, at) for at in first]
            others += [(kind, at) for at in sorted(set(range(1, count + 1)) - set(first))] if options.all else []
        else:
            all_of_it = (name, kind) in WHOLE
            places += [(kind, at) for at in (range(1, count + 1) if all_of_it else sample(dice, kind, count))]
    dice.shuffle(others)
    return places, others, counts


class Progress:
    """How many faults of each command were tried, in a file, so that hours can be had in slices."""

    def __init__(self, path):
        self.path, self.done = path, {}
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.done = json.load(file)

    def put(self, key, done):
        self.done[key] = done
        if self.path:
            with open(self.path + ".new", "w", encoding="utf-8") as file:
                json.dump(self.done, file, indent=1)
            os.replace(self.path + ".new", self.path)


def command(name, dice, options, end):
    words, place = COMMANDS[name], Place(name)
    place.fresh()
    status, stdout, stderr = execute(place, words)
    if name == "run" and (status != 0 or not os.path.exists(place.out)):
        tally.skip(name, "nothing can be recorded here")
        return
    want = (status, answer(place, stdout))
    if not tally.check("%s: without a fault" % name, status in (0, 1, 3), stderr):
        return
    wrong, runs = [], 0
    places, others, counts = faults_of(name, place, dice, options)
    progress, key = Progress(options.resume), " ".join([name] + [word for word in ("all", "places", "sticky") if getattr(options, word)])
    begun = progress.done.get(key, 0)
    for kind, at in (places + others)[begun:]:
        if end and time.time() > end:
            break
        error = dice.choice((EIO, ENOSPC))
        place.fresh()
        got = execute(place, words, dict(KIND=kind, AT=at, ERRNO=error, **({"STICKY": 1} if options.sticky else {})))
        said = judge(name, place, words, want, got, kind)
        runs += 1
        if runs % 20 == 0:
            progress.put(key, begun + runs)
        if said:
            wrong.append("%s %d of %d (error %d): %s" % (kind, at, counts[kind], error, said))
        if (said or runs % 500 == 0) and (options.all or options.places):
            print("    %s: %d of %d faults%s" % (name, begun + runs, len(places + others), ", " + wrong[-1] if said else ""), flush=True)
    progress.put(key, begun + runs)
    whole = "from %d of %d (%d places)" % (begun, len(places + others), len(places)) if options.all or options.places else "of %d calls" % sum(counts.values())
    tally.check("%s: %d faults %s" % (name, runs, whole), not wrong, "\n".join(wrong[:12]))


def main():
    reader = argparse.ArgumentParser(usage=__doc__)
    for word in ("--all", "--places", "--sticky"):
        reader.add_argument(word, action="store_true")
    reader.add_argument("--minutes", type=float, default=0, help="for each command")
    reader.add_argument("--resume", metavar="FILE")
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("words", nargs="*")
    options = reader.parse_intermixed_args()
    if not os.path.exists(SHIM):
        tally.skip("faults", "no shim in this build (sanitizers take its place)")
        tally.finish()
    dice = random.Random(options.seed)
    for name in COMMANDS:
        if not options.words or name in options.words:
            command(name, dice, options, time.time() + 60 * options.minutes if options.minutes else 0)
    tally.finish()


if __name__ == "__main__":
    sys.exit(main())
