#!/usr/bin/env python3
"""Whole commands over damaged files: each run changes a file of the corpus (bytes, numbers, lines, JSON values, tables) and gives it to
one of many command lines. Nothing may crash, hang, claim a bug of ours, fail without a message, or give JSON that is none.

    tests/wholefuzz.py [N [SEED]]    N runs (150), the same for the same SEED (1); `make wholefuzz` takes a build with sanitizers
    KEEP=FOLDER                      files that were bad go there, with the command line
"""
import gzip
import json
import os
import random
import re
import shlex
import shutil
import sqlite3
import sys

from harness import PROGRAM, ROOT, Tally, forked as neurolens, scratch

tally = Tally("wholefuzz")
MAX_BYTES = 400000
COMMANDS = [["info", "--format", "json"], ["info"], ["analyze", "--all", "--format", "json"], ["analyze", "--format", "md"],
            ["sql", None, "select kind, count(*), sum(dur), min(ts), max(name) from slices group by kind", "--format", "json"],
            ["export", "--to", "run.json"], ["export", "--to", "chrome"], ["export", "--to", "folded"], ["export", "--to", "perfetto"],
            ["export", "--to", "nsys-sqlite"], ["export", "--to", "pprof"], ["diff", None, None, "--format", "json"], ["report"], ["fingerprint", "--format", "json"],
            ["analyze", "--section", "roofline", "--format", "csv"], ["similar", "--ledger", "LEDGER"], ["add", "--ledger", "LEDGER"],
            ["analyze", None, "--join", os.path.join(ROOT, "tests", "corpus", "ncu", "raw.csv")]]
NUMBERS = [b"0", b"-1", b"9223372036854775807", b"-9223372036854775808", b"18446744073709551616", b"1e308", b"4294967296", b"1e19",
           b"0.0000001", b"null", b'""', b"[]", b"{}", b"true", b'"\\u0000\\ud800"']
ODD = [None, -1, 0, 2 ** 63 - 1, -2 ** 63, 2 ** 61, 1e300, 1e-300, "", "=1+1", "x" * 70000, "\x1b]0;x\x07", [], {}, [[[]]], True]
PIECES = [b"\x1b]0;x\x07", b"\xff\xfe", b"\0" * 8, b"\xe2\x80\xae", b'"', b"{", b"[", b"}", b"]", b",", b"\x80" * 9 + b"\1"]


def family_files():
    found = {}
    for base, folders, names in os.walk(os.path.join(ROOT, "tests", "corpus")):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(base, name)
            if 0 < os.path.getsize(path) < MAX_BYTES and not name.endswith((".py", ".md")):
                found.setdefault(os.path.relpath(path, os.path.join(ROOT, "tests", "corpus")).split(os.sep)[0], []).append(path)
    return found


