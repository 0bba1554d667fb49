#!/usr/bin/env python3
"""Power is lost while runs are added, tagged, noted, removed, swept and merged: every state that the disk may then have is a ledger
that opens, that `ledger check` finds whole (or `ledger rebuild` makes whole), and from which nothing is missing that a command had
reported.

    tests/crash.py [STATES [SEED]]      that many states (40), drawn with SEED (1)
    KEEP=FOLDER tests/crash.py ...      copies the states that fail there

A shim (crashshim.c) writes down the writes, syncs, renames and removals of each command. A state is a moment, and what of the work until
then has reached the disk: all that was synced; of the rest any part, in any order, written pages also by halves (sectors of 512
bytes). A name is on the disk when its folder was synced after it, else it may be or not, whatever became of others: less than what ext4,
XFS or btrfs promise. Folders that were there before are on the disk.
"""
import collections
import contextlib
import gzip
import json
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys

from harness import FIXTURES, PROGRAM, Tally, environment, neurolens, scratch

SHIM = os.path.join(os.path.dirname(PROGRAM), "tests", "unit", "libcrashshim.so")
KEEP = os.environ.get("KEEP")
SECTOR = 512
tally = Tally("crash")


class File:
    def __init__(self, content=b""):
        self.synced, self.waiting = content, []


class Folder:
    def __init__(self):
        self.names, self.waiting = {}, []


class Naming:
    """A change of names: [(folder, name, file or folder, or None when it goes)]."""

    def __init__(self, changes):
        self.changes, self.lasts = changes, False


# ---- what the commands did ----

