#!/usr/bin/env python3
"""Nsight Compute: what `neurolens sql` has of reports and CSV pages, against the pages that ncu made.

    tests/oracle/ncu_counts.py [build/neurolens]

For every report of ../shared/samples/ncu beside which lie the pages that the real ncu wrote of it
(_csv_by_ncu_*): every metric of every kernel of the raw page must be in the report within the
rounding of the page, with the same unit; kernels, grids, blocks, streams and lengths too. Every CSV
page itself must load with as many metrics as it has cells, and the same values.
"""
import csv
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from decimal import Decimal

import protowire
from oracle import Checker, Neurolens, shared_or_leave

FIXED = 11  # columns of a raw page that describe the kernel
SI = {"": 0, "K": 3, "M": 6, "G": 9, "T": 12}
TIMES = {"nsecond": 0, "ns": 0, "usecond": 3, "us": 3, "msecond": 6, "ms": 6, "second": 9, "s": 9}


def word(text):
    if text in TIMES:
        return "ns", TIMES[text]
    scaled = re.fullmatch(r"([KMGT]?)byte", text)
    if scaled:
        return "bytes", SI[scaled[1]]
    hertz = re.fullmatch(r"([KMG]?)hz", text, re.I)
    if hertz:
        return "Hz", SI[hertz[1].upper()]
    return ("sector" if text == "sectors" else text), 0


def unit_of(text):
    """Base unit and the power of ten that gets there."""
    above, slash, below = text.partition("/")
    base, power = word(above)
    if not slash:
        return base, power
    under, less = word(below)
    if under == "ns":
        under, less = "s", less - 9
    if base == "cycle" and under == "s":
        return "Hz", power - less
    return "%s/%s" % (base or "1", under), power - less


