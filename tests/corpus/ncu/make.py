#!/usr/bin/env python3
"""Writes the small reports and pages of this folder and of tests/reject/ncu, by hand."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "oracle"))
from protowire import field  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
REJECT = os.path.join(HERE, "..", "..", "reject", "ncu")


def sized(message):
    return struct.pack("<I", len(message)) + message


STRINGS = ["gpu__time_duration.sum", "dram__bytes.sum.per_second", "launch__registers_per_thread",
           "device__attribute_display_name", "device__attribute_device_index",
           "sm__warps_active.avg.pct_of_peak_sustained_active", "l1tex__t_bytes.sum",
           "device__attribute_chip_mask"]
INSTANCED = ["launch__function_pcs", "sass__inst_executed_per_opcode", "smsp__pcsamp_sample_count",
             "launch__grid_dim_x", "nvlink__dev_display_name_all",
             "smsp__pcsamp_warps_issue_stalled_wait", "smsp__pcsamp_warps_issue_stalled_barrier",
             "smsp__pcsamp_warps_issue_stalled_barrier_not_issued"]
CODE = 140553425225984
VALUES = [field(3, 2500.0), field(3, 1.5e9), field(5, 32), field(1, "Invented GPU"), field(5, 0),
          field(3, 50.0), b"", field(5, 2 ** 63 + 1)]

# No counter can be below 0, and none is this large: unknown in the columns, kept in the table of metrics.
BELOW_ZERO = [field(3, 2500.0), field(3, -1.5e9), field(5, 32), field(1, "Invented GPU"), field(5, 0), field(3, -50.0)]
VAST = [field(3, 2500.0), field(3, 1e300), field(5, 32), field(1, "Invented GPU"), field(5, 0), field(3, 1e300)]


def result(name, grid, values=VALUES):
    out = field(1, 77) + field(5, "_Z%d%sv" % (len(name), name)) + field(6, name) + field(7, name + "()")
    out += field(10, b"".join(field(i + 1, n) for i, n in enumerate(grid)))
    out += field(11, field(1, 128) + field(2, 1) + field(3, 1))
    for i, value in enumerate(values):
        out += field(13, field(1, i) + (field(2, value) if value else b""))
    section = field(1, "SpeedOfLight") + field(2, "GPU Speed Of Light Throughput")
    out += field(17, section + field(4, field(2, field(1, STRINGS[0]) + field(2, "Duration"))))
    out += field(19, field(1, "SOLBottleneck") + field(3, field(1, field(1, field(1, "Small launch"))))
                + field(4, "SpeedOfLight"))
    return out + field(22, 1) + field(23, 7)


def instanced(name, value, instances):
    """A metric with values per instance: texts or numbers → text or number."""
    def one(part):
        return field(1, part) if isinstance(part, str) else field(5, part)
    out = field(1, len(STRINGS) + INSTANCED.index(name)) + (field(2, field(5, value)) if value is not None else b"")
    return field(13, out + b"".join(field(3, field(1, one(k)) + field(2, one(v))) for k, v in instances))


INSTANCES = (
    field(15, field(1, 5)) + instanced("sass__inst_executed_per_opcode", 30, [("IMAD", 20), ("LDG", 10)])
    + instanced("smsp__pcsamp_sample_count", 9, [(CODE, 2), (CODE + 16, 6), (CODE + 40, 3),
                                                    (CODE + 48, 1), (CODE - 4096, 1)])
    + instanced("smsp__pcsamp_warps_issue_stalled_wait", 5, [(CODE, 2), (CODE + 16, 2), (CODE + 40, 1)])
    + instanced("smsp__pcsamp_warps_issue_stalled_barrier", 6, [(CODE + 16, 4), (CODE + 40, 2)])
    + instanced("smsp__pcsamp_warps_issue_stalled_barrier_not_issued", 9, [(CODE, 9)])
    + instanced("launch__function_pcs", CODE, [(0, CODE)])
    + instanced("launch__grid_dim_x", 4, [(0, 4)])  # says nothing new
    + instanced("nvlink__dev_display_name_all", None, [(0, "Invented GPU")])
    + instanced("sass__inst_executed_per_opcode", 2 ** 63 + 1, [("BRA", 2 ** 63 + 1)])
    + field(13, field(1, 9) + field(3, b"")))


# Metrics whose names are the last text of the report, and texts behind it.
NAMED = [len(STRINGS + INSTANCED) + behind for behind in (-1, 0, 1, 2 ** 32)] + [2 ** 64 - 1]
BEHIND = b"".join(field(13, field(1, name) + field(2, field(5, 3))) for name in NAMED)


def line_table():
    """A unit of DWARF 2: two files, a sequence that begins at an address for a relocation, its place."""
    files = b"/opt/someone/src\0\0" + b"kernel.cu\0\1\0\0" + b"/usr/include/math.h\0\0\0\0" + b"\0"
    head = bytes([1, 1, 251, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1]) + files
    program = b"\0\x09\2"
    place = 4 + 2 + 4 + len(head) + len(program)
    program += bytes(8)
    program += b"\3\x0a\1"            # line 11
    program += b"\2\x10" + b"\4\2" + b"\3\xe3\0" + b"\1"  # 16 on: file 2, line 110
    program += b"\2\x10" + bytes([10 + 5 + 1 + 14])  # 32 on: a special opcode, 1 on, line 111
    program += b"\2\x0f\0\1\1"       # the end at 48
    body = struct.pack("<HI", 2, len(head)) + head + program
    return struct.pack("<I", len(body)) + body, place


def cubin(function):
    """An ELF file with a symbol, a line table and its relocation."""
    table, place = line_table()
    names = [b"", b".shstrtab", b".strtab", b".symtab", b".debug_line", b".rel.debug_line"]
    text = b"\0".join(names) + b"\0"
    parts = [b"", text, b"\0" + function.encode() + b"\0",
             bytes(24) + struct.pack("<IBBHQQ", 1, 18, 0, 0, 0, 64), table, struct.pack("<QQ", place, 1 << 32 | 2)]
    links = [0, 0, 0, 2, 0, 3]
    at, out, rows = 64, b"", b""
    for i, part in enumerate(parts):
        rows += struct.pack("<IIQQQQIIQQ", text.index(names[i] + b"\0") if i else 0, (0, 3, 3, 2, 1, 9)[i], 0, 0,
                            at + len(out), len(part), links[i], 0, 1, (0, 0, 0, 24, 0, 16)[i])
        out += part
    return (b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64 + len(out), 0, 64, 0, 0, 64,
                                                       len(parts), 1) + out + rows)


def header(sources=0, results=0, payload=0, extra=b""):
    process = field(1 + 5, field(1, 77) + field(2, "127.0.0.1") + field(3, "/opt/secret/program"))
    return sized(field(1, sources) + field(2, results) + extra + field(5, payload) + process)


def report(version=7, kernels=(("first", (4, 2, 1)), ("second", (1, 1, 1))), instances=b""):
    session = field(8, field(1, "CUDA Version") + field(2, "12.4"))
    session += field(8, field(1, "Nsight Compute Target") + field(2, "2024.1.1.0"))
    session += field(11, "ncu --token=abc ./program")
    device = field(6, field(1, 0) + field(2, "Invented GPU")
                  + field(3, field(1, "device__attribute_multiprocessor_count") + field(2, field(5, 10))))
    strings = field(4, b"".join(field(1, s) for s in STRINGS))
    if instances:
        strings = field(4, b"".join(field(1, s) for s in STRINGS + INSTANCED))
    out = b"NVR\0" + sized(field(1, version)) + header(extra=field(3, session))
    source = field(1, 5) + field(4, cubin("_Z5firstv")) if instances else b"source text"
    first = sized(source) + sized(result(*kernels[0]) + instances)
    out += header(1, 1, len(first), strings) + first + header(extra=field(3, device))
    for kernel in kernels[1:]:
        body = sized(result(*kernel))
        out += header(0, 1, len(body)) + body
    return out


RAW = '''"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","gpu__time_duration.sum","dram__bytes.sum.per_second","launch__registers_per_thread","device__attribute_display_name","note"
"","","","","","","","","","","","usecond","Gbyte/second","register/thread","",""
"0","77","program","127.0.0.1","first(int, float)","1","7","(128, 1, 1)","(4, 2, 1)","0","8.0","2.50","1.5","32","Invented GPU","n/a"
"1","77","program","127.0.0.1","second()","1","7","(128, 1, 1)","(1, 1, 1)","0","8.0","1,234.75","0.25","","Invented GPU","0x1f"
'''
DETAILS = '''==PROF== Connected to process 77 (/opt/program)
the program says "hello, world
==PROF== Profiling "first" - 0: 0%....50%....100% - 8 passes
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"
"0","77","program","127.0.0.1","first(int)","1","7","(128, 1, 1)","(4, 2, 1)","0","8.0","GPU Speed Of Light Throughput","DRAM Frequency","Ghz","1.59",
"0","77","program","127.0.0.1","first(int)","1","7","(128, 1, 1)","(4, 2, 1)","0","8.0","GPU Speed Of Light Throughput","Duration","us","63,779.5",
"0","77","program","127.0.0.1","first(int)","1","7","(128, 1, 1)","(4, 2, 1)","0","8.0","SpeedOfLight","","","","SOLBottleneck","OPT","Low throughput, ""latency"" bound","global","12.5"
more output of the program
"0","77","program","127.0.0.1","first(int)","1","7","(128, 1, 1)","(4, 2, 1)","0","8.0","Occupancy","Achieved Occupancy","%","25.5",
"1","77","program","127.0.0.1","first(int)","1","7","(128, 1, 1)","(4, 2, 1)","0","8.0","Occupancy","Achieved Occupancy","%","30",
==PROF== Disconnected from process 77
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","78","other","127.0.0.1","first(int)","1","7","(128, 1, 1)","(4, 2, 1)","1","8.0","Command line profiler metrics","dram__bytes.sum","Kbyte","1.25"
'''
OLD = '''"ID","Process ID","Process Name","Host Name","Kernel Name","Kernel Time","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"
"0","5","a.out","127.0.0.1","k","2020-Mar-01 10:00:00","1","7","GPU Speed Of Light","Duration","nsecond","1,600"
'''


def write(folder, name, content):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def main():
    good = report()
    write(HERE, "two-kernels.ncu-rep", good)
    write(HERE, "newer.ncu-rep", report(version=8))
    write(HERE, "cut-in-second.ncu-rep", good[:-40])
    write(HERE, "no-values.ncu-rep", report(kernels=(("k", (1, 1, 1), []),)))
    write(HERE, "instances.ncu-rep", report(instances=INSTANCES))
    write(HERE, "below-zero.ncu-rep", report(kernels=(("first", (4, 2, 1), BELOW_ZERO), ("second", (1, 1, 1), VAST)),
                                             instances=INSTANCES))
    write(HERE, "names-behind.ncu-rep", report(instances=BEHIND))
    write(HERE, "raw.csv", RAW)
    write(HERE, "details-in-log.csv", DETAILS)
    write(HERE, "details-2020.csv", OLD)
    write(HERE, "longest-times.csv", OLD.splitlines()[0] + "\n" + "".join(
        '"%d","5","a.out","127.0.0.1","k%d","2020-Mar-01 10:00:00","1","7","GPU Speed Of Light","Duration","second","2,000,000,000"\n'
        % (i, i) for i in range(3)))
    write(HERE, "excel.csv", "\ufeff" + RAW.replace('"', "").replace("(int, float)", "").replace(
        "(128, 1, 1)", "128").replace("(4, 2, 1)", "8").replace("(1, 1, 1)", "1").replace("1,234", "1234"))
    write(REJECT, "magic-only.ncu-rep", b"NVR\0")
    write(REJECT, "old-version.ncu-rep", report(version=3))
    write(REJECT, "cut-before-kernel.ncu-rep", good[:300])
    write(REJECT, "huge-sizes.ncu-rep", b"NVR\0" + sized(field(1, 7)) + b"\xff" * 64)
    write(REJECT, "header-too-large.ncu-rep", b"NVR\0\xff\xff\xff\x7f" + bytes(64))
    write(REJECT, "header-only.csv", RAW.splitlines()[0] + "\n")
    write(REJECT, "units-only.csv", "\n".join(RAW.splitlines()[:2]) + "\n")
    write(REJECT, "log-without-table.csv", "".join(
        line + "\n" for line in DETAILS.splitlines() if not line.startswith('"')))
    write(REJECT, "session.csv", 'Launch Settings\n"Launch Attribute","Value"\n')


if __name__ == "__main__":
    main()
