#!/usr/bin/env python3
"""Makes the recordings beside it, and those of tests/reject/recording, from src/nlrec/recformat.h alone: small blocks,
times in ns of CLOCK_MONOTONIC, so that every number can be worked out by hand."""
import os
import struct
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
REJECT = os.path.join(HERE, "..", "..", "reject", "recording")
BLOCK, HEAD, UNKNOWN = 512, 4096, -2**63
MAGIC = b"NLREC\r\n\x1a"
FREE, ACTIVE, FULL = 0, 1, 2


def head(blocks, end=1, closed=1, clock=2, version=1, block=BLOCK, drops=(0, 0, 0, 0, 0), pairs=(), rate=0, cut=0, stuck=0, moves=0):
    text = MAGIC + struct.pack("<IIII", version, HEAD, block, clock) + struct.pack("<II", 0, closed)
    text += struct.pack("<qqqqqq", 4321, 1, 2, 0, 4, 10**18) + struct.pack("<Q", rate)
    text += b"hand-made".ljust(256, b"\0") + b"host".ljust(64, b"\0") + b"make.py".ljust(64, b"\0")
    text += struct.pack("<QQQQ", blocks, blocks, 0, 0) + struct.pack("<5Q", *drops)
    text += struct.pack("<QQQ", blocks, 1, cut) + struct.pack("<IIII", end, len(pairs), moves, 0) + struct.pack("<Q", stuck)
    text += struct.pack("<QqqQ", 0, 0, 0, 0)
    for ticks, ns in pairs:
        text += struct.pack("<QqqQ", ticks, ns, ns + 10**18, 20)
    return text.ljust(HEAD, b"\0")


def block(kind, payload, sequence, state=FULL, span=0, raw=0, crc=0, used=None):
    return struct.pack("<IIIIQQqIIIIII", 0x4b4c424e, kind, len(payload) if used is None else used, 0, sequence, 0, 0, 0,
                       0, span, raw, crc, state) + payload


