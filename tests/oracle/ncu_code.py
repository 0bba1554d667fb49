#!/usr/bin/env python3
"""What instructions in Nsight Compute reports are: operations and PTX, read again in Python.

    tests/oracle/ncu_code.py [build/neurolens]

Operations: for each name, the executions of the instructions that we call so must be what the profiler
counted for it (sass__inst_executed_per_opcode); the bits are taken from the programs here, too. PTX:
the line program .nv_debug_line_sass and the text .nv_debug_ptx_txt are read here by themselves, and
loads, stores, barriers and matrix products must come from statements that say so.
"""
import collections
import glob
import os
import re
import struct
import sys

from oracle import Checker, Neurolens, shared_or_leave
from protowire import message, varint

SAYS = {"LDG": r"ld\.(global|param|u|s|f|b)|ld\.", "STG": r"st\.", "LDS": r"ld\.shared|ld\.", "STS": r"st\.",
        "BAR": r"bar|barrier", "IMMA": r"mma", "SHFL": r"shfl", "EXIT": r"ret|exit|bra"}


def blocks(data):
    """(sources, results) of each block, as messages."""
    at = 8 + struct.unpack_from("<I", data, 4)[0]
    while at + 4 <= len(data):
        size, = struct.unpack_from("<I", data, at)
        head = message(data[at + 4:at + 4 + size])
        at += 4 + size
        end, parts = at + head.get(5, [0])[-1], []
        while at < end:
            size, = struct.unpack_from("<I", data, at)
            parts.append(message(data[at + 4:at + 4 + size]))
            at += 4 + size
        cut = head.get(1, [0])[-1]
        yield parts[:cut], parts[cut:cut + head.get(2, [0])[-1]]


def sections(elf):
    table, = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", elf, table + i * size) for i in range(count)]
    start = rows[names][4]
    for row in rows:
        name = elf[start + row[0]:elf.index(b"\0", start + row[0])].decode()
        yield name, elf[row[4]:row[4] + row[5]] if row[1] != 8 else b""


def signed_leb(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value - (1 << shift) if byte & 64 else value, at


def line_rows(table):
    """[(offset, line)] of each sequence of a line program (DWARF 2), in their order."""
    at = 0
    while at + 4 <= len(table):
        size, = struct.unpack_from("<I", table, at)
        end = at + 4 + size
        head, = struct.unpack_from("<I", table, at + 6)
        step, _, base, span, opcodes = struct.unpack_from("<BBbBB", table, at + 10)
        operands = table[at + 15:at + 14 + opcodes]
        at += 10 + head
        address = start = 0
        line, rows = 1, []
        while at < end:
            op = table[at]
            at += 1
            if op >= opcodes:
                address += (op - opcodes) // span * step
                line += base + (op - opcodes) % span
                rows.append((address - start, line))
            elif op == 0:
                size, at = varint(table, at)
                if table[at] == 1:
                    yield rows
                    address, line, rows = 0, 1, []
                elif table[at] == 2:
                    address = start = struct.unpack_from("<Q", table, at + 1)[0]
                at += size
            elif op == 1:
                rows.append((address - start, line))
            elif op == 2:
                value, at = varint(table, at)
                address += value * step
            elif op == 3:
                value, at = signed_leb(table, at)
                line += value
            elif op == 8:
                address += (255 - opcodes) // span * step
            elif op == 9:
                address, at = address + struct.unpack_from("<H", table, at)[0], at + 2
            else:
                for _ in range(operands[op - 1]):
                    _, at = varint(table, at)
        at = end


def programs(path):
    """{mangled name of a function: (code, {offset: PTX})}, of programs with one function in their table."""
    with open(path, "rb") as file:
        data = file.read()
    out = {}
    for sources, _ in blocks(data):
        for elf in (source[4][-1] for source in sources if 4 in source):
            parts = dict(sections(elf))
            text = [line.strip().decode() for line in re.split(b"[\0\n]", parts.get(".nv_debug_ptx_txt", b""))]
            tables = list(line_rows(parts.get(".nv_debug_line_sass", b"")))
            for name, code in parts.items():
                if not name.startswith(".text."):
                    continue
                ptx = {}
                if len(tables) == 1:
                    for (first, line), after in zip(tables[0], tables[0][1:] + [(len(code), 0)]):
                        for offset in range(first, after[0], 16):
                            ptx[offset] = text[line - 1] if 0 < line <= len(text) else ""
                out[name[6:]] = (code, ptx)
    return out


def mangled(path):
    """Mangled names of the kernels, in their order."""
    with open(path, "rb") as file:
        data = file.read()
    return [result[5][-1].decode() for _, results in blocks(data) for result in results]


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    told = statements = 0
    for path in sorted(glob.glob(os.path.join(shared_or_leave("samples", "ncu"), "**", "*.ncu-rep"), recursive=True)):
        name, code = os.path.basename(path)[:30], programs(path)
        rows = tool.sql(path, "SELECT slice, offset, opcode, ptx, value FROM metric_instances "
                              "WHERE metric = 'inst_executed' AND offset IS NOT NULL")
        counts = tool.sql(path, "SELECT slice, key, value FROM metric_instances "
                                "WHERE metric = 'sass__inst_executed_per_opcode'")
        kernels = mangled(path)
        if not rows:
            check.skip(name, "no values per instruction")
            continue
        sums, seen = collections.Counter(), collections.defaultdict(set)
        wrong = []
        for slice_, offset, opcode, ptx, value in rows:
            body, lines = code[kernels[slice_]]
            bits = struct.unpack_from("<H", body, offset)[0] & 511
            seen[bits].add(opcode)
            if value and opcode:
                sums[slice_, opcode] += value
                told += 1
            want = lines.get(offset) or None
            if (ptx and ptx.strip()) != (want and want[:400]):
                wrong.append((offset, want, ptx))
            statements += ptx is not None
            if opcode in ("IMMA", "BAR", "SHFL", "STG", "STS") and ptx and not re.search(SAYS[opcode], ptx):
                wrong.append((offset, opcode, ptx))
        check.rows(name + " executions per operation", {(s, k): v for s, k, v in counts if v}, dict(sums))
        check.equal(name + " one name per operation", [], [b for b, names in seen.items() if len(names) > 1])
        check.equal(name + " PTX of each instruction", [], wrong[:5])
    print("     %d executed instructions with an operation, %d with PTX" % (told, statements))
    check.equal("some report tells operations and PTX", True, told > 0 and statements > 0)
    check.finish()


main()
