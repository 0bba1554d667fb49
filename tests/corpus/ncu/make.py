#!/usr/bin/env python3
"""Writes the small reports and pages of this folder and of tests/reject/ncu, by hand."""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
REJECT = os.path.join(HERE, "..", "..", "reject", "ncu")


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def integer(number, value):
    return varint(number << 3) + varint(value)


def text(number, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def double(number, value):
    return varint(number << 3 | 1) + struct.pack("<d", value)


def sized(message):
    return struct.pack("<I", len(message)) + message


STRINGS = ["gpu__time_duration.sum", "dram__bytes.sum.per_second", "launch__registers_per_thread",
           "device__attribute_display_name", "device__attribute_device_index",
           "sm__warps_active.avg.pct_of_peak_sustained_active", "l1tex__t_bytes.sum",
           "device__attribute_chip_mask"]
VALUES = [double(3, 2500.0), double(3, 1.5e9), integer(5, 32), text(1, "Invented GPU"), integer(5, 0),
          double(3, 50.0), b"", integer(5, 2 ** 63 + 1)]


def result(name, grid, values=VALUES):
    out = integer(1, 77) + text(5, "_Z%d%sv" % (len(name), name)) + text(6, name) + text(7, name + "()")
    out += text(10, b"".join(integer(i + 1, n) for i, n in enumerate(grid)))
    out += text(11, integer(1, 128) + integer(2, 1) + integer(3, 1))
    for i, value in enumerate(values):
        out += text(13, integer(1, i) + (text(2, value) if value else b""))
    section = text(1, "SpeedOfLight") + text(2, "GPU Speed Of Light Throughput")
    out += text(17, section + text(4, text(2, text(1, STRINGS[0]) + text(2, "Duration"))))
    out += text(19, text(1, "SOLBottleneck") + text(3, text(1, text(1, text(1, "Small launch"))))
                + text(4, "SpeedOfLight"))
    return out + integer(22, 1) + integer(23, 7)


def header(sources=0, results=0, payload=0, extra=b""):
    process = text(1 + 5, integer(1, 77) + text(2, "127.0.0.1") + text(3, "/opt/secret/program"))
    return sized(integer(1, sources) + integer(2, results) + extra + integer(5, payload) + process)


def report(version=7, kernels=(("first", (4, 2, 1)), ("second", (1, 1, 1)))):
    session = text(8, text(1, "CUDA Version") + text(2, "12.4"))
    session += text(8, text(1, "Nsight Compute Target") + text(2, "2024.1.1.0"))
    session += text(11, "ncu --token=abc ./program")
    device = text(6, integer(1, 0) + text(2, "Invented GPU")
                  + text(3, text(1, "device__attribute_multiprocessor_count") + text(2, integer(5, 10))))
    strings = text(4, b"".join(text(1, s) for s in STRINGS))
    out = b"NVR\0" + sized(integer(1, version)) + header(extra=text(3, session))
    first = sized(b"source text") + sized(result(*kernels[0]))
    out += header(1, 1, len(first), strings) + first + header(extra=text(3, device))
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
    write(HERE, "raw.csv", RAW)
    write(HERE, "details-in-log.csv", DETAILS)
    write(HERE, "details-2020.csv", OLD)
    write(HERE, "excel.csv", "\ufeff" + RAW.replace('"', "").replace("(int, float)", "").replace(
        "(128, 1, 1)", "128").replace("(4, 2, 1)", "8").replace("(1, 1, 1)", "1").replace("1,234", "1234"))
    write(REJECT, "magic-only.ncu-rep", b"NVR\0")
    write(REJECT, "old-version.ncu-rep", report(version=3))
    write(REJECT, "cut-before-kernel.ncu-rep", good[:300])
    write(REJECT, "huge-sizes.ncu-rep", b"NVR\0" + sized(integer(1, 7)) + b"\xff" * 64)
    write(REJECT, "header-too-large.ncu-rep", b"NVR\0\xff\xff\xff\x7f" + bytes(64))
    write(REJECT, "header-only.csv", RAW.splitlines()[0] + "\n")
    write(REJECT, "units-only.csv", "\n".join(RAW.splitlines()[:2]) + "\n")
    write(REJECT, "log-without-table.csv", "".join(
        line + "\n" for line in DETAILS.splitlines() if not line.startswith('"')))
    write(REJECT, "session.csv", 'Launch Settings\n"Launch Attribute","Value"\n')


if __name__ == "__main__":
    main()