def change_bytes(dice, data, relatives):
    data = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 4, 10))):
        if not data:
            break
        size = len(data)
        at = dice.randrange(size if dice.random() < .6 else min(size, 2048))
        kind = dice.randrange(10)
        if kind == 0:
            data[at] ^= 1 << dice.randrange(8)
        elif kind == 1:
            data[at:at + 4] = dice.choice((0xffffffff, 0x7fffffff, 0x80000000, 0x10000000)).to_bytes(4, dice.choice(("little", "big")))
        elif kind == 2:
            data[dice.randrange(size):dice.randrange(size)] = data[at:at + dice.choice((16, 256, 4096))]
        elif kind == 3:
            del data[at:at + dice.choice((1, 16, 512, size // 4 or 1))]
        elif kind == 4:
            data = data[:at]
        elif kind == 5:
            numbers = list(re.finditer(rb"-?\d+(\.\d+)?", bytes(data[at:at + 4000])))
            if numbers:
                one = dice.choice(numbers)
                data[at + one.start():at + one.end()] = dice.choice(NUMBERS)
        elif kind == 6:
            lines = bytes(data).split(b"\n")
            one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
            lines[one:one + 1] = [lines[other]] * dice.choice((0, 1, 3, 50))
            data = bytearray(b"\n".join(lines))
        elif kind == 7:
            data[at:at] = dice.choice(PIECES)
        elif kind == 8:
            data[at] |= 0x80
        else:
            with open(dice.choice(relatives), "rb") as file:
                other = file.read()
            start = dice.randrange(len(other))
            data[at:at + 64] = other[start:start + dice.choice((8, 64, 1024))]
    return bytes(data[:4 * MAX_BYTES])


def change_json(dice, value, share):
    """Values become odd ones, lists longer, shorter, shuffled; members vanish."""
    if isinstance(value, dict):
        for key in list(value)[:200]:
            draw = dice.random()
            if draw < share:
                value[key] = dice.choice(ODD)
            elif draw < 1.3 * share:
                del value[key]
            else:
                change_json(dice, value[key], share)
    elif isinstance(value, list) and value:
        if dice.random() < 4 * share:
            at = dice.randrange(len(value))
            value[at:at + 1] = [value[at]] * dice.choice((0, 2, 20))
        if dice.random() < 2 * share:
            dice.shuffle(value)
        for at in dice.sample(range(len(value)), min(len(value), 60)):
            change_json(dice, value[at], share)


def change_database(dice, path):
    db = sqlite3.connect(path, isolation_level=None)
    try:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
        for _ in range(dice.choice((1, 2, 5))):
            table = dice.choice(tables)
            column = dice.choice([row[1] for row in db.execute('PRAGMA table_info("%s")' % table)])
            value = dice.choice([v for v in ODD if not isinstance(v, (list, dict))])
            try:
                db.execute('UPDATE OR IGNORE "%s" SET "%s" = ? WHERE rowid %% ? = 0' % (table, column), (value, dice.choice((1, 2, 7))))
            except sqlite3.Error:
                continue
    except (sqlite3.Error, IndexError):
        pass
    finally:
        db.close()


def changed(dice, source, relatives, path):
    """A changed copy of a file at `path`; packed as the file was."""
    with open(source, "rb") as file:
        data = file.read()
    packed = data[:2] == b"\x1f\x8b" and dice.random() < .8
    if packed:
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError):
            packed = False
    if data[:15] == b"SQLite format 3" and dice.random() < .7:
        shutil.copy(source, path)
        change_database(dice, path)
        return
    made = None
    if data[:1] in b"{[" and dice.random() < .6:
        try:
            value = json.loads(data)
            change_json(dice, value, dice.choice((.002, .02, .1)))
            made = json.dumps(value).encode("utf-8", "surrogatepass")
        except (ValueError, RecursionError):
            made = None
    if made is None or len(made) > 16 * MAX_BYTES:
        made = change_bytes(dice, data, relatives)
    with open(path, "wb") as file:
        file.write(gzip.compress(made, 1) if packed else made)


def words_of(dice, path, out):
    chosen = dice.choice(COMMANDS)
    words = [path if word is None else os.path.join(scratch(), "ledger") if word == "LEDGER" else word for word in chosen]
    if None not in chosen:
        words.insert(1, path)
    if words[0] in ("export", "report"):
        words += ["-o", out + (".html" if words[0] == "report" else "")]
    return words + ["--no-cache", "-q", "--memory", "512M"]


def judge(words, got):
    if got.status == 2 and "the profile is itself a report" in got.stderr:
        return None  # --join to what could be joined
    if got.status not in (0, 1, 3, 4, 5):
        return "exit %s" % got.status
    if got.status in (4, 5) and "neurolens: " not in got.stderr:
        return "exit %s without a message" % got.status
    if any(word in got.stderr for word in ("runtime error:", "Sanitizer", "please report")):
        return "a complaint of the program about itself"
    if got.status == 0 and "json" in words:
        try:
            json.loads(got.stdout)
        except ValueError as problem:
            return "no JSON: %s" % problem
    return None


def clear(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    dice = random.Random(seed)
    families = family_files()
    bad, statuses = [], {}
    with open(PROGRAM, "rb") as file:
        sanitized = b"__asan_init" in file.read()
    for number in range(count):
        family = dice.choice(sorted(families))
        source = dice.choice(families[family])
        path, out = os.path.join(scratch(), os.path.basename(source)), os.path.join(scratch(), "out")
        changed(dice, source, families[family], path)
        words = words_of(dice, path, out)
        got = neurolens(words, timeout=60 if sanitized else 20)
        statuses[got.status] = statuses.get(got.status, 0) + 1
        said = judge(words, got)
        if said:
            bad.append("run %d, %s: %s\n%s" % (number, shlex.join(words), said, got.stderr[-1500:]))
            if os.environ.get("KEEP"):
                os.makedirs(os.environ["KEEP"], exist_ok=True)
                shutil.copy(path, os.path.join(os.environ["KEEP"], "%d-%d-%s" % (seed, number, os.path.basename(path))))
        clear(out)
        clear(out + ".html")
        clear(path)
    tally.check("%d commands over damaged files, seed %d: exits %s" % (count, seed, dict(sorted(statuses.items(), key=str))), not bad,
                "\n".join(bad[:6]))
    tally.finish()


if __name__ == "__main__":
    main()
