#!/usr/bin/env python3
"""HLO programs of XPlane files: read again in Python, and against what XLA itself says they cost.

    tests/oracle/xplane_hlo.py [build/neurolens]

For every readable XSpace of ../shared/samples/xplane and tests/fixtures/jax_cpu.xplane.pb: how many
executions of each instruction are joined to its program, their operands' shapes, framework operator,
source line, bytes and floating-point operations. Places that a convolution multiplies are counted
one by one here. The operations of a program of jax_cpu are those of XLA's cost analysis of it
(jax_cpu.flops.json); where a trace holds flops of its own (TPU), ours are held against them.
"""
import collections
import glob
import json
import os
import re
import sys

from oracle import ROOT, SHARED, Checker, Neurolens
from protowire import Damaged, fields, message, packed, signed
from xplane_counts import Plane, text

BITS = {1: 8, 2: 8, 3: 16, 4: 32, 5: 64, 6: 8, 7: 16, 8: 32, 9: 64, 10: 16, 11: 32, 12: 64,
        15: 64, 16: 16, 18: 128, 19: 8, 20: 8, 21: 4, 22: 4}
REAL = {10, 11, 12, 16, 19, 20}
ARITHMETIC = set("""abs add ceil clamp compare convert divide floor is-finite maximum minimum multiply
negate reduce-precision remainder round-nearest-afz round-nearest-even select sign subtract""".split())
UNKNOWN = set("""while conditional sort fft scatter select-and-scatter cholesky triangular-solve rng
all-reduce all-reduce-start all-reduce-done reduce-scatter rng-bit-generator infeed outfeed send
recv send-done recv-done batch-norm-training""".split())
CUDNN = {"__cudnn$convForward": (0, 1, 2), "__cudnn$convBackwardInput": (2, 1, 0),
         "__cudnn$convBackwardFilter": (0, 2, 1)}


def last(parts, number, otherwise=0):
    return parts.get(number, [otherwise])[-1]


def numbers(parts, number):
    return [signed(v) for v in packed(parts.get(number, []))]


def arrays(shape):
    """[(type, dims)] of a shape: one, or those of a tuple."""
    parts = message(shape)
    if last(parts, 2) == 13:
        return [a for part in parts.get(4, []) for a in arrays(part)]
    return [] if last(parts, 2) == 17 else [(last(parts, 2), numbers(parts, 3))]


def elements(array):
    out = 1
    for size in array[1]:
        out *= size
    return out