def whole(text, size=BLOCK):
    return text.ljust(-(-len(text) // size) * size, b"\0")


def names(*texts):
    out = b""
    for i, text in texts:
        text = text.encode()
        out += struct.pack("<II", i, len(text)) + text.ljust((len(text) + 7) & ~7, b"\0")
    return out


def cell(time, name, kind, *more, depth=0):
    out = struct.pack("<QIBBH", time, name, kind, 1 + len(more), depth)
    for value, a, b in more:
        out += struct.pack("<Q", value & 2**64 - 1) + struct.pack("<II", a, b)
    return out


def bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def thread(time, number=1, tid=4321):
    return cell(time, number, 1, (tid, 0, 0))


def begin(time, name, kind=0, depth=0, *more):
    return cell(time, name, 64 + kind, *more, depth=depth)


def end(time, begun, kind=0, depth=0, domain=0):
    more = [(0, domain, 0)] if domain else []
    return cell(time, begun & 2**32 - 1, 128 + kind, *more, depth=depth)


def mark(time, name, kind=0, *more):
    return cell(time, name, 192 + kind, *more)


def gpu(time, name, kind, depth=0, work=(), more=b""):
    """A cell of src/nlrec/recgpu.h; `work`: end, correlation, device, context, stream, graph, detail, node, bytes."""
    text = (struct.pack("<QIIIIIIQQ", *work) if work else b"") + more
    return struct.pack("<QIBBH", time, name, kind, 1 + len(text) // 16, depth) + text


def raw_zstd(payload):
    """A zstd frame that holds its payload as it is."""
    out = struct.pack("<IB", 0xFD2FB528, 0xA0) + struct.pack("<I", len(payload))
    while True:
        part, payload = payload[:100000], payload[100000:]
        out += struct.pack("<I", len(part) << 3 | (0 if payload else 1))[:3] + part
        if not payload:
            return out


def packed(blocks):
    raw = b"".join(blocks)
    frame = raw_zstd(raw)
    span = -(-(len(frame) + 64) // BLOCK)
    return whole(block(3, frame, 0, FULL, span, len(raw), zlib.crc32(frame)))


NAMES = names((1, "outer"), (2, "inner"), (3, "conv1"), (4, "mark"), (5, "queue"), (6, "domain"), (7, "range"),
              (8, "lane"), (9, "arrow"), (10, "main thread"), (11, "bytes"), (12, "seven"), (2**32 - 1, "memory"))
BASIC = [
    thread(1000), cell(1000, 10, 2),
    begin(1000, 1), begin(1100, 2, 0, 1), end(1300, 1100, 0, 1), begin(1400, 3, 1), end(1600, 1400, 1),
    mark(1650, 4, 0, (0, 0, 4), (0, 0, 2)), cell(1700, 5, 5, (bits(2.5), 11, 0)), end(2000, 1000),
]
RICH = [
    thread(2100), begin(2100, 0, 2, 0, (17, 0, 0), (0, 0, 2 << 8)), cell(2110, 9, 6, (99, 0, 0)), end(2200, 2100, 2),
    cell(2205, 12, 8, (0, 6, 7)),
    begin(2210, 2, 3, 0, (-5, 0xff00ff00, 7), (0, 6, 1 | 2 | 2 << 8)), end(2240, 2210, 3, 0, 6),
    begin(2250, 7, 0, 0, (0, 0, 0), (77, 8, 4)), cell(2290, 0, 9, (77, 0, 0)),
    begin(2300, 1), cell(2310, 9, 7, (99, 0, 0)), end(2320, 2300),
]
OWN = [thread(2000, 2**32 - 1, 0), cell(2000, 0, 10, (0, 0, 0)), cell(2000, 2**32 - 1, 5, (bits(4096.0), 11, 0))]

# GPU work: 32 kernel, 33 copy, 34 copy between devices, 35 fill, 36 whole graph, 37 wait, 38 call, 39 overhead, 40 memory,
# 41 pool, 42 device, 43 context, 44 stream, 45 note, 46 fact.
GPU_NAMES = names((1, "gemm"), (2, "cudaLaunchKernel"), (3, "Hand-made GPU"), (4, "a note"), (5, "its detail"),
                  (6, "GPU recording"), (7, "begun"), (8, "driver: compiling"), (9, "cudaMemcpyAsync"))
DRIVER, NOT_TOLD = 2**32 - 2, 2**32 - 1
GPU = [
    thread(1000, DRIVER, 4400), gpu(0, 6, 46, 0, (), struct.pack("<QII", 0, 7, 0)),
    # A wait before its context is known, records in no order, work of two devices.
    gpu(1500, 0, 37, 3, (1900, 12, NOT_TOLD, 1, 7, 0, NOT_TOLD, 0, 0)),
    gpu(1200, 1, 32, 0, (1300, 10, 0, 1, 7, 0, 40, 0, 0), struct.pack("<8I", 4, 5, 6, 64, 2, 1, 1024, 16)),
    gpu(1000, 2, 38, 0, (), struct.pack("<QII", 1100, 10, 4321)),
    gpu(1000, 9, 38, 1, (), struct.pack("<QII", 1150, 11, 4322)),
    gpu(1250, 0, 33, 1, (1450, 11, 0, 1, 8, 0, 2 | 3 << 8, 0, 4096)),
    gpu(1300, 0, 34, 10, (1400, 13, 1, 2, 7, 0, 3 | 3 << 8, 0, 8192), struct.pack("<4I", 1, 0, 0, 0)),
    gpu(1600, 0, 35, 3, (1650, 14, 0, 1, 7, 9, 255, 77, 512)),
    gpu(1700, 0, 36, 0, (1800, 15, 1, 2, 7, 9, 0, 0, 0)),
    gpu(1010, 8, 39, 0, (), struct.pack("<QII", 1020, 0, 4321)),
    gpu(1110, 0, 40, 1, (0, 16, 0, 1, NOT_TOLD, 0, 3, 0x7000, 4096)),
    gpu(1810, 0, 40, 2, (0, 17, 0, 1, NOT_TOLD, 0, 3, 0x7000, 0)),
    gpu(1111, 0, 41, 1, (0, 18, 0, NOT_TOLD, NOT_TOLD, 0, 1, 0x8000, 1 << 20)),
    gpu(0, 3, 42, 0, (), struct.pack("<QQQ6I", 1 << 34, 10**12, 10**9, 1, 108, 8, 0, 64, 32) + bytes(range(16))),
    gpu(0, 0, 43, 0, (0, 0, 0, 1, 7, 0, 0, 0, 0)), gpu(0, 0, 44, 0, (0, 0, NOT_TOLD, 1, 8, 0, 2**32 - 3, 0, 0)),
    gpu(0, 4, 45, 0, (), struct.pack("<QII", 3, 5, 0)),
    # No time; an end before its start; an end that is not told.
    gpu(0, 1, 32, 0, (0, 20, 0, 1, 7, 0, 0, 0, 0), bytes(32)), gpu(1910, 1, 32, 0, (1905, 21, 0, 1, 7, 0, 0, 0, 0), bytes(32)),
    gpu(1920, 1, 32, 0, (0, 22, 0, 1, 7, 0, 0, 0, 0), bytes(32)),
]
# Kernels outside the driver's blocks, a note among a thread's events, cells too short, texts and numbers from nowhere.
GPU_ODD = [
    thread(1000), GPU[3], gpu(0, 4, 45, 0, (), struct.pack("<QII", 5, 0, 0)), begin(1010, 1), end(1020, 1010),
    thread(1000, DRIVER, 4400), mark(1030, 4), cell(1031, 0, 4, (7, 0, 0)),
    gpu(2**63 + 5, 99, 32, 0, (1, 2, 3, 4, 5, 6, 7, 8, 9), bytes(32)),
    gpu(1040, 99, 40, 9, (2**64 - 1, 0, NOT_TOLD, 0, 0, 0, 2**32 - 1, 2**64 - 1, 2**64 - 1)),
    gpu(1050, 99, 37, 65535, (2**64 - 1, 0, 5, 2**32 - 1, 0, 0, 0, 0, 0)),
    gpu(0, 98, 45, 0, (), struct.pack("<QII", 2**64 - 1, 97, 0)), gpu(0, 98, 46, 0, (), struct.pack("<QII", 0, 97, 0)),
    # Memory that is taken and given back at no known time.
    gpu(0, 0, 40, 1, (0, 23, 0, 1, NOT_TOLD, 0, 3, 0x7000, 4096)), gpu(2**63, 0, 41, 2, (0, 24, 0, 1, NOT_TOLD, 0, 1, 0x8000, 0)),
    gpu(1060, 1, 33, 1, (), bytes(16)),
]
# Samples (18) and times on a processor (24) of the recorder: a function of a script, code of a file that is not here, of the kernel,
# of nowhere, a place that is no number; a stack that is longer than its cell, a run that ends before it begins.
CPU_NAMES = names(*((2**32 - 1 - i, text) for i, text in enumerate((
    "cpu-clock", "ns", "step\ttrain.py\t12", "@/none/lib.so\tab12\t0x1f", "@[kernel]\t\t0x0", "@\t\t", "@/none/b\t~1-2\t0xzz",
    "@//anon\t\t0xffffffffffffffff", "a\tb\tc\td"))))
TOP = 2**32 - 1


def sample(ns, tid, frames, cpu=1, flags=0, depth=None):
    ids = b"".join(struct.pack("<I", TOP - 2 - f) for f in frames)
    ids = ids.ljust((len(ids) + 15) & ~15, b"\0")
    return (struct.pack("<QIBBH", ns, tid, 18, 3 + len(ids) // 16, len(frames) if depth is None else depth) +
            struct.pack("<QII", 1000000, TOP, TOP - 1) + struct.pack("<QII", 0, cpu, flags) + ids)


CPU = [
    thread(2000, 2**32 - 1, 0), sample(1500, 4321, [2, 1, 0]), sample(1600, 4321, [0], flags=1), sample(1700, 4400, []),
    sample(1800, 4400, [3, 4, 5, 6, 99]), sample(2**64 - 1, 4400, [1], cpu=2**32 - 1),
    cell(1400, 4321, 24, (1900, 2, 0), depth=2), cell(1950, 4321, 24, (1990, 5000, 0), depth=1), cell(1990, 1, 24, (2000, 0, 0), depth=9),
    cell(1500, 4321, 24, (1400, 0, 0)), cell(1500, 4321, 24), cell(2**63, 2**32 - 1, 24, (2**64 - 1, 0, 0)),
    sample(1900, 4321, [0, 1], depth=200),
]


def damaged():
    """Every loss that the head tells, each a number of its own (1 to 5, 6 cut names, 7 blocks that stayed, 8 moves of windows), and blocks
    that are none: 3 are damaged (two within a packed one), 8 packed ones, 4 names; a name of 4,095 bytes is good, one of 4,096 is not.
    Two scopes are whole."""
    size = 8192
    whole8 = lambda text: whole(text, size)  # noqa: E731
    one = lambda i, text: names((i, text))  # noqa: E731
    frame = raw_zstd(block(1, b"".join([thread(3000), begin(3000, 1), end(3100, 3000)]), 50))
    raw = len(frame) - 12
    crc = zlib.crc32(frame)
    wrong = raw_zstd(block(1, thread(9000), 60) + b"no block" * 9)
    long = raw_zstd(block(1, thread(9100), 61) + block(1, b"", 62, used=16))
    many = [
        block(2, one(1, "outer") + one(2, "n" * 4095) + one(0, "of nobody") + one(1 << 30, "too far"), 0),  # 2 names
        block(2, struct.pack("<II", 3, 4096) + b"n" * 4096, 1),  # 1 name
        block(2, struct.pack("<II", 3, 17) + b"n" * 16, 2),  # 1 name
        block(1, b"".join([thread(1000), begin(1000, 1), end(1100, 1000)]), 3),
        block(7, bytes(32), 4),  # 1 block
        block(1, thread(5000), 5, FREE),
        block(3, frame, 0, FULL, 1, raw, crc),
        block(3, frame, 0, FULL, 1, raw, crc ^ 1),  # packed 1
        block(3, frame, 0, FULL, 1, raw + 1, crc),  # 2
        block(3, frame, 0, FULL, 1, 0, crc),  # 3
        block(3, frame, 0, FULL, 1, (4 << 20) + 1, crc),  # 4
        block(3, frame, 0, FULL, 0, raw, crc),  # 5
        block(3, b"no frame", 0, FULL, 1, raw, zlib.crc32(b"no frame")),  # 6
        block(3, frame, 0, FULL, 1, raw, crc, used=size - 63),  # 7
        block(3, wrong, 0, FULL, 1, len(wrong) - 12, zlib.crc32(wrong)),  # 1 block
        block(3, long, 0, FULL, 1, len(long) - 12, zlib.crc32(long)),  # 1 block
        b"no block",
        block(3, frame, 0, FULL, 2, raw, crc, used=size - 64 + 1)]  # 8: behind the end of the file
    text = head(len(many), block=size, drops=(1, 2, 3, 4, 5), cut=6, stuck=7, moves=8)
    return text + b"".join(whole8(each) for each in many)


def write(folder, name, text):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(text)


def main():
    parts = [whole(block(2, NAMES, 0, ACTIVE)), whole(block(1, b"".join(BASIC), 1)),
             whole(block(1, b"".join(RICH), 2, ACTIVE)), packed([block(1, b"".join(OWN), 3)])]
    write(HERE, "basic.nlrec", head(5) + b"".join(parts))
    # The same blocks packed, one of them also still where it was, one given back, room never used.
    twice = [packed([block(2, NAMES, 0), block(1, b"".join(RICH), 2), block(1, b"".join(BASIC), 1)]),
             whole(block(1, b"".join(BASIC), 1)), whole(block(1, b"".join(OWN), 9, FREE)), bytes(BLOCK),
             packed([block(1, b"".join(OWN), 3)])]
    write(HERE, "packed.nlrec", head(9, drops=(3, 1, 0, 2, 40)) + b"".join(twice))
    # Killed in the middle: scopes without an end, ends without a begin, a gap, a cut block, an unknown kind.
    gap = [thread(1000), end(1010, 5), begin(1020, 1), begin(1030, 2, 0, 1), cell(1040, 0, 4, (12, 0, 0)),
           end(1050, 1045, 0, 1), cell(1060, 0, 60, (1, 2, 3)), begin(1070, 2, 0, 1), mark(1080, 4)]
    write(HERE, "killed.nlrec", head(9, end=0, closed=0) + whole(block(2, NAMES, 0, ACTIVE)) +
          block(1, b"".join(gap), 1, ACTIVE, used=len(b"".join(gap)) + 160)[:-3])
    # Ticks at 2 GHz and a little more, with a pair that contradicts the others.
    pairs = ((10**9, 5 * 10**8), (2 * 10**9, 10**9), (2 * 10**9 + 5, 10**8), (4 * 10**9 + 2000, 2 * 10**9))
    ticks = [thread(10**9), begin(10**9, 1), begin(15 * 10**8, 2, 0, 1), end(2 * 10**9, 15 * 10**8, 0, 1),
             end(3 * 10**9 + 1000, 10**9)]
    write(HERE, "ticks.nlrec", head(3, clock=1, pairs=pairs, rate=2 * 10**9) + whole(block(2, NAMES, 0)) +
          whole(block(1, b"".join(ticks), 1)))
    # The machine sleeps for 30 s between the fifth second and the sixth: ticks (1 GHz) go on, CLOCK_MONOTONIC does not.
    asleep = [(i * 10**9 + (30 * 10**9 if i > 5 else 0), i * 10**9 + 500) for i in range(1, 11)]
    scopes = [thread(10**9), begin(2 * 10**9, 1), end(4 * 10**9, 2 * 10**9), begin(37 * 10**9, 2), end(39 * 10**9, 37 * 10**9)]
    write(HERE, "slept.nlrec", head(3, clock=1, pairs=asleep, rate=10**9) + whole(block(2, NAMES, 0)) +
          whole(block(1, b"".join(scopes), 1)))
    # A clock that stands still: four scopes that begin and end together, and an arrow at their end.
    ties = [thread(1000), begin(1000, 1), begin(1000, 2, 0, 1), begin(1000, 3, 0, 2), begin(1000, 4, 0, 3),
            cell(1005, 9, 6, (1, 0, 0)), cell(1010, 9, 7, (1, 0, 0)), end(1010, 1000, 0, 3), end(1010, 1000, 0, 2),
            end(1010, 1000, 0, 1), begin(1010, 2, 0, 1), end(1010, 1010, 0, 1), end(1010, 1000)]
    write(HERE, "ties.nlrec", head(2) + whole(block(2, NAMES, 0)) + whole(block(1, b"".join(ties), 1)))
    write(HERE, "gpu.nlrec", head(5, block=2048) + whole(block(2, GPU_NAMES, 0), 2048) +
          whole(block(1, b"".join(GPU), 1), 2048))
    write(HERE, "gpu-odd.nlrec", head(5, block=2048) + whole(block(2, GPU_NAMES, 0), 2048) +
          whole(block(1, b"".join(GPU_ODD), 1), 2048))
    # More kinds of notes, and more facts, than are kept: 256 of each.
    words = [thread(1000, DRIVER, 4400)]
    for i in range(1, 301):
        words += [gpu(0, i, 45, 0, (), struct.pack("<QII", 1, 0, 0)), gpu(0, i, 46, 0, (), struct.pack("<QII", 0, i, 0))]
    write(HERE, "gpu-words.nlrec", head(5, block=32768) +
          whole(block(2, names(*((i, "word %d" % i) for i in range(1, 301))), 0), 32768) +
          whole(block(1, b"".join(words), 1), 32768))
    # The same among a program's own cells does not count.
    write(HERE, "cpu.nlrec", head(3, block=2048) + whole(block(2, CPU_NAMES, 0), 2048) + whole(block(1, b"".join(CPU), 1), 2048) +
          whole(block(1, thread(1000) + begin(1000, 1) + b"".join(CPU[1:]) + end(1300, 1000), 2), 2048))
    write(HERE, "damaged.nlrec", damaged())
    write(HERE, "empty.nlrec", head(0, end=0, closed=0))
    write(REJECT, "cut-head.nlrec", head(0)[:700])
    write(REJECT, "version.nlrec", head(0, version=2))
    write(REJECT, "block-size.nlrec", head(0, block=1000))
    write(REJECT, "clock.nlrec", head(0, clock=9))


main()