def number(text):
    """Value and half of its last printed place; None when it is no number."""
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", text):
        text = text.replace(",", "")
    if not re.fullmatch(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?", text):
        return None
    value = Decimal(text)
    return value, Decimal(1).scaleb(value.as_tuple().exponent) * Decimal("0.5000001")


def raw_page(path):
    """Per kernel: the describing cells and {metric: (text, unit, power)}."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    kernels = []
    for row in rows[2:]:
        metrics = {}
        for name, unit, cell in list(zip(rows[0], rows[1], row))[FIXED:]:
            if cell != "":
                metrics[name] = (cell,) + unit_of(unit)
        kernels.append((dict(zip(rows[0][:FIXED], row)), metrics))
    return kernels


def loaded(tool, path):
    """The same of a profile: kernels in order, {metric: [(value, unit, text)]}."""
    kernels = tool.sql(path, "SELECT k.slice, k.name, k.grid_x, k.grid_y, k.grid_z, k.block_x, k.block_y, "
                             "k.block_z, k.stream, k.context, k.dur, k.device FROM kernels k ORDER BY k.ts, k.slice")
    kernels = [list(k.values()) if isinstance(k, dict) else k for k in kernels]
    out = {k[0]: {} for k in kernels}
    for row in tool.sql(path, "SELECT slice, name, value, unit, text FROM metrics"):
        slice_, name, value, unit, text = row.values() if isinstance(row, dict) else row
        out[slice_].setdefault(name, []).append((value, unit, text))
    return kernels, [out[k[0]] for k in kernels]


def triple(x, y, z):
    return "(%s, %s, %s)" % (x, y, z)


def describe(check, name, want, kernels):
    for (cells, metrics), row in zip(want, kernels):
        got = {"Kernel Name": row[1], "Grid Size": triple(*row[2:5]), "Block Size": triple(*row[5:8]),
               "Stream": str(row[8]), "Context": str(row[9]), "Device": str(row[11])}
        expected = {k: v for k, v in cells.items() if k in got}
        if expected != got:
            check.fail(name + " kernel", expected, got)
            return
        duration = metrics.get("gpu__time_duration.sum")
        if duration:
            value, slack = number(duration[0])
            if abs(value.scaleb(duration[2]) - row[10]) > slack.scaleb(duration[2]) + 1:
                check.fail(name + " length", duration, row[10])
                return
    check.ok(name + " kernels")


def differences(want, got, exact):
    """Metrics of one kernel that are not as the page has them."""
    for name, (text, unit, power) in want.items():
        have = got.get(name)
        if not have:
            yield name, text, "nothing"
            continue
        value, own_unit, own_text = have[0]
        expected = number(text)
        if expected is None:
            if own_text != text and text not in ("no data", "n/a", "nan") and own_text is not None:
                yield name, text, have
            continue
        if value is None and own_text is None:
            yield name, text, have
            continue
        if value is None:
            if own_text != text:
                yield name, text, have
            continue
        slack = Decimal(0) if exact else expected[1].scaleb(power)
        close = abs(expected[0].scaleb(power) - Decimal(value))
        if close > slack + abs(Decimal(value)) * Decimal("1e-15"):
            yield name, text, have
        if own_unit is not None and own_unit != unit and unit != "":
            yield name + " unit", unit, own_unit
        if exact and (own_unit or "") != unit:
            yield name + " unit", unit, own_unit


def compare(check, name, want, path, tool, exact):
    kernels, metrics = loaded(tool, path)
    check.equal(name + " number of kernels", len(want), len(kernels))
    describe(check, name, want, kernels)
    wrong = total = 0
    for (_, expected), got in zip(want, metrics):
        total += len(expected)
        for difference in differences(expected, got, exact):
            wrong += 1
            if wrong <= 5:
                print("     %s: %s" % (name, difference))
    # A page prints rounded numbers that ncu had rounded before: 53 of 75,005 differ in the last place.
    check.equal("%s metrics (%d)" % (name, total), True, wrong <= (0 if exact else total // 500))
    units = sum(1 for m in metrics for v in m.values() if v[0][1])
    named = sum(1 for _, m in want for v in m.values() if v[1])
    check.equal("%s units told (%d of %d)" % (name, units, named), True, units * 100 >= named * 90)


def details(check, tool, path):
    name = os.path.basename(path)[-48:]
    with open(path, newline="", encoding="utf-8") as file:
        rows = [r for r in csv.reader(file) if r and (r[0] == "ID" or r[0].isdigit())]
    column = {title: i for i, title in enumerate(rows[0])}
    at = column["Metric Value"]
    plain = [r for r in rows[1:] if len(r) > at and r[column["Metric Name"]]]
    rules = [r for r in rows[1:] if "Rule Name" in column and len(r) > column["Rule Name"]
             and r[column["Rule Name"]]]
    got = tool.sql(path, "SELECT count(*) FILTER (WHERE name NOT LIKE 'rule:%'), "
                         "count(*) FILTER (WHERE name LIKE 'rule:%'), count(DISTINCT slice) FROM metrics")[0]
    got = list(got.values()) if isinstance(got, dict) else got
    check.equal(name + " rows", [len(plain), len(rules), len({(r[0], r[1]) for r in rows[1:]})], got)
    sums = {}
    for row in plain:
        unit, power = unit_of(row[column["Metric Unit"]])
        value = number(row[at])
        if value:
            key = (row[column["Section Name"]], row[column["Metric Name"]], unit)
            sums[key] = sums.get(key, Decimal(0)) + value[0].scaleb(power)
    ours = {}
    for row in tool.sql(path, "SELECT section, name, coalesce(unit, ''), sum(value) FROM metrics "
                              "WHERE value IS NOT NULL AND name NOT LIKE 'rule:%' GROUP BY 1, 2, 3"):
        section, metric, unit, value = row.values() if isinstance(row, dict) else row
        ours[(section, metric, unit)] = value
    check.rows(name + " sums", {k: float("%.9g" % v) for k, v in sums.items()},
               {k: float("%.9g" % v) for k, v in ours.items()})


def messages(path, programs=None):
    """Strings so far and a result, for every result of a report (see formats/ncu.md, framing). Programs
    go to the dictionary by their id."""
    with open(path, "rb") as file:
        data = file.read()
    at, strings = 8 + int.from_bytes(data[4:8], "little"), []
    while at + 4 <= len(data):
        size = int.from_bytes(data[at:at + 4], "little")
        header = protowire.message(data[at + 4:at + 4 + size])
        at += 4 + size
        for table in header.get(4, []):
            strings += [s.decode("utf-8", "replace") for s in protowire.message(table).get(1, [])]
        end, left = at + header.get(5, [0])[0], header.get(1, [0])[0]
        for _ in range(left + header.get(2, [0])[0]):
            size = int.from_bytes(data[at:at + 4], "little")
            content = protowire.message(data[at + 4:at + 4 + size])
            if left <= 0:
                yield strings, content
            elif programs is not None and 4 in content:
                programs[content[1][0]] = content[4][0]
            left, at = left - 1, at + 4 + size
        at = end


def plain(value):
    """A MetricValue as a text or a number."""
    parts = protowire.message(value)
    if 1 in parts:
        return parts[1][0].decode("utf-8", "replace")
    if 2 in parts:
        return struct.unpack("<f", struct.pack("<I", parts[2][0]))[0]
    return protowire.double(parts[3][0]) if 3 in parts else parts.get(4, parts.get(5, [None]))[0]


def instances(check, tool, path):
    """Every value per instance of a report, by kernel and metric; a lone one that repeats the whole is none."""
    want, got = {}, {}
    for kernel, (strings, result) in enumerate(messages(path)):
        for metric in map(protowire.message, result.get(13, [])):
            rows = [protowire.message(row) for row in metric.get(3, [])]
            rows = [(plain(row[1][0]), plain(row[2][0])) for row in rows]
            whole = plain(metric[2][0]) if 2 in metric else None
            if rows and not (len(rows) == 1 and rows[0] == (0, whole)):
                want[kernel, strings[metric.get(1, [0])[0]]] = tuple(sorted(map(str, map(tidy, rows))))
    kernels = {}
    for row in tool.sql(path, "SELECT slice, metric, key, number, value, text FROM metric_instances"):
        slice_, metric, key, number_, value, text = row.values() if isinstance(row, dict) else row
        kernel = kernels.setdefault(slice_, slice_)
        got.setdefault((kernel, metric), []).append(
            str(tidy((number_ if key is None else key, value if text is None else text))))
    check.rows(os.path.basename(path) + " instances", want, {k: tuple(sorted(v)) for k, v in got.items()})


def decoded(program):
    """What readelf has of a program with the lines of one function: [(offset, file, line)]."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(program)
        file.flush()
        text = subprocess.run(["readelf", "--debug-dump=decodedline", file.name], capture_output=True,
                              text=True, check=False).stdout
    rows = [line.split() for line in text.splitlines()]
    rows = [(int(r[2], 16), r[0], r[1]) for r in rows if len(r) > 2 and r[2].startswith("0x")]
    return [(place - rows[0][0], file, line) for place, file, line in rows]


def instructions(strings, result):
    """Places in the code of a kernel that its metrics have values for."""
    metrics = [(strings[m.get(1, [0])[0]], m) for m in map(protowire.message, result.get(13, []))]
    code = [int(plain(m[2][0])) for name, m in metrics if name == "launch__function_pcs"]
    ids = {plain(protowire.message(row)[1][0]) for _, m in metrics for row in m.get(3, [])}
    return {i - code[0] for i in ids if not isinstance(i, str) and code and 0 <= i - code[0] < 1 << 28}


def lines(check, tool, path):
    """Source lines of instructions, against readelf's reading of the programs in the report."""
    programs, want, got, tables = {}, {}, {}, {}
    for kernel, (strings, result) in enumerate(messages(path, programs)):
        source = protowire.message(result[15][0])[1][0]
        if b".debug_line" not in programs.get(source, b"") or not shutil.which("readelf"):
            continue
        if source not in tables:
            tables[source] = decoded(programs[source])
        for offset in instructions(strings, result) - {0}:
            place = [r for r in tables[source] if r[0] <= offset][-1]
            want[kernel, offset] = (place[1], int(place[2])) if place[2] != "-" else (None, None)
    for row in tool.sql(path, "SELECT DISTINCT slice, offset, file, line FROM metric_instances WHERE offset > 0"):
        slice_, offset, file, line = row.values() if isinstance(row, dict) else row
        got[slice_, offset] = (file, line)
    if want:
        check.rows(os.path.basename(path) + " lines", want, got)


def tidy(row):
    return row[0], row[1] if isinstance(row[1], str) else float(row[1])


def main():
    folder = shared_or_leave("samples", "ncu")
    check, tool = Checker(), Neurolens(sys.argv)
    for page in sorted(glob.glob(os.path.join(folder, "_csv_by_ncu*", "*.raw.csv"))):
        want = raw_page(page)
        base = os.path.basename(page)[:-len(".raw.csv")]
        owner, _, rest = base.partition("_")
        reports = [p for p in glob.glob(os.path.join(folder, "*", "**", "*.ncu-rep"), recursive=True)
                   if os.path.basename(p) and base.endswith(os.path.basename(p))
                   and base.startswith(os.path.relpath(p, folder).split(os.sep)[0])]
        for report in reports:
            compare(check, base[-40:], want, report, tool, exact=False)
        compare(check, os.path.basename(page)[-44:], want, page, tool, exact=True)
    for page in sorted(glob.glob(os.path.join(folder, "_csv_by_ncu*", "*.details.csv"))
                       + glob.glob(os.path.join(folder, "**", "*ncu.log"), recursive=True)):
        details(check, tool, page)
    for report in sorted(glob.glob(os.path.join(folder, "*", "**", "*.ncu-rep"), recursive=True)):
        instances(check, tool, report)
        lines(check, tool, report)
    check.finish()


main()
