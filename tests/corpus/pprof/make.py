#!/usr/bin/env python3
"""Writes the pprof files of this folder and of tests/reject/pprof, by hand."""
import gzip
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
REJECT = os.path.join(HERE, "..", "..", "reject", "pprof")


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def packed(number, values):
    return field(number, b"".join(varint(v) for v in values))


def modern():
    """Two value types, an inlined call, a location without symbols, a label, ids far apart."""
    strings = ["", "samples", "count", "cpu", "microseconds", "main", "work", "inner", "a.go",
               "/bin/program", "tid", "worker", "TOKEN=abc", "note"]
    out = field(1, field(1, 1) + field(2, 2)) + field(1, field(1, 3) + field(2, 4))
    out += field(2, packed(1, [1 << 40, 2]) + packed(2, [3, 30000]) +
                 field(3, field(1, 10) + field(2, 11) + field(3, 42)))
    out += field(2, field(1, 3) + field(1, 2) + field(2, 1) + field(2, 10000))  # not packed
    out += field(2, packed(1, [99, 2]) + packed(2, [0, 1 << 63]) + field(3, field(1, 13)))
    out += field(3, field(1, 1) + field(2, 0x1000) + field(3, 0x2000) + field(5, 9))
    out += field(4, field(1, 1 << 40) + field(2, 1) + field(3, 0x1234) +
                 field(4, field(1, 3) + field(2, 7)) + field(4, field(1, 2) + field(2, 21)))
    out += field(4, field(1, 2) + field(2, 1) + field(4, field(1, 1) + field(2, 5)))
    out += field(4, field(1, 3) + field(2, 1) + field(3, 0x1abc))
    for number, name in ((1, 5), (2, 6), (3, 7)):
        out += field(5, field(1, number) + field(2, name) + field(4, 8))
    for text in strings:
        out += field(6, text)
    return out + field(9, 1700000000000000000) + field(10, 10 ** 9) + field(12, 10000) + field(13, 12)


def repeated():
    """The same packed stacks again and again: plain, with odd ids, empty, and in two fields."""
    strings = ["", "samples", "count", "main", "work", "tid"]
    out = field(1, field(1, 1) + field(2, 2))
    for i in range(6):
        label = field(3, field(1, 5) + field(3, 40 + i % 2))
        out += field(2, packed(1, [300, 1]) + packed(2, [1 + i]) + label)
        out += field(2, packed(1, [1]) + packed(2, [10]))
        out += field(2, packed(1, [7, 300, 1]) + packed(2, [100]))  # no location 7
        out += field(2, packed(1, [4, 1]) + packed(2, [1000]))  # its function is missing
        out += field(2, packed(1, []) + packed(2, [10000]))
        out += field(2, packed(1, [300]) + packed(1, [1]) + packed(2, [100000]))
    for location, function in ((1, 1), (300, 2), (4, 9)):
        out += field(4, field(1, location) + field(4, field(1, function) + field(2, location)))
    for number, name in ((1, 3), (2, 4)):
        out += field(5, field(1, number) + field(2, name))
    for text in strings:
        out += field(6, text)
    return out


def units():
    """A value type of each unit that is known, and of some that are not."""
    types = [("samples", "count"), ("objects", "count"), ("ns", "nanoseconds"), ("us", "microseconds"), ("ms", "milliseconds"),
             ("s", "seconds"), ("space", "bytes"), ("large", "kilobytes"), ("mins", "minutes"), ("cycles", "")]
    strings = ["", "main", "work", *dict.fromkeys(text for each in types for text in each if text)]
    out = b"".join(field(1, field(1, strings.index(event)) + field(2, strings.index(unit))) for event, unit in types)
    for number in 1, 2:
        out += field(2, packed(1, [number]) + packed(2, [number * (k + 2) for k in range(len(types))]))
        out += field(4, field(1, number) + field(4, field(1, number) + field(2, 7)))
        out += field(5, field(1, number) + field(2, number))
    return out + b"".join(field(6, text) for text in strings)


def cpu(code):
    """gperftools words: three frames, one frame, trailer, maps."""
    words = [0, 3, 0, 10000, 0, 5, 3, 0x401000, 0x402000, 0x403000, 2, 1, 0x7f0000, 0, 1, 0]
    text = (b"build=/bin/program\n00400000-00500000 r-xp 00000000 08:01 77 /bin/program\n"
            b"007e0000-00800000 r-xp 00000000 08:01 78 /lib/libc.so.6\n")
    return struct.pack(code[0] + str(len(words)) + code[1], *words) + text


HEAP = b"""heap profile:      3:     3072 [     9:     9216] @ heapz_v2/524288
     2:     2048 [     6:     6144] @ 0x401000 0x402000
     1:     1024 [     3:     3072] @ 0x401000

MAPPED_LIBRARIES:
00400000-00500000 r-xp 00000000 08:01 77 /bin/program
"""
CONTENTION = b"""--- contentionz 1 ---
cycles/second = 3000000000
sampling period = 100
    12345 3 @ 0x401000 0x402000
      100 1 @ 0x401000
"""


# What a Java agent appends in place of maps; lines that are none, and of addresses that no stack has.
JAVA = b"""0x401000 com.example.work (Source.java:12)
0x402000 com.example.Main.main (Main.java:3)
0x402000
0x402001com.example.no_blank
0x0 com.example.nowhere
 0x403000 com.example.indented (Main.java:4)
0x403000 java.lang.Thread.run (Unknown Source)
"""
THREADS = b"""threadcreate profile: total 5
3 @ 0x401000 0x402000
#\t0x401000\truntime.newm+0xe5\t\t/go/src/runtime/proc.go:398
#\t0x402000\tmain.main\t/src/main.go
2 @ 0x401000
1 @ 0x403000 nothing
1 0x401000
"""


def write(folder, name, data):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def main():
    whole = modern()
    write(HERE, "modern.pb", whole)
    write(HERE, "modern.pb.gz", gzip.compress(whole, mtime=0))
    write(HERE, "repeated.pb", repeated())
    write(HERE, "units.pb", units())
    write(HERE, "cut.pb", whole[:60])
    write(HERE, "words8.cpu", cpu("<Q"))
    write(HERE, "words4-big-endian.cpu", cpu(">I"))
    write(HERE, "java.cpu", cpu("<I").partition(b"build=")[0] + JAVA)
    write(HERE, "go.threadcreate", THREADS)
    write(HERE, "text.heap", HEAP)
    write(HERE, "text.contention", CONTENTION)
    write(REJECT, "only-a-type.pb", whole[:6])
    write(REJECT, "cut-in-sample.pb", whole[:18])
    write(REJECT, "cut-in-record.cpu", cpu("<Q")[:60])
    write(REJECT, "expected-text.string", b"PeriodType: cpu nanoseconds\nPeriod: 10000000\nSamples:\n")


main()
