#!/usr/bin/env python3
"""Every file of tests/corpus loads and is analysed without a word on stderr (under sanitizers: without
a finding of theirs); every file of tests/reject is refused with one line and 4."""
import os

from harness import TESTS, Tally, neurolens, one_line_error


def files(folder):
    for path, _, names in sorted(os.walk(os.path.join(TESTS, folder))):
        for name in sorted(names):
            if name not in ("README.md", "README", ".gitignore") and not name.endswith(".py"):
                yield os.path.join(path, name)


def main():
    tally = Tally("corpus")
    for path in files("corpus"):
        result = neurolens(["info", "--no-cache", "--format", "json", path], timeout=20)
        if result.status == 0:
            result = neurolens(["analyze", "--no-cache", "--all", "--format", "json", path], timeout=20)
        tally.check(os.path.relpath(path, TESTS), result.status == 0 and not result.stderr,
                    result.describe())
    for path in files("reject"):
        result = neurolens(["info", "--no-cache", path], timeout=20)
        tally.check(os.path.relpath(path, TESTS),
                    result.status == 4 and one_line_error(result) and not result.stdout,
                    result.describe())
    tally.finish()


main()
