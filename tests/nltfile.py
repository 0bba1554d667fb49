#!/usr/bin/env python3
"""Trace files (.nlt) whose rows lie: every column of a sound file gets values that lead elsewhere, and the
checksums are made right again. A command refuses the file (4), or answers; it never crashes.

    tests/nltfile.py [N] [SEED]      N random mutations more (default 150)

neurolens must not be killed by a signal, end with 70 or say anything of a sanitizer. The layout is told in
src/store/tracefile.h.
"""
import os
import random
import struct
import sys

from harness import FIXTURES, ROOT, Tally, forked as neurolens, scratch

TABLE = []
for _i in range(256):
    _c = _i
    for _ in range(8):
        _c = (_c >> 1) ^ (0x82f63b78 if _c & 1 else 0)
    TABLE.append(_c)


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xffffffff


class TraceFile:
    """The chunks of a file: [column, rows, bytes]."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.head = data[:24]
        contents, chunks = struct.unpack_from("<QI", data, 24)
        self.chunks = []
        for i in range(chunks):
            column, _crc, rows, offset, size = struct.unpack_from("<IIQQQ", data, contents + 32 * i)
            self.chunks.append([column, rows, data[offset:offset + size]])
        self.known = {}

    def write(self, path, chunks):
        out = bytearray(64)
        contents = bytearray()
        for column, rows, data in chunks:
            out += bytes(-len(out) % 64)
            if id(data) not in self.known:
                self.known[id(data)] = (crc32c(data), data)
            contents += struct.pack("<IIQQQ", column, self.known[id(data)][0], rows, len(out), len(data))
            out += data
        out += bytes(-len(out) % 64)
        head = self.head + struct.pack("<QII", len(out), len(chunks), crc32c(contents))
        out[:44] = head + struct.pack("<I", crc32c(head))
        with open(path, "wb") as file:
            file.write(out + contents)


COMMANDS = [["analyze", "-a"], ["info", "-a"], ["export", "--to", "run.json", "-o", "/dev/null"], ["fingerprint"],
            ["sql", "QUERY"], ["diff", "SOUND"], ["add", "--no-trace"], ["add"]] + \
           [["export", "--to", form, "-o", "/dev/null"] for form in ("perfetto", "chrome", "folded", "pprof", "speedscope")] + \
           [["report", "-o", "PAGE"], ["flame", "-o", "PAGE"]]
QUERY = "select * from slices; select * from kernels; select * from copies; select * from api; select * from ops; " \
        "select * from nvtx; select * from python; select * from collectives; select * from samples; select * from args; " \
        "select * from lanes; select * from flows; select * from counters; select * from steps; " \
        "select * from time_breakdown; select count(*) from slice_stacks s join stacks t on t.id = s.stack"
tally = Tally("nltfile")
said = []
counts = {}


def run(what, path, sound, words):
    stand_for = {"QUERY": QUERY, "SOUND": sound, "PAGE": os.path.join(scratch(), "page.html")}
    words = [stand_for.get(w, w) for w in words]
    got = neurolens([words[0], "-q", path] + words[1:], timeout=60)
    counts[got.status] = counts.get(got.status, 0) + 1
    if got.status not in (0, 1, 2, 3, 4, 5) or "runtime error" in got.stderr or "Sanitizer" in got.stderr:
        kept = os.path.join(scratch(), "bad%d.nlt" % len(said))
        if os.environ.get("KEEP"):
            import shutil
            shutil.copy(path, os.environ["KEEP"])
        said.append("%s: %s: %s" % (what, words[0], got.describe()[:1500]))
        return kept
    return None


def width(chunk):
    return len(chunk[2]) // chunk[1] if chunk[1] else 0


def odd_value(dice, size, rows):
    if size == 1:
        return bytes([dice.choice((0, 1, 2, 3, 5, 6, 7, 8, 9, 12, 22, 23, 24, 127, 255))])
    if size == 2:
        return struct.pack("<H", dice.choice((0, 1, 63, 64, 65, 32767, 65535)))
    if size == 4 and dice.random() < 0.5:
        return struct.pack("<I", dice.randrange(min(rows, 40)))
    if size == 4:
        return struct.pack("<I", dice.choice((0, 1, 2, rows - 1, rows, rows + 1, 2 * rows, 0x7fffffff, 0x80000000, 0x80000001,
                                              0xfffffffe, 0xffffffff)) & 0xffffffff)
    return struct.pack("<Q", dice.choice((0, 1, 2 ** 60, 2 ** 61, 2 ** 61 + 1, 2 ** 62, 2 ** 63 - 1, 2 ** 63, 2 ** 63 + 1,
                                          2 ** 64 - 1, 2 ** 64 - 2 ** 61, 0x7ff8000000000000, 0x7ff0000000000000, 1000)))


def mutate(dice, chunk):
    """The chunk with some of its values made odd."""
    size, rows = width(chunk), chunk[1]
    if not rows or size not in (1, 2, 4, 8):
        return chunk
    data = bytearray(chunk[2])
    kind = dice.randrange(5)
    if kind == 0:
        value = odd_value(dice, size, rows)
        data = bytearray(value * rows)
    elif kind == 1:
        at = dice.randrange(rows)
        data[at * size:(at + 1) * size] = odd_value(dice, size, rows)
    elif kind == 2:
        for at in range(0, rows, dice.choice((2, 3, 7))):
            data[at * size:(at + 1) * size] = odd_value(dice, size, rows)
    elif kind == 3:
        cells = [bytes(data[i * size:(i + 1) * size]) for i in range(rows)]
        dice.shuffle(cells)
        data = bytearray(b"".join(cells))
    else:
        cells = [bytes(data[i * size:(i + 1) * size]) for i in range(rows)]
        data = bytearray(b"".join(reversed(cells)))
    return [chunk[0], rows, bytes(data)]


def sound_files():
    """Small profiles of many kinds of tables, as .nlt."""
    found = []
    sources = [os.path.join(FIXTURES, "torch_cpu_train.json.gz"), os.path.join(ROOT, "tests/corpus/nsys/era-3.25-all.sqlite"),
               os.path.join(ROOT, "tests/corpus/chrome/kineto.json")]
    sources += [os.path.join(base, name) for part in ("recording", "perf", "xplane", "torchet", "pstats", "rocpd")
                for base, _, names in os.walk(os.path.join(ROOT, "tests/corpus", part)) for name in sorted(names)[:1]]
    import sqlite3
    import subprocess
    for i, source in enumerate(sources):
        ledger = os.path.join(scratch(), "make%d" % i)
        if not os.path.exists(source) or neurolens(["add", "-q", source, "--ledger", ledger]).status != 0:
            continue
        with sqlite3.connect(ledger + "/ledger.db") as db:
            row = db.execute("SELECT sha256 FROM artefacts WHERE role = 'trace'").fetchone()
        if not row:
            continue
        got = neurolens(["sql", "-q", "@", "select 1", "--ledger", ledger])
        cached = os.path.join(ledger, "cache", row[0][:16] + ".nlt")
        if got.status == 0 and os.path.exists(cached) and os.path.getsize(cached) < 3000000:
            found.append((os.path.basename(source), cached))
    return found


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    dice = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    path = os.path.join(scratch(), "mutant.nlt")
    files = sound_files()
    tally.check("sound files were made", len(files) >= 4, [name for name, _ in files])
    for name, sound in files:
        trace = TraceFile(sound)
        trace.write(path, trace.chunks)
        got = neurolens(["info", "-q", path])
        tally.check("%s: written again it is read" % name, got.status == 0, got.describe())
    for name, sound in files:
        trace = TraceFile(sound)
        before = len(said)
        for i, chunk in enumerate(trace.chunks):
            # an empty chunk before, or in place of, or the column left out
            for what, chunks in (("no rows", trace.chunks[:i] + [[chunk[0], 0, b""]] + trace.chunks[i + 1:]),
                                 ("no rows before", trace.chunks[:i] + [[chunk[0], 0, b""]] + trace.chunks[i:]),
                                 ("twice", trace.chunks[:i] + [chunk] + trace.chunks[i:]),
                                 ("left out", trace.chunks[:i] + trace.chunks[i + 1:])):
                if dice.random() < 0.3:
                    trace.write(path, chunks)
                    run("%s: chunk %d %s" % (name, i, what), path, sound, dice.choice(COMMANDS))
        tally.check("%s: chunks empty, twice, left out" % name, len(said) == before, "\n".join(said[before:before + 3]))
        before = len(said)
        if name.endswith(("xplane.pb", "kineto.json")):
            for i, chunk in enumerate(trace.chunks):  # a number that no share is, where a column may hold it
                if width(chunk) == 8:
                    trace.write(path, trace.chunks[:i] + [[chunk[0], chunk[1], struct.pack("<d", -2.68e154) * chunk[1]]] + trace.chunks[i + 1:])
                    run("%s: chunk %d far below 0" % (name, i), path, sound, ["add"])
            tally.check("%s: numbers far below 0" % name, len(said) == before, "\n".join(said[before:before + 3]))
        before = len(said)
        for i in range(count):
            chunks = list(trace.chunks)
            for _ in range(dice.choice((1, 1, 1, 2, 4))):
                at = dice.randrange(len(chunks))
                chunks[at] = mutate(dice, chunks[at])
            trace.write(path, chunks)
            run("%s: mutation %d" % (name, i), path, sound, dice.choice(COMMANDS))
        tally.check("%s: %d mutations of values" % (name, count), len(said) == before, "\n".join(said[before:before + 5]))
    print("    exit statuses: %s" % counts)
    tally.check("some were answered, some refused", counts.get(0, 0) > 10 and counts.get(4, 0) > 10, counts)
    tally.finish()


if __name__ == "__main__":
    main()
