#!/usr/bin/env python3
"""What Python's tools ask of the installed distribution neurolens-profiler: its name, version and pytest plug-in.

    tools/dist_info.py FOLDER     writes FOLDER/neurolens_profiler-VERSION.dist-info (packages of a system)
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DISTRIBUTION = "neurolens_profiler"
ENTRY_POINTS = "[pytest11]\nnlens = nlens.pytest_plugin\n"


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def version():
    return re.search(r"^\s*version: '([^']+)'", text_of("meson.build"), re.M).group(1)


def metadata(licences):
    """The file METADATA; licences: names of files beside it."""
    return ("Metadata-Version: 2.4\nName: neurolens-profiler\nVersion: %s\n"
            "Summary: Records, explains and compares profiles of machine-learning programs\nLicense-Expression: Apache-2.0\n%s"
            "Requires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n%s" %
            (version(), "".join("License-File: %s\n" % name for name in licences), text_of("README.md")))


def main():
    folder = os.path.join(sys.argv[1], "%s-%s.dist-info" % (DISTRIBUTION, version()))
    os.makedirs(folder, exist_ok=True)
    for name, text in (("METADATA", metadata([])), ("entry_points.txt", ENTRY_POINTS)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
