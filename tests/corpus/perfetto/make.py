#!/usr/bin/env python3
"""Writes the Perfetto traces of this folder and of tests/reject/perfetto, by hand."""
import gzip
import os
import struct
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
REJECT = os.path.join(HERE, "..", "..", "reject", "perfetto")
CLEARED, NEEDED = 1, 2


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def f(number, *values):
    """A field: int → varint, float → double, else length-delimited (several values: a message)."""
    if len(values) == 1 and isinstance(values[0], int):
        return varint(number << 3) + varint(values[0])
    if len(values) == 1 and isinstance(values[0], float):
        return varint(number << 3 | 1) + struct.pack("<d", values[0])
    data = b"".join(v.encode() if isinstance(v, str) else v for v in values)
    return varint(number << 3 | 2) + varint(len(data)) + data


def fixed(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def packet(*parts, ts=None, seq=1, flags=None):
    out = b"" if ts is None else f(8, ts)
    out += f(10, seq) + (f(13, flags) if flags is not None else b"")
    return f(1, out, *parts)


def packed(number, *values):
    return f(number, b"".join(varint(v) for v in values))


def event(kind, track, *parts):
    return f(11, f(9, kind), f(11, track), *parts)


def tracks():
    """Tracks of a ROCm profiler: a thread, a GPU queue, a counter; arrows; a custom clock in µs."""
    out = packet(f(6, f(1, f(1, 6), f(2, 1000000)), f(1, f(1, 1), f(2, 1700000000000000000)),
                   f(1, f(1, 64), f(2, 500), f(4, 1000))))
    out += packet(f(60, f(1, 1), f(3, f(1, 77), f(6, "train"))))
    out += packet(f(60, f(1, 2), f(5, 1), f(4, f(1, 77), f(2, 78), f(5, "main"))))
    out += packet(f(60, f(1, 3), f(2, "GPU [4] QUEUE [1]")))
    out += packet(f(60, f(1, 4), f(5, 1), f(2, "memory"), f(8, f(3, 3), f(4, 1024))))
    # A name whose bytes would be a process: it stays a name.
    out += packet(f(60, f(1, 5), f(5, 1), f(13, f(1, 99), f(6, "a name, and no process at all".ljust(33, ".")))))
    out += packet(event(3, 5, f(23, "on the named track")), ts=1005600)
    names = f(12, f(1, f(1, 1), f(2, "hip_api")), f(1, f(1, 2), f(2, "kernel_dispatch")),
              f(2, f(1, 7), f(2, "hipLaunchKernel")), f(2, f(1, 8), f(2, "gemm")),
              f(3, f(1, 1), f(2, "corr_id")), f(29, f(1, 1), f(2, "interned value")))
    out += packet(names, ts=1000000, flags=CLEARED)
    out += packet(event(1, 2, packed(3, 1), f(10, 7), fixed(47, 99),
                        f(4, f(1, 1), f(3, 41)), f(4, f(10, "nest"), f(11, f(10, "a"), f(4, -1)),
                                                   f(11, f(10, "b"), f(17, 1)))),
                  ts=1001000, flags=NEEDED)
    out += packet(event(2, 2), ts=1003000, flags=NEEDED)
    out += packet(event(1, 3, packed(3, 2), f(10, 8), fixed(48, 99), f(4, f(1, 1), f(3, 41))),
                  f(58, 64), ts=505, flags=NEEDED)
    out += packet(event(2, 3), f(58, 64), ts=509, flags=NEEDED)
    out += packet(event(4, 4, f(30, 5)), ts=1002000) + packet(event(4, 4, f(44, 2.5)), ts=1004000)
    out += packet(event(1, 2, f(23, "never ends")), ts=1005000)
    out += packet(event(2, 9), ts=1005000) + packet(event(3, 2, f(23, "mark")), ts=1005500)
    out += packet(event(1, 2, f(10, 7)), ts=1006000, seq=5, flags=NEEDED)  # state never known
    out += packet(event(1, 2, f(23, "x")), f(58, 99), ts=1)  # a clock nobody tied
    return out


def correlated():
    """Correlation ids of all three forms: on calls and kernels, and on slices of no special kind."""
    out = packet(f(60, f(1, 2), f(4, f(1, 77), f(2, 78), f(5, "main"))))
    out += packet(f(60, f(1, 3), f(2, "GPU [0] QUEUE [1]")))
    out += packet(f(12, f(43, f(1, 1), f(2, "step-7/launch")), f(43, f(1, 2), f(2, "4711"))), ts=1000,
                  flags=CLEARED)
    kinds = [f(52, 9), f(53, "guid-a"), f(54, 1), f(54, 2)]
    for i, (kind, partner) in enumerate(zip(kinds, [f(52, 9), f(53, "guid-a"), f(53, "step-7/launch"),
                                                    f(52, 4711)])):
        at = 2000 + 1000 * i
        out += packet(event(1, 2, f(22, "hip_api"), f(23, "hipLaunchKernel"), kind), ts=at, flags=NEEDED)
        out += packet(event(2, 2), ts=at + 100, flags=NEEDED)
        out += packet(event(1, 3, f(22, "kernel_dispatch"), f(23, "k%d" % i), partner), ts=at + 300,
                      flags=NEEDED)
        out += packet(event(2, 3), ts=at + 600, flags=NEEDED)
    for i, kind in enumerate([f(52, 5), f(53, "request \"5\""), f(54, 1), f(54, 99)]):
        out += packet(event(1, 2, f(23, "handle"), kind, *([f(4, f(10, "part"), f(4, i))] if i else [])),
                      ts=9000 + 100 * i, flags=NEEDED)
        out += packet(event(2, 2), ts=9050 + 100 * i, flags=NEEDED)
    return out


def legacy():
    """Phases, µs deltas, default track, async ids, compressed packets."""
    inner = packet(f(44, f(1, 5), f(2, 6), f(5, "old"), f(6, 1000)), flags=CLEARED)
    inner += packet(f(59, f(11, f(11, 50))), seq=2, flags=CLEARED)
    inner += packet(f(60, f(1, 50), f(2, "default")), seq=2)
    inner += packet(f(11, f(1, 10), f(23, "X"), f(6, f(2, 88), f(3, 7))), flags=NEEDED)
    inner += packet(f(11, f(1, 5), f(23, "B"), f(6, f(2, 66))), flags=NEEDED)
    inner += packet(f(11, f(1, 5), f(6, f(2, 69))), flags=NEEDED)
    inner += packet(f(11, f(16, 2000), f(23, "async"), f(22, "c"), f(6, f(2, 98), f(11, 3))))
    inner += packet(f(11, f(16, 2500), f(22, "c"), f(6, f(2, 101), f(11, 3))))
    inner += packet(f(11, f(9, 3), f(23, "on default")), ts=3000000, seq=2, flags=NEEDED)
    return packet(f(50, zlib.compress(inner))) + packet(f(11, f(6, f(2, 77))), ts=1)


def phases():
    """Every phase of old events with an interned name, ids of three kinds, other threads, arrows in each form, and counters that events carry."""
    out = packet(f(12, f(1, f(1, 3), f(2, "old category")), f(2, f(1, 4), f(2, "interned"))), f(44, f(1, 5), f(2, 6), f(5, "old"), f(6, 1000)),
                 ts=0, flags=CLEARED)
    at = 10
    for number, phase in enumerate("BEXIiRnTpbnexSTFfstNODXZ"):
        old = f(1, 4) + f(2, ord(phase)) + (f(3, 3) if number == 2 else b"") + f((6, 10, 11)[number % 3], 40 + number // 6)
        if number % 5 == 4:
            old += f(18, 9) + f(19, 10 + number % 2)
        if number % 4 == 3:
            old += f(8, 70 + number // 8) + f(13, 1 + number % 3)
        out += packet(f(11, f(1, 7 if number != 20 else 1 << 62), f(3, 3), f(6, old)), flags=NEEDED)
        at += 10
    out += packet(f(11, f(16, 5000), f(23, "not interned"), f(6, f(1, 4), f(2, 66))), flags=NEEDED)
    out += packet(f(11, f(16, 5200), f(6, f(2, 88), f(3, 1 << 61))), flags=NEEDED)
    out += packet(f(11, f(16, 0), f(23, "at the very beginning"), f(6, f(2, 73))), flags=NEEDED)
    out += packet(f(60, f(1, 20), f(2, "bytes"), f(8, f(3, 3), f(4, 1024))), seq=2) + packet(f(60, f(1, 21), f(2, "since"), f(8, f(5, 1))), seq=2)
    out += packet(f(59, f(11, f(11, 30), packed(31, 20, 21))), f(60, f(1, 30), f(2, "carrier")), seq=2, flags=CLEARED)
    for ts, values in (6000000, (1, 5)), (6001000, (2, 6)), (6002000, (3, 7, 8)):
        out += packet(f(11, f(9, 3), f(23, "carries"), packed(12, *values)), ts=ts, seq=2, flags=NEEDED)
    out += packet(f(11, f(9, 3), f(23, "names them"), packed(12, 9), packed(31, 21)), ts=6003000, seq=2, flags=NEEDED)
    double = struct.pack("<dd", 0.5, 1.5)
    out += packet(f(11, f(9, 3), f(23, "doubles"), f(46, double), packed(45, 20, 21)), ts=6004000, seq=2, flags=NEEDED)
    two = struct.pack("<QQ", 501, 502)
    out += packet(f(11, f(9, 3), f(23, "from"), f(47, two), fixed(47, 503), packed(36, 504), f(36, 505)), ts=6005000, seq=2, flags=NEEDED)
    return out + packet(f(11, f(9, 3), f(23, "to"), f(48, two), fixed(48, 503), packed(42, 504), f(42, 505)), ts=6006000, seq=2, flags=NEEDED)


def gpu():
    """Render stages by interned and by old ids, one of which computes by its category alone; counters with names."""
    interned = f(12, f(24, f(1, 1), f(2, "Compute Queue"), f(4, 2)),
                 f(24, f(1, 2), f(2, "Kernel"), f(4, 2)), f(24, f(1, 3), f(2, "vertex"), f(4, 1)),
                 f(24, f(1, 4), f(2, "blur"), f(4, 2), f(5, 1)),
                 f(1001, f(1, 1), f(2, "_Z3addPf"), f(3, "add(float*)"), f(4, "sm_80")))
    out = packet(interned, ts=0, flags=CLEARED)
    launch = f(21, f(1, f(1, 256), f(2, 2)), f(2, f(1, 128)))
    out += packet(f(53, f(2, 50), f(13, 1), f(14, 2), f(11, 1), f(19, 1), launch), ts=100,
                  flags=NEEDED)
    out += packet(f(53, f(2, 20), f(13, 1), f(14, 3), f(11, 1)), ts=200, flags=NEEDED)
    out += packet(f(53, f(2, 30), f(13, 1), f(14, 4), f(11, 1)), ts=250, flags=NEEDED)
    out += packet(f(53, f(2, 5), f(3, 0), f(17, "named")), ts=300)
    out += packet(f(52, f(1, f(1, f(1, 1), f(2, "Clock"))), f(2, f(1, 1), f(2, 1500)),
                    f(2, f(1, 2), f(3, 0.5))), ts=400)
    return out


def stages():
    """Render stages that lack a queue, a time or a length, one that is too long, and queues of two devices."""
    interned = f(12, f(24, f(1, 1), f(2, "Compute Queue"), f(4, 2)), f(24, f(1, 2), f(2, "Kernel"), f(4, 2)),
                 f(1001, f(1, 1), f(2, "_Z3addPf"), f(3, "add(float*)"), f(4, "sm_80")))
    out = packet(interned, ts=0, flags=CLEARED)
    out += packet(f(53, f(2, 50), f(17, "no queue")), ts=100)
    out += packet(f(53, f(2, 60), f(3, 1), f(17, "no time")))
    out += packet(f(53, f(2, 1 << 63), f(3, 1), f(17, "too long")), ts=200)
    out += packet(f(53, f(17, "neither length nor queue")), ts=300)
    out += packet(f(53, f(3, 2), f(17, "no length")), ts=400)
    for device, queue, at in ((0, 1, 500), (1, 1, 520), (1, 2, 560), (0, 2, 590)):
        out += packet(f(53, f(2, 25), f(3, queue), f(11, device), f(17, "stage %d" % at)), ts=at)
    launch = f(21, f(1, f(1, 64), f(2, 3), f(3, 5)), f(2, f(1, 32), f(2, 2), f(3, 1)))
    out += packet(f(53, f(2, 70), f(13, 1), f(14, 2), f(11, 1), f(19, 1), f(17, "both names"), launch), ts=700, flags=NEEDED)
    return out + packet(f(53, f(2, 80), f(13, 9), f(14, 9), f(19, 9), f(20, 9)), ts=800, flags=NEEDED)


def kernel():
    """Switches in rows and in columns, atrace marks, frequencies; a process tree."""
    tree = f(2, f(1, f(1, 10), f(2, 1), f(3, "program"), f(3, "--token=abc")),
             f(2, f(1, 11), f(3, 10), f(2, "worker")))
    switch = f(2, f(1, 1000), f(2, 0), f(4, f(2, 0), f(5, "worker"), f(6, 11)))
    switch += f(2, f(1, 3000), f(2, 11), f(4, f(2, 11), f(5, "idle"), f(6, 0)))
    compact = f(4, f(5, "worker"), f(5, "swapper"), packed(1, 5000, 1000), packed(2, 0, 1),
                packed(3, 11, 0), packed(6, 0, 1))
    marks = b"".join(f(2, f(1, ts), f(2, 11), f(3, f(2, text))) for ts, text in (
        (1100, "B|10|outer\n"), (1200, "B|10|inner"), (1300, "E|10"), (1400, "E|"),
        (1500, "C|10|frames|12"), (1600, "S|10|job|1"), (1700, "F|10|job|1"), (1800, "hello")))
    frequency = f(2, f(1, 2000), f(2, 0), f(11, f(1, 1800000), f(2, 0)))
    other = f(2, f(1, 2100), f(2, 1), f(20, f(2, 3)))
    return (packet(tree) + packet(f(1, f(1, 0), switch, marks, frequency, other)) +
            packet(f(1, f(1, 0), compact, f(3, 1))))


def states():
    """Tracks of states: idle between two, one that lasts, an event that is no state."""
    out = packet(f(60, f(1, 1), f(3, f(1, 77), f(6, "train"))), ts=0, flags=CLEARED)
    out += packet(f(60, f(1, 2), f(5, 1), f(2, "phase"), f(18)))
    out += packet(f(60, f(1, 3), f(2, "power"), f(18)))
    for ts, track, name in ((1000, 2, "forward"), (1500, 3, "high"), (2000, 2, "backward"), (2600, 2, ""),
                            (3000, 2, "forward"), (3500, 2, "forward"), (4000, 3, "low"), (5000, 2, "")):
        out += packet(event(5, track, *([f(23, name)] if name else [])), ts=ts)
    out += packet(event(2, 3), ts=4500) + packet(event(3, 3, f(23, "mark"), f(24, f(1, 1))), ts=4600)
    out += packet(event(3, 3, f(23, "with a stack"), f(55, f(1, f(1, "main"), f(2, "main.cc"), f(3, 10)), f(1, f(1, "leaf")))), ts=4700)
    return out


def samples():
    """perf samples, Chrome's profiler, heapprofd with tables of its own: two dumps, the second grown."""
    clock = packet(f(6, f(1, f(1, 6), f(2, 1000000)), f(1, f(1, 3), f(2, 500000)), f(1, f(1, 4), f(2, 400000))))
    tables = f(12, f(5, f(1, 1), f(2, "main")), f(5, f(1, 2), f(2, "step")), f(5, f(1, 3), f(2, "copy")),
               f(17, f(1, 1), f(2, "usr")), f(17, f(1, 2), f(2, "libtorch.so")), f(18, f(1, 9), f(2, "step.cpp")),
               f(19, f(1, 4), f(7, 1), f(7, 2)), f(6, f(1, 1), f(2, 1), f(3, 4)),
               f(6, f(1, 2), f(2, 2), f(3, 4), f(5, 9), f(6, 12)), f(6, f(1, 3), f(2, 3)),
               f(7, f(1, 1), f(2, 1), f(2, 2)), f(7, f(1, 2), packed(2, 1, 2, 3)))
    out = clock + packet(tables, f(59, f(12, f(1, f(1, 1000), f(4, 10)))), ts=1000000, flags=CLEARED)
    for ts, cpu, stack in ((1001000, 0, 1), (1002000, 1, 2), (1003000, 0, 2)):
        out += packet(f(66, f(1, cpu), f(2, 7), f(3, 8), f(4, stack)), ts=ts, flags=NEEDED)
    out += packet(f(66, f(1, 0), f(2, 7), f(3, 8)), ts=1004000, flags=NEEDED)
    out += packet(f(66, f(1, 0), f(2, 7), f(18, 2)), ts=1005000) + packet(f(66, f(1, 0), f(17, 5), f(19, f(1, 1))), ts=1)
    out += packet(f(44, f(1, 9), f(2, 10), f(5, "chrome"), f(6, 600)), tables, seq=2, flags=CLEARED)
    out += packet(f(54, f(1, 1), f(1, 2), f(2, 10), f(2, 5)), seq=2, flags=NEEDED)
    own = (f(1, f(1, 1), f(2, "main")) + f(1, f(1, 2), f(2, "malloc")) + f(2, f(1, 1), f(2, 1)) +
           f(2, f(1, 2), f(2, 2)) + f(3, f(1, 5), f(2, 1), f(2, 2)))
    for ts, allocated, freed, number in ((700000, 4096, 0, 1), (800000, 10000, 6000, 4)):
        out += packet(f(37, own, f(5, f(1, 7), f(9, ts), f(11, "libc.malloc"),
                                   f(2, f(1, 5), f(2, allocated), f(3, freed), f(5, number), f(6, number - 1)))),
                      seq=3)
    return out


def counters():
    """GPU counters: an interned description with units, doubles, two devices; extra counters of an event."""
    spec = f(1, f(1, 5), f(2, "DRAM read"), f(7, 9), f(8, 22)) + f(1, f(1, 6), f(2, "Busy"), f(7, 37))
    out = packet(f(12, f(47, f(1, 1), f(2, spec), f(3, 1))), ts=0, flags=CLEARED)
    out += packet(f(52, f(4, 1), f(3, 1), f(2, f(1, 5), f(2, 10)), f(2, f(1, 6), f(3, 12.5))), ts=100, flags=NEEDED)
    out += packet(f(52, f(4, 1), f(3, 1), f(2, f(1, 5), f(2, 32))), ts=200, flags=NEEDED)
    out += packet(f(52, f(3, 0), f(1, f(1, f(1, 5), f(2, "Clock"), f(7, 15))), f(2, f(1, 5), f(2, 1500))), ts=300)
    out += packet(f(60, f(1, 8), f(2, "loss"), f(8)))
    return out + packet(event(3, 9, f(23, "e"), f(45, 8), f(46, struct.pack("<d", 0.25))), ts=400)


def rocm():
    """What rocprofv3 says of a dispatch and a copy."""
    out = packet(f(60, f(1, 3), f(2, "GPU [4] QUEUE [1]")), ts=0, flags=CLEARED)
    args = {"corr_id": 41, "queue": 1, "kernel_id": 3, "group_segment_size": 2048, "workgroup_size": 256, "grid_size": 1000}
    out += packet(event(1, 3, f(22, "kernel_dispatch"), f(23, "gemm"),
                        *(f(4, f(10, k), f(3, v)) for k, v in args.items())), ts=100)
    out += packet(event(2, 3), ts=200)
    out += packet(event(1, 3, f(22, "memory_copy"), f(23, "MEMORY_COPY_HOST_TO_DEVICE"), f(4, f(10, "copy_bytes"), f(3, 512))), ts=300)
    return out + packet(event(2, 3), ts=400)


def arguments():
    """An argument of each type, twice: as a value and as its opposite; names of 127 and 128 bytes (127 are kept), the same by number;
    11 levels of lists, and 12, which are one too many; no name, no value, values of types that nobody knows."""
    names = f(12, f(3, f(1, 1), f(2, "by number")), f(29, f(1, 1), f(2, "interned")), f(29, f(1, 2), f(2, "another")))
    out = packet(names, ts=0, flags=CLEARED) + packet(f(60, f(1, 2), f(4, f(1, 77), f(2, 78), f(5, "main"))))
    values = (f(2, 0), f(2, 1), f(3, 0), f(3, (1 << 64) - 1), f(4, -(1 << 63)), f(4, (1 << 63) - 1), f(5, 0.5), f(5, -1e300), f(6, "text"), f(6, ""),
              f(7, 4096), f(9, "{\"a\": 1}"), f(17, 1), f(17, 2), f(17, 3), f(16, "type") + f(3, 5), f(13, 9) + f(3, 6), f(8, "message"), b"")
    for i, value in enumerate(values):
        out += packet(event(3, 2, f(23, "each"), f(4, f(10, "of %d" % i), value), f(4, f(1, 1), value)), ts=1000 + i, flags=NEEDED)
    out += packet(event(3, 2, f(23, "all"), *(f(4, f(10, "of %d" % i), value) for i, value in enumerate(values))), ts=2000, flags=NEEDED)
    for i, long in enumerate((127, 128, 129)):
        out += packet(event(3, 2, f(23, "long"), f(4, f(10, "n" * long), f(3, 1))), ts=3000 + i)
    for depth in 10, 11, 12:
        inner, mixed = f(3, 7), f(3, 8)
        for level in range(depth):
            inner = f(12, inner)
            mixed = f(12, mixed) if level % 2 else f(11, f(10, "k"), mixed)
        out += packet(event(3, 2, f(23, "deep"), f(4, f(10, "list"), inner), f(4, f(10, "mixed"), mixed)), ts=4000 + depth)
    many = f(12, f(3, 1)) + f(12, f(3, 2)) + f(12, f(11, f(10, "k"), f(3, 3))) + f(12, f(12, f(2, 1)), f(12, f(2, 0)))
    return out + packet(event(3, 2, f(23, "several"), f(4, f(10, "list"), many), f(4, f(3, 9))), ts=5000)


def impossible():
    """Times that are none, each beside one that is: 13 are told so. Packets that do not inflate: 4; messages that are no protobuf: 2."""
    far = 1 << 62
    # clock 64 began 1.5 * 2^62 before the trace's: what it tells lies before zero
    out = packet(f(6, f(1, f(1, 6), f(2, 1000)), f(1, f(1, 3), f(2, 1000)), f(1, f(1, 64), f(2, far + far // 2))), ts=0, flags=CLEARED)
    out += packet(f(60, f(1, 2), f(4, f(1, 77), f(2, 78), f(5, "main")))) + packet(f(60, f(1, 3), f(5, 2), f(2, "states"), f(18)))
    out += packet(event(1, 2, f(23, "too long")), f(58, 64), ts=0) + packet(event(2, 2), ts=far)                       # 1: a slice
    out += packet(event(5, 3, f(23, "too long")), f(58, 64), ts=0) + packet(event(5, 3), ts=far)                       # 2: a state
    out += packet(event(3, 2, f(23, "beyond all")), ts=1 << 63)                                             # 3
    out += packet(f(11, f(1, 5), f(23, "since when"), f(6, f(2, 73))), seq=2, flags=CLEARED)                           # 4: no reference
    out += packet(f(44, f(1, 5), f(2, 6), f(5, "old"), f(6, (1 << 63) - 1)), seq=3, flags=CLEARED)
    out += packet(f(11, f(1, 1), f(23, "beyond all"), f(6, f(2, 73))), seq=3)                                          # 5
    out += packet(f(44, f(1, 5), f(2, 6), f(5, "old"), f(6, 1000)), seq=4, flags=CLEARED)
    out += packet(f(11, f(16, -1), f(23, "before zero"), f(6, f(2, 73))), seq=4)                                       # 6
    out += packet(f(11, f(16, (1 << 63) // 1000 + 1), f(23, "beyond all"), f(6, f(2, 73))), seq=4)                     # 7
    out += packet(f(11, f(16, 7), f(23, "below zero long"), f(6, f(2, 88), f(3, -5))), seq=4)                          # 8
    out += packet(f(11, f(16, 8), f(23, "0 long"), f(6, f(2, 88), f(3, 0))), seq=4)
    out += packet(f(11, f(1, 9), f(23, "from 1000 on"), f(6, f(2, 73))), seq=4)
    stack = f(12, f(5, f(1, 1), f(2, "main")), f(6, f(1, 1), f(2, 1)), f(7, f(1, 1), f(2, 1)))
    out += packet(stack, f(54, f(1, 1), f(2, 10)), seq=5, flags=CLEARED)                                               # 9: no reference
    out += packet(stack, f(44, f(1, 9), f(2, 10), f(5, "chrome"), f(6, 600)), seq=6, flags=CLEARED)
    out += packet(f(54, f(1, 1), f(1, 1), f(1, 1), f(2, 10), f(2, -1000), f(2, -610)), seq=6)                          # 10: below zero
    out += packet(f(54, f(1, 1), f(1, 1), f(2, 1)), seq=6)                                                             # 11: a stack more than times
    names = f(5, "worker")
    out += packet(f(1, f(1, 0), f(4, names, packed(1, 5000, 1 << 63), packed(2, 0, 1), packed(3, 11, 0), packed(6, 0, 0))))     # 12
    out += packet(f(1, f(1, 1), f(2, f(1, 1 << 63), f(2, 11), f(3, f(2, "B|10|x"))), f(2, f(1, 1100), f(2, 11), f(3, f(2, "B|10|y")))))  # 13
    out += packet(f(1, f(1, 0), f(4, f(1, b"\x05\x80"), packed(2, 0, 1), packed(3, 11, 0), packed(6, 0, 0))))
    good = zlib.compress(packet(event(3, 2, f(23, "inflated")), ts=9000))
    out += packet(f(50, good)) + packet(f(50, good[:5])) + packet(f(50, b"\x79" + good[1:])) + packet(f(50, b"\x78\x9c" + b"\xff" * 8))
    out += packet(f(50, zlib.compress(packet(f(50, good)))))
    return out + packet(b"\x0b\xff") + packet(event(3, 2, f(23, "after damage")), ts=9100)


def write(folder, name, data):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def main():
    whole = tracks()
    write(HERE, "tracks.pftrace", whole)
    write(HERE, "tracks.pftrace.gz", gzip.compress(whole, mtime=0))
    write(HERE, "cut.pftrace", whole[:-3])
    write(HERE, "legacy.pftrace", legacy())
    write(HERE, "gpu.pftrace", gpu())
    write(HERE, "kernel.pftrace", kernel())
    for make in (phases, states, samples, counters, rocm, correlated, stages):
        write(HERE, make.__name__ + ".pftrace", make())
    write(HERE, "impossible.pftrace", impossible())
    write(HERE, "arguments.pftrace", arguments())
    write(REJECT, "cut-in-first-packet.pftrace", whole[:20])
    write(REJECT, "other-messages.pb", f(1, f(2000, "x")) * 8)
    write(REJECT, "other-fields.pb", f(2, "abc") * 8)


main()