def records(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        kind, first, second, _, inode, place = struct.unpack_from("<IIIIQq", data, at)
        at += 32
        yield chr(kind), inode, place, data[at:at + first], data[at + first:at + first + second]
        at += first + second


def read_tree(path):
    tree = Folder()
    for name in sorted(os.listdir(path)):
        full = os.path.join(path, name)
        if os.path.isdir(full):
            tree.names[name] = read_tree(full)
        else:
            with open(full, "rb") as file:
                tree.names[name] = File(file.read())
    return tree


class Disk:
    """The folder as programs see it, and how far it is on the disk."""

    def __init__(self, root):
        self.root, self.top = root, Folder()
        self.seen, self.inodes, self.namings = {"": self.top}, {os.stat(root).st_ino: self.top}, []

    def split(self, path):
        path = path.decode()[len(self.root):].strip("/")
        above, _, name = path.rpartition("/")
        return path, self.seen.get(above), name

    def name(self, changes):
        naming = Naming(changes)
        self.namings.append(naming)
        for folder, _, _ in changes:
            folder.waiting.append(naming)

    def sync(self, thing):
        if isinstance(thing, Folder):
            for naming in thing.waiting:
                naming.lasts = True
            thing.waiting = []
        elif thing:
            thing.synced, thing.waiting = written(thing.synced, thing.waiting, lambda: True, None), []

    def take(self, kind, inode, place, first, second):
        if kind in "CM":
            path, folder, name = self.split(first)
            thing = Folder() if kind == "M" else File()
            self.seen[path], self.inodes[inode] = thing, thing
            self.name([(folder, name, thing)])
        elif kind in "UD":
            path, folder, name = self.split(first)
            self.seen.pop(path, None)
            self.name([(folder, name, None)])
        elif kind == "R":
            path, folder, name = self.split(first)
            to, target, new = self.split(second)
            thing = self.seen.pop(path)
            self.seen[to] = thing
            self.name([(folder, name, None), (target, new, thing)])
        elif kind == "S":
            self.sync(self.inodes.get(inode))
        else:
            self.inodes[inode].waiting.append((kind, place, first))


def written(content, waiting, reaches, dice):
    """Content when of the waiting writes those are on the disk of which `reaches` says so; by halves when dice say so."""
    content = bytearray(content)
    for kind, place, data in waiting:
        if not reaches():
            continue
        if kind in "TA":
            size = place if kind == "T" else len(data)
            content[size:] = b""
            content.extend(bytes(max(0, size - len(content))))
            if kind == "T":
                continue
            place = 0
        end = place + len(data)
        if dice and dice.random() < 0.2:  # torn
            for at in range(0, len(data), SECTOR):
                if dice.random() < 0.5:
                    piece = data[at:at + SECTOR]
                    content.extend(bytes(max(0, place + at + len(piece) - len(content))))
                    content[place + at:place + at + len(piece)] = piece
            continue
        content.extend(bytes(max(0, end - len(content))))
        content[place:end] = data
    return bytes(content)


def lay_out(disk, path, dice, share):
    """Makes the folder as a loss of power now could leave it; `share` of what waits is on the disk."""
    def reaches():
        return dice.random() < share

    names = collections.defaultdict(dict)
    for naming in disk.namings:
        if naming.lasts or reaches():
            for folder, name, thing in naming.changes:
                names[id(folder)][name] = thing

    def make(folder, path):
        os.makedirs(path)
        for name, thing in names[id(folder)].items():
            if isinstance(thing, Folder):
                make(thing, os.path.join(path, name))
            elif thing and not name.endswith("-shm"):
                with open(os.path.join(path, name), "wb") as file:
                    file.write(written(thing.synced, thing.waiting, reaches, dice if 0 < share < 1 else None))
            elif thing and dice.random() < 0.5:  # shared memory: whatever was there
                with open(os.path.join(path, name), "wb") as file:
                    file.write(dice.randbytes(32768))
    make(disk.top, path)


# ---- what the ledger holds ----

QUERY = """SELECT r.id,
  (SELECT group_concat(tag) FROM (SELECT tag FROM tags t WHERE t.run = r.run ORDER BY tag)),
  (SELECT group_concat(text) FROM (SELECT text FROM notes n WHERE n.run = r.run ORDER BY text)),
  (SELECT group_concat(role || sha256) FROM (SELECT * FROM artefacts a WHERE a.run = r.run ORDER BY role, ordinal)),
  (SELECT group_concat(key || value) FROM (SELECT * FROM settings s WHERE s.run = r.run ORDER BY key)),
  (SELECT count(*) FROM findings f WHERE f.run = r.run)
FROM runs r WHERE r.removed_ns IS NULL"""


def content(ledger):
    """{id: what is kept of it} of the runs, or None when it does not open."""
    if not os.path.exists(ledger):
        return {}
    if neurolens(["ls", "--ledger", ledger]).status:
        return None
    if not os.path.exists(os.path.join(ledger, "ledger.db")):
        return {}
    with contextlib.closing(sqlite3.connect(os.path.join(ledger, "ledger.db"))) as database:
        return {row[0]: row[1:] for row in database.execute(QUERY)}


def check(ledger):
    """What `ledger check` complains of, without cards: these are written behind the rows, and `ledger rebuild` writes them."""
    done = neurolens(["ledger", "check", "--ledger", ledger])
    if done.status == 0 or not os.path.exists(ledger):
        return None, False
    others = [line for line in done.stdout.splitlines() if line and not line.startswith(("card: ", "  ")) and "not all is well" not in line]
    return (done.describe() if others or done.status != 1 else None), True


def judge(path, before, after):
    """(what is wrong or None, were cards behind?)"""
    ledger = os.path.join(path, "ledger")
    now = content(ledger)
    if now is None:
        return "it does not open: " + neurolens(["ls", "--ledger", ledger]).describe(), False
    said, behind = check(ledger)
    if said:
        return said, behind
    for run, row in before.items():
        if run not in now and run in after:
            return "run %s is lost" % run, behind
        if run in now and now[run] not in (row, after.get(run)):
            return "run %s was\n%s\nis\n%s\nbecomes\n%s" % (run, row, now[run], after.get(run)), behind
    for run in now:
        if run not in before and run not in after:
            return "run %s comes from nowhere" % run, behind
    if behind:
        done = neurolens(["ledger", "rebuild", "--ledger", ledger])  # 1: of a torn card, whose run comes back from its document
        if done.status not in (0, 1) or check(ledger) != (None, False) or not set(now.items()) <= set(content(ledger).items()):
            return "it cannot be rebuilt: " + done.describe(), behind
    return None, behind


def works(path, file):
    done = neurolens(["add", "-q", file, "--ledger", os.path.join(path, "ledger")])
    return None if done.status == 0 else "the next add fails: " + done.describe()


# ---- the day ----

def profiles(folder, count):
    """Different small ones: the same with other times."""
    with gzip.open(os.path.join(FIXTURES, "ort_cpu_mlp.json.gz")) as file:
        events = json.load(file)
    paths = []
    for i in range(count):
        for event in events:
            if "ts" in event:
                event["ts"] += 1
        paths.append(os.path.join(folder, "run%d.json" % i))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(json.dumps(events))
    return paths


def day(root, files):
    own, other = os.path.join(root, "ledger"), os.path.join(root, "other")
    return [["add", files[0], "--ledger", own],
            ["add", files[1], files[2], "--keep-source", "--ledger", own],
            ["tag", "@", "base", "feature/x", "--ledger", own],
            ["note", "@~1", "a stall", "--ledger", own],
            ["tag", "@~2", "base", "--move", "--ledger", own],
            ["rm", "@~1", "--ledger", own],
            ["gc", "--ledger", own],
            ["add", files[3], "--set", "labels.pr=12", "--ledger", own],
            ["add", files[4], "--ledger", other],
            ["ledger", "merge", other, own],
            ["ledger", "rebuild", "--ledger", own]]


def record_day(root, log, files):
    """Runs the commands; (ledgers' contents after each, records until then)."""
    states, ends = [{}], [0]
    env = environment(scratch())
    for words in day(root, files):
        done = subprocess.run([PROGRAM] + words, env=dict(env, LD_PRELOAD=SHIM, CRASH_ROOT=root, CRASH_LOG=log), cwd=scratch(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if not tally.check("recorded: " + " ".join(words[:2]).replace(root, ""), done.returncode == 0, done.stderr):
            return None, None
        ends.append(sum(1 for _ in records(log)))
        copy = os.path.join(scratch(), "copy")  # a look at it changes its files
        shutil.rmtree(copy, True)
        shutil.copytree(root, copy)
        states.append(content(os.path.join(copy, "ledger")))
    return states, ends


def main():
    if not os.path.exists(SHIM):
        tally.skip("crash", "no shim in this build (sanitizers take its place)")
        tally.finish()
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    dice = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    root = os.path.join(os.path.realpath(scratch()), "disk")
    os.makedirs(root)
    log, path = os.path.join(scratch(), "log"), os.path.join(scratch(), "state")
    folder = os.path.join(scratch(), "files")
    os.makedirs(folder)
    files = profiles(folder, 6)
    states, ends = record_day(root, log, files)
    if not states:
        tally.finish()
    everything = list(records(log))
    tally.check("the whole day is written down (%d operations)" % len(everything), replayed(root, everything), "the replay differs")
    syncs = [sum(record[0] == "S" for record in everything[begin:end]) for begin, end in zip(ends, ends[1:])]
    # Document and trace: each file and its folder, then the folder of folders. The log's head, its name, the log and the database, as
    # SQLite closes it. A ledger that is made: 7 more, src/ledger/README.md says which.
    tally.check("a run waits for the disk 9 times, the first of a ledger 16 times", syncs[7] <= 9 and syncs[0] <= 16, "syncs by command: %s" % syncs)
    moments = sorted(pick(dice, everything, ends) for _ in range(count))
    disk, at, late, wrong, command = Disk(root), 0, 0, [], 0
    for moment in moments:
        while at < moment:
            disk.take(*everything[at])
            at += 1
        while ends[command + 1] <= moment and command + 2 < len(ends):
            command += 1
        shutil.rmtree(path, True)
        share = dice.choice((0, 0.1, 0.5, 0.5, 0.9, 1))
        lay_out(disk, path, dice, share)
        if KEEP:
            shutil.rmtree(path + "-first", True)
            shutil.copytree(path, path + "-first")
        before = states[command] if ends[command + 1] > moment else states[command + 1]
        after = states[command + 1]
        said, behind = judge(path, before, after)
        said = said or (works(path, files[5]) if dice.random() < 0.25 else None)
        late += behind
        if said:
            wrong.append("operation %d (in `%s`), %d %% of what waits: %s" % (moment, " ".join(day("", files)[command][:2]), 100 * share, said))
            if KEEP:
                shutil.copytree(path + "-first", os.path.join(KEEP, "state%d" % len(wrong)), dirs_exist_ok=True)
    tally.check("%d states after a loss of power (in %d cards are behind): nothing is lost" % (len(moments), late), not wrong,
                "\n".join(wrong[:6]))
    tally.finish()


def pick(dice, everything, ends):
    """A moment: anywhere, or just before or behind a sync, a rename or the end of a command."""
    way = dice.random()
    if way < 0.2:
        return dice.choice(ends[1:])
    if way < 0.7:
        at = dice.choice([i for i, record in enumerate(everything) if record[0] in "SRUM"])
        return at + dice.randrange(2)
    return dice.randrange(len(everything))


def replayed(root, everything):
    """With everything on the disk, the replay is what lies there."""
    disk, path = Disk(root), os.path.join(scratch(), "replay")
    for record in everything:
        disk.take(*record)
    lay_out(disk, path, random.Random(1), 1)

    def flat(folder):
        found = {}
        for base, _, names in os.walk(folder):
            for name in names:
                if not name.endswith("-shm"):
                    with open(os.path.join(base, name), "rb") as file:
                        found[os.path.relpath(os.path.join(base, name), folder)] = file.read()
        return found
    there, here = flat(root), flat(path)
    for name in sorted(set(there) | set(here)):
        if there.get(name) != here.get(name):
            print("    differs: %s (%s, %s bytes)" % (name, len(there.get(name, b"")), len(here.get(name, b""))))
    shutil.rmtree(path)
    return there == here


if __name__ == "__main__":
    main()