def size(shape):
    return sum((elements(a) * BITS[a[0]] + 7) // 8 for a in arrays(shape))


class Program:
    def __init__(self, title, number, data):
        module = message(message(data)[1][-1])
        self.name, self.id = title.rsplit("(", 1)[0], number
        self.frames = message(last(module, 17, b""))
        self.computations, self.names = {}, {}
        for part in map(message, module.get(3, [])):
            its = {signed(last(i, 35)): i for i in map(message, part.get(2, []))}
            for it in its.values():
                it["home"] = its
                if not last(part, 7) or text(it[1][-1]) not in self.names:
                    self.names[text(it[1][-1])] = it
            self.computations[signed(last(part, 5))] = its

    def source(self, it):
        about = message(last(it, 7, b""))
        if last(about, 3, b""):
            return text(about[3][-1]), last(about, 4)
        if not last(about, 15):
            return None, None
        frame = message(self.frames[4][about[15][-1] - 1])
        place = message(self.frames[3][last(frame, 1) - 1])
        return text(self.frames[1][last(place, 1) - 1]), last(place, 3)

    def operands(self, it):
        return [it["home"][i] for i in numbers(it, 36)]

    def bytes(self, it):
        return size(it[3][-1]) + sum(size(o[3][-1]) for o in self.operands(it))

    def inside(self, it):
        """Of all computations that it calls; None when one part cannot be told."""
        out = 0
        for number in numbers(it, 38):
            for one in self.computations[number].values():
                flops = self.flops(one)
                if flops is None:
                    return None
                out += flops
        return out

    def convolution(self, it, roles):
        have = [arrays(o[3][-1])[0] for o in self.operands(it)[:2]] + [arrays(it[3][-1])[0]]
        image, kernel, result = [have[r][1] for r in roles]
        dims = message(it[16][-1])
        out = 2 * result[last(dims, 9)] * result[last(dims, 10)] * kernel[last(dims, 3)]
        windows = [message(w) for w in message(last(it, 15, b"")).get(1, [])]
        for i, window in enumerate(windows):
            stride, low = last(window, 2), signed(last(window, 3))
            dilation, base = last(window, 5), last(window, 6)
            met = 0
            for k in range(kernel[numbers(dims, 6)[i]]):
                for o in range(result[numbers(dims, 12)[i]]):
                    at = o * stride - low + k * dilation
                    met += at % base == 0 and 0 <= at // base < image[numbers(dims, 11)[i]]
            out *= met
        return out

    def dot(self, it, contracting):
        left = arrays(self.operands(it)[0][3][-1])[0][1]
        out = 2 * elements(arrays(it[3][-1])[0])
        for number in contracting:
            out *= left[number]
        return out

    def flops(self, it):
        if "flops" not in it:
            it["flops"] = self.reckon(it, text(it[2][-1]))
        return it["flops"]

    def reckon(self, it, opcode):
        result = arrays(it[3][-1])
        if opcode in UNKNOWN:
            return None
        if opcode == "dot":
            return self.dot(it, numbers(message(it[30][-1]), 1))
        if opcode == "convolution":
            return self.convolution(it, (0, 1, 2))
        if opcode == "custom-call":
            target = text(last(it, 28, b""))
            found = re.search(r'"lhs_contracting_dimensions":\[([^]]*)\]', text(last(it, 43, b"")))
            if target in CUDNN:
                return self.convolution(it, CUDNN[target])
            if re.match(r"__cublas\$(gemm$|lt\$matmul)", target) and found:
                return self.dot(it, [int(n) for n in re.findall(r"\d+", found.group(1))])
            return None
        if opcode in ("fusion", "call", "async-start"):
            return self.inside(it)
        if opcode in ("reduce", "reduce-window", "map"):
            once = self.inside(it)
            if opcode == "map":
                times = elements(result[0])
            elif opcode == "reduce":
                times = elements(arrays(self.operands(it)[0][3][-1])[0]) - elements(result[0])
            else:
                times = 1
                for window in message(last(it, 15, b"")).get(1, []):
                    times *= last(message(window), 1)
                times = (times - 1) * elements(result[0])
            return None if once is None else once * times
        if opcode in ARITHMETIC:
            kinds = [result[0][0]] + [arrays(o[3][-1])[0][0] for o in self.operands(it)[:1]]
            return elements(result[0]) if REAL & set(kinds) else 0
        return 0


def programs(planes):
    out = {}
    for plane in planes:
        if plane.name != "/host:metadata":
            continue
        for key, body in plane.metas.items():
            stats = plane.raw(body)
            title = text(last(body, 2, b""))
            old = {"Hlo Proto": body[3][-1]} if 3 in body else {}
            stats = {**old, **stats}
            if "Hlo Proto" in stats and stats["Hlo Proto"] != b"\x0a\x7f":
                found = re.search(r"\((\d+)\)$", title)
                number = stats.get("program_id", int(found.group(1)) if found else key)
                out[number & (1 << 64) - 1] = Program(title, number, stats["Hlo Proto"])
    return out


class RawPlane(Plane):
    def raw(self, body):
        """Statistics with bytes as they are."""
        out = {}
        for stat in map(message, body.get(5, [])):
            name = self.stat_names.get(last(stat, 1))
            out.update({name: v[-1] for n, v in stat.items() if n in (3, 4, 6)})
        return out

    def named(self):
        """Events with their metadata: (line, event name, display name, dur, stats)."""
        for line in map(message, self.lines):
            label, base = text(last(line, 2, b"")), signed(last(line, 3)) * 1000
            for event in map(message, line.get(4, [])):
                meta = self.metas.get(signed(last(event, 1)), {})
                start = base + signed(last(event, 2))
                dur = (start + signed(last(event, 3))) // 1000 - start // 1000
                if 5 not in event:
                    stats = self.stats(meta.get(5, []))
                    stats.update(self.stats(event.get(4, [])))
                    yield label, text(last(meta, 2, b"")), text(last(meta, 4, b"")), dur, stats


def executions(planes):
    """Per plane [(slice's name, dur, instruction's name, stats)] of what ran on devices, or on the CPU."""
    work = any(re.match("/device:[GT]PU:", p.name) and p.lines for p in planes)
    for plane in planes:
        ran = []
        for line, name, display, dur, stats in plane.named():
            if plane.name.startswith("/device:TPU:") and line == "XLA Ops":
                ran.append((display or name, dur, display or name, stats))
            elif plane.name.startswith("/device:GPU:") and line.startswith("Stream #"):
                ran.append((name, dur, stats.get("hlo_op", ""), stats))
            elif not plane.name.startswith("/device:") and not work and "hlo_op" in stats and \
                    "correlation_id" not in stats and not name.startswith("$"):
                ran.append((name, dur, stats["hlo_op"], stats))
        yield ran


def reckon(path, check, name):
    with open(path, "rb") as file:
        planes = [RawPlane(v) for n, v in fields(file.read()) if n == 1]
    known, want, recorded = programs(planes), {}, collections.Counter()
    for ran in executions(planes):
        time = collections.Counter()
        found = []
        for label, dur, op, stats in ran:
            program = known.get(stats.get("program_id", -1) & (1 << 64) - 1)
            it = program and program.names.get(op.lstrip("%"))
            if it:
                found.append((program, it, op, label, stats))
                time[program.id, op, label] += dur
        for program, it, op, label, stats in found:
            rivals = [t for (p, o, _), t in time.items() if (p, o) == (program.id, op)]
            leads = time[program.id, op, label] == max(rivals)
            flops, moved = program.flops(it), program.bytes(it)
            if "flops" in stats:
                recorded["told"] += 1
                recorded["flops alike"] += flops == stats["flops"]
                recorded["bytes alike"] += moved == stats.get("bytes_accessed")
                recorded["not reckoned"] += flops is None
                flops, moved = stats["flops"], stats["bytes_accessed"]
            file, line = program.source(it)
            about = message(last(it, 7, b""))
            shapes = json.dumps([a[1] for o in program.operands(it) for a in arrays(o[3][-1])],
                                separators=(",", ":"))
            key = (program.name, op.lstrip("%"), shapes if shapes != "[]" else None,
                   text(last(about, 2, b"")) or None, file, line or None)
            row = want.setdefault(key, [0, 0, 0, 0])
            row[0] += 1
            row[1] += leads and flops is not None
            row[2] += flops if leads and flops else 0
            row[3] += moved if leads else 0
    if recorded["told"]:
        print("     %s: the trace tells flops of %d executions; %d alike by shapes, %d not known by "
              "shapes; bytes alike: %d" % (name, recorded["told"], recorded["flops alike"],
                                           recorded["not reckoned"], recorded["bytes alike"]))
        check.equal(name + " flops by shapes are those the trace tells, where they are known",
                    recorded["told"] - recorded["not reckoned"], recorded["flops alike"])
    return {key: tuple(row) for key, row in want.items()}


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    fixture = os.path.join(ROOT, "tests", "fixtures", "jax_cpu.xplane.pb")
    paths = sorted(glob.glob(os.path.join(SHARED, "samples", "xplane", "**", "*.xplane.pb"),
                             recursive=True)) + [fixture]
    paths.append(os.path.join(ROOT, "tests", "corpus", "xplane", "hlo.xplane.pb"))
    joined = 0
    for path in paths:
        name = os.path.basename(path)[:40]
        try:
            want = reckon(path, check, name)
        except Damaged:
            check.skip(name, "no XSpace")
            continue
        got = tool.sql(path, "SELECT module, name, input_shapes, operation, file, line, count(*), "
                             "count(flops), coalesce(sum(flops), 0), coalesce(sum(bytes), 0) "
                             "FROM nodes GROUP BY 1, 2, 3, 4, 5, 6")
        check.rows(name + " instructions", want, {tuple(row[:6]): tuple(row[6:]) for row in got})
        joined += sum(row[0] for row in want.values())
    with open(fixture.replace("xplane.pb", "flops.json"), encoding="utf-8") as file:
        told = json.load(file)
    got = dict(tool.sql(fixture, "SELECT module, sum(flops) FROM nodes GROUP BY 1"))
    check.rows("XLA's own cost analysis of each program",
               {name: flops * told["runs"] for name, flops in told["flops"].items()}, got)
    check.equal("operators have the flops of their instructions", sum(got.values()),
                tool.sql(fixture, "SELECT sum(flops) FROM ops")[0][0])
    print("     %d executions joined to instructions" % joined)
    check.finish()


main()
