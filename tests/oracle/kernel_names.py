#!/usr/bin/env python3
"""Different kernels look different in tables, on every sample with kernels.

    tests/oracle/kernel_names.py [build/neurolens]

Short names leave out "void" and the list of parameters (src/tables/shortname.h): names that shorten
alike differ in nothing else. In the table of kernels, at two widths, every row's kernel is told from
the others by what is printed.
"""
import collections
import os
import subprocess
import sys

from oracle import Checker, Neurolens, shared_or_leave

SMALL = 60 << 20
FOLDERS = ("chrome", "ncu", "nsys", "nvprof", "perfetto", "rocprof", "torch", "xplane")


def parts(name):
    """(return type told, what is kept, parameters)"""
    void = name.startswith("void ")
    name = name[5:] if void else name
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += (name[at] == ")") - (name[at] == "(")
        if depth == 0:
            break
    if name.endswith(")") and at > 0 and (name[at - 1] in ">_" or name[at - 1].isalnum()):
        return void, name[:at], name[at:]
    return void, name, ""


def printed(tool, path, width):
    """The first column of the table of kernels, as it is printed."""
    out = subprocess.run([tool.program, "analyze", path, "--section", "kernels", "--all", "--color", "never"],
                         capture_output=True, text=True, check=False,
                         env={"PATH": os.environ["PATH"], "HOME": tool.home.name, "LC_ALL": "C.UTF-8",
                              "COLUMNS": str(width)}).stdout.splitlines()
    head = next((i for i, line in enumerate(out) if line.startswith("kernel  ") or line == "kernel"), None)
    if head is None:
        return []
    wide = len(out[head]) - len(out[head][6:].lstrip(" ")) if out[head][6:].strip() else 10000
    rows = []
    for line in out[head + 1:]:
        if not line or line.startswith(("… ", "no room")):
            break
        rows.append(line[:wide].rstrip())
    return rows


def main():
    root = shared_or_leave("samples")
    check, tool = Checker(), Neurolens(sys.argv)
    every, tables = set(), 0
    for folder in FOLDERS:
        for path, _, names in sorted(os.walk(os.path.join(root, folder))):
            for name in sorted(names):
                full = os.path.join(path, name)
                if os.path.getsize(full) > SMALL:
                    continue
                try:
                    kernels = {row[0] for row in tool.sql(full, "SELECT DISTINCT name FROM kernels") if row[0]}
                except (RuntimeError, ValueError):
                    continue
                every |= kernels
                if len(kernels) < 2:
                    continue
                for width in (80, 100):
                    rows = printed(tool, full, width)
                    alike = [text for text, n in collections.Counter(rows).items() if n > 1]
                    tables += 1
                    if len(rows) < len(kernels) or alike:
                        check.fail("%s, %d columns" % (os.path.relpath(full, root)[-60:], width),
                                   "%d different kernels" % len(kernels), (len(rows), alike[:3]))
    groups = collections.defaultdict(set)
    for name in every:
        groups[parts(name)[1]].add(name)
    for short, full in groups.items():
        kept = {(void, parameters) for void, _, parameters in map(parts, full)}
        if len(kept) != len(full):
            check.fail("short name", short, sorted(full)[:2])
    check.ok("%d names shorten to %d; %d tables tell kernels apart" % (len(every), len(groups), tables))
    check.finish()


main()
